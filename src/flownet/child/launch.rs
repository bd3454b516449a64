//! One job: `run` with its argv, its end and what is left of it (RUN-03, RUN-16, RUN-17, D-02 "Signals").

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use super::process::{Limits, Process, Stdout};
use super::{Runner, StopSignal, machine};
use crate::flownet::canonical_json::text_order;
use crate::flownet::rule::result::{is_io_name, is_sha256};

/// Longest id handed to the runner, in characters.
const MAX_ID_CHARS: usize = 128;

/// A CSV file that the job reads.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Import {
    /// Source name in the job's SQL.
    pub name: String,
    /// Absolute path.
    pub path: PathBuf,
    /// Lower-case hexadecimal SHA-256 of the file as checked before the start.
    pub sha256: String,
}

/// A CSV file that the job writes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Export {
    /// Sink name in the job's SQL.
    pub name: String,
    /// Absolute path.
    pub path: PathBuf,
}

/// Everything that makes one `run` differ from another.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RunRequest {
    /// Absolute path of the job file in the run directory.
    pub sql: PathBuf,
    /// Stored as-of of the Run, as text.
    pub as_of: String,
    /// Run id.
    pub correlation_id: String,
    /// Attempt id.
    pub attempt_id: String,
    /// Job id of the node.
    pub expected_job_id: String,
    /// Where the runner puts its result; must not exist (RUN-15).
    pub result_json: PathBuf,
    /// Inputs, in any order.
    pub imports: Vec<Import>,
    /// Outputs, in any order.
    pub exports: Vec<Export>,
    /// Time from the start to the polite signal; none = no limit.
    pub time_limit: Option<Duration>,
}

/// A request that the runner would refuse or misread (RUN-16). Nothing was started.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RequestError(String);

impl fmt::Display for RequestError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for RequestError {}

/// The program and its arguments, exactly as they are started.
pub fn argv(runner: &Runner, request: &RunRequest) -> Result<Vec<OsString>, RequestError> {
    check(runner, request)?;
    let mut argv = vec![runner.program.clone().into_os_string()];
    argv.extend(runner.args.iter().map(OsString::from));
    argv.push("run".into());
    let mut option = |name: &str, value: OsString| {
        argv.push(name.into());
        argv.push(value);
    };
    option("-f", request.sql.clone().into());
    option("--profile", OsString::from(&runner.profile));
    option("--config", runner.config.clone().into());
    option("--as-of", OsString::from(&request.as_of));
    option("--result-json", request.result_json.clone().into());
    option("--correlation-id", OsString::from(&request.correlation_id));
    option("--attempt-id", OsString::from(&request.attempt_id));
    option("--expected-job-id", OsString::from(&request.expected_job_id));
    let named = |name: &str, value: &std::ffi::OsStr| {
        let mut pair = OsString::from(name);
        pair.push("=");
        pair.push(value);
        pair
    };
    let mut imports: Vec<&Import> = request.imports.iter().collect();
    imports.sort_by(|a, b| text_order(&a.name, &b.name));
    for import in imports {
        option("--import-csv", named(&import.name, import.path.as_os_str()));
        option(
            "--expected-import-sha256",
            named(&import.name, import.sha256.as_ref()),
        );
    }
    let mut exports: Vec<&Export> = request.exports.iter().collect();
    exports.sort_by(|a, b| text_order(&a.name, &b.name));
    for export in exports {
        option("--export-csv", named(&export.name, export.path.as_os_str()));
    }
    Ok(argv)
}

fn check(runner: &Runner, request: &RunRequest) -> Result<(), RequestError> {
    let refuse = |text: String| Err(RequestError(text));
    for (name, path) in [
        ("sqlPath", &request.sql),
        ("configPath", &runner.config),
        ("resultJsonPath", &request.result_json),
    ] {
        if !path.is_absolute() {
            return refuse(format!("{name} must be absolute"));
        }
    }
    for (name, id) in [
        ("correlationId", &request.correlation_id),
        ("attemptId", &request.attempt_id),
        ("expectedJobId", &request.expected_job_id),
    ] {
        if !is_contract_id(id) {
            return refuse(format!("{name} must match ^[A-Za-z0-9._:-]{{1,128}}$"));
        }
    }
    for (name, value) in [("profile", &runner.profile), ("asOf", &request.as_of)] {
        if value.is_empty() || value.starts_with('-') {
            return refuse(format!("{name} must not be empty or begin with '-'"));
        }
    }
    let good = |i: &Import| is_safe_name(&i.name) && i.path.is_absolute() && is_sha256(&i.sha256);
    if !request.imports.iter().all(good) {
        return refuse("import source must have a safe name, absolute path, and SHA-256".into());
    }
    let good = |e: &Export| is_safe_name(&e.name) && e.path.is_absolute();
    if !request.exports.iter().all(good) {
        return refuse("export sink must have a safe name and absolute path".into());
    }
    Ok(())
}

