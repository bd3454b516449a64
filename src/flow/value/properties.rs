//! Properties of the value rules against slow but obvious references.

use std::cmp::Ordering;

use proptest::prelude::*;

use super::*;

/// Offset that makes every generated exponent positive, so that a number becomes a whole count of 10^-SHIFT.
const SHIFT: i32 = 60;

/// A decimal as drawn, with the spelling built from it.
#[derive(Clone, Debug)]
struct Drawn {
    negative: bool,
    int: String,
    frac: String,
    exponent: i32,
    text: String,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let parts = (
        any::<bool>(),
        "[0-9]{0,6}",
        "[0-9]{0,6}",
        prop_oneof![Just(None), (-30..30i32).prop_map(Some)],
    );
    parts
        .prop_filter("a digit is needed", |(_, int, frac, _)| {
            !(int.is_empty() && frac.is_empty())
        })
        .prop_map(|(negative, int, frac, exponent)| {
            let mut text = String::from(if negative { "-" } else { "" });
            text.push_str(&int);
            if !frac.is_empty() {
                text.push('.');
                text.push_str(&frac);
            }
            text.extend(exponent.map(|exponent| format!("e{exponent}")));
            Drawn {
                negative,
                int,
                frac,
                exponent: exponent.unwrap_or(0),
                text,
            }
        })
}

impl Drawn {
    /// The magnitude as a decimal integer without leading zeros.
    fn scaled(&self) -> String {
        let zeros = SHIFT + self.exponent - self.frac.len() as i32;
        let digits = format!("{}{}{}", self.int, self.frac, "0".repeat(zeros as usize));
        digits.trim_start_matches('0').to_owned()
    }

    fn compare(&self, other: &Self) -> Ordering {
        let (a, b) = (self.scaled(), other.scaled());
        let magnitude = a.len().cmp(&b.len()).then_with(|| a.cmp(&b));
        match (self.negative && !a.is_empty(), other.negative && !b.is_empty()) {
            (false, false) => magnitude,
            (true, true) => magnitude.reverse(),
            (true, false) => Ordering::Less,
            (false, true) => Ordering::Greater,
        }
    }
}

/// LIKE by trying everything.
fn naive_like(text: &[char], pattern: &[char]) -> bool {
    let crosses = |c: char| matches!(c, '\n' | '\r' | '\u{2028}' | '\u{2029}');
    match (pattern.split_first(), text.split_first()) {
        (None, rest) => rest.is_none(),
        (Some(('%', after)), rest) => {
            naive_like(text, after) || rest.is_some_and(|(c, rest)| !crosses(*c) && naive_like(rest, pattern))
        }
        (Some(('_', after)), Some((c, rest))) => !crosses(*c) && naive_like(rest, after),
        (Some((p, after)), Some((c, rest))) => p == c && naive_like(rest, after),
        (Some(_), None) => false,
    }
}

fn any_cell() -> impl Strategy<Value = String> {
    prop_oneof![
        drawn().prop_map(|d| d.text),
        "[-+.e0-9 ]{0,8}",
        "[a-c\n]{0,4}",
        Just("NaN".to_owned()),
        Just("Infinity".to_owned()),
        Just("-Infinity".to_owned()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn decimals_compare_like_scaled_integers(a in drawn(), b in drawn()) {
        prop_assert_eq!(compare_numbers(&a.text, &b.text), a.compare(&b), "{} {}", a.text, b.text);
    }

    #[test]
    fn canonical_texts_are_equal_exactly_for_equal_numbers(a in drawn(), b in drawn()) {
        let (x, y) = (canonical_number(&a.text), canonical_number(&b.text));
        prop_assert_eq!(x == y, a.compare(&b) == Ordering::Equal);
        prop_assert_eq!(compare_numbers(&x, &a.text), Ordering::Equal);
        prop_assert_eq!(canonical_number(&x), x.clone());
    }

    #[test]
    fn plain_forms_keep_the_value(a in drawn()) {
        let plain = plain_decimal(&a.text, 200).unwrap();
        prop_assert!(!plain.contains('e'));
        prop_assert_eq!(compare_numbers(&plain, &a.text), Ordering::Equal);
        prop_assert!(plain_decimal(&a.text, plain.len()).is_some());
        prop_assert!(plain_decimal(&a.text, plain.len() - 1).is_none());
    }

    #[test]
    fn every_mode_is_an_order(a in any_cell(), b in any_cell(), c in any_cell()) {
        let options = OptionOrder::new(["b", "a"]);
        for mode in [
            CompareMode::Text,
            CompareMode::Number,
            CompareMode::RecordNumber,
            CompareMode::Options(std::sync::Arc::new(options)),
        ] {
            prop_assert_eq!(mode.compare(&a, &b), mode.compare(&b, &a).reverse());
            prop_assert_eq!(mode.compare(&a, &a), Ordering::Equal);
            if mode.compare(&a, &b).is_le() && mode.compare(&b, &c).is_le() {
                prop_assert!(mode.compare(&a, &c).is_le(), "{:?} {:?} {:?}", a, b, c);
            }
        }
    }

    #[test]
    fn numbers_parse_as_the_standard_library_does(a in drawn()) {
        let reference: f64 = a.text.parse().unwrap();
        prop_assert_eq!(parse_number(&a.text).to_bits(), reference.to_bits(), "{}", a.text);
    }

    #[test]
    fn printed_numbers_read_back(bits in any::<u64>()) {
        let number = f64::from_bits(bits);
        let text = print_number(number);
        let back = parse_number(&text);
        if number.is_nan() {
            prop_assert!(back.is_nan());
        } else {
            // The sign of a zero is the only thing that is lost.
            prop_assert_eq!(back.to_bits(), (number + 0.0).to_bits(), "{}", text);
        }
    }

    #[test]
    fn number_texts_are_those_that_parse(text in any_cell()) {
        prop_assert_eq!(is_number(&text), !text.is_empty() && parse_number(&text).is_finite() || is_huge(&text));
    }

    #[test]
    fn like_agrees_with_trying_everything(text in "[ab\n]{0,10}", pattern in "[ab_%\n]{0,8}") {
        let (t, p): (Vec<char>, Vec<char>) = (text.chars().collect(), pattern.chars().collect());
        let expected = if pattern.contains(['%', '_']) { naive_like(&t, &p) } else { text.contains(&pattern) };
        prop_assert_eq!(like(&text, &pattern), expected, "{:?} LIKE {:?}", text, pattern);
    }
}

/// Decimal texts beyond binary64 are numbers, although they parse to Infinity.
fn is_huge(text: &str) -> bool {
    parse_number(text).is_infinite() && !text.contains("Infinity")
}
