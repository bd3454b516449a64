//! What every command that talks to kintone starts with: the profile, its masking, one REST client.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::command::{Flags, Orchestration};
use super::config::{self, Profile, Secrets, milliseconds};
use super::console::Console;
use super::host;
use super::journal::Journal;
use super::log_app::LogApp;
use super::mask::Masker;
use super::verdict::Failure;
use crate::flow::sql::message::{Message, say};
use crate::kintone::{self, Client, Proxy, Retry, Statuses, Timeouts};

/// How this program names itself to servers.
pub const USER_AGENT: &str = concat!("ksql-flow/", env!("CARGO_PKG_VERSION"));
/// Environment variable that names a PEM file with further certificate authorities.
const CA_FILE: &str = "KSQL_FLOW_CA_FILE";
/// Requests to one app in one process from which on the daily limit of kintone is mentioned (D-07, KTB-171).
const MANY_REQUESTS: u64 = 8_000;
/// Time to connect, at most; part of `httpTimeoutMs`.
const CONNECT: Duration = Duration::from_secs(10);

/// A profile in use.
pub struct Connection {
    /// The profile.
    pub profile: Profile,
    /// Hides what the profile wants hidden.
    pub masker: Arc<Masker>,
    /// Prints, masked.
    pub console: Console,
}

/// How a command uses kintone.
#[derive(Clone, Default)]
pub struct Use {
    /// `--max-api-calls`, in place of the configured limit.
    pub max_api_calls: Option<u64>,
    /// Refuse writes before sending them (RNR-34).
    pub read_only: bool,
    /// Ends waits between attempts.
    pub stop: Option<Arc<AtomicBool>>,
}

impl Connection {
    /// Reads the configuration that the flags name.
    ///
    /// # Errors
    /// As [`config::load`].
    pub fn open(flags: &Flags, secrets: Secrets) -> Result<Self, Failure> {
        let file = flags.value("--config").unwrap_or(config::DEFAULT_FILE);
        let environment = |name: &str| std::env::var(name).ok();
        let profile = config::load(Path::new(file), flags.value("--profile"), secrets, &environment)?;
        let masker = Arc::new(Masker::of(&profile));
        // A program reads standard output then: people read along on standard error (RNR-08).
        let for_program = flags.has("--json") || flags.has("--result-json");
        let console = Console::new(Arc::clone(&masker), for_program);
        Ok(Self {
            profile,
            masker,
            console,
        })
    }

    /// A client with the profile's retries, limits and proxies. It counts every attempt of this process (RNR-33).
    ///
    /// # Errors
    /// A proxy setting that is not usable.
    pub fn client(&self, use_: &Use) -> Result<Client, Failure> {
        let profile = &self.profile;
        let refused = |error: kintone::ConfigError| Failure::invalid(Message::from(&error));
        let environment = |name: &str| std::env::var(name).ok();
        let mut config = kintone::Config::new(profile.base_url.clone());
        config.proxy = Proxy::from_env(&profile.base_url, environment).map_err(refused)?;
        config.ca_file = std::env::var_os(CA_FILE)
            .filter(|path| !path.is_empty())
            .map(PathBuf::from);
        config.guest_space = profile.guest_space;
        config.basic_auth.clone_from(&profile.basic_auth);
        config.user_agent = USER_AGENT.into();
        config.accept_language = host::language().tag().into();
        let limit = profile.http_timeout();
        config.timeouts = Timeouts {
            connect: CONNECT.min(limit),
            request: limit,
            transfer: limit,
        };
        // One more for the log app, whose checkpoints are written beside the chunks.
        config.idle_connections = profile.limits.requests_in_flight + 1;
        config.retry = Retry {
            attempts: profile.retry.max_attempts.as_f64().map_or(1, |n| n as u32).max(1),
            first: milliseconds(&profile.retry.initial_delay_ms),
            cap: milliseconds(&profile.retry.max_delay_ms),
            respect_retry_after: profile.retry.respect_retry_after,
            statuses: Statuses::Runner,
            writes: true,
        };
        config.max_requests = use_.max_api_calls.or(profile.limits.max_api_calls);
        config.read_only = use_.read_only;
        config.stop.clone_from(&use_.stop);
        Client::new(config).map_err(refused)
    }

    /// Warns when one app got a large part of what kintone allows in a day.
    pub fn warn_of_budget(&self, client: &Client) {
        if let Some((app, requests)) = client.requests().busiest()
            && requests >= MANY_REQUESTS
        {
            self.console.warn(say!(
                "this run sent {requests} requests to app {app}; kintone allows 10,000 per app and day (standard course)",
                "この実行はアプリ {app} に {requests} リクエストを送りました。kintone の上限は 1 アプリ 1 日 10,000 リクエストです (スタンダードコース)"
            ));
        }
    }

    /// The JSONL file of a session.
    pub fn journal(&self, batch_id: &str, orchestration: Option<&Orchestration>) -> Journal {
        Journal::new(
            &self.profile.logging.local_dir,
            batch_id,
            &self.profile.name,
            orchestration,
            Arc::clone(&self.masker),
            self.console.clone(),
        )
    }

    /// The log app, with its field list read. `None` when the profile names none.
    ///
    /// # Errors
    /// The log app has no token.
    pub fn log_app(&self, client: &Client) -> Result<Option<(LogApp, Option<kintone::Error>)>, Failure> {
        let Some(entry) = self.profile.log_app_entry() else {
            return Ok(None);
        };
        let app = self.profile.address(entry.id)?;
        Ok(Some(LogApp::open(client.clone(), app)))
    }

    /// The log app, for commands that cannot work without one.
    ///
    /// # Errors
    /// The profile names no log app, or it has no token.
    pub fn required_log_app(&self, client: &Client) -> Result<(LogApp, Option<kintone::Error>), Failure> {
        self.log_app(client)?.ok_or_else(|| {
            let profile = &self.profile.name;
            Failure::invalid(say!(
                "the profile {profile} has no logApp: name one of its apps",
                "プロファイル {profile} に logApp がありません。apps の名前を指定してください"
            ))
        })
    }
}
