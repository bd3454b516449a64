//! Harness: the requests of a control plane, as places where a test cuts it off.

use serde_json::{Value as Json, json};

use super::sandbox::JOB_LOG;

/// A request of the control plane that a fault can be pinned to: the n-th of its kind.
#[derive(Clone, Debug)]
pub struct Boundary {
    pub method: String,
    pub path: String,
    pub app: u64,
    pub nth: usize,
}

impl Boundary {
    /// The `match` member of a fault.
    pub fn matching(&self) -> Json {
        let mut matched = json!({"method": self.method, "path": self.path});
        if self.app != 0 {
            matched["app"] = json!(self.app);
        }
        matched
    }
}

/// Requests of ksql-flownet among all logged ones: the runner only writes to the JOB log, ksql-flownet only reads it.
pub fn boundaries(log: &[Json]) -> Vec<Boundary> {
    let mut found: Vec<Boundary> = Vec::new();
    for request in log {
        let method = request["method"].as_str().unwrap_or_default().to_owned();
        let path = request["path"].as_str().unwrap_or_default().to_owned();
        let app = request["apps"][0].as_u64().unwrap_or(0);
        if app == JOB_LOG.0 && method != "GET" {
            continue;
        }
        let same = |b: &&Boundary| b.method == method && b.path == path && b.app == app;
        let nth = found.iter().filter(same).count() + 1;
        found.push(Boundary {
            method,
            path,
            app,
            nth,
        });
    }
    found
}
