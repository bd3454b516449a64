//! Settings of run-network: the runner that executes the jobs, the JOB log, and who we are (ENV-02, RUN-02).

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::control::{AppCredential, ControlSettings, apps_of_run_network};
use super::environment::{Environment, SettingsError};
use crate::flownet::child::{EnvPolicy, Runner, bin_args};

/// Grace period when `KSQL_FLOW_GRACE_PERIOD_MS` is not set, in milliseconds.
const DEFAULT_GRACE_MS: u64 = 30_000;
/// Days that inputs are kept when `KSQL_FLOWNET_IO_RETENTION_DAYS` is not set.
const DEFAULT_RETENTION_DAYS: u64 = 90;

/// What the settings need to know about the process.
#[derive(Clone, Debug)]
pub struct Surroundings {
    /// The current directory.
    pub directory: PathBuf,
    /// The host name of the operating system.
    pub host_name: String,
    /// Our process id.
    pub process_id: u32,
}

/// Flags that beat variables.
#[derive(Clone, Copy, Debug, Default)]
pub struct RunnerFlags<'a> {
    /// `--ksql-flow-bin`.
    pub program: Option<&'a str>,
    /// `--ksql-flow-config`.
    pub config: Option<&'a str>,
    /// `--ksql-flow-workdir`.
    pub workdir: Option<&'a str>,
}

/// Settings of run-network.
#[derive(Clone, Debug)]
pub struct RunSettings {
    /// The profile.
    pub profile: String,
    /// The control-plane apps.
    pub control: ControlSettings,
    /// The runner.
    pub runner: Runner,
    /// The JOB log app.
    pub log: AppCredential,
    /// Our host name in records.
    pub host: String,
    /// Our identity in the lock.
    pub owner_instance_id: String,
    /// The person behind the command.
    pub requested_by: String,
    /// A lock of a provably dead process of this host may be released without a person (D-08).
    pub auto_reclaim: bool,
}

impl RunSettings {
    /// Reads everything in the order of ENV-03; variables that the original does not know come last.
    pub fn read(
        env: &Environment<'_>,
        flags: RunnerFlags<'_>,
        surroundings: &Surroundings,
    ) -> Result<RunSettings, SettingsError> {
        let profile = env.required("KSQL_FLOWNET_PROFILE")?;
        let mut control = apps_of_run_network(env)?;
        let program = flag_or(flags.program, env, "KSQL_FLOW_BIN")?;
        let args = bin_args::parse(&env.raw("KSQL_FLOW_BIN_ARGS")?.unwrap_or_default())
            .map_err(|error| SettingsError::new(error.to_string()))?;
        let config = flag_or(flags.config, env, "KSQL_FLOW_CONFIG")?;
        let workdir = flag_or(flags.workdir, env, "KSQL_FLOW_WORKDIR")?;
        let log = AppCredential::read(env, "KSQL_FLOW_LOG_APP_ID", "KSQL_FLOW_LOG_API_TOKEN")?;
        let grace =
            Duration::from_millis(env.non_negative_or("KSQL_FLOW_GRACE_PERIOD_MS", DEFAULT_GRACE_MS)?);
        control.read_connection(env)?;
        let child_env = EnvPolicy::from_value(env.raw("KSQL_FLOWNET_CHILD_ENV")?.as_deref())
            .map_err(|error| SettingsError::new(error.to_string()))?;
        let auto_reclaim = auto_reclaim(env)?;
        check_profile("KSQL_FLOWNET_PROFILE", &profile)?;
        let host = host(env, surroundings)?;
        let owner_instance_id = match non_empty(env, "KSQL_FLOWNET_OWNER_INSTANCE_ID")? {
            Some(id) => id,
            None => local_owner_instance_id(&host, surroundings.process_id),
        };
        let requested_by = match non_empty(env, "KSQL_FLOWNET_REQUESTED_BY")? {
            Some(person) => person,
            None => non_empty(env, "USERNAME")?.unwrap_or_else(|| "unknown".to_owned()),
        };
        let absolute = |path: &str| surroundings.directory.join(path);
        let runner = Runner {
            program: program.into(),
            args,
            config: absolute(&config),
            profile: profile.clone(),
            workdir: absolute(&workdir),
            grace,
            env: child_env,
        };
        Ok(RunSettings {
            profile,
            control,
            runner,
            log,
            host,
            owner_instance_id,
            requested_by,
            auto_reclaim,
        })
    }
}

/// May the lock of a dead process be taken without a person? (D-08)
pub(super) fn auto_reclaim(env: &Environment<'_>) -> Result<bool, SettingsError> {
    env.choice("KSQL_FLOWNET_AUTO_RECLAIM", &[("on", true), ("off", false)], true)
}

/// Directory and retention of CSV files; read only when a node has inputs or outputs (IO-02).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoSettings {
    /// Absolute path; that it is a directory and no link is checked where it is opened.
    pub root: PathBuf,
    /// Days after which a Run with inputs cannot be resumed (IO-09).
    pub retention_days: u64,
}

impl IoSettings {
    /// Reads the two variables.
    pub fn read(env: &Environment<'_>) -> Result<IoSettings, SettingsError> {
        const NAME: &str = "KSQL_FLOWNET_IO_DIR";
        let root = env.optional(NAME)?.ok_or_else(|| {
            SettingsError::new(format!("{NAME} is required for networks with inputs or outputs"))
        })?;
        if !Path::new(&root).is_absolute() {
            return Err(SettingsError::new(format!("{NAME} must be an absolute path")));
        }
        let retention_days = env.positive_or("KSQL_FLOWNET_IO_RETENTION_DAYS", DEFAULT_RETENTION_DAYS)?;
        Ok(IoSettings {
            root: root.into(),
            retention_days,
        })
    }
}

/// The owner instance id of a process of this host, the form that force-unlock-network can confirm (OPR-23).
pub fn local_owner_instance_id(host: &str, process_id: u32) -> String {
    format!("local-pid://{host}/{process_id}")
}

/// `KSQL_FLOWNET_HOST`, else the host name. An empty value counts as not set (item 18).
pub fn host(env: &Environment<'_>, surroundings: &Surroundings) -> Result<String, SettingsError> {
    Ok(non_empty(env, "KSQL_FLOWNET_HOST")?.unwrap_or_else(|| surroundings.host_name.clone()))
}

/// The profile is a component of every key: what no key can hold is refused before anything else happens (item 3).
pub fn check_profile(name: &str, profile: &str) -> Result<(), SettingsError> {
    crate::flownet::key::check_component("profile", profile)
        .map_err(|error| SettingsError::new(format!("{name}: {error}")))
}

fn non_empty(env: &Environment<'_>, name: &str) -> Result<Option<String>, SettingsError> {
    Ok(env.raw(name)?.filter(|value| !value.is_empty()))
}

fn flag_or(flag: Option<&str>, env: &Environment<'_>, name: &str) -> Result<String, SettingsError> {
    flag.map_or_else(|| env.required(name), |value| Ok(value.to_owned()))
}
