//! Visiting the parts of a tree: one place that knows where values, conditions and queries nest.

use super::ast::{Condition, Expr, Grouping, InList, Item, Name, OrderKey, Query, Select, Window};

/// Something met on the way.
#[derive(Clone, Copy, Debug)]
pub enum Part<'a> {
    /// A value; its own parts follow.
    Value(&'a Expr),
    /// A query inside a value or condition; its parts do not follow.
    Query(&'a Query),
    /// `IN @name`
    ListVariable(&'a Name),
}

/// Visits a value and everything in it, outermost first. Queries are reported, not entered.
pub fn value<'a>(expr: &'a Expr, visit: &mut dyn FnMut(Part<'a>)) {
    visit(Part::Value(expr));
    match expr {
        Expr::Text(..)
        | Expr::Number(..)
        | Expr::Array(..)
        | Expr::Column(_)
        | Expr::Variable(_)
        | Expr::AsOf(..)
        | Expr::Server(_)
        | Expr::Grouping(..) => {}
        Expr::Call(_, arguments, _) | Expr::Concat(arguments, _) => {
            for argument in arguments {
                value(argument, visit);
            }
        }
        Expr::Aggregate(call) => {
            if let Some(argument) = &call.argument {
                value(argument, visit);
            }
        }
        Expr::Case(case, _) => {
            for (test, result) in &case.branches {
                condition(test, visit);
                value(result, visit);
            }
            if let Some(otherwise) = &case.otherwise {
                value(otherwise, visit);
            }
        }
        Expr::Negate(inner, _) => value(inner, visit),
        Expr::Chain(first, rest, _) => {
            value(first, visit);
            for (_, operand) in rest {
                value(operand, visit);
            }
        }
        Expr::Subquery(query, _) => visit(Part::Query(query)),
    }
}

/// Visits the values and queries of a condition.
pub fn condition<'a>(test: &'a Condition, visit: &mut dyn FnMut(Part<'a>)) {
    match test {
        Condition::And(parts) | Condition::Or(parts) => {
            for part in parts {
                condition(part, visit);
            }
        }
        Condition::Not(inner, _) => condition(inner, visit),
        Condition::Compare(left, _, right, _) => {
            value(left, visit);
            value(right, visit);
        }
        Condition::Between(left, low, high, _) => {
            value(left, visit);
            value(low, visit);
            value(high, visit);
        }
        Condition::In { left, list, .. } => {
            value(left, visit);
            match list {
                InList::Values(values) => {
                    for element in values {
                        value(element, visit);
                    }
                }
                InList::Query(query) => visit(Part::Query(query)),
                InList::Variable(name) => visit(Part::ListVariable(name)),
            }
        }
        Condition::Like { left, pattern, .. } | Condition::Keyword { left, pattern, .. } => {
            value(left, visit);
            value(pattern, visit);
        }
        Condition::IsNull { left, .. } => value(left, visit),
        Condition::Exists(query, _) => visit(Part::Query(query)),
    }
}

/// Visits everything of a window.
pub fn window<'a>(window: &'a Window, visit: &mut dyn FnMut(Part<'a>)) {
    for expr in window.argument.iter().chain(&window.partition) {
        value(expr, visit);
    }
    order(&window.order, visit);
}

fn order<'a>(keys: &'a [OrderKey], visit: &mut dyn FnMut(Part<'a>)) {
    for key in keys {
        value(&key.expr, visit);
    }
}

/// Visits everything of one SELECT: its items, conditions and keys.
pub fn select<'a>(select: &'a Select, visit: &mut dyn FnMut(Part<'a>)) {
    for item in &select.items {
        match item {
            Item::Wildcard(_) | Item::QualifiedWildcard(_) => {}
            Item::Expr(expr, _) => value(expr, visit),
            Item::Window(function, _) => window(function, visit),
        }
    }
    if let Some(filter) = &select.filter {
        condition(filter, visit);
    }
    if let Some(Grouping::Keys(keys)) = &select.grouping {
        for key in keys {
            value(key, visit);
        }
    }
    if let Some(having) = &select.having {
        condition(having, visit);
    }
    order(&select.order, visit);
}

/// The SELECTs of a query's body, in order.
pub fn selects(query: &Query) -> impl Iterator<Item = &Select> {
    std::iter::once(&query.first).chain(query.unions.iter().map(|(_, select)| select))
}

/// True if some value in `expr` satisfies `test`; queries are not entered.
pub fn any_value(expr: &Expr, test: impl Fn(&Expr) -> bool) -> bool {
    let mut found = false;
    value(expr, &mut |part| {
        if let Part::Value(inner) = part {
            found |= test(inner);
        }
    });
    found
}

/// True if an aggregate stands in `expr`.
pub fn has_aggregate(expr: &Expr) -> bool {
    any_value(expr, |inner| matches!(inner, Expr::Aggregate(_)))
}
