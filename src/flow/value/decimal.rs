//! Exact decimals read in place from their text (LNG-43): no rounding and no big-number type, because
//! a comparison only needs the sign, the position of the first digit and the digits themselves.

use std::borrow::Cow;
use std::cmp::Ordering;

use super::is_blank;
use super::number::parse_short;

/// Exponents are clamped to this magnitude, far outside any number a form can hold.
const EXPONENT_LIMIT: i64 = 100_000_000_000_000_000;

/// Canonical forms are written without exponent while the first digit stands within these positions.
const PLAIN_POSITIONS: std::ops::RangeInclusive<i64> = -64..=64;

/// A finite decimal number as slices of its text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Decimal<'a> {
    pub negative: bool,
    /// Digits before the point, leading zeros dropped.
    int: &'a [u8],
    /// Digits after the point, trailing zeros dropped; leading zeros dropped too when `int` is empty.
    frac: &'a [u8],
    /// Power of ten of the first digit of `int`, or of `frac` when `int` is empty.
    position: i64,
}

/// The order bands of number mode, lowest first.
#[derive(Clone, Copy, Debug)]
pub(super) enum Band<'a> {
    Empty,
    NegativeInfinity,
    Finite(Decimal<'a>),
    Infinity,
    NotANumber,
    Text,
}

impl<'a> Decimal<'a> {
    /// Reads `[+-] digits [. digits] [e [+-] digits]` with at least one mantissa digit and nothing around it.
    fn scan(text: &'a [u8]) -> Option<Self> {
        let (negative, rest) = match text {
            [b'-', rest @ ..] => (true, rest),
            [b'+', rest @ ..] => (false, rest),
            _ => (false, text),
        };
        let (int, rest) = digits(rest);
        let (frac, rest) = match rest {
            [b'.', rest @ ..] => digits(rest),
            _ => (&rest[..0], rest),
        };
        if int.is_empty() && frac.is_empty() {
            return None;
        }
        let exponent = match rest {
            [] => 0,
            [b'e' | b'E', rest @ ..] => scan_exponent(rest)?,
            _ => return None,
        };
        let int = &int[leading_zeros(int)..];
        let mut frac = &frac[..frac.len() - frac.iter().rev().take_while(|c| **c == b'0').count()];
        let position = if int.is_empty() {
            let zeros = leading_zeros(frac);
            frac = &frac[zeros..];
            exponent - 1 - zeros as i64
        } else {
            exponent + int.len() as i64 - 1
        };
        Some(Self {
            negative,
            int,
            frac,
            position,
        })
    }

    fn is_zero(&self) -> bool {
        self.int.is_empty() && self.frac.is_empty()
    }

    fn signum(&self) -> i8 {
        match (self.is_zero(), self.negative) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    fn digits(&self) -> impl Iterator<Item = u8> + '_ {
        self.int.iter().chain(self.frac).copied()
    }

    fn compare(&self, other: &Self) -> Ordering {
        let sign = self.signum();
        let by_sign = sign.cmp(&other.signum());
        if by_sign != Ordering::Equal || sign == 0 {
            return by_sign;
        }
        let magnitude = self
            .position
            .cmp(&other.position)
            .then_with(|| self.compare_digits(other));
        if sign < 0 { magnitude.reverse() } else { magnitude }
    }

    /// Compares two digit strings that begin at the same position; a missing digit is a zero.
    fn compare_digits(&self, other: &Self) -> Ordering {
        if self.frac.is_empty() && other.frac.is_empty() && self.int.len() == other.int.len() {
            return self.int.cmp(other.int);
        }
        let (mut left, mut right) = (self.digits(), other.digits());
        loop {
            match (left.next(), right.next()) {
                (None, None) => return Ordering::Equal,
                (a, b) => match a.unwrap_or(b'0').cmp(&b.unwrap_or(b'0')) {
                    Ordering::Equal => {}
                    unequal => return unequal,
                },
            }
        }
    }

    /// Writes the number without exponent: `-12.5`, `0.001`, `0`.
    fn write_plain(&self, out: &mut String) {
        if self.is_zero() {
            out.push('0');
            return;
        }
        if self.negative {
            out.push('-');
        }
        if self.position < 0 {
            out.push_str("0.");
            out.extend(std::iter::repeat_n('0', (-1 - self.position) as usize));
        }
        let significant = self.significant();
        for (i, digit) in self.digits().take(significant).enumerate() {
            if i > 0 && i as i64 == self.position + 1 {
                out.push('.');
            }
            out.push(char::from(digit));
        }
        let zeros = (self.position + 1 - significant as i64).max(0);
        out.extend(std::iter::repeat_n('0', zeros as usize));
    }

    /// Writes `d.ddde<position>`, the canonical form of numbers too long for the plain form.
    fn write_scientific(&self, out: &mut String) {
        use std::fmt::Write as _;
        if self.negative {
            out.push('-');
        }
        for (i, digit) in self.digits().take(self.significant()).enumerate() {
            if i == 1 {
                out.push('.');
            }
            out.push(char::from(digit));
        }
        // Writing to a String cannot fail.
        let _ = write!(out, "e{}", self.position);
    }

