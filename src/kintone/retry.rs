//! What may be repeated, and how long to wait before (D-03, RNR-32). Pure: time and chance come in as values.

use std::time::Duration;

use super::error::{Error, ErrorKind, Outcome};
use super::limit;
use super::transport::Phase;

/// Whether a request may be sent again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Repeat {
    /// A read: whenever the failure may pass.
    Read,
    /// A write that changes nothing more when it happens twice and checks no revision (PUT of values, DELETE, upsert,
    /// upload): like a read.
    Idempotent,
    /// A write that must not happen twice (plain INSERT): only when the failure proves that it did not happen
    /// (RNR-120).
    WhenRefused,
    /// Never: the caller looks at kintone and decides (D-01).
    Never,
}

/// The statuses that may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Statuses {
    /// 429 and every 5xx (D-03).
    ServerErrors,
    /// The runner's table: 429, 500, 502, 503, 504, 520, 522, 524 (RNR-32).
    Runner,
}

impl Statuses {
    fn contains(self, status: u16) -> bool {
        match self {
            Self::ServerErrors => status == 429 || (500..=599).contains(&status),
            Self::Runner => matches!(status, 429 | 500 | 502 | 503 | 504 | 520 | 522 | 524),
        }
    }
}

/// How often and how patiently. The default is the control plane's (D-03).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Retry {
    /// Attempts in all; 0 counts as 1.
    pub attempts: u32,
    /// Upper end of the first wait; it doubles with every attempt.
    pub first: Duration,
    /// Upper end of every wait, Retry-After included.
    pub cap: Duration,
    /// Whether Retry-After takes the place of the back-off.
    pub respect_retry_after: bool,
    /// Statuses that may pass.
    pub statuses: Statuses,
    /// Whether the write calls are repeated as far as they bear it (RNR-120); the control plane never does (D-01).
    pub writes: bool,
}

impl Default for Retry {
    fn default() -> Self {
        Self {
            attempts: limit::ATTEMPTS,
            first: limit::FIRST_WAIT,
            cap: limit::LONGEST_WAIT,
            respect_retry_after: true,
            statuses: Statuses::ServerErrors,
            writes: false,
        }
    }
}

impl Retry {
    /// Whether the request may be sent again after this failure, the number of attempts aside.
    pub(super) fn allows(&self, repeat: Repeat, error: &Error) -> bool {
        let passes = match error.kind() {
            ErrorKind::Transport => error
                .cause()
                .is_some_and(|cause| cause.phase != Phase::Certificate),
            ErrorKind::BodyInvalid | ErrorKind::DatabaseLock => true,
            // Of two writes at the same moment one loses, and kintone says so in either way (KTB-131). A conflict is one
            // of that kind only where no revision was sent: one that was sent does not become right by waiting.
            ErrorKind::RevisionConflict => repeat == Repeat::Idempotent,
            _ => error
                .status()
                .is_some_and(|status| self.statuses.contains(status)),
        };
        passes
            && match repeat {
                Repeat::Read | Repeat::Idempotent => true,
                Repeat::WhenRefused => error.outcome() == Outcome::NotApplied,
                Repeat::Never => false,
            }
    }

    /// The wait after attempt number `attempt` (from 1); `chance` is uniform over all its values.
    pub(super) fn wait(&self, attempt: u32, retry_after: Option<Duration>, chance: u32) -> Duration {
        let cap = self.cap.min(limit::ANY_WAIT);
        if let Some(asked) = retry_after.filter(|_| self.respect_retry_after) {
            return asked.min(cap);
        }
        let doubled = 2u32.saturating_pow(attempt.saturating_sub(1).min(30));
        let ceiling = self.first.saturating_mul(doubled).min(cap);
        let ms = (ceiling.as_millis() as u64 * u64::from(chance)) >> 32;
        Duration::from_millis(ms)
    }
}

/// Reads Retry-After: seconds or an HTTP date; `now_ms` is the wall clock in Unix milliseconds. A past date is zero.
pub(super) fn retry_after(value: &str, now_ms: i64) -> Option<Duration> {
    let value = value.trim();
    if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) {
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::MAX)));
    }
    let ms = http_date_ms(value)?.saturating_sub(now_ms);
    Some(Duration::from_millis(u64::try_from(ms).unwrap_or(0)))
}

