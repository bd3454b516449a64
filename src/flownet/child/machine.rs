//! The machine commands: `capabilities`, `describe-profile`, `inspect-job` (RUN-03, RUN-04).
//!
//! Each is a short process that prints one JSON value. The shapes of the first two are checked where they are used
//! (`flownet::profile`), the third in [`super::inspection`].

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::inspection::{self, Inspection};
use super::process::{Limits, Process, Stdout};
use super::{Runner, StopSignal};

/// Longest time one machine command may take (D-03).
pub const TIME_LIMIT: Duration = Duration::from_mins(2);
/// Most bytes of JSON one machine command may print.
pub const MAX_OUTPUT_BYTES: usize = 16 << 20;
/// Time between the polite and the hard signal to a machine command: it writes nothing that needs finishing.
const GRACE: Duration = Duration::from_secs(2);
/// Inspections that run at the same time.
const PARALLEL_INSPECTIONS: usize = 4;

/// The contract's code of a failed machine command.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ChildCode {
    /// It could not be started, or ended without an exit code, or did not end in time.
    ProcessFailed,
    /// Its exit code was not 0.
    ExitMismatch,
    /// Its output was not one JSON value.
    InvalidJson,
    /// Its JSON has another shape, or is too large.
    OutputInvalid,
}

impl ChildCode {
    /// The code as users see it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ProcessFailed => "KSQL_FLOW_PROCESS_FAILED",
            Self::ExitMismatch => "KSQL_FLOW_EXIT_MISMATCH",
            Self::InvalidJson => "KSQL_FLOW_INVALID_JSON",
            Self::OutputInvalid => "KSQL_FLOW_OUTPUT_INVALID",
        }
    }
}

/// Why a machine command gave no usable answer.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ChildError {
    /// Stable code.
    pub code: ChildCode,
    /// What happened, in the contract's words first.
    pub message: String,
    /// What to do about it, when that is known.
    pub hint: Option<String>,
    /// The end of the runner's standard error, with our own secrets masked; may be empty and may hold control
    /// characters.
    pub stderr_tail: String,
}

impl ChildError {
    pub(super) fn new(code: ChildCode, message: String) -> Self {
        Self {
            code,
            message,
            hint: None,
            stderr_tail: String::new(),
        }
    }
}

impl fmt::Display for ChildError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        if let Some(hint) = &self.hint {
            write!(f, "; {hint}")?;
        }
        match self.stderr_tail.trim() {
            "" => Ok(()),
            tail => write!(f, "\nstandard error of the runner:\n{tail}"),
        }
    }
}

impl std::error::Error for ChildError {}

/// A machine command; its name is part of every message.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MachineCommand<'a> {
    /// What the runner can do; reads no configuration.
    Capabilities,
    /// The resolved profile.
    DescribeProfile,
    /// The static facts of one job file.
    InspectJob(&'a Path),
}

impl MachineCommand<'_> {
    /// The command word.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Capabilities => "capabilities",
            Self::DescribeProfile => "describe-profile",
            Self::InspectJob(_) => "inspect-job",
        }
    }

    /// Everything after the program, in the contract's order (RUN-03).
    pub fn arguments(self, runner: &Runner) -> Vec<OsString> {
        let mut args: Vec<OsString> = runner.args.iter().map(OsString::from).collect();
        args.push(self.name().into());
        if let Self::InspectJob(sql) = self {
            args.extend(["-f".into(), sql.as_os_str().to_owned()]);
        }
        if self != Self::Capabilities {
            args.extend([
                "--profile".into(),
                OsString::from(&runner.profile),
                "--config".into(),
                runner.config.clone().into_os_string(),
            ]);
        }
        args.push("--json".into());
        args
    }
}

/// Standard output of `capabilities --json`: one JSON value.
pub fn capabilities(runner: &Runner, stop: &StopSignal) -> Result<Vec<u8>, ChildError> {
    run(runner, MachineCommand::Capabilities, TIME_LIMIT, stop)
}

/// Standard output of `describe-profile --json`: one JSON value.
pub fn describe_profile(runner: &Runner, stop: &StopSignal) -> Result<Vec<u8>, ChildError> {
    run(runner, MachineCommand::DescribeProfile, TIME_LIMIT, stop)
}

/// The checked answer of `inspect-job --json` for one file (absolute path).
pub fn inspect_job(runner: &Runner, sql: &Path, stop: &StopSignal) -> Result<Inspection, ChildError> {
    let output = run(runner, MachineCommand::InspectJob(sql), TIME_LIMIT, stop)?;
    inspection::parse(&output)
}

