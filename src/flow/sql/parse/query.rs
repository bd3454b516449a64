//! Queries: WITH, UNION and what a CTE may be (LNG-132..135).

use super::{Parse, Parser};
use crate::flow::sql::ast::{Cte, CteBody, Cycle, Query};
use crate::flow::sql::diagnostic::Problem;
use crate::flow::sql::lex::TokenKind;
use crate::flow::sql::message::say;

impl Parser<'_> {
    /// True if a query begins here.
    pub(super) fn at_query(&self) -> bool {
        self.at_word("SELECT") || self.at_word("WITH")
    }

    /// A query inside parentheses or a statement: kintone's functions are allowed again only in its own WHERE.
    pub(super) fn subquery(&mut self) -> Parse<Query> {
        let in_where = std::mem::replace(&mut self.in_where, false);
        let in_written_value = std::mem::replace(&mut self.in_written_value, false);
        let result = self.nested(Self::query);
        self.in_where = in_where;
        self.in_written_value = in_written_value;
        result
    }

    /// `[WITH …] SELECT … {UNION [ALL] SELECT …}`
    pub(super) fn query(&mut self) -> Parse<Query> {
        let start = self.span();
        let mut query_ctes = Vec::new();
        let mut recursive = false;
        let mut cycle = None;
        if self.eat_word("WITH") {
            recursive = self.eat_word("RECURSIVE");
            query_ctes = self.list(Self::cte)?;
            if self.at_word("CYCLE") {
                cycle = Some(self.cycle()?);
            }
        }
        let first = self.select()?;
        let mut unions = Vec::new();
        while self.eat_word("UNION") {
            let all = self.eat_word("ALL");
            unions.push((all, self.select()?));
        }
        let span = start.to(self.previous());
        Ok(Query {
            recursive,
            ctes: query_ctes,
            cycle,
            first,
            unions,
            span,
        })
    }

    fn cte(&mut self) -> Parse<Cte> {
        let name = self.name(&say!(
            "a name for the common table expression",
            "共通表式 (WITH) の名前"
        ))?;
        let columns = if self.at_symbol("(") {
            self.parenthesised(Self::field_name)?
        } else {
            Vec::new()
        };
        self.expect_word("AS")?;
        self.expect_symbol("(")?;
        let body = if self.at_word("GENERATE_SERIES") {
            self.advance();
            let start = self.span();
            let arguments = self.parenthesised(Self::value)?;
            if !(2..=3).contains(&arguments.len()) {
                return Err(Problem::syntax(
                    start.to(self.previous()),
                    say!(
                        "ArgumentError: GENERATE_SERIES takes a start, a stop and perhaps a step",
                        "ArgumentError: GENERATE_SERIES の引数は開始、終了、(必要なら) 増分です"
                    ),
                ));
            }
            let column = if self.eat_word("AS") {
                Some(self.field_name()?)
            } else {
                None
            };
            CteBody::Series(arguments, column)
        } else if self.at_words(&["SHOW", "APPS"]) {
            self.eat_words(&["SHOW", "APPS"]);
            CteBody::ShowApps
        } else if self.at_word("DESCRIBE") || self.at_word("DESC") {
            self.advance();
            CteBody::Describe(self.app()?)
        } else {
            CteBody::Query(Box::new(self.subquery()?))
        };
        self.expect_symbol(")")?;
        Ok(Cte { name, columns, body })
    }

    /// `CYCLE c SET m TO 'x' DEFAULT 'y'`
    fn cycle(&mut self) -> Parse<Cycle> {
        self.expect_word("CYCLE")?;
        let column = self.field_name()?;
        self.expect_word("SET")?;
        let mark = self.field_name()?;
        self.expect_word("TO")?;
        let cyclic = self.text()?;
        self.expect_word("DEFAULT")?;
        let acyclic = self.text()?;
        Ok(Cycle {
            column,
            mark,
            cyclic,
            acyclic,
        })
    }

    /// A string literal.
    pub(super) fn text(&mut self) -> Parse<String> {
        match &self.token().kind {
            TokenKind::Text(text) => {
                self.advance();
                Ok(text.clone())
            }
            _ => Err(self.unexpected(&say!("a text in single quotes", "シングルクォートで囲んだ文字列"))),
        }
    }
}
