//! The configuration file `ksql.config.json`: strict reading, profile choice, inheritance, `env:` references (RNR-20..25).

mod ordered_json;
mod resolve;
mod schema;
mod value;

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::Number;

use self::ordered_json::Node;
use self::resolve::Resolver;
use super::host;
use super::verdict::Failure;
use crate::flow::apps::AppMap;
use crate::flow::calendar::Zone;
#[cfg(doc)]
use crate::flow::exec::MAX_REQUESTS_IN_FLIGHT;
use crate::flow::sql::message::{Message, say};
use crate::kintone::{self, BaseUrl, Secret};

/// Name of the configuration file in the working directory.
pub const DEFAULT_FILE: &str = "ksql.config.json";
/// Largest configuration file, in bytes.
const MAX_FILE_BYTES: u64 = 4 << 20;
/// Whether secret references are looked up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    /// Needed: an unset variable is an error (RNR-23).
    Resolve,
    /// Not needed by this command; tokens and passwords stay empty.
    Skip,
}

/// One entry of a profile's `apps`.
#[derive(Clone, Debug)]
pub struct LogicalApp {
    /// Name after `LAPP_`.
    pub name: String,
    /// App id in kintone.
    pub id: u64,
    /// API tokens, joined in one header.
    pub tokens: Vec<Secret>,
}

/// How requests are authenticated.
#[derive(Clone, Debug)]
pub enum Authentication {
    /// The tokens of the addressed app.
    ApiToken,
    /// One user for all apps.
    Password {
        /// Login name.
        user: String,
        /// Password.
        password: Secret,
    },
}

/// `limits` with defaults filled in (RNR-22); `None` = no limit set here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Requests per process.
    pub max_api_calls: Option<u64>,
    /// Rows read per statement.
    pub max_read_rows: Option<u64>,
    /// Rows per temp table.
    pub max_temp_rows: Option<u64>,
    /// Seconds from the start after which a lock is stale and a run is stopped.
    pub batch_timeout_sec: u64,
    /// Requests of one statement in flight at once, 1 to [`MAX_REQUESTS_IN_FLIGHT`]. The original has no such key.
    pub requests_in_flight: usize,
}

/// `retry` with defaults filled in.
#[derive(Clone, Debug, PartialEq)]
pub struct Retry {
    /// Attempts in total, as written.
    pub max_attempts: Number,
    /// First delay in milliseconds, as written.
    pub initial_delay_ms: Number,
    /// Longest delay in milliseconds, as written.
    pub max_delay_ms: Number,
    /// Whether `Retry-After` decides the delay.
    pub respect_retry_after: bool,
}

/// When the heartbeat is sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HeartbeatOn {
    /// After SUCCESS and NO_DATA.
    Success,
    /// After every execution.
    Always,
}

/// `notifications`. The URLs are secrets: whoever knows them can post (RNR-121).
#[derive(Clone, Debug, Default)]
pub struct Notifications {
    /// Called after a failure.
    pub webhook: Option<Secret>,
    /// Called after an execution that ran to an end.
    pub heartbeat: Option<(Secret, HeartbeatOn)>,
}

/// `logging` with defaults filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Logging {
    /// Folder of the JSONL files.
    pub local_dir: PathBuf,
    /// Field codes whose values are masked.
    pub mask_fields: Vec<String>,
    /// Whether literals are removed from logged SQL.
    pub strip_literals: bool,
}

/// A resolved profile.
#[derive(Clone, Debug)]
pub struct Profile {
    /// Its name.
    pub name: String,
    /// The kintone environment.
    pub base_url: BaseUrl,
    /// The base URL as text, without a trailing slash.
    pub base_url_text: String,
    /// IANA name as configured.
    pub timezone: Option<String>,
    /// The configured zone, else the host's.
    pub zone: Zone,
    /// Authentication of requests.
    pub auth: Authentication,
    /// `user:password` of Basic authentication in front of kintone.
    pub basic_auth: Option<Secret>,
    /// Guest space.
    pub guest_space: Option<u64>,
    /// Logical apps in the order of the file.
    pub apps: Vec<LogicalApp>,
    /// The same, as the SQL looks them up.
    pub app_map: AppMap,
    /// Name of the log app; always one of `apps`.
    pub log_app: Option<String>,
    /// Time limit of one request, as written.
    pub http_timeout_ms: Number,
    /// Limits.
    pub limits: Limits,
    /// Retry policy.
    pub retry: Retry,
    /// Notifications.
    pub notifications: Notifications,
    /// Logging.
    pub logging: Logging,
    /// Texts that must never appear in any output.
    pub masked: Vec<Secret>,
}

