//! The one function that every request passes: credentials, the read-only guard, the request limit, counting, retries
//! and their deadline (D-03, D-07, RNR-30 to RNR-34).

use std::fmt::Write as _;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::Value;
use ureq::http::{HeaderMap, HeaderValue, Method};

use super::budget::RequestCounts;
use super::config::{App, Auth, Config, ConfigError};
use super::error::{Error, ErrorKind, Outcome};
use super::limit;
use super::retry::{self, Repeat};
use super::transport::{Attempt, Wire};

/// Called after each attempt.
pub type Observer = Arc<dyn Fn(&Trace<'_>) + Send + Sync>;

/// One attempt, as told to the [`Observer`].
#[derive(Debug)]
pub struct Trace<'a> {
    /// The request: `GET records of the state app (app 11)`.
    pub request: &'a str,
    /// Number of the attempt, from 1.
    pub attempt: u32,
    /// How long it took.
    pub elapsed: Duration,
    /// Why it failed.
    pub error: Option<&'a Error>,
}

/// A complete, successful answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The body: valid JSON, unless the request was a download.
    pub body: Vec<u8>,
    /// `X-Cybozu-Warning`: kintone cut a `like` search short.
    pub warning: Option<String>,
}

/// What a request carries.
pub(super) enum Body<'a> {
    /// Parameters of a read: in the URL, or in the body when they are long (KTB-13).
    Parameters(Vec<(&'static str, Value)>),
    Json(Vec<u8>),
    Multipart {
        content_type: String,
        pieces: Vec<&'a [u8]>,
    },
}

/// A request to kintone's REST API, ready to be sent any number of times.
pub struct Request<'a> {
    pub(super) label: String,
    method: Method,
    path: String,
    body: Body<'a>,
    apps: Vec<&'a App>,
    charged: Vec<u64>,
    repeat: Repeat,
    transfer: bool,
    json: bool,
    max_bytes: u64,
}

impl<'a> Request<'a> {
    fn new(method: Method, path: &str, apps: &[&'a App], body: Body<'a>, repeat: Repeat) -> Self {
        let resource = path.strip_suffix(".json").unwrap_or(path);
        let mut label = format!("{method} {resource}");
        for (index, app) in apps.iter().enumerate() {
            label.push_str(if index == 0 { " of " } else { " and " });
            label.push_str(&app.named());
        }
        let charged = apps.iter().map(|app| app.id).collect();
        Self {
            label,
            method,
            path: path.to_owned(),
            body,
            apps: apps.to_vec(),
            charged,
            repeat,
            transfer: false,
            json: true,
            max_bytes: limit::ANSWER_BYTES,
        }
    }

    /// A read of `path`, which follows `/k/v1/`. Parameters may be texts, numbers, booleans or arrays of them; long ones
    /// travel in a POST with `X-HTTP-Method-Override: GET` (KTB-13), which is still a read.
    pub fn get(path: &str, app: &'a App, parameters: Vec<(&'static str, Value)>) -> Self {
        Self::new(
            Method::GET,
            path,
            &[app],
            Body::Parameters(parameters),
            Repeat::Read,
        )
    }

