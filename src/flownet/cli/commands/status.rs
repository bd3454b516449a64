//! status: what the lock and the Runs look like, and which commands lead on (STA rules).

use super::super::codes::ExitClass;
use super::super::output::Output;
use super::super::report::Failure;
use super::super::settings::{ControlSettings, Environment, check_profile};
use super::super::walk::Words;
use super::settings_failure;

const FALLBACK: &str = "STATUS_FAILED";

/// The arguments of status.
#[derive(Clone, Debug)]
pub struct Arguments {
    /// The network.
    pub network_id: String,
    /// The profile.
    pub profile: String,
    /// The Run to show in detail, by id.
    pub run_id: Option<String>,
    /// The Run to show in detail, by business key.
    pub business_key: Option<String>,
}

/// Runs the command.
pub fn run(words: &Words, env: &Environment<'_>, output: &mut Output<'_>) -> Result<ExitClass, Failure> {
    let value = |flag: &str| words.value(flag).map(str::to_owned);
    let arguments = Arguments {
        network_id: words.operand().to_owned(),
        profile: value("--profile").unwrap_or_default(),
        run_id: value("--run-id"),
        business_key: value("--business-key"),
    };
    let wrong = settings_failure(FALLBACK);
    let settings = ControlSettings::read_all(env).map_err(&wrong)?;
    check_profile("--profile", &arguments.profile).map_err(&wrong)?;
    execute(&arguments, &settings, output).map_err(|failure| {
        failure
            .fact("network_id", arguments.network_id)
            .fact("profile", arguments.profile)
    })
}

/// The work itself.
fn execute(_: &Arguments, _: &ControlSettings, _: &mut Output<'_>) -> Result<ExitClass, Failure> {
    Err(Failure::new(
        "COMMAND_UNAVAILABLE",
        "this build cannot carry out status",
    ))
}
