//! One SELECT as a whole: the clauses in their logical order (LNG-20).

use crate::flow::aggregate::Kind;
use crate::flow::apps::FieldType;
use crate::flow::exec::EngineError;
use crate::flow::sql::ast::{
    AggregateCall, ColumnRef, Expr, Item, Join, JoinKind, Name, OrderKey, Select, Window,
};
use crate::flow::sql::message::say;
use crate::flow::sql::render;
use crate::flow::value::CompareMode;

use super::group::{Lift, grouping};
use super::order::{RawKey, sort_key};
use super::value::{Aggregates, bound_aggregate};
use super::{Alias, Bind, Binder, Env};
use crate::flow::plan::filter::Filter;
use crate::flow::plan::query::{BoundJoin, BoundSelect, BoundWindow, Output, SortKey, WindowFunction};
use crate::flow::plan::scalar::{ColumnId, Scalar};
use crate::flow::plan::scope::{Found, Origin, Scope, unknown_column};
use crate::flow::plan::types::{ColumnInfo, Type};

/// A SELECT item with its raw value.
enum RawOutput {
    Value(Scalar),
    Window(Box<RawWindow>),
}

/// A window function before its columns in the working rows are known.
struct RawWindow {
    function: WindowFunction,
    argument: Option<Scalar>,
    partition: Vec<Scalar>,
    order: Vec<(Scalar, CompareMode, bool)>,
    frame: crate::flow::sql::ast::Frame,
}

/// Items bound so far.
#[derive(Default)]
struct Items {
    outputs: Vec<RawOutput>,
    columns: Vec<ColumnInfo>,
    /// Items with an alias, by position.
    aliases: Vec<(usize, Alias)>,
}

