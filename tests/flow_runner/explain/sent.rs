//! What a run sent, by the sandbox's log.

use serde_json::Value;

/// One request that is not about the log app.
#[derive(Debug)]
pub struct Request {
    /// `form`, `states`, `settings`, `read` or `write`.
    pub kind: &'static str,
    /// The app.
    pub app: u64,
    /// Query of a read.
    pub query: String,
    /// Fields of a read.
    pub fields: Vec<String>,
}

/// Requests of a run.
pub struct Sent {
    /// All but those to the log app, in order.
    pub requests: Vec<Request>,
    /// Number of requests to the log app.
    pub log: u64,
}

impl Sent {
    /// Sorts the log.
    pub fn of(log: &[Value], log_app: u64) -> Self {
        let mut sent = Self {
            requests: Vec::new(),
            log: 0,
        };
        for entry in log {
            let app = entry["apps"][0].as_u64().expect("an app");
            if app == log_app {
                sent.log += 1;
                continue;
            }
            let path = entry["path"].as_str().unwrap_or_default();
            let kind = match (entry["method"].as_str(), path) {
                (Some("GET"), "/k/v1/app/form/fields.json") => "form",
                (Some("GET"), "/k/v1/app/status.json") => "states",
                (Some("GET"), "/k/v1/app/settings.json") => "settings",
                (Some("GET"), "/k/v1/records.json") => "read",
                (Some("POST" | "PUT" | "DELETE"), "/k/v1/records.json") => "write",
                _ => panic!("what is {entry}?"),
            };
            let fields = entry["fields"].as_array().into_iter().flatten();
            sent.requests.push(Request {
                kind,
                app,
                query: if kind == "read" {
                    entry["query"].as_str().unwrap_or_default().to_owned()
                } else {
                    String::new()
                },
                fields: fields
                    .filter_map(|field| field.as_str().map(str::to_owned))
                    .collect(),
            });
        }
        sent
    }
}
