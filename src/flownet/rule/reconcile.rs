//! Do the records of a Run agree with each other, and which disagreement can be repaired? (RCN-01..16, STA-15)
//!
//! `status` shows the findings; a resume carries the repairs out behind its fence and refuses the rest. Differences to
//! the original, all by decision: a person's save moves kintone's revision only and is no finding (D-09); a resolution
//! of an older attempt, or of an attempt whose node was reset since, is settled (BTR-15); an attempt that was inserted
//! but never reached its node is repaired (BTR-13); PREPARE_FAILED makes a node WAITING, not CANCELLED (BTR-16).

use std::collections::BTreeSet;

use super::aggregate::aggregate;
use super::classify::PREPARE_FAILED;
use super::edited::{self, Edit};
use super::last_word::{LastWord, last_word};
use crate::flownet::definition::Network;
use crate::flownet::record::status::{AttemptStatus, NodeStatus, Outcome, RunStatus};
use crate::flownet::record::{Attempt, DecodeError, Invocation, NodeState, Resolution, Run};

#[cfg(test)]
mod properties;

/// A disagreement between records.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Inconsistency {
    /// RCN code.
    pub code: &'static str,
    /// Node concerned; `None` for the Run itself.
    pub node_id: Option<String>,
    /// In words.
    pub detail: String,
    /// Attempts concerned.
    pub attempt_ids: Vec<String>,
}

/// A change that the records themselves prove right.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Repair {
    /// The node takes the status of its finished active attempt (or just drops the stale active id).
    ApplyAttempt {
        /// Node.
        node_id: String,
        /// Finished attempt.
        attempt_id: String,
        /// Status to write.
        to: NodeStatus,
    },
    /// The node takes what a person resolved.
    ApplyResolution {
        /// Node.
        node_id: String,
        /// Resolved attempt.
        attempt_id: String,
        /// The person's word.
        outcome: Outcome,
    },
    /// An attempt was inserted and its node never heard of it: number it as not started.
    NeverStarted {
        /// Node.
        node_id: String,
        /// Attempt.
        attempt_id: String,
    },
    /// The Run shows another status than its nodes make.
    Aggregate(RunStatus),
}

/// What an examination found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Examination {
    /// Shown by `status`, in the contract's order.
    pub findings: Vec<Inconsistency>,
    /// To be carried out by a resume, in order.
    pub repairs: Vec<Repair>,
    /// Findings that no command can repair.
    pub unrepairable: Vec<Inconsistency>,
    /// RUNNING attempts of earlier invocations; the JOB log decides them.
    pub orphans: Vec<String>,
}

impl Examination {
    /// Adds a finding that no command can repair, unless it is there.
    pub fn stop(&mut self, finding: Inconsistency) {
        if self.findings.contains(&finding) {
            return;
        }
        self.findings.push(finding.clone());
        self.unrepairable.push(finding);
    }

    fn repair(&mut self, finding: Inconsistency, repair: Repair) {
        self.findings.push(finding);
        self.repairs.push(repair);
    }
}

/// The records of one Run. States and attempts come newest first, as kintone lists them (QRY-17).
pub struct Records<'a> {
    /// The Run.
    pub run: &'a Run,
    /// Its Node States.
    pub states: &'a [NodeState],
    /// Its Attempts.
    pub attempts: &'a [Attempt],
    /// Resolutions of its Attempts, oldest first.
    pub resolutions: &'a [Resolution],
    /// Its Invocations, without that of the caller.
    pub invocations: &'a [Invocation],
    /// The audit app says that the Run was archived.
    pub archived: bool,
    /// Records of the Run that cannot be read.
    pub damaged: &'a [DecodeError],
    /// Invocation that looks; its own attempts are no orphans.
    pub invocation_id: &'a str,
}

/// Examines the records of a Run.
pub fn examine(records: &Records<'_>) -> Examination {
    let mut found = Examination::default();
    let mut unsafe_nodes: BTreeSet<&str> = BTreeSet::new();
    if !records.damaged.is_empty() {
        // Whatever else seems to be wrong may be the missing record.
        for error in records.damaged {
            found.stop(Inconsistency {
                code: "RECORD_DAMAGED",
                node_id: None,
                detail: error.to_string(),
                attempt_ids: Vec::new(),
            });
        }
        return found;
    }
    examine_fixed(records, &mut found);
    for attempt in records.attempts {
        let known = records.states.iter().any(|s| s.node_id == attempt.node_id);
        if !known && unsafe_nodes.insert(&attempt.node_id) {
            let ids = attempts_of(records, &attempt.node_id)
                .map(|a| a.attempt_id.clone())
                .collect();
            found.stop(Inconsistency {
                code: "ATTEMPT_NODE_STATE_MISSING",
                node_id: Some(attempt.node_id.clone()),
                detail: "Node Attempts exist without a corresponding Node State".to_owned(),
                attempt_ids: ids,
            });
        }
    }
    for attempt in records.attempts {
        if let Some(edit) = edited::ended_otherwise(attempt) {
            // It proves nothing about its node.
            found.stop(edit_of(Some(attempt.node_id.clone()), &edit));
            unsafe_nodes.insert(&attempt.node_id);
        }
    }
    for state in records.states {
        if !unsafe_nodes.contains(state.node_id.as_str()) && !examine_state(records, state, &mut found) {
            unsafe_nodes.insert(&state.node_id);
        }
    }
    for attempt in records.attempts {
        examine_resolutions(records, attempt, &unsafe_nodes, &mut found);
    }
    examine_aggregate(records, &mut found);
    found
}

