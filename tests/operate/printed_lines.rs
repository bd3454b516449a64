//! What a refused command prints as `next:` leads on: every line is typed as it stands, in a state of its own, and is taken.

use std::process::Output;

use serde_json::json;

use crate::desk::Desk;
use crate::network::{NodeSpec, said, text};
use crate::operator::type_command;

/// Makes a state and runs the command whose lines are looked at.
type Scene = fn(&str) -> (Desk, Output);

const ONCE: NodeSpec = NodeSpec::new("a", &[], &["FAILED"]).not_idempotent();

/// A node that failed so often that the next resume is refused.
pub fn braked(name: &str) -> (Desk, Output) {
    let desk = Desk::new(
        name,
        &[NodeSpec::new(
            "a",
            &[],
            &["FAILED", "FAILED", "FAILED", "SUCCESS"],
        )],
    );
    desk.space.run_network(&["--business-key", "k", "--resume"]);
    let output = desk.space.run_network(&["--business-key", "k", "--resume"]);
    (desk, output)
}

fn failed_once(name: &str) -> (Desk, Output) {
    let desk = Desk::empty(name, &[ONCE]);
    let output = desk.space.run_network(&["--business-key", "k"]);
    (desk, output)
}

fn rerun_of_a_node_that_is_not_idempotent(name: &str) -> (Desk, Output) {
    let desk = Desk::new(name, &[ONCE]);
    let output = desk
        .space
        .run_network(&["--business-key", "k", "--resume", "--rerun-from", "a"]);
    (desk, output)
}

fn start_on_an_archived_run(name: &str) -> (Desk, Output) {
    let desk = Desk::new(name, &[ONCE]);
    assert!(desk.archive(&[]).status.success());
    let output = desk.space.run_network(&["--business-key", "k"]);
    (desk, output)
}

fn resume_of_an_archived_run(name: &str) -> (Desk, Output) {
    let desk = Desk::new(name, &[ONCE]);
    assert!(desk.archive(&[]).status.success());
    let output = desk.space.run_network(&["--business-key", "k", "--resume"]);
    (desk, output)
}

fn archived(name: &str) -> (Desk, Output) {
    let desk = Desk::new(name, &[ONCE]);
    let output = desk.archive(&[]);
    (desk, output)
}

fn resume_not_allowed(name: &str) -> (Desk, Output) {
    let desk = Desk::new(name, &[ONCE]);
    let run = desk.run();
    let id = text(&run, "$id").parse().expect("number");
    desk.sandbox.edit(
        crate::sandbox::STATE.0,
        id,
        &json!({"resume_allowed": {"value": "false"}}),
    );
    let output = desk.space.run_network(&["--business-key", "k", "--resume"]);
    (desk, output)
}

fn full_with_an_unknown_run(name: &str) -> (Desk, Output) {
    let desk = Desk::empty(name, &[NodeSpec::new("a", &[], &["VANISH"])]);
    let file = desk.space.network_file();
    let yaml = std::fs::read_to_string(&file).expect("network");
    std::fs::write(&file, yaml.replace("max_active_runs: 10", "max_active_runs: 1")).expect("network");
    desk.space.run_network(&["--business-key", "k"]);
    let output = desk.space.run_network(&["--business-key", "l"]);
    (desk, output)
}

fn another_resolution_of_a_done_node(name: &str) -> (Desk, Output) {
    let nodes = [
        NodeSpec::new("a", &[], &["VANISH"]),
        NodeSpec::new("b", &["a"], &["SUCCESS"]),
    ];
    let desk = Desk::new(name, &nodes);
    assert!(desk.resolve("a", "SUCCESS", &[]).status.success());
    let output = desk.resolve("a", "FAILED", &[]);
    (desk, output)
}

fn behind_a_dead_owner(name: &str) -> (Desk, Output) {
    let desk = Desk::stopped(name);
    let owner = text(&desk.book().invocations[0], "invocation_id").to_owned();
    desk.lock(&owner, "local-pid://elsewhere/7", -5);
    let output = desk.space.run_network(&["--business-key", "k", "--resume"]);
    (desk, output)
}

fn archive_behind_a_dead_owner(name: &str) -> (Desk, Output) {
    let desk = Desk::new(name, &[ONCE]);
    desk.lock("invoke_other", "local-pid://elsewhere/7", -5);
    let output = desk.archive(&[]);
    (desk, output)
}

/// Scene, and a word that its output must contain.
const SCENES: &[(&str, Scene, &str)] = &[
    ("braked", braked, "--rerun-from a"),
    ("failed_once", failed_once, "not_tried_again"),
    (
        "rerun_once",
        rerun_of_a_node_that_is_not_idempotent,
        "RERUN_FROM_NON_IDEMPOTENT",
    ),
    ("start_archived", start_on_an_archived_run, "keeps the key"),
    ("resume_archived", resume_of_an_archived_run, "RUN_NOT_RESUMABLE"),
    ("archived", archived, "ARCHIVED"),
    ("not_allowed", resume_not_allowed, "resume_allowed of Run"),
    ("full", full_with_an_unknown_run, "MAX_ACTIVE_RUNS"),
    ("resolved", another_resolution_of_a_done_node, "RESOLUTION_EXISTS"),
    ("dead_owner", behind_a_dead_owner, "LOCK_CONFLICT"),
    ("archive_locked", archive_behind_a_dead_owner, "LOCK_CONFLICT"),
];

