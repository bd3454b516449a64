//! The history of holds: one OPERATION_AUDIT record for each change of a hold, because the hold record itself forgets
//! (OPR-30, OPR-34).

use super::Hold;
use super::operation::{Columns, Operation};
use super::status::HoldState;
use crate::flownet::key::{KeyError, operation_record_key};
use crate::flownet::ordered_json::Object;
use crate::flownet::time::Timestamp;
use crate::kintone::Fields;

/// One change of a hold.
pub struct HoldEvent<'a> {
    /// `hold_<uuid>`.
    pub event_id: &'a str,
    /// The hold before, if there was one.
    pub before: Option<&'a Hold>,
    /// The hold after.
    pub after: &'a Hold,
    /// Who changed it: a person, or the invocation of a scheduler.
    pub by: &'a str,
    /// Why it was changed.
    pub reason: &'a str,
    /// When.
    pub at: Timestamp,
}

impl HoldEvent<'_> {
    /// What happened.
    pub fn event_type(&self) -> &'static str {
        match (self.before.map(|b| b.state), self.after.state) {
            (_, HoldState::Released) => "RUN_HOLD_RELEASED",
            (Some(HoldState::Requested), HoldState::Accepted) => "RUN_HOLD_ACCEPTED",
            (Some(before), after) if before == after && !self.is_new_request() => "RUN_HOLD_CHANGED",
            _ => "RUN_HOLD_REQUESTED",
        }
    }

    fn is_new_request(&self) -> bool {
        self.before
            .is_none_or(|b| b.requested_at != self.after.requested_at)
    }

    /// The record to insert.
    pub fn to_fields(&self) -> Result<Fields, KeyError> {
        let (kind, hold) = (self.event_type(), self.after);
        let event = Object::new()
            .with("event_id", self.event_id)
            .with("event_type", kind)
            .with("run_id", hold.run_id.as_str())
            .with("hold_key", hold.record_key.as_str())
            .with("previous_state", self.before.map(|b| b.state.as_str()))
            .with("state", hold.state.as_str())
            .with("requested_by", self.by)
            .with("reason", self.reason)
            .with("hold_requested_by", hold.requested_by.as_str())
            .with("hold_requested_at", hold.requested_at.as_str())
            .with("expires_at", hold.expires_at())
            .with("occurred_at", self.at.iso_ms());
        Ok(Operation {
            record_key: operation_record_key(self.event_id)?,
            run_id: &hold.run_id,
            result_code: kind,
            at: self.at,
            columns: Columns {
                requested_by: self.by,
                ..Columns::default()
            },
            event,
        }
        .to_fields())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn each_change_has_its_name() {
        let (at, later) = (Timestamp(0), Timestamp(1));
        let first = Hold::first("CANCEL:r".into(), "r", "ops", "why", at, None);
        let accepted = first.accepted(later);
        let released = accepted.released("ops", "done", later);
        let again = released.requested("ops", "again", later, None);
        let longer = first.with_expiry(Some(later));
        let name = |before, after| {
            HoldEvent {
                event_id: "hold_1",
                before,
                after,
                by: "ops",
                reason: "",
                at,
            }
            .event_type()
        };
        assert_eq!(name(None, &first), "RUN_HOLD_REQUESTED");
        assert_eq!(name(Some(&first), &accepted), "RUN_HOLD_ACCEPTED");
        assert_eq!(name(Some(&accepted), &released), "RUN_HOLD_RELEASED");
        assert_eq!(name(Some(&released), &again), "RUN_HOLD_REQUESTED");
        assert_eq!(name(Some(&first), &longer), "RUN_HOLD_CHANGED");
        let moved = accepted.with_expiry(Some(later));
        assert_eq!(name(Some(&accepted), &moved), "RUN_HOLD_CHANGED");
        let taken_over = first.requested("b", "x", later, None);
        assert_eq!(name(Some(&first), &taken_over), "RUN_HOLD_REQUESTED");
    }

    #[test]
    fn the_event_tells_who_when_and_why() {
        let first = Hold::first("CANCEL:r".into(), "r", "ops", "why", Timestamp(0), None);
        let released = first.released("ito", "fixed", Timestamp(60_000));
        let fields = HoldEvent {
            event_id: "hold_1",
            before: Some(&first),
            after: &released,
            by: "ito",
            reason: "fixed",
            at: Timestamp(60_000),
        }
        .to_fields()
        .expect("short");
        assert_eq!(fields.get("requested_by"), Some(&Value::from("ito")));
        assert_eq!(
            fields.get("reason"),
            Some(&Value::from(
                r#"{"event_id":"hold_1","event_type":"RUN_HOLD_RELEASED","run_id":"r","hold_key":"CANCEL:r","previous_state":"REQUESTED","state":"RELEASED","requested_by":"ito","reason":"fixed","hold_requested_by":"ops","hold_requested_at":"1970-01-01T00:00:00.000Z","expires_at":null,"occurred_at":"1970-01-01T00:01:00.000Z"}"#
            ))
        );
    }
}
