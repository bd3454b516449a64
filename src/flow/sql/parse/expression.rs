//! Value expressions: `||`, arithmetic, literals, columns, CASE, subqueries (LNG-46, LNG-47, LNG-53).

use super::{Parse, Parser};
use crate::flow::sql::ast::{AsOfFunction, Case, ColumnRef, Expr, Name};
use crate::flow::sql::diagnostic::Problem;
use crate::flow::sql::lex::TokenKind;
use crate::flow::sql::message::say;
use crate::flow::value::Arithmetic;

impl Parser<'_> {
    /// A value of any precedence.
    pub(super) fn value(&mut self) -> Parse<Expr> {
        self.nested(Self::concat)
    }

    fn concat(&mut self) -> Parse<Expr> {
        let first = self.sum()?;
        if !self.at_symbol("||") {
            return Ok(first);
        }
        let start = first.span();
        let mut parts = vec![first];
        while self.eat_symbol("||") {
            parts.push(self.sum()?);
        }
        Ok(Expr::Concat(parts, start.to(self.previous())))
    }

    fn sum(&mut self) -> Parse<Expr> {
        const OPERATORS: [Arithmetic; 2] = [Arithmetic::Add, Arithmetic::Subtract];
        self.chain(&OPERATORS, Self::product)
    }

    fn product(&mut self) -> Parse<Expr> {
        const OPERATORS: [Arithmetic; 3] = [Arithmetic::Multiply, Arithmetic::Divide, Arithmetic::Remainder];
        self.chain(&OPERATORS, Self::factor)
    }

    fn chain(&mut self, operators: &[Arithmetic], operand: fn(&mut Self) -> Parse<Expr>) -> Parse<Expr> {
        let first = operand(self)?;
        let mut rest = Vec::new();
        while let Some(operator) = operators
            .iter()
            .find(|operator| self.at_symbol(operator.symbol()))
        {
            self.advance();
            rest.push((*operator, operand(self)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        let span = first.span().to(self.previous());
        Ok(Expr::Chain(Box::new(first), rest, span))
    }

    fn factor(&mut self) -> Parse<Expr> {
        let token = self.token();
        let span = token.span;
        match &token.kind {
            TokenKind::Symbol("-") => {
                self.advance();
                let operand = self.nested(Self::factor)?;
                Ok(match operand {
                    Expr::Number(text, number) if !text.starts_with('-') => {
                        Expr::Number(format!("-{text}"), span.to(number))
                    }
                    other => {
                        let span = span.to(other.span());
                        Expr::Negate(Box::new(other), span)
                    }
                })
            }
            TokenKind::Symbol("+") if self.in_written_value => {
                self.advance();
                let TokenKind::Number(text) = &self.token().kind else {
                    return Err(self.unexpected(&say!("a number", "数値")));
                };
                let number = self.advance().span;
                Ok(Expr::Number(text.clone(), span.to(number)))
            }
            TokenKind::Symbol("(") => {
                self.advance();
                let inner = if self.at_query() {
                    Expr::Subquery(Box::new(self.subquery()?), span)
                } else {
                    self.value()?
                };
                let end = self.expect_symbol(")")?;
                Ok(match inner {
                    Expr::Subquery(query, _) => Expr::Subquery(query, span.to(end)),
                    other => other,
                })
            }
            TokenKind::Symbol("[") => self.array(),
            TokenKind::Text(text) => {
                self.advance();
                Ok(Expr::Text(text.clone(), span))
            }
            TokenKind::Number(text) => {
                self.advance();
                Ok(Expr::Number(text.clone(), span))
            }
            TokenKind::Variable(name) => {
                self.advance();
                if self.at_symbol("(") {
                    return self.as_of(name);
                }
                Ok(Expr::Variable(Name {
                    text: name.clone(),
                    span,
                }))
            }
            TokenKind::Word(word) if word.eq_ignore_ascii_case("CASE") => self.case(),
            TokenKind::Word(_) if self.is_symbol(1, "(") => self.call(),
            TokenKind::Word(_) | TokenKind::Quoted(_) | TokenKind::LogicalApp(_) => {
                self.column().map(Expr::Column)
            }
            _ => Err(self.unexpected(&say!("a value", "値"))),
        }
    }

    /// `name`, `alias.name`, `APP1.name`
    pub(super) fn column(&mut self) -> Parse<ColumnRef> {
        let qualified = self.is_symbol(1, ".");
        if qualified && self.at_app() {
            let app = self.app()?;
            self.advance();
            return Ok(ColumnRef {
                qualifier: Some(app.written),
                name: self.field_name()?,
            });
        }
        let first = self.name(&say!("a column", "列名"))?;
        if !self.eat_symbol(".") {
            return Ok(ColumnRef {
                qualifier: None,
                name: first,
            });
        }
        let second = self.field_name()?;
        // `d._p.code` names a parent field as `_p.code` does: parents of two subtables in one query are told apart by alias.
        if second.text == "_p" && self.eat_symbol(".") {
            let qualifier = Name {
                text: format!("{}._p", first.text),
                span: first.span.to(second.span),
            };
            return Ok(ColumnRef {
                qualifier: Some(qualifier),
                name: self.field_name()?,
            });
        }
        Ok(ColumnRef {
            qualifier: Some(first),
            name: second,
        })
    }

    /// `['a', 'b']`
    pub(super) fn array(&mut self) -> Parse<Expr> {
        let start = self.expect_symbol("[")?;
        let mut elements = Vec::new();
        while !self.at_symbol("]") {
            if !elements.is_empty() {
                self.expect_symbol(",")?;
            }
            let TokenKind::Text(element) = &self.token().kind else {
                return Err(
                    self.unexpected(&say!("a text in single quotes", "シングルクォートで囲んだ文字列"))
                );
            };
            elements.push(element.clone());
            self.advance();
        }
        let end = self.expect_symbol("]")?;
        Ok(Expr::Array(elements, start.to(end)))
    }

    /// `@NOW()`; the name was taken.
    fn as_of(&mut self, name: &str) -> Parse<Expr> {
        let start = self.previous();
        self.expect_symbol("(")?;
        let known = [
            AsOfFunction::Now,
            AsOfFunction::Today,
            AsOfFunction::MonthStart,
            AsOfFunction::NextMonthStart,
        ]
        .into_iter()
        .find(|function| {
            function
                .written()
                .trim_matches(['@', '(', ')'])
                .eq_ignore_ascii_case(name)
        });
        let Some(function) = known else {
            let upper = name.to_ascii_uppercase();
            return Err(Problem::syntax(
                start,
                say!(
                    "there is no function @{upper}()",
                    "@{upper}() という関数はありません"
                ),
            )
            .hint(say!(
                "as-of functions: @NOW() @TODAY() @MONTH_START() @NEXT_MONTH_START()",
                "基準時刻の関数は @NOW() @TODAY() @MONTH_START() @NEXT_MONTH_START() です"
            )));
        };
        let end = self.expect_symbol(")")?;
        self.flow_only(start, function.written())?;
        Ok(Expr::AsOf(function, start.to(end)))
    }

    fn case(&mut self) -> Parse<Expr> {
        let start = self.expect_word("CASE")?;
        if !self.at_word("WHEN") {
            return Err(self.unexpected(&say!("WHEN", "WHEN")).hint(say!(
                "CASE x WHEN v is not part of the language: write CASE WHEN x = v",
                "CASE x WHEN v 形式は使えません。CASE WHEN x = v と書いてください"
            )));
        }
        let mut branches = Vec::new();
        while self.eat_word("WHEN") {
            let condition = self.local_condition()?;
            self.expect_word("THEN")?;
            branches.push((condition, self.value()?));
        }
        let otherwise = if self.eat_word("ELSE") {
            Some(self.value()?)
        } else {
            None
        };
        let end = self.expect_word("END")?;
        Ok(Expr::Case(Box::new(Case { branches, otherwise }), start.to(end)))
    }

    /// `IF(condition, a, b)`; IF was not taken yet.
    pub(super) fn if_function(&mut self) -> Parse<Expr> {
        let start = self.advance().span;
        self.expect_symbol("(")?;
        let condition = self.local_condition()?;
        self.expect_symbol(",")?;
        let then = self.value()?;
        self.expect_symbol(",")?;
        let otherwise = Some(self.value()?);
        let end = self.expect_symbol(")")?;
        Ok(Expr::Case(
            Box::new(Case {
                branches: vec![(condition, then)],
                otherwise,
            }),
            start.to(end),
        ))
    }
}
