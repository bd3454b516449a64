//! Settings of everything that talks to the state and audit apps (ENV-02, D-04).

use std::path::PathBuf;

use super::environment::{Environment, SettingsError};
use crate::kintone::{App, BaseUrl, Config, Proxy, Secret};

/// An app and the token for it.
#[derive(Clone, Debug)]
pub struct AppCredential {
    /// App number.
    pub id: u64,
    /// API token.
    pub token: Secret,
}

impl AppCredential {
    /// Reads the number, then the token.
    pub fn read(env: &Environment<'_>, id: &str, token: &str) -> Result<AppCredential, SettingsError> {
        let id = env.required_positive(id)?;
        let token = Secret::new(env.required(token)?);
        Ok(AppCredential { id, token })
    }

    /// The app as the client addresses it; the role is for messages.
    pub fn app(&self, role: &str) -> App {
        App::with_token(self.id, role, self.token.clone())
    }
}

/// How the connection is made (D-04).
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// `KSQL_FLOWNET_GUEST_SPACE_ID`.
    pub guest_space: Option<u64>,
    /// `KSQL_FLOWNET_BASIC_AUTH`, `user:password`.
    pub basic_auth: Option<Secret>,
    /// `KSQL_FLOWNET_CA_FILE`.
    pub ca_file: Option<PathBuf>,
    /// `HTTPS_PROXY` and `NO_PROXY`.
    pub proxy: Option<Proxy>,
}

impl Connection {
    /// Reads the variables that the original does not know.
    pub fn read(env: &Environment<'_>, base_url: &BaseUrl) -> Result<Connection, SettingsError> {
        const GUEST: &str = "KSQL_FLOWNET_GUEST_SPACE_ID";
        const BASIC: &str = "KSQL_FLOWNET_BASIC_AUTH";
        let guest_space = env
            .optional(GUEST)?
            .map(|_| env.required_positive(GUEST))
            .transpose()?;
        let basic_auth = env.optional(BASIC)?;
        if basic_auth.as_ref().is_some_and(|text| !text.contains(':')) {
            return Err(SettingsError::new(format!("{BASIC} must be user:password")));
        }
        let ca_file = env.optional("KSQL_FLOWNET_CA_FILE")?.map(PathBuf::from);
        let proxy = Proxy::from_env(base_url, |name| env.raw(name).ok().flatten())
            .map_err(|error| SettingsError::new(error.to_string()))?;
        Ok(Connection {
            guest_space,
            basic_auth: basic_auth.map(Secret::new),
            ca_file,
            proxy,
        })
    }

    /// The client configuration for a domain.
    pub fn client_config(&self, base_url: &BaseUrl) -> Config {
        Config {
            guest_space: self.guest_space,
            basic_auth: self.basic_auth.clone(),
            ca_file: self.ca_file.clone(),
            proxy: self.proxy.clone(),
            ..Config::new(base_url.clone())
        }
    }
}

/// The control-plane apps and the way to them.
#[derive(Clone, Debug)]
pub struct ControlSettings {
    /// The kintone address: https, or http on loopback; no path (item 18).
    pub base_url: BaseUrl,
    /// The state app.
    pub state: AppCredential,
    /// The audit app.
    pub audit: AppCredential,
    /// Connection details.
    pub connection: Connection,
}

impl ControlSettings {
    /// The five variables in the order of status, cancel-run, resolve-node and the others (ENV-03).
    pub fn read(env: &Environment<'_>) -> Result<ControlSettings, SettingsError> {
        let base_url = base_url(env)?;
        let state = AppCredential::read(env, "KSQL_FLOWNET_STATE_APP_ID", "KSQL_FLOWNET_STATE_API_TOKEN")?;
        let audit = AppCredential::read(env, "KSQL_FLOWNET_AUDIT_APP_ID", "KSQL_FLOWNET_AUDIT_API_TOKEN")?;
        Ok(ControlSettings {
            base_url,
            state,
            audit,
            connection: Connection::default(),
        })
    }

    /// Everything of a command that reads nothing else.
    pub fn read_all(env: &Environment<'_>) -> Result<ControlSettings, SettingsError> {
        let mut settings = ControlSettings::read(env)?;
        settings.read_connection(env)?;
        Ok(settings)
    }

    /// Reads the variables of D-04, which the original does not know; after all others, so that its first problem is ours.
    pub fn read_connection(&mut self, env: &Environment<'_>) -> Result<(), SettingsError> {
        self.connection = Connection::read(env, &self.base_url)?;
        Ok(())
    }

    /// The client configuration.
    pub fn client_config(&self) -> Config {
        self.connection.client_config(&self.base_url)
    }

    /// The state app as the client addresses it.
    pub fn state_app(&self) -> App {
        self.state.app("state app")
    }

    /// The audit app as the client addresses it.
    pub fn audit_app(&self) -> App {
        self.audit.app("audit app")
    }
}

/// The five variables in the order of run-network: both numbers before both tokens (ENV-03).
pub fn apps_of_run_network(env: &Environment<'_>) -> Result<ControlSettings, SettingsError> {
    let base_url = base_url(env)?;
    let state_id = env.required_positive("KSQL_FLOWNET_STATE_APP_ID")?;
    let audit_id = env.required_positive("KSQL_FLOWNET_AUDIT_APP_ID")?;
    let token = |name: &str| env.required(name).map(Secret::new);
    let state = AppCredential {
        id: state_id,
        token: token("KSQL_FLOWNET_STATE_API_TOKEN")?,
    };
    let audit = AppCredential {
        id: audit_id,
        token: token("KSQL_FLOWNET_AUDIT_API_TOKEN")?,
    };
    Ok(ControlSettings {
        base_url,
        state,
        audit,
        connection: Connection::default(),
    })
}

/// The address, checked before any token can be sent to it.
pub fn base_url(env: &Environment<'_>) -> Result<BaseUrl, SettingsError> {
    const NAME: &str = "KSQL_FLOWNET_BASE_URL";
    let text = env.required(NAME)?;
    BaseUrl::parse(&text).map_err(|error| SettingsError::new(format!("{NAME}: {error}")))
}
