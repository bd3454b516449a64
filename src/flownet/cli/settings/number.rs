//! Numbers in environment variables. The original hands the text to JavaScript's `Number()`, so installations may hold
//! ` 1 `, `0x10`, `1e3` or `2.0`; all of these keep their meaning (ENV-01).

pub(super) use crate::flownet::child::bin_args::is_white_space as is_js_space;
use crate::flownet::key::MAX_SAFE_INTEGER;

/// The number as a safe non-negative integer; nothing when the text is another number or no number at all.
pub fn non_negative(text: &str) -> Option<u64> {
    let number = to_number(text)?;
    ((0.0..=MAX_SAFE_INTEGER as f64).contains(&number) && number.fract() == 0.0).then_some(number as u64)
}

/// As [`non_negative`], and not zero.
pub fn positive(text: &str) -> Option<u64> {
    non_negative(text).filter(|&n| n > 0)
}

/// ECMAScript `Number(text)`; nothing for NaN.
fn to_number(text: &str) -> Option<f64> {
    let text = text.trim_matches(is_js_space);
    if text.is_empty() {
        return Some(0.0);
    }
    for (prefix, radix) in [("0x", 16), ("0X", 16), ("0o", 8), ("0O", 8), ("0b", 2), ("0B", 2)] {
        if let Some(digits) = text.strip_prefix(prefix) {
            return radix_number(digits, radix);
        }
    }
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let (mantissa, exponent) = unsigned
        .split_once(['e', 'E'])
        .map_or((unsigned, None), |(m, e)| (m, Some(e)));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    let exponent_ok = exponent.is_none_or(|e| {
        let e = e.strip_prefix(['+', '-']).unwrap_or(e);
        !e.is_empty() && digits(e)
    });
    let shape_ok =
        digits(whole) && digits(fraction) && !(whole.is_empty() && fraction.is_empty()) && exponent_ok;
    // "Infinity" has the shape of no number above, and no integer is infinite.
    if shape_ok { text.parse().ok() } else { None }
}

fn radix_number(digits: &str, radix: u32) -> Option<f64> {
    if digits.is_empty() {
        return None;
    }
    digits.chars().try_fold(0.0, |value, c| {
        Some(value * f64::from(radix) + f64::from(c.to_digit(radix)?))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forms_that_javascript_takes() {
        for (text, number) in [
            ("1", 1),
            (" 1 ", 1),
            ("0x10", 16),
            ("1e3", 1000),
            ("2.0", 2),
            ("+5", 5),
            ("0b11", 3),
            ("5.", 5),
            ("\u{3000}7", 7),
        ] {
            assert_eq!(positive(text), Some(number), "{text:?}");
        }
        assert_eq!(non_negative(" "), Some(0));
        assert_eq!(non_negative("-0"), Some(0));
        assert_eq!(positive("9007199254740991"), Some(9_007_199_254_740_991));
    }

    #[test]
    fn everything_else_is_refused() {
        for text in [
            "0",
            "-1",
            "1.5",
            "abc",
            "1_0",
            "9007199254740992",
            "Infinity",
            "NaN",
            "inf",
            "1e",
            "0x",
            "-0x10",
            ".",
            "1 2",
            "1e400",
        ] {
            assert_eq!(positive(text), None, "{text:?}");
        }
    }

    proptest::proptest! {
        /// Every safe integer is read back from its decimal text, and no text makes the reader fail.
        #[test]
        fn decimal_texts_are_read_back(number in 1..=(1_u64 << 53) - 1, text in ".{0,12}") {
            proptest::prop_assert_eq!(positive(&number.to_string()), Some(number));
            let _ = non_negative(&text);
        }
    }
}
