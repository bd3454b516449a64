//! A node that waits for the lock of its job (RNR-51): a RUNNING record in the JOB log that keeps every other execution of
//! the job away. One that was killed leaves it behind, until a person releases it or it counts as stale.

use super::{Action, Case, Detail, Effect, NextAction, WaitKind, WaitingOn, latest, states};
use crate::flownet::record::status::{AttemptStatus, NodeStatus};
use crate::flownet::record::{Attempt, NodeState};
use crate::flownet::rule::classify::{NOTHING_EXECUTED, PREPARE_FAILED};

/// The key of a job's lock (RNR-44).
pub fn key(profile: &str, job_id: &str) -> String {
    format!("{profile}:{job_id}")
}

/// Whether an attempt that was never executed met the lock of its job. Nodes with CSV files keep no text (RUN-28), so that
/// theirs may have when the runner got as far as a result.
pub fn met(attempt: &Attempt, profile: &str) -> bool {
    let said = attempt.error_message.trim();
    let kept_no_text = said.starts_with('{') && !attempt.execution_id.is_empty();
    attempt.status == AttemptStatus::Cancelled
        && attempt.result_code == PREPARE_FAILED
        && (kept_no_text || said.contains(&key(profile, &attempt.job_id)))
}

/// The first node whose last attempt was not executed, unless its job lock was put on record as gone since.
fn waiting<'a>(
    case: &'a Case<'_>,
    wanted: impl Fn(&Attempt) -> bool,
) -> Option<(&'a NodeState, &'a Attempt)> {
    let detail = case.detail.as_ref()?;
    states(case).iter().rev().find_map(|state| {
        let waits = state.status == NodeStatus::Waiting && state.status_reason == PREPARE_FAILED;
        let freed = |a: &Attempt| {
            let gone = |(node, record): &(String, u64)| *node == state.node_id && *record > a.record_id;
            detail.unlocked.iter().any(gone)
        };
        let attempt = latest(detail, state).filter(|a| waits && !freed(a) && wanted(a))?;
        Some((state, attempt))
    })
}

/// What a Run waits for whose last start could not start a job: somebody should look why.
pub(super) fn not_started(case: &Case<'_>) -> Option<WaitingOn> {
    // A start that a signal stopped says nothing of the kind, and next to an audit of files there is no place for it.
    let told = |text: &str| text.contains(NOTHING_EXECUTED) || text.starts_with('{');
    let (state, attempt) = waiting(case, |a| told(&a.error_message))?;
    let why = match attempt.error_message.trim() {
        json if json.starts_with('{') => String::new(),
        said => format!(": {said}"),
    };
    Some(WaitingOn {
        kind: WaitKind::Person,
        node_id: Some(state.node_id.clone()),
        since: attempt.finished_at.clone(),
        until: None,
        by: None,
        reason: format!(
            "attempt {} {} was not executed{why}; the next start with --resume tries again",
            attempt.attempt_no, attempt.attempt_id
        ),
    })
}

/// What a Run waits for whose last start met such a lock, and the ways on.
pub(super) fn wait(case: &Case<'_>) -> Option<(WaitingOn, Vec<NextAction>)> {
    let detail = case.detail.as_ref()?;
    let profile = &case.run.profile();
    let (state, attempt) = waiting(case, |attempt| met(attempt, profile))?;
    let job_key = key(profile, &attempt.job_id);
    let said = match attempt.error_message.trim() {
        text if text.starts_with('{') => {
            format!(
                "attempt {} was not executed; the job lock {job_key} may be held",
                attempt.attempt_no
            )
        }
        text => format!("attempt {} was not executed: {text}", attempt.attempt_no),
    };
    let left_by = suspect(detail, state, attempt);
    let suspicion = left_by.map_or_else(String::new, |old| {
        format!(
            "; attempt {} {}, whose end nobody saw, may have left it",
            old.attempt_no, old.attempt_id
        )
    });
    let waiting = WaitingOn {
        kind: WaitKind::Lock,
        node_id: Some(state.node_id.clone()),
        since: attempt.finished_at.clone(),
        until: None,
        by: Some(left_by.map_or(job_key.clone(), |old| old.attempt_id.clone())),
        reason: format!("{said}{suspicion}"),
    };
    let actions = vec![
        Action::InspectJobLock(job_key.clone()).does(Effect::ShowsJobLock),
        Action::FreeJobLock(job_key).does(Effect::FreesJobLock),
        Action::RecordJobUnlock(state.node_id.clone())
            .after("the answer of force-unlock-job", Effect::RecordsUnlock),
    ];
    Some((waiting, actions))
}

/// The newest earlier attempt of the node that may have died with the lock in its hands.
fn suspect<'a>(detail: &Detail<'a>, state: &NodeState, met: &Attempt) -> Option<&'a Attempt> {
    detail
        .attempts
        .iter()
        .filter(|a| a.node_id == state.node_id && a.attempt_no < met.attempt_no)
        .find(|a| a.status == AttemptStatus::Unknown)
}
