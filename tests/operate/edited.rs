//! Records that a person edits in the browser (D-09): a save changes nothing, a changed field is refused by name, nothing is
//! written or executed meanwhile, and both ways out are open: put the value back, or abandon the Run.

use std::process::Output;

use serde_json::{Value as Json, json};

use crate::archive::ABANDON;
use crate::desk::{Desk, assert_done, assert_refused, id, json_of};
use crate::network::{NodeSpec, PROFILE, said, text};
use crate::operator::type_command;
use crate::sandbox::{JOB_LOG, STATE};

/// `a` has succeeded and must not be repeated; `b` fails once.
fn half_done(name: &str) -> Desk {
    let nodes = [
        NodeSpec::new("a", &[], &["SUCCESS"]).not_idempotent(),
        NodeSpec::new("b", &["a"], &["FAILED", "SUCCESS"]),
        NodeSpec::new("c", &["b"], &["SUCCESS"]),
    ];
    Desk::new(name, &nodes)
}

fn resume(desk: &Desk) -> Output {
    desk.space.run_network(&["--business-key", "k", "--resume"])
}

/// All records but locks, as text.
fn records(desk: &Desk) -> String {
    let book = desk.book();
    format!(
        "{:?}{:?}{:?}{:?}",
        book.runs, book.states, book.invocations, book.attempts
    )
}

fn assert_names(output: &Output, record: u64, field: &str, stored: &str, expected: &str) {
    let all = said(output);
    let named =
        format!("record {record} of the state app was edited: field {field} is '{stored}', expected ");
    let at = all.find(&named).unwrap_or_else(|| panic!("{named}\n{all}"));
    assert!(all[at + named.len()..].starts_with(expected), "{expected}\n{all}");
}

/// Refused by a start that names what was edited, and done again once it was put back; no job runs meanwhile.
fn check_start(desk: &Desk, record: &Json, field: &str, value: &Json, code: &str, told: &[&str]) {
    let was = &record[field]["value"];
    let put = |value: &Json| {
        desk.sandbox
            .edit(STATE.0, id(record), &json!({ field: { "value": value } }));
    };
    put(value);
    let executed = desk.space.executions().len();
    let output = resume(desk);
    assert_refused(&output, code);
    let all = said(&output);
    for words in [&[&format!("record {} of the state app", id(record)), field], told].concat() {
        assert!(all.contains(words), "{field}: no {words}\n{all}");
    }
    assert!(!all.contains("was changed since"), "{all}");
    assert_eq!(desk.space.executions().len(), executed, "{field}: a job ran");
    assert!(desk.book().held_locks.is_empty());
    put(was);
}

#[test]
fn an_edited_profile_or_bundle_is_named_and_blamed_on_nobody_else() {
    let desk = half_done("edited_hashes");
    let run = desk.run();
    let zeros = json!("0".repeat(64));
    let mut snapshot: Json = serde_json::from_str(text(&run, "resolved_profile_snapshot")).expect("JSON");
    snapshot["timezone"] = json!("UTC");
    let required = "RECONCILIATION_REQUIRED";
    for (field, value, code, told) in [
        (
            "resolved_profile_sha256",
            &zeros,
            "PROFILE_SNAPSHOT_MISMATCH",
            text(&run, "resolved_profile_sha256"),
        ),
        (
            "resolved_profile_snapshot",
            &json!(snapshot.to_string()),
            required,
            "RECORD_EDITED",
        ),
        (
            "source_bundle_sha256",
            &zeros,
            "BUNDLE_HASH_MISMATCH",
            text(&run, "source_bundle_sha256"),
        ),
        (
            "definition_sha256",
            &zeros,
            required,
            text(&run, "definition_sha256"),
        ),
        ("definition_schema_version", &json!("2"), required, "expected '1'"),
    ] {
        check_start(&desk, &run, field, value, code, &[told]);
    }
    assert_done(&resume(&desk));
}

