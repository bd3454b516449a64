//! record-job-unlock: two files and words in, one audit record out (OPR-16, OPR-20).

use super::{Told, given, read_text, run_facts};
use crate::flownet::cli::commands::translate;
use crate::flownet::cli::report::Failure;
use crate::flownet::cli::table::Command;
use crate::flownet::cli::walk::Words;
use crate::flownet::operate::Desk;
use crate::flownet::operate::job_unlock::{self, Request};
use crate::flownet::record::operation::LOCK_IS_GONE;

pub fn run(command: &Command, words: &Words, desk: &Desk) -> Result<Told, Failure> {
    let text = read_text(command, words, "--result-file")?;
    let result = serde_json::from_str(&text)
        .map_err(|error| Failure::new(command.fallback, format!("the result file is not JSON: {error}")))?;
    let reason = read_text(command, words, "--reason-file")?;
    let recorded = job_unlock::run(
        desk,
        &Request {
            result: &result,
            run_id: given(words, "--run-id"),
            node_id: given(words, "--node-id"),
            reason: &reason,
            evidence_ref: given(words, "--evidence-ref"),
            stop_confirmed_by: given(words, "--stop-confirmed-by"),
        },
    )
    .map_err(translate)?;
    // Only a lock that is gone lets the job start.
    let resumes = LOCK_IS_GONE.contains(&recorded.outcome.as_str());
    Ok(Told {
        lines: vec![format!(
            "RECORDED: {} for {} ({}).",
            recorded.outcome, recorded.job_key, recorded.event_id
        )],
        outcome: "RECORDED",
        code: "JOB_UNLOCK_RECORDED",
        ids: vec![
            ("run_id", given(words, "--run-id").to_owned()),
            ("node_id", given(words, "--node-id").to_owned()),
            ("job_key", recorded.job_key),
            ("lock_recovery_outcome", recorded.outcome),
        ],
        revision: None,
        audit_event_id: Some(recorded.event_id),
        resumes,
        facts: run_facts(&recorded.network_id, &recorded.profile),
    })
}
