//! CANCEL_REQUEST: the hold of a Run, one record reused for ever (REC-19).

use serde_json::{Map, Value};

use super::read::{DecodeError, Reader};
use super::status::HoldState;
use crate::flownet::time::Timestamp;
use crate::kintone::{Fields, Record};

/// Record type text.
pub const RECORD_TYPE: &str = "CANCEL_REQUEST";

/// Additional key of the stored JSON: when the hold ends by itself. The original does not know it and sees an ordinary
/// hold, which is the safe side.
const EXPIRES_AT: &str = "expires_at";
/// `reason` of a hold that cannot be understood.
const UNREADABLE: &str = "the hold record cannot be read; release it to write it anew";
/// `release_reason` of a hold that ended by itself.
pub const EXPIRED: &str = "expired";

/// A hold as stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Hold {
    /// kintone's revision; 0 before the insert.
    pub revision: u64,
    /// `CANCEL:<run_id>`.
    pub record_key: String,
    /// Held Run.
    pub run_id: String,
    /// Current state.
    pub state: HoldState,
    /// Who asked.
    pub requested_by: String,
    /// Why, as the reason file says.
    pub reason: String,
    /// Millisecond ISO time.
    pub requested_at: String,
    /// Set when a scheduler stopped for it.
    pub accepted_at: Option<String>,
    /// Set by the release.
    pub released_at: Option<String>,
    /// Set by the release.
    pub release_reason: Option<String>,
    /// Set by the release.
    pub release_requested_by: Option<String>,
    /// Keys of the stored JSON that are not ours to know; kept on rewrite.
    pub extra: Map<String, Value>,
}

const KEYS: [&str; 8] = [
    "state",
    "requested_by",
    "reason",
    "requested_at",
    "accepted_at",
    "released_at",
    "release_reason",
    "release_requested_by",
];

impl Hold {
    /// The record says that the Run is held; an expired hold is so until somebody writes its release.
    pub fn is_active(&self) -> bool {
        matches!(self.state, HoldState::Requested | HoldState::Accepted)
    }

    /// The instant at which it ends by itself, as stored.
    pub fn expires_at(&self) -> Option<&str> {
        self.extra.get(EXPIRES_AT).and_then(Value::as_str)
    }

    /// Active, and its time is over. An unreadable instant never comes.
    pub fn is_expired(&self, now: Timestamp) -> bool {
        let end = self.expires_at().and_then(Timestamp::parse);
        self.is_active() && end.is_some_and(|end| end <= now)
    }

    /// Keeps the Run from going on.
    pub fn stops(&self, now: Timestamp) -> bool {
        self.is_active() && !self.is_expired(now)
    }

    /// The first hold of a Run.
    pub fn first(
        record_key: String,
        run_id: &str,
        by: &str,
        reason: &str,
        now: Timestamp,
        expires: Option<Timestamp>,
    ) -> Self {
        let none = Self {
            revision: 0,
            record_key,
            run_id: run_id.to_owned(),
            state: HoldState::Requested,
            requested_by: String::new(),
            reason: String::new(),
            requested_at: String::new(),
            accepted_at: None,
            released_at: None,
            release_reason: None,
            release_requested_by: None,
            extra: Map::new(),
        };
        none.requested(by, reason, now, expires)
    }

    /// A new request in the same record: everything of the last one is gone, the audit app keeps it (OPR-30).
    pub fn requested(&self, by: &str, reason: &str, now: Timestamp, expires: Option<Timestamp>) -> Self {
        Self {
            state: HoldState::Requested,
            requested_by: by.to_owned(),
            reason: reason.to_owned(),
            requested_at: now.iso_ms(),
            accepted_at: None,
            released_at: None,
            release_reason: None,
            release_requested_by: None,
            ..self.with_expiry(expires)
        }
    }

    /// The same hold with another end.
    pub fn with_expiry(&self, expires: Option<Timestamp>) -> Self {
        let mut next = self.clone();
        match expires {
            Some(at) => next.extra.insert(EXPIRES_AT.to_owned(), at.iso_ms().into()),
            None => next.extra.remove(EXPIRES_AT),
        };
        next
    }

    /// Released by a person, or by its own end.
    pub fn released(&self, by: &str, reason: &str, now: Timestamp) -> Self {
        Self {
            state: HoldState::Released,
            released_at: Some(now.iso_ms()),
            release_reason: Some(reason.to_owned()),
            release_requested_by: Some(by.to_owned()),
            ..self.clone()
        }
    }

    /// The record to insert.
    pub fn to_fields(&self) -> Fields {
        Fields::new()
            .text("record_key", &self.record_key)
            .text("record_type", RECORD_TYPE)
            .text("run_id", &self.run_id)
            .extend(self.update_fields())
    }

    /// The one field of an update (WRT-05).
    pub fn update_fields(&self) -> Fields {
        Fields::new().text("status_reason", self.reason_text())
    }