impl Binder<'_> {
    /// Binds one SELECT.
    pub(super) fn select(&mut self, select: &Select) -> Bind<BoundSelect> {
        let scope = self.scope(select)?;
        let joins = Self::joins(&scope, &select.joins)?;
        let filter = match &select.filter {
            Some(condition) => self.where_condition(&scope, condition)?,
            None => Filter::Constant(true),
        };
        let mut aggregates = Aggregates::default();
        // GROUPING needs the keys, keys may be aliases of items: grouping sets take fields only, so they come first.
        let (set_keys, sets) = match &select.grouping {
            Some(crate::flow::sql::ast::Grouping::Sets { .. }) => self.group_keys(&scope, select, &[])?,
            _ => (Vec::new(), None),
        };
        let mut items = Items::default();
        for item in &select.items {
            self.item(&scope, item, &mut aggregates, &set_keys, &mut items)?;
        }
        let aliases: Vec<Alias> = items.aliases.iter().map(|(_, alias)| alias.clone()).collect();
        let (keys, sets) = match sets {
            Some(sets) => (set_keys, Some(sets)),
            None => self.group_keys(&scope, select, &aliases)?,
        };
        let having = match &select.having {
            Some(condition) => self.condition(
                &mut Env::groups(&scope, &aliases, &mut aggregates, &keys),
                condition,
            )?,
            None => Filter::Constant(true),
        };
        let kintone_order = if select.kintone_order {
            Some(Self::kintone_order(&scope, &select.order)?)
        } else {
            None
        };
        let mut order = Vec::new();
        if kintone_order.is_none() {
            for key in &select.order {
                order.push((
                    self.order_key(&scope, key, &items.aliases, &mut aggregates, &keys)?,
                    key,
                ));
            }
        }
        let mut bound = BoundSelect {
            sources: scope.sources.clone(),
            joins,
            filter,
            grouping: None,
            having,
            outputs: Vec::new(),
            hidden: Vec::new(),
            windows: Vec::new(),
            distinct: select.distinct,
            order: Vec::new(),
            kintone_order,
            limit: select.limit,
            offset: select.offset,
            columns: items.columns,
        };
        let grouped = select.grouping.is_some() || !aggregates.list.is_empty();
        let lift = grouped.then(|| Lift::new(&scope, &keys, aggregates.list.len()));
        assemble(&mut bound, items.outputs, order, lift.as_ref()).map_err(|error| error.at(select.span))?;
        bound.grouping = grouping(keys, sets, aggregates, select.grouping.is_some());
        Ok(bound)
    }

    fn item(
        &mut self,
        scope: &Scope,
        item: &Item,
        aggregates: &mut Aggregates,
        set_keys: &[Scalar],
        items: &mut Items,
    ) -> Bind<()> {
        match item {
            Item::Wildcard(_) => {
                for (source, content) in scope.sources.iter().enumerate() {
                    let columns: Vec<usize> = content.wildcard().collect();
                    items.wildcard(scope, source, &columns);
                }
            }
            Item::QualifiedWildcard(qualifier) => {
                let (source, columns) = wildcard_columns(scope, qualifier)?;
                items.wildcard(scope, source, &columns);
            }
            Item::Expr(expr, alias) => {
                let (value, kind) = self.value(&mut Env::groups(scope, &[], aggregates, set_keys), expr)?;
                let info = match (alias, expr) {
                    (Some(alias), _) => ColumnInfo::alias(&alias.text, kind),
                    (None, Expr::Column(column)) => plain_column(scope, column, &value, kind),
                    (None, other) => ColumnInfo::exact(render::expr(other), kind),
                };
                if alias.is_some() {
                    let named = Alias {
                        info: info.clone(),
                        value: Some(value.clone()),
                    };
                    items.aliases.push((items.columns.len(), named));
                }
                items.columns.push(info);
                items.outputs.push(RawOutput::Value(value));
            }
            Item::Window(window, alias) => {
                let (raw, kind) = self.window(scope, window, aggregates, set_keys)?;
                let info = ColumnInfo::alias(&alias.text, kind);
                items.aliases.push((
                    items.columns.len(),
                    Alias {
                        info: info.clone(),
                        value: None,
                    },
                ));
                items.columns.push(info);
                items.outputs.push(RawOutput::Window(Box::new(raw)));
            }
        }
        Ok(())
    }

    fn window(
        &mut self,
        scope: &Scope,
        window: &Window,
        aggregates: &mut Aggregates,
        set_keys: &[Scalar],
    ) -> Bind<(RawWindow, Type)> {
        let mut argument = None;
        let mut argument_kind = Type::Number;
        if let Some(expr) = &window.argument {
            let (value, kind) = self.value(&mut Env::groups(scope, &[], aggregates, set_keys), expr)?;
            argument = Some(value);
            argument_kind = kind;
        }
        let mut partition = Vec::new();
        for expr in &window.partition {
            partition.push(
                self.value(&mut Env::groups(scope, &[], aggregates, set_keys), expr)?
                    .0,
            );
        }
        let mut order = Vec::new();
        for key in &window.order {
            let (value, kind) = self.value(&mut Env::groups(scope, &[], aggregates, set_keys), &key.expr)?;
            let SortKey { mode, descending, .. } = sort_key(0, &kind, key)?;
            order.push((value, mode, descending));
        }
        let (function, kind) = match window.function.as_str() {
            "ROW_NUMBER" => (WindowFunction::RowNumber, Type::Number),
            "RANK" => (WindowFunction::Rank, Type::Number),
            "DENSE_RANK" => (WindowFunction::DenseRank, Type::Number),
            "LAG" => (WindowFunction::Lag(window.offset), argument_kind),
            "LEAD" => (WindowFunction::Lead(window.offset), argument_kind),
            name => {
                let kind = Kind::parse(name).unwrap_or(Kind::Count);
                let call = AggregateCall {
                    name: name.to_owned(),
                    distinct: false,
                    argument: None,
                    separator: None,
                    span: window.span,
                };
                let spec = bound_aggregate(kind, argument.clone(), &argument_kind, &call)?.spec;
                (
                    WindowFunction::Aggregate(spec),
                    super::value::aggregate_type(kind, &argument_kind),
                )
            }
        };
        Ok((
            RawWindow {
                function,
                argument,
                partition,
                order,
                frame: window.frame,
            },
            kind,
        ))
    }

    fn joins(scope: &Scope, joins: &[Join]) -> Bind<Vec<BoundJoin>> {
        joins
            .iter()
            .enumerate()
            .map(|(i, join)| {
                let Some((left, right)) = &join.on else {
                    return Ok(BoundJoin {
                        kind: JoinKind::Cross,
                        on: None,
                        numeric: false,
                    });
                };
                let new = i + 1;
                // The condition may name the sources in either order, but only those joined so far.
                let visible = Scope {
                    sources: scope.sources.get(..=new).unwrap_or_default().to_vec(),
                };
                let (a, b) = (join_column(&visible, left)?, join_column(&visible, right)?);
                let (earlier, joined) = match (a.source == new, b.source == new) {
                    (false, true) => (a, b),
                    (true, false) => (b, a),
                    _ => {
                        return Err(EngineError::argument(say!(
                            "a join compares a column of the new table with one of the tables before it",
                            "結合条件には、結合する表の列とそれより前の表の列を 1 つずつ書きます"
                        ))
                        .at(left.span().to(right.span())));
                    }
                };
                let numeric = [earlier, joined].iter().all(|id| {
                    matches!(
                        scope.kind(*id).mode(),
                        Some(CompareMode::Number | CompareMode::RecordNumber)
                    )
                });
                Ok(BoundJoin {
                    kind: join.kind,
                    on: Some((earlier, joined)),
                    numeric,
                })
            })
            .collect()
    }

    /// KORDER BY as query text: fields of the one app, by their codes.
    fn kintone_order(scope: &Scope, keys: &[OrderKey]) -> Bind<String> {
        let mut parts = Vec::new();
        for key in keys {
            let column = match &key.expr {
                Expr::Column(column) => scope.find(column)?,
                _ => None,
            };
            let Some(Found::Column(id)) = column else {
                let name = render::expr(&key.expr);
                return Err(EngineError::coded(
                    super::order::KEY_UNRESOLVED,
                    say!(
                        "KORDER BY {name}: there is no such field",
                        "KORDER BY {name}: このフィールドはありません"
                    ),
                )
                .at(key.expr.span()));
            };
            let source = scope.column(id);
            let code = source.map_or("$id", |column| &column.info.name);
            let kind = source.and_then(|column| column.info.kind.field());
            if let Some(kind) = kind.filter(|kind| !kind.is_sortable()) {
                let kind = kind.name();
                return Err(EngineError::argument(say!(
                    "KORDER BY {code}: kintone does not sort by a field of type {kind}",
                    "KORDER BY {code}: kintone は {kind} フィールドでは並べ替えできません"
                ))
                .at(key.expr.span()));
            }
            parts.push(format!("{code} {}", if key.descending { "desc" } else { "asc" }));
        }
        Ok(parts.join(", "))
    }
}

