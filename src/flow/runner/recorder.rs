//! What a running job has done so far: counts, JSONL lines, `log_detail`, checkpoints in the log app (RNR-72, 73, 80, 91).

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::console::Console;
use super::job_record;
use super::journal::{Event, Journal};
use super::log_app::LogApp;
use super::mask::Masker;
use super::result::Effects;
use crate::flow::exec::ChunkEvent;
use crate::flow::sql::message::{Language, Message, say};
use crate::kintone::Client;

/// A checkpoint goes to the log app after this many write requests, or this long after the last one.
const CHECKPOINT_CHUNKS: u64 = 25;
const CHECKPOINT_INTERVAL: Duration = Duration::from_mins(1);

/// Checkpoints that so many write requests bring at least.
pub const fn checkpoints(writes: u64) -> u64 {
    writes / CHECKPOINT_CHUNKS
}

/// How a statement ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum StatementEnd {
    /// It did what it says.
    Done,
    /// The assertion holds.
    AssertPassed,
    /// `ASSERT WARN` does not hold; the text says why.
    AssertWarning(Message),
    /// The assertion does not hold; the text says why, masked.
    AssertViolation(Message),
    /// The job ends here as NO_DATA; the message of the script.
    ExitTaken(String),
    /// An error, masked.
    Failed(Message),
    /// Not run, because an earlier statement ended the job.
    Skipped(&'static str),
}

impl StatementEnd {
    /// `status` of the JSONL line.
    pub const fn status(&self) -> &'static str {
        match self {
            Self::AssertViolation(_) | Self::Failed(_) => "error",
            Self::Skipped(_) => "skipped",
            _ => "success",
        }
    }

    /// `kind` of the JSONL line (RNR-80).
    pub const fn kind(&self) -> Option<&'static str> {
        match self {
            Self::Done => Some("STATEMENT"),
            Self::AssertPassed => Some("ASSERT_PASSED"),
            Self::AssertWarning(_) => Some("ASSERT_WARNING"),
            Self::AssertViolation(_) => Some("ASSERT_VIOLATION"),
            Self::ExitTaken(_) => Some("EXIT_NO_DATA"),
            Self::Failed(_) | Self::Skipped(_) => None,
        }
    }
}

/// Numbers of one statement.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StatementCounts {
    /// Rows of its result, or records written.
    pub rows: Option<u64>,
    /// Records fetched.
    pub read: u64,
    /// Records inserted, updated and deleted.
    pub written: u64,
    /// Records deleted.
    pub deleted: u64,
}

/// A statement as it is named in logs.
#[derive(Clone, Copy, Debug)]
pub struct StatementName<'a> {
    /// Number, from 1.
    pub index: usize,
    /// `SELECT`, `UPSERT` ...
    pub verb: &'a str,
    /// Its SQL.
    pub sql: &'a str,
}

/// Where checkpoints go.
pub struct CheckpointTarget<'a> {
    /// The log app.
    pub log: &'a LogApp,
    /// The job's RUNNING record.
    pub record_id: u64,
}

/// The memory of one running job.
pub struct Recorder<'a> {
    job: &'a str,
    client: &'a Client,
    journal: &'a Journal,
    console: &'a Console,
    masker: &'a Masker,
    checkpoints: Option<CheckpointTarget<'a>>,
    calls_before: u64,
    read: u64,
    reported: (u64, u64),
    acknowledged: (u64, u64),
    /// Acknowledged write requests.
    chunks: u64,
    /// The same, without those behind one that is missing.
    unbroken: u64,
    /// Key up to which everything is written.
    last_key: Option<String>,
    last_checkpoint: (u64, Instant),
    detail: String,
}

impl<'a> Recorder<'a> {
    /// A job that has done nothing yet; its requests are counted from `calls_before`.
    pub fn new(
        job: &'a str,
        client: &'a Client,
        journal: &'a Journal,
        console: &'a Console,
        masker: &'a Masker,
        checkpoints: Option<CheckpointTarget<'a>>,
        calls_before: u64,
    ) -> Self {
        Self {
            job,
            client,
            journal,
            console,
            masker,
            checkpoints,
            calls_before,
            read: 0,
            reported: (0, 0),
            acknowledged: (0, 0),
            chunks: 0,
            unbroken: 0,
            last_key: None,
            last_checkpoint: (0, Instant::now()),
            detail: String::new(),
        }
    }

    /// Requests of this job so far.
    pub fn api_calls(&self) -> u64 {
        self.client.requests().total.saturating_sub(self.calls_before)
    }

    /// Lines about the statements so far.
    pub fn detail(&self) -> &str {
        &self.detail
    }

    /// Adds a line about the job as a whole.
    pub fn note(&mut self, line: &str) {
        self.detail.push_str(line);
        self.detail.push('\n');
    }

