//! `$id` and record numbers against numbers: their cells end in a whole number (LNG-42), the other side may have a
//! fraction. `=` must then say the same as IN, and order must be that of the numbers.

use crate::flow::apps::FieldType;
use crate::flow::plan::filter::Filter;
use crate::flow::plan::scalar::Scalar;
use crate::flow::plan::types::Type;
use crate::flow::sql::ast::Comparison;
use crate::flow::value::{CompareMode, canonical_number, is_number};

/// The comparison of a record number. `numeric` says that the right side is a number by its origin.
pub(super) fn compare(
    left: Scalar,
    kind: &Type,
    operator: Comparison,
    right: Scalar,
    numeric: bool,
) -> Filter {
    if let Some(text) = right.constant() {
        return match whole(text, operator) {
            Some(Whole::Compare(operator, number)) => Filter::Compare {
                left,
                operator,
                right: Scalar::number(number),
                mode: CompareMode::RecordNumber,
            },
            // Only a row that an outer join left out has no number.
            Some(Whole::BelowAll) => match operator {
                Comparison::Less | Comparison::LessOrEqual => Filter::Empty { left, negated: false },
                Comparison::Greater | Comparison::GreaterOrEqual => Filter::Empty { left, negated: true },
                Comparison::Equal | Comparison::NotEqual => {
                    Filter::Constant(operator == Comparison::NotEqual)
                }
            },
            Some(Whole::None) => Filter::Constant(operator == Comparison::NotEqual),
            None => Filter::Compare {
                left,
                operator,
                right,
                mode: CompareMode::RecordNumber,
            },
        };
    }
    // What a subquery or an arithmetic gives is known later; cells of `$id` are plain numbers.
    let mode = if numeric && kind.field() == Some(FieldType::Id) {
        CompareMode::Number
    } else {
        CompareMode::RecordNumber
    };
    Filter::Compare {
        left,
        operator,
        right,
        mode,
    }
}

/// A number as whole numbers see it.
#[derive(Debug, PartialEq, Eq)]
enum Whole {
    /// This comparison says the same.
    Compare(Comparison, String),
    /// Less than every record number.
    BelowAll,
    /// Equal to no whole number.
    None,
}

/// `None` for a text that is no number, or a whole one in its plain form already.
fn whole(text: &str, operator: Comparison) -> Option<Whole> {
    if !is_number(text) || text.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let plain = canonical_number(text);
    if plain.starts_with('-') {
        return Some(Whole::BelowAll);
    }
    let (integer, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    let integer: u64 = integer.parse().ok()?;
    if fraction.is_empty() {
        return Some(Whole::Compare(operator, integer.to_string()));
    }
    // A cell with a prefix is behind the bare number: compare with the next one, from below.
    let next = integer.checked_add(1)?.to_string();
    Some(match operator {
        Comparison::Less | Comparison::LessOrEqual => Whole::Compare(Comparison::Less, next),
        Comparison::Greater | Comparison::GreaterOrEqual => Whole::Compare(Comparison::GreaterOrEqual, next),
        Comparison::Equal | Comparison::NotEqual => Whole::None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::sql::ast::Comparison::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual};

    #[test]
    fn fractions_fall_between_whole_numbers() {
        let compare = |operator, number: &str| Some(Whole::Compare(operator, number.to_owned()));
        for (text, operator, expected) in [
            ("10", Less, None),
            ("CODE-10", Equal, None),
            ("2.0", Equal, compare(Equal, "2")),
            ("1e1", Greater, compare(Greater, "10")),
            ("10.5", Less, compare(Less, "11")),
            ("10.5", LessOrEqual, compare(Less, "11")),
            ("10.5", Greater, compare(GreaterOrEqual, "11")),
            ("10.5", GreaterOrEqual, compare(GreaterOrEqual, "11")),
            ("10.5", Equal, Some(Whole::None)),
            ("-3", Less, Some(Whole::BelowAll)),
            ("0.5", Greater, compare(GreaterOrEqual, "1")),
        ] {
            assert_eq!(whole(text, operator), expected, "{text} {operator:?}");
        }
    }
}
