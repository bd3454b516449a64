//! What a scalar is: text, number, boolean, null (DEF-11, DEF-12), by the rules of YAML 1.2 or 1.1.

use super::raw::Version;

/// A resolved scalar and the text it was written with.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Scalar {
    pub value: ScalarValue,
    /// The text after escapes, before types; empty for an empty plain scalar.
    pub source: String,
    pub quoting: Quoting,
    /// Whether a tag stood before it.
    pub tagged: bool,
}

/// How a scalar was written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Quoting {
    Plain,
    Single,
    /// Double quotes or a block scalar.
    Double,
}

#[derive(Clone, PartialEq, Debug)]
pub(super) enum ScalarValue {
    Null,
    Bool(bool),
    Number(f64),
    Text(String),
    /// A date or bytes: not text, not a number.
    Opaque,
}

/// The value of an untagged plain scalar.
pub(super) fn plain(text: &str, version: Version) -> ScalarValue {
    let resolved = null(text)
        .or_else(|| boolean(text, version))
        .or_else(|| integer(text, version))
        .or_else(|| float(text, version));
    match (resolved, version) {
        (Some(value), _) => value,
        (None, Version::V1_1) if is_timestamp(text) => ScalarValue::Opaque,
        (None, _) => ScalarValue::Text(text.to_owned()),
    }
}

/// The value of a scalar with a core tag; `kind` is what follows `tag:yaml.org,2002:`. A tag that does not fit the
/// text leaves it as text.
pub(super) fn tagged(kind: &str, text: &str, version: Version) -> ScalarValue {
    let resolved = match kind {
        "null" => null(text),
        "bool" => boolean(text, version),
        "int" => integer(text, version),
        "float" => float(text, version),
        "binary" | "timestamp" | "set" | "omap" | "pairs" => Some(ScalarValue::Opaque),
        _ => None,
    };
    resolved.unwrap_or_else(|| ScalarValue::Text(text.to_owned()))
}

fn null(text: &str) -> Option<ScalarValue> {
    matches!(text, "" | "~" | "null" | "Null" | "NULL").then_some(ScalarValue::Null)
}

fn boolean(text: &str, version: Version) -> Option<ScalarValue> {
    let value = match (text, version) {
        ("true" | "True" | "TRUE", _) => true,
        ("false" | "False" | "FALSE", _) => false,
        ("y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON", Version::V1_1) => true,
        ("n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF", Version::V1_1) => false,
        _ => return None,
    };
    Some(ScalarValue::Bool(value))
}

/// Splits an optional sign.
fn signed(text: &str) -> (f64, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (-1.0, &text[1..]),
        Some(b'+') => (1.0, &text[1..]),
        _ => (1.0, text),
    }
}

fn all_digits(text: &str, radix: u32) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_digit(radix))
}

fn integer(text: &str, version: Version) -> Option<ScalarValue> {
    let value = match version {
        Version::V1_2 => {
            if let Some(digits) = text.strip_prefix("0o") {
                digits_value(digits, 8)?
            } else if let Some(digits) = text.strip_prefix("0x") {
                digits_value(digits, 16)?
            } else {
                let (sign, digits) = signed(text);
                sign * digits_value(digits, 10)?
            }
        }
        Version::V1_1 => integer_1_1(text)?,
    };
    Some(ScalarValue::Number(value))
}

/// YAML 1.1: `_` between digits, `0b`, `0x`, a leading zero for octal, `1:30` in base 60.
fn integer_1_1(text: &str) -> Option<f64> {
    let (sign, unsigned) = signed(text);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if unsigned.contains(':') {
        return sexagesimal(unsigned, false).map(|n| sign * n);
    }
    let digits = unsigned.replace('_', "");
    let value = if let Some(rest) = digits.strip_prefix("0b") {
        digits_value(rest, 2)?
    } else if let Some(rest) = digits.strip_prefix("0x") {
        digits_value(rest, 16)?
    } else if digits.len() > 1 && digits.starts_with('0') && all_digits(&digits, 8) {
        digits_value(&digits[1..], 8)?
    } else {
        digits_value(&digits, 10)?
    };
    Some(sign * value)
}

/// Digits as a double, rounded once. Decimal digits go through the correctly rounding reader.
fn digits_value(digits: &str, radix: u32) -> Option<f64> {
    if !all_digits(digits, radix) {
        return None;
    }
    if radix == 10 {
        return digits.parse().ok();
    }
    // Power-of-two radix: the leading 64 significant bits and a sticky bit decide the rounding.
    let bits_per_digit = radix.trailing_zeros();
    let (mut head, mut dropped, mut sticky) = (0u128, 0i32, false);
    for digit in digits.chars().filter_map(|c| c.to_digit(radix)) {
        if head >> 100 == 0 {
            head = (head << bits_per_digit) | u128::from(digit);
        } else {
            dropped += bits_per_digit as i32;
            sticky |= digit != 0;
        }
    }
    head |= u128::from(sticky);
    Some(head as f64 * 2f64.powi(dropped))
}

