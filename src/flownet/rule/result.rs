//! The runner's result file: is it one, is it whole, does it fit what was started (RUN-21 to RUN-24).
//!
//! Bytes of another program become an [`ExecutionResult`] only when every field has its form. Whether it may be
//! believed is then asked separately ([`inconsistencies`]), because the two kinds of fault are told apart by nobody
//! but a person who reads the details.

use serde_json::Value;

use crate::flownet::canonical_json::text_order;
use crate::flownet::key::MAX_SAFE_INTEGER;
use crate::flownet::record::status::AttemptStatus;
use crate::flownet::time::Timestamp;

/// Longest id or code of a result, in bytes; all of them go into single-line fields.
const MAX_TEXT_BYTES: usize = 1024;

/// What was found where the runner should have put its result (RUN-21).
#[derive(Clone, PartialEq, Debug)]
pub enum ResultFile {
    /// No file, or one that cannot be read.
    Missing,
    /// Not exactly one JSON value in UTF-8.
    NotJson,
    /// One JSON value of any shape.
    Json(Value),
}

impl ResultFile {
    /// Takes the bytes of the file; `None` when it could not be read. A byte that is no UTF-8 spoils only the text that
    /// it stands in, not the whole result.
    pub fn read(bytes: Option<&[u8]>) -> Self {
        let Some(bytes) = bytes else {
            return Self::Missing;
        };
        serde_json::from_str(&String::from_utf8_lossy(bytes)).map_or(Self::NotJson, Self::Json)
    }
}

/// `status` of a result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultStatus {
    /// The job did all of its work.
    Success,
    /// It failed.
    Failed,
    /// It was stopped.
    Cancelled,
}

/// What the runner read for one input.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InputReceipt {
    /// Source name.
    pub name: String,
    /// Lower-case hexadecimal SHA-256 of the bytes.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Rows; absent when the file was not decoded (item 5).
    pub rows: Option<u64>,
    /// Encoding; absent when the file was not decoded.
    pub encoding: Option<String>,
}

/// What the runner wrote for one output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputReceipt {
    /// Sink name.
    pub name: String,
    /// Lower-case hexadecimal SHA-256 of the bytes.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Rows.
    pub rows: u64,
    /// `utf8` or `sjis`.
    pub encoding: String,
}

/// A result whose every field has its form (RUN-22).
#[derive(Clone, PartialEq, Debug)]
pub struct ExecutionResult {
    /// Echo of the Run id.
    pub correlation_id: String,
    /// Echo of the attempt id.
    pub attempt_id: String,
    /// The runner's own id of this execution.
    pub execution_id: String,
    /// The job that ran.
    pub job_id: String,
    /// How it ended.
    pub status: ResultStatus,
    /// Code, possibly one that is not known here.
    pub result_code: String,
    /// Whether the first statement was reached.
    pub execution_started: bool,
    /// The exit code that the runner meant to give.
    pub exit_code: i64,
    /// UTC time of the end, at most milliseconds.
    pub finished_at: String,
    /// Milliseconds.
    pub duration_ms: f64,
    /// Records read.
    pub read_count: u64,
    /// Records written.
    pub written_count: u64,
    /// Chunks applied.
    pub last_successful_chunk_no: Option<u64>,
    /// Key of the last record written.
    pub last_written_key: Option<String>,
    /// Receipts of the inputs, if the list is there.
    pub input_files: Option<Vec<InputReceipt>>,
    /// Receipts of the outputs, if the list is there.
    pub output_files: Option<Vec<OutputReceipt>>,
    /// The runner's error text; none for SUCCESS.
    pub error_message: Option<String>,
}

/// What was started, to compare a result with.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Expected<'a> {
    /// Run id.
    pub correlation_id: &'a str,
    /// Attempt id.
    pub attempt_id: &'a str,
    /// Job id of the node.
    pub job_id: &'a str,
}

/// A JSON number that is a whole double within ±(2^53 - 1): `1`, `1.0` and `1e0` are the same.
pub fn safe_integer(value: &Value) -> Option<i64> {
    let number = value.as_f64()?;
    (number.fract() == 0.0 && number.abs() <= MAX_SAFE_INTEGER as f64).then_some(number as i64)
}

/// A [`safe_integer`] that is not negative.
pub fn safe_count(value: &Value) -> Option<u64> {
    safe_integer(value).and_then(|n| u64::try_from(n).ok())
}

