//! From what a job left behind to what is stored: attempt, node, invocation (RUN-25 to RUN-30, ATT-05, D-10).
//!
//! Evidence comes in three parts and is weighed in this order: how the process ended, what the result file says, what
//! the JOB log says. Nothing here is ever guessed: what two of them contradict, or none of them shows, is UNKNOWN and
//! a person decides.

use super::io_summary::{self, BaselineEntry};
use super::result::{self, ExecutionResult, Expected, InputReceipt, OutputReceipt, ResultFile, ResultStatus};
use crate::flownet::record::status::{AttemptStatus, NodeStatus};
use crate::flownet::time::Timestamp;

/// No usable result file.
pub const NO_EXECUTION_RESULT: &str = "NO_EXECUTION_RESULT";
/// A result file that may not be believed.
pub const INVALID_EXECUTION_RESULT: &str = "INVALID_EXECUTION_RESULT";
/// The process had to be killed.
pub const FORCED_TERMINATION: &str = "FORCED_TERMINATION";
/// The job provably never started; the node waits again.
pub const PREPARE_FAILED: &str = "PREPARE_FAILED";
/// Another execution holds the job.
pub const LOCK_CONFLICT: &str = "LOCK_CONFLICT";

/// Text of an orphan without any terminal record (REC-24).
pub const ORPHAN_TEXT: &str = "orphan RUNNING attempt had no terminal execution result";
/// Beginning of what is said of an attempt whose runner did not get as far as its job.
pub const NOTHING_EXECUTED: &str = "nothing was executed";
/// Message of an orphan whose JOB log records contradict each other.
pub const SEVERAL_TEXT: &str = "the JOB log has several records of this attempt";

/// The JOB log record of one attempt (REC-28). Empty fields are `None`.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct JobRecord {
    /// The runner's mark before its first statement.
    pub runner_execution_started_at: Option<String>,
    /// The runner's id of the execution.
    pub execution_id: Option<String>,
    /// Status text, any case.
    pub status: Option<String>,
    /// Time of the end.
    pub finished_at: Option<String>,
}

/// What the JOB log lookup gave (RUN-26).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum JobLog {
    /// The runner's own log app was read and has no record of the attempt. Say this only when the app that was read is
    /// the one that the runner writes to.
    Absent,
    /// Exactly one record.
    Found(JobRecord),
    /// More than one record: somebody copied one, and nothing can be concluded.
    Several,
    /// A malformed answer, or another app: nothing is known.
    LookupFailed,
}

impl JobLog {
    fn record(&self) -> Option<&JobRecord> {
        match self {
            Self::Found(record) => Some(record),
            Self::Absent | Self::Several | Self::LookupFailed => None,
        }
    }

    fn shows_start(&self) -> bool {
        self.record()
            .is_some_and(|r| r.runner_execution_started_at.is_some())
    }
}

/// Everything known about one attempt after its process ended, except the JOB log.
#[derive(Clone, PartialEq, Debug)]
pub struct Evidence<'a> {
    /// The result file.
    pub result: &'a ResultFile,
    /// Exit code; none after a signal, or when nothing was started.
    pub exit_code: Option<i32>,
    /// The process was killed after the grace period.
    pub forced: bool,
    /// The operating system refused to start the process.
    pub launch_failed: bool,
    /// Something that the process started was still there at its end.
    pub leftovers: bool,
    /// What was started.
    pub expected: Expected<'a>,
    /// Configured inputs as they were before the start; empty = none.
    pub baseline: &'a [BaselineEntry],
    /// Names of the configured outputs; empty = none.
    pub outputs: &'a [String],
    /// The node's start as stored.
    pub execution_started_at: &'a str,
    /// Now.
    pub now: Timestamp,
}

/// The three kinds of result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ResultKind {
    /// Whole and believable.
    Valid,
    /// None, or not JSON.
    Missing,
    /// There, and not to be believed.
    Invalid,
}

