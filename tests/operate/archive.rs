//! archive-run (OPR-36 to OPR-41), and Runs that are abandoned.

use std::process::Output;

use serde_json::{Value as Json, json};

use crate::desk::{Desk, assert_done, assert_refused, disturbances};
use crate::network::{NodeSpec, Workspace, said, text};
use crate::sandbox::STATE;

pub const FAILED: &[NodeSpec] = &[NodeSpec::new("a", &[], &["FAILED"])];
pub const ABANDON: &[&str] = &[
    "--abandon",
    "--evidence-ref",
    "INC-1",
    "--stop-confirmed-by",
    "ito",
];

/// The line of OPR-38: text and value.
pub fn line(output: &Output) -> (String, Json) {
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let first = stdout
        .lines()
        .next()
        .unwrap_or_else(|| panic!("no line: {}", said(output)));
    (first.to_owned(), serde_json::from_str(first).expect("JSON"))
}

/// A refusal with this code, in the form of OPR-38; the lock is free.
fn assert_rejected(desk: &Desk, output: &Output, code: &str) {
    assert_refused(output, code);
    let (text, line) = line(output);
    let keys = [
        "run_id",
        "event_id",
        "outcome",
        "run_revision",
        "code",
        "lock_released",
    ];
    let at = keys.map(|key| text.find(&format!("\"{key}\":")).expect(key));
    assert!(
        at.is_sorted() && line.as_object().expect("an object").len() == keys.len(),
        "{text}"
    );
    assert_eq!(
        (&line["outcome"], &line["code"]),
        (&json!("REJECTED"), &json!(code))
    );
    assert_eq!(line["lock_released"], json!(true));
    assert!(
        said(output).contains("archive-run did not complete cleanly"),
        "{}",
        said(output)
    );
    assert!(desk.book().held_locks.is_empty());
}

#[test]
fn run_audit_and_lock_are_one_commit() {
    let desk = Desk::new("archive", FAILED);
    let before = desk.run();
    desk.sandbox.clear_log();
    let output = desk.archive(&[]);
    assert_done(&output);
    assert!(desk.requests() <= 5, "{}", desk.requests());
    let (text_line, told) = line(&output);
    let run = desk.run();
    assert_eq!(text(&run, "lifecycle_status"), "ARCHIVED");
    assert_eq!(text(&run, "status"), "FAILED");
    let revision: u64 = text(&run, "$revision").parse().expect("a number");
    let expected = format!(
        "{{\"run_id\":\"{}\",\"event_id\":{},\"outcome\":\"ARCHIVED\",\"run_revision\":{revision},\"audit\":\"RECORDED\",\"lock_released\":true}}",
        desk.run_id(),
        told["event_id"]
    );
    assert_eq!(text_line, expected);
    assert!(
        said(&output).contains(&format!("ARCHIVED: {} (revision {revision})", desk.run_id())),
        "{}",
        said(&output)
    );
    let event = desk.events("RUN_ARCHIVED").remove(0);
    assert_eq!(event["event_id"], told["event_id"]);
    assert_eq!(
        (
            &event["previous_status"],
            &event["reason"],
            &event["requested_by"],
            &event["service_principal"]
        ),
        (
            &json!("FAILED"),
            &json!("because of INC-1\n"),
            &json!("tester"),
            &json!("svc")
        )
    );
    assert_eq!(
        event["run_revision_before"].to_string(),
        text(&before, "$revision")
    );
    let tombstones: Vec<Json> = desk
        .sandbox
        .records(STATE.0)
        .into_iter()
        .filter(|r| text(r, "record_key").starts_with("LOCKDONE:"))
        .collect();
    let last = tombstones.last().expect("a tombstone");
    assert_eq!(
        (text(last, "status"), text(last, "status_reason")),
        ("SUCCESS", "NORMAL")
    );
    assert!(desk.book().held_locks.is_empty());
    let owners = std::fs::read_dir(desk.space.dir.join("work/owners"))
        .expect("a folder")
        .count();
    assert_eq!(owners, 0, "the owner file stays only when the lock does");
    desk.assert_sound();
    // Again: success, by whom and when, and nothing is written.
    let again = desk.archive(&["--json"]);
    assert_done(&again);
    let (_, told) = line(&again);
    assert_eq!(
        (&told["outcome"], &told["run_revision"]),
        (&json!("ALREADY_ARCHIVED"), &json!(revision))
    );
    assert!(told.get("audit").is_none() && told["lock_released"] == json!(true));
    let second: Json =
        serde_json::from_slice(again.stdout.split(|b| *b == b'\n').nth(1).expect("a second line"))
            .expect("JSON");
    assert_eq!(
        (&second["command"], &second["outcome"]),
        (&json!("archive-run"), &json!("ALREADY_ARCHIVED"))
    );
    assert_eq!(second["audit_event_id"], Json::Null);
    assert!(said(&desk.archive(&[])).contains("archived by tester at 2"));
    assert_eq!(desk.events("RUN_ARCHIVED").len(), 1);
    let resumed = desk.space.run_network(&["--business-key", "k", "--resume"]);
    assert_refused(&resumed, "RUN_NOT_RESUMABLE");
    let quiet = desk.archive(&["--quiet"]);
    assert!(
        quiet.status.success() && quiet.stdout.is_empty() && quiet.stderr.is_empty(),
        "{}",
        said(&quiet)
    );
}

