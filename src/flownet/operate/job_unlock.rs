//! record-job-unlock: puts on record that a job lock of the runner was released with the runner's own command
//! (OPR-16 to OPR-20). No lock is changed here (OPR-08).

use serde_json::Value;

use super::desk::{Desk, Stop, rounds};
use super::recovery_result::RecoveryResult;
use super::{is_blank, trimmed};
use crate::flownet::clock::uuid;
use crate::flownet::key;
use crate::flownet::lease::{Change, Role};
use crate::flownet::ordered_json::Object;
use crate::flownet::record::operation::{Columns, JOB_UNLOCKED, Operation};
use crate::flownet::record::{NodeState, Run, node_state, run};
use crate::flownet::run::Failure;
use crate::kintone::query;

/// A record-job-unlock command.
#[derive(Clone, Copy, Debug)]
pub struct Request<'a> {
    /// JSON of the result file.
    pub result: &'a Value,
    /// Run.
    pub run_id: &'a str,
    /// Node of the job.
    pub node_id: &'a str,
    /// Why.
    pub reason: &'a str,
    /// Incident or ticket.
    pub evidence_ref: &'a str,
    /// Who confirmed that the job does not run any more.
    pub stop_confirmed_by: &'a str,
}

/// What was recorded.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recorded {
    /// Outcome of the runner's command.
    pub outcome: String,
    /// `<profile>:<job_id>`.
    pub job_key: String,
    /// `job_unlock_<uuid>`.
    pub event_id: String,
    /// Network of the Run.
    pub network_id: String,
    /// Profile of the Run.
    pub profile: String,
}

/// Carries the command out.
pub fn run(desk: &Desk, request: &Request<'_>) -> Result<Recorded, Failure> {
    let (by, account) = (trimmed(&desk.requested_by), trimmed(&desk.service_principal));
    for (name, text) in [
        ("runId", request.run_id),
        ("nodeId", request.node_id),
        ("reason", request.reason),
        ("evidenceRef", request.evidence_ref),
        ("servicePrincipal", account),
        ("requestedBy", by),
        ("stopConfirmedBy", request.stop_confirmed_by),
    ] {
        if is_blank(text) {
            return Err(Failure::new(
                "AUDIT_INPUT_REQUIRED",
                format!("{name} must not be blank"),
            ));
        }
    }
    let result = RecoveryResult::parse(request.result).map_err(|why| {
        Failure::new(
            "INVALID_LOCK_RECOVERY_RESULT",
            format!("the result file is no LOCK_RECOVERY_RESULT: {why}"),
        )
    })?;
    rounds(|| {
        let (run, job_id) = read(desk, trimmed(request.run_id), trimmed(request.node_id))?;
        let expected = format!("{}:{job_id}", run.profile());
        if result.job_key != expected {
            return Err(Failure::new(
                "JOB_KEY_MISMATCH",
                format!(
                    "the result is about {}, the node's job is {expected}",
                    result.job_key
                ),
            )
            .into());
        }
        let event_id = format!("job_unlock_{}", uuid()?);
        let now = desk.clock.now();
        let (evidence, node) = (trimmed(request.evidence_ref), trimmed(request.node_id));
        let operation = Operation {
            record_key: key::operation_record_key(&event_id)?,
            run_id: &run.run_id,
            result_code: &result.outcome,
            at: now,
            columns: Columns {
                node_id: node,
                requested_by: by,
                service_principal: account,
                evidence_ref: evidence,
            },
            event: Object::new()
                .with("event_id", event_id.as_str())
                .with("event_type", JOB_UNLOCKED)
                .with("run_id", run.run_id.as_str())
                .with("node_id", node)
                .with("job_id", job_id.as_str())
                .with("service_principal", account)
                .with("requested_by", by)
                .with("stop_confirmed_by", trimmed(request.stop_confirmed_by))
                .with("reason", trimmed(request.reason))
                .with("evidence_ref", evidence)
                .with("recorded_at", now.iso_ms())
                .with("lock_recovery_result", result.to_object()),
        };
        let change = Change::Insert {
            role: Role::Audit,
            fields: operation.to_fields(),
        };
        desk.write(&[change], &operation.record_key)?;
        Ok(Recorded {
            outcome: result.outcome.clone(),
            job_key: result.job_key.clone(),
            event_id,
            network_id: run.network_id.clone(),
            profile: run.profile(),
        })
    })
}

/// The Run and the job of its node, in one read.
fn read(desk: &Desk, run_id: &str, node_id: &str) -> Result<(Run, String), Stop> {
    let condition = query::and(&[
        query::one_of("record_type", &[run::RECORD_TYPE, node_state::RECORD_TYPE]),
        query::one_of("run_id", &[run_id]),
    ]);
    let (mut found, mut jobs) = (None, Vec::new());
    for record in desk.client.all_by_id(&desk.state, &condition, &[])? {
        if record.text("run_id") != run_id {
            continue;
        }
        match record.text("record_type") {
            run::RECORD_TYPE => found = Some(Run::from_record(&record)?),
            node_state::RECORD_TYPE if record.text("node_id") == node_id => {
                jobs.push(NodeState::from_record(&record)?.job_id);
            }
            _ => {}
        }
    }
    let run = found.ok_or_else(|| Failure::new("RECORD_NOT_FOUND", format!("there is no Run {run_id}")))?;
    match (jobs.pop(), jobs.is_empty()) {
        (Some(job), true) => Ok((run, job)),
        (last, _) => Err(Failure::new(
            "NODE_STATE_NOT_UNIQUE",
            format!(
                "the Run has {} states of node '{node_id}'",
                jobs.len() + usize::from(last.is_some())
            ),
        )
        .into()),
    }
}