    /// The JSON of `status_reason`, keys in the stored order.
    pub fn reason_text(&self) -> String {
        let opt = |v: &Option<String>| v.clone().map_or(Value::Null, Value::from);
        let values = [
            Value::from(self.state.as_str()),
            Value::from(self.requested_by.clone()),
            Value::from(self.reason.clone()),
            Value::from(self.requested_at.clone()),
            opt(&self.accepted_at),
            opt(&self.released_at),
            opt(&self.release_reason),
            opt(&self.release_requested_by),
        ];
        let mut text = String::from("{");
        let known = KEYS.iter().map(|k| (*k).to_owned()).zip(values);
        for (i, (key, value)) in known
            .chain(self.extra.iter().map(|(k, v)| (k.clone(), v.clone())))
            .enumerate()
        {
            if i > 0 {
                text.push(',');
            }
            text.push_str(&Value::from(key).to_string());
            text.push(':');
            text.push_str(&value.to_string());
        }
        text.push('}');
        text
    }

    /// Reads a stored hold. One that cannot be understood counts as a hold: the Run stays where it is, and a release
    /// writes the record anew and keeps what stood there.
    pub fn from_record(record: &Record) -> Result<Self, DecodeError> {
        let r = Reader::new(record, RECORD_TYPE);
        let (record_key, run_id) = (r.required("record_key")?, r.required("run_id")?);
        let stored = record.text("status_reason");
        let parsed: Map<String, Value> = serde_json::from_str(stored).unwrap_or_default();
        let text = |key: &str| parsed.get(key).and_then(Value::as_str).map(str::to_owned);
        let Some(state) = text("state").and_then(|s| HoldState::parse(&s)) else {
            let mut unread = Self::first(record_key, &run_id, "unknown", UNREADABLE, Timestamp(0), None);
            unread.revision = record.revision();
            unread.requested_at = String::new();
            unread.extra.insert("unreadable".to_owned(), stored.into());
            return Ok(unread);
        };
        Ok(Self {
            revision: record.revision(),
            record_key,
            run_id,
            state,
            requested_by: text("requested_by").unwrap_or_default(),
            reason: text("reason").unwrap_or_default(),
            requested_at: text("requested_at").unwrap_or_default(),
            accepted_at: text("accepted_at"),
            released_at: text("released_at"),
            release_reason: text("release_reason"),
            release_requested_by: text("release_requested_by"),
            extra: parsed
                .iter()
                .filter(|(k, _)| !KEYS.contains(&k.as_str()))
                .map(|(k, v)| (k.clone(), v.clone()))
                .collect(),
        })
    }

    /// A scheduler stopped for this hold (SCH-07).
    pub fn accepted(&self, now: Timestamp) -> Self {
        let mut next = self.clone();
        next.state = HoldState::Accepted;
        next.accepted_at = Some(now.iso_ms());
        next
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_keeps_its_key_order() {
        let at = Timestamp::parse("2026-08-29T10:00:00.000Z").expect("real");
        let hold = Hold::first("CANCEL:r".into(), "r", "ops", "月末\n", at, None);
        assert_eq!(
            hold.reason_text(),
            r#"{"state":"REQUESTED","requested_by":"ops","reason":"月末\n","requested_at":"2026-08-29T10:00:00.000Z","accepted_at":null,"released_at":null,"release_reason":null,"release_requested_by":null}"#
        );
        let later = hold.accepted(Timestamp(0));
        assert!(
            later.is_active()
                && later
                    .reason_text()
                    .contains(r#""accepted_at":"1970-01-01T00:00:00.000Z""#)
        );
    }

    #[test]
    fn a_hold_with_an_end_stops_until_then() {
        let (now, end) = (Timestamp(1000), Timestamp(2000));
        let hold = Hold::first("CANCEL:r".into(), "r", "ops", "why", now, Some(end));
        assert_eq!(hold.expires_at(), Some("1970-01-01T00:00:02.000Z"));
        assert!(hold.stops(now) && !hold.is_expired(Timestamp(1999)));
        assert!(hold.is_expired(end) && !hold.stops(end) && hold.is_active());
        let released = hold.released("auto:h", EXPIRED, end);
        assert!(!released.is_active() && !released.is_expired(end));
        // The next request does not inherit the end; keys that we do not know stay.
        let mut foreign = released.clone();
        foreign.extra.insert("note".into(), "x".into());
        let again = foreign.requested("ops", "again", end, None);
        assert_eq!(again.expires_at(), None);
        assert_eq!(again.released_at, None);
        assert!(again.reason_text().ends_with(r#","note":"x"}"#));
        let mut odd = hold;
        odd.extra.insert(EXPIRES_AT.into(), "soon".into());
        assert!(odd.stops(Timestamp(i64::MAX)));
    }

    #[test]
    fn a_hold_that_cannot_be_read_holds_until_it_is_released() {
        for text in ["", "held!", "[]", r#"{"state":"PAUSED"}"#, r#"{"state":3}"#] {
            let record = serde_json::json!({
                "$id": {"value": "1"}, "$revision": {"value": "4"}, "record_key": {"value": "CANCEL:r"},
                "run_id": {"value": "r"}, "status_reason": {"value": text},
            });
            let record: Record = serde_json::from_value(record).expect("a record");
            let hold = Hold::from_record(&record).expect("a hold");
            assert!(hold.stops(Timestamp(i64::MAX)), "{text}");
            assert_eq!((hold.revision, hold.reason.as_str()), (4, UNREADABLE));
            let released = hold.released("sato", "repaired", Timestamp(0));
            assert!(!released.is_active());
            let text = Value::from(text).to_string();
            assert!(
                released
                    .reason_text()
                    .ends_with(&format!(r#","unreadable":{text}}}"#))
            );
        }
    }
}