    /// A POST of a JSON body, not repeated unless [`Request::repeat`] says so.
    pub fn post(path: &str, apps: &[&'a App], body: &impl Serialize) -> Self {
        Self::new(
            Method::POST,
            path,
            apps,
            Body::Json(json_bytes(body)),
            Repeat::Never,
        )
    }

    /// A PUT of a JSON body, not repeated unless [`Request::repeat`] says so.
    pub fn put(path: &str, apps: &[&'a App], body: &impl Serialize) -> Self {
        Self::new(
            Method::PUT,
            path,
            apps,
            Body::Json(json_bytes(body)),
            Repeat::Never,
        )
    }

    /// A DELETE with its parameters in a JSON body (KTB-14), not repeated unless [`Request::repeat`] says so.
    pub fn delete(path: &str, apps: &[&'a App], body: &impl Serialize) -> Self {
        Self::new(
            Method::DELETE,
            path,
            apps,
            Body::Json(json_bytes(body)),
            Repeat::Never,
        )
    }

    pub(super) fn upload(app: &'a App, content_type: String, pieces: Vec<&'a [u8]>) -> Self {
        let body = Body::Multipart { content_type, pieces };
        let mut request = Self::new(Method::POST, "file.json", &[app], body, Repeat::Never);
        request.transfer = true;
        request.charged.clear();
        request
    }

    pub(super) fn download(app: &'a App, file_key: &str, max_bytes: u64) -> Self {
        let parameters = Body::Parameters(vec![("fileKey", Value::from(file_key))]);
        let mut request = Self::new(Method::GET, "file.json", &[app], parameters, Repeat::Read);
        request.transfer = true;
        request.json = false;
        request.max_bytes = max_bytes;
        request.charged.clear();
        request
    }

    /// Says when a write may be sent again. Reads stay reads.
    pub fn repeat(mut self, repeat: Repeat) -> Self {
        if !self.reads() {
            self.repeat = repeat;
        }
        self
    }

    /// Says which apps are charged, once per mention: the inner requests of a bulkRequest.
    pub(super) fn charge(mut self, apps: Vec<u64>) -> Self {
        self.charged = apps;
        self
    }

    fn reads(&self) -> bool {
        self.method == Method::GET
    }
}

impl App {
    /// How messages name it: `the state app (app 11)`.
    pub(super) fn named(&self) -> String {
        match (self.role.is_empty(), self.id) {
            (true, id) => format!("app {id}"),
            (false, 0) => format!("the {}", self.role),
            (false, id) => format!("the {} (app {id})", self.role),
        }
    }
}

/// A connection to one kintone domain. Clones share connections, counters and deadline.
#[derive(Clone)]
pub struct Client(Arc<Shared>);

struct Shared {
    config: Config,
    wire: Wire,
    counts: Mutex<RequestCounts>,
    read_deadline: Mutex<Option<Instant>>,
    /// `i64::MIN` until the first Date header.
    clock_offset_ms: AtomicI64,
}

/// A poisoned lock guards plain counters and instants, which are right at every moment.
fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Client {
    /// Makes a client; reads the CA file but opens no connection.
    pub fn new(config: Config) -> Result<Self, ConfigError> {
        if HeaderValue::from_str(&config.user_agent).is_err() {
            return Err(ConfigError::new(
                "the user agent holds characters that no header can carry",
            ));
        }
        let wire = Wire::new(&config)?;
        Ok(Self(Arc::new(Shared {
            config,
            wire,
            counts: Mutex::default(),
            read_deadline: Mutex::default(),
            clock_offset_ms: AtomicI64::new(i64::MIN),
        })))
    }

    /// The settings the client was made with.
    pub fn config(&self) -> &Config {
        &self.0.config
    }

    /// Reads are not repeated beyond this instant, and one that starts before it gets no more time than is left (at
    /// least a second): the lease must not run out while a read is being patient (D-03).
    pub fn set_read_deadline(&self, deadline: Option<Instant>) {
        *locked(&self.0.read_deadline) = deadline;
    }

    /// What was sent so far (D-07).
    pub fn requests(&self) -> RequestCounts {
        locked(&self.0.counts).clone()
    }

    /// kintone's clock minus the local one in milliseconds, from the last Date header; exact to about a second.
    pub fn clock_offset_ms(&self) -> Option<i64> {
        Some(self.0.clock_offset_ms.load(Ordering::Relaxed)).filter(|offset| *offset != i64::MIN)
    }

    /// Sends a request and gives back its complete answer; the JSON of the body has been checked.
    pub fn send(&self, request: &Request) -> Result<Answer, Error> {
        self.exchange(request, |answer| {
            if request.json {
                decode::<IgnoredAny>(&answer.body)?;
            }
            Ok(answer)
        })
    }

    /// Sends a request and decodes the JSON object of its answer.
    pub fn send_json(&self, request: &Request) -> Result<Value, Error> {
        self.exchange(request, |answer| decode(&answer.body))
    }

    /// The one function. An answer that `take` refuses counts as broken: a read is repeated, a write is of unknown
    /// outcome (ADJ-01).
    pub(super) fn exchange<T>(
        &self,
        request: &Request,
        take: impl Fn(Answer) -> Result<T, &'static str>,
    ) -> Result<T, Error> {
        let config = &self.0.config;
        if config.read_only && !request.reads() {
            let note = "refused in a read-only run, nothing was sent";
            return Err(Error::local(&request.label, ErrorKind::ReadOnly, note));
        }
        let wire_form = WireForm::new(config, request)?;
        let mut attempt = 0;
        let mut outcome = Outcome::NotApplied;
        loop {
            let result = if self.reserve(request) {
                attempt += 1;
                let started = Instant::now();
                let result = self.attempt(request, &wire_form, &take);
                if let Some(observer) = &config.observer {
                    let error = result.as_ref().err();
                    observer(&Trace {
                        request: &request.label,
                        attempt,
                        elapsed: started.elapsed(),
                        error,
                    });
                }
                result
            } else {
                let note = "the limit of requests is used up, nothing was sent";
                Err(Error::local(&request.label, ErrorKind::BudgetExhausted, note))
            };
            let mut error = match result {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            if !request.reads() && error.outcome() == Outcome::Unknown {
                outcome = Outcome::Unknown;
            }
            let again = attempt < config.retry.attempts.max(1) && config.retry.allows(request.repeat, &error);
            error.set_attempts(attempt);
            error.set_outcome(outcome);
            let wait = config.retry.wait(attempt, error.retry_after(), chance());
            if !again || self.too_late(request, wait) || !pause(wait, config.stop.as_deref()) {
                return Err(error);
            }
        }
    }

    /// Counts the coming attempt, unless the limit is reached (RNR-33).
    fn reserve(&self, request: &Request) -> bool {
        let mut counts = locked(&self.0.counts);
        let allowed = self.0.config.max_requests.is_none_or(|max| counts.total < max);
        if allowed {
            counts.add(&request.charged);
        }
        allowed
    }

    fn too_late(&self, request: &Request, wait: Duration) -> bool {
        let deadline = *locked(&self.0.read_deadline);
        request.reads() && deadline.is_some_and(|deadline| Instant::now() + wait >= deadline)
    }

    fn timeout(&self, request: &Request) -> Duration {
        let timeouts = &self.0.config.timeouts;
        let full = if request.transfer {
            timeouts.transfer
        } else {
            timeouts.request
        };
        match *locked(&self.0.read_deadline) {
            Some(deadline) if request.reads() => {
                let left = deadline.saturating_duration_since(Instant::now());
                full.min(left.max(limit::SHORTEST_REQUEST))
            }
            _ => full,
        }
    }

    fn attempt<T>(
        &self,
        request: &Request,
        wire_form: &WireForm,
        take: &impl Fn(Answer) -> Result<T, &'static str>,
    ) -> Result<T, Error> {
        let label = &request.label;
        let before = now_ms();
        let reply = self.0.wire.attempt(&Attempt {
            method: wire_form.method.clone(),
            url: &wire_form.url,
            headers: &wire_form.headers,
            body: &wire_form.pieces(request),
            max_bytes: request.max_bytes,
            timeout: self.timeout(request),
            idle: if request.reads() {
                limit::IDLE_FOR_READS
            } else {
                limit::IDLE_FOR_WRITES
            },
        });
        let reply = reply.map_err(|failure| Error::transport(label, failure.cause, failure.begun))?;
        let now = now_ms();
        self.note_clock(&reply.headers, before, now);
        if !(200..300).contains(&reply.status) {
            let wait = header(&reply.headers, "retry-after").and_then(|value| retry::retry_after(value, now));
            return Err(Error::answer(label, reply.status, &reply.body, wait));
        }
        let warning = header(&reply.headers, "x-cybozu-warning").map(str::to_owned);
        take(Answer {
            body: reply.body,
            warning,
        })
        .map_err(|note| Error::body(label, reply.status, note))
    }

    fn note_clock(&self, headers: &HeaderMap, before: i64, after: i64) {
        if let Some(date) = header(headers, "date").and_then(retry::http_date_ms) {
            // The header counts whole seconds: on average it is half a second behind.
            let offset = date + 500 - (before + (after - before) / 2);
            self.0.clock_offset_ms.store(offset, Ordering::Relaxed);
        }
    }
}

/// JSON text of a request body.
fn json_bytes(value: &impl Serialize) -> Vec<u8> {
    // Only a failing Serialize or a key that is no text could be refused; our payloads have neither, and kintone
    // refuses an empty body.
    serde_json::to_vec(value).unwrap_or_default()
}

/// Decodes a JSON answer; kintone's answers are always objects.
pub(super) fn decode<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, &'static str> {
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err("the body is not a JSON object");
    }
    serde_json::from_slice(body).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => "the body lacks what was promised",
        serde_json::error::Category::Eof => "the body is cut",
        _ => "the body is not JSON",
    })
}

