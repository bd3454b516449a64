//! Is the owner of a held lock proved dead? (D-08)
//!
//! "Stale" is a candidate, never a proof. The proof is an owner file of exactly that lease token, a process that does
//! not exist any more, and no job of that owner alive.

use std::path::Path;
use std::time::Duration;

use super::owner::{self, Owner};
use crate::flownet::child::process_table::{Doubt, Presence, ProcessTable};
use crate::flownet::record::Lock;
use crate::flownet::time::Timestamp;

/// Pause between the two readings of the process table.
const SECOND_LOOK: Duration = Duration::from_secs(1);

/// The verdict on an owner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Dead, with the facts that prove it.
    Dead(String),
    /// Alive: this process holds the lock.
    Alive(u32),
    /// Dead, but its job still runs: wait for this process.
    JobAlive(u32),
    /// Nothing can be proved from here, and why.
    Unproved(String),
}

/// Examines the owner of `lock`. `attempts` are the ids of its RUNNING attempts.
pub fn examine(
    lock: &Lock,
    owner_dir: &Path,
    table: &ProcessTable,
    attempts: &[String],
    now: Timestamp,
) -> Verdict {
    match owner::find(owner_dir, &lock.lease_token) {
        None => Verdict::Unproved("no owner file of this lease on this machine".to_owned()),
        // Attempts are asked for by this id: under another one, those of the owner would not be seen.
        Some(owner) if owner.invocation_id != lock.owner_invocation_id => Verdict::Unproved(format!(
            "the owner file of this lease is that of {}: the lock record was edited",
            owner.invocation_id
        )),
        Some(owner) => judge(lock, &owner, table, attempts, now)
            .unwrap_or_else(|doubt| Verdict::Unproved(format!("the process table leaves a doubt: {doubt}"))),
    }
}

fn judge(
    lock: &Lock,
    owner: &Owner,
    table: &ProcessTable,
    attempts: &[String],
    now: Timestamp,
) -> Result<Verdict, Doubt> {
    let how = match owner.process.presence(table)? {
        Presence::Alive => return Ok(Verdict::Alive(owner.process.pid)),
        Presence::OutOfSight => {
            return Ok(Verdict::Unproved(
                "the owner ran on another host or in another pid namespace".to_owned(),
            ));
        }
        Presence::Gone => "no such process in this boot",
        Presence::OtherBoot if lock.is_stale_candidate(now) => {
            "the machine was restarted and the lease is over"
        }
        Presence::OtherBoot => {
            return Ok(Verdict::Unproved(format!(
                "the machine was restarted, but the lease lasts until {} (plus one minute)",
                lock.lease_expires_at
            )));
        }
    };
    if let Some(pid) = job_alive(owner, table, attempts)? {
        return Ok(Verdict::JobAlive(pid));
    }
    Ok(Verdict::Dead(format!(
        "{how}: pid {} started at tick {} of boot {}; jobs noted: {}, none alive",
        owner.process.pid,
        owner.process.start_time,
        owner.process.boot.0,
        owner.jobs.len()
    )))
}

/// A process that may still be doing the work of this owner's attempts.
///
/// A job is alive while its process exists, while its process group has a member, or while any argv names the attempt.
fn job_alive(owner: &Owner, table: &ProcessTable, attempts: &[String]) -> Result<Option<u32>, Doubt> {
    if owner.process.boot == table.boot_id()? {
        for (pid, start_time) in &owner.jobs {
            if table.process_start_time(*pid)? == Some(*start_time) || table.group_is_alive(*pid)? {
                return Ok(Some(*pid));
            }
        }
    }
    for attempt in attempts {
        if let Some(pid) = table
            .processes_with_argument_settled(attempt, SECOND_LOOK)?
            .first()
        {
            return Ok(Some(*pid));
        }
    }
    Ok(None)
}

/// Is it proved that nothing works on `attempt` any more, whose invocation held a lease on this machine?
///
/// Together with the absence of a JOB log record this proves that no statement ran: the runner writes its start mark
/// before the first one.
pub fn nothing_runs(owner_dir: &Path, table: &ProcessTable, invocation_id: &str, attempt: &str) -> bool {
    let Some(owner) = owner::find_by_invocation(owner_dir, invocation_id) else {
        return false;
    };
    let gone = || -> Result<bool, Doubt> {
        let here = matches!(
            owner.process.presence(table)?,
            Presence::Gone | Presence::OtherBoot
        );
        Ok(here && job_alive(&owner, table, &[attempt.to_owned()])?.is_none())
    };
    gone().unwrap_or(false)
}
