//! Signals, lost locks and silence while a job runs (D-02 "Signals", D-01, D-08).

#[path = "support/network.rs"]
mod network;
#[path = "support/sandbox.rs"]
mod sandbox;

use std::process::{Child, Command};
use std::time::Duration;

use network::{Book, NodeSpec, Workspace, children, said, text, violations};
use sandbox::{JOB_LOG, ORDERS, STATE, Sandbox};
use serde_json::json;

const SLOW: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["SUCCESS"]).sleeping(1500),
    NodeSpec::new("b", &["a"], &["SUCCESS"]),
];

fn signal(pid: u32, name: &str) {
    let status = Command::new("kill")
        .args([format!("-{name}"), pid.to_string()])
        .status()
        .expect("kill runs");
    assert!(status.success());
}

/// Waits until the job of node `a` has made its start mark.
fn wait_for_job(space: &Workspace) {
    while space.executions().is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn assert_sound(sandbox: &Sandbox, space: &Workspace) -> Book {
    let book = Book::read(sandbox, &space.network_id);
    assert_eq!(violations(&book, &space.executions()), Vec::<String>::new());
    book
}

fn ends(child: Child) -> String {
    said(&child.wait_with_output().expect("ends"))
}

#[test]
fn a_signal_ends_the_job_records_it_and_releases_the_lock() {
    for name in ["TERM", "INT", "HUP"] {
        let sandbox = Sandbox::seeded(&format!("signal-{name}"), &["--orders", "1"], &[]);
        let space = Workspace::new(&sandbox, "stopped", SLOW);
        let child = space.start(&["--business-key", "k"]);
        wait_for_job(&space);
        signal(child.id(), name);
        let said = ends(child);
        let book = assert_sound(&sandbox, &space);
        assert!(book.held_locks.is_empty(), "{said}");
        assert_eq!(book.nodes()["b"], "BLOCKED", "{said}");
        // The scripted runner dies of the signal after its start mark: nobody can know what it did.
        assert_eq!(book.nodes()["a"], "UNKNOWN", "{said}");
    }
}

#[test]
fn a_signal_that_leaves_a_node_unknown_says_so_although_others_could_still_run() {
    let sandbox = Sandbox::seeded("signal-unknown", &["--orders", "1"], &[]);
    let nodes = [
        NodeSpec::new("a", &[], &["FAILED"]),
        NodeSpec::new("b", &[], &["SUCCESS"]).sleeping(1500),
        NodeSpec::new("c", &[], &["SUCCESS"]),
    ];
    let space = Workspace::new(&sandbox, "unknown", &nodes);
    let child = space.start(&["--business-key", "k"]);
    while space.executions().len() < 2 {
        std::thread::sleep(Duration::from_millis(5));
    }
    signal(child.id(), "TERM");
    let said = ends(child);
    let book = assert_sound(&sandbox, &space);
    assert_eq!(book.nodes()["c"], "WAITING", "{said}");
    let invocation = &book.invocations[0];
    assert_eq!(
        (text(invocation, "status"), text(invocation, "result_code")),
        ("UNKNOWN", "NODE_RESULT_UNKNOWN"),
        "{said}"
    );
    // The first node has failed, and only the second one needs a person's word.
    assert!(said.contains("--node-id b "), "{said}");
    assert!(!said.contains("--node-id a "), "{said}");
}

#[test]
fn a_signal_that_leaves_work_to_do_leads_to_a_resume() {
    let sandbox = Sandbox::seeded("signal-work", &["--orders", "1"], &[]);
    let nodes = [
        NodeSpec::new("a", &[], &["CANCELLED"]).not_idempotent(),
        NodeSpec::new("b", &["a"], &["SUCCESS"]),
        NodeSpec::new("c", &[], &["SUCCESS"]).sleeping(1500),
    ];
    let space = Workspace::new(&sandbox, "work", &nodes);
    // Stopped after node a has ended and before node c is started.
    sandbox.fault(
        &json!({"match": {"method": "GET", "path": "/k/v1/records.json", "app": STATE.0, "contains": "CANCEL:"},
        "nth": 1, "action": "hold_after"}),
    );
    let child = space.start(&["--business-key", "k"]);
    let hold = sandbox.wait_for_hold();
    signal(child.id(), "TERM");
    std::thread::sleep(Duration::from_millis(300));
    sandbox.release(&hold, "proceed");
    let told = ends(child);
    let book = assert_sound(&sandbox, &space);
    assert_eq!(book.nodes()["c"], "WAITING", "{told}");
    assert!(
        told.contains("--resume") && !told.contains("archive-run"),
        "{told}"
    );
}

#[test]
fn a_shutdown_that_reaches_control_plane_and_job_is_one_request() {
    for name in ["TERM", "INT", "HUP"] {
        let sandbox = Sandbox::seeded(&format!("shutdown-{name}"), &["--orders", "1"], &[]);
        let mut space = Workspace::new(&sandbox, "shutdown", &[NodeSpec::new("a", &[], &[])]);
        let insert = "INSERT INTO LAPP_orders (顧客コード, 受注日) VALUES ('C00001', '2026-11-01');\n";
        space.use_the_real_runner(
            &sandbox,
            env!("CARGO_BIN_EXE_ksql-flow"),
            &[("a", &insert.repeat(2))],
        );
        sandbox
            .fault(&json!({"match": {"method": "POST", "app": ORDERS.0}, "nth": 1, "action": "hold_before"}));
        let child = space.start(&["--business-key", "k"]);
        let hold = sandbox.wait_for_hold();
        let jobs = children(child.id());
        assert_eq!(jobs.len(), 1, "{jobs:?}");
        // A service manager signals the whole group, twice where it also sends SIGHUP.
        for _ in 0..2 {
            signal(child.id(), name);
            signal(jobs[0], name);
        }
        // The control plane passes its own on within this time.
        std::thread::sleep(Duration::from_millis(300));
        sandbox.release(&hold, "proceed");
        let said = ends(child);
        let book = assert_sound(&sandbox, &space);
        assert_eq!(book.nodes()["a"], "CANCELLED", "{name}: {said}");
        assert!(book.held_locks.is_empty(), "{name}: {said}");
        let log = &sandbox.records(JOB_LOG.0)[0];
        assert_eq!(
            (text(log, "status"), text(log, "job_key")),
            ("CANCELLED", ""),
            "{name}: {said}"
        );
    }
}

#[test]
fn a_signal_between_nodes_starts_no_further_node_and_a_resume_goes_on() {
    let sandbox = Sandbox::seeded("signal-between", &["--orders", "1"], &[]);
    let space = Workspace::new(&sandbox, "between", SLOW);
    // Park the read before node b, then ask to stop.
    sandbox.fault(
        &json!({"match": {"method": "GET", "path": "/k/v1/records.json", "app": 1, "contains": "CANCEL:"},
        "nth": 1, "action": "hold_before"}),
    );
    let child = space.start(&["--business-key", "k"]);
    let hold = sandbox.wait_for_hold();
    signal(child.id(), "TERM");
    std::thread::sleep(Duration::from_millis(200));
    sandbox.release(&hold, "proceed");
    ends(child);
    let book = assert_sound(&sandbox, &space);
    assert!(book.held_locks.is_empty());
    // The signal may be seen just before or just after the read; either way the books agree.
    let output = space.run_network(&["--business-key", "k", "--resume"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(assert_sound(&sandbox, &space).status(), "SUCCESS");
}

#[test]
fn a_kill_leaves_the_job_to_finish_and_the_next_start_adopts_its_result() {
    let sandbox = Sandbox::seeded("kill-job", &["--orders", "1"], &[]);
    let space = Workspace::new(&sandbox, "killed", SLOW);
    let mut child = space.start(&["--business-key", "k"]);
    wait_for_job(&space);
    child.kill().expect("kill -9");
    child.wait().expect("reaped");
    let early = space.run_network(&["--business-key", "k"]);
    let told = said(&early);
    assert!(
        told.contains("LOCK_CONFLICT") && told.contains("still running as process"),
        "{told}"
    );
    // The job ends by itself; then the same command carries on.
    std::thread::sleep(Duration::from_millis(2500));
    let output = space.run_network(&["--business-key", "k"]);
    assert!(output.status.success(), "{}", said(&output));
    let book = assert_sound(&sandbox, &space);
    assert_eq!(book.status(), "SUCCESS");
    assert_eq!(space.executions().len(), 2, "no job ran twice");
    let released = book
        .operations
        .iter()
        .find(|o| text(o, "result_code") == "NETWORK_LOCK_FORCE_RELEASED");
    let event = text(released.expect("an audit record of the release"), "reason").to_owned();
    assert!(
        event.contains("\"stop_method\":\"local_pid\"") && event.contains("auto:"),
        "{event}"
    );
}

#[test]
fn automatic_release_can_be_switched_off() {
    let sandbox = Sandbox::seeded("reclaim-off", &["--orders", "1"], &[]);
    let space = Workspace::new(&sandbox, "off", SLOW);
    let mut child = space.start(&["--business-key", "k"]);
    wait_for_job(&space);
    child.kill().expect("kill -9");
    child.wait().expect("reaped");
    std::thread::sleep(Duration::from_millis(2500));
    let file = space.network_file();
    let args = [
        "run-network",
        file.to_str().expect("UTF-8"),
        "--business-key",
        "k",
    ];
    let output = space
        .command(&args)
        .env("KSQL_FLOWNET_AUTO_RECLAIM", "off")
        .output()
        .expect("runs");
    assert!(said(&output).contains("LOCK_CONFLICT"), "{}", said(&output));
    assert_eq!(Book::read(&sandbox, "off").held_locks.len(), 1);
}

#[test]
fn a_lock_that_was_taken_away_during_a_job_ends_without_a_write() {
    let sandbox = Sandbox::seeded("taken", &["--orders", "1"], &[]);
    let space = Workspace::new(&sandbox, "taken", SLOW);
    let child = space.start(&["--business-key", "k"]);
    wait_for_job(&space);
    let lock = &Book::read(&sandbox, "taken").held_locks[0];
    let id = text(lock, "$id").parse().expect("number");
    sandbox.edit(STATE.0, id, &json!({
        "record_key": {"value": "LOCKDONE:by-a-person"}, "lock_key": {"value": ""}, "lease_token": {"value": ""},
        "owner_invocation_id": {"value": ""}, "status": {"value": "CANCELLED"},
    }));
    let told = ends(child);
    assert!(told.contains("NETWORK_LEASE_INTERRUPTED"), "{told}");
    let book = Book::read(&sandbox, "taken");
    assert_eq!(book.nodes()["a"], "RUNNING", "the old owner wrote nothing");
    let output = space.run_network(&["--business-key", "k", "--resume"]);
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(assert_sound(&sandbox, &space).status(), "SUCCESS");
    assert_eq!(space.executions().len(), 2, "no job ran twice");
}

#[test]
fn a_person_who_saves_records_during_a_job_does_no_harm() {
    let sandbox = Sandbox::seeded("saved", &["--orders", "1"], &[]);
    let space = Workspace::new(&sandbox, "saved", SLOW);
    let child = space.start(&["--business-key", "k"]);
    wait_for_job(&space);
    let book = Book::read(&sandbox, "saved");
    for record in book.held_locks.iter().chain(&book.states).chain(&book.runs) {
        sandbox.edit(STATE.0, text(record, "$id").parse().expect("number"), &json!({}));
    }
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(assert_sound(&sandbox, &space).status(), "SUCCESS");
}

#[test]
fn an_outage_during_a_job_is_waited_out() {
    let sandbox = Sandbox::seeded("outage", &["--orders", "1"], &[]);
    let space = Workspace::new(&sandbox, "outage", SLOW);
    let child = space.start(&["--business-key", "k"]);
    wait_for_job(&space);
    sandbox.fault(&json!({"match": {"app": 1}, "nth": 1, "times": 12, "action": "status", "status": 503, "body": "busy"}));
    let output = child.wait_with_output().expect("ends");
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(assert_sound(&sandbox, &space).status(), "SUCCESS");
    assert_eq!(space.executions().len(), 2);
}

#[test]
fn an_outage_of_more_than_a_lease_needs_no_person_afterwards() {
    let sandbox = Sandbox::seeded("long-outage", &["--orders", "1"], &[]);
    let space = Workspace::leased(&sandbox, "outage", SLOW, (3, 1));
    let child = space.start(&["--business-key", "k"]);
    wait_for_job(&space);
    sandbox.fault(
        &json!({"match": {"app": STATE.0}, "nth": 1, "times": 100_000, "action": "status", "status": 503, "body": "busy"}),
    );
    let told = ends(child);
    assert!(told.contains("NETWORK_LEASE_INTERRUPTED"), "{told}");
    sandbox.clear_faults();
    assert_eq!(Book::read(&sandbox, "outage").held_locks.len(), 1);
    let output = space.run_network(&["--business-key", "k", "--resume"]);
    assert!(output.status.success(), "{}", said(&output));
    let book = assert_sound(&sandbox, &space);
    assert_eq!(book.status(), "SUCCESS");
    assert!(book.held_locks.is_empty());
    assert_eq!(space.executions().len(), 2, "no job ran twice");
}

/// The writing end of a pipe that is full, and the reading end that must stay open.
fn full_pipe() -> (std::io::PipeReader, std::io::PipeWriter) {
    use rustix::fs::{OFlags, fcntl_setfl};
    use std::io::Write as _;
    let (reader, mut writer) = std::io::pipe().expect("pipe");
    fcntl_setfl(&writer, OFlags::NONBLOCK).expect("flags");
    while writer.write(&[b'x'; 4096]).is_ok() {}
    fcntl_setfl(&writer, OFlags::empty()).expect("flags");
    (reader, writer)
}

#[test]
fn a_reader_of_messages_who_does_not_read_stops_nobody() {
    let sandbox = Sandbox::seeded("stuck-reader", &["--orders", "1"], &[]);
    let nodes = [
        NodeSpec::new("a", &[], &["SUCCESS"]).sleeping(1500),
        NodeSpec::new("b", &["a"], &["FAILED"]),
    ];
    let space = Workspace::new(&sandbox, "stuck", &nodes);
    let (reader, writer) = full_pipe();
    let child = space
        .network_command(&["--business-key", "k"])
        .stderr(writer)
        .spawn()
        .expect("starts");
    wait_for_job(&space);
    // Each of these is worth a warning while the lock is held.
    let book = Book::read(&sandbox, "stuck");
    for record in book.held_locks.iter().chain(&book.states).chain(&book.runs) {
        sandbox.edit(STATE.0, text(record, "$id").parse().expect("number"), &json!({}));
    }
    let output = child.wait_with_output().expect("ends");
    drop(reader);
    assert_eq!(output.status.code(), Some(1), "{}", said(&output));
    let book = assert_sound(&sandbox, &space);
    assert_eq!(book.nodes()["b"], "FAILED");
    assert!(book.held_locks.is_empty());
}

#[test]
fn whatever_a_signal_meets_before_the_first_node_it_is_one_outcome() {
    let requests = [
        json!({"match": {"method": "GET", "path": "/k/v1/records.json", "app": 1}, "nth": 1, "action": "hold_before"}),
        json!({"match": {"method": "POST", "path": "/k/v1/bulkRequest.json"}, "nth": 1, "action": "hold_before"}),
    ];
    for (i, fault) in requests.iter().enumerate() {
        let sandbox = Sandbox::seeded(&format!("early-{i}"), &["--orders", "1"], &[]);
        let space = Workspace::new(&sandbox, "early", SLOW);
        sandbox.fault(fault);
        let child = space
            .network_command(&["--business-key", "k"])
            .env("KSQL_FLOWNET_EXIT_CODES", "detailed")
            .spawn()
            .expect("starts");
        let hold = sandbox.wait_for_hold();
        signal(child.id(), "TERM");
        std::thread::sleep(Duration::from_millis(300));
        sandbox.release(&hold, "proceed");
        let output = child.wait_with_output().expect("ends");
        let told = said(&output);
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(
            told.contains("a signal asked to stop") && told.contains("--resume"),
            "{told}"
        );
        assert!(Book::read(&sandbox, "early").held_locks.is_empty(), "{told}");
        assert!(space.executions().is_empty(), "{told}");
    }
    let sandbox = Sandbox::seeded("early-known", &["--orders", "1"], &[]);
    let explained = Workspace::new(&sandbox, "known", SLOW).run(&["explain", "INTERRUPTED"]);
    assert!(explained.status.success(), "{}", said(&explained));
}

#[test]
fn a_work_directory_that_cannot_be_used_is_named_with_what_leads_on() {
    let sandbox = Sandbox::seeded("workdir", &["--orders", "1"], &[]);
    let space = Workspace::new(&sandbox, "workdir", &[NodeSpec::new("a", &[], &["SUCCESS"])]);
    std::fs::create_dir_all(space.dir.join("work")).expect("folder");
    std::fs::write(space.dir.join("work/metadata"), "in the way").expect("file");
    let told = said(&space.run_network(&["--business-key", "k"]));
    assert!(!told.contains("RUN_NETWORK_FAILED"), "{told}");
    assert!(
        told.contains("The work directory cannot be used") && told.contains("--resume"),
        "{told}"
    );
    assert!(Book::read(&sandbox, "workdir").held_locks.is_empty(), "{told}");
    std::fs::remove_file(space.dir.join("work/metadata")).expect("removed");
    let again = space.run_network(&["--business-key", "k", "--resume"]);
    assert!(again.status.success(), "{}", said(&again));
}
