//! cancel-run (OPR-28 to OPR-35), and holds that end by themselves.

use serde_json::{Value as Json, json};

use crate::desk::{Desk, assert_done, assert_refused, disturbances, id, json_of, park};
use crate::network::{NodeSpec, PROFILE, said, text};
use crate::sandbox::STATE;

fn state_of(desk: &Desk) -> Json {
    let holds = desk.book().holds;
    assert_eq!(holds.len(), 1);
    serde_json::from_str(text(&holds[0], "status_reason")).expect("JSON")
}

fn edit_end(desk: &Desk, end: &str) {
    let hold = desk.book().holds[0].clone();
    let mut reason = state_of(desk);
    reason["expires_at"] = json!(end);
    desk.edit_state(&hold, "status_reason", &reason.to_string());
}

#[test]
fn a_hold_stops_before_the_next_node_and_keeps_its_history() {
    let desk = Desk::held("hold");
    let hold = state_of(&desk);
    assert_eq!(hold["state"], "ACCEPTED");
    assert_eq!(
        (&hold["requested_by"], &hold["reason"]),
        (&json!("tester"), &json!("because of INC-1\n"))
    );
    assert_eq!(hold["release_reason"], Json::Null);
    assert_eq!(desk.book().nodes()["b"], "WAITING");
    assert_refused(
        &desk.space.run_network(&["--business-key", "k", "--resume"]),
        "RUN_ON_HOLD",
    );
    // Again: the stored hold is the answer, nothing is written, one request.
    desk.sandbox.clear_log();
    let again = desk.hold(&[]);
    assert_done(&again);
    let line = format!("ACCEPTED: CANCEL:{} (revision 2).", desk.run_id());
    assert!(said(&again).contains(&line), "{}", said(&again));
    assert_eq!(desk.requests(), 1);
    desk.sandbox.clear_log();
    let released = desk.hold(&["--release"]);
    assert_done(&released);
    assert!(
        said(&released).contains("RELEASED: CANCEL:"),
        "{}",
        said(&released)
    );
    assert_eq!(desk.requests(), 2);
    let hold = state_of(&desk);
    assert_eq!(
        (&hold["state"], &hold["release_requested_by"]),
        (&json!("RELEASED"), &json!("tester"))
    );
    assert_done(&desk.hold(&["--release"]));
    let history: Vec<(Json, Json)> = ["RUN_HOLD_REQUESTED", "RUN_HOLD_ACCEPTED", "RUN_HOLD_RELEASED"]
        .into_iter()
        .flat_map(|kind| desk.events(kind))
        .map(|e| (e["previous_state"].clone(), e["state"].clone()))
        .collect();
    let expected = [
        (Json::Null, json!("REQUESTED")),
        (json!("REQUESTED"), json!("ACCEPTED")),
        (json!("ACCEPTED"), json!("RELEASED")),
    ];
    assert_eq!(history, expected);
    for event in desk.book().operations {
        assert!(!text(&event, "requested_by").is_empty() && !text(&event, "run_id").is_empty());
    }
    assert_done(&desk.space.run_network(&["--business-key", "k", "--resume"]));
    desk.assert_sound();
}

#[test]
fn preconditions_in_order() {
    let desk = Desk::new("hold_rows", &[NodeSpec::new("a", &[], &["SUCCESS"])]);
    let reason = desk.reason();
    let unknown = ["cancel-run", "--run-id", "netrun_x", "--reason-file", &reason];
    assert_refused(&desk.space.run(&unknown), "RECORD_NOT_FOUND");
    let blank = desk.blank();
    let run = desk.run_id();
    let words = ["cancel-run", "--run-id", &run, "--reason-file", &blank];
    assert_refused(&desk.space.run(&words), "AUDIT_INPUT_REQUIRED");
    assert_refused(&desk.hold(&[]), "RUN_ALREADY_TERMINAL");
    for words in [
        &["--for", "soon"][..],
        &["--for", "0m"],
        &["--expires-at", "2020-01-01T00:00:00Z"],
        &["--expires-at", "tomorrow"],
    ] {
        assert_refused(&desk.hold(words), "INVALID_ARGUMENT");
    }
    for words in [
        &["--release", "--for", "1h"][..],
        &["--for", "1h", "--expires-at", "x"],
    ] {
        let output = desk.hold(words);
        assert!(
            said(&output).starts_with("exit status: 1\nInvalid cancel-run arguments:"),
            "{}",
            said(&output)
        );
    }
    // A release without a hold is done, whatever the Run is in.
    let released = desk.hold(&["--release"]);
    assert_done(&released);
    assert!(
        said(&released).contains("(revision none)."),
        "{}",
        said(&released)
    );
    assert!(desk.book().holds.is_empty() && desk.book().operations.is_empty());
}

