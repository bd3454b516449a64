//! Conditions: AND, OR, NOT and the predicates (LNG-47..52).

use super::{Parse, Parser};
use crate::flow::sql::ast::{Comparison, Condition, Expr, InList, Name};
use crate::flow::sql::diagnostic::Problem;
use crate::flow::sql::lex::TokenKind;
use crate::flow::sql::message::say;
use crate::flow::sql::position::Span;

impl Parser<'_> {
    /// A WHERE condition: kintone's functions may stand right of a comparison.
    pub(super) fn where_condition(&mut self) -> Parse<Condition> {
        self.condition_with(true)
    }

    /// A condition that is always evaluated here: CASE, IF, HAVING.
    pub(super) fn local_condition(&mut self) -> Parse<Condition> {
        self.condition_with(false)
    }

    fn condition_with(&mut self, in_where: bool) -> Parse<Condition> {
        let outer = std::mem::replace(&mut self.in_where, in_where);
        let result = self.condition();
        self.in_where = outer;
        result
    }

    fn condition(&mut self) -> Parse<Condition> {
        self.nested(|parser| {
            let mut parts = vec![parser.conjunction()?];
            while parser.eat_word("OR") {
                parts.push(parser.conjunction()?);
            }
            Ok(single_or(parts, Condition::Or))
        })
    }

    fn conjunction(&mut self) -> Parse<Condition> {
        let mut parts = vec![self.negation()?];
        while self.eat_word("AND") {
            parts.push(self.negation()?);
        }
        Ok(single_or(parts, Condition::And))
    }

    fn negation(&mut self) -> Parse<Condition> {
        if !self.at_word("NOT") {
            return self.predicate();
        }
        let start = self.advance().span;
        let inner = self.nested(Self::negation)?;
        let span = start.to(self.previous());
        Ok(Condition::Not(Box::new(inner), span))
    }

    fn predicate(&mut self) -> Parse<Condition> {
        let start = self.span();
        if self.at_word("EXISTS") {
            self.advance();
            self.expect_symbol("(")?;
            let query = self.subquery()?;
            let end = self.expect_symbol(")")?;
            return Ok(Condition::Exists(Box::new(query), start.to(end)));
        }
        if self.at_symbol("(") && !self.value_in_parentheses() {
            self.advance();
            let inner = self.condition()?;
            self.expect_symbol(")")?;
            return Ok(inner);
        }
        let left = self.value()?;
        self.predicate_of(left, start)
    }

    /// Whether the parenthesis here encloses a value: what follows it continues a value or compares it.
    fn value_in_parentheses(&self) -> bool {
        let mut depth = 0usize;
        let mut ahead = 0;
        loop {
            match &self.peek(ahead).kind {
                TokenKind::Symbol("(") => depth += 1,
                TokenKind::Symbol(")") => {
                    depth -= 1;
                    if depth == 0 {
                        break;
                    }
                }
                TokenKind::End | TokenKind::Symbol(";") => return false,
                _ => {}
            }
            ahead += 1;
        }
        match &self.peek(ahead + 1).kind {
            TokenKind::Symbol(symbol) => {
                comparison(symbol).is_some() || ["+", "-", "*", "/", "%", "||"].contains(symbol)
            }
            TokenKind::Word(word) => ["IN", "NOT", "LIKE", "KLIKE", "BETWEEN", "IS"]
                .iter()
                .any(|k| k.eq_ignore_ascii_case(word)),
            _ => false,
        }
    }

    /// The operator and right side of a predicate.
    fn predicate_of(&mut self, left: Expr, start: Span) -> Parse<Condition> {
        if let TokenKind::Symbol(symbol) = &self.token().kind
            && let Some(operator) = comparison(symbol)
        {
            self.advance();
            let right = self.right()?;
            let span = start.to(self.previous());
            // `TODAY() = day` is `day = TODAY()`, which kintone understands (LNG-62).
            return Ok(match (self.server_call(&left), &right) {
                (Some(function), Expr::Column(_)) => {
                    let function = Expr::Server(function);
                    Condition::Compare(right, operator.turned_round(), function, span)
                }
                _ => Condition::Compare(left, operator, right, span),
            });
        }
        if self.eat_word("BETWEEN") {
            let low = self.right()?;
            self.expect_word("AND")?;
            let high = self.right()?;
            return Ok(Condition::Between(left, low, high, start.to(self.previous())));
        }
        if self.eat_word("IS") {
            let negated = self.eat_word("NOT");
            self.expect_word("NULL")?;
            return Ok(Condition::IsNull {
                left,
                negated,
                span: start.to(self.previous()),
            });
        }
        let negated = self.eat_word("NOT");
        if self.eat_word("IN") {
            let list = self.in_list()?;
            return Ok(Condition::In {
                left,
                negated,
                list,
                span: start.to(self.previous()),
            });
        }
        for (word, keyword) in [("LIKE", false), ("KLIKE", true)] {
            if self.eat_word(word) {
                let pattern = self.value()?;
                let span = start.to(self.previous());
                return Ok(if keyword {
                    Condition::Keyword {
                        left,
                        negated,
                        pattern,
                        span,
                    }
                } else {
                    Condition::Like {
                        left,
                        negated,
                        pattern,
                        span,
                    }
                });
            }
        }
        Err(self.unexpected(&say!("a comparison", "比較")).hint(say!(
            "a value alone is no condition: write for example x = 1, x IN (...), x IS NULL",
            "値だけでは条件になりません。x = 1、x IN (...)、x IS NULL のように書いてください"
        )))
    }

    fn in_list(&mut self) -> Parse<InList> {
        if let TokenKind::Variable(name) = &self.token().kind {
            let span = self.advance().span;
            return Ok(InList::Variable(Name {
                text: name.clone(),
                span,
            }));
        }
        self.expect_symbol("(")?;
        if self.at_symbol(")") {
            return Err(Problem::syntax(
                self.span(),
                say!("IN () is empty", "IN () の中が空です"),
            ));
        }
        let list = if self.at_query() {
            InList::Query(Box::new(self.subquery()?))
        } else {
            InList::Values(self.list(Self::right)?)
        };
        self.expect_symbol(")")?;
        Ok(list)
    }

    /// The right side of a comparison.
    fn right(&mut self) -> Parse<Expr> {
        if self.in_where
            && let Some(function) = self.server_function()?
        {
            if let TokenKind::Symbol("+" | "-" | "*" | "/" | "%" | "||") = self.token().kind {
                return Err(Problem::syntax(
                    self.span(),
                    say!(
                        "a function of kintone cannot be part of an expression",
                        "kintone の関数は式の一部にできません"
                    ),
                )
                .hint(say!(
                    "use an as-of function or a variable",
                    "基準時刻の関数か変数を使ってください"
                )));
            }
            return Ok(Expr::Server(function));
        }
        self.value()
    }

    /// A comparison operator, if one stands here.
    pub(super) fn comparison_operator(&mut self) -> Option<Comparison> {
        let TokenKind::Symbol(symbol) = &self.token().kind else {
            return None;
        };
        let operator = comparison(symbol)?;
        self.advance();
        Some(operator)
    }
}

fn comparison(symbol: &str) -> Option<Comparison> {
    Some(match symbol {
        "=" => Comparison::Equal,
        "!=" | "<>" => Comparison::NotEqual,
        "<" => Comparison::Less,
        "<=" => Comparison::LessOrEqual,
        ">" => Comparison::Greater,
        ">=" => Comparison::GreaterOrEqual,
        _ => return None,
    })
}

fn single_or(mut parts: Vec<Condition>, many: fn(Vec<Condition>) -> Condition) -> Condition {
    match parts.pop() {
        Some(only) if parts.is_empty() => only,
        Some(last) => {
            parts.push(last);
            many(parts)
        }
        None => many(parts),
    }
}