/// Checks the shape (RUN-22). All faults are collected, in the contract's order.
pub fn check_shape(value: &Value) -> Result<ExecutionResult, Vec<String>> {
    if !value.is_object() {
        return Err(vec!["result must be a JSON object".into()]);
    }
    let mut shape = Shape {
        value,
        faults: Vec::new(),
    };
    shape.require(
        safe_integer(&value["formatVersion"]) == Some(1),
        "formatVersion must be 1",
    );
    shape.require(
        value["kind"] == "EXECUTION_RESULT",
        "kind must be EXECUTION_RESULT",
    );
    shape.require(
        value["contract"] == "ksql-flow.execution/v1",
        "contract must be ksql-flow.execution/v1",
    );
    let correlation_id = shape.text("correlationId");
    let attempt_id = shape.text("attemptId");
    let execution_id = shape.text("executionId");
    let job_id = shape.text("jobId");
    shape.text("profile");
    let result_code = shape.text("resultCode");
    shape.text("finishedAt");
    shape.text("ksqlFlowVersion");
    shape.text("engineVersion");
    let status = match value["status"].as_str() {
        Some("SUCCESS") => Some(ResultStatus::Success),
        Some("FAILED") => Some(ResultStatus::Failed),
        Some("CANCELLED") => Some(ResultStatus::Cancelled),
        _ => None,
    };
    shape.require(status.is_some(), "status must be SUCCESS, FAILED, or CANCELLED");
    let execution_started = value["executionStarted"].as_bool();
    shape.require(execution_started.is_some(), "executionStarted must be boolean");
    let exit_code = safe_integer(&value["exitCode"]);
    shape.require(exit_code.is_some(), "exitCode must be an integer");
    shape.require(
        shape.null_or("asOf", |v| v.as_str().is_some_and(looks_like_date_time)),
        "asOf must be an ISO-8601 timestamp or null",
    );
    shape.require(
        shape.null_or("startedAt", |v| {
            v.as_str()
                .is_some_and(|t| t.ends_with('Z') && looks_like_date_time(t))
        }),
        "startedAt must be a UTC ISO-8601 timestamp or null",
    );
    let finished_at = stored_time(&value["finishedAt"]);
    shape.require(
        finished_at.is_some(),
        "finishedAt must be a UTC ISO-8601 timestamp",
    );
    let duration_ms = value["durationMs"]
        .as_f64()
        .filter(|ms| ms.is_finite() && *ms >= 0.0);
    shape.require(duration_ms.is_some(), "durationMs must be non-negative");
    let read_count = shape.count("readCount");
    let written_count = shape.count("writtenCount");
    shape.count("deletedCount");
    shape.count("apiCalls");
    shape.require(
        shape.null_or("lastSuccessfulChunkNo", |v| safe_count(v).is_some()),
        "lastSuccessfulChunkNo must be a non-negative integer or null",
    );
    shape.require(
        shape.null_or("lastWrittenKey", Value::is_string),
        "lastWrittenKey must be string or null",
    );
    let error_is_null = value.get("error").is_some_and(Value::is_null);
    shape.require(
        shape.null_or("error", is_error_object),
        "error must be a contract error object or null",
    );
    let input_files = shape.receipts("input_files", "input", |list| {
        list.iter()
            .map(input_receipt)
            .collect::<Option<Vec<_>>>()
            .filter(|l| agree(l))
    });
    let output_files = shape.receipts("output_files", "output", |list| {
        list.iter()
            .map(output_receipt)
            .collect::<Option<Vec<_>>>()
            .filter(|l| are_distinct(l))
    });
    if value["status"] == "SUCCESS" {
        shape.require(error_is_null, "SUCCESS requires error=null");
    } else {
        shape.require(!error_is_null, "non-success result requires an error object");
    }
    if !shape.faults.is_empty() {
        return Err(shape.faults);
    }
    let whole = || {
        Some(ExecutionResult {
            correlation_id,
            attempt_id,
            execution_id,
            job_id,
            status: status?,
            result_code,
            execution_started: execution_started?,
            exit_code: exit_code?,
            finished_at: finished_at?,
            duration_ms: duration_ms?,
            read_count,
            written_count,
            last_successful_chunk_no: safe_count(&value["lastSuccessfulChunkNo"]),
            last_written_key: value["lastWrittenKey"].as_str().map(str::to_owned),
            input_files,
            output_files,
            error_message: value["error"]["message"].as_str().map(str::to_owned),
        })
    };
    // Every `?` above was required before; a gap between the two lists must still not pass for a result.
    whole().ok_or_else(|| vec!["result is incomplete".into()])
}

/// Collects faults while fields are taken out.
struct Shape<'a> {
    value: &'a Value,
    faults: Vec<String>,
}

