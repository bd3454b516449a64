//! The answer of `status`, as JSON and as lines (STA-07, STA-09).

use super::{Detail, Facts, RunFacts};
use crate::flownet::ordered_json::{Json, Object};
use crate::flownet::record::status::NodeStatus;
use crate::flownet::record::{Attempt, Lock, NodeState};
use crate::flownet::rule::activity::activity;
use crate::flownet::rule::reconcile::{Records, examine};
use crate::flownet::time::Timestamp;

/// The JSON document, keys in the contract's order.
pub fn document(facts: &Facts, now: Timestamp) -> Object {
    let runs: Vec<Object> = facts.runs.iter().map(|r| run(facts, r, now)).collect();
    Object::new()
        .with("network_id", facts.network_id.as_str())
        .with("profile", facts.profile.as_str())
        .with("lock", facts.lock.as_ref().map(|l| lock(l, now)))
        .with("runs", runs)
}

fn lock(lock: &Lock, now: Timestamp) -> Object {
    Object::new()
        .with("record_id", lock.record_id.to_string())
        .with("owner_invocation_id", lock.owner_invocation_id.as_str())
        .with("owner_instance_id", lock.owner_instance_id())
        .with("heartbeat_at", lock.heartbeat_at.as_str())
        .with("lease_expires_at", lock.lease_expires_at.as_str())
        .with("stale_candidate", lock.is_stale_candidate(now))
        .with("revision", lock.business_revision)
}

fn run(facts: &Facts, entry: &RunFacts, now: Timestamp) -> Object {
    let run = &entry.run;
    let hold = entry.hold.as_ref().filter(|h| h.is_active()).map(|h| {
        Object::new()
            .with("state", h.state.as_str())
            .with("requested_by", h.requested_by.as_str())
            .with("requested_at", h.requested_at.as_str())
    });
    let owner_expires = facts
        .lock
        .as_ref()
        .filter(|_| entry.owns_lock)
        .and_then(Lock::expires);
    let active = activity(
        run.status,
        hold.is_some(),
        owner_expires,
        !run.started_at.is_empty(),
        now,
    );
    let shown = Object::new()
        .with("run_id", run.run_id.as_str())
        .with("business_key", run.business_key.as_str())
        .with("status", run.status.as_str())
        .with("resume_allowed", run.resume_allowed)
        .with("lifecycle_status", run.lifecycle.as_str())
        .with("created_at", run.created_at.as_str())
        .with("started_at", Json::or_null(&run.started_at))
        .with("finished_at", Json::or_null(&run.finished_at))
        .with("updated_at", run.updated_at.as_str())
        .with("hold", hold)
        .with_some(
            "activity",
            active.map(super::super::rule::activity::Activity::as_str),
        );
    match &entry.detail {
        Some(detail) => details(shown, facts, entry, detail),
        None => shown,
    }
}

fn details(shown: Object, facts: &Facts, entry: &RunFacts, detail: &Detail) -> Object {
    let invocations: Vec<Object> = detail
        .invocations
        .iter()
        .map(|i| {
            Object::new()
                .with("invocation_id", i.invocation_id.as_str())
                .with("mode", i.mode.as_str())
                .with("status", i.status.as_str())
                .with("result_code", i.result_code.as_str())
        })
        .collect();
    let states: Vec<Object> = detail
        .states
        .iter()
        .map(|s| node_state(s, &detail.attempts))
        .collect();
    shown
        .with("invocations", invocations)
        .with("node_states", states)
        .with("reconciliation", reconciliation(entry, detail))
        .with("recovery_identifiers", recovery(facts, entry, detail))
}

fn node_state(state: &NodeState, attempts: &[Attempt]) -> Object {
    let own = || attempts.iter().filter(|a| a.node_id == state.node_id);
    let latest = own().find(|a| state.latest_attempt_no > 0 && a.attempt_no == state.latest_attempt_no);
    let active = own().find(|a| a.attempt_id == state.active_attempt_id);
    Object::new()
        .with("node_id", state.node_id.as_str())
        .with("status", state.status.as_str())
        .with("status_reason", Json::or_null(&state.status_reason))
        .with("idempotent", state.idempotent)
        .with("latest_attempt_no", state.latest_attempt_no)
        .with("active_attempt_id", Json::or_null(&state.active_attempt_id))
        .with("latest_attempt", latest.map(attempt))
        .with("active_attempt", active.map(attempt))
}

fn attempt(attempt: &Attempt) -> Object {
    Object::new()
        .with("node_attempt_id", attempt.attempt_id.as_str())
        .with("attempt_no", attempt.attempt_no)
        .with("status", attempt.status.as_str())
        .with("result_code", attempt.result_code.as_str())
}

fn reconciliation(entry: &RunFacts, detail: &Detail) -> Object {
    let found = examine(&Records {
        run: &entry.run,
        states: &detail.states,
        attempts: &detail.attempts,
        resolutions: &detail.resolutions,
        invocation_id: "",
    });
    let list: Vec<Object> = found
        .findings
        .into_iter()
        .map(|f| {
            Object::new()
                .with("code", f.code)
                .with_some("node_id", f.node_id)
                .with("detail", f.detail)
                .with_some(
                    "attempt_ids",
                    (!f.attempt_ids.is_empty()).then_some(f.attempt_ids),
                )
        })
        .collect();
    Object::new().with("inconsistencies", list)
}

/// Values that the recovery commands take (STA-10).
fn recovery(facts: &Facts, entry: &RunFacts, detail: &Detail) -> Object {
    let resolvable: Vec<Object> = detail
        .states
        .iter()
        .filter(|s| s.status == NodeStatus::Unknown || (s.status == NodeStatus::Failed && !s.idempotent))
        .map(|s| {
            Object::new()
                .with("run_id", entry.run.run_id.as_str())
                .with("node_id", s.node_id.as_str())
        })
        .collect();
    let unlock = facts.lock.as_ref().map(|l| {
        Object::new()
            .with("network_id", facts.network_id.as_str())
            .with("profile", facts.profile.as_str())
            .with("expected_owner_invocation_id", l.owner_invocation_id.as_str())
    });
    Object::new()
        .with("resolve_node", resolvable)
        .with("force_unlock_network", unlock)
        .with(
            "run_network",
            Object::new().with("resume_run", entry.run.run_id.as_str()),
        )
}

/// The lines of STA-09; `escape` makes foreign text safe for a terminal.
pub fn text(document: &Object, escape: fn(&str) -> String) -> Vec<String> {
    let value = |json: &Json| match json {
        Json::Text(text) => escape(text),
        other => escape(&other.compact()),
    };
    let top = |key: &str| document.get(key).map(value).unwrap_or_default();
    let mut lines = vec![
        format!("Network: {}", top("network_id")),
        format!("Profile: {}", top("profile")),
    ];
    match document.get("lock") {
        Some(Json::Object(lock)) => {
            lines.push("Lock:".to_owned());
            lines.extend(lock.iter().map(|(key, json)| format!("  {key}: {}", value(json))));
        }
        _ => lines.push("Lock: none".to_owned()),
    }
    let runs = match document.get("runs") {
        Some(Json::List(runs)) => runs.as_slice(),
        _ => &[],
    };
    lines.push(format!("Runs: {}", runs.len()));
    for run in runs {
        let Json::Object(run) = run else { continue };
        for (i, (key, json)) in run.iter().enumerate() {
            let lead = if i == 0 { "- " } else { "  " };
            lines.push(format!("{lead}{key}: {}", value(json)));
        }
    }
    lines
}
