//! RUN_INVOCATION: one start of the program on a Run (contract 30, 4.1).

use super::read::{DecodeError, Reader, list_text};
use super::status::{AttemptStatus, Mode};
use crate::kintone::{Fields, Record};

/// Record type text.
pub const RECORD_TYPE: &str = "RUN_INVOCATION";
/// `result_code` while it runs.
pub const PENDING: &str = "PENDING";

/// An Invocation as stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Invocation {
    /// kintone's record number; 0 before it was read.
    pub record_id: u64,
    /// kintone's revision.
    pub revision: u64,
    /// `INV:<invocation_id>`.
    pub record_key: String,
    /// Its Run.
    pub run_id: String,
    /// `invoke_<uuid>`; also the owner id of the lock.
    pub invocation_id: String,
    /// How it came to the Run.
    pub mode: Mode,
    /// Who asked for it.
    pub requested_by: String,
    /// Where it ran.
    pub host: String,
    /// As stored.
    pub started_at: String,
    /// As stored, empty while it runs.
    pub finished_at: String,
    /// RUNNING, then an end.
    pub status: AttemptStatus,
    /// PENDING, then OUT-08.
    pub result_code: String,
    /// Nodes taken on (REC-20).
    pub selected: Vec<String>,
    /// Nodes kept as they are.
    pub preserved: Vec<String>,
    /// Nodes that cannot go on.
    pub blocked: Vec<String>,
    /// REC-21.
    pub reason: String,
}

impl Invocation {
    /// The record to insert.
    pub fn to_fields(&self) -> Fields {
        Fields::new()
            .text("record_key", &self.record_key)
            .text("record_type", RECORD_TYPE)
            .text("run_id", &self.run_id)
            .text("invocation_id", &self.invocation_id)
            .text("mode", self.mode.as_str())
            .text("requested_by", &self.requested_by)
            .text("host", &self.host)
            .text("started_at", &self.started_at)
            .extend(self.finish_fields())
    }

    /// What a finish writes (WRT-06).
    pub fn finish_fields(&self) -> Fields {
        Fields::new()
            .text("finished_at", &self.finished_at)
            .text("status", self.status.as_str())
            .text("result_code", &self.result_code)
            .text("selected_node_ids", list_text(&self.selected))
            .text("preserved_node_ids", list_text(&self.preserved))
            .text("blocked_node_ids", list_text(&self.blocked))
            .text("reason", &self.reason)
    }

    /// Reads a stored Invocation. A legacy CREATED reads as RUNNING (TRN-03).
    pub fn from_record(record: &Record) -> Result<Self, DecodeError> {
        let r = Reader::new(record, RECORD_TYPE);
        let status = |text: &str| {
            if text == "CREATED" {
                Some(AttemptStatus::Running)
            } else {
                AttemptStatus::parse(text)
            }
        };
        Ok(Self {
            record_id: record.id(),
            revision: record.revision(),
            record_key: r.required("record_key")?,
            run_id: r.required("run_id")?,
            invocation_id: r.required("invocation_id")?,
            mode: r.option("mode", Mode::parse)?,
            requested_by: r.text("requested_by"),
            host: r.text("host"),
            started_at: r.text("started_at"),
            finished_at: r.text("finished_at"),
            status: r.option("status", status)?,
            result_code: r.text("result_code"),
            selected: r.list("selected_node_ids")?,
            preserved: r.list("preserved_node_ids")?,
            blocked: r.list("blocked_node_ids")?,
            reason: r.text("reason"),
        })
    }

    /// Adds a clause to the reason (REC-21).
    pub fn add_reason(&mut self, clause: &str) {
        if !self.reason.is_empty() {
            self.reason.push_str("; ");
        }
        self.reason.push_str(clause);
    }
}
