//! Values that no course of a Run leaves behind: somebody edited the record (D-09).
//!
//! Nothing is held in memory when a start or `status` looks at a Run, so what a record should say follows from the other
//! records: keys from the ids they are made of; the status of a node from its newest attempt, from what people resolved
//! and from the invocations that took the node on again; the status of the Run from all that its nodes ever were. What an
//! interrupted write of ours or of the original can leave is no edit. A record whose `revision` field lags behind
//! kintone's revision was saved by somebody (REC-08): there, a reset needs an invocation that made it.

use std::fmt;

use super::classify::PREPARE_FAILED;
use super::reconcile::Records;
use super::result::status_of_known;
use crate::flownet::definition::Node;
use crate::flownet::key::{self, KeyError};
use crate::flownet::record::read::app_of;
use crate::flownet::record::run::RECORD_TYPE as RUN;
use crate::flownet::record::status::{AttemptStatus, Lifecycle, Mode, NodeStatus, Outcome, RunStatus};
use crate::flownet::record::{
    Attempt, Invocation, NodeState, Resolution, Run, attempt, invocation, node_state, resolution,
};
use crate::flownet::time::Timestamp;

#[cfg(test)]
mod tests;

/// One field that was edited.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Edit {
    /// Record type text.
    pub record_type: &'static str,
    /// kintone's record number.
    pub record_id: u64,
    /// Field code.
    pub field: &'static str,
    /// What it says.
    pub stored: String,
    /// What it must say.
    pub expected: String,
}

impl fmt::Display for Edit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} record {} of the {} app was edited: field {} is '{}', expected {}",
            self.record_type,
            self.record_id,
            app_of(self.record_type),
            self.field,
            self.stored,
            self.expected
        )
    }
}

/// A value as an edit names it.
pub fn value(text: impl fmt::Display) -> String {
    format!("'{text}'")
}

/// The edit of a Node State's field.
pub fn of_state(state: &NodeState, field: &'static str, stored: impl fmt::Display, expected: String) -> Edit {
    Edit {
        record_type: node_state::RECORD_TYPE,
        record_id: state.record_id,
        field,
        stored: stored.to_string(),
        expected,
    }
}

/// A Node State that says RUNNING and does not say what runs.
pub fn running_without_attempt(state: &NodeState, latest: Option<&Attempt>) -> Edit {
    match latest {
        Some(attempt) if attempt.status != AttemptStatus::Running => {
            of_state(state, "status", state.status, value(attempt.status))
        }
        None => of_state(state, "status", state.status, value(NodeStatus::Waiting)),
        Some(_) => active_attempt(state, latest),
    }
}

/// A Node State that names another attempt than its newest as the one that runs.
pub fn active_attempt(state: &NodeState, latest: Option<&Attempt>) -> Edit {
    let expected = match latest {
        Some(attempt) if attempt.status == AttemptStatus::Running => value(&attempt.attempt_id),
        _ => "nothing".to_owned(),
    };
    of_state(state, "active_attempt_id", &state.active_attempt_id, expected)
}

/// The status that a Node State without an active attempt must have had, when its own cannot be.
///
/// `latest` is the attempt of the node's newest number, `said` what people resolved about it, in order.
pub fn status(
    state: &NodeState,
    latest: Option<&Attempt>,
    said: &[Outcome],
    invocations: &[Invocation],
) -> Option<Edit> {
    let wrong = |expected: NodeStatus| Some(of_state(state, "status", state.status, value(expected)));
    let taken_back = matches!(state.status, NodeStatus::Waiting | NodeStatus::Blocked);
    let Some(latest) = latest else {
        return if state.latest_attempt_no > 0 {
            let expected = format!(
                "the number of an Attempt; there is no Attempt {}",
                state.latest_attempt_no
            );
            Some(of_state(
                state,
                "latest_attempt_no",
                state.latest_attempt_no,
                expected,
            ))
        } else if taken_back {
            None
        } else {
            wrong(NodeStatus::Waiting)
        };
    };
    let never_ran = match latest.status {
        AttemptStatus::Running => latest.execution_started_at.is_empty(),
        _ => latest.result_code == PREPARE_FAILED,
    };
    if taken_back {
        return if never_ran || may_be_taken_back(state, latest, said, invocations) {
            None
        } else {
            wrong(said.last().map_or(latest.status.as_node(), |o| o.as_node()))
        };
    }
    let ended = latest.status != AttemptStatus::Running && latest.status.as_node() == state.status;
    if ended || said.iter().any(|o| o.as_node() == state.status) {
        return None;
    }
    wrong(match said.last() {
        Some(outcome) => outcome.as_node(),
        None if never_ran => NodeStatus::Waiting,
        None => latest.status.as_node(),
    })
}

