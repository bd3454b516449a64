//! `run-all`: the job files of a folder as one batch (RNR-56, RNR-110..114).

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Instant;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::as_of::RunInstant;
use super::command::{Flags, Invocation};
use super::connection::Connection;
use super::dry_run;
use super::execution::{self, Identity, JobEnd};
use super::graph::{self, Node, Progress, Selection, SkipReason};
use super::host;
use super::imports::Imports;
use super::job_file::{self, JobFile};
use super::job_lock::{self, HeldLock};
use super::job_record::{Closing, Opening, RecordType};
use super::journal::Event;
use super::log_app::LogApp;
use super::notify::{Ending, JobLine};
use super::result::Effects;
use super::resume::{self, Origin};
use super::state::{JobState, State};
use super::verdict::{Exit, Failure, JobStatus, ResultCode, batch_exit, batch_status};
use super::workplace::{RunOptions, Workplace};
use crate::flow::calendar::instant_millis;
use crate::flow::sql::message::{Language, Message, say};

/// Runs the command.
///
/// # Errors
/// What keeps the batch from starting.
pub fn run_all(connection: &Connection, invocation: &Invocation) -> Result<Exit, Failure> {
    let flags = &invocation.flags;
    let profile = &connection.profile;
    let folder_text = invocation
        .positionals
        .first()
        .map(String::as_str)
        .unwrap_or_default();
    let folder = Path::new(folder_text);
    let jobs = job_file::read_folder(folder, profile, flags.has("--strict"))?;
    let nodes: Vec<Node> = jobs.iter().map(JobFile::node).collect();
    let keys = jobs
        .iter()
        .map(|job| job.lock_key(profile))
        .collect::<Result<Vec<_>, _>>()?;
    let batch_key = job_lock::batch_key(&profile.name)?;
    if flags.has("--dry-run") {
        return dry_run::run_all(connection, flags, &jobs, &nodes);
    }
    let options = RunOptions::read(flags, profile)?;
    let batch_id = host::uuid()?;
    let mut place = Workplace::begin(connection, flags, &options, &batch_id, None, folder)?;
    place.resend();
    let chosen = select(connection, flags, place.log.as_ref(), &nodes, &place.as_of)?;
    place.as_of = chosen.as_of;
    let selected = chosen.selection.apply(&nodes)?;
    if let (Some(origin), false) = (&chosen.origin, selected.contains(&true)) {
        resume::close_finished(&place, origin, &batch_key)?;
        connection.console.progress(say!(
            "nothing to resume: every job of that batch succeeded",
            "再開するジョブはありません。そのバッチのジョブはすべて成功しています"
        ));
        return Ok(Exit::Done);
    }
    let exit = Batch {
        place: &place,
        jobs: &jobs,
        keys: &keys,
        nodes: &nodes,
        selected: &selected,
        folder: folder_text,
        id: &batch_id,
        lock_key: &batch_key,
        stop_on_error: flags.has("--stop-on-error"),
        continue_on_error: flags.has("--continue-on-error"),
        began: host::now(),
    }
    .run()?;
    connection.warn_of_budget(&place.client);
    Ok(exit)
}

/// What is run.
pub struct Chosen {
    /// The jobs.
    pub selection: Selection,
    /// As of when.
    pub as_of: RunInstant,
    /// The batch that is resumed.
    pub origin: Option<Origin>,
}

/// What is run, and as of when: a resume takes the instant of its batch unless another was given.
///
/// # Errors
/// There is nothing to resume from.
pub fn select(
    connection: &Connection,
    flags: &Flags,
    log: Option<&LogApp>,
    nodes: &[Node],
    given: &RunInstant,
) -> Result<Chosen, Failure> {
    let profile = &connection.profile;
    let origin = if let Some(batch_id) = flags.value("--resume-batch") {
        resume::by_id(log, &profile.name, batch_id, nodes)?
    } else if flags.has("--resume") {
        resume::newest(connection, log, nodes)?
    } else {
        let selection = match (flags.value("--from"), flags.value("--only")) {
            (Some(job), _) => Selection::From(job.to_owned()),
            (_, Some(job)) => Selection::Only(job.to_owned()),
            (None, None) => Selection::All,
        };
        return Ok(Chosen {
            selection,
            as_of: given.clone(),
            origin: None,
        });
    };
    let as_of = if flags.has("--as-of") || origin.as_of.is_empty() {
        given.clone()
    } else {
        resume::exact_as_of(&origin, &profile.name, &profile.zone)?
    };
    let (batch, instant) = (&origin.batch_id, &as_of.text);
    connection.console.progress(say!(
        "resuming the batch {batch} as of {instant}",
        "バッチ {batch} を再開します (基準日時 {instant})"
    ));
    Ok(Chosen {
        selection: Selection::Resume(graph::to_resume(nodes, &origin.jobs)),
        as_of,
        origin: Some(origin),
    })
}

/// How one job of the batch ended.
struct Entry<'a> {
    node: &'a Node,
    status: JobStatus,
    /// Exit it counts with; `None` = neutral.
    exit: Option<Exit>,
    error: Option<String>,
}

