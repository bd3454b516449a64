//! CAST and CONVERT (LNG-86).

use super::Refusal;
use crate::flow::sql::message::unknown;
use crate::flow::value::{parse_number, write_number};

/// The target of a cast.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CastType {
    /// TEXT, VARCHAR, CHAR: the text stays.
    Text,
    /// NUMBER, INT, INTEGER, DECIMAL, FLOAT: the shortest number text.
    Number,
}

impl CastType {
    /// Reads a type name, any case.
    pub fn parse(name: &str) -> Option<Self> {
        let is_one_of = |names: &[&str]| names.iter().any(|n| n.eq_ignore_ascii_case(name));
        if is_one_of(&["TEXT", "VARCHAR", "CHAR"]) {
            Some(Self::Text)
        } else if is_one_of(&["NUMBER", "INT", "INTEGER", "DECIMAL", "FLOAT"]) {
            Some(Self::Number)
        } else {
            None
        }
    }
}

/// `CAST(x AS T)` as two arguments, the second the type name; a text that is no number stays as it is.
pub(super) fn cast(args: &[&str], out: &mut String) -> Result<(), Refusal> {
    let target = target(args[1])?;
    let number = parse_number(args[0]);
    if target == CastType::Text || number.is_nan() {
        out.push_str(args[0]);
    } else {
        write_number(number, out);
    }
    Ok(())
}

pub(super) fn check(args: &[Option<&str>]) -> Result<(), Refusal> {
    match args {
        [_, Some(name)] => target(name).map(|_| ()),
        _ => Ok(()),
    }
}

fn target(name: &str) -> Result<CastType, Refusal> {
    CastType::parse(name).ok_or_else(|| {
        let name = unknown(name);
        Refusal::Argument(format!(
            "unknown type '{name}'; use TEXT, VARCHAR, CHAR, NUMBER, INT, INTEGER, DECIMAL or FLOAT"
        ))
    })
}
