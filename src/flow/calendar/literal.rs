//! Date and date-time literals: what a user writes, and what kintone stores.

use std::borrow::Cow;

use jiff::civil::{Date, DateTime, Time};
use jiff::tz::{Offset, TimeZone};
use jiff::{SignedDuration, Timestamp};

use super::{CalendarError, Zone, iso_date, iso_seconds};

/// What a literal says: a day, a wall-clock time, or an instant.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Literal {
    Date(Date),
    Local(DateTime),
    /// In UTC. A civil time, because the last day of 9999 (a usual "for ever") lies outside the range of time stamps.
    Instant(DateTime),
}

impl Literal {
    /// Reads `YYYY-MM-DD` or `YYYY/MM/DD`, then optionally a blank or `T`, `HH:MM[:SS[.f]]` and an offset
    /// (`Z`, `±HH:MM`, `±HHMM`). Unreal days and times are refused, never rolled over.
    pub fn parse(text: &str) -> Option<Self> {
        let mut scan = Scan(text.as_bytes());
        let date = scan.date()?;
        if scan.0.is_empty() {
            return Some(Self::Date(date));
        }
        scan.one_of(b"T t")?;
        let time = scan.time()?;
        let local = date.to_datetime(time);
        if scan.0.is_empty() {
            return Some(Self::Local(local));
        }
        let offset = scan.offset()?;
        scan.0.is_empty().then_some(())?;
        Some(Self::Instant(minus(local, offset)?))
    }

    /// The instant meant, in UTC: days begin at 00:00, and wall-clock times are read in `zone`. A time that a clock change
    /// skips is moved forward by the gap, one that occurs twice means the first.
    fn utc(self, zone: &Zone) -> Option<DateTime> {
        let local = match self {
            Self::Instant(utc) => return Some(utc),
            Self::Local(local) => local,
            Self::Date(date) => date.to_datetime(Time::midnight()),
        };
        match zone.0.to_timestamp(local) {
            Ok(instant) => Some(TimeZone::UTC.to_datetime(instant)),
            Err(_) if local > DateTime::default() => minus(local, zone.0.to_offset(Timestamp::MAX)),
            Err(_) => None,
        }
    }
}

fn minus(local: DateTime, offset: Offset) -> Option<DateTime> {
    let seconds = i64::from(offset.seconds());
    local
        .checked_sub(SignedDuration::from_secs(seconds))
        .ok()
        .filter(|utc| utc.year() >= 0)
}

struct Scan<'a>(&'a [u8]);

impl Scan<'_> {
    fn one_of(&mut self, wanted: &[u8]) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        wanted.contains(first).then(|| {
            self.0 = rest;
            *first
        })
    }

    fn number(&mut self, digits: usize) -> Option<i16> {
        let (head, rest) = self.0.split_at_checked(digits)?;
        let number = head.iter().try_fold(0i16, |n, c| {
            c.is_ascii_digit().then(|| n * 10 + i16::from(c - b'0'))
        })?;
        self.0 = rest;
        Some(number)
    }

    fn date(&mut self) -> Option<Date> {
        let year = self.number(4)?;
        let separator = self.one_of(b"-/")?;
        let month = self.number(2)?;
        self.one_of(&[separator])?;
        let day = self.number(2)?;
        Date::new(year, month as i8, day as i8).ok()
    }

    fn time(&mut self) -> Option<Time> {
        let hour = self.number(2)?;
        self.one_of(b":")?;
        let minute = self.number(2)?;
        let (mut second, mut nanosecond) = (0, 0);
        if self.one_of(b":").is_some() {
            second = self.number(2)?;
            if self.one_of(b".").is_some() {
                nanosecond = self.fraction()?;
            }
        }
        // The type would accept a leap second by clamping it; a literal must be real.
        (second <= 59).then_some(())?;
        Time::new(hour as i8, minute as i8, second as i8, nanosecond).ok()
    }

    /// One to nine digits after the point, as nanoseconds.
    fn fraction(&mut self) -> Option<i32> {
        let digits = self.0.iter().take_while(|c| c.is_ascii_digit()).count();
        let (head, rest) = self.0.split_at(digits);
        self.0 = rest;
        let value = (1..=9)
            .contains(&digits)
            .then(|| head.iter().fold(0i32, |n, c| n * 10 + i32::from(c - b'0')))?;
        Some(value * 10i32.pow(9 - digits as u32))
    }

    fn offset(&mut self) -> Option<Offset> {
        let sign = match self.one_of(b"Zz+-")? {
            b'Z' | b'z' => return Some(Offset::UTC),
            b'-' => -1,
            _ => 1,
        };
        let hours = i32::from(self.number(2)?);
        let _ = self.one_of(b":");
        let minutes = i32::from(self.number(2)?);
        (hours <= 23 && minutes <= 59).then_some(())?;
        Offset::from_seconds(sign * (hours * 3600 + minutes * 60)).ok()
    }
}

