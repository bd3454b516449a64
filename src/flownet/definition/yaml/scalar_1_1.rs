//! What YAML 1.1 reads differently from 1.2: more booleans, `_` in numbers, octal by a leading zero, base 60, dates.

use super::scalar::{all_digits, decimal, digits_value, signed};

/// Booleans that 1.2 does not have.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text {
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" => Some(true),
        "n" | "N" | "no" | "No" | "NO" | "off" | "Off" | "OFF" => Some(false),
        _ => None,
    }
}

/// Any integer, sign included.
pub(super) fn integer(text: &str) -> Option<f64> {
    let (sign, unsigned) = signed(text);
    if !unsigned.starts_with(|c: char| c.is_ascii_digit()) {
        return None;
    }
    if unsigned.contains(':') {
        return sexagesimal(unsigned).map(|n| sign * n);
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

/// A float without its sign; infinities are the same as in 1.2.
pub(super) fn float(unsigned: &str) -> Option<f64> {
    if unsigned.starts_with('_') {
        return None;
    }
    if let Some((whole, fraction)) = unsigned.split_once('.')
        && whole.contains(':')
    {
        let fraction = fraction.replace('_', "");
        if !fraction.is_empty() && !all_digits(&fraction, 10) {
            return None;
        }
        return Some(sexagesimal(whole)? + format!("0.{fraction}").parse::<f64>().ok()?);
    }
    match unsigned.split_once(['e', 'E']) {
        Some((_, exponent)) if exponent.contains('_') => None,
        _ => decimal(&unsigned.replace('_', "")),
    }
}

/// `12:30:45` in base 60; only the first part may hold `_`.
fn sexagesimal(unsigned: &str) -> Option<f64> {
    let mut parts = unsigned.split(':');
    let mut value = digits_value(&parts.next()?.replace('_', ""), 10)?;
    for part in parts {
        let digit = digits_value(part, 10)?;
        if part.len() > 2 || digit > 59.0 {
            return None;
        }
        value = value * 60.0 + digit;
    }
    Some(value)
}

/// A date, alone or with a time: `2026-09-01`, `2026-9-1 12:00:00.5 +9`.
pub(super) fn is_timestamp(text: &str) -> bool {
    let mut rest = Rest(text);
    let date = rest.digits(4, 4) && rest.one('-') && rest.digits(1, 2) && rest.one('-');
    if !date || !rest.digits(1, 2) {
        return false;
    }
    if rest.0.is_empty() {
        return true;
    }
    let separated = rest.one('T') || rest.one('t') || rest.blanks();
    let clock = rest.digits(1, 2) && rest.one(':') && rest.digits(1, 2) && rest.one(':') && rest.digits(1, 2);
    if !separated || !clock || (rest.one('.') && !rest.digits(1, usize::MAX)) {
        return false;
    }
    let spaced = rest.blanks();
    if rest.0.is_empty() {
        return !spaced;
    }
    let zone = rest.one('Z')
        || ((rest.one('+') || rest.one('-'))
            && rest.digits(1, 2)
            && (rest.0.is_empty() || (rest.one(':') && rest.digits(2, 2))));
    zone && rest.0.is_empty()
}

/// What is still to be read of a text.
struct Rest<'a>(&'a str);

impl Rest<'_> {
    fn one(&mut self, wanted: char) -> bool {
        self.0.strip_prefix(wanted).map(|rest| self.0 = rest).is_some()
    }

    /// At least `min` and at most `max` digits.
    fn digits(&mut self, min: usize, max: usize) -> bool {
        let len = self.0.bytes().take(max).take_while(u8::is_ascii_digit).count();
        self.0 = &self.0[len..];
        len >= min
    }

    /// At least one space or tab.
    fn blanks(&mut self) -> bool {
        let rest = self.0.trim_start_matches([' ', '\t']);
        let any = rest.len() < self.0.len();
        self.0 = rest;
        any
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        for (text, value) in [
            ("1_000", 1000.0),
            ("-0b11", -3.0),
            ("017", 15.0),
            ("08", 8.0),
            ("0x1_F", 31.0),
            ("1:30", 90.0),
        ] {
            assert_eq!(integer(text), Some(value), "{text}");
        }
        for text in ["1:60", "_1", "1_2:3_0", "0b12", "1.5"] {
            assert_eq!(integer(text), None, "{text}");
        }
        assert_eq!(float("1:30.5"), Some(90.5));
        assert_eq!(float("1_0.5"), Some(10.5));
        assert_eq!(float("1e1_0"), None);
        assert_eq!(float("_.5"), None);
    }

    #[test]
    fn timestamps() {
        for text in [
            "2026-01-01",
            "2026-1-1",
            "2026-01-01T00:00:00Z",
            "2026-01-01 0:00:00.5 +9",
            "2026-01-01t00:00:00+09:00",
        ] {
            assert!(is_timestamp(text), "{text}");
        }
        for text in [
            "2026-01",
            "2026-01-01T00:00",
            "2026-01-01 ",
            "2026-01-01T00:00:00.",
            "2026-01-01T00:00:00 ",
            "2026-01-01T00:00:00+09:0",
            "20260101",
            "あ",
        ] {
            assert!(!is_timestamp(text), "{text}");
        }
    }
}
