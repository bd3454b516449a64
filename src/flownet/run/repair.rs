//! Carrying out the repairs that the records prove, each with its audit record (RCN-10, 13e, 14, BTR-13, ORP-08).

use super::failure::Failure;
use super::ledger::{Entry, Ledger};
use crate::flownet::clock::uuid;
use crate::flownet::key;
use crate::flownet::lease::Change;
use crate::flownet::ordered_json::Object;
use crate::flownet::record::operation::{Columns, Operation};
use crate::flownet::record::status::{AttemptStatus, NodeStatus};
use crate::flownet::record::{Invocation, NodeState, Run, invocation};
use crate::flownet::rule::classify::PREPARE_FAILED;
use crate::flownet::rule::reconcile::Repair;
use crate::flownet::rule::transition::Permit;
use crate::flownet::time::Timestamp;
use crate::kintone::{App, Client, query};

/// Repair type: a node takes the end of its attempt.
const ATTEMPT_APPLIED: &str = "TERMINAL_ATTEMPT_APPLIED";
/// Repair type: a node takes a person's word.
const RESOLUTION_APPLIED: &str = "ATTEMPT_RESOLUTION_APPLIED";

/// One audit record of a repair (REC-27).
struct Note<'a> {
    repair_type: &'static str,
    target_type: &'static str,
    target_id: &'a str,
    before: Object,
    after: Object,
    basis: String,
}

fn audit(ledger: &mut Ledger, note: Note<'_>, now: Timestamp) -> Result<(), Failure> {
    let event_id = uuid()?;
    let run_id = ledger.run.get().run_id.clone();
    let fields = Operation {
        record_key: key::operation_record_key(&event_id)?,
        run_id: &run_id,
        result_code: note.repair_type,
        at: now,
        columns: Columns::default(),
        event: Object::new()
            .with("event_id", event_id.as_str())
            .with("event_type", "RECONCILIATION_REPAIR")
            .with("repair_type", note.repair_type)
            .with("run_id", run_id.as_str())
            .with("target_type", note.target_type)
            .with("target_id", note.target_id)
            .with("before", note.before)
            .with("after", note.after)
            .with("basis", note.basis)
            .with("occurred_at", now.iso_ms()),
    }
    .to_fields();
    ledger.operations.push(fields);
    Ok(())
}

/// Changes a Node State and notes what it was and what it becomes.
fn repair_node(
    ledger: &mut Ledger,
    node_id: &str,
    repair_type: &'static str,
    basis: String,
    now: Timestamp,
    change: impl FnOnce(&mut NodeState),
) -> Result<(), Failure> {
    let names_attempt = repair_type == ATTEMPT_APPLIED;
    let facts = |state: &NodeState, revision: u64| {
        Object::new()
            .with("status", state.status.as_str())
            .with_some(
                "active_attempt_id",
                names_attempt.then(|| state.active_attempt_id.clone()),
            )
            .with("revision", revision)
    };
    let Some(state) = ledger.edit_node(node_id) else {
        return Ok(());
    };
    let before = facts(state, state.revision);
    change(state);
    state.updated_at = now.iso_ms();
    let after = facts(state, state.revision + 1);
    let target_id = &state.node_state_id.clone();
    let note = Note {
        repair_type,
        target_type: "NODE_STATE",
        target_id,
        before,
        after,
        basis,
    };
    audit(ledger, note, now)
}

fn run_facts(run: &Run, revision: u64) -> Object {
    Object::new()
        .with("status", run.status.as_str())
        .with("revision", revision)
}

fn invocation_facts(invocation: &Invocation, revision: u64) -> Object {
    Object::new()
        .with("status", invocation.status.as_str())
        .with("result_code", invocation.result_code.as_str())
        .with("revision", revision)
}

/// Applies one repair to the wanted values of the ledger.
pub fn apply(ledger: &mut Ledger, step: &Repair, now: Timestamp) -> Result<(), Failure> {
    match step {
        Repair::ApplyAttempt {
            node_id,
            attempt_id,
            to,
        } => apply_attempt(ledger, node_id, attempt_id, *to, now),
        Repair::ApplyResolution {
            node_id,
            attempt_id,
            outcome,
        } => {
            ledger.permit(node_id, Permit::Resolution);
            let basis = format!("Attempt Resolution of {attempt_id}");
            repair_node(ledger, node_id, RESOLUTION_APPLIED, basis, now, |state| {
                state.status = outcome.as_node();
                state.active_attempt_id = String::new();
                "reconciled from Attempt Resolution".clone_into(&mut state.status_reason);
            })
        }
        Repair::NeverStarted { node_id, attempt_id } => never_started(ledger, node_id, attempt_id, now),
        Repair::Aggregate(status) => {
            let run = ledger.run.edit();
            let before = run_facts(run, run.revision);
            *run = run.with_aggregate(*status, now);
            let after = run_facts(run, run.revision + 1);
            let id = run.run_id.clone();
            let basis = "Node States of the Run".to_owned();
            audit(
                ledger,
                Note {
                    repair_type: "RUN_AGGREGATE_RECOMPUTED",
                    target_type: "NETWORK_RUN",
                    target_id: &id,
                    before,
                    after,
                    basis,
                },
                now,
            )
        }
    }
}

