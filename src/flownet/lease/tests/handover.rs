//! A dead owner's lock changes hands in one request, whatever becomes of it.

use super::*;
use crate::flownet::lease::forced::Forced;
use crate::flownet::record::Lock;

const OPERATION: &str = "OP:net_unlock_1";

/// The lock of an owner that has died.
fn left_behind(fake: &Fake, name: &str) -> (Lock, String) {
    let lease = held(fake, name);
    let tombstone = key::released_lock_record_key("N1:key", lease.token());
    drop(lease);
    let lock = store::lock_record(fake, &app(1), "LOCK:N1:key").expect("read");
    (lock.expect("the lock"), tombstone)
}

fn succeed(fake: &Fake, name: &str, lock: &Lock) -> Result<Lease, AcquireError> {
    let forced = Forced {
        event_id: "net_unlock_1",
        network_id: "n",
        lock_key: "N1:key",
        lock,
        service_principal: "auto:host",
        requested_by: "tester",
        stop_confirmed_by: "auto:host",
        stop_method: "local_pid",
        stop_evidence_ref: "facts",
        stop_detail: "facts",
        reason: "dead",
        evidence_ref: "facts",
    };
    Lease::acquire_from(request(fake, name), &forced)
}

fn assert_changed_hands(fake: &Fake, tombstone: &str, next: &Lease) {
    assert_eq!(fake.value(tombstone, "status_reason"), json!(FORCE_RELEASED));
    assert_eq!(fake.value(OPERATION, "result_code"), json!(FORCE_RELEASED));
    assert_eq!(fake.value("LOCK:N1:key", "lease_token"), json!(next.token()));
    assert_eq!(fake.world().rows.len(), 3, "tombstone, event, lock");
}

#[test]
fn tombstone_event_and_new_lock_are_one_request() {
    let fake = Fake::default();
    let (lock, tombstone) = left_behind(&fake, "one");
    let sent = fake.world().bulks;
    let next = succeed(&fake, "one", &lock).expect("lock");
    assert_eq!(fake.world().bulks, sent + 1);
    assert_changed_hands(&fake, &tombstone, &next);
    next.commit(&mut [insert("a")]).expect("landed");
}

#[test]
fn every_fate_of_it_ends_with_one_owner_and_one_event() {
    for first in [Fate::AnswerLost, Fate::Vanishes, Fate::TooMany, Fate::Late] {
        for second in [Fate::Normal, Fate::AnswerLost, Fate::Vanishes, Fate::Late] {
            let fake = Fake::default();
            let (lock, tombstone) = left_behind(&fake, "fates");
            fake.script(&[first, second]);
            let next = succeed(&fake, "fates", &lock).expect("lock");
            assert_changed_hands(&fake, &tombstone, &next);
        }
    }
}

#[test]
fn a_kintone_that_wants_the_key_free_first_gets_two_requests() {
    let fake = Fake::default();
    let (lock, tombstone) = left_behind(&fake, "strict");
    fake.world().keys_stay_taken = true;
    let next = succeed(&fake, "strict", &lock).expect("lock");
    assert_changed_hands(&fake, &tombstone, &next);
}

#[test]
fn a_lock_that_moved_is_not_touched() {
    let fake = Fake::default();
    let (lock, _) = left_behind(&fake, "moved");
    fake.person_saves("LOCK:N1:key", None);
    assert!(matches!(
        succeed(&fake, "moved", &lock),
        Err(AcquireError::Conflict(_))
    ));
    assert_eq!(fake.world().rows.len(), 1);
    assert_eq!(fake.value("LOCK:N1:key", "lease_token"), json!(lock.lease_token));
}

#[test]
fn a_lock_that_a_person_released_meanwhile_is_simply_taken() {
    let fake = Fake::default();
    let (lock, tombstone) = left_behind(&fake, "released");
    fake.person_saves("LOCK:N1:key", Some(("record_key", &tombstone)));
    let next = succeed(&fake, "released", &lock).expect("lock");
    assert_eq!(fake.value("LOCK:N1:key", "lease_token"), json!(next.token()));
    assert_eq!(fake.world().rows.len(), 2, "no event: it was not ours to release");
}
