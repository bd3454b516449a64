//! The records that one job or batch leaves in the log app, from RUNNING to its end (RNR-60, RNR-63, RNR-72, RNR-76).

use jiff::Timestamp;

use super::as_of::RunInstant;
use super::command::Orchestration;
use super::graph::{SkipReason, skip_detail};
use super::host;
use super::log_app::{LogRecord, abridge};
use super::log_fields::JOB_KEY;
use super::result::{Effects, VERSION};
use super::verdict::JobStatus;
use crate::flow::calendar::instant_seconds;

/// `record_type` of the log app.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecordType {
    /// One run-all.
    Batch,
    /// One job.
    Job,
}

/// What is known when a record is made.
pub struct Opening<'a> {
    /// Kind of record.
    pub record_type: RecordType,
    /// Session id of this record.
    pub batch_id: &'a str,
    /// Session id of the batch around a job; empty for a single run.
    pub parent_batch_id: &'a str,
    /// File name of the job, folder of the batch.
    pub script_name: &'a str,
    /// Profile.
    pub profile: &'a str,
    /// Fixed instant.
    pub as_of: &'a RunInstant,
    /// Start.
    pub started: Timestamp,
    /// Host label.
    pub host: &'a str,
    /// Commit of the job folder.
    pub git_ref: &'a str,
}

impl Opening<'_> {
    fn base(&self) -> LogRecord {
        let record_type = match self.record_type {
            RecordType::Batch => "BATCH",
            RecordType::Job => "JOB",
        };
        let mut record = LogRecord::new();
        record
            .set("record_type", record_type)
            .set("batch_id", self.batch_id)
            .set("parent_batch_id", self.parent_batch_id)
            .set("script_name", self.script_name)
            .set("profile", self.profile)
            .set("as_of", instant_seconds(self.as_of.as_of.instant()))
            .set("started_at", instant_seconds(self.started))
            .set("executed_by", host::user())
            .set("host", self.host)
            .set("git_ref", self.git_ref)
            .set("ksql_version", format!("flow {VERSION} / engine {VERSION}"));
        record
    }

    /// The RUNNING record that is the lock.
    pub fn running(&self, job_key: &str, orchestration: Option<&Orchestration>, job_id: &str) -> LogRecord {
        let mut record = self.base();
        record
            .set("status", JobStatus::Running.word())
            .set(JOB_KEY, job_key);
        if let Some(ids) = orchestration {
            record
                .set("correlation_id", &ids.correlation_id)
                .set("attempt_id", &ids.attempt_id)
                .set("execution_id", self.batch_id)
                .set("job_id", job_id);
        }
        record
    }

    /// The record of a job that is left out. It holds no key.
    pub fn skipped(&self, reason: &SkipReason) -> LogRecord {
        let mut record = self.base();
        record
            .set("status", JobStatus::Skipped.word())
            .set("finished_at", instant_seconds(self.started))
            .set("log_detail", skip_detail(reason));
        record
    }
}

/// What is known at the end.
pub struct Closing<'a> {
    /// Terminal status.
    pub status: JobStatus,
    /// Key to move to `job_key_done`.
    pub job_key: &'a str,
    /// Start and end.
    pub started: Timestamp,
    /// End.
    pub finished: Timestamp,
    /// Counts.
    pub effects: &'a Effects,
    /// HTTP attempts of the job or batch.
    pub api_calls: u64,
    /// Error text, masked; empty for none.
    pub error: &'a str,
    /// Lines about the statements or jobs, masked.
    pub detail: &'a str,
}

impl Closing<'_> {
    /// The final update: releases the lock.
    pub fn record(&self) -> LogRecord {
        let milliseconds = self.finished.duration_since(self.started).as_millis();
        let seconds = u64::try_from((milliseconds + 500) / 1000).unwrap_or(0);
        let mut record = progress(self.effects, self.api_calls);
        record
            .set("status", self.status.word())
            .set(JOB_KEY, "")
            .set("job_key_done", self.job_key)
            .set("finished_at", instant_seconds(self.finished))
            .set_number("duration_sec", seconds)
            .set_number("read_count", self.effects.read)
            .set("error_message", abridge(self.error))
            .set("log_detail", abridge(self.detail));
        record
    }
}

/// A checkpoint: what was written so far (RNR-72).
pub fn progress(effects: &Effects, api_calls: u64) -> LogRecord {
    let mut record = LogRecord::new();
    record
        .set_number("written_count", effects.written)
        .set_number("deleted_count", effects.deleted)
        .set(
            "last_written_key",
            effects.last_written_key.clone().unwrap_or_default(),
        )
        .set_number("api_calls", api_calls);
    record
}

/// The mark that the first statement is about to run (RNR-76).
pub fn execution_started(at: Timestamp) -> LogRecord {
    let mut record = LogRecord::new();
    record.set("runner_execution_started_at", instant_seconds(at));
    record
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::calendar::Zone;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("instant")
    }

    #[test]
    fn the_key_lives_as_long_as_the_job_runs() {
        let as_of = RunInstant::start(at("2026-08-01T00:00:00.5Z"), Zone::utc());
        let opening = Opening {
            record_type: RecordType::Job,
            batch_id: "b",
            parent_batch_id: "",
            script_name: "a.sql",
            profile: "p",
            as_of: &as_of,
            started: at("2026-08-01T00:00:00.5Z"),
            host: "h",
            git_ref: "",
        };
        let running = opening.running("p:a", None, "a");
        assert_eq!(
            (running.get("status"), running.get(JOB_KEY)),
            (Some("RUNNING"), Some("p:a"))
        );
        assert_eq!(running.get("as_of"), Some("2026-08-01T00:00:00Z"));
        assert_eq!(running.get("attempt_id"), None);
        let skipped = opening.skipped(&SkipReason::Dependency("x".to_owned()));
        assert_eq!(skipped.get(JOB_KEY), None);
        assert_eq!(skipped.get("log_detail"), Some("SKIPPED (dependency: x)"));
        let closing = Closing {
            status: JobStatus::Failed,
            job_key: "p:a",
            started: at("2026-08-01T00:00:00Z"),
            finished: at("2026-08-01T00:00:01.5Z"),
            effects: &Effects {
                read: 3,
                written: 2,
                ..Effects::default()
            },
            api_calls: 9,
            error: "e",
            detail: "d",
        };
        let closed = closing.record();
        assert_eq!(
            (closed.get(JOB_KEY), closed.get("job_key_done")),
            (Some(""), Some("p:a"))
        );
        assert_eq!(
            (closed.get("duration_sec"), closed.get("read_count")),
            (Some("2"), Some("3"))
        );
    }
}