/// What never changes, and what follows from ids alone (D-09).
fn examine_fixed(records: &Records<'_>, found: &mut Examination) {
    for edit in edited::run_fields(records) {
        found.stop(edit_of(None, &edit));
    }
    for (node_id, edit) in edited::keys(records) {
        found.stop(edit_of(node_id, &edit));
    }
    if edited::has_lost_its_states(records) {
        found.stop(Inconsistency {
            code: "NODE_STATE_MISSING",
            node_id: None,
            detail: format!(
                "the Run has started, but no NODE_STATE and no RUN_INVOCATION record has its run_id '{}': the run_id of \
                 NETWORK_RUN record {} of the state app was edited, or they were deleted",
                records.run.run_id, records.run.record_id
            ),
            attempt_ids: Vec::new(),
        });
    }
    for node_id in edited::nodes_without_state(records) {
        found.stop(state_missing(&records.run.run_id, &node_id));
    }
}

/// A started Run has no state of this node.
pub fn state_missing(run_id: &str, node_id: &str) -> Inconsistency {
    Inconsistency {
        code: "NODE_STATE_MISSING",
        node_id: Some(node_id.to_owned()),
        detail: format!(
            "the Run has started, but the state app has no NODE_STATE record of node '{node_id}' and run_id '{run_id}': it \
             was deleted, or the run_id of the Run or of the node was edited"
        ),
        attempt_ids: Vec::new(),
    }
}

/// Node States that do not fit the definition that the Run was made with.
pub fn against_definition(states: &[NodeState], network: &Network) -> Vec<Inconsistency> {
    let edit = |state: &NodeState| {
        let node = network.nodes.iter().find(|n| n.id == state.node_id)?;
        let edit = edited::against_definition(state, node)?;
        Some(edit_of(Some(state.node_id.clone()), &edit))
    };
    states.iter().filter_map(edit).collect()
}

/// A field that was edited, as a finding.
pub fn edit_of(node_id: Option<String>, edit: &Edit) -> Inconsistency {
    Inconsistency {
        code: "RECORD_EDITED",
        node_id,
        detail: edit.to_string(),
        attempt_ids: Vec::new(),
    }
}

fn examine_aggregate(records: &Records<'_>, found: &mut Examination) {
    let run = records.run;
    let computed = aggregate(
        records.states.iter().map(|s| s.status),
        !run.started_at.is_empty(),
    );
    if computed == run.status {
        return;
    }
    let mut mismatch = Inconsistency {
        code: "RUN_AGGREGATE_MISMATCH",
        node_id: None,
        detail: format!("Run status {} differs from computed {computed}", run.status),
        attempt_ids: Vec::new(),
    };
    // Nodes that were edited themselves prove nothing about the Run.
    let edit = edited::run_status(records, computed).filter(|_| found.unrepairable.is_empty());
    if let Some(edit) = edit {
        mismatch.detail = format!("{}; {edit}", mismatch.detail);
        found.stop(mismatch);
    } else {
        found.repair(mismatch, Repair::Aggregate(computed));
    }
}

fn attempts_of<'a>(records: &'a Records<'_>, node_id: &'a str) -> impl Iterator<Item = &'a Attempt> {
    records.attempts.iter().filter(move |a| a.node_id == node_id)
}

fn finding(
    code: &'static str,
    state: &NodeState,
    detail: impl Into<String>,
    attempts: &[&Attempt],
) -> Inconsistency {
    Inconsistency {
        code,
        node_id: Some(state.node_id.clone()),
        detail: detail.into(),
        attempt_ids: attempts.iter().map(|a| a.attempt_id.clone()).collect(),
    }
}

