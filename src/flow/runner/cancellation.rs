//! Stopping a run by a signal at a safe boundary (RNR-77).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use super::verdict::{Exit, Failure};
use crate::os::stop::StopSignal;

/// Whether a signal asked this run to stop.
#[derive(Clone, Debug, Default)]
pub struct Cancellation {
    stop: StopSignal,
    /// Set by the same signals; ends the waits of the REST client, until the final records are written.
    hurry: Arc<AtomicBool>,
}

impl Cancellation {
    /// Takes over SIGINT, SIGTERM and SIGHUP: the first request is noted, the second ends the process at once.
    ///
    /// # Errors
    /// The operating system refuses a handler.
    pub fn on_signals() -> Result<Self, Failure> {
        let hurry = Arc::new(AtomicBool::new(false));
        let flag = Arc::clone(&hurry);
        let stop = StopSignal::install_and(move |requests| {
            if requests > 1 {
                signal_hook::low_level::exit(i32::from(Exit::Runtime.code()));
            }
            flag.store(true, Ordering::SeqCst);
        })
        .map_err(|error| Failure::local("signal handler", &error))?;
        Ok(Self { stop, hurry })
    }

    /// Whether a signal came.
    pub fn requested(&self) -> bool {
        self.stop.is_requested()
    }

    /// The flag that ends waits between attempts.
    pub fn hurry(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.hurry)
    }

    /// Lets the REST client be patient again: what is written now decides whether the lock is given back.
    pub fn be_patient(&self) {
        self.hurry.store(false, Ordering::SeqCst);
    }
}
