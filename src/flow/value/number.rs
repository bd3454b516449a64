//! Text to binary64 and back (LNG-46): arithmetic reads a cell as the nearest double and prints the
//! shortest text that reads back as the same double, laid out by the ECMAScript thresholds.

use std::fmt::Write as _;

use super::decimal::{Band, trimmed};

/// Powers of ten that are exact in binary64.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18,
    1e19, 1e20, 1e21, 1e22,
];

/// Integers below this magnitude (2^53) are exact and print as themselves.
const EXACT_INTEGERS: f64 = 9_007_199_254_740_992.0;

/// 10^exponent for a whole exponent of at least 0, correctly rounded; NaN stays NaN.
pub fn power_of_ten(exponent: f64) -> f64 {
    if exponent.is_nan() {
        return f64::NAN;
    }
    let exponent = exponent as usize;
    match EXACT_POWERS.get(exponent) {
        Some(power) => *power,
        // Beyond the exact powers the reader of the standard library rounds correctly; past 308 it gives Infinity.
        None => format!("1e{exponent}").parse().unwrap_or(f64::INFINITY),
    }
}

/// The binary64 value of a cell: `''` is 0, a text that is no number is NaN.
pub fn parse_number(text: &str) -> f64 {
    if let Some(number) = parse_short(text.as_bytes()) {
        return number;
    }
    match Band::of(text) {
        Band::Empty => 0.0,
        Band::NegativeInfinity => f64::NEG_INFINITY,
        Band::Infinity => f64::INFINITY,
        Band::NotANumber | Band::Text => f64::NAN,
        // The scan has accepted the text, and every text it accepts is one `f64::from_str` reads.
        Band::Finite(_) => trimmed(text).parse().unwrap_or(f64::NAN),
    }
}

/// At most 15 digits with an optional sign and point: the quotient of two exact doubles is correctly rounded.
pub(super) fn parse_short(text: &[u8]) -> Option<f64> {
    let (negative, digits) = match text {
        [b'-', rest @ ..] => (true, rest),
        _ => (false, text),
    };
    if digits.is_empty() || digits.len() > 16 {
        return None;
    }
    let mut mantissa = 0u64;
    let mut count = 0usize;
    let mut point = None;
    for (i, c) in digits.iter().enumerate() {
        match c {
            b'0'..=b'9' => {
                mantissa = mantissa * 10 + u64::from(c - b'0');
                count += 1;
            }
            b'.' if point.is_none() => point = Some(i),
            _ => return None,
        }
    }
    if count == 0 || count > 15 {
        return None;
    }
    let decimals = point.map_or(0, |at| digits.len() - 1 - at);
    let magnitude = mantissa as f64 / EXACT_POWERS[decimals];
    Some(if negative { -magnitude } else { magnitude })
}

/// Prints a number as ECMAScript does: `3300.0000000000005`, `1e+21`, `1e-7`, `NaN`, `-Infinity`; `-0` is `0`.
pub fn print_number(number: f64) -> String {
    let mut out = String::new();
    write_number(number, &mut out);
    out
}

/// Appends what [`print_number`] gives.
pub fn write_number(number: f64, out: &mut String) {
    // Writing to a String cannot fail, so the results of `write!` carry nothing.
    if number.is_nan() {
        out.push_str("NaN");
    } else if number.is_infinite() {
        out.push_str(if number < 0.0 { "-Infinity" } else { "Infinity" });
    } else if number.abs() < EXACT_INTEGERS && number.fract() == 0.0 {
        let _ = write!(out, "{}", number as i64);
    } else {
        write_shortest(number, out);
    }
}

