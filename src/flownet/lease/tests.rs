//! The lease against a kintone that loses answers, refuses, and changes under its hands.

mod clock;
mod handover;

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Map, Value, json};

use super::store::Store;
use super::*;
use crate::flownet::clock::Clock;
use crate::flownet::record::lock::FORCE_RELEASED;
use crate::flownet::time::Timestamp;
use crate::kintone::{self, Added, App, BulkItem, Fields, Record, Secret, Target};

/// What happens to one write.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Fate {
    /// Applied if kintone accepts it, and answered.
    Normal,
    /// Applied if kintone accepts it; the answer is lost.
    AnswerLost,
    /// Never arrives; the sender does not know.
    Vanishes,
    /// 429: provably not applied.
    TooMany,
    /// Kept back, unanswered, and delivered right before the next read.
    Late,
}

struct Row {
    app: u64,
    id: u64,
    revision: u64,
    fields: Map<String, Value>,
}

#[derive(Default)]
struct World {
    rows: Vec<Row>,
    fates: VecDeque<Fate>,
    late: Vec<Vec<Write>>,
    bulks: usize,
    /// A unique key that a request gives up is free for later requests only.
    keys_stay_taken: bool,
}

#[derive(Clone)]
enum Write {
    Insert(u64, Fields),
    Update(u64, Target, Option<u64>, Fields),
}

#[derive(Clone, Default)]
struct Fake(Arc<Mutex<World>>);

impl World {
    /// All or nothing, as kintone does; the error carries the position of the refused inner request.
    fn apply(&mut self, writes: &[Write]) -> Result<(), (usize, u16, &'static str)> {
        let mut copy: Vec<Row> = self
            .rows
            .iter()
            .map(|r| Row {
                app: r.app,
                id: r.id,
                revision: r.revision,
                fields: r.fields.clone(),
            })
            .collect();
        for (at, write) in writes.iter().enumerate() {
            match write {
                Write::Insert(app, fields) => {
                    let key = fields.get("record_key").cloned();
                    let clash = |r: &Row| r.app == *app && r.fields.get("record_key") == key.as_ref();
                    if copy.iter().any(clash) || self.keys_stay_taken && self.rows.iter().any(clash) {
                        return Err((at, 400, "CB_VA01"));
                    }
                    let id = copy.len() as u64 + 1;
                    copy.push(Row {
                        app: *app,
                        id,
                        revision: 1,
                        fields: map(fields),
                    });
                }
                Write::Update(app, target, revision, fields) => {
                    let found = copy.iter_mut().find(|r| {
                        r.app == *app
                            && match target {
                                Target::Id(id) => r.id == *id,
                                Target::Key { value, .. } => r.fields["record_key"] == json!(value),
                            }
                    });
                    let Some(row) = found else {
                        return Err((at, 404, "GAIA_RE20"));
                    };
                    if revision.is_some_and(|r| r != row.revision) {
                        return Err((at, 409, "GAIA_CO02"));
                    }
                    row.revision += 1;
                    row.fields.extend(map(fields));
                }
            }
        }
        self.rows = copy;
        Ok(())
    }
}

fn map(fields: &Fields) -> Map<String, Value> {
    fields
        .iter()
        .map(|(code, value)| (code.to_owned(), value.clone()))
        .collect()
}

fn lost() -> kintone::Error {
    kintone::Error::answer("POST bulkRequest", 503, b"<html>", None)
}

