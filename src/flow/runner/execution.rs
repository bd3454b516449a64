//! One job from lock to final record (RNR-70..77): the same for `run` and for each job of `run-all`.

use std::time::{Duration, Instant};

use jiff::Timestamp;
use serde_json::json;

use super::as_of::RunInstant;
use super::cancellation::Cancellation;
use super::command::Orchestration;
use super::connection::Connection;
use super::engine::{self, Boundary, Watch};
use super::exports;
use super::file_flags::Exports;
use super::host;
use super::job_file::JobFile;
use super::job_lock::{self, HeldLock};
use super::job_record::{self, Closing, Opening, RecordType};
use super::journal::{Event, Journal};
use super::log_app::{LogApp, LogRecord};
use super::pending::PendingQueue;
use super::recorder::{CheckpointTarget, Recorder, StatementCounts, StatementEnd, StatementName};
use super::remote::{FormCache, Remote};
use super::result::Effects;
use super::verdict::{Failure, JobStatus, ResultCode};
use crate::flow::calendar::instant_seconds;
use crate::flow::csv::OutputReceipt;
use crate::flow::exec::{Interrupt, Session};
use crate::kintone::{Client, Outcome};

/// How often the start mark is sent when its answer is lost and the record shows that it did not arrive.
const START_MARK_ATTEMPTS: u32 = 3;

/// What all jobs of one process share.
pub struct Workplace<'a> {
    /// Profile, masking, console.
    pub connection: &'a Connection,
    /// The REST client; counts every request.
    pub client: &'a Client,
    /// Forms read so far.
    pub forms: &'a FormCache,
    /// The log app; `None` under `--lock local-only` without one.
    pub log: Option<&'a LogApp>,
    /// Log-app writes for the next run.
    pub queue: &'a PendingQueue,
    /// JSONL.
    pub journal: &'a Journal,
    /// Fixed instant.
    pub as_of: &'a RunInstant,
    /// Signals.
    pub cancellation: &'a Cancellation,
    /// End of `batchTimeoutSec`.
    pub batch_deadline: Instant,
    /// Host label.
    pub host: &'a str,
    /// Commit of the job folder.
    pub git_ref: &'a str,
    /// Under `--lock local-only` the lock in the log app is wanted but not needed.
    pub local_only: bool,
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
    let began = host::now();
    let opening = Opening {
        record_type: RecordType::Job,
        batch_id: identity.batch_id,
        parent_batch_id: identity.parent_batch_id,
        script_name: &job.file_name,
        profile: &place.connection.profile.name,
        as_of: place.as_of,
        started: began,
        host: place.host,
        git_ref: place.git_ref,
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
    if let Some(lock) = &lock {
        place.connection.console.progress(format_args!(
            "{}: {} (read {}, written {}, requests {}, log record {})",
            job.name,
            end.status(),
            end.effects.read,
            end.effects.written,
            end.api_calls,
            lock.record_id
        ));
    } else {
        place.connection.console.progress(format_args!(
            "{}: {} (read {}, written {}, requests {})",
            job.name,
            end.status(),
            end.effects.read,
            end.effects.written,
            end.api_calls
        ));
    }
    end
}

