//! Parked requests: a test looks at the world while a client waits between "sent" and "applied" or "applied" and
//! "answered", then lets it go on or cuts its connection.
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Value as Json, json};

use super::trail::Entry;
use crate::sandbox::http::connection::Peer;

/// How often a parked request looks whether its client is still there.
const LOOK: Duration = Duration::from_millis(20);

/// Where a request is parked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Before it was applied.
    Before,
    /// After it was applied, before its answer.
    After,
}

/// How a parked request goes on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Release {
    /// Apply and answer.
    Proceed,
    /// Close the connection.
    Drop,
}

struct Parked {
    number: u64,
    method: String,
    path: String,
    stage: Stage,
    release: Option<Release>,
}

/// The parked requests.
#[derive(Default)]
pub struct Holds {
    parked: Mutex<BTreeMap<String, Parked>>,
    released: Condvar,
    next: AtomicU64,
}

impl Holds {
    /// Parks a request until it is released or its client is gone. `keep`: the client's end does not matter, so that a
    /// late arrival of a dead process's request can be played.
    pub fn park(&self, entry: &Entry, stage: Stage, peer: &Peer<'_>, keep: bool) -> Release {
        let id = format!("h{}", self.next.fetch_add(1, Ordering::Relaxed) + 1);
        let parked = Parked {
            number: entry.number,
            method: entry.method.clone(),
            path: entry.path.clone(),
            stage,
            release: None,
        };
        let mut all = self.lock();
        all.insert(id.clone(), parked);
        loop {
            if let Some(release) = all.get(&id).and_then(|parked| parked.release) {
                all.remove(&id);
                return release;
            }
            all = self
                .released
                .wait_timeout(all, LOOK)
                .unwrap_or_else(PoisonError::into_inner)
                .0;
            if keep {
                continue;
            }
            drop(all);
            let gone = peer.is_gone();
            all = self.lock();
            if gone {
                all.remove(&id);
                return Release::Drop;
            }
        }
    }

    /// Releases a parked request; false when there is none of that id.
    pub fn release(&self, id: &str, release: Release) -> bool {
        let mut all = self.lock();
        let Some(parked) = all.get_mut(id) else {
            return false;
        };
        parked.release = Some(release);
        self.released.notify_all();
        true
    }

    /// All parked requests.
    pub fn list(&self) -> Json {
        let holds: Vec<Json> = self
            .lock()
            .iter()
            .map(|(id, parked)| {
                let stage = if parked.stage == Stage::Before { "before" } else { "after" };
                json!({ "id": id, "n": parked.number, "method": parked.method, "path": parked.path, "stage": stage })
            })
            .collect();
        json!({ "holds": holds })
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Parked>> {
        self.parked.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
