//! Single values of a configuration, each refused with its path and what it must be (RNR-22).

use serde_json::Number;

use super::ordered_json::Node;
use crate::flow::exec::MAX_REQUESTS_IN_FLIGHT;
use crate::flow::sql::message::{Message, say};

type Read<T> = Result<T, Message>;

/// What is wrong with the value of a path.
pub fn at(path: &str, what: &Message) -> Message {
    what.put(|_, what| format!("{path}: {what}"))
}

/// A value that is missing.
pub fn required(path: &str) -> Message {
    say!("{path}: is required", "{path}: 必須です")
}

pub fn text<'a>(node: &'a Node, path: &str) -> Read<&'a str> {
    match node {
        Node::Text(text) if !text.is_empty() => Ok(text),
        _ => Err(say!(
            "{path}: must be a non-empty string",
            "{path}: 空でない文字列を指定してください"
        )),
    }
}

pub fn boolean(node: &Node, path: &str) -> Read<bool> {
    match node {
        Node::Bool(value) => Ok(*value),
        _ => Err(say!(
            "{path}: must be true or false",
            "{path}: true か false を指定してください"
        )),
    }
}

pub fn above_zero(node: &Node, path: &str) -> Read<Number> {
    number(node, |n| n > 0.0).ok_or_else(|| {
        say!(
            "{path}: must be a number above 0",
            "{path}: 0 より大きい数値を指定してください"
        )
    })
}

pub fn not_negative(node: &Node, path: &str) -> Read<Number> {
    number(node, |n| n >= 0.0).ok_or_else(|| {
        say!(
            "{path}: must be a number of at least 0",
            "{path}: 0 以上の数値を指定してください"
        )
    })
}

/// A number that passes `check`; whole values are kept as integers, so that they print without a fraction.
fn number(node: &Node, check: fn(f64) -> bool) -> Option<Number> {
    match node {
        Node::Number(number) if number.as_f64().is_some_and(check) => {
            Some(whole(number).map_or_else(|| number.clone(), Number::from))
        }
        _ => None,
    }
}

pub fn requests_in_flight(node: &Node, path: &str) -> Read<usize> {
    let value = match node {
        Node::Number(number) => whole(number).map(|value| value as usize),
        _ => None,
    };
    value
        .filter(|value| (1..=MAX_REQUESTS_IN_FLIGHT).contains(value))
        .ok_or_else(|| {
            say!(
                "{path}: must be a whole number from 1 to {MAX_REQUESTS_IN_FLIGHT} (1 sends one request after the other)",
                "{path}: 1 から {MAX_REQUESTS_IN_FLIGHT} までの整数を指定してください (1 は 1 件ずつ順に送信)"
            )
        })
}

pub fn positive(node: &Node, path: &str) -> Read<u64> {
    match node {
        Node::Number(number) => whole(number).filter(|value| *value > 0),
        _ => None,
    }
    .ok_or_else(|| {
        say!(
            "{path}: must be a whole number above 0",
            "{path}: 1 以上の整数を指定してください"
        )
    })
}

/// The value of a number without fraction that every reader of JSON keeps exactly.
fn whole(number: &Number) -> Option<u64> {
    const MAX_SAFE: f64 = 9_007_199_254_740_991.0;
    let value = number.as_f64()?;
    (value.fract() == 0.0 && (0.0..=MAX_SAFE).contains(&value)).then_some(value as u64)
}
