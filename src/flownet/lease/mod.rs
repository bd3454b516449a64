//! The Network lock: owner identity, acquire, heartbeat, fenced commit, release (D-01).
//!
//! Every write of a lock holder goes through [`Lease::commit`]: one bulkRequest whose first inner request is the
//! revision-checked renewal of the lock. Revision and lease live behind one mutex, so the heartbeat thread and the
//! commits never race each other.

pub mod change;
pub mod decide;
pub mod error;
mod fence;
pub mod forced;
mod foreign;
mod handover;
mod heartbeat;
pub mod owner;
pub mod reclaim;
pub mod store;
pub mod witness;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

pub use change::{Change, Role};
pub use error::{AcquireError, CommitError};
pub use store::Store;

use self::decide::Decision;
use self::fence::{Fence, Write};
use self::heartbeat::Heartbeat;
use self::owner::OwnerFile;
use crate::flownet::clock::{Clock, uuid};
use crate::flownet::key;
use crate::flownet::record::lock::Acquire;
use crate::flownet::record::status::AttemptStatus;
use crate::kintone::{App, ErrorKind, Fields, Outcome};

/// Tries of the lock insert before it counts as unavailable (D-03).
const ACQUIRE_TRIES: u32 = 5;

/// A lease is renewed at least so often while it lasts (LCK-03).
const BEATS_PER_LEASE: u32 = 3;

/// Lease times (LCK-03).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Times {
    /// How long a renewal lasts.
    pub lease: Duration,
    /// Longest silence between two renewals.
    pub heartbeat: Duration,
}

/// Receives warnings for the operator.
pub type Warn = Arc<dyn Fn(String) + Send + Sync>;

/// Everything that taking a lock needs.
pub struct Request {
    /// kintone.
    pub store: Arc<dyn Store>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// State app.
    pub state: App,
    /// Audit app.
    pub audit: App,
    /// N1 key.
    pub lock_key: String,
    /// `LOCK:<N1>`.
    pub held_key: String,
    /// Profile.
    pub profile: String,
    /// `invoke_<uuid>` or `archive_<uuid>`.
    pub owner: String,
    /// `local-pid://<host>/<pid>` or the operator's own text.
    pub instance: String,
    /// Lease times.
    pub times: Times,
    /// Folder of owner files; without one a dead owner is never proved dead by a later start, a person decides (D-08).
    pub owner_dir: Option<std::path::PathBuf>,
    /// Warnings.
    pub warn: Warn,
}

/// What the heartbeat thread and the commits share.
struct Shared {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    state: App,
    audit: App,
    held_key: String,
    tombstone_key: String,
    token: String,
    warn: Warn,
    held: Mutex<Held>,
    woken: std::sync::Condvar,
}

/// The mutable half, behind the mutex.
struct Held {
    record_id: u64,
    revision: u64,
    business_revision: u64,
    times: Times,
    /// Local end of the lease, counted from when the renewing request was made.
    expires: Instant,
    /// When the last successful renewal was made: since then nobody is known to hold the lock but us.
    renewed: Instant,
    /// A heartbeat whose answer is not known: it must land before anything else is sent.
    undecided: Option<Fence>,
    end: Option<End>,
}

/// Why nothing more is written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    Lost,
    Undecided,
    Released,
}

/// A held Network lock.
pub struct Lease {
    shared: Arc<Shared>,
    heartbeat: Option<Heartbeat>,
    owner_file: Option<OwnerFile>,
}

/// A lock that was not released.
pub struct Unreleased {
    /// Still ours: the write was refused and nothing landed.
    pub lease: Option<Box<Lease>>,
    /// Why.
    pub error: Box<CommitError>,
}

impl Lease {
    /// Takes the lock (LCK-02) and starts its heartbeat.
    ///
    /// A held lock is a conflict whatever its lease says; see [`reclaim`] for the proof that frees one.
    pub fn acquire(request: Request) -> Result<Self, AcquireError> {
        Self::take(request, insert)
    }

    /// Takes the lock from an owner that is proved dead, in one request with the record of that (D-08).
    pub fn acquire_from(request: Request, dead: &forced::Forced<'_>) -> Result<Self, AcquireError> {
        Self::take(request, |request, token| {
            handover::take_over(request, token, dead)
        })
    }

