//! resolve-node: words in, a resolved node out (OPR-09, OPR-13).

use super::{Told, given, read_text, run_facts};
use crate::flownet::cli::commands::translate;
use crate::flownet::cli::report::Failure;
use crate::flownet::cli::table::Command;
use crate::flownet::cli::walk::Words;
use crate::flownet::operate::Desk;
use crate::flownet::operate::resolve::{self, Kind, Request, Resolved};
use crate::flownet::record::status::Outcome;

pub fn run(command: &Command, words: &Words, desk: &Desk) -> Result<Told, Failure> {
    let reason = read_text(command, words, "--reason-file")?;
    let kind = match (words.has("--manual-completion"), words.has("--compensation")) {
        (true, _) => Kind::ManualCompletion,
        (_, true) => Kind::Compensation,
        _ => Kind::OutcomeConfirmed,
    };
    let to = Outcome::parse(given(words, "--to"))
        .ok_or_else(|| Failure::new(command.fallback, "--to must be SUCCESS, FAILED, or CANCELLED"))?;
    let resolved = resolve::run(
        desk,
        &Request {
            run_id: given(words, "--run-id"),
            node_id: given(words, "--node-id"),
            to,
            kind,
            reason: &reason,
            evidence_ref: given(words, "--evidence-ref"),
            stop_confirmed_by: given(words, "--stop-confirmed-by"),
            stop_evidence_ref: given(words, "--stop-evidence-ref"),
            approved_by: given(words, "--approved-by"),
            replaces: words.value("--replaces"),
        },
    )
    .map_err(translate)?;
    Ok(told(&resolved))
}

fn told(resolved: &Resolved) -> Told {
    let (run, node) = (&resolved.run_id, &resolved.node_id);
    let outcome = if resolved.written {
        "RESOLVED"
    } else {
        "ALREADY_RESOLVED"
    };
    let mut lines = vec![format!(
        "{outcome}: {run}/{node} -> {} (revision {}).",
        resolved.status, resolved.revision
    )];
    if !resolved.written {
        lines.push(format!(
            "{} resolved it so at {}; nothing was written.",
            resolved.by, resolved.at
        ));
    }
    lines.push(format!("Run {run} is {} now.", resolved.run_status));
    Told {
        lines,
        outcome,
        code: "NODE_RESOLVED",
        ids: vec![
            ("run_id", run.clone()),
            ("node_id", node.clone()),
            ("node_status", resolved.status.as_str().to_owned()),
            ("run_status", resolved.run_status.as_str().to_owned()),
        ],
        revision: Some(resolved.revision),
        audit_event_id: Some(resolved.resolution_key.clone()),
        resumes: resolved.goes_on,
        facts: run_facts(&resolved.network_id, &resolved.profile),
    }
}
