//! resolve-node: a person says what really became of a node whose result nobody else can know (OPR-09 to OPR-15).
//!
//! Resolution, Node State and the Run's status are one request, so that the Run is right at once. The Run is always part
//! of it: two people who resolve two nodes at the same moment would otherwise both leave the status to the other one.

use super::desk::{Desk, Stop, rounds};
use super::{is_blank, trimmed};
use crate::flownet::key;
use crate::flownet::lease::store;
use crate::flownet::record::resolution::NewResolution;
use crate::flownet::record::status::{NodeStatus, Outcome, RunStatus};
use crate::flownet::record::{Attempt, Lock, NodeState, Resolution, Run};
use crate::flownet::rule::aggregate::aggregate;
use crate::flownet::rule::last_word::{LastWord, last_word};
use crate::flownet::rule::next_action::{Action, Case, Detail, NextAction, advise};
use crate::flownet::rule::operator::{may_resolve, needs_approver};
use crate::flownet::rule::reconcile::{Examination, Repair};
use crate::flownet::rule::transition::Permit;
use crate::flownet::run::gather::{self, Gathered};
use crate::flownet::run::ledger::{Entry, Ledger};
use crate::flownet::run::{Failure, repair, stored};
use crate::flownet::time::Timestamp;
use crate::kintone::query;

/// How the outcome was reached.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// It was looked up.
    OutcomeConfirmed,
    /// The work was finished by hand.
    ManualCompletion,
    /// The effects were undone by hand.
    Compensation,
}

impl Kind {
    /// The text in the records.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OutcomeConfirmed => "OUTCOME_CONFIRMED",
            Self::ManualCompletion => "NODE_MANUAL_COMPLETION_CONFIRMED",
            Self::Compensation => "NODE_COMPENSATION_COMPLETED",
        }
    }
}

/// A resolve-node command.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// Run.
    pub run_id: &'a str,
    /// Node.
    pub node_id: &'a str,
    /// What really happened.
    pub to: Outcome,
    /// How that came about.
    pub kind: Kind,
    /// Why.
    pub reason: &'a str,
    /// Incident or ticket.
    pub evidence_ref: &'a str,
    /// Who confirmed that nothing runs any more.
    pub stop_confirmed_by: &'a str,
    /// Evidence of that.
    pub stop_evidence_ref: &'a str,
    /// Another person who approved; may be empty.
    pub approved_by: &'a str,
    /// Record key of the Resolution that was wrong.
    pub replaces: Option<&'a str>,
}

/// A resolved node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolved {
    /// Run.
    pub run_id: String,
    /// Node.
    pub node_id: String,
    /// Its status now.
    pub status: NodeStatus,
    /// Its revision now.
    pub revision: u64,
    /// Status of the Run now.
    pub run_status: RunStatus,
    /// Record key of the Resolution that says so.
    pub resolution_key: String,
    /// Who made that Resolution, and when.
    pub by: String,
    /// See `by`.
    pub at: String,
    /// False when it had been resolved so before.
    pub written: bool,
    /// Network of the Run.
    pub network_id: String,
    /// Profile of the Run.
    pub profile: String,
    /// The next start with --resume finds something to do.
    pub goes_on: bool,
}

/// What has to be done about the stored node.
#[derive(Clone, PartialEq, Eq, Debug)]
enum Decision<'a> {
    /// This Resolution says the same and is in the node.
    Nothing(&'a Resolution),
    /// The node takes the outcome; the Resolution exists when only the node does not know it yet.
    Write(&'a str, Option<&'a Resolution>),
}

/// Carries the command out.
pub fn run(desk: &Desk, request: &Request<'_>) -> Result<Resolved, Failure> {
    let request = &Request {
        run_id: trimmed(request.run_id),
        node_id: trimmed(request.node_id),
        reason: trimmed(request.reason),
        evidence_ref: trimmed(request.evidence_ref),
        stop_confirmed_by: trimmed(request.stop_confirmed_by),
        stop_evidence_ref: trimmed(request.stop_evidence_ref),
        approved_by: trimmed(request.approved_by),
        replaces: request.replaces.map(trimmed),
        ..*request
    };
    let people = People {
        requested_by: trimmed(&desk.requested_by),
        service_principal: trimmed(&desk.service_principal),
    };
    check_request(request, &people)?;
    rounds(|| round(desk, request, &people))
}

/// Who is asking.
struct People<'a> {
    requested_by: &'a str,
    service_principal: &'a str,
}

