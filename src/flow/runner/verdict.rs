//! How a job or command can end: result codes, their category, exit code and log-app status, in one table.
//!
//! Every other file names a [`ResultCode`]; nobody else knows an exit code (RNR-10, RNR-11, RNR-118).

use std::fmt;

use crate::flow::apps::AppsError;
use crate::flow::sql::message::{Language, Message, say};
use crate::kintone;

/// Exit codes of the process (RNR-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Success, or a normal early end without data.
    Done,
    /// Usage, configuration, validation or SQL error.
    Invalid,
    /// An assertion was violated.
    Asserted,
    /// kintone, network, time-out, API limit or cancellation.
    Runtime,
    /// `run-all --continue-on-error` with both successes and failures.
    Partial,
    /// Another execution holds the lock.
    Locked,
}

impl Exit {
    /// The number given to the operating system.
    pub const fn code(self) -> u8 {
        match self {
            Self::Done => 0,
            Self::Invalid => 1,
            Self::Asserted => 2,
            Self::Runtime => 3,
            Self::Partial => 4,
            Self::Locked => 5,
        }
    }
}

/// `status` values of the log app (RNR-60).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStatus {
    /// All statements ran.
    Success,
    /// `EXIT SUCCESS IF` ended the job.
    NoData,
    /// An error ended the job.
    Failed,
    /// An assertion was violated.
    Aborted,
    /// The job was not run.
    Skipped,
    /// The job holds its lock.
    Running,
    /// A time limit ended the job, or its lock was recovered as stale.
    Timeout,
    /// A signal ended the job.
    Cancelled,
}

impl JobStatus {
    /// All statuses, in the order of the log app's drop-down.
    pub const ALL: [Self; 8] = [
        Self::Success,
        Self::NoData,
        Self::Failed,
        Self::Aborted,
        Self::Skipped,
        Self::Running,
        Self::Timeout,
        Self::Cancelled,
    ];

    /// The word stored in the log app.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Success => "SUCCESS",
            Self::NoData => "NO_DATA",
            Self::Failed => "FAILED",
            Self::Aborted => "ABORTED",
            Self::Skipped => "SKIPPED",
            Self::Running => "RUNNING",
            Self::Timeout => "TIMEOUT",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// The status written as `word`, if it is one.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.word() == word)
    }

    /// Whether dependent jobs may run and a heartbeat says "done" (RNR-113, RNR-115).
    pub const fn is_success(self) -> bool {
        matches!(self, Self::Success | Self::NoData)
    }

    /// Whether the failure web hook of a single job is called (RNR-115).
    pub const fn is_alarm(self) -> bool {
        matches!(self, Self::Failed | Self::Aborted | Self::Timeout)
    }
}

impl fmt::Display for JobStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.word())
    }
}

/// Machine-readable outcome of one execution (RNR-118).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ResultCode {
    /// All statements ran.
    Ok,
    /// `EXIT SUCCESS IF` ended the job.
    NoData,
    /// Usage, configuration, parse or validation error; nothing ran.
    ValidationError,
    /// An import file is not the expected one.
    InputFileMutated,
    /// A statement failed for a reason of the SQL or the data.
    SqlError,
    /// An assertion was violated.
    AssertFailed,
    /// The time limit of the job or batch was reached.
    ExecutionTimeout,
    /// kintone refused the credentials.
    AuthError,
    /// kintone or the network failed, or the request budget is used up.
    ApiError,
    /// The lock could neither be taken nor seen to be held.
    LockUnavailable,
    /// Another execution holds the lock.
    LockConflict,
    /// A local file or an invariant of this program failed.
    InternalError,
    /// A signal ended the execution.
    Cancelled,
}