/// RNR-51, RNR-52: no lock, no job, unless `--lock local-only` was given.
pub fn take_lock(
    place: &Workplace<'_>,
    record: &LogRecord,
    now: Timestamp,
) -> Result<Option<HeldLock>, Failure> {
    let Some(log) = place.log else { return Ok(None) };
    let (journal, console) = (place.journal, &place.connection.console);
    let stale_after = place.connection.profile.limits.batch_timeout_sec;
    match job_lock::acquire(log, record, now, stale_after, journal, console) {
        Ok(lock) => Ok(Some(lock)),
        Err(failure) if failure.code == ResultCode::LockUnavailable && place.local_only => {
            console.warn(format_args!("{failure} - going on with the local lock only"));
            journal.write(Event::LockLocalOnly, json!({"error": failure.message}));
            Ok(None)
        }
        Err(failure) => Err(failure),
    }
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
        let checkpoints = self.place.log.zip(self.lock).map(|(log, lock)| CheckpointTarget {
            log,
            record_id: lock.record_id,
        });
        let mut recorder = Recorder::new(
            &self.job.name,
            self.place.client,
            self.place.journal,
            &connection.console,
            &connection.masker,
            checkpoints,
            self.identity.calls_before,
        );
        let boundary = Boundary {
            cancellation: self.place.cancellation,
            deadline: self.deadline(),
        };
        let watch = Watch::new(&mut recorder, boundary);
        let mut outputs = Vec::new();
        let (started, outcome) = match self.mark_started() {
            Ok(started) => (Some(started), self.statements(&watch, &mut outputs)),
            Err(failure) => (None, Err(failure)),
        };
        let outcome = self.settle(outcome, &watch.boundary);
        // What is written from here on gives the lock back: it gets all the patience there is.
        self.place.cancellation.be_patient();
        let end = JobEnd {
            outcome,
            effects: recorder.effects(),
            api_calls: recorder.api_calls(),
            started,
            finished: host::now(),
            outputs,
        };
        self.close(&end, recorder.detail());
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

    /// Orchestrated runs store the start before the first statement (RNR-76). Without the mark nothing runs: the
    /// orchestrator relies on it to know what may have been executed.
    fn mark_started(&self) -> Result<Timestamp, Failure> {
        let at = host::now();
        let (Some(_), Some(log), Some(lock)) = (self.identity.orchestration, self.place.log, self.lock)
        else {
            return Ok(at);
        };
        let mark = job_record::execution_started(at);
        let stored = || {
            self.place
                .journal
                .write(Event::ExecutionStarted, json!({"at": instant_seconds(at)}));
            Ok(at)
        };
        for _ in 0..START_MARK_ATTEMPTS {
            let Err(error) = log.update(lock.record_id, Some(lock.revision), &mark) else {
                return stored();
            };
            let unavailable =
                |error| Failure::lock_unavailable(format!("the start could not be recorded: {error}"));
            if error.outcome() == Outcome::NotApplied {
                return Err(unavailable(error));
            }
            match log.start_mark(lock.record_id) {
                Ok((_, Some(mark))) if same_minute(&mark, at) => return stored(),
                // Not applied so far; sent again at the same revision, at most one of the two can be.
                Ok((revision, None)) if revision == lock.revision => {}
                _ => return Err(unavailable(error)),
            }
        }
        Err(Failure::lock_unavailable(
            "the start could not be recorded: no answer from the log app",
        ))
    }

    fn statements(
        &self,
        watch: &Watch<'_, '_>,
        outputs: &mut Vec<OutputReceipt>,
    ) -> Result<ResultCode, Failure> {
        let (client, profile) = (self.place.client, &self.place.connection.profile);
        let remote = Remote::new(client, profile, self.place.forms);
        let mut session = Session::new(&remote, engine::settings(profile, self.place.as_of), watch);
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
                        watch.recorder().warning(&name, &warning.to_string());
                    }
                    let end = engine::end_of(statement.kind, &outcome);
                    rows = outcome.result;
                    end
                }
                Err(failure) => {
                    let text = failure.message.clone();
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
        if let (Ok(_), Some(exports)) = (&outcome, self.identity.exports) {
            let committed = exports::write(exports, &session, rows.as_ref())?;
            *outputs = committed.receipts;
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
        boundary: &Boundary<'_>,
    ) -> Result<ResultCode, Failure> {
        let failure = match outcome {
            Err(failure) if failure.code == ResultCode::LockUnavailable => return Err(failure),
            // "Nothing ran" is no longer true once the start is recorded (RNR-118).
            Err(failure) if failure.code == ResultCode::ValidationError => Failure {
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
                        json!({"job": self.job.name, "error": failure.message}),
                    );
                }
                Err(boundary.failure(Interrupt::Cancelled))
            }
            Some(Interrupt::TimedOut) if remote => {
                let late = boundary.failure(Interrupt::TimedOut);
                Err(Failure {
                    message: format!("{late}; last error: {failure}"),
                    ..late
                })
            }
            _ => Err(failure),
        }
    }

    /// The final record; when it cannot be written, it is queued and the outcome stays (RNR-64).
    fn close(&self, end: &JobEnd, detail: &str) {
        let masker = &self.place.connection.masker;
        let error = match &end.outcome {
            Ok(_) => String::new(),
            Err(failure) => masker.error(&failure.message, failure.code == ResultCode::SqlError),
        };
        if let (Some(log), Some(lock)) = (self.place.log, self.lock) {
            let closing = Closing {
                status: end.status(),
                job_key: self.identity.job_key,
                started: self.began,
                finished: end.finished,
                effects: &end.effects,
                api_calls: end.api_calls,
                error: &error,
                detail,
            };
            self.place.update_or_queue(log, lock.record_id, &closing.record());
        }
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

impl Workplace<'_> {
    /// Writes a record that must not be lost: now, or in the next run (RNR-64).
    pub fn update_or_queue(&self, log: &LogApp, record_id: u64, record: &LogRecord) {
        if let Err(error) = log.update(record_id, None, record) {
            self.queue_write(Some(record_id), record, &error);
        }
    }

    /// Adds a record that must not be lost: now, or in the next run.
    pub fn insert_or_queue(&self, log: &LogApp, record: &LogRecord) {
        if let Err(error) = log.insert(record) {
            self.queue_write(None, record, &error);
        }
    }

    fn queue_write(&self, record_id: Option<u64>, record: &LogRecord, error: &crate::kintone::Error) {
        let console = &self.connection.console;
        self.journal.write(
            Event::LogappWriteFailed,
            json!({"recordId": record_id, "error": error.to_string()}),
        );
        match self.queue.add(record_id, record) {
            Ok(()) => console.warn(format_args!("{error} - kept for the next run")),
            Err(local) => console.warn(format_args!("{error} - and not kept for the next run: {local}")),
        }
    }
}

/// kintone stores the mark without its seconds (KTB-114).
fn same_minute(stored: &str, at: Timestamp) -> bool {
    const MINUTE: usize = "2026-08-01T00:00".len();
    let ours = instant_seconds(at);
    stored
        .get(..MINUTE)
        .is_some_and(|stored| Some(stored) == ours.get(..MINUTE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn start_marks_are_compared_by_the_minute() {
        let at: Timestamp = "2026-08-01T00:59:59.9Z".parse().expect("instant");
        assert!(same_minute("2026-08-01T00:59:00Z", at));
        assert!(!same_minute("2026-08-01T01:00:00Z", at));
        assert!(!same_minute("", at));
    }
}