/// One Node State against its attempts; false when nothing else about this node can be trusted.
fn examine_state(records: &Records<'_>, state: &NodeState, found: &mut Examination) -> bool {
    let own: Vec<&Attempt> = attempts_of(records, &state.node_id).collect();
    let mut trusted = true;
    for attempt in &own {
        match attempt.state_revision_before {
            Some(before) if before > state.revision => {
                let text = format!(
                    "Attempt {} state_revision_before {before} is not older than State revision {}",
                    attempt.attempt_id, state.revision
                );
                found.stop(finding("REVISION_SERIES_INVERTED", state, text, &[attempt]));
                trusted = false;
            }
            None if attempt.attempt_no >= state.latest_attempt_no => {
                let text = format!("Attempt {} has no state_revision_before", attempt.attempt_id);
                found.stop(finding("REVISION_SERIES_UNDETERMINED", state, text, &[attempt]));
                trusted = false;
            }
            _ => {}
        }
    }
    if !trusted {
        return false;
    }
    let ahead: Vec<&Attempt> = own
        .iter()
        .copied()
        .filter(|a| a.attempt_no > state.latest_attempt_no)
        .collect();
    match ahead.as_slice() {
        [] => {}
        [one] if one.attempt_no == state.latest_attempt_no + 1 && never_reached(state, one) => {
            let text = format!(
                "Attempt {} was created from State revision {}, but no later State revision is visible",
                one.attempt_id, state.revision
            );
            found.repair(
                finding("REVISION_SERIES_UNDETERMINED", state, text, &[one]),
                Repair::NeverStarted {
                    node_id: state.node_id.clone(),
                    attempt_id: one.attempt_id.clone(),
                },
            );
            return false;
        }
        many => {
            let text = format!(
                "attempt number {} was taken, Attempts beyond it exist",
                state.latest_attempt_no
            );
            found.stop(finding("STATE_ATTEMPT_STATUS_MISMATCH", state, text, many));
            return false;
        }
    }
    for stale in own
        .iter()
        .filter(|a| is_running(a) && a.attempt_id != state.active_attempt_id)
    {
        // Left by a rerun that did not look, or by a repair that was cut off; the JOB log decides it.
        if stale.invocation_id != records.invocation_id {
            found.orphans.push(stale.attempt_id.clone());
        }
    }
    examine_active(records, state, &own, found)
}

fn is_running(attempt: &Attempt) -> bool {
    attempt.status == AttemptStatus::Running
}

/// The shape left when the attempt was inserted and the write of its node did not follow (ATT-07 step 3).
fn never_reached(state: &NodeState, attempt: &Attempt) -> bool {
    let unused = is_running(attempt) && attempt.execution_started_at.is_empty();
    let half_repaired = attempt.status == AttemptStatus::Cancelled && attempt.result_code == PREPARE_FAILED;
    state.status == NodeStatus::Waiting && state.active_attempt_id.is_empty() && (unused || half_repaired)
}

fn examine_active(
    records: &Records<'_>,
    state: &NodeState,
    own: &[&Attempt],
    found: &mut Examination,
) -> bool {
    if state.active_attempt_id.is_empty() {
        if state.status != NodeStatus::Running {
            return examine_rest(records, state, own, found);
        }
        let edit = edited::running_without_attempt(state, latest(state, own));
        let text = format!("RUNNING Node State has no active_attempt_id; {edit}");
        found.stop(finding("ACTIVE_ATTEMPT_ID_MISSING", state, text, &[]));
        return false;
    }
    let active: Vec<&Attempt> = own
        .iter()
        .copied()
        .filter(|a| a.attempt_id == state.active_attempt_id)
        .collect();
    let [attempt] = active.as_slice() else {
        let edit = edited::active_attempt(state, latest(state, own));
        let text = format!("active attempt cardinality is {}; {edit}", active.len());
        found.stop(finding("ACTIVE_ATTEMPT_NOT_FOUND", state, text, &active));
        return false;
    };
    if attempt.attempt_no != state.latest_attempt_no {
        let edit = edited::active_attempt(state, latest(state, own));
        found.stop(mismatch(state, attempt.status, &edit, &[attempt]));
        return false;
    }
    match (state.status, attempt.status) {
        (NodeStatus::Running, AttemptStatus::Running) => {
            if attempt.invocation_id != records.invocation_id {
                found.orphans.push(attempt.attempt_id.clone());
            }
        }
        (node, ended) if ended.is_terminal() && (node == NodeStatus::Running || node == ended.as_node()) => {
            let to = if node == NodeStatus::Running {
                node_status_of(attempt)
            } else {
                node
            };
            found.repair(
                finding(
                    "TERMINAL_ATTEMPT_PENDING_APPLY",
                    state,
                    "terminal active Attempt has not been applied to Node State",
                    &[attempt],
                ),
                Repair::ApplyAttempt {
                    node_id: state.node_id.clone(),
                    attempt_id: attempt.attempt_id.clone(),
                    to,
                },
            );
        }
        (node, AttemptStatus::Running) if node.is_terminal() => {
            let edit = edited::of_state(state, "status", node, "'RUNNING'".to_owned());
            let text = format!("Node State is terminal while its active Attempt is RUNNING; {edit}");
            found.stop(finding("STATE_TERMINAL_ATTEMPT_RUNNING", state, text, &[attempt]));
        }
        (node, other) => {
            let edit = edited::of_state(state, "status", node, format!("'{}'", node_status_of(attempt)));
            found.stop(mismatch(state, other, &edit, &[attempt]));
        }
    }
    true
}

