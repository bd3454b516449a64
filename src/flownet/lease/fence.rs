//! One fenced write: send, and decide what became of it (D-01).

use std::time::{Duration, Instant};

use super::change::{self, Apps, Change};
use super::decide::{Decision, Expectation};
use super::error::CommitError;
use super::{End, Held, Shared};
use crate::flownet::record::lock;
use crate::flownet::record::status::AttemptStatus;
use crate::kintone::{self, BulkItem, ErrorKind, Fields, Outcome, Target, Update};

/// First pause after a failed try.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// Longest pause between two tries.
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Kind of a fenced write.
#[derive(Clone, Copy)]
pub enum Write<'a> {
    /// Renews the lease.
    Renew,
    /// Ends it.
    Release {
        /// Status of the tombstone.
        status: AttemptStatus,
        /// Result code of the tombstone.
        reason: &'a str,
    },
}

/// The first inner request of a write, fixed when it is first sent: a repetition must be the same request.
#[derive(Clone, Debug)]
pub struct Fence {
    fields: Fields,
    before: u64,
    after: u64,
    releases: bool,
    lease: Duration,
    made: Instant,
}

impl Fence {
    fn new(shared: &Shared, held: &Held, write: Write<'_>) -> Self {
        let (made, now) = (shared.clock.instant(), shared.clock.now());
        let after = held.revision + 1;
        let lease_ms = i64::try_from(held.times.lease.as_millis()).unwrap_or(i64::MAX);
        let fields = match write {
            Write::Renew => lock::renew_fields(now, now.plus_ms(lease_ms), after),
            Write::Release { status, reason } => {
                lock::release_fields(&shared.tombstone_key, status, reason, now, after)
            }
        };
        let releases = matches!(write, Write::Release { .. });
        Self {
            fields,
            before: held.business_revision,
            after,
            releases,
            lease: held.times.lease,
            made,
        }
    }

    /// What the lock record shows if this write landed.
    pub fn expectation(&self, shared: &Shared) -> Expectation {
        Expectation {
            held_key: shared.held_key.clone(),
            tombstone_key: shared.tombstone_key.clone(),
            token: shared.token.clone(),
            before: self.before,
            after: self.after,
            releases: self.releases,
        }
    }
}

/// Pause before try `n` + 1: doubling, with a jitter of up to a half so that two processes part.
pub fn pause(n: u32) -> Duration {
    let full = FIRST_PAUSE
        .saturating_mul(1 << n.saturating_sub(1).min(10))
        .min(LONGEST_PAUSE);
    let mut byte = [0u8; 1];
    // Without randomness the pause is just not spread.
    let _ = getrandom::getrandom(&mut byte);
    full / 2 + full.mul_f64(f64::from(byte[0]) / 510.0)
}

impl Shared {
    /// Writes `changes` in as many fenced requests as they need; the fence of the last one is `write`.
    pub(super) fn write(
        &self,
        held: &mut Held,
        changes: &mut [Change],
        write: Write<'_>,
    ) -> Result<(), CommitError> {
        if held.end.is_some() {
            return Err(CommitError::Lost);
        }
        if let Some(beat) = held.undecided.take() {
            self.land(held, &beat, &mut [], &[])?;
        }
        let parts = change::parts(changes);
        let Some((last, earlier)) = parts.split_last() else {
            let fence = Fence::new(self, held, write);
            return self.land(held, &fence, changes, &[]);
        };
        for part in earlier {
            let fence = Fence::new(self, held, Write::Renew);
            self.land(held, &fence, changes, part)?;
        }
        let fence = Fence::new(self, held, write);
        self.land(held, &fence, changes, last)
    }

    /// One heartbeat: a single try. An unknown outcome is left for the next writer to land first.
    pub(super) fn beat(&self, held: &mut Held) -> Result<(), CommitError> {
        if held.end.is_some() {
            return Err(CommitError::Lost);
        }
        let fence = match held.undecided.take() {
            Some(fence) => fence,
            None => Fence::new(self, held, Write::Renew),
        };
        let Err(error) = self.send(held, &fence, &[], &[]) else {
            self.landed(held, &fence, fence.after);
            return Ok(());
        };
        match self.look(&fence) {
            Ok(Decision::Landed(revision)) => {
                self.landed(held, &fence, revision);
                Ok(())
            }
            Ok(Decision::NotLanded(revision)) => {
                self.adopt_fence(held, revision);
                // Another copy may still be on its way; only this very request may follow it. A moved revision
                // makes any such copy void.
                if error.outcome() == Outcome::Unknown && revision + 1 == fence.after {
                    held.undecided = Some(fence);
                }
                Err(CommitError::Undecided(error))
            }
            Ok(Decision::Lost) => Err(self.lost(held)),
            Err(_) => {
                if error.outcome() == Outcome::Unknown {
                    held.undecided = Some(fence);
                }
                Err(CommitError::Undecided(error))
            }
        }
    }