impl ResultKind {
    /// The word of the contract.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Valid => "VALID_RESULT",
            Self::Missing => "NO_RESULT",
            Self::Invalid => "INVALID_RESULT",
        }
    }

    const fn code(self) -> Option<&'static str> {
        match self {
            Self::Valid => None,
            Self::Missing => Some(NO_EXECUTION_RESULT),
            Self::Invalid => Some(INVALID_EXECUTION_RESULT),
        }
    }
}

/// The result file, judged. The JOB log is looked up next, with [`Reading::execution_id`].
#[derive(Clone, PartialEq, Debug)]
pub struct Reading {
    /// What it is.
    pub kind: ResultKind,
    /// Why it is not valid.
    pub details: Vec<String>,
    result: Option<ExecutionResult>,
}

impl Reading {
    /// The execution id to look up besides the attempt id; only a valid result has one (RUN-26).
    pub fn execution_id(&self) -> Option<&str> {
        self.result.as_ref().map(|r| r.execution_id.as_str())
    }

    /// The runner's own error text, also when the stored text has no room for it (RUN-28).
    pub fn error_message(&self) -> Option<&str> {
        self.result.as_ref()?.error_message.as_deref()
    }

    /// Why the result is none, or cannot be believed; empty when it can. Of a node with inputs the record holds only the
    /// files.
    pub fn doubts(&self) -> String {
        self.details.join("; ")
    }
}

/// The end of an attempt, as stored (REC-24). Counts are 0 and optional values absent without a valid result.
#[derive(Clone, PartialEq, Debug)]
pub struct AttemptEnd {
    /// Never RUNNING.
    pub status: AttemptStatus,
    /// Result code.
    pub result_code: String,
    /// From the JOB log only.
    pub runner_execution_started_at: Option<String>,
    /// From the result, else from the JOB log.
    pub execution_id: Option<String>,
    /// From the result or the JOB log, else now.
    pub finished_at: String,
    /// Seconds with decimals.
    pub duration_sec: Option<f64>,
    /// Audit of the files, else an error text.
    pub error_message: Option<String>,
    /// Records read.
    pub read_count: u64,
    /// Records written.
    pub written_count: u64,
    /// Chunks applied.
    pub last_successful_chunk_no: Option<u64>,
    /// Key of the last record written.
    pub last_written_key: Option<String>,
}

/// The node after it. Its active attempt is always cleared.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NodeEnd {
    /// Status.
    pub status: NodeStatus,
    /// Reason, a code.
    pub status_reason: String,
    /// Kept unless the node waits again.
    pub started_at: Option<String>,
    /// That of the attempt unless the node waits again.
    pub finished_at: Option<String>,
    /// That of the attempt.
    pub updated_at: String,
}

/// What is to be stored after an attempt.
#[derive(Clone, PartialEq, Debug)]
pub struct Verdict {
    /// The attempt.
    pub attempt: AttemptEnd,
    /// The node.
    pub node: NodeEnd,
    /// The code that the node contributes to the invocation, if any.
    pub invocation_code: Option<&'static str>,
}

/// Judges the result file alone (RUN-21 to RUN-25).
pub fn read(evidence: &Evidence<'_>) -> Reading {
    if evidence.forced {
        return Reading {
            kind: ResultKind::Invalid,
            details: vec!["process exceeded its grace period and was forcibly terminated".into()],
            result: None,
        };
    }
    let fault = |kind, details| Reading {
        kind,
        details,
        result: None,
    };
    let value = match evidence.result {
        ResultFile::Missing => {
            let text = "result file does not exist or could not be read";
            return fault(ResultKind::Missing, vec![text.into()]);
        }
        ResultFile::NotJson => {
            return fault(
                ResultKind::Missing,
                vec!["result file is not complete JSON".into()],
            );
        }
        ResultFile::Json(value) => value,
    };
    let result = match result::check_shape(value) {
        Ok(result) => result,
        Err(details) => return fault(ResultKind::Invalid, details),
    };
    let mut details = result::inconsistencies(&result, &evidence.expected, evidence.exit_code);
    if details.is_empty() && result.execution_started {
        // What never started has no receipts to show (BTR-18).
        if !inputs_match(&result, evidence.baseline) {
            details.push("input_files does not match the preflight input baseline".into());
        } else if !result::outputs_match(result.output_files.as_deref(), evidence.outputs) {
            let text = if evidence.outputs.is_empty() {
                "output_files contains an unconfigured export sink"
            } else {
                "output_files does not match the configured export sinks"
            };
            details.push(text.into());
        }
    }
    if !details.is_empty() {
        return fault(ResultKind::Invalid, details);
    }
    Reading {
        kind: ResultKind::Valid,
        details,
        result: Some(result),
    }
}

