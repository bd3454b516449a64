//! One part of a condition: its text for kintone, and how sure it is that the text finds the same records.

use super::leaf::{Circumstances, Operand, comparison, membership, server_test};
use super::text::grouped;
use super::{Decision, Limits, PushField};
use crate::flow::plan::filter::{Filter, List};
use crate::flow::plan::scalar::{ColumnId, Scalar};

/// How far kintone can decide a part.
pub(super) enum Sent {
    Exact(String),
    /// Exact by its documentation, but tested again.
    Doubted(String),
    Superset(String),
    Nothing,
}

/// How sure a text is that several parts were joined to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Certainty {
    Superset,
    Doubted,
    Exact,
}

impl Sent {
    /// The text, if there is one, and how sure it is.
    pub fn split(self) -> (Option<String>, Certainty) {
        match self {
            Self::Exact(text) => (Some(text), Certainty::Exact),
            Self::Doubted(text) => (Some(text), Certainty::Doubted),
            Self::Superset(text) => (Some(text), Certainty::Superset),
            Self::Nothing => (None, Certainty::Superset),
        }
    }

    fn of(text: String, certainty: Certainty) -> Self {
        match certainty {
            Certainty::Exact => Self::Exact(text),
            Certainty::Doubted => Self::Doubted(text),
            Certainty::Superset => Self::Superset(text),
        }
    }
}

/// The parts of a conjunction around a part of it, and those of the conjunctions around that.
pub(super) struct Beside<'b> {
    parts: &'b [Filter],
    outer: Option<&'b Beside<'b>>,
}

impl<'b> Beside<'b> {
    /// The parts of the outermost conjunction.
    pub fn of(parts: &'b [Filter]) -> Self {
        Self { parts, outer: None }
    }

    /// Whether one of them lets no record pass in which the column is empty.
    fn exclude_empty(&self, column: ColumnId) -> bool {
        self.parts.iter().any(|part| excludes_empty(part, column))
            || self.outer.is_some_and(|outer| outer.exclude_empty(column))
    }
}

/// Whether a condition fails for every row in which the column is empty.
fn excludes_empty(filter: &Filter, column: ColumnId) -> bool {
    let about = |left: &Scalar| matches!(left, Scalar::Column(id) if *id == column);
    match filter {
        Filter::All(parts) => parts.iter().any(|part| excludes_empty(part, column)),
        Filter::Any(parts) => parts.iter().all(|part| excludes_empty(part, column)),
        Filter::Compare {
            left,
            operator,
            right,
            mode,
        } if about(left) => right
            .constant()
            .is_some_and(|right| !operator.accepts(mode.compare("", right))),
        Filter::Empty { left, negated } => about(left) && *negated,
        Filter::OneOf {
            left,
            list: List::Set(set),
            how,
            negated,
        } => about(left) && set.holds("", *how) == *negated,
        _ => false,
    }
}

/// What decides how a part is sent.
#[derive(Clone, Copy)]
pub(super) struct Pusher<'p, 'f> {
    pub field: &'p dyn Fn(ColumnId) -> Option<PushField<'f>>,
    pub decision: Decision,
    pub limits: Limits,
}

impl Pusher<'_, '_> {
    fn circumstances(&self, column: ColumnId, beside: &Beside<'_>) -> Circumstances {
        Circumstances {
            never_empty: beside.exclude_empty(column),
            tested_again: self.decision == Decision::Tested,
        }
    }

    /// The text for a part of the condition.
    pub fn part(&self, filter: &Filter, beside: &Beside<'_>) -> Sent {
        match filter {
            Filter::All(parts) => {
                let beside = Beside {
                    parts,
                    outer: Some(beside),
                };
                let mut certainty = Certainty::Exact;
                let mut texts = Vec::new();
                for part in parts {
                    let nested = matches!(part, Filter::Any(_));
                    let (text, certain) = self.part(part, &beside).split();
                    texts.extend(text.map(|text| grouped(text, nested)));
                    certainty = certainty.min(certain);
                }
                if texts.is_empty() {
                    return Sent::Nothing;
                }
                Sent::of(texts.join(" and "), certainty)
            }
            Filter::Any(parts) => {
                let mut certainty = Certainty::Exact;
                let mut texts = Vec::new();
                for part in parts {
                    let nested = matches!(part, Filter::All(_));
                    let (Some(text), certain) = self.part(part, beside).split() else {
                        return Sent::Nothing;
                    };
                    texts.push(grouped(text, nested));
                    certainty = certainty.min(certain);
                }
                Sent::of(texts.join(" or "), certainty)
            }
            Filter::Compare {
                left: Scalar::Column(id),
                operator,
                right,
                ..
            } => match ((self.field)(*id), Operand::of(right)) {
                (Some(field), Some(value)) => {
                    comparison(field, *operator, value, self.circumstances(*id, beside))
                }
                _ => Sent::Nothing,
            },
            Filter::OneOf {
                left: Scalar::Column(id),
                list,
                negated,
                ..
            } => match ((self.field)(*id), elements(list)) {
                (Some(field), Some(values)) if values.len() <= self.limits.values => {
                    membership(field, &values, *negated)
                }
                _ => Sent::Nothing,
            },
            Filter::Server(test) => match (self.field)(test.column) {
                Some(field) => server_test(field, test, self.circumstances(test.column, beside)),
                None => Sent::Nothing,
            },
            _ => Sent::Nothing,
        }
    }
}

/// The elements of a list that holds no computed ones.
fn elements(list: &List) -> Option<Vec<Operand<'_>>> {
    match list {
        List::Set(set) => Some(set.values.iter().map(|value| Operand::Known(value)).collect()),
        List::Values(values) => values.iter().map(Operand::of).collect(),
        List::Parameter(_) => Some(vec![Operand::Later]),
    }
}