fn apply_attempt(
    ledger: &mut Ledger,
    node_id: &str,
    attempt_id: &str,
    to: NodeStatus,
    now: Timestamp,
) -> Result<(), Failure> {
    let finished = ledger
        .attempt(attempt_id)
        .map(|a| a.finished_at.clone())
        .unwrap_or_default();
    let basis = format!("terminal Attempt {attempt_id}");
    repair_node(ledger, node_id, ATTEMPT_APPLIED, basis, now, |state| {
        let same = state.status == to;
        state.status = to;
        state.active_attempt_id = String::new();
        if to == NodeStatus::Waiting {
            not_started(state);
        } else if same {
            "reconciled terminal active attempt".clone_into(&mut state.status_reason);
        } else {
            "reconciled from terminal active attempt".clone_into(&mut state.status_reason);
            state.finished_at = finished;
        }
    })
}

/// A node whose attempt never began: it waits, with the number used up (row 2 and 6 of RUN-27).
pub fn not_started(state: &mut NodeState) {
    state.status = NodeStatus::Waiting;
    PREPARE_FAILED.clone_into(&mut state.status_reason);
    state.started_at = String::new();
    state.finished_at = String::new();
}

/// The attempt was inserted, its node never heard of it: both halves in one commit (BTR-13).
fn never_started(
    ledger: &mut Ledger,
    node_id: &str,
    attempt_id: &str,
    now: Timestamp,
) -> Result<(), Failure> {
    let Some(attempt) = ledger.edit_attempt(attempt_id) else {
        return Ok(());
    };
    let no = attempt.attempt_no;
    if attempt.status == AttemptStatus::Running {
        attempt.status = AttemptStatus::Cancelled;
        PREPARE_FAILED.clone_into(&mut attempt.result_code);
        attempt.finished_at = now.iso_ms();
    }
    let basis = format!("Attempt {attempt_id} was never started");
    repair_node(ledger, node_id, ATTEMPT_APPLIED, basis, now, |state| {
        state.latest_attempt_no = no;
        not_started(state);
    })
}

/// Changes that finish the invocations which an earlier owner left open on a Run that nobody goes on with, read as they are
/// now (BTR-47).
///
/// # Errors
/// kintone does not answer, or one of them cannot be read.
pub fn close_abandoned(
    client: &Client,
    audit_app: &App,
    run: &Run,
    own: &str,
    now: Timestamp,
) -> Result<Vec<Change>, Failure> {
    let mut ledger = Ledger::of(run.clone());
    for record in client.all_by_id(audit_app, &open_invocations_of(run), &[])? {
        if record.text("run_id") == run.run_id {
            ledger
                .invocations
                .push(Entry::read(Invocation::from_record(&record)?));
        }
    }
    finish_abandoned(&mut ledger, own, now)?;
    Ok(ledger.last_changes()?)
}

/// Invocations of a Run that have not ended.
pub fn open_invocations_of(run: &Run) -> String {
    query::and(&[
        query::one_of("record_type", &[invocation::RECORD_TYPE]),
        query::one_of("run_id", &[&run.run_id]),
        query::one_of("status", &[AttemptStatus::Running.as_str()]),
    ])
}

/// Invocations that ended without saying so, all but our own (ORP-08).
pub fn finish_abandoned(ledger: &mut Ledger, own: &str, now: Timestamp) -> Result<(), Failure> {
    let open: Vec<String> = ledger
        .invocations
        .iter()
        .map(Entry::get)
        .filter(|i| i.status == AttemptStatus::Running && i.invocation_id != own)
        .map(|i| i.invocation_id.clone())
        .collect();
    for id in open {
        let Some(left) = ledger.edit_invocation(&id) else {
            continue;
        };
        let before = invocation_facts(left, left.revision);
        left.status = AttemptStatus::Cancelled;
        "NETWORK_LEASE_INTERRUPTED".clone_into(&mut left.result_code);
        left.finished_at = now.iso_ms();
        left.add_reason("finalized as an abandoned invocation during reconciliation");
        let after = invocation_facts(left, left.revision + 1);
        let basis = "its network lease is over; this invocation holds the lock".to_owned();
        audit(
            ledger,
            Note {
                repair_type: "INVOCATION_FINALIZED",
                target_type: "RUN_INVOCATION",
                target_id: &id,
                before,
                after,
                basis,
            },
            now,
        )?;
    }
    Ok(())
}