#[test]
fn a_run_without_its_bundle_is_a_decision_until_it_is_closed() {
    let desk = half_done("edited_attachment");
    let run = desk.run();
    desk.sandbox.edit(
        STATE.0,
        id(&run),
        &json!({ "source_bundle_attachment": { "value": [] } }),
    );
    let output = resume(&desk);
    assert_refused(&output, "RECONCILIATION_REQUIRED");
    let hash = text(&run, "source_bundle_sha256");
    assert_names(
        &output,
        id(&run),
        "source_bundle_attachment",
        "",
        &format!("the bundle with SHA-256 {hash}"),
    );
    let status = desk.status();
    assert_eq!(status["situation"], "DECISION", "{status:#}");
    let actions = status["next_actions"].as_array().expect("a list");
    let [abandon] = actions.as_slice() else {
        panic!("{status:#}")
    };
    assert_done(&type_command(
        &desk.space,
        abandon["command"].as_str().expect("a command"),
    ));
    assert_eq!(desk.status()["situation"], "ARCHIVED");
}

#[test]
fn whether_a_node_may_be_repeated_is_looked_up_in_the_bundle() {
    let desk = half_done("edited_idempotent");
    check(&desk, &desk.state("a"), "idempotent", "true", "'false'");
    check(&desk, &desk.state("b"), "idempotent", "false", "'true'");
    desk.edit_state(&desk.state("b"), "idempotent", "false");
    desk.sandbox.clear_log();
    desk.status();
    assert!(desk.requests() <= 4, "{}", desk.requests());
    let network = &desk.space.network_id;
    let by_key = desk
        .space
        .run(&["status", network, "--profile", PROFILE, "--business-key", "k"]);
    assert!(
        said(&by_key).contains("field idempotent is 'false', expected 'true'"),
        "{}",
        said(&by_key)
    );
}

/// A node that reads a CSV file and fails.
fn with_an_input(name: &str) -> Desk {
    let desk = Desk::empty(name, &[NodeSpec::new("a", &[], &["FAILED", "SUCCESS"])]);
    let file = desk.space.network_file();
    let yaml = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, yaml + "    inputs: {src: a.csv}\n").expect("written");
    std::fs::write(desk.space.dir.join("io/in/a.csv"), "x\n1\n").expect("written");
    desk.space.run_network(&["--business-key", "k"]);
    desk
}

#[test]
fn a_run_whose_input_files_may_be_gone_is_not_offered_to_a_start() {
    let old = "2020-01-01T00:00:00Z";
    let desk = with_an_input("edited_retention");
    desk.edit_state(&desk.run(), "created_at", old);
    assert_refused(&resume(&desk), "INPUT_RETENTION_EXPIRED");
    desk.sandbox.clear_log();
    let status = desk.status();
    assert!(desk.requests() <= 4, "{}", desk.requests());
    let reason = status["waiting_on"]["reason"].as_str().expect("a reason");
    assert!(reason.contains("INPUT_RETENTION_EXPIRED"), "{status:#}");
    let actions = status["next_actions"].as_array().expect("a list");
    assert!(actions.iter().all(|a| a["action"] == "ARCHIVE"), "{status:#}");
    assert_done(&type_command(
        &desk.space,
        actions[0]["command"].as_str().expect("a command"),
    ));
    // Without inputs nothing can be gone.
    let desk = half_done("edited_no_retention");
    desk.edit_state(&desk.run(), "created_at", old);
    assert_eq!(desk.status()["next_actions"][0]["action"], "RESUME");
}

#[test]
fn a_run_with_files_is_not_resumed_without_their_directory() {
    let desk = with_an_input("edited_no_directory");
    let file = desk.space.network_file();
    let yaml = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, yaml.replace("    inputs: {src: a.csv}\n", "")).expect("written");
    let before = records(&desk);
    let mut resume = desk.space.network_command(&["--business-key", "k", "--resume"]);
    let output = resume.env_remove("KSQL_FLOWNET_IO_DIR").output().expect("runs");
    assert_refused(&output, "RUN_NETWORK_FAILED");
    assert!(
        said(&output).contains("KSQL_FLOWNET_IO_DIR is required"),
        "{}",
        said(&output)
    );
    assert_eq!(records(&desk), before);
    assert!(desk.book().held_locks.is_empty());
}