    /// Counts so far; a failed statement counts with what was acknowledged (RNR-73).
    pub fn effects(&self) -> Effects {
        Effects {
            read: self.read,
            written: self.reported.0.max(self.acknowledged.0),
            deleted: self.reported.1.max(self.acknowledged.1),
            chunks: self.unbroken,
            last_written_key: self
                .last_key
                .clone()
                .or_else(|| (self.unbroken > 0).then(|| format!("chunk:{}", self.unbroken))),
        }
    }

    /// A write request was acknowledged.
    pub fn chunk(&mut self, event: &ChunkEvent) {
        let records = event.records as u64;
        self.chunks += 1;
        self.acknowledged.0 += records;
        self.acknowledged.1 += event.written.deleted;
        let masked = |key: &Option<String>| {
            let key = event.key_field.as_ref().zip(key.as_ref());
            key.map(|(field, value)| self.masker.key(field, value))
        };
        let last_key = masked(&event.last_key);
        if event.unbroken > 0 {
            self.unbroken += event.unbroken;
            self.last_key = masked(&event.unbroken_key);
        }
        self.journal.write(
            Event::WriteChunk,
            json!({
                "job": self.job,
                "statementIndex": event.statement + 1,
                "app": event.app.0,
                "operation": event.operation,
                "records": records,
                "chunk": self.chunks,
                "statementChunk": event.chunk,
                "lastKeyValue": last_key,
            }),
        );
        let (chunks, since) = self.last_checkpoint;
        if self.chunks - chunks >= CHECKPOINT_CHUNKS || since.elapsed() >= CHECKPOINT_INTERVAL {
            self.checkpoint();
        }
    }

    /// A checkpoint that cannot be written is dropped: the next one, or the final record, says more.
    fn checkpoint(&mut self) {
        self.last_checkpoint = (self.chunks, Instant::now());
        let Some(target) = &self.checkpoints else { return };
        let record = job_record::progress(&self.effects(), self.api_calls());
        if let Err(error) = target.log.update(target.record_id, None, &record) {
            let what = say!("checkpoint not written", "途中経過を記録できません");
            self.console.warn(what.joined(": ", &(&error).into()));
            self.journal.write(
                Event::CheckpointWriteFailed,
                json!({"job": self.job, "chunk": self.chunks, "error": error.to_string()}),
            );
        }
    }

    /// A statement had something to say to the author of the script.
    pub fn warning(&mut self, name: &StatementName<'_>, text: &Message) {
        let text = self.masker.message(text);
        let place = format!("#{} {}", name.index, name.verb);
        self.console.warn(text.put(|_, text| format!("{place}: {text}")));
        self.note(&format!("{place} warning: {text}"));
    }

    /// A statement ended.
    pub fn statement(&mut self, name: &StatementName<'_>, end: &StatementEnd, counts: &StatementCounts) {
        self.read += counts.read;
        self.reported.0 += counts.written;
        self.reported.1 += counts.deleted;
        let (error, reason) = match end {
            StatementEnd::Failed(text) | StatementEnd::AssertViolation(text) => {
                (json!(text.to_string()), Value::Null)
            }
            StatementEnd::Skipped(reason) => (Value::Null, json!(reason)),
            _ => (Value::Null, Value::Null),
        };
        self.journal.write(
            Event::Statement,
            json!({
                "job": self.job,
                "index": name.index,
                "type": name.verb,
                "status": end.status(),
                "kind": end.kind(),
                "rowCount": counts.rows,
                "skippedReason": reason,
                "readCount": counts.read,
                "writtenCount": counts.written,
                "apiCalls": self.api_calls(),
                "error": error,
            }),
        );
        let line = self.detail_line(name, end, counts);
        self.note(&line.to_string());
        if !matches!(end, StatementEnd::Skipped(_)) {
            self.console.progress(line.put(|_, line| format!("  {line}")));
        }
    }

    /// `#<n> <TYPE><suffix> | <first line of the SQL>` (RNR-91).
    fn detail_line(&self, name: &StatementName<'_>, end: &StatementEnd, counts: &StatementCounts) -> Message {
        let suffix: Message = match end {
            StatementEnd::Done => counts
                .rows
                .map_or_else(String::new, |rows| format!(" rows={rows}"))
                .into(),
            StatementEnd::AssertPassed => " ASSERT_PASSED".into(),
            StatementEnd::AssertWarning(text) => {
                let text = self.masker.message(text);
                text.put(|_, text| format!(" ASSERT_WARNING {text}"))
            }
            StatementEnd::ExitTaken(text) => format!(" EXIT_NO_DATA {}", self.masker.text(text)).into(),
            StatementEnd::Failed(text) | StatementEnd::AssertViolation(text) => {
                text.put(|language, text| match language {
                    Language::English => format!(" error: {text}"),
                    Language::Japanese => format!(" エラー: {text}"),
                })
            }
            StatementEnd::Skipped(reason) => format!(" skipped ({reason})").into(),
        };
        let sql = self.masker.sql(name.sql);
        let first = sql
            .lines()
            .map(str::trim)
            .find(|line| !line.is_empty())
            .unwrap_or_default();
        suffix.put(|_, suffix| format!("#{} {}{suffix} | {first}", name.index, name.verb))
    }
}
