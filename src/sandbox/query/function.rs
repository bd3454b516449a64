//! Date functions of the query language as spans of time (KTB-64, KTB-73). A span makes `=` mean "within" and `<`, `>`
//! "before its begin", "after its end", for dates and instants alike.
use jiff::civil::{Date, Weekday};
use jiff::tz::TimeZone;
use jiff::{Span, Timestamp, ToSpan as _};

use crate::sandbox::app::field::Kind;
use crate::sandbox::error::{ApiError, bad_query};
use crate::sandbox::value::datetime::{date_text, instant_text, minute_of, minute_text};

/// From the begin, included, to the end, excluded, in the text form of the field's values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SpanText {
    /// First text inside.
    pub from: String,
    /// First text after.
    pub to: String,
}

/// What a function may depend on.
pub struct Moment<'a> {
    /// The service's time.
    pub now: Timestamp,
    /// The caller's time zone.
    pub zone: &'a TimeZone,
}

/// Evaluates a date function for a field of `kind`. `Ok(None)`: there is no such function.
pub fn span(
    name: &str,
    arguments: &[String],
    kind: Kind,
    moment: &Moment<'_>,
) -> Result<Option<SpanText>, ApiError> {
    let today = moment.now.to_zoned_datetime(moment.zone.clone()).date();
    if name == "NOW" {
        no_arguments(name, arguments)?;
        if kind == Kind::Date {
            return days(today, today, kind, moment).map(Some);
        }
        let minute = minute_of(moment.now);
        return Ok(Some(SpanText {
            from: minute_text(minute),
            to: minute_text(minute + 1),
        }));
    }
    let (first, last) = match name {
        "TODAY" | "YESTERDAY" | "TOMORROW" => {
            no_arguments(name, arguments)?;
            let shift = match name {
                "TODAY" => 0,
                "YESTERDAY" => -1,
                _ => 1,
            };
            let day = moved(today, shift.days())?;
            (day, day)
        }
        "FROM_TODAY" => {
            let day = from_today(today, arguments)?;
            (day, day)
        }
        "THIS_WEEK" => week(today, 0, arguments)?,
        "LAST_WEEK" => week(today, -1, arguments)?,
        "NEXT_WEEK" => week(today, 1, arguments)?,
        "THIS_MONTH" => month(today, 0, arguments)?,
        "LAST_MONTH" => month(today, -1, arguments)?,
        "NEXT_MONTH" => month(today, 1, arguments)?,
        "THIS_YEAR" => year(today, 0, name, arguments)?,
        "LAST_YEAR" => year(today, -1, name, arguments)?,
        "NEXT_YEAR" => year(today, 1, name, arguments)?,
        _ => return Ok(None),
    };
    days(first, last, kind, moment).map(Some)
}

/// The span of whole local days from `first` to `last`.
fn days(first: Date, last: Date, kind: Kind, moment: &Moment<'_>) -> Result<SpanText, ApiError> {
    let after = moved(last, 1.day())?;
    if kind == Kind::Date {
        return Ok(SpanText {
            from: date_text(first),
            to: date_text(after),
        });
    }
    let begin = |day: Date| {
        let zoned = day
            .to_zoned_datetime(moment.zone.clone())
            .map_err(|_| out_of_range())?;
        Ok(instant_text(zoned.timestamp()))
    };
    Ok(SpanText {
        from: begin(first)?,
        to: begin(after)?,
    })
}

fn from_today(today: Date, arguments: &[String]) -> Result<Date, ApiError> {
    let [count, unit] = arguments else {
        return Err(wrong_arguments("FROM_TODAY"));
    };
    let count: i32 = count.parse().map_err(|_| wrong_arguments("FROM_TODAY"))?;
    let span = match unit.to_ascii_uppercase().as_str() {
        "DAYS" => Span::new().try_days(count),
        "WEEKS" => Span::new().try_weeks(count),
        "MONTHS" => Span::new().try_months(count),
        "YEARS" => Span::new().try_years(count),
        _ => {
            return Err(bad_query(
                "GAIA_IQ25",
                format!("単位（{unit}）が正しくありません。"),
                format!("The unit \"{unit}\" is not DAYS, WEEKS, MONTHS or YEARS."),
            ));
        }
    };
    moved(today, span.map_err(|_| out_of_range())?)
}

/// A week runs from Sunday to Saturday.
fn week(today: Date, shift: i32, arguments: &[String]) -> Result<(Date, Date), ApiError> {
    let since_sunday = i32::from(today.weekday().to_sunday_zero_offset());
    let sunday = moved(today, (shift * 7 - since_sunday).days())?;
    match arguments {
        [] => Ok((sunday, moved(sunday, 6.days())?)),
        [day] => {
            let weekday = weekday(day).ok_or_else(|| wrong_arguments("WEEK"))?;
            let day = moved(sunday, i32::from(weekday.to_sunday_zero_offset()).days())?;
            Ok((day, day))
        }
        _ => Err(wrong_arguments("WEEK")),
    }
}

fn weekday(name: &str) -> Option<Weekday> {
    Some(match name.to_ascii_uppercase().as_str() {
        "SUNDAY" => Weekday::Sunday,
        "MONDAY" => Weekday::Monday,
        "TUESDAY" => Weekday::Tuesday,
        "WEDNESDAY" => Weekday::Wednesday,
        "THURSDAY" => Weekday::Thursday,
        "FRIDAY" => Weekday::Friday,
        "SATURDAY" => Weekday::Saturday,
        _ => return None,
    })
}

