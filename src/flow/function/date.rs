//! Date functions (LNG-87..92). Parts are taken from the text as it stands; whatever needs a calendar
//! asks for a real date in the first ten characters.

use jiff::civil::{Date, Weekday};

use super::Refusal;
use crate::flow::calendar::{DateUnit, iso_date};
use crate::flow::sql::message::unknown;
use crate::flow::value::parse_number;

/// Characters of `YYYY-MM-DD`.
const DATE_CHARS: usize = 10;

/// Sunday first, as `%w` counts.
const WEEKDAYS: [&str; 7] = ["日", "月", "火", "水", "木", "金", "土"];

pub(super) fn year(args: &[&str], out: &mut String) {
    part(args[0], 0..4, out);
}

pub(super) fn month(args: &[&str], out: &mut String) {
    part(args[0], 5..7, out);
}

pub(super) fn day(args: &[&str], out: &mut String) {
    part(args[0], 8..10, out);
}

fn part(text: &str, range: std::ops::Range<usize>, out: &mut String) {
    if !is_short(text)
        && let Some(number) = digits(text, range)
    {
        out.push_str(&number.to_string());
    }
}

pub(super) fn day_of_week(args: &[&str], out: &mut String) {
    if let Some(date) = real_date(args[0]) {
        out.push_str(&(days_from_sunday(date) + 1).to_string());
    }
}

pub(super) fn quarter(args: &[&str], out: &mut String) {
    if let Some(date) = real_date(args[0]) {
        out.push_str(&((date.month() - 1) / 3 + 1).to_string());
    }
}

pub(super) fn week(args: &[&str], out: &mut String) {
    if let Some(date) = real_date(args[0]) {
        out.push_str(&date.iso_week_date().week().to_string());
    }
}

/// `DATE_FORMAT(d, f)`: unknown letters pass through; `%w %a %v %G` are empty for unreal dates.
pub(super) fn date_format(args: &[&str], out: &mut String) {
    let text = args[0];
    if is_short(text) {
        return;
    }
    let date = real_date(text);
    let calendar = |show: fn(Date) -> String| date.map(show).unwrap_or_default();
    let mut format = args[1].chars();
    while let Some(c) = format.next() {
        if c != '%' {
            out.push(c);
            continue;
        }
        match format.next() {
            Some('Y') => out.push_str(slice(text, 0..4)),
            Some('y') => out.push_str(slice(text, 2..4)),
            Some('m') => out.push_str(slice(text, 5..7)),
            Some('d') => out.push_str(slice(text, 8..10)),
            Some('c') => out.push_str(without_zero(slice(text, 5..7))),
            Some('e') => out.push_str(without_zero(slice(text, 8..10))),
            Some('H') => out.push_str(time_part(text, 11..13)),
            Some('i') => out.push_str(time_part(text, 14..16)),
            Some('s') => out.push_str(time_part(text, 17..19)),
            Some('w') => out.push_str(&calendar(|date| days_from_sunday(date).to_string())),
            Some('a') => out.push_str(&calendar(|date| WEEKDAYS[days_from_sunday(date)].to_owned())),
            Some('v') => out.push_str(&calendar(|date| format!("{:02}", date.iso_week_date().week()))),
            Some('G') => out.push_str(&calendar(|date| format!("{:04}", date.iso_week_date().year()))),
            Some(other) => out.extend(['%', other]),
            None => out.push('%'),
        }
    }
}

/// `DATEDIFF(a, b)`: a − b in days; 0 when either is too short, `''` when either is no real date.
pub(super) fn datediff(args: &[&str], out: &mut String) {
    if is_short(args[0]) || is_short(args[1]) {
        out.push('0');
    } else if let (Some(a), Some(b)) = (real_date(args[0]), real_date(args[1])) {
        out.push_str(&(a.duration_since(b).as_hours() / 24).to_string());
    }
}

