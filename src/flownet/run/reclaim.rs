//! A command that meets a held lock: proof of death frees it, anything else is a conflict (D-08).

use std::path::PathBuf;
use std::sync::Arc;

use super::failure::Failure;
use crate::flownet::child::process_table::ProcessTable;
use crate::flownet::clock::{Clock, uuid};
use crate::flownet::lease::forced::Forced;
use crate::flownet::lease::reclaim::{Verdict, examine};
use crate::flownet::lease::{self, AcquireError, Lease, Warn};
use crate::flownet::record::status::AttemptStatus;
use crate::flownet::record::{Lock, attempt};
use crate::kintone::{App, Client, query};

/// What a proof is made with, and who is named in its audit record.
pub struct Examiner<'a> {
    /// kintone.
    pub client: &'a Client,
    /// Time.
    pub clock: &'a Arc<dyn Clock>,
    /// Audit app, where the attempts of an owner are.
    pub audit: &'a App,
    /// Folder of the owner files; without it nothing can be proved.
    pub owner_dir: Option<PathBuf>,
    /// May a lock be taken from a dead owner at all?
    pub auto_reclaim: bool,
    /// Host name to record.
    pub host: &'a str,
    /// Who asked.
    pub requested_by: &'a str,
    /// Warnings for the operator.
    pub warn: &'a Warn,
}

/// An owner that is proved dead, and the lock that it left.
pub struct Dead {
    lock: Lock,
    evidence: String,
}

/// How often a lock is taken from a dead owner before whoever holds it then is a conflict.
const ROUNDS: u32 = 3;

/// Why a lock was not taken.
pub enum NotTaken {
    /// `LOCK_CONFLICT`, or what kept its owner from being examined.
    Held(Failure),
    /// kintone did not give it.
    Lock(AcquireError),
}

impl From<NotTaken> for Failure {
    fn from(e: NotTaken) -> Self {
        match e {
            NotTaken::Held(failure) => failure,
            NotTaken::Lock(error) => error.into(),
        }
    }
}

/// Takes the lock; an owner that is proved dead gives way, also one that shows only now. Tells which one did.
///
/// # Errors
/// See [`NotTaken`].
pub fn take(
    with: &Examiner<'_>,
    network_id: &str,
    wish: impl Fn() -> lease::Request,
    known: Option<Dead>,
) -> Result<(Lease, Option<Dead>), NotTaken> {
    let mut dead = known;
    let mut last = None;
    for _ in 0..ROUNDS {
        let request = wish();
        let (held_key, lock_key) = (request.held_key.clone(), request.lock_key.clone());
        let taken = match &dead {
            None => Lease::acquire(request),
            Some(dead) => dead.succeed(with, network_id, request).map_err(NotTaken::Held)?,
        };
        match taken {
            // Somebody else was quicker, or a person saved the record: whoever holds it now is examined as well.
            Err(AcquireError::Conflict(held)) => {
                dead = Some(prove(with, &held_key, &lock_key, &held).map_err(NotTaken::Held)?);
                last = Some(held);
            }
            Err(error) => return Err(NotTaken::Lock(error)),
            Ok(lease) => return Ok((lease, dead)),
        }
    }
    let again = "its record was saved again and again meanwhile; repeat the command";
    Err(NotTaken::Held(match last {
        Some(held) => busy(conflict(&held, again)),
        None => Failure::new("LOCK_CONFLICT", again),
    }))
}

