//! NETWORK_LOCK: held under `LOCK:<N1>`, released as a tombstone `LOCKDONE:<hash>` (REC-16).

use super::read::{DecodeError, Reader};
use super::status::AttemptStatus;
use crate::flownet::time::{MINUTE_MS, Timestamp};
use crate::kintone::{Fields, Record, query};

/// Record type text.
pub const RECORD_TYPE: &str = "NETWORK_LOCK";
/// `status_reason` prefix of a held lock (REC-18).
pub const OWNER_PREFIX: &str = "owner_instance_id=";

/// Stands for the owner of a lock whose owner field was emptied.
pub const NO_OWNER: &str = "none";

/// `status_reason` of a lock that was taken from its owner (REC-16).
pub const FORCE_RELEASED: &str = "NETWORK_LOCK_FORCE_RELEASED";

/// A lock record as stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Lock {
    /// kintone's record number.
    pub record_id: u64,
    /// kintone's revision.
    pub revision: u64,
    /// The field `revision`: what the last owner wrote (a person's edit does not change it).
    pub business_revision: u64,
    /// Held or tombstone key.
    pub record_key: String,
    /// N1 key while held, empty after.
    pub lock_key: String,
    /// Profile.
    pub profile: String,
    /// Invocation (or archive) that holds it, empty after release.
    pub owner_invocation_id: String,
    /// Random proof of ownership, empty after release.
    pub lease_token: String,
    /// `owner_instance_id=...` while held, a result code after.
    pub status_reason: String,
    /// RUNNING while held.
    pub status: AttemptStatus,
    /// As stored (minutes).
    pub heartbeat_at: String,
    /// As stored (minutes).
    pub lease_expires_at: String,
}

impl Lock {
    /// Reads a stored lock, for its owner: every field must be readable.
    pub fn from_record(record: &Record) -> Result<Self, DecodeError> {
        let r = Reader::new(record, RECORD_TYPE);
        r.count("revision")?;
        r.required("record_key")?;
        r.option("status", AttemptStatus::parse)?;
        Ok(Self::read(record))
    }

    /// Reads a stored lock, for everybody else: a damaged lock locks as well, and must be seen to be freed. A number that
    /// cannot be read is 0, a status UNKNOWN; no held lock has either.
    pub fn read(record: &Record) -> Self {
        let r = Reader::new(record, RECORD_TYPE);
        Self {
            record_id: record.id(),
            revision: record.revision(),
            business_revision: r.count("revision").unwrap_or(0),
            record_key: r.text("record_key"),
            lock_key: r.text("lock_key"),
            profile: r.text("profile"),
            owner_invocation_id: r.text("owner_invocation_id"),
            lease_token: r.text("lease_token"),
            status_reason: r.text("status_reason"),
            status: r
                .option("status", AttemptStatus::parse)
                .unwrap_or(AttemptStatus::Unknown),
            heartbeat_at: r.text("heartbeat_at"),
            lease_expires_at: r.text("lease_expires_at"),
        }
    }

    /// Does `record` lock the network with this N1 key? Either of its keys is enough to refuse another lock.
    pub fn is_held_by(record: &Record, held_key: &str, lock_key: &str) -> bool {
        record.text("record_type") == RECORD_TYPE
            && (record.text("record_key") == held_key || record.text("lock_key") == lock_key)
    }

    /// The condition that finds it (QRY-06, STA-02).
    pub fn condition(held_key: &str, lock_key: &str) -> String {
        query::and(&[
            query::one_of("record_type", &[RECORD_TYPE]),
            query::or(&[
                query::one_of("record_key", &[held_key]),
                query::one_of("lock_key", &[lock_key]),
            ]),
        ])
    }

    /// Fields of a held lock that somebody edited.
    pub fn edited_fields(&self, held_key: &str, lock_key: &str) -> Vec<&'static str> {
        [
            ("record_key", self.record_key != held_key),
            ("lock_key", self.lock_key != lock_key),
            ("owner_invocation_id", self.owner_invocation_id.is_empty()),
            ("lease_token", self.lease_token.is_empty()),
            ("status", self.status != AttemptStatus::Running),
            ("status_reason", !self.status_reason.starts_with(OWNER_PREFIX)),
            ("lease_expires_at", self.expires().is_none()),
            ("heartbeat_at", Timestamp::parse(&self.heartbeat_at).is_none()),
            ("revision", self.business_revision == 0),
        ]
        .into_iter()
        .filter_map(|(field, edited)| edited.then_some(field))
        .collect()
    }

    /// The owner as a person names it: an emptied field has a word of its own.
    pub fn owner_word(&self) -> &str {
        match self.owner_invocation_id.as_str() {
            "" => NO_OWNER,
            owner => owner,
        }
    }

    /// Where the owner runs: `local-pid://<host>/<pid>` or free text; empty when not recorded.
    pub fn owner_instance_id(&self) -> &str {
        self.status_reason.strip_prefix(OWNER_PREFIX).unwrap_or_default()
    }

    /// The stored expiry; kintone has cut up to 59.999 s from it.
    pub fn expires(&self) -> Option<Timestamp> {
        Timestamp::parse(&self.lease_expires_at)
    }

    /// The stored expiry is over by more than a minute (LCK-13): a hint that the owner died, never a proof.
    pub fn is_stale_candidate(&self, now: Timestamp) -> bool {
        self.expires().is_none_or(|end| now > end.plus_ms(MINUTE_MS))
    }
}

/// The held record to insert (LCK-02).
pub struct Acquire<'a> {
    /// `LOCK:<N1>`.
    pub record_key: &'a str,
    /// N1 key.
    pub lock_key: &'a str,
    /// Profile.
    pub profile: &'a str,
    /// Invocation or archive id.
    pub owner: &'a str,
    /// Fresh random token.
    pub token: &'a str,
    /// Owner instance id.
    pub instance: &'a str,
    /// Acquire time.
    pub now: Timestamp,
    /// End of the lease.
    pub expires: Timestamp,
}

impl Acquire<'_> {
    /// The record to insert.
    pub fn to_fields(&self) -> Fields {
        Fields::new()
            .text("record_key", self.record_key)
            .text("record_type", RECORD_TYPE)
            .text("lock_key", self.lock_key)
            .text("profile", self.profile)
            .text("owner_invocation_id", self.owner)
            .text("lease_token", self.token)
            .text("started_at", self.now.iso_ms())
            .text("heartbeat_at", self.now.iso_ms())
            .text("lease_expires_at", self.expires.iso_ms())
            .text("status", AttemptStatus::Running.as_str())
            .text("status_reason", format!("{OWNER_PREFIX}{}", self.instance))
            .number("revision", 1)
    }
}

/// The fence: owner and token stay, the lease is renewed (D-01).
pub fn renew_fields(now: Timestamp, expires: Timestamp, business_revision: u64) -> Fields {
    Fields::new()
        .text("heartbeat_at", now.iso_ms())
        .text("lease_expires_at", expires.iso_ms())
        .number("revision", business_revision)
}

/// The tombstone (REC-17).
pub fn release_fields(
    tombstone_key: &str,
    status: AttemptStatus,
    reason: &str,
    now: Timestamp,
    business_revision: u64,
) -> Fields {
    Fields::new()
        .text("record_key", tombstone_key)
        .text("lock_key", "")
        .text("owner_invocation_id", "")
        .text("lease_token", "")
        .text("status", status.as_str())
        .text("status_reason", reason)
        .text("finished_at", now.iso_ms())
        .number("revision", business_revision)
}