impl Fake {
    fn world(&self) -> std::sync::MutexGuard<'_, World> {
        self.0.lock().expect("test")
    }

    fn script(&self, fates: &[Fate]) {
        self.world().fates = fates.iter().copied().collect();
    }

    fn write(&self, writes: Vec<Write>) -> Result<(), kintone::Error> {
        let mut world = self.world();
        world.bulks += 1;
        match world.fates.pop_front().unwrap_or(Fate::Normal) {
            Fate::Vanishes => Err(lost()),
            Fate::TooMany => Err(kintone::Error::answer("POST bulkRequest", 429, b"", None)),
            Fate::Late => {
                world.late.push(writes);
                Err(lost())
            }
            fate => match world.apply(&writes) {
                _ if fate == Fate::AnswerLost => Err(lost()),
                Ok(()) => Ok(()),
                Err((at, status, code)) => {
                    let mut results = vec![json!({}); writes.len()];
                    results[at] = json!({"code": code, "id": "x", "message": "refused"});
                    let body = json!({ "results": results }).to_string();
                    Err(kintone::Error::answer(
                        "POST bulkRequest",
                        status,
                        body.as_bytes(),
                        None,
                    ))
                }
            },
        }
    }

    fn value(&self, key: &str, field: &str) -> Value {
        let world = self.world();
        let row = world
            .rows
            .iter()
            .find(|r| r.fields["record_key"] == json!(key))
            .expect("row");
        row.fields.get(field).cloned().unwrap_or_default()
    }

    /// A person presses "save" in the browser, perhaps with another value in one field.
    fn person_saves(&self, key: &str, change: Option<(&str, &str)>) {
        let mut world = self.world();
        let row = world
            .rows
            .iter_mut()
            .find(|r| r.fields["record_key"] == json!(key))
            .expect("row");
        row.revision += 1;
        if let Some((field, value)) = change {
            row.fields.insert(field.to_owned(), json!(value));
        }
    }
}

