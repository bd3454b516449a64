//! One attempt of one node: start commit, child, evidence, verdict, result commit (ATT-01, RUN-20).
//!
//! Between the start commit and the child nothing is written, and between the child and the result commit nothing is
//! decided without evidence: a process that dies anywhere in here leaves a state that the next start can settle.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use super::context::Context;
use super::failure::Failure;
use super::inputs::{self, Files};
use super::job_log;
use super::ledger::{Entry, Ledger};
use crate::flownet::child::launch::{self, LaunchFailed};
use crate::flownet::child::{Exit, Export, Import, RunRequest, Running, workdir};
use crate::flownet::clock::uuid;
use crate::flownet::definition::{Network, Node};
use crate::flownet::io::PathRefused;
use crate::flownet::key;
use crate::flownet::lease::Lease;
use crate::flownet::record::status::{AttemptStatus, NodeStatus};
use crate::flownet::record::{Attempt, NodeState, Run, attempt};
use crate::flownet::rule::classify::{
    self, AttemptEnd as End, Evidence, JobLog, NOTHING_EXECUTED, NodeEnd, PREPARE_FAILED, Reading, Verdict,
};
use crate::flownet::rule::io_summary;
use crate::flownet::rule::result::{Expected, ResultFile};
use crate::flownet::time::Timestamp;

/// What the scheduler has to know of an ended attempt.
pub struct AttemptEnd {
    /// Code of a refused path (IO-08).
    pub io_code: Option<&'static str>,
    /// A signal asked to stop while the job ran.
    pub stopped: bool,
    /// What the runner said of a failure. It was told at once; the record of a node with CSV files cannot hold it.
    pub said: Option<String>,
}

/// What is to be tried.
pub struct Task<'a> {
    /// The node.
    pub node: &'a Node,
    /// Its job file in the run directory.
    pub sql: PathBuf,
    /// This start.
    pub invocation_id: &'a str,
    /// The JOB log that we read is the app that the runner writes to.
    pub log_is_runners: bool,
}

/// Tries a WAITING node once. `follow` adds what the new state of the node entails (blocked dependents, aggregate)
/// before each commit.
pub fn run(
    ctx: &Context,
    lease: &Lease,
    ledger: &mut Ledger,
    task: &Task<'_>,
    follow: impl Fn(&mut Ledger, Timestamp),
) -> Result<AttemptEnd, Failure> {
    let trial = Trial::new(ctx, lease, ledger, task)?;
    let request = trial.request(ledger)?;
    let files = inputs::resolve(ctx, task.node, ledger);
    trial.commit_start(ledger, files.as_ref().ok(), &follow)?;
    match files {
        Err(refused) => trial.commit_refusal(ledger, &refused, &follow),
        Ok(files) => trial.execute(ledger, request, &files, &follow),
    }
}

/// Everything that starting any node needs, checked before a start writes its first record: a node that cannot be
/// started must not be found out halfway.
pub fn refuse_unstartable(ctx: &Context, run: &Run, network: &Network) -> Result<(), Failure> {
    workdir::prepare_metadata(&ctx.runner.workdir)?;
    // Any id will do: an attempt gets one of its own.
    let attempt_id = format!("attempt_{}", uuid()?);
    for node in &network.nodes {
        let sql = ctx.runner.workdir.join(&node.id);
        launch::argv(&ctx.runner, &run_request(ctx, run, node, sql, &attempt_id)).map_err(|e| {
            Failure::new(
                "RUN_NETWORK_FAILED",
                format!("node '{}' cannot be started: {e}", node.id),
            )
            .fact("run_id", &run.run_id)
        })?;
    }
    Ok(())
}

fn run_request(ctx: &Context, run: &Run, node: &Node, sql: PathBuf, attempt_id: &str) -> RunRequest {
    RunRequest {
        sql,
        as_of: run.job_as_of().to_owned(),
        correlation_id: run.run_id.clone(),
        attempt_id: attempt_id.to_owned(),
        expected_job_id: node.job_id.clone(),
        result_json: workdir::result_path(&ctx.runner.workdir, attempt_id),
        imports: Vec::new(),
        exports: Vec::new(),
        time_limit: run
            .batch_timeout_sec()
            .and_then(|s| Duration::try_from_secs_f64(s).ok()),
    }
}

