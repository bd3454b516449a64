//! A stop request: counted, shared, readable from every loop (D-02 "Signals", RNR-77).
//!
//! The first request means: start nothing new, end what runs politely. The second means: end it now and leave.
//!
//! One shutdown is one request, however many signals it sends: under systemd (`KillMode=control-group`) a job gets SIGTERM
//! from the service manager and once more from the control plane that passes its own on, a closing terminal adds SIGHUP,
//! and a repeated signal would make the job leave without a result just when it was to end in order.

use std::io::{self, Read as _};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use super::relay;
use signal_hook::consts::{SIGCHLD, SIGHUP, SIGINT, SIGTERM};

/// Signals within this time of the first are the same request. Long enough for a loaded machine to pass a signal on, short
/// enough for a person who means it.
const ONE_REQUEST: Duration = Duration::from_secs(2);

/// Where the kernel tells which signals this process ignores.
const OWN_STATUS: &str = "/proc/self/status";

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

    /// Connects SIGINT, SIGTERM and SIGHUP. Call once per process.
    ///
    /// A signal that was ignored when we were started stays ignored: `nohup` and background jobs rely on that.
    ///
    /// # Errors
    /// The operating system refuses a handler or a thread.
    pub fn install() -> io::Result<Self> {
        Self::install_and(|_| ())
    }

    /// Like [`Self::install`]; `told` is called, outside of any signal handler, with the count after each request.
    ///
    /// # Errors
    /// The operating system refuses a handler or a thread.
    pub fn install_and(told: impl Fn(usize) + Send + 'static) -> io::Result<Self> {
        let stop = Self::new();
        let (mut deliveries, writer) = UnixStream::pair()?;
        let ignored = std::fs::read_to_string(OWN_STATUS)
            .ok()
            .and_then(|status| ignored_signals(&status))
            .unwrap_or(0);
        for signal in [SIGINT, SIGTERM, SIGHUP] {
            if ignored & (1 << (signal - 1)) != 0 {
                continue;
            }
            // The handler only writes one byte, without blocking: all a signal handler may do.
            signal_hook::low_level::pipe::register(signal, writer.try_clone()?)?;
        }
        // A write that nobody reads ended with the first signal; from now on it would not.
        relay::stdout().limit();
        // A parent may have left SIGCHLD ignored; then the kernel would throw the children's exit codes away.
        signal_hook::flag::register(SIGCHLD, Arc::new(AtomicBool::new(false)))?;
        let counter = stop.clone();
        std::thread::Builder::new()
            .name("stop-signal".into())
            .spawn(move || {
                let mut requests = Requests::default();
                let mut byte = [0u8; 1];
                loop {
                    match deliveries.read(&mut byte) {
                        Ok(1) if requests.is_new(Instant::now()) => {
                            counter.request();
                            told(counter.count());
                        }
                        Ok(1) => {}
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

/// Which deliveries begin a request and which repeat one.
#[derive(Default)]
struct Requests {
    began: Option<Instant>,
}

impl Requests {
    fn is_new(&mut self, now: Instant) -> bool {
        let repeats = self
            .began
            .is_some_and(|began| now.saturating_duration_since(began) < ONE_REQUEST);
        if !repeats {
            self.began = Some(now);
        }
        !repeats
    }
}

/// Signals that a process ignores, usually because its parent did: bit n-1 stands for signal n.
fn ignored_signals(status: &str) -> Option<u64> {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
    u64::from_str_radix(mask.trim(), 16).ok()
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

    #[test]
    fn signals_in_a_row_are_one_request_and_a_later_one_is_the_second() {
        let mut requests = Requests::default();
        let began = Instant::now();
        assert!(requests.is_new(began));
        assert!(!requests.is_new(began));
        assert!(!requests.is_new(began + ONE_REQUEST / 2));
        // Counted from the first: a signal that is repeated all the time ends the process in the end.
        assert!(requests.is_new(began + ONE_REQUEST));
    }

    #[test]
    fn the_mask_of_ignored_signals_is_read() {
        let status = "Name:\tx\nSigIgn:\t0000000000000003\nSigCgt:\t00\n";
        assert_eq!(ignored_signals(status), Some(3));
        assert_eq!(ignored_signals("Name:\tx\n"), None);
        let own = std::fs::read_to_string(OWN_STATUS).expect("/proc");
        assert!(ignored_signals(&own).is_some());
    }
}
