//! A stop request: counted, shared, readable from every loop (D-02 "Signals").
//!
//! The first request means: start nothing new, end what runs politely. The second means: end it now and leave.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::process_table::ProcessTable;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

/// Counts stop requests. Clones share the count.
#[derive(Clone, Default, Debug)]
pub struct StopSignal {
    count: Arc<AtomicUsize>,
}

impl StopSignal {
    /// No request yet, and no operating system signal connected.
    pub fn new() -> Self {
        Self::default()
    }

    /// Connects SIGINT, SIGTERM and SIGHUP: each delivery is one request. Call once per process.
    ///
    /// A signal that was ignored when we were started stays ignored: `nohup` and background jobs rely on that.
    pub fn install() -> io::Result<Self> {
        let stop = Self::new();
        let (mut deliveries, writer) = UnixStream::pair()?;
        let ignored = ProcessTable::default().ignored_signals().unwrap_or(0);
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if ignored & (1 << (signal - 1)) != 0 {
                continue;
            }
            // The handler only writes one byte, without blocking: all a signal handler may do.
            signal_hook::low_level::pipe::register(signal, writer.try_clone()?)?;
        }
        // A parent may have left SIGCHLD ignored; then the kernel would throw the children's exit codes away.
        signal_hook::flag::register(SIGCHLD, Arc::new(AtomicBool::new(false)))?;
        let counter = stop.clone();
        std::thread::Builder::new()
            .name("stop-signal".into())
            .spawn(move || {
                let mut byte = [0u8; 1];
                loop {
                    match deliveries.read(&mut byte) {
                        Ok(1) => counter.request(),
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                        _ => return,
                    }
                }
            })?;
        Ok(stop)
    }

    /// Adds one request, as a signal does.
    pub fn request(&self) {
        self.count.fetch_add(1, Ordering::SeqCst);
    }

    /// Requests so far.
    pub fn count(&self) -> usize {
        self.count.load(Ordering::SeqCst)
    }

    /// At least one: start no further node, end the running child within the grace period.
    pub fn is_requested(&self) -> bool {
        self.count() >= 1
    }

    /// At least two: kill the child and leave at once.
    pub fn is_urgent(&self) -> bool {
        self.count() >= 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_share_the_count_and_the_second_request_is_urgent() {
        let stop = StopSignal::new();
        let seen = stop.clone();
        assert!(!seen.is_requested());
        stop.request();
        assert!(seen.is_requested() && !seen.is_urgent());
        stop.request();
        assert!(seen.is_urgent());
    }
}