/// Proves that the owner of `held` is dead; anything else is a conflict.
///
/// # Errors
/// `LOCK_CONFLICT` with the reason why nothing is proved; kintone does not answer.
pub fn prove(with: &Examiner<'_>, held_key: &str, lock_key: &str, held: &Lock) -> Result<Dead, Failure> {
    let edited = held.edited_fields(held_key, lock_key);
    if !edited.is_empty() {
        // Such a record proves nothing, not even whose it is.
        let why = format!(
            "NETWORK_LOCK record {} of the state app was edited ({})",
            held.record_id,
            edited.join(", ")
        );
        return Err(conflict(held, &why));
    }
    if !with.auto_reclaim {
        return Err(conflict(held, "automatic release is switched off"));
    }
    let Some(owner_dir) = &with.owner_dir else {
        return Err(conflict(
            held,
            "KSQL_FLOW_WORKDIR is not set, where the proof would be",
        ));
    };
    let attempts = running_attempts(with, &held.owner_invocation_id)?;
    let table = ProcessTable::default();
    match examine(held, owner_dir, &table, &attempts, with.clock.now()) {
        // The owner file stays: a resume still needs it to settle the attempts of this owner.
        Verdict::Dead(evidence) => Ok(Dead {
            lock: held.clone(),
            evidence,
        }),
        Verdict::Alive(pid) => Err(busy(conflict(held, &format!("its process {pid} is running")))),
        Verdict::JobAlive(pid) => Err(busy(conflict(
            held,
            &format!("its process is dead, but its job is still running as process {pid}; start again when it has ended"),
        ))
        .fact("pid", pid.to_string())),
        Verdict::Unproved(why) => Err(conflict(held, &why)),
    }
}

fn running_attempts(with: &Examiner<'_>, invocation_id: &str) -> Result<Vec<String>, Failure> {
    let condition = query::and(&[
        query::one_of("record_type", &[attempt::RECORD_TYPE]),
        query::one_of("invocation_id", &[invocation_id]),
        query::one_of("status", &[AttemptStatus::Running.as_str()]),
    ]);
    let records = with.client.all_by_id(
        with.audit,
        &condition,
        &["$id", "invocation_id", "node_attempt_id"],
    )?;
    Ok(records
        .iter()
        .filter(|r| r.text("invocation_id") == invocation_id)
        .map(|r| r.text("node_attempt_id").to_owned())
        .collect())
}

impl Dead {
    /// Its invocation.
    pub fn invocation_id(&self) -> &str {
        &self.lock.owner_invocation_id
    }

    /// Takes its lock.
    fn succeed(
        &self,
        with: &Examiner<'_>,
        network_id: &str,
        wish: lease::Request,
    ) -> Result<Result<Lease, AcquireError>, Failure> {
        let event_id = format!("net_unlock_{}", uuid()?);
        let by = format!("auto:{}", with.host);
        let forced = Forced {
            event_id: &event_id,
            network_id,
            lock_key: &self.lock.lock_key,
            lock: &self.lock,
            service_principal: &by,
            requested_by: with.requested_by,
            stop_confirmed_by: &by,
            stop_method: "local_pid",
            stop_evidence_ref: &self.evidence,
            stop_detail: &self.evidence,
            reason: "the owner of the lock is proved dead",
            evidence_ref: &self.evidence,
        };
        let taken = Lease::acquire_from(wish, &forced);
        if taken.is_ok() {
            (with.warn)(format!(
                "the network lock of dead invocation {} was released ({})",
                self.lock.owner_invocation_id, self.evidence
            ));
        }
        Ok(taken)
    }
}

/// Somebody is at work: there is nothing to free.
fn busy(mut failure: Failure) -> Failure {
    failure.extra.explained_by = Some("LOCK_OWNER_ALIVE");
    failure
}

/// LOCK_CONFLICT with everything that the operator needs (BTR-40).
fn conflict(held: &Lock, why: &str) -> Failure {
    let instance = match held.owner_instance_id() {
        "" => "not recorded",
        id => id,
    };
    Failure::new(
        "LOCK_CONFLICT",
        format!(
            "the network lock is held by {} (owner instance {instance}), lease until {} plus one minute: {why}",
            held.owner_word(),
            held.lease_expires_at
        ),
    )
    .fact("owner_invocation_id", held.owner_word())
    .fact("expires", &held.lease_expires_at)
}
