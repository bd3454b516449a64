//! Why a Run does not move, and what leads on: a function of values, for `status` and everything that shows it.
//!
//! A Run that stands still is not simply "paused". It runs, waits for something that ends by itself, is held by a person,
//! needs a decision, has failed, was cancelled or is archived; each has its own ways on, and every way that is named here
//! as allowed is one that its command takes in this very state.

pub mod job_lock;
mod vocabulary;

use std::collections::BTreeSet;

pub use vocabulary::{Action, Advice, Effect, NextAction, Situation, WaitKind, WaitingOn, Who};

use super::io_summary;
use super::operator::{may_archive, may_hold, may_resolve, needs_approver};
use super::reconcile::{Examination, Repair};
use super::select::brake;
use crate::flownet::record::status::{Lifecycle, NodeStatus, Outcome, RunStatus};
use crate::flownet::record::{Attempt, Hold, Lock, NodeState, Run};
use crate::flownet::time::Timestamp;

/// What is known of a Run.
pub struct Case<'a> {
    /// The Run.
    pub run: &'a Run,
    /// Its hold, released ones too.
    pub hold: Option<&'a Hold>,
    /// The held lock of its network.
    pub lock: Option<&'a Lock>,
    /// The lock is held by one of its invocations.
    pub own_lock: bool,
    /// Which record is a copy, when somebody made one of the Run: no command takes such a Run.
    pub copied: Option<&'a str>,
    /// Its nodes, when they were read.
    pub detail: Option<Detail<'a>>,
    /// Now.
    pub now: Timestamp,
}

/// The nodes of a Run.
pub struct Detail<'a> {
    /// Node States, newest first.
    pub states: &'a [NodeState],
    /// Attempts, newest first.
    pub attempts: &'a [Attempt],
    /// What their examination found.
    pub found: &'a Examination,
    /// Nodes whose job lock was put on record as gone, with the number of that record.
    pub unlocked: &'a [(String, u64)],
    /// Why no start takes the Run on, where the records do not say it.
    pub refused: Option<&'a str>,
}

/// Tells where a Run stands.
pub fn advise(case: &Case<'_>) -> Advice {
    if let Some(reason) = case.copied {
        let reason = format!("MULTIPLE_RECORDS: {reason}; then every command takes the Run again");
        return decision(None, case.run.updated_at.clone(), reason, Vec::new());
    }
    if case.run.lifecycle == Lifecycle::Archived {
        let again = case.run.status != RunStatus::Success;
        let actions = again.then(|| Action::NewKey.does(Effect::NewRun));
        return over(Situation::Archived, actions.into_iter().collect());
    }
    let contradicted = case
        .detail
        .as_ref()
        .is_some_and(|d| !d.found.unrepairable.is_empty());
    if case.run.status == RunStatus::Success && !contradicted {
        return over(Situation::Done, Vec::new());
    }
    if let Some(hold) = case.hold.filter(|h| h.stops(case.now)) {
        return held(case, hold);
    }
    match case.lock {
        Some(lock) if lock.is_stale_candidate(case.now) => stale_lock(case, lock),
        Some(lock) if case.own_lock => running(case, lock),
        Some(lock) => foreign_lock(case, lock),
        None => standing(case),
    }
}

fn over(situation: Situation, actions: Vec<NextAction>) -> Advice {
    Advice {
        situation,
        waiting_on: None,
        actions,
    }
}

fn held(case: &Case<'_>, hold: &Hold) -> Advice {
    let mut actions = vec![Action::Release.does(Effect::EndsHold)];
    if case.run.resume_allowed {
        actions.push(Action::Resume.after("release of the hold", Effect::GoesOn));
    }
    Advice {
        situation: Situation::Held,
        waiting_on: Some(WaitingOn {
            kind: WaitKind::Hold,
            node_id: pending(case),
            since: hold.requested_at.clone(),
            until: hold.expires_at().map(str::to_owned),
            by: Some(hold.requested_by.clone()),
            reason: hold.reason.trim().to_owned(),
        }),
        actions,
    }
}

