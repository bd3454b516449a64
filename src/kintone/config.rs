//! Where kintone is, who we are there, and how patient the client is (D-03, D-04).

use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use super::client::Observer;
use super::limit;
use super::proxy::Proxy;
use super::retry::Retry;
use super::secret::Secret;
use super::wording::Phrase;
use crate::language::Language;

/// A setting that the client cannot work with. The text never holds a secret.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConfigError(Phrase);

impl ConfigError {
    pub(super) fn new(text: impl Into<Phrase>) -> Self {
        Self(text.into())
    }

    /// The text in a language.
    pub fn text(&self, language: Language) -> &str {
        self.0.get(language)
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text(Language::English))
    }
}

impl std::error::Error for ConfigError {}

/// The address of a kintone domain: `https://HOST[:PORT]`, or `http://` for loopback hosts only (D-04).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BaseUrl {
    text: String,
    host: String,
    port: u16,
    https: bool,
}

impl BaseUrl {
    /// Reads and checks an address. One trailing `/` is dropped; path, query, fragment and user information are refused.
    pub fn parse(text: &str) -> Result<Self, ConfigError> {
        let fault = |what: &str, japanese: &str| {
            Err(ConfigError::new(Phrase::new(
                format!("the kintone base URL {what}; write https://SUBDOMAIN.cybozu.com"),
                format!("kintone の URL {japanese}。https://サブドメイン.cybozu.com の形で書いてください"),
            )))
        };
        let (https, rest) = if let Some(rest) = strip_scheme(text, "https://") {
            (true, rest)
        } else if let Some(rest) = strip_scheme(text, "http://") {
            (false, rest)
        } else {
            return fault("must begin with https://", "は https:// で始めてください");
        };
        let authority = rest.strip_suffix('/').unwrap_or(rest);
        if authority.contains('@') {
            return fault(
                "must not hold a user name or password",
                "にユーザー名やパスワードは書けません",
            );
        }
        if authority.contains(['/', '?', '#']) {
            return fault(
                "must not hold a path, query or fragment",
                "にパス、クエリ、フラグメントは書けません",
            );
        }
        let (host, port) = match split_port(authority) {
            Some((host, None)) => (host, if https { 443 } else { 80 }),
            Some((host, Some(port))) => (host, port),
            None => {
                return fault(
                    "has a port that is not a number from 1 to 65535",
                    "のポートは 1 から 65535 の数でなければなりません",
                );
            }
        };
        if !is_host(host) {
            return fault("has no valid host name", "のホスト名が正しくありません");
        }
        let host = host.to_ascii_lowercase();
        if !https && !is_loopback(&host) {
            return fault(
                "may use http only for the local host",
                "で http を使えるのはローカルホストだけです",
            );
        }
        let scheme = if https { "https" } else { "http" };
        Ok(Self {
            text: format!("{scheme}://{}", authority.to_ascii_lowercase()),
            host,
            port,
            https,
        })
    }

    /// The address without a trailing slash.
    pub fn as_str(&self) -> &str {
        &self.text
    }

    /// The host name in lower case; IPv6 addresses keep their brackets.
    pub fn host(&self) -> &str {
        &self.host
    }

    /// The port, also when the address left it out.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whether requests are encrypted; if not, the host is the local one.
    pub fn is_https(&self) -> bool {
        self.https
    }
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

fn strip_scheme<'a>(text: &'a str, scheme: &str) -> Option<&'a str> {
    let head = text.get(..scheme.len())?;
    head.eq_ignore_ascii_case(scheme).then(|| &text[scheme.len()..])
}

/// Splits `HOST[:PORT]`; `None` when the port is not one.
pub(super) fn split_port(authority: &str) -> Option<(&str, Option<u16>)> {
    let after_host = authority.rfind(']').map_or(0, |end| end + 1);
    match authority[after_host..].rfind(':') {
        None => Some((authority, None)),
        Some(colon) => {
            let (host, port) = authority.split_at(after_host + colon);
            let port = &port[1..];
            let digits = !port.is_empty() && port.bytes().all(|b| b.is_ascii_digit());
            let port = port.parse().ok().filter(|p| digits && *p > 0)?;
            Some((host, Some(port)))
        }
    }
}

/// Whether the text is a host name of letters, digits, `-`, `.`, or a bracketed IPv6 address.
pub(super) fn is_host(host: &str) -> bool {
    if let Some(inner) = host.strip_prefix('[').and_then(|h| h.strip_suffix(']')) {
        return inner.parse::<std::net::Ipv6Addr>().is_ok();
    }
    let label = |l: &str| {
        !l.is_empty()
            && l.len() <= 63
            && l.bytes()
                .all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_')
            && !l.starts_with('-')
    };
    host.len() <= 253 && host.split('.').all(label)
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    bare == "localhost" || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

/// How an app lets us in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Auth {
    /// API tokens of that app, and of apps its lookups need (RNR-30); at most nine per request (KTB-23).
    Tokens(Vec<Secret>),
    /// A user of the domain.
    Password {
        /// Login name.
        user: String,
        /// Password.
        password: Secret,
    },
}