impl Items {
    fn wildcard(&mut self, scope: &Scope, source: usize, columns: &[usize]) {
        for column in columns {
            let id = ColumnId {
                source,
                column: *column,
            };
            if let Some(found) = scope.column(id) {
                self.columns.push(found.info.clone());
                self.outputs.push(RawOutput::Value(Scalar::Column(id)));
            }
        }
    }
}

/// The columns of `alias.*` or `_p.*`.
fn wildcard_columns(scope: &Scope, qualifier: &Name) -> Bind<(usize, Vec<usize>)> {
    if qualifier.text == "_p" {
        let subtables: Vec<usize> = scope
            .sources
            .iter()
            .enumerate()
            .filter(|(_, source)| matches!(source.origin, Origin::Subtable(..)))
            .map(|(i, _)| i)
            .collect();
        if let [only] = subtables.as_slice()
            && let Some(source) = scope.sources.get(*only)
        {
            return Ok((*only, source.parents().collect()));
        }
    }
    let source = scope.source_called(qualifier)?;
    Ok((
        source,
        scope
            .sources
            .get(source)
            .map(|content| content.wildcard().collect())
            .unwrap_or_default(),
    ))
}

/// A plain column keeps its name and both spellings.
fn plain_column(scope: &Scope, reference: &ColumnRef, value: &Scalar, kind: Type) -> ColumnInfo {
    match value {
        Scalar::Column(id) => match scope.column(*id) {
            Some(column) => column.info.clone(),
            None => ColumnInfo::exact(&reference.name.text, kind),
        },
        _ => ColumnInfo::exact(&reference.name.text, kind),
    }
}

