//! Settings of the operator commands and of the request poller (ENV-02, ENV-03, OPR-04).

use std::path::PathBuf;
use std::time::Duration;

use super::control::{AppCredential, Connection, ControlSettings, base_url};
use super::environment::{Environment, SettingsError};
use super::number::is_js_space;
use super::run::{Surroundings, auto_reclaim, check_profile, host};
use crate::kintone::{BaseUrl, Secret};

/// Heartbeat of a claimed request, in milliseconds, unless set.
const DEFAULT_HEARTBEAT_MS: u64 = 60_000;
/// Age at which a claimed request is stale, in milliseconds, unless set.
const DEFAULT_STALE_MS: u64 = 900_000;

/// Settings of resolve-node, record-job-unlock, force-unlock-network and cancel-run.
#[derive(Clone, Debug)]
pub struct OperateSettings {
    /// The control-plane apps.
    pub control: ControlSettings,
    /// The account that the command runs as; empty for cancel-run, which does not record it.
    pub service_principal: String,
    /// The person behind the command.
    pub requested_by: String,
    /// Our host name, for the stop method `local_pid`.
    pub host: String,
    /// Access token for the stop method `cloud_run_job_execution`.
    pub gcp_access_token: Option<Secret>,
    /// A stand-in for the Cloud Run API on this machine.
    pub cloud_run_url: Option<String>,
}

impl OperateSettings {
    /// The five variables, the service principal if it is recorded, the person.
    pub fn read(
        env: &Environment<'_>,
        with_principal: bool,
        surroundings: &Surroundings,
    ) -> Result<OperateSettings, SettingsError> {
        let mut control = ControlSettings::read(env)?;
        let service_principal = if with_principal {
            env.required("KSQL_FLOWNET_SERVICE_PRINCIPAL")?
        } else {
            String::new()
        };
        let requested_by = env.required("KSQL_FLOWNET_REQUESTED_BY")?;
        control.read_connection(env)?;
        Ok(OperateSettings {
            control,
            service_principal,
            requested_by,
            host: host(env, surroundings)?,
            gcp_access_token: env.optional("KSQL_FLOWNET_GCP_ACCESS_TOKEN")?.map(Secret::new),
            cloud_run_url: env.optional("KSQL_FLOWNET_CLOUD_RUN_URL")?,
        })
    }
}

/// Settings of archive-run.
#[derive(Clone, Debug)]
pub struct ArchiveSettings {
    /// The profile.
    pub profile: String,
    /// The control-plane apps.
    pub control: ControlSettings,
    /// The account that the command runs as.
    pub service_principal: String,
    /// The person behind the command.
    pub requested_by: String,
    /// Our host name in records.
    pub host: String,
    /// `KSQL_FLOW_WORKDIR`, where the proof of a dead owner is kept; without it a person has to decide (D-08).
    pub workdir: Option<PathBuf>,
    /// A lock of a provably dead process of this host may be taken without a person (D-08).
    pub auto_reclaim: bool,
}

impl ArchiveSettings {
    /// Reads everything in the order of ENV-03.
    pub fn read(
        env: &Environment<'_>,
        profile: Option<&str>,
        surroundings: &Surroundings,
    ) -> Result<ArchiveSettings, SettingsError> {
        let (name, profile) = match profile {
            Some(profile) => ("--profile", profile.to_owned()),
            None => ("KSQL_FLOWNET_PROFILE", env.required("KSQL_FLOWNET_PROFILE")?),
        };
        // The original looks at these three first and then at all five; the first problem must be the same one.
        for name in [
            "KSQL_FLOWNET_BASE_URL",
            "KSQL_FLOWNET_STATE_APP_ID",
            "KSQL_FLOWNET_STATE_API_TOKEN",
        ] {
            env.required(name)?;
        }
        let mut control = ControlSettings::read(env)?;
        let requested_by = env.required("KSQL_FLOWNET_REQUESTED_BY")?;
        control.read_connection(env)?;
        check_profile(name, &profile)?;
        let host = host(env, surroundings)?;
        let trimmed = |text: String| text.trim_matches(is_js_space).to_owned();
        let service_principal = match env.optional("KSQL_FLOWNET_SERVICE_PRINCIPAL")? {
            Some(account) => trimmed(account),
            None => env
                .optional("KSQL_FLOWNET_HOST")?
                .map_or_else(|| surroundings.host_name.clone(), trimmed),
        };
        let workdir = env.optional("KSQL_FLOW_WORKDIR")?;
        let auto_reclaim = auto_reclaim(env)?;
        Ok(ArchiveSettings {
            profile,
            control,
            service_principal,
            requested_by,
            host,
            workdir: workdir.map(|path| surroundings.directory.join(path)),
            auto_reclaim,
        })
    }
}

/// Settings of poll-requests that are read before the allow-list.
#[derive(Clone, Debug)]
pub struct PollSettings {
    /// The kintone address.
    pub base_url: BaseUrl,
    /// The request app.
    pub request: AppCredential,
    /// Between two heartbeats of a claimed request.
    pub heartbeat: Duration,
    /// Age at which a claimed request is stale. That it exceeds the heartbeat is checked with the allow-list (ENV-06).
    pub stale_after: Duration,
    /// Path of the allow-list as given; that it is absolute is checked by its reader.
    pub allowlist: String,
    /// Connection details.
    pub connection: Connection,
}

impl PollSettings {
    /// Reads the variables in the order of ENV-03, up to the allow-list.
    pub fn read(env: &Environment<'_>) -> Result<PollSettings, SettingsError> {
        let base_url = base_url(env)?;
        let id = env.required_positive("KSQL_FLOWNET_REQUEST_APP_ID")?;
        let token = Secret::new(env.required("KSQL_FLOWNET_REQUEST_API_TOKEN")?);
        let millis = |name, default| env.positive_or(name, default).map(Duration::from_millis);
        let heartbeat = millis("KSQL_FLOWNET_REQUEST_HEARTBEAT_INTERVAL_MS", DEFAULT_HEARTBEAT_MS)?;
        let stale_after = millis("KSQL_FLOWNET_REQUEST_STALE_AFTER_MS", DEFAULT_STALE_MS)?;
        let allowlist = env.required("KSQL_FLOWNET_REQUEST_ALLOWLIST_PATH")?;
        let connection = Connection::read(env, &base_url)?;
        Ok(PollSettings {
            base_url,
            request: AppCredential { id, token },
            heartbeat,
            stale_after,
            allowlist,
            connection,
        })
    }
}