/// Rows 1 to 4 of OPR-10: what needs no record.
fn check_request(request: &Request<'_>, people: &People<'_>) -> Result<(), Failure> {
    let blank: Vec<&str> = [
        ("runId", request.run_id),
        ("nodeId", request.node_id),
        ("reason", request.reason),
        ("evidenceRef", request.evidence_ref),
        ("servicePrincipal", people.service_principal),
        ("requestedBy", people.requested_by),
        ("stopConfirmedBy", request.stop_confirmed_by),
        ("stopEvidenceRef", request.stop_evidence_ref),
    ]
    .into_iter()
    .filter(|(_, text)| is_blank(text))
    .map(|(name, _)| name)
    .collect();
    if !blank.is_empty() {
        let text = format!("must not be blank: {}", blank.join(", "));
        return Err(Failure::new("AUDIT_INPUT_REQUIRED", text));
    }
    let (code, text) = match (request.kind, request.to) {
        (Kind::Compensation, Outcome::Success) => (
            "COMPENSATION_CANNOT_SUCCEED",
            "a node whose effects were undone cannot be SUCCESS",
        ),
        (Kind::OutcomeConfirmed, Outcome::Success) => (
            "MANUAL_COMPLETION_REQUIRED",
            "SUCCESS needs --manual-completion: somebody must have checked that the work is complete",
        ),
        (Kind::ManualCompletion, Outcome::Failed | Outcome::Cancelled) => (
            "MANUAL_COMPLETION_REQUIRES_SUCCESS",
            "--manual-completion goes with --to SUCCESS only",
        ),
        _ => return Ok(()),
    };
    Err(Failure::new(code, text))
}

fn round(desk: &Desk, request: &Request<'_>, people: &People<'_>) -> Result<Resolved, Stop> {
    let mut all = gather::read(&desk.client, &desk.state, &desk.audit, request.run_id)?;
    if let Some(error) = all.damaged.pop() {
        return Err(Failure::from(error).fact("run_id", request.run_id).into());
    }
    let Some(run) = all.run.take() else {
        let text = format!("there is no Run {}", request.run_id);
        return Err(Failure::new("RECORD_NOT_FOUND", text).into());
    };
    let about = |failure: Failure| {
        failure
            .fact("network_id", &run.network_id)
            .fact("profile", run.profile())
    };
    // An edited `idempotent` would do away with the second person.
    for state in all.states.iter().filter(|s| s.node_id == request.node_id) {
        stored::refuse_edited_state(&desk.client, &desk.state, &run, state).map_err(about)?;
    }
    let (state, decision) = decide(request, people, &all).map_err(about)?;
    let resolved = |resolution_key: &str, by: &str, at: &str, written: bool, status: RunStatus| Resolved {
        run_id: run.run_id.clone(),
        node_id: state.node_id.clone(),
        status: request.to.as_node(),
        revision: state.revision + u64::from(written),
        run_status: status,
        resolution_key: resolution_key.to_owned(),
        by: by.to_owned(),
        at: at.to_owned(),
        written,
        network_id: run.network_id.clone(),
        profile: run.profile(),
        goes_on: goes_on(
            &run,
            &all,
            (&state.node_id, request.to.as_node()),
            status,
            desk.clock.now(),
        ),
    };
    let (attempt_id, known) = match decision {
        Decision::Nothing(known) => {
            let (by, at) = (&known.requested_by, &known.resolved_at);
            return Ok(resolved(&known.record_key, by, at, false, run.status));
        }
        Decision::Write(attempt_id, known) => (attempt_id, known),
    };
    refuse_live(desk, &run, &all)?;
    let now = desk.clock.now();
    let mut ledger = Ledger::of(run.clone());
    ledger.nodes.push(Entry::read(state.clone()));
    let said = if let Some(known) = known {
        let step = Repair::ApplyResolution {
            node_id: state.node_id.clone(),
            attempt_id: attempt_id.to_owned(),
            outcome: known.outcome,
        };
        repair::apply(&mut ledger, &step, now)?;
        (
            known.record_key.clone(),
            known.requested_by.clone(),
            known.resolved_at.clone(),
        )
    } else {
        let new = new_resolution(request, people, &run, attempt_id, now);
        ledger.operations.push(new.to_fields());
        let permit = match request.replaces {
            Some(_) => Permit::Correction,
            None => Permit::Resolution,
        };
        ledger.permit(&state.node_id, permit);
        if let Some(node) = ledger.edit_node(&state.node_id) {
            settle(node, request, now);
        }
        (new.record_key(), people.requested_by.to_owned(), now.iso_ms())
    };
    // The first audit record is the one that says so: nothing else of this request can be there without it.
    let witness = ledger
        .operations
        .first()
        .and_then(|fields| fields.get("record_key"));
    let witness = witness
        .and_then(serde_json::Value::as_str)
        .unwrap_or_default()
        .to_owned();
    let status = recompute(&mut ledger, &all, now)?;
    desk.write(&ledger.last_changes()?, &witness)?;
    Ok(resolved(&said.0, &said.1, &said.2, true, status))
}