/// A request as it goes onto the wire, the same in every attempt.
struct WireForm {
    method: Method,
    url: String,
    headers: Vec<(&'static str, HeaderValue)>,
    json: Vec<u8>,
}

impl WireForm {
    fn new(config: &Config, request: &Request) -> Result<Self, Error> {
        let fault = |note: &'static str| Error::local(&request.label, ErrorKind::Request, note);
        let mut headers = vec![(
            "accept-language",
            HeaderValue::from_static(config.accept_language),
        )];
        headers.push(credentials(&request.apps).map_err(fault)?);
        if let Some(user_and_password) = &config.basic_auth {
            let value = format!("Basic {}", BASE64.encode(user_and_password.expose()));
            headers.push(("authorization", secret_header(&value).map_err(fault)?));
        }
        let space = config
            .guest_space
            .map(|id| format!("guest/{id}/"))
            .unwrap_or_default();
        let mut url = format!("{}/k/{space}v1/{}", config.base_url, request.path);
        let mut method = request.method.clone();
        let mut json = Vec::new();
        match &request.body {
            Body::Parameters(parameters) => {
                let query = query_string(parameters);
                if url.len() + 1 + query.len() <= limit::TARGET_BYTES {
                    url.push('?');
                    url.push_str(&query);
                } else {
                    method = Method::POST;
                    headers.push(("x-http-method-override", HeaderValue::from_static("GET")));
                    headers.push(("content-type", HeaderValue::from_static("application/json")));
                    let object: serde_json::Map<String, Value> = parameters
                        .iter()
                        .map(|(name, value)| ((*name).to_owned(), value.clone()))
                        .collect();
                    json = Value::Object(object).to_string().into_bytes();
                }
            }
            Body::Json(bytes) => {
                headers.push(("content-type", HeaderValue::from_static("application/json")));
                json.clone_from(bytes);
            }
            Body::Multipart { content_type, .. } => {
                let value = HeaderValue::from_str(content_type).map_err(|_| fault("bad content type"))?;
                headers.push(("content-type", value));
            }
        }
        Ok(Self {
            method,
            url,
            headers,
            json,
        })
    }