fn commands(output: &Output) -> Vec<String> {
    let lines = String::from_utf8_lossy(&output.stderr).into_owned();
    lines
        .lines()
        .filter_map(|line| line.strip_prefix("next: ksql-flownet "))
        .filter_map(|line| line.split("  #").next())
        .map(|line| format!("ksql-flownet {line}"))
        .collect()
}

fn check(name: &str, scene: Scene, word: &str) {
    let (_, first) = scene(&format!("line_{name}"));
    let count = commands(&first).len();
    assert!(count > 0, "{name}: no line leads on\n{}", said(&first));
    if word != "not_tried_again" {
        assert!(said(&first).contains(word), "{name}\n{}", said(&first));
    }
    for i in 0..count {
        let (desk, output) = scene(&format!("line_{name}_{i}"));
        let lines = commands(&output);
        assert_eq!(lines.len(), count, "{name}: {lines:?}");
        // What was given or is recorded is filled in; no operator command but archive-run knows the network file.
        for place in [
            "<run_id>",
            "<owner_invocation_id>",
            "<scheduled_for>",
            "<node_id>",
        ] {
            assert!(
                !lines[i].contains(place),
                "{name}: {}\n{}",
                lines[i],
                said(&output)
            );
        }
        let before = desk.space.executions().len();
        let typed = type_command(&desk.space, &lines[i]);
        let ran = desk.space.executions().len() > before;
        assert!(
            typed.status.success() || ran,
            "{name}: {}\n{}",
            lines[i],
            said(&typed)
        );
    }
}

#[test]
fn every_printed_line_is_taken_half() {
    for (name, scene, word) in SCENES.iter().step_by(2) {
        check(name, *scene, word);
    }
}

#[test]
fn every_printed_line_is_taken_other_half() {
    for (name, scene, word) in SCENES.iter().skip(1).step_by(2) {
        check(name, *scene, word);
    }
}

#[test]
fn a_mistyped_run_id_is_no_record_and_no_fault_of_the_program() {
    let desk = Desk::new("line_mistyped", &[ONCE]);
    let (run, reason) = (desk.run_id(), desk.reason());
    let file = desk.space.network_file().display().to_string();
    for id in [format!("{run}x"), format!("{run}{run}")] {
        for command in [
            vec!["archive-run", &file, "--reason-file", &reason],
            vec!["cancel-run", "--reason-file", &reason],
            vec![
                "resolve-node",
                "--node-id",
                "a",
                "--to",
                "FAILED",
                "--evidence-ref",
                "e",
                "--stop-confirmed-by",
                "b",
                "--stop-evidence-ref",
                "s",
                "--reason-file",
                &reason,
            ],
        ] {
            let words = [&command[..], &["--run-id", &id]].concat();
            let output = desk
                .space
                .command(&words)
                .env("KSQL_FLOWNET_EXIT_CODES", "detailed")
                .output()
                .expect("runs");
            assert_eq!(output.status.code(), Some(6), "{}", said(&output));
            assert!(said(&output).contains("[RECORD_NOT_FOUND]"), "{}", said(&output));
        }
    }
}

#[test]
fn a_start_behind_a_running_one_is_told_to_wait() {
    let (desk, start, parked) = Desk::between("line_busy");
    let output = desk.space.run_network(&["--business-key", "k", "--resume"]);
    let told = said(&output);
    assert!(
        told.contains("LOCK_CONFLICT") && !told.contains("force-unlock"),
        "{told}"
    );
    desk.sandbox.release(&parked, "proceed");
    start.wait_with_output().expect("ends");
}

#[test]
fn a_reason_file_is_a_regular_file_of_utf8_text() {
    let desk = Desk::new("line_reason", &[ONCE]);
    let run = desk.run_id();
    let file = desk.space.dir.join("cp932.txt");
    std::fs::write(&file, b"ok \x8c\xda\x8b\x71").expect("file");
    let cp932 = file.display().to_string();
    for (path, code, word) in [
        (cp932.as_str(), "[NOT_UTF8]", "byte 4"),
        ("/dev/null", "[EINVAL]", "regular file"),
    ] {
        let output = desk
            .space
            .run(&["cancel-run", "--run-id", &run, "--reason-file", path]);
        let told = said(&output);
        assert!(
            !output.status.success() && told.contains(code) && told.contains(word),
            "{told}"
        );
    }
    assert!(desk.book().holds.is_empty());
}
