//! The local JSONL file of one execution: complete where the log app is abridged (RNR-80).

use std::fs::{File, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::{Map, Value, json};

use super::command::Orchestration;
use super::console::Console;
use super::host;
use super::mask::Masker;
use crate::flow::calendar::instant_millis;
use crate::flow::sql::message::say;

/// Events of the public contract and internal ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A job took its lock and starts.
    JobStart,
    /// A statement ended.
    Statement,
    /// A write request was acknowledged.
    WriteChunk,
    /// A job ended.
    JobFinish,
    /// A batch took its lock and starts.
    BatchStart,
    /// A batch ended.
    BatchFinish,
    /// A read-only statement of a dry run.
    DryRunStatement,
    /// A previewed write of a dry run.
    DryRunPreview,
    /// The report of a dry run.
    DryRunFinish,
    /// A lock older than the batch time limit was recovered.
    StaleLockRecovered,
    /// A lock was released by `force-unlock-job`.
    JobLockForceReleased,
    /// A final log-app write failed and was queued.
    LogappWriteFailed,
    /// A checkpoint could not be written.
    CheckpointWriteFailed,
    /// Queued log-app writes were sent.
    ResendDone,
    /// A queued log-app write failed again.
    ResendFailed,
    /// The run goes on without the lock in the log app.
    LockLocalOnly,
    /// A job of a batch was not run.
    JobSkipped,
    /// The start mark of an orchestrated execution is stored.
    ExecutionStarted,
    /// The local lock file was removed by `unlock`.
    UnlockLocal,
    /// An import source was supplied that no statement uses.
    UnusedImportSource,
    /// An error happened while the execution was being cancelled.
    CancelledWithError,
}

impl Event {
    const fn name(self) -> &'static str {
        match self {
            Self::JobStart => "job_start",
            Self::Statement => "statement",
            Self::WriteChunk => "write_chunk",
            Self::JobFinish => "job_finish",
            Self::BatchStart => "batch_start",
            Self::BatchFinish => "batch_finish",
            Self::DryRunStatement => "dry_run_statement",
            Self::DryRunPreview => "dry_run_preview",
            Self::DryRunFinish => "dry_run_finish",
            Self::StaleLockRecovered => "stale_lock_recovered",
            Self::JobLockForceReleased => "job_lock_force_released",
            Self::LogappWriteFailed => "logapp_write_failed",
            Self::CheckpointWriteFailed => "checkpoint_write_failed",
            Self::ResendDone => "resend_done",
            Self::ResendFailed => "resend_failed",
            Self::LockLocalOnly => "lock_local_only",
            Self::JobSkipped => "job_skipped",
            Self::ExecutionStarted => "execution_started",
            Self::UnlockLocal => "unlock_local",
            Self::UnusedImportSource => "unused_import_source",
            Self::CancelledWithError => "cancelled_with_error",
        }
    }
}

/// Appends lines to `<localDir>/<batch id>.jsonl`.
pub struct Journal {
    path: PathBuf,
    envelope: Map<String, Value>,
    masker: Arc<Masker>,
    console: Console,
    warned: AtomicBool,
}

impl Journal {
    /// A journal whose lines carry these ids. Nothing is created before the first line.
    pub fn new(
        local_dir: &Path,
        batch_id: &str,
        profile: &str,
        orchestration: Option<&Orchestration>,
        masker: Arc<Masker>,
        console: Console,
    ) -> Self {
        let mut envelope = Map::new();
        envelope.insert("batchId".to_owned(), json!(batch_id));
        envelope.insert("profile".to_owned(), json!(profile));
        if let Some(ids) = orchestration {
            envelope.insert("correlationId".to_owned(), json!(ids.correlation_id));
            envelope.insert("attemptId".to_owned(), json!(ids.attempt_id));
            envelope.insert("executionId".to_owned(), json!(batch_id));
        }
        let path = local_dir.join(format!("{batch_id}.jsonl"));
        Self {
            path,
            envelope,
            masker,
            console,
            warned: AtomicBool::new(false),
        }
    }

    /// Where the lines go.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Appends one line; `payload` is an object. A failure is reported once on standard error and never stops the run.
    pub fn write(&self, event: Event, payload: Value) {
        let mut line = Map::new();
        line.insert("v".to_owned(), json!(1));
        line.insert("ts".to_owned(), json!(instant_millis(host::now())));
        line.insert("event".to_owned(), json!(event.name()));
        line.extend(self.envelope.clone());
        if let Value::Object(payload) = self.masker.json(payload) {
            line.extend(payload);
        }
        if let Err(error) = self.append(&Value::Object(line))
            && !self.warned.swap(true, Ordering::Relaxed)
        {
            let path = self.path.display();
            self.console.warn(say!(
                "cannot write {path}: {error}",
                "{path} に書き込めません: {error}"
            ));
        }
    }

    fn append(&self, line: &Value) -> std::io::Result<()> {
        if let Some(folder) = self.path.parent() {
            std::fs::create_dir_all(folder)?;
        }
        let mut file = private().append(true).create(true).open(&self.path)?;
        let mut text = line.to_string();
        text.push('\n');
        file.write_all(text.as_bytes())
    }
}

/// Lines hold keys and messages of the job: they are for its owner only.
fn private() -> OpenOptions {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_carry_the_envelope() {
        let folder =
            std::env::temp_dir().join(format!("ksql-flow-journal-{}", host::uuid().expect("random")));
        let ids = Orchestration {
            result_json: "-".to_owned(),
            correlation_id: "c".to_owned(),
            attempt_id: "a".to_owned(),
            expected_job_id: "j".to_owned(),
        };
        let journal = Journal::new(
            &folder,
            "b-1",
            "prod",
            Some(&ids),
            Arc::default(),
            Console::default(),
        );
        journal.write(Event::JobStart, json!({"job": "j"}));
        journal.write(Event::JobFinish, json!({"job": "j", "status": "SUCCESS"}));
        let text = std::fs::read_to_string(folder.join("b-1.jsonl")).expect("file");
        let lines: Vec<Value> = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"))
            .collect();
        assert_eq!(lines.len(), 2);
        assert_eq!(lines[1]["event"], "job_finish");
        for (key, value) in [
            ("v", json!(1)),
            ("batchId", json!("b-1")),
            ("executionId", json!("b-1")),
            ("profile", json!("prod")),
        ] {
            assert_eq!(lines[0][key], value, "{key}");
        }
        assert!(
            lines[0]["ts"]
                .as_str()
                .is_some_and(|ts| ts.ends_with('Z') && ts.len() == 24)
        );
        std::fs::remove_dir_all(&folder).expect("removed");
    }
}