fn running(case: &Case<'_>, lock: &Lock) -> Advice {
    let mut actions = vec![Action::Wait.does(Effect::EndsByItself)];
    if may_hold(case.run).is_ok() {
        actions.push(Action::Hold.does(Effect::StopsBeforeNextNode));
    }
    let node = states(case).iter().find(|s| s.status == NodeStatus::Running);
    let (kind, since) = match node {
        Some(state) => (WaitKind::Node, state.started_at.clone()),
        None => (WaitKind::Lock, lock.heartbeat_at.clone()),
    };
    Advice {
        situation: Situation::Running,
        waiting_on: Some(WaitingOn {
            kind,
            node_id: node.map(|s| s.node_id.clone()),
            since,
            until: None,
            by: Some(lock.owner_invocation_id.clone()),
            reason: format!("its lease lasts until {}", lock.lease_expires_at),
        }),
        actions,
    }
}

fn foreign_lock(case: &Case<'_>, lock: &Lock) -> Advice {
    Advice {
        situation: Situation::Waiting,
        waiting_on: Some(WaitingOn {
            kind: WaitKind::Lock,
            node_id: pending(case),
            since: lock.heartbeat_at.clone(),
            until: Some(lock.lease_expires_at.clone()),
            by: Some(lock.owner_invocation_id.clone()),
            reason: "another start of the network, or another command, is at work".to_owned(),
        }),
        actions: vec![
            Action::Wait.does(Effect::EndsByItself),
            Action::Resume.after("the network lock", Effect::GoesOn),
        ],
    }
}

fn stale_lock(case: &Case<'_>, lock: &Lock) -> Advice {
    let instance = match lock.owner_instance_id() {
        "" => "not recorded",
        id => id,
    };
    Advice {
        situation: Situation::Waiting,
        waiting_on: Some(WaitingOn {
            kind: WaitKind::Lock,
            node_id: pending(case),
            since: lock.lease_expires_at.clone(),
            until: None,
            by: Some(lock.owner_invocation_id.clone()),
            reason: format!(
                "the lease is over and its owner ({instance}) did not release the lock; the next start on its host frees \
                 it when the process is proved dead"
            ),
        }),
        actions: vec![
            Action::Resume.after(
                "proof that the owner is dead, on its host",
                Effect::SettlesAndGoesOn,
            ),
            Action::ForceUnlock(lock.owner_word().to_owned()).does(Effect::FreesLock),
        ],
    }
}

/// Nobody holds anything: the records themselves say what is missing.
fn standing(case: &Case<'_>) -> Advice {
    let Some(detail) = &case.detail else {
        return unread(case);
    };
    if let Some(first) = detail.found.unrepairable.first() {
        let list: Vec<String> = detail
            .found
            .unrepairable
            .iter()
            .map(|f| format!("{}: {}", f.code, f.detail))
            .collect();
        return decision(
            first.node_id.clone(),
            case.run.updated_at.clone(),
            format!(
                "the records contradict each other: {}; put what was edited back as it was, then the next start with \
                 --resume goes on",
                list.join("; ")
            ),
            vec![Action::Abandon.does(Effect::Closes)],
        );
    }
    let refused = detail.refused.map(str::to_owned);
    let not_allowed = || (!case.run.resume_allowed).then(|| "resume_allowed of the Run is false".to_owned());
    if let Some(reason) = refused.or_else(not_allowed) {
        let close = closing(case).unwrap_or_else(|| Action::Abandon.does(Effect::Closes));
        return decision(None, case.run.updated_at.clone(), reason, vec![close]);
    }
    let unknown: Vec<&NodeState> = detail
        .states
        .iter()
        .filter(|s| s.status == NodeStatus::Unknown && !is_pending_repair(detail.found, &s.node_id))
        .collect();
    if let Some(first) = unknown.last() {
        let open = unknown.iter().rev().filter(|s| is_open(detail, s));
        let mut actions: Vec<NextAction> = open.flat_map(|s| resolutions(s)).collect();
        actions.push(Action::Abandon.does(Effect::Closes));
        let since = first.updated_at.clone();
        return decision(
            Some(first.node_id.clone()),
            since,
            evidence(detail, first),
            actions,
        );
    }
    match effective_status(case, detail) {
        RunStatus::Failed => ended(case, detail, Situation::Failed),
        RunStatus::Cancelled => ended(case, detail, Situation::Cancelled),
        RunStatus::Created | RunStatus::Running | RunStatus::Success | RunStatus::Unknown => idle(case),
    }
}