#[test]
fn two_log_records_of_one_attempt_are_a_decision_for_a_person() {
    let (desk, start, _) = Desk::between("edited_log");
    desk.kill(start);
    let record = desk.book().job_log.swap_remove(0);
    let copy = json!({
        "record_type": record["record_type"], "attempt_id": record["attempt_id"], "job_id": record["job_id"],
        "status": { "value": "FAILED" },
    });
    desk.sandbox.insert(JOB_LOG.0, &[copy]);
    let unknown = said(&resume(&desk));
    assert!(unknown.contains("(NODE_RESULT_UNKNOWN)"), "{unknown}");
    let status = desk.status();
    assert_eq!(status["situation"], "DECISION", "{status:#}");
    let reason = status["waiting_on"]["reason"].as_str().expect("a reason");
    assert!(
        reason.contains("the JOB log has several records of this attempt"),
        "{status:#}"
    );
    let way = status["next_actions"][0]["command"].as_str().expect("a command");
    assert!(way.starts_with("ksql-flownet resolve-node"), "{way}");
    assert_done(&type_command(&desk.space, way));
    assert_done(&resume(&desk));
}

#[test]
fn a_job_that_differs_from_its_attempts_is_found_on_the_side_that_was_saved() {
    let desk = half_done("edited_job");
    let job = text(&desk.state("a"), "job_id").to_owned();
    check(&desk, &desk.state("a"), "job_id", "other", &format!("'{job}'"));
    assert_done(&resume(&desk));
    let desk = half_done("edited_attempt_job");
    let attempt = desk.book().attempts.swap_remove(0);
    desk.edit_audit(&attempt, "job_id", "other");
    let named = format!(
        "NODE_ATTEMPT record {} of the audit app was edited: field job_id is 'other'",
        id(&attempt)
    );
    assert!(said(&resume(&desk)).contains(&named), "{}", said(&resume(&desk)));
    assert!(desk.status().to_string().contains(&named));
}

/// Refused, named by start and status, nothing done; then the value is put back and the Run goes on.
fn check(desk: &Desk, record: &Json, field: &str, value: &str, expected: &str) {
    let was = text(record, field).to_owned();
    desk.edit_state(record, field, value);
    let (before, executed) = (records(desk), desk.space.executions().len());
    let output = resume(desk);
    assert_refused(&output, "RECONCILIATION_REQUIRED");
    assert_names(&output, id(record), field, value, expected);
    assert_eq!(records(desk), before, "{field} -> {value}: something was written");
    assert_eq!(
        desk.space.executions().len(),
        executed,
        "{field} -> {value}: a job ran"
    );
    assert_eq!(desk.book().runs.len(), 1);
    assert!(desk.book().held_locks.is_empty());
    let status = desk.status();
    assert_eq!(status["situation"], "DECISION", "{status:#}");
    assert_eq!(status["next_actions"][0]["action"], "ABANDON", "{status:#}");
    desk.edit_state(record, field, &was);
}

#[test]
fn an_edited_node_is_not_acted_on() {
    let desk = half_done("edited_node");
    for to in ["WAITING", "BLOCKED", "FAILED", "CANCELLED", "UNKNOWN", "SKIPPED"] {
        check(&desk, &desk.state("a"), "status", to, "'SUCCESS'");
    }
    for to in ["SUCCESS", "WAITING", "CANCELLED", "UNKNOWN"] {
        check(&desk, &desk.state("b"), "status", to, "'FAILED'");
    }
    check(&desk, &desk.state("c"), "status", "SUCCESS", "'WAITING'");
    check(
        &desk,
        &desk.state("a"),
        "latest_attempt_no",
        "2",
        "the number of an Attempt",
    );
    check(&desk, &desk.state("a"), "node_state_key", "S1:other", "'S1:");
    check(&desk, &desk.state("a"), "revision", "99", "");
    let went_on = resume(&desk);
    assert_done(&went_on);
    assert!(
        said(&went_on).contains("was saved by somebody else"),
        "{}",
        said(&went_on)
    );
    let executed = desk.space.executions();
    let of_a = executed.iter().filter(|(job, _, _)| job.ends_with("_a"));
    assert_eq!(of_a.count(), 1, "{executed:?}");
}