impl ResultCode {
    /// `resultCode` of the execution result.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::NoData => "NO_DATA",
            Self::ValidationError => "VALIDATION_ERROR",
            Self::InputFileMutated => "INPUT_FILE_MUTATED",
            Self::SqlError => "SQL_ERROR",
            Self::AssertFailed => "ASSERT_FAILED",
            Self::ExecutionTimeout => "EXECUTION_TIMEOUT",
            Self::AuthError => "AUTH_ERROR",
            Self::ApiError => "API_ERROR",
            Self::LockUnavailable => "LOCK_UNAVAILABLE",
            Self::LockConflict => "LOCK_CONFLICT",
            Self::InternalError => "INTERNAL_ERROR",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// `error.category` of the execution result; empty for successes, which carry no error.
    pub const fn category(self) -> &'static str {
        match self {
            Self::Ok | Self::NoData => "",
            Self::ValidationError | Self::InputFileMutated => "CONFIG",
            Self::SqlError => "SQL",
            Self::AssertFailed => "ASSERT",
            Self::ExecutionTimeout => "TIMEOUT",
            Self::AuthError => "AUTH",
            Self::ApiError => "API",
            Self::LockUnavailable | Self::LockConflict => "LOCK",
            Self::InternalError => "INTERNAL",
            Self::Cancelled => "CANCELLED",
        }
    }

    /// Exit code of a single run that ends so.
    pub const fn exit(self) -> Exit {
        match self {
            Self::Ok | Self::NoData => Exit::Done,
            Self::ValidationError | Self::InputFileMutated | Self::SqlError => Exit::Invalid,
            Self::AssertFailed => Exit::Asserted,
            Self::ExecutionTimeout
            | Self::AuthError
            | Self::ApiError
            | Self::LockUnavailable
            | Self::InternalError
            | Self::Cancelled => Exit::Runtime,
            Self::LockConflict => Exit::Locked,
        }
    }

    /// Status written to the log app. A lock conflict has no record of its own; inside a batch it counts as skipped.
    pub const fn job_status(self) -> JobStatus {
        match self {
            Self::Ok => JobStatus::Success,
            Self::NoData => JobStatus::NoData,
            Self::AssertFailed => JobStatus::Aborted,
            Self::ExecutionTimeout => JobStatus::Timeout,
            Self::Cancelled => JobStatus::Cancelled,
            Self::LockConflict => JobStatus::Skipped,
            Self::ValidationError
            | Self::InputFileMutated
            | Self::SqlError
            | Self::AuthError
            | Self::ApiError
            | Self::LockUnavailable
            | Self::InternalError => JobStatus::Failed,
        }
    }
}

/// Refused values of one request that are quoted.
const MAX_PATHS: usize = 5;

/// Why a command, or a job in it, did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The row of the table above.
    pub code: ResultCode,
    /// Finer code for `error.code`: a KSQLnnnn diagnostic, `KINTONE_HTTP_<n>` and the like, or the result code itself.
    pub detail: String,
    /// One line for people: what happened to which object, and what to do.
    pub message: Message,
    /// What kintone said about it. It may quote field values, so that it is only shown when none is hidden.
    pub quoted: Option<String>,
}

impl Failure {
    /// A failure whose finer code is the result code itself.
    pub fn new(code: ResultCode, message: impl Into<Message>) -> Self {
        Self::detailed(code, code.word(), message)
    }

    /// A failure with a finer code.
    pub fn detailed(code: ResultCode, detail: impl Into<String>, message: impl Into<Message>) -> Self {
        Self {
            code,
            detail: detail.into(),
            message: message.into(),
            quoted: None,
        }
    }

    /// Usage, configuration and validation errors: exit 1, nothing was done.
    pub fn invalid(message: impl Into<Message>) -> Self {
        Self::new(ResultCode::ValidationError, message)
    }

    /// A local file operation failed.
    pub fn local(what: impl Into<Message>, error: &std::io::Error) -> Self {
        Self::new(
            ResultCode::InternalError,
            what.into().put(|_, what| format!("{what}: {error}")),
        )
    }

    /// The lock could not be established (RNR-51): nothing was run.
    pub fn lock_unavailable(message: impl Into<Message>) -> Self {
        Self::new(ResultCode::LockUnavailable, message).nothing_was_run()
    }

    /// Says that the command ends here, without having run anything.
    #[must_use]
    pub fn nothing_was_run(self) -> Self {
        let nothing = say!("nothing was run", "何も実行していません");
        Self {
            message: self.message.joined("; ", &nothing),
            ..self
        }
    }

    /// Exit code of the process when this failure ends it.
    pub const fn exit(&self) -> Exit {
        self.code.exit()
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)
    }
}

impl From<&Failure> for Message {
    fn from(failure: &Failure) -> Self {
        failure.message.clone()
    }
}

impl std::error::Error for Failure {}

impl From<kintone::Error> for Failure {
    fn from(error: kintone::Error) -> Self {
        Self::from(&error)
    }
}

impl From<&kintone::Error> for Failure {
    /// RNR-11 for errors of the REST client.
    fn from(error: &kintone::Error) -> Self {
        use kintone::ErrorKind;
        let code = match error.kind() {
            ErrorKind::Auth => ResultCode::AuthError,
            ErrorKind::ReadOnly => ResultCode::InternalError,
            _ => ResultCode::ApiError,
        };
        let detail = match (error.kind(), error.status()) {
            (ErrorKind::BudgetExhausted, _) => "API_LIMIT_EXCEEDED".to_owned(),
            _ if error.is_exhausted() => "RETRY_EXHAUSTED".to_owned(),
            (_, Some(status)) => format!("KINTONE_HTTP_{status}"),
            (ErrorKind::Transport, None) => "NETWORK_ERROR".to_owned(),
            (_, None) => code.word().to_owned(),
        };
        Self {
            quoted: said(error),
            ..Self::detailed(code, detail, Message::from(error))
        }
    }
}

impl From<&kintone::Error> for Message {
    fn from(error: &kintone::Error) -> Self {
        Self::new(error.text(Language::English), error.text(Language::Japanese))
    }
}