/// Ids that the runner accepts: `[A-Za-z0-9._:-]{1,128}` (RUN-16).
pub fn is_contract_id(id: &str) -> bool {
    (1..=MAX_ID_CHARS).contains(&id.len())
        && id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b))
}

/// A name that survives `name=path` in one argument and is not read as a flag there.
fn is_safe_name(name: &str) -> bool {
    is_io_name(name) && !name.starts_with('-')
}

/// No process was started: the attempt provably had no effect.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum LaunchFailed {
    /// The request itself is not acceptable (RUN-16).
    Request(RequestError),
    /// The result path is taken; a stale file could be mistaken for the result (item 11).
    ResultExists(PathBuf),
    /// The operating system refused to start the program.
    NotStarted(String),
}

impl fmt::Display for LaunchFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Request(error) => error.fmt(f),
            Self::ResultExists(path) => write!(f, "result file already exists: {}", path.display()),
            Self::NotStarted(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for LaunchFailed {}

/// Starts the job.
pub fn spawn(runner: &Runner, request: &RunRequest) -> Result<Running, LaunchFailed> {
    let argv = argv(runner, request).map_err(LaunchFailed::Request)?;
    if request.result_json.symlink_metadata().is_ok() {
        return Err(LaunchFailed::ResultExists(request.result_json.clone()));
    }
    let process = Process::start(runner, &argv[1..], Stdout::Dropped)
        .map_err(|error| LaunchFailed::NotStarted(machine::start_hint(runner, &error)))?;
    Ok(Running {
        pid: process.pid(),
        start_time: process.start_time(),
        limits: Limits {
            time: request.time_limit,
            grace: runner.grace,
        },
        process,
    })
}

/// A started job. Dropped without [`Running::wait`], it is killed with its group.
#[derive(Debug)]
pub struct Running {
    /// Process id, and number of its process group.
    pub pid: u32,
    /// Clock ticks between boot and start (`/proc/<pid>/stat` field 22); with the pid it names the process for ever.
    pub start_time: Option<u64>,
    limits: Limits,
    process: Process,
}

/// How a job's process ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Exit {
    /// Exit code; none after a signal, or when the end was not seen.
    pub code: Option<i32>,
    /// Signal that ended it.
    pub signal: Option<i32>,
    /// It had to be killed: the grace period was over, or a second stop was requested.
    pub forced: bool,
    /// The time limit was reached.
    pub timed_out: bool,
    /// A stop was requested while it ran.
    pub stopped: bool,
    /// Something the job started was still there at the end: alive in its group, or holding its output open.
    pub leftovers: bool,
    /// The last 64 KiB of its standard error, our own secrets masked.
    pub stderr_tail: String,
}

impl Running {
    /// Waits for the end. At the limit or at a stop: SIGTERM, the grace period, SIGKILL to the group (RUN-17).
    pub fn wait(mut self, stop: &StopSignal) -> Exit {
        let ended = self.process.supervise(self.limits, stop);
        Exit {
            code: ended.code,
            signal: ended.signal,
            forced: ended.forced,
            timed_out: ended.timed_out,
            stopped: ended.stopped,
            leftovers: ended.leftovers,
            stderr_tail: ended.stderr_tail,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flownet::child::EnvPolicy;

    fn runner() -> Runner {
        Runner {
            program: "ksql-flow".into(),
            args: vec![],
            config: "/etc/ksql.json".into(),
            profile: "prod".into(),
            workdir: "/w".into(),
            grace: Duration::from_secs(1),
            env: EnvPolicy::default(),
        }
    }

    fn request() -> RunRequest {
        RunRequest {
            sql: "/w/a.sql".into(),
            as_of: "2026-09-01T00:00:00Z".into(),
            correlation_id: "netrun_1".into(),
            attempt_id: "attempt_1".into(),
            expected_job_id: "job".into(),
            result_json: "/w/metadata/attempt_1.json".into(),
            imports: vec![],
            exports: vec![],
            time_limit: None,
        }
    }

    #[test]
    fn a_name_that_reads_as_a_flag_is_refused() {
        let mut request = request();
        request.exports.push(Export {
            name: "-x".into(),
            path: "/o".into(),
        });
        assert_eq!(
            argv(&runner(), &request).expect_err("flag").to_string(),
            "export sink must have a safe name and absolute path"
        );
    }

    #[test]
    fn relative_paths_and_foreign_ids_are_refused_before_the_start() {
        let mut bad = request();
        bad.result_json = "metadata/a.json".into();
        assert!(matches!(spawn(&runner(), &bad), Err(LaunchFailed::Request(_))));
        let mut bad = request();
        bad.expected_job_id = "x".repeat(129);
        assert!(matches!(spawn(&runner(), &bad), Err(LaunchFailed::Request(_))));
        let mut flag = runner();
        flag.profile = "--json".into();
        assert!(argv(&flag, &request()).is_err());
    }
}
