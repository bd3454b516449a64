//! Harness: the requests of a control plane, as places where a test cuts it off.
#![allow(dead_code, reason = "every test binary uses another part")]

use std::process::{Command, Output};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

use super::sandbox::{JOB_LOG, Sandbox};

/// How a request is disturbed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    KilledBefore,
    KilledAfter,
    AnswerLost,
    Refused503,
}

pub const MODES: [Mode; 4] = [
    Mode::KilledBefore,
    Mode::KilledAfter,
    Mode::AnswerLost,
    Mode::Refused503,
];

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

fn fault(at: &Boundary, mode: Mode) -> Json {
    let action = match mode {
        Mode::KilledBefore => "hold_before",
        Mode::KilledAfter => "hold_after",
        Mode::AnswerLost => "drop_after",
        Mode::Refused503 => "status",
    };
    json!({"match": at.matching(), "nth": at.nth, "times": 1, "action": action, "status": 503, "body": "<html>busy</html>"})
}

/// Runs the disturbed command. A killed process gives no output.
pub fn disturbed(sandbox: &Sandbox, mut command: Command, at: &Boundary, mode: Mode) -> Option<Output> {
    sandbox.fault(&fault(at, mode));
    let mut child = command.spawn().expect("ksql-flownet starts");
    if matches!(mode, Mode::AnswerLost | Mode::Refused503) {
        return Some(child.wait_with_output().expect("ends"));
    }
    let patience = Instant::now() + Duration::from_mins(1);
    loop {
        let holds = sandbox.control("GET", "holds", &json!({}));
        if let Some(id) = holds["holds"][0]["id"].as_str() {
            child.kill().expect("kill -9");
            child.wait().expect("reaped");
            sandbox.drop_held(id);
            return None;
        }
        if child.try_wait().expect("state").is_some() {
            // The boundary was not reached: a request more or less than in the undisturbed course.
            return Some(child.wait_with_output().expect("output"));
        }
        assert!(Instant::now() < patience, "neither held nor ended");
        std::thread::sleep(Duration::from_millis(2));
    }
}
