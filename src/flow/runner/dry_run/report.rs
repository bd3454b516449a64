//! The report of one dry run: counts, samples, gate; as JSON and as text (RNR-101).

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use crate::flow::apps::Written;
use crate::flow::exec::{Preview, Sample};
use crate::flow::runner::config::Profile;
use crate::flow::runner::console::Console;
use crate::flow::runner::mask::Masker;
use crate::flow::runner::verdict::{Exit, Failure, JobStatus};
use crate::flow::sql::message::{Language, Message, say};

/// Statement that ended a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Gate {
    /// A violated ASSERT.
    Assert,
    /// EXIT SUCCESS IF.
    Exit,
}

impl Gate {
    const fn word(self) -> &'static str {
        match self {
            Self::Assert => "ASSERT",
            Self::Exit => "EXIT",
        }
    }
}

/// What would be written to one app.
#[derive(Clone, Copy, Debug, Default)]
struct Target {
    counts: Written,
    requests: u64,
}

/// A previewed change, masked.
struct Change {
    app: u64,
    operation: &'static str,
    kind: &'static str,
    key: Option<(String, String)>,
    before: Vec<(String, String)>,
    after: Vec<(String, String)>,
}

/// One dry run.
pub struct Report {
    job: String,
    profile: String,
    as_of: String,
    sample_limit: usize,
    names: BTreeMap<u64, String>,
    status: JobStatus,
    exit: Exit,
    /// Records fetched by statements that only read.
    pub records_read: u64,
    /// Requests of statements that only read, and of the checks before them.
    pub read_calls: u64,
    /// Requests of previews.
    pub preview_calls: u64,
    targets: BTreeMap<u64, Target>,
    samples: Vec<Change>,
    gate: Option<(Gate, Message)>,
    incomplete: bool,
    error: Option<Message>,
}

impl Report {
    /// A report on a job that would do nothing so far.
    pub fn new(job: &str, profile: &Profile, as_of: &str, sample_limit: usize) -> Self {
        let names = profile
            .apps
            .iter()
            .map(|app| (app.id, format!("LAPP_{}", app.name)))
            .collect();
        Self {
            job: job.to_owned(),
            profile: profile.name.clone(),
            as_of: as_of.to_owned(),
            sample_limit,
            names,
            status: JobStatus::Success,
            exit: Exit::Done,
            records_read: 0,
            read_calls: 0,
            preview_calls: 0,
            targets: BTreeMap::new(),
            samples: Vec::new(),
            gate: None,
            incomplete: false,
            error: None,
        }
    }

    /// Exit code of a dry run that ends so.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// The job failed; `incomplete` when statements had been previewed before.
    pub fn fail(&mut self, failure: &Failure, incomplete: bool, masker: &Masker) {
        self.status = JobStatus::Failed;
        self.exit = failure.exit();
        self.incomplete = incomplete;
        self.error = Some(masker.failure(failure));
    }

    /// The job would end at a gate.
    pub fn end_at(&mut self, gate: Gate, message: Message) {
        (self.status, self.exit) = match gate {
            Gate::Assert => (JobStatus::Aborted, Exit::Asserted),
            Gate::Exit => (JobStatus::NoData, Exit::Done),
        };
        self.gate = Some((gate, message));
    }

    /// Adds a preview; gives its samples as JSON, all of them.
    pub fn add(&mut self, preview: &Preview, masker: &Masker) -> Value {
        let target = self.targets.entry(preview.app.0).or_default();
        target.counts.inserted += preview.counts.inserted;
        target.counts.updated += preview.counts.updated;
        target.counts.deleted += preview.counts.deleted;
        target.requests += preview.estimated_writes;
        let changes = preview
            .samples
            .iter()
            .map(|sample| Change::of(preview, sample, masker));
        let mut shown = Vec::new();
        for change in changes {
            shown.push(change.to_json(&self.app_name(change.app)));
            if self.samples.len() < self.sample_limit {
                self.samples.push(change);
            }
        }
        Value::Array(shown)
    }

    fn app_name(&self, app: u64) -> String {
        self.names
            .get(&app)
            .cloned()
            .unwrap_or_else(|| format!("APP{app}"))
    }

    /// The `DRY_RUN` object.
    pub fn to_json(&self) -> Value {
        let writes: Vec<Value> = self
            .targets
            .iter()
            .map(|(app, target)| {
                json!({
                    "app": self.app_name(*app), "appId": app,
                    "counts": counts(&target.counts), "estimatedWrites": target.requests,
                })
            })
            .collect();
        let samples: Vec<Value> = self
            .samples
            .iter()
            .map(|change| change.to_json(&self.app_name(change.app)))
            .collect();
        let mut object = json!({
            "formatVersion": 1,
            "kind": "DRY_RUN",
            "job": self.job,
            "profile": self.profile,
            "asOf": self.as_of,
            "status": self.status.word(),
            "exitCode": self.exit.code(),
            "sampleLimit": self.sample_limit,
            "reads": {"records": self.records_read, "apiCalls": self.read_calls},
            "writes": writes,
            "actualApiCalls": {
                "total": self.read_calls + self.preview_calls,
                "read": self.read_calls,
                "preview": self.preview_calls,
            },
            "samples": samples,
            "incomplete": self.incomplete,
        });
        if let Some((gate, message)) = &self.gate {
            object["gate"] = json!({"kind": gate.word(), "message": message.to_string()});
        }
        if let Some(error) = &self.error {
            object["error"] = json!(error.to_string());
        }
        object
    }