    fn take(
        request: Request,
        put: impl FnOnce(&Request, &str) -> Result<(u64, u64), AcquireError>,
    ) -> Result<Self, AcquireError> {
        let token = uuid().map_err(AcquireError::Randomness)?;
        let owner_file = request
            .owner_dir
            .as_ref()
            .map(|dir| OwnerFile::create(dir, &token, &request.owner))
            .transpose()
            .map_err(AcquireError::OwnerFile)?;
        let held_key = request.held_key.clone();
        let made = request.clock.instant();
        match put(&request, &token) {
            Ok((record_id, revision)) => {
                let shared = Arc::new(Shared {
                    tombstone_key: key::released_lock_record_key(&request.lock_key, &token),
                    held_key,
                    token,
                    store: request.store,
                    clock: request.clock,
                    state: request.state,
                    audit: request.audit,
                    warn: request.warn,
                    held: Mutex::new(Held {
                        record_id,
                        revision,
                        business_revision: 1,
                        times: request.times,
                        expires: made + request.times.lease,
                        renewed: made,
                        undecided: None,
                        end: None,
                    }),
                    woken: std::sync::Condvar::new(),
                });
                shared.tell_deadline(&shared.lock());
                let heartbeat = Some(Heartbeat::start(Arc::clone(&shared)));
                Ok(Self {
                    shared,
                    heartbeat,
                    owner_file,
                })
            }
            Err(e) => {
                // The write may still arrive: the file stays so that a later start can prove us dead.
                if let Some(file) = owner_file.filter(|_| e.is_surely_not_ours()) {
                    file.remove();
                }
                Err(e)
            }
        }
    }

    /// Writes `changes` behind the fence, all or nothing; returns the new revision of each.
    ///
    /// More than 1,900 records take several commits, in order; each is consistent by itself.
    pub fn commit(&self, changes: &mut [Change]) -> Result<Vec<u64>, CommitError> {
        let mut held = self.shared.lock();
        self.shared.write(&mut held, changes, Write::Renew)?;
        self.shared.woken.notify_all();
        Ok(changes.iter().map(Change::revision_after).collect())
    }

    /// Renews the lease now unless that was done within `fresh`: proof that the lock is still ours.
    pub fn confirm(&self, fresh: Duration) -> Result<(), CommitError> {
        let mut held = self.shared.lock();
        if held.end.is_none() && self.shared.clock.instant().duration_since(held.renewed) < fresh {
            return Ok(());
        }
        self.shared.write(&mut held, &mut [], Write::Renew)
    }

    /// Uses another heartbeat from now on: that of the definition inside the Run's bundle (LCK-03). The lease is that of
    /// the file in use and may have become shorter since: three beats fit into it all the same.
    pub fn set_heartbeat(&self, heartbeat: Duration) {
        let mut held = self.shared.lock();
        held.times.heartbeat = heartbeat.min(held.times.lease / BEATS_PER_LEASE);
        self.shared.tell_deadline(&held);
        drop(held);
        self.shared.woken.notify_all();
    }

    /// How long a renewal lasts.
    pub fn duration(&self) -> Duration {
        self.shared.lock().times.lease
    }

    /// Longest silence between two renewals.
    pub fn heartbeat(&self) -> Duration {
        self.shared.lock().times.heartbeat
    }

    /// Record key of the held lock.
    pub fn held_key(&self) -> &str {
        &self.shared.held_key
    }

    /// Our proof of ownership.
    pub fn token(&self) -> &str {
        &self.shared.token
    }

    /// Is the lock known to be gone?
    pub fn is_lost(&self) -> bool {
        self.shared.lock().end == Some(End::Lost)
    }

    /// Notes a job of ours in the owner file, for the proof of D-08.
    pub fn note_job(&self, pid: u32, start_time: u64) {
        let noted = self
            .owner_file
            .as_ref()
            .map(|file| file.note_job(pid, start_time));
        if let Some(Err(e)) = noted {
            (self.shared.warn)(format!("the owner file could not be updated: {e}"));
        }
    }

    /// Last commit: writes `changes` and turns the lock into its tombstone in one request (REC-17).
    ///
    /// After an error the lock may still be held; the owner file then stays for a later proof.
    pub fn release(
        self,
        changes: &mut [Change],
        status: AttemptStatus,
        reason: &str,
    ) -> Result<(), CommitError> {
        self.try_release(changes, status, reason).map_err(|e| *e.error)
    }

