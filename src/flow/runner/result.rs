//! Execution result v1: the answer to an orchestrator (RNR-116..118).

use std::path::Path;

use jiff::Timestamp;
use serde::Serialize;

use super::command::Orchestration;
use super::console::Console;
use super::mask::Masker;
use super::verdict::{Failure, ResultCode};
use crate::flow::calendar::instant_seconds;
use crate::flow::csv::{InputReceipt, OutputReceipt};
use crate::flow::durable_file::{self, Existing};
use crate::flow::sql::message::say;

/// Name of the contract.
pub const CONTRACT: &str = "ksql-flow.execution/v1";
/// `$id` of the schema of results.
pub const SCHEMA_ID: &str = "urn:ksql-flow:schema:execution-result:v1";
/// Version of this program, and of the SQL engine in it: they are released together.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");
/// Longest error message, in code points.
const MAX_MESSAGE_CHARS: usize = 2000;

/// What an execution did, as far as it came.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Records fetched.
    pub read: u64,
    /// Records inserted, updated and deleted.
    pub written: u64,
    /// Records deleted; part of `written`.
    pub deleted: u64,
    /// Acknowledged write requests, without those behind one that is missing.
    pub chunks: u64,
    /// Key of the last record of the last of these: everything up to it is written.
    pub last_written_key: Option<String>,
}

/// Everything a result is made of.
pub struct Execution<'a> {
    /// The orchestrator's ids.
    pub orchestration: &'a Orchestration,
    /// Session id.
    pub execution_id: &'a str,
    /// Name of the job; the expected one when the job file was not read.
    pub job_id: &'a str,
    /// Profile.
    pub profile: &'a str,
    /// `asOf` as reported.
    pub as_of: Option<&'a str>,
    /// When the first statement was about to run; `None` = nothing ran.
    pub started: Option<Timestamp>,
    /// End.
    pub finished: Timestamp,
    /// Success kind, or why not.
    pub outcome: Result<ResultCode, &'a Failure>,
    /// Counts.
    pub effects: &'a Effects,
    /// HTTP attempts to kintone.
    pub api_calls: u64,
    /// Receipts of import files; `None` when the run has no imports.
    pub inputs: Option<&'a [InputReceipt]>,
    /// Receipts of export files; `None` when the run has no exports.
    pub outputs: Option<&'a [OutputReceipt]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Document<'a> {
    format_version: u32,
    kind: &'static str,
    contract: &'static str,
    correlation_id: &'a str,
    attempt_id: &'a str,
    execution_id: &'a str,
    job_id: &'a str,
    profile: &'a str,
    status: &'static str,
    result_code: &'static str,
    execution_started: bool,
    exit_code: u8,
    as_of: Option<&'a str>,
    started_at: Option<String>,
    finished_at: String,
    duration_ms: u64,
    read_count: u64,
    written_count: u64,
    deleted_count: u64,
    api_calls: u64,
    last_successful_chunk_no: Option<u64>,
    last_written_key: Option<String>,
    ksql_flow_version: &'static str,
    engine_version: &'static str,
    error: Option<ErrorObject<'a>>,
    #[serde(rename = "input_files", skip_serializing_if = "Option::is_none")]
    input_files: Option<&'a [InputReceipt]>,
    #[serde(rename = "output_files", skip_serializing_if = "Option::is_none")]
    output_files: Option<&'a [OutputReceipt]>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ErrorObject<'a> {
    category: &'static str,
    code: &'a str,
    message: String,
    retryable: bool,
    details_truncated: bool,
}

impl Execution<'_> {
    /// The JSON text, with a line feed. Secrets are masked.
    pub fn to_json(&self, masker: &Masker) -> String {
        let code = match self.outcome {
            Ok(code) => code,
            Err(failure) => failure.code,
        };
        let started = self.started.is_some();
        let nothing = Effects::default();
        let effects = if started { self.effects } else { &nothing };
        let document = Document {
            format_version: 1,
            kind: "EXECUTION_RESULT",
            contract: CONTRACT,
            correlation_id: &self.orchestration.correlation_id,
            attempt_id: &self.orchestration.attempt_id,
            execution_id: self.execution_id,
            job_id: self.job_id,
            profile: self.profile,
            status: match code {
                ResultCode::Ok | ResultCode::NoData => "SUCCESS",
                ResultCode::Cancelled => "CANCELLED",
                _ => "FAILED",
            },
            result_code: code.word(),
            execution_started: started,
            exit_code: code.exit().code(),
            as_of: self.as_of,
            started_at: self.started.map(instant_seconds),
            finished_at: instant_seconds(self.finished),
            duration_ms: self.started.map_or(0, |started| {
                u64::try_from(self.finished.duration_since(started).as_millis()).unwrap_or(0)
            }),
            read_count: effects.read,
            written_count: effects.written,
            deleted_count: effects.deleted,
            api_calls: if started { self.api_calls } else { 0 },
            last_successful_chunk_no: (effects.chunks > 0).then_some(effects.chunks),
            last_written_key: effects.last_written_key.as_deref().map(|key| masker.text(key)),
            ksql_flow_version: VERSION,
            engine_version: VERSION,
            error: self.outcome.err().map(|failure| error_object(failure, masker)),
            input_files: self.inputs,
            output_files: self.outputs,
        };
        // Serialising these plain types to memory cannot fail; an empty text would be refused by every reader.
        let mut text = serde_json::to_string(&document).unwrap_or_default();
        text.push('\n');
        text
    }
}

