//! The Network lock: starts that meet one, and force-unlock-network.

use serde_json::json;

use crate::network::{NodeSpec, PROFILE, said, text};
use crate::sandbox::STATE;
use crate::stage::{Scenario, Stage, dead_pid, host};

/// The second job cannot start at first: the Run stays RUNNING with nobody at work.
pub const PAUSED: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["SUCCESS"]),
    NodeSpec::new("b", &["a"], &["CRASH", "SUCCESS"]),
];
const CHAIN: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["SUCCESS"]),
    NodeSpec::new("b", &["a"], &["SUCCESS"]).not_idempotent(),
];

/// A start that was killed while its first node ran; its lease is over, and nobody was told.
fn killed_in_a_node(stage: &Stage<'_>) {
    stage.sandbox.fault(&json!({
        "match": {"method": "POST", "path": "/k/v1/bulkRequest.json", "contains": "\"result_code\":{\"value\":\"OK\"}"},
        "nth": 1, "times": 1, "action": "hold_before"
    }));
    let words = stage.start_words(&[]);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let mut child = stage.space.command(&words).spawn().expect("starts");
    let held = stage.sandbox.wait_for_hold();
    child.kill().expect("kill -9");
    child.wait().expect("reaped");
    stage.sandbox.drop_held(&held);
    stage.sandbox.clear_faults();
    for lock in stage.book().held_locks {
        let id = text(&lock, "$id").parse().expect("record id");
        let over = json!({"lease_expires_at": {"value": "2026-01-01T00:00:00Z"}});
        stage.sandbox.edit(STATE.0, id, &over);
    }
}

/// Another start of the network is at work, elsewhere.
fn taken(stage: &Stage<'_>) {
    stage.start();
    stage.put_lock("invoke_other", "local-pid://elsewhere/7", 5);
}

/// The refused start has changed nothing; when the other one has ended, the Run goes on.
fn refused(stage: &Stage<'_>) -> Result<usize, String> {
    let again = stage.resume();
    if !said(&again).contains("[LOCK_CONFLICT]") {
        return Err(format!("the lock does not hold: {}", said(&again)));
    }
    let book = stage.book();
    let [lock] = book.held_locks.as_slice() else {
        return Err(format!("{} locks", book.held_locks.len()));
    };
    if text(lock, "owner_invocation_id") != "invoke_other" || text(lock, "$revision") != "1" {
        return Err(format!("the lock was touched: {lock}"));
    }
    let value = |v: &str| json!({ "value": v });
    let done = json!({
        "record_key": value(&format!("LOCKDONE:{}", stage.space.network_id)), "lock_key": value(""), "status": value("SUCCESS"),
    });
    let id = text(lock, "$id").parse().expect("record id");
    stage.sandbox.edit(STATE.0, id, &done);
    stage.lead_on()
}

fn force_unlock(stage: &Stage<'_>) -> Vec<String> {
    stage.operator_words(&[
        "force-unlock-network",
        &stage.space.network_id,
        "--profile",
        PROFILE,
        "--expected-owner-invocation-id",
        "invoke_dead",
        "--evidence-ref",
        "INC-1",
        "--stop-confirmed-by",
        "ito",
        "--stop-evidence-ref",
        "ps",
        "--stop-method",
        "local_pid",
    ])
}

pub const SCENARIOS: &[Scenario] = &[
    Scenario::start("start after a killed one", CHAIN).before(killed_in_a_node),
    Scenario::start("start beside another one", PAUSED)
        .before(taken)
        .words(|stage| stage.start_words(&["--resume"]))
        .after(refused),
    Scenario::start("forced unlock", PAUSED)
        .before(|stage| {
            stage.start();
            stage.put_lock(
                "invoke_dead",
                &format!("local-pid://{}/{}", host(), dead_pid()),
                -5,
            );
        })
        .words(force_unlock)
        .event("NETWORK_LOCK_FORCE_RELEASED"),
];
