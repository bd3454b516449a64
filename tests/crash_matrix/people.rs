//! What people say: resolutions, holds and their end, records of job locks, archives.

use ksql_flownet::flownet::clock::{Clock as _, SystemClock};
use serde_json::{Value as Json, json};

use crate::locks::PAUSED;
use crate::network::{NodeSpec, PROFILE, said, text};
use crate::sandbox::STATE;
use crate::stage::{Scenario, Stage};

const VANISHED: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["VANISH", "SUCCESS"]),
    NodeSpec::new("b", &["a"], &["SUCCESS"]),
];
const VANISHED_ONCE: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["VANISH"]).not_idempotent(),
    NodeSpec::new("b", &["a"], &["SUCCESS"]),
];
const FAILED: &[NodeSpec] = &[NodeSpec::new("a", &[], &["FAILED"])];

fn started(stage: &Stage<'_>) {
    stage.start();
}

fn resolve(stage: &Stage<'_>, more: &[&str]) -> Vec<String> {
    let run = stage.run_id();
    let mut words = vec!["resolve-node", "--run-id", &run, "--node-id", "a"];
    words.extend(["--evidence-ref", "INC-1", "--stop-confirmed-by", "ito"]);
    words.extend(["--stop-evidence-ref", "ps"]);
    words.extend(more);
    stage.operator_words(&words)
}

fn hold(stage: &Stage<'_>, more: &[&str]) -> Vec<String> {
    let run = stage.run_id();
    let mut words = vec!["cancel-run", "--run-id", &run];
    words.extend(more);
    stage.operator_words(&words)
}

fn held(stage: &Stage<'_>) {
    stage.start();
    stage.run(&hold(stage, &[]));
}

/// The hold holds; then `status` tells how it ends, and the Run goes on.
fn holds(stage: &Stage<'_>) -> Result<usize, String> {
    let refused = stage.resume();
    if !said(&refused).contains("[RUN_ON_HOLD]") {
        return Err(format!("the hold does not hold: {}", said(&refused)));
    }
    stage.lead_on()
}

/// A hold whose time is over; nobody has recorded that yet.
fn hold_that_is_over(stage: &Stage<'_>) {
    stage.start();
    stage.run(&hold(stage, &["--for", "1h"]));
    let hold = stage.book().holds[0].clone();
    let mut reason: Json = serde_json::from_str(text(&hold, "status_reason")).expect("JSON");
    reason["expires_at"] = json!("2026-01-01T00:00:00.000Z");
    let id = text(&hold, "$id").parse().expect("record id");
    let over = json!({"status_reason": {"value": reason.to_string()}});
    stage.sandbox.edit(STATE.0, id, &over);
}

fn record_job_unlock(stage: &Stage<'_>) -> Vec<String> {
    let result = json!({
        "kind": "LOCK_RECOVERY_RESULT", "formatVersion": 1,
        "jobKey": format!("{PROFILE}:{}_a", stage.space.network_id), "recordId": "7", "outcome": "RELEASED",
        "before": {"batchId": "b", "startedAt": "2026-11-30T10:00:00Z", "host": "h"},
        "executedAt": "2026-11-30T10:05:00.000Z",
    });
    let file = stage.space.dir.join("result.json");
    std::fs::write(&file, result.to_string()).expect("result");
    let (run, file) = (stage.run_id(), file.display().to_string());
    stage.operator_words(&[
        "record-job-unlock",
        "--result-file",
        &file,
        "--run-id",
        &run,
        "--node-id",
        "a",
        "--evidence-ref",
        "INC-1",
        "--stop-confirmed-by",
        "ito",
    ])
}

fn archive(stage: &Stage<'_>, more: &[&str]) -> Vec<String> {
    let (run, file) = (stage.run_id(), stage.space.network_file().display().to_string());
    let mut words = vec!["archive-run", &file, "--run-id", &run];
    words.extend(more);
    stage.operator_words(&words)
}

fn archived(stage: &Stage<'_>) -> Result<usize, String> {
    match text(&stage.book().runs[0], "lifecycle_status") {
        "ARCHIVED" => Ok(0),
        other => Err(format!("the Run is {other}")),
    }
}

pub const SCENARIOS: &[Scenario] = &[
    Scenario::start("resolve as done", VANISHED)
        .before(started)
        .words(|stage| resolve(stage, &["--to", "SUCCESS", "--manual-completion"]))
        .event("ATTEMPT_RESOLVED"),
    Scenario::start("resolve as failed", VANISHED)
        .before(started)
        .words(|stage| resolve(stage, &["--to", "FAILED"]))
        .event("ATTEMPT_RESOLVED"),
    Scenario::start("resolve with an approver", VANISHED_ONCE)
        .before(started)
        .words(|stage| {
            let done = [
                "--to",
                "SUCCESS",
                "--manual-completion",
                "--approved-by",
                "second",
            ];
            resolve(stage, &done)
        })
        .event("ATTEMPT_RESOLVED"),
    Scenario::start("hold", PAUSED)
        .before(started)
        .words(|stage| hold(stage, &[]))
        .event("RUN_HOLD_REQUESTED")
        .after(holds),
    Scenario::start("hold until a time", PAUSED)
        .before(started)
        .words(|stage| {
            let tomorrow = SystemClock.now().plus_ms(86_400_000).iso_ms();
            hold(stage, &["--expires-at", &tomorrow])
        })
        .event("RUN_HOLD_REQUESTED")
        .after(holds),
    Scenario::start("release", PAUSED)
        .before(held)
        .words(|stage| hold(stage, &["--release"]))
        .event("RUN_HOLD_RELEASED"),
    Scenario::start("resume after a release", PAUSED)
        .before(|stage| {
            held(stage);
            stage.run(&hold(stage, &["--release"]));
        })
        .words(|stage| stage.start_words(&["--resume"])),
    Scenario::start("resume after the end of a hold", PAUSED)
        .before(hold_that_is_over)
        .words(|stage| stage.start_words(&["--resume"]))
        .event("RUN_HOLD_RELEASED"),
    Scenario::start("record of a job unlock", VANISHED)
        .before(started)
        .words(record_job_unlock),
    Scenario::start("archive", FAILED)
        .before(started)
        .words(|stage| archive(stage, &[]))
        .event("RUN_ARCHIVED")
        .after(archived),
    Scenario::start("abandon", VANISHED)
        .before(started)
        .words(|stage| {
            let evidence = [
                "--abandon",
                "--evidence-ref",
                "INC-1",
                "--stop-confirmed-by",
                "ito",
            ];
            archive(stage, &evidence)
        })
        .event("RUN_ARCHIVED")
        .after(archived),
];
