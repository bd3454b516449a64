//! Starts: new Runs, resumes, reruns, no-ops, with nodes that fail, vanish, block others, or read and write files.

use serde_json::json;

use crate::network::{NodeSpec, said, text};
use crate::sandbox::AUDIT;
use crate::stage::{Scenario, Stage};

const CHAIN: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["SUCCESS"]),
    NodeSpec::new("b", &["a"], &["SUCCESS"]),
    NodeSpec::new("c", &["a"], &["SUCCESS"]).not_idempotent(),
];
const RETRIED: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["FAILED", "SUCCESS"]),
    NodeSpec::new("b", &["a"], &["SUCCESS"]),
];
const AGAIN: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["SUCCESS"]),
    NodeSpec::new("b", &["a"], &["SUCCESS"]),
    NodeSpec::new("c", &["b"], &["FAILED", "SUCCESS"]),
];
/// The failure in the middle blocks two nodes behind it; an independent branch goes on.
const BLOCKING: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["SUCCESS"]),
    NodeSpec::new("b", &["a"], &["FAILED", "SUCCESS"]),
    NodeSpec::new("c", &["b"], &["SUCCESS"]),
    NodeSpec::new("d", &["c"], &["SUCCESS"]),
    NodeSpec::new("e", &["a"], &["SUCCESS"]),
];
/// A runner that dies in the middle of its work: nobody but a person can tell what it did.
const VANISHING: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["VANISH", "SUCCESS"]),
    NodeSpec::new("b", &["a"], &["SUCCESS"]),
];
/// Fails twice, so that the Run has several invocations before the last one.
const STUBBORN: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["SUCCESS"]),
    NodeSpec::new("b", &["a"], &["FAILED", "CANCELLED", "SUCCESS"]),
    NodeSpec::new("c", &["b"], &["SUCCESS"]),
];
const FILES: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["SUCCESS"]),
    NodeSpec::new("b", &["a"], &["FAILED", "SUCCESS"]),
];
/// Invocations that were left open although nobody holds the lock, as the original does (BTR-47).
const LEFT_OPEN: &[&str] = &["nobody holds the lock, 1 invocations are RUNNING"];

fn resume(stage: &Stage<'_>) -> Vec<String> {
    stage.start_words(&["--resume"])
}

fn started(stage: &Stage<'_>) {
    stage.start();
}

/// Every node reads one CSV file and writes another.
fn with_files(stage: &Stage<'_>) {
    std::fs::write(stage.space.dir.join("io/in/sales.csv"), "id,amount\n1,100\n").expect("input");
    let file = stage.space.network_file();
    let yaml = std::fs::read_to_string(&file).expect("network");
    let files = "    idempotent: true\n    inputs:\n      sales: sales.csv\n    outputs:\n      report: '{run_id}/{node_id}.csv'\n";
    std::fs::write(file, yaml.replace("    idempotent: true\n", files)).expect("network");
}

/// What both nodes read is on record, also when the JOB log had to settle one of them, and the outputs are there.
fn files_are_written(stage: &Stage<'_>) -> Result<usize, String> {
    let people = stage.lead_on()?;
    let book = stage.book();
    let audited = book
        .attempts
        .iter()
        .filter(|a| {
            text(a, "status") == "SUCCESS" && text(a, "error_message").contains("\"source\":\"sales\"")
        })
        .count();
    let out = stage.space.dir.join("io/out").join(stage.run_id());
    let written = ["a.csv", "b.csv"]
        .iter()
        .filter(|f| out.join(f).is_file())
        .count();
    if (audited, written) == (2, 2) {
        Ok(people)
    } else {
        Err(format!("{audited} audited attempts, {written} outputs"))
    }
}

/// A Run that has succeeded, and an invocation that never said how it ended.
fn left_open(stage: &Stage<'_>) {
    let output = stage.start();
    assert!(output.status.success(), "{}", said(&output));
    let book = stage.book();
    let id = text(&book.invocations[0], "$id").parse().expect("record id");
    let open = json!({"status": {"value": "RUNNING"}, "result_code": {"value": "PENDING"}, "finished_at": {"value": ""}});
    stage.sandbox.edit(AUDIT.0, id, &open);
}

/// The no-op has closed it, with an event that says so.
fn closed(stage: &Stage<'_>) -> Result<usize, String> {
    let book = stage.book();
    let end = &book.invocations[0];
    let noted = book
        .operations
        .iter()
        .filter(|o| text(o, "result_code") == "INVOCATION_FINALIZED")
        .count();
    match (text(end, "status"), text(end, "result_code"), noted) {
        ("CANCELLED", "NETWORK_LEASE_INTERRUPTED", 1) => Ok(0),
        other => Err(format!("the open invocation is {other:?}")),
    }
}

/// A person's word on the first node, and then the disturbed resume.
fn resolved(stage: &Stage<'_>) {
    stage.start();
    let run = stage.run_id();
    let words = stage.operator_words(&[
        "resolve-node",
        "--run-id",
        &run,
        "--node-id",
        "a",
        "--to",
        "FAILED",
        "--evidence-ref",
        "INC-1",
        "--stop-confirmed-by",
        "ito",
        "--stop-evidence-ref",
        "ps",
    ]);
    let output = stage.run(&words);
    assert!(output.status.success(), "{}", said(&output));
    crate::operator::free_job_locks(stage.sandbox, &stage.book());
}

pub const SCENARIOS: &[Scenario] = &[
    Scenario::start("new", CHAIN),
    Scenario::start("new with a failure that blocks", BLOCKING),
    Scenario::start("new with a result nobody knows", VANISHING),
    Scenario::start("new with files", FILES)
        .before(with_files)
        .after(files_are_written),
    Scenario::start("resume", RETRIED).before(started).words(resume),
    Scenario::start("resume with blocked nodes", BLOCKING)
        .before(started)
        .words(resume),
    Scenario::start("resume with files", FILES)
        .before(|stage| {
            with_files(stage);
            stage.start();
        })
        .words(resume)
        .after(files_are_written),
    Scenario::start("resume after several", STUBBORN)
        .before(|stage| {
            stage.start();
            stage.resume();
        })
        .words(resume),
    Scenario::start("resume after a resolution", VANISHING)
        .before(resolved)
        .words(resume),
    Scenario::start("rerun", AGAIN)
        .before(started)
        .words(|stage| stage.start_words(&["--resume", "--rerun-from", "b"])),
    Scenario::start("no-op", CHAIN).before(started).words(resume),
    Scenario::start("no-op after an end that nobody recorded", CHAIN)
        .before(left_open)
        .words(resume)
        .tolerates(LEFT_OPEN)
        .after(closed),
];
