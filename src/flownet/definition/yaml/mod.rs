//! The YAML dialect of our files (DEF-02 to DEF-14): text in, a small tree of values out.
//!
//! A third-party parser finds the events; everything that decides what a document *means* is here: types of plain
//! scalars, tags, repeated keys, anchors and their limit, the order of properties. Both the network definition and
//! the poller's allow-list are read this way. Pure: no files, no clock.
//!
//! A `%YAML 1.1` document is read by the 1.1 rules, as version 1.0.0 of the original did: refusing it would stop
//! networks that run today, and bundles already hold such definitions.

mod alias;
mod convert;
mod event;
mod key_text;
mod layout;
mod raw;
mod scalar;
mod scalar_1_1;
mod stand_in;
mod tree;

pub use tree::{Item, NodeId, Tree};

use super::problem::Problem;

/// Deepest nesting of collections. The parser stops there with an error, so no stack can overflow (DEF-10).
pub const MAX_DEPTH: usize = 200;

/// Most aliases in one document. The weights of DEF-08 already bound what they expand to; this bounds the counting.
pub const MAX_ALIASES: usize = 20_000;

/// Reads one document. The error list holds either `YAML_PARSE_ERROR`s or one `YAML_VALUE_INVALID` (DEF-08, DEF-13).
pub fn read(text: &str) -> Result<Tree, Vec<Problem>> {
    let document = event::parse(text)?;
    alias::check(&document).map_err(|problem| vec![problem])?;
    convert::to_tree(&document).map_err(|problem| vec![problem])
}

/// A parse error (DEF-13); `line` and `column` count from 1.
fn parse_error(what: &str, line: usize, column: usize) -> Problem {
    Problem::new(
        "YAML_PARSE_ERROR",
        "$",
        format!("invalid YAML: {what} at line {line}, column {column}"),
    )
}

/// A value that cannot be built although the syntax is right (DEF-08).
fn value_error(what: &str) -> Problem {
    Problem::new("YAML_VALUE_INVALID", "$", format!("invalid YAML value: {what}"))
}