#[test]
fn one_json_object_tells_everything() {
    let desk = Desk::stopped("hold_json");
    let output = desk.hold(&["--json", "--for", "2h"]);
    let held = json_of(&output);
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    let order = [
        "command",
        "outcome",
        "code",
        "ids",
        "revision",
        "audit_event_id",
        "next",
        "requests",
    ];
    let at = order.map(|key| stdout.find(&format!("\"{key}\":")).expect(key));
    assert!(at.is_sorted(), "{stdout}");
    assert_eq!(
        (&held["command"], &held["outcome"]),
        (&json!("cancel-run"), &json!("REQUESTED"))
    );
    assert_eq!(
        (&held["code"], &held["revision"]),
        (&json!("RUN_HELD"), &json!(4))
    );
    assert_eq!(held["ids"]["run_id"], json!(desk.run_id()));
    assert_eq!(held["ids"]["expires_at"], state_of(&desk)["expires_at"]);
    assert!(held["next"][0].as_str().expect("a step").contains(&desk.run_id()));
    let event = held["audit_event_id"].as_str().expect("an event");
    assert!(
        desk.book()
            .operations
            .iter()
            .any(|o| text(o, "record_key") == format!("OP:{event}"))
    );
    let refused = json_of(&desk.hold(&["--json", "--for", "x"]));
    assert_eq!(
        (&refused["outcome"], &refused["code"]),
        (&json!("REJECTED"), &json!("INVALID_ARGUMENT"))
    );
    assert_eq!(refused["error"]["code"], "INVALID_ARGUMENT");
    let quiet = desk.hold(&["--release", "--quiet"]);
    assert!(
        quiet.status.success() && quiet.stdout.is_empty() && quiet.stderr.is_empty(),
        "{}",
        said(&quiet)
    );
}

#[test]
fn a_hold_with_an_end_is_released_by_the_next_start_and_says_so() {
    let desk = Desk::stopped("hold_end");
    assert_done(&desk.hold(&["--for", "1h"]));
    assert_refused(
        &desk.space.run_network(&["--business-key", "k", "--resume"]),
        "RUN_ON_HOLD",
    );
    // Another end for the same hold is a change of its own; the same end again is none.
    assert_done(&desk.hold(&["--expires-at", "2027-01-01T00:00:00Z"]));
    assert_done(&desk.hold(&["--expires-at", "2027-01-01T09:00:00+09:00"]));
    assert_eq!(desk.events("RUN_HOLD_CHANGED").len(), 1);
    assert_eq!(state_of(&desk)["expires_at"], "2027-01-01T00:00:00.000Z");
    edit_end(&desk, "2026-01-01T00:00:00.000Z");
    let resumed = desk.space.run_network(&["--business-key", "k", "--resume"]);
    assert_done(&resumed);
    assert!(
        said(&resumed).contains("ended at 2026-01-01T00:00:00.000Z"),
        "{}",
        said(&resumed)
    );
    let hold = state_of(&desk);
    assert_eq!(
        (&hold["state"], &hold["release_reason"]),
        (&json!("RELEASED"), &json!("expired"))
    );
    let by = hold["release_requested_by"].as_str().expect("a name");
    assert!(by.starts_with("auto:"), "{by}");
    let last = desk.events("RUN_HOLD_RELEASED").pop().expect("an event");
    assert_eq!(
        (&last["reason"], &last["requested_by"]),
        (&json!("expired"), &json!(by))
    );
    desk.assert_sound();
}

#[test]
fn an_ended_hold_does_not_stop_a_running_network() {
    let (desk, start, before) = Desk::between("hold_over");
    assert_done(&desk.hold(&["--for", "1h"]));
    edit_end(&desk, "2026-01-01T00:00:00.000Z");
    desk.sandbox.release(&before, "proceed");
    assert_done(&start.wait_with_output().expect("ends"));
    assert_eq!(state_of(&desk)["state"], "RELEASED");
    assert_eq!(desk.events("RUN_HOLD_RELEASED").len(), 1);
    desk.assert_sound();
}

#[test]
fn a_new_hold_over_an_ended_one_records_both() {
    let desk = Desk::stopped("hold_again");
    assert_done(&desk.hold(&["--for", "1h"]));
    edit_end(&desk, "2026-01-01T00:00:00.000Z");
    assert_done(&desk.hold(&[]));
    let hold = state_of(&desk);
    assert_eq!(
        (&hold["state"], hold.get("expires_at")),
        (&json!("REQUESTED"), None)
    );
    let released = desk.events("RUN_HOLD_RELEASED");
    assert_eq!(released.last().expect("an event")["reason"], "expired");
    assert_eq!(desk.events("RUN_HOLD_REQUESTED").len(), 3);
}

#[test]
fn every_write_happens_once_whatever_becomes_of_its_answer() {
    let desk = Desk::stopped("hold_faults");
    let mut revision = 3;
    for (name, fault) in disturbances() {
        for (words, state) in [(&[][..], "REQUESTED"), (&["--release"][..], "RELEASED")] {
            desk.sandbox.fault(&fault);
            let output = desk.hold(words);
            desk.sandbox.clear_faults();
            assert!(output.status.success(), "{name}: {}", said(&output));
            revision += 1;
            assert_eq!(state_of(&desk)["state"], state, "{name}");
            assert_eq!(
                text(&desk.book().holds[0], "$revision"),
                revision.to_string(),
                "{name}"
            );
        }
    }
    let many = disturbances().len();
    assert_eq!(desk.events("RUN_HOLD_RELEASED").len(), 1 + many);
    assert_eq!(desk.events("RUN_HOLD_REQUESTED").len(), 1 + many);
}

