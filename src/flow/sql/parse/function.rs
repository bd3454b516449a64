//! Calls: scalar functions, aggregates, GROUPING, CAST, and the functions that only kintone evaluates (LNG-62).

use super::{Parse, Parser};
use crate::flow::aggregate::Kind;
use crate::flow::function;
use crate::flow::sql::ast::{AggregateCall, Expr, ServerFunction};
use crate::flow::sql::diagnostic::Problem;
use crate::flow::sql::lex::TokenKind;
use crate::flow::sql::message::{Message, say};
use crate::flow::sql::position::Span;

/// Functions that exist only with OVER (LNG-120).
pub(super) const WINDOW_ONLY: [&str; 5] = ["ROW_NUMBER", "RANK", "DENSE_RANK", "LAG", "LEAD"];

/// What a server function takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Arguments {
    None,
    /// FROM_TODAY(n, unit)
    Distance,
    /// nothing or a weekday
    Weekday,
    /// nothing, 1..31 or LAST
    DayOfMonth,
}

/// Server functions (LNG-62).
const SERVER: [(&str, Arguments); 16] = [
    ("TODAY", Arguments::None),
    ("NOW", Arguments::None),
    ("LOGINUSER", Arguments::None),
    ("PRIMARY_ORGANIZATION", Arguments::None),
    ("YESTERDAY", Arguments::None),
    ("TOMORROW", Arguments::None),
    ("FROM_TODAY", Arguments::Distance),
    ("THIS_WEEK", Arguments::Weekday),
    ("LAST_WEEK", Arguments::Weekday),
    ("NEXT_WEEK", Arguments::Weekday),
    ("THIS_MONTH", Arguments::DayOfMonth),
    ("LAST_MONTH", Arguments::DayOfMonth),
    ("NEXT_MONTH", Arguments::DayOfMonth),
    ("THIS_YEAR", Arguments::None),
    ("LAST_YEAR", Arguments::None),
    ("NEXT_YEAR", Arguments::None),
];

const UNITS: [&str; 4] = ["DAYS", "WEEKS", "MONTHS", "YEARS"];
const WEEKDAYS: [&str; 7] = [
    "SUNDAY",
    "MONDAY",
    "TUESDAY",
    "WEDNESDAY",
    "THURSDAY",
    "FRIDAY",
    "SATURDAY",
];

/// Whether kintone has a function of this name, in upper case, which in WHERE nobody else evaluates (LNG-62).
pub fn is_server_function(name: &str) -> bool {
    SERVER.iter().any(|(server, _)| *server == name)
}

