//! One bulkRequest of a command that holds no lock (D-01, last paragraph).
//!
//! The revisions of the records that were decided on are its fence. Its witness is an audit record with a fresh key that
//! is inserted by the same request: all of it landed if and only if that record exists, so a lost answer can be decided
//! at any time by one read. A repetition is the same request; if an earlier copy still arrives, exactly one of them wins.

use super::fence::pause;
use super::store::Store;
use crate::flownet::clock::Clock;
use crate::kintone::{self, App, BulkItem, ErrorKind, Outcome, query};

/// Tries before an unanswered write is left undecided.
const TRIES: u32 = 5;

/// The write did not happen, or nobody can say.
#[derive(Debug)]
pub enum WitnessError {
    /// A record changed since it was read, or exists already: nothing landed, decide anew.
    Changed(kintone::Error),
    /// kintone refused it for another reason; nothing landed.
    Refused(kintone::Error),
    /// No decidable answer: it may or may not have landed.
    Undecided(kintone::Error),
}

impl std::fmt::Display for WitnessError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Changed(e) => write!(
                f,
                "a record was changed by somebody else, nothing was written: {e}"
            ),
            Self::Refused(e) => write!(f, "kintone refused, nothing was written: {e}"),
            Self::Undecided(e) => write!(f, "it is not known whether this was written: {e}"),
        }
    }
}

impl std::error::Error for WitnessError {}

