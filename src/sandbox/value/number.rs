//! Decimal numbers as text: reading what the service accepts (KTB-104, KTB-116), rounding to the app's precision
//! (KTB-173) and exact comparison without floating point.
use std::cmp::Ordering;

/// Exponents beyond this are no numbers for a form; keeps `1e999999999` from becoming a gigabyte of zeros.
const MAX_EXPONENT: i64 = 100;
/// Longest accepted text of a number, in bytes.
const MAX_TEXT: usize = 400;

/// How a fraction that is too long is rounded (app settings).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Half to even, the default.
    HalfEven,
    /// Away from zero.
    Up,
    /// Towards zero.
    Down,
}

/// Number precision of an app (KTB-173).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Precision {
    /// Significant digits, 1 to 30.
    pub digits: u32,
    /// Digits after the point, 0 to 10.
    pub decimals: u32,
    /// Rounding of longer fractions.
    pub rounding: Rounding,
}

impl Default for Precision {
    fn default() -> Self {
        Self {
            digits: 16,
            decimals: 4,
            rounding: Rounding::HalfEven,
        }
    }
}

impl Precision {
    /// Digits that may stand before the point.
    pub fn integer_digits(&self) -> u32 {
        self.digits.saturating_sub(self.decimals)
    }
}

/// A decimal number in plain notation: sign, integer digits without leading zeros (at least one digit), fraction
/// digits as written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Decimal {
    negative: bool,
    integer: String,
    fraction: String,
}

impl Decimal {
    /// Reads a number: outer white space, sign, digits, point, exponent. `None` for anything else.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.trim();
        if text.is_empty() || text.len() > MAX_TEXT {
            return None;
        }
        let (negative, rest) = match text.as_bytes()[0] {
            b'-' => (true, &text[1..]),
            b'+' => (false, &text[1..]),
            _ => (false, text),
        };
        let (mantissa, exponent) = match rest.split_once(['e', 'E']) {
            Some((mantissa, exponent)) => (mantissa, parse_exponent(exponent)?),
            None => (rest, 0),
        };
        let (integer, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits_only = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if (integer.is_empty() && fraction.is_empty()) || !digits_only(integer) || !digits_only(fraction) {
            return None;
        }
        Some(Self::shifted(negative, integer, fraction, exponent))
    }

    /// Moves the point by `exponent` places and drops leading zeros.
    fn shifted(negative: bool, integer: &str, fraction: &str, exponent: i64) -> Self {
        let mut digits = format!("{integer}{fraction}");
        let mut point = integer.len() as i64 + exponent;
        if point < 0 {
            digits.insert_str(0, &"0".repeat(point.unsigned_abs() as usize));
            point = 0;
        }
        let point = point as usize;
        while digits.len() < point {
            digits.push('0');
        }
        let (whole, rest) = digits.split_at(point);
        let whole = whole.trim_start_matches('0');
        let integer = if whole.is_empty() {
            "0".to_owned()
        } else {
            whole.to_owned()
        };
        let fraction = rest.to_owned();
        let zero = integer == "0" && fraction.bytes().all(|byte| byte == b'0');
        Self {
            negative: negative && !zero,
            integer,
            fraction,
        }
    }

    /// Digits before the point; 0 counts as none.
    pub fn integer_digits(&self) -> u32 {
        if self.integer == "0" {
            0
        } else {
            self.integer.len() as u32
        }
    }

    /// Rounds the fraction to `places` digits; a shorter fraction stays as written.
    pub fn rounded(mut self, places: u32, rounding: Rounding) -> Self {
        let places = places as usize;
        if self.fraction.len() <= places {
            return self;
        }
        let dropped = self.fraction.split_off(places);
        let exact = dropped.bytes().all(|byte| byte == b'0');
        let last_digit = self
            .fraction
            .bytes()
            .last()
            .or(self.integer.bytes().last())
            .unwrap_or(b'0');
        let up = match rounding {
            Rounding::Down => false,
            Rounding::Up => !exact,
            Rounding::HalfEven => {
                let first = dropped.as_bytes()[0];
                let half = first == b'5' && dropped.bytes().skip(1).all(|byte| byte == b'0');
                if half {
                    (last_digit - b'0') % 2 == 1
                } else {
                    first >= b'5'
                }
            }
        };
        if up {
            self.increment_last();
        }
        let zero = self.integer == "0" && self.fraction.bytes().all(|byte| byte == b'0');
        self.negative &= !zero;
        self
    }

    /// Adds one unit in the last place to the magnitude.
    fn increment_last(&mut self) {
        let places = self.fraction.len();
        let mut digits: Vec<u8> = self.integer.bytes().chain(self.fraction.bytes()).collect();
        let mut carry = true;
        for digit in digits.iter_mut().rev() {
            if *digit == b'9' {
                *digit = b'0';
            } else {
                *digit += 1;
                carry = false;
                break;
            }
        }
        let mut text: String = digits.into_iter().map(char::from).collect();
        if carry {
            text.insert(0, '1');
        }
        self.fraction = text.split_off(text.len() - places);
        self.integer = text;
    }