#[test]
fn what_comes_before_the_lock_has_no_line() {
    let desk = Desk::new("archive_before", FAILED);
    let (file, run, reason) = (
        desk.space.network_file().display().to_string(),
        desk.run_id(),
        desk.reason(),
    );
    let bad = desk.space.dir.join("bad.yaml").display().to_string();
    std::fs::write(&bad, "{}").expect("a file");
    for (network, reason, code) in [
        (&file, "/nowhere", "ENOENT"),
        (&bad, reason.as_str(), "ARCHIVE_RUN_FAILED"),
        (&file, &desk.blank(), "AUDIT_INPUT_REQUIRED"),
    ] {
        let output = desk
            .space
            .run(&["archive-run", network, "--run-id", &run, "--reason-file", reason]);
        assert_refused(&output, code);
        assert!(output.stdout.is_empty(), "{}", said(&output));
    }
    for words in [&["--abandon"][..], &["--abandon", "--evidence-ref", "x"]] {
        let output = desk.archive(words);
        assert!(said(&output).contains("--abandon requires"), "{}", said(&output));
    }
    let blank = desk.archive(&["--abandon", "--evidence-ref", " ", "--stop-confirmed-by", "ito"]);
    assert_refused(&blank, "AUDIT_INPUT_REQUIRED");
    assert_eq!(text(&desk.run(), "lifecycle_status"), "ACTIVE");
}

#[test]
fn network_and_profile_are_compared_first() {
    let desk = Desk::new("archive_here", FAILED);
    let other = Workspace::new(&desk.sandbox, "archive_there", FAILED);
    let (run, reason) = (desk.run_id(), desk.reason());
    let file = other.network_file().display().to_string();
    let wrong = desk
        .space
        .run(&["archive-run", &file, "--run-id", &run, "--reason-file", &reason]);
    assert_rejected(&desk, &wrong, "RUN_ID_MISMATCH");
    assert_rejected(&desk, &desk.archive(&["--profile", "prod"]), "RUN_ID_MISMATCH");
    let own = desk.space.network_file().display().to_string();
    let none = desk.space.run(&[
        "archive-run",
        &own,
        "--run-id",
        "netrun_x",
        "--reason-file",
        &reason,
    ]);
    assert_rejected(&desk, &none, "RECORD_NOT_FOUND");
    assert_eq!(text(&desk.run(), "lifecycle_status"), "ACTIVE");
}

#[test]
fn statuses_in_order_then_the_hold() {
    let desk = Desk::new("archive_rows", FAILED);
    let run = desk.run();
    for (status, code) in [
        ("SUCCESS", "RUN_STATUS_NOT_CLOSABLE"),
        ("UNKNOWN", "RUN_UNKNOWN_NOT_CLOSABLE"),
        ("CREATED", "RUN_NOT_TERMINAL"),
        ("RUNNING", "RUN_NOT_TERMINAL"),
    ] {
        desk.edit_state(&run, "status", status);
        assert_rejected(&desk, &desk.archive(&[]), code);
    }
    // A hold that stands: nothing is archived; one whose time is over is released with the archive.
    assert_done(&desk.hold(&["--for", "1h"]));
    desk.edit_state(&run, "status", "CANCELLED");
    assert_rejected(&desk, &desk.archive(&[]), "RUN_ON_HOLD");
    assert_rejected(&desk, &desk.archive(ABANDON), "RUN_ON_HOLD");
    let hold = desk.book().holds[0].clone();
    let mut reason: Json = serde_json::from_str(text(&hold, "status_reason")).expect("JSON");
    reason["expires_at"] = json!("2026-01-01T00:00:00.000Z");
    desk.edit_state(&hold, "status_reason", &reason.to_string());
    assert_done(&desk.archive(&[]));
    let hold: Json = serde_json::from_str(text(&desk.book().holds[0], "status_reason")).expect("JSON");
    assert_eq!(
        (&hold["state"], &hold["release_reason"]),
        (&json!("RELEASED"), &json!("expired"))
    );
    assert_eq!(desk.events("RUN_HOLD_RELEASED").len(), 1);
    assert_eq!(
        desk.events("RUN_ARCHIVED").remove(0)["previous_status"],
        "CANCELLED"
    );
}

