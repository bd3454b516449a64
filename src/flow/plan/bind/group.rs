//! GROUP BY: keys, and the rule that everything else depends on keys and aggregates only (LNG-108..112).

use crate::flow::exec::EngineError;
use crate::flow::sql::ast::{Expr, Grouping, Select};
use crate::flow::sql::message::say;

use super::value::Aggregates;
use super::{Alias, Bind, Binder, Env};
use crate::flow::plan::query::BoundGrouping;
use crate::flow::plan::scalar::{ColumnId, Scalar};
use crate::flow::plan::scope::{Found, Scope, unknown_column};

/// For each grouping set, which keys it keeps.
pub(super) type KeptKeys = Vec<Vec<bool>>;

/// A column that is neither a key nor inside an aggregate.
pub const NON_GROUPED: &str = "B65_NON_GROUPED_DEPENDENCY";

impl Binder<'_> {
    /// The keys of GROUP BY and, for grouping sets, which set keeps which.
    pub(super) fn group_keys(
        &mut self,
        scope: &Scope,
        select: &Select,
        aliases: &[Alias],
    ) -> Bind<(Vec<Scalar>, Option<KeptKeys>)> {
        match &select.grouping {
            None => Ok((Vec::new(), None)),
            Some(Grouping::Keys(keys)) => {
                let keys = keys
                    .iter()
                    .map(|key| self.group_key(scope, key, aliases))
                    .collect::<Bind<_>>()?;
                Ok((keys, None))
            }
            Some(Grouping::Sets { fields, sets }) => {
                let mut keys = Vec::new();
                for field in fields {
                    match scope.find(field)? {
                        Some(Found::Column(id)) => keys.push(Scalar::Column(id)),
                        _ => return Err(unknown_column(field)),
                    }
                }
                Ok((keys, Some(sets.clone())))
            }
        }
    }

    /// A field of the name wins, else the alias (LNG-24).
    fn group_key(&mut self, scope: &Scope, key: &Expr, aliases: &[Alias]) -> Bind<Scalar> {
        if let Expr::Column(column) = key
            && column.qualifier.is_none()
            && scope.find(column)?.is_none()
            && let Some(alias) = aliases
                .iter()
                .rev()
                .find(|alias| alias.info.answers_to(&column.name.text))
        {
            let mut aggregate = alias.value.is_none();
            if let Some(value) = &alias.value {
                value.visit(&mut |part| aggregate |= matches!(part, Scalar::Aggregate(_)));
            }
            return match &alias.value {
                Some(value) if !aggregate => Ok(value.clone()),
                _ => {
                    let name = &column.name.text;
                    Err(EngineError::argument(say!(
                        "GROUP BY {name}: the alias stands for an aggregate or a window function",
                        "GROUP BY {name}: 集計関数やウィンドウ関数の別名ではグループ化できません"
                    ))
                    .at(column.span()))
                }
            };
        }
        self.value(&mut Env::rows(scope), key).map(|(value, _)| value)
    }
}

/// Replaces keys, aggregates and GROUPING flags by the columns of a group's row.
pub(super) struct Lift<'a> {
    scope: &'a Scope,
    keys: &'a [Scalar],
    aggregates: usize,
}

impl<'a> Lift<'a> {
    pub(super) fn new(scope: &'a Scope, keys: &'a [Scalar], aggregates: usize) -> Self {
        Self {
            scope,
            keys,
            aggregates,
        }
    }

    /// The value over a group's row; an error if it depends on anything else.
    pub(super) fn value(&self, value: &Scalar) -> Bind<Scalar> {
        value.map(&mut |part| self.part(part))
    }

    /// The condition over a group's row.
    pub(super) fn filter(
        &self,
        filter: &crate::flow::plan::filter::Filter,
    ) -> Bind<crate::flow::plan::filter::Filter> {
        filter.map(&mut |part| self.part(part))
    }

    fn part(&self, part: &Scalar) -> Bind<Option<Scalar>> {
        let group = |column| Ok(Some(Scalar::Column(ColumnId { source: 0, column })));
        if let Some(index) = self.keys.iter().position(|key| key == part) {
            return group(index);
        }
        match part {
            Scalar::Aggregate(index) => group(self.keys.len() + index),
            Scalar::Grouping(index) => group(self.keys.len() + self.aggregates + index),
            Scalar::Column(id) => {
                let name = self.scope.column(*id).map_or("?", |column| &column.info.name);
                Err(EngineError::coded(
                    NON_GROUPED,
                    say!(
                        "{name} is neither in GROUP BY nor inside an aggregate",
                        "{name} は GROUP BY にも集計関数の中にもありません"
                    ),
                ))
            }
            _ => Ok(None),
        }
    }
}

/// The grouping of a SELECT, if it has one.
pub(super) fn grouping(
    keys: Vec<Scalar>,
    sets: Option<KeptKeys>,
    aggregates: Aggregates,
    explicit: bool,
) -> Option<BoundGrouping> {
    (explicit || !aggregates.list.is_empty()).then_some(BoundGrouping {
        keys,
        aggregates: aggregates.list,
        sets,
        explicit,
    })
}
