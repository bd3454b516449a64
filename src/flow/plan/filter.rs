//! Bound conditions. Negations stand at the leaves: the logic has two values, so complements are exact (LNG-40).

use std::collections::HashSet;
use std::sync::Arc;

use crate::flow::sql::ast::Comparison;
use crate::flow::sql::position::Span;
use crate::flow::value::{CompareMode, LikePattern, canonical_number};

use super::push::LATER;
use super::scalar::{ColumnId, Scalar};

/// A condition to decide for each row.
#[derive(Clone, Debug, PartialEq)]
pub enum Filter {
    /// Known without a row.
    Constant(bool),
    /// All hold.
    All(Vec<Filter>),
    /// One holds.
    Any(Vec<Filter>),
    /// A comparison in the left side's mode.
    Compare {
        /// Left side.
        left: Scalar,
        /// Operator.
        operator: Comparison,
        /// Right side.
        right: Scalar,
        /// Mode.
        mode: CompareMode,
    },
    /// IN.
    OneOf {
        /// Left side.
        left: Scalar,
        /// Elements.
        list: List,
        /// How elements are met.
        how: Membership,
        /// NOT IN.
        negated: bool,
    },
    /// LIKE with a constant pattern.
    Like {
        /// Left side.
        left: Scalar,
        /// Pattern.
        pattern: Pattern,
        /// NOT LIKE.
        negated: bool,
    },
    /// IS NULL.
    Empty {
        /// Left side.
        left: Scalar,
        /// IS NOT NULL.
        negated: bool,
    },
    /// Decided by kintone only.
    Server(ServerTest),
    /// EXISTS: a subquery's outcome, filled in before the first row.
    Exists {
        /// Which subquery.
        parameter: usize,
        /// NOT EXISTS.
        negated: bool,
    },
}

/// Elements of IN.
#[derive(Clone, Debug, PartialEq)]
pub enum List {
    /// Values.
    Values(Vec<Scalar>),
    /// First column of a subquery, filled in before the first row.
    Parameter(usize),
    /// Known texts.
    Set(Arc<ValueSet>),
}

/// How IN compares (LNG-48).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Membership {
    /// Equal texts.
    Text,
    /// Equal decimals.
    Number,
    /// Any element of the cell is listed.
    Overlap,
}

/// Distinct known elements of IN.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueSet {
    /// In order of first mention, for kintone.
    pub values: Vec<String>,
    keys: HashSet<String>,
}

impl ValueSet {
    /// Takes the elements; numbers are one element whatever their spelling.
    pub fn new(elements: impl IntoIterator<Item = String>, how: Membership) -> Self {
        let mut keys = HashSet::new();
        let values = elements
            .into_iter()
            .filter(|element| keys.insert(key(element, how).into_owned()))
            .collect();
        Self { values, keys }
    }

    /// True if a cell is in the list.
    pub fn holds(&self, cell: &str, how: Membership) -> bool {
        match how {
            Membership::Overlap if !cell.is_empty() => {
                crate::flow::value::selection::elements(cell).any(|element| self.keys.contains(element))
            }
            _ => self.keys.contains(&*key(cell, how)),
        }
    }
}

fn key(text: &str, how: Membership) -> std::borrow::Cow<'_, str> {
    match how {
        Membership::Number => canonical_number(text),
        Membership::Text | Membership::Overlap => text.into(),
    }
}

/// The right side of LIKE.
#[derive(Clone, Debug)]
pub enum Pattern {
    /// Compiled.
    Constant(String, Arc<LikePattern>),
    /// Computed for each row.
    Computed(Scalar),
}

impl Pattern {
    /// A known pattern.
    pub fn constant(pattern: &str) -> Self {
        Self::Constant(pattern.to_owned(), Arc::new(LikePattern::new(pattern)))
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Constant(a, _), Self::Constant(b, _)) => a == b,
            (Self::Computed(a), Self::Computed(b)) => a == b,
            _ => false,
        }
    }
}

/// A test that only kintone evaluates.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServerTest {
    /// The field.
    pub column: ColumnId,
    /// Operator.
    pub operator: ServerOperator,
    /// The complement of the operator is meant.
    pub negated: bool,
    /// Right side as kintone takes it.
    pub right: String,
    /// Error code when the test cannot be sent.
    pub reason: &'static str,
    /// Where it stands.
    pub span: Span,
}

/// Operators of [`ServerTest`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerOperator {
    /// A comparison with a date function.
    Compare(Comparison),
    /// `in (LOGINUSER())`
    In,
    /// Keyword search.
    Like,
}

impl ServerTest {
    /// kintone's query text for a field code.
    pub fn query(&self, code: &str) -> String {
        let operator = match (self.operator, self.negated) {
            (ServerOperator::Compare(operator), false) => operator.symbol(),
            (ServerOperator::Compare(operator), true) => complement(operator).symbol(),
            (ServerOperator::In, false) => "in",
            (ServerOperator::In, true) => "not in",
            (ServerOperator::Like, false) => "like",
            (ServerOperator::Like, true) => "not like",
        };
        format!("{code} {operator} {}", self.right)
    }
}