    fn pieces<'b>(&'b self, request: &'b Request) -> Vec<&'b [u8]> {
        match &request.body {
            Body::Multipart { pieces, .. } => pieces.clone(),
            _ if self.json.is_empty() => Vec::new(),
            _ => vec![&self.json],
        }
    }
}

/// The one header that lets all apps of a request in (KTB-22, KTB-23, KTB-143).
fn credentials(apps: &[&App]) -> Result<(&'static str, HeaderValue), &'static str> {
    let mut tokens: Vec<&str> = Vec::new();
    let mut password = None;
    for app in apps {
        match &app.auth {
            Auth::Tokens(list) if list.is_empty() => return Err("the app has no API token"),
            Auth::Tokens(list) => {
                for token in list.iter().map(super::Secret::expose) {
                    if !tokens.contains(&token) {
                        tokens.push(token);
                    }
                }
            }
            Auth::Password {
                user,
                password: secret,
            } => {
                let pair = (user.as_str(), secret.expose());
                if password.replace(pair).is_some_and(|other| other != pair) {
                    return Err("the apps of one request need one user");
                }
            }
        }
    }
    match (password, tokens.len()) {
        (Some((user, secret)), 0) => {
            let value = BASE64.encode(format!("{user}:{secret}"));
            Ok(("x-cybozu-authorization", secret_header(&value)?))
        }
        (None, 1..=limit::TOKENS) => Ok(("x-cybozu-api-token", secret_header(&tokens.join(","))?)),
        (None, 0) => Err("the request names no app"),
        (None, _) => Err("more than 9 API tokens in one request"),
        (Some(_), _) => Err("API tokens and a password cannot be mixed in one request"),
    }
}

fn secret_header(value: &str) -> Result<HeaderValue, &'static str> {
    let mut header = HeaderValue::from_str(value)
        .map_err(|_| "the credentials hold a line break or another character that no header can carry")?;
    header.set_sensitive(true);
    Ok(header)
}

/// Parameters as a query string: arrays as `name[0]=...` (KTB-14).
fn query_string(parameters: &[(&'static str, Value)]) -> String {
    let mut out = String::new();
    let mut pair = |name: &str, value: &Value| {
        if !out.is_empty() {
            out.push('&');
        }
        percent_encode(&mut out, name);
        out.push('=');
        match value {
            Value::String(text) => percent_encode(&mut out, text),
            other => percent_encode(&mut out, &other.to_string()),
        }
    };
    for (name, value) in parameters {
        match value {
            Value::Array(items) => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(i, item)| pair(&format!("{name}[{i}]"), item));
            }
            one => pair(name, one),
        }
    }
    out
}

fn percent_encode(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

fn header<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name)?.to_str().ok()
}

