//! Attempts that an earlier invocation left RUNNING: the JOB log decides, and proof that nothing runs (ORP, D-02, D-10).

use super::context::Context;
use super::failure::Failure;
use super::job_log;
use super::ledger::Ledger;
use super::repair::not_started;
use crate::flownet::child::process_table::ProcessTable;
use crate::flownet::lease::reclaim;
use crate::flownet::record::status::AttemptStatus;
use crate::flownet::record::{Attempt, NodeState};
use crate::flownet::rule::classify::{
    JobLog, JobRecord, NO_EXECUTION_RESULT, ORPHAN_TEXT, Orphan, PREPARE_FAILED, RecordedEnd, SEVERAL_TEXT,
    orphan,
};
use crate::flownet::time::Timestamp;

/// Settles every orphan in the ledger; returns one `<attempt>=<STATUS>(<code>)` clause each.
///
/// All evidence is read before anything is changed; a failing read changes nothing (ORP-03).
pub fn adjudicate(
    ctx: &Context,
    ledger: &mut Ledger,
    orphans: &[String],
    log_is_runners: bool,
) -> Result<Vec<String>, Failure> {
    let mut evidence = Vec::new();
    for attempt_id in orphans {
        let log = job_log::look_up(ctx, attempt_id, None).map_err(|e| {
            Failure::new(
                "REMOTE_ERROR",
                format!("the JOB log of orphan attempt {attempt_id}: {e}"),
            )
        })?;
        evidence.push(log);
    }
    let now = ctx.clock.now();
    let mut clauses = Vec::new();
    for (attempt_id, log) in orphans.iter().zip(evidence) {
        let Some(attempt) = ledger.attempt(attempt_id).cloned() else {
            continue;
        };
        let end = decide(ctx, &attempt, &log, log_is_runners)?;
        let settled = settled_attempt(&attempt, end, &log, now);
        clauses.push(format!(
            "{attempt_id}={}({})",
            settled.status, settled.result_code
        ));
        let active = ledger
            .edit_node(&attempt.node_id)
            .filter(|n| n.active_attempt_id == *attempt_id);
        if let Some(state) = active {
            settle_node(state, &settled, now);
        }
        if let Some(entry) = ledger.edit_attempt(attempt_id) {
            *entry = settled;
        }
    }
    Ok(clauses)
}

/// What became of the attempt.
///
/// Without a JOB log record it never ran a statement if nothing of it is alive: the runner makes that record, with its
/// start mark, before the first one. That needs the log app of the runner and the owner file of this machine.
fn decide(
    ctx: &Context,
    attempt: &Attempt,
    log: &JobLog,
    log_is_runners: bool,
) -> Result<RecordedEnd, Failure> {
    let unknown = RecordedEnd {
        status: AttemptStatus::Unknown,
        result_code: NO_EXECUTION_RESULT,
    };
    let not_started = RecordedEnd {
        status: AttemptStatus::Cancelled,
        result_code: PREPARE_FAILED,
    };
    let started = !attempt.execution_started_at.is_empty();
    match orphan(started, log) {
        Orphan::Ended(end) => Ok(end),
        Orphan::NeverStarted if log_is_runners => Ok(not_started),
        Orphan::Unknown if log_is_runners && *log == JobLog::Absent => {
            let table = ProcessTable::default();
            let over = reclaim::nothing_runs(
                &ctx.owner_dir(),
                &table,
                &attempt.invocation_id,
                &attempt.attempt_id,
            );
            Ok(if over { not_started } else { unknown })
        }
        Orphan::NeverStarted | Orphan::Unknown => Ok(unknown),
        Orphan::Undecided => Err(Failure::new(
            "REMOTE_ERROR",
            format!(
                "the JOB log of orphan attempt {} gave no answer",
                attempt.attempt_id
            ),
        )),
    }
}

fn settled_attempt(attempt: &Attempt, end: RecordedEnd, log: &JobLog, now: Timestamp) -> Attempt {
    let mut settled = attempt.clone();
    settled.status = end.status;
    end.result_code.clone_into(&mut settled.result_code);
    settled.finished_at = now.iso_ms();
    if let JobLog::Found(JobRecord {
        runner_execution_started_at,
        execution_id,
        finished_at,
        ..
    }) = log
    {
        if let Some(at) = finished_at {
            settled.finished_at.clone_from(at);
        }
        if let Some(id) = execution_id
            && settled.execution_id.is_empty()
        {
            settled.execution_id.clone_from(id);
        }
        if let Some(mark) = runner_execution_started_at
            && settled.runner_execution_started_at.is_empty()
        {
            settled.runner_execution_started_at.clone_from(mark);
        }
    }
    if settled.status == AttemptStatus::Unknown {
        let text = match log {
            JobLog::Several => SEVERAL_TEXT,
            _ => ORPHAN_TEXT,
        };
        text.clone_into(&mut settled.error_message);
    }
    settled
}

fn settle_node(state: &mut NodeState, settled: &Attempt, now: Timestamp) {
    state.active_attempt_id = String::new();
    state.updated_at = now.iso_ms();
    if settled.status == AttemptStatus::Cancelled && settled.result_code == PREPARE_FAILED {
        not_started(state);
        return;
    }
    state.status = settled.status.as_node();
    state.status_reason.clone_from(&settled.result_code);
    state.finished_at.clone_from(&settled.finished_at);
}