impl Filter {
    /// The exact complement.
    pub fn negated(self) -> Self {
        match self {
            Self::Constant(value) => Self::Constant(!value),
            Self::All(parts) => Self::Any(parts.into_iter().map(Self::negated).collect()),
            Self::Any(parts) => Self::All(parts.into_iter().map(Self::negated).collect()),
            Self::Compare {
                left,
                operator,
                right,
                mode,
            } => Self::Compare {
                left,
                operator: complement(operator),
                right,
                mode,
            },
            Self::OneOf {
                left,
                list,
                how,
                negated,
            } => Self::OneOf {
                left,
                list,
                how,
                negated: !negated,
            },
            Self::Like {
                left,
                pattern,
                negated,
            } => Self::Like {
                left,
                pattern,
                negated: !negated,
            },
            Self::Empty { left, negated } => Self::Empty {
                left,
                negated: !negated,
            },
            Self::Exists { parameter, negated } => Self::Exists {
                parameter,
                negated: !negated,
            },
            Self::Server(test) => Self::Server(ServerTest {
                negated: !test.negated,
                ..test
            }),
        }
    }

    /// Calls `visit` for every value in the condition and its parts.
    pub fn visit(&self, visit: &mut dyn FnMut(&Scalar)) {
        match self {
            Self::Constant(_) | Self::Server(_) | Self::Exists { .. } => {}
            Self::All(parts) | Self::Any(parts) => {
                for part in parts {
                    part.visit(visit);
                }
            }
            Self::Compare { left, right, .. } => {
                left.visit(visit);
                right.visit(visit);
            }
            Self::OneOf { left, list, .. } => {
                left.visit(visit);
                if let List::Values(values) = list {
                    for value in values {
                        value.visit(visit);
                    }
                }
            }
            Self::Like { left, pattern, .. } => {
                left.visit(visit);
                if let Pattern::Computed(pattern) = pattern {
                    pattern.visit(visit);
                }
            }
            Self::Empty { left, .. } => left.visit(visit),
        }
    }

    /// Rebuilds the condition with values replaced (see [`Scalar::map`]).
    pub fn map<E>(&self, replace: &mut dyn FnMut(&Scalar) -> Result<Option<Scalar>, E>) -> Result<Self, E> {
        Ok(match self {
            Self::Constant(_) | Self::Server(_) | Self::Exists { .. } => self.clone(),
            Self::All(parts) => Self::All(
                parts
                    .iter()
                    .map(|part| part.map(replace))
                    .collect::<Result<_, E>>()?,
            ),
            Self::Any(parts) => Self::Any(
                parts
                    .iter()
                    .map(|part| part.map(replace))
                    .collect::<Result<_, E>>()?,
            ),
            Self::Compare {
                left,
                operator,
                right,
                mode,
            } => Self::Compare {
                left: left.map(replace)?,
                operator: *operator,
                right: right.map(replace)?,
                mode: mode.clone(),
            },
            Self::OneOf {
                left,
                list,
                how,
                negated,
            } => Self::OneOf {
                left: left.map(replace)?,
                list: match list {
                    List::Values(values) => List::Values(
                        values
                            .iter()
                            .map(|value| value.map(replace))
                            .collect::<Result<_, E>>()?,
                    ),
                    other => other.clone(),
                },
                how: *how,
                negated: *negated,
            },
            Self::Like {
                left,
                pattern,
                negated,
            } => Self::Like {
                left: left.map(replace)?,
                pattern: match pattern {
                    Pattern::Computed(pattern) => Pattern::Computed(pattern.map(replace)?),
                    constant @ Pattern::Constant(..) => constant.clone(),
                },
                negated: *negated,
            },
            Self::Empty { left, negated } => Self::Empty {
                left: left.map(replace)?,
                negated: *negated,
            },
        })
    }

    /// Columns that a local decision needs.
    pub fn columns(&self, out: &mut Vec<ColumnId>) {
        self.visit(&mut |part| {
            if let Scalar::Column(id) = part {
                out.push(*id);
            }
        });
    }

    /// Whether no result of a subquery is missing in it.
    pub fn is_filled(&self) -> bool {
        match self {
            Self::All(parts) | Self::Any(parts) => parts.iter().all(Self::is_filled),
            Self::Exists { .. }
            | Self::OneOf {
                list: List::Parameter(_),
                ..
            } => false,
            Self::Server(test) => test.right != LATER,
            leaf => {
                let mut filled = true;
                leaf.visit(&mut |part| filled &= part.is_filled());
                filled
            }
        }
    }

    /// A test in it that only kintone can decide.
    pub fn server_test(&self) -> Option<&ServerTest> {
        match self {
            Self::Server(test) => Some(test),
            Self::All(parts) | Self::Any(parts) => parts.iter().find_map(Self::server_test),
            _ => None,
        }
    }

    /// Conjunction, simplified.
    pub fn all(parts: Vec<Self>) -> Self {
        let mut kept = Vec::new();
        for part in parts {
            match part {
                Self::Constant(true) => {}
                Self::Constant(false) => return part,
                Self::All(inner) => kept.extend(inner),
                other => kept.push(other),
            }
        }
        match kept.len() {
            0 => Self::Constant(true),
            1 => kept.swap_remove(0),
            _ => Self::All(kept),
        }
    }

    /// Disjunction, simplified.
    pub fn any(parts: Vec<Self>) -> Self {
        let mut kept = Vec::new();
        for part in parts {
            match part {
                Self::Constant(false) => {}
                Self::Constant(true) => return part,
                Self::Any(inner) => kept.extend(inner),
                other => kept.push(other),
            }
        }
        match kept.len() {
            0 => Self::Constant(false),
            1 => kept.swap_remove(0),
            _ => Self::Any(kept),
        }
    }
}

fn complement(operator: Comparison) -> Comparison {
    match operator {
        Comparison::Equal => Comparison::NotEqual,
        Comparison::NotEqual => Comparison::Equal,
        Comparison::Less => Comparison::GreaterOrEqual,
        Comparison::LessOrEqual => Comparison::Greater,
        Comparison::Greater => Comparison::LessOrEqual,
        Comparison::GreaterOrEqual => Comparison::Less,
    }
}
