//! `validate` and `validate-all`: everything that can be said about job files before they run (RNR-45).

use std::path::{Path, PathBuf};

use super::as_of::RunInstant;
use super::command::Flags;
use super::connection::{Connection, Use};
use super::engine;
use super::graph;
use super::host;
use super::job_file::{self, JobFile};
use super::remote::{FormCache, Remote};
use super::verdict::{Exit, Failure};
use crate::flow::exec::{Session, Unobserved};
use crate::flow::sql::diagnostic::{Diagnostic, Severity, code};
use crate::kintone::Client;

/// Checks one job file.
///
/// # Errors
/// The file cannot be read, or its name makes no lock key.
pub fn one(connection: &Connection, flags: &Flags) -> Result<Exit, Failure> {
    files(
        connection,
        &[PathBuf::from(flags.job_file().unwrap_or_default())],
        flags.has("--strict"),
    )
}

/// Checks every job file of a folder, and how they depend on each other.
///
/// # Errors
/// As [`one`]; names or dependencies that do not fit together.
pub fn folder(connection: &Connection, flags: &Flags, folder: &Path) -> Result<Exit, Failure> {
    files(connection, &job_file::discover(folder)?, flags.has("--strict"))
}

fn files(connection: &Connection, paths: &[PathBuf], strict: bool) -> Result<Exit, Failure> {
    let profile = &connection.profile;
    let jobs = paths
        .iter()
        .map(|path| JobFile::read(path, profile, strict))
        .collect::<Result<Vec<_>, _>>()?;
    for job in &jobs {
        job.lock_key(profile)?;
    }
    let client = connection.client(&Use {
        read_only: true,
        ..Use::default()
    })?;
    let forms = FormCache::default();
    let mut exit = Exit::Done;
    for job in &jobs {
        let findings = findings(connection, &client, &forms, job);
        let errors = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .count();
        let warnings = findings.len() - errors;
        let verdict = match (errors, warnings) {
            (0, 0) => "OK".to_owned(),
            (0, _) => format!("OK (warnings {warnings})"),
            _ => format!("NG (errors {errors} / warnings {warnings})"),
        };
        connection
            .console
            .progress(format_args!("{}: {verdict}", job.file_name));
        for finding in &findings {
            connection
                .console
                .progress(job.finding_line(finding).put(|_, line| format!("  {line}")));
        }
        if errors > 0 {
            exit = Exit::Invalid;
        }
    }
    let nodes: Vec<graph::Node> = jobs.iter().map(JobFile::node).collect();
    if nodes.len() > 1 {
        graph::check(&nodes)?;
    }
    Ok(exit)
}

/// Findings of the script itself and, when it has no error, of its names and types in the apps.
pub fn findings(
    connection: &Connection,
    client: &Client,
    forms: &FormCache,
    job: &JobFile,
) -> Vec<Diagnostic> {
    let mut findings = job.script.diagnostics.clone();
    if job.script.has_errors() {
        return findings;
    }
    let profile = &connection.profile;
    let remote = Remote::new(client, profile, forms);
    let as_of = RunInstant::start(host::now(), profile.zone.clone());
    let mut session = Session::new(&remote, engine::settings(profile, &as_of), &Unobserved);
    match session.check(&job.script) {
        Ok(more) => findings.extend(more),
        Err(error) => findings.push(Diagnostic {
            severity: Severity::Error,
            code: code::LEXICAL,
            message: engine::failure_of(&error).message,
            hint: None,
            token: None,
            line: 1,
            column: 1,
        }),
    }
    findings
}
