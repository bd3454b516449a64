//! `run`: one job file, alone or for an orchestrator (RNR-70, RNR-116..118).

use std::path::{Path, PathBuf};

use serde_json::json;

use super::as_of::{self};
use super::command::{Flags, Invocation, Orchestration, UsageError};
use super::config::Secrets;
use super::connection::Connection;
use super::console::Console;
use super::dry_run;
use super::execution::{self, Identity, JobEnd};
use super::exports;
use super::file_flags::{self, Exports};
use super::host;
use super::imports::{self, Imports};
use super::job_file::JobFile;
use super::journal::Event;
use super::mask::Masker;
use super::notify::{Ending, JobLine};
use super::result::{self, Effects, Execution};
use super::verdict::{Exit, Failure, ResultCode};
use super::workplace::{RunOptions, Workplace};
use crate::flow::sql::message::say;

/// What a result says about a profile that was never read.
const UNKNOWN_PROFILE: &str = "-";

/// Runs the command.
pub fn run(invocation: &Invocation) -> Exit {
    let flags = &invocation.flags;
    let orchestration = invocation.orchestration();
    let connection = match Connection::open(flags, Secrets::Resolve) {
        Ok(connection) => connection,
        Err(failure) => {
            let console = Console::default();
            console.error(&failure);
            if let Some(ids) = &orchestration {
                let profile = flags.value("--profile");
                answer_unread(ids, profile, flags.value("--as-of"), &failure, &console);
            }
            return failure.exit();
        }
    };
    if flags.has("--dry-run") {
        return dry_run::run(&connection, flags).unwrap_or_else(|failure| {
            connection.console.error(connection.masker.failure(&failure));
            failure.exit()
        });
    }
    Single {
        connection: &connection,
        flags,
        orchestration: orchestration.as_ref(),
    }
    .run()
}

/// Answers an orchestrator whose arguments were wrong (RNR-06).
pub fn answer_usage_error(ids: &Orchestration, error: &UsageError, console: &Console) {
    let failure = Failure::invalid(error.message.clone());
    answer_unread(
        ids,
        error.profile.as_deref(),
        error.as_of.as_deref(),
        &failure,
        console,
    );
}

/// A result for a run whose configuration was never read.
fn answer_unread(
    ids: &Orchestration,
    profile: Option<&str>,
    as_of: Option<&str>,
    failure: &Failure,
    console: &Console,
) {
    let as_of = as_of.and_then(as_of::reportable);
    let execution = Execution {
        orchestration: ids,
        execution_id: &host::uuid().unwrap_or_else(|_| ids.attempt_id.clone()),
        job_id: &ids.expected_job_id,
        profile: profile.filter(|name| !name.is_empty()).unwrap_or(UNKNOWN_PROFILE),
        as_of: as_of.as_deref(),
        started: None,
        finished: host::now(),
        outcome: Err(failure),
        effects: &Effects::default(),
        api_calls: 0,
        inputs: None,
        outputs: None,
    };
    result::deliver(&execution.to_json(&Masker::default()), &ids.result_json, console);
}

/// One run.
struct Single<'a> {
    connection: &'a Connection,
    flags: &'a Flags,
    orchestration: Option<&'a Orchestration>,
}

/// What is known once the arguments and the job file were read.
struct Prepared {
    job: JobFile,
    job_key: String,
    options: RunOptions,
    imports: Imports,
    exports: Option<Exports>,
}