#[test]
fn a_held_lock_is_never_taken_over_however_old() {
    let desk = Desk::new("archive_locked", FAILED);
    let lock = desk.lock("invoke_x", "local-pid://h/1", -600);
    let output = desk.archive(&[]);
    assert_refused(&output, "LOCK_CONFLICT");
    let (_, told) = line(&output);
    assert_eq!(
        (&told["code"], &told["lock_released"]),
        (&json!("LOCK_CONFLICT"), &json!(true))
    );
    assert!(told["run_revision"].is_null());
    desk.unlock_by_hand(lock);
    assert_done(&desk.archive(&[]));
}

#[test]
fn every_commit_happens_once_whatever_becomes_of_its_answer() {
    for (i, (name, fault)) in disturbances().into_iter().enumerate() {
        let desk = Desk::new(&format!("archive_fault_{i}"), FAILED);
        desk.sandbox.fault(&fault);
        let output = desk.archive(&[]);
        desk.sandbox.clear_faults();
        assert!(output.status.success(), "{name}: {}", said(&output));
        assert_eq!(line(&output).1["outcome"], "ARCHIVED", "{name}");
        assert_eq!(desk.events("RUN_ARCHIVED").len(), 1, "{name}");
        assert!(desk.book().held_locks.is_empty(), "{name}");
    }
}

#[test]
fn a_lost_answer_of_the_lock_is_decided_by_its_token() {
    for action in ["drop_after", "drop_before", "cut"] {
        let desk = Desk::new(&format!("archive_lock_{action}"), FAILED);
        desk.sandbox.fault(&json!({
            "match": {"method": "POST", "path": "/k/v1/record.json"}, "nth": 1, "times": 1, "action": action
        }));
        assert_done(&desk.archive(&[]));
        assert!(desk.book().held_locks.is_empty(), "{action}");
    }
}

#[test]
fn a_refused_commit_leaves_the_run_active_and_the_lock_free() {
    let desk = Desk::new("archive_refused", FAILED);
    desk.sandbox.fault(&json!({
        "match": {"method": "POST", "path": "/k/v1/bulkRequest.json", "contains": "RUN_ARCHIVED"},
        "nth": 1, "times": 1, "action": "status", "status": 403, "body": "{\"code\":\"GAIA_NO01\"}"
    }));
    assert_rejected(&desk, &desk.archive(&[]), "ARCHIVE_WRITE_FAILED");
    assert_eq!(text(&desk.run(), "lifecycle_status"), "ACTIVE");
    assert!(desk.events("RUN_ARCHIVED").is_empty());
}

#[test]
fn a_run_that_changes_under_the_lock_is_not_archived() {
    let desk = Desk::new("archive_changed", FAILED);
    desk.sandbox.fault(&json!({
        "match": {"method": "POST", "path": "/k/v1/bulkRequest.json"}, "nth": 1, "times": 1, "action": "hold_before"
    }));
    let archiving = desk.start_archive(&[]);
    let parked = desk.sandbox.wait_for_hold();
    let run = desk.run();
    desk.edit_state(&run, "status", "UNKNOWN");
    desk.sandbox.release(&parked, "proceed");
    let output = archiving.wait_with_output().expect("ends");
    assert_rejected(&desk, &output, "ARCHIVE_WRITE_FAILED");
    assert!(
        said(&output).contains("field status is 'UNKNOWN', expected 'FAILED'"),
        "{}",
        said(&output)
    );
    // A save that changes nothing of ours does no harm (D-09).
    desk.edit_state(&run, "status", "FAILED");
    desk.sandbox.fault(&json!({
        "match": {"method": "POST", "path": "/k/v1/bulkRequest.json"}, "nth": 1, "times": 1, "action": "hold_before"
    }));
    let archiving = desk.start_archive(&[]);
    let parked = desk.sandbox.wait_for_hold();
    desk.edit_state(&run, "business_key", "k");
    desk.sandbox.release(&parked, "proceed");
    let output = archiving.wait_with_output().expect("ends");
    assert_done(&output);
    assert_eq!(
        line(&output).1["run_revision"].to_string(),
        text(&desk.run(), "$revision")
    );
}