#[test]
fn silence_is_told_as_silence_and_the_same_command_settles_it() {
    let desk = Desk::stopped("hold_silence");
    desk.sandbox.fault(&json!({
        "match": {"method": "POST", "path": "/k/v1/bulkRequest.json"}, "nth": 1, "times": 100,
        "action": "drop_before"
    }));
    assert_refused(&desk.hold(&[]), "AMBIGUOUS_WRITE");
    desk.sandbox.clear_faults();
    assert_eq!(state_of(&desk)["state"], "RELEASED");
    assert_done(&desk.hold(&[]));
    assert_eq!(state_of(&desk)["state"], "REQUESTED");
}

#[test]
fn two_holds_at_once_are_one_hold() {
    let desk = Desk::stopped("hold_race");
    park(&desk.sandbox);
    let first = desk.start_hold(&[]);
    let parked = desk.sandbox.wait_for_hold();
    assert_done(&desk.hold(&[]));
    desk.sandbox.release(&parked, "proceed");
    let first = first.wait_with_output().expect("ends");
    assert_done(&first);
    assert!(said(&first).contains("nothing was written"), "{}", said(&first));
    assert_eq!(desk.events("RUN_HOLD_REQUESTED").len(), 2);
    assert_eq!(text(&desk.book().holds[0], "$revision"), "4");
}

#[test]
fn a_release_wins_over_the_acceptance_of_the_same_moment() {
    let (desk, start, before) = Desk::between("hold_accept");
    assert_done(&desk.hold(&[]));
    // The scheduler is about to accept: its commit is the first one that speaks of the hold.
    desk.sandbox.fault(&json!({
        "match": {"method": "POST", "path": "/k/v1/bulkRequest.json", "contains": "RUN_HOLD_ACCEPTED"},
        "nth": 1, "times": 1, "action": "hold_before"
    }));
    desk.sandbox.release(&before, "proceed");
    let parked = desk.next_parked(&before);
    assert_done(&desk.hold(&["--release"]));
    desk.sandbox.release(&parked, "proceed");
    let ended = start.wait_with_output().expect("ends");
    assert_done(&ended);
    assert_eq!(state_of(&desk)["state"], "RELEASED");
    assert!(desk.events("RUN_HOLD_ACCEPTED").is_empty());
    desk.assert_sound();
}

#[test]
fn a_person_who_saves_the_hold_in_the_browser_does_no_harm() {
    let desk = Desk::held("hold_saved");
    let hold = desk.book().holds[0].clone();
    desk.sandbox.edit(STATE.0, id(&hold), &json!({}));
    assert_done(&desk.hold(&["--release"]));
    assert_eq!(state_of(&desk)["state"], "RELEASED");
}

#[test]
fn a_damaged_hold_holds_and_a_release_repairs_it() {
    let desk = Desk::held("hold_damaged");
    let hold = desk.book().holds[0].clone();
    desk.edit_state(&hold, "status_reason", "please wait, sato");
    assert_refused(
        &desk.space.run_network(&["--business-key", "k", "--resume"]),
        "RUN_ON_HOLD",
    );
    let shown = desk.status();
    assert_eq!(shown["situation"], "HELD");
    assert_eq!(shown["next_actions"][0]["action"], "RELEASE");
    assert_done(&desk.hold(&["--release"]));
    let written = state_of(&desk);
    assert_eq!(
        (&written["state"], &written["unreadable"]),
        (&json!("RELEASED"), &json!("please wait, sato"))
    );
    assert_done(&desk.space.run_network(&["--business-key", "k", "--resume"]));
    desk.assert_sound();
}

/// The state app keeps the holds of all networks for ever; a list must not read them all.
#[test]
fn a_list_reads_the_holds_of_its_own_runs_only() {
    let desk = Desk::held("hold_list");
    let value = |v: &str| json!({ "value": v });
    let state = json!({
        "state": "RELEASED", "requested_by": "a", "reason": "r", "requested_at": "2026-11-30T00:00:00.000Z",
        "accepted_at": null, "released_at": "2026-11-30T00:00:00.000Z", "release_reason": "x",
        "release_requested_by": "b",
    });
    for hundred in 0..6 {
        let records: Vec<Json> = (0..100)
            .map(|n| {
                let run = format!("other{}", hundred * 100 + n);
                json!({
                    "record_type": value("CANCEL_REQUEST"), "record_key": value(&format!("CANCEL:{run}")),
                    "run_id": value(&run), "status_reason": value(&state.to_string()),
                })
            })
            .collect();
        desk.sandbox.insert(STATE.0, &records);
    }
    desk.sandbox.clear_log();
    let list = desk
        .space
        .run(&["status", &desk.space.network_id, "--profile", PROFILE, "--json"]);
    let shown = json_of(&list);
    assert_eq!(shown["runs"][0]["situation"], "HELD", "{shown:#}");
    assert!(desk.requests() <= 2, "{}", desk.requests());
}