fn error_object<'a>(failure: &'a Failure, masker: &Masker) -> ErrorObject<'a> {
    let message = masker.failure(failure).to_string();
    let cut = message.chars().count() > MAX_MESSAGE_CHARS;
    ErrorObject {
        category: failure.code.category(),
        code: &failure.detail,
        message: if cut {
            message.chars().take(MAX_MESSAGE_CHARS).collect()
        } else {
            message
        },
        retryable: false,
        details_truncated: cut,
    }
}

/// Hands the result over (RNR-116). A failure is only reported: the exit code stays.
pub fn deliver(text: &str, target: &str, console: &Console) {
    if target == "-" {
        console.raw(text);
        return;
    }
    if let Err(error) = durable_file::write(Path::new(target), text.as_bytes(), Existing::Refuse) {
        console.error(say!(
            "cannot write the execution result {target}: {error}",
            "実行結果 {target} に書き込めません: {error}"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::{Value, json};

    fn ids() -> Orchestration {
        Orchestration {
            result_json: "-".to_owned(),
            correlation_id: "netrun_x".to_owned(),
            attempt_id: "attempt_y".to_owned(),
            expected_job_id: "job_a".to_owned(),
        }
    }

    fn document(started: Option<&str>, outcome: Result<ResultCode, &Failure>, effects: &Effects) -> Value {
        let ids = ids();
        let execution = Execution {
            orchestration: &ids,
            execution_id: "e",
            job_id: "job_a",
            profile: "prod",
            as_of: Some("2026-09-01T00:00:00+09:00"),
            started: started.map(|text| text.parse().expect("instant")),
            finished: "2026-09-02T03:05:10.9Z".parse().expect("instant"),
            outcome,
            effects,
            api_calls: 4,
            inputs: None,
            outputs: None,
        };
        let text = execution.to_json(&Masker::default());
        assert!(text.ends_with("}\n"));
        serde_json::from_str(&text).expect("JSON")
    }

    #[test]
    fn a_success_reports_what_it_did() {
        let effects = Effects {
            read: 10,
            written: 9,
            deleted: 2,
            chunks: 1,
            last_written_key: Some("K9".to_owned()),
        };
        let result = document(Some("2026-09-02T03:04:10.4Z"), Ok(ResultCode::Ok), &effects);
        for (key, value) in [
            ("kind", json!("EXECUTION_RESULT")),
            ("status", json!("SUCCESS")),
            ("resultCode", json!("OK")),
            ("executionStarted", json!(true)),
            ("exitCode", json!(0)),
            ("startedAt", json!("2026-09-02T03:04:10Z")),
            ("finishedAt", json!("2026-09-02T03:05:10Z")),
            ("durationMs", json!(60500)),
            ("writtenCount", json!(9)),
            ("deletedCount", json!(2)),
            ("lastSuccessfulChunkNo", json!(1)),
            ("lastWrittenKey", json!("K9")),
            ("error", Value::Null),
        ] {
            assert_eq!(result[key], value, "{key}");
        }
        assert!(result.get("input_files").is_none());
    }

    #[test]
    fn what_did_not_start_did_nothing() {
        let effects = Effects {
            read: 10,
            written: 9,
            deleted: 2,
            chunks: 1,
            last_written_key: None,
        };
        let failure = Failure::new(ResultCode::LockConflict, "held");
        let result = document(None, Err(&failure), &effects);
        for key in [
            "durationMs",
            "readCount",
            "writtenCount",
            "deletedCount",
            "apiCalls",
        ] {
            assert_eq!(result[key], json!(0), "{key}");
        }
        for key in ["startedAt", "lastSuccessfulChunkNo", "lastWrittenKey"] {
            assert_eq!(result.get(key), Some(&Value::Null), "{key} is present and null");
        }
        assert_eq!(result["exitCode"], json!(5));
        assert_eq!(result["error"]["category"], "LOCK");
        assert_eq!(result["error"]["code"], "LOCK_CONFLICT");
    }

    #[test]
    fn long_messages_are_cut_and_say_so() {
        let failure = Failure::new(ResultCode::SqlError, "長".repeat(MAX_MESSAGE_CHARS + 1));
        let result = document(Some("2026-09-02T03:04:10Z"), Err(&failure), &Effects::default());
        assert_eq!(result["error"]["detailsTruncated"], json!(true));
        assert_eq!(
            result["error"]["message"]
                .as_str()
                .map(|text| text.chars().count()),
            Some(MAX_MESSAGE_CHARS)
        );
    }
}
