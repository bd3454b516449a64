//! CANCEL_REQUEST: the hold of a Run, one record reused for ever (REC-19).

use serde_json::{Map, Value};

use super::read::{DecodeError, Reader};
use super::status::HoldState;
use crate::flownet::time::Timestamp;
use crate::kintone::{Fields, Record};

/// Record type text.
pub const RECORD_TYPE: &str = "CANCEL_REQUEST";

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
    /// Still stops the Run.
    pub fn is_active(&self) -> bool {
        matches!(self.state, HoldState::Requested | HoldState::Accepted)
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
        Fields::new().text("status_reason", &self.reason_text())
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

    /// Reads a stored hold.
    pub fn from_record(record: &Record) -> Result<Self, DecodeError> {
        let r = Reader::new(record, RECORD_TYPE);
        let bad = |problem| r.broken("status_reason", problem);
        let parsed: Value =
            serde_json::from_str(record.text("status_reason")).map_err(|_| bad("is not JSON"))?;
        let object = parsed.as_object().ok_or_else(|| bad("is not a JSON object"))?;
        let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
        Ok(Self {
            revision: record.revision(),
            record_key: r.required("record_key")?,
            run_id: r.required("run_id")?,
            state: text("state")
                .and_then(|s| HoldState::parse(&s))
                .ok_or_else(|| bad("has an unknown state"))?,
            requested_by: text("requested_by").unwrap_or_default(),
            reason: text("reason").unwrap_or_default(),
            requested_at: text("requested_at").unwrap_or_default(),
            accepted_at: text("accepted_at"),
            released_at: text("released_at"),
            release_reason: text("release_reason"),
            release_requested_by: text("release_requested_by"),
            extra: object
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
        let hold = Hold {
            revision: 1,
            record_key: "CANCEL:r".into(),
            run_id: "r".into(),
            state: HoldState::Requested,
            requested_by: "ops".into(),
            reason: "月末\n".into(),
            requested_at: "2026-08-29T10:00:00.000Z".into(),
            accepted_at: None,
            released_at: None,
            release_reason: None,
            release_requested_by: None,
            extra: Map::new(),
        };
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
}
