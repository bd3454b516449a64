//! Instants as the contract writes them: UTC milliseconds on our side, whole minutes on kintone's (REC-06).
//!
//! Pure calendar arithmetic (proleptic Gregorian); no clock and no time zone data live here.

use std::fmt;

/// A UTC instant in milliseconds since 1970-01-01T00:00:00Z.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Timestamp(pub i64);

/// Milliseconds that one stored minute may hide (LCK-13).
pub const MINUTE_MS: i64 = 60_000;

impl Timestamp {
    /// Adds milliseconds.
    pub fn plus_ms(self, ms: i64) -> Self {
        Self(self.0.saturating_add(ms))
    }

    /// Adds seconds.
    pub fn plus_sec(self, sec: i64) -> Self {
        self.plus_ms(sec.saturating_mul(1000))
    }

    /// `YYYY-MM-DDTHH:MM:SS.mmmZ` (REC-04).
    pub fn iso_ms(self) -> String {
        let c = Civil::from(self);
        format!(
            "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
            c.year, c.month, c.day, c.hour, c.minute, c.second, c.milli
        )
    }

    /// Reads an ISO 8601 date-time with an explicit offset, by the grammar of KEY-04.
    pub fn parse(text: &str) -> Option<Self> {
        let b = text.as_bytes();
        let digits = |from: usize, len: usize| -> Option<i64> {
            let part = b.get(from..from + len)?;
            part.iter().try_fold(0i64, |n, c| {
                c.is_ascii_digit().then(|| n * 10 + i64::from(c - b'0'))
            })
        };
        let at = |i: usize, c: u8| (b.get(i) == Some(&c)).then_some(());
        let (year, month, day) = (digits(0, 4)?, digits(5, 2)?, digits(8, 2)?);
        let (hour, minute) = (digits(11, 2)?, digits(14, 2)?);
        at(4, b'-')?;
        at(7, b'-')?;
        at(10, b'T')?;
        at(13, b':')?;
        let (mut second, mut milli, mut pos) = (0, 0, 16);
        if at(pos, b':').is_some() {
            second = digits(pos + 1, 2)?;
            pos += 3;
            if at(pos, b'.').is_some() {
                let len = b[pos + 1..].iter().take_while(|c| c.is_ascii_digit()).count();
                if !(1..=3).contains(&len) {
                    return None;
                }
                milli = digits(pos + 1, len)? * 10i64.pow(3 - len as u32);
                pos += 1 + len;
            }
        }
        let offset = match b.get(pos)? {
            b'Z' => {
                pos += 1;
                0
            }
            sign @ (b'+' | b'-') => {
                let (h, m) = (digits(pos + 1, 2)?, digits(pos + 4, 2)?);
                at(pos + 3, b':')?;
                pos += 6;
                if m > 59 || h > 14 || (h == 14 && m != 0) {
                    return None;
                }
                (h * 60 + m) * if *sign == b'-' { -1 } else { 1 }
            }
            _ => return None,
        };
        let real = pos == b.len()
            && year >= 1
            && (1..=12).contains(&month)
            && day >= 1
            && day <= days_in_month(year, month)
            && hour <= 23
            && minute <= 59
            && second <= 59;
        real.then(|| {
            let minutes = days_from_civil(year, month, day) * 1440 + hour * 60 + minute - offset;
            Self(minutes * MINUTE_MS + second * 1000 + milli)
        })
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.iso_ms())
    }
}

/// The UTC calendar fields of an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Civil {
    /// Astronomical year number.
    pub year: i64,
    /// 1 to 12.
    pub month: i64,
    /// 1 to 31.
    pub day: i64,
    /// 0 to 23.
    pub hour: i64,
    /// 0 to 59.
    pub minute: i64,
    /// 0 to 59.
    pub second: i64,
    /// 0 to 999.
    pub milli: i64,
}

impl From<Timestamp> for Civil {
    fn from(t: Timestamp) -> Self {
        let (days, rest) = (t.0.div_euclid(86_400_000), t.0.rem_euclid(86_400_000));
        let (year, month, day) = civil_from_days(days);
        Self {
            year,
            month,
            day,
            hour: rest / 3_600_000,
            minute: rest / 60_000 % 60,
            second: rest / 1000 % 60,
            milli: rest % 1000,
        }
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// Days since 1970-01-01; March-based years make the leap day the last of its year.
fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let y = if month <= 2 { year - 1 } else { year };
    let era = y.div_euclid(400);
    let yoe = y.rem_euclid(400);
    let doy = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719_468
}

fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let z = days + 719_468;
    let era = z.div_euclid(146_097);
    let doe = z.rem_euclid(146_097);
    let yoe = (doe - doe / 1460 + doe / 36_524 - doe / 146_096) / 365;
    let doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    let mp = (5 * doy + 2) / 153;
    let month = if mp < 10 { mp + 3 } else { mp - 9 };
    (
        yoe + era * 400 + i64::from(month <= 2),
        month,
        doy - (153 * mp + 2) / 5 + 1,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn iso_text_round_trips() {
        for text in [
            "2026-08-29T10:00:00.123Z",
            "1970-01-01T00:00:00.000Z",
            "0001-01-01T00:00:00.000Z",
            "2024-02-29T23:59:59.999Z",
        ] {
            assert_eq!(
                Timestamp::parse(text).map(Timestamp::iso_ms).as_deref(),
                Some(text)
            );
        }
    }

    #[test]
    fn offsets_are_applied() {
        assert_eq!(
            Timestamp::parse("2026-09-01T00:00:00+09:00"),
            Timestamp::parse("2026-08-31T15:00Z")
        );
    }

    #[test]
    fn unreal_times_are_refused() {
        for text in [
            "2026-02-29T00:00Z",
            "2026-01-01T24:00Z",
            "2026-01-01T00:00",
            "2026-01-01T00:00:00.1234Z",
            "2026-01-01T00:00+14:30",
            "2026-01-01t00:00Z",
            "",
        ] {
            assert_eq!(Timestamp::parse(text), None, "{text}");
        }
    }
}
