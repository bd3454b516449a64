//! Binding of value expressions, with their types (LNG-45, LNG-70).

use crate::flow::aggregate::{Kind, Spec};
use crate::flow::exec::EngineError;
use crate::flow::function::{self, CastType};
use crate::flow::sql::ast::{AggregateCall, AsOfFunction, ColumnRef, Expr};
use crate::flow::sql::message::say;
use crate::flow::sql::render;
use crate::flow::value::{CompareMode, parse_number, print_number};

use super::{Bind, Binder};
use crate::flow::plan::catalog::Variable;
use crate::flow::plan::query::{BoundAggregate, Wanted};
use crate::flow::plan::scalar::{Scalar, UNKNOWN};
use crate::flow::plan::scope::{Found, Scope, unknown_column};
use crate::flow::plan::types::{ColumnInfo, Type};

/// A SELECT item that later clauses may name.
#[derive(Clone, Debug)]
pub struct Alias {
    /// Name.
    pub info: ColumnInfo,
    /// What it stands for; `None` for a window function.
    pub value: Option<Scalar>,
}

/// Aggregates met while binding a SELECT.
#[derive(Debug, Default)]
pub struct Aggregates {
    /// Functions with arguments.
    pub list: Vec<BoundAggregate>,
}

/// Where names are looked up.
pub struct Env<'s> {
    scope: Option<&'s Scope>,
    /// Names that win over columns.
    aliases: &'s [Alias],
    /// Where aggregates are collected; none may stand elsewhere.
    aggregates: Option<&'s mut Aggregates>,
    /// Keys of grouping sets, for GROUPING.
    keys: &'s [Scalar],
}

impl<'s> Env<'s> {
    /// No row at all.
    pub fn constant() -> Self {
        Self {
            scope: None,
            aliases: &[],
            aggregates: None,
            keys: &[],
        }
    }

    /// Rows of a scope.
    pub fn rows(scope: &'s Scope) -> Self {
        Self {
            scope: Some(scope),
            ..Self::constant()
        }
    }

    /// Rows of a scope with aggregates over them.
    pub(super) fn groups(
        scope: &'s Scope,
        aliases: &'s [Alias],
        aggregates: &'s mut Aggregates,
        keys: &'s [Scalar],
    ) -> Self {
        Self {
            scope: Some(scope),
            aliases,
            aggregates: Some(aggregates),
            keys,
        }
    }

    /// The scope, if there are rows.
    pub(super) fn scope(&self) -> Option<&'s Scope> {
        self.scope
    }
}

