//! The last commit of a start: invocation finished, lock turned into its tombstone (SCH-10, SCH-11, REC-17).

use super::failure::Failure;
use super::ledger::Ledger;
use super::{Finish, Trouble};
use crate::flownet::lease::{Change, Lease};
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
        trouble: Vec::new(),
    }
}

/// Releases after a failure that came before an invocation was recorded (ENS-04).
///
/// The failure stays the news; a failed release is a further line of it.
pub fn release_failed(lease: Lease, mut changes: Vec<Change>, failure: Failure) -> Failure {
    match lease.release(&mut changes, AttemptStatus::Failed, "ENSURE_RUN_FAILED") {
        Ok(()) => failure,
        Err(e) => failure.detail(format!("the network lock could not be released: {e}")),
    }
}

/// Finishes the invocation and releases the lock in one commit, with whatever else the ledger holds.
pub fn close(
    lease: Lease,
    ledger: &mut Ledger,
    invocation_id: &str,
    ending: Ending,
    now: Timestamp,
) -> Result<(), Failure> {
    if let Some(invocation) = ledger.edit_invocation(invocation_id) {
        invocation.status = ending.status;
        ending.code.clone_into(&mut invocation.result_code);
        invocation.finished_at = now.iso_ms();
    }
    let mut changes = ledger.last_changes()?;
    Ok(lease.release(&mut changes, ending.status, ending.code)?)
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
            (bad || job_key.is_some()).then(|| Trouble {
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