/// The real day of a `YYYY-MM-DD` text and nothing else.
pub fn parse_date(text: &str) -> Option<Date> {
    match Literal::parse(text) {
        Some(Literal::Date(date)) if text.as_bytes()[4] == b'-' => Some(date),
        _ => None,
    }
}

/// True for a DATE as kintone returns it: a real day as `YYYY-MM-DD` (LNG-190).
pub fn is_canonical_date(text: &str) -> bool {
    parse_date(text).is_some()
}

/// True for a DATETIME as kintone returns it: a real instant as `YYYY-MM-DDTHH:MM:SSZ` (LNG-190).
pub fn is_canonical_datetime(text: &str) -> bool {
    matches!(Literal::parse(text), Some(Literal::Instant(utc)) if iso_seconds(utc) == text)
}

/// True for a TIME as kintone returns it: `HH:MM` (LNG-190).
pub fn is_canonical_time(text: &str) -> bool {
    let mut scan = Scan(text.as_bytes());
    text.len() == "HH:MM".len() && scan.time().is_some() && scan.0.is_empty()
}

/// The value to write to a DATETIME field (LNG-61, LNG-64): wall-clock texts are read in `zone`, the result is UTC with
/// whole seconds; `''` stays `''`.
///
/// # Errors
/// [`CalendarError::NotADateTime`] when the text is none.
pub fn to_datetime(text: &str, zone: &Zone) -> Result<String, CalendarError> {
    if text.is_empty() {
        return Ok(String::new());
    }
    Literal::parse(text)
        .and_then(|literal| literal.utc(zone))
        .map(iso_seconds)
        .ok_or_else(|| CalendarError::NotADateTime(text.to_owned()))
}

/// The value to write to a DATE field (LNG-64): slashes become hyphens; `''` stays `''`.
///
/// # Errors
/// [`CalendarError::NotADate`] when the text is no real day.
pub fn to_date(text: &str) -> Result<String, CalendarError> {
    match Literal::parse(text) {
        Some(Literal::Date(date)) => Ok(iso_date(date)),
        _ if text.is_empty() => Ok(String::new()),
        _ => Err(CalendarError::NotADate(text.to_owned())),
    }
}

/// The right side of a comparison with a DATETIME column (LNG-55): a date means that day 00:00 in `zone`, a wall-clock
/// time its instant, both in the form of the cells. Any other text is compared as it is.
pub fn datetime_comparand<'a>(text: &'a str, zone: &Zone) -> Cow<'a, str> {
    match Literal::parse(text).and_then(|literal| literal.utc(zone)) {
        // Cells have whole seconds; a fraction only keeps its place in text order if it is left as written.
        Some(utc) if utc.subsec_nanosecond() == 0 => Cow::Owned(iso_seconds(utc)),
        _ => Cow::Borrowed(text),
    }
}