impl Binder<'_> {
    /// Binds a value.
    pub fn value(&mut self, env: &mut Env<'_>, expr: &Expr) -> Bind<(Scalar, Type)> {
        match expr {
            Expr::Text(text, _) => Ok((Scalar::Text(text.clone()), Type::Text)),
            Expr::Number(text, _) => Ok((number_literal(text), Type::Number)),
            Expr::Array(elements, _) => Ok((Scalar::List(elements.clone()), Type::Text)),
            Expr::Column(column) => self.column(env, column),
            Expr::Variable(name) => match self.catalog.variable(&name.text) {
                Some(Variable::Text(text)) => Ok((Scalar::Text(text), Type::Text)),
                Some(Variable::Number(text)) => Ok((Scalar::number(text), Type::Number)),
                Some(Variable::Unknown { numeric }) => {
                    let kind = if numeric { Type::Number } else { Type::Text };
                    Ok((Scalar::Parameter(UNKNOWN), kind))
                }
                _ => {
                    let text = &name.text;
                    Err(EngineError::argument(say!(
                        "@{text} is no value here",
                        "@{text} はここでは値として使えません"
                    ))
                    .at(name.span))
                }
            },
            Expr::AsOf(function, _) => Ok((Scalar::Text(self.as_of(*function)), Type::Text)),
            Expr::Server(call) => {
                let name = &call.name;
                Err(EngineError::argument(say!(
                    "{name}() stands only right of a comparison in WHERE",
                    "{name}() は WHERE の比較の右辺にのみ書けます"
                ))
                .at(call.span))
            }
            Expr::Call(name, arguments, span) => {
                let Some(found) = function::lookup(name) else {
                    return Err(EngineError::argument(say!(
                        "there is no function {name}",
                        "{name} という関数はありません"
                    ))
                    .at(*span));
                };
                let mut values = Vec::with_capacity(arguments.len());
                let mut numeric = Vec::with_capacity(arguments.len());
                for argument in arguments {
                    let (value, kind) = self.value(env, argument)?;
                    numeric.push(kind.is_numeric());
                    values.push(value);
                }
                let cast = values.last().and_then(Scalar::constant).and_then(CastType::parse);
                let kind = if found.is_numeric(&numeric, cast) {
                    Type::Number
                } else {
                    Type::Text
                };
                Ok((Scalar::Call(found, values), kind))
            }
            Expr::Aggregate(call) => self.aggregate(env, call),
            Expr::Grouping(column, span) => {
                let (value, _) = self.column(env, column)?;
                if let Some(index) = env.keys.iter().position(|key| *key == value) {
                    return Ok((Scalar::Grouping(index), Type::Number));
                }
                let name = render::column(column);
                Err(EngineError::argument(say!(
                    "{name} is no key of the grouping sets",
                    "{name} はグループ化の項目ではありません"
                ))
                .at(*span))
            }
            Expr::Case(case, _) => {
                let mut branches = Vec::new();
                let mut kinds = Vec::new();
                for (test, result) in &case.branches {
                    let test = self.condition(env, test)?;
                    let (result, kind) = self.value(env, result)?;
                    branches.push((test, result));
                    kinds.push(kind);
                }
                let mut otherwise = None;
                if let Some(result) = &case.otherwise {
                    let (result, kind) = self.value(env, result)?;
                    otherwise = Some(Box::new(result));
                    kinds.push(kind);
                }
                Ok((Scalar::Case(branches, otherwise), Type::common(&kinds)))
            }
            Expr::Negate(inner, _) => {
                let inner = self.operand(env, inner)?;
                Ok((Scalar::Negate(Box::new(inner)), Type::Number))
            }
            Expr::Chain(first, rest, _) => {
                let first = Box::new(self.operand(env, first)?);
                let rest = rest
                    .iter()
                    .map(|(operator, operand)| Ok((*operator, self.operand(env, operand)?)))
                    .collect::<Bind<_>>()?;
                Ok((
                    Scalar::Chain {
                        first,
                        rest,
                        strict: self.strict_division,
                    },
                    Type::Number,
                ))
            }
            Expr::Concat(parts, _) => {
                let parts = parts
                    .iter()
                    .map(|part| self.value(env, part).map(|(value, _)| value))
                    .collect::<Bind<_>>()?;
                Ok((Scalar::Concat(parts), Type::Text))
            }
            Expr::Subquery(query, _) => {
                let (index, kind) = self.parameter(query, Wanted::Scalar)?;
                Ok((Scalar::Parameter(index), kind))
            }
        }
    }

    /// An operand of arithmetic: a text variable is refused by name (LNG-14).
    fn operand(&mut self, env: &mut Env<'_>, expr: &Expr) -> Bind<Scalar> {
        if let Expr::Variable(name) = expr
            && let Some(Variable::Text(_) | Variable::Unknown { numeric: false }) =
                self.catalog.variable(&name.text)
        {
            let text = &name.text;
            return Err(EngineError::argument(say!(
                "@{text} holds text and cannot be calculated with",
                "@{text} は文字列なので計算に使えません"
            ))
            .at(name.span));
        }
        self.value(env, expr).map(|(value, _)| value)
    }

    fn as_of(&self, function: AsOfFunction) -> String {
        let as_of = self.catalog.as_of();
        match function {
            AsOfFunction::Now => as_of.now(),
            AsOfFunction::Today => as_of.today(),
            AsOfFunction::MonthStart => as_of.month_start(),
            AsOfFunction::NextMonthStart => as_of.next_month_start(),
        }
    }

    fn column(&mut self, env: &Env<'_>, column: &ColumnRef) -> Bind<(Scalar, Type)> {
        if column.qualifier.is_none()
            && let Some(alias) = env
                .aliases
                .iter()
                .rev()
                .find(|alias| alias.info.answers_to(&column.name.text))
        {
            let name = &column.name.text;
            return alias
                .value
                .clone()
                .map(|value| (value, alias.info.kind.clone()))
                .ok_or_else(|| {
                    EngineError::argument(say!(
                        "the window function {name} cannot be used here",
                        "ウィンドウ関数 {name} はここでは使えません"
                    ))
                    .at(column.span())
                });
        }
        let Some(scope) = env.scope else {
            return Err(unknown_column(column));
        };
        match scope.find(column)? {
            Some(Found::Column(id)) => Ok((Scalar::Column(id), scope.kind(id))),
            Some(Found::Child) => {
                let name = render::column(column);
                let warning = say!(
                    "{name} is a field of a table: seen from the app it is empty; read APP$table instead",
                    "{name} はテーブル内のフィールドです。アプリからは空になります。APP$テーブル を参照してください"
                );
                self.catalog.warn(column.span(), warning);
                Ok((Scalar::Text(String::new()), Type::Text))
            }
            None => Err(unknown_column(column)),
        }
    }

    fn aggregate(&mut self, env: &mut Env<'_>, call: &AggregateCall) -> Bind<(Scalar, Type)> {
        let name = &call.name;
        let misplaced = || {
            EngineError::argument(say!("{name} cannot stand here", "{name} はここでは使えません"))
                .at(call.span)
        };
        let Some(kind) = Kind::parse(name) else {
            return Err(misplaced());
        };
        if env.aggregates.is_none() {
            return Err(misplaced());
        }
        let (argument, argument_kind) = match &call.argument {
            None => (None, Type::Number),
            Some(argument) => {
                let scope = env.scope.ok_or_else(misplaced)?;
                let (argument, kind) = self.value(&mut Env::rows(scope), argument)?;
                (Some(argument), kind)
            }
        };
        let bound = bound_aggregate(kind, argument, &argument_kind, call)?;
        let result = aggregate_type(kind, &argument_kind);
        let Some(aggregates) = &mut env.aggregates else {
            return Err(misplaced());
        };
        let same = |known: &BoundAggregate| {
            known.argument == bound.argument
                && known.spec.kind == bound.spec.kind
                && known.spec.distinct == bound.spec.distinct
                && known.spec.separator == bound.spec.separator
        };
        let known = aggregates.list.iter().position(same);
        let index = known.unwrap_or(aggregates.list.len());
        if known.is_none() {
            aggregates.list.push(bound);
        }
        Ok((Scalar::Aggregate(index), result))
    }
}

