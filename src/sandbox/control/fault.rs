//! Faults: which request is hit and what happens to it.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde::Deserialize;

use super::trail::Entry;
use crate::sandbox::http::request::Request;
use crate::sandbox::http::response::Response;
use crate::sandbox::ident;

/// Longest delay of one fault, milliseconds.
const MAX_DELAY_MS: u64 = 600_000;

/// A fault as a test orders it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Order {
    #[serde(default, rename = "match")]
    matching: Matching,
    /// Which matching request is hit first, counted from now; default 1.
    #[serde(default = "one")]
    nth: u64,
    /// How many matching requests in a row are hit; default 1.
    #[serde(default = "one")]
    times: u64,
    action: String,
    status: Option<u16>,
    body: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    code: Option<String>,
    #[serde(default)]
    after: bool,
    ms: Option<u64>,
    #[serde(default)]
    when_gone: Option<String>,
}

fn one() -> u64 {
    1
}

/// What a request must have; every member is optional.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Matching {
    method: Option<String>,
    path: Option<String>,
    app: Option<u64>,
    contains: Option<String>,
}

/// What happens to a request.
#[derive(Debug)]
pub enum Action {
    /// Close without applying.
    DropBefore,
    /// Apply, then close without an answer.
    DropAfter,
    /// Apply, then close in the middle of the answer.
    Cut,
    /// Another answer.
    Status(StatusAnswer),
    /// Apply, then add headers to the answer: kintone warns by a header alone.
    Headers(BTreeMap<String, String>),
    /// Wait, then go on.
    Delay(Duration),
    /// Park before applying; `keep`: stay parked when the client is gone.
    HoldBefore {
        /// Stay parked when the client is gone.
        keep: bool,
    },
    /// Park after applying.
    HoldAfter,
}

/// The answer of a `status` fault.
#[derive(Debug)]
pub struct StatusAnswer {
    status: u16,
    body: Option<String>,
    headers: BTreeMap<String, String>,
    code: Option<String>,
    /// Apply the request first.
    pub after: bool,
}

impl StatusAnswer {
    /// The answer: the given body, or the service's error shape when a code was given, or a front-end's HTML (KTB-11).
    pub fn response(&self) -> Response {
        let mut response = match (&self.body, &self.code) {
            (Some(body), _) if body.trim_start().starts_with('{') => {
                Response::json(self.status, body.clone().into_bytes())
            }
            (Some(body), _) => Response::new(self.status, "text/html", body.clone().into_bytes()),
            (None, Some(code)) => {
                let body = serde_json::json!({
                    "code": code, "id": ident::error_id(), "message": "Ordered by the test." });
                Response::json(self.status, body.to_string().into_bytes())
            }
            (None, None) => {
                let body = format!("<html><body><h1>{}</h1></body></html>", self.status);
                Response::new(self.status, "text/html", body.into_bytes())
            }
        };
        if let Some(code) = &self.code {
            response.set_header("X-Cybozu-Error", code.as_str());
        }
        for (name, value) in &self.headers {
            response.set_header(name, value.as_str());
        }
        response
    }
}

impl Action {
    /// Name as ordered.
    pub fn name(&self) -> &'static str {
        match self {
            Self::DropBefore => "drop_before",
            Self::DropAfter => "drop_after",
            Self::Cut => "cut",
            Self::Status(_) => "status",
            Self::Headers(_) => "headers",
            Self::Delay(_) => "delay",
            Self::HoldBefore { .. } => "hold_before",
            Self::HoldAfter => "hold_after",
        }
    }
}

/// A fault that hit.
#[derive(Debug)]
pub struct Fault {
    /// What happens.
    pub action: std::sync::Arc<Action>,
}

/// A request as a fault sees it.
pub struct Seen<'a> {
    /// The request.
    pub request: &'a Request,
    /// Its entry in the log.
    pub entry: &'a Entry,
}

struct Armed {
    matching: Matching,
    /// Matching requests still to let pass.
    skip: u64,
    times: u64,
    action: std::sync::Arc<Action>,
}

/// The armed faults.
#[derive(Default)]
pub struct Faults {
    armed: Mutex<Vec<Armed>>,
    next: AtomicU64,
}

impl Faults {
    /// Arms a fault and answers its id. The error names the wrong member.
    pub fn arm(&self, order: Order) -> Result<String, String> {
        if order.nth == 0 || order.times == 0 {
            return Err("\"nth\" and \"times\" are at least 1".to_owned());
        }
        let bad_name = |name: &String| {
            name.is_empty()
                || !name
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        if order.headers.keys().any(bad_name) {
            return Err("a header name consists of letters, digits and \"-\"".to_owned());
        }
        let action = match order.action.as_str() {
            "drop_before" => Action::DropBefore,
            "drop_after" => Action::DropAfter,
            "cut" => Action::Cut,
            "status" => {
                let status = order.status.ok_or("\"status\" is missing")?;
                if !(200..=599).contains(&status) {
                    return Err("\"status\" is 200 to 599".to_owned());
                }
                Action::Status(StatusAnswer {
                    status,
                    body: order.body,
                    headers: order.headers,
                    code: order.code,
                    after: order.after,
                })
            }
            "headers" if order.headers.is_empty() => return Err("\"headers\" is missing".to_owned()),
            "headers" => Action::Headers(order.headers),
            "delay" => {
                let ms = order.ms.ok_or("\"ms\" is missing")?;
                if ms > MAX_DELAY_MS {
                    return Err(format!("\"ms\" is at most {MAX_DELAY_MS}"));
                }
                Action::Delay(Duration::from_millis(ms))
            }
            "hold_before" => match order.when_gone.as_deref() {
                None | Some("abandon") => Action::HoldBefore { keep: false },
                Some("keep") => Action::HoldBefore { keep: true },
                Some(_) => return Err("\"when_gone\" is abandon or keep".to_owned()),
            },
            "hold_after" => Action::HoldAfter,
            other => return Err(format!("unknown action {other:?}")),
        };
        self.lock().push(Armed {
            matching: order.matching,
            skip: order.nth - 1,
            times: order.times,
            action: action.into(),
        });
        Ok(format!("f{}", self.next.fetch_add(1, Ordering::Relaxed) + 1))
    }

    /// Disarms all faults.
    pub fn clear(&self) {
        self.lock().clear();
    }

    /// Counts a request and answers the fault that hits it; the first armed one wins.
    pub fn strike(&self, seen: &Seen<'_>) -> Option<Fault> {
        let mut armed = self.lock();
        let mut hit = None;
        for fault in armed
            .iter_mut()
            .filter(|fault| fault.times > 0 && fault.matching.fits(seen))
        {
            if fault.skip > 0 {
                fault.skip -= 1;
            } else if hit.is_none() {
                fault.times -= 1;
                hit = Some(Fault {
                    action: std::sync::Arc::clone(&fault.action),
                });
            }
        }
        armed.retain(|fault| fault.times > 0);
        hit
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Armed>> {
        self.armed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Matching {
    fn fits(&self, seen: &Seen<'_>) -> bool {
        let Seen { request, entry } = seen;
        self.method.as_ref().is_none_or(|method| *method == entry.method)
            && self.path.as_ref().is_none_or(|path| *path == request.path)
            && self.app.is_none_or(|app| entry.apps.contains(&app))
            && self.contains.as_ref().is_none_or(|text| {
                entry.query.contains(text.as_str())
                    || request
                        .body
                        .windows(text.len().max(1))
                        .any(|window| window == text.as_bytes())
            })
    }
}
