//! `--dry-run`: what would be written, against the records as they are (RNR-100..102, RNR-14).

mod report;

use std::path::Path;

use serde_json::{Value, json};

use self::report::{Gate, Report};
use super::command::Flags;
use super::connection::{Connection, Use};
use super::engine;
use super::file_flags;
use super::graph::Node;
use super::host;
use super::imports::{self, Imports};
use super::job_file::JobFile;
use super::journal::{Event, Journal};
use super::remote::{FormCache, Remote};
use super::run_all;
use super::validate;
use super::verdict::{Exit, Failure, ResultCode, preview_exit};
use super::workplace::RunOptions;
use crate::flow::exec::{DryRun, OutcomeKind, Session, StatementOutcome, Unobserved};
use crate::flow::script::Statement;
use crate::flow::sql::message::{Message, say};
use crate::kintone::Client;
use crate::language::{Text, text};

/// Samples per job: default and ceiling of `--sample`.
const DEFAULT_SAMPLES: usize = 5;
const MAX_SAMPLES: usize = 50;
/// Why the preview of a batch is only an approximation.
const BATCH_WARNING: Text = text(
    "each job is previewed against the records as they are now; what earlier jobs of the batch would write is not simulated",
    "各ジョブは現在のレコードに対してプレビューされます。バッチ内の先のジョブが書き込む内容は反映されません",
);

/// Previews one job.
///
/// # Errors
/// The job file or a flag cannot be read.
pub fn run(connection: &Connection, flags: &Flags) -> Result<Exit, Failure> {
    let path = Path::new(flags.job_file().unwrap_or_default());
    let job = JobFile::read(path, &connection.profile, flags.has("--strict"))?;
    job.lock_key(&connection.profile)?;
    let supplied = file_flags::imports(flags, false).map_err(Failure::invalid)?;
    let imports = if job.script.has_errors() {
        Imports::default()
    } else {
        Imports::load(&job.script, &supplied)?
    };
    for name in &imports.unused {
        connection.console.warn(imports::unused(name));
    }
    let batch = Rehearsal::prepare(connection, flags)?;
    let report = batch.job(&job, &imports);
    if flags.has("--json") {
        connection.console.machine(report.to_json());
    } else {
        report.print(&connection.console);
    }
    Ok(report.exit())
}

/// Previews the selected jobs of a folder.
///
/// # Errors
/// The selection cannot be made.
pub fn run_all(
    connection: &Connection,
    flags: &Flags,
    jobs: &[JobFile],
    nodes: &[Node],
) -> Result<Exit, Failure> {
    let mut batch = Rehearsal::prepare(connection, flags)?;
    let log = if flags.has("--resume") || flags.has("--resume-batch") {
        connection.log_app(&batch.client)?.map(|(log, _)| log)
    } else {
        None
    };
    let chosen = run_all::select(connection, flags, log.as_ref(), nodes, &batch.options.as_of)?;
    batch.options.as_of = chosen.as_of;
    let selected = chosen.selection.apply(nodes)?;
    if !flags.has("--json") {
        connection
            .console
            .progress(Message::new(BATCH_WARNING.en, BATCH_WARNING.ja));
    }
    let mut reports = Vec::new();
    for (job, _) in jobs.iter().zip(&selected).filter(|(_, selected)| **selected) {
        let report = batch.job(job, &Imports::default());
        if !flags.has("--json") {
            report.print(&connection.console);
        }
        reports.push(report);
    }
    let exits: Vec<Exit> = reports.iter().map(Report::exit).collect();
    let exit = preview_exit(&exits);
    if flags.has("--json") {
        let jobs: Vec<Value> = reports.iter().map(Report::to_json).collect();
        connection.console.machine(json!({
            "formatVersion": 1,
            "kind": "DRY_RUN_BATCH",
            "warning": BATCH_WARNING.en,
            "exitCode": exit.code(),
            "jobs": jobs,
        }));
    }
    Ok(exit)
}

/// What the previews of one process share.
struct Rehearsal<'a> {
    connection: &'a Connection,
    client: Client,
    forms: FormCache,
    options: RunOptions,
    /// The number of samples, or why the flag is wrong: that is part of the report (RNR-05).
    samples: Result<usize, Failure>,
    journal: Journal,
}

impl<'a> Rehearsal<'a> {
    fn prepare(connection: &'a Connection, flags: &Flags) -> Result<Self, Failure> {
        let options = RunOptions::read(flags, &connection.profile)?;
        let client = connection.client(&Use {
            max_api_calls: options.max_api_calls,
            read_only: true,
            stop: None,
        })?;
        let journal = connection.journal(&host::uuid()?, None);
        let samples = sample_limit(flags.value("--sample"));
        Ok(Self {
            connection,
            client,
            forms: FormCache::default(),
            options,
            samples,
            journal,
        })
    }

