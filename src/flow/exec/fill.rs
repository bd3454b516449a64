//! Before the first row: results of subqueries take their places, and what is constant is decided once.

use std::convert::Infallible;
use std::sync::Arc;

use crate::flow::plan::filter::{Filter, List, Pattern, ValueSet};
use crate::flow::plan::query::{BoundSelect, Output};
use crate::flow::plan::scalar::{ColumnId, Scalar};

use super::EngineError;
use super::eval::{Evaluator, NoRow};

/// The outcome of a subquery.
#[derive(Clone, Debug)]
pub(in crate::flow) enum Filled {
    /// A constant.
    Value(Scalar),
    /// Values of the first column.
    List(Vec<String>),
    /// Whether there was a row.
    Exists(bool),
}

/// Puts results of subqueries into a value, conditions of CASE aside.
fn scalar(value: &Scalar, filled: &[Filled]) -> Scalar {
    let Ok(value) = value.map::<Infallible>(&mut |part| {
        Ok(match part {
            Scalar::Parameter(index) => match filled.get(*index) {
                Some(Filled::Value(value)) => Some(value.clone()),
                _ => None,
            },
            _ => None,
        })
    });
    value
}

/// Puts results of subqueries into a condition and decides every part that needs no row.
pub(in crate::flow) fn filter(
    condition: &Filter,
    filled: &[Filled],
    evaluator: &mut Evaluator,
) -> Result<Filter, EngineError> {
    match condition {
        Filter::Constant(_) | Filter::Server(_) => Ok(condition.clone()),
        Filter::All(parts) => Ok(Filter::all(
            parts
                .iter()
                .map(|part| filter(part, filled, evaluator))
                .collect::<Result<_, _>>()?,
        )),
        Filter::Any(parts) => Ok(Filter::any(
            parts
                .iter()
                .map(|part| filter(part, filled, evaluator))
                .collect::<Result<_, _>>()?,
        )),
        Filter::Exists { parameter, negated } => Ok(match filled.get(*parameter) {
            Some(Filled::Exists(found)) => Filter::Constant(found != negated),
            _ => condition.clone(),
        }),
        leaf => {
            let leaf = leaf_filled(leaf, filled, evaluator)?;
            if let Filter::OneOf {
                list: List::Set(set),
                negated,
                ..
            } = &leaf
                && set.values.is_empty()
            {
                return Ok(Filter::Constant(*negated));
            }
            let mut columns: Vec<ColumnId> = Vec::new();
            leaf.columns(&mut columns);
            if columns.is_empty() && leaf.is_filled() {
                evaluator.test(&leaf, &NoRow).map(Filter::Constant)
            } else {
                Ok(leaf)
            }
        }
    }
}

fn leaf_filled(leaf: &Filter, filled: &[Filled], evaluator: &mut Evaluator) -> Result<Filter, EngineError> {
    let mut value = |value: &Scalar| nested(value, filled, evaluator);
    Ok(match leaf {
        Filter::Compare {
            left,
            operator,
            right,
            mode,
        } => Filter::Compare {
            left: value(left)?,
            operator: *operator,
            right: value(right)?,
            mode: mode.clone(),
        },
        Filter::OneOf {
            left,
            list,
            how,
            negated,
        } => {
            let list = match list {
                List::Parameter(index) => match filled.get(*index) {
                    Some(Filled::List(values)) => {
                        List::Set(Arc::new(ValueSet::new(values.iter().cloned(), *how)))
                    }
                    _ => list.clone(),
                },
                List::Values(values) => {
                    let values = values
                        .iter()
                        .map(&mut value)
                        .collect::<Result<Vec<Scalar>, _>>()?;
                    match values
                        .iter()
                        .map(|value| value.constant().map(str::to_owned))
                        .collect::<Option<Vec<_>>>()
                    {
                        Some(texts) => List::Set(Arc::new(ValueSet::new(texts, *how))),
                        None => List::Values(values),
                    }
                }
                List::Set(_) => list.clone(),
            };
            Filter::OneOf {
                left: value(left)?,
                list,
                how: *how,
                negated: *negated,
            }
        }
        Filter::Like {
            left,
            pattern,
            negated,
        } => {
            let pattern = match pattern {
                Pattern::Computed(pattern) => {
                    let pattern = value(pattern)?;
                    match pattern.constant() {
                        Some(text) => Pattern::constant(text),
                        None => Pattern::Computed(pattern),
                    }
                }
                Pattern::Constant(..) => pattern.clone(),
            };
            Filter::Like {
                left: value(left)?,
                pattern,
                negated: *negated,
            }
        }
        Filter::Empty { left, negated } => Filter::Empty {
            left: value(left)?,
            negated: *negated,
        },
        other => other.clone(),
    })
}

/// Fills a whole SELECT.
pub(super) fn select(
    select: &BoundSelect,
    filled: &[Filled],
    evaluator: &mut Evaluator,
) -> Result<BoundSelect, EngineError> {
    let mut result = select.clone();
    result.filter = filter(&select.filter, filled, evaluator)?;
    result.having = filter(&select.having, filled, evaluator)?;
    for output in &mut result.outputs {
        if let Output::Value(value) = output {
            *value = nested(value, filled, evaluator)?;
        }
    }
    for value in &mut result.hidden {
        *value = nested(value, filled, evaluator)?;
    }
    if let Some(grouping) = &mut result.grouping {
        for key in &mut grouping.keys {
            *key = nested(key, filled, evaluator)?;
        }
        for aggregate in &mut grouping.aggregates {
            if let Some(argument) = &mut aggregate.argument {
                *argument = nested(argument, filled, evaluator)?;
            }
        }
    }
    Ok(result)
}

/// Fills a value including the conditions of CASE in it.
pub(in crate::flow) fn nested(
    value: &Scalar,
    filled: &[Filled],
    evaluator: &mut Evaluator,
) -> Result<Scalar, EngineError> {
    value.map(&mut |part| {
        Ok(match part {
            Scalar::Parameter(_) => Some(scalar(part, filled)),
            Scalar::Case(branches, otherwise) => {
                let mut cases = Vec::with_capacity(branches.len());
                for (test, result) in branches {
                    cases.push((
                        filter(test, filled, evaluator)?,
                        nested(result, filled, evaluator)?,
                    ));
                }
                let otherwise = match otherwise {
                    Some(value) => Some(Box::new(nested(value, filled, evaluator)?)),
                    None => None,
                };
                Some(Scalar::Case(cases, otherwise))
            }
            _ => None,
        })
    })
}
