//! NODE_STATE: what a node of a Run is in (REC-14).

use super::read::{DecodeError, Reader, list_text};
use super::status::NodeStatus;
use crate::kintone::{Fields, Record};

/// Record type text.
pub const RECORD_TYPE: &str = "NODE_STATE";

/// A Node State as stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeState {
    /// kintone's record number; 0 before the insert.
    pub record_id: u64,
    /// kintone's revision.
    pub revision: u64,
    /// The field `revision`, which a person's edit leaves behind (REC-08, D-09).
    pub business_revision: u64,
    /// `STATE:<S1>`.
    pub record_key: String,
    /// S1 key.
    pub node_state_key: String,
    /// `nodestate_<uuid>`.
    pub node_state_id: String,
    /// Owning Run.
    pub run_id: String,
    /// As in the definition.
    pub node_id: String,
    /// As in the definition.
    pub job_id: String,
    /// Current status.
    pub status: NodeStatus,
    /// Number of the newest attempt, 0 before the first.
    pub latest_attempt_no: u64,
    /// Set only while RUNNING.
    pub active_attempt_id: String,
    /// As in the definition.
    pub idempotent: bool,
    /// Always `all_success`.
    pub trigger_rule: String,
    /// Direct dependencies that block this node.
    pub blocked_by: Vec<String>,
    /// REC-15.
    pub status_reason: String,
    /// As stored.
    pub started_at: String,
    /// As stored.
    pub finished_at: String,
    /// As stored.
    pub updated_at: String,
}

impl NodeState {
    /// The record to insert; its `revision` field is 1.
    pub fn to_fields(&self) -> Fields {
        Fields::new()
            .text("record_key", &self.record_key)
            .number("revision", 1)
            .extend(self.update_fields())
    }

    /// Everything but the record key and the revision counter, which the writer of the update adds (WRT-04).
    pub fn update_fields(&self) -> Fields {
        Fields::new()
            .text("record_type", RECORD_TYPE)
            .text("run_id", &self.run_id)
            .text("node_id", &self.node_id)
            .text("job_id", &self.job_id)
            .text("node_state_id", &self.node_state_id)
            .text("node_state_key", &self.node_state_key)
            .text("status", self.status.as_str())
            .number("latest_attempt_no", self.latest_attempt_no)
            .text("active_attempt_id", &self.active_attempt_id)
            .text("idempotent", if self.idempotent { "true" } else { "false" })
            .text("trigger_rule", &self.trigger_rule)
            .text("blocked_by", list_text(&self.blocked_by))
            .text("status_reason", &self.status_reason)
            .text("started_at", &self.started_at)
            .text("finished_at", &self.finished_at)
            .text("updated_at", &self.updated_at)
    }

    /// Reads a stored Node State.
    pub fn from_record(record: &Record) -> Result<Self, DecodeError> {
        let r = Reader::new(record, RECORD_TYPE);
        Ok(Self {
            record_id: record.id(),
            revision: record.revision(),
            business_revision: r.count("revision")?,
            record_key: r.required("record_key")?,
            node_state_key: r.required("node_state_key")?,
            node_state_id: r.required("node_state_id")?,
            run_id: r.required("run_id")?,
            node_id: r.required("node_id")?,
            job_id: r.required("job_id")?,
            status: r.option("status", NodeStatus::parse)?,
            latest_attempt_no: r.count("latest_attempt_no")?,
            active_attempt_id: r.text("active_attempt_id"),
            idempotent: r.flag("idempotent"),
            trigger_rule: r.text("trigger_rule"),
            blocked_by: r.list("blocked_by")?,
            status_reason: r.text("status_reason"),
            started_at: r.text("started_at"),
            finished_at: r.text("finished_at"),
            updated_at: r.text("updated_at"),
        })
    }
}
