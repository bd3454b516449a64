//! One job from lock to final record (RNR-70..77): the same for `run` and for each job of `run-all`.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::json;

use super::command::Orchestration;
use super::engine::{self, Boundary, Watch};
use super::exports;
use super::file_flags::Exports;
use super::host;
use super::imports::Imports;
use super::job_file::JobFile;
use super::job_lock::{self, HeldLock};
use super::job_record::{Closing, Opening, RecordType};
use super::journal::Event;
use super::log_app::LogRecord;
use super::recorder::{self, CheckpointTarget, Recorder, StatementCounts, StatementEnd, StatementName};
use super::remote::Remote;
use super::result::Effects;
use super::start_mark;
use super::verdict::{Failure, JobStatus, ResultCode};
use super::workplace::Workplace;
use crate::flow::csv::OutputReceipt;
use crate::flow::exec::{Estimate, Imported, Interrupt, Session};
use crate::flow::sql::diagnostic::Severity;
use crate::flow::sql::message::{Language, Message, say};

/// Requests of one job for its lock and its record in the log app, while nothing goes wrong: the fields of the app, who
/// holds the lock, the lock, the final record.
const LOG_REQUESTS: u64 = 4;
/// The start mark, which a start for an orchestrator stores (RNR-76).
const START_MARK_REQUESTS: u64 = 1;

/// Requests for lock and log of a job that sends so many write requests: checkpoints come with them (RNR-72). Whether an
/// orchestrator starts it, and asks for the start mark, is not known before.
pub fn log_requests(writes: Estimate) -> Estimate {
    Estimate {
        least: LOG_REQUESTS + recorder::checkpoints(writes.least),
        // Time brings checkpoints too.
        most: writes
            .exact()
            .filter(|writes| *writes == 0)
            .map(|_| LOG_REQUESTS + START_MARK_REQUESTS),
    }
}

/// Ids of one job execution.
pub struct Identity<'a> {
    /// Session id of the job.
    pub batch_id: &'a str,
    /// Session id of the batch; empty for a single run.
    pub parent_batch_id: &'a str,
    /// Lock key.
    pub job_key: &'a str,
    /// The orchestrator's ids.
    pub orchestration: Option<&'a Orchestration>,
    /// Files to read.
    pub imports: &'a Imports,
    /// Files to write after success.
    pub exports: Option<&'a Exports>,
    /// Requests of the process that do not count as the job's.
    pub calls_before: u64,
}

/// How a job ended.
#[derive(Debug)]
pub struct JobEnd {
    /// Success kind, or why not.
    pub outcome: Result<ResultCode, Failure>,
    /// What it did.
    pub effects: Effects,
    /// Its requests.
    pub api_calls: u64,
    /// When its first statement was about to run; `None` = nothing ran.
    pub started: Option<Timestamp>,
    /// End.
    pub finished: Timestamp,
    /// Import files that were decoded.
    pub imported: Vec<Imported>,
    /// Receipts of written export files.
    pub outputs: Vec<OutputReceipt>,
}

impl JobEnd {
    /// A job that ended before its first statement.
    pub fn not_started(failure: Failure) -> Self {
        Self {
            outcome: Err(failure),
            effects: Effects::default(),
            api_calls: 0,
            started: None,
            finished: host::now(),
            imported: Vec::new(),
            outputs: Vec::new(),
        }
    }

    /// The row of the verdict table.
    pub fn code(&self) -> ResultCode {
        match &self.outcome {
            Ok(code) => *code,
            Err(failure) => failure.code,
        }
    }

    /// Status for the log app.
    pub fn status(&self) -> JobStatus {
        self.code().job_status()
    }
}