#[test]
fn an_edited_run_is_not_acted_on_and_gets_no_twin() {
    let desk = half_done("edited_run");
    for (field, value, expected) in [
        ("record_key", "zzz", "'R1:"),
        ("status", "SUCCESS", "'FAILED'"),
        ("status", "CREATED", "'FAILED'"),
        ("created_at", "", "the time at which"),
    ] {
        check(&desk, &desk.run(), field, value, expected);
    }
    let plain = |desk: &Desk| desk.space.run_network(&["--business-key", "k"]);
    desk.edit_state(&desk.run(), "record_key", "zzz");
    assert_refused(&plain(&desk), "RECONCILIATION_REQUIRED");
    assert_eq!(desk.book().runs.len(), 1);
    assert_done(&desk.archive(ABANDON));
    assert_refused(&plain(&desk), "RECONCILIATION_REQUIRED");
    assert_eq!(desk.book().runs.len(), 1, "a Run of the business key exists");
}

#[test]
fn a_run_that_lost_its_nodes_is_refused() {
    let desk = half_done("edited_run_id");
    let run = desk.run();
    desk.edit_state(&run, "run_id", "netrun_x");
    let executed = desk.space.executions().len();
    let output = resume(&desk);
    assert_refused(&output, "RECONCILIATION_REQUIRED");
    assert!(said(&output).contains("no NODE_STATE"), "{}", said(&output));
    assert_eq!(desk.space.executions().len(), executed);
    assert_eq!(desk.status()["situation"], "DECISION");
    desk.edit_state(&run, "run_id", text(&run, "run_id"));
    assert_done(&resume(&desk));
}

#[test]
fn a_copied_run_is_named_and_every_command_works_once_it_is_deleted() {
    let desk = half_done("edited_copy");
    let run = desk.run();
    let run_id = desk.run_id();
    let copy = desk.copy(STATE.0, &run, &[("record_key", "R1:copy")]);
    let named = format!(
        "NETWORK_RUN record {} of the state app was copied by hand: record {copy} of the state app",
        id(&run)
    );
    let names = |output: &Output, code: &str| {
        assert_refused(output, code);
        assert!(said(output).contains(&named), "{named}\n{}", said(output));
        assert!(
            said(output).contains("next: delete in kintone the record"),
            "{}",
            said(output)
        );
    };
    names(&resume(&desk), "MULTIPLE_RUNS");
    names(
        &desk.space.run_network(&["--resume-run", &run_id]),
        "MULTIPLE_RUNS",
    );
    names(&desk.archive(&[]), "MULTIPLE_RECORDS");
    names(&desk.archive(ABANDON), "MULTIPLE_RECORDS");
    names(&desk.hold(&[]), "MULTIPLE_RECORDS");
    let network = &desk.space.network_id;
    let list = || {
        json_of(
            &desk
                .space
                .run(&["status", network, "--profile", PROFILE, "--json"]),
        )["runs"]
            .clone()
    };
    for run in list().as_array().expect("a list") {
        assert_eq!(run["situation"], "DECISION", "{run:#}");
        assert_eq!(run["next_actions"], json!([]), "{run:#}");
        assert!(
            run["waiting_on"]["reason"].to_string().contains(&named),
            "{run:#}"
        );
    }
    desk.delete(STATE.0, copy);
    assert_eq!(list()[0]["situation"], "FAILED");
    assert_done(&resume(&desk));
}

#[test]
fn a_success_that_was_edited_into_a_run_ends_no_start() {
    let desk = half_done("edited_success");
    desk.edit_state(&desk.run(), "status", "SUCCESS");
    for words in [&["--business-key", "k"][..], &["--business-key", "k", "--resume"]] {
        assert_refused(&desk.space.run_network(words), "RECONCILIATION_REQUIRED");
    }
    assert_done(&desk.archive(ABANDON));
    assert_eq!(desk.status()["situation"], "ARCHIVED");
}

