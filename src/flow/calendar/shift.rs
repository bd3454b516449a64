//! Moving a day by whole years, months or days (LNG-91, LNG-134).

use jiff::Span;
use jiff::civil::Date;

/// A unit of calendar distance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DateUnit {
    /// Calendar years.
    Year,
    /// Calendar months.
    Month,
    /// Days.
    Day,
}

impl DateUnit {
    /// Reads `YEAR`, `MONTH` or `DAY`, any case.
    pub fn parse(name: &str) -> Option<Self> {
        [("YEAR", Self::Year), ("MONTH", Self::Month), ("DAY", Self::Day)]
            .into_iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(name))
            .map(|(_, unit)| unit)
    }

    /// The day `amount` units away, clamped to the end of the target month; `None` outside the years 0 to 9999.
    pub fn shift(self, date: Date, amount: i64) -> Option<Date> {
        let span = match self {
            Self::Year => Span::new().try_years(amount),
            Self::Month => Span::new().try_months(amount),
            Self::Day => Span::new().try_days(amount),
        };
        let moved = date.checked_add(span.ok()?).ok()?;
        (moved.year() >= 0).then_some(moved)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn month_ends_are_clamped_and_the_range_is_closed() {
        let day = |y, m, d| Date::new(y, m, d).unwrap();
        assert_eq!(DateUnit::Month.shift(day(2026, 1, 31), 1), Some(day(2026, 2, 28)));
        assert_eq!(
            DateUnit::Month.shift(day(2026, 3, 31), -1),
            Some(day(2026, 2, 28))
        );
        assert_eq!(DateUnit::Year.shift(day(2024, 2, 29), 1), Some(day(2025, 2, 28)));
        assert_eq!(DateUnit::Day.shift(day(2026, 12, 31), 1), Some(day(2027, 1, 1)));
        assert_eq!(DateUnit::Day.shift(day(9999, 12, 31), 1), None);
        assert_eq!(DateUnit::Year.shift(day(2026, 1, 1), -2027), None);
        assert_eq!(DateUnit::Day.shift(day(2026, 1, 1), i64::MAX), None);
        assert_eq!(DateUnit::parse("month"), Some(DateUnit::Month));
        assert_eq!(DateUnit::parse("WEEK"), None);
    }
}