/// Inspects several files, a few at a time; the answers are in the order of `files`.
pub fn inspect_jobs(
    runner: &Runner,
    files: &[PathBuf],
    stop: &StopSignal,
) -> Vec<Result<Inspection, ChildError>> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::SeqCst);
            let Some(file) = files.get(index) else {
                return done;
            };
            done.push((index, inspect_job(runner, file, stop)));
        }
    };
    let mut done = std::thread::scope(|scope| {
        let threads: Vec<_> = (1..files.len().min(PARALLEL_INSPECTIONS))
            .map(|_| scope.spawn(work))
            .collect();
        let mut done = work();
        for thread in threads {
            done.extend(
                thread
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            );
        }
        done
    });
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, result)| result).collect()
}

/// Runs one machine command within `time`.
pub(super) fn run(
    runner: &Runner,
    command: MachineCommand<'_>,
    time: Duration,
    stop: &StopSignal,
) -> Result<Vec<u8>, ChildError> {
    let name = command.name();
    let fail = |code, message: String| ChildError::new(code, message);
    if stop.is_requested() {
        return Err(fail(
            ChildCode::ProcessFailed,
            format!("kSQL-Flow {name} was not started: stop requested"),
        ));
    }
    if let Some(hint) = configuration_hint(runner, command) {
        let mut failed = fail(
            ChildCode::ProcessFailed,
            format!(
                "kSQL-Flow {name} was not started: the configuration needs a variable of the control plane"
            ),
        );
        failed.hint = Some(hint);
        return Err(failed);
    }
    let mut process = Process::start(runner, command.arguments(runner), Stdout::Kept(MAX_OUTPUT_BYTES))
        .map_err(|error| {
            let mut failed = fail(
                ChildCode::ProcessFailed,
                format!("kSQL-Flow process could not be started for {name}"),
            );
            failed.hint = Some(start_hint(runner, &error));
            failed
        })?;
    let ended = process.supervise(
        Limits {
            time: Some(time),
            grace: GRACE,
        },
        stop,
    );
    let failure = if ended.overflow {
        Some((
            ChildCode::OutputInvalid,
            format!("kSQL-Flow {name} printed more than {MAX_OUTPUT_BYTES} bytes"),
        ))
    } else if ended.stopped {
        Some((
            ChildCode::ProcessFailed,
            format!("kSQL-Flow {name} was ended: stop requested"),
        ))
    } else if ended.timed_out {
        Some((
            ChildCode::ProcessFailed,
            format!("kSQL-Flow {name} did not end within {} s", time.as_secs()),
        ))
    } else {
        match ended.code {
            None => Some((
                ChildCode::ProcessFailed,
                format!("kSQL-Flow process ended without an exit code for {name}"),
            )),
            Some(0) => None,
            Some(code) => Some((
                ChildCode::ExitMismatch,
                format!("kSQL-Flow {name} exited with {code}; expected 0"),
            )),
        }
    };
    let failure = failure.or_else(|| {
        let json = serde_json::from_slice::<serde::de::IgnoredAny>(&ended.stdout);
        json.is_err().then(|| {
            (
                ChildCode::InvalidJson,
                format!("kSQL-Flow {name} returned invalid JSON"),
            )
        })
    });
    match failure {
        None => Ok(ended.stdout),
        Some((code, message)) => Err(ChildError {
            code,
            message,
            hint: runner.env.hint(&ended.stderr_tail),
            stderr_tail: ended.stderr_tail,
        }),
    }
}

/// A job configuration that names one of our secrets fails here, before anything ran (D-02, item 10).
fn configuration_hint(runner: &Runner, command: MachineCommand<'_>) -> Option<String> {
    if command == MachineCommand::Capabilities {
        return None;
    }
    let mut configuration = Vec::new();
    // What cannot be read is left to the runner, which says why.
    std::fs::File::open(&runner.config)
        .and_then(|f| f.take(MAX_OUTPUT_BYTES as u64).read_to_end(&mut configuration))
        .ok()?;
    runner.env.configuration_hint(&configuration, &runner.profile)
}

/// What to look at when the operating system refused to start the program.
pub(super) fn start_hint(runner: &Runner, error: &io::Error) -> String {
    let program = runner.program.display();
    match error.kind() {
        io::ErrorKind::NotFound => {
            format!("'{program}' was not found; check KSQL_FLOW_BIN or --ksql-flow-bin")
        }
        io::ErrorKind::PermissionDenied => format!("'{program}' may not be executed; check its permissions"),
        _ => format!("'{program}' cannot be executed: {error}; check KSQL_FLOW_BIN or --ksql-flow-bin"),
    }
}