/// The function with its argument, checked for an order where it needs one.
pub(super) fn bound_aggregate(
    kind: Kind,
    argument: Option<Scalar>,
    argument_kind: &Type,
    call: &AggregateCall,
) -> Bind<BoundAggregate> {
    let kind = if argument.is_none() { Kind::CountRows } else { kind };
    let ordered = matches!(kind, Kind::Min | Kind::Max | Kind::Mode);
    let mode = match argument_kind.mode() {
        Some(mode) => mode,
        None if ordered => {
            let name = &call.name;
            return Err(EngineError::argument(say!(
                "{name} needs values that have an order",
                "{name} は順序のある値にのみ使えます"
            ))
            .at(call.span));
        }
        None => CompareMode::Text,
    };
    let mut spec = Spec::new(kind, mode);
    spec.distinct = call.distinct;
    if let Some(separator) = &call.separator {
        spec.separator = separator.as_str().into();
    }
    Ok(BoundAggregate { argument, spec })
}

/// The type of an aggregate's result: the argument's where the result is one of its values.
pub(super) fn aggregate_type(kind: Kind, argument: &Type) -> Type {
    match kind {
        Kind::Min | Kind::Max | Kind::Mode => argument.clone(),
        Kind::GroupConcat => Type::Text,
        _ => Type::Number,
    }
}

/// A number literal keeps its decimal text; exponent forms are shown in the shortest form (LNG-02).
fn number_literal(text: &str) -> Scalar {
    if text.contains(['e', 'E']) {
        return Scalar::number(print_number(parse_number(text)));
    }
    Scalar::number(text)
}