fn float(text: &str, version: Version) -> Option<ScalarValue> {
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(ScalarValue::Number(f64::NAN));
    }
    let (sign, unsigned) = signed(text);
    if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        return Some(ScalarValue::Number(sign * f64::INFINITY));
    }
    if version == Version::V1_1 && unsigned.contains(':') {
        return sexagesimal(unsigned, true).map(|n| ScalarValue::Number(sign * n));
    }
    let without_marks;
    let number = if version == Version::V1_1 && unsigned.contains('_') {
        without_marks = unsigned.replace('_', "");
        without_marks.as_str()
    } else {
        unsigned
    };
    is_float(number, version)
        .then(|| number.parse::<f64>().ok())
        .flatten()
        .map(|n| ScalarValue::Number(sign * n))
}

/// A fraction or an exponent must be there, and digits on at least one side of the point.
fn is_float(unsigned: &str, version: Version) -> bool {
    let (number, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((number, exponent)) => (number, Some(exponent)),
        None => (unsigned, None),
    };
    let exponent_fits = exponent.is_none_or(|e| all_digits(signed(e).1, 10));
    let number_fits = match number.split_once('.') {
        Some(("", fraction)) => all_digits(fraction, 10),
        Some((whole, fraction)) => all_digits(whole, 10) && (fraction.is_empty() || all_digits(fraction, 10)),
        None => exponent.is_some() && all_digits(number, 10),
    };
    // 1.1 knows `1.` but takes a lone exponent only with digits, like 1.2.
    let _ = version;
    exponent_fits && number_fits
}

/// `12:30:45` in base 60 (YAML 1.1); a float has a fraction in its last part.
fn sexagesimal(unsigned: &str, fraction: bool) -> Option<f64> {
    let text = unsigned.replace('_', "");
    let (whole, tail) = match (text.split_once('.'), fraction) {
        (Some((whole, tail)), true) if tail.is_empty() || all_digits(tail, 10) => (whole, tail),
        (None, false) => (text.as_str(), ""),
        _ => return None,
    };
    let mut value = 0.0;
    for (i, part) in whole.split(':').enumerate() {
        let digit = digits_value(part, 10)?;
        if i > 0 && (part.len() > 2 || digit > 59.0) {
            return None;
        }
        value = value * 60.0 + digit;
    }
    if !tail.is_empty() {
        value += format!("0.{tail}").parse::<f64>().ok()?;
    }
    Some(value)
}

/// YAML 1.1 dates, with or without a time: `2026-09-01`, `2026-9-1 12:00:00.5 +9`.
fn is_timestamp(text: &str) -> bool {
    let Some((date, rest)) = split_date(text) else {
        return false;
    };
    if rest.is_empty() {
        // A date alone has two-digit month and day.
        return date.len() == 10;
    }
    let clock = rest
        .strip_prefix(['T', 't'])
        .unwrap_or_else(|| rest.trim_start_matches([' ', '\t']));
    if clock.len() == rest.len() {
        return false;
    }
    is_clock(clock)
}

/// The date at the start of a text and what follows it.
fn split_date(text: &str) -> Option<(&str, &str)> {
    let take = |from: usize, min: usize, max: usize| -> Option<usize> {
        let len = text
            .as_bytes()
            .get(from..)?
            .iter()
            .take(max)
            .take_while(|b| b.is_ascii_digit())
            .count();
        (len >= min).then_some(from + len)
    };
    let dash = |at: usize| (text.as_bytes().get(at) == Some(&b'-')).then_some(at + 1);
    let month = dash(take(0, 4, 4)?)?;
    let day = dash(take(month, 1, 2)?)?;
    let end = take(day, 1, 2)?;
    Some(text.split_at(end))
}

/// `h:mm:ss`, a fraction, and `Z` or an offset.
fn is_clock(text: &str) -> bool {
    let mut parts = text.splitn(3, ':');
    let (Some(hour), Some(minute), Some(rest)) = (parts.next(), parts.next(), parts.next()) else {
        return false;
    };
    let head = (1..=2).contains(&hour.len())
        && all_digits(hour, 10)
        && minute.len() == 2
        && all_digits(minute, 10)
        && rest.len() >= 2
        && rest.is_char_boundary(2)
        && all_digits(&rest[..2], 10);
    if !head {
        return false;
    }
    let mut tail = &rest[2..];
    if let Some(fraction) = tail.strip_prefix('.') {
        let after = fraction.trim_start_matches(|c: char| c.is_ascii_digit());
        if after.len() == fraction.len() {
            return false;
        }
        tail = after;
    }
    let zone = tail.trim_start_matches([' ', '\t']);
    if zone.is_empty() {
        return tail.is_empty();
    }
    if zone == "Z" {
        return true;
    }
    let Some(offset) = zone.strip_prefix(['+', '-']) else {
        return false;
    };
    match offset.split_once(':') {
        None => (1..=2).contains(&offset.len()) && all_digits(offset, 10),
        Some((hours, minutes)) => {
            (1..=2).contains(&hours.len())
                && all_digits(hours, 10)
                && minutes.len() == 2
                && all_digits(minutes, 10)
        }
    }
}
