//! Bound values: names are column numbers, variables and as-of functions are constants.

use crate::flow::function::Function;
use crate::flow::value::{Arithmetic, parse_number};

use super::filter::Filter;

/// The [`Scalar::Parameter`] that no subquery fills in.
pub const UNKNOWN: usize = usize::MAX;

/// A column of an input row: which source, which of its columns. After grouping there is one source, the groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ColumnId {
    /// Source, in the order of FROM.
    pub source: usize,
    /// Column of its schema.
    pub column: usize,
}

/// A value to compute for each row.
#[derive(Clone, Debug)]
pub enum Scalar {
    /// Constant text.
    Text(String),
    /// Constant number: its text and its binary64 value.
    Number(String, f64),
    /// Constant list, for writing.
    List(Vec<String>),
    /// A cell.
    Column(ColumnId),
    /// Result of a scalar subquery, filled in before the first row; [`UNKNOWN`] for a variable whose value only a run
    /// computes.
    Parameter(usize),
    /// Arithmetic from left to right; `strict` refuses a division by zero (UPDATE SET).
    Chain {
        /// First operand.
        first: Box<Scalar>,
        /// Further operators and operands.
        rest: Vec<(Arithmetic, Scalar)>,
        /// Division by zero is an error.
        strict: bool,
    },
    /// `-x`
    Negate(Box<Scalar>),
    /// Joined texts.
    Concat(Vec<Scalar>),
    /// A scalar function.
    Call(&'static Function, Vec<Scalar>),
    /// CASE.
    Case(Vec<(Filter, Scalar)>, Option<Box<Scalar>>),
    /// An aggregate, until the group's columns are known.
    Aggregate(usize),
    /// GROUPING of a key, until the group's columns are known.
    Grouping(usize),
}

impl PartialEq for Scalar {
    /// Says whether two values are computed alike.
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) | (Self::Number(a, _), Self::Number(b, _)) => a == b,
            (Self::List(a), Self::List(b)) => a == b,
            (Self::Column(a), Self::Column(b)) => a == b,
            (Self::Parameter(a), Self::Parameter(b))
            | (Self::Aggregate(a), Self::Aggregate(b))
            | (Self::Grouping(a), Self::Grouping(b)) => a == b,
            (
                Self::Chain {
                    first: a,
                    rest: ar,
                    strict: s,
                },
                Self::Chain {
                    first: b,
                    rest: br,
                    strict: t,
                },
            ) => a == b && ar == br && s == t,
            (Self::Negate(a), Self::Negate(b)) => a == b,
            (Self::Concat(a), Self::Concat(b)) => a == b,
            (Self::Call(f, a), Self::Call(g, b)) => f.name == g.name && a == b,
            (Self::Case(a, x), Self::Case(b, y)) => a == b && x == y,
            _ => false,
        }
    }
}

impl Scalar {
    /// A number literal.
    pub fn number(text: impl Into<String>) -> Self {
        let text = text.into();
        let value = parse_number(&text);
        Self::Number(text, value)
    }

    /// The text of a constant.
    pub fn constant(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Number(text, _) => Some(text),
            _ => None,
        }
    }

    /// Whether no result of a subquery is missing in it.
    pub fn is_filled(&self) -> bool {
        let mut filled = true;
        self.visit(&mut |part| match part {
            Self::Parameter(_) => filled = false,
            Self::Case(branches, _) => filled &= branches.iter().all(|(test, _)| test.is_filled()),
            _ => {}
        });
        filled
    }

    /// Calls `visit` for the value and all its parts, conditions of CASE included.
    pub fn visit(&self, visit: &mut dyn FnMut(&Self)) {
        visit(self);
        match self {
            Self::Text(_)
            | Self::Number(..)
            | Self::List(_)
            | Self::Column(_)
            | Self::Parameter(_)
            | Self::Aggregate(_)
            | Self::Grouping(_) => {}
            Self::Chain { first, rest, .. } => {
                first.visit(visit);
                for (_, operand) in rest {
                    operand.visit(visit);
                }
            }
            Self::Negate(inner) => inner.visit(visit),
            Self::Concat(parts) | Self::Call(_, parts) => {
                for part in parts {
                    part.visit(visit);
                }
            }
            Self::Case(branches, otherwise) => {
                for (test, result) in branches {
                    test.visit(visit);
                    result.visit(visit);
                }
                if let Some(otherwise) = otherwise {
                    otherwise.visit(visit);
                }
            }
        }
    }

    /// Rebuilds the value with its leaves replaced where `replace` gives something else.
    pub fn map<E>(&self, replace: &mut dyn FnMut(&Self) -> Result<Option<Self>, E>) -> Result<Self, E> {
        if let Some(replaced) = replace(self)? {
            return Ok(replaced);
        }
        Ok(match self {
            Self::Chain { first, rest, strict } => Self::Chain {
                first: Box::new(first.map(replace)?),
                rest: rest
                    .iter()
                    .map(|(operator, operand)| Ok((*operator, operand.map(replace)?)))
                    .collect::<Result<_, E>>()?,
                strict: *strict,
            },
            Self::Negate(inner) => Self::Negate(Box::new(inner.map(replace)?)),
            Self::Concat(parts) => Self::Concat(
                parts
                    .iter()
                    .map(|part| part.map(replace))
                    .collect::<Result<_, E>>()?,
            ),
            Self::Call(function, arguments) => Self::Call(
                function,
                arguments
                    .iter()
                    .map(|part| part.map(replace))
                    .collect::<Result<_, E>>()?,
            ),
            Self::Case(branches, otherwise) => Self::Case(
                branches
                    .iter()
                    .map(|(test, result)| Ok((test.map(replace)?, result.map(replace)?)))
                    .collect::<Result<_, E>>()?,
                otherwise
                    .as_ref()
                    .map(|value| value.map(replace).map(Box::new))
                    .transpose()?,
            ),
            leaf => leaf.clone(),
        })
    }

    /// Columns that the value needs.
    pub fn columns(&self, out: &mut Vec<ColumnId>) {
        self.visit(&mut |part| {
            if let Self::Column(id) = part {
                out.push(*id);
            }
        });
    }
}
