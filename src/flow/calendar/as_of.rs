//! The one instant a run works with (RNR-95) and the four functions that show it (LNG-60).

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;

use super::literal::Literal;
use super::{CalendarError, Zone, instant_millis, iso_date};

/// The as-of instant together with the zone that decides its calendar day.
#[derive(Clone, PartialEq, Debug)]
pub struct AsOf {
    instant: Timestamp,
    zone: Zone,
}

impl AsOf {
    /// An instant seen from a zone.
    pub fn new(instant: Timestamp, zone: Zone) -> Self {
        Self { instant, zone }
    }

    /// Reads `--as-of` (RNR-95): RFC 3339 is exact, a date alone is that day 00:00 UTC, and a date-time without
    /// offset is read in the given zone, so that the result never depends on the host (RNR-121).
    ///
    /// # Errors
    /// [`CalendarError::NotADateTime`] for anything else.
    pub fn parse(text: &str, zone: &Zone) -> Result<Self, CalendarError> {
        let refused = || CalendarError::NotADateTime(text.to_owned());
        let instant = match Literal::parse(text).ok_or_else(refused)? {
            Literal::Instant(utc) => TimeZone::UTC.to_timestamp(utc).map_err(|_| refused())?,
            Literal::Date(date) => TimeZone::UTC
                .to_timestamp(date.to_datetime(jiff::civil::Time::midnight()))
                .map_err(|_| refused())?,
            Literal::Local(local) => zone.0.to_timestamp(local).map_err(|_| refused())?,
        };
        Ok(Self::new(instant, zone.clone()))
    }

    /// The instant.
    pub fn instant(&self) -> Timestamp {
        self.instant
    }

    /// The zone.
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// `@NOW()`: UTC with milliseconds.
    pub fn now(&self) -> String {
        instant_millis(self.instant)
    }

    /// `@TODAY()`: the day in the zone.
    pub fn today(&self) -> String {
        iso_date(self.day())
    }

    /// `@MONTH_START()`: the first day of that day's month.
    pub fn month_start(&self) -> String {
        iso_date(self.day().first_of_month())
    }

    /// `@NEXT_MONTH_START()`: the first day of the following month.
    pub fn next_month_start(&self) -> String {
        let last = self.day().last_of_month();
        // Only the last month of year 9999 has no following day; it stays where it is.
        iso_date(last.tomorrow().unwrap_or(last))
    }

    fn day(&self) -> Date {
        self.zone.day(self.instant)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, zone: &str) -> AsOf {
        AsOf::parse(text, &Zone::named(zone).unwrap()).unwrap()
    }

    #[test]
    fn the_zone_decides_the_day() {
        // V234..V240
        let august = at("2026-08-22T00:00:00+09:00", "Asia/Tokyo");
        assert_eq!(august.today(), "2026-08-22");
        assert_eq!(august.month_start(), "2026-08-01");
        assert_eq!(august.next_month_start(), "2026-09-01");
        assert_eq!(august.now(), "2026-08-21T15:00:00.000Z");
        let before = at("2026-12-31T14:59:59Z", "Asia/Tokyo");
        assert_eq!(
            (before.today(), before.next_month_start()),
            ("2026-12-31".into(), "2027-01-01".into())
        );
        let after = at("2026-12-31T15:00:00Z", "Asia/Tokyo");
        assert_eq!(
            (after.today(), after.month_start()),
            ("2027-01-01".into(), "2027-01-01".into())
        );
        assert_eq!(at("2026-12-31T15:00:00Z", "UTC").today(), "2026-12-31");
    }

    #[test]
    fn as_of_texts() {
        assert_eq!(at("2026-08-22", "Asia/Tokyo").now(), "2026-08-22T00:00:00.000Z");
        assert_eq!(
            at("2026-08-22T09:00", "Asia/Tokyo").now(),
            "2026-08-22T00:00:00.000Z"
        );
        assert_eq!(
            at("2026-08-22T09:00:00.5+09:00", "UTC").now(),
            "2026-08-22T00:00:00.500Z"
        );
        assert_eq!(at("9999-12-30", "UTC").next_month_start(), "9999-12-31");
        for text in [
            "",
            "now",
            "2026-13-01",
            "2026-02-29",
            "2026-08-22T25:00",
            "2026-08-22T09:00+9",
        ] {
            assert!(AsOf::parse(text, &Zone::utc()).is_err(), "{text}");
        }
    }
}
