//! The tree back to text in one spelling: names of result columns without alias (LNG-08), source text for messages, and the
//! test whether two expressions say the same.

use std::fmt::Write;

use super::ast::{Case, ColumnRef, Condition, Expr, InList, ServerFunction};

/// The text form of a value.
pub fn expr(value: &Expr) -> String {
    let mut out = String::new();
    write_expr(value, &mut out);
    out
}

/// Source text for a message: runs of spaces and line ends become one space, quoted text stays.
pub fn on_one_line(source: &str) -> String {
    let mut out = String::with_capacity(source.len());
    let mut quote = None;
    for character in source.trim().chars() {
        match quote {
            Some(open) => {
                if character == open {
                    quote = None;
                }
                out.push(character);
            }
            None if character.is_whitespace() => {
                if !out.ends_with(' ') {
                    out.push(' ');
                }
            }
            None => {
                if matches!(character, '\'' | '"' | '`') {
                    quote = Some(character);
                }
                out.push(character);
            }
        }
    }
    out
}

/// A column as written.
pub fn column(column: &ColumnRef) -> String {
    match &column.qualifier {
        Some(qualifier) => format!("{}.{}", qualifier.text, column.name.text),
        None => column.name.text.clone(),
    }
}

/// A server function as kintone takes it.
pub fn server(function: &ServerFunction) -> String {
    format!("{}({})", function.name, function.arguments.join(", "))
}

fn write_list<'a>(items: impl IntoIterator<Item = &'a Expr>, out: &mut String) {
    for (i, item) in items.into_iter().enumerate() {
        if i > 0 {
            out.push_str(", ");
        }
        write_expr(item, out);
    }
}

fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', "''"))
}

fn write_expr(value: &Expr, out: &mut String) {
    match value {
        Expr::Text(text, _) => out.push_str(&quoted(text)),
        Expr::Number(text, _) => out.push_str(text),
        Expr::Array(elements, _) => {
            let elements: Vec<String> = elements.iter().map(|element| quoted(element)).collect();
            let _ = write!(out, "[{}]", elements.join(", "));
        }
        Expr::Column(name) => out.push_str(&column(name)),
        Expr::Variable(name) => {
            let _ = write!(out, "@{}", name.text);
        }
        Expr::AsOf(function, _) => out.push_str(function.written()),
        Expr::Server(function) => out.push_str(&server(function)),
        Expr::Call(name, arguments, _) => {
            out.push_str(name);
            out.push('(');
            if let ("CAST", [argument, Expr::Text(target, _)]) = (name.as_str(), arguments.as_slice()) {
                write_expr(argument, out);
                let _ = write!(out, " AS {target}");
            } else {
                write_list(arguments, out);
            }
            out.push(')');
        }
        Expr::Aggregate(call) => {
            out.push_str(&call.name);
            out.push('(');
            if call.distinct {
                out.push_str("DISTINCT ");
            }
            match &call.argument {
                Some(argument) => write_expr(argument, out),
                None => out.push('*'),
            }
            if let Some(separator) = &call.separator {
                let _ = write!(out, " SEPARATOR {}", quoted(separator));
            }
            out.push(')');
        }
        Expr::Grouping(name, _) => {
            let _ = write!(out, "GROUPING({})", column(name));
        }
        Expr::Case(case, _) => write_case(case, out),
        Expr::Negate(inner, _) => {
            out.push('-');
            write_operand(inner, out);
        }
        Expr::Chain(first, rest, _) => {
            write_operand(first, out);
            for (operator, operand) in rest {
                let _ = write!(out, " {} ", operator.symbol());
                write_operand(operand, out);
            }
        }
        Expr::Concat(parts, _) => {
            for (i, part) in parts.iter().enumerate() {
                if i > 0 {
                    out.push_str(" || ");
                }
                write_expr(part, out);
            }
        }
        Expr::Subquery(..) => out.push_str("(subquery)"),
    }
}

/// An operand of arithmetic: nested arithmetic keeps its parentheses.
fn write_operand(value: &Expr, out: &mut String) {
    if matches!(value, Expr::Chain(..) | Expr::Concat(..)) {
        out.push('(');
        write_expr(value, out);
        out.push(')');
    } else {
        write_expr(value, out);
    }
}

fn write_case(case: &Case, out: &mut String) {
    out.push_str("CASE");
    for (test, result) in &case.branches {
        out.push_str(" WHEN ");
        write_condition(test, out);
        out.push_str(" THEN ");
        write_expr(result, out);
    }
    if let Some(otherwise) = &case.otherwise {
        out.push_str(" ELSE ");
        write_expr(otherwise, out);
    }
    out.push_str(" END");
}

fn write_condition(condition: &Condition, out: &mut String) {
    let negation = |negated: &bool| if *negated { " NOT" } else { "" };
    match condition {
        Condition::And(parts) | Condition::Or(parts) => {
            let word = if matches!(condition, Condition::And(_)) {
                " AND "
            } else {
                " OR "
            };
            for (i, part) in parts.iter().enumerate() {
                if i > 0 {
                    out.push_str(word);
                }
                let group = matches!(part, Condition::Or(_) | Condition::And(_));
                if group {
                    out.push('(');
                }
                write_condition(part, out);
                if group {
                    out.push(')');
                }
            }
        }
        Condition::Not(inner, _) => {
            out.push_str("NOT (");
            write_condition(inner, out);
            out.push(')');
        }
        Condition::Compare(left, operator, right, _) => {
            write_expr(left, out);
            let _ = write!(out, " {} ", operator.symbol());
            write_expr(right, out);
        }
        Condition::Between(left, low, high, _) => {
            write_expr(left, out);
            out.push_str(" BETWEEN ");
            write_expr(low, out);
            out.push_str(" AND ");
            write_expr(high, out);
        }
        Condition::In {
            left, negated, list, ..
        } => {
            write_expr(left, out);
            let _ = write!(out, "{} IN ", negation(negated));
            match list {
                InList::Values(values) => {
                    out.push('(');
                    write_list(values, out);
                    out.push(')');
                }
                InList::Query(_) => out.push_str("(subquery)"),
                InList::Variable(name) => {
                    let _ = write!(out, "@{}", name.text);
                }
            }
        }
        Condition::Like {
            left,
            negated,
            pattern,
            ..
        }
        | Condition::Keyword {
            left,
            negated,
            pattern,
            ..
        } => {
            write_expr(left, out);
            let word = if matches!(condition, Condition::Like { .. }) {
                "LIKE"
            } else {
                "KLIKE"
            };
            let _ = write!(out, "{} {word} ", negation(negated));
            write_expr(pattern, out);
        }
        Condition::IsNull { left, negated, .. } => {
            write_expr(left, out);
            let _ = write!(out, " IS{} NULL", negation(negated));
        }
        Condition::Exists(..) => out.push_str("EXISTS (subquery)"),
    }
}