#[test]
fn an_archived_run_does_not_come_back() {
    let desk = half_done("edited_archive");
    assert_done(&desk.archive(&[]));
    check(&desk, &desk.run(), "lifecycle_status", "ACTIVE", "'ARCHIVED'");
}

#[test]
fn an_edit_while_a_node_runs_is_found_by_the_next_write() {
    for (n, (on_run, field, value, expected)) in [
        (true, "lifecycle_status", "ARCHIVED", "'ACTIVE'"),
        (false, "status", "SUCCESS", "'WAITING'"),
    ]
    .into_iter()
    .enumerate()
    {
        let (desk, start, parked) = Desk::between(&format!("edited_live_{n}"));
        let record = if on_run { desk.run() } else { desk.state("b") };
        desk.edit_state(&record, field, value);
        desk.sandbox.release(&parked, "proceed");
        let output = start.wait_with_output().expect("ends");
        assert_refused(&output, "RECONCILIATION_REQUIRED");
        assert_names(&output, id(&record), field, value, expected);
        desk.edit_state(&record, field, text(&record, field));
        assert_done(&resume(&desk));
        desk.assert_sound();
    }
}

#[test]
fn an_invocation_that_vanished_or_was_edited_keeps_neither_the_result_nor_the_lock() {
    type Edit = fn(&Desk, &Json);
    let edits: &[Edit] = &[
        |desk, record| desk.delete_audit(record),
        |desk, record| desk.edit_audit(record, "status", "FAILED"),
        |desk, record| desk.edit_audit(record, "record_key", "INV:other"),
    ];
    for (n, edit) in edits.iter().enumerate() {
        let (desk, start, parked) = Desk::between(&format!("edited_invocation_{n}"));
        edit(&desk, &desk.book().invocations[0]);
        desk.sandbox.release(&parked, "proceed");
        let output = start.wait_with_output().expect("ends");
        assert_done(&output);
        let told = "the Run is finished without this record of its start";
        assert!(said(&output).contains(told), "{}", said(&output));
        assert_eq!(text(&desk.run(), "status"), "SUCCESS");
        assert!(desk.book().held_locks.is_empty(), "the lock stays");
    }
}

/// A resume that did not reach the node which failed leaves it waiting; its file must still be the one it had read (IO-10).
#[test]
fn a_changed_input_is_noticed_by_whichever_resume_reaches_its_node() {
    let desk = Desk::empty(
        "changed_input",
        &[NodeSpec::new("a", &[], &["FAILED", "SUCCESS"])],
    );
    let input = desk.space.dir.join("io/in/sales.csv");
    std::fs::write(&input, "id\n1\n").expect("input");
    let file = desk.space.network_file();
    let yaml = std::fs::read_to_string(&file).expect("network");
    let with_input = "    idempotent: true\n    inputs:\n      sales: sales.csv\n";
    std::fs::write(&file, yaml.replace("    idempotent: true\n", with_input)).expect("network");
    desk.space.run_network(&["--business-key", "k"]);
    assert_eq!(desk.book().nodes()["a"], "FAILED");
    // Killed after the node was set back and before it was tried again.
    desk.sandbox.fault(&json!({
        "match": {"method": "POST", "path": "/k/v1/bulkRequest.json", "contains": "NODE_ATTEMPT"},
        "nth": 1, "times": 1, "action": "hold_before"
    }));
    let resume = desk.space.start(&["--business-key", "k", "--resume"]);
    desk.kill(resume);
    assert_eq!(desk.book().nodes()["a"], "WAITING");
    std::fs::write(&input, "id\n2\n").expect("input");
    let before = desk.book();
    let refused = desk.space.run_network(&["--business-key", "k", "--resume"]);
    assert_refused(&refused, "INPUT_FILE_MUTATED");
    assert_eq!(desk.space.executions().len(), 1, "{}", said(&refused));
    assert_eq!(desk.book().attempts.len(), before.attempts.len());
    std::fs::write(&input, "id\n1\n").expect("input");
    assert_done(&desk.space.run_network(&["--business-key", "k", "--resume"]));
}

