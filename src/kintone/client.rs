//! The one function that every request passes: the read-only guard, the request limit, counting, retries and their
//! deadline (D-03, D-07, RNR-32 to RNR-34).

use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use serde::de::IgnoredAny;
use serde_json::Value;
use ureq::http::{HeaderMap, HeaderValue};

use super::budget::RequestCounts;
use super::config::{Config, ConfigError};
use super::error::{Error, ErrorKind, Outcome};
use super::limit;
use super::request::{Request, WireForm};
use super::retry;
use super::transport::{Attempt, Wire};
use crate::language::{Language, Text, text};

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
    /// `X-Cybozu-Warning`: kintone cut a `like` search short. No other warning is known.
    pub warning: Option<String>,
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
        let sound = |text: &str| HeaderValue::from_str(text).is_ok();
        if !sound(&config.user_agent) || !sound(&config.accept_language) {
            return Err(ConfigError::new(text(
                "the user agent or language holds characters that no header can carry",
                "ユーザーエージェントか言語に、ヘッダーで送れない文字が含まれています",
            )));
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
        take: impl Fn(Answer) -> Result<T, Text>,
    ) -> Result<T, Error> {
        let config = &self.0.config;
        if config.read_only && !request.reads() {
            let note = text(
                "refused in a read-only run, nothing was sent",
                "読み取り専用の実行なので拒否しました。何も送信していません",
            );
            return Err(Error::local(&request.label, ErrorKind::ReadOnly, note));
        }
        let wire_form = WireForm::new(config, request)?;
        let mut attempt = 0;
        let mut unknown = false;
        loop {
            if !self.reserve(request) {
                let note = text(
                    "the limit of requests is used up, nothing was sent",
                    "リクエスト数の上限に達しました。何も送信していません",
                );
                let mut error = Error::local(&request.label, ErrorKind::BudgetExhausted, note);
                error.settle(attempt, unknown);
                return Err(error);
            }
            attempt += 1;
            let started = Instant::now();
            let mut result = self.attempt(request, &wire_form, &take);
            if let Err(error) = &mut result {
                // A read changes nothing; a write stays unknown once one of its attempts was.
                unknown = !request.reads() && (unknown || error.outcome() == Outcome::Unknown);
                error.settle(attempt, unknown);
            }
            if let Some(observer) = &config.observer {
                let error = result.as_ref().err();
                observer(&Trace {
                    request: request.label.get(Language::English),
                    attempt,
                    elapsed: started.elapsed(),
                    error,
                });
            }
            let mut error = match result {
                Ok(value) => return Ok(value),
                Err(error) => error,
            };
            let worth_it = config.retry.allows(request.repeat, &error);
            let again = attempt < config.retry.attempts.max(1) && worth_it;
            if worth_it && !again && attempt > 1 {
                error.exhaust();
            }
            let wait = config.retry.wait(attempt, error.retry_after(), chance());
            if !again || !self.in_time(request, wait) || !pause(wait, config.stop.as_deref()) {
                return Err(error);
            }
        }
    }

    /// Whether a repetition after `wait` comes before the deadline.
    ///
    /// A process that was frozen meets a deadline that passed meanwhile, and so does the thread that renews the lease and
    /// moves the deadline: it is given a moment.
    fn in_time(&self, request: &Request, wait: Duration) -> bool {
        let end = Instant::now() + limit::RENEWAL;
        while self.too_late(request, wait) {
            if Instant::now() >= end || !pause(limit::WAIT_SLICE, self.0.config.stop.as_deref()) {
                return false;
            }
        }
        true
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
        let full = full.min(limit::ANY_WAIT);
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
        take: &impl Fn(Answer) -> Result<T, Text>,
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

/// Decodes a JSON answer; kintone's answers are always objects.
pub(super) fn decode<T: serde::de::DeserializeOwned>(body: &[u8]) -> Result<T, Text> {
    if body.trim_ascii_start().first() != Some(&b'{') {
        return Err(text(
            "the body is not a JSON object",
            "本文が JSON オブジェクトではありません",
        ));
    }
    serde_json::from_slice(body).map_err(|error| match error.classify() {
        serde_json::error::Category::Data => {
            text("the body lacks what was promised", "本文に必要な項目がありません")
        }
        serde_json::error::Category::Eof => text("the body is cut", "本文が途中で切れています"),
        _ => text("the body is not JSON", "本文が JSON ではありません"),
    })
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

/// A number for the jitter; without a random source the longest wait is the safe choice.
fn chance() -> u32 {
    let mut bytes = [0; 4];
    match getrandom::getrandom(&mut bytes) {
        Ok(()) => u32::from_le_bytes(bytes),
        Err(_) => u32::MAX,
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
    use proptest::prelude::*;

    #[test]
    fn stop_ends_a_wait() {
        let stop = AtomicBool::new(true);
        assert!(!pause(Duration::from_hours(1), Some(&stop)));
        assert!(pause(Duration::ZERO, None));
    }

    proptest! {
        #[test]
        fn any_body_decodes_or_fails(body in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = decode::<Value>(&body);
        }
    }
}