struct Trial<'a> {
    ctx: &'a Context,
    lease: &'a Lease,
    task: &'a Task<'a>,
    attempt_id: String,
    attempt_no: u64,
    state_revision: u64,
    started: Timestamp,
}

impl<'a> Trial<'a> {
    fn new(ctx: &'a Context, lease: &'a Lease, ledger: &Ledger, task: &'a Task<'a>) -> Result<Self, Failure> {
        let state = ledger.node(&task.node.id).ok_or_else(|| {
            Failure::new(
                "RUN_SNAPSHOT_MISMATCH",
                format!("node '{}' has no Node State", task.node.id),
            )
        })?;
        Ok(Self {
            ctx,
            lease,
            task,
            attempt_id: format!("attempt_{}", uuid()?),
            attempt_no: state.latest_attempt_no + 1,
            state_revision: state.revision,
            started: ctx.clock.now(),
        })
    }

    /// The child's arguments, checked before anything is recorded (RUN-16).
    fn request(&self, ledger: &Ledger) -> Result<RunRequest, Failure> {
        workdir::prepare_metadata(&self.ctx.runner.workdir)?;
        let (run, sql) = (ledger.run.get(), self.task.sql.clone());
        let request = run_request(self.ctx, run, self.task.node, sql, &self.attempt_id);
        launch::argv(&self.ctx.runner, &request)
            .map_err(|e| Failure::new("RUN_NETWORK_FAILED", e.to_string()))?;
        Ok(request)
    }

    /// Attempt and node RUNNING in one commit; the start mark is set unless a path was refused.
    fn commit_start(
        &self,
        ledger: &mut Ledger,
        files: Option<&Files>,
        follow: &impl Fn(&mut Ledger, Timestamp),
    ) -> Result<(), Failure> {
        let run_id = ledger.run.get().run_id.clone();
        let node = self.task.node;
        let baseline = files.map(Files::baseline).unwrap_or_default();
        let baseline = if baseline.is_empty() {
            String::new()
        } else {
            io_summary::baseline_text(&baseline)
                .map_err(|e| Failure::new("RUN_NETWORK_FAILED", e.to_string()))?
        };
        let started = self.started.iso_ms();
        ledger.attempts.push(Entry::fresh(Attempt {
            record_id: 0,
            revision: 0,
            record_key: key::attempt_record_key(&self.attempt_id)?,
            attempt_key: key::attempt_key(&run_id, &node.id, self.attempt_no)?,
            run_id,
            node_id: node.id.clone(),
            job_id: node.job_id.clone(),
            invocation_id: self.task.invocation_id.to_owned(),
            attempt_id: self.attempt_id.clone(),
            attempt_no: self.attempt_no,
            status: AttemptStatus::Running,
            result_code: attempt::PENDING.to_owned(),
            execution_started_at: if files.is_some() {
                started.clone()
            } else {
                String::new()
            },
            runner_execution_started_at: String::new(),
            execution_id: String::new(),
            finished_at: String::new(),
            duration_sec: None,
            error_message: baseline,
            read_count: 0,
            written_count: 0,
            last_successful_chunk_no: None,
            last_written_key: String::new(),
            state_revision_before: Some(self.state_revision),
        }));
        if let Some(state) = ledger.edit_node(&node.id) {
            state.status = NodeStatus::Running;
            state.latest_attempt_no = self.attempt_no;
            state.active_attempt_id.clone_from(&self.attempt_id);
            state.blocked_by = Vec::new();
            state.status_reason = String::new();
            state.started_at.clone_from(&started);
            state.finished_at = String::new();
            state.updated_at = started;
        }
        follow(ledger, self.started);
        Ok(ledger.commit(self.lease)?)
    }

