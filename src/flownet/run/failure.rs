//! Why a start ended without a result: a code, words, and the facts that a next step needs.

use std::borrow::Cow;
use std::fmt;

use super::ledger::LedgerError;
use crate::flownet::bundle::BundleError;
use crate::flownet::child::ChildError;
use crate::flownet::child::workdir::WorkdirError;
use crate::flownet::clock::NoRandomness;
use crate::flownet::key::KeyError;
use crate::flownet::lease::store::ReadError;
use crate::flownet::lease::{AcquireError, CommitError};
use crate::flownet::profile::ProfileError;
use crate::flownet::record::status::Mode;
use crate::flownet::record::{DamagedRun, DecodeError};
use crate::flownet::rule::select::Refusal;
use crate::kintone::{self, ErrorKind, Outcome};

/// A Run that had been handed to the scheduler when the failure came (CLI-04).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Handed {
    /// How the invocation came to the Run.
    pub mode: Mode,
    /// Run.
    pub run_id: String,
    /// Invocation.
    pub invocation_id: String,
}

/// A start that failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Failure {
    /// OUT-08, OUT-09.
    pub code: Cow<'static, str>,
    /// What happened, to which object.
    pub message: String,
    /// Further lines, one fact each.
    pub details: Vec<String>,
    /// Values for the next steps, by name.
    pub facts: Vec<(&'static str, String)>,
    /// Seldom needed; boxed so that results stay small.
    pub extra: Box<Extra>,
}

/// What few failures carry.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Extra {
    /// Runs in the way (MAX_ACTIVE_RUNS, RUN_ALREADY_EXISTS).
    pub blocked_run_ids: Vec<String>,
    /// A code whose explanation fits better than that of `code`, which the contract fixes.
    pub explained_by: Option<&'static str>,
    /// Set once the scheduler had the Run.
    pub handed: Option<Handed>,
}

impl Failure {
    /// A failure with this code.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            code: code.into(),
            message: message.into(),
            details: Vec::new(),
            facts: Vec::new(),
            extra: Box::default(),
        }
    }

    /// Adds a value that a next step needs.
    pub fn fact(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.facts.push((name, value.into()));
        self
    }

    /// Adds a line.
    pub fn detail(mut self, line: impl Into<String>) -> Self {
        self.details.push(line.into());
        self
    }

    /// A kintone request that failed (ADJ-02).
    pub fn remote(error: &kintone::Error) -> Self {
        Self::about(error, error.to_string())
    }

    fn about(error: &kintone::Error, text: String) -> Self {
        let access = matches!(error.kind(), ErrorKind::Auth | ErrorKind::NotFound);
        let mut failure = Self::new(remote_code(error), text);
        failure.extra.explained_by = access.then_some("KINTONE_ACCESS");
        failure
    }
}

/// The contract's code for a kintone error (ADJ-02, OPR-05).
pub fn remote_code(error: &kintone::Error) -> &'static str {
    match error.kind() {
        ErrorKind::RevisionConflict => "REVISION_CONFLICT",
        ErrorKind::Invalid => "DUPLICATE_RECORD",
        _ if error.outcome() == Outcome::Unknown => "AMBIGUOUS_WRITE",
        _ => "REMOTE_ERROR",
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} [{}]", self.message, self.code)
    }
}

impl std::error::Error for Failure {}

impl From<kintone::Error> for Failure {
    fn from(e: kintone::Error) -> Self {
        Self::remote(&e)
    }
}

impl From<ReadError> for Failure {
    fn from(e: ReadError) -> Self {
        match e {
            ReadError::Remote(e) => Self::remote(&e),
            ReadError::Broken(e) => e.into(),
        }
    }
}

impl From<DecodeError> for Failure {
    /// No repetition makes a damaged record readable: a person has to look at it.
    fn from(e: DecodeError) -> Self {
        Self::new("RECONCILIATION_REQUIRED", e.to_string())
    }
}

impl From<Box<DamagedRun>> for Failure {
    fn from(e: Box<DamagedRun>) -> Self {
        (*e).into()
    }
}

impl From<DamagedRun> for Failure {
    fn from(e: DamagedRun) -> Self {
        Self::new(
            "RECONCILIATION_REQUIRED",
            format!("Run {}: {}", e.run_id, e.error),
        )
        .fact("run_id", e.run_id)
        .fact("network_id", e.network_id)
    }
}

impl From<KeyError> for Failure {
    fn from(e: KeyError) -> Self {
        Self::new(e.code, e.to_string())
    }
}

impl From<NoRandomness> for Failure {
    fn from(e: NoRandomness) -> Self {
        Self::new("RUN_NETWORK_FAILED", e.to_string())
    }
}

impl From<ChildError> for Failure {
    fn from(e: ChildError) -> Self {
        // The contract's sentence, then what is known of the cause and what the runner itself said (item 9).
        let failure = Self::new(e.code.as_str(), e.message);
        let said = e.stderr_tail.lines().filter(|line| !line.trim().is_empty());
        e.hint
            .into_iter()
            .chain(said.map(|line| format!("runner: {line}")))
            .fold(failure, Self::detail)
    }
}

/// What ran before is recorded; the device or its permissions are what keeps the Run from going on.
impl From<WorkdirError> for Failure {
    fn from(e: WorkdirError) -> Self {
        let mut failure = Self::new(e.name().unwrap_or("RUN_NETWORK_FAILED"), e.to_string());
        failure.extra.explained_by = Some("WORK_DIRECTORY_FAILED");
        failure
    }
}

impl From<ProfileError> for Failure {
    fn from(e: ProfileError) -> Self {
        Self::new(e.code(), e.to_string())
    }
}

impl From<BundleError> for Failure {
    fn from(e: BundleError) -> Self {
        Self::new(e.code(), e.to_string())
    }
}

impl From<Refusal> for Failure {
    fn from(e: Refusal) -> Self {
        Self::new(e.code, e.message)
    }
}

impl From<AcquireError> for Failure {
    fn from(e: AcquireError) -> Self {
        let text = e.to_string();
        match e {
            AcquireError::Conflict(lock) => Self::new("LOCK_CONFLICT", text)
                .fact("owner_invocation_id", lock.owner_word())
                .fact("expires", lock.lease_expires_at.clone()),
            AcquireError::Unavailable(_) | AcquireError::Undecided(_) | AcquireError::Broken(_) => {
                Self::new("LOCK_UNAVAILABLE", text)
            }
            AcquireError::Randomness(_) => Self::new("RUN_NETWORK_FAILED", text),
            AcquireError::OwnerFile(e) => e.into(),
        }
    }
}

impl From<CommitError> for Failure {
    fn from(e: CommitError) -> Self {
        let text = e.to_string();
        match e {
            CommitError::Lost => Self::new("NETWORK_LEASE_INTERRUPTED", text),
            CommitError::Undecided(_) => Self::new("AMBIGUOUS_WRITE", text),
            CommitError::Refused { error, .. } => Self::about(&error, text),
            // What was edited is for a person to put back, not for the next start to try again.
            CommitError::Foreign { .. } | CommitError::Vanished { .. } => {
                Self::new("RECONCILIATION_REQUIRED", text)
            }
        }
    }
}

impl From<LedgerError> for Failure {
    fn from(e: LedgerError) -> Self {
        match e {
            LedgerError::Forbidden(e) => Self::new("INVALID_STATE_TRANSITION", e.to_string()),
            LedgerError::Commit(e) => e.into(),
        }
    }
}