/// The attempt of the node's newest number.
fn latest<'a>(state: &NodeState, own: &[&'a Attempt]) -> Option<&'a Attempt> {
    own.iter()
        .copied()
        .find(|a| a.attempt_no == state.latest_attempt_no)
}

/// A node at rest: its status must be one that its newest attempt, or a person's word about it, can have left.
fn examine_rest(records: &Records<'_>, state: &NodeState, own: &[&Attempt], found: &mut Examination) -> bool {
    let latest = latest(state, own);
    let own: Vec<&Resolution> = records
        .resolutions
        .iter()
        .filter(|r| latest.is_some_and(|a| a.attempt_id == r.attempt_id))
        .collect();
    let said: Vec<Outcome> = own.iter().map(|r| r.outcome).collect();
    let Some(edit) = edited::status(state, latest, &said, records.invocations) else {
        return true;
    };
    found.stop(match latest {
        Some(attempt) => {
            let edit = edited::blame(edit, state, attempt, own.last().copied());
            mismatch(state, attempt.status, &edit, &[attempt])
        }
        None => finding("STATE_ATTEMPT_STATUS_MISMATCH", state, edit.to_string(), &[]),
    });
    false
}

/// RCN-12 with the edit that explains it.
fn mismatch(state: &NodeState, attempt: AttemptStatus, edit: &Edit, attempts: &[&Attempt]) -> Inconsistency {
    let text = format!(
        "State {} and Attempt {attempt} do not match; {edit}",
        state.status
    );
    finding("STATE_ATTEMPT_STATUS_MISMATCH", state, text, attempts)
}

/// What a finished attempt makes of its node: never having started, it waits again (BTR-16).
pub fn node_status_of(attempt: &Attempt) -> NodeStatus {
    if attempt.status == AttemptStatus::Cancelled && attempt.result_code == PREPARE_FAILED {
        NodeStatus::Waiting
    } else {
        attempt.status.as_node()
    }
}

fn examine_resolutions(
    records: &Records<'_>,
    attempt: &Attempt,
    unsafe_nodes: &BTreeSet<&str>,
    found: &mut Examination,
) {
    let word = last_word(records.resolutions, &attempt.attempt_id);
    let (LastWord::One(latest) | LastWord::Conflict(latest)) = word else {
        return;
    };
    let Some(state) = records.states.iter().find(|s| s.node_id == attempt.node_id) else {
        return;
    };
    // Settled history: a later attempt exists, or the node was reset after the resolution.
    let reset_since = state.status == NodeStatus::Waiting && attempt.attempt_no == state.latest_attempt_no;
    if attempt.attempt_no < state.latest_attempt_no
        || reset_since
        || unsafe_nodes.contains(state.node_id.as_str())
    {
        return;
    }
    let about = |code, detail: String| finding(code, state, detail, &[attempt]);
    let id = &attempt.attempt_id;
    if matches!(word, LastWord::Conflict(_)) {
        found.stop(about(
            "CONFLICTING_ATTEMPT_RESOLUTIONS",
            format!("Attempt {id} has conflicting Resolution outcomes"),
        ));
        return;
    }
    if !matches!(attempt.status, AttemptStatus::Unknown | AttemptStatus::Failed) {
        found.stop(about(
            "RESOLUTION_ATTEMPT_NOT_UNKNOWN",
            format!("Resolution targets {} Attempt {id}", attempt.status),
        ));
        return;
    }
    if state.status == latest.outcome.as_node() {
        return;
    }
    let failed_for_good =
        state.status == NodeStatus::Failed && attempt.status == AttemptStatus::Failed && !state.idempotent;
    if state.status == NodeStatus::Unknown || failed_for_good {
        found.repair(
            about(
                "ATTEMPT_RESOLUTION_PENDING_APPLY",
                format!("Resolution for Attempt {id} has not been applied to Node State"),
            ),
            Repair::ApplyResolution {
                node_id: state.node_id.clone(),
                attempt_id: id.clone(),
                outcome: latest.outcome,
            },
        );
    } else {
        found.stop(about(
            "RESOLUTION_STATE_NOT_UNKNOWN",
            format!("Resolution cannot be applied to State {}", state.status),
        ));
    }
}