fn write_shortest(number: f64, out: &mut String) {
    let mut buffer = ShortText::default();
    let _ = write!(buffer, "{:e}", number.abs());
    if is_odd_tie(number.abs(), buffer.as_str()) {
        buffer.make_last_digit_even();
    }
    let text = buffer.as_str();
    // The standard library writes `d[.ddd]e[-]x` with the shortest digits that round-trip.
    let (mantissa, exponent) = text.split_once('e').unwrap_or((text, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let (first, rest) = mantissa.split_at(1);
    let rest = rest.strip_prefix('.').unwrap_or("");
    if number < 0.0 {
        out.push('-');
    }
    match exponent {
        0..=20 => {
            let before = exponent as usize;
            out.push_str(first);
            if rest.len() <= before {
                out.push_str(rest);
                out.extend(std::iter::repeat_n('0', before - rest.len()));
            } else {
                out.push_str(&rest[..before]);
                out.push('.');
                out.push_str(&rest[before..]);
            }
        }
        -6..=-1 => {
            out.push_str("0.");
            out.extend(std::iter::repeat_n('0', (-1 - exponent) as usize));
            out.push_str(first);
            out.push_str(rest);
        }
        _ => {
            out.push_str(first);
            if !rest.is_empty() {
                out.push('.');
                out.push_str(rest);
            }
            let _ = write!(out, "e{exponent:+}");
        }
    }
}

/// Fewer digits name one double only, so that no second candidate exists.
const AMBIGUOUS_DIGITS: usize = 16;

/// True when the number lies half-way between `shortest` and the text whose last digit is one less, and the last digit
/// is odd: the standard library takes the upper of two equally near texts, ECMAScript the even one.
///
/// A half-way number has at most 18 digits, at most 24 of them decimals, so it is a multiple of 2^-25.
fn is_odd_tie(number: f64, shortest: &str) -> bool {
    let mantissa = shortest.split('e').next().unwrap_or("");
    let digits = mantissa.len() - usize::from(mantissa.contains('.'));
    let odd = mantissa.ends_with(['1', '3', '5', '7', '9']);
    if digits < AMBIGUOUS_DIGITS || !odd || (number * f64::from(1 << 25)).fract() != 0.0 {
        return false;
    }
    let mut lower = ShortText::default();
    let _ = lower.write_str(shortest);
    lower.make_last_digit_even();
    let lower_mantissa = lower.as_str().split('e').next().unwrap_or("");
    // 45 decimals write such a number exactly.
    let exact = format!("{number:.45e}");
    let rest = exact
        .split('e')
        .next()
        .and_then(|exact| exact.strip_prefix(lower_mantissa));
    let half_way = rest.is_some_and(|rest| rest.starts_with('5') && rest[1..].bytes().all(|c| c == b'0'));
    half_way && lower.as_str().parse() == Ok(number)
}

/// Room for the longest scientific form of a double (17 digits, point, sign and exponent) without a heap.
#[derive(Default)]
struct ShortText {
    bytes: [u8; 32],
    len: usize,
}

impl ShortText {
    fn as_str(&self) -> &str {
        std::str::from_utf8(&self.bytes[..self.len]).unwrap_or("0e0")
    }

    /// Takes one from the last digit of the mantissa, which must be odd.
    fn make_last_digit_even(&mut self) {
        let end = self.bytes.iter().position(|c| *c == b'e').unwrap_or(self.len);
        if let Some(last) = end.checked_sub(1).and_then(|at| self.bytes.get_mut(at)) {
            *last -= 1;
        }
    }
}

impl std::fmt::Write for ShortText {
    fn write_str(&mut self, text: &str) -> std::fmt::Result {
        let end = self.len + text.len();
        self.bytes
            .get_mut(self.len..end)
            .ok_or(std::fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_become_the_nearest_double() {
        for (text, number) in [
            ("", 0.0),
            ("0.1", 0.1),
            ("-12.50", -12.5),
            ("007", 7.0),
            (".5", 0.5),
            ("5.", 5.0),
            ("+5", 5.0),
            ("1e3", 1e3),
            ("123456789012345", 123_456_789_012_345.0),
            ("0.00000000000001", 1e-14),
            ("9007199254740993", 9_007_199_254_740_992.0),
            ("1e400", f64::INFINITY),
            ("1e-400", 0.0),
            ("-Infinity", f64::NEG_INFINITY),
            (" 12 ", 12.0),
        ] {
            assert_eq!(parse_number(text).to_bits(), number.to_bits(), "{text:?}");
        }
        for text in [
            " ", "abc", "1a", "inf", "nan", "infinity", "NaN", "0x10", "1_0", ".", "-", "1e", "1.2.3", "--1",
            "１",
        ] {
            assert!(parse_number(text).is_nan(), "{text:?}");
        }
    }

    /// A number with more digits than a literal may show.
    fn half_way(whole: f64, quarters: f64) -> f64 {
        whole + quarters
    }

    #[test]
    fn numbers_print_as_ecmascript_does() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (3_300.000_000_000_000_5, "3300.0000000000005"),
            (0.1 + 0.2, "0.30000000000000004"),
            (1e21, "1e+21"),
            (-1e21, "-1e+21"),
            (1e20, "100000000000000000000"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (1.5e300, "1.5e+300"),
            (1e-6, "0.000001"),
            (1.25e-6, "0.00000125"),
            (1e-7, "1e-7"),
            (-1.5e-7, "-1.5e-7"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (9_007_199_254_740_992.0, "9007199254740992"),
            (9_007_199_254_740_991.0, "9007199254740991"),
            // Half-way between two shortest texts: the even one.
            (half_way(1_314_207_313_728_615.0, 0.25), "1314207313728615.2"),
            (half_way(1_314_207_313_728_615.0, 0.75), "1314207313728615.8"),
            (half_way(-1_474_952_696_112_428.0, -0.25), "-1474952696112428.2"),
            (-42.0, "-42"),
            (6721.6, "6721.6"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "Infinity"),
            (f64::NEG_INFINITY, "-Infinity"),
        ] {
            assert_eq!(print_number(number), text);
        }
    }

    #[test]
    fn powers_of_ten_are_correctly_rounded() {
        for (exponent, power) in [
            (0.0, 1.0),
            (22.0, 1e22),
            (23.0, 1e23),
            (308.0, 1e308),
            (309.0, f64::INFINITY),
        ] {
            assert_eq!(power_of_ten(exponent).to_bits(), f64::to_bits(power));
        }
        assert!(power_of_ten(f64::NAN).is_nan());
        assert!(power_of_ten(f64::INFINITY).is_infinite());
    }
}
