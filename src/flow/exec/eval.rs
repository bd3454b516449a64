//! Computing values and deciding conditions for one row (LNG-40..54).

use std::borrow::Cow;

use crate::flow::calendar::Zone;
use crate::flow::function;
use crate::flow::plan::filter::{Filter, List, Membership, Pattern};
use crate::flow::plan::scalar::{ColumnId, Scalar};
use crate::flow::sql::message::say;
use crate::flow::value::{LikePattern, parse_number, print_number};

use super::EngineError;
use super::memory;
use crate::flow::plan::filter::ValueSet;

/// The cells of an input row.
pub(in crate::flow) trait Row {
    /// A cell; empty where an outer join has no row.
    fn cell(&self, id: ColumnId) -> &str;
}

/// The row of a SELECT without FROM, and of constants.
#[derive(Clone, Copy, Debug)]
pub(in crate::flow) struct NoRow;

impl Row for NoRow {
    fn cell(&self, _: ColumnId) -> &'static str {
        ""
    }
}

/// Computes values; one per statement, because the wall clock stands still in a statement.
#[derive(Debug)]
pub(in crate::flow) struct Evaluator {
    context: function::Context,
}

type Eval<T> = Result<T, EngineError>;

impl Evaluator {
    /// Takes the wall clock now.
    pub(in crate::flow) fn new() -> Self {
        Self {
            context: function::Context::new(jiff::Timestamp::now(), Zone::host()),
        }
    }

    /// The text of a value.
    pub(in crate::flow) fn text<'v>(&mut self, value: &'v Scalar, row: &'v dyn Row) -> Eval<Cow<'v, str>> {
        Ok(match value {
            Scalar::Text(text) | Scalar::Number(text, _) => Cow::Borrowed(text),
            Scalar::Column(id) => Cow::Borrowed(row.cell(*id)),
            Scalar::List(elements) => Cow::Owned(elements.join("\n")),
            Scalar::Chain { .. } | Scalar::Negate(_) => Cow::Owned(print_number(self.number(value, row)?)),
            Scalar::Concat(parts) => {
                let mut joined = String::new();
                for part in parts {
                    let part = self.text(part, row)?;
                    memory::check_cell(joined.len() + part.len())?;
                    joined.push_str(&part);
                }
                Cow::Owned(joined)
            }
            Scalar::Call(function, arguments) => {
                let arguments = arguments
                    .iter()
                    .map(|argument| self.text(argument, row))
                    .collect::<Eval<Vec<_>>>()?;
                let texts: Vec<&str> = arguments.iter().map(AsRef::as_ref).collect();
                let mut result = String::new();
                function.call(&texts, &mut self.context, &mut result)?;
                Cow::Owned(result)
            }
            Scalar::Case(..) => self.absent_or_text(value, row)?.unwrap_or(Cow::Borrowed("")),
            Scalar::Parameter(_) | Scalar::Aggregate(_) | Scalar::Grouping(_) => return Err(unfilled()),
        })
    }

    /// The text of a value, or `None` where a CASE without ELSE took no branch (LNG-40).
    pub(super) fn absent_or_text<'v>(
        &mut self,
        value: &'v Scalar,
        row: &'v dyn Row,
    ) -> Eval<Option<Cow<'v, str>>> {
        let Scalar::Case(branches, otherwise) = value else {
            return self.text(value, row).map(Some);
        };
        for (test, result) in branches {
            if self.test(test, row)? {
                return self.absent_or_text(result, row);
            }
        }
        match otherwise {
            Some(result) => self.absent_or_text(result, row),
            None => Ok(None),
        }
    }

    /// The binary64 value (LNG-46).
    pub(super) fn number(&mut self, value: &Scalar, row: &dyn Row) -> Eval<f64> {
        match value {
            Scalar::Number(_, number) => Ok(*number),
            Scalar::Negate(inner) => Ok(-self.number(inner, row)?),
            Scalar::Chain { first, rest, strict } => {
                let mut result = self.number(first, row)?;
                for (operator, operand) in rest {
                    let operand = self.number(operand, row)?;
                    if *strict && operator.divides_by_zero(operand) {
                        return Err(EngineError::argument(say!(
                            "division by zero",
                            "0 で除算しています"
                        )));
                    }
                    result = operator.apply(result, operand);
                }
                Ok(result)
            }
            other => Ok(parse_number(&self.text(other, row)?)),
        }
    }

    /// True for values whose number is known without going through text.
    pub(super) fn is_computed(value: &Scalar) -> bool {
        matches!(
            value,
            Scalar::Chain { .. } | Scalar::Negate(_) | Scalar::Number(..)
        )
    }

    /// Decides a condition.
    pub(in crate::flow) fn test(&mut self, filter: &Filter, row: &dyn Row) -> Eval<bool> {
        match filter {
            Filter::Constant(value) => Ok(*value),
            Filter::All(parts) => {
                for part in parts {
                    if !self.test(part, row)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Filter::Any(parts) => {
                for part in parts {
                    if self.test(part, row)? {
                        return Ok(true);
                    }
                }
                Ok(false)
            }
            Filter::Compare {
                left,
                operator,
                right,
                mode,
            } => {
                let left = self.text(left, row)?;
                let right = self.text(right, row)?;
                Ok(operator.accepts(mode.compare(&left, &right)))
            }
            Filter::OneOf {
                left,
                list,
                how,
                negated,
            } => {
                let cell = self.text(left, row)?;
                let found = match list {
                    List::Set(set) => set.holds(&cell, *how),
                    List::Values(values) => self.among(values, &cell, *how, row)?,
                    List::Parameter(_) => return Err(unfilled()),
                };
                Ok(found != *negated)
            }
            Filter::Like {
                left,
                pattern,
                negated,
            } => {
                let cell = self.text(left, row)?;
                let found = match pattern {
                    Pattern::Constant(_, compiled) => compiled.matches(&cell),
                    Pattern::Computed(pattern) => LikePattern::new(&self.text(pattern, row)?).matches(&cell),
                };
                Ok(found != *negated)
            }
            Filter::Empty { left, negated } => Ok(self.text(left, row)?.is_empty() != *negated),
            Filter::Server(_) | Filter::Exists { .. } => Err(unfilled()),
        }
    }

    fn among(&mut self, values: &[Scalar], cell: &str, how: Membership, row: &dyn Row) -> Eval<bool> {
        let mut texts = Vec::with_capacity(values.len());
        for value in values {
            texts.push(self.text(value, row)?.into_owned());
        }
        Ok(ValueSet::new(texts, how).holds(cell, how))
    }
}

/// Every subquery is filled in, every server test sent or refused, before the first row; this is the guard of it.
fn unfilled() -> EngineError {
    EngineError::argument(say!(
        "internal: a value was not prepared",
        "内部エラー: 準備されていない値です"
    ))
}
