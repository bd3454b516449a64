//! NODE_ATTEMPT: one try of one node (contract 30, 4.2).

use serde_json::Value;

use super::read::{DecodeError, Reader};
use super::status::AttemptStatus;
use crate::kintone::{Fields, Record};

/// Record type text.
pub const RECORD_TYPE: &str = "NODE_ATTEMPT";
/// `result_code` while it runs.
pub const PENDING: &str = "PENDING";

/// An Attempt as stored.
#[derive(Clone, PartialEq, Debug)]
pub struct Attempt {
    /// kintone's record number; 0 before it was read.
    pub record_id: u64,
    /// kintone's revision.
    pub revision: u64,
    /// `ATT:<attempt id>`.
    pub record_key: String,
    /// Its Run.
    pub run_id: String,
    /// Its node.
    pub node_id: String,
    /// Expected job.
    pub job_id: String,
    /// Invocation that made it.
    pub invocation_id: String,
    /// `attempt_<uuid>`.
    pub attempt_id: String,
    /// A1 key: makes the number unique.
    pub attempt_key: String,
    /// 1 for the first.
    pub attempt_no: u64,
    /// RUNNING, then an end.
    pub status: AttemptStatus,
    /// PENDING, then a result code.
    pub result_code: String,
    /// When we decided to spawn; set in the insert (D-01).
    pub execution_started_at: String,
    /// The runner's own mark, from the JOB log.
    pub runner_execution_started_at: String,
    /// The runner's id of the execution.
    pub execution_id: String,
    /// As stored.
    pub finished_at: String,
    /// Seconds.
    pub duration_sec: Option<f64>,
    /// REC-24.
    pub error_message: String,
    /// Rows read.
    pub read_count: u64,
    /// Rows written.
    pub written_count: u64,
    /// Chunks applied.
    pub last_successful_chunk_no: Option<u64>,
    /// Diagnostic only.
    pub last_written_key: String,
    /// Revision of the Node State that this attempt was made from; `None` only on damaged records (RCN-07b).
    pub state_revision_before: Option<u64>,
}

/// Seconds as a JSON number without a needless fraction: kintone keeps the text of a number.
fn seconds(seconds: f64) -> Value {
    if seconds.fract() == 0.0 && seconds.abs() < 9.0e15 {
        Value::from(seconds as i64)
    } else {
        Value::from(seconds)
    }
}

impl Attempt {
    /// The record to insert.
    pub fn to_fields(&self) -> Fields {
        Fields::new()
            .text("record_key", &self.record_key)
            .extend(self.update_fields())
    }

    /// Everything but the record key (WRT-09).
    pub fn update_fields(&self) -> Fields {
        let optional = |n: Option<Value>| n.unwrap_or_else(|| Value::from(""));
        Fields::new()
            .text("record_type", RECORD_TYPE)
            .text("run_id", &self.run_id)
            .text("node_id", &self.node_id)
            .text("job_id", &self.job_id)
            .text("invocation_id", &self.invocation_id)
            .text("node_attempt_id", &self.attempt_id)
            .text("attempt_key", &self.attempt_key)
            .number("attempt_no", self.attempt_no)
            .text("status", self.status.as_str())
            .text("result_code", &self.result_code)
            .text("execution_started_at", &self.execution_started_at)
            .text("runner_execution_started_at", &self.runner_execution_started_at)
            .text("execution_id", &self.execution_id)
            .text("finished_at", &self.finished_at)
            .value("duration_sec", optional(self.duration_sec.map(seconds)))
            .text("error_message", &self.error_message)
            .number("read_count", self.read_count)
            .number("written_count", self.written_count)
            .value(
                "last_successful_chunk_no",
                optional(self.last_successful_chunk_no.map(Value::from)),
            )
            .text("last_written_key", &self.last_written_key)
            .value(
                "state_revision_before",
                optional(self.state_revision_before.map(Value::from)),
            )
    }

    /// Reads a stored Attempt.
    pub fn from_record(record: &Record) -> Result<Self, DecodeError> {
        let r = Reader::new(record, RECORD_TYPE);
        Ok(Self {
            record_id: record.id(),
            revision: record.revision(),
            record_key: r.required("record_key")?,
            run_id: r.required("run_id")?,
            node_id: r.required("node_id")?,
            job_id: r.text("job_id"),
            invocation_id: r.text("invocation_id"),
            attempt_id: r.required("node_attempt_id")?,
            attempt_key: r.text("attempt_key"),
            attempt_no: r.count("attempt_no")?,
            status: r.option("status", AttemptStatus::parse)?,
            result_code: r.text("result_code"),
            execution_started_at: r.text("execution_started_at"),
            runner_execution_started_at: r.text("runner_execution_started_at"),
            execution_id: r.text("execution_id"),
            finished_at: r.text("finished_at"),
            duration_sec: record.text("duration_sec").parse().ok(),
            error_message: r.text("error_message"),
            read_count: r.opt_count("read_count")?.unwrap_or(0),
            written_count: r.opt_count("written_count")?.unwrap_or(0),
            last_successful_chunk_no: r.opt_count("last_successful_chunk_no")?,
            last_written_key: r.text("last_written_key"),
            state_revision_before: r.opt_count("state_revision_before")?,
        })
    }
}