/// An Attempt whose status no program can have written beside its other fields: status, result code and time of the end are
/// one write (REC-23), and a known code has one status (RUN-24). An unknown code goes with any.
pub fn ended_otherwise(attempt: &Attempt) -> Option<Edit> {
    let (code, ended) = (&attempt.result_code, !attempt.finished_at.is_empty());
    let (expected, why) = match (attempt.status, status_of_known(code)) {
        (AttemptStatus::Running, known) if ended => {
            let status = known.map_or_else(|| "an end".to_owned(), value);
            (status, "because it has a finished_at".to_owned())
        }
        (AttemptStatus::Running, _) => return None,
        (_, _) if !ended => (
            value(AttemptStatus::Running),
            "because it has no finished_at".to_owned(),
        ),
        (status, Some(known)) if status != known => {
            (value(known), format!("which goes with its result_code {code}"))
        }
        _ => return None,
    };
    Some(of_attempt(attempt, format!("{expected}, {why}")))
}

/// Puts the blame on the record that somebody saved: a Node State whose revision is that of its last write was not edited,
/// so what contradicts it was. `resolution` is what people resolved about `attempt` last.
pub fn blame(edit: Edit, state: &NodeState, attempt: &Attempt, resolution: Option<&Resolution>) -> Edit {
    let saved = state.revision != state.business_revision;
    let resolution = resolution.filter(|r| r.revision > 1);
    match (saved, resolution) {
        (false, Some(resolution)) => Edit {
            record_type: resolution::RECORD_TYPE,
            record_id: resolution.record_id,
            field: "resolved_outcome",
            stored: resolution.outcome.to_string(),
            expected: value(state.status),
        },
        (false, None) => of_attempt(
            attempt,
            format!(
                "an end that leaves its node {}, or an ATTEMPT_RESOLUTION record that says so and was deleted",
                state.status
            ),
        ),
        (true, Some(resolution)) => Edit {
            expected: format!(
                "{}; or ATTEMPT_RESOLUTION record {} of the audit app was edited, which was saved as well",
                edit.expected, resolution.record_id
            ),
            ..edit
        },
        (true, None) => edit,
    }
}

fn of_attempt(attempt: &Attempt, expected: String) -> Edit {
    Edit {
        record_type: attempt::RECORD_TYPE,
        record_id: attempt.record_id,
        field: "status",
        stored: attempt.status.to_string(),
        expected,
    }
}

/// Can a resume or a rerun have set the node back after this attempt (SEL-01, RRF-02, RRF-05)?
fn may_be_taken_back(
    state: &NodeState,
    latest: &Attempt,
    said: &[Outcome],
    invocations: &[Invocation],
) -> bool {
    // A node that must not be repeated is never set back.
    if !state.idempotent {
        return false;
    }
    let ends: Vec<NodeStatus> = std::iter::once(latest.status.as_node())
        .chain(said.iter().map(|o| o.as_node()))
        .collect();
    let tried_again = ends
        .iter()
        .any(|s| matches!(s, NodeStatus::Failed | NodeStatus::Cancelled));
    let rerun_only = ends
        .iter()
        .any(|s| matches!(s, NodeStatus::Success | NodeStatus::Running));
    if !tried_again && !rerun_only {
        return false;
    }
    // The original sets back first and records the rerun after it (RRF-04).
    let saved = state.revision != state.business_revision;
    let recorded = |i: &Invocation| {
        i.record_id > latest.record_id
            && (tried_again || i.mode == Mode::RerunFrom)
            && i.selected.iter().chain(&i.blocked).any(|n| *n == state.node_id)
    };
    !saved || invocations.iter().any(recorded)
}