impl Store for Fake {
    fn bulk(&self, items: &[BulkItem<'_>]) -> Result<(), kintone::Error> {
        let mut writes = Vec::new();
        for item in items {
            match item {
                BulkItem::Update { app, update } => writes.push(Write::Update(
                    app.id,
                    update.target.clone(),
                    update.revision,
                    update.fields.clone(),
                )),
                BulkItem::UpdateAll { app, updates } => {
                    for u in updates {
                        writes.push(Write::Update(
                            app.id,
                            u.target.clone(),
                            u.revision,
                            u.fields.clone(),
                        ));
                    }
                }
                BulkItem::AddAll { app, records } => {
                    writes.extend(records.iter().map(|r| Write::Insert(app.id, r.clone())));
                }
                other => panic!("the lease never sends {other:?}"),
            }
        }
        self.write(writes)
    }

    fn add(&self, app: &App, fields: &Fields) -> Result<Added, kintone::Error> {
        self.write(vec![Write::Insert(app.id, fields.clone())])?;
        Ok(Added {
            id: self.world().rows.len() as u64,
            revision: 1,
        })
    }

    fn records(&self, app: &App, query: &str) -> Result<Vec<Record>, kintone::Error> {
        let mut world = self.world();
        for writes in std::mem::take(&mut world.late) {
            // A late copy may be refused; nobody hears of it.
            let _ = world.apply(&writes);
        }
        Ok(world
            .rows
            .iter()
            .filter(|r| r.app == app.id && query.contains(r.fields["record_key"].as_str().expect("text")))
            .map(|r| {
                let mut object = json!({"$id": {"value": r.id.to_string()}, "$revision": {"value": r.revision.to_string()}});
                for (code, value) in &r.fields {
                    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
                    object[code] = json!({ "value": text });
                }
                serde_json::from_value(object).expect("record")
            })
            .collect())
    }

    fn set_read_deadline(&self, _: Option<Instant>) {}
}

/// Real time, but pauses cost nothing.
struct Hurried;

impl Clock for Hurried {
    fn now(&self) -> Timestamp {
        Timestamp(1_790_000_000_000)
    }
    fn instant(&self) -> Instant {
        Instant::now()
    }
    fn sleep(&self, _: Duration) {
        std::thread::yield_now();
    }
}

fn app(id: u64) -> App {
    App::with_token(id, "test app", Secret::new("t"))
}

fn request(fake: &Fake, name: &str) -> Request {
    Request {
        store: Arc::new(fake.clone()),
        clock: Arc::new(Hurried),
        state: app(1),
        audit: app(2),
        lock_key: "N1:key".into(),
        held_key: "LOCK:N1:key".into(),
        profile: "prod".into(),
        owner: "invoke_1".into(),
        instance: "local-pid://host/1".into(),
        times: Times {
            lease: Duration::from_hours(1),
            heartbeat: Duration::from_mins(20),
        },
        owner_dir: Some(std::env::temp_dir().join(format!("ksql-lease-{name}-{}", std::process::id()))),
        warn: Arc::new(|_| {}),
    }
}

fn held(fake: &Fake, name: &str) -> Lease {
    Lease::acquire(request(fake, name)).expect("lock")
}

fn insert(key: &str) -> Change {
    Change::Insert {
        role: Role::State,
        fields: Fields::new().text("record_key", key).text("status", "A"),
    }
}

fn update(key: &str, revision: u64) -> Change {
    Change::Update {
        role: Role::State,
        record_key: key.into(),
        revision,
        counted: true,
        fields: Fields::new().text("status", "B"),
        known: Fields::new().text("status", "A"),
    }
}

#[test]
fn a_lost_answer_of_the_acquire_is_decided_by_the_token() {
    for fates in [
        &[Fate::AnswerLost][..],
        &[Fate::Vanishes],
        &[Fate::Late],
        &[Fate::TooMany, Fate::Vanishes],
    ] {
        let fake = Fake::default();
        fake.script(fates);
        let lease = held(&fake, "acquire");
        assert_eq!(
            fake.value("LOCK:N1:key", "lease_token"),
            json!(lease.token()),
            "{fates:?}"
        );
        assert_eq!(fake.world().rows.len(), 1, "{fates:?}");
    }
}

#[test]
fn a_second_owner_is_refused() {
    let fake = Fake::default();
    let first = held(&fake, "second");
    match Lease::acquire(request(&fake, "second")) {
        Err(AcquireError::Conflict(lock)) => assert_eq!(lock.lease_token, first.token()),
        other => panic!("{:?}", other.err()),
    }
}

#[test]
fn every_fate_of_a_commit_ends_with_exactly_one_application() {
    for first in [
        Fate::Normal,
        Fate::AnswerLost,
        Fate::Vanishes,
        Fate::TooMany,
        Fate::Late,
    ] {
        for second in [Fate::Normal, Fate::AnswerLost, Fate::Vanishes, Fate::Late] {
            let fake = Fake::default();
            let lease = held(&fake, "fates");
            fake.script(&[first, second]);
            lease.commit(&mut [insert("a")]).expect("landed");
            let revisions = lease.commit(&mut [update("a", 1)]).expect("landed");
            assert_eq!(revisions, [2]);
            assert_eq!(fake.value("a", "status"), json!("B"), "{first:?} {second:?}");
            assert_eq!(fake.value("a", "revision"), json!(2));
            assert_eq!(
                fake.value("LOCK:N1:key", "revision"),
                json!(3),
                "two fences: {first:?} {second:?}"
            );
        }
    }
}

#[test]
fn no_write_lands_after_the_lock_was_taken_away() {
    for fate in [Fate::Normal, Fate::AnswerLost, Fate::Vanishes, Fate::Late] {
        let fake = Fake::default();
        let lease = held(&fake, "taken");
        let tombstone = key::released_lock_record_key("N1:key", lease.token());
        fake.person_saves("LOCK:N1:key", Some(("lease_token", "")));
        fake.person_saves("LOCK:N1:key", Some(("status_reason", FORCE_RELEASED)));
        fake.person_saves("LOCK:N1:key", Some(("record_key", &tombstone)));
        fake.script(&[fate]);
        assert!(
            matches!(lease.commit(&mut [insert("a")]), Err(CommitError::Lost)),
            "{fate:?}"
        );
        assert_eq!(fake.world().rows.len(), 1, "{fate:?}");
        assert!(lease.is_lost());
        let sent = fake.world().bulks;
        assert!(matches!(lease.commit(&mut [insert("b")]), Err(CommitError::Lost)));
        assert_eq!(fake.world().bulks, sent, "nothing is sent after a loss");
    }
}

#[test]
fn a_person_who_saves_without_changes_does_no_harm() {
    let fake = Fake::default();
    let lease = held(&fake, "save");
    lease.commit(&mut [insert("a")]).expect("landed");
    fake.person_saves("a", None);
    fake.person_saves("LOCK:N1:key", None);
    assert_eq!(lease.commit(&mut [update("a", 1)]).expect("landed"), [3]);
    assert_eq!(
        fake.value("a", "revision"),
        json!(3),
        "the counter follows kintone's revision"
    );
}

#[test]
fn a_person_who_changes_a_field_is_named() {
    let fake = Fake::default();
    let lease = held(&fake, "edit");
    lease.commit(&mut [insert("a")]).expect("landed");
    fake.person_saves("a", Some(("status", "C")));
    match lease.commit(&mut [update("a", 1)]) {
        Err(CommitError::Foreign {
            record_key,
            field,
            stored,
            expected,
            ..
        }) => {
            assert_eq!(
                (&*record_key, &*field, &*stored, &*expected),
                ("a", "status", "C", "A")
            );
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(fake.value("a", "status"), json!("C"));
    lease
        .commit(&mut [insert("b")])
        .expect("the lease itself is fine");
}

#[test]
fn an_undecided_heartbeat_lands_before_anything_else() {
    for fate in [Fate::Vanishes, Fate::AnswerLost, Fate::Late] {
        let fake = Fake::default();
        let lease = held(&fake, "beat");
        fake.script(&[fate]);
        // A single try; its end may be unknown.
        let _ = lease.shared.beat(&mut lease.shared.lock());
        lease.commit(&mut [insert("a")]).expect("landed");
        assert_eq!(fake.value("a", "status"), json!("A"), "{fate:?}");
        assert_eq!(
            fake.value("LOCK:N1:key", "revision"),
            json!(3),
            "one beat, one commit: {fate:?}"
        );
    }
}

#[test]
fn every_fate_of_a_release_leaves_one_tombstone() {
    for fate in [
        Fate::Normal,
        Fate::AnswerLost,
        Fate::Vanishes,
        Fate::TooMany,
        Fate::Late,
    ] {
        let fake = Fake::default();
        let lease = held(&fake, "release");
        let tombstone = key::released_lock_record_key("N1:key", lease.token());
        fake.script(&[fate]);
        lease
            .release(&mut [insert("last")], AttemptStatus::Success, "OK")
            .expect("released");
        assert_eq!(fake.value(&tombstone, "status_reason"), json!("OK"), "{fate:?}");
        assert_eq!(fake.value(&tombstone, "lease_token"), json!(""));
        assert_eq!(fake.value("last", "status"), json!("A"));
        assert_eq!(fake.world().rows.len(), 2);
    }
}

#[test]
fn a_definite_refusal_is_reported_and_nothing_landed() {
    let fake = Fake::default();
    let lease = held(&fake, "refused");
    lease.commit(&mut [insert("a")]).expect("landed");
    match lease.commit(&mut [insert("b"), insert("a")]) {
        Err(CommitError::Refused { error, .. }) => assert_eq!(error.code(), Some("CB_VA01")),
        other => panic!("{other:?}"),
    }
    assert_eq!(fake.world().rows.len(), 2, "lock and a");
}

#[test]
fn three_beats_fit_into_the_lease_in_use_whatever_the_bundle_says() {
    let fake = Fake::default();
    let lease = held(&fake, "beats");
    let third = lease.duration() / 3;
    lease.set_heartbeat(lease.duration() * 2);
    assert_eq!(lease.heartbeat(), third);
    lease.set_heartbeat(third / 2);
    assert_eq!(lease.heartbeat(), third / 2);
}
