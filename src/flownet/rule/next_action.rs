//! Why a Run does not move, and what leads on: a function of values, for `status` and everything that shows it.
//!
//! A Run that stands still is not simply "paused". It runs, waits for something that ends by itself, is held by a person,
//! needs a decision, has failed, was cancelled or is archived; each has its own ways on, and every way that is named here
//! as allowed is one that its command takes in this very state.

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
}

/// What a Run is in, as an operator sees it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Situation {
    /// Somebody is at work on it.
    Running,
    /// Something that ends by itself is in the way, or the next start carries it on.
    Waiting,
    /// A person holds it.
    Held,
    /// Only a person can say how it goes on.
    Decision,
    /// A node failed.
    Failed,
    /// A node was cancelled.
    Cancelled,
    /// Closed for good.
    Archived,
    /// Everything succeeded.
    Done,
}

impl Situation {
    /// The text of `status --json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Running => "RUNNING",
            Self::Waiting => "WAITING",
            Self::Held => "HELD",
            Self::Decision => "DECISION",
            Self::Failed => "FAILED",
            Self::Cancelled => "CANCELLED",
            Self::Archived => "ARCHIVED",
            Self::Done => "DONE",
        }
    }
}

/// What kind of thing a Run waits for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaitKind {
    /// The end of a node that is running.
    Node,
    /// The release of a hold.
    Hold,
    /// The Network lock.
    Lock,
    /// A person's decision.
    Person,
    /// The next start.
    Schedule,
}

impl WaitKind {
    /// The text of `status --json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Node => "node",
            Self::Hold => "hold",
            Self::Lock => "lock",
            Self::Person => "person",
            Self::Schedule => "schedule",
        }
    }
}

/// What a Run waits for.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct WaitingOn {
    /// What kind of thing.
    pub kind: WaitKind,
    /// The pending node, where one is known.
    pub node_id: Option<String>,
    /// Since when, as stored.
    pub since: String,
    /// When that ends by itself, as stored.
    pub until: Option<String>,
    /// Who is in the way, or at work.
    pub by: Option<String>,
    /// Why, with its evidence.
    pub reason: String,
}

/// A way on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Action {
    /// `run-network --resume-run`.
    Resume,
    /// `run-network --rerun-from` of a node.
    RerunFrom(String),
    /// `cancel-run`.
    Hold,
    /// `cancel-run --release`.
    Release,
    /// `resolve-node`.
    Resolve {
        /// Node.
        node_id: String,
        /// What a person may find.
        to: Outcome,
        /// Another person has to approve.
        approver: bool,
    },
    /// `archive-run`.
    Archive,
    /// `archive-run --abandon`.
    Abandon,
    /// `force-unlock-network` of an owner.
    ForceUnlock(String),
    /// `run-network` with another business key.
    NewKey,
    /// `status` of this Run alone.
    Look,
    /// Nothing: it ends by itself.
    Wait,
}

/// What a way does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// The Run goes on with its next node.
    GoesOn,
    /// What the last process left open is settled first, then the Run goes on.
    SettlesAndGoesOn,
    /// Failed nodes are tried again.
    TriesAgain,
    /// The status of the Run is computed anew from its nodes.
    Recomputes,
    /// The node and everything behind it run again, the retry brake notwithstanding.
    RunsAgain,
    /// The next node is not started; what is running ends first.
    StopsBeforeNextNode,
    /// Scheduled starts leave the Run alone.
    StopsStarts,
    /// The hold ends; nothing is started.
    EndsHold,
    /// The node counts as done; nodes behind it run with the next start.
    CountsAsDone,
    /// The node runs again with the next start.
    NodeRunsAgain,
    /// The node stays failed, nodes behind it stay blocked; then the Run can be archived.
    NodeStaysFailed,
    /// The Run is closed and frees its place among `max_active_runs`; its business key stays taken.
    Closes,
    /// The lock is free; the next start settles what its owner left.
    FreesLock,
    /// The work of this business key is done again in a Run of its own.
    NewRun,
    /// Shows its nodes and what leads on.
    Shows,
    /// Ends by itself.
    EndsByItself,
}

/// Who may do it. The product knows no roles: the first line files requests in the app, the second line has the server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Who {
    /// Everybody who may file a request, and the second line.
    FirstLine,
    /// Operators with access to the execution server.
    SecondLine,
    /// The second line, with the approval of another person.
    SecondLineAndApprover,
    /// Nobody has to do anything.
    Nobody,
}

impl Who {
    /// The text of `status --json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::FirstLine => "FIRST_LINE",
            Self::SecondLine => "SECOND_LINE",
            Self::SecondLineAndApprover => "SECOND_LINE_AND_APPROVER",
            Self::Nobody => "NOBODY",
        }
    }
}

/// A way on, with what it takes and what it does.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NextAction {
    /// What to do.
    pub action: Action,
    /// Its command takes it in this state.
    pub allowed: bool,
    /// Who may do it.
    pub who: Who,
    /// What is missing for it.
    pub needs: Vec<&'static str>,
    /// What it does.
    pub effect: Effect,
}

/// Where a Run stands and what leads on.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Advice {
    /// What it is in.
    pub situation: Situation,
    /// What it waits for; nothing when it is over.
    pub waiting_on: Option<WaitingOn>,
    /// Ways on, the best first.
    pub actions: Vec<NextAction>,
}

