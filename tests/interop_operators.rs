//! Operator commands of the original and ours on the same Runs: each reads what the other's commands wrote, the other
//! one goes on, and the audit records have the same keys in the same order. Skipped where Node.js or npm is missing.

#[path = "support/network.rs"]
mod network;
#[path = "support/original.rs"]
mod original;
#[path = "support/sandbox.rs"]
mod sandbox;

use std::path::Path;
use std::process::Output;

use ksql_flownet::flownet::clock::{Clock as _, SystemClock};
use ksql_flownet::flownet::key;
use network::{Book, NodeSpec, PROFILE, Workspace, said, text};
use original::{assert_same_status, original, original_network, run_original};
use sandbox::{JOB_LOG, STATE, Sandbox};
use serde_json::{Value as Json, json};

/// The second job cannot start at first: the Run stays RUNNING with nobody at work.
const PAUSED: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["SUCCESS"]),
    NodeSpec::new("b", &["a"], &["CRASH", "SUCCESS"]),
];
const VANISHED: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["VANISH"]),
    NodeSpec::new("b", &["a"], &["SUCCESS"]),
];
const FAILED: &[NodeSpec] = &[NodeSpec::new("a", &[], &["FAILED"])];
const RESUME: &[&str] = &["--business-key", "k", "--resume"];

/// A network whose Run was started once by ours.
struct Stage<'a> {
    sandbox: &'a Sandbox,
    program: &'a Path,
    space: Workspace,
}

impl<'a> Stage<'a> {
    fn new(sandbox: &'a Sandbox, program: &'a Path, name: &str, nodes: &[NodeSpec]) -> Self {
        let space = Workspace::new(sandbox, name, nodes);
        std::fs::write(space.dir.join("reason.txt"), "because of INC-1\n").expect("reason");
        space.run_network(&["--business-key", "k"]);
        Self {
            sandbox,
            program,
            space,
        }
    }

    fn book(&self) -> Book {
        Book::read(self.sandbox, &self.space.network_id)
    }

    fn words(&self, words: &[&str]) -> Vec<String> {
        let run = text(&self.book().runs[0], "run_id").to_owned();
        let file = self.space.network_file().display().to_string();
        let reason = self.space.dir.join("reason.txt").display().to_string();
        let mut all: Vec<String> = words
            .iter()
            .map(|w| w.replace("RUN", &run).replace("FILE", &file))
            .collect();
        all.extend(["--reason-file".to_owned(), reason]);
        all
    }

    fn ours(&self, words: &[&str]) -> Output {
        let words = self.words(words);
        self.space
            .run(&words.iter().map(String::as_str).collect::<Vec<_>>())
    }

    fn theirs(&self, words: &[&str]) -> Output {
        let words = self.words(words);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        run_original(self.program, &self.space, &words)
    }

    fn free_job_locks(&self) {
        for record in self.book().job_log {
            let id = text(&record, "$id").parse().expect("an id");
            self.sandbox
                .edit(JOB_LOG.0, id, &json!({ "job_key": { "value": "" } }));
        }
    }

    fn assert_success(&self) {
        assert_eq!(self.book().status(), "SUCCESS");
        assert_same_status(self.program, &self.space);
    }
}

fn done(output: &Output) {
    assert!(output.status.success(), "{}", said(output));
}

fn refused(output: &Output, code: &str) {
    assert_eq!(output.status.code(), Some(1), "{}", said(output));
    assert!(said(output).contains(code), "{code}: {}", said(output));
}

/// Keys of a JSON text in their order, those inside objects too.
fn keys(json: &str) -> Vec<String> {
    let mut keys = Vec::new();
    let mut rest = json;
    while let Some(start) = rest.find('"') {
        let mut end = start + 1;
        while rest.as_bytes()[end] != b'"' {
            end += if rest.as_bytes()[end] == b'\\' { 2 } else { 1 };
        }
        if rest[end + 1..].starts_with(':') {
            keys.push(rest[start + 1..end].to_owned());
        }
        rest = &rest[end + 1..];
    }
    keys
}

