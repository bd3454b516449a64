//! What a scalar is: text, number, boolean, null (DEF-11, DEF-12), by the rules of YAML 1.2 or 1.1.

use super::raw::Version;
use super::scalar_1_1;

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
        (None, Version::V1_1) if scalar_1_1::is_timestamp(text) => ScalarValue::Opaque,
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
        "binary" | "timestamp" | "merge" => Some(ScalarValue::Opaque),
        _ => None,
    };
    resolved.unwrap_or_else(|| ScalarValue::Text(text.to_owned()))
}

fn null(text: &str) -> Option<ScalarValue> {
    matches!(text, "" | "~" | "null" | "Null" | "NULL").then_some(ScalarValue::Null)
}

fn boolean(text: &str, version: Version) -> Option<ScalarValue> {
    let value = match text {
        "true" | "True" | "TRUE" => true,
        "false" | "False" | "FALSE" => false,
        _ if version == Version::V1_1 => scalar_1_1::boolean(text)?,
        _ => return None,
    };
    Some(ScalarValue::Bool(value))
}

fn integer(text: &str, version: Version) -> Option<ScalarValue> {
    if version == Version::V1_1 {
        return scalar_1_1::integer(text).map(ScalarValue::Number);
    }
    let value = if let Some(digits) = text.strip_prefix("0o") {
        digits_value(digits, 8)?
    } else if let Some(digits) = text.strip_prefix("0x") {
        digits_value(digits, 16)?
    } else {
        let (sign, digits) = signed(text);
        sign * digits_value(digits, 10)?
    };
    Some(ScalarValue::Number(value))
}

fn float(text: &str, version: Version) -> Option<ScalarValue> {
    if matches!(text, ".nan" | ".NaN" | ".NAN") {
        return Some(ScalarValue::Number(f64::NAN));
    }
    let (sign, unsigned) = signed(text);
    let value = if matches!(unsigned, ".inf" | ".Inf" | ".INF") {
        f64::INFINITY
    } else if version == Version::V1_1 {
        scalar_1_1::float(unsigned)?
    } else {
        decimal(unsigned)?
    };
    Some(ScalarValue::Number(sign * value))
}

/// Splits an optional sign.
pub(super) fn signed(text: &str) -> (f64, &str) {
    match text.as_bytes().first() {
        Some(b'-') => (-1.0, &text[1..]),
        Some(b'+') => (1.0, &text[1..]),
        _ => (1.0, text),
    }
}

pub(super) fn all_digits(text: &str, radix: u32) -> bool {
    !text.is_empty() && text.chars().all(|c| c.is_digit(radix))
}

/// Digits as a double, rounded once. Decimal digits go through the correctly rounding reader.
pub(super) fn digits_value(digits: &str, radix: u32) -> Option<f64> {
    if !all_digits(digits, radix) {
        return None;
    }
    if radix == 10 {
        return digits.parse().ok();
    }
    // Power-of-two radix: the leading bits and one sticky bit for the rest decide the rounding.
    let bits_per_digit = radix.trailing_zeros();
    let (mut head, mut dropped, mut sticky) = (0u128, 0i32, false);
    for digit in digits.chars().filter_map(|c| c.to_digit(radix)) {
        if head >> 100 == 0 {
            head = (head << bits_per_digit) | u128::from(digit);
        } else {
            dropped = dropped.saturating_add(bits_per_digit as i32);
            sticky |= digit != 0;
        }
    }
    head |= u128::from(sticky);
    Some(head as f64 * 2f64.powi(dropped))
}

/// A number with a fraction or an exponent, and digits on at least one side of the point.
pub(super) fn decimal(unsigned: &str) -> Option<f64> {
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
    if exponent_fits && number_fits {
        unsigned.parse().ok()
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn number(text: &str, version: Version) -> Option<f64> {
        match plain(text, version) {
            ScalarValue::Number(n) => Some(n),
            _ => None,
        }
    }

    #[test]
    fn numbers_of_the_core_schema() {
        for (text, value) in [
            ("0454", 454.0),
            ("-7", -7.0),
            ("0o17", 15.0),
            ("0x1F", 31.0),
            ("1.", 1.0),
            (".5", 0.5),
            ("+.5e1", 5.0),
            ("9007199254740993", 9_007_199_254_740_992.0),
            ("0x20000000000001", 9_007_199_254_740_992.0),
            ("0x20000000000003", 9_007_199_254_740_996.0),
            ("1e400", f64::INFINITY),
            ("-.inf", f64::NEG_INFINITY),
        ] {
            assert_eq!(number(text, Version::V1_2), Some(value), "{text}");
        }
        for text in [
            "1_000", "0b1", "5:00", "1e", "-0x1", "0o8", ".", "e1", "1e1.5", "-.nan", "０",
        ] {
            assert_eq!(number(text, Version::V1_2), None, "{text}");
        }
    }

    #[test]
    fn words_of_the_core_schema() {
        assert_eq!(plain("Null", Version::V1_2), ScalarValue::Null);
        assert_eq!(plain("TRUE", Version::V1_2), ScalarValue::Bool(true));
        for text in ["yes", "on", "tRUE", "nULL", "2026-01-01"] {
            assert_eq!(plain(text, Version::V1_2), ScalarValue::Text(text.to_owned()));
        }
    }
}
