//! The answer of `status`, as JSON and as lines (STA-07, STA-09).

use super::{Detail, Facts, RunFacts};
use crate::flownet::key;
use crate::flownet::ordered_json::{Json, Object};
use crate::flownet::record::{Attempt, DamagedRun, Lock, NodeState};
use crate::flownet::rule::activity::{Activity, activity};
use crate::flownet::rule::next_action::{self, Action, Advice, Case, Effect, advise};
use crate::flownet::rule::operator::may_resolve;
use crate::flownet::rule::reconcile::{Examination, Records, against_definition, examine};
use crate::flownet::time::Timestamp;

/// Words for what leads on. They live with the other words of the command line.
pub trait Wording {
    /// The command line of an action; empty when there is none.
    fn command(&self, facts: &Facts, run: &RunFacts, action: &Action) -> String;
    /// The command that closes a Run which cannot be read.
    fn close_damaged(&self, facts: &Facts, run: &DamagedRun) -> String;
    /// What it does, in English: JSON is never translated.
    fn effect(&self, effect: Effect) -> &'static str;
}

/// Additive keys, which have lines of their own in the text form.
const ADVICE_KEYS: [&str; 3] = ["situation", "waiting_on", "next_actions"];

/// Key of the Runs that cannot be read.
const UNREADABLE: &str = "unreadable_runs";

/// The JSON document, keys in the contract's order, ours behind them.
pub fn document(facts: &Facts, now: Timestamp, wording: &dyn Wording) -> Object {
    let runs: Vec<Object> = facts
        .runs
        .iter()
        .map(|entry| {
            let found = entry.detail.as_ref().map(|d| examination(entry, d));
            let shown = run(facts, entry, found.as_ref(), now);
            let advice = advice(facts, entry, found.as_ref(), now);
            with_advice(shown, facts, entry, &advice, wording)
        })
        .collect();
    Object::new()
        .with("network_id", facts.network_id.as_str())
        .with("profile", facts.profile.as_str())
        .with("lock", facts.lock.as_ref().map(|l| lock(facts, l, now)))
        .with("runs", runs)
        .with_some(UNREADABLE, unreadable(facts, wording))
}

/// Runs that cannot be read: left out of the list, but not out of sight. Additive, and absent when there is none.
fn unreadable(facts: &Facts, wording: &dyn Wording) -> Option<Vec<Object>> {
    let shown = |run: &DamagedRun| {
        Object::new()
            .with("run_id", run.run_id.as_str())
            .with("business_key", run.business_key.as_str())
            .with("record_id", run.error.record_id.to_string())
            .with("field", run.error.field)
            .with("problem", run.error.to_string())
            .with(
                "command",
                (!run.is_archived()).then(|| wording.close_damaged(facts, run)),
            )
    };
    (!facts.damaged.is_empty()).then(|| facts.damaged.iter().map(shown).collect())
}

/// Where each Run stands, in the order of the document.
pub fn advices(facts: &Facts, now: Timestamp) -> Vec<Advice> {
    let of_run = |entry: &RunFacts| {
        let found = entry.detail.as_ref().map(|d| examination(entry, d));
        advice(facts, entry, found.as_ref(), now)
    };
    facts.runs.iter().map(of_run).collect()
}

fn examination(entry: &RunFacts, detail: &Detail) -> Examination {
    let mut found = examine(&Records {
        run: &entry.run,
        states: &detail.states,
        attempts: &detail.attempts,
        resolutions: &detail.resolutions,
        invocations: &detail.invocations,
        archived: detail.archived,
        damaged: &detail.damaged,
        invocation_id: "",
    });
    if let Some(network) = &detail.network {
        for edit in against_definition(&detail.states, network) {
            found.stop(edit);
        }
    }
    found
}

fn advice(facts: &Facts, entry: &RunFacts, found: Option<&Examination>, now: Timestamp) -> Advice {
    let detail = entry
        .detail
        .as_ref()
        .zip(found)
        .map(|(d, found)| next_action::Detail {
            states: &d.states,
            attempts: &d.attempts,
            found,
            refused: d.refused.as_deref(),
            unlocked: &d.unlocked,
        });
    advise(&Case {
        run: &entry.run,
        hold: entry.hold.as_ref(),
        lock: facts.lock.as_ref(),
        own_lock: entry.owns_lock,
        copied: entry.copied.as_deref(),
        detail,
        now,
    })
}

fn with_advice(
    shown: Object,
    facts: &Facts,
    entry: &RunFacts,
    advice: &Advice,
    wording: &dyn Wording,
) -> Object {
    let waiting = advice.waiting_on.as_ref().map(|w| {
        Object::new()
            .with("kind", w.kind.as_str())
            .with_some("node_id", w.node_id.as_deref())
            .with("since", Json::or_null(&w.since))
            .with_some("until", w.until.as_deref())
            .with_some("by", w.by.as_deref())
            .with("reason", w.reason.as_str())
    });
    let actions: Vec<Object> = advice
        .actions
        .iter()
        .map(|next| {
            Object::new()
                .with("action", next.action.as_str())
                .with("allowed", next.allowed)
                .with("who", next.who.as_str())
                .with("needs", next.needs.clone())
                .with("effect", wording.effect(next.effect))
                .with(
                    "command",
                    Json::or_null(&wording.command(facts, entry, &next.action)),
                )
        })
        .collect();
    let [situation, waiting_on, next_actions] = ADVICE_KEYS;
    shown
        .with(situation, advice.situation.as_str())
        .with(waiting_on, waiting)
        .with(next_actions, actions)
}