/// SUCCESS has to account for every input; another end only for those it mentions (item 5). Receipts of a node without
/// configured inputs mean nothing.
fn inputs_match(result: &ExecutionResult, baseline: &[BaselineEntry]) -> bool {
    if baseline.is_empty() {
        return true;
    }
    let receipts = result.input_files.as_deref().unwrap_or_default();
    let same = |r: &InputReceipt, b: &BaselineEntry| {
        r.name == b.source && r.sha256 == b.sha256 && r.bytes == b.bytes
    };
    let known = receipts.iter().all(|r| baseline.iter().any(|b| same(r, b)));
    let complete = baseline.iter().all(|b| receipts.iter().any(|r| same(r, b)));
    known && (complete || result.status != ResultStatus::Success)
}

/// Decides the attempt (RUN-27, rows 1 to 8, and D-10).
pub fn decide(evidence: &Evidence<'_>, reading: &Reading, job_log: &JobLog) -> Verdict {
    let ending = Ending {
        evidence,
        reading,
        job_log,
    };
    if evidence.forced {
        return ending.verdict(
            AttemptStatus::Unknown,
            FORCED_TERMINATION,
            Some(FORCED_TERMINATION),
        );
    }
    if let Some(result) = &reading.result {
        return match result.status {
            ResultStatus::Success => ending.verdict(AttemptStatus::Success, &result.result_code, None),
            ResultStatus::Cancelled => ending.verdict(AttemptStatus::Cancelled, &result.result_code, None),
            ResultStatus::Failed if result.result_code == LOCK_CONFLICT => {
                ending.waits_again(Some(LOCK_CONFLICT))
            }
            ResultStatus::Failed => ending.verdict(AttemptStatus::Failed, &result.result_code, None),
        };
    }
    let code = reading.kind.code().unwrap_or(NO_EXECUTION_RESULT);
    if provably_never_started(evidence, reading, job_log) {
        return ending.waits_again(Some(code));
    }
    // A missing or unreadable result is settled by the runner's own record of the same attempt (D-10).
    let recorded = job_log
        .record()
        .filter(|_| reading.kind == ResultKind::Missing)
        .and_then(|record| record.status.as_deref())
        .and_then(recorded_end);
    match recorded {
        Some(end) => ending.verdict(end.status, end.result_code, None),
        None => ending.verdict(AttemptStatus::Unknown, code, Some(code)),
    }
}

/// The operating system started nothing; or the process ended by itself, left nothing behind, and neither a result nor
/// a JOB log record exists: the runner makes that record before its first statement (D-10, REC-29).
fn provably_never_started(evidence: &Evidence<'_>, reading: &Reading, job_log: &JobLog) -> bool {
    if evidence.launch_failed {
        return !job_log.shows_start();
    }
    reading.kind == ResultKind::Missing
        && evidence.exit_code.is_some()
        && !evidence.leftovers
        && *job_log == JobLog::Absent
}

/// An end that the JOB log records.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordedEnd {
    /// Status of attempt and node.
    pub status: AttemptStatus,
    /// Result code.
    pub result_code: &'static str,
}

