//! One SELECT: items, sources, joins, grouping, order, limit, windows (LNG-20..30, LNG-112, LNG-120).

use super::function::WINDOW_ONLY;
use super::{Parse, Parser};
use crate::flow::aggregate::Kind;
use crate::flow::sql::ast::{
    AggregateCall, ColumnRef, Expr, Frame, Grouping, Item, Join, JoinKind, OrderKey, Select, Source, Table,
    Window,
};
use crate::flow::sql::diagnostic::Problem;
use crate::flow::sql::lex::TokenKind;
use crate::flow::sql::message::say;
use crate::flow::sql::position::Span;

/// The most columns of CUBE: 2^6 grouping sets (LNG-112).
const MAX_CUBE_FIELDS: usize = 6;

impl Parser<'_> {
    pub(super) fn select(&mut self) -> Parse<Select> {
        let start = self.expect_word("SELECT")?;
        let distinct = self.eat_word("DISTINCT");
        let items = self.list(Self::item)?;
        let mut from = None;
        let mut joins = Vec::new();
        if self.eat_word("FROM") {
            from = Some(self.source()?);
            while let Some(join) = self.join()? {
                joins.push(join);
            }
            if self.at_symbol(",") {
                return Err(Problem::syntax(
                    self.span(),
                    say!(
                        "tables are joined with JOIN, not with a comma",
                        "表の結合はカンマではなく JOIN で書きます"
                    ),
                ));
            }
        }
        let filter = if self.eat_word("WHERE") {
            Some(self.where_condition()?)
        } else {
            None
        };
        let grouping = if self.eat_words(&["GROUP", "BY"]) {
            Some(self.grouping()?)
        } else {
            None
        };
        let having_span = self.span();
        let having = if self.eat_word("HAVING") {
            Some(self.local_condition()?)
        } else {
            None
        };
        if having.is_some() && grouping.is_none() {
            return Err(Problem::syntax(
                having_span,
                say!("HAVING needs GROUP BY", "HAVING には GROUP BY が必要です"),
            ));
        }
        let kintone_order = self.at_word("KORDER");
        let mut order = Vec::new();
        if self.eat_words(&["ORDER", "BY"]) || self.eat_words(&["KORDER", "BY"]) {
            order = self.list(Self::order_key)?;
        }
        let mut limit = None;
        let mut offset = 0;
        if self.eat_word("LIMIT") {
            limit = Some(self.count()?);
            if self.eat_word("OFFSET") {
                offset = self.count()?;
            }
        }
        let span = start.to(self.previous());
        Ok(Select {
            distinct,
            items,
            from,
            joins,
            filter,
            grouping,
            having,
            order,
            kintone_order,
            limit,
            offset,
            span,
        })
    }

    /// A whole number that is no expression.
    pub(super) fn count(&mut self) -> Parse<u64> {
        if let TokenKind::Number(text) = &self.token().kind
            && let Ok(count) = text.parse()
        {
            self.advance();
            return Ok(count);
        }
        Err(self.unexpected(&say!("a whole number", "整数")))
    }

    pub(super) fn item(&mut self) -> Parse<Item> {
        if self.at_symbol("*") {
            return Ok(Item::Wildcard(self.advance().span));
        }
        if let Some(item) = self.qualified_wildcard()? {
            return Ok(item);
        }
        let window_only = self
            .word_at(0)
            .is_some_and(|w| WINDOW_ONLY.iter().any(|f| f.eq_ignore_ascii_case(w)));
        if window_only && self.is_symbol(1, "(") {
            let window = self.ranking_window()?;
            return self.window_alias(window);
        }
        let expr = self.value()?;
        if self.at_word("OVER") {
            let Expr::Aggregate(call) = expr else {
                return Err(Problem::syntax(
                    self.span(),
                    say!(
                        "OVER follows a window function or an aggregate",
                        "OVER の前にはウィンドウ関数か集計関数が必要です"
                    ),
                ));
            };
            let window = self.aggregate_window(call)?;
            return self.window_alias(window);
        }
        if let Some(operator) = self.comparison_operator() {
            let symbol = operator.symbol();
            return Err(Problem::syntax(
                self.previous(),
                say!(
                    "a comparison is no value: {symbol}",
                    "比較は値になりません: {symbol}"
                ),
            )
            .hint(say!(
                "use CASE WHEN ... THEN 1 ELSE 0 END",
                "CASE WHEN ... THEN 1 ELSE 0 END を使ってください"
            )));
        }
        let alias = self.alias()?;
        if let (Expr::Variable(name), None) = (&expr, &alias) {
            return Err(Problem::syntax(
                name.span,
                say!(
                    "a variable in SELECT needs an alias (AS name)",
                    "SELECT の変数には別名 (AS 名前) が必要です"
                ),
            ));
        }
        Ok(Item::Expr(expr, alias))
    }

    /// `alias.*`, `_p.*`, `APP1.*`
    fn qualified_wildcard(&mut self) -> Parse<Option<Item>> {
        if !(self.is_symbol(1, ".") && self.is_symbol(2, "*")) {
            return Ok(None);
        }
        let qualifier = if self.at_app() {
            self.app()?.written
        } else if self.is_name(0) {
            self.name(&say!("an alias", "別名"))?
        } else {
            return Ok(None);
        };
        self.advance();
        self.advance();
        Ok(Some(Item::QualifiedWildcard(qualifier)))
    }

    fn window_alias(&mut self, window: Window) -> Parse<Item> {
        if let TokenKind::Symbol("+" | "-" | "*" | "/" | "%" | "||") = self.token().kind {
            return Err(Problem::syntax(
                self.span(),
                say!(
                    "a window function stands alone and cannot be part of an expression",
                    "ウィンドウ関数は単独でのみ使えます。式の一部にはできません"
                ),
            )
            .hint(say!(
                "give it an alias in a temp table and calculate with that",
                "一時テーブルで別名を付け、その列で計算してください"
            )));
        }
        match self.alias()? {
            Some(alias) => Ok(Item::Window(window, alias)),
            None => Err(Problem::syntax(
                window.span,
                say!(
                    "a window function needs an alias (AS name)",
                    "ウィンドウ関数には別名 (AS 名前) が必要です"
                ),
            )),
        }
    }

    /// ROW_NUMBER, RANK, DENSE_RANK, LAG, LEAD with their window.
    fn ranking_window(&mut self) -> Parse<Window> {
        let start = self.span();
        let function = self.word_at(0).unwrap_or_default().to_ascii_uppercase();
        self.advance();
        self.expect_symbol("(")?;
        let mut argument = None;
        let mut offset = 1;
        let shifts = function == "LAG" || function == "LEAD";
        if shifts {
            argument = Some(self.value()?);
            if self.eat_symbol(",") {
                offset = self.count()?;
                if self.at_symbol(",") {
                    return Err(Problem::syntax(
                        self.span(),
                        say!(
                            "{function} takes no third argument",
                            "{function} に第 3 引数はありません"
                        ),
                    ));
                }
            }
        }
        self.expect_symbol(")")?;
        let window = self.over(function, argument, offset, start)?;
        if shifts && window.order.is_empty() {
            let function = &window.function;
            return Err(Problem::syntax(
                window.span,
                say!(
                    "{function} needs ORDER BY in its window",
                    "{function} のウィンドウには ORDER BY が必要です"
                ),
            ));
        }
        Ok(window)
    }

    /// The window of an aggregate; OVER was not taken yet.
    fn aggregate_window(&mut self, call: AggregateCall) -> Parse<Window> {
        let name = &call.name;
        if call.distinct || !Kind::parse(name).is_some_and(Kind::is_window_function) {
            return Err(Problem::syntax(
                call.span,
                say!(
                    "only SUM, COUNT, AVG, MIN and MAX without DISTINCT take a window",
                    "ウィンドウを取れる集計は DISTINCT なしの SUM, COUNT, AVG, MIN, MAX だけです"
                ),
            ));
        }
        self.over(call.name, call.argument.map(|argument| *argument), 0, call.span)
    }

    /// `OVER ( [PARTITION BY …] [ORDER BY … [frame]] )`
    fn over(&mut self, function: String, argument: Option<Expr>, offset: u64, start: Span) -> Parse<Window> {
        self.expect_word("OVER")?;
        self.expect_symbol("(")?;
        let partition = if self.eat_words(&["PARTITION", "BY"]) {
            self.list(Self::value)?
        } else {
            Vec::new()
        };
        let mut order = Vec::new();
        let mut frame = Frame::Range;
        if self.eat_words(&["ORDER", "BY"]) {
            order = self.list(Self::order_key)?;
            if self.at_word("ROWS") || self.at_word("RANGE") {
                frame = if self.at_word("ROWS") {
                    Frame::Rows
                } else {
                    Frame::Range
                };
                self.advance();
                self.expect_words(&["BETWEEN", "UNBOUNDED", "PRECEDING", "AND", "CURRENT", "ROW"])?;
            }
        }
        let end = self.expect_symbol(")")?;
        Ok(Window {
            function,
            argument,
            offset,
            partition,
            order,
            frame,
            span: start.to(end),
        })
    }

    fn order_key(&mut self) -> Parse<OrderKey> {
        let expr = self.value()?;
        let descending = self.eat_word("DESC");
        if !descending {
            self.eat_word("ASC");
        }
        Ok(OrderKey { expr, descending })
    }

    // --- FROM ----------------------------------------------------------------------------------------------------

    /// A table with its alias.
    pub(super) fn source(&mut self) -> Parse<Source> {
        let table = self.table()?;
        Ok(Source {
            table,
            alias: self.alias()?,
        })
    }

    fn table(&mut self) -> Parse<Table> {
        let token = self.token();
        if self.at_symbol("(") {
            return Err(Problem::syntax(
                token.span,
                say!(
                    "a subquery cannot stand in FROM",
                    "FROM に副問い合わせは書けません"
                ),
            )
            .hint(say!(
                "name it: WITH name AS (SELECT ...) SELECT ... FROM name",
                "WITH 名前 AS (SELECT ...) SELECT ... FROM 名前 のように名前を付けてください"
            )));
        }
        if self.at_app() {
            let app = self.app()?;
            return Ok(match self.subtable() {
                Some(code) => Table::Subtable(app, code),
                None => Table::App(app),
            });
        }
        if let TokenKind::Temp(name) = &token.kind {
            self.advance();
            return Ok(Table::Temp(crate::flow::sql::ast::Name {
                text: name.clone(),
                span: token.span,
            }));
        }
        self.name(&say!("a table", "表")).map(Table::Named)
    }

    fn join(&mut self) -> Parse<Option<Join>> {
        let kind = if self.at_word("JOIN") || self.eat_word("INNER") {
            JoinKind::Inner
        } else if self.at_word("LEFT") && !self.is_symbol(1, "(") {
            self.advance();
            self.eat_word("OUTER");
            JoinKind::Left
        } else if self.at_word("RIGHT") && !self.is_symbol(1, "(") {
            self.advance();
            self.eat_word("OUTER");
            JoinKind::Right
        } else if self.eat_word("CROSS") {
            JoinKind::Cross
        } else if self.at_words(&["FULL", "JOIN"]) || self.at_words(&["FULL", "OUTER"]) {
            return Err(super::unsupported(self.span(), "FULL JOIN"));
        } else {
            return Ok(None);
        };
        self.expect_word("JOIN")?;
        let source = self.source()?;
        if kind == JoinKind::Cross {
            return Ok(Some(Join {
                kind,
                source,
                on: None,
            }));
        }
        self.expect_word("ON")?;
        let left = self.join_column()?;
        self.expect_symbol("=").map_err(only_equality)?;
        let right = self.join_column()?;
        if self.at_word("AND") || self.at_word("OR") {
            return Err(only_equality(
                self.unexpected(&say!("the end of the join condition", "結合条件の終わり")),
            ));
        }
        Ok(Some(Join {
            kind,
            source,
            on: Some((left, right)),
        }))
    }

    pub(super) fn join_column(&mut self) -> Parse<ColumnRef> {
        if self.is_name(0) || self.at_app() {
            return self.column();
        }
        Err(only_equality(self.unexpected(&say!("a column", "列名"))))
    }

    // --- GROUP BY ------------------------------------------------------------------------------------------------

    fn grouping(&mut self) -> Parse<Grouping> {
        if self.at_word("ROLLUP") && self.is_symbol(1, "(") {
            self.advance();
            let fields = self.parenthesised(Self::column)?;
            let sets = (0..=fields.len())
                .rev()
                .map(|kept| (0..fields.len()).map(|field| field < kept).collect())
                .collect();
            return Ok(Grouping::Sets { fields, sets });
        }
        if self.at_word("CUBE") && self.is_symbol(1, "(") {
            let start = self.advance().span;
            let fields = self.parenthesised(Self::column)?;
            if fields.len() > MAX_CUBE_FIELDS {
                return Err(Problem::syntax(
                    start.to(self.previous()),
                    say!(
                        "CUBE takes at most {MAX_CUBE_FIELDS} fields",
                        "CUBE のフィールドは {MAX_CUBE_FIELDS} 個までです"
                    ),
                ));
            }
            // All subsets, the fullest first: the set bits of the mask are the dropped fields.
            let sets = (0..1usize << fields.len())
                .map(|dropped| {
                    (0..fields.len())
                        .map(|field| dropped >> (fields.len() - 1 - field) & 1 == 0)
                        .collect()
                })
                .collect();
            return Ok(Grouping::Sets { fields, sets });
        }
        if self.at_words(&["GROUPING", "SETS"]) {
            self.eat_words(&["GROUPING", "SETS"]);
            let listed = self.parenthesised(Self::grouping_set)?;
            let mut fields: Vec<ColumnRef> = Vec::new();
            for field in listed.iter().flatten() {
                if !fields.contains(field) {
                    fields.push(field.clone());
                }
            }
            let sets = listed
                .iter()
                .map(|set| fields.iter().map(|field| set.contains(field)).collect())
                .collect();
            return Ok(Grouping::Sets { fields, sets });
        }
        self.list(Self::value).map(Grouping::Keys)
    }

    /// `(a, b)`, `()` or `a`
    fn grouping_set(&mut self) -> Parse<Vec<ColumnRef>> {
        if !self.at_symbol("(") {
            return self.column().map(|column| vec![column]);
        }
        if self.is_symbol(1, ")") {
            self.advance();
            self.advance();
            return Ok(Vec::new());
        }
        self.parenthesised(Self::column)
    }
}

fn only_equality(problem: Problem) -> Problem {
    problem.hint(say!(
        "a join has exactly one condition of the form a.x = b.y; put further conditions into WHERE",
        "結合条件は a.x = b.y の形を 1 つだけ書きます。ほかの条件は WHERE に書いてください"
    ))
}
