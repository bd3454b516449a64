//! The log of requests: what came in, what it was about, what became of it. No credentials.
use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value as Json, json};

use crate::sandbox::error::ApiError;
use crate::sandbox::handler::params::{Params, as_id};
use crate::sandbox::http::request::Request;
use crate::sandbox::service::Call;

/// Entries that are kept; older ones are forgotten, the counters go on.
const MAX_ENTRIES: usize = 200_000;
/// Characters of a summary.
const MAX_SUMMARY: usize = 160;

/// One request.
#[derive(Debug)]
pub struct Entry {
    /// Running number from 1, in the order of arrival.
    pub number: u64,
    /// Method after override.
    pub method: String,
    /// Path.
    pub path: String,
    /// The record query, else the raw query string.
    pub query: String,
    /// Apps it names, those of inner requests too.
    pub apps: BTreeSet<u64>,
    /// Status of the answer; none when the connection was closed.
    pub status: Option<u16>,
    /// The service itself answered with success, whatever the client saw.
    pub applied: bool,
    /// The fault that hit it.
    pub fault: Option<&'static str>,
    summary: String,
    /// Fields that a read asks for.
    fields: Vec<String>,
    bytes: usize,
    running: u32,
}

static NUMBER: AtomicU64 = AtomicU64::new(0);

impl Entry {
    /// The entry of a request that just came in.
    pub fn new(request: &Request, call: &Result<Call, ApiError>, running: u32) -> Self {
        let (method, query, apps, summary, fields) = match call {
            Ok(call) => {
                let query = call.params.text("query").unwrap_or_default();
                let query = if query.is_empty() {
                    request.query.clone()
                } else {
                    query
                };
                (
                    call.method.clone(),
                    query,
                    apps_of(&call.params),
                    summary(&call.params),
                    fields(&call.params),
                )
            }
            Err(_) => (
                request.method.clone(),
                request.query.clone(),
                BTreeSet::new(),
                String::new(),
                Vec::new(),
            ),
        };
        Self {
            number: NUMBER.fetch_add(1, Ordering::Relaxed) + 1,
            method,
            path: request.path.clone(),
            query,
            apps,
            status: None,
            applied: false,
            fault: None,
            summary,
            fields,
            bytes: request.body.len(),
            running,
        }
    }

    fn json(&self) -> Json {
        json!({
            "n": self.number,
            "method": self.method,
            "path": self.path,
            "query": self.query,
            "apps": self.apps,
            "status": self.status,
            "applied": self.applied,
            "fault": self.fault,
            "summary": self.summary,
            "fields": self.fields,
            "bytes": self.bytes,
        })
    }
}

fn apps_of(params: &Params) -> BTreeSet<u64> {
    let own = params.get("app").and_then(as_id);
    let inner = inner_requests(params).filter_map(|request| request.pointer("/payload/app").and_then(as_id));
    own.into_iter().chain(inner).collect()
}

fn fields(params: &Params) -> Vec<String> {
    let fields = params
        .get("fields")
        .and_then(Json::as_array)
        .into_iter()
        .flatten();
    fields
        .filter_map(|field| field.as_str().map(str::to_owned))
        .collect()
}

fn inner_requests(params: &Params) -> impl Iterator<Item = &Json> {
    params
        .get("requests")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
}

/// Record types, statuses or first words of the query: enough to recognise a request in a test's output.
fn summary(params: &Params) -> String {
    let mut words: Vec<String> = Vec::new();
    if let Some(query) = params.get("query").and_then(Json::as_str) {
        words.push(query.to_owned());
    }
    describe(params.get("record"), params.get("records"), &mut words);
    for request in inner_requests(params) {
        let text = |pointer: &str| request.pointer(pointer).and_then(Json::as_str).unwrap_or("?");
        let api = text("/api").rsplit('/').next().unwrap_or("?");
        words.push(format!("{} {api}", text("/method")));
        describe(
            request.pointer("/payload/record"),
            request.pointer("/payload/records"),
            &mut words,
        );
    }
    let text = words.join("; ");
    text.chars().take(MAX_SUMMARY).collect()
}

fn describe(record: Option<&Json>, records: Option<&Json>, words: &mut Vec<String>) {
    let many = records.and_then(Json::as_array).into_iter().flatten();
    let many = many.map(|entry| entry.get("record").unwrap_or(entry));
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for record in record.into_iter().chain(many) {
        let value = |code: &str| {
            record
                .get(code)
                .and_then(|field| field.get("value"))
                .and_then(Json::as_str)
        };
        let parts: Vec<&str> = ["record_type", "status"].into_iter().filter_map(value).collect();
        let name = if parts.is_empty() {
            "record".to_owned()
        } else {
            parts.join(" ")
        };
        *seen.entry(name).or_default() += 1;
    }
    words.extend(seen.into_iter().map(|(name, count)| {
        if count == 1 {
            name
        } else {
            format!("{count} x {name}")
        }
    }));
}

/// The log with its counters.
#[derive(Default)]
pub struct Trail(Mutex<Log>);

#[derive(Default)]
struct Log {
    entries: VecDeque<Entry>,
    total: u64,
    by_app: BTreeMap<u64, u64>,
    by_endpoint: BTreeMap<String, u64>,
    max_concurrent: u32,
}

impl Trail {
    /// Adds an entry.
    pub fn add(&self, entry: Entry) {
        let mut log = self.lock();
        log.total += 1;
        for app in &entry.apps {
            *log.by_app.entry(*app).or_default() += 1;
        }
        *log.by_endpoint
            .entry(format!("{} {}", entry.method, entry.path))
            .or_default() += 1;
        log.max_concurrent = log.max_concurrent.max(entry.running);
        if log.entries.len() >= MAX_ENTRIES {
            log.entries.pop_front();
        }
        log.entries.push_back(entry);
    }

    /// Forgets everything, counters too.
    pub fn clear(&self) {
        *self.lock() = Log::default();
    }

    /// All entries by number.
    pub fn list(&self) -> Json {
        let log = self.lock();
        let mut entries: Vec<&Entry> = log.entries.iter().collect();
        entries.sort_by_key(|entry| entry.number);
        json!({ "requests": entries.into_iter().map(Entry::json).collect::<Vec<_>>() })
    }

    /// The counters since the last clearing.
    pub fn counters(&self) -> Json {
        let log = self.lock();
        json!({
            "total": log.total,
            "by_app": log.by_app.iter().map(|(app, count)| (app.to_string(), *count)).collect::<BTreeMap<_, _>>(),
            "by_endpoint": log.by_endpoint,
            "max_concurrent": log.max_concurrent,
        })
    }

    fn lock(&self) -> MutexGuard<'_, Log> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