/// What a JOB log status says of its attempt; `None` for every status that is not an end (RUN-30, ORP-04).
pub fn recorded_end(status: &str) -> Option<RecordedEnd> {
    let (status, result_code) = match status.to_ascii_uppercase().as_str() {
        "SUCCESS" => (AttemptStatus::Success, "OK"),
        "NO_DATA" => (AttemptStatus::Success, "NO_DATA"),
        "FAILED" => (AttemptStatus::Failed, "FAILED"),
        "ABORTED" => (AttemptStatus::Failed, "ASSERT_FAILED"),
        "TIMEOUT" => (AttemptStatus::Failed, "EXECUTION_TIMEOUT"),
        "CANCELLED" => (AttemptStatus::Cancelled, "CANCELLED"),
        _ => return None,
    };
    Some(RecordedEnd { status, result_code })
}

/// What becomes of an attempt that an earlier invocation left RUNNING.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Orphan {
    /// Its end is on record.
    Ended(RecordedEnd),
    /// It never started: CANCELLED / PREPARE_FAILED, the node waits again (BTR-14).
    NeverStarted,
    /// UNKNOWN / NO_EXECUTION_RESULT with [`ORPHAN_TEXT`] or [`SEVERAL_TEXT`].
    Unknown,
    /// The lookup failed: nothing may be written (ORP-03).
    Undecided,
}

/// Decides an orphan from the JOB log alone; `execution_started` says whether the attempt has its start mark.
pub fn orphan(execution_started: bool, job_log: &JobLog) -> Orphan {
    match job_log {
        JobLog::LookupFailed => Orphan::Undecided,
        JobLog::Absent if !execution_started => Orphan::NeverStarted,
        JobLog::Absent | JobLog::Several => Orphan::Unknown,
        JobLog::Found(record) => record
            .status
            .as_deref()
            .and_then(recorded_end)
            .map_or(Orphan::Unknown, Orphan::Ended),
    }
}

/// The end of an attempt whose files were refused before anything was started (RUN-27 row 9, IO-08). `code` is shown as
/// the invocation's code too, also for INPUT_PATH_REJECTED (item 16).
pub fn refused(code: &'static str, message: &str, started_at: Option<&str>, now: Timestamp) -> Verdict {
    let now = now.iso_ms();
    Verdict {
        attempt: AttemptEnd {
            status: AttemptStatus::Failed,
            result_code: code.to_owned(),
            error_message: Some(message.to_owned()),
            ..AttemptEnd::empty(now.clone())
        },
        node: NodeEnd {
            status: NodeStatus::Failed,
            status_reason: code.to_owned(),
            started_at: started_at.map(str::to_owned),
            finished_at: Some(now.clone()),
            updated_at: now,
        },
        invocation_code: Some(code),
    }
}

impl AttemptEnd {
    fn empty(finished_at: String) -> Self {
        Self {
            status: AttemptStatus::Unknown,
            result_code: String::new(),
            runner_execution_started_at: None,
            execution_id: None,
            finished_at,
            duration_sec: None,
            error_message: None,
            read_count: 0,
            written_count: 0,
            last_successful_chunk_no: None,
            last_written_key: None,
        }
    }
}

/// The three parts of the evidence, to take stored values from (RUN-28).
struct Ending<'a> {
    evidence: &'a Evidence<'a>,
    reading: &'a Reading,
    job_log: &'a JobLog,
}

