//! What a statement did.

use crate::flow::apps::{AppId, Written};
use crate::flow::sql::message::Message;

use super::Relation;

/// The outcome of a statement that did not fail.
#[derive(Clone, Debug)]
pub struct StatementOutcome {
    /// What happened.
    pub kind: OutcomeKind,
    /// Records written; in a dry run nothing is.
    pub written: Written,
    /// Records read from kintone.
    pub rows_read: u64,
    /// Rows of the result or of the new temp table.
    pub row_count: Option<u64>,
    /// The result of a query.
    pub result: Option<Relation>,
    /// Things that the author of the script should know.
    pub warnings: Vec<Message>,
    /// What DML would have done, in a dry run.
    pub preview: Option<Preview>,
    /// Rows that VALIDATE ONLY or ON ERROR SKIP found wrong.
    pub wrong_rows: Option<u64>,
}

/// Kinds of outcomes (RNR-80).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum OutcomeKind {
    /// Anything but a gate.
    Statement,
    /// ASSERT holds, or EXIT was not taken.
    Passed,
    /// ASSERT WARN does not hold: the message.
    AssertWarning(Message),
    /// EXIT SUCCESS was taken: the message. The script is done.
    ExitTaken(String),
}

/// What a DML statement would do (RNR-100, RNR-101).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Preview {
    /// The app.
    pub app: AppId,
    /// INSERT, UPSERT, UPDATE or DELETE.
    pub operation: &'static str,
    /// Records that would be added, matched and removed.
    pub counts: Written,
    /// Write requests that would be sent.
    pub estimated_writes: u64,
    /// The first records.
    pub samples: Vec<Sample>,
}

/// One record of a preview.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// `insert`, `update` or `delete`.
    pub kind: &'static str,
    /// The key field: that of a single-key UPSERT, or `$id`.
    pub key_field: Option<String>,
    /// Its value.
    pub key: Option<String>,
    /// Cells of the stored record; empty for an insert.
    pub before: Vec<(String, String)>,
    /// Cells as they would be written; empty for a deletion.
    pub after: Vec<(String, String)>,
}