fn join_column(scope: &Scope, reference: &ColumnRef) -> Bind<ColumnId> {
    let Some(Found::Column(id)) = scope.find(reference)? else {
        return Err(unknown_column(reference));
    };
    let kind = scope.kind(id);
    if kind.is_multi_value() || kind.field() == Some(FieldType::Subtable) {
        let name = render::column(reference);
        return Err(EngineError::argument(say!(
            "{name} holds lists and cannot be a join key",
            "{name} は複数の値を持つため結合キーにできません"
        ))
        .at(reference.span()));
    }
    Ok(id)
}

/// Lays out the working rows: results first, then what windows and ORDER BY need; lifts everything to groups.
fn assemble(
    bound: &mut BoundSelect,
    outputs: Vec<RawOutput>,
    order: Vec<(RawKey, &OrderKey)>,
    lift: Option<&Lift<'_>>,
) -> Bind<()> {
    let lifted = |value: &Scalar| match lift {
        Some(lift) => lift.value(value),
        None => Ok(value.clone()),
    };
    let mut windows = Vec::new();
    for output in outputs {
        bound.outputs.push(match output {
            RawOutput::Value(value) => Output::Value(lifted(&value)?),
            RawOutput::Window(window) => {
                windows.push(*window);
                Output::Window(windows.len() - 1)
            }
        });
    }
    if let Some(lift) = lift {
        bound.having = lift.filter(&bound.having)?;
    }
    for window in windows {
        let argument = match &window.argument {
            Some(value) => Some(working_column(bound, lifted(value)?)),
            None => None,
        };
        let mut partition = Vec::new();
        for value in &window.partition {
            partition.push(working_column(bound, lifted(value)?));
        }
        let mut order = Vec::new();
        for (value, mode, descending) in window.order {
            order.push(SortKey {
                column: working_column(bound, lifted(&value)?),
                mode,
                descending,
            });
        }
        bound.windows.push(BoundWindow {
            function: window.function,
            argument,
            partition,
            order,
            frame: window.frame,
        });
    }
    for (raw, key) in order {
        let (column, kind) = match raw {
            RawKey::Output(output) => (
                output,
                bound
                    .columns
                    .get(output)
                    .map_or(Type::Text, |info| info.kind.clone()),
            ),
            RawKey::Value(value, kind) => (working_column(bound, lifted(&value)?), kind),
        };
        bound.order.push(sort_key(column, &kind, key)?);
    }
    Ok(())
}

/// The place of a value in the working rows; an equal one is not computed twice.
fn working_column(bound: &mut BoundSelect, value: Scalar) -> usize {
    let output = bound
        .outputs
        .iter()
        .position(|output| matches!(output, Output::Value(known) if *known == value));
    let hidden = || {
        bound
            .hidden
            .iter()
            .position(|known| *known == value)
            .map(|i| bound.outputs.len() + i)
    };
    if let Some(found) = output.or_else(hidden) {
        return found;
    }
    bound.hidden.push(value);
    bound.outputs.len() + bound.hidden.len() - 1
}