/// A DATETIME cell shown with the offset of a zone (RNR-133), milliseconds kept; a text that is no instant is kept.
pub fn datetime_in_zone<'a>(cell: &'a str, zone: &Zone) -> Cow<'a, str> {
    let Some(Literal::Instant(utc)) = Literal::parse(cell) else {
        return Cow::Borrowed(cell);
    };
    let offset = zone
        .0
        .to_offset(TimeZone::UTC.to_timestamp(utc).unwrap_or(Timestamp::MAX));
    let Some(local) = minus(utc, offset.negate()) else {
        return Cow::Borrowed(cell);
    };
    let fraction = if cell.contains('.') {
        format!(".{:03}", local.millisecond())
    } else {
        String::new()
    };
    let minutes = offset.seconds() / 60;
    Cow::Owned(format!(
        "{}T{:02}:{:02}:{:02}{fraction}{}{:02}:{:02}",
        iso_date(local.date()),
        local.hour(),
        local.minute(),
        local.second(),
        if minutes < 0 { '-' } else { '+' },
        minutes.abs() / 60,
        minutes.abs() % 60,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(name: &str) -> Zone {
        Zone::named(name).unwrap()
    }

    #[test]
    fn date_times_are_read_in_the_zone_and_written_in_utc() {
        let tokyo = zone("Asia/Tokyo");
        for (text, utc) in [
            ("2026-04-05 12:00", "2026-04-05T03:00:00Z"), // V304
            ("2026-04-05 12:00:07", "2026-04-05T03:00:07Z"),
            ("2026/04/05 12:00", "2026-04-05T03:00:00Z"),
            ("2026-04-05T12:00", "2026-04-05T03:00:00Z"),
            ("2026-04-05T03:00:00Z", "2026-04-05T03:00:00Z"),
            ("2026-08-21T15:00:00.000Z", "2026-08-21T15:00:00Z"), // LNG-61
            ("2026-08-21T15:00:00.999Z", "2026-08-21T15:00:00Z"),
            ("2026-04-05T12:00:00+0900", "2026-04-05T03:00:00Z"),
            ("2026-04-05", "2026-04-04T15:00:00Z"),
            ("", ""),
            ("9999-12-31 23:59", "9999-12-31T14:59:00Z"),
            ("9999-12-31T14:59:00Z", "9999-12-31T14:59:00Z"),
        ] {
            assert_eq!(to_datetime(text, &tokyo).as_deref(), Ok(utc), "{text}");
        }
        for text in [
            "2026-02-29",
            "2026-04-05 24:00",
            "2026-04-05 1:00",
            "2026-04/05",
            "2026-04-05 12:00:60",
            "abc",
            "2026-04-05 ",
            "2026-04-05T12:00:00.",
            "2026-04-05T12:00:00.1234567890",
            "2026-04-05T12:00+24:00",
            "２０２６-04-05",
            "-001-01-01",
        ] {
            assert_eq!(
                to_datetime(text, &tokyo),
                Err(CalendarError::NotADateTime(text.into()))
            );
        }
    }

    #[test]
    fn clock_changes_are_decided() {
        let new_york = zone("America/New_York");
        // 02:30 does not exist on this day: forward by the gap; 01:30 occurs twice on the other: the first.
        assert_eq!(
            to_datetime("2026-03-08 02:30", &new_york).unwrap(),
            "2026-03-08T07:30:00Z"
        );
        assert_eq!(
            to_datetime("2026-11-01 01:30", &new_york).unwrap(),
            "2026-11-01T05:30:00Z"
        );
    }

    #[test]
    fn dates_lose_their_slashes_only() {
        assert_eq!(to_date("2026/08/05").as_deref(), Ok("2026-08-05"));
        assert_eq!(to_date("2026-08-05").as_deref(), Ok("2026-08-05"));
        assert_eq!(to_date("").as_deref(), Ok(""));
        for text in ["2026-8-5", "2026-02-30", "2026-08-05T00:00", "today"] {
            assert_eq!(to_date(text), Err(CalendarError::NotADate(text.into())));
        }
    }

    #[test]
    fn canonical_forms_are_those_of_cells() {
        assert!(is_canonical_date("2026-08-01") && is_canonical_date("2024-02-29"));
        for text in ["2026/08/01", "2026-8-1", "2026-02-29", "", "2026-08-01T00:00:00Z"] {
            assert!(!is_canonical_date(text), "{text}");
        }
        assert!(is_canonical_datetime("2026-08-01T00:00:00Z"));
        for text in [
            "2026-08-01T00:00Z",
            "2026-08-01T00:00:00.000Z",
            "2026-08-01 00:00:00Z",
            "2026-08-01T09:00:00+09:00",
        ] {
            assert!(!is_canonical_datetime(text), "{text}");
        }
        assert!(is_canonical_time("09:30") && is_canonical_time("00:00"));
        for text in ["9:30", "24:00", "09:30:00", "09:60", "09-30", ""] {
            assert!(!is_canonical_time(text), "{text}");
        }
    }

    #[test]
    fn a_date_against_a_datetime_is_midnight_in_the_zone() {
        let tokyo = zone("Asia/Tokyo");
        assert_eq!(datetime_comparand("2026-08-01", &tokyo), "2026-07-31T15:00:00Z");
        assert_eq!(
            datetime_comparand("2026-08-01T00:00:00.000Z", &tokyo),
            "2026-08-01T00:00:00Z"
        );
        assert_eq!(
            datetime_comparand("2026-08-01T00:00:00.250Z", &tokyo),
            "2026-08-01T00:00:00.250Z"
        );
        assert_eq!(datetime_comparand("", &tokyo), "");
        assert_eq!(datetime_comparand("soon", &tokyo), "soon");
    }

    #[test]
    fn datetimes_are_shown_with_their_offset() {
        let tokyo = zone("Asia/Tokyo");
        assert_eq!(
            datetime_in_zone("2026-08-01T00:00:00Z", &tokyo),
            "2026-08-01T09:00:00+09:00"
        );
        assert_eq!(
            datetime_in_zone("2026-08-01T00:00:00.120Z", &tokyo),
            "2026-08-01T09:00:00.120+09:00"
        );
        assert_eq!(
            datetime_in_zone("2026-01-01T00:00:00Z", &zone("America/St_Johns")),
            "2025-12-31T20:30:00-03:30"
        );
        assert_eq!(
            datetime_in_zone("9999-12-31T14:59:00Z", &tokyo),
            "9999-12-31T23:59:00+09:00"
        );
        assert_eq!(
            datetime_in_zone("9999-12-31T23:59:00Z", &tokyo),
            "9999-12-31T23:59:00Z"
        );
        assert_eq!(datetime_in_zone("", &tokyo), "");
        assert_eq!(datetime_in_zone("2026-08-01", &tokyo), "2026-08-01");
    }
}