/// Takes the job's lock, runs its statements, writes its final record.
pub fn execute(place: &Workplace<'_>, job: &JobFile, identity: &Identity<'_>) -> JobEnd {
    if let Some(failure) = job.refusal() {
        return JobEnd::not_started(failure);
    }
    if let Err(failure) = identity.imports.check(&job.script) {
        return JobEnd::not_started(failure);
    }
    let began = host::now();
    let opening = Opening {
        record_type: RecordType::Job,
        batch_id: identity.batch_id,
        parent_batch_id: identity.parent_batch_id,
        script_name: &job.file_name,
        profile: &place.connection.profile.name,
        as_of: &place.as_of,
        started: began,
        host: &place.host,
        git_ref: &place.git_ref,
    };
    let record = opening.running(identity.job_key, identity.orchestration, &job.name);
    let lock = match take_lock(place, &record, began) {
        Ok(lock) => lock,
        Err(failure) => return JobEnd::not_started(failure),
    };
    place.journal.write(
        Event::JobStart,
        json!({
            "job": job.name,
            "file": job.file_name,
            "batchId": identity.batch_id,
            "parentBatchId": identity.parent_batch_id,
            "asOf": place.as_of.text,
            "jobKey": identity.job_key,
        }),
    );
    let running = Running {
        place,
        job,
        identity,
        lock: lock.as_ref(),
        began,
    };
    let end = running.run();
    let record = lock.map_or_else(
        || Message::verbatim(""),
        |lock| {
            let id = lock.record_id;
            say!(", log record {id}", "、ログのレコード {id}")
        },
    );
    let (name, status, calls) = (&job.name, end.status(), end.api_calls);
    let Effects { read, written, .. } = end.effects;
    place
        .connection
        .console
        .progress(record.put(|language, record| match language {
            Language::English => {
                format!("{name}: {status} (read {read}, written {written}, requests {calls}{record})")
            }
            Language::Japanese => {
                format!("{name}: {status} (読み取り {read}、書き込み {written}、リクエスト {calls}{record})")
            }
        }));
    end
}

/// Takes the lock in the log app; `None` under `--lock local-only` when that is not possible (RNR-51, RNR-52).
///
/// # Errors
/// As [`job_lock::acquire`].
pub fn take_lock(
    place: &Workplace<'_>,
    record: &LogRecord,
    now: Timestamp,
) -> Result<Option<HeldLock>, Failure> {
    let Some(log) = &place.log else { return Ok(None) };
    let (journal, console) = (&place.journal, &place.connection.console);
    let stale_after = place.connection.profile.limits.batch_timeout_sec;
    match job_lock::acquire(log, record, now, stale_after, journal, console) {
        Ok(lock) => Ok(Some(lock)),
        Err(failure) if failure.code == ResultCode::LockUnavailable && place.local_only => {
            let going_on = say!(
                "going on with the local lock only",
                "ローカルロックだけで続行します"
            );
            console.warn(failure.message.joined(" - ", &going_on));
            journal.write(
                Event::LockLocalOnly,
                json!({"error": failure.message.to_string()}),
            );
            Ok(None)
        }
        Err(failure) if failure.code == ResultCode::LockUnavailable => Err(failure.nothing_was_run()),
        Err(failure) => Err(failure),
    }
}

/// What a job did with files.
#[derive(Default)]
struct Files {
    imported: Vec<Imported>,
    outputs: Vec<OutputReceipt>,
}

/// A job that holds its lock.
struct Running<'a> {
    place: &'a Workplace<'a>,
    job: &'a JobFile,
    identity: &'a Identity<'a>,
    lock: Option<&'a HeldLock>,
    began: Timestamp,
}