/// Without its nodes only the Run's own status speaks.
fn unread(case: &Case<'_>) -> Advice {
    let look = Action::Look.does(Effect::Shows);
    let situation = match case.run.status {
        RunStatus::Failed => Situation::Failed,
        RunStatus::Cancelled => Situation::Cancelled,
        RunStatus::Unknown => Situation::Decision,
        RunStatus::Created | RunStatus::Running | RunStatus::Success => {
            let mut advice = idle(case);
            advice.actions.push(look);
            return advice;
        }
    };
    let mut actions = vec![look];
    actions.extend(closing(case));
    Advice {
        situation,
        waiting_on: Some(WaitingOn {
            kind: WaitKind::Person,
            node_id: None,
            since: case.run.updated_at.clone(),
            until: None,
            by: None,
            reason: format!("the Run is {}", case.run.status),
        }),
        actions,
    }
}

fn decision(node_id: Option<String>, since: String, reason: String, actions: Vec<NextAction>) -> Advice {
    Advice {
        situation: Situation::Decision,
        waiting_on: Some(WaitingOn {
            kind: WaitKind::Person,
            node_id,
            since,
            until: None,
            by: None,
            reason,
        }),
        actions,
    }
}

/// A Run with nobody at work that the next start carries on.
fn idle(case: &Case<'_>) -> Advice {
    let interrupted = !case.run.started_at.is_empty();
    let (effect, reason) = match (interrupted, case.run.status.is_terminal()) {
        (_, true) => (
            Effect::Recomputes,
            "the Run does not show yet what its nodes are in",
        ),
        (true, false) => (
            Effect::SettlesAndGoesOn,
            "its last process has ended; the next start with --resume goes on",
        ),
        (false, false) => (
            Effect::GoesOn,
            "it was made and not started; the next start with --resume goes on",
        ),
    };
    let ended_hold = case.hold.is_some_and(|h| h.is_expired(case.now));
    let reason = if ended_hold {
        format!("{reason} and records that the hold is over")
    } else {
        reason.to_owned()
    };
    let mut actions = Vec::new();
    if case.run.resume_allowed {
        actions.push(Action::Resume.does(effect));
    }
    if may_hold(case.run).is_ok() {
        actions.push(Action::Hold.does(Effect::StopsStarts));
    }
    actions.push(Action::Abandon.does(Effect::Closes));
    let next_start = WaitingOn {
        kind: WaitKind::Schedule,
        node_id: pending(case),
        since: case.run.updated_at.clone(),
        until: None,
        by: None,
        reason,
    };
    let waiting_on = match job_lock::wait(case) {
        Some((lock, mut ways)) => {
            ways.append(&mut actions);
            actions = ways;
            lock
        }
        None => job_lock::not_started(case).unwrap_or(next_start),
    };
    Advice {
        situation: Situation::Waiting,
        waiting_on: Some(waiting_on),
        actions,
    }
}