    /// A refused path fails the node without a child (ATT-06, IO-08).
    fn commit_refusal(
        &self,
        ledger: &mut Ledger,
        refused: &PathRefused,
        follow: &impl Fn(&mut Ledger, Timestamp),
    ) -> Result<AttemptEnd, Failure> {
        (self.ctx.warn)(format!("node '{}': {refused}", self.task.node.id));
        let now = self.ctx.clock.now();
        let code = refused.code.as_str();
        let verdict = classify::refused(code, &refused.message, Some(&self.started.iso_ms()), now);
        self.apply(ledger, &verdict);
        follow(ledger, now);
        ledger.commit(self.lease)?;
        Ok(AttemptEnd {
            io_code: Some(code),
            stopped: false,
            said: Some(refused.message.clone()),
        })
    }

    fn execute(
        &self,
        ledger: &mut Ledger,
        mut request: RunRequest,
        files: &Files,
        follow: &impl Fn(&mut Ledger, Timestamp),
    ) -> Result<AttemptEnd, Failure> {
        request.imports = files
            .inputs
            .iter()
            .map(|f| Import {
                name: f.name.clone(),
                path: f.path.clone(),
                sha256: f.sha256.clone(),
            })
            .collect();
        request.exports = files
            .outputs
            .iter()
            .map(|f| Export {
                name: f.name.clone(),
                path: f.path.clone(),
            })
            .collect();
        // A machine that slept between the start commit and here may have lost the lock to somebody else.
        self.lease.confirm(self.lease.heartbeat())?;
        let launched = self.spawn(&request).map(|running| {
            if let Some(start_time) = running.start_time {
                self.lease.note_job(running.pid, start_time);
            }
            running.wait(&self.ctx.stop)
        });
        let result = ResultFile::read(workdir::read_result(&request.result_json).as_deref());
        let now = self.ctx.clock.now();
        let (verdict, said) = self.judge(ledger, &launched, &result, files, now);
        self.apply(ledger, &verdict);
        follow(ledger, now);
        ledger.commit(self.lease)?;
        if let Err(e) = workdir::remove_result(&request.result_json) {
            (self.ctx.warn)(e.to_string());
        }
        Ok(AttemptEnd {
            io_code: None,
            stopped: self.ctx.stop.is_requested(),
            said,
        })
    }

    /// Starts the job, unless a signal came after the start commit: then it was never started, and the node waits again.
    fn spawn(&self, request: &RunRequest) -> Result<Running, LaunchFailed> {
        if self.ctx.stop.is_requested() {
            return Err(LaunchFailed::NotStarted("a signal asked to stop".to_owned()));
        }
        launch::spawn(&self.ctx.runner, request)
    }

    /// Weighs exit, result file and JOB log (RUN-27, D-10).
    fn judge(
        &self,
        ledger: &Ledger,
        launched: &Result<Exit, LaunchFailed>,
        result: &ResultFile,
        files: &Files,
        now: Timestamp,
    ) -> (Verdict, Option<String>) {
        let exit = launched.as_ref().ok();
        let evidence = Evidence {
            result,
            exit_code: exit.and_then(|e| e.code),
            forced: exit.is_some_and(|e| e.forced),
            launch_failed: launched.is_err(),
            leftovers: exit.is_some_and(|e| e.leftovers),
            expected: Expected {
                correlation_id: &ledger.run.get().run_id,
                attempt_id: &self.attempt_id,
                job_id: &self.task.node.job_id,
            },
            baseline: &files.baseline(),
            outputs: &files.outputs.iter().map(|f| f.name.clone()).collect::<Vec<_>>(),
            execution_started_at: &self.started.iso_ms(),
            now,
        };
        let reading = classify::read(&evidence);
        let mut verdict = classify::decide(&evidence, &reading, &self.read_job_log(&reading));
        self.tell(launched, &reading, &verdict);
        let failed = verdict.attempt.status != AttemptStatus::Success;
        let mut said = reading.error_message().filter(|_| failed).map(str::to_owned);
        if verdict.attempt.result_code == PREPARE_FAILED
            && reading.execution_id().is_none()
            && !self.ctx.stop.is_requested()
        {
            let why = not_executed(launched);
            if launched.is_ok() {
                (self.ctx.warn)(format!("node '{}': {why}", self.task.node.id));
            }
            // The audit of files, which a later start compares with, has no place for words.
            let stored = verdict.attempt.error_message.get_or_insert_default();
            if !stored.starts_with('{') {
                let _ = write!(stored, "; {why}");
            }
            said = Some(why);
        }
        (verdict, said)
    }

