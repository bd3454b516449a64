//! force-unlock-network: words in, a free lock out (OPR-21, OPR-26).

use super::{Told, given, read_text};
use crate::flownet::cli::commands::translate;
use crate::flownet::cli::report::Failure;
use crate::flownet::cli::settings::OperateSettings;
use crate::flownet::cli::table::Command;
use crate::flownet::cli::walk::Words;
use crate::flownet::operate::Desk;
use crate::flownet::operate::cloud_run::Api;
use crate::flownet::operate::unlock::{self, Request};

pub fn run(
    command: &Command,
    words: &Words,
    desk: &Desk,
    settings: &OperateSettings,
) -> Result<Told, Failure> {
    let reason = read_text(command, words, "--reason-file")?;
    let api = settings
        .gcp_access_token
        .clone()
        .map(|token| Api::new(desk.client.config(), settings.cloud_run_url.as_deref(), token))
        .transpose()
        .map_err(|why| Failure::new(command.fallback, format!("KSQL_FLOWNET_CLOUD_RUN_URL: {why}")))?;
    let released = unlock::run(
        desk,
        &Request {
            network_id: words.operand(),
            profile: given(words, "--profile"),
            expected_owner: given(words, "--expected-owner-invocation-id"),
            reason: &reason,
            evidence_ref: given(words, "--evidence-ref"),
            stop_confirmed_by: given(words, "--stop-confirmed-by"),
            stop_evidence_ref: given(words, "--stop-evidence-ref"),
            stop_method: given(words, "--stop-method"),
            host: &settings.host,
            cloud_run: api.as_ref(),
        },
    )
    .map_err(translate)?;
    let outcome = match released.earlier {
        None => "RELEASED",
        Some(_) => "ALREADY_RELEASED",
    };
    let mut lines = vec![format!(
        "{outcome}: {} (previous owner {}, post revision {}).",
        released.lock_key, released.previous_owner, released.revision
    )];
    lines.push(match &released.earlier {
        Some((by, at)) => format!(
            "{by} released it at {at} ({}); nothing was written.",
            released.event_id
        ),
        None => {
            "A node that was running is settled by the next resume; if it becomes UNKNOWN, resolve it with \
                 resolve-node before resuming again."
                .to_owned()
        }
    });
    Ok(Told {
        lines,
        outcome,
        code: "LOCK_RELEASED",
        ids: vec![
            ("network_id", words.operand().to_owned()),
            ("profile", given(words, "--profile").to_owned()),
            ("lock_key", released.lock_key),
            ("previous_owner_invocation_id", released.previous_owner),
        ],
        revision: Some(released.revision),
        audit_event_id: Some(released.event_id),
        resumes: true,
        facts: Vec::new(),
    })
}
