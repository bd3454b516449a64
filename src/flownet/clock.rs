//! Where time and fresh ids come from; tests bring their own.

use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rustix::time::{ClockId, clock_gettime};

use super::canonical_json;
use super::time::Timestamp;

/// Wall clock, monotonic clock and waiting.
pub trait Clock: Send + Sync {
    /// Wall clock, for what is stored.
    fn now(&self) -> Timestamp;
    /// Monotonic clock, for what is decided (D-03). It runs on while the machine is suspended, and nobody can set it.
    fn instant(&self) -> Instant;
    /// Waits.
    fn sleep(&self, time: Duration);
}

/// The machine's clocks.
#[derive(Clone, Copy, Default, Debug)]
pub struct SystemClock;

impl Clock for SystemClock {
    fn now(&self) -> Timestamp {
        // A clock before 1970 reads as 1970: nothing sensible can be stored then anyway.
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Timestamp(i64::try_from(since.as_millis()).unwrap_or(i64::MAX))
    }

    fn instant(&self) -> Instant {
        static START: OnceLock<(Instant, Duration)> = OnceLock::new();
        // Instant::now() stands still while the machine is suspended: a lease that ran out meanwhile would look fresh.
        let (start, start_boottime) = *START.get_or_init(|| (Instant::now(), since_boot()));
        start + since_boot().saturating_sub(start_boottime)
    }

    fn sleep(&self, time: Duration) {
        std::thread::sleep(time);
    }
}

/// Time since the machine was booted, suspensions included.
fn since_boot() -> Duration {
    let time = clock_gettime(ClockId::Boottime);
    // Neither part of this clock is ever negative.
    let seconds = Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0));
    seconds + Duration::from_nanos(u64::try_from(time.tv_nsec).unwrap_or(0))
}

/// The system has no randomness to give.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct NoRandomness;

impl std::fmt::Display for NoRandomness {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the operating system gave no random bytes")
    }
}

impl std::error::Error for NoRandomness {}

/// A fresh UUID v4, lower case with hyphens (KEY-01).
pub fn uuid() -> Result<String, NoRandomness> {
    let mut b = [0u8; 16];
    getrandom::getrandom(&mut b).map_err(|_| NoRandomness)?;
    b[6] = b[6] & 0x0f | 0x40;
    b[8] = b[8] & 0x3f | 0x80;
    let hex = canonical_json::hex(&b);
    Ok(format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_monotonic_clock_is_the_one_that_counts_suspensions() {
        // Readings of the boot clock enclose those of ours: so must the times between them.
        let (outer_start, start) = (since_boot(), SystemClock.instant());
        let inner_start = since_boot();
        std::thread::sleep(Duration::from_millis(2));
        let (inner_end, end) = (since_boot(), SystemClock.instant());
        let outer_end = since_boot();
        let passed = end - start;
        assert!(inner_end <= inner_start + passed && outer_start + passed <= outer_end);
    }

    #[test]
    fn uuids_have_version_and_variant() {
        let id = uuid().expect("randomness");
        assert_eq!(id.len(), 36);
        assert_eq!(id.as_bytes()[14], b'4');
        assert!(matches!(id.as_bytes()[19], b'8' | b'9' | b'a' | b'b'));
        assert_ne!(id, uuid().expect("randomness"));
    }
}