/// Ours has all keys of theirs in their order, and its own ones behind them.
fn assert_same_keys(ours: &str, theirs: &str) {
    let (ours, theirs) = (keys(ours), keys(theirs));
    assert!(ours.starts_with(&theirs), "ours {ours:?}\ntheirs {theirs:?}");
}

const HOLD: &[&str] = &["cancel-run", "--run-id", "RUN"];
const RELEASE: &[&str] = &["cancel-run", "--run-id", "RUN", "--release"];

#[test]
fn holds_are_seen_and_released_by_the_other() {
    let Some(program) = original() else { return };
    let sandbox = Sandbox::seeded("interop-holds", &["--orders", "1"], &[]);
    let stage = Stage::new(&sandbox, program, "our_hold", PAUSED);
    // An end is an additional key: the original sees an ordinary hold, which is the safe side.
    done(&stage.ours(&[HOLD, &["--for", "2h"]].concat()));
    assert_same_status(program, &stage.space);
    refused(&original_network(program, &stage.space, RESUME), "RUN_ON_HOLD");
    let reason = text(&stage.book().holds[0], "status_reason").to_owned();
    done(&stage.theirs(RELEASE));
    assert_same_status(program, &stage.space);
    done(&original_network(program, &stage.space, RESUME));
    stage.assert_success();
    let stage = Stage::new(&sandbox, program, "their_hold", PAUSED);
    done(&stage.theirs(HOLD));
    assert_same_keys(&reason, text(&stage.book().holds[0], "status_reason"));
    assert_same_status(program, &stage.space);
    refused(&stage.space.run_network(RESUME), "RUN_ON_HOLD");
    done(&stage.ours(RELEASE));
    assert_same_status(program, &stage.space);
    done(&stage.space.run_network(RESUME));
    stage.assert_success();
}

