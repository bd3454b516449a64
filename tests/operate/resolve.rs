//! resolve-node (OPR-09 to OPR-15).

use serde_json::{Value as Json, json};

use crate::desk::{Desk, assert_done, assert_refused, disturbances, json_of, park};
use crate::network::{NodeSpec, said, text};

/// Flags with other values.
type Changes<'a> = &'a [(&'a str, &'a str)];

/// The first execution vanishes after its start mark: nobody can know what it did.
const UNKNOWN: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["VANISH", "SUCCESS"]),
    NodeSpec::new("b", &["a"], &["SUCCESS"]),
];
const UNKNOWN_ONCE: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["VANISH"]).not_idempotent(),
    NodeSpec::new("b", &["a"], &["SUCCESS"]),
];
const FAILED_ONCE: &[NodeSpec] = &[NodeSpec::new("a", &[], &["FAILED"]).not_idempotent()];

fn resume(desk: &Desk) -> std::process::Output {
    desk.space.run_network(&["--business-key", "k", "--resume"])
}

/// Status of the Run and number of inconsistencies that `status` sees.
fn seen(desk: &Desk) -> (Json, usize) {
    let run = desk.status();
    let found = run["reconciliation"]["inconsistencies"]
        .as_array()
        .map_or(0, Vec::len);
    (run["status"].clone(), found)
}

#[test]
fn node_run_and_audit_are_right_at_once() {
    let desk = Desk::new("resolve", UNKNOWN);
    assert_eq!(text(&desk.run(), "status"), "UNKNOWN");
    desk.sandbox.clear_log();
    let output = desk.resolve("a", "SUCCESS", &[]);
    assert_done(&output);
    assert!(desk.requests() <= 5, "{}", desk.requests());
    let state = desk.state("a");
    let line = format!(
        "RESOLVED: {}/a -> SUCCESS (revision {}).",
        desk.run_id(),
        text(&state, "$revision")
    );
    assert!(said(&output).contains(&line), "{}", said(&output));
    assert_eq!(text(&state, "status_reason"), "NODE_MANUAL_COMPLETION_CONFIRMED");
    assert!(!text(&state, "finished_at").is_empty() && text(&state, "active_attempt_id").is_empty());
    // b is BLOCKED by a, so the Run is FAILED until it is resumed.
    assert_eq!(seen(&desk), (json!("FAILED"), 0));
    let book = desk.book();
    let resolution = &book.resolutions[0];
    let columns = [
        "run_id",
        "node_id",
        "requested_by",
        "service_principal",
        "evidence_ref",
        "event_type",
    ];
    let values = columns.map(|c| text(resolution, c).to_owned());
    assert_eq!(
        values,
        [
            desk.run_id().as_str(),
            "a",
            "tester",
            "svc",
            "INC-1",
            "ATTEMPT_RESOLVED"
        ]
    );
    let reason: Json = serde_json::from_str(text(resolution, "reason")).expect("JSON");
    assert_eq!(
        (
            &reason["resolution_type"],
            &reason["reason"],
            &reason["stop_confirmed_by"]
        ),
        (
            &json!("NODE_MANUAL_COMPLETION_CONFIRMED"),
            &json!("because of INC-1"),
            &json!("ito")
        )
    );
    let repairs = desk.events("RECONCILIATION_REPAIR");
    assert_eq!(repairs.len(), 1);
    assert_eq!(repairs[0]["repair_type"], "RUN_AGGREGATE_RECOMPUTED");
    assert_eq!(text(&book.attempts[0], "status"), "UNKNOWN");
    assert_done(&resume(&desk));
    assert_eq!(desk.space.executions().len(), 2);
    desk.assert_sound();
}

#[test]
fn an_idempotent_node_resolved_failed_runs_again() {
    let desk = Desk::new("resolve_again", UNKNOWN);
    assert_done(&desk.resolve("a", "FAILED", &[]));
    assert_eq!(seen(&desk), (json!("FAILED"), 0));
    desk.free_job_locks();
    assert_done(&resume(&desk));
    assert_eq!(desk.space.executions().len(), 3);
    // The old resolution is settled history (BTR-15).
    assert_eq!(seen(&desk), (json!("SUCCESS"), 0));
    assert_refused(&desk.resolve("a", "FAILED", &[]), "NODE_NOT_RESOLVABLE");
}