    /// Like [`Lease::release`], but gives the lease back when `changes` were refused for good: it can then be released
    /// without them.
    pub fn try_release(
        mut self,
        changes: &mut [Change],
        status: AttemptStatus,
        reason: &str,
    ) -> Result<(), Unreleased> {
        let (done, still_ours) = {
            let mut held = self.shared.lock();
            let done = self
                .shared
                .write(&mut held, changes, Write::Release { status, reason });
            (done, held.end.is_none())
        };
        if still_ours && let Err(error) = done {
            return Err(Unreleased {
                lease: Some(Box::new(self)),
                error: Box::new(error),
            });
        }
        self.stop_heartbeat();
        // A lock that was lost may still stand in kintone with our token, when it could not be reached for a whole lease.
        if done.is_ok()
            && let Some(file) = &self.owner_file
        {
            file.remove();
        }
        done.map_err(|error| Unreleased {
            lease: None,
            error: Box::new(error),
        })
    }

    fn stop_heartbeat(&mut self) {
        if let Some(heartbeat) = self.heartbeat.take() {
            heartbeat.stop();
        }
        self.shared.store.set_read_deadline(None);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        // A lease that is dropped without release stays held in kintone; only the thread ends here.
        self.stop_heartbeat();
    }
}

/// The held record of this owner.
fn held_fields(request: &Request, token: &str) -> Fields {
    let now = request.clock.now();
    let lease_ms = i64::try_from(request.times.lease.as_millis()).unwrap_or(i64::MAX);
    Acquire {
        record_key: &request.held_key,
        lock_key: &request.lock_key,
        profile: &request.profile,
        owner: &request.owner,
        token,
        instance: &request.instance,
        now,
        expires: now.plus_ms(lease_ms),
    }
    .to_fields()
}

/// Inserts the held record; decides a lost answer by reading it back (ADJ-07). Gives its id and revision.
fn insert(request: &Request, token: &str) -> Result<(u64, u64), AcquireError> {
    let fields = held_fields(request, token);
    let mut tries = 0;
    // Once an answer was lost, the write may arrive at any time.
    let mut sent = false;
    loop {
        let error = match request.store.add(&request.state, &fields) {
            Ok(added) => return Ok((added.id, added.revision)),
            Err(e) => e,
        };
        tries += 1;
        let refused = error.outcome() == Outcome::NotApplied;
        sent |= !refused;
        if !refused || matches!(error.kind(), ErrorKind::Invalid | ErrorKind::DatabaseLock) {
            let (held_key, lock_key) = (&request.held_key, &request.lock_key);
            let found = store::network_lock(&*request.store, &request.state, held_key, lock_key);
            match found.map(|locks| locks.into_iter().next()) {
                Ok(Some(lock)) if lock.lease_token == token => {
                    return Ok((lock.record_id, lock.revision));
                }
                Ok(Some(lock)) => return Err(AcquireError::Conflict(Box::new(lock))),
                // Refused as a duplicate, yet gone: its owner released it in between.
                Ok(None) => {}
                Err(e) => return Err(AcquireError::after(sent, e)),
            }
        } else if !error.is_transient() {
            return Err(AcquireError::after(sent, error));
        }
        if tries >= ACQUIRE_TRIES {
            return Err(AcquireError::after(sent, error));
        }
        request.clock.sleep(fence::pause(tries));
    }
}

impl Shared {
    /// The mutable half. A poisoned mutex is used as it is: the panicking holder's last state is a valid one,
    /// because every assignment follows a decided answer.
    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads may be retried until one heartbeat before the end of the lease (D-03).
    ///
    /// Our clock runs on while the machine is suspended, that of the transport does not: it is told how long from now.
    fn tell_deadline(&self, held: &Held) {
        let end = held.expires.checked_sub(held.times.heartbeat);
        let left = end.map(|end| end.saturating_duration_since(self.clock.instant()));
        self.store
            .set_read_deadline(left.map(|left| Instant::now() + left));
    }

    /// The lock record under its held key and its tombstone key.
    fn look(&self, fence: &Fence) -> Result<Decision, store::ReadError> {
        let found = store::lock_records(&*self.store, &self.state, &[&self.held_key, &self.tombstone_key])?;
        Ok(decide::decide(&found, &fence.expectation(self)))
    }
}
