//! archive-run and the lock of an owner that is dead, alive, or not to be judged (D-08, OPR-37).

use std::process::Output;

use serde_json::json;

use crate::archive::{FAILED, line};
use crate::desk::{Desk, assert_done, assert_refused, id};
use crate::network::{NodeSpec, said, text};
use crate::sandbox::STATE;

/// With an archive that was killed before its last commit: its lock is still held.
fn killed(name: &str) -> Desk {
    let desk = Desk::new(name, FAILED);
    desk.sandbox.fault(&json!({
        "match": {"method": "POST", "path": "/k/v1/bulkRequest.json"}, "nth": 1, "times": 1, "action": "hold_before"
    }));
    let archiving = desk.start_archive(&[]);
    desk.kill(archiving);
    let held = desk.book().held_locks;
    assert!(text(&held[0], "status_reason").starts_with("owner_instance_id=local-pid://"));
    desk
}

/// The lock of a dead owner was taken on proof, with the audit record of D-08.
fn assert_reclaimed(desk: &Desk, output: &Output) {
    assert!(said(output).contains("was released"), "{}", said(output));
    let released = desk.events("NETWORK_LOCK_FORCE_RELEASED");
    assert_eq!(released.len(), 1);
    assert_eq!(released[0]["stop_method"], "local_pid");
    let by = released[0]["stop_confirmed_by"].as_str().unwrap_or_default();
    assert!(by.starts_with("auto:"), "{by}");
    assert!(desk.book().held_locks.is_empty());
}

#[test]
fn a_start_frees_the_lock_of_a_dead_archive() {
    let desk = killed("archive_killed");
    let started = desk.space.run_network(&["--business-key", "k", "--resume"]);
    assert_reclaimed(&desk, &started);
}

#[test]
fn the_next_archive_frees_the_lock_of_a_dead_one() {
    let desk = killed("archive_again");
    let again = desk.archive(&[]);
    assert_done(&again);
    assert_reclaimed(&desk, &again);
    assert_eq!(line(&again).1["outcome"], "ARCHIVED");
    assert_eq!(desk.events("RUN_ARCHIVED").len(), 1);
    desk.assert_sound();
}

#[test]
fn without_the_means_of_a_proof_a_person_decides() {
    let desk = killed("archive_unproved");
    for (name, value, why) in [
        (
            "KSQL_FLOWNET_AUTO_RECLAIM",
            "off",
            "automatic release is switched off",
        ),
        ("KSQL_FLOW_WORKDIR", "", "KSQL_FLOW_WORKDIR is not set"),
        (
            "KSQL_FLOW_WORKDIR",
            "elsewhere",
            "no owner file of this lease on this machine",
        ),
    ] {
        let output = desk.archive_command(&[]).env(name, value).output().expect("runs");
        assert_refused(&output, "LOCK_CONFLICT");
        assert!(said(&output).contains(why), "{}", said(&output));
        assert!(
            said(&output).contains("force-unlock-network"),
            "{}",
            said(&output)
        );
    }
    assert_eq!(desk.book().held_locks.len(), 1);
    assert!(desk.events("NETWORK_LOCK_FORCE_RELEASED").is_empty());
}

#[test]
fn a_living_owner_keeps_its_lock() {
    let desk = Desk::new("archive_alive", FAILED);
    desk.sandbox.fault(&json!({
        "match": {"method": "POST", "path": "/k/v1/bulkRequest.json"}, "nth": 1, "times": 1, "action": "hold_before"
    }));
    let start = desk.space.start(&["--business-key", "k2"]);
    let parked = desk.sandbox.wait_for_hold();
    let first = desk.run_id();
    let output = desk.archive(&[]);
    assert_refused(&output, "LOCK_CONFLICT");
    let alive = format!("its process {} is running", start.id());
    assert!(said(&output).contains(&alive), "{}", said(&output));
    assert!(
        !said(&output).contains("force-unlock-network"),
        "{}",
        said(&output)
    );
    desk.sandbox.release(&parked, "proceed");
    start.wait_with_output().expect("ends");
    assert_eq!(desk.run_id(), first);
    assert_done(&desk.archive(&[]));
}

/// One Run can be closed although the start of another one died; that one goes on afterwards.
#[test]
fn the_run_of_a_dead_start_goes_on_after_an_archive() {
    let nodes = [
        NodeSpec::new("a", &[], &["FAILED", "SUCCESS"]),
        NodeSpec::new("b", &["a"], &["SUCCESS"]),
    ];
    let desk = Desk::new("archive_beside", &nodes);
    desk.sandbox.fault(&json!({
        "match": {"method": "POST", "path": "/k/v1/bulkRequest.json", "contains": "\"result_code\":{\"value\":\"OK\"}"},
        "nth": 1, "times": 1, "action": "hold_before"
    }));
    let start = desk.space.start(&["--business-key", "k2"]);
    desk.kill(start);
    let archived = desk.archive(&[]);
    assert_done(&archived);
    assert_reclaimed(&desk, &archived);
    let resumed = desk.space.run_network(&["--business-key", "k2", "--resume"]);
    assert_done(&resumed);
    let statuses: Vec<_> = desk
        .book()
        .runs
        .iter()
        .map(|run| text(run, "status").to_owned())
        .collect();
    assert_eq!(statuses, ["FAILED", "SUCCESS"]);
    desk.assert_sound();
}