#[test]
fn the_same_again_is_a_success_and_writes_nothing() {
    let desk = Desk::new("resolve_same", UNKNOWN_ONCE);
    let first = json_of(&desk.resolve("a", "CANCELLED", &["--compensation", "--json"]));
    assert_eq!(
        (&first["outcome"], &first["code"]),
        (&json!("RESOLVED"), &json!("NODE_RESOLVED"))
    );
    let revision = desk.state("a")["$revision"].clone();
    let again = json_of(&desk.resolve("a", "CANCELLED", &["--json"]));
    assert_eq!(again["outcome"], "ALREADY_RESOLVED");
    assert_eq!(
        (&again["audit_event_id"], &again["ids"]),
        (&first["audit_event_id"], &first["ids"])
    );
    assert_eq!(desk.state("a")["$revision"], revision);
    assert_eq!(desk.book().resolutions.len(), 1);
    let other = desk.resolve("a", "FAILED", &[]);
    assert_refused(&other, "RESOLUTION_EXISTS");
    assert!(said(&other).contains("by tester at "), "{}", said(&other));
    assert_refused(
        &desk.resolve("a", "SUCCESS", &["--approved-by", "ito"]),
        "RESOLUTION_EXISTS",
    );
}

#[test]
fn preconditions_that_need_no_record() {
    let desk = Desk::new("resolve_rows", UNKNOWN);
    let (run, reason, blank) = (desk.run_id(), desk.reason(), desk.blank());
    let with = |changes: &[(&str, &str)], more: &[&str]| {
        let mut words = [
            ("--run-id", run.as_str()),
            ("--node-id", "a"),
            ("--to", "FAILED"),
            ("--reason-file", reason.as_str()),
            ("--evidence-ref", "INC-1"),
            ("--stop-confirmed-by", "ito"),
            ("--stop-evidence-ref", "INC-1#2"),
        ];
        for (flag, value) in changes {
            words
                .iter_mut()
                .filter(|w| w.0 == *flag)
                .for_each(|w| w.1 = value);
        }
        let mut args = vec!["resolve-node"];
        args.extend(words.iter().flat_map(|(flag, value)| [*flag, *value]));
        args.extend_from_slice(more);
        desk.space.run(&args)
    };
    let two = with(&[("--reason-file", &blank), ("--stop-evidence-ref", " ")], &[]);
    assert_refused(&two, "AUDIT_INPUT_REQUIRED");
    assert!(said(&two).contains("reason, stopEvidenceRef"), "{}", said(&two));
    for flag in ["--run-id", "--node-id", "--evidence-ref", "--stop-confirmed-by"] {
        assert_refused(&with(&[(flag, "\u{feff} ")], &[]), "AUDIT_INPUT_REQUIRED");
    }
    let rows: [(Changes<'_>, &[&str], &str); 5] = [
        (
            &[("--to", "SUCCESS")],
            &["--compensation"],
            "COMPENSATION_CANNOT_SUCCEED",
        ),
        (&[("--to", "SUCCESS")], &[], "MANUAL_COMPLETION_REQUIRED"),
        (
            &[("--to", "CANCELLED")],
            &["--manual-completion"],
            "MANUAL_COMPLETION_REQUIRES_SUCCESS",
        ),
        (&[("--run-id", "netrun_x")], &[], "RECORD_NOT_FOUND"),
        (&[("--node-id", "z")], &[], "NODE_STATE_NOT_UNIQUE"),
    ];
    for (changes, more, code) in rows {
        assert_refused(&with(changes, more), code);
    }
    let missing = with(&[("--reason-file", "/nowhere/reason.txt")], &[]);
    assert_refused(&missing, "ENOENT");
    assert!(desk.book().resolutions.is_empty());
}

#[test]
fn preconditions_of_the_records() {
    let desk = Desk::new("resolve_states", FAILED_ONCE);
    for approver in [
        &[][..],
        &["--approved-by", " tester "],
        &["--approved-by", "Tester"],
        &["--approved-by", "svc"],
    ] {
        assert_refused(
            &desk.resolve("a", "SUCCESS", approver),
            "DISTINCT_APPROVER_REQUIRED",
        );
    }
    let state = desk.state("a");
    desk.edit_state(&state, "status", "UNKNOWN");
    assert_refused(&desk.resolve("a", "FAILED", &[]), "STATE_ATTEMPT_MISMATCH");
    desk.edit_state(&state, "status", "SUCCESS");
    assert_refused(&desk.resolve("a", "FAILED", &[]), "NODE_NOT_RESOLVABLE");
    desk.edit_state(&state, "status", "FAILED");
    let again = Desk::new("resolve_again", &[NodeSpec::new("a", &[], &["FAILED"])]);
    assert_refused(&again.resolve("a", "FAILED", &[]), "NODE_NOT_RESOLVABLE");
    let attempt = desk.book().attempts[0].clone();
    desk.copy_audit(
        &attempt,
        &[
            ("record_key", "ATT:x"),
            ("node_attempt_id", "attempt_x"),
            ("attempt_key", "A1:x"),
        ],
    );
    assert_refused(&desk.resolve("a", "FAILED", &[]), "CURRENT_ATTEMPT_NOT_UNIQUE");
    assert!(desk.book().resolutions.is_empty());
}

#[test]
fn another_person_may_confirm_a_failed_node_that_cannot_be_repeated() {
    let desk = Desk::new("resolve_approved", FAILED_ONCE);
    assert_done(&desk.resolve("a", "SUCCESS", &["--approved-by", "ito"]));
    assert_eq!(text(&desk.book().resolutions[0], "approved_by"), "ito");
    assert_eq!(seen(&desk), (json!("SUCCESS"), 0));
    assert!(!text(&desk.run(), "finished_at").is_empty());
    assert_done(&resume(&desk));
    assert_eq!(desk.space.executions().len(), 1);
}

#[test]
fn nobody_resolves_under_the_feet_of_an_owner() {
    let desk = Desk::new("resolve_live", UNKNOWN);
    let invocation = text(&desk.book().invocations[0], "invocation_id").to_owned();
    for owner in [invocation.as_str(), "invoke_not_yet_recorded", "archive_x"] {
        let lock = desk.lock(owner, "local-pid://h/1", 5);
        let refused = desk.resolve("a", "FAILED", &[]);
        assert_refused(&refused, "RUN_LIVE");
        assert!(said(&refused).contains(owner), "{}", said(&refused));
        desk.unlock_by_hand(lock);
    }
    // An invocation of another Run of the network, and a lease that is over, are no reason to wait.
    let other = desk.book().invocations[0].clone();
    let changes = [
        ("record_key", "INV:invoke_other"),
        ("invocation_id", "invoke_other"),
        ("run_id", "netrun_other"),
    ];
    desk.copy_audit(&other, &changes);
    let lock = desk.lock("invoke_other", "local-pid://h/1", 5);
    assert_done(&desk.resolve("a", "FAILED", &[]));
    desk.unlock_by_hand(lock);
    desk.lock(&invocation, "local-pid://h/1", -5);
    assert_done(&desk.resolve("a", "FAILED", &[]));
}

#[test]
fn a_resolution_that_never_reached_its_node_is_applied() {
    let desk = Desk::new("resolve_pending", UNKNOWN);
    let donor = Desk::new("resolve_donor", UNKNOWN);
    assert_done(&donor.resolve("a", "FAILED", &[]));
    // What the original leaves when it dies between its two writes.
    let attempt = text(&desk.book().attempts[0], "node_attempt_id").to_owned();
    desk.copy_audit(
        &donor.book().resolutions[0],
        &[("record_key", "RES:x"), ("attempt_id", &attempt), ("run_id", "")],
    );
    assert_eq!(seen(&desk), (json!("UNKNOWN"), 1));
    assert_refused(&desk.resolve("a", "CANCELLED", &[]), "RESOLUTION_EXISTS");
    let told = json_of(&desk.resolve("a", "FAILED", &["--json"]));
    assert_eq!(
        (&told["outcome"], &told["audit_event_id"]),
        (&json!("RESOLVED"), &json!("RES:x"))
    );
    assert_eq!(seen(&desk), (json!("FAILED"), 0));
    assert_eq!(desk.book().resolutions.len(), 1);
    let kinds: Vec<Json> = desk
        .events("RECONCILIATION_REPAIR")
        .into_iter()
        .map(|e| e["repair_type"].clone())
        .collect();
    assert_eq!(kinds, ["ATTEMPT_RESOLUTION_APPLIED", "RUN_AGGREGATE_RECOMPUTED"]);
}

#[test]
fn every_write_happens_once_whatever_becomes_of_its_answer() {
    for (i, (name, fault)) in disturbances().into_iter().enumerate() {
        let desk = Desk::new(&format!("resolve_fault_{i}"), UNKNOWN);
        desk.sandbox.fault(&fault);
        let output = desk.resolve("a", "CANCELLED", &[]);
        desk.sandbox.clear_faults();
        assert!(output.status.success(), "{name}: {}", said(&output));
        assert_eq!(desk.book().resolutions.len(), 1, "{name}");
        assert_eq!(seen(&desk), (json!("FAILED"), 0), "{name}");
        desk.assert_sound();
    }
}

#[test]
fn two_people_with_two_minds_leave_one_resolution() {
    let desk = Desk::new("resolve_race", UNKNOWN_ONCE);
    park(&desk.sandbox);
    let first = desk.start_resolve("a", "FAILED", &[]);
    let parked = desk.sandbox.wait_for_hold();
    assert_done(&desk.resolve("a", "CANCELLED", &[]));
    desk.sandbox.release(&parked, "proceed");
    assert_refused(&first.wait_with_output().expect("ends"), "RESOLUTION_EXISTS");
    assert_eq!(desk.book().resolutions.len(), 1);
    assert_eq!(desk.book().nodes()["a"], "CANCELLED");
}

#[test]
fn two_nodes_at_the_same_moment_leave_a_run_that_follows_from_both() {
    let nodes = [
        NodeSpec::new("a", &[], &["VANISH"]),
        NodeSpec::new("b", &[], &["VANISH"]),
    ];
    let desk = Desk::new("resolve_two", &nodes);
    assert_eq!(seen(&desk), (json!("UNKNOWN"), 0));
    park(&desk.sandbox);
    let first = desk.start_resolve("a", "SUCCESS", &[]);
    let parked = desk.sandbox.wait_for_hold();
    assert_done(&desk.resolve("b", "SUCCESS", &[]));
    desk.sandbox.release(&parked, "proceed");
    assert_done(&first.wait_with_output().expect("ends"));
    assert_eq!(seen(&desk), (json!("SUCCESS"), 0));
    assert_eq!(desk.book().resolutions.len(), 2);
    desk.assert_sound();
}

#[test]
fn a_resolution_of_a_run_that_is_being_resumed_is_refused_or_lands_first() {
    let desk = Desk::new("resolve_resume", UNKNOWN);
    park(&desk.sandbox);
    let resolving = desk.start_resolve("a", "FAILED", &[]);
    let parked = desk.sandbox.wait_for_hold();
    // The resume changes nothing of `a`: it stays UNKNOWN, the Run is touched all the same.
    let resumed = resume(&desk);
    assert!(
        said(&resumed).contains("(NODE_RESULT_UNKNOWN)"),
        "{}",
        said(&resumed)
    );
    desk.sandbox.release(&parked, "proceed");
    assert_done(&resolving.wait_with_output().expect("ends"));
    assert_eq!(seen(&desk), (json!("FAILED"), 0));
    desk.assert_sound();
}

fn resolution_key(desk: &Desk, at: usize) -> String {
    text(&desk.book().resolutions[at], "record_key").to_owned()
}

#[test]
fn a_wrong_resolution_is_corrected_by_two_people() {
    let desk = Desk::new("resolve_wrong", UNKNOWN_ONCE);
    assert_done(&desk.resolve("a", "CANCELLED", &[]));
    let wrong = resolution_key(&desk, 0);
    let refused = desk.resolve("a", "SUCCESS", &["--approved-by", "ito"]);
    assert_refused(&refused, "RESOLUTION_EXISTS");
    assert!(
        said(&refused).contains(&format!("--replaces {wrong}")),
        "{}",
        said(&refused)
    );
    for approver in [&[][..], &["--approved-by", "tester"]] {
        let alone = desk.resolve("a", "FAILED", &[&["--replaces", &wrong], approver].concat());
        assert_refused(&alone, "DISTINCT_APPROVER_REQUIRED");
    }
    let replace = ["--replaces", wrong.as_str(), "--approved-by", "ito"];
    assert_done(&desk.resolve("a", "SUCCESS", &replace));
    assert_eq!(seen(&desk), (json!("FAILED"), 0));
    assert_eq!(desk.book().nodes()["a"], "SUCCESS");
    let reason: Json = serde_json::from_str(text(&desk.book().resolutions[1], "reason")).expect("JSON");
    assert_eq!(reason["replaces"], wrong.as_str());
    // Again: nothing. Another word for the one that was replaced: refused. What counts as done stays done.
    let again = desk.resolve("a", "SUCCESS", &replace);
    assert!(said(&again).contains("ALREADY_RESOLVED"), "{}", said(&again));
    assert_refused(&desk.resolve("a", "FAILED", &replace), "RESOLUTION_EXISTS");
    let newest = resolution_key(&desk, 1);
    let back = desk.resolve("a", "FAILED", &["--replaces", &newest, "--approved-by", "ito"]);
    assert_refused(&back, "NODE_NOT_RESOLVABLE");
    assert_done(&resume(&desk));
    assert_eq!(seen(&desk), (json!("SUCCESS"), 0));
    desk.assert_sound();
}

#[test]
fn only_a_resolution_of_the_current_attempt_is_corrected() {
    let desk = Desk::new("resolve_nothing", UNKNOWN);
    let replace = ["--replaces", "RES:x", "--approved-by", "ito"];
    assert_refused(&desk.resolve("a", "FAILED", &replace), "RESOLUTION_NOT_FOUND");
    assert!(desk.book().resolutions.is_empty());
}

#[test]
fn two_minds_that_the_original_let_in_are_settled_by_a_third() {
    let desk = Desk::new("resolve_conflict", UNKNOWN_ONCE);
    assert_done(&desk.resolve("a", "FAILED", &[]));
    let first = desk.book().resolutions[0].clone();
    desk.copy_audit(
        &first,
        &[("record_key", "RES:other"), ("resolved_outcome", "CANCELLED")],
    );
    assert_eq!(seen(&desk), (json!("FAILED"), 1));
    assert_refused(&resume(&desk), "RECONCILIATION_REQUIRED");
    assert_refused(&desk.resolve("a", "FAILED", &[]), "RESOLUTION_EXISTS");
    let replace = ["--replaces", "RES:other", "--approved-by", "ito"];
    assert_done(&desk.resolve("a", "SUCCESS", &replace));
    assert_eq!(seen(&desk), (json!("FAILED"), 0));
    assert_done(&resume(&desk));
    desk.assert_sound();
}

#[test]
fn two_corrections_at_once_are_one() {
    let desk = Desk::new("resolve_correct_race", UNKNOWN_ONCE);
    assert_done(&desk.resolve("a", "FAILED", &[]));
    let wrong = resolution_key(&desk, 0);
    let replace = ["--replaces", wrong.as_str(), "--approved-by", "ito"];
    park(&desk.sandbox);
    let first = desk.start_resolve("a", "CANCELLED", &replace);
    let parked = desk.sandbox.wait_for_hold();
    assert_done(&desk.resolve("a", "SUCCESS", &replace));
    desk.sandbox.release(&parked, "proceed");
    assert_refused(&first.wait_with_output().expect("ends"), "RESOLUTION_EXISTS");
    assert_eq!(desk.book().nodes()["a"], "SUCCESS");
    assert_eq!(seen(&desk), (json!("FAILED"), 0));
}
