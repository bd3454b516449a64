//! ORDER BY: an alias wins, else a column or expression (LNG-24, LNG-130).

use crate::flow::exec::EngineError;
use crate::flow::sql::ast::{Expr, OrderKey};
use crate::flow::sql::message::say;
use crate::flow::sql::render;

use super::value::Aggregates;
use super::{Alias, Bind, Binder, Env};
use crate::flow::plan::query::SortKey;
use crate::flow::plan::scalar::Scalar;
use crate::flow::plan::scope::Scope;
use crate::flow::plan::types::{ColumnInfo, Type};

/// A key of ORDER BY that nothing in the query is called.
pub const KEY_UNRESOLVED: &str = "ORDER_KEY_UNRESOLVED";

/// A key before its column in the working rows is known.
pub(super) enum RawKey {
    /// A result column.
    Output(usize),
    /// A value of the row.
    Value(Scalar, Type),
}

impl Binder<'_> {
    /// Binds one key; `outputs` are the positions of the aliases among the result columns.
    pub(super) fn order_key(
        &mut self,
        scope: &Scope,
        key: &OrderKey,
        aliases: &[(usize, Alias)],
        aggregates: &mut Aggregates,
        keys: &[Scalar],
    ) -> Bind<RawKey> {
        if let Expr::Column(column) = &key.expr
            && column.qualifier.is_none()
        {
            if let Some((output, _)) = aliases
                .iter()
                .rev()
                .find(|(_, alias)| alias.info.answers_to(&column.name.text))
            {
                return Ok(RawKey::Output(*output));
            }
            if scope.find(column)?.is_none() {
                return Err(unresolved(&key.expr));
            }
        }
        let names: Vec<Alias> = aliases.iter().map(|(_, alias)| alias.clone()).collect();
        let (value, kind) = self.value(&mut Env::groups(scope, &names, aggregates, keys), &key.expr)?;
        Ok(RawKey::Value(value, kind))
    }

    /// The order of a whole UNION: names of the left branch, or of the last one, which it is written in.
    pub(super) fn union_order(
        keys: &[OrderKey],
        first: &[ColumnInfo],
        last: &[ColumnInfo],
    ) -> Bind<Vec<SortKey>> {
        keys.iter()
            .map(|key| {
                let name = match &key.expr {
                    Expr::Column(column) if column.qualifier.is_none() => &column.name.text,
                    _ => return Err(unresolved(&key.expr)),
                };
                let position =
                    |columns: &[ColumnInfo]| columns.iter().rposition(|column| column.answers_to(name));
                let column = position(first)
                    .or_else(|| position(last))
                    .ok_or_else(|| unresolved(&key.expr))?;
                let kind = first.get(column).map_or(Type::Text, |info| info.kind.clone());
                sort_key(column, &kind, key)
            })
            .collect()
    }
}

/// A key over a known column.
pub(super) fn sort_key(column: usize, kind: &Type, key: &OrderKey) -> Bind<SortKey> {
    let mode = kind.mode().ok_or_else(|| {
        let name = render::expr(&key.expr);
        EngineError::argument(say!(
            "{name} has no order to sort by",
            "{name} は並べ替えに使えません"
        ))
        .at(key.expr.span())
    })?;
    Ok(SortKey {
        column,
        mode,
        descending: key.descending,
    })
}

fn unresolved(expr: &Expr) -> EngineError {
    let name = render::expr(expr);
    EngineError::coded(
        KEY_UNRESOLVED,
        say!(
            "ORDER BY {name}: there is no such column or alias",
            "ORDER BY {name}: この列または別名はありません"
        ),
    )
    .at(expr.span())
}
