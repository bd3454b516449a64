//! A start that meets a held lock: proof of death frees it, anything else is a conflict (D-08).

use super::context::Context;
use super::ensure::Keys;
use super::failure::Failure;
use crate::flownet::child::process_table::ProcessTable;
use crate::flownet::clock::uuid;
use crate::flownet::lease::forced::Forced;
use crate::flownet::lease::reclaim::{Verdict, examine};
use crate::flownet::lease::{self, AcquireError, Lease};
use crate::flownet::record::status::AttemptStatus;
use crate::flownet::record::{Lock, attempt};
use crate::kintone::query;

/// An owner that is proved dead, and the lock that it left.
pub struct Dead {
    lock: Lock,
    evidence: String,
}

/// Proves that the owner of `held` is dead; anything else is a conflict.
pub fn prove(ctx: &Context, keys: &Keys, held: &Lock) -> Result<Dead, Failure> {
    let edited = held.edited_fields(&keys.held_lock, &keys.lock);
    if !edited.is_empty() {
        // Such a record proves nothing, not even whose it is.
        let why = format!(
            "NETWORK_LOCK record {} of the state app was edited ({})",
            held.record_id,
            edited.join(", ")
        );
        return Err(conflict(held, &why));
    }
    if !ctx.auto_reclaim {
        return Err(conflict(held, "automatic release is switched off"));
    }
    let attempts = running_attempts(ctx, &held.owner_invocation_id)?;
    let table = ProcessTable::default();
    match examine(held, &ctx.owner_dir(), &table, &attempts, ctx.clock.now()) {
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

fn running_attempts(ctx: &Context, invocation_id: &str) -> Result<Vec<String>, Failure> {
    let condition = query::and(&[
        query::one_of("record_type", &[attempt::RECORD_TYPE]),
        query::one_of("invocation_id", &[invocation_id]),
        query::one_of("status", &[AttemptStatus::Running.as_str()]),
    ]);
    let records = ctx.client.all_by_id(
        &ctx.audit,
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
    pub fn succeed(
        &self,
        ctx: &Context,
        network_id: &str,
        wish: lease::Request,
    ) -> Result<Result<Lease, AcquireError>, Failure> {
        let event_id = format!("net_unlock_{}", uuid()?);
        let by = format!("auto:{}", ctx.host);
        let forced = Forced {
            event_id: &event_id,
            network_id,
            lock_key: &self.lock.lock_key,
            lock: &self.lock,
            service_principal: &by,
            requested_by: &ctx.requested_by,
            stop_confirmed_by: &by,
            stop_method: "local_pid",
            stop_evidence_ref: &self.evidence,
            stop_detail: &self.evidence,
            reason: "the owner of the lock is proved dead",
            evidence_ref: &self.evidence,
        };
        let taken = Lease::acquire_from(wish, &forced);
        if taken.is_ok() {
            (ctx.warn)(format!(
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
