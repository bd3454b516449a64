//! The thread that renews the lease when no commit did so for one interval (D-01).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::error::CommitError;
use super::{Shared, fence};

/// Longest sleep: the wait stands still while the machine is suspended, the lease does not.
const LONGEST_NAP: Duration = Duration::from_secs(5);

/// A running heartbeat thread.
pub struct Heartbeat {
    stop: Arc<AtomicBool>,
    shared: Arc<Shared>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    /// Starts the thread; its first beat comes one interval after the last write.
    pub fn start(shared: Arc<Shared>) -> Self {
        let stop = Arc::new(AtomicBool::new(false));
        let thread = std::thread::Builder::new().name("heartbeat".to_owned()).spawn({
            let (shared, stop) = (Arc::clone(&shared), Arc::clone(&stop));
            move || run(&shared, &stop)
        });
        if let Err(e) = &thread {
            // Commits renew the lease too; only long jobs are at risk, and the fence still protects the records.
            (shared.warn)(format!("the heartbeat thread could not be started: {e}"));
        }
        Self {
            stop,
            shared,
            thread: thread.ok(),
        }
    }

    /// Ends the thread and waits for it.
    pub fn stop(self) {
        self.stop.store(true, Ordering::SeqCst);
        drop(self.shared.lock());
        self.shared.woken.notify_all();
        if let Some(thread) = self.thread {
            // A panic of the thread was reported by the runtime; there is nothing to take from it.
            let _ = thread.join();
        }
    }
}

fn run(shared: &Shared, stop: &AtomicBool) {
    let mut failures = 0;
    let mut held = shared.lock();
    while !stop.load(Ordering::SeqCst) && held.end.is_none() {
        let silent = shared.clock.instant().saturating_duration_since(held.renewed);
        let wait = if failures == 0 {
            held.times.heartbeat.saturating_sub(silent)
        } else {
            fence::pause(failures)
        };
        if !wait.is_zero() {
            let nap = wait.min(LONGEST_NAP);
            held = match shared.woken.wait_timeout(held, nap) {
                Ok((guard, _)) => guard,
                Err(poisoned) => poisoned.into_inner().0,
            };
            let due = shared.clock.instant().saturating_duration_since(held.renewed) >= held.times.heartbeat;
            if !due {
                failures = 0;
                continue;
            }
            if stop.load(Ordering::SeqCst) || held.end.is_some() {
                break;
            }
        }
        match shared.beat(&mut held) {
            Ok(()) => failures = 0,
            Err(CommitError::Lost) => {
                (shared.warn)(
                    "the network lock was lost; the running job goes on, its result will not be recorded"
                        .to_owned(),
                );
                break;
            }
            Err(e) => {
                if failures == 0 {
                    (shared.warn)(format!("heartbeat failed, trying again: {e}"));
                }
                failures += 1;
            }
        }
    }
}
