//! archive-run: a definition and words in; the line of OPR-38 out, whatever else was asked for.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::Arc;

use super::super::super::settings::{ArchiveSettings, Environment, local_owner_instance_id};
use super::super::network_file::{self, NetworkFile};
use super::super::{settings_failure, surroundings, traffic, translate};
use super::{Told, desk, given, read_text, run_facts, tell};
use crate::flownet::cli::codes::ExitClass;
use crate::flownet::cli::output::{self, Output, Requests, Severity};
use crate::flownet::cli::report::Failure;
use crate::flownet::cli::table::Command;
use crate::flownet::cli::walk::Words;
use crate::flownet::operate::archive::{self, Abandon, Outcome, Report, Request};
use crate::flownet::ordered_json::Object;

pub fn run(
    command: &'static Command,
    words: &Words,
    env: &Environment<'_>,
    output: &mut Output<'_>,
) -> Result<ExitClass, Failure> {
    let reason = read_text(command, words, "--reason-file")?;
    let network = NetworkFile::read(words.operand())
        .loaded
        .into_valid()
        .map_err(|problems| network_file::invalid(command.fallback, &problems))?;
    let here = surroundings();
    let settings = ArchiveSettings::read(env, words.value("--profile"), &here)
        .map_err(settings_failure(command.fallback))?;
    let desk = desk(
        command,
        &settings.control,
        &settings.service_principal,
        &settings.requested_by,
    )?;
    let report = archive::run(
        &desk,
        &Request {
            network: &network,
            profile: &settings.profile,
            run_id: given(words, "--run-id"),
            reason: &reason,
            abandon: words.has("--abandon").then(|| Abandon {
                evidence_ref: given(words, "--evidence-ref"),
                stop_confirmed_by: given(words, "--stop-confirmed-by"),
            }),
            instance: &local_owner_instance_id(&settings.host, here.process_id),
            owner_dir: settings.workdir.map(|dir: PathBuf| dir.join("owners")),
            auto_reclaim: settings.auto_reclaim,
            host: &settings.host,
            warn: Arc::new(|text: String| output::warn_now(&text)),
        },
    )
    .map_err(translate)?;
    let requests = traffic(&desk.client, output);
    let mut facts = run_facts(&network.network_id, &settings.profile);
    facts.push(("scheduled_for", report.as_of.clone()));
    facts.push(("owner_invocation_id", report.lock_owner.clone()));
    if output.choices().json || !output.choices().quiet || code_of_failure(&report).is_some() {
        output.json(&line(&report));
    }
    match code_of_failure(&report) {
        None => {
            succeed(command, words, &report, facts, requests, output);
            Ok(ExitClass::Done)
        }
        Some(code) => {
            let mut failure =
                Failure::new(code, "archive-run did not complete cleanly").explained_by(report.explained_by);
            if !report.why.is_empty() {
                failure = failure.detail(report.why.clone());
            }
            Err(facts
                .into_iter()
                .fold(failure, |f, (name, value)| f.fact(name, value)))
        }
    }
}

/// OPR-38. `audit` is always RECORDED: Run and audit record are one commit.
fn line(report: &Report) -> Object {
    let start = Object::new()
        .with("run_id", report.run_id.as_str())
        .with("event_id", report.event_id.as_str())
        .with("outcome", report.outcome.as_str())
        .with("run_revision", report.revision);
    let middle = match report.outcome {
        Outcome::Archived => start.with("audit", "RECORDED"),
        Outcome::AlreadyArchived => start,
        Outcome::Unconfirmed | Outcome::Rejected => start.with("code", report.code.unwrap_or_default()),
    };
    middle.with("lock_released", report.lock_released)
}

/// The code of the error line; nothing when the exit status is 0.
fn code_of_failure(report: &Report) -> Option<&'static str> {
    match (report.outcome, report.lock_released) {
        (Outcome::Archived | Outcome::AlreadyArchived, true) => None,
        (Outcome::Archived, false) => Some("RUN_ARCHIVED_LOCK_UNRELEASED"),
        (Outcome::AlreadyArchived, false) => Some("ALREADY_ARCHIVED"),
        (Outcome::Unconfirmed | Outcome::Rejected, _) => report.code,
    }
}

fn succeed(
    command: &'static Command,
    words: &Words,
    report: &Report,
    facts: Vec<(&'static str, String)>,
    requests: Requests,
    output: &mut Output<'_>,
) {
    let revision = report.revision.unwrap_or_default();
    let mut text = format!(
        "{}: {} (revision {revision})",
        report.outcome.as_str(),
        report.run_id
    );
    if let Some((by, at)) = &report.earlier {
        let _ = write!(text, ", archived by {by} at {at}");
    }
    if !output.choices().json {
        output.message(Severity::Info, &text, None);
    }
    let told = Told {
        lines: Vec::new(),
        outcome: report.outcome.as_str(),
        code: "RUN_ARCHIVED",
        ids: vec![("run_id", report.run_id.clone())],
        revision: Some(revision),
        audit_event_id: (report.outcome == Outcome::Archived).then(|| report.event_id.clone()),
        resumes: true,
        facts,
    };
    tell(command, words, &told, requests, output);
}
