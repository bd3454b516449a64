//! The lease when clocks jump and machines sleep (D-03): the wall clock is only written down, what is decided hangs on the
//! monotonic clock, which counts suspensions.

use std::sync::atomic::{AtomicI64, Ordering};

use super::*;

const MINUTE: i64 = 60_000;

/// Two clocks that stand still until a test moves them.
struct Watch {
    started: Instant,
    wall_ms: AtomicI64,
    passed_ms: AtomicI64,
}

impl Watch {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            started: Instant::now(),
            wall_ms: AtomicI64::new(1_790_000_000_000),
            passed_ms: AtomicI64::new(0),
        })
    }

    /// Somebody sets the wall clock.
    fn set_wall(&self, by_ms: i64) {
        self.wall_ms.fetch_add(by_ms, Ordering::SeqCst);
    }

    /// Time passes, on both clocks.
    fn pass(&self, ms: i64) {
        self.passed_ms.fetch_add(ms, Ordering::SeqCst);
        self.set_wall(ms);
    }
}

impl Clock for Watch {
    fn now(&self) -> Timestamp {
        Timestamp(self.wall_ms.load(Ordering::SeqCst))
    }
    fn instant(&self) -> Instant {
        self.started + Duration::from_millis(self.passed_ms.load(Ordering::SeqCst).unsigned_abs())
    }
    fn sleep(&self, time: Duration) {
        self.pass(i64::try_from(time.as_millis()).expect("short"));
    }
}

/// kintone answers a bulkRequest, and this process sleeps before it sees the answer.
struct SleepsAfterWrites {
    fake: Fake,
    watch: Arc<Watch>,
    ms: i64,
}

impl Store for SleepsAfterWrites {
    fn bulk(&self, items: &[BulkItem<'_>]) -> Result<(), kintone::Error> {
        let answer = self.fake.bulk(items);
        self.watch.pass(self.ms);
        answer
    }
    fn add(&self, app: &App, fields: &Fields) -> Result<Added, kintone::Error> {
        self.fake.add(app, fields)
    }
    fn records(&self, app: &App, query: &str) -> Result<Vec<Record>, kintone::Error> {
        self.fake.records(app, query)
    }
    fn set_read_deadline(&self, _: Option<Instant>) {}
}

fn timed(fake: &Fake, watch: &Arc<Watch>, name: &str) -> Lease {
    let request = Request {
        clock: Arc::clone(watch) as Arc<dyn Clock>,
        ..request(fake, name)
    };
    Lease::acquire(request).expect("lock")
}

fn taken_away(fake: &Fake, lease: &Lease) {
    let tombstone = key::released_lock_record_key("N1:key", lease.token());
    fake.person_saves("LOCK:N1:key", Some(("status_reason", FORCE_RELEASED)));
    fake.person_saves("LOCK:N1:key", Some(("record_key", &tombstone)));
}

fn left(lease: &Lease, watch: &Watch) -> Duration {
    let held = lease.shared.lock();
    held.expires.saturating_duration_since(watch.instant())
}

#[test]
fn a_wall_clock_that_is_set_changes_nothing_but_the_times_written() {
    for jump in [10 * MINUTE, -10 * MINUTE, 24 * 60 * MINUTE, -24 * 60 * MINUTE] {
        let (fake, watch) = (Fake::default(), Watch::new());
        let lease = timed(&fake, &watch, "wall");
        watch.pass(MINUTE);
        let (sent, remaining) = (fake.world().bulks, left(&lease, &watch));
        watch.set_wall(jump);
        assert_eq!(left(&lease, &watch), remaining, "{jump}");
        lease.confirm(lease.heartbeat()).expect("fresh");
        assert_eq!(fake.world().bulks, sent, "{jump}: no renewal is due");
        lease.commit(&mut [insert("a")]).expect("landed");
        assert_eq!(left(&lease, &watch), lease.duration(), "{jump}");
        let end = Timestamp::parse(
            fake.value("LOCK:N1:key", "lease_expires_at")
                .as_str()
                .expect("text"),
        );
        let lease_ms = i64::try_from(lease.duration().as_millis()).expect("short");
        assert_eq!(end, Some(watch.now().plus_ms(lease_ms)), "{jump}");
    }
}

#[test]
fn a_machine_that_slept_asks_before_it_goes_on() {
    let (fake, watch) = (Fake::default(), Watch::new());
    let lease = timed(&fake, &watch, "slept");
    let sent = fake.world().bulks;
    lease.confirm(lease.heartbeat()).expect("fresh");
    assert_eq!(fake.world().bulks, sent);
    watch.pass(8 * 60 * MINUTE);
    // Nobody took the lock: an expired lease is renewed as long as it is ours (LCK-04).
    lease.confirm(lease.heartbeat()).expect("still ours");
    assert_eq!(fake.world().bulks, sent + 1);
    assert_eq!(left(&lease, &watch), lease.duration());
    taken_away(&fake, &lease);
    watch.pass(8 * 60 * MINUTE);
    assert!(matches!(lease.confirm(lease.heartbeat()), Err(CommitError::Lost)));
    assert!(lease.is_lost());
}

#[test]
fn an_answer_that_was_read_late_is_no_fresh_proof() {
    let (fake, watch) = (Fake::default(), Watch::new());
    let request = Request {
        clock: Arc::clone(&watch) as Arc<dyn Clock>,
        store: Arc::new(SleepsAfterWrites {
            fake: fake.clone(),
            watch: Arc::clone(&watch),
            ms: 30 * MINUTE,
        }),
        ..request(&fake, "late")
    };
    let lease = Lease::acquire(request).expect("lock");
    lease.commit(&mut [insert("a")]).expect("landed");
    assert_eq!(left(&lease, &watch) + Duration::from_mins(30), lease.duration());
    taken_away(&fake, &lease);
    // The heartbeat interval is 20 minutes: what was true half an hour ago starts no job.
    assert!(matches!(lease.confirm(lease.heartbeat()), Err(CommitError::Lost)));
}

#[test]
fn the_heartbeat_beats_when_the_machine_wakes_up_and_not_when_the_clock_is_set() {
    let (fake, watch) = (Fake::default(), Watch::new());
    let lease = timed(&fake, &watch, "wakes");
    let sent = fake.world().bulks;
    watch.set_wall(24 * 60 * MINUTE);
    lease.shared.woken.notify_all();
    watch.set_wall(-24 * 60 * MINUTE);
    lease.shared.woken.notify_all();
    watch.pass(21 * MINUTE);
    lease.shared.woken.notify_all();
    while fake.world().bulks == sent {
        std::thread::yield_now();
    }
    drop(lease);
    assert_eq!(fake.world().bulks, sent + 1, "one beat, for the sleep");
}
