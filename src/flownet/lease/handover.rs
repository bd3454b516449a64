//! Taking the lock of an owner that is proved dead: its tombstone, the audit record and our own lock in one request (D-08).
//!
//! With two requests a crash in between would leave a Run with open attempts and nobody who holds it, and the next start
//! would not know that it carries on somebody's work.

use super::error::AcquireError;
use super::forced::{Forced, ForcedError};
use super::store::{self, ReadError};
use super::{ACQUIRE_TRIES, Request, fence, held_fields, insert};
use crate::kintone::{BulkItem, ErrorKind, Outcome};

/// Puts our lock in the place of the dead owner's. Gives its record id and revision.
pub(super) fn take_over(
    request: &Request,
    token: &str,
    dead: &Forced<'_>,
) -> Result<(u64, u64), AcquireError> {
    let (mut items, _) = dead.items(&request.state, &request.audit, request.clock.now());
    items.push(BulkItem::AddAll {
        app: &request.state,
        records: vec![held_fields(request, token)],
    });
    let mut tries = 0;
    // Once it was accepted or its answer was lost, it may show at any time.
    let mut sent = false;
    loop {
        let answer = request.store.bulk(&items);
        tries += 1;
        let refused = answer.as_ref().is_err_and(|e| e.outcome() == Outcome::NotApplied);
        sent |= !refused;
        match store::lock_record(&*request.store, &request.state, &request.held_key) {
            Ok(Some(lock)) if lock.lease_token == token => return Ok((lock.record_id, lock.revision)),
            // Somebody else was quicker, or saved the record: whoever reads it next decides anew.
            Ok(Some(lock)) if !is_unchanged(&lock, dead) => {
                return Err(AcquireError::Conflict(Box::new(lock)));
            }
            Ok(Some(_)) => {}
            // Released by a person in the meantime: nobody holds it.
            Ok(None) => return insert(request, token),
            Err(ReadError::Remote(e)) => return Err(AcquireError::after(sent, e)),
            Err(ReadError::Broken(e)) => return Err(AcquireError::Broken(e)),
        }
        // Answered with success and yet not to be seen: only a repetition of the very same request can tell.
        if let Err(error) = answer {
            if refused && error.kind() == ErrorKind::Invalid {
                return one_after_the_other(request, token, dead, sent);
            }
            let hopeless = refused && !error.is_transient();
            if hopeless || tries >= ACQUIRE_TRIES {
                return Err(AcquireError::after(sent, error));
            }
        } else if tries >= ACQUIRE_TRIES {
            return insert(request, token);
        }
        request.clock.sleep(fence::pause(tries));
    }
}

fn is_unchanged(lock: &crate::flownet::record::Lock, dead: &Forced<'_>) -> bool {
    lock.lease_token == dead.lock.lease_token && lock.revision == dead.lock.revision
}

/// kintone may refuse a key that the same request has just given up: then the lock is released first (not documented).
fn one_after_the_other(
    request: &Request,
    token: &str,
    dead: &Forced<'_>,
    sent: bool,
) -> Result<(u64, u64), AcquireError> {
    match dead.release(&*request.store, &*request.clock, &request.state, &request.audit) {
        // Whoever inserts next has it; a rival shows as a conflict.
        Ok(_) | Err(ForcedError::Changed | ForcedError::ByOther) => insert(request, token),
        Err(ForcedError::Refused(e) | ForcedError::Unconfirmed(e)) => Err(AcquireError::after(sent, e)),
        Err(ForcedError::Broken(e)) => Err(AcquireError::Broken(e)),
    }
}
