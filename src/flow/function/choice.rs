//! Functions that return one of their arguments (LNG-80, LNG-81), always in its original spelling.

use std::cmp::Ordering;

use crate::flow::value::{compare_numbers, is_number};

pub(super) fn coalesce(args: &[&str], out: &mut String) {
    out.push_str(args.iter().find(|text| !text.is_empty()).unwrap_or(&""));
}

pub(super) fn nullif(args: &[&str], out: &mut String) {
    if args[0] != args[1] {
        out.push_str(args[0]);
    }
}

pub(super) fn greatest(args: &[&str], out: &mut String) {
    let order = order_of(args);
    out.push_str(args.iter().max_by(|a, b| order(a, b)).unwrap_or(&""));
}

pub(super) fn least(args: &[&str], out: &mut String) {
    let order = order_of(args);
    out.push_str(args.iter().min_by(|a, b| order(a, b)).unwrap_or(&""));
}

/// Exact numbers with ties by text when every non-empty argument is a number, else code points; `''` is first in both.
fn order_of(args: &[&str]) -> fn(&str, &str) -> Ordering {
    let numeric = args.iter().all(|text| text.is_empty() || is_number(text));
    if numeric {
        |a, b| compare_numbers(a, b).then_with(|| a.cmp(b))
    } else {
        |a, b| a.cmp(b)
    }
}