impl Running<'_> {
    fn run(&self) -> JobEnd {
        let connection = self.place.connection;
        let checkpoints = self
            .place
            .log
            .as_ref()
            .zip(self.lock)
            .map(|(log, lock)| CheckpointTarget {
                log,
                record_id: lock.record_id,
            });
        let mut recorder = Recorder::new(
            &self.job.name,
            &self.place.client,
            &self.place.journal,
            &connection.console,
            &connection.masker,
            checkpoints,
            self.identity.calls_before,
        );
        let boundary = Boundary {
            cancellation: &self.place.cancellation,
            deadline: self.deadline(),
        };
        let watch = Watch::new(&mut recorder, boundary);
        let mut files = Files::default();
        let remote = Remote::new(&self.place.client, &connection.profile, &self.place.forms);
        let mut settings = engine::settings(&connection.profile, &self.place.as_of);
        settings.imports = self.identity.imports.sources();
        let mut session = Session::new(&remote, settings, &watch);
        let (started, outcome) = match self.check(&mut session).and_then(|()| self.start()) {
            Ok(started) => (Some(started), self.statements(&mut session, &watch, &mut files)),
            Err(failure) => (None, Err(failure)),
        };
        let outcome = self.settle(outcome, started.is_some(), &watch.boundary);
        // What is written from here on gives the lock back: it gets all the patience there is.
        self.place.cancellation.be_patient();
        let mut end = JobEnd {
            outcome,
            effects: recorder.effects(),
            api_calls: recorder.api_calls(),
            started,
            finished: host::now(),
            imported: files.imported,
            outputs: files.outputs,
        };
        let error = self.close(&end, recorder.detail());
        end.api_calls = recorder.api_calls();
        self.note_end(&end, &error);
        end
    }

    /// The nearer of the job's own limit and the batch's (RNR-74).
    fn deadline(&self) -> (Instant, &'static str) {
        let batch = (self.place.batch_deadline, "limits.batchTimeoutSec");
        let own = self.job.script.header.timeout.and_then(|seconds| {
            Instant::now()
                .checked_add(Duration::from_secs(seconds))
                .map(|at| (at, "@ksql timeout"))
        });
        own.filter(|own| own.0 < batch.0).unwrap_or(batch)
    }

    /// Binds every statement to the forms before the first one runs: a script whose later statement cannot work writes
    /// nothing at all (LNG-10). The forms are kept for the run.
    fn check(&self, session: &mut Session<'_>) -> Result<(), Failure> {
        let console = &self.place.connection.console;
        let mut findings = self.job.script.diagnostics.clone();
        let found = session
            .check(&self.job.script)
            .map_err(|error| engine::failure_of(&error))?;
        // Its warnings are told by their statements when these run.
        findings.extend(
            found
                .into_iter()
                .filter(|finding| finding.severity == Severity::Error),
        );
        let (errors, warnings): (Vec<_>, Vec<_>) = findings
            .into_iter()
            .partition(|finding| finding.severity == Severity::Error);
        for warning in &warnings {
            console.warn(self.job.finding_line(warning));
        }
        // The first error is told as the end of the job.
        for error in errors.iter().skip(1) {
            console.error(self.job.finding_line(error));
        }
        self.job.refusal_by(&errors).map_or(Ok(()), Err)
    }

    /// The instant that the first statement is about to run; stored first when an orchestrator asks.
    fn start(&self) -> Result<Timestamp, Failure> {
        let at = host::now();
        if let (Some(_), Some(log), Some(lock)) = (self.identity.orchestration, &self.place.log, self.lock) {
            start_mark::store(log, lock, at, &self.place.journal)?;
        }
        Ok(at)
    }

    fn statements(
        &self,
        session: &mut Session<'_>,
        watch: &Watch<'_, '_>,
        files: &mut Files,
    ) -> Result<ResultCode, Failure> {
        let mut outcome = Ok(ResultCode::Ok);
        let mut skip = None;
        let mut rows = None;
        for statement in &self.job.script.statements {
            let name = StatementName {
                index: statement.index + 1,
                verb: statement.kind.as_str(),
                sql: &statement.text,
            };
            if let Some(reason) = skip {
                watch.recorder().statement(
                    &name,
                    &StatementEnd::Skipped(reason),
                    &StatementCounts::default(),
                );
                continue;
            }
            let result = match watch.boundary.interrupt() {
                Some(interrupt) => Err(watch.boundary.failure(interrupt)),
                None => session
                    .run(statement)
                    .map_err(|error| watch.boundary.failure_of(&error)),
            };
            let (end, counts) = match result {
                Ok(outcome) => {
                    for warning in &outcome.warnings {
                        watch.recorder().warning(&name, warning);
                    }
                    let end = engine::end_of(statement.kind, &outcome);
                    rows = outcome.result;
                    end
                }
                Err(failure) => {
                    let text = self.place.connection.masker.failure(&failure);
                    let violated = failure.code == ResultCode::AssertFailed;
                    outcome = Err(failure);
                    let end = if violated {
                        StatementEnd::AssertViolation(text)
                    } else {
                        StatementEnd::Failed(text)
                    };
                    (
                        end,
                        StatementCounts {
                            read: session.rows_read(),
                            ..StatementCounts::default()
                        },
                    )
                }
            };
            watch.recorder().statement(&name, &end, &counts);
            match end {
                StatementEnd::Failed(_) | StatementEnd::AssertViolation(_) => skip = Some("error"),
                StatementEnd::ExitTaken(_) => {
                    outcome = Ok(ResultCode::NoData);
                    skip = Some("exit");
                }
                _ => {}
            }
        }
        files.imported = session.imported().to_vec();
        if let (Ok(_), Some(exports)) = (&outcome, self.identity.exports) {
            let committed = exports::write(exports, session, rows.as_ref())?;
            files.outputs = committed.receipts;
            if let Some(error) = committed.failure {
                return Err(Failure::new(ResultCode::InternalError, error.to_string()));
            }
        }
        outcome
    }

    /// cancelled > aborted > timeout > failed > no data (RNR-71). A signal or the deadline may also have shown itself
    /// as a request that was given up.
    fn settle(
        &self,
        outcome: Result<ResultCode, Failure>,
        started: bool,
        boundary: &Boundary<'_>,
    ) -> Result<ResultCode, Failure> {
        let failure = match outcome {
            Err(failure) if failure.code == ResultCode::LockUnavailable => return Err(failure),
            // "Nothing ran" is no longer true once the start is recorded (RNR-118).
            Err(failure) if started && failure.code == ResultCode::ValidationError => Failure {
                code: ResultCode::SqlError,
                ..failure
            },
            Err(failure) => failure,
            ok => return ok,
        };
        let remote = matches!(failure.code, ResultCode::ApiError | ResultCode::AuthError);
        match boundary.interrupt() {
            Some(Interrupt::Cancelled) => {
                if failure.code != ResultCode::Cancelled {
                    self.place.journal.write(
                        Event::CancelledWithError,
                        json!({
                            "job": self.job.name,
                            "error": self.place.connection.masker.failure(&failure).to_string(),
                        }),
                    );
                }
                Err(boundary.failure(Interrupt::Cancelled))
            }
            Some(Interrupt::TimedOut) if remote => {
                let late = boundary.failure(Interrupt::TimedOut);
                let last = failure.message.put(|language, text| match language {
                    Language::English => format!("last error: {text}"),
                    Language::Japanese => format!("最後のエラー: {text}"),
                });
                Err(Failure {
                    message: late.message.joined("; ", &last),
                    ..late
                })
            }
            _ => Err(failure),
        }
    }

    /// The final record; when it cannot be written, it is queued and the outcome stays (RNR-64). Gives the error text.
    fn close(&self, end: &JobEnd, detail: &str) -> String {
        let masker = &self.place.connection.masker;
        let error = match &end.outcome {
            Ok(_) => String::new(),
            Err(failure) => masker.failure(failure).to_string(),
        };
        if let (Some(log), Some(lock)) = (&self.place.log, self.lock) {
            let closing = Closing {
                status: end.status(),
                job_key: self.identity.job_key,
                started: self.began,
                finished: end.finished,
                effects: &end.effects,
                // The request that carries this number is one more (RNR-33).
                api_calls: end.api_calls + 1,
                error: &error,
                detail,
            };
            self.place.update_or_queue(log, lock.record_id, &closing.record());
        }
        error
    }

    fn note_end(&self, end: &JobEnd, error: &str) {
        self.place.journal.write(
            Event::JobFinish,
            json!({
                "job": self.job.name,
                "status": end.status().word(),
                "exitCode": end.code().exit().code(),
                "readCount": end.effects.read,
                "writtenCount": end.effects.written,
                "deletedCount": end.effects.deleted,
                "apiCalls": end.api_calls,
                "error": if error.is_empty() { json!(null) } else { json!(error) },
            }),
        );
    }
}
