//! ASSERT and EXIT: one comparison of constants and subqueries (LNG-15..18).

use crate::flow::plan::bind::{Binder, Env};
use crate::flow::plan::catalog::Catalog;
use crate::flow::plan::query::Parameter;
use crate::flow::plan::scalar::Scalar;
use crate::flow::sql::ast::{Comparison, Expr, Gate, GateTest, Item, Query, Table};
use crate::flow::sql::message;
use crate::flow::value::CompareMode;

use super::EngineError;
use super::eval::{Evaluator, NoRow};
use super::fill::{self, Filled};

/// A bound gate.
pub(super) struct BoundGate {
    left: Operand,
    tests: Vec<(Comparison, Operand)>,
    /// Subqueries of all operands.
    pub parameters: Vec<Parameter>,
}

struct Operand {
    value: Scalar,
    numeric: bool,
}

impl BoundGate {
    /// Binds the operands.
    pub fn bind(gate: &Gate, catalog: &mut dyn Catalog) -> Result<Self, EngineError> {
        let mut binder = Binder::new(catalog);
        let mut operand = |expr| {
            let (value, kind) = binder.value(&mut Env::constant(), expr)?;
            Ok::<_, EngineError>(Operand {
                value,
                numeric: kind.is_numeric(),
            })
        };
        let left = operand(&gate.left)?;
        let tests = match &gate.test {
            GateTest::Compare(operator, right) => vec![(*operator, operand(right)?)],
            GateTest::Between(low, high) => {
                vec![
                    (Comparison::GreaterOrEqual, operand(low)?),
                    (Comparison::LessOrEqual, operand(high)?),
                ]
            }
        };
        Ok(Self {
            left,
            tests,
            parameters: binder.take_parameters(),
        })
    }

    /// Whether the gate holds, and the left value that decided it.
    pub fn decide(
        &self,
        filled: &[Filled],
        evaluator: &mut Evaluator,
    ) -> Result<(bool, String), EngineError> {
        let left_value = fill::nested(&self.left.value, filled, evaluator)?;
        let left = evaluator.text(&left_value, &NoRow)?.into_owned();
        let mut holds = true;
        for (operator, right) in &self.tests {
            let value = fill::nested(&right.value, filled, evaluator)?;
            let right_text = evaluator.text(&value, &NoRow)?;
            // Numbers compare as numbers only if both sides are numbers by origin (LNG-16).
            let mode = if self.left.numeric && right.numeric {
                CompareMode::Number
            } else {
                CompareMode::Text
            };
            holds &= operator.accepts(mode.compare(&left, &right_text));
        }
        Ok((holds, left))
    }
}

/// The value of a gate's left side for a message, with the field that it comes from as far as the script tells. A count is
/// a number of our own: it shows no value of any record.
pub(super) fn quoted(left: &Expr, actual: &str) -> String {
    match left {
        _ if is_count(left) => actual.to_owned(),
        Expr::Text(..) | Expr::Number(..) | Expr::AsOf(..) => message::script(actual).to_string(),
        Expr::Subquery(query, _) => match field_of(query) {
            Some(field) => message::value(field, actual).to_string(),
            None => message::unknown(actual).to_string(),
        },
        _ => message::unknown(actual).to_string(),
    }
}

fn is_count(value: &Expr) -> bool {
    match value {
        Expr::Subquery(query, _) => {
            matches!(single_item(query), Some(Expr::Aggregate(call)) if call.name == "COUNT")
        }
        Expr::Negate(inner, _) => is_count(inner),
        Expr::Chain(first, rest, _) => {
            let number = |part: &Expr| matches!(part, Expr::Number(..)) || is_count(part);
            number(first) && rest.iter().all(|(_, part)| number(part))
        }
        _ => false,
    }
}

fn single_item(query: &Query) -> Option<&Expr> {
    match query.first.items.as_slice() {
        [Item::Expr(item, _)] if query.unions.is_empty() => Some(item),
        _ => None,
    }
}

/// The field that a subquery over apps, and nothing that could rename a column, takes its value from.
fn field_of(query: &Query) -> Option<&str> {
    let column = match single_item(query)? {
        Expr::Column(column) => column,
        Expr::Aggregate(call) => match call.argument.as_deref() {
            Some(Expr::Column(column)) => column,
            _ => return None,
        },
        _ => return None,
    };
    let select = &query.first;
    let sources = select
        .from
        .iter()
        .chain(select.joins.iter().map(|join| &join.source));
    let mut tables = sources.map(|source| &source.table);
    tables
        .all(|table| matches!(table, Table::App(_) | Table::Subtable(..)))
        .then_some(column.name.text.as_str())
}
