//! The tests' side door (`--control`): faults, held requests, a log of what came in, the clock, records without rights.
//! Control requests are neither counted nor logged nor faulted.
pub mod api;
pub mod fault;
pub mod hold;
pub mod trail;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use super::http::connection::{Outcome, Peer};
use super::http::request::Request;
use super::http::response::Response;
use super::service::{Call, Service};
use fault::{Action, Fault, Faults, Seen};
use hold::{Holds, Release, Stage};
use trail::{Entry, Trail};

/// Everything before and after the service.
pub struct Gate {
    service: Arc<Service>,
    enabled: bool,
    latency_ms: AtomicU64,
    faults: Faults,
    holds: Holds,
    trail: Trail,
}

impl Gate {
    /// A gate; `enabled` opens the control interface.
    pub fn new(service: Arc<Service>, enabled: bool, latency_ms: u64) -> Self {
        Self {
            service,
            enabled,
            latency_ms: AtomicU64::new(latency_ms),
            faults: Faults::default(),
            holds: Holds::default(),
            trail: Trail::default(),
        }
    }

    /// Handles one request of a connection.
    pub fn handle(&self, request: &Request, peer: &Peer<'_>) -> Outcome {
        if self.enabled
            && let Some(name) = request.path.strip_prefix("/_control/")
        {
            return Outcome::Answer(self.control(name, request));
        }
        let running = self.service.enter();
        let call = Call::read(request);
        let mut entry = Entry::new(request, &call, running.count);
        let latency = self.latency_ms.load(Ordering::Relaxed);
        if latency > 0 {
            std::thread::sleep(Duration::from_millis(latency));
        }
        let fault = if self.enabled {
            self.faults.strike(&Seen {
                request,
                entry: &entry,
            })
        } else {
            None
        };
        let apply = |entry: &mut Entry| {
            let response = self.service.answer(request, call, running.count);
            entry.applied = response.status < 400;
            response
        };
        let outcome = match fault {
            None => Outcome::Answer(apply(&mut entry)),
            Some(fault) => {
                entry.fault = Some(fault.action.name());
                self.faulty(&fault, &mut entry, peer, apply)
            }
        };
        entry.status = match &outcome {
            Outcome::Answer(response) | Outcome::Cut(response) => Some(response.status),
            Outcome::Drop => None,
        };
        if self.enabled {
            self.trail.add(entry);
        }
        outcome
    }

    /// A request with a fault.
    fn faulty(
        &self,
        fault: &Fault,
        entry: &mut Entry,
        peer: &Peer<'_>,
        apply: impl FnOnce(&mut Entry) -> Response,
    ) -> Outcome {
        match &*fault.action {
            Action::DropBefore => Outcome::Drop,
            Action::DropAfter => {
                apply(entry);
                Outcome::Drop
            }
            Action::Cut => Outcome::Cut(apply(entry)),
            Action::Status(status) => {
                if status.after {
                    apply(entry);
                }
                let mut response = status.response();
                response.set_header("Date", self.service.clock.http_date());
                Outcome::Answer(response)
            }
            Action::Headers(headers) => {
                let mut response = apply(entry);
                for (name, value) in headers {
                    response.set_header(name, value.as_str());
                }
                Outcome::Answer(response)
            }
            Action::Delay(time) => {
                std::thread::sleep(*time);
                Outcome::Answer(apply(entry))
            }
            Action::HoldBefore { keep } => match self.holds.park(entry, Stage::Before, peer, *keep) {
                Release::Proceed => Outcome::Answer(apply(entry)),
                Release::Drop => Outcome::Drop,
            },
            Action::HoldAfter => {
                let response = apply(entry);
                match self.holds.park(entry, Stage::After, peer, false) {
                    Release::Proceed => Outcome::Answer(response),
                    Release::Drop => Outcome::Drop,
                }
            }
        }
    }
}