impl Profile {
    /// The tokens of an app id; of two names with one id the later one counts (RNR-30).
    pub fn app_by_id(&self, id: u64) -> Option<&LogicalApp> {
        self.apps.iter().rev().find(|app| app.id == id)
    }

    /// The log app's entry.
    pub fn log_app_entry(&self) -> Option<&LogicalApp> {
        let name = self.log_app.as_deref()?;
        self.apps.iter().find(|app| app.name == name)
    }

    /// How the REST client addresses an app.
    ///
    /// # Errors
    /// An app that has no token although the profile authenticates with tokens (RNR-30).
    pub fn address(&self, id: u64) -> Result<kintone::App, Failure> {
        let entry = self.app_by_id(id);
        let role = entry.map_or_else(|| format!("APP{id}"), |app| format!("LAPP_{}", app.name));
        let auth = match &self.auth {
            Authentication::Password { user, password } => kintone::Auth::Password {
                user: user.clone(),
                password: password.clone(),
            },
            Authentication::ApiToken => match entry {
                Some(app) if !app.tokens.is_empty() => kintone::Auth::Tokens(app.tokens.clone()),
                _ => {
                    let profile = &self.name;
                    return Err(Failure::invalid(say!(
                        "{role} (app {id}) has no API token: add it to apps of the profile {profile}",
                        "{role} (アプリ {id}) に API トークンがありません。プロファイル {profile} の apps に加えてください"
                    )));
                }
            },
        };
        Ok(kintone::App { id, role, auth })
    }

    /// Time limit of one request.
    pub fn http_timeout(&self) -> Duration {
        milliseconds(&self.http_timeout_ms)
    }
}

/// A configured number of milliseconds as a duration (fractions allowed, capped at a day).
pub fn milliseconds(number: &Number) -> Duration {
    const DAY_MS: f64 = 86_400_000.0;
    Duration::from_secs_f64(number.as_f64().unwrap_or(0.0).clamp(0.0, DAY_MS) / 1000.0)
}

/// Looks up an environment variable.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// Reads the file and resolves one profile.
///
/// # Errors
/// Any deviation from RNR-20..24, naming file and key.
pub fn load(
    file: &Path,
    profile: Option<&str>,
    secrets: Secrets,
    environment: Environment<'_>,
) -> Result<Profile, Failure> {
    let bytes = host::read_limited(file, MAX_FILE_BYTES).map_err(|error| {
        let shown = file.display();
        Failure::invalid(say!(
            "configuration {shown}: {error}",
            "設定ファイル {shown}: {error}"
        ))
    })?;
    parse(&bytes, profile, secrets, environment).map_err(|message| {
        let shown = file.display();
        let what = say!("configuration {shown}", "設定ファイル {shown}");
        Failure::invalid(what.joined(": ", &message))
    })
}

fn parse(
    bytes: &[u8],
    profile: Option<&str>,
    secrets: Secrets,
    environment: Environment<'_>,
) -> Result<Profile, Message> {
    // Editors of Windows put a byte order mark in front, which is no part of the JSON.
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    let root: Node = serde_json::from_slice(bytes)
        .map_err(|error| say!("not valid JSON: {error}", "JSON として正しくありません: {error}"))?;
    let Some(profiles @ Node::Object(_)) = root.get("profiles") else {
        return Err(say!(
            "profiles: must be an object",
            "profiles: オブジェクトでなければなりません"
        ));
    };
    schema::check_keys(&root)?;
    let name = match (profile, root.get("defaultProfile")) {
        (Some(name), _) => name,
        (None, Some(Node::Text(name))) => name,
        (None, None | Some(Node::Null)) => {
            return Err(say!(
                "no defaultProfile: choose one with --profile",
                "defaultProfile がありません。--profile で選んでください"
            ));
        }
        (None, Some(_)) => {
            return Err(say!(
                "defaultProfile: must be a string",
                "defaultProfile: 文字列を指定してください"
            ));
        }
    };
    Resolver::new(&root, profiles, name, secrets, environment)?.resolve()
}

#[cfg(test)]
mod tests;