    /// The runner's own record. Without a valid result the verdict hangs on it, so kintone gets a whole lease to answer.
    fn read_job_log(&self, reading: &Reading) -> JobLog {
        let execution_id = reading.execution_id();
        let patience = if execution_id.is_some() {
            Duration::ZERO
        } else {
            self.lease.duration()
        };
        match job_log::look_up_patiently(self.ctx, &self.attempt_id, execution_id, patience) {
            // Absence proves something only in the app that the runner writes to.
            JobLog::Absent if !self.task.log_is_runners => JobLog::LookupFailed,
            found => found,
        }
    }

    /// Says on stderr what the record cannot hold (items 6, 8; BTR-43).
    fn tell(&self, launched: &Result<Exit, LaunchFailed>, reading: &Reading, verdict: &Verdict) {
        let node = &self.task.node.id;
        let warn = |text: String| (self.ctx.warn)(text);
        match launched {
            Err(e) => warn(format!("node '{node}': the job could not be started: {e}")),
            Ok(exit) => {
                if exit.timed_out {
                    warn(format!(
                        "node '{node}': stopped because it reached the time limit of the profile"
                    ));
                }
                if verdict.attempt.status != AttemptStatus::Success {
                    if let Some(text) = reading.error_message() {
                        warn(format!("node '{node}': {text}"));
                    }
                    let doubts = reading.doubts();
                    if !doubts.is_empty() && verdict.attempt.error_message.as_ref() != Some(&doubts) {
                        warn(format!("node '{node}': {doubts}"));
                    }
                    let kept =
                        workdir::keep_stderr(&self.ctx.runner.workdir, &self.attempt_id, &exit.stderr_tail);
                    match kept {
                        Ok(Some(path)) => warn(format!(
                            "node '{node}': what the runner said is in {}",
                            path.display()
                        )),
                        Ok(None) => {}
                        Err(e) => warn(e.to_string()),
                    }
                }
            }
        }
    }

    fn apply(&self, ledger: &mut Ledger, verdict: &Verdict) {
        if let Some(attempt) = ledger.edit_attempt(&self.attempt_id) {
            end_attempt(attempt, &verdict.attempt);
        }
        if let Some(state) = ledger.edit_node(&self.task.node.id) {
            end_node(state, &verdict.node);
        }
    }
}

/// Why nothing of a job was executed.
fn not_executed(launched: &Result<Exit, LaunchFailed>) -> String {
    match launched {
        Err(e) => format!("{NOTHING_EXECUTED}: the job could not be started: {e}"),
        Ok(Exit { code: Some(code), .. }) => {
            format!("{NOTHING_EXECUTED}: the runner ended with exit status {code}")
        }
        Ok(_) => format!("{NOTHING_EXECUTED}: the runner was ended by a signal"),
    }
}

fn end_attempt(attempt: &mut Attempt, end: &End) {
    attempt.status = end.status;
    attempt.result_code.clone_from(&end.result_code);
    attempt.runner_execution_started_at = end.runner_execution_started_at.clone().unwrap_or_default();
    attempt.execution_id = end.execution_id.clone().unwrap_or_default();
    attempt.finished_at.clone_from(&end.finished_at);
    attempt.duration_sec = end.duration_sec;
    attempt.error_message = end.error_message.clone().unwrap_or_default();
    attempt.read_count = end.read_count;
    attempt.written_count = end.written_count;
    attempt.last_successful_chunk_no = end.last_successful_chunk_no;
    attempt.last_written_key = end.last_written_key.clone().unwrap_or_default();
}

fn end_node(state: &mut NodeState, end: &NodeEnd) {
    state.status = end.status;
    state.active_attempt_id = String::new();
    state.status_reason.clone_from(&end.status_reason);
    state.started_at = end.started_at.clone().unwrap_or_default();
    state.finished_at = end.finished_at.clone().unwrap_or_default();
    state.updated_at.clone_from(&end.updated_at);
}
