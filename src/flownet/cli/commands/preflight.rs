//! What run-network checks before it touches kintone or a lock, in this order: definition, business key, runner, CSV
//! directory (RUN-05 steps 2 to 5). The first failure is the one reported.

use std::path::PathBuf;

use super::super::report::Failure;
use super::super::settings::{Environment, IoSettings, RunSettings};
use super::network_file::{self, NetworkFile};
use super::run_network::{Arguments, FALLBACK};
use super::settings_failure;
use super::translate;
use crate::flownet::child::{StopSignal, machine};
use crate::flownet::clock::{Clock as _, SystemClock};
use crate::flownet::definition::{Network, Problem, business_key};
use crate::flownet::profile::{self, Capabilities};

/// What the checks found out.
pub struct Checked {
    /// The directory that SQL paths start from, absolute.
    pub folder: PathBuf,
    /// The bytes of the network file.
    pub bytes: Vec<u8>,
    /// The definition.
    pub network: Network,
    /// Remarks about the definition.
    pub warnings: Vec<Problem>,
    /// The business key; nothing with `--resume-run` (KEY-08).
    pub business_key: Option<String>,
    /// What the runner says about itself.
    pub capabilities: Capabilities,
    /// CSV directory, when a node has inputs or outputs, or when one is configured: the definition stored with a Run may
    /// need it although the given one does not (item 15).
    pub io: Option<IoSettings>,
}

/// Makes all checks.
pub fn check(
    arguments: &Arguments,
    settings: &RunSettings,
    env: &Environment<'_>,
    stop: &StopSignal,
) -> Result<Checked, Failure> {
    let NetworkFile {
        folder,
        bytes,
        mut loaded,
        refusals: _,
    } = NetworkFile::read(&arguments.network);
    let warnings = std::mem::take(&mut loaded.warnings);
    let network = loaded
        .into_valid()
        .map_err(|problems| network_file::invalid(FALLBACK, &problems))?;
    let key = arguments
        .resume_run
        .is_none()
        .then(|| resolve_key(&network, arguments))
        .transpose()?;
    let capabilities = check_runner(&network, settings, stop)?;
    let configured = env
        .optional("KSQL_FLOWNET_IO_DIR")
        .is_ok_and(|value| value.is_some());
    let io = if configured || network.has_inputs() || network.has_outputs() {
        Some(IoSettings::read(env).map_err(settings_failure(FALLBACK))?)
    } else {
        None
    };
    Ok(Checked {
        folder,
        bytes,
        network,
        warnings,
        business_key: key,
        capabilities,
        io,
    })
}

fn resolve_key(network: &Network, arguments: &Arguments) -> Result<String, Failure> {
    let scheduled_for = arguments.scheduled_for.as_deref();
    let mut given = arguments.business_key.clone();
    if scheduled_for.is_none() && given.is_none() && !arguments.resume {
        given = Some(business_key::manual_key(&network.network_id, SystemClock.now()));
    }
    business_key::resolve(
        &network.policy,
        &network.network_id,
        scheduled_for,
        given.as_deref(),
    )
    .map_err(|problems| {
        let list: Vec<String> = problems.iter().map(ToString::to_string).collect();
        Failure::new("BUSINESS_KEY_INVALID", list.join("; "))
    })
}

fn check_runner(
    network: &Network,
    settings: &RunSettings,
    stop: &StopSignal,
) -> Result<Capabilities, Failure> {
    let answer = machine::capabilities(&settings.runner, stop).map_err(|error| translate(error.into()))?;
    let capabilities = profile::parse_capabilities(&answer).map_err(|error| translate(error.into()))?;
    profile::check_capabilities(&capabilities, network.has_inputs(), network.has_outputs())
        .map_err(|error| translate(error.into()))?;
    Ok(capabilities)
}