fn resolve(to: &'static str) -> Vec<&'static str> {
    let mut words = vec!["resolve-node", "--run-id", "RUN", "--node-id", "a", "--to", to];
    words.extend(["--evidence-ref", "INC-1", "--stop-confirmed-by", "ito"]);
    words.extend(["--stop-evidence-ref", "ps"]);
    if to == "SUCCESS" {
        words.push("--manual-completion");
    }
    words
}

#[test]
fn resolutions_are_applied_by_the_other() {
    let Some(program) = original() else { return };
    let sandbox = Sandbox::seeded("interop-resolve", &["--orders", "1"], &[]);
    let ours = Stage::new(&sandbox, program, "our_resolve", VANISHED);
    done(&ours.ours(&resolve("SUCCESS")));
    assert_same_status(program, &ours.space);
    let reason = text(&ours.book().resolutions[0], "reason").to_owned();
    done(&original_network(program, &ours.space, RESUME));
    ours.assert_success();
    let theirs = Stage::new(&sandbox, program, "their_resolve", VANISHED);
    done(&theirs.theirs(&resolve("SUCCESS")));
    assert_same_keys(&reason, text(&theirs.book().resolutions[0], "reason"));
    // The original does not recompute the Run: both say so, and ours names the way on.
    assert_eq!(theirs.book().status(), "UNKNOWN");
    assert_same_status(program, &theirs.space);
    let again = theirs.ours(&resolve("SUCCESS"));
    done(&again);
    assert!(said(&again).contains("ALREADY_RESOLVED"), "{}", said(&again));
    refused(&theirs.ours(&resolve("FAILED")), "RESOLUTION_EXISTS");
    done(&theirs.space.run_network(RESUME));
    theirs.assert_success();
}

#[test]
fn an_idempotent_node_that_ours_resolved_failed_runs_again_with_the_original() {
    let Some(program) = original() else { return };
    let sandbox = Sandbox::seeded("interop-again", &["--orders", "1"], &[]);
    let nodes = [NodeSpec::new("a", &[], &["VANISH", "SUCCESS"])];
    let stage = Stage::new(&sandbox, program, "our_failed", &nodes);
    done(&stage.ours(&resolve("FAILED")));
    stage.free_job_locks();
    done(&original_network(program, &stage.space, RESUME));
    assert_eq!(stage.book().status(), "SUCCESS");
}

const ARCHIVE: &[&str] = &["archive-run", "FILE", "--run-id", "RUN"];

fn archive_event(stage: &Stage<'_>) -> String {
    let book = stage.book();
    let event = book
        .operations
        .iter()
        .find(|o| text(o, "result_code") == "RUN_ARCHIVED");
    text(event.expect("an event"), "reason").to_owned()
}

fn first_line(output: &Output) -> Json {
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    serde_json::from_str(stdout.lines().next().unwrap_or_default())
        .unwrap_or_else(|e| panic!("{e}: {}", said(output)))
}

#[test]
fn archives_are_known_to_the_other() {
    let Some(program) = original() else { return };
    let sandbox = Sandbox::seeded("interop-archive", &["--orders", "1"], &[]);
    let ours = Stage::new(&sandbox, program, "our_archive", FAILED);
    let theirs = Stage::new(&sandbox, program, "their_archive", FAILED);
    let (our_line, their_line) = (ours.ours(ARCHIVE), theirs.theirs(ARCHIVE));
    done(&our_line);
    done(&their_line);
    let stdout = |o: &Output| String::from_utf8_lossy(&o.stdout).into_owned();
    assert_eq!(keys(&stdout(&our_line)), keys(&stdout(&their_line)));
    assert_same_keys(&archive_event(&ours), &archive_event(&theirs));
    for stage in [&ours, &theirs] {
        assert_same_status(program, &stage.space);
        for again in [stage.ours(ARCHIVE), stage.theirs(ARCHIVE)] {
            done(&again);
            assert_eq!(first_line(&again)["outcome"], "ALREADY_ARCHIVED");
        }
        refused(
            &original_network(program, &stage.space, RESUME),
            "RUN_NOT_RESUMABLE",
        );
        refused(&stage.space.run_network(RESUME), "RUN_NOT_RESUMABLE");
    }
    let refusal = |stage: &Stage<'_>| {
        let run = stage.book().runs[0].clone();
        let id = text(&run, "$id").parse().expect("an id");
        let active = json!({"lifecycle_status": {"value": "ACTIVE"}, "status": {"value": "UNKNOWN"}});
        sandbox.edit(STATE.0, id, &active);
        (stage.ours(ARCHIVE), stage.theirs(ARCHIVE))
    };
    let (our_line, their_line) = refusal(&ours);
    assert_eq!(keys(&stdout(&our_line)), keys(&stdout(&their_line)));
    assert_eq!(first_line(&our_line)["code"], first_line(&their_line)["code"]);
}

/// An abandoned Run is an archived one to the original.
#[test]
fn an_abandoned_run_no_longer_counts_for_the_original() {
    let Some(program) = original() else { return };
    let sandbox = Sandbox::seeded("interop-abandon", &["--orders", "1"], &[]);
    let stage = Stage::new(&sandbox, program, "abandoned", PAUSED);
    let file = stage.space.network_file();
    let yaml = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, yaml.replace("max_active_runs: 10", "max_active_runs: 1")).expect("written");
    let other = ["--business-key", "l"];
    refused(
        &original_network(program, &stage.space, &other),
        "MAX_ACTIVE_RUNS",
    );
    refused(&stage.theirs(ARCHIVE), "RUN_NOT_TERMINAL");
    let abandon = [
        "--abandon",
        "--evidence-ref",
        "INC-1",
        "--stop-confirmed-by",
        "ito",
    ];
    done(&stage.ours(&[ARCHIVE, &abandon].concat()));
    assert_same_status(program, &stage.space);
    done(&original_network(program, &stage.space, &other));
}

fn stale_lock(stage: &Stage<'_>, owner: &str, token: &str) {
    let lock_key = key::lock_key(PROFILE, &stage.space.network_id).expect("key");
    let value = |v: &str| json!({ "value": v });
    let past = SystemClock.now().plus_ms(-300_000).iso_ms();
    let record = json!({
        "record_key": value(&format!("LOCK:{lock_key}")), "record_type": value("NETWORK_LOCK"),
        "lock_key": value(&lock_key), "profile": value(PROFILE), "owner_invocation_id": value(owner),
        "lease_token": value(token), "status": value("RUNNING"),
        "status_reason": value("owner_instance_id=elsewhere"), "heartbeat_at": value(&past),
        "lease_expires_at": value(&past), "revision": value("1"),
    });
    stage.sandbox.insert(STATE.0, &[record]);
}

