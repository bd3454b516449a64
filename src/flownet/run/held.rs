//! Holds as a start meets them: accepted before the next node, released when their time is over (SCH-07, REC-19).
//!
//! Each change of a hold is one commit of its own with its event in the audit app, so that a person who changes the hold
//! at the same moment is heard: the commit is refused and the hold is read again.

use super::context::Context;
use super::failure::Failure;
use super::ledger::{Entry, Ledger, LedgerError};
use crate::flownet::clock::uuid;
use crate::flownet::key;
use crate::flownet::lease::{CommitError, Lease};
use crate::flownet::record::Hold;
use crate::flownet::record::hold::EXPIRED;
use crate::flownet::record::hold_event::HoldEvent;
use crate::flownet::record::status::HoldState;
use crate::flownet::time::Timestamp;
use crate::kintone::query;

/// How often a hold is read again because a person changed it at the same moment.
const READS: u32 = 4;

/// Does a hold forbid the next node? Gives its record key; an accepted hold and an expired one are on record afterwards.
///
/// The same read proves that the lock is still ours.
pub fn stops(
    ctx: &Context,
    lease: &Lease,
    ledger: &mut Ledger,
    invocation_id: &str,
) -> Result<Option<String>, Failure> {
    let hold_key = key::hold_record_key(&ledger.run.get().run_id)?;
    let mut left = READS;
    loop {
        left -= 1;
        let Some(hold) = read(ctx, lease, &hold_key)?.filter(Hold::is_active) else {
            return Ok(None);
        };
        let now = ctx.clock.now();
        ledger.hold = Some(Entry::read(hold.clone()));
        let stops = hold.stops(now);
        if !stops {
            release_expired(ctx, ledger, now)?;
        } else if hold.state == HoldState::Requested {
            let accepted = hold.accepted(now);
            change(
                ledger,
                accepted,
                invocation_id,
                "the next node was not started",
                now,
            )?;
        } else {
            return Ok(Some(hold_key));
        }
        match ledger.commit(lease) {
            Ok(()) => return Ok(stops.then_some(hold_key)),
            Err(LedgerError::Commit(CommitError::Foreign { record_key, .. }))
                if record_key == hold_key && left > 0 =>
            {
                ledger.discard();
            }
            Err(e) => return Err(e.into()),
        }
    }
}

/// Writes the release of a hold whose time is over into the ledger; the next commit carries it.
pub fn release_expired(ctx: &Context, ledger: &mut Ledger, now: Timestamp) -> Result<(), Failure> {
    let Some(hold) = ledger.hold.as_ref().map(Entry::get).filter(|h| h.is_expired(now)) else {
        return Ok(());
    };
    (ctx.warn)(format!(
        "the hold of {} ended at {}; its release is recorded",
        hold.requested_by,
        hold.expires_at().unwrap_or_default()
    ));
    let by = format!("auto:{}", ctx.host);
    let released = hold.released(&by, EXPIRED, now);
    change(ledger, released, &by, EXPIRED, now)
}

/// The hold as it is now.
fn read(ctx: &Context, lease: &Lease, hold_key: &str) -> Result<Option<Hold>, Failure> {
    let text = query::one_of("record_key", &[hold_key, lease.held_key()]);
    let page = ctx.client.records(&ctx.state, &text, &[], false)?;
    let owned = page
        .records
        .iter()
        .any(|r| r.text("record_key") == lease.held_key() && r.text("lease_token") == lease.token());
    if !owned {
        return Err(Failure::new(
            "NETWORK_LEASE_INTERRUPTED",
            "the network lock was taken away; no further node was started",
        ));
    }
    let hold = page.records.iter().find(|r| r.text("record_key") == hold_key);
    Ok(hold.map(Hold::from_record).transpose()?)
}

fn change(ledger: &mut Ledger, to: Hold, by: &str, reason: &str, now: Timestamp) -> Result<(), Failure> {
    let Some(entry) = &mut ledger.hold else {
        return Ok(());
    };
    let event_id = format!("hold_{}", uuid()?);
    let event = HoldEvent {
        event_id: &event_id,
        before: Some(entry.get()),
        after: &to,
        by,
        reason,
        at: now,
    }
    .to_fields()?;
    *entry.edit() = to;
    ledger.operations.push(event);
    Ok(())
}
