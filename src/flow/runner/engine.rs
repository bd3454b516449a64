//! The SQL engine inside a run: its settings, when it must stop, what it tells, how its errors count (RNR-11, RNR-74, RNR-77).

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::as_of::RunInstant;
use super::cancellation::Cancellation;
use super::config::Profile;
use super::recorder::{Recorder, StatementCounts, StatementEnd};
use super::verdict::{Failure, ResultCode};
use crate::flow::apps::Written;
use crate::flow::exec::{
    ChunkEvent, Config, EngineError, ErrorKind, Interrupt, Observer, OutcomeKind, StatementOutcome,
};
use crate::flow::script::StatementKind;
use crate::flow::sql::message::say;

/// When a job must stop.
pub struct Boundary<'a> {
    /// A signal.
    pub cancellation: &'a Cancellation,
    /// The time limit of the job, with the words that name it.
    pub deadline: (Instant, &'static str),
}

impl Boundary<'_> {
    /// Why nothing more may be sent.
    pub fn interrupt(&self) -> Option<Interrupt> {
        if self.cancellation.requested() {
            Some(Interrupt::Cancelled)
        } else if Instant::now() >= self.deadline.0 {
            Some(Interrupt::TimedOut)
        } else {
            None
        }
    }

    /// The interrupt as the end of a job.
    pub fn failure(&self, interrupt: Interrupt) -> Failure {
        match interrupt {
            Interrupt::Cancelled => Failure::new(
                ResultCode::Cancelled,
                say!(
                    "cancelled by a signal; what was written before stays written",
                    "シグナルにより中止しました。それまでに書き込んだものは残ります"
                ),
            ),
            Interrupt::TimedOut => {
                let limit = self.deadline.1;
                Failure::new(
                    ResultCode::ExecutionTimeout,
                    say!(
                        "the time limit is over ({limit}); what was written before stays written",
                        "制限時間に達しました ({limit})。それまでに書き込んだものは残ります"
                    ),
                )
            }
        }
    }

    /// An engine error as the end of a job.
    pub fn failure_of(&self, error: &EngineError) -> Failure {
        if let ErrorKind::Interrupted(interrupt) = error.kind() {
            return self.failure(interrupt);
        }
        failure_of(error)
    }
}

/// An engine error by RNR-11: requests by their own kind, everything else is the SQL's or the data's fault.
pub fn failure_of(error: &EngineError) -> Failure {
    if let Some(apps) = error.apps_error() {
        let mut failure = Failure::from(apps);
        if let Some(remark) = error.remark() {
            failure.message = failure.message.joined("; ", remark);
        }
        return failure;
    }
    let place = error
        .position()
        .map_or_else(String::new, |at| format!("{}:{}: ", at.line, at.column));
    let message = error.line().put(|_, line| format!("{place}{line}"));
    match error.kind() {
        ErrorKind::Assert => Failure::detailed(ResultCode::AssertFailed, "ASSERT_VIOLATION", message),
        _ => Failure::detailed(
            ResultCode::SqlError,
            error.code().unwrap_or(ResultCode::SqlError.word()),
            message,
        ),
    }
}

/// The engine's settings from the profile.
pub fn settings(profile: &Profile, as_of: &RunInstant) -> Config {
    let mut config = Config::new(as_of.as_of.clone(), profile.app_map.clone());
    config.max_read_rows = profile.limits.max_read_rows;
    config.max_temp_rows = profile.limits.max_temp_rows;
    config.requests_in_flight = profile.limits.requests_in_flight;
    config
}

/// Watches a job: notes what was written, and stops it in time.
pub struct Watch<'a, 'r> {
    recorder: Mutex<&'a mut Recorder<'r>>,
    /// When the job must stop.
    pub boundary: Boundary<'a>,
}

impl<'a, 'r> Watch<'a, 'r> {
    /// A watch that notes into a recorder.
    pub fn new(recorder: &'a mut Recorder<'r>, boundary: Boundary<'a>) -> Self {
        Self {
            recorder: Mutex::new(recorder),
            boundary,
        }
    }

    /// The recorder, between statements. What it holds is consistent after every call, so that a poisoned lock is none.
    pub fn recorder(&self) -> MutexGuard<'_, &'a mut Recorder<'r>> {
        self.recorder.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Watch<'_, '_> {
    fn interrupted(&self) -> Option<Interrupt> {
        self.boundary.interrupt()
    }

    fn chunk_written(&self, event: &ChunkEvent) {
        self.recorder().chunk(event);
    }
}

/// What a statement did, in the words of the logs.
pub fn end_of(kind: StatementKind, outcome: &StatementOutcome) -> (StatementEnd, StatementCounts) {
    let Written {
        inserted,
        updated,
        deleted,
    } = outcome.written;
    let written = inserted + updated + deleted;
    let counts = StatementCounts {
        rows: outcome.row_count.or(kind.writes().then_some(written)),
        read: outcome.rows_read,
        written,
        deleted,
    };
    let end = match &outcome.kind {
        OutcomeKind::Passed if kind == StatementKind::Assert => StatementEnd::AssertPassed,
        OutcomeKind::Passed | OutcomeKind::Statement => StatementEnd::Done,
        OutcomeKind::AssertWarning(text) => StatementEnd::AssertWarning(text.clone()),
        OutcomeKind::ExitTaken(text) => StatementEnd::ExitTaken(text.clone()),
    };
    (end, counts)
}
