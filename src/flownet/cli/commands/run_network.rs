//! run-network: words and settings in, one Run out, one line printed (OUT-01, OUT-02).

use std::sync::{Arc, Mutex, PoisonError};

use super::super::codes::{self, ExitClass};
use super::super::output::{self, ErrorObject, Output, Requests, shortened};
use super::super::report::{Failure, HandedRun, RunLine};
use super::super::settings::{Environment, IoSettings, RunSettings, RunnerFlags};
use super::super::walk::Words;
use super::preflight::{self, Checked};
use super::{network_file, settings_failure, surroundings, traffic};
use crate::flownet::child::StopSignal;
use crate::flownet::clock::SystemClock;
use crate::flownet::io::root::check_root;
use crate::flownet::record::status::{Mode, NodeStatus, RunStatus};
use crate::flownet::run::{self, Context, Finish, Io, Request, Trouble, WhichRun};
use crate::kintone::Client;

pub(super) const FALLBACK: &str = "RUN_NETWORK_FAILED";

/// The arguments of run-network.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// Path of the network file, as given.
    pub network: String,
    /// `--scheduled-for`; an empty text counts as given (KEY-03).
    pub scheduled_for: Option<String>,
    /// `--business-key`; an empty text counts as given.
    pub business_key: Option<String>,
    /// `--resume`.
    pub resume: bool,
    /// `--resume-run`.
    pub resume_run: Option<String>,
    /// `--rerun-from`.
    pub rerun_from: Option<String>,
}

impl Arguments {
    fn of(words: &Words) -> Arguments {
        let value = |flag: &str| words.value(flag).map(str::to_owned);
        Arguments {
            network: words.operand().to_owned(),
            scheduled_for: value("--scheduled-for"),
            business_key: value("--business-key"),
            resume: words.has("--resume"),
            resume_run: value("--resume-run"),
            rerun_from: value("--rerun-from"),
        }
    }
}

/// Runs the command.
pub fn run(words: &Words, env: &Environment<'_>, output: &mut Output<'_>) -> Result<ExitClass, Failure> {
    let arguments = Arguments::of(words);
    let flags = RunnerFlags {
        program: words.value("--ksql-flow-bin"),
        config: words.value("--ksql-flow-config"),
        workdir: words.value("--ksql-flow-workdir"),
    };
    let settings = RunSettings::read(env, flags, &surroundings()).map_err(settings_failure(FALLBACK))?;
    let workdir = &settings.runner.workdir;
    std::fs::create_dir_all(workdir).map_err(|error| {
        Failure::system(
            FALLBACK,
            &format!("cannot make the work directory {}", workdir.display()),
            &error,
        )
    })?;
    let stop = StopSignal::install()
        .map_err(|error| Failure::system(FALLBACK, "cannot listen for signals", &error))?;
    preflight::check(&arguments, &settings, env, &stop)
        .and_then(|checked| execute(&arguments, &settings, checked, stop.clone(), output))
        .map_err(|failure| {
            // A command of the runner that a stop ended, or kept from starting, is no fault of the runner.
            let failure = if stop.is_requested() && failure.code == "KSQL_FLOW_PROCESS_FAILED" {
                Failure::new(
                    "INTERRUPTED",
                    "a signal asked to stop before any node was started",
                )
            } else {
                failure
            };
            failure
                .fact("network", arguments.network)
                .fact("profile", settings.profile)
        })
}

