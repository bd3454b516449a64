//! One profile out of a configuration: inheritance, `env:` references, types and defaults of every key (RNR-22..24).

use std::path::PathBuf;

use base64::Engine as _;
use serde_json::Number;

use super::ordered_json::Node;
use super::schema::join;
use super::value::{above_zero, at, boolean, not_negative, positive, requests_in_flight, required, text};
use super::{
    Authentication, Environment, HeartbeatOn, Limits, Logging, LogicalApp, Notifications, Profile, Retry,
    Secrets,
};
use crate::flow::apps::{AppId, AppMap};
use crate::flow::calendar::Zone;
use crate::flow::exec::DEFAULT_REQUESTS_IN_FLIGHT;
use crate::flow::sql::message::{Message, say};
use crate::kintone::{BaseUrl, Secret};

/// Most API tokens kintone accepts in one request.
const MAX_TOKENS: usize = 9;
/// Ceiling of `limits.maxReadRows`.
const MAX_READ_ROWS: u64 = 200_000;
/// Shortest token, and shortest password, that is searched for in output (RNR-90); shorter ones would mask ordinary text.
const MIN_MASKED_TOKEN: usize = 8;
const MIN_MASKED_PASSWORD: usize = 4;

/// The chosen profile and its ancestors, nearest first (RNR-24).
fn chain<'a>(profiles: &'a Node, name: &str) -> Result<Vec<&'a Node>, Message> {
    let mut chain = Vec::new();
    let mut seen: Vec<String> = Vec::new();
    let mut next = Some(name.to_owned());
    while let Some(name) = next {
        if seen.contains(&name) {
            return Err(say!(
                "profiles.{name}.extends: the profiles extend each other in a circle",
                "profiles.{name}.extends: プロファイルの継承が循環しています"
            ));
        }
        let Some(profile) = profiles.get(&name) else {
            return Err(match seen.last() {
                None => say!(
                    "there is no profile {name:?}",
                    "プロファイル {name:?} がありません"
                ),
                Some(child) => say!(
                    "profiles.{child}.extends: there is no profile {name:?}",
                    "profiles.{child}.extends: プロファイル {name:?} がありません"
                ),
            });
        };
        chain.push(profile);
        next = match profile.get("extends") {
            None | Some(Node::Null) => None,
            Some(Node::Text(parent)) => Some(parent.clone()),
            Some(_) => {
                return Err(say!(
                    "profiles.{name}.extends: must be a string",
                    "profiles.{name}.extends: 文字列を指定してください"
                ));
            }
        };
        seen.push(name);
    }
    Ok(chain)
}

/// Reads the keys of one profile.
pub(super) struct Resolver<'a> {
    root: &'a Node,
    chain: Vec<&'a Node>,
    name: &'a str,
    secrets: Secrets,
    environment: Environment<'a>,
    masked: Vec<Secret>,
}

impl<'a> Resolver<'a> {
    /// Finds the profile and its ancestors.
    pub(super) fn new(
        root: &'a Node,
        profiles: &'a Node,
        name: &'a str,
        secrets: Secrets,
        environment: Environment<'a>,
    ) -> Result<Self, Message> {
        let chain = chain(profiles, name)?;
        Ok(Self {
            root,
            chain,
            name,
            secrets,
            environment,
            masked: Vec::new(),
        })
    }