impl Ending<'_> {
    fn verdict(&self, status: AttemptStatus, code: &str, invocation_code: Option<&'static str>) -> Verdict {
        let attempt = self.attempt(status, code);
        let node = NodeEnd {
            status: status.as_node(),
            status_reason: code.to_owned(),
            started_at: Some(self.evidence.execution_started_at.to_owned()),
            finished_at: Some(attempt.finished_at.clone()),
            updated_at: attempt.finished_at.clone(),
        };
        Verdict {
            attempt,
            node,
            invocation_code,
        }
    }

    /// CANCELLED / PREPARE_FAILED, and the node is as if it had not been tried.
    fn waits_again(&self, invocation_code: Option<&'static str>) -> Verdict {
        let attempt = self.attempt(AttemptStatus::Cancelled, PREPARE_FAILED);
        let node = NodeEnd {
            status: NodeStatus::Waiting,
            status_reason: PREPARE_FAILED.to_owned(),
            started_at: None,
            finished_at: None,
            updated_at: attempt.finished_at.clone(),
        };
        Verdict {
            attempt,
            node,
            invocation_code,
        }
    }

    fn attempt(&self, status: AttemptStatus, code: &str) -> AttemptEnd {
        let record = self.job_log.record();
        let settled_by_log = self.reading.result.is_none() && status != AttemptStatus::Unknown;
        let finished_at = match &self.reading.result {
            Some(result) => Some(&result.finished_at),
            None => record
                .and_then(|r| r.finished_at.as_ref())
                .filter(|_| settled_by_log),
        };
        let mut end = AttemptEnd {
            status,
            result_code: code.to_owned(),
            runner_execution_started_at: record.and_then(|r| r.runner_execution_started_at.clone()),
            execution_id: record.and_then(|r| r.execution_id.clone()),
            error_message: self.error_message(),
            ..AttemptEnd::empty(finished_at.cloned().unwrap_or_else(|| self.evidence.now.iso_ms()))
        };
        if let Some(result) = &self.reading.result {
            end.execution_id = Some(result.execution_id.clone());
            end.duration_sec = Some(result.duration_ms / 1000.0);
            end.read_count = result.read_count;
            end.written_count = result.written_count;
            end.last_successful_chunk_no = result.last_successful_chunk_no;
            end.last_written_key = result.last_written_key.as_deref().map(cut);
        }
        end
    }

    /// The audit of the files goes first: a resume needs it (RUN-28, REC-24). An audit that the format cannot hold, or
    /// that the original could not read back, is replaced by the bare baseline.
    fn error_message(&self) -> Option<String> {
        let baseline = self.evidence.baseline;
        let (has_inputs, has_outputs) = (!baseline.is_empty(), !self.evidence.outputs.is_empty());
        let bare = || io_summary::bare_baseline(baseline);
        let Some(result) = &self.reading.result else {
            return Some(if has_inputs {
                bare()
            } else {
                self.reading.details.join("; ")
            });
        };
        let inputs = trusted_inputs(result, baseline);
        let outputs = trusted_outputs(result, self.evidence.outputs);
        match (has_inputs, has_outputs) {
            (true, true) => Some(io_summary::io_audit(baseline, inputs, outputs).unwrap_or_else(|_| bare())),
            (true, false) if inputs.is_empty() => Some(bare()),
            (true, false) => Some(io_summary::input_audit(baseline, inputs).unwrap_or_else(|_| bare())),
            (false, true) => Some(io_summary::output_audit(outputs).unwrap_or_else(|e| e.to_string())),
            (false, false) => result.error_message.as_deref().map(cut),
        }
    }
}

/// A foreign text, cut to what the record can hold.
fn cut(text: &str) -> String {
    let mut units = 0;
    let fits = |c: &char| {
        units += c.len_utf16();
        units <= io_summary::MAX_SUMMARY_UNITS
    };
    text.chars().take_while(fits).collect()
}

/// Receipts that can be stored: they fit the baseline and are complete. Otherwise none.
fn trusted_inputs<'a>(result: &'a ExecutionResult, baseline: &[BaselineEntry]) -> &'a [InputReceipt] {
    let receipts = result.input_files.as_deref().unwrap_or_default();
    if inputs_match(result, baseline) && io_summary::are_complete(receipts) {
        receipts
    } else {
        &[]
    }
}

fn trusted_outputs<'a>(result: &'a ExecutionResult, configured: &[String]) -> &'a [OutputReceipt] {
    let receipts = result.output_files.as_deref();
    if result::outputs_match(receipts, configured) {
        receipts.unwrap_or_default()
    } else {
        &[]
    }
}

#[cfg(test)]
mod tests;
