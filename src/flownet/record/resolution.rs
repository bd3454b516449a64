//! ATTEMPT_RESOLUTION: a person's word on what an attempt really did (REC-26).

use serde_json::Value;

use super::read::{DecodeError, Reader};
use super::status::Outcome;
use crate::kintone::Record;

/// Record type text.
pub const RECORD_TYPE: &str = "ATTEMPT_RESOLUTION";

/// A Resolution as stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolution {
    /// kintone's record number: the order of resolutions of one attempt.
    pub record_id: u64,
    /// Resolved attempt.
    pub attempt_id: String,
    /// What it really did.
    pub outcome: Outcome,
    /// OUTCOME_CONFIRMED, NODE_MANUAL_COMPLETION_CONFIRMED or NODE_COMPENSATION_COMPLETED.
    pub resolution_type: String,
    /// The authoritative millisecond time inside the reason, else the stored minute.
    pub resolved_at: String,
}

impl Resolution {
    /// Reads a stored Resolution; a reason that is not JSON counts as OUTCOME_CONFIRMED.
    pub fn from_record(record: &Record) -> Result<Self, DecodeError> {
        let r = Reader::new(record, RECORD_TYPE);
        let reason: Value = serde_json::from_str(record.text("reason")).unwrap_or(Value::Null);
        let text = |key: &str| reason.get(key).and_then(Value::as_str).map(str::to_owned);
        Ok(Self {
            record_id: record.id(),
            attempt_id: r.required("attempt_id")?,
            outcome: r.option("resolved_outcome", Outcome::parse)?,
            resolution_type: text("resolution_type").unwrap_or_else(|| "OUTCOME_CONFIRMED".to_owned()),
            resolved_at: text("resolved_at").unwrap_or_else(|| r.text("resolved_at")),
        })
    }
}
