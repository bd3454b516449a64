//! `run`: one job file, alone or for an orchestrator (RNR-70, RNR-116..118).

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;

use super::as_of::{self, RunInstant};
use super::cancellation::Cancellation;
use super::command::{Flags, Invocation, Orchestration, UsageError};
use super::config::{Profile, Secrets};
use super::connection::{Connection, Use};
use super::console::Console;
use super::dry_run;
use super::execution::{self, Identity, JobEnd, Workplace};
use super::exports;
use super::file_flags::{self, Exports, ImportSource};
use super::host;
use super::job_file::JobFile;
use super::journal::{Event, Journal};
use super::local_lock::LocalLock;
use super::log_app::LogApp;
use super::mask::Masker;
use super::notify::{Ending, JobLine};
use super::pending::PendingQueue;
use super::remote::FormCache;
use super::result::{self, Effects, Execution};
use super::unlock::{self, Strictness};
use super::verdict::{Exit, Failure, ResultCode};
use crate::kintone::{self, Client};

/// Largest `--max-api-calls`: integers that every reader of JSON keeps exactly.
const MAX_SAFE_INTEGER: u64 = 9_007_199_254_740_991;
/// What a result says about a profile that was never read.
const UNKNOWN_PROFILE: &str = "-";

/// Runs the command.
pub fn run(invocation: &Invocation) -> Exit {
    let flags = &invocation.flags;
    let orchestration = invocation.orchestration();
    let connection = match Connection::open(flags, Secrets::Resolve, orchestration.is_some()) {
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
            connection.console.error(&failure);
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

/// Flag values that are checked after the configuration was read (RNR-05).
pub struct RunOptions {
    /// `--max-api-calls`.
    pub max_api_calls: Option<u64>,
    /// `--lock local-only`.
    pub local_only: bool,
    /// Fixed instant.
    pub as_of: RunInstant,
    /// Whether `--as-of` was given.
    pub as_of_given: bool,
}

impl RunOptions {
    /// Reads the flags common to `run` and `run-all`.
    ///
    /// # Errors
    /// A value of the wrong form.
    pub fn read(flags: &Flags, profile: &Profile) -> Result<Self, Failure> {
        let max_api_calls = match flags.value("--max-api-calls") {
            None => None,
            Some(text) => {
                let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
                let number = text
                    .parse()
                    .ok()
                    .filter(|n| digits && (1..=MAX_SAFE_INTEGER).contains(n));
                Some(number.ok_or_else(|| {
                    Failure::invalid(format!(
                        "--max-api-calls {text:?}: must be a whole number above 0"
                    ))
                })?)
            }
        };
        let local_only = match flags.value("--lock") {
            None => false,
            Some("local-only") => true,
            Some(other) => {
                return Err(Failure::invalid(format!(
                    "--lock {other:?}: only local-only is known"
                )));
            }
        };
        let given = flags.value("--as-of");
        let as_of = match given {
            Some(text) => RunInstant::parse(text, &profile.zone)?,
            None => RunInstant::start(host::now(), profile.zone.clone()),
        };
        Ok(Self {
            max_api_calls,
            local_only,
            as_of,
            as_of_given: given.is_some(),
        })
    }
}

/// The log app for a run, or the reason why there is none (RNR-52, RNR-61).
///
/// # Errors
/// No log app without `--lock local-only`; its fields cannot be read, or are not enough, for an orchestrated run.
pub fn open_log(
    connection: &Connection,
    client: &Client,
    local_only: bool,
    orchestrated: bool,
) -> Result<Option<LogApp>, Failure> {
    if connection.profile.log_app.is_none() {
        if !local_only {
            return Err(Failure::invalid(format!(
                "the profile {} has no logApp, so that runs on two hosts could not be kept apart: configure one, or accept the risk with --lock local-only",
                connection.profile.name
            )));
        }
        connection
            .console
            .warn("no log app: only the local lock keeps other runs out, and nothing is recorded in kintone");
        return Ok(None);
    }
    let Some((log, error)) = connection.log_app(client)? else {
        return Ok(None);
    };
    if orchestrated {
        check_for_orchestration(&log, error)?;
    } else if let Some(error) = error {
        connection.console.warn(format_args!(
            "the fields of the log app could not be read: {error}"
        ));
    }
    Ok(Some(log))
}

fn check_for_orchestration(log: &LogApp, error: Option<kintone::Error>) -> Result<(), Failure> {
    if let Some(error) = error {
        return Err(Failure::lock_unavailable(format!(
            "the fields of the log app could not be read: {error}"
        )));
    }
    let missing = log.missing_for_orchestration();
    if missing.is_empty() {
        return Ok(());
    }
    Err(Failure::lock_unavailable(format!(
        "the log app lacks the fields {} (see validate --check-logapp)",
        missing.join(", ")
    )))
}

/// Sends what earlier runs could not write (RNR-81).
pub fn resend(queue: &PendingQueue, log: Option<&LogApp>, connection: &Connection, journal: &Journal) {
    let Some(log) = log else { return };
    let resent = queue.resend(log, &connection.console);
    if resent.sent > 0 {
        connection.console.progress(format_args!(
            "log-app writes of earlier runs sent: {}",
            resent.sent
        ));
        journal.write(Event::ResendDone, json!({"count": resent.sent}));
    }
    if let Some(error) = resent.stopped {
        connection.console.warn(format_args!(
            "log-app writes of earlier runs stay queued: {error}"
        ));
        journal.write(Event::ResendFailed, json!({"error": error}));
    }
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
    imports: Vec<ImportSource>,
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
        let (end, as_of, job_id) = match prepared {
            Ok(prepared) => {
                let end = self
                    .perform(&prepared, &execution_id)
                    .unwrap_or_else(JobEnd::not_started);
                (end, Some(prepared.options.as_of.text), prepared.job.name)
            }
            Err(failure) => {
                let as_of = self.flags.value("--as-of").and_then(as_of::reportable);
                let expected = self.orchestration.map(|ids| ids.expected_job_id.clone());
                (JobEnd::not_started(failure), as_of, expected.unwrap_or_default())
            }
        };
        if let Err(failure) = &end.outcome {
            let message = self.connection.masker.error(&failure.message, false);
            self.connection
                .console
                .error(format_args!("{message} [{}]", failure.detail));
            if end.started.is_some() && failure.code != ResultCode::AssertFailed {
                self.connection.console.error(
                    "what was written stays written; a job whose writes are keyed (UPSERT, MERGE) can simply be run again",
                );
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
                inputs: None,
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
            return Err(Failure::invalid(format!(
                "{} is the job {:?}, expected was {:?}",
                job.file_name, job.name, ids.expected_job_id
            )));
        }
        let job_key = job.lock_key(&self.connection.profile)?;
        let options = RunOptions::read(self.flags, &self.connection.profile)?;
        let imports =
            file_flags::imports(self.flags, self.orchestration.is_some()).map_err(Failure::invalid)?;
        let exports = file_flags::exports(self.flags).map_err(Failure::invalid)?;
        if let Some(exports) = exports.as_ref().filter(|_| !job.script.has_errors()) {
            exports::check(&job.script, exports)?;
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
        let (connection, job, options) = (self.connection, &prepared.job, &prepared.options);
        let profile = &connection.profile;
        let started = Instant::now();
        let host_label = host::label()?;
        let cancellation = Cancellation::on_signals()?;
        let client = connection.client(&Use {
            max_api_calls: options.max_api_calls,
            read_only: false,
            stop: Some(cancellation.hurry()),
        })?;
        let journal = connection.journal(execution_id, self.orchestration);
        let queue = PendingQueue::new(&profile.logging.local_dir);
        if profile.log_app.is_none() && !options.local_only {
            // Said before any request, with the words of the one place that knows them.
            open_log(
                connection,
                &client,
                options.local_only,
                self.orchestration.is_some(),
            )?;
        }
        if self.flags.has("--force-unlock") {
            let log = connection.log_app(&client)?.map(|(log, _)| log);
            unlock::release_all(connection, log.as_ref(), Strictness::Warn, &journal)?;
        }
        for source in &prepared.imports {
            // No statement of this version imports: whatever is supplied is not used (RNR-130).
            connection.console.warn(format_args!(
                "the import source {:?} is not used by the script",
                source.name
            ));
            journal.write(Event::UnusedImportSource, json!({"name": source.name}));
        }
        let stale_after = profile.limits.batch_timeout_sec;
        let local_lock = LocalLock::acquire(&profile.name, execution_id, host::now(), stale_after)?;
        let log = open_log(
            connection,
            &client,
            options.local_only,
            self.orchestration.is_some(),
        )?;
        if !options.local_only {
            resend(&queue, log.as_ref(), connection, &journal);
        }
        let folder = job.path.parent().filter(|parent| !parent.as_os_str().is_empty());
        let place = Workplace {
            connection,
            client: &client,
            forms: &FormCache::default(),
            log: log.as_ref(),
            queue: &queue,
            journal: &journal,
            as_of: &options.as_of,
            cancellation: &cancellation,
            batch_deadline: started + Duration::from_secs(stale_after),
            host: &host_label,
            git_ref: &host::git_ref(folder.unwrap_or(Path::new("."))),
            local_only: options.local_only,
        };
        connection
            .console
            .progress(format_args!("{}: as of {}", job.name, options.as_of.text));
        let identity = Identity {
            batch_id: execution_id,
            parent_batch_id: "",
            job_key: &prepared.job_key,
            orchestration: self.orchestration,
            exports: prepared.exports.as_ref(),
            calls_before: 0,
        };
        let end = execution::execute(&place, job, &identity);
        connection.warn_of_budget(&client);
        local_lock.release();
        self.announce(job, &end, execution_id, &options.as_of.text);
        Ok(end)
    }

    /// Nobody is told about a run that another one kept from starting (RNR-115).
    fn announce(&self, job: &JobFile, end: &JobEnd, batch_id: &str, as_of: &str) {
        if matches!(end.code(), ResultCode::LockConflict | ResultCode::LockUnavailable) {
            return;
        }
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
                error: end.outcome.as_ref().err().map(|failure| failure.message.as_str()),
            }],
        };
        ending.announce(
            &self.connection.profile,
            &self.connection.masker,
            &self.connection.console,
        );
    }
}
