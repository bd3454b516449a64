//! GENERATE_SERIES (LNG-134): integers or days, computed, never read.

use jiff::civil::Date;

use crate::flow::calendar::{DateUnit, iso_date, parse_date};
use crate::flow::sql::message::{Message, say};

/// The most rows that one statement may generate.
pub const MAX_ROWS: u64 = 10_000;
/// Name of the column without AS.
pub const DEFAULT_COLUMN: &str = "generate_series";

/// A checked series.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Series {
    /// Whole numbers.
    Numbers {
        /// First value.
        start: i64,
        /// Distance.
        step: i64,
        /// Number of values.
        count: u64,
    },
    /// Days.
    Days {
        /// First day.
        start: Date,
        /// Distance.
        step: i64,
        /// Unit of the distance.
        unit: DateUnit,
        /// Number of days.
        count: u64,
    },
}

impl Series {
    /// Checks start, stop and optional step.
    pub fn new(arguments: &[String]) -> Result<Self, Message> {
        let (start, stop, step) = match arguments {
            [start, stop] => (start, stop, None),
            [start, stop, step] => (start, stop, Some(step)),
            _ => return Err(argument_error("start and stop", "開始と終了")),
        };
        if let (Ok(first), Ok(last)) = (start.parse::<i64>(), stop.parse::<i64>()) {
            let step = match step {
                None => 1,
                Some(text) => text
                    .parse()
                    .map_err(|_| argument_error("a whole step", "整数の増分"))?,
            };
            return Self::numbers(first, last, step);
        }
        match (parse_date(start), parse_date(stop)) {
            (Some(first), Some(last)) => Self::days(first, last, step.map_or("1 day", String::as_str)),
            _ => Err(argument_error(
                "two whole numbers or two dates",
                "整数 2 つ、または日付 2 つ",
            )),
        }
    }

    fn numbers(start: i64, stop: i64, step: i64) -> Result<Self, Message> {
        let distance = i128::from(stop) - i128::from(start);
        let count = match step {
            0 => return Err(zero_step()),
            _ if (distance < 0) != (step < 0) && distance != 0 => 0,
            _ => distance / i128::from(step) + 1,
        };
        Ok(Self::Numbers {
            start,
            step,
            count: limited(count)?,
        })
    }

    fn days(start: Date, stop: Date, step: &str) -> Result<Self, Message> {
        let (amount, unit) = step
            .split_once(' ')
            .and_then(|(amount, unit)| {
                let unit = unit.trim().to_ascii_uppercase();
                Some((
                    amount.trim().parse::<i64>().ok()?,
                    DateUnit::parse(unit.strip_suffix('S').unwrap_or(&unit))?,
                ))
            })
            .ok_or_else(|| {
                argument_error(
                    "a step such as '1 day', '2 months', '1 year'",
                    "'1 day'、'2 months'、'1 year' のような増分",
                )
            })?;
        if amount == 0 {
            return Err(zero_step());
        }
        let aligned = match unit {
            DateUnit::Day => true,
            DateUnit::Month => start.day() == 1,
            DateUnit::Year => start.day() == 1 && start.month() == 1,
        };
        if !aligned {
            return Err(argument_error(
                "a start on the first day (month step) or on 01-01 (year step)",
                "月単位なら 1 日、年単位なら 1 月 1 日の開始日",
            ));
        }
        let distance = match unit {
            DateUnit::Day => day_number(stop) - day_number(start),
            DateUnit::Month => month_number(stop) - month_number(start),
            DateUnit::Year => i128::from(stop.year()) - i128::from(start.year()),
        };
        let amount_wide = i128::from(amount);
        // In whole units the start is the first day, so going down to a later day of the stop's unit ends one earlier.
        let ends_before = amount < 0
            && unit != DateUnit::Day
            && unit.shift(start, distance as i64).is_some_and(|day| day < stop);
        let distance = if ends_before { distance + 1 } else { distance };
        let backwards = (distance < 0) != (amount < 0) && distance != 0;
        let count = if backwards || (ends_before && distance > 0) {
            0
        } else {
            distance / amount_wide + 1
        };
        Ok(Self::Days {
            start,
            step: amount,
            unit,
            count: limited(count)?,
        })
    }

    /// Number of values.
    pub fn count(&self) -> u64 {
        match self {
            Self::Numbers { count, .. } | Self::Days { count, .. } => *count,
        }
    }