fn unlock<'a>(stage: &'a Stage<'_>, owner: &'a str) -> Vec<&'a str> {
    let mut words = vec![
        "force-unlock-network",
        stage.space.network_id.as_str(),
        "--profile",
        PROFILE,
    ];
    words.extend(["--expected-owner-invocation-id", owner, "--evidence-ref", "INC-1"]);
    words.extend([
        "--stop-confirmed-by",
        "ito",
        "--stop-evidence-ref",
        "ps",
        "--stop-method",
        "manual",
    ]);
    words
}

#[test]
fn forced_releases_leave_the_same_records() {
    let Some(program) = original() else { return };
    let sandbox = Sandbox::seeded("interop-unlock", &["--orders", "1"], &[]);
    let stage = Stage::new(&sandbox, program, "unlocked", PAUSED);
    stale_lock(&stage, "invoke_one", "00000000-0000-4000-8000-000000000001");
    assert_same_status(program, &stage.space);
    done(&stage.ours(&unlock(&stage, "invoke_one")));
    refused(&stage.theirs(&unlock(&stage, "invoke_one")), "LOCK_NOT_FOUND");
    stale_lock(&stage, "invoke_two", "00000000-0000-4000-8000-000000000002");
    done(&stage.theirs(&unlock(&stage, "invoke_two")));
    let again = stage.ours(&unlock(&stage, "invoke_two"));
    done(&again);
    assert!(said(&again).contains("ALREADY_RELEASED"), "{}", said(&again));
    let events: Vec<String> = stage
        .book()
        .operations
        .iter()
        .map(|o| text(o, "reason").to_owned())
        .filter(|r| r.contains("NETWORK_LOCK_FORCE_RELEASED"))
        .collect();
    assert_eq!(events.len(), 2);
    assert_same_keys(&events[0], &events[1]);
    let tombstones: Vec<Vec<String>> = sandbox
        .records(STATE.0)
        .iter()
        .filter(|r| text(r, "status_reason") == "NETWORK_LOCK_FORCE_RELEASED")
        .map(|r| {
            [
                "lock_key",
                "owner_invocation_id",
                "lease_token",
                "status",
                "revision",
                "profile",
            ]
            .map(|field| text(r, field).to_owned())
            .to_vec()
        })
        .collect();
    assert_eq!(tombstones.len(), 2);
    assert_eq!(tombstones[0], tombstones[1]);
    done(&original_network(program, &stage.space, RESUME));
    stage.assert_success();
}

#[test]
fn recorded_job_unlocks_have_the_same_keys() {
    let Some(program) = original() else { return };
    let sandbox = Sandbox::seeded("interop-record", &["--orders", "1"], &[]);
    let stage = Stage::new(&sandbox, program, "recorded", FAILED);
    let result = json!({
        "kind": "LOCK_RECOVERY_RESULT", "formatVersion": 1, "jobKey": format!("{PROFILE}:recorded_a"),
        "recordId": "7", "outcome": "RELEASED",
        "before": {"batchId": "b", "startedAt": "2026-11-30T10:00:00Z", "host": "h"},
        "executedAt": "2026-11-30T10:05:00.000Z",
    });
    let file = stage.space.dir.join("result.json");
    std::fs::write(&file, result.to_string()).expect("a file");
    let file = file.display().to_string();
    let mut words = vec!["record-job-unlock", "--result-file", &file, "--run-id", "RUN"];
    words.extend([
        "--node-id",
        "a",
        "--evidence-ref",
        "INC-1",
        "--stop-confirmed-by",
        "ito",
    ]);
    done(&stage.ours(&words));
    done(&stage.theirs(&words));
    let book = stage.book();
    assert_same_keys(
        text(&book.operations[0], "reason"),
        text(&book.operations[1], "reason"),
    );
}
