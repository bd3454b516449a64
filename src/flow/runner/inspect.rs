//! `inspect-job`: what a job file says about itself, without a request (RNR-119).

use std::path::Path;

use serde_json::{Value, json};

use super::command::Flags;
use super::connection::Connection;
use super::job_file::JobFile;
use super::verdict::{Exit, Failure};
use crate::flow::sql::diagnostic::{Diagnostic, Severity, code};

/// Prints the inspection. Errors in the SQL are part of it and no reason to fail.
///
/// # Errors
/// The job file cannot be read.
pub fn inspect_job(connection: &Connection, flags: &Flags) -> Result<Exit, Failure> {
    let path = Path::new(flags.job_file().unwrap_or_default());
    let job = JobFile::read(path, &connection.profile, false)?;
    let header = &job.script.header;
    let findings = &job.script.diagnostics;
    connection.console.machine(json!({
        "formatVersion": 1,
        "kind": "JOB_INSPECTION",
        "jobId": job.name,
        "fileName": job.file_name,
        "dialect": header.dialect,
        "statementCount": job.script.statements.len(),
        "dependsOn": header.depends_on,
        "timeoutSec": header.timeout,
        "diagnostics": findings.iter().map(entry).collect::<Vec<_>>(),
        "nondeterministicElements":
            findings.iter().filter(|finding| finding.code == code::SERVER_TIME).map(entry).collect::<Vec<_>>(),
    }));
    Ok(Exit::Done)
}

fn entry(finding: &Diagnostic) -> Value {
    json!({
        "code": finding.code,
        "severity": match finding.severity { Severity::Error => "error", Severity::Warning => "warning" },
        "line": finding.line,
        "column": finding.column,
        "message": finding.message.to_string(),
    })
}