    /// Previews one job; what goes wrong is part of the report.
    fn job(&self, job: &JobFile, imports: &Imports) -> Report {
        let profile = &self.connection.profile;
        let limit = self.samples.as_ref().map_or(DEFAULT_SAMPLES, |limit| *limit);
        let mut report = Report::new(&job.file_name, profile, &self.options.as_of.text, limit);
        if let Err(failure) = &self.samples {
            report.fail(failure, false, &self.connection.masker);
        } else {
            self.rehearse(job, imports, limit, &mut report);
        }
        self.journal.write(Event::DryRunFinish, report.to_json());
        report
    }

    fn rehearse(&self, job: &JobFile, imports: &Imports, limit: usize, report: &mut Report) {
        let profile = &self.connection.profile;
        let before = self.calls();
        let findings = validate::findings(self.connection, &self.client, &self.forms, job);
        report.read_calls += self.calls() - before;
        if let Some(failure) = job.refusal_by(&findings) {
            report.fail(&failure, false, &self.connection.masker);
            return;
        }
        if let Err(failure) = imports.check(&job.script) {
            report.fail(&failure, false, &self.connection.masker);
            return;
        }
        let remote = Remote::new(&self.client, profile, &self.forms);
        let mut settings = engine::settings(profile, &self.options.as_of);
        settings.dry_run = Some(DryRun { samples: limit });
        settings.imports = imports.sources();
        let mut session = Session::new(&remote, settings, &Unobserved);
        for statement in &job.script.statements {
            let before = self.calls();
            let result = session.run(statement);
            let calls = self.calls() - before;
            if statement.kind.writes() {
                report.preview_calls += calls;
            } else {
                report.read_calls += calls;
                report.records_read += session.rows_read();
            }
            match result {
                Ok(outcome) => {
                    self.note(job, statement, &outcome, calls, report);
                    if let OutcomeKind::ExitTaken(message) = &outcome.kind {
                        report.end_at(Gate::Exit, Message::verbatim(message));
                        return;
                    }
                }
                Err(error) => {
                    let failure = engine::failure_of(&error);
                    if failure.code == ResultCode::AssertFailed {
                        report.end_at(Gate::Assert, self.connection.masker.failure(&failure));
                    } else {
                        report.fail(&failure, true, &self.connection.masker);
                    }
                    return;
                }
            }
        }
    }

    fn note(
        &self,
        job: &JobFile,
        statement: &Statement,
        outcome: &StatementOutcome,
        calls: u64,
        report: &mut Report,
    ) {
        for warning in &outcome.warnings {
            self.connection
                .console
                .warn(warning.put(|_, text| format!("#{}: {text}", statement.index + 1)));
        }
        if let Some(preview) = &outcome.preview {
            let entry = report.add(preview, &self.connection.masker);
            self.journal.write(
                Event::DryRunPreview,
                json!({
                    "job": job.name,
                    "operation": preview.operation,
                    "appId": preview.app.0,
                    "counts": report::counts(&preview.counts),
                    "reads": {"records": outcome.rows_read, "apiCalls": calls},
                    "estimatedWrites": preview.estimated_writes,
                    "samples": entry,
                }),
            );
            return;
        }
        let (end, counts) = engine::end_of(statement.kind, outcome);
        self.journal.write(
            Event::DryRunStatement,
            json!({
                "job": job.name,
                "type": statement.kind.as_str(),
                "status": end.status(),
                "kind": end.kind(),
                "readCount": counts.read,
            }),
        );
    }

    fn calls(&self) -> u64 {
        self.client.requests().total
    }
}

fn sample_limit(flag: Option<&str>) -> Result<usize, Failure> {
    let Some(text) = flag else {
        return Ok(DEFAULT_SAMPLES);
    };
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    text.parse()
        .ok()
        .filter(|limit| digits && (1..=MAX_SAMPLES).contains(limit))
        .ok_or_else(|| {
            Failure::invalid(say!(
                "--sample {text:?}: must be a whole number from 1 to {MAX_SAMPLES}",
                "--sample {text:?}: 1 から {MAX_SAMPLES} までの整数を指定してください"
            ))
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sample_limits_are_one_to_fifty() {
        assert_eq!(sample_limit(None), Ok(5));
        assert_eq!(sample_limit(Some("50")), Ok(50));
        for bad in ["0", "51", "-1", "+5", "1.5", "", "x"] {
            assert!(sample_limit(Some(bad)).is_err(), "{bad}");
        }
    }
}
