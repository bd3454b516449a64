//! FORMAT (LNG-85): fixed-point text with thousands commas, from a digit count or a subset of
//! `#,##0.00##%`.

use super::Refusal;
use crate::flow::sql::message::unknown;
use crate::flow::value::{parse_number, print_number};

/// Most decimals a pattern may ask for.
const MAX_DECIMALS: usize = 100;

/// From here on the fixed-point form is the shortest number text, as in ECMAScript.
const FIXED_POINT_LIMIT: f64 = 1e21;

struct Pattern {
    commas: bool,
    percent: bool,
    required: usize,
    optional: usize,
}

pub(super) fn format(args: &[&str], out: &mut String) -> Result<(), Refusal> {
    let pattern = Pattern::parse(args[1])?;
    let number = parse_number(args[0]) * if pattern.percent { 100.0 } else { 1.0 };
    let mut fixed = fixed_point(number, pattern.required + pattern.optional);
    if let Some(point) = fixed.find('.') {
        let shortest = point + 1 + pattern.required;
        let kept = fixed.trim_end_matches('0').len().max(shortest);
        fixed.truncate(kept);
        if fixed.ends_with('.') {
            fixed.pop();
        }
    }
    if pattern.commas {
        push_with_commas(&fixed, out);
    } else {
        out.push_str(&fixed);
    }
    if pattern.percent {
        out.push('%');
    }
    Ok(())
}

pub(super) fn check(args: &[Option<&str>]) -> Result<(), Refusal> {
    match args {
        [_, Some(pattern)] => Pattern::parse(pattern).map(|_| ()),
        _ => Ok(()),
    }
}

impl Pattern {
    fn parse(text: &str) -> Result<Self, Refusal> {
        let refused = || {
            let text = unknown(text);
            Refusal::Argument(format!(
                "unknown pattern '{text}'; use a number of decimals up to {MAX_DECIMALS} or a pattern such as #,##0.00"
            ))
        };
        if !text.is_empty() && text.bytes().all(|c| c.is_ascii_digit()) {
            // The pattern `0` has the same meaning as no decimals, but without commas.
            let required = match text.parse() {
                Ok(required) if required <= MAX_DECIMALS => required,
                _ => return Err(refused()),
            };
            return Ok(Self {
                commas: true,
                percent: false,
                required,
                optional: 0,
            });
        }
        let (rest, percent) = match text.strip_suffix('%') {
            Some(rest) => (rest, true),
            None => (text, false),
        };
        let (whole, decimals) = rest.split_once('.').unwrap_or((rest, ""));
        let required = decimals.bytes().take_while(|c| *c == b'0').count();
        let optional = &decimals[required..];
        let known = matches!(whole, "#,##0" | "##0" | "#0" | "0" | "#,###" | "#")
            && optional.bytes().all(|c| c == b'#')
            && decimals.len() <= MAX_DECIMALS
            && rest.ends_with('.') == (rest == ".");
        known
            .then_some(Self {
                commas: whole.contains(','),
                percent,
                required,
                optional: optional.len(),
            })
            .ok_or_else(refused)
    }
}

/// Fixed-point text of the exact binary value, ties away from zero.
fn fixed_point(number: f64, decimals: usize) -> String {
    if !number.is_finite() || number.abs() >= FIXED_POINT_LIMIT {
        return print_number(number);
    }
    let magnitude = number.abs();
    let rounded = if is_tie(magnitude, decimals) {
        // The standard library rounds ties to even.
        rounded_up(&format!("{magnitude:.0$}", decimals + 1))
    } else {
        format!("{magnitude:.decimals$}")
    };
    if number < 0.0 {
        format!("-{rounded}")
    } else {
        rounded
    }
}

/// Drops the last digit of a fixed-point text and adds one to the digit before it.
fn rounded_up(text: &str) -> String {
    let kept = text[..text.len() - 1].trim_end_matches('.');
    let mut carry = true;
    let mut reversed: Vec<char> = Vec::with_capacity(kept.len() + 1);
    for c in kept.chars().rev() {
        reversed.push(match c {
            '9' if carry => '0',
            '0'..='8' if carry => {
                carry = false;
                char::from(c as u8 + 1)
            }
            _ => c,
        });
    }
    if carry {
        reversed.push('1');
    }
    reversed.into_iter().rev().collect()
}

/// True when the value lies exactly half-way between two texts with that many decimals.
///
/// A double is a multiple of 2^-k; such a value can be half of 10^-d only for k ≤ d + 1, and then d + 1 decimals
/// write it exactly.
fn is_tie(magnitude: f64, decimals: usize) -> bool {
    let more = decimals + 1;
    let exact_in_more_digits = more < 1022 && (magnitude * 2f64.powi(more as i32)).fract() == 0.0;
    exact_in_more_digits && format!("{magnitude:.more$}").ends_with('5')
}

fn push_with_commas(fixed: &str, out: &mut String) {
    let digits = fixed.strip_prefix('-').unwrap_or(fixed);
    out.push_str(&fixed[..fixed.len() - digits.len()]);
    let whole = digits.find('.').unwrap_or(digits.len());
    if !digits[..whole].bytes().all(|c| c.is_ascii_digit()) || digits.contains('e') {
        out.push_str(digits);
        return;
    }
    for (i, c) in digits[..whole].char_indices() {
        if i > 0 && (whole - i).is_multiple_of(3) {
            out.push(',');
        }
        out.push(c);
    }
    out.push_str(&digits[whole..]);
}