/// `DATE_ADD(d, n, unit)`: the day of the month is clamped to the end of the target month.
pub(super) fn date_add(args: &[&str], out: &mut String) -> Result<(), Refusal> {
    let text = args[0];
    let unit = unit(args[2])?;
    if is_short(text) {
        out.push_str(text);
        return Ok(());
    }
    let amount = amount(args[1])?;
    let Some(date) = real_date(text) else {
        return Ok(());
    };
    let moved = unit.shift(date, amount).ok_or_else(|| {
        let (text, amount, unit) = (unknown(text), unknown(args[1]), unknown(args[2]));
        Refusal::Argument(format!(
            "{text} moved by {amount} {unit} leaves the years 0 to 9999"
        ))
    })?;
    out.push_str(&iso_date(moved));
    Ok(())
}

pub(super) fn check_date_add(args: &[Option<&str>]) -> Result<(), Refusal> {
    if let [_, amount_text, unit_name] = args {
        unit_name.map(unit).transpose()?;
        amount_text.map(amount).transpose()?;
    }
    Ok(())
}

fn unit(name: &str) -> Result<DateUnit, Refusal> {
    DateUnit::parse(name).ok_or_else(|| {
        let name = unknown(name);
        Refusal::Argument(format!("unknown unit '{name}'; use YEAR, MONTH or DAY"))
    })
}

/// A whole number of units; fractions are cut off.
fn amount(text: &str) -> Result<i64, Refusal> {
    let amount = parse_number(text).trunc();
    if amount.is_finite() {
        // The cast saturates; such an amount leaves the calendar anyway.
        Ok(amount as i64)
    } else {
        let text = unknown(text);
        Err(Refusal::Argument(format!("'{text}' is no number of units")))
    }
}

/// `LAST_DAY(d)`: `''` when the text is too short or names no month.
pub(super) fn last_day(args: &[&str], out: &mut String) {
    let text = args[0];
    if is_short(text) {
        return;
    }
    let first = digits(text, 0..4)
        .zip(digits(text, 5..7))
        .and_then(|(year, month)| Date::new(year, i8::try_from(month).ok()?, 1).ok());
    if let Some(first) = first {
        out.push_str(&iso_date(first.last_of_month()));
    }
}

fn days_from_sunday(date: Date) -> usize {
    match date.weekday() {
        Weekday::Sunday => 0,
        Weekday::Monday => 1,
        Weekday::Tuesday => 2,
        Weekday::Wednesday => 3,
        Weekday::Thursday => 4,
        Weekday::Friday => 5,
        Weekday::Saturday => 6,
    }
}

fn is_short(text: &str) -> bool {
    text.len() < DATE_CHARS || text.encode_utf16().nth(DATE_CHARS - 1).is_none()
}

/// The piece of an ASCII text; `''` where the text is not ASCII or ends before.
fn slice(text: &str, range: std::ops::Range<usize>) -> &str {
    text.get(range).unwrap_or("")
}

fn time_part(text: &str, range: std::ops::Range<usize>) -> &str {
    text.get(range).unwrap_or("00")
}

fn without_zero(two_digits: &str) -> &str {
    two_digits.strip_prefix('0').unwrap_or(two_digits)
}

fn digits(text: &str, range: std::ops::Range<usize>) -> Option<i16> {
    let part = text.get(range)?;
    part.bytes().try_fold(0i16, |n, c| {
        c.is_ascii_digit().then(|| n * 10 + i16::from(c - b'0'))
    })
}

/// The date in the first ten characters, if it is a real one.
fn real_date(text: &str) -> Option<Date> {
    let separators = text.get(4..5)? == text.get(7..8)? && matches!(text.get(4..5)?, "-" | "/");
    let (year, month, day) = (digits(text, 0..4)?, digits(text, 5..7)?, digits(text, 8..10)?);
    separators
        .then(|| Date::new(year, i8::try_from(month).ok()?, i8::try_from(day).ok()?).ok())
        .flatten()
}
