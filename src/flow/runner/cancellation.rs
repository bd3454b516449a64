//! Stopping a run by a signal at a safe boundary (RNR-77).

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::flag;

use super::verdict::{Exit, Failure};

/// Whether a signal asked this run to stop.
#[derive(Clone, Debug, Default)]
pub struct Cancellation {
    requested: Arc<AtomicBool>,
    /// Set by the same signals; ends the waits of the REST client, until the final records are written.
    hurry: Arc<AtomicBool>,
}

impl Cancellation {
    /// Takes over SIGINT and SIGTERM: the first sets the flag, the second ends the process at once.
    ///
    /// # Errors
    /// The operating system refuses a handler.
    pub fn on_signals() -> Result<Self, Failure> {
        let cancellation = Self::default();
        for signal in [SIGINT, SIGTERM] {
            let exit = i32::from(Exit::Runtime.code());
            // In this order: the first signal finds the flag unset, and sets it.
            flag::register_conditional_shutdown(signal, exit, Arc::clone(&cancellation.requested))
                .and_then(|_| flag::register(signal, Arc::clone(&cancellation.requested)))
                .and_then(|_| flag::register(signal, Arc::clone(&cancellation.hurry)))
                .map_err(|error| Failure::local("signal handler", &error))?;
        }
        Ok(cancellation)
    }

    /// Whether a signal came.
    pub fn requested(&self) -> bool {
        self.requested.load(Ordering::SeqCst)
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