/// Milliseconds since 1970 of the local wall clock.
fn now_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |d| d.as_millis() as i64)
}

/// A number in 0..1 for the jitter; without a random source the longest wait is the safe choice.
fn chance() -> f64 {
    let mut bytes = [0; 4];
    match getrandom::getrandom(&mut bytes) {
        Ok(()) => f64::from(u32::from_le_bytes(bytes)) / 4_294_967_296.0,
        Err(_) => 1.0,
    }
}

/// Waits; false when the stop flag cut it short.
fn pause(wait: Duration, stop: Option<&AtomicBool>) -> bool {
    let end = Instant::now() + wait;
    loop {
        if stop.is_some_and(|stop| stop.load(Ordering::Relaxed)) {
            return false;
        }
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return true;
        }
        std::thread::sleep(left.min(limit::WAIT_SLICE));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kintone::Secret;
    use proptest::prelude::*;

    fn app(id: u64, tokens: &[&str]) -> App {
        let tokens = tokens.iter().map(|t| Secret::new(*t)).collect();
        App {
            id,
            role: "state app".into(),
            auth: Auth::Tokens(tokens),
        }
    }

    #[test]
    fn tokens_of_all_apps_in_one_header() {
        let (a, b) = (app(1, &["one", "two"]), app(2, &["two", "three"]));
        let (name, value) = credentials(&[&a, &b]).unwrap();
        assert_eq!(
            (name, value.to_str().unwrap(), value.is_sensitive()),
            ("x-cybozu-api-token", "one,two,three", true)
        );
        let user = |user: &str| App {
            auth: Auth::Password {
                user: user.into(),
                password: Secret::new("pw"),
            },
            ..app(3, &[])
        };
        let (name, value) = credentials(&[&user("u"), &user("u")]).unwrap();
        assert_eq!(
            (name, value.to_str().unwrap()),
            ("x-cybozu-authorization", "dTpwdw==")
        );
        assert!(credentials(&[&user("u"), &user("v")]).is_err());
        assert!(credentials(&[&user("u"), &a]).is_err());
        assert!(credentials(&[&app(1, &[])]).is_err());
        assert!(credentials(&[]).is_err());
        assert!(credentials(&[&app(1, &["a\nb"])]).is_err());
        let many: Vec<String> = (0..10).map(|n| format!("t{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(credentials(&[&app(1, &many[..9])]).is_ok());
        assert!(credentials(&[&app(1, &many)]).is_err());
    }

    #[test]
    fn parameters_as_kintone_reads_them() {
        let parameters = vec![
            ("app", Value::from(7)),
            ("query", Value::from("f in (\"a b\")")),
            ("fields", serde_json::json!(["$id", "文字"])),
            ("totalCount", Value::from(true)),
        ];
        assert_eq!(
            query_string(&parameters),
            "app=7&query=f%20in%20%28%22a%20b%22%29&fields%5B0%5D=%24id&fields%5B1%5D=%E6%96%87%E5%AD%97&totalCount=true"
        );
    }

    #[test]
    fn names_of_requests() {
        let (a, new) = (
            app(11, &["t"]),
            App {
                role: "log app".into(),
                ..app(0, &["t"])
            },
        );
        assert_eq!(
            Request::get("records.json", &a, vec![]).label,
            "GET records of the state app (app 11)"
        );
        assert_eq!(
            Request::post("bulkRequest.json", &[&a, &new], &Value::Null).label,
            "POST bulkRequest of the state app (app 11) and the log app"
        );
    }

    #[test]
    fn stop_ends_a_wait() {
        let stop = AtomicBool::new(true);
        assert!(!pause(Duration::from_secs(3600), Some(&stop)));
        assert!(pause(Duration::ZERO, None));
    }

    proptest! {
        #[test]
        fn percent_encoding_is_plain_and_reversible(text in any::<String>()) {
            let mut out = String::new();
            percent_encode(&mut out, &text);
            prop_assert!(out.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~%".contains(&b)));
            let mut back = Vec::new();
            let mut bytes = out.bytes();
            while let Some(b) = bytes.next() {
                if b == b'%' {
                    let hex = [bytes.next().unwrap(), bytes.next().unwrap()];
                    back.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
                } else {
                    back.push(b);
                }
            }
            prop_assert_eq!(back, text.into_bytes());
        }

        #[test]
        fn any_body_decodes_or_fails(body in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = decode::<Value>(&body);
        }
    }
}
