//! run-network: words and settings in, one Run out, one line printed (OUT-01, OUT-02).

use super::super::codes::ExitClass;
use super::super::output::Output;
use super::super::report::Failure;
use super::super::settings::{Environment, RunSettings, RunnerFlags};
use super::super::walk::Words;
use super::preflight::{self, Checked};
use super::{network_file, settings_failure, surroundings};
use crate::flownet::child::StopSignal;

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
        .and_then(|checked| execute(&arguments, &settings, checked, output))
        .map_err(|failure| {
            failure
                .fact("network", arguments.network)
                .fact("profile", settings.profile)
        })
}

/// The work itself.
fn execute(
    _: &Arguments,
    _: &RunSettings,
    checked: Checked,
    output: &mut Output<'_>,
) -> Result<ExitClass, Failure> {
    network_file::warn(&checked.warnings, output);
    Err(
        Failure::new("COMMAND_UNAVAILABLE", "this build cannot carry out run-network")
            .fact("network_id", checked.network.network_id),
    )
}
