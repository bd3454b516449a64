//! OPERATION_AUDIT: what was done to the records outside the normal story (REC-27). Insert only.

use serde_json::Value;

use crate::flownet::ordered_json::{Json, Object};
use crate::flownet::time::Timestamp;
use crate::kintone::{Fields, Record};

/// Record type text.
pub const RECORD_TYPE: &str = "OPERATION_AUDIT";

/// A job lock was released with the runner's command.
pub const JOB_UNLOCKED: &str = "JOB_LOCK_FORCE_UNLOCK_RECORDED";
/// Result codes of that command after which no such lock is held.
pub const LOCK_IS_GONE: [&str; 3] = ["RELEASED", "NOT_FOUND", "NOT_RUNNING"];
/// `event_type` and `result_code` of the audit record of an archived Run.
pub const RUN_ARCHIVED: &str = "RUN_ARCHIVED";

/// What makes an event searchable beside its JSON. The original leaves these columns empty (OPR-42); an empty text here
/// leaves the column alone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Columns<'a> {
    /// Node concerned.
    pub node_id: &'a str,
    /// Who asked for it.
    pub requested_by: &'a str,
    /// Account that did it.
    pub service_principal: &'a str,
    /// Incident or ticket.
    pub evidence_ref: &'a str,
}

/// One event: the full JSON goes into `reason`, the fields make it searchable.
pub struct Operation<'a> {
    /// `OP:<event_id>`.
    pub record_key: String,
    /// Run concerned; empty for lock releases.
    pub run_id: &'a str,
    /// See REC-27.
    pub result_code: &'a str,
    /// When it was done.
    pub at: Timestamp,
    /// Further searchable values.
    pub columns: Columns<'a>,
    /// Keys in the contract's order.
    pub event: Object,
}

impl Operation<'_> {
    /// The record to insert.
    pub fn to_fields(&self) -> Fields {
        let fields = Fields::new()
            .text("record_key", &self.record_key)
            .text("record_type", RECORD_TYPE)
            .text("run_id", self.run_id)
            .text("result_code", self.result_code)
            .text("resolved_at", self.at.iso_ms())
            .text("reason", self.event_text());
        [
            ("node_id", self.columns.node_id),
            ("requested_by", self.columns.requested_by),
            ("service_principal", self.columns.service_principal),
            ("evidence_ref", self.columns.evidence_ref),
        ]
        .into_iter()
        .filter(|(_, value)| !value.is_empty())
        .fold(fields, |fields, (code, value)| fields.text(code, value))
    }

    /// The event as compact JSON, keys in the given order.
    pub fn event_text(&self) -> String {
        Json::from(self.event.clone()).compact()
    }
}

/// The node whose job lock a stored operation says is gone.
pub fn unlocked_node(record: &Record) -> Option<String> {
    let event: Value = serde_json::from_str(record.text("reason")).ok()?;
    let gone = LOCK_IS_GONE.contains(&record.text("result_code")) && event["event_type"] == JOB_UNLOCKED;
    event["node_id"].as_str().filter(|_| gone).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn empty_columns_are_left_alone() {
        let operation = |columns| Operation {
            record_key: "OP:e".into(),
            run_id: "",
            result_code: "C",
            at: Timestamp(0),
            columns,
            event: Object::new()
                .with("event_id", "e")
                .with("before", Object::new().with("z", "1").with("a", Json::Null)),
        };
        let bare = operation(Columns::default()).to_fields();
        assert_eq!(
            bare.get("reason"),
            Some(&Value::from(r#"{"event_id":"e","before":{"z":"1","a":null}}"#))
        );
        assert_eq!(bare.get("requested_by"), None);
        let by = operation(Columns {
            requested_by: "sato",
            ..Columns::default()
        })
        .to_fields();
        assert_eq!(by.get("requested_by"), Some(&Value::from("sato")));
        assert_eq!(by.get("evidence_ref"), None);
    }
}
