//! Binding of conditions: the left side decides the mode; what only kintone can decide is set apart (LNG-48..62).

use std::sync::Arc;

use crate::flow::apps::FieldType;
use crate::flow::calendar::{
    datetime_comparand, is_canonical_date, is_canonical_datetime, is_canonical_time, to_datetime,
};
use crate::flow::exec::EngineError;
use crate::flow::sql::ast::{Comparison, Condition, Expr, InList, Name, ServerFunction};
use crate::flow::sql::diagnostic::code::{FUNCTION_NOT_PUSHED, KEYWORD_NOT_PUSHED, RELATIVE_NOT_PUSHED};
use crate::flow::sql::message::say;
use crate::flow::sql::position::Span;
use crate::flow::sql::render;
use crate::flow::value::CompareMode;

use super::{Bind, Binder, Env, record_number};
use crate::flow::plan::catalog::Variable;
use crate::flow::plan::filter::{Filter, List, Membership, Pattern, ServerOperator, ServerTest, ValueSet};
use crate::flow::plan::push;
use crate::flow::plan::query::Wanted;
use crate::flow::plan::scalar::{ColumnId, Scalar, UNKNOWN};
use crate::flow::plan::scope::Origin;
use crate::flow::plan::types::Type;

/// An operator that the type of the field does not have (LNG-52).
pub const OPERATOR_INVALID: &str = "WHERE_OPERATOR_INVALID_FOR_FIELD_TYPE";
/// A function of kintone on a field whose type it does not have (LNG-62).
pub const FUNCTION_WRONG_TYPE: &str = "WHERE_KINTONE_FUNCTION_FIELD_TYPE_UNSUPPORTED";
/// A relative date on a field whose type it does not have (LNG-62).
pub const RELATIVE_WRONG_TYPE: &str = "WHERE_RELATIVE_DATE_FIELD_TYPE_UNSUPPORTED";

