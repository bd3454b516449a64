//! The service's clock: the machine's clock plus a shift that tests can turn (`/_control/clock`).
use std::sync::atomic::{AtomicI64, Ordering};

use jiff::Timestamp;

/// A clock that can be shifted.
#[derive(Debug, Default)]
pub struct Clock {
    shift_ms: AtomicI64,
}

impl Clock {
    /// The present instant.
    pub fn now(&self) -> Timestamp {
        let shifted = Timestamp::now()
            .as_millisecond()
            .saturating_add(self.shift_ms.load(Ordering::Relaxed));
        Timestamp::from_millisecond(shifted).unwrap_or(Timestamp::UNIX_EPOCH)
    }

    /// Sets the shift in milliseconds against the machine's clock.
    pub fn set_shift(&self, shift_ms: i64) {
        self.shift_ms.store(shift_ms, Ordering::Relaxed);
    }

    /// The `Date` header's text, for example `Sun, 06 Nov 1994 08:49:37 GMT`.
    pub fn http_date(&self) -> String {
        self.now().strftime("%a, %d %b %Y %H:%M:%S GMT").to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shift_moves_the_clock() {
        let clock = Clock::default();
        let before = clock.now();
        clock.set_shift(3_600_000);
        assert!(clock.now().as_second() - before.as_second() >= 3_600);
        assert!(clock.http_date().ends_with(" GMT"));
    }
}
