//! Taking a lock away from its owner: the tombstone and its audit record in one request (LCK-14, REC-27).

use super::store::{self, ReadError, Store};
use super::witness::{self, WitnessError};
use crate::flownet::clock::Clock;
use crate::flownet::key;
use crate::flownet::ordered_json::Object;
use crate::flownet::record::Lock;
use crate::flownet::record::lock::{FORCE_RELEASED, release_fields};
use crate::flownet::record::operation::{Columns, Operation};
use crate::flownet::record::status::AttemptStatus;
use crate::flownet::time::Timestamp;
use crate::kintone::{self, App, BulkItem, Target, Update};

/// Who releases whose lock, and on what evidence.
pub struct Forced<'a> {
    /// `net_unlock_<uuid>`.
    pub event_id: &'a str,
    /// Network of the lock.
    pub network_id: &'a str,
    /// N1 key of the network; that of a damaged lock may be another one.
    pub lock_key: &'a str,
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
    /// What the confirmer of the stop saw; the original forgets it (OPR-25).
    pub stop_detail: &'a str,
    /// Why.
    pub reason: &'a str,
    /// Incident or ticket.
    pub evidence_ref: &'a str,
}

/// The lock was not released by this call, or nobody can say.
#[derive(Debug)]
pub enum ForcedError {
    /// It changed after the decision (REVISION_CONFLICT): its owner lives, or released it.
    Changed,
    /// Somebody else took it from the same owner in the meantime: it is free, and their audit record tells why.
    ByOther,
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
            Self::ByOther => f.write_str("the lock was released by somebody else in the meantime"),
            Self::Refused(e) => write!(f, "the lock was not released: {e}"),
            Self::Unconfirmed(e) => write!(f, "it is not known whether the lock was released: {e}"),
            Self::Broken(e) => write!(f, "the lock cannot be read: {e}"),
        }
    }
}

impl std::error::Error for ForcedError {}

impl Forced<'_> {
    /// The event of the audit record, keys in the contract's order.
    fn event(&self, released_at: &str, revision: u64) -> Object {
        let l = self.lock;
        Object::new()
            .with("event_id", self.event_id)
            .with("event_type", FORCE_RELEASED)
            .with("network_id", self.network_id)
            .with("profile", l.profile.as_str())
            .with("lock_key", self.lock_key)
            .with("record_id", l.record_id.to_string())
            .with("previous_owner_invocation_id", l.owner_invocation_id.as_str())
            .with("previous_lease_token", l.lease_token.as_str())
            .with("previous_heartbeat_at", l.heartbeat_at.as_str())
            .with("previous_lease_expires_at", l.lease_expires_at.as_str())
            .with("service_principal", self.service_principal)
            .with("requested_by", self.requested_by)
            .with("stop_confirmed_by", self.stop_confirmed_by)
            .with("stop_method", self.stop_method)
            .with("stop_evidence_ref", self.stop_evidence_ref)
            .with("reason", self.reason)
            .with("evidence_ref", self.evidence_ref)
            .with("released_at", released_at)
            .with("post_release_revision", revision)
            .with("stop_detail", self.stop_detail)
    }

    /// The tombstone and the audit record, and the key of the latter. Any change of the lock since the decision refuses them.
    pub fn items<'b>(&self, state: &'b App, audit: &'b App, now: Timestamp) -> (Vec<BulkItem<'b>>, String) {
        let after = self.lock.revision + 1;
        let tombstone = self.tombstone();
        let operation = Operation {
            record_key: format!("OP:{}", self.event_id),
            run_id: "",
            result_code: FORCE_RELEASED,
            at: now,
            columns: Columns {
                requested_by: self.requested_by,
                service_principal: self.service_principal,
                evidence_ref: self.evidence_ref,
                ..Columns::default()
            },
            event: self.event(&now.iso_ms(), after),
        };
        let items = vec![
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
        (items, operation.record_key)
    }

    fn tombstone(&self) -> String {
        // A tombstone without a token would have the key of every other one.
        let token = match self.lock.lease_token.as_str() {
            "" => self.event_id,
            token => token,
        };
        key::released_lock_record_key(self.lock_key, token)
    }

    /// Releases the lock exactly as it was decided on: any change of it in between refuses the whole request.
    pub fn release(
        &self,
        store: &dyn Store,
        clock: &dyn Clock,
        state: &App,
        audit: &App,
    ) -> Result<u64, ForcedError> {
        let (items, witness) = self.items(state, audit, clock.now());
        match witness::send(store, clock, audit, &items, &witness) {
            Ok(()) => Ok(self.lock.revision + 1),
            Err(WitnessError::Changed(_)) => Err(who_was_first(store, state, &self.tombstone())),
            Err(WitnessError::Refused(e)) => Err(ForcedError::Refused(e)),
            Err(WitnessError::Undecided(e)) => Err(ForcedError::Unconfirmed(e)),
        }
    }
}

/// The lock is not what was decided on any more: was it taken from this very owner?
fn who_was_first(store: &dyn Store, state: &App, tombstone: &str) -> ForcedError {
    match store::lock_record(store, state, tombstone) {
        Ok(Some(done)) if done.status_reason == FORCE_RELEASED => ForcedError::ByOther,
        Ok(_) => ForcedError::Changed,
        Err(ReadError::Broken(e)) => ForcedError::Broken(e),
        Err(ReadError::Remote(e)) => ForcedError::Unconfirmed(e),
    }
}
