//! Conditions that every row meets, recognised by their form: they must not decide what is changed or removed (LNG-150).
//!
//! The values of one column, seen through its comparisons with constants, fall into few regions: each constant, and what
//! lies between two. A condition about one column is true for every value if and only if it is true in every region.

use std::cmp::Ordering;
use std::collections::BTreeMap;

use crate::flow::value::CompareMode;

use super::filter::{Filter, List, Membership};
use super::scalar::{ColumnId, Scalar};

/// Whether a condition, whose constant parts are decided already, is true whatever the row holds. Some such conditions
/// are not recognised; none is claimed that a row could fail.
pub fn always_holds(filter: &Filter) -> bool {
    match filter {
        Filter::Constant(value) => *value,
        Filter::All(parts) => parts.iter().all(always_holds),
        Filter::Any(parts) => parts.iter().any(always_holds) || opposites(parts) || covered(parts),
        leaf => covers_column(std::slice::from_ref(leaf)),
    }
}

/// A condition beside its own complement.
fn opposites(parts: &[Filter]) -> bool {
    parts.iter().enumerate().any(|(place, part)| {
        let opposite = part.clone().negated();
        parts.iter().skip(place + 1).any(|other| *other == opposite)
    })
}

/// Alternatives about one column that leave no value out.
fn covered(parts: &[Filter]) -> bool {
    let mut by_column: BTreeMap<ColumnId, Vec<Filter>> = BTreeMap::new();
    for part in parts {
        let mut columns = Vec::new();
        part.columns(&mut columns);
        columns.sort_unstable();
        columns.dedup();
        if let [column] = columns.as_slice() {
            by_column.entry(*column).or_default().push(part.clone());
        }
    }
    by_column.values().any(|parts| covers_column(parts))
}

/// Whether one of these conditions, all about the same column, is true for every value of it.
fn covers_column(parts: &[Filter]) -> bool {
    let mut regions = Regions::default();
    if !parts.iter().all(|part| regions.learn(part)) {
        return false;
    }
    let mode = regions.mode.clone().unwrap_or_default();
    regions.constants.sort_by(|a, b| mode.compare(a, b));
    regions
        .constants
        .dedup_by(|a, b| mode.compare(a, b) == Ordering::Equal);
    // Nothing is less than the empty cell (LNG-43, LNG-44).
    let first = usize::from(regions.constants.first().is_some_and(String::is_empty));
    (first..=2 * regions.constants.len())
        .all(|region| parts.iter().any(|part| regions.holds(part, &mode, region)))
}

/// What is compared with the column. Region `2 * n` lies below constant `n`, region `2 * n + 1` is the constant itself.
#[derive(Default)]
struct Regions {
    constants: Vec<String>,
    mode: Option<CompareMode>,
}

impl Regions {
    /// Notes the constants of a condition; false if it is not only about how the column compares with constants.
    fn learn(&mut self, filter: &Filter) -> bool {
        match filter {
            Filter::Constant(_) => true,
            Filter::All(parts) | Filter::Any(parts) => parts.iter().all(|part| self.learn(part)),
            Filter::Compare {
                left: Scalar::Column(left),
                right,
                mode,
                ..
            } => {
                let comparand = match right {
                    Scalar::Column(right) => left == right,
                    other => {
                        self.constants.extend(other.constant().map(str::to_owned));
                        other.constant().is_some()
                    }
                };
                comparand && self.agrees(mode)
            }
            Filter::OneOf {
                left: Scalar::Column(_),
                list: List::Set(set),
                how,
                ..
            } => {
                self.constants.extend(set.values.iter().cloned());
                match how {
                    Membership::Number => self.agrees(&CompareMode::Number),
                    Membership::Text => true,
                    Membership::Overlap => false,
                }
            }
            Filter::Empty {
                left: Scalar::Column(_),
                ..
            } => {
                self.constants.push(String::new());
                true
            }
            _ => false,
        }
    }

    fn agrees(&mut self, mode: &CompareMode) -> bool {
        self.mode.get_or_insert_with(|| mode.clone()) == mode
    }