/// The month, its n-th day, or its last day; a day that the month lacks is the next month's first (KTB-73).
fn month(today: Date, shift: i32, arguments: &[String]) -> Result<(Date, Date), ApiError> {
    let first = moved(today.first_of_month(), shift.months())?;
    match arguments {
        [] => Ok((first, first.last_of_month())),
        [day] if day.eq_ignore_ascii_case("LAST") => Ok((first.last_of_month(), first.last_of_month())),
        [day] => {
            let number: i8 = day
                .parse()
                .ok()
                .filter(|number| (1..=31).contains(number))
                .ok_or_else(|| {
                    bad_query(
                        "GAIA_IQ23",
                        format!("日（{day}）が正しくありません。"),
                        format!("The day \"{day}\" is not 1 to 31 or LAST."),
                    )
                })?;
            let day = if number > first.days_in_month() {
                moved(first.last_of_month(), 1.day())?
            } else {
                moved(first, i32::from(number - 1).days())?
            };
            Ok((day, day))
        }
        _ => Err(wrong_arguments("MONTH")),
    }
}

fn year(today: Date, shift: i32, name: &str, arguments: &[String]) -> Result<(Date, Date), ApiError> {
    no_arguments(name, arguments)?;
    let first = moved(today.first_of_year(), shift.years())?;
    Ok((first, first.last_of_year()))
}

fn moved(date: Date, span: Span) -> Result<Date, ApiError> {
    date.checked_add(span).map_err(|_| out_of_range())
}

fn no_arguments(name: &str, arguments: &[String]) -> Result<(), ApiError> {
    if arguments.is_empty() {
        Ok(())
    } else {
        Err(wrong_arguments(name))
    }
}

fn wrong_arguments(name: &str) -> ApiError {
    bad_query(
        "GAIA_IL08",
        format!("関数{name}の引数が正しくありません。"),
        format!("The arguments of the function {name} are incorrect."),
    )
}

fn out_of_range() -> ApiError {
    bad_query(
        "GAIA_IL08",
        "日付が範囲外です。".to_owned(),
        "The date is out of range.".to_owned(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 2026-09-06 (a Sunday) 08:30 in Tokyo, still the 5th in UTC.
    fn evaluate(call: &str, kind: Kind) -> String {
        let (name, arguments) = call.split_once('(').unwrap_or((call, ")"));
        let arguments: Vec<String> = arguments
            .trim_end_matches(')')
            .split(',')
            .map(|part| part.trim().to_owned())
            .filter(|part| !part.is_empty())
            .collect();
        let zone = TimeZone::get("Asia/Tokyo").unwrap_or(TimeZone::UTC);
        let now: Timestamp = "2026-09-05T23:30:40Z".parse().unwrap_or_default();
        match span(name, &arguments, kind, &Moment { now, zone: &zone }) {
            Ok(Some(span)) => format!("{}..{}", span.from, span.to),
            Ok(None) => "none".to_owned(),
            Err(error) => error.code().to_owned(),
        }
    }

    #[test]
    fn ktb_73_dates_follow_the_users_zone() {
        for (call, expected) in [
            ("TODAY()", "2026-09-06..2026-09-07"),
            ("YESTERDAY()", "2026-09-05..2026-09-06"),
            ("TOMORROW()", "2026-09-07..2026-09-08"),
            ("FROM_TODAY(-1, MONTHS)", "2026-08-06..2026-08-07"),
            ("THIS_WEEK()", "2026-09-06..2026-09-13"),
            ("LAST_WEEK(SATURDAY)", "2026-09-05..2026-09-06"),
            ("THIS_MONTH()", "2026-09-01..2026-10-01"),
            ("LAST_MONTH(LAST)", "2026-08-31..2026-09-01"),
            ("THIS_MONTH(31)", "2026-10-01..2026-10-02"),
            ("NEXT_MONTH(1)", "2026-10-01..2026-10-02"),
            ("LAST_YEAR()", "2025-01-01..2026-01-01"),
        ] {
            assert_eq!(evaluate(call, Kind::Date), expected, "{call}");
        }
        assert_eq!(
            evaluate("TODAY()", Kind::DateTime),
            "2026-09-05T15:00:00Z..2026-09-06T15:00:00Z"
        );
        assert_eq!(
            evaluate("NOW()", Kind::DateTime),
            "2026-09-05T23:30:00Z..2026-09-05T23:31:00Z"
        );
    }

    #[test]
    fn ktb_64_argument_errors() {
        for (call, code) in [
            ("TODAY(1)", "GAIA_IL08"),
            ("FROM_TODAY(1)", "GAIA_IL08"),
            ("FROM_TODAY(1, HOURS)", "GAIA_IQ25"),
            ("THIS_MONTH(32)", "GAIA_IQ23"),
            ("THIS_MONTH(0)", "GAIA_IQ23"),
            ("THIS_YEAR(1)", "GAIA_IL08"),
            ("FROM_TODAY(999999999, YEARS)", "GAIA_IL08"),
            ("SOON()", "none"),
        ] {
            assert_eq!(evaluate(call, Kind::Date), code, "{call}");
        }
    }
}