impl From<&kintone::ConfigError> for Message {
    fn from(error: &kintone::ConfigError) -> Self {
        Self::new(error.text(Language::English), error.text(Language::Japanese))
    }
}

/// kintone's own words: by path for refused values, else as a whole.
fn said(error: &kintone::Error) -> Option<String> {
    let paths: Vec<String> = error
        .paths()
        .map(|(path, message)| format!("{path}: {message}"))
        .take(MAX_PATHS)
        .collect();
    if paths.is_empty() {
        error.message().map(str::to_owned)
    } else {
        Some(paths.join("; "))
    }
}

impl From<&AppsError> for Failure {
    /// An error that the engine only passed on: the REST client's, or this program's own.
    fn from(error: &AppsError) -> Self {
        let inner = error.inner();
        if let Some(error) = inner.downcast_ref::<kintone::Error>() {
            return Self::from(error);
        }
        match inner.downcast_ref::<Self>() {
            Some(failure) => failure.clone(),
            None => Self::new(ResultCode::ApiError, error.message()),
        }
    }
}

/// Exit code of a batch from the exits of its attempted jobs; skipped jobs other than lock clashes are not passed in (RNR-12).
pub fn batch_exit(exits: &[Exit], continue_on_error: bool) -> Exit {
    let failed: Vec<Exit> = exits.iter().copied().filter(|exit| *exit != Exit::Done).collect();
    if failed.is_empty() {
        return Exit::Done;
    }
    if continue_on_error && failed.len() < exits.len() {
        return Exit::Partial;
    }
    worst(
        &failed,
        &[Exit::Runtime, Exit::Asserted, Exit::Locked, Exit::Invalid],
    )
}

/// Exit code of a dry-run batch (RNR-14).
pub fn preview_exit(exits: &[Exit]) -> Exit {
    worst(exits, &[Exit::Runtime, Exit::Asserted, Exit::Invalid])
}

fn worst(exits: &[Exit], order: &[Exit]) -> Exit {
    order
        .iter()
        .copied()
        .find(|exit| exits.contains(exit))
        .unwrap_or(Exit::Done)
}

/// Status of the BATCH record from the statuses of its jobs (RNR-13).
pub fn batch_status(jobs: &[JobStatus], deadline_passed: bool) -> JobStatus {
    if deadline_passed {
        return JobStatus::Timeout;
    }
    for status in [JobStatus::Failed, JobStatus::Timeout, JobStatus::Aborted] {
        if jobs.contains(&status) {
            return status;
        }
    }
    if jobs.contains(&JobStatus::Cancelled) {
        return JobStatus::Failed;
    }
    let all = |status| !jobs.is_empty() && jobs.iter().all(|job| *job == status);
    if all(JobStatus::Skipped) {
        JobStatus::Skipped
    } else if all(JobStatus::NoData) {
        JobStatus::NoData
    } else {
        JobStatus::Success
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batch_exit_orders_failures_and_knows_partial_success() {
        use Exit::{Asserted, Done, Invalid, Locked, Partial, Runtime};
        for (exits, continue_on_error, expected) in [
            (vec![], false, Done),
            (vec![Done, Done], true, Done),
            (vec![Done, Invalid], false, Invalid),
            (vec![Done, Invalid], true, Partial),
            (vec![Invalid, Locked], true, Locked),
            (vec![Invalid, Locked, Asserted], false, Asserted),
            (vec![Asserted, Runtime], false, Runtime),
        ] {
            assert_eq!(
                batch_exit(&exits, continue_on_error),
                expected,
                "{exits:?} {continue_on_error}"
            );
        }
    }

    #[test]
    fn dry_run_batches_take_the_worst_exit() {
        assert_eq!(
            preview_exit(&[Exit::Done, Exit::Invalid, Exit::Asserted]),
            Exit::Asserted
        );
        assert_eq!(preview_exit(&[Exit::Invalid, Exit::Runtime]), Exit::Runtime);
        assert_eq!(preview_exit(&[]), Exit::Done);
    }

    #[test]
    fn batch_status_follows_the_order_of_severity() {
        use JobStatus::{Aborted, Failed, NoData, Skipped, Success, Timeout};
        for (jobs, expected) in [
            (vec![Success, Failed, Timeout], Failed),
            (vec![Aborted, Timeout], Timeout),
            (vec![Aborted, NoData], Aborted),
            (vec![Skipped, Skipped], Skipped),
            (vec![Skipped, NoData], Success),
            (vec![NoData, NoData], NoData),
            (vec![NoData, Success], Success),
            (vec![], Success),
        ] {
            assert_eq!(batch_status(&jobs, false), expected, "{jobs:?}");
        }
        assert_eq!(batch_status(&[Success], true), Timeout);
    }

    #[test]
    fn statuses_are_read_back_from_their_words() {
        for status in JobStatus::ALL {
            assert_eq!(JobStatus::parse(status.word()), Some(status));
        }
        assert_eq!(JobStatus::parse("success"), None);
    }
}