impl Parser<'_> {
    /// A call; the current token is its name, the next one `(`.
    pub(super) fn call(&mut self) -> Parse<Expr> {
        let token = self.token();
        let start = token.span;
        let name = self.word_at(0).unwrap_or_default().to_ascii_uppercase();
        match name.as_str() {
            "IF" => return self.if_function(),
            "GROUPING" => return self.grouping_function(),
            "CAST" => return self.cast(),
            "CONVERT" => return self.convert(),
            _ => {}
        }
        if let Some(kind) = Kind::parse(&name) {
            return self.aggregate(&name, kind).map(Expr::Aggregate);
        }
        if WINDOW_ONLY.contains(&name.as_str()) {
            return Err(Problem::syntax(
                start,
                say!(
                    "{name} stands only in the SELECT list, with OVER (...) AS alias",
                    "{name} は SELECT 項目に OVER (...) AS 別名 を付けてのみ使えます"
                ),
            ));
        }
        let Some(found) = function::lookup(&name) else {
            return Err(if is_server_function(&name) {
                Problem::syntax(
                    start,
                    say!(
                        "{name}() is evaluated by kintone and stands only right of a comparison in WHERE",
                        "{name}() は kintone が評価する関数で、WHERE の比較の右辺にのみ書けます"
                    ),
                )
            } else {
                Problem::syntax(
                    start,
                    say!("there is no function {name}", "{name} という関数はありません"),
                )
            });
        };
        self.advance();
        self.expect_symbol("(")?;
        let arguments = if self.at_symbol(")") {
            Vec::new()
        } else {
            self.list(Self::value)?
        };
        let span = start.to(self.expect_symbol(")")?);
        if found.check_count(arguments.len()).is_err() {
            let given = arguments.len();
            let takes = match (found.min_args, found.max_args) {
                (min, Some(max)) if min == max => min.to_string(),
                (min, Some(max)) => format!("{min}-{max}"),
                (min, None) => format!("{min}+"),
            };
            return Err(Problem::syntax(
                span,
                say!(
                    "ArgumentError: {name} takes {takes} arguments, not {given}",
                    "ArgumentError: {name} の引数は {takes} 個です ({given} 個あります)"
                ),
            ));
        }
        let literals: Vec<Option<&str>> = arguments.iter().map(literal).collect();
        if let Err(error) = found.check(&literals) {
            let reason = format!("ArgumentError: {error}");
            return Err(Problem::syntax(span, Message::verbatim(reason)));
        }
        Ok(Expr::Call(name, arguments, span))
    }

    /// `CAST(x AS T)`, kept as a call with the type name as text.
    fn cast(&mut self) -> Parse<Expr> {
        let start = self.advance().span;
        self.expect_symbol("(")?;
        let value = self.value()?;
        self.expect_word("AS")?;
        self.cast_type(start, value)
    }

    /// `CONVERT(x, T)`
    fn convert(&mut self) -> Parse<Expr> {
        let start = self.advance().span;
        self.expect_symbol("(")?;
        let value = self.value()?;
        self.expect_symbol(",")?;
        self.cast_type(start, value)
    }

    fn cast_type(&mut self, start: Span, value: Expr) -> Parse<Expr> {
        let span = self.span();
        let written = self
            .word_at(0)
            .filter(|word| function::CastType::parse(word).is_some());
        let Some(written) = written else {
            return Err(self.unexpected(&say!("a type (TEXT or NUMBER)", "型 (TEXT または NUMBER)")));
        };
        self.advance();
        let end = self.expect_symbol(")")?;
        let target = Expr::Text(written.to_ascii_uppercase(), span);
        Ok(Expr::Call("CAST".to_owned(), vec![value, target], start.to(end)))
    }

    fn grouping_function(&mut self) -> Parse<Expr> {
        let start = self.advance().span;
        self.expect_symbol("(")?;
        let column = self.column()?;
        let end = self.expect_symbol(")")?;
        Ok(Expr::Grouping(column, start.to(end)))
    }

    /// An aggregate; its name was not taken yet.
    pub(super) fn aggregate(&mut self, name: &str, kind: Kind) -> Parse<AggregateCall> {
        let start = self.advance().span;
        self.expect_symbol("(")?;
        if self.at_symbol("*") {
            let star = self.advance().span;
            if kind != Kind::Count {
                return Err(Problem::syntax(
                    star,
                    say!("only COUNT takes *", "* を取れるのは COUNT だけです"),
                ));
            }
            let end = self.expect_symbol(")")?;
            let span = start.to(end);
            return Ok(AggregateCall {
                name: name.to_owned(),
                distinct: false,
                argument: None,
                separator: None,
                span,
            });
        }
        let distinct_span = self.span();
        let distinct = self.eat_word("DISTINCT");
        if distinct && !kind.takes_distinct() {
            return Err(Problem::syntax(
                distinct_span,
                say!("{name} takes no DISTINCT", "{name} に DISTINCT は使えません"),
            ));
        }
        let argument = Some(Box::new(self.value()?));
        let separator = if kind == Kind::GroupConcat && self.eat_word("SEPARATOR") {
            let TokenKind::Text(text) = &self.token().kind else {
                return Err(self.unexpected(&say!(
                    "a separator in single quotes",
                    "シングルクォートで囲んだ区切り文字"
                )));
            };
            self.advance();
            Some(text.clone())
        } else {
            None
        };
        let end = self.expect_symbol(")")?;
        Ok(AggregateCall {
            name: name.to_owned(),
            distinct,
            argument,
            separator,
            span: start.to(end),
        })
    }

    /// A server function, if one stands here.
    pub(super) fn server_function(&mut self) -> Parse<Option<ServerFunction>> {
        let name = self.word_at(0).unwrap_or_default().to_ascii_uppercase();
        let takes = SERVER
            .iter()
            .find(|(server, _)| *server == name)
            .map(|(_, takes)| *takes);
        let Some(takes) = takes.filter(|_| self.is_symbol(1, "(")) else {
            return Ok(None);
        };
        let start = self.advance().span;
        self.expect_symbol("(")?;
        let mut arguments = Vec::new();
        match takes {
            Arguments::Distance => {
                let sign = if self.eat_symbol("-") { "-" } else { "" };
                let number = match &self.token().kind {
                    TokenKind::Number(text) if text.bytes().all(|b| b.is_ascii_digit()) => text.clone(),
                    _ => return Err(self.unexpected(&say!("a whole number", "整数"))),
                };
                self.advance();
                arguments.push(format!("{sign}{number}"));
                self.expect_symbol(",")?;
                arguments.push(self.one_of(&UNITS)?);
            }
            Arguments::Weekday if !self.at_symbol(")") => arguments.push(self.one_of(&WEEKDAYS)?),
            Arguments::DayOfMonth if !self.at_symbol(")") => arguments.push(self.day_of_month()?),
            Arguments::None | Arguments::Weekday | Arguments::DayOfMonth => {}
        }
        let end = self.expect_symbol(")")?;
        Ok(Some(ServerFunction {
            name,
            arguments,
            span: start.to(end),
        }))
    }

    /// A function of the clock that was read as a value of the WHERE, as kintone's function of that name.
    pub(super) fn server_call(&self, value: &Expr) -> Option<ServerFunction> {
        match value {
            // Those that are values as well take no arguments.
            Expr::Call(name, _, span) if self.in_where && is_server_function(name) => Some(ServerFunction {
                name: name.clone(),
                arguments: Vec::new(),
                span: *span,
            }),
            _ => None,
        }
    }

    fn one_of(&mut self, words: &[&str]) -> Parse<String> {
        if let Some(word) = words.iter().find(|word| self.at_word(word)) {
            self.advance();
            return Ok((*word).to_owned());
        }
        let list = words.join(", ");
        Err(self.unexpected(&say!("one of {list}", "{list} のいずれか")))
    }

    fn day_of_month(&mut self) -> Parse<String> {
        if self.eat_word("LAST") {
            return Ok("LAST".to_owned());
        }
        match &self.token().kind {
            TokenKind::Number(text) if text.parse::<u8>().is_ok_and(|day| (1..=31).contains(&day)) => {
                self.advance();
                Ok(text.clone())
            }
            _ => Err(self.unexpected(&say!("a day 1 to 31 or LAST", "1〜31 または LAST"))),
        }
    }
}

/// The text of an argument that every row shares. Numbers with an exponent are printed before they become an argument.
fn literal(argument: &Expr) -> Option<&str> {
    match argument {
        Expr::Text(text, _) => Some(text),
        Expr::Number(text, _) if !text.contains(['e', 'E']) => Some(text),
        _ => None,
    }
}
