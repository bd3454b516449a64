//! What the lock record says about a commit whose answer is not known (D-01). Pure.

use crate::flownet::record::Lock;
use crate::flownet::record::lock::FORCE_RELEASED;

/// The commit in question.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Expectation {
    /// Key while held.
    pub held_key: String,
    /// Key after the release of this very lease.
    pub tombstone_key: String,
    /// Our proof of ownership.
    pub token: String,
    /// Value of the lock's `revision` field before the commit.
    pub before: u64,
    /// Value that the commit writes.
    pub after: u64,
    /// The commit releases the lock.
    pub releases: bool,
}

/// The answer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Decision {
    /// All of it landed; the lock now has this kintone revision.
    Landed(u64),
    /// Nothing of it landed; the lock has this kintone revision (a person's "save" may have moved it).
    NotLanded(u64),
    /// The lock is no longer ours.
    Lost,
}

/// Decides from the records found under the two keys.
///
/// The field `revision` decides, not kintone's revision: somebody who saves the lock record in the browser moves the
/// latter only.
pub fn decide(found: &[Lock], expected: &Expectation) -> Decision {
    if let Some(done) = found.iter().find(|l| l.record_key == expected.tombstone_key) {
        // The same key is written by a forced release, so a release is ours only if it wrote our number.
        let ours = expected.releases
            && done.business_revision == expected.after
            && done.status_reason != FORCE_RELEASED;
        return if ours {
            Decision::Landed(done.revision)
        } else {
            Decision::Lost
        };
    }
    match found
        .iter()
        .find(|l| l.record_key == expected.held_key && l.lease_token == expected.token)
    {
        Some(held) if !expected.releases && held.business_revision == expected.after => {
            Decision::Landed(held.revision)
        }
        Some(held) if held.business_revision == expected.before => Decision::NotLanded(held.revision),
        _ => Decision::Lost,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flownet::record::status::AttemptStatus;

    fn lock(key: &str, token: &str, business: u64, revision: u64) -> Lock {
        Lock {
            record_id: 1,
            revision,
            business_revision: business,
            record_key: key.into(),
            lock_key: String::new(),
            profile: String::new(),
            owner_invocation_id: String::new(),
            lease_token: token.into(),
            status_reason: String::new(),
            status: AttemptStatus::Running,
            heartbeat_at: String::new(),
            lease_expires_at: String::new(),
        }
    }

    fn expected(releases: bool) -> Expectation {
        Expectation {
            held_key: "H".into(),
            tombstone_key: "T".into(),
            token: "t".into(),
            before: 4,
            after: 5,
            releases,
        }
    }

    #[test]
    fn the_written_number_decides() {
        assert_eq!(
            decide(&[lock("H", "t", 5, 5)], &expected(false)),
            Decision::Landed(5)
        );
        assert_eq!(
            decide(&[lock("H", "t", 4, 4)], &expected(false)),
            Decision::NotLanded(4)
        );
        assert_eq!(
            decide(&[lock("H", "t", 4, 6)], &expected(false)),
            Decision::NotLanded(6)
        );
        assert_eq!(
            decide(&[lock("H", "t", 5, 7)], &expected(false)),
            Decision::Landed(7)
        );
    }

    #[test]
    fn another_token_or_no_record_is_a_lost_lock() {
        assert_eq!(decide(&[], &expected(false)), Decision::Lost);
        assert_eq!(decide(&[lock("H", "x", 5, 5)], &expected(false)), Decision::Lost);
        assert_eq!(decide(&[lock("T", "", 5, 5)], &expected(false)), Decision::Lost);
    }

    #[test]
    fn a_release_is_proved_by_its_tombstone() {
        assert_eq!(
            decide(&[lock("T", "", 5, 5)], &expected(true)),
            Decision::Landed(5)
        );
        assert_eq!(
            decide(&[lock("H", "t", 4, 4)], &expected(true)),
            Decision::NotLanded(4)
        );
        assert_eq!(
            decide(&[lock("T", "", 6, 6), lock("H", "x", 1, 1)], &expected(true)),
            Decision::Lost
        );
        let mut forced = lock("T", "", 5, 5);
        forced.status_reason = FORCE_RELEASED.into();
        assert_eq!(decide(&[forced], &expected(true)), Decision::Lost);
    }
}