/// Sends `items`, which insert the audit record `witness` (a record key), until it is known what became of them.
pub fn send(
    store: &dyn Store,
    clock: &dyn Clock,
    audit: &App,
    items: &[BulkItem<'_>],
    witness: &str,
) -> Result<(), WitnessError> {
    let mut maybe_landed = false;
    let mut tries = 0;
    loop {
        let Err(error) = store.bulk(items) else {
            return Ok(());
        };
        tries += 1;
        maybe_landed |= error.outcome() == Outcome::Unknown;
        if maybe_landed {
            match exists(store, audit, witness) {
                Ok(true) => return Ok(()),
                Ok(false) => {}
                Err(_) => return Err(WitnessError::Undecided(error)),
            }
        }
        if error.outcome() == Outcome::NotApplied && !error.is_transient() {
            // With the witness absent after a refusal, no earlier copy can land any more either: it carries the same
            // revisions and keys.
            return Err(match error.kind() {
                ErrorKind::RevisionConflict | ErrorKind::NotFound | ErrorKind::Invalid => {
                    WitnessError::Changed(error)
                }
                _ if maybe_landed => WitnessError::Undecided(error),
                _ => WitnessError::Refused(error),
            });
        }
        if tries >= TRIES {
            return Err(if maybe_landed {
                WitnessError::Undecided(error)
            } else {
                WitnessError::Refused(error)
            });
        }
        clock.sleep(pause(tries));
    }
}

/// Does the audit app have this record?
fn exists(store: &dyn Store, audit: &App, record_key: &str) -> Result<bool, kintone::Error> {
    let found = store.records(audit, &query::one_of("record_key", &[record_key]))?;
    Ok(found.iter().any(|r| r.text("record_key") == record_key))
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;
    use std::sync::Mutex;
    use std::time::{Duration, Instant};

    use serde_json::json;

    use super::*;
    use crate::flownet::time::Timestamp;
    use crate::kintone::{Added, Fields, Record, Secret};

    /// What becomes of one request.
    #[derive(Clone, Copy)]
    enum Fate {
        Lands,
        LandsUnanswered,
        Vanishes,
        TooMany,
        Conflict,
        Forbidden,
    }

    /// Accepts the request once; a second copy that arrives is a conflict, as unique keys and revisions make it.
    struct Remote {
        fates: Mutex<VecDeque<Fate>>,
        landed: Mutex<usize>,
        reads_fail: bool,
    }

    impl Remote {
        fn with(fates: &[Fate]) -> Self {
            Self {
                fates: Mutex::new(fates.iter().copied().collect()),
                landed: Mutex::new(0),
                reads_fail: false,
            }
        }

        fn send(&self) -> Result<(), WitnessError> {
            let audit = App::with_token(2, "audit app", Secret::new("t".to_owned()));
            let items = [BulkItem::AddAll {
                app: &audit,
                records: vec![Fields::new().text("record_key", "OP:1")],
            }];
            super::send(self, &Still, &audit, &items, "OP:1")
        }

        fn landed(&self) -> usize {
            *self.landed.lock().expect("test")
        }
    }

    fn answer(status: u16, body: &str) -> kintone::Error {
        kintone::Error::answer("POST bulkRequest", status, body.as_bytes(), None)
    }

    impl Store for Remote {
        fn bulk(&self, _: &[BulkItem<'_>]) -> Result<(), kintone::Error> {
            let fate = self
                .fates
                .lock()
                .expect("test")
                .pop_front()
                .unwrap_or(Fate::Lands);
            let mut landed = self.landed.lock().expect("test");
            match fate {
                Fate::Vanishes => Err(answer(503, "<html>")),
                Fate::TooMany => Err(answer(429, "")),
                Fate::Forbidden => Err(answer(403, r#"{"code":"GAIA_NO01"}"#)),
                Fate::Conflict => Err(answer(409, r#"{"code":"GAIA_CO02"}"#)),
                Fate::Lands | Fate::LandsUnanswered if *landed > 0 => {
                    Err(answer(409, r#"{"code":"GAIA_CO02"}"#))
                }
                Fate::Lands => {
                    *landed += 1;
                    Ok(())
                }
                Fate::LandsUnanswered => {
                    *landed += 1;
                    Err(answer(502, ""))
                }
            }
        }

        fn add(&self, _: &App, _: &Fields) -> Result<Added, kintone::Error> {
            unreachable!("not used")
        }

        fn records(&self, _: &App, _: &str) -> Result<Vec<Record>, kintone::Error> {
            if self.reads_fail {
                return Err(answer(500, ""));
            }
            let record =
                json!({"$id": {"value": "1"}, "$revision": {"value": "1"}, "record_key": {"value": "OP:1"}});
            let record = serde_json::from_value(record).expect("a record");
            Ok(if self.landed() > 0 {
                vec![record]
            } else {
                Vec::new()
            })
        }

        fn set_read_deadline(&self, _: Option<Instant>) {}
    }

    struct Still;

    impl Clock for Still {
        fn now(&self) -> Timestamp {
            Timestamp(0)
        }

        fn instant(&self) -> Instant {
            Instant::now()
        }

        fn sleep(&self, _: Duration) {}
    }

    #[test]
    fn it_lands_once_whatever_is_lost() {
        use Fate::{Lands, LandsUnanswered, TooMany, Vanishes};
        for fates in [
            &[Lands][..],
            &[LandsUnanswered],
            &[Vanishes, LandsUnanswered],
            &[TooMany, Vanishes, TooMany, Lands],
            &[Vanishes, Vanishes, Vanishes, Vanishes, LandsUnanswered],
        ] {
            let remote = Remote::with(fates);
            assert!(remote.send().is_ok());
            assert_eq!(remote.landed(), 1);
        }
    }

    #[test]
    fn a_refusal_says_that_nothing_landed() {
        use Fate::{Conflict, Forbidden, TooMany, Vanishes};
        let end = |fates: &[Fate]| Remote::with(fates).send().expect_err("refused");
        assert!(matches!(end(&[Conflict]), WitnessError::Changed(_)));
        assert!(matches!(end(&[Vanishes, Conflict]), WitnessError::Changed(_)));
        assert!(matches!(end(&[Forbidden]), WitnessError::Refused(_)));
        assert!(matches!(end(&[TooMany; 5]), WitnessError::Refused(_)));
    }

    #[test]
    fn silence_is_never_taken_for_an_answer() {
        use Fate::{Forbidden, LandsUnanswered, Vanishes};
        let end = |fates: &[Fate]| Remote::with(fates).send().expect_err("undecided");
        assert!(matches!(end(&[Vanishes; 5]), WitnessError::Undecided(_)));
        assert!(matches!(end(&[Vanishes, Forbidden]), WitnessError::Undecided(_)));
        let remote = Remote {
            reads_fail: true,
            ..Remote::with(&[LandsUnanswered])
        };
        assert!(matches!(remote.send(), Err(WitnessError::Undecided(_))));
    }
}