/// A batch that may start.
struct Batch<'a> {
    place: &'a Workplace<'a>,
    jobs: &'a [JobFile],
    keys: &'a [String],
    nodes: &'a [Node],
    selected: &'a [bool],
    folder: &'a str,
    id: &'a str,
    lock_key: &'a str,
    stop_on_error: bool,
    continue_on_error: bool,
    began: Timestamp,
}

impl Batch<'_> {
    fn run(&self) -> Result<Exit, Failure> {
        let lock = self.take_lock()?;
        let names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
        self.place.journal.write(
            Event::BatchStart,
            json!({"batchId": self.id, "dir": self.folder, "asOf": self.place.as_of.text, "jobs": names}),
        );
        let profile = &self.place.connection.profile;
        let mut state = State::new(
            &profile.name,
            self.id,
            &self.place.as_of.text,
            profile.timezone.as_deref().unwrap_or_default(),
            &instant_millis(self.began),
        );
        let mut totals = Effects::default();
        let entries = self.run_jobs(&mut state, &mut totals);
        let late = entries.iter().any(|entry| {
            entry.status == JobStatus::Skipped
                && entry.error.as_deref() == Some(SkipReason::BatchTimeout.to_string().as_str())
        });
        let took_part: Vec<JobStatus> = entries
            .iter()
            .zip(self.selected)
            .filter(|(_, selected)| **selected)
            .map(|(entry, _)| entry.status)
            .collect();
        let mut status = batch_status(&took_part, late);
        let exits: Vec<Exit> = entries.iter().filter_map(|entry| entry.exit).collect();
        let mut exit = batch_exit(&exits, self.continue_on_error);
        // Jobs left out by a signal or the request limit are no success, even if every job before them was one.
        if let Some(reason) = self.cut_short()
            && took_part.contains(&JobStatus::Skipped)
        {
            self.place
                .connection
                .console
                .error(reason.put(|language, reason| match language {
                    Language::English => format!("the batch was cut short: {reason}"),
                    Language::Japanese => format!("バッチは途中で打ち切られました: {reason}"),
                }));
            (status, exit) = (JobStatus::Failed, Exit::Runtime);
        }
        state.finished_at = Some(instant_millis(host::now()));
        state.store();
        self.close(lock.as_ref(), status, exit, &entries, &totals);
        Ok(exit)
    }

    fn opening<'b>(
        &'b self,
        record_type: RecordType,
        ids: (&'b str, &'b str),
        script_name: &'b str,
    ) -> Opening<'b> {
        Opening {
            record_type,
            batch_id: ids.0,
            parent_batch_id: ids.1,
            script_name,
            profile: &self.place.connection.profile.name,
            as_of: &self.place.as_of,
            started: host::now(),
            host: &self.place.host,
            git_ref: &self.place.git_ref,
        }
    }

    fn take_lock(&self) -> Result<Option<HeldLock>, Failure> {
        let opening = self.opening(RecordType::Batch, (self.id, ""), self.folder);
        execution::take_lock(self.place, &opening.running(self.lock_key, None, ""), self.began)
    }

    fn run_jobs(&self, state: &mut State, totals: &mut Effects) -> Vec<Entry<'_>> {
        let mut entries = Vec::with_capacity(self.jobs.len());
        let mut statuses: BTreeMap<String, JobStatus> = BTreeMap::new();
        let mut stopped = false;
        for (index, (node, selected)) in self.nodes.iter().zip(self.selected).enumerate() {
            let progress = Progress {
                statuses: &statuses,
                stopped: stopped || self.cut_short().is_some(),
                late: Instant::now() >= self.place.batch_deadline,
            };
            let obstacle = if *selected {
                progress.obstacle(node)
            } else {
                Some(SkipReason::Filtered)
            };
            let entry = match obstacle {
                Some(reason) => self.skip(node, &reason, state),
                None => self.execute(index, node, state, totals),
            };
            if *selected {
                statuses.insert(node.name.clone(), entry.status);
            }
            stopped |= self.stop_on_error && entry.status.is_alarm();
            entries.push(entry);
        }
        entries
    }

    /// What keeps further jobs from starting, whatever the jobs before did (RNR-114).
    fn cut_short(&self) -> Option<Message> {
        let client = &self.place.client;
        if self.place.cancellation.requested() {
            return Some(say!("cancelled by a signal", "シグナルにより中止"));
        }
        let used_up = client
            .config()
            .max_requests
            .is_some_and(|limit| client.requests().total >= limit);
        used_up.then(|| {
            say!(
                "the limit of requests is used up",
                "リクエスト数の上限に達しました"
            )
        })
    }

    fn skip<'n>(&self, node: &'n Node, reason: &SkipReason, state: &mut State) -> Entry<'n> {
        let reason_text = reason.to_string();
        let (place, console) = (self.place, &self.place.connection.console);
        console.progress(format_args!("{}: SKIPPED ({reason_text})", node.name));
        place.journal.write(
            Event::JobSkipped,
            json!({"job": node.name, "reason": reason_text}),
        );
        if let Some(log) = &place.log {
            match host::uuid() {
                Ok(id) => {
                    let opening = self.opening(RecordType::Job, (&id, self.id), &node.file_name);
                    place.insert_or_queue(log, &opening.skipped(reason));
                }
                Err(failure) => console.warn(&failure),
            }
        }
        state.jobs.insert(
            node.name.clone(),
            JobState {
                file_name: node.file_name.clone(),
                status: JobStatus::Skipped.word().to_owned(),
                skip_reason: Some(reason_text.clone()),
                ..JobState::default()
            },
        );
        state.store();
        Entry {
            node,
            status: JobStatus::Skipped,
            exit: None,
            error: Some(reason_text),
        }
    }

    fn execute<'n>(
        &self,
        index: usize,
        node: &'n Node,
        state: &mut State,
        totals: &mut Effects,
    ) -> Entry<'n> {
        let (place, connection) = (self.place, self.place.connection);
        let began = instant_millis(host::now());
        let mut job_state = JobState {
            file_name: node.file_name.clone(),
            status: JobStatus::Running.word().to_owned(),
            started_at: Some(began),
            ..JobState::default()
        };
        state.jobs.insert(node.name.clone(), job_state.clone());
        state.store();
        let end = match host::uuid() {
            Ok(id) => {
                let identity = Identity {
                    batch_id: &id,
                    parent_batch_id: self.id,
                    job_key: &self.keys[index],
                    orchestration: None,
                    imports: &Imports::default(),
                    exports: None,
                    calls_before: place.client.requests().total,
                };
                execution::execute(place, &self.jobs[index], &identity)
            }
            Err(failure) => JobEnd::not_started(failure),
        };
        totals.read += end.effects.read;
        totals.written += end.effects.written;
        totals.deleted += end.effects.deleted;
        let locked = end.code() == ResultCode::LockConflict;
        let error = end
            .outcome
            .as_ref()
            .err()
            .map(|failure| connection.masker.failure(failure));
        if let Some(error) = &error {
            connection
                .console
                .error(error.put(|_, text| format!("{}: {text}", node.name)));
        }
        let error = error.map(|error| error.to_string());
        job_state.status = end.status().word().into();
        job_state.finished_at = Some(instant_millis(end.finished));
        if locked {
            job_state.skip_reason = Some(SkipReason::Locked.to_string());
            place.journal.write(
                Event::JobSkipped,
                json!({"job": node.name, "reason": SkipReason::Locked.to_string()}),
            );
        } else {
            job_state.error.clone_from(&error);
        }
        state.jobs.insert(node.name.clone(), job_state);
        state.store();
        Entry {
            node,
            status: end.status(),
            exit: Some(end.code().exit()),
            error,
        }
    }

    fn close(
        &self,
        lock: Option<&HeldLock>,
        status: JobStatus,
        exit: Exit,
        entries: &[Entry<'_>],
        totals: &Effects,
    ) {
        let (place, connection) = (self.place, self.place.connection);
        place.cancellation.be_patient();
        let line = |entry: &Entry<'_>| match &entry.error {
            Some(error) => format!("{} {}: {error}", entry.node.name, entry.status),
            None => format!("{} {}", entry.node.name, entry.status),
        };
        let detail: Vec<String> = entries.iter().map(line).collect();
        let failed = |entry: &&Entry<'_>| entry.error.is_some() && entry.status != JobStatus::Skipped;
        let errors: Vec<String> = entries.iter().filter(failed).map(line).collect();
        let by_name: Map<String, Value> = entries
            .iter()
            .map(|entry| (entry.node.name.clone(), json!(entry.status.word())))
            .collect();
        if let (Some(log), Some(lock)) = (&place.log, lock) {
            let closing = Closing {
                status,
                job_key: self.lock_key,
                started: self.began,
                finished: host::now(),
                effects: totals,
                // The request that carries this number is one more (RNR-33).
                api_calls: place.client.requests().total + 1,
                error: &errors.join("\n"),
                detail: &detail.join("\n"),
            };
            place.update_or_queue(log, lock.record_id, &closing.record());
        }
        place.journal.write(
            Event::BatchFinish,
            json!({"batchId": self.id, "status": status.word(), "exitCode": exit.code(), "jobs": by_name}),
        );
        let (id, code, requests) = (self.id, exit.code(), place.client.requests().total);
        connection.console.progress(say!(
            "batch {id}: {status} (exit {code}, requests {requests})",
            "バッチ {id}: {status} (終了コード {code}、リクエスト {requests})"
        ));
        let jobs = entries
            .iter()
            .map(|entry| JobLine {
                name: &entry.node.name,
                script: &entry.node.file_name,
                status: entry.status,
                error: entry.error.as_deref(),
            })
            .collect();
        let ending = Ending {
            kind: "batch",
            batch_id: self.id,
            status,
            exit,
            as_of: &place.as_of.text,
            jobs,
        };
        ending.announce(&connection.profile, &connection.masker, &connection.console);
    }
}