    /// Number of digits without trailing zeros.
    fn significant(&self) -> usize {
        if self.frac.is_empty() {
            self.int.len() - self.int.iter().rev().take_while(|c| **c == b'0').count()
        } else {
            self.int.len() + self.frac.len()
        }
    }

    /// Length of the plain form in characters.
    fn plain_length(&self) -> u64 {
        if self.is_zero() {
            return 1;
        }
        let significant = self.significant() as u64;
        let unsigned = if self.position < 0 {
            1 + self.position.unsigned_abs() + significant
        } else {
            let before = self.position as u64 + 1;
            if significant > before {
                significant + 1
            } else {
                before
            }
        };
        unsigned + u64::from(self.negative)
    }
}

impl<'a> Band<'a> {
    pub fn of(text: &'a str) -> Self {
        if text.is_empty() {
            return Self::Empty;
        }
        let text = trimmed(text);
        match text {
            "Infinity" | "+Infinity" => Self::Infinity,
            "-Infinity" => Self::NegativeInfinity,
            "NaN" => Self::NotANumber,
            _ => Decimal::scan(text.as_bytes()).map_or(Self::Text, Self::Finite),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Empty => 0,
            Self::NegativeInfinity => 1,
            Self::Finite(_) => 2,
            Self::Infinity => 3,
            Self::NotANumber => 4,
            Self::Text => 5,
        }
    }
}

/// Strips ECMAScript white space; the usual cell has none, so look at its ends first.
pub(super) fn trimmed(text: &str) -> &str {
    match text.as_bytes() {
        [b'!'..=b'~', .., b'!'..=b'~'] | [b'!'..=b'~'] => text,
        _ => text.trim_matches(is_blank),
    }
}

fn digits(text: &[u8]) -> (&[u8], &[u8]) {
    let end = text
        .iter()
        .position(|c| !c.is_ascii_digit())
        .unwrap_or(text.len());
    text.split_at(end)
}

fn leading_zeros(digits: &[u8]) -> usize {
    digits.iter().take_while(|c| **c == b'0').count()
}

fn scan_exponent(text: &[u8]) -> Option<i64> {
    let (negative, rest) = match text {
        [b'-', rest @ ..] => (true, rest),
        [b'+', rest @ ..] => (false, rest),
        _ => (false, text),
    };
    if rest.is_empty() {
        return None;
    }
    let magnitude = rest.iter().try_fold(0i64, |n, c| {
        c.is_ascii_digit()
            .then(|| (n * 10 + i64::from(c - b'0')).min(EXPONENT_LIMIT))
    })?;
    Some(if negative { -magnitude } else { magnitude })
}

/// Order of two texts in number mode (LNG-43): `''` < −Infinity < finite < Infinity < NaN < other text;
/// finite numbers by exact decimal value, other texts by code points.
pub fn compare_numbers(left: &str, right: &str) -> Ordering {
    // Two decimals of at most 15 digits are ordered like their doubles: both readings are exact enough to differ.
    if let (Some(a), Some(b)) = (parse_short(left.as_bytes()), parse_short(right.as_bytes())) {
        return a.partial_cmp(&b).unwrap_or(Ordering::Equal);
    }
    let (a, b) = (Band::of(left), Band::of(right));
    match (&a, &b) {
        (Band::Finite(a), Band::Finite(b)) => a.compare(b),
        (Band::Text, Band::Text) => left.cmp(right),
        _ => a.rank().cmp(&b.rank()),
    }
}

/// True for the text of a finite decimal number; false for `''`, `NaN` and the infinities.
pub fn is_number(text: &str) -> bool {
    matches!(Band::of(text), Band::Finite(_))
}

/// A text that is equal for equal numbers and differs for different ones (join keys, UPSERT keys, IN
/// sets: LNG-26, LNG-48, LNG-143). Texts that are no finite number are kept as they are.
pub fn canonical_number(text: &str) -> Cow<'_, str> {
    match Band::of(text) {
        Band::Finite(decimal) => {
            if is_canonical_integer(text) {
                return Cow::Borrowed(text);
            }
            let mut out = String::new();
            if decimal.is_zero() || PLAIN_POSITIONS.contains(&decimal.position) {
                decimal.write_plain(&mut out);
            } else {
                decimal.write_scientific(&mut out);
            }
            Cow::Owned(out)
        }
        Band::Infinity => Cow::Borrowed("Infinity"),
        Band::NegativeInfinity => Cow::Borrowed("-Infinity"),
        Band::NotANumber => Cow::Borrowed("NaN"),
        Band::Empty | Band::Text => Cow::Borrowed(text),
    }
}

fn is_canonical_integer(text: &str) -> bool {
    let bytes = text.as_bytes();
    (1..=18).contains(&bytes.len())
        && (bytes[0] != b'0' || bytes.len() == 1)
        && bytes.iter().all(u8::is_ascii_digit)
}