fn lock(facts: &Facts, lock: &Lock, now: Timestamp) -> Object {
    Object::new()
        .with("record_id", lock.record_id.to_string())
        .with("owner_invocation_id", lock.owner_invocation_id.as_str())
        .with("owner_instance_id", lock.owner_instance_id())
        .with("heartbeat_at", lock.heartbeat_at.as_str())
        .with("lease_expires_at", lock.lease_expires_at.as_str())
        .with("stale_candidate", lock.is_stale_candidate(now))
        .with("revision", lock.business_revision)
        .with_some("edited_fields", edited_fields(facts, lock))
}

/// What somebody edited in the lock; it locks all the same. Additive, and absent when there is nothing.
fn edited_fields(facts: &Facts, lock: &Lock) -> Option<Vec<String>> {
    let lock_key = key::lock_key(&facts.profile, &facts.network_id).ok()?;
    let held_key = key::held_lock_record_key(&lock_key).ok()?;
    let fields = lock.edited_fields(&held_key, &lock_key);
    (!fields.is_empty()).then(|| fields.into_iter().map(str::to_owned).collect())
}

fn run(facts: &Facts, entry: &RunFacts, found: Option<&Examination>, now: Timestamp) -> Object {
    let run = &entry.run;
    // A hold whose time is over is none, although nobody has written its release yet.
    let hold = entry.hold.as_ref().filter(|h| h.stops(now)).map(|h| {
        Object::new()
            .with("state", h.state.as_str())
            .with("requested_by", h.requested_by.as_str())
            .with("requested_at", h.requested_at.as_str())
            .with("reason", h.reason.as_str())
            .with("expires_at", h.expires_at())
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
        .with_some("activity", active.map(Activity::as_str));
    match entry.detail.as_ref().zip(found) {
        Some((detail, found)) => details(shown, facts, entry, detail, found),
        None => shown,
    }
}

fn details(shown: Object, facts: &Facts, entry: &RunFacts, detail: &Detail, found: &Examination) -> Object {
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
        .with("reconciliation", reconciliation(found))
        .with("recovery_identifiers", recovery(facts, entry, detail))
        .with_some("older_invocations_left_out", detail.is_cut.then_some(true))
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

fn reconciliation(found: &Examination) -> Object {
    let list: Vec<Object> = found
        .findings
        .iter()
        .map(|f| {
            Object::new()
                .with("code", f.code)
                .with_some("node_id", f.node_id.as_deref())
                .with("detail", f.detail.as_str())
                .with_some(
                    "attempt_ids",
                    (!f.attempt_ids.is_empty()).then(|| f.attempt_ids.clone()),
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
        .filter(|s| may_resolve(s))
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
            .with("expected_owner_invocation_id", l.owner_word())
    });
    Object::new()
        .with("resolve_node", resolvable)
        .with("force_unlock_network", unlock)
        .with(
            "run_network",
            Object::new().with("resume_run", entry.run.run_id.as_str()),
        )
}

/// The lines of STA-09; `escape` makes foreign text safe for a terminal. `further` gives the lines that tell people where
/// a Run stands, by its place in the list.
pub fn text(
    document: &Object,
    escape: fn(&str) -> String,
    further: &dyn Fn(usize) -> Vec<String>,
) -> Vec<String> {
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
    for (place, run) in runs.iter().enumerate() {
        let Json::Object(run) = run else { continue };
        for (i, (key, json)) in run
            .iter()
            .filter(|(key, _)| !ADVICE_KEYS.contains(key))
            .enumerate()
        {
            let lead = if i == 0 { "- " } else { "  " };
            lines.push(format!("{lead}{key}: {}", value(json)));
        }
        lines.extend(
            further(place)
                .into_iter()
                .map(|line| format!("  {}", escape(&line))),
        );
    }
    if let Some(Json::List(damaged)) = document.get(UNREADABLE) {
        lines.push(format!("Unreadable Runs: {}", damaged.len()));
        for run in damaged {
            let Json::Object(run) = run else { continue };
            let field = |key: &str| run.get(key).map(value).unwrap_or_default();
            lines.push(format!("- run_id: {}", field("run_id")));
            lines.push(format!("  business_key: {}", field("business_key")));
            lines.push(format!("  problem: {}", field("problem")));
            if let Some(Json::Text(command)) = run.get("command") {
                lines.push(format!("  next: {}", escape(command)));
            }
        }
    }
    lines
}
