//! ATTEMPT_RESOLUTION: a person's word on what an attempt really did (REC-26).

use serde_json::Value;

use super::read::{DecodeError, Reader};
use super::status::Outcome;
use crate::flownet::key;
use crate::flownet::time::Timestamp;
use crate::kintone::{Fields, Record};

/// Record type text.
pub const RECORD_TYPE: &str = "ATTEMPT_RESOLUTION";

/// A Resolution as stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Resolution {
    /// kintone's record number: the order of resolutions of one attempt.
    pub record_id: u64,
    /// kintone's revision: 1 unless somebody saved the record, which is written once.
    pub revision: u64,
    /// `RES:<hash>`.
    pub record_key: String,
    /// Resolved attempt.
    pub attempt_id: String,
    /// What it really did.
    pub outcome: Outcome,
    /// Who said so.
    pub requested_by: String,
    /// OUTCOME_CONFIRMED, NODE_MANUAL_COMPLETION_CONFIRMED or NODE_COMPENSATION_COMPLETED.
    pub resolution_type: String,
    /// The authoritative millisecond time inside the reason, else the stored minute.
    pub resolved_at: String,
    /// Record key of the Resolution that this one corrects; an additional key of the reason.
    pub replaces: Option<String>,
}

impl Resolution {
    /// Reads a stored Resolution; a reason that is not JSON counts as OUTCOME_CONFIRMED.
    pub fn from_record(record: &Record) -> Result<Self, DecodeError> {
        let r = Reader::new(record, RECORD_TYPE);
        let reason: Value = serde_json::from_str(record.text("reason")).unwrap_or(Value::Null);
        let text = |key: &str| reason.get(key).and_then(Value::as_str).map(str::to_owned);
        Ok(Self {
            record_id: record.id(),
            revision: record.revision(),
            record_key: r.text("record_key"),
            requested_by: r.text("requested_by"),
            attempt_id: r.required("attempt_id")?,
            outcome: r.option("resolved_outcome", Outcome::parse)?,
            resolution_type: text("resolution_type").unwrap_or_else(|| "OUTCOME_CONFIRMED".to_owned()),
            resolved_at: text("resolved_at").unwrap_or_else(|| r.text("resolved_at")),
            replaces: text("replaces"),
        })
    }
}

/// A Resolution to insert.
pub struct NewResolution<'a> {
    /// Run of the attempt. The original leaves it out, so that the Run's list of events lacks its resolutions.
    pub run_id: &'a str,
    /// Node of the attempt; likewise.
    pub node_id: &'a str,
    /// Resolved attempt.
    pub attempt_id: &'a str,
    /// What it really did.
    pub outcome: Outcome,
    /// See [`Resolution::resolution_type`].
    pub resolution_type: &'a str,
    /// Why.
    pub reason: &'a str,
    /// Incident or ticket.
    pub evidence_ref: &'a str,
    /// Account that runs the command.
    pub service_principal: &'a str,
    /// Person behind it.
    pub requested_by: &'a str,
    /// Another person who approved; may be empty.
    pub approved_by: &'a str,
    /// Who confirmed that nothing of the attempt runs any more.
    pub stop_confirmed_by: &'a str,
    /// Evidence of that.
    pub stop_evidence_ref: &'a str,
    /// When.
    pub resolved_at: Timestamp,
    /// Record key of the Resolution that this one corrects.
    pub replaces: Option<&'a str>,
}

impl NewResolution<'_> {
    /// Its record key (KEY-03).
    pub fn record_key(&self) -> String {
        key::resolution_record_key(self.attempt_id, &self.resolved_at.iso_ms())
    }

    /// The record to insert; the JSON of `reason` has the contract's keys in the contract's order.
    pub fn to_fields(&self) -> Fields {
        let resolved_at = self.resolved_at.iso_ms();
        let members: Vec<String> = [
            ("resolution_type", self.resolution_type),
            ("reason", self.reason),
            ("stop_confirmed_by", self.stop_confirmed_by),
            ("stop_evidence_ref", self.stop_evidence_ref),
            ("resolved_at", &resolved_at),
        ]
        .into_iter()
        .chain(self.replaces.map(|key| ("replaces", key)))
        .map(|(name, value)| format!("{}:{}", Value::from(name), Value::from(value)))
        .collect();
        Fields::new()
            .text("record_key", self.record_key())
            .text("record_type", RECORD_TYPE)
            .text("event_type", "ATTEMPT_RESOLVED")
            .text("run_id", self.run_id)
            .text("node_id", self.node_id)
            .text("attempt_id", self.attempt_id)
            .text("resolved_outcome", self.outcome.as_str())
            .text("evidence_ref", self.evidence_ref)
            .text("service_principal", self.service_principal)
            .text("requested_by", self.requested_by)
            .text("approved_by", self.approved_by)
            .text("resolved_at", &resolved_at)
            .text("reason", format!("{{{}}}", members.join(",")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_new_resolution_reads_back() {
        let new = NewResolution {
            run_id: "netrun_1",
            node_id: "load",
            attempt_id: "attempt_00000000-0000-4000-8000-000000000003",
            outcome: Outcome::Failed,
            resolution_type: "OUTCOME_CONFIRMED",
            reason: "saw \"it\"",
            evidence_ref: "INC-1",
            service_principal: "svc",
            requested_by: "sato",
            approved_by: "",
            stop_confirmed_by: "ito",
            stop_evidence_ref: "INC-1#2",
            resolved_at: Timestamp::parse("2026-08-29T10:00:00.000Z").expect("real"),
            replaces: None,
        };
        let fields = new.to_fields();
        // The test vector of KEY-04.
        assert_eq!(
            fields.get("record_key"),
            Some(&json!(
                "RES:b3752488af4e7fa0637e098261f3e7f5d4abfdcbd5389c068d2e7594c2b5"
            ))
        );
        assert_eq!(
            fields.get("reason"),
            Some(&json!(
                r#"{"resolution_type":"OUTCOME_CONFIRMED","reason":"saw \"it\"","stop_confirmed_by":"ito","stop_evidence_ref":"INC-1#2","resolved_at":"2026-08-29T10:00:00.000Z"}"#
            ))
        );
        let mut stored: serde_json::Map<String, Value> = fields
            .iter()
            .map(|(code, value)| (code.to_owned(), json!({ "value": value })))
            .collect();
        stored.insert("$id".into(), json!({"value": "7"}));
        stored.insert("$revision".into(), json!({"value": "1"}));
        let record: Record = serde_json::from_value(stored.into()).expect("a record");
        let read = Resolution::from_record(&record).expect("readable");
        assert_eq!(
            (read.outcome, read.requested_by.as_str()),
            (Outcome::Failed, "sato")
        );
        assert_eq!(read.resolved_at, "2026-08-29T10:00:00.000Z");
        assert_eq!(read.record_key, new.record_key());
    }
}