/// The number without exponent (LNG-151, RNR-133); a text that has none is kept as it is.
///
/// `None` when the plain form is longer than `max_chars`.
pub fn plain_decimal(text: &str, max_chars: usize) -> Option<Cow<'_, str>> {
    let fits = |length: u64| length <= max_chars as u64;
    match Band::of(text) {
        Band::Finite(decimal) if text.contains(['e', 'E']) => fits(decimal.plain_length()).then(|| {
            let mut out = String::new();
            decimal.write_plain(&mut out);
            Cow::Owned(out)
        }),
        _ => fits(text.chars().count() as u64).then_some(Cow::Borrowed(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use Ordering::{Equal, Greater, Less};

    #[test]
    fn finite_numbers_compare_exactly() {
        for (left, right, order) in [
            ("1.10", "1.1", Equal),
            ("-0", "0", Equal),
            ("+5", "5", Equal),
            ("1e21", "1000000000000000000000", Equal),
            ("1E-3", ".001", Equal),
            ("5.", "005.00", Equal),
            ("12e0", "0.12e+2", Equal),
            ("0e99", "-0.00", Equal),
            (" 7\n", "7", Equal),
            ("100", "1e2", Equal),
            ("9007199254740993", "9007199254740992", Greater),
            (
                "0.1234567890123456789012345678901",
                "0.1234567890123456789012345678902",
                Less,
            ),
            ("-2", "-10", Greater),
            ("-2", "1", Less),
            ("0", "-1e-400", Greater),
            ("1e400", "1e401", Less),
            ("-1e400", "-1e401", Greater),
            ("99", "1e2", Less),
            ("1e2", "99.999", Greater),
            ("1.5", "1.49999", Greater),
            ("1e999999999999999999999", "1e5", Greater),
            ("1e-999999999999999999999", "0", Greater),
        ] {
            assert_eq!(compare_numbers(left, right), order, "{left} {right}");
            assert_eq!(compare_numbers(right, left), order.reverse(), "{right} {left}");
        }
    }

    #[test]
    fn bands_follow_each_other() {
        let ascending = [
            "",
            "-Infinity",
            "-1e300",
            "-5",
            "0",
            "1e300",
            "Infinity",
            "NaN",
            " ",
            "--1",
            "0x10",
            "1 2",
            "1,000",
            "abc",
            "１",
        ];
        for (i, left) in ascending.iter().enumerate() {
            for (j, right) in ascending.iter().enumerate() {
                assert_eq!(compare_numbers(left, right), i.cmp(&j), "{left:?} {right:?}");
            }
        }
    }

    #[test]
    fn what_is_a_number() {
        for text in ["0", "-1", "+1", "1.", ".5", "1e3", "1E+3", " 1 ", "00"] {
            assert!(is_number(text), "{text:?}");
        }
        for text in [
            "", " ", ".", "-", "e3", "1e", "1e+", "1.2.3", "1_000", "0x1", "NaN", "Infinity", "inf", "１",
            "1 2", "1-",
        ] {
            assert!(!is_number(text), "{text:?}");
        }
    }

    #[test]
    fn one_spelling_per_number() {
        for (text, canonical) in [
            ("0", "0"),
            ("-0.00", "0"),
            ("007", "7"),
            ("1.10", "1.1"),
            ("+1.5e1", "15"),
            ("1e3", "1000"),
            ("-12e-4", "-0.0012"),
            ("1e64", &format!("1{}", "0".repeat(64))),
            ("1e65", "1e65"),
            ("12345e70", "1.2345e74"),
            ("-1e-65", "-1e-65"),
            ("100e-70", "1e-68"),
            ("C001", "C001"),
            ("", ""),
            (" ", " "),
            ("+Infinity", "Infinity"),
        ] {
            assert_eq!(canonical_number(text), canonical, "{text}");
        }
    }

    #[test]
    fn plain_forms_have_a_limit() {
        for (text, plain) in [
            ("1e3", "1000"),
            ("1.5E-3", "0.0015"),
            ("-1.50e1", "-15"),
            ("0e50", "0"),
            ("1.10", "1.10"),
            ("007", "007"),
            ("excel", "excel"),
            ("", ""),
        ] {
            assert_eq!(plain_decimal(text, 1024).as_deref(), Some(plain), "{text}");
        }
        for (text, length) in [
            ("1e5", 6),
            ("-1e5", 7),
            ("1e-5", 7),
            ("-1.5e-5", 9),
            ("1.25e1", 4),
        ] {
            assert_eq!(
                plain_decimal(text, length).map(|p| p.len()),
                Some(length),
                "{text}"
            );
            assert_eq!(plain_decimal(text, length - 1), None, "{text}");
        }
        assert_eq!(plain_decimal("1e999999999999999999", 1024), None);
        assert_eq!(plain_decimal("1e-999999999999999999", 1024), None);
    }
}
