//! How an archive-run ended, and why a Run is not archived (OPR-38, OPR-39).

use crate::flownet::run::Failure;

/// How it ended (OPR-38).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The Run is archived now, with its audit record.
    Archived,
    /// It was before.
    AlreadyArchived,
    /// Nobody can say.
    Unconfirmed,
    /// It is not archived.
    Rejected,
}

impl Outcome {
    /// The word of OPR-38.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Archived => "ARCHIVED",
            Self::AlreadyArchived => "ALREADY_ARCHIVED",
            Self::Unconfirmed => "UNCONFIRMED",
            Self::Rejected => "REJECTED",
        }
    }
}

/// The end of an archive-run.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Report {
    /// Run.
    pub run_id: String,
    /// `archive_<uuid>`: owner of the lock, and the event once the Run is archived.
    pub event_id: String,
    /// How it ended.
    pub outcome: Outcome,
    /// Revision of the Run, where it is known.
    pub revision: Option<u64>,
    /// Why it was not archived.
    pub code: Option<&'static str>,
    /// The Network lock is free, or was never taken.
    pub lock_released: bool,
    /// In words.
    pub why: String,
    /// Who archived it before, and when.
    pub earlier: Option<(String, String)>,
    /// Its scheduled time, once it was read; empty when it has none.
    pub as_of: String,
    /// Invocation that holds the lock which is in the way.
    pub lock_owner: String,
    /// An explanation that fits better than that of `code`.
    pub explained_by: Option<&'static str>,
}

/// Why a Run is not archived.
pub(super) struct Refusal {
    pub(super) code: &'static str,
    pub(super) why: String,
    pub(super) revision: Option<u64>,
    pub(super) lock_owner: String,
    pub(super) explained_by: Option<&'static str>,
}

impl Refusal {
    pub(super) fn new(code: &'static str, why: impl Into<String>) -> Self {
        Self {
            code,
            why: why.into(),
            revision: None,
            lock_owner: String::new(),
            explained_by: None,
        }
    }

    /// The same about a Run with this revision.
    pub(super) fn at(revision: u64, code: &'static str, why: impl Into<String>) -> Self {
        let mut refusal = Self::new(code, why);
        refusal.revision = Some(revision);
        refusal
    }
    /// The lock is somebody else's, or it could not be found out whether it still is.
    pub(super) fn held(failure: Failure) -> Self {
        let code = match failure.code.as_ref() {
            "LOCK_CONFLICT" => "LOCK_CONFLICT",
            _ => "LOCK_UNAVAILABLE",
        };
        let mut facts = failure.facts.into_iter();
        let owner = facts.find(|(name, _)| *name == "owner_invocation_id");
        Self {
            lock_owner: owner.map(|(_, id)| id).unwrap_or_default(),
            explained_by: failure.extra.explained_by,
            ..Self::new(code, failure.message)
        }
    }
}