    /// Values are numbers, not days.
    pub fn is_numeric(&self) -> bool {
        matches!(self, Self::Numbers { .. })
    }

    /// The values in order.
    pub fn values(&self) -> impl Iterator<Item = String> {
        let series = self.clone();
        (0..self.count() as i64).map_while(move |i| match &series {
            Self::Numbers { start, step, .. } => Some((start + step * i).to_string()),
            Self::Days {
                start, step, unit, ..
            } => unit.shift(*start, step * i).map(iso_date),
        })
    }
}

/// The rows of a statement's series so far with those of one more, which all together are limited (LNG-134, LNG-180).
pub fn add_rows(generated: u64, series: &Series) -> Result<u64, Message> {
    limited(i128::from(generated) + i128::from(series.count()))
}

fn limited(count: i128) -> Result<u64, Message> {
    u64::try_from(count)
        .ok()
        .filter(|count| *count <= MAX_ROWS)
        .ok_or_else(|| {
            say!(
                "ArgumentError: GENERATE_SERIES makes {count} rows in this statement, more than {MAX_ROWS}",
                "ArgumentError: この文の GENERATE_SERIES の行数 {count} が上限 {MAX_ROWS} を超えています"
            )
        })
}

fn zero_step() -> Message {
    say!(
        "ArgumentError: the step of GENERATE_SERIES is 0",
        "ArgumentError: GENERATE_SERIES の増分が 0 です"
    )
}

fn argument_error(english: &str, japanese: &str) -> Message {
    say!(
        "ArgumentError: GENERATE_SERIES needs {english}",
        "ArgumentError: GENERATE_SERIES には{japanese}が必要です"
    )
}

fn day_number(date: Date) -> i128 {
    // Days since an arbitrary day: civil arithmetic of the proleptic Gregorian calendar.
    let (year, month) = (i128::from(date.year()), i128::from(date.month()));
    let shifted = if month <= 2 { year - 1 } else { year };
    let month_of_year = (month + 9) % 12;
    365 * shifted + shifted.div_euclid(4) - shifted.div_euclid(100)
        + shifted.div_euclid(400)
        + (153 * month_of_year + 2) / 5
        + i128::from(date.day())
}

fn month_number(date: Date) -> i128 {
    i128::from(date.year()) * 12 + i128::from(date.month())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(arguments: &[&str]) -> Result<Vec<String>, Message> {
        let arguments: Vec<String> = arguments.iter().map(|argument| (*argument).to_owned()).collect();
        Series::new(&arguments).map(|series| series.values().collect())
    }

    #[test]
    fn numbers_and_days_up_and_down() {
        assert_eq!(values(&["1", "3"]).unwrap(), ["1", "2", "3"]);
        assert_eq!(values(&["3", "-1", "-2"]).unwrap(), ["3", "1", "-1"]);
        assert!(values(&["3", "1"]).unwrap().is_empty());
        assert_eq!(values(&["2", "2", "-5"]).unwrap(), ["2"]);
        assert_eq!(
            values(&["2026-02-28", "2026-03-01"]).unwrap(),
            ["2026-02-28", "2026-03-01"]
        );
        assert_eq!(
            values(&["2026-11-01", "2027-01-15", "1 month"]).unwrap(),
            ["2026-11-01", "2026-12-01", "2027-01-01"]
        );
        assert_eq!(
            values(&["2026-03-01", "2026-01-15", "-1 month"]).unwrap(),
            ["2026-03-01", "2026-02-01"]
        );
        assert_eq!(
            values(&["2026-01-01", "2028-01-01", "1 years"]).unwrap(),
            ["2026-01-01", "2027-01-01", "2028-01-01"]
        );
        assert!(
            values(&["2026-01-01", "2026-01-15", "-1 month"])
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn bad_series_are_refused() {
        for arguments in [
            &["1", "2", "0"][..],
            &["1", "10001"],
            &["2026-01-15", "2026-03-01", "1 month"],
            &["2026-02-01", "2028-01-01", "1 year"],
            &["2026-01-01", "2026-01-02", "1 week"],
            &["a", "b"],
            &["1", "2026-01-01"],
            &["-9223372036854775808", "9223372036854775807"],
        ] {
            assert!(
                values(arguments)
                    .unwrap_err()
                    .to_string()
                    .starts_with("ArgumentError"),
                "{arguments:?}"
            );
        }
    }
}
