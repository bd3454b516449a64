//! Text functions (LNG-71..79). Lengths and positions are UTF-16 units, as the language defines them.

use super::{MAX_RESULT_BYTES, Refusal, units};
use crate::flow::value::{is_blank, parse_number, write_number};

type Outcome = Result<(), Refusal>;

pub(super) fn upper(args: &[&str], out: &mut String) {
    out.push_str(&args[0].to_uppercase());
}

pub(super) fn lower(args: &[&str], out: &mut String) {
    out.push_str(&args[0].to_lowercase());
}

pub(super) fn trim(args: &[&str], out: &mut String) {
    out.push_str(args[0].trim_matches(is_blank));
}

pub(super) fn ltrim(args: &[&str], out: &mut String) {
    out.push_str(args[0].trim_start_matches(is_blank));
}

pub(super) fn rtrim(args: &[&str], out: &mut String) {
    out.push_str(args[0].trim_end_matches(is_blank));
}

pub(super) fn length(args: &[&str], out: &mut String) {
    write_number(units::length(args[0]) as f64, out);
}

pub(super) fn length_char(args: &[&str], out: &mut String) {
    write_number(args[0].chars().count() as f64, out);
}

/// `SUBSTRING(s, p[, n])`: a start below 1 (or no number) is 1; a length of 0 or less (or no number) is nothing.
pub(super) fn substring(args: &[&str], out: &mut String) {
    let start = count(args[1]).saturating_sub(1);
    let end = args.get(2).map_or(usize::MAX, |n| start.saturating_add(count(n)));
    out.push_str(units::slice(args[0], start, end));
}

pub(super) fn left(args: &[&str], out: &mut String) {
    out.push_str(units::slice(args[0], 0, count(args[1])));
}

pub(super) fn right(args: &[&str], out: &mut String) {
    let length = units::length(args[0]);
    out.push_str(units::slice(
        args[0],
        length.saturating_sub(count(args[1])),
        length,
    ));
}

pub(super) fn instr(args: &[&str], out: &mut String) {
    let position = args[0]
        .find(args[1])
        .map_or(0, |byte| units::length(&args[0][..byte]) + 1);
    write_number(position as f64, out);
}

pub(super) fn lpad(args: &[&str], out: &mut String) -> Outcome {
    match missing(args)? {
        Some(units) => {
            pad(args, units, out);
            out.push_str(args[0]);
        }
        None => out.push_str(units::slice(args[0], 0, count(args[1]))),
    }
    Ok(())
}

pub(super) fn rpad(args: &[&str], out: &mut String) -> Outcome {
    match missing(args)? {
        Some(units) => {
            out.push_str(args[0]);
            pad(args, units, out);
        }
        None => out.push_str(units::slice(args[0], 0, count(args[1]))),
    }
    Ok(())
}

/// How many units `LPAD`/`RPAD` have to add; `None` when the text is to be cut instead.
fn missing(args: &[&str]) -> Result<Option<usize>, Refusal> {
    let (wanted, present) = (count(args[1]), units::length(args[0]));
    if wanted > MAX_RESULT_BYTES {
        return Err(Refusal::TooLong);
    }
    Ok(wanted.checked_sub(present))
}

fn pad(args: &[&str], units: usize, out: &mut String) {
    let pad = args.get(2).copied().unwrap_or(" ");
    let length = units::length(pad);
    if length == 0 {
        return;
    }
    for _ in 0..units / length {
        out.push_str(pad);
    }
    out.push_str(units::slice(pad, 0, units % length));
}

pub(super) fn concat(args: &[&str], out: &mut String) {
    for text in args {
        out.push_str(text);
    }
}

pub(super) fn replace(args: &[&str], out: &mut String) -> Outcome {
    let (text, from, to) = (args[0], args[1], args[2]);
    if from.is_empty() {
        out.push_str(text);
        return Ok(());
    }
    let limit = out.len() + MAX_RESULT_BYTES;
    for (i, piece) in text.split(from).enumerate() {
        if i > 0 {
            out.push_str(to);
        }
        out.push_str(piece);
        if out.len() > limit {
            return Err(Refusal::TooLong);
        }
    }
    Ok(())
}

/// `TRANSLATE(s, from, to)`: one code point to one code point; the first mapping of a code point wins.
pub(super) fn translate(args: &[&str], out: &mut String) -> Outcome {
    same_length(args[1], args[2])?;
    let mapped = |c: char| {
        let mut pairs = args[1].chars().zip(args[2].chars());
        pairs.find(|(from, _)| *from == c).map_or(c, |(_, to)| to)
    };
    out.extend(args[0].chars().map(mapped));
    Ok(())
}

pub(super) fn check_translate(args: &[Option<&str>]) -> Outcome {
    match args {
        [_, Some(from), Some(to)] => same_length(from, to),
        _ => Ok(()),
    }
}

fn same_length(from: &str, to: &str) -> Outcome {
    let (from, to) = (from.chars().count(), to.chars().count());
    if from == to {
        return Ok(());
    }
    Err(Refusal::Argument(format!(
        "the second and third argument must have the same length, but have {from} and {to} characters"
    )))
}

/// A length or position: truncated; 0 for what is not positive or no number.
fn count(text: &str) -> usize {
    // The cast saturates, and turns NaN into 0.
    parse_number(text) as usize
}