/// An edited flag must not do away with the second person (OPR-10 row 8).
#[test]
fn an_edited_flag_does_not_do_away_with_the_approver() {
    let desk = Desk::new(
        "edited_flag",
        &[NodeSpec::new("a", &[], &["VANISH"]).not_idempotent()],
    );
    desk.free_job_locks();
    let state = desk.state("a");
    desk.edit_state(&state, "idempotent", "true");
    let refused = desk.resolve("a", "SUCCESS", &[]);
    assert_refused(&refused, "RECONCILIATION_REQUIRED");
    let named = "field idempotent is 'true', expected 'false'";
    assert!(said(&refused).contains(named), "{}", said(&refused));
    assert!(desk.book().resolutions.is_empty());
    desk.edit_state(&state, "idempotent", "false");
    assert_refused(&desk.resolve("a", "SUCCESS", &[]), "DISTINCT_APPROVER_REQUIRED");
    assert_done(&desk.resolve("a", "SUCCESS", &["--approved-by", "ito"]));
}

/// A result code that only the runner knows is no edit (RUN-27).
#[test]
fn a_code_of_another_runner_hinders_nothing() {
    let nodes = [
        NodeSpec::new("a", &[], &["SUCCESS_ITS_OWN_WAY"]).not_idempotent(),
        NodeSpec::new("b", &["a"], &["FAILED", "SUCCESS"]),
    ];
    let desk = Desk::new("foreign_code", &nodes);
    assert_eq!(text(&desk.book().attempts[0], "result_code"), "OK_WITH_WARNINGS");
    for _ in 0..2 {
        assert_done(&desk.space.run_network(&["--business-key", "k", "--resume"]));
    }
    assert_eq!(desk.space.executions().len(), 3);
}

/// What an edited flag makes impossible is not the news; the edit is.
#[test]
fn an_edited_flag_is_named_before_what_it_forbids() {
    let desk = Desk::new(
        "flag_first",
        &[NodeSpec::new("a", &[], &["FAILED"]).not_idempotent()],
    );
    let (run, state) = (desk.run(), desk.state("a"));
    desk.edit_state(&state, "idempotent", "true");
    assert_refused(&desk.resolve("a", "CANCELLED", &[]), "RECONCILIATION_REQUIRED");
    desk.edit_state(&state, "idempotent", "false");
    // The bundle is what the flag is compared with.
    let id = id(&run);
    desk.sandbox
        .edit(STATE.0, id, &json!({"source_bundle_attachment": {"value": []}}));
    let refused = desk.resolve("a", "CANCELLED", &[]);
    assert_refused(&refused, "RECONCILIATION_REQUIRED");
    assert!(
        said(&refused).contains("field source_bundle_attachment"),
        "{}",
        said(&refused)
    );
}

/// The owner of another Run died; this Run is still one that was not asked to be resumed.
#[test]
fn a_death_resumes_only_the_run_of_the_dead() {
    let nodes = [
        NodeSpec::new("a", &[], &["FAILED", "SUCCESS"]),
        NodeSpec::new("b", &["a"], &["SUCCESS"]),
    ];
    let desk = Desk::new("two_runs", &nodes);
    desk.reopen_invocation();
    desk.sandbox.fault(&json!({
        "match": {"method": "POST", "path": "/k/v1/bulkRequest.json", "contains": "\"result_code\":{\"value\":\"OK\"}"},
        "nth": 1, "times": 1, "action": "hold_before"
    }));
    let other = desk.space.start(&["--business-key", "k2"]);
    desk.kill(other);
    let ran = desk.space.executions().len();
    let refused = desk.space.run_network(&["--business-key", "k"]);
    assert_refused(&refused, "RUN_ALREADY_EXISTS");
    assert_eq!(desk.space.executions().len(), ran, "nothing ran");
}