/// A Run of which a node failed or was cancelled.
fn ended(case: &Case<'_>, detail: &Detail<'_>, situation: Situation) -> Advice {
    let ended = |s: &&NodeState| matches!(s.status, NodeStatus::Failed | NodeStatus::Cancelled);
    let roots: Vec<&NodeState> = detail.states.iter().rev().filter(ended).collect();
    let Some(root) = roots.first() else {
        return unblocked(case, detail);
    };
    let stuck = stuck(detail);
    let again = roots.iter().any(|s| !stuck.contains(s.node_id.as_str()));
    let mut actions = Vec::new();
    if again || goes_on(detail, &stuck) {
        let effect = if again {
            Effect::TriesAgain
        } else {
            Effect::SettlesAndGoesOn
        };
        actions.push(Action::Resume.does(effect));
    }
    let lost = detail.states.iter().any(cannot_run_again);
    for state in roots.iter().filter(|s| s.idempotent && is_braked(detail, s)) {
        let rerun = Action::RerunFrom(state.node_id.clone());
        actions.push(if lost {
            rerun.after("nodes that may run again", Effect::RunsAgain)
        } else {
            rerun.does(Effect::RunsAgain)
        });
    }
    for state in roots.iter().filter(|s| may_resolve(s) && is_open(detail, s)) {
        actions.push(resolve(state, Outcome::Success));
    }
    actions.extend(closing(case));
    Advice {
        situation,
        waiting_on: Some(WaitingOn {
            kind: if again {
                WaitKind::Schedule
            } else {
                WaitKind::Person
            },
            node_id: Some(root.node_id.clone()),
            since: root.updated_at.clone(),
            until: None,
            by: None,
            reason: evidence(detail, root),
        }),
        actions,
    }
}

/// The Run shows a failure that is settled: what it blocked can run now.
fn unblocked(case: &Case<'_>, detail: &Detail<'_>) -> Advice {
    let next = detail
        .states
        .iter()
        .rev()
        .find(|s| s.status == NodeStatus::Blocked);
    let mut actions = vec![Action::Resume.does(Effect::SettlesAndGoesOn)];
    actions.extend(closing(case));
    Advice {
        situation: Situation::Waiting,
        waiting_on: Some(WaitingOn {
            kind: WaitKind::Schedule,
            node_id: next.map(|s| s.node_id.clone()),
            since: case.run.updated_at.clone(),
            until: None,
            by: None,
            reason: "what blocked it is settled; the next start with --resume goes on".to_owned(),
        }),
        actions,
    }
}

/// Nodes that no start takes on: ended ones that are not tried again, and what they block.
fn stuck<'a>(detail: &Detail<'a>) -> BTreeSet<&'a str> {
    let stays = |s: &&NodeState| match s.status {
        NodeStatus::Failed | NodeStatus::Cancelled => !s.idempotent || is_braked(detail, s),
        NodeStatus::Unknown => true,
        _ => false,
    };
    let mut stuck: BTreeSet<&str> = detail
        .states
        .iter()
        .filter(stays)
        .map(|s| s.node_id.as_str())
        .collect();
    loop {
        let blocked = |s: &&NodeState| {
            s.status == NodeStatus::Blocked
                && !stuck.contains(s.node_id.as_str())
                && s.blocked_by.iter().any(|by| stuck.contains(by.as_str()))
        };
        let Some(next) = detail.states.iter().find(blocked) else {
            return stuck;
        };
        stuck.insert(&next.node_id);
    }
}

/// A start finds something to do besides trying failed nodes again.
fn goes_on(detail: &Detail<'_>, stuck: &BTreeSet<&str>) -> bool {
    let open = |s: &NodeState| match s.status {
        NodeStatus::Waiting => true,
        NodeStatus::Blocked => !stuck.contains(s.node_id.as_str()),
        _ => false,
    };
    !detail.found.repairs.is_empty() || detail.states.iter().any(open)
}

/// The archive that this Run takes, if it takes one.
fn closing(case: &Case<'_>) -> Option<NextAction> {
    if may_archive(case.run, case.hold, false, case.now).is_ok() {
        Some(Action::Archive.does(Effect::Closes))
    } else if may_archive(case.run, case.hold, true, case.now).is_ok() {
        Some(Action::Abandon.does(Effect::Closes))
    } else {
        None
    }
}