const DECISION_TEXTS: [&str; 4] = [
    "reason_file",
    "evidence_ref",
    "stop_confirmed_by",
    "stop_evidence_ref",
];

impl Action {
    /// The text of `status --json`.
    pub const fn as_str(&self) -> &'static str {
        match self {
            Self::Resume => "RESUME",
            Self::RerunFrom(_) => "RERUN_FROM",
            Self::Hold => "HOLD",
            Self::Release => "RELEASE",
            Self::Resolve { .. } => "RESOLVE_NODE",
            Self::Archive => "ARCHIVE",
            Self::Abandon => "ABANDON",
            Self::ForceUnlock(_) => "FORCE_UNLOCK",
            Self::NewKey => "NEW_KEY",
            Self::Look => "LOOK",
            Self::Wait => "WAIT",
        }
    }

    fn who(&self) -> Who {
        match self {
            Self::Resume | Self::RerunFrom(_) | Self::Hold | Self::Release | Self::Archive | Self::NewKey => {
                Who::FirstLine
            }
            Self::Resolve { approver: true, .. } => Who::SecondLineAndApprover,
            Self::Resolve { .. } | Self::Abandon | Self::ForceUnlock(_) => Who::SecondLine,
            Self::Look => Who::FirstLine,
            Self::Wait => Who::Nobody,
        }
    }

    fn inputs(&self) -> Vec<&'static str> {
        let with = |more: &[&'static str]| [&DECISION_TEXTS[..], more].concat();
        match self {
            Self::Resume | Self::RerunFrom(_) => vec!["network"],
            Self::Hold | Self::Release => vec!["reason_file"],
            Self::Resolve { approver: true, .. } => with(&["approved_by"]),
            Self::Resolve { .. } => with(&[]),
            Self::Archive => vec!["network", "reason_file"],
            Self::Abandon => vec!["network", "reason_file", "evidence_ref", "stop_confirmed_by"],
            Self::ForceUnlock(_) => with(&["stop_method"]),
            Self::NewKey => vec!["network", "correction_key"],
            Self::Look | Self::Wait => Vec::new(),
        }
    }

    /// The way, open.
    fn does(self, effect: Effect) -> NextAction {
        NextAction {
            allowed: true,
            who: self.who(),
            needs: self.inputs(),
            effect,
            action: self,
        }
    }

    /// The way, closed until `need` is there.
    fn after(self, need: &'static str, effect: Effect) -> NextAction {
        let mut next = self.does(effect);
        next.allowed = false;
        next.needs.push(need);
        next
    }
}

/// Tells where a Run stands.
pub fn advise(case: &Case<'_>) -> Advice {
    if case.run.lifecycle == Lifecycle::Archived {
        let again = case.run.status != RunStatus::Success;
        let actions = again.then(|| Action::NewKey.does(Effect::NewRun));
        return over(Situation::Archived, actions.into_iter().collect());
    }
    if case.run.status == RunStatus::Success {
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
            Action::ForceUnlock(lock.owner_invocation_id.clone()).does(Effect::FreesLock),
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
            format!("the records contradict each other: {}", list.join("; ")),
            vec![Action::Abandon.does(Effect::Closes)],
        );
    }
    if !case.run.resume_allowed {
        let reason = "resume_allowed of the Run is false".to_owned();
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
    Advice {
        situation: Situation::Waiting,
        waiting_on: Some(WaitingOn {
            kind: WaitKind::Schedule,
            node_id: pending(case),
            since: case.run.updated_at.clone(),
            until: None,
            by: None,
            reason,
        }),
        actions,
    }
}

/// A Run of which a node failed or was cancelled.
fn ended(case: &Case<'_>, detail: &Detail<'_>, situation: Situation) -> Advice {
    let ended = |s: &&NodeState| matches!(s.status, NodeStatus::Failed | NodeStatus::Cancelled);
    let roots: Vec<&NodeState> = detail.states.iter().rev().filter(ended).collect();
    let brakes: Vec<&&NodeState> = roots
        .iter()
        .filter(|s| s.idempotent && is_braked(detail, s))
        .collect();
    let again = roots.iter().any(|s| s.idempotent && !is_braked(detail, s));
    let waits = detail.states.iter().any(|s| s.status == NodeStatus::Waiting);
    let repairs = !detail.found.repairs.is_empty();
    let mut actions = Vec::new();
    if again || waits || repairs {
        let effect = if again {
            Effect::TriesAgain
        } else {
            Effect::SettlesAndGoesOn
        };
        actions.push(Action::Resume.does(effect));
    }
    let lost = detail.states.iter().any(cannot_run_again);
    for state in &brakes {
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
    let root = roots.first();
    Advice {
        situation,
        waiting_on: Some(WaitingOn {
            kind: if again {
                WaitKind::Schedule
            } else {
                WaitKind::Person
            },
            node_id: root.map(|s| s.node_id.clone()),
            since: root.map_or_else(|| case.run.updated_at.clone(), |s| s.updated_at.clone()),
            until: None,
            by: None,
            reason: root.map_or_else(String::new, |s| evidence(detail, s)),
        }),
        actions,
    }
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
            said => format!(": {said}"),
        };
        format!("; attempt {} {}{said}", attempt.attempt_no, attempt.attempt_id)
    });
    format!("node '{}' is {}{reason}{left}", state.node_id, state.status)
}

#[cfg(test)]
mod tests;