    /// Plain notation as stored and shown.
    pub fn plain(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        let point = if self.fraction.is_empty() { "" } else { "." };
        format!("{sign}{}{point}{}", self.integer, self.fraction)
    }

    /// Plain notation without trailing zeros: equal numbers have equal keys (unique index, KTB-133).
    pub fn key(&self) -> String {
        let trimmed = Self {
            fraction: self.fraction.trim_end_matches('0').to_owned(),
            ..self.clone()
        };
        trimmed.plain()
    }
}

fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let exponent: i64 = text.strip_prefix('+').unwrap_or(text).parse().ok()?;
    (exponent.abs() <= MAX_EXPONENT).then_some(exponent)
}

/// Compares two numbers in plain notation exactly, without allocating: this runs once per scanned record.
pub fn compare_plain(left: &str, right: &str) -> Ordering {
    let (left_negative, left) = split_sign(left);
    let (right_negative, right) = split_sign(right);
    match (left_negative, right_negative) {
        (false, true) => Ordering::Greater,
        (true, false) => Ordering::Less,
        (false, false) => compare_magnitude(left, right),
        (true, true) => compare_magnitude(right, left),
    }
}

fn split_sign(text: &str) -> (bool, &str) {
    text.strip_prefix('-').map_or((false, text), |rest| (true, rest))
}

fn compare_magnitude(left: &str, right: &str) -> Ordering {
    let (left_integer, left_fraction) = left.split_once('.').unwrap_or((left, ""));
    let (right_integer, right_fraction) = right.split_once('.').unwrap_or((right, ""));
    left_integer
        .len()
        .cmp(&right_integer.len())
        .then_with(|| left_integer.cmp(right_integer))
        .then_with(|| {
            left_fraction
                .trim_end_matches('0')
                .cmp(right_fraction.trim_end_matches('0'))
        })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn plain(text: &str) -> Option<String> {
        Decimal::parse(text).map(|number| number.plain())
    }

    #[test]
    fn ktb_104_reads_exponents_and_outer_spaces() {
        for (text, expected) in [
            ("1.5e1", "15"),
            (" 42 ", "42"),
            ("100", "100"),
            ("-0012.50", "-12.50"),
            ("+3", "3"),
            (".5", "0.5"),
            ("5.", "5"),
            ("1E-3", "0.001"),
            ("-0", "0"),
            ("2e2", "200"),
        ] {
            assert_eq!(plain(text).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn ktb_104_refuses_separators_and_mixed_text() {
        for text in [
            "1,000",
            "12abc",
            "",
            " ",
            "-",
            ".",
            "e5",
            "1e",
            "1e+",
            "１２",
            "1e999999999",
            "0x10",
            "NaN",
            "1 2",
        ] {
            assert_eq!(plain(text), None, "{text}");
        }
    }

    #[test]
    fn ktb_173_rounds_half_even_up_and_down() {
        let round = |text: &str, places, rounding| {
            Decimal::parse(text)
                .map(|number| number.rounded(places, rounding).plain())
                .unwrap_or_default()
        };
        assert_eq!(round("1.23455", 4, Rounding::HalfEven), "1.2346");
        assert_eq!(round("1.23445", 4, Rounding::HalfEven), "1.2344");
        assert_eq!(round("1.234450001", 4, Rounding::HalfEven), "1.2345");
        assert_eq!(round("9.99996", 4, Rounding::HalfEven), "10.0000");
        assert_eq!(round("-0.5", 0, Rounding::HalfEven), "0");
        assert_eq!(round("-1.5", 0, Rounding::HalfEven), "-2");
        assert_eq!(round("1.00001", 4, Rounding::Up), "1.0001");
        assert_eq!(round("1.99999", 4, Rounding::Down), "1.9999");
    }

    #[test]
    fn equal_numbers_have_one_key() {
        let key = |text: &str| Decimal::parse(text).map(|number| number.key());
        assert_eq!(key("5.0"), key("5"));
        assert_eq!(key("0.50e1"), key("5"));
        assert_ne!(key("5.01"), key("5"));
    }

    proptest! {
        #[test]
        fn comparison_agrees_with_integers(left in -1_000_000_i64..1_000_000, right in -1_000_000_i64..1_000_000, places in 0_i64..5) {
            let text = |value: i64| Decimal::parse(&format!("{value}e-{places}")).map(|number| number.plain()).unwrap_or_default();
            prop_assert_eq!(compare_plain(&text(left), &text(right)), left.cmp(&right));
        }

        #[test]
        fn reading_never_panics(text in "\\PC{0,40}") {
            if let Some(number) = Decimal::parse(&text) {
                prop_assert_eq!(Decimal::parse(&number.plain()).map(|again| again.plain()), Some(number.plain()));
            }
        }
    }
}