impl Shape<'_> {
    fn require(&mut self, holds: bool, fault: &str) {
        if !holds {
            self.faults.push(fault.to_owned());
        }
    }

    fn text(&mut self, key: &str) -> String {
        let text = self.value[key].as_str().unwrap_or("");
        if text.is_empty() {
            self.faults.push(format!("{key} must be a non-empty string"));
        } else if text.len() > MAX_TEXT_BYTES {
            self.faults
                .push(format!("{key} must have at most {MAX_TEXT_BYTES} bytes"));
            return String::new();
        }
        text.to_owned()
    }

    fn count(&mut self, key: &str) -> u64 {
        safe_count(&self.value[key]).unwrap_or_else(|| {
            self.faults.push(format!("{key} must be a non-negative integer"));
            0
        })
    }

    /// The key has to be there, as null or as something that `good` accepts.
    fn null_or(&self, key: &str, good: impl Fn(&Value) -> bool) -> bool {
        self.value.get(key).is_some_and(|v| v.is_null() || good(v))
    }

    /// An optional list of receipts.
    fn receipts<T>(
        &mut self,
        key: &str,
        word: &str,
        read: impl Fn(&[Value]) -> Option<Vec<T>>,
    ) -> Option<Vec<T>> {
        let list = self.value.get(key)?;
        let receipts = list.as_array().and_then(|items| read(items));
        if receipts.is_none() {
            self.faults
                .push(format!("{key} must contain safe {word} receipt entries"));
        }
        receipts
    }
}

/// The letters and digits of a date-time with an offset; a time that is only looked at need not exist.
fn looks_like_date_time(text: &str) -> bool {
    let form: String = text
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    let Some(rest) = form.strip_prefix("0000-00-00T00:00") else {
        return false;
    };
    let rest = rest.strip_prefix(":00").map_or(rest, |rest| {
        rest.strip_prefix(".0")
            .map_or(rest, |digits| digits.trim_start_matches('0'))
    });
    matches!(rest, "Z" | "+00:00" | "-00:00")
}

/// A UTC time that exists, as it can be stored: digits below the millisecond are left out.
fn stored_time(value: &Value) -> Option<String> {
    let text = value
        .as_str()
        .filter(|t| t.ends_with('Z') && looks_like_date_time(t))?;
    let short = match text.trim_end_matches('Z').split_once('.') {
        Some((seconds, fraction)) => format!("{seconds}.{}Z", fraction.get(..3).unwrap_or(fraction)),
        None => text.to_owned(),
    };
    Timestamp::parse(&short).map(|_| short)
}

fn is_error_object(value: &Value) -> bool {
    let text = |key: &str| value[key].is_string();
    text("category")
        && text("code")
        && text("message")
        && value["retryable"].is_boolean()
        && value["detailsTruncated"].is_boolean()
}

fn input_receipt(value: &Value) -> Option<InputReceipt> {
    let rows = value.get("rows");
    let encoding = value.get("encoding");
    let receipt = InputReceipt {
        name: io_name(&value["name"])?,
        sha256: sha256(&value["sha256"])?,
        bytes: safe_count(&value["bytes"])?,
        rows: rows.and_then(safe_count),
        encoding: encoding.and_then(Value::as_str).map(str::to_owned),
    };
    let whole = receipt.rows.is_some() == rows.is_some()
        && receipt.encoding.is_some() == encoding.is_some()
        && receipt.encoding.as_deref().is_none_or(is_encoding_name);
    whole.then_some(receipt)
}

fn output_receipt(value: &Value) -> Option<OutputReceipt> {
    let encoding = value["encoding"].as_str()?;
    let known = matches!(encoding, "utf8" | "sjis") && value.as_object()?.len() == 5;
    known.then_some(())?;
    Some(OutputReceipt {
        name: io_name(&value["name"])?,
        sha256: sha256(&value["sha256"])?,
        bytes: safe_count(&value["bytes"])?,
        rows: safe_count(&value["rows"])?,
        encoding: encoding.to_owned(),
    })
}

/// One source may be read more than once (item 5), but then it was the same file.
fn agree(receipts: &[InputReceipt]) -> bool {
    receipts.iter().enumerate().all(|(i, a)| {
        receipts[..i]
            .iter()
            .filter(|b| a.name == b.name)
            .all(|b| a.sha256 == b.sha256 && a.bytes == b.bytes)
    })
}

fn are_distinct(receipts: &[OutputReceipt]) -> bool {
    let mut names: Vec<&str> = receipts.iter().map(|r| r.name.as_str()).collect();
    names.sort_unstable();
    names.windows(2).all(|pair| pair[0] != pair[1])
}

