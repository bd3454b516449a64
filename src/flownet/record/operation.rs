//! OPERATION_AUDIT: what was done to the records outside the normal story (REC-27). Insert only.

use serde_json::Value;

use crate::flownet::time::Timestamp;
use crate::kintone::Fields;

/// Record type text.
pub const RECORD_TYPE: &str = "OPERATION_AUDIT";

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
    /// Keys in the contract's order.
    pub event: Vec<(&'static str, Value)>,
}

impl Operation<'_> {
    /// The record to insert.
    pub fn to_fields(&self) -> Fields {
        Fields::new()
            .text("record_key", &self.record_key)
            .text("record_type", RECORD_TYPE)
            .text("run_id", self.run_id)
            .text("result_code", self.result_code)
            .text("resolved_at", &self.at.iso_ms())
            .text("reason", &self.event_text())
    }

    /// The event as compact JSON, keys in the given order.
    pub fn event_text(&self) -> String {
        let members: Vec<String> = self
            .event
            .iter()
            .map(|(key, value)| format!("{}:{value}", Value::from(*key)))
            .collect();
        format!("{{{}}}", members.join(","))
    }
}
