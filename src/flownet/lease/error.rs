//! What can go wrong with a lock and with the writes behind its fence.

use std::fmt;

use super::change::Role;
use crate::flownet::child::workdir::WorkdirError;
use crate::flownet::clock::NoRandomness;
use crate::flownet::record::{DecodeError, Lock};
use crate::kintone;

/// Taking the lock failed.
#[derive(Debug)]
pub enum AcquireError {
    /// Somebody holds it (LOCK_CONFLICT).
    Conflict(Box<Lock>),
    /// kintone did not say who holds it (LOCK_UNAVAILABLE).
    Unavailable(kintone::Error),
    /// The write was sent, and kintone did not say what became of it (LOCK_UNAVAILABLE).
    Undecided(kintone::Error),
    /// The stored lock cannot be read; it may be ours.
    Broken(DecodeError),
    /// No token could be made.
    Randomness(NoRandomness),
    /// The owner file could not be written; without it no restart could prove this owner dead.
    OwnerFile(WorkdirError),
}

impl fmt::Display for AcquireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Conflict(lock) => {
                let instance = match lock.owner_instance_id() {
                    "" => "an unnamed place",
                    id => id,
                };
                write!(
                    f,
                    "the network lock is held by {} ({instance}), lease until {}",
                    lock.owner_invocation_id, lock.lease_expires_at
                )
            }
            Self::Unavailable(e) => write!(f, "the network lock could not be taken: {e}"),
            Self::Undecided(e) => write!(f, "it is not known whether the network lock was taken: {e}"),
            Self::Broken(e) => write!(f, "the network lock cannot be read: {e}"),
            Self::Randomness(e) => e.fmt(f),
            Self::OwnerFile(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for AcquireError {}

impl AcquireError {
    /// kintone did not give the lock; `sent`: a write without a decided answer may still arrive.
    pub(super) fn after(sent: bool, error: kintone::Error) -> Self {
        if sent {
            Self::Undecided(error)
        } else {
            Self::Unavailable(error)
        }
    }

    /// Can the lock in kintone not be ours, whatever arrives later?
    pub fn is_surely_not_ours(&self) -> bool {
        match self {
            Self::Conflict(_) | Self::Randomness(_) | Self::OwnerFile(_) => true,
            Self::Unavailable(e) => e.outcome() == kintone::Outcome::NotApplied,
            Self::Undecided(_) | Self::Broken(_) => false,
        }
    }
}

/// A write behind the fence did not happen, or nobody can say yet.
#[derive(Debug)]
pub enum CommitError {
    /// The lock is no longer ours: nothing of this commit landed, and nothing later will.
    Lost,
    /// kintone gave no decidable answer for a whole lease: it may or may not have landed.
    Undecided(kintone::Error),
    /// kintone refused it for good; nothing landed. The position tells which change, where kintone said.
    Refused {
        /// kintone's refusal.
        error: kintone::Error,
        /// Position of the first change in the refused inner request.
        position: Option<usize>,
    },
    /// Somebody changed one of our fields (D-09); nothing landed.
    Foreign {
        /// Record key.
        record_key: String,
        /// Where it stands, for people: type, number and app.
        place: String,
        /// Field code.
        field: String,
        /// What is stored now.
        stored: String,
        /// What we know.
        expected: String,
    },
    /// A record that we decided on has gone.
    Vanished {
        /// Record key.
        record_key: String,
        /// Its app.
        role: Role,
    },
}

impl CommitError {
    /// Was it refused because of this very record?
    pub fn is_about(&self, key: &str) -> bool {
        match self {
            Self::Foreign { record_key, .. } | Self::Vanished { record_key, .. } => record_key == key,
            Self::Lost | Self::Undecided(_) | Self::Refused { .. } => false,
        }
    }
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Lost => f.write_str("the network lock was lost; nothing was written after that"),
            Self::Undecided(e) => {
                write!(
                    f,
                    "kintone could not be reached for a whole lease; the last write is undecided: {e}"
                )
            }
            Self::Refused { error, .. } => write!(f, "kintone refused a write: {error}"),
            Self::Foreign {
                place,
                field,
                stored,
                expected,
                ..
            } => write!(
                f,
                "{place} was edited: field {field} is '{stored}', expected '{expected}'; nothing was written"
            ),
            Self::Vanished { record_key, role } => write!(
                f,
                "the {role} app has no record with record_key '{record_key}' any more: it was deleted, or its record_key \
                 was edited; nothing was written"
            ),
        }
    }
}

impl std::error::Error for CommitError {}