/// The edit of the Run's own status, when its nodes can never have made it (AGG-01). `computed` is what they make now.
pub fn run_status(records: &Records<'_>, computed: RunStatus) -> Option<Edit> {
    let run = records.run;
    if run.status == computed {
        return None;
    }
    let ended = |wanted: &[AttemptStatus]| records.attempts.iter().any(|a| wanted.contains(&a.status));
    let said = |wanted: &[Outcome]| records.resolutions.iter().any(|r| wanted.contains(&r.outcome));
    use AttemptStatus::{Cancelled, Failed, Unknown};
    let possible = match run.status {
        // A Run that has succeeded is never taken up again.
        RunStatus::Success => false,
        RunStatus::Created => run.started_at.is_empty(),
        RunStatus::Running => true,
        RunStatus::Unknown => ended(&[Unknown]),
        RunStatus::Failed => ended(&[Failed, Cancelled, Unknown]),
        RunStatus::Cancelled => ended(&[Cancelled]) || said(&[Outcome::Cancelled]),
    };
    (!possible).then(|| of_run(run, "status", run.status, value(computed)))
}

/// The edit of a field of the Run.
pub fn of_run(run: &Run, field: &'static str, stored: impl fmt::Display, expected: String) -> Edit {
    Edit {
        record_type: RUN,
        record_id: run.record_id,
        field,
        stored: stored.to_string(),
        expected,
    }
}

/// A Run whose key is not that of its profile, network and business key.
pub fn run_key(run: &Run) -> Option<Edit> {
    let expected = run.derived_key().filter(|key| *key != run.record_key)?;
    let expected = format!("'{expected}', the key of its profile, network_id and business_key");
    Some(of_run(run, "record_key", &run.record_key, expected))
}

/// A Run that has lost its bundle, and still needs it.
pub fn bundle(run: &Run) -> Option<Edit> {
    let needed = run.status != RunStatus::Success && run.lifecycle == Lifecycle::Active;
    let expected = || format!("the bundle with SHA-256 {}", run.bundle_sha256);
    (needed && run.bundle_file_key.is_empty())
        .then(|| of_run(run, "source_bundle_attachment", "", expected()))
}

/// Fields of the Run that never change, or follow from other records.
pub fn run_fields(records: &Records<'_>) -> Vec<Edit> {
    let run = records.run;
    let mut edits = Vec::new();
    edits.extend(run_key(run));
    edits.extend(bundle(run));
    if records.archived && run.lifecycle != Lifecycle::Archived {
        edits.push(of_run(
            run,
            "lifecycle_status",
            run.lifecycle,
            value(Lifecycle::Archived),
        ));
    }
    let times = [("created_at", &run.created_at), ("as_of", &run.as_of)];
    for (field, text) in times
        .into_iter()
        .filter(|(field, text)| *field == "created_at" || !text.is_empty())
    {
        if Timestamp::parse(text).is_none() {
            edits.push(of_run(
                run,
                field,
                text,
                "the time at which the Run was made".to_owned(),
            ));
        }
    }
    edits
}

/// What the definition in the bundle says of a node, and its Node State does not.
pub fn against_definition(state: &NodeState, node: &Node) -> Option<Edit> {
    let flag = |b: bool| if b { "true" } else { "false" };
    let fixed = [
        ("job_id", state.job_id.as_str(), node.job_id.as_str()),
        ("idempotent", flag(state.idempotent), flag(node.idempotent)),
        ("trigger_rule", &state.trigger_rule, &node.trigger_rule),
    ];
    let (field, stored, expected) = fixed.into_iter().find(|(_, stored, defined)| stored != defined)?;
    Some(of_state(state, field, stored, value(expected)))
}