/// An app as the client addresses it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct App {
    /// App id.
    pub id: u64,
    /// For messages: its part in the play, `state app`, or its name, `LAPP_orders`, which begins with a capital.
    pub role: String,
    /// Its credentials.
    pub auth: Auth,
}

impl App {
    /// An app with one API token.
    pub fn with_token(id: u64, role: impl Into<String>, token: Secret) -> Self {
        Self {
            id,
            role: role.into(),
            auth: Auth::Tokens(vec![token]),
        }
    }
}

/// How long one attempt may take (D-03).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Timeouts {
    /// Name resolution, connection and TLS handshake.
    pub connect: Duration,
    /// A whole request.
    pub request: Duration,
    /// A whole upload or download.
    pub transfer: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: limit::CONNECT,
            request: limit::REQUEST,
            transfer: limit::TRANSFER,
        }
    }
}

/// Everything a client is made of. [`Config::new`] gives the control plane's settings.
#[derive(Clone)]
pub struct Config {
    /// The kintone domain.
    pub base_url: BaseUrl,
    /// The guest space that all apps live in; paths become `/k/guest/ID/v1/` (KTB-31).
    pub guest_space: Option<u64>,
    /// PEM file with certificate authorities to trust besides the built-in ones.
    pub ca_file: Option<PathBuf>,
    /// `user:password` of a Basic authentication in front of kintone.
    pub basic_auth: Option<Secret>,
    /// The proxy to go through; see [`Proxy::from_env`].
    pub proxy: Option<Proxy>,
    /// `User-Agent` with the version.
    pub user_agent: String,
    /// `Accept-Language`: kintone's messages are shown, never decided on (KTB-03).
    pub accept_language: String,
    /// Time limits.
    pub timeouts: Timeouts,
    /// Connections kept open between requests: as many as are in flight at once.
    pub idle_connections: usize,
    /// What is repeated, how often.
    pub retry: Retry,
    /// Attempts that this client may make in its life (RNR-33).
    pub max_requests: Option<u64>,
    /// Refuse every request that is not a read, before sending it (RNR-34).
    pub read_only: bool,
    /// When set to true by anyone, waits between attempts end at once and the last error is returned. It does not stop
    /// requests themselves.
    pub stop: Option<Arc<AtomicBool>>,
    /// Called after each attempt, for `--verbose`.
    pub observer: Option<Observer>,
}

impl Config {
    /// Where the API begins on the domain: `/k/v1/`, or `/k/guest/ID/v1/` (RNR-31).
    pub(super) fn api_prefix(&self) -> String {
        match self.guest_space {
            None => "/k/v1/".to_owned(),
            Some(id) => format!("/k/guest/{id}/v1/"),
        }
    }

    /// The control plane's settings for a domain: D-03 times and retries, no proxy.
    pub fn new(base_url: BaseUrl) -> Self {
        Self {
            base_url,
            guest_space: None,
            ca_file: None,
            basic_auth: None,
            proxy: None,
            user_agent: concat!("ksql-flownet/", env!("CARGO_PKG_VERSION")).to_owned(),
            accept_language: "ja".to_owned(),
            timeouts: Timeouts::default(),
            idle_connections: limit::IDLE_CONNECTIONS,
            retry: Retry::default(),
            max_requests: None,
            read_only: false,
            stop: None,
            observer: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_https_and_local_http() {
        for (text, plain, host, port) in [
            (
                "https://Example.cybozu.com/",
                "https://example.cybozu.com",
                "example.cybozu.com",
                443,
            ),
            (
                "HTTPS://example.kintone.com:8443",
                "https://example.kintone.com:8443",
                "example.kintone.com",
                8443,
            ),
            (
                "http://127.0.0.1:8080/",
                "http://127.0.0.1:8080",
                "127.0.0.1",
                8080,
            ),
            ("http://[::1]:81", "http://[::1]:81", "[::1]", 81),
            ("http://localhost", "http://localhost", "localhost", 80),
        ] {
            let url = BaseUrl::parse(text).unwrap();
            assert_eq!((url.as_str(), url.host(), url.port()), (plain, host, port));
        }
    }

    #[test]
    fn refuses_what_would_leak_or_mislead() {
        for (text, why) in [
            ("http://example.cybozu.com", "only for the local host"),
            ("http://127.0.0.1.example.com", "only for the local host"),
            ("http://localhost.example.com", "only for the local host"),
            ("https://user:pw@example.com", "user name"),
            ("https://example.com/k/v1", "path"),
            ("https://example.com//", "path"),
            ("https://example.com?x", "path"),
            ("https://example.com:0", "port"),
            ("https://example.com:99999", "port"),
            ("https://example.com:", "port"),
            ("https://example.com:+80", "port"),
            ("https://", "host"),
            ("https://a b", "host"),
            ("https://[::1", "host"),
            ("https://a..b", "host"),
            ("example.cybozu.com", "https://"),
            ("ftp://example.com", "https://"),
            ("", "https://"),
            ("ｈttps://example.com", "https://"),
        ] {
            let error = BaseUrl::parse(text).unwrap_err().to_string();
            assert!(error.contains(why), "{text}: {error}");
            assert!(!error.contains("pw"), "{error}");
        }
    }
}
