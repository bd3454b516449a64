//! What only a run knows, taken at its best and at its worst: results of subqueries decide what kintone is asked for.

use std::convert::Infallible;

use crate::flow::exec::EngineError;
use crate::flow::plan::filter::{Filter, List};
use crate::flow::plan::query::{BoundSelect, Output};
use crate::flow::plan::scalar::Scalar;
use crate::flow::value::CompareMode;

/// Whether a condition holds or fails as a whole by something that only a run knows, whatever a record has.
fn is_undecided(filter: &Filter) -> bool {
    let mut columns = Vec::new();
    filter.columns(&mut columns);
    columns.is_empty() && filter.server_test().is_none() && !filter.is_filled()
}

/// The condition if what is undecided leaves as much as possible of it.
pub(in crate::flow::exec) fn favourable(filter: &Filter) -> Filter {
    match filter {
        part if is_undecided(part) => Filter::Constant(true),
        Filter::All(parts) => Filter::all(parts.iter().map(favourable).collect()),
        Filter::Any(parts) => {
            let decided = parts.iter().filter(|part| !is_undecided(part));
            Filter::any(decided.map(favourable).collect())
        }
        leaf => leaf.clone(),
    }
}

/// The value if what only a run knows lets it do without as many columns as possible: a test of CASE may turn out to hold
/// or to fail whatever a row has.
pub(super) fn with_fewest_columns(value: &Scalar) -> Scalar {
    let Ok(value) = value.map::<Infallible>(&mut |part| {
        Ok(match part {
            Scalar::Case(branches, otherwise) if !part.is_filled() => {
                let certain = |test: &Filter| {
                    if test.is_filled() {
                        test.clone()
                    } else {
                        Filter::Constant(true)
                    }
                };
                let branches = branches
                    .iter()
                    .map(|(test, result)| (certain(test), with_fewest_columns(result)));
                let otherwise = otherwise
                    .as_ref()
                    .map(|value| Box::new(with_fewest_columns(value)));
                Some(Scalar::Case(branches.collect(), otherwise))
            }
            _ => None,
        })
    });
    value
}

/// One thing in three ways: how a run may do it, depending on what it finds.
pub(super) struct Outlooks<T> {
    /// As much of the condition as possible is sent.
    pub best: T,
    /// What only a run knows has vanished from the condition: as few columns as possible are needed, kintone can decide
    /// most by itself, and no record is missed.
    pub known: T,
    /// It has not, and kintone cannot decide it: all columns are needed.
    pub kept: T,
}

impl<T> Outlooks<T> {
    /// The same of each.
    pub fn map<'o, U>(&'o self, make: impl Fn(&'o T) -> U) -> Outlooks<U> {
        Outlooks {
            best: make(&self.best),
            known: make(&self.known),
            kept: make(&self.kept),
        }
    }
}

impl<T> Outlooks<Option<T>> {
    /// All of them.
    pub fn all(self) -> Option<Outlooks<T>> {
        Some(Outlooks {
            best: self.best?,
            known: self.known?,
            kept: self.kept?,
        })
    }
}

impl<T> Outlooks<Result<T, EngineError>> {
    /// A run that fails sends nothing: what is possible at all is that of the known parts.
    pub fn possible(&self) -> Outlooks<Option<&T>> {
        let known = self.known.as_ref().ok();
        Outlooks {
            best: self.best.as_ref().ok().or(known),
            known,
            kept: self.kept.as_ref().ok().or(known),
        }
    }
}

/// The outlooks of a condition.
pub(super) fn conditions(filter: &Filter) -> Outlooks<Filter> {
    Outlooks {
        best: favourable(filter),
        known: Filter::all(
            conjuncts(filter)
                .iter()
                .filter(|part| part.is_filled())
                .cloned()
                .collect(),
        ),
        kept: kept(filter),
    }
}

/// The outlooks of a SELECT.
pub(super) fn selects(select: &BoundSelect) -> Outlooks<BoundSelect> {
    let filters = conditions(&select.filter);
    let mut fewest = select.clone();
    let outputs = fewest.outputs.iter_mut().filter_map(|output| match output {
        Output::Value(value) => Some(value),
        Output::Window(_) => None,
    });
    let groups = fewest.grouping.iter_mut().flat_map(|grouping| {
        let arguments = grouping
            .aggregates
            .iter_mut()
            .filter_map(|aggregate| aggregate.argument.as_mut());
        grouping.keys.iter_mut().chain(arguments)
    });
    for value in outputs.chain(&mut fewest.hidden).chain(groups) {
        *value = with_fewest_columns(value);
    }
    Outlooks {
        best: BoundSelect {
            filter: filters.best,
            ..fewest.clone()
        },
        known: BoundSelect {
            filter: filters.known,
            ..fewest
        },
        kept: BoundSelect {
            filter: filters.kept,
            ..select.clone()
        },
    }
}

fn conjuncts(filter: &Filter) -> &[Filter] {
    match filter {
        Filter::All(parts) => parts,
        single => std::slice::from_ref(single),
    }
}

/// The condition with every comparison that has yet to get its value made one that kintone cannot decide.
fn kept(filter: &Filter) -> Filter {
    let computed = |left: &Scalar| Scalar::Concat(vec![left.clone()]);
    match filter {
        Filter::All(parts) => Filter::All(parts.iter().map(kept).collect()),
        Filter::Any(parts) => Filter::Any(parts.iter().map(kept).collect()),
        part if part.is_filled() => part.clone(),
        Filter::Compare {
            left,
            operator,
            right,
            mode,
        } => Filter::Compare {
            left: computed(left),
            operator: *operator,
            right: right.clone(),
            mode: mode.clone(),
        },
        Filter::OneOf {
            left,
            list,
            how,
            negated,
        } => Filter::OneOf {
            left: computed(left),
            list: list.clone(),
            how: *how,
            negated: *negated,
        },
        other => other.clone(),
    }
}

/// Whether which parts of the condition remain depends on what a run finds: a part that turns out to hold or to fail
/// takes others with it.
pub(super) fn is_branching(filter: &Filter) -> bool {
    conjuncts(filter).iter().any(|part| {
        matches!(part, Filter::All(_) | Filter::Any(_)) && !part.is_filled() && !is_undecided(part)
    })
}

/// Whether a run may find that no record can meet the condition, and read none.
pub(super) fn may_fail(filter: &Filter) -> bool {
    match filter {
        Filter::Constant(value) => !value,
        Filter::All(parts) => parts.iter().any(may_fail),
        Filter::Any(parts) => parts.iter().all(may_fail),
        // An empty list holds nothing, and a record number compares with whole numbers only.
        Filter::OneOf {
            list: List::Parameter(_),
            negated: false,
            ..
        }
        | Filter::Compare {
            right: Scalar::Parameter(_),
            mode: CompareMode::RecordNumber,
            ..
        } => true,
        leaf => is_undecided(leaf),
    }
}