fn io_name(value: &Value) -> Option<String> {
    value.as_str().filter(|name| is_io_name(name)).map(str::to_owned)
}

fn sha256(value: &Value) -> Option<String> {
    value.as_str().filter(|text| is_sha256(text)).map(str::to_owned)
}

/// A source or sink name (DEF-20): 1 to 128 characters, no `:`, `=` or control characters, not `__net__`.
pub fn is_io_name(name: &str) -> bool {
    (1..=128).contains(&name.chars().count())
        && name != "__net__"
        && !name.contains(|c: char| c == ':' || c == '=' || c.is_ascii_control())
}

/// 64 lower-case hexadecimal digits.
pub fn is_sha256(text: &str) -> bool {
    text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
}

fn is_encoding_name(text: &str) -> bool {
    (1..=32).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b))
}

/// Status and exit code that belong to a known result code (RUN-24).
fn known_code(code: &str) -> Option<(ResultStatus, i64)> {
    use ResultStatus::{Cancelled, Failed, Success};
    Some(match code {
        "OK" | "NO_DATA" => (Success, 0),
        "VALIDATION_ERROR" | "SQL_ERROR" => (Failed, 1),
        "ASSERT_FAILED" => (Failed, 2),
        "API_ERROR" | "AUTH_ERROR" | "EXECUTION_TIMEOUT" | "LOCK_UNAVAILABLE" | "INTERNAL_ERROR" => {
            (Failed, 3)
        }
        "CANCELLED" => (Cancelled, 3),
        "LOCK_CONFLICT" => (Failed, 5),
        _ => return None,
    })
}

/// The end of an attempt that a known result code is stored with (ATT-05).
pub fn status_of_known(code: &str) -> Option<AttemptStatus> {
    // An attempt that met the lock of its job is stored as never begun.
    known_code(code)
        .filter(|_| code != "LOCK_CONFLICT")
        .map(|(status, _)| match status {
            ResultStatus::Success => AttemptStatus::Success,
            ResultStatus::Failed => AttemptStatus::Failed,
            ResultStatus::Cancelled => AttemptStatus::Cancelled,
        })
}

/// Why a well-formed result may not be believed (RUN-23, and D-10 for the job id), in the contract's order.
pub fn inconsistencies(
    result: &ExecutionResult,
    expected: &Expected<'_>,
    process_exit: Option<i32>,
) -> Vec<String> {
    let mut found = Vec::new();
    let mut require = |holds: bool, fault: String| {
        if !holds {
            found.push(fault);
        }
    };
    require(
        result.correlation_id == expected.correlation_id,
        "correlationId does not echo the invocation value".into(),
    );
    require(
        result.attempt_id == expected.attempt_id,
        "attemptId does not echo the invocation value".into(),
    );
    require(
        process_exit.map(i64::from) == Some(result.exit_code),
        "result exitCode does not match process exit code".into(),
    );
    let pair = (result.status, result.exit_code);
    match known_code(&result.result_code) {
        Some(known) => require(
            known == pair,
            "status/resultCode/exitCode combination is inconsistent".into(),
        ),
        None => require(
            matches!(
                pair,
                (ResultStatus::Success, 0)
                    | (ResultStatus::Cancelled, 3)
                    | (ResultStatus::Failed, 1 | 2 | 3 | 5)
            ),
            "unknown resultCode has an inconsistent status/exitCode".into(),
        ),
    }
    let code = result.result_code.as_str();
    let before_start = matches!(code, "VALIDATION_ERROR" | "LOCK_CONFLICT");
    require(
        !(before_start && result.execution_started),
        format!("{code} requires executionStarted=false"),
    );
    let success = result.status == ResultStatus::Success;
    require(
        !success || result.execution_started,
        "SUCCESS requires executionStarted=true".into(),
    );
    // A refused job may name itself: only a claim of success has to come from the job that was asked for.
    require(
        !success || result.job_id == expected.job_id,
        "jobId is not the job of the node".into(),
    );
    found
}

/// Whether the outputs are those of the node: only configured names, strictly ascending (RUN-25).
pub fn outputs_match(receipts: Option<&[OutputReceipt]>, configured: &[String]) -> bool {
    match receipts {
        None => configured.is_empty(),
        Some(list) => {
            list.iter().all(|r| configured.contains(&r.name))
                && list
                    .windows(2)
                    .all(|w| text_order(&w[0].name, &w[1].name).is_lt())
        }
    }
}

#[cfg(test)]
mod tests;