    /// The profile, or the first key that is wrong.
    pub(super) fn resolve(mut self) -> Result<Profile, Message> {
        for reserved in ["clientCert", "proxy"] {
            if self.setting(reserved).is_some() {
                let path = self.path(reserved);
                return Err(say!(
                    "{path}: not supported; remove it (proxies come from HTTPS_PROXY)",
                    "{path}: 対応していません。削除してください (プロキシは HTTPS_PROXY で指定します)"
                ));
            }
        }
        let base_url_text = match self.setting("baseUrl") {
            Some(node) => self.plain_text(node, &self.path("baseUrl"))?,
            None => return Err(required(&self.path("baseUrl"))),
        };
        let base_url =
            BaseUrl::parse(&base_url_text).map_err(|error| at(&self.path("baseUrl"), &(&error).into()))?;
        let timezone = match self.setting("timezone") {
            None => None,
            Some(node) => Some(text(node, &self.path("timezone"))?.to_owned()),
        };
        let zone = match &timezone {
            None => Zone::host(),
            Some(name) => Zone::named(name).map_err(|error| at(&self.path("timezone"), &error.message()))?,
        };
        let (auth, basic_auth) = self.authentication()?;
        let guest_space = match self.setting("guestSpaceId") {
            None => None,
            Some(node) => Some(positive(node, &self.path("guestSpaceId"))?),
        };
        let apps = self.apps()?;
        let app_map = self.app_map(&apps)?;
        let log_app = match self.chain[0].get("logApp") {
            None | Some(Node::Null) => None,
            Some(node) => {
                let name = text(node, &self.path("logApp"))?;
                if !apps.iter().any(|app| app.name == name) {
                    let path = self.path("logApp");
                    return Err(say!(
                        "{path}: {name:?} is not in apps of this profile",
                        "{path}: {name:?} はこのプロファイルの apps にありません"
                    ));
                }
                Some(name.to_owned())
            }
        };
        let http_timeout_ms = match self.setting("httpTimeoutMs") {
            None => Number::from(30_000),
            Some(node) => above_zero(node, &self.path("httpTimeoutMs"))?,
        };
        let limits = self.limits()?;
        let retry = self.retry()?;
        let notifications = self.notifications()?;
        let logging = self.logging()?;
        Ok(Profile {
            name: self.name.to_owned(),
            base_url,
            base_url_text: base_url_text.trim_end_matches('/').to_owned(),
            timezone,
            zone,
            auth,
            basic_auth,
            guest_space,
            apps,
            app_map,
            log_app,
            http_timeout_ms,
            limits,
            retry,
            notifications,
            logging,
            masked: self.masked,
        })
    }

    fn path(&self, key: &str) -> String {
        format!("profiles.{}.{key}", self.name)
    }