#[test]
fn two_archives_at_once_are_one_archive() {
    let desk = Desk::new("archive_race", FAILED);
    desk.sandbox.fault(&json!({
        "match": {"method": "POST", "path": "/k/v1/record.json"}, "nth": 1, "times": 1, "action": "hold_before"
    }));
    let first = desk.start_archive(&[]);
    let parked = desk.sandbox.wait_for_hold();
    assert_done(&desk.archive(&[]));
    desk.sandbox.release(&parked, "proceed");
    let first = first.wait_with_output().expect("ends");
    assert_done(&first);
    assert_eq!(line(&first).1["outcome"], "ALREADY_ARCHIVED");
    assert_eq!(desk.events("RUN_ARCHIVED").len(), 1);
    assert!(desk.book().held_locks.is_empty());
}

/// A Run whose records contradict each other, which the original leaves for ever.
pub fn contradiction(name: &str) -> Desk {
    let desk = Desk::new(
        name,
        &[
            NodeSpec::new("a", &[], &["VANISH"]),
            NodeSpec::new("b", &["a"], &["SUCCESS"]),
        ],
    );
    let attempt = desk.book().attempts[0].clone();
    for n in 1..=2 {
        desk.copy_audit(
            &attempt,
            &[
                ("record_key", &format!("ATT:x{n}")),
                ("node_attempt_id", &format!("attempt_x{n}")),
                ("attempt_key", &format!("A1:x{n}")),
                ("attempt_no", &format!("{}", n + 1)),
                ("status", "RUNNING"),
            ],
        );
    }
    desk
}

#[test]
fn a_run_that_nothing_repairs_is_abandoned_with_evidence() {
    let desk = contradiction("abandon");
    let resumed = desk.space.run_network(&["--business-key", "k", "--resume"]);
    assert_refused(&resumed, "RECONCILIATION_REQUIRED");
    assert!(said(&resumed).contains("--abandon"), "{}", said(&resumed));
    assert_rejected(&desk, &desk.archive(&[]), "RUN_UNKNOWN_NOT_CLOSABLE");
    let output = desk.archive(ABANDON);
    assert_done(&output);
    assert_eq!(line(&output).1["outcome"], "ARCHIVED");
    let event = desk.events("RUN_ARCHIVED").remove(0);
    assert_eq!(
        (&event["abandoned"], &event["evidence_ref"]),
        (&json!(true), &json!("INC-1"))
    );
    assert_eq!(
        (&event["previous_status"], &event["stop_confirmed_by"]),
        (&json!("UNKNOWN"), &json!("ito"))
    );
    assert!(
        !event["inconsistencies"].as_array().expect("a list").is_empty(),
        "{event}"
    );
    assert_eq!(event["unfinished_nodes"], json!(["a=UNKNOWN", "b=BLOCKED"]));
    let audit = desk
        .book()
        .operations
        .into_iter()
        .find(|o| text(o, "result_code") == "RUN_ARCHIVED");
    assert_eq!(text(&audit.expect("an audit"), "evidence_ref"), "INC-1");
}

#[test]
fn an_abandoned_run_frees_its_place() {
    let desk = Desk::stopped("abandon_place");
    let file = desk.space.network_file();
    let yaml = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, yaml.replace("max_active_runs: 10", "max_active_runs: 1")).expect("written");
    assert_refused(
        &desk.space.run_network(&["--business-key", "l"]),
        "MAX_ACTIVE_RUNS",
    );
    assert_rejected(&desk, &desk.archive(&[]), "RUN_NOT_TERMINAL");
    assert_done(&desk.archive(ABANDON));
    assert_done(&desk.space.run_network(&["--business-key", "l"]));
}

#[test]
fn damaged_records_do_not_keep_a_run() {
    let desk = Desk::new("abandon_damaged", FAILED);
    let state = desk.state("a");
    desk.edit_state(&state, "latest_attempt_no", "");
    let run = desk.run();
    desk.edit_state(&run, "status", "RUNNING");
    assert_done(&desk.archive(ABANDON));
    let event = desk.events("RUN_ARCHIVED").remove(0);
    assert!(
        event["unreadable"]
            .as_str()
            .expect("a text")
            .contains("latest_attempt_no"),
        "{event}"
    );
}
