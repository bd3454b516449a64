//! The last commit of a start: invocation finished, lock turned into its tombstone (SCH-10, SCH-11, REC-17).

use super::context::Context;
use super::failure::Failure;
use super::ledger::Ledger;
use super::{Finish, Trouble};
use crate::flownet::key;
use crate::flownet::lease::{Change, Lease, Unreleased};
use crate::flownet::record::Run;
use crate::flownet::record::status::{AttemptStatus, NodeStatus, RunStatus};
use crate::flownet::rule::io_summary;
use crate::flownet::rule::next_action::job_lock;
use crate::flownet::rule::select::brake;
use crate::flownet::time::Timestamp;

/// How the invocation ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ending {
    /// Status of invocation and tombstone.
    pub status: AttemptStatus,
    /// Result code of both.
    pub code: &'static str,
}

/// The ending that an aggregate makes (SCH-10); `io_code` is the last refused path of this invocation.
pub fn ending(aggregate: RunStatus, io_code: Option<&'static str>) -> Ending {
    let (status, code) = match aggregate {
        RunStatus::Success => (AttemptStatus::Success, "OK"),
        RunStatus::Unknown => (AttemptStatus::Unknown, "NODE_RESULT_UNKNOWN"),
        RunStatus::Failed => (AttemptStatus::Failed, io_code.unwrap_or("NODE_FAILED_OR_BLOCKED")),
        RunStatus::Cancelled => (AttemptStatus::Cancelled, "NODE_CANCELLED"),
        RunStatus::Created | RunStatus::Running => (AttemptStatus::Cancelled, "NODES_DEFERRED"),
    };
    Ending { status, code }
}

/// A start that found nothing to do (OUT-01).
pub fn nothing_to_do(run: &Run) -> Finish {
    Finish {
        mode: None,
        run_id: run.run_id.clone(),
        invocation_id: None,
        aggregate: RunStatus::Success,
        code: "NOOP_ALREADY_SUCCESS",
        retry_brake_node_ids: Vec::new(),
        as_of: run.as_of.clone(),
        halted: false,
        trouble: Vec::new(),
    }
}

/// Releases after a failure that came before an invocation was recorded (ENS-04).
///
/// The failure stays the news; a failed release is a further line of it.
pub fn release_failed(lease: Lease, changes: Vec<Change>, failure: Failure) -> Failure {
    let ending = Ending {
        status: AttemptStatus::Failed,
        code: "ENSURE_RUN_FAILED",
    };
    release_refused(lease, changes, ending, failure)
}

/// Finishes the invocation and releases the lock in one commit, with whatever else the ledger holds.
///
/// A record that somebody edited or deleted meanwhile does not keep the lock. If it is our own invocation, everything else
/// is written all the same: it is proved by other records. Otherwise nothing is, and the invocation says so.
pub fn close(
    ctx: &Context,
    lease: Lease,
    ledger: &mut Ledger,
    invocation_id: &str,
    ending: Ending,
    now: Timestamp,
) -> Result<(), Failure> {
    end_invocation(ledger, invocation_id, ending, now);
    let (lease, failure) = match ledger.last_changes() {
        Ok(mut changes) => match lease.try_release(&mut changes, ending.status, ending.code) {
            Ok(()) => return Ok(()),
            Err(Unreleased { lease: None, error }) => return Err((*error).into()),
            Err(Unreleased {
                lease: Some(lease),
                error,
            }) => {
                let own = key::invocation_record_key(invocation_id)?;
                if error.is_about(&own) {
                    (ctx.warn)(format!(
                        "{error}; the Run is finished without this record of its start"
                    ));
                    ledger.invocations.retain(|i| i.get().record_key != own);
                    let mut changes = ledger.last_changes()?;
                    return Ok(lease.release(&mut changes, ending.status, ending.code)?);
                }
                (*lease, Failure::from(*error))
            }
        },
        Err(error) => (lease, error.into()),
    };
    ledger.discard();
    let failed = Ending {
        status: AttemptStatus::Failed,
        code: "SCHEDULER_FAILED",
    };
    end_invocation(ledger, invocation_id, failed, now);
    Err(match ledger.last_changes() {
        Ok(changes) => release_refused(lease, changes, failed, failure),
        Err(e) => release_refused(lease, Vec::new(), failed, failure.detail(e.to_string())),
    })
}

fn end_invocation(ledger: &mut Ledger, invocation_id: &str, ending: Ending, now: Timestamp) {
    if let Some(invocation) = ledger.edit_invocation(invocation_id) {
        invocation.status = ending.status;
        ending.code.clone_into(&mut invocation.result_code);
        invocation.finished_at = now.iso_ms();
    }
}

/// Releases with `changes`, and without them if they are refused as well; the failure stays the news.
fn release_refused(lease: Lease, mut changes: Vec<Change>, ending: Ending, failure: Failure) -> Failure {
    let (lease, error) = match lease.try_release(&mut changes, ending.status, ending.code) {
        Ok(()) => return failure,
        Err(Unreleased { lease, error }) => (lease, error),
    };
    let failure = failure.detail(format!("the invocation could not be closed: {error}"));
    match lease.map(|lease| lease.release(&mut [], ending.status, ending.code)) {
        None | Some(Ok(())) => failure,
        Some(Err(e)) => failure.detail(format!("the network lock could not be released: {e}")),
    }
}

/// Nodes that an operator has to look at: ended badly, or kept from being executed by the lock of their job. `said` is what
/// the runner said now, by node.
pub fn trouble(ledger: &Ledger, said: &[(String, String)]) -> Vec<Trouble> {
    let profile = ledger.run.get().profile();
    let nodes = ledger.nodes.iter().map(super::ledger::Entry::get);
    nodes
        .filter_map(|node| {
            let attempts = ledger.attempts.iter().map(super::ledger::Entry::get);
            let own = attempts.filter(|a| a.node_id == node.node_id);
            let latest = own.clone().rfind(|a| a.attempt_no == node.latest_attempt_no);
            let now = said.iter().find(|(node_id, _)| *node_id == node.node_id);
            let waits = node.status == NodeStatus::Waiting;
            let job_key = latest
                .filter(|attempt| waits && job_lock::met(attempt, &profile))
                .map(|attempt| job_lock::key(&profile, &attempt.job_id));
            let bad = matches!(
                node.status,
                NodeStatus::Failed | NodeStatus::Unknown | NodeStatus::Cancelled
            );
            (bad || job_key.is_some() || (waits && now.is_some())).then(|| Trouble {
                node_id: node.node_id.clone(),
                status: node.status.as_str(),
                reason: node.status_reason.clone(),
                again: node.idempotent,
                braked: brake(&node.node_id, own).is_some(),
                told: now.is_some(),
                detail: match (now, latest) {
                    (Some((_, text)), _) => text.clone(),
                    (None, Some(a)) => {
                        io_summary::in_words(&a.error_message).unwrap_or_else(|| a.error_message.clone())
                    }
                    (None, None) => String::new(),
                },
                job_key,
            })
        })
        .collect()
}