    fn holds(&self, filter: &Filter, mode: &CompareMode, region: usize) -> bool {
        let equals = |constant: &str| self.position(constant, mode, region) == Some(Ordering::Equal);
        match filter {
            Filter::Constant(value) => *value,
            Filter::All(parts) => parts.iter().all(|part| self.holds(part, mode, region)),
            Filter::Any(parts) => parts.iter().any(|part| self.holds(part, mode, region)),
            Filter::Compare { operator, right, .. } => match right.constant() {
                Some(constant) => self
                    .position(constant, mode, region)
                    .is_some_and(|order| operator.accepts(order)),
                None => operator.accepts(Ordering::Equal),
            },
            Filter::OneOf {
                list: List::Set(set),
                negated,
                ..
            } => set.values.iter().any(|value| equals(value)) != *negated,
            Filter::Empty { negated, .. } => equals("") != *negated,
            _ => false,
        }
    }

    /// How the values of a region compare with a constant.
    fn position(&self, constant: &str, mode: &CompareMode, region: usize) -> Option<Ordering> {
        let place = self
            .constants
            .iter()
            .position(|known| mode.compare(known, constant) == Ordering::Equal)?;
        Some(region.cmp(&(2 * place + 1)))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::flow::plan::filter::ValueSet;
    use crate::flow::sql::ast::Comparison::{
        self, Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual,
    };

    fn column(column: usize) -> Scalar {
        Scalar::Column(ColumnId { source: 0, column })
    }

    fn compare(left: usize, operator: Comparison, right: Scalar) -> Filter {
        Filter::Compare {
            left: column(left),
            operator,
            right,
            mode: CompareMode::Number,
        }
    }

    fn number(operator: Comparison, right: &str) -> Filter {
        compare(0, operator, Scalar::number(right))
    }

    fn empty(negated: bool) -> Filter {
        Filter::Empty {
            left: column(0),
            negated,
        }
    }

    fn within(values: &[&str], negated: bool) -> Filter {
        Filter::OneOf {
            left: column(0),
            list: List::Set(Arc::new(ValueSet::new(
                values.iter().map(|value| (*value).to_owned()),
                Membership::Number,
            ))),
            how: Membership::Number,
            negated,
        }
    }

    #[test]
    fn conditions_that_every_row_meets() {
        let nothing = Scalar::Text(String::new());
        let other = compare(1, Equal, Scalar::number("1"));
        for filter in [
            compare(0, Equal, column(0)),
            compare(0, LessOrEqual, column(0)),
            compare(0, GreaterOrEqual, nothing.clone()),
            Filter::Any(vec![empty(false), empty(true)]),
            Filter::Any(vec![number(Equal, "1"), number(NotEqual, "1.0")]),
            Filter::All(vec![number(Equal, "1"), number(Equal, "2")]).negated(),
            Filter::Any(vec![other.clone(), number(Less, "5"), number(Greater, "3")]),
            Filter::Any(vec![within(&["1", "2"], true), number(GreaterOrEqual, "1")]),
            Filter::Any(vec![number(NotEqual, "2"), within(&["2"], false)]),
            Filter::Any(vec![
                empty(false),
                Filter::All(vec![empty(true), number(GreaterOrEqual, "0")]),
                number(Less, "0"),
            ]),
            Filter::All(vec![compare(0, Equal, column(0)), compare(1, Equal, column(1))]),
            Filter::Any(vec![
                Filter::All(vec![other.clone(), number(Equal, "1")]),
                Filter::All(vec![other, number(Equal, "1")]).negated(),
            ]),
        ] {
            assert!(always_holds(&filter), "{filter:?}");
        }
    }

    #[test]
    fn conditions_that_a_row_may_fail() {
        let nothing = Scalar::Text(String::new());
        for filter in [
            compare(0, NotEqual, column(0)),
            compare(0, Equal, column(1)),
            compare(0, Greater, nothing.clone()),
            compare(0, LessOrEqual, nothing),
            number(GreaterOrEqual, "0"),
            Filter::Any(vec![number(Less, "5"), number(Greater, "5")]),
            Filter::Any(vec![empty(false), number(Greater, "0")]),
            Filter::Any(vec![
                number(NotEqual, "1"),
                compare(1, NotEqual, Scalar::number("2")),
            ]),
            Filter::All(vec![compare(0, Equal, column(0)), number(Equal, "1")]),
            Filter::Any(vec![within(&["1"], true), number(Greater, "1")]),
            Filter::Constant(false),
        ] {
            assert!(!always_holds(&filter), "{filter:?}");
        }
    }
}