impl Single<'_> {
    fn run(&self) -> Exit {
        let execution_id = match host::uuid() {
            Ok(id) => id,
            Err(failure) => {
                self.connection.console.error(&failure);
                return failure.exit();
            }
        };
        let prepared = self.prepare();
        let exporting = self.flags.has("--export-csv");
        let importing = self.flags.has("--import-csv") || self.flags.has("--import-json");
        let mut inputs = Vec::new();
        let (end, as_of, job_id) = match prepared {
            Ok(prepared) => {
                let end = self
                    .perform(&prepared, &execution_id)
                    .unwrap_or_else(JobEnd::not_started);
                inputs = prepared.imports.receipts(&end.imported);
                (end, Some(prepared.options.as_of.text), prepared.job.name)
            }
            Err(failure) => {
                let as_of = self.flags.value("--as-of").and_then(as_of::reportable);
                let expected = self.orchestration.map(|ids| ids.expected_job_id.clone());
                (JobEnd::not_started(failure), as_of, expected.unwrap_or_default())
            }
        };
        if let Err(failure) = &end.outcome {
            let message = self.connection.masker.failure(failure);
            let code = format!("[{}]", failure.detail);
            self.connection.console.error(message.put(|_, text| {
                // Findings about a script carry their code already.
                if text.contains(&code) {
                    text.to_owned()
                } else {
                    format!("{text} {code}")
                }
            }));
            if end.effects.written > 0 && failure.code != ResultCode::AssertFailed {
                self.connection.console.error(say!(
                    "what was written stays written; a job whose writes are keyed (UPSERT, MERGE) can simply be run again",
                    "書き込んだものは残ります。書き込みがすべてキー付き (UPSERT、MERGE) のジョブは、そのまま再実行できます"
                ));
            }
        }
        if let Some(ids) = self.orchestration {
            let execution = Execution {
                orchestration: ids,
                execution_id: &execution_id,
                job_id: &job_id,
                profile: &self.connection.profile.name,
                as_of: as_of.as_deref(),
                started: end.started,
                finished: end.finished,
                outcome: end.outcome.as_ref().copied(),
                effects: &end.effects,
                api_calls: end.api_calls,
                inputs: importing.then_some(inputs.as_slice()),
                outputs: exporting.then_some(end.outputs.as_slice()),
            };
            let text = execution.to_json(&self.connection.masker);
            result::deliver(&text, &ids.result_json, &self.connection.console);
        }
        end.code().exit()
    }

    fn prepare(&self) -> Result<Prepared, Failure> {
        let path = PathBuf::from(self.flags.job_file().unwrap_or_default());
        let job = JobFile::read(&path, &self.connection.profile, self.flags.has("--strict"))?;
        if let Some(ids) = self.orchestration
            && ids.expected_job_id != job.name
        {
            let (file, name, expected) = (&job.file_name, &job.name, &ids.expected_job_id);
            return Err(Failure::invalid(say!(
                "{file} is the job {name:?}, expected was {expected:?}",
                "{file} はジョブ {name:?} です。期待されたのは {expected:?} です"
            )));
        }
        let job_key = job.lock_key(&self.connection.profile)?;
        let options = RunOptions::read(self.flags, &self.connection.profile)?;
        let supplied =
            file_flags::imports(self.flags, self.orchestration.is_some()).map_err(Failure::invalid)?;
        let exports = file_flags::exports(self.flags).map_err(Failure::invalid)?;
        let mut imports = Imports::default();
        // What is wrong with the script is told first.
        if !job.script.has_errors() {
            imports = Imports::load(&job.script, &supplied)?;
            if let Some(exports) = &exports {
                exports::check(&job.script, exports)?;
                exports::preflight(exports)?;
            }
        }
        Ok(Prepared {
            job,
            job_key,
            options,
            imports,
            exports,
        })
    }

    /// # Errors
    /// What keeps the job from being attempted at all.
    fn perform(&self, prepared: &Prepared, execution_id: &str) -> Result<JobEnd, Failure> {
        let (connection, job) = (self.connection, &prepared.job);
        let folder = job.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let place = Workplace::begin(
            connection,
            self.flags,
            &prepared.options,
            execution_id,
            self.orchestration,
            folder.unwrap_or(Path::new(".")),
        )?;
        if !place.local_only {
            place.resend();
        }
        for name in &prepared.imports.unused {
            connection.console.warn(imports::unused(name));
            place
                .journal
                .write(Event::UnusedImportSource, json!({"name": name}));
        }
        connection
            .console
            .progress(as_of::line(&job.name, &place.as_of.text));
        let identity = Identity {
            batch_id: execution_id,
            parent_batch_id: "",
            job_key: &prepared.job_key,
            orchestration: self.orchestration,
            imports: &prepared.imports,
            exports: prepared.exports.as_ref(),
            calls_before: 0,
        };
        let end = execution::execute(&place, job, &identity);
        connection.warn_of_budget(&place.client);
        // The lock on this host is given back before anybody is told.
        drop(place);
        self.announce(job, &end, execution_id, &prepared.options.as_of.text);
        Ok(end)
    }

    /// Nobody is told about a run that another one kept from starting (RNR-115).
    fn announce(&self, job: &JobFile, end: &JobEnd, batch_id: &str, as_of: &str) {
        if matches!(end.code(), ResultCode::LockConflict | ResultCode::LockUnavailable) {
            return;
        }
        let error = end
            .outcome
            .as_ref()
            .err()
            .map(|failure| self.connection.masker.failure(failure).to_string());
        let ending = Ending {
            kind: "job",
            batch_id,
            status: end.status(),
            exit: end.code().exit(),
            as_of,
            jobs: vec![JobLine {
                name: &job.name,
                script: &job.file_name,
                status: end.status(),
                error: error.as_deref(),
            }],
        };
        ending.announce(
            &self.connection.profile,
            &self.connection.masker,
            &self.connection.console,
        );
    }
}