/// Does a start go on with the Run once the node has its status and the Run that one?
fn goes_on(run: &Run, all: &Gathered, node: (&str, NodeStatus), status: RunStatus, now: Timestamp) -> bool {
    let mut run = run.clone();
    run.status = status;
    let mut states: Vec<NodeState> = all.states.iter().rev().cloned().collect();
    for state in states.iter_mut().filter(|s| s.node_id == node.0) {
        state.status = node.1;
    }
    let attempts: Vec<Attempt> = all.attempts.iter().rev().cloned().collect();
    let advice = advise(&Case {
        run: &run,
        hold: all.hold.as_ref(),
        lock: None,
        own_lock: false,
        copied: None,
        detail: Some(Detail {
            states: &states,
            attempts: &attempts,
            found: &Examination::default(),
            refused: None,
            unlocked: &all.unlocked,
        }),
        now,
    });
    let resumes = |next: &NextAction| next.allowed && next.action == Action::Resume;
    advice.actions.iter().any(resumes)
}

/// Rows 6 to 10 of OPR-10, and what was resolved before (OPR-15).
fn decide<'a>(
    request: &Request<'_>,
    people: &People<'_>,
    all: &'a Gathered,
) -> Result<(&'a NodeState, Decision<'a>), Failure> {
    let node = request.node_id;
    let states: Vec<&NodeState> = all.states.iter().filter(|s| s.node_id == node).collect();
    let [state] = states[..] else {
        return Err(Failure::new(
            "NODE_STATE_NOT_UNIQUE",
            format!("the Run has {} states of node '{node}'", states.len()),
        ));
    };
    let attempts: Vec<&Attempt> = all
        .attempts
        .iter()
        .filter(|a| a.node_id == node && a.attempt_no == state.latest_attempt_no)
        .collect();
    if let [attempt] = attempts[..]
        && let Some(decision) = earlier(request, people, state, attempt, &all.resolutions)?
    {
        return Ok((state, decision));
    }
    if let Some(key) = request.replaces {
        return Err(Failure::new(
            "RESOLUTION_NOT_FOUND",
            format!("the current attempt of node '{node}' has no Resolution {key} that could be replaced"),
        ));
    }
    if !may_resolve(state) {
        return Err(Failure::new(
            "NODE_NOT_RESOLVABLE",
            format!(
                "node '{node}' is {}{}",
                state.status,
                if state.idempotent { " and idempotent" } else { "" }
            ),
        ));
    }
    if needs_approver(state, request.to) {
        refuse_without_approver(request, people, &format!("node '{node}' is not idempotent"))?;
    }
    let [attempt] = attempts[..] else {
        return Err(Failure::new(
            "CURRENT_ATTEMPT_NOT_UNIQUE",
            format!(
                "node '{node}' has {} attempts of number {}",
                attempts.len(),
                state.latest_attempt_no
            ),
        ));
    };
    if attempt.status.as_node() != state.status {
        return Err(Failure::new(
            "STATE_ATTEMPT_MISMATCH",
            format!(
                "node '{node}' is {}, its attempt {} is {}",
                state.status, attempt.attempt_id, attempt.status
            ),
        ));
    }
    Ok((state, Decision::Write(&attempt.attempt_id, None)))
}

/// The two-person rule: the approver is neither the requester nor the account that runs the command, in whatever case
/// somebody types the name.
fn refuse_without_approver(request: &Request<'_>, people: &People<'_>, why: &str) -> Result<(), Failure> {
    let approver = request.approved_by.to_lowercase();
    let is = |name: &str| approver == name.to_lowercase();
    if !is("") && !is(people.requested_by) && !is(people.service_principal) {
        return Ok(());
    }
    Err(Failure::new(
        "DISTINCT_APPROVER_REQUIRED",
        format!(
            "{why}: --approved-by must name a person other than {} and {}",
            people.requested_by, people.service_principal
        ),
    ))
}