/// A Node State and an Attempt of it name different jobs: the one that somebody saved is the one that was edited.
fn job(state: &NodeState, attempt: &Attempt) -> Option<Edit> {
    if state.job_id == attempt.job_id {
        None
    } else if state.revision == state.business_revision {
        Some(Edit {
            record_type: attempt::RECORD_TYPE,
            record_id: attempt.record_id,
            field: "job_id",
            stored: attempt.job_id.clone(),
            expected: value(&state.job_id),
        })
    } else {
        Some(of_state(state, "job_id", &state.job_id, value(&attempt.job_id)))
    }
}

/// Keys that are not those of the ids beside them (KEY-02, KEY-03), and jobs that are not those of their node.
pub fn keys(records: &Records<'_>) -> Vec<(Option<String>, Edit)> {
    let mut edits = Vec::new();
    for state in records.states {
        let unique = key::node_state_key(&state.run_id, &state.node_id);
        let record = unique.clone().and_then(|key| key::state_record_key(&key));
        for (field, stored, derived) in [
            ("node_state_key", &state.node_state_key, unique),
            ("record_key", &state.record_key, record),
        ] {
            if let Some(expected) = differs(stored, derived) {
                edits.push((
                    Some(state.node_id.clone()),
                    of_state(state, field, stored, expected),
                ));
            }
        }
        // A save leaves the field behind; nothing takes it ahead (REC-08).
        if state.business_revision > state.revision {
            let expected = format!("{} at most", state.revision);
            let edit = of_state(state, "revision", state.business_revision, expected);
            edits.push((Some(state.node_id.clone()), edit));
        }
        let mut own = records.attempts.iter().filter(|a| a.node_id == state.node_id);
        if let Some(edit) = own.find_map(|a| job(state, a)) {
            edits.push((Some(state.node_id.clone()), edit));
        }
    }
    let audit = |record_type, record_id, field, stored: &str, expected| Edit {
        record_type,
        record_id,
        field,
        stored: stored.to_owned(),
        expected,
    };
    for a in records.attempts {
        for (field, stored, derived) in [
            (
                "attempt_key",
                &a.attempt_key,
                key::attempt_key(&a.run_id, &a.node_id, a.attempt_no),
            ),
            (
                "record_key",
                &a.record_key,
                key::attempt_record_key(&a.attempt_id),
            ),
        ] {
            if let Some(expected) = differs(stored, derived) {
                let edit = audit(attempt::RECORD_TYPE, a.record_id, field, stored, expected);
                edits.push((Some(a.node_id.clone()), edit));
            }
        }
    }
    for i in records.invocations {
        if let Some(expected) = differs(&i.record_key, key::invocation_record_key(&i.invocation_id)) {
            let edit = audit(
                invocation::RECORD_TYPE,
                i.record_id,
                "record_key",
                &i.record_key,
                expected,
            );
            edits.push((None, edit));
        }
    }
    edits
}

fn differs(stored: &str, derived: Result<String, KeyError>) -> Option<String> {
    match derived {
        Ok(key) if key == stored => None,
        Ok(key) => Some(value(key)),
        Err(e) => Some(format!("a key of its ids, but {e}")),
    }
}

/// Was this Run ever handed to the scheduler?
pub fn was_started(run: &Run) -> bool {
    !run.started_at.is_empty() || run.status != RunStatus::Created
}

/// A started Run without a single Node State: they belong to another run_id now, or were deleted.
pub fn has_lost_its_states(records: &Records<'_>) -> bool {
    was_started(records.run) && records.states.is_empty() && records.invocations.is_empty()
}

/// Nodes of a started Run that have no Node State: all were made before the Run was started (N11).
pub fn nodes_without_state(records: &Records<'_>) -> Vec<String> {
    if !was_started(records.run) {
        return Vec::new();
    }
    let mut missing: Vec<String> = Vec::new();
    for node in records
        .invocations
        .iter()
        .flat_map(|i| i.selected.iter().chain(&i.preserved).chain(&i.blocked))
    {
        let known = records.states.iter().any(|s| s.node_id == *node);
        if !known && !missing.contains(node) {
            missing.push(node.clone());
        }
    }
    missing
}