    /// A top-level key of the profile: the nearest profile that has it decides, also with null.
    fn setting(&self, key: &str) -> Option<&'a Node> {
        self.chain
            .iter()
            .find_map(|profile| profile.get(key))
            .filter(|node| **node != Node::Null)
    }

    /// A settings object: of the profile chain as a whole, else of the file as a whole; with its path for messages.
    fn section(&self, key: &str) -> (Option<&'a Node>, String) {
        match self.setting(key) {
            Some(node) => (Some(node), self.path(key)),
            None => (
                self.root.get(key).filter(|node| **node != Node::Null),
                key.to_owned(),
            ),
        }
    }

    /// A text that may be an `env:` reference and is no secret.
    fn plain_text(&self, node: &Node, path: &str) -> Result<String, Message> {
        let text = text(node, path)?;
        let Some(variable) = text.strip_prefix("env:") else {
            return Ok(text.to_owned());
        };
        let is_name = variable.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
            && variable.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_');
        if !is_name {
            // Not repeated: it may be a secret that was pasted in the wrong place.
            return Err(say!(
                "{path}: env: must be followed by the name of an environment variable",
                "{path}: env: の後に環境変数の名前を書いてください"
            ));
        }
        (self.environment)(variable)
            .filter(|value| !value.is_empty())
            .ok_or_else(|| {
                say!(
                    "{path}: the environment variable {variable} is not set or empty",
                    "{path}: 環境変数 {variable} が設定されていないか空です"
                )
            })
    }

    /// A secret text; noted for masking when it is long enough.
    fn secret(&mut self, node: &Node, path: &str, shortest: usize) -> Result<Secret, Message> {
        if self.secrets == Secrets::Skip {
            text(node, path)?;
            return Ok(Secret::new(String::new()));
        }
        let value = self.plain_text(node, path)?;
        if value.chars().count() >= shortest {
            self.masked.push(Secret::new(value.clone()));
        }
        Ok(Secret::new(value))
    }

    fn authentication(&mut self) -> Result<(Authentication, Option<Secret>), Message> {
        let auth = self.setting("auth");
        let path = self.path("auth");
        let member = |key: &str| {
            auth.and_then(|node| node.get(key))
                .filter(|node| **node != Node::Null)
        };
        let kind = match member("type") {
            None => "apiToken",
            Some(node) => text(node, &join(&path, "type"))?,
        };
        if !["apiToken", "password", "basic"].contains(&kind) {
            return Err(say!(
                "{path}.type: must be apiToken, password or basic",
                "{path}.type: apiToken、password、basic のいずれかを指定してください"
            ));
        }
        let basic = match self.setting("basicAuth") {
            Some(node) => {
                let path = self.path("basicAuth");
                let (Some(user), Some(password)) = (node.get("username"), node.get("password")) else {
                    return Err(say!(
                        "{path}: needs username and password",
                        "{path}: username と password が必要です"
                    ));
                };
                Some(self.basic_auth(user, password, &join(&path, "username"), &join(&path, "password"))?)
            }
            None => match (member("basicUsername"), member("basicPassword")) {
                (Some(user), Some(password)) => Some(self.basic_auth(
                    user,
                    password,
                    &join(&path, "basicUsername"),
                    &join(&path, "basicPassword"),
                )?),
                _ => None,
            },
        };
        if kind == "apiToken" {
            return Ok((Authentication::ApiToken, basic));
        }
        if kind == "basic" && basic.is_none() {
            return Err(say!(
                "{path}: type basic needs basicAuth, or basicUsername and basicPassword",
                "{path}: type basic には basicAuth か、basicUsername と basicPassword が必要です"
            ));
        }
        let (Some(user), Some(password)) = (member("username"), member("password")) else {
            return Err(say!(
                "{path}: type {kind} needs username and password",
                "{path}: type {kind} には username と password が必要です"
            ));
        };
        let user = self.user(user, &join(&path, "username"))?;
        let password = self.secret(password, &join(&path, "password"), MIN_MASKED_PASSWORD)?;
        self.mask_encoded(&user, &password);
        Ok((Authentication::Password { user, password }, basic))
    }

    fn basic_auth(
        &mut self,
        user: &Node,
        password: &Node,
        user_path: &str,
        password_path: &str,
    ) -> Result<Secret, Message> {
        let user = self.user(user, user_path)?;
        let password = self.secret(password, password_path, MIN_MASKED_PASSWORD)?;
        self.mask_encoded(&user, &password);
        Ok(Secret::new(format!("{user}:{}", password.expose())))
    }

    fn user(&self, node: &Node, path: &str) -> Result<String, Message> {
        if self.secrets == Secrets::Skip {
            return text(node, path).map(str::to_owned);
        }
        self.plain_text(node, path)
    }

    /// The header form of a user and password is as good as the password.
    fn mask_encoded(&mut self, user: &str, password: &Secret) {
        if self.secrets == Secrets::Resolve {
            let pair = format!("{user}:{}", password.expose());
            self.masked.push(Secret::new(
                base64::engine::general_purpose::STANDARD.encode(pair),
            ));
        }
    }

    fn apps(&mut self) -> Result<Vec<LogicalApp>, Message> {
        let Some(Node::Object(entries)) = self.chain[0].get("apps") else {
            return Ok(Vec::new());
        };
        let mut apps = Vec::with_capacity(entries.len());
        for (name, entry) in entries {
            let path = join(&self.path("apps"), name);
            let id = match entry.get("id") {
                Some(node) => positive(node, &join(&path, "id"))?,
                None => return Err(required(&join(&path, "id"))),
            };
            let mut tokens = Vec::new();
            let path = join(&path, "tokens");
            match entry.get("tokens") {
                None | Some(Node::Null) => {}
                Some(Node::List(items)) if items.len() <= MAX_TOKENS => {
                    for item in items {
                        tokens.push(self.secret(item, &path, MIN_MASKED_TOKEN)?);
                    }
                }
                Some(_) => {
                    return Err(say!(
                        "{path}: must be a list of at most {MAX_TOKENS} strings",
                        "{path}: {MAX_TOKENS} 個までの文字列の配列を指定してください"
                    ));
                }
            }
            apps.push(LogicalApp {
                name: name.clone(),
                id,
                tokens,
            });
        }
        Ok(apps)
    }

    /// Names that SQL cannot tell apart would make a job write to the wrong app.
    fn app_map(&self, apps: &[LogicalApp]) -> Result<AppMap, Message> {
        let mut map = AppMap::new();
        for app in apps {
            map.insert(&app.name, AppId(app.id)).map_err(|earlier| {
                let (path, name) = (self.path("apps"), &app.name);
                say!(
                    "{path}: {name:?} and {earlier:?} are one name in SQL",
                    "{path}: {name:?} と {earlier:?} は SQL では同じ名前です"
                )
            })?;
        }
        Ok(map)
    }

    fn limits(&self) -> Result<Limits, Message> {
        let (section, path) = self.section("limits");
        let limit = |key: &str| match section.and_then(|node| node.get(key)) {
            None | Some(Node::Null) => Ok(None),
            Some(node) => positive(node, &join(&path, key)).map(Some),
        };
        let max_read_rows = limit("maxReadRows")?;
        if max_read_rows.is_some_and(|rows| rows > MAX_READ_ROWS) {
            return Err(say!(
                "{path}.maxReadRows: must be at most {MAX_READ_ROWS}",
                "{path}.maxReadRows: 上限は {MAX_READ_ROWS} です"
            ));
        }
        Ok(Limits {
            max_api_calls: limit("maxApiCalls")?,
            max_read_rows,
            max_temp_rows: limit("maxTempRows")?,
            batch_timeout_sec: limit("batchTimeoutSec")?.unwrap_or(3600),
            requests_in_flight: match section.and_then(|node| node.get("requestsInFlight")) {
                None | Some(Node::Null) => DEFAULT_REQUESTS_IN_FLIGHT,
                Some(node) => requests_in_flight(node, &join(&path, "requestsInFlight"))?,
            },
        })
    }

    fn retry(&self) -> Result<Retry, Message> {
        let (section, path) = self.section("retry");
        let member = |key: &str| {
            section
                .and_then(|node| node.get(key))
                .filter(|node| **node != Node::Null)
        };
        let or_default = |key: &str, default: u64| match member(key) {
            None => Ok(Number::from(default)),
            Some(node) => not_negative(node, &join(&path, key)),
        };
        Ok(Retry {
            max_attempts: or_default("maxAttempts", 5)?,
            initial_delay_ms: or_default("initialDelayMs", 1000)?,
            max_delay_ms: or_default("maxDelayMs", 60_000)?,
            respect_retry_after: match member("respectRetryAfter") {
                None => true,
                Some(node) => boolean(node, &join(&path, "respectRetryAfter"))?,
            },
        })
    }

    fn notifications(&mut self) -> Result<Notifications, Message> {
        let (section, path) = self.section("notifications");
        let member = |object: &str, key: &str| {
            section
                .and_then(|node| node.get(object))
                .and_then(|node| node.get(key))
                .filter(|node| **node != Node::Null)
        };
        let (webhook, url, on) = (
            member("onFailure", "webhook"),
            member("heartbeat", "url"),
            member("heartbeat", "on"),
        );
        let on = match on {
            None => HeartbeatOn::Success,
            Some(Node::Text(word)) if word == "success" => HeartbeatOn::Success,
            Some(Node::Text(word)) if word == "always" => HeartbeatOn::Always,
            Some(_) => {
                return Err(say!(
                    "{path}.heartbeat.on: must be success or always",
                    "{path}.heartbeat.on: success か always を指定してください"
                ));
            }
        };
        let webhook = match webhook {
            None => None,
            Some(node) => Some(self.secret(node, &format!("{path}.onFailure.webhook"), 1)?),
        };
        let heartbeat = match url {
            None => None,
            Some(node) => Some((self.secret(node, &format!("{path}.heartbeat.url"), 1)?, on)),
        };
        Ok(Notifications { webhook, heartbeat })
    }

    fn logging(&self) -> Result<Logging, Message> {
        let (section, path) = self.section("logging");
        let member = |key: &str| {
            section
                .and_then(|node| node.get(key))
                .filter(|node| **node != Node::Null)
        };
        let mut mask_fields = Vec::new();
        match member("maskFields") {
            None => {}
            Some(Node::List(items)) => {
                for item in items {
                    mask_fields.push(text(item, &join(&path, "maskFields"))?.to_owned());
                }
            }
            Some(_) => {
                return Err(say!(
                    "{path}.maskFields: must be a list of strings",
                    "{path}.maskFields: 文字列の配列を指定してください"
                ));
            }
        }
        Ok(Logging {
            local_dir: match member("localDir") {
                None => PathBuf::from(".ksql/logs"),
                Some(node) => PathBuf::from(text(node, &join(&path, "localDir"))?),
            },
            mask_fields,
            strip_literals: match member("stripLiterals") {
                None => false,
                Some(node) => boolean(node, &join(&path, "stripLiterals"))?,
            },
        })
    }
}