/// The answer when this attempt was resolved before and its node was not reset since.
fn earlier<'a>(
    request: &Request<'_>,
    people: &People<'_>,
    state: &NodeState,
    attempt: &'a Attempt,
    resolutions: &'a [Resolution],
) -> Result<Option<Decision<'a>>, Failure> {
    if state.status == NodeStatus::Waiting {
        return Ok(None);
    }
    let (known, agreed) = match last_word(resolutions, &attempt.attempt_id) {
        LastWord::None => return Ok(None),
        LastWord::One(known) => (known, true),
        LastWord::Conflict(known) => (known, false),
    };
    if agreed && known.outcome == request.to {
        return Ok(Some(if state.status == known.outcome.as_node() {
            Decision::Nothing(known)
        } else {
            Decision::Write(&attempt.attempt_id, Some(known))
        }));
    }
    if request.replaces != Some(known.record_key.as_str()) {
        let mut failure = Failure::new(
            "RESOLUTION_EXISTS",
            format!(
                "node '{}' was resolved to {} by {} at {} ({})",
                state.node_id, known.outcome, known.requested_by, known.resolved_at, known.record_key
            ),
        )
        .fact("resolution_key", &known.record_key)
        .fact("node_id", &state.node_id);
        // A Resolution is corrected only while nothing can have been built on it.
        if state.status == NodeStatus::Success {
            failure.extra.explained_by = Some("RESOLUTION_IN_USE");
        }
        return Err(failure);
    }
    if state.status == NodeStatus::Success {
        return Err(Failure::new(
            "NODE_NOT_RESOLVABLE",
            format!(
                "node '{}' counts as done; nodes behind it may have run since",
                state.node_id
            ),
        ));
    }
    refuse_without_approver(request, people, "another Resolution is replaced")?;
    Ok(Some(Decision::Write(&attempt.attempt_id, None)))
}

/// Nobody may be at work on the Run: its next commit would meet a node that it did not change (BTR-25).
fn refuse_live(desk: &Desk, run: &Run, all: &Gathered) -> Result<(), Stop> {
    let lock_key = key::lock_key(&run.profile(), &run.network_id)?;
    let held_key = key::held_lock_record_key(&lock_key)?;
    let found = store::network_lock(&desk.client, &desk.state, &held_key, &lock_key)?;
    let Some(lock) = found.into_iter().next() else {
        return Ok(());
    };
    if lock.is_stale_candidate(desk.clock.now()) {
        return Ok(());
    }
    let ours = |id: &str| all.invocations.iter().any(|i| i.invocation_id == id);
    if !ours(&lock.owner_invocation_id) && is_of_another_run(desk, run, &lock)? {
        return Ok(());
    }
    Err(Failure::new(
        "RUN_LIVE",
        format!(
            "{} holds the network lock until {}; wait until it has ended",
            lock.owner_invocation_id, lock.lease_expires_at
        ),
    )
    .fact("network_id", &run.network_id)
    .fact("profile", run.profile())
    .into())
}

/// An owner without an invocation has not come to its Run yet, which may be this one.
fn is_of_another_run(desk: &Desk, run: &Run, lock: &Lock) -> Result<bool, Failure> {
    let Ok(record_key) = key::invocation_record_key(&lock.owner_invocation_id) else {
        return Ok(false);
    };
    let page = desk.client.records(
        &desk.audit,
        &query::one_of("record_key", &[&record_key]),
        &[],
        false,
    )?;
    Ok(page
        .records
        .iter()
        .any(|r| r.text("record_key") == record_key && r.text("run_id") != run.run_id))
}

fn new_resolution<'a>(
    request: &Request<'a>,
    people: &People<'a>,
    run: &'a Run,
    attempt_id: &'a str,
    now: Timestamp,
) -> NewResolution<'a> {
    NewResolution {
        run_id: &run.run_id,
        node_id: request.node_id,
        attempt_id,
        outcome: request.to,
        resolution_type: request.kind.as_str(),
        reason: request.reason,
        evidence_ref: request.evidence_ref,
        service_principal: people.service_principal,
        requested_by: people.requested_by,
        approved_by: request.approved_by,
        stop_confirmed_by: request.stop_confirmed_by,
        stop_evidence_ref: request.stop_evidence_ref,
        resolved_at: now,
        replaces: request.replaces,
    }
}

/// OPR-11: what the node becomes. The attempt itself never changes.
fn settle(state: &mut NodeState, request: &Request<'_>, now: Timestamp) {
    state.status = request.to.as_node();
    state.active_attempt_id = String::new();
    request.kind.as_str().clone_into(&mut state.status_reason);
    if state.finished_at.is_empty() {
        state.finished_at = now.iso_ms();
    }
    state.updated_at = now.iso_ms();
}

/// Writes the status that the nodes make into the Run, with the audit of reconciliation; touches the Run in any case.
fn recompute(ledger: &mut Ledger, all: &Gathered, now: Timestamp) -> Result<RunStatus, Failure> {
    let of_node = |state: &NodeState| ledger.node(&state.node_id).map_or(state.status, |n| n.status);
    let run = ledger.run.get();
    let status = aggregate(all.states.iter().map(of_node), !run.started_at.is_empty());
    if status == run.status {
        ledger.run.edit().updated_at = now.iso_ms();
    } else {
        repair::apply(ledger, &Repair::Aggregate(status), now)?;
    }
    Ok(status)
}