    /// Sends one request until it is known to have landed, or never will. Gives up after one lease of silence.
    fn land(
        &self,
        held: &mut Held,
        fence: &Fence,
        changes: &mut [Change],
        part: &[Vec<usize>],
    ) -> Result<(), CommitError> {
        let mut fence = fence.clone();
        let mut give_up: Option<Instant> = None;
        let mut tries = 0;
        loop {
            let Err(error) = self.send(held, &fence, changes, part) else {
                self.landed(held, &fence, fence.after);
                return Ok(());
            };
            tries += 1;
            let give_up = *give_up.get_or_insert(self.clock.instant() + held.times.lease);
            match self.settle(held, &fence, give_up)? {
                None => {
                    held.end = Some(End::Undecided);
                    return Err(CommitError::Undecided(error));
                }
                Some(Decision::Landed(revision)) => {
                    self.landed(held, &fence, revision);
                    return Ok(());
                }
                Some(Decision::Lost) => return Err(self.lost(held)),
                Some(Decision::NotLanded(revision)) => {
                    if self.adopt_fence(held, revision) {
                        fence.after = revision + 1;
                        fence.fields = fence.fields.clone().number("revision", fence.after);
                    }
                    if self.clock.instant() >= give_up {
                        held.end = Some(End::Undecided);
                        return Err(CommitError::Undecided(error));
                    }
                    self.judge(error, changes, part)?;
                }
            }
            self.clock.sleep(pause(tries));
        }
    }

    /// Asks the lock record until it answers; `None` when it kept silent until `give_up`.
    fn settle(
        &self,
        held: &mut Held,
        fence: &Fence,
        give_up: Instant,
    ) -> Result<Option<Decision>, CommitError> {
        let mut tries = 0;
        // The fence makes these reads safe at any time; the lease is over long before they end.
        self.store.set_read_deadline(None);
        let answer = loop {
            match self.look(fence) {
                Ok(decision) => break Some(decision),
                Err(super::store::ReadError::Broken(e)) => {
                    return Err(CommitError::Foreign {
                        record_key: self.held_key.clone(),
                        place: format!("{} record {} of the state app", e.record_type, e.record_id),
                        field: e.field.to_owned(),
                        stored: e.problem.to_owned(),
                        expected: "a readable value".to_owned(),
                    });
                }
                Err(super::store::ReadError::Remote(_)) if self.clock.instant() >= give_up => break None,
                Err(super::store::ReadError::Remote(_)) => {}
            }
            tries += 1;
            self.clock.sleep(pause(tries));
        };
        self.tell_deadline(held);
        Ok(answer)
    }

    /// A request that did not land: is it worth the same try again?
    fn judge(
        &self,
        error: kintone::Error,
        changes: &mut [Change],
        part: &[Vec<usize>],
    ) -> Result<(), CommitError> {
        if error.outcome() == Outcome::Unknown || error.is_transient() {
            return Ok(());
        }
        let request = error
            .bulk_index()
            .and_then(|i| i.checked_sub(1))
            .and_then(|i| part.get(i));
        match (error.kind(), request) {
            // The fence itself: the lock record has just been read, its revision taken over.
            (ErrorKind::RevisionConflict, None) => Ok(()),
            (ErrorKind::RevisionConflict | ErrorKind::NotFound, Some(positions)) => {
                self.take_over_foreign_edits(changes, positions)
            }
            (_, request) => {
                let position = request.and_then(|positions| positions.first().copied());
                Err(CommitError::Refused { error, position })
            }
        }
    }

    fn send(
        &self,
        held: &Held,
        fence: &Fence,
        changes: &[Change],
        part: &[Vec<usize>],
    ) -> Result<(), kintone::Error> {
        let apps = Apps {
            state: &self.state,
            audit: &self.audit,
        };
        let mut items = vec![BulkItem::Update {
            app: &self.state,
            update: Update {
                target: Target::Id(held.record_id),
                revision: Some(held.revision),
                fields: fence.fields.clone(),
            },
        }];
        items.extend(
            part.iter()
                .map(|positions| change::item(apps, changes, positions)),
        );
        self.store.bulk(&items)
    }

    /// The lease counts from when the request was made, as its stored end does: a process that slept while it tried, or
    /// waited for the answer, knows of the lock as it was before.
    fn landed(&self, held: &mut Held, fence: &Fence, revision: u64) {
        held.revision = revision;
        held.business_revision = fence.after;
        held.expires = fence.made + fence.lease;
        held.renewed = fence.made;
        if fence.releases {
            held.end = Some(End::Released);
        }
        self.tell_deadline(held);
    }

    fn lost(&self, held: &mut Held) -> CommitError {
        held.end = Some(End::Lost);
        self.store.set_read_deadline(None);
        CommitError::Lost
    }

    /// Somebody saved the lock record in the browser: its fields are ours still, only kintone's revision moved.
    fn adopt_fence(&self, held: &mut Held, revision: u64) -> bool {
        let moved = revision != held.revision;
        if moved {
            (self.warn)(format!(
                "the lock record {} was saved by somebody else; going on",
                self.held_key
            ));
            held.revision = revision;
        }
        moved
    }
}