    /// The report for people.
    pub fn print(&self, console: &Console) {
        let (job, instant) = (&self.job, &self.as_of);
        console.progress(say!(
            "[DRY-RUN] {job} (as of {instant})",
            "[DRY-RUN] {job} (基準日時 {instant})"
        ));
        let (records, reads, previews) = (self.records_read, self.read_calls, self.preview_calls);
        console.progress(say!(
            "  read         : {records} records ({reads} requests)",
            "  読み取り     : {records} レコード ({reads} リクエスト)"
        ));
        if self.targets.is_empty() {
            console.progress(say!("  would write  : nothing", "  書き込み予定 : なし"));
        }
        for (app, target) in &self.targets {
            let Written {
                inserted,
                updated,
                deleted,
            } = target.counts;
            let (name, requests) = (self.app_name(*app), target.requests);
            console.progress(say!(
                "  would write  : {name} INSERT {inserted} / UPDATE {updated} / DELETE {deleted} ({requests} requests)",
                "  書き込み予定 : {name} INSERT {inserted} / UPDATE {updated} / DELETE {deleted} ({requests} リクエスト)"
            ));
        }
        let total = reads + previews;
        console.progress(say!(
            "  requests sent: {total} (read {reads} + preview {previews})",
            "  送信済み     : {total} リクエスト (読み取り {reads} + プレビュー {previews})"
        ));
        if !self.samples.is_empty() {
            let shown = self.samples.len();
            console.progress(say!(
                "  sample changes (first {shown}):",
                "  変更の例 (先頭 {shown} 件):"
            ));
        }
        for change in &self.samples {
            console.progress(format_args!("    {}", change.line()));
        }
        if let Some((gate, message)) = &self.gate {
            let (status, gate) = (self.status, gate.word());
            console.progress(message.put(|language, message| match language {
                Language::English => format!("  {status} here by {gate}: {message}"),
                Language::Japanese => format!("  ここで {gate} により {status}: {message}"),
            }));
        }
        if let Some(error) = &self.error {
            let line = error.put(|_, error| format!("{job}: {error}"));
            let how_far = say!(
                "(what stands above is complete up to here)",
                "(上の内容はここまでのものです)"
            );
            console.error(if self.incomplete {
                line.joined(" ", &how_far)
            } else {
                line
            });
        }
    }
}

/// `{insert, update, delete}`.
pub fn counts(written: &Written) -> Value {
    json!({"insert": written.inserted, "update": written.updated, "delete": written.deleted})
}

impl Change {
    fn of(preview: &Preview, sample: &Sample, masker: &Masker) -> Self {
        let cells = |cells: &[(String, String)]| {
            cells
                .iter()
                .map(|(field, value)| (field.clone(), masker.sample(field, value)))
                .collect()
        };
        let key = sample.key_field.as_ref().zip(sample.key.as_ref());
        Self {
            app: preview.app.0,
            operation: preview.operation,
            kind: sample.kind,
            key: key.map(|(field, value)| (field.clone(), masker.sample(field, value))),
            before: cells(&sample.before),
            after: cells(&sample.after),
        }
    }

    fn to_json(&self, app: &str) -> Value {
        let object = |cells: &[(String, String)]| {
            let members: Map<String, Value> = cells
                .iter()
                .map(|(field, value)| (field.clone(), json!(value)))
                .collect();
            Value::Object(members)
        };
        let mut sample =
            json!({"app": app, "appId": self.app, "operation": self.operation, "kind": self.kind});
        if let Some((field, value)) = &self.key {
            sample["keyField"] = json!(field);
            sample["key"] = json!(value);
        }
        if self.kind != "insert" {
            sample["before"] = object(&self.before);
        }
        if self.kind != "delete" {
            sample["after"] = object(&self.after);
        }
        sample
    }

    /// `顧客コード=C001  売上: 1 -> 2`
    fn line(&self) -> String {
        let mut parts: Vec<String> = self
            .key
            .iter()
            .map(|(field, value)| format!("{field}={value}"))
            .collect();
        match self.kind {
            "insert" => parts.push("(new)".to_owned()),
            "delete" => parts.push("(deleted)".to_owned()),
            _ => {}
        }
        for (field, after) in &self.after {
            let before = self
                .before
                .iter()
                .find(|(code, _)| code == field)
                .map(|(_, value)| value);
            parts.push(match before {
                Some(before) => format!("{field}: {before} -> {after}"),
                None => format!("{field}: {after}"),
            });
        }
        parts.join("  ")
    }
}
