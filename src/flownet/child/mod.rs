//! The process boundary to the runner: argv, spawn, wait, run directory (contract 10 F).
//!
//! Everything the control plane knows of a job comes through here: the machine commands before a Run, the job's
//! process while it runs, its result file afterwards. Nothing in this room writes to kintone or prints.

pub mod bin_args;
pub mod env;
pub mod inspection;
pub mod launch;
pub mod machine;
mod process;
pub mod process_table;
pub mod workdir;

use std::path::PathBuf;
use std::time::Duration;

pub use crate::os::stop::StopSignal;
pub use env::EnvPolicy;
pub use launch::{Exit, Export, Import, LaunchFailed, RunRequest, Running};
pub use machine::{ChildCode, ChildError};

/// How the runner is started: the same for every command of one invocation.
#[derive(Clone, Debug)]
pub struct Runner {
    /// Program as given: a bare name is looked up in `PATH`.
    pub program: PathBuf,
    /// Words before every command (`KSQL_FLOW_BIN_ARGS`, RUN-02).
    pub args: Vec<String>,
    /// Absolute path of the runner's configuration.
    pub config: PathBuf,
    /// Profile name handed to every command but `capabilities`.
    pub profile: String,
    /// Absolute work directory of the control plane (RUN-15).
    pub workdir: PathBuf,
    /// Time between the polite and the hard signal (`KSQL_FLOW_GRACE_PERIOD_MS`).
    pub grace: Duration,
    /// What of our own environment the runner sees.
    pub env: EnvPolicy,
}
