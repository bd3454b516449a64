//! The text of kintone's conditions: literals, lists, conjunctions, and how much room they take in a URL.

use super::leaf::number;
use crate::flow::apps::FieldType;

/// A text as kintone's string literal.
pub fn quoted(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ => out.push(c),
        }
    }
    out.push('"');
    out
}

/// `code in ("a", "b")`, for conditions that the engine makes itself.
pub fn one_of<'t>(code: &str, kind: FieldType, values: impl IntoIterator<Item = &'t str>) -> String {
    let values: Vec<String> = values
        .into_iter()
        .map(|value| match kind {
            FieldType::Number | FieldType::Id => number(value).unwrap_or_else(|| quoted(value)),
            _ => quoted(value),
        })
        .collect();
    format!("{code} in ({})", values.join(", "))
}

/// Both conditions; either may be empty.
pub fn and(left: &str, right: &str) -> String {
    match (left.is_empty(), right.is_empty()) {
        (true, _) => right.to_owned(),
        (_, true) => left.to_owned(),
        _ => format!("({left}) and {right}"),
    }
}

/// Bytes in a URL, where every byte outside ASCII letters and digits takes three.
pub(super) fn url_bytes(text: &str) -> usize {
    text.bytes()
        .map(|b| if b.is_ascii_alphanumeric() { 1 } else { 3 })
        .sum()
}

/// A part of a condition whose own parts are joined by another word.
pub(super) fn grouped(text: String, nested: bool) -> String {
    if nested { format!("({text})") } else { text }
}