fn resolve(state: &NodeState, to: Outcome) -> NextAction {
    let effect = match (to, state.idempotent) {
        (Outcome::Success, _) => Effect::CountsAsDone,
        (_, true) => Effect::NodeRunsAgain,
        (_, false) => Effect::NodeStaysFailed,
    };
    Action::Resolve {
        node_id: state.node_id.clone(),
        to,
        approver: needs_approver(state, to),
    }
    .does(effect)
}

/// What a person may find out about a node whose result is unknown.
fn resolutions(state: &NodeState) -> Vec<NextAction> {
    vec![resolve(state, Outcome::Success), resolve(state, Outcome::Failed)]
}

fn states<'a>(case: &'a Case<'_>) -> &'a [NodeState] {
    case.detail.as_ref().map_or(&[], |d| d.states)
}

/// The node that is next, or running: the oldest that has not ended.
fn pending(case: &Case<'_>) -> Option<String> {
    let find = |wanted: NodeStatus| states(case).iter().rev().find(|s| s.status == wanted);
    find(NodeStatus::Running)
        .or_else(|| find(NodeStatus::Waiting))
        .map(|s| s.node_id.clone())
}

/// The status that the next start writes before it does anything else.
fn effective_status(case: &Case<'_>, detail: &Detail<'_>) -> RunStatus {
    detail
        .found
        .repairs
        .iter()
        .find_map(|repair| match repair {
            Repair::Aggregate(status) => Some(*status),
            _ => None,
        })
        .unwrap_or(case.run.status)
}

/// The next start changes this node before anything else.
fn is_pending_repair(found: &Examination, node: &str) -> bool {
    found.repairs.iter().any(|repair| match repair {
        Repair::ApplyAttempt { node_id, .. }
        | Repair::ApplyResolution { node_id, .. }
        | Repair::NeverStarted { node_id, .. } => node_id == node,
        Repair::Aggregate(_) => false,
    })
}

fn is_braked(detail: &Detail<'_>, state: &NodeState) -> bool {
    let own = detail.attempts.iter().filter(|a| a.node_id == state.node_id);
    brake(&state.node_id, own).is_some()
}

/// A rerun is refused when a node in its way was tried and may not be repeated (RRF-02).
fn cannot_run_again(state: &NodeState) -> bool {
    let tried = !state.idempotent && state.latest_attempt_no > 0 && state.status != NodeStatus::Success;
    tried || state.status == NodeStatus::Unknown
}

fn latest<'a>(detail: &Detail<'a>, state: &NodeState) -> Option<&'a Attempt> {
    detail
        .attempts
        .iter()
        .find(|a| a.node_id == state.node_id && a.attempt_no == state.latest_attempt_no)
}

/// Node and attempt agree, and no person has said another thing yet: rows 9 and 10 of OPR-10.
fn is_open(detail: &Detail<'_>, state: &NodeState) -> bool {
    latest(detail, state).is_some_and(|a| a.status.as_node() == state.status)
}

/// Status, reason and what the last attempt left behind.
fn evidence(detail: &Detail<'_>, state: &NodeState) -> String {
    let reason = match state.status_reason.as_str() {
        "" => String::new(),
        reason => format!(" ({reason})"),
    };
    let left = latest(detail, state).map_or_else(String::new, |attempt| {
        let said = match attempt.error_message.trim() {
            "" => String::new(),
            said => format!(
                ": {}",
                io_summary::in_words(said).unwrap_or_else(|| said.to_owned())
            ),
        };
        format!("; attempt {} {}{said}", attempt.attempt_no, attempt.attempt_id)
    });
    format!("node '{}' is {}{reason}{left}", state.node_id, state.status)
}

#[cfg(test)]
mod tests;
