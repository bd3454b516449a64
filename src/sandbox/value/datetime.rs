//! Dates, times of day and instants as the service stores them: text, minutes only, instants in UTC (KTB-47, KTB-114).
use jiff::civil::{Date, DateTime, Time};
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

/// Reads `YYYY-MM-DD`.
pub fn parse_date(text: &str) -> Option<Date> {
    let bytes = text.as_bytes();
    if bytes.len() != 10 || bytes[4] != b'-' || bytes[7] != b'-' {
        return None;
    }
    let year: i16 = digits(&text[0..4])?;
    let month: i8 = digits(text.get(5..7)?)?;
    let day: i8 = digits(text.get(8..10)?)?;
    Date::new(year, month, day).ok()
}

/// Reads `HH:MM` or `HH:MM:SS`; seconds are dropped.
pub fn parse_time(text: &str) -> Option<Time> {
    let mut parts = text.split(':');
    let hour: i8 = two_digits(parts.next()?)?;
    let minute: i8 = two_digits(parts.next()?)?;
    if let Some(second) = parts.next() {
        let whole = second.split_once('.').map_or(second, |(whole, _)| whole);
        let second: i8 = two_digits(whole)?;
        Time::new(hour, minute, second, 0).ok()?;
    }
    if parts.next().is_some() {
        return None;
    }
    Time::new(hour, minute, 0, 0).ok()
}

/// Reads an ISO 8601 date-time with `Z` or an offset; without either it is local to `zone`. Seconds are dropped.
pub fn parse_instant(text: &str, zone: &TimeZone) -> Option<Timestamp> {
    let date = parse_date(text.get(..10)?)?;
    let rest = text.get(10..)?.strip_prefix(['T', 't', ' '])?;
    let (clock, offset_minutes) = if let Some(clock) = rest.strip_suffix(['Z', 'z']) {
        (clock, Some(0))
    } else if let Some(at) = rest.rfind(['+', '-']) {
        (&rest[..at], Some(parse_offset(&rest[at..])?))
    } else {
        (rest, None)
    };
    let local = DateTime::from_parts(date, parse_time(clock)?);
    let instant = match offset_minutes {
        Some(minutes) => {
            let utc = local.checked_sub(minutes.minutes()).ok()?;
            utc.to_zoned_datetime(TimeZone::UTC).ok()?.timestamp()
        }
        None => local.to_zoned_datetime(zone.clone()).ok()?.timestamp(),
    };
    Some(instant)
}

/// `YYYY-MM-DD`.
pub fn date_text(date: Date) -> String {
    date.to_string()
}

/// `HH:MM`.
pub fn time_text(time: Time) -> String {
    format!("{:02}:{:02}", time.hour(), time.minute())
}

/// `YYYY-MM-DDTHH:MM:00Z`.
pub fn instant_text(instant: Timestamp) -> String {
    minute_text(minute_of(instant))
}

/// Minutes since 1970 of an instant, rounded down.
pub fn minute_of(instant: Timestamp) -> i64 {
    instant.as_second().div_euclid(60)
}

/// The text of a minute since 1970: `YYYY-MM-DDTHH:MM:00Z`.
pub fn minute_text(minute: i64) -> String {
    let instant = Timestamp::from_second(minute.saturating_mul(60)).unwrap_or(Timestamp::UNIX_EPOCH);
    let utc = instant.to_zoned_datetime(TimeZone::UTC);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:00Z",
        utc.year(),
        utc.month(),
        utc.day(),
        utc.hour(),
        utc.minute()
    )
}

fn digits<T: std::str::FromStr>(text: &str) -> Option<T> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().ok()
    } else {
        None
    }
}

fn two_digits<T: std::str::FromStr>(text: &str) -> Option<T> {
    if text.len() == 2 { digits(text) } else { None }
}

/// `+09:00`, `+0900` or `+09` as minutes.
fn parse_offset(text: &str) -> Option<i64> {
    let sign = if text.starts_with('-') { -1 } else { 1 };
    let rest = text.get(1..)?;
    let (hours, minutes) = match rest.len() {
        2 => (rest, "00"),
        4 => (rest.get(0..2)?, rest.get(2..4)?),
        5 if rest.as_bytes()[2] == b':' => (rest.get(0..2)?, rest.get(3..5)?),
        _ => return None,
    };
    let hours: i64 = two_digits(hours)?;
    let minutes: i64 = two_digits(minutes)?;
    (hours <= 14 && minutes < 60).then_some(sign * (hours * 60 + minutes))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn utc(text: &str) -> Option<String> {
        let zone = TimeZone::get("Asia/Tokyo").unwrap_or(TimeZone::UTC);
        parse_instant(text, &zone).map(instant_text)
    }

    #[test]
    fn ktb_114_stores_utc_without_seconds() {
        for (text, expected) in [
            ("2026-08-01T00:00:59Z", "2026-08-01T00:00:00Z"),
            ("2026-08-01T00:00:30.999Z", "2026-08-01T00:00:00Z"),
            ("2026-08-01T09:05:00+09:00", "2026-08-01T00:05:00Z"),
            ("2026-08-01T09:05+0900", "2026-08-01T00:05:00Z"),
            ("2026-07-31T20:00:00-04:00", "2026-08-01T00:00:00Z"),
            ("2026-08-01T09:00", "2026-08-01T00:00:00Z"),
        ] {
            assert_eq!(utc(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn refuses_what_is_no_instant() {
        for text in [
            "",
            "2026-08-01",
            "2026-02-30T00:00:00Z",
            "2026-08-01T25:00:00Z",
            "2026-08-01T00:00:00+99:00",
            "日本-08-01T00:00Z",
        ] {
            assert_eq!(utc(text), None, "{text}");
        }
    }

    #[test]
    fn reads_dates_and_times() {
        assert_eq!(
            parse_date("2024-02-29").map(date_text).as_deref(),
            Some("2024-02-29")
        );
        for text in ["2023-02-29", "2024-2-9", "2024/02/29", "20240229", ""] {
            assert_eq!(parse_date(text), None, "{text}");
        }
        assert_eq!(parse_time("09:05:59").map(time_text).as_deref(), Some("09:05"));
        assert_eq!(parse_time("9:5"), None);
        assert_eq!(parse_time("24:00"), None);
    }

    proptest! {
        #[test]
        fn foreign_text_never_panics(text in "\\PC{0,32}") {
            let _ = (parse_date(&text), parse_time(&text), utc(&text));
        }
    }
}