/// Reads `Sun, 06 Nov 1994 08:49:37 GMT` as Unix milliseconds; the two ancient forms are not read.
pub(super) fn http_date_ms(value: &str) -> Option<i64> {
    const MONTHS: [&str; 12] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ];
    let (_, date) = value.split_once(", ")?;
    let parts: Vec<&str> = date.split([' ', ':']).collect();
    let [day, month, year, hour, minute, second, "GMT"] = parts[..] else {
        return None;
    };
    let number = |text: &str, len: usize, max: i64| -> Option<i64> {
        let plain = text.len() == len && text.bytes().all(|b| b.is_ascii_digit());
        text.parse().ok().filter(|n| plain && *n <= max)
    };
    let month = MONTHS.iter().position(|m| *m == month)? as i64 + 1;
    let (day, year) = (number(day, 2, 31).filter(|d| *d > 0)?, number(year, 4, 9999)?);
    let (hour, minute, second) = (
        number(hour, 2, 23)?,
        number(minute, 2, 59)?,
        number(second, 2, 60)?,
    );
    // Days since 1970-01-01, counting years from March so that the leap day comes last.
    let (y, m) = if month > 2 {
        (year, month - 3)
    } else {
        (year - 1, month + 9)
    };
    let days =
        365 * y + y.div_euclid(4) - y.div_euclid(100) + y.div_euclid(400) + (153 * m + 2) / 5 + day - 719_469;
    Some((((days * 24 + hour) * 60 + minute) * 60 + second) * 1000)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kintone::transport::Cause;
    use proptest::prelude::*;

    #[test]
    fn reads_pass_over_what_may_pass() {
        let retry = Retry::default();
        let runner = Retry {
            statuses: Statuses::Runner,
            ..retry
        };
        for (status, body, plane, table) in [
            (429, "", true, true),
            (500, "", true, true),
            (501, "", true, false),
            (503, "", true, true),
            (505, "", true, false),
            (520, "", true, true),
            (599, "", true, false),
            (400, "", false, false),
            (401, "", false, false),
            (404, "", false, false),
            (302, "", false, false),
            (400, r#"{"code":"GAIA_DA02"}"#, true, true),
            (400, r#"{"code":"GAIA_LT01"}"#, true, true),
            (520, r#"{"code":"GAIA_RE18"}"#, true, true),
            (400, r#"{"code":"CB_VA01"}"#, false, false),
        ] {
            let error = Error::answer("x", status, body.as_bytes(), None);
            for repeat in [Repeat::Read, Repeat::Idempotent] {
                assert_eq!(retry.allows(repeat, &error), plane, "{status} {body}");
                assert_eq!(runner.allows(repeat, &error), table, "{status} {body}");
            }
            assert!(!retry.allows(Repeat::Never, &error));
        }
        assert!(retry.allows(Repeat::Read, &Error::body("x", 200, "no JSON")));
    }

    #[test]
    fn a_conflict_without_a_revision_of_ours_is_a_lost_race() {
        let retry = Retry::default();
        for code in ["GAIA_CO02", "GAIA_UN03"] {
            let body = format!(r#"{{"code":"{code}"}}"#);
            let conflict = Error::answer("x", 409, body.as_bytes(), None);
            assert_eq!(conflict.outcome(), Outcome::NotApplied);
            for (repeat, again) in [
                (Repeat::Read, false),
                (Repeat::Idempotent, true),
                (Repeat::WhenRefused, false),
                (Repeat::Never, false),
            ] {
                assert_eq!(retry.allows(repeat, &conflict), again, "{code} {repeat:?}");
            }
        }
    }

    #[test]
    fn an_insert_is_repeated_only_on_proof() {
        let retry = Retry::default();
        for (error, again) in [
            (Error::answer("x", 429, b"", None), true),
            (Error::answer("x", 400, br#"{"code":"GAIA_DA02"}"#, None), true),
            (Error::answer("x", 503, b"", None), false),
            (Error::answer("x", 408, b"", None), false),
            (Error::body("x", 200, "no JSON"), false),
            (
                Error::transport("x", Cause::new(Phase::Connect, "refused"), false),
                true,
            ),
            (
                Error::transport("x", Cause::new(Phase::Answer, "closed"), true),
                false,
            ),
            (
                Error::transport("x", Cause::new(Phase::Certificate, "unknown issuer"), false),
                false,
            ),
        ] {
            assert_eq!(retry.allows(Repeat::WhenRefused, &error), again, "{error}");
        }
    }

    #[test]
    fn waits_double_up_to_the_cap() {
        const MOST: u32 = u32::MAX;
        let retry = Retry::default();
        let ms = |attempt, chance| retry.wait(attempt, None, chance).as_millis();
        assert_eq!(
            [ms(1, MOST), ms(2, MOST), ms(3, MOST), ms(4, MOST)],
            [499, 999, 1999, 3999]
        );
        assert_eq!(
            [ms(9, MOST), ms(u32::MAX, MOST), ms(3, 1 << 31), ms(3, 0)],
            [29_999, 29_999, 1000, 0]
        );
        let asked = Some(Duration::from_secs(7));
        assert_eq!(retry.wait(1, asked, MOST), Duration::from_secs(7));
        assert_eq!(retry.wait(1, Some(Duration::MAX), MOST), limit::LONGEST_WAIT);
        let deaf = Retry {
            respect_retry_after: false,
            ..retry
        };
        assert_eq!(deaf.wait(1, asked, MOST), Duration::from_millis(499));
    }

    #[test]
    fn retry_after_forms() {
        let at = 784_111_777_000;
        assert_eq!(http_date_ms("Sun, 06 Nov 1994 08:49:37 GMT"), Some(at));
        assert_eq!(http_date_ms("Thu, 01 Jan 1970 00:00:00 GMT"), Some(0));
        assert_eq!(
            http_date_ms("Tue, 29 Feb 2028 23:59:60 GMT"),
            Some(1_835_481_600_000)
        );
        assert_eq!(retry_after("120", 0), Some(Duration::from_mins(2)));
        assert_eq!(
            retry_after("Sun, 06 Nov 1994 08:49:37 GMT", at - 2500),
            Some(Duration::from_millis(2500))
        );
        assert_eq!(
            retry_after("Sun, 06 Nov 1994 08:49:37 GMT", at + 1),
            Some(Duration::ZERO)
        );
        for bad in [
            "",
            "-1",
            "1.5",
            "soon",
            "Sun, 06 Xxx 1994 08:49:37 GMT",
            "Sun, 06 Nov 1994 08:49:37 JST",
        ] {
            assert_eq!(retry_after(bad, 0), None, "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_header_reads_or_not(value in any::<String>(), now in any::<i64>()) {
            let _ = retry_after(&value, now);
        }

        #[test]
        fn a_wait_never_passes_the_cap(attempt in any::<u32>(), chance in any::<u32>(), asked in proptest::option::of(any::<u64>())) {
            let retry = Retry::default();
            let wait = retry.wait(attempt, asked.map(Duration::from_millis), chance);
            prop_assert!(wait <= retry.cap);
        }
    }
}