impl Binder<'_> {
    /// Binds a condition.
    pub(super) fn condition(&mut self, env: &mut Env<'_>, condition: &Condition) -> Bind<Filter> {
        match condition {
            Condition::And(parts) => self.conditions(env, parts).map(Filter::All),
            Condition::Or(parts) => self.conditions(env, parts).map(Filter::Any),
            Condition::Not(inner, _) => self.condition(env, inner).map(Filter::negated),
            Condition::Compare(left, operator, right, span) => {
                self.compare(env, left, *operator, right, *span)
            }
            Condition::Between(left, low, high, span) => Ok(Filter::All(vec![
                self.compare(env, left, Comparison::GreaterOrEqual, low, *span)?,
                self.compare(env, left, Comparison::LessOrEqual, high, *span)?,
            ])),
            Condition::In {
                left,
                negated,
                list,
                span,
            } => self.one_of(env, left, *negated, list, *span),
            Condition::Like {
                left,
                negated,
                pattern,
                ..
            } => {
                let (left, _) = self.value(env, left)?;
                let (pattern, _) = self.value(env, pattern)?;
                let pattern = match pattern.constant() {
                    Some(text) => Pattern::constant(text),
                    None => Pattern::Computed(pattern),
                };
                Ok(Filter::Like {
                    left,
                    pattern,
                    negated: *negated,
                })
            }
            Condition::Keyword {
                left,
                negated,
                pattern,
                span,
            } => self.keyword(env, left, *negated, pattern, *span),
            Condition::IsNull { left, negated, .. } => {
                let (left, _) = self.value(env, left)?;
                Ok(Filter::Empty {
                    left,
                    negated: *negated,
                })
            }
            Condition::Exists(query, _) => {
                let (parameter, _) = self.parameter(query, Wanted::Existence)?;
                Ok(Filter::Exists {
                    parameter,
                    negated: false,
                })
            }
        }
    }

    fn conditions(&mut self, env: &mut Env<'_>, parts: &[Condition]) -> Bind<Vec<Filter>> {
        parts.iter().map(|part| self.condition(env, part)).collect()
    }

    fn compare(
        &mut self,
        env: &mut Env<'_>,
        left: &Expr,
        operator: Comparison,
        right: &Expr,
        span: Span,
    ) -> Bind<Filter> {
        if let Expr::Server(function) = right {
            return self.server_compare(env, left, operator, &render::server(function), function);
        }
        if let Expr::Variable(name) = right
            && let Some(Variable::Relative(text)) = self.catalog.variable(&name.text)
        {
            let function = ServerFunction {
                name: text.split('(').next().unwrap_or_default().to_owned(),
                arguments: Vec::new(),
                span: name.span,
            };
            return self.server_compare(env, left, operator, &text, &function);
        }
        let (bound_left, kind) = self.value(env, left)?;
        if !kind.is_comparable() {
            return Err(invalid_operator(left, operator.symbol(), &kind, span));
        }
        let (bound_right, right_kind) = self.value(env, right)?;
        self.warn_of_spelling(&kind, operator, left, right);
        let (operator, right) = match self.whole_seconds(&kind, operator, &bound_right) {
            Some(exact) => exact,
            None => (operator, self.comparand(&kind, bound_right)),
        };
        // The most frequent value compares as text after grouping (LNG-111).
        let mode = match left {
            Expr::Aggregate(call) if call.name == "MODE" => CompareMode::Text,
            _ => kind
                .mode()
                .ok_or_else(|| invalid_operator(left, operator.symbol(), &kind, span))?,
        };
        if mode == CompareMode::RecordNumber {
            let numeric = right_kind.is_numeric();
            return Ok(record_number::compare(
                bound_left, &kind, operator, right, numeric,
            ));
        }
        Ok(Filter::Compare {
            left: bound_left,
            operator,
            right,
            mode,
        })
    }

    /// Days and times are compared as texts (LNG-42): a literal in another form than the cells meets none of them. The
    /// beginning of the form is fine where order is asked for.
    fn warn_of_spelling(&mut self, kind: &Type, operator: Comparison, left: &Expr, right: &Expr) {
        let Expr::Text(literal, span) = right else { return };
        let (fits, form) = match kind.field() {
            Some(FieldType::Date) => (is_canonical_date(literal), "2026-01-31"),
            Some(FieldType::Time) => (is_canonical_time(literal), "09:30"),
            _ => return,
        };
        let equality = matches!(operator, Comparison::Equal | Comparison::NotEqual);
        let begins = literal.len() < form.len()
            && literal.chars().zip(form.chars()).all(|(c, like)| {
                if like.is_ascii_digit() {
                    c.is_ascii_digit()
                } else {
                    c == like
                }
            });
        if fits || literal.is_empty() || (begins && !equality) {
            return;
        }
        let (field, kind) = (render::expr(left), kind.field().map_or("", FieldType::described));
        let warning = say!(
            "{field} is {kind}, and '{literal}' is not in the form of its values; write it like '{form}'",
            "{field} は {kind} ですが、'{literal}' は値の形式ではありません。'{form}' の形で書いてください"
        );
        self.catalog.warn(*span, warning);
    }

    /// The right side as the left side's cells spell it: days and local times become instants (LNG-55).
    fn comparand(&self, kind: &Type, right: Scalar) -> Scalar {
        match right {
            Scalar::Text(text) if kind.is_instant() => {
                Scalar::Text(datetime_comparand(&text, self.catalog.as_of().zone()).into_owned())
            }
            other => other,
        }
    }

    /// An instant with a fraction of a second, such as `@NOW()`, against cells that have whole seconds: the comparison
    /// with the second it lies in that says the same.
    fn whole_seconds(
        &self,
        kind: &Type,
        operator: Comparison,
        right: &Scalar,
    ) -> Option<(Comparison, Scalar)> {
        let text = right.constant().filter(|_| kind.is_instant())?;
        let zone = self.catalog.as_of().zone();
        if is_canonical_datetime(&datetime_comparand(text, zone)) {
            return None;
        }
        let second = to_datetime(text, zone).ok().filter(|second| !second.is_empty())?;
        let operator = match operator {
            Comparison::Less | Comparison::LessOrEqual => Comparison::LessOrEqual,
            Comparison::Greater | Comparison::GreaterOrEqual => Comparison::Greater,
            // No cell has a fraction: the text as it is equals none.
            Comparison::Equal | Comparison::NotEqual => return None,
        };
        Some((operator, Scalar::Text(second)))
    }

    fn one_of(
        &mut self,
        env: &mut Env<'_>,
        left: &Expr,
        negated: bool,
        list: &InList,
        span: Span,
    ) -> Bind<Filter> {
        if let InList::Values(values) = list
            && let Some(Expr::Server(function)) = values.iter().find(|value| matches!(value, Expr::Server(_)))
        {
            return self.server_in(env, left, negated, values.len(), function);
        }
        let (bound_left, kind) = self.value(env, left)?;
        if matches!(kind.field(), Some(FieldType::File | FieldType::Subtable)) {
            return Err(invalid_operator(left, "IN", &kind, span));
        }
        let how = if kind.is_multi_value() {
            Membership::Overlap
        } else {
            match kind.mode() {
                Some(CompareMode::Number | CompareMode::RecordNumber) => Membership::Number,
                _ => Membership::Text,
            }
        };
        let list = match list {
            InList::Query(query) => List::Parameter(self.parameter(query, Wanted::List)?.0),
            InList::Variable(name) => List::Set(Arc::new(ValueSet::new(self.list_variable(name)?, how))),
            InList::Values(values) => {
                let mut elements = Vec::new();
                for value in values {
                    let (element, _) = self.value(env, value)?;
                    self.warn_of_spelling(&kind, Comparison::Equal, left, value);
                    elements.push(self.comparand(&kind, element));
                }
                match elements
                    .iter()
                    .map(|element| element.constant().map(str::to_owned))
                    .collect::<Option<Vec<_>>>()
                {
                    Some(texts) => List::Set(Arc::new(ValueSet::new(texts, how))),
                    None => List::Values(elements),
                }
            }
        };
        Ok(Filter::OneOf {
            left: bound_left,
            list,
            how,
            negated,
        })
    }

    fn list_variable(&self, name: &Name) -> Bind<Vec<String>> {
        if let Some(Variable::List(elements)) = self.catalog.variable(&name.text) {
            return Ok(elements);
        }
        let text = &name.text;
        Err(EngineError::argument(say!("@{text} is no array", "@{text} は配列ではありません")).at(name.span))
    }

    // --- what only kintone decides ---------------------------------------------------------------------------------

    fn server_compare(
        &mut self,
        env: &mut Env<'_>,
        left: &Expr,
        operator: Comparison,
        right: &str,
        function: &ServerFunction,
    ) -> Bind<Filter> {
        let (reason, wrong_type) = match function.name.as_str() {
            "TODAY" | "NOW" | "LOGINUSER" | "PRIMARY_ORGANIZATION" => {
                (FUNCTION_NOT_PUSHED, FUNCTION_WRONG_TYPE)
            }
            _ => (RELATIVE_NOT_PUSHED, RELATIVE_WRONG_TYPE),
        };
        let (column, kind) = self.server_column(env, left, reason)?;
        let fits = match kind.field() {
            Some(FieldType::Date) => function.name != "NOW",
            Some(FieldType::DateTime | FieldType::CreatedTime | FieldType::UpdatedTime) => true,
            _ => false,
        };
        if !fits || matches!(function.name.as_str(), "LOGINUSER" | "PRIMARY_ORGANIZATION") {
            return Err(invalid(wrong_type, left, right, &kind, function.span));
        }
        let operator = ServerOperator::Compare(operator);
        Ok(Filter::Server(ServerTest {
            column,
            operator,
            negated: false,
            right: right.to_owned(),
            reason,
            span: left.span().to(function.span),
        }))
    }

    fn server_in(
        &mut self,
        env: &mut Env<'_>,
        left: &Expr,
        negated: bool,
        elements: usize,
        function: &ServerFunction,
    ) -> Bind<Filter> {
        let (column, kind) = self.server_column(env, left, FUNCTION_NOT_PUSHED)?;
        let fits = match function.name.as_str() {
            "LOGINUSER" => {
                matches!(
                    kind.field(),
                    Some(FieldType::Creator | FieldType::Modifier | FieldType::UserSelect)
                )
            }
            "PRIMARY_ORGANIZATION" => kind.field() == Some(FieldType::OrganizationSelect),
            _ => false,
        };
        if !fits || elements != 1 {
            return Err(invalid(
                FUNCTION_WRONG_TYPE,
                left,
                &format!("IN ({})", render::server(function)),
                &kind,
                function.span,
            ));
        }
        let right = format!("({})", render::server(function));
        Ok(Filter::Server(ServerTest {
            column,
            operator: ServerOperator::In,
            negated,
            right,
            reason: FUNCTION_NOT_PUSHED,
            span: left.span().to(function.span),
        }))
    }

    fn keyword(
        &mut self,
        env: &mut Env<'_>,
        left: &Expr,
        negated: bool,
        pattern: &Expr,
        span: Span,
    ) -> Bind<Filter> {
        let (column, kind) = self.server_column(env, left, KEYWORD_NOT_PUSHED)?;
        let searchable = matches!(
            kind.field(),
            Some(
                FieldType::SingleLineText
                    | FieldType::MultiLineText
                    | FieldType::RichText
                    | FieldType::Link
                    | FieldType::File
            )
        );
        if !searchable {
            return Err(invalid_operator(left, "KLIKE", &kind, span));
        }
        let literal = matches!(pattern, Expr::Text(..) | Expr::Variable(_));
        let (pattern, _) = self.value(env, pattern)?;
        let right = match pattern {
            Scalar::Text(text) if literal && !text.is_empty() && !text.contains('%') => {
                Some(push::quoted(&text))
            }
            Scalar::Parameter(UNKNOWN) if literal => Some(push::LATER.to_owned()),
            _ => None,
        };
        match right {
            Some(right) => {
                let operator = ServerOperator::Like;
                Ok(Filter::Server(ServerTest {
                    column,
                    operator,
                    negated,
                    right,
                    reason: KEYWORD_NOT_PUSHED,
                    span,
                }))
            }
            None => Err(EngineError::argument(say!(
                "KLIKE takes a word to search for: a text literal or variable without %",
                "KLIKE には % を含まない検索語 (文字列リテラルまたは変数) を指定します"
            ))
            .at(span)),
        }
    }

    /// The field of an app that a server-side test is about.
    fn server_column(
        &mut self,
        env: &mut Env<'_>,
        left: &Expr,
        reason: &'static str,
    ) -> Bind<(ColumnId, Type)> {
        if let (Scalar::Column(id), kind) = self.value(env, left)?
            && env.scope().is_some_and(|scope| {
                scope
                    .sources
                    .get(id.source)
                    .is_some_and(|source| matches!(source.origin, Origin::App(_)))
            })
        {
            return Ok((id, kind));
        }
        Err(not_pushable(reason).at(left.span()))
    }
}

/// The error for a server-side test that the whole condition keeps from being sent to kintone.
pub fn not_sent(test: &ServerTest) -> EngineError {
    not_pushable(test.reason).at(test.span)
}

fn not_pushable(reason: &'static str) -> EngineError {
    EngineError::coded(
        reason,
        say!(
            "only kintone can decide this condition, but it cannot be sent as it is; join it to the rest with AND, on a field of one app",
            "この条件は kintone でしか評価できませんが、そのまま送ることができません。1 つのアプリのフィールドについて、ほかの条件と AND でつないでください"
        ),
    )
}

fn invalid_operator(left: &Expr, operator: &str, kind: &Type, span: Span) -> EngineError {
    invalid(OPERATOR_INVALID, left, operator, kind, span)
}

fn invalid(code: &'static str, left: &Expr, operator: &str, kind: &Type, span: Span) -> EngineError {
    let name = render::expr(left);
    let kind = kind.field().map_or("value", FieldType::described);
    EngineError::coded(
        code,
        say!(
            "{name} ({kind}) cannot be tested with {operator}",
            "{name} ({kind}) に {operator} は使えません"
        ),
    )
    .at(span)
}