/// The work itself.
fn execute(
    arguments: &Arguments,
    settings: &RunSettings,
    checked: Checked,
    stop: StopSignal,
    output: &mut Output<'_>,
) -> Result<ExitClass, Failure> {
    network_file::warn(&checked.warnings, output);
    let client =
        Client::new(settings.control.client_config()).map_err(|e| Failure::new(FALLBACK, e.to_string()))?;
    let told = Warnings::default();
    let warn = told.clone().collect(output.choices().mute);
    let stopped = stop.clone();
    let context = context(settings, checked.io.as_ref(), stop, client.clone(), warn)?;
    let which = match (checked.business_key, &arguments.resume_run) {
        (Some(business_key), _) => WhichRun::Key {
            business_key,
            as_of: arguments.scheduled_for.clone().unwrap_or_default(),
        },
        (None, id) => WhichRun::Id(id.clone().unwrap_or_default()),
    };
    let request = Request {
        folder: checked.folder,
        network_yaml: checked.bytes,
        network: checked.network,
        capabilities: checked.capabilities,
        which,
        resume: arguments.resume,
        rerun_from: arguments.rerun_from.clone(),
    };
    let known = [
        ("network", arguments.network.clone()),
        ("network_id", request.network.network_id.clone()),
        ("profile", settings.profile.clone()),
        ("ksql_flow_config", settings.runner.config.display().to_string()),
    ];
    let ended = run::start(&context, &request);
    let requests = traffic(&client, output);
    match ended {
        Ok(finish) => Ok(show(
            &finish,
            stopped.is_requested(),
            requests,
            &known,
            told.take(),
            output,
        )),
        Err(failure) => {
            let mut failure = translate(failure);
            failure.details.extend(told.take());
            Err(known
                .into_iter()
                .fold(failure, |f, (name, value)| f.fact(name, value)))
        }
    }
}

/// Warnings of a run whose standard error stays empty (CLI-04); they are part of its one JSON line.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

/// Warnings that are kept for the JSON line.
const KEPT_WARNINGS: usize = 100;

impl Warnings {
    /// Where the rooms below send their warnings: here, or at once to standard error.
    fn collect(self, keep: bool) -> Arc<dyn Fn(String) + Send + Sync> {
        Arc::new(move |text: String| {
            if keep {
                let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
                if kept.len() < KEPT_WARNINGS {
                    kept.push(shortened(&text));
                }
            } else {
                output::warn_now(&shortened(&text));
            }
        })
    }

    fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

fn context(
    settings: &RunSettings,
    io: Option<&IoSettings>,
    stop: StopSignal,
    client: Client,
    warn: Arc<dyn Fn(String) + Send + Sync>,
) -> Result<Context, Failure> {
    let io = match io {
        None => None,
        Some(io) => {
            let root = check_root(&io.root)
                .map_err(|_| Failure::new(FALLBACK, "KSQL_FLOWNET_IO_DIR must be an existing directory"))?;
            Some(Io {
                root,
                retention_days: io.retention_days,
            })
        }
    };
    Ok(Context {
        client,
        clock: Arc::new(SystemClock),
        state: settings.control.state_app(),
        audit: settings.control.audit_app(),
        job_log: settings.log.app("JOB log app"),
        profile: settings.profile.clone(),
        host: settings.host.clone(),
        instance: settings.owner_instance_id.clone(),
        requested_by: settings.requested_by.clone(),
        runner: settings.runner.clone(),
        io,
        auto_reclaim: settings.auto_reclaim,
        stop,
        warn,
    })
}

/// Prints how the start ended (OUT-01, OUT-02) and tells what to look at.
fn show(
    finish: &Finish,
    stopped: bool,
    requests: Requests,
    known: &[(&'static str, String)],
    warnings: Vec<String>,
    output: &mut Output<'_>,
) -> ExitClass {
    let failure = (finish.aggregate != RunStatus::Success).then(|| unfinished(finish, stopped, known));
    let line = RunLine {
        outcome: outcome(finish.mode),
        run_id: Some(finish.run_id.clone()),
        invocation_id: finish.invocation_id.clone(),
        aggregate_status: Some(finish.aggregate.as_str().to_owned()),
        invocation_result_code: finish.code.to_owned(),
        retry_brake_node_ids: finish.retry_brake_node_ids.clone(),
        blocked_run_ids: Vec::new(),
        error: failure.as_ref().map(ErrorObject::of),
        warnings,
        requests: Some(requests),
    };
    if output.choices().json {
        output.json(&line);
    } else if finish.mode.is_none() {
        output.result(&format!(
            "NO-OP: Run {} is already SUCCESS; nothing was executed.",
            finish.run_id
        ));
    } else {
        output.result(&format!(
            "{}: Run {} finished with aggregate {} ({}).",
            line.outcome, finish.run_id, finish.aggregate, finish.code
        ));
    }
    let Some(failure) = failure else {
        return ExitClass::Done;
    };
    if stopped {
        output.warn(STOPPED, None);
    }
    for node in &finish.trouble {
        output.warn(&trouble(node, !node.told), None);
    }
    output.next_steps(&output::steps(&failure, output.choices().language));
    codes::class(finish.code)
}

/// What a signal did to a Run.
const STOPPED: &str = "a signal asked to stop: no further node was started";

/// A Run that did not reach its end: which nodes, why, and what leads on.
fn unfinished(finish: &Finish, stopped: bool, known: &[(&'static str, String)]) -> Failure {
    let mut failure = Failure::new(
        finish.code,
        format!("Run {} is {}", finish.run_id, finish.aggregate),
    )
    .fact("run_id", finish.run_id.clone())
    .fact("scheduled_for", finish.as_of.clone());
    for (name, value) in known {
        failure = failure.fact(name, value.clone());
    }
    if stopped {
        failure = failure.detail(STOPPED);
    }
    for node in &finish.trouble {
        failure = failure.detail(trouble(node, true));
    }
    let failed = matches!(finish.code, "NODE_FAILED_OR_BLOCKED" | "NODE_CANCELLED");
    let locked = finish.trouble.iter().find_map(|n| Some((n, n.job_key.as_ref()?)));
    let mut open = finish.trouble.iter().filter(|node| node.again);
    let braked = open
        .next()
        .filter(|first| first.braked && open.all(|node| node.braked));
    // A failed node before the one that a person has to decide on would be the wrong one to resolve.
    let unknown = finish
        .trouble
        .iter()
        .find(|node| node.status == NodeStatus::Unknown.as_str());
    let first = unknown.or(finish.trouble.first()).map(|n| &n.node_id);
    let (entry, node) = match (locked, braked) {
        // Whatever has ended badly, the next start has something to do.
        _ if stopped && finish.halted && finish.aggregate != RunStatus::Unknown => {
            (Some("INTERRUPTED"), None)
        }
        // Only where the lock is what keeps the Run from going on.
        (Some((node, job_key)), _) if finish.code == "NODES_DEFERRED" => {
            failure = failure.fact("job_key", job_key.clone());
            (Some("JOB_LOCK_HELD"), Some(&node.node_id))
        }
        _ if finish.code == "NODES_DEFERRED" && !finish.trouble.is_empty() => {
            (Some("PREPARE_FAILED"), finish.trouble.first().map(|n| &n.node_id))
        }
        (_, Some(node)) if failed => (Some("RETRY_BRAKE"), Some(&node.node_id)),
        _ if failed && !finish.trouble.iter().any(|node| node.again) => (
            Some("NOT_TRIED_AGAIN"),
            finish.trouble.first().map(|n| &n.node_id),
        ),
        _ => (None, first),
    };
    if let Some(node_id) = node {
        failure = failure.fact("node_id", node_id.clone());
    }
    failure.explained_by(entry)
}

/// Status and reason of a node, and what was said of it.
fn trouble(node: &Trouble, with_text: bool) -> String {
    let said = match node.detail.trim() {
        "" => String::new(),
        _ if !with_text => String::new(),
        said => format!(": {}", shortened(said)),
    };
    format!(
        "node '{}' is {} ({}){said}",
        node.node_id, node.status, node.reason
    )
}

/// rerun-from is reported as RESUME (OUT-02).
fn outcome(mode: Option<Mode>) -> &'static str {
    match mode {
        None => "NOOP",
        Some(Mode::New) => "NEW",
        Some(Mode::Resume | Mode::RerunFrom) => "RESUME",
    }
}

fn translate(failure: run::Failure) -> Failure {
    let handed = failure.extra.handed.clone();
    let shown = super::translate(failure);
    let Some(handed) = handed else { return shown };
    shown.fact("run_id", handed.run_id.clone()).handed(HandedRun {
        outcome: outcome(Some(handed.mode)),
        run_id: handed.run_id,
        invocation_id: handed.invocation_id,
    })
}