/// The takeover is applied, and the read after it is refused.
fn takeover_that_is_not_seen(desk: &Desk) -> Output {
    desk.sandbox.fault(&json!({
        "match": {"method": "POST", "contains": "NETWORK_LOCK_FORCE_RELEASED"}, "nth": 1, "times": 1, "action": "hold_after"
    }));
    let archiving = desk.start_archive(&[]);
    let parked = desk.sandbox.wait_for_hold();
    desk.sandbox.fault(&json!({
        "match": {"method": "GET", "path": "/k/v1/records.json"}, "nth": 1, "times": 1, "action": "status", "status": 403
    }));
    desk.sandbox.release(&parked, "proceed");
    archiving.wait_with_output().expect("ends")
}

#[test]
fn a_lock_that_may_be_ours_is_not_called_free() {
    let desk = killed("archive_unseen");
    let output = takeover_that_is_not_seen(&desk);
    assert_refused(&output, "LOCK_UNAVAILABLE");
    let (_, told) = line(&output);
    assert_eq!(told["lock_released"], json!(false));
    assert_eq!(
        text(&desk.book().held_locks[0], "owner_invocation_id"),
        told["event_id"]
    );
    // The owner file is still there, so that the same command goes on.
    desk.sandbox.clear_faults();
    assert_done(&desk.archive(&[]));
    assert!(desk.book().held_locks.is_empty());
}

/// Not applied, applied with its answer lost, refused for now: the same command goes on. Refused for good: nothing is taken,
/// and the command may be repeated.
#[test]
fn whatever_becomes_of_the_takeover_the_command_or_its_repetition_goes_on() {
    for (n, (action, goes_on)) in [
        ("drop_before", true),
        ("drop_after", true),
        ("503", true),
        ("403", false),
    ]
    .into_iter()
    .enumerate()
    {
        let desk = killed(&format!("archive_fate_{n}"));
        let matching = json!({"method": "POST", "contains": "NETWORK_LOCK_FORCE_RELEASED"});
        desk.sandbox.fault(&match action.parse::<u16>() {
            Ok(status) => {
                json!({"match": matching, "nth": 1, "times": 1, "action": "status", "status": status, "body": "{}"})
            }
            Err(_) => json!({"match": matching, "nth": 1, "times": 1, "action": action}),
        });
        let mut output = desk.archive(&[]);
        if !goes_on {
            assert_refused(&output, "LOCK_UNAVAILABLE");
            assert_eq!(line(&output).1["lock_released"], json!(true));
            assert!(said(&output).contains("next: "), "{}", said(&output));
            output = desk.archive(&[]);
        }
        assert_done(&output);
        assert_eq!(desk.events("NETWORK_LOCK_FORCE_RELEASED").len(), 1, "{action}");
        assert_eq!(desk.events("RUN_ARCHIVED").len(), 1, "{action}");
        assert!(desk.book().held_locks.is_empty(), "{action}");
    }
}

#[test]
fn a_record_that_is_saved_before_the_takeover_is_examined_again() {
    let desk = killed("archive_saved");
    desk.sandbox.fault(&json!({
        "match": {"method": "POST", "contains": "NETWORK_LOCK_FORCE_RELEASED"}, "nth": 1, "times": 1, "action": "hold_before"
    }));
    let archiving = desk.start_archive(&[]);
    let parked = desk.sandbox.wait_for_hold();
    let lock = desk.book().held_locks[0].clone();
    desk.sandbox.edit(STATE.0, id(&lock), &json!({}));
    desk.sandbox.release(&parked, "proceed");
    let output = archiving.wait_with_output().expect("ends");
    assert_done(&output);
    assert_reclaimed(&desk, &output);
}

#[test]
fn the_lock_of_an_owner_under_another_name_proves_nothing() {
    let desk = killed("archive_renamed");
    let lock = desk.book().held_locks[0].clone();
    desk.edit_state(&lock, "owner_invocation_id", "invoke_other");
    let output = desk.archive(&[]);
    assert_refused(&output, "LOCK_CONFLICT");
    assert!(
        said(&output).contains("the lock record was edited"),
        "{}",
        said(&output)
    );
}

/// The start that made a Run FAILED died before it said so of itself: nobody goes on with that Run, who would close it.
#[test]
fn an_invocation_that_was_left_open_ends_with_its_run() {
    let desk = Desk::new("archive_open", FAILED);
    desk.reopen_invocation();
    assert_done(&desk.archive(&[]));
    let invocation = desk.book().invocations[0].clone();
    assert_eq!(
        (text(&invocation, "status"), text(&invocation, "result_code")),
        ("CANCELLED", "NETWORK_LEASE_INTERRUPTED")
    );
    assert_eq!(desk.book().operations.len(), 2, "the archive and the repair");
}
