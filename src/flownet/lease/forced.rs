//! Taking a lock away from its owner: the tombstone and its audit record in one request (LCK-14, REC-27).

use serde_json::Value;

use super::fence::pause;
use super::store::{self, ReadError, Store};
use crate::flownet::clock::Clock;
use crate::flownet::key;
use crate::flownet::record::Lock;
use crate::flownet::record::lock::{FORCE_RELEASED, release_fields};
use crate::flownet::record::operation::Operation;
use crate::flownet::record::status::AttemptStatus;
use crate::kintone::{self, App, BulkItem, Outcome, Target, Update};

/// Tries before the release counts as unconfirmed.
const TRIES: u32 = 5;

/// Who releases whose lock, and on what evidence.
pub struct Forced<'a> {
    /// `net_unlock_<uuid>`.
    pub event_id: &'a str,
    /// Network of the lock.
    pub network_id: &'a str,
    /// The held lock that the decision was made on.
    pub lock: &'a Lock,
    /// Account that runs the command.
    pub service_principal: &'a str,
    /// Person or program behind it.
    pub requested_by: &'a str,
    /// Who confirmed that the owner stopped.
    pub stop_confirmed_by: &'a str,
    /// `manual`, `local_pid` or `cloud_run_job_execution`.
    pub stop_method: &'a str,
    /// Evidence of the stop.
    pub stop_evidence_ref: &'a str,
    /// Why.
    pub reason: &'a str,
    /// Incident or ticket.
    pub evidence_ref: &'a str,
}

/// The lock was not released, or nobody can say.
#[derive(Debug)]
pub enum ForcedError {
    /// It changed after the decision (REVISION_CONFLICT): its owner lives, or somebody else released it.
    Changed,
    /// kintone refused.
    Refused(kintone::Error),
    /// No decidable answer (RELEASE_UNCONFIRMED).
    Unconfirmed(kintone::Error),
    /// The stored lock cannot be read.
    Broken(crate::flownet::record::DecodeError),
}

impl std::fmt::Display for ForcedError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Changed => f.write_str("the lock changed while it was being released; nothing was written"),
            Self::Refused(e) => write!(f, "the lock was not released: {e}"),
            Self::Unconfirmed(e) => write!(f, "it is not known whether the lock was released: {e}"),
            Self::Broken(e) => write!(f, "the lock cannot be read: {e}"),
        }
    }
}

impl std::error::Error for ForcedError {}

impl Forced<'_> {
    /// The event of the audit record, keys in the contract's order.
    fn event(&self, released_at: &str, revision: u64) -> Vec<(&'static str, Value)> {
        let l = self.lock;
        vec![
            ("event_id", self.event_id.into()),
            ("event_type", FORCE_RELEASED.into()),
            ("network_id", self.network_id.into()),
            ("profile", l.profile.as_str().into()),
            ("lock_key", l.lock_key.as_str().into()),
            ("record_id", l.record_id.to_string().into()),
            (
                "previous_owner_invocation_id",
                l.owner_invocation_id.as_str().into(),
            ),
            ("previous_lease_token", l.lease_token.as_str().into()),
            ("previous_heartbeat_at", l.heartbeat_at.as_str().into()),
            ("previous_lease_expires_at", l.lease_expires_at.as_str().into()),
            ("service_principal", self.service_principal.into()),
            ("requested_by", self.requested_by.into()),
            ("stop_confirmed_by", self.stop_confirmed_by.into()),
            ("stop_method", self.stop_method.into()),
            ("stop_evidence_ref", self.stop_evidence_ref.into()),
            ("reason", self.reason.into()),
            ("evidence_ref", self.evidence_ref.into()),
            ("released_at", released_at.into()),
            ("post_release_revision", revision.into()),
        ]
    }

    /// Releases the lock exactly as it was decided on: any change of it in between refuses the whole request.
    pub fn release(
        &self,
        store: &dyn Store,
        clock: &dyn Clock,
        state: &App,
        audit: &App,
    ) -> Result<u64, ForcedError> {
        let now = clock.now();
        let after = self.lock.revision + 1;
        let tombstone = key::released_lock_record_key(&self.lock.lock_key, &self.lock.lease_token);
        let operation = Operation {
            record_key: format!("OP:{}", self.event_id),
            run_id: "",
            result_code: FORCE_RELEASED,
            at: now,
            event: self.event(&now.iso_ms(), after),
        };
        let items = [
            BulkItem::Update {
                app: state,
                update: Update {
                    target: Target::Id(self.lock.record_id),
                    revision: Some(self.lock.revision),
                    fields: release_fields(&tombstone, AttemptStatus::Cancelled, FORCE_RELEASED, now, after),
                },
            },
            BulkItem::AddAll {
                app: audit,
                records: vec![operation.to_fields()],
            },
        ];
        let mut tries = 0;
        loop {
            let Err(error) = store.bulk(&items) else {
                return Ok(after);
            };
            tries += 1;
            let refused = error.outcome() == Outcome::NotApplied && !error.is_transient();
            let found = match store::lock_records(store, state, &[&self.lock.record_key, &tombstone]) {
                Ok(found) => found,
                Err(ReadError::Broken(e)) => return Err(ForcedError::Broken(e)),
                Err(ReadError::Remote(e)) => return Err(ForcedError::Unconfirmed(e)),
            };
            let ours = |l: &Lock| l.status_reason == FORCE_RELEASED && l.business_revision == after;
            if found.iter().any(|l| l.record_key == tombstone && ours(l)) {
                return Ok(after);
            }
            let same = found.iter().any(|l| {
                l.record_key == self.lock.record_key
                    && l.lease_token == self.lock.lease_token
                    && l.revision == self.lock.revision
            });
            if !same {
                return Err(ForcedError::Changed);
            }
            if refused {
                return Err(ForcedError::Refused(error));
            }
            if tries >= TRIES {
                return Err(ForcedError::Unconfirmed(error));
            }
            clock.sleep(pause(tries));
        }
    }
}
