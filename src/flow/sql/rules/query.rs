//! Static rules of queries: where columns, aggregates, arrays, variables and kintone's functions may stand.

use super::{Checker, VariableKind, misplaced_array};
use crate::flow::plan::series::{Series, add_rows};
use crate::flow::sql::ast::{
    Condition, Cte, CteBody, Expr, Grouping, Item, JoinKind, Query, Select, ServerFunction, Table,
};
use crate::flow::sql::diagnostic::{Problem, code};
use crate::flow::sql::message::say;
use crate::flow::sql::parse::is_server_function;
use crate::flow::sql::walk::{self, Part};

/// Number of result columns, unless a wildcard hides it.
pub(super) fn width(select: &Select) -> Option<usize> {
    let wild = select
        .items
        .iter()
        .any(|item| matches!(item, Item::Wildcard(_) | Item::QualifiedWildcard(_)));
    (!wild).then_some(select.items.len())
}

impl Checker {
    /// Checks a query with everything in it; `ctes` are the names visible from outside.
    pub(super) fn query<'a>(&mut self, query: &'a Query, ctes: &[&'a str]) {
        let mut visible: Vec<&str> = ctes.to_vec();
        if query.cycle.is_some() && !query.recursive {
            self.report(Problem::syntax(
                query.span,
                say!(
                    "CYCLE needs WITH RECURSIVE",
                    "CYCLE には WITH RECURSIVE が必要です"
                ),
            ));
        }
        for cte in &query.ctes {
            self.cte(cte, query.recursive, &mut visible);
        }
        for select in walk::selects(query) {
            self.select(select, &visible);
        }
        if let Some(first) = width(&query.first) {
            for (_, select) in &query.unions {
                if let Some(other) = width(select)
                    && other != first
                {
                    self.report(Problem::syntax(
                        select.span,
                        say!(
                            "the column counts of a UNION differ: {first} and {other}",
                            "UNION の列数 (column counts) が一致しません: {first} と {other}"
                        ),
                    ));
                }
            }
        }
    }

    fn cte<'a>(&mut self, cte: &'a Cte, recursive: bool, visible: &mut Vec<&'a str>) {
        let name = &cte.name.text;
        if !cte.columns.is_empty() && !recursive {
            self.report(Problem::syntax(
                cte.name.span,
                say!(
                    "only a recursive common table expression has a column list",
                    "列の一覧を付けられるのは WITH RECURSIVE だけです"
                ),
            ));
        }
        match &cte.body {
            CteBody::Query(body) => {
                if recursive && refers_to(body, name) {
                    self.recursive_cte(cte, body, visible);
                } else {
                    self.query(body, visible);
                }
            }
            CteBody::Series(arguments, _) => self.series(arguments),
            CteBody::ShowApps | CteBody::Describe(_) => {}
        }
        visible.push(name);
    }

    fn series(&mut self, arguments: &[Expr]) {
        for argument in arguments {
            self.constant_value(argument, "GENERATE_SERIES");
            self.use_variables(argument);
        }
        let literal = |argument: &Expr| match argument {
            Expr::Text(text, _) | Expr::Number(text, _) => Some(text.clone()),
            _ => None,
        };
        let literals: Option<Vec<String>> = arguments.iter().map(literal).collect();
        let span = match (arguments.first(), arguments.last()) {
            (Some(first), Some(last)) => first.span().to(last.span()),
            _ => self.statement,
        };
        let Some(literals) = literals else { return };
        match Series::new(&literals).and_then(|series| add_rows(self.generated, &series)) {
            Ok(generated) => self.generated = generated,
            Err(message) => self.report(Problem::syntax(span, message)),
        }
    }

    /// `seed UNION ALL step` (LNG-135).
    fn recursive_cte<'a>(&mut self, cte: &'a Cte, body: &'a Query, visible: &[&'a str]) {
        let mut inner: Vec<&str> = visible.to_vec();
        inner.push(&cte.name.text);
        let [(true, step)] = body.unions.as_slice() else {
            self.report(Problem::syntax(
                body.span,
                say!(
                    "a recursive common table expression is: seed UNION ALL step",
                    "再帰の共通表式は「初期 SELECT UNION ALL 反復 SELECT」の形で書きます"
                ),
            ));
            return;
        };
        self.select(&body.first, visible);
        self.select(step, &inner);
        let own = |table: &Table| matches!(table, Table::Named(name) if name.text == cte.name.text);
        let references = step
            .from
            .iter()
            .chain(step.joins.iter().map(|join| &join.source))
            .filter(|s| own(&s.table))
            .count();
        let one_inner_join =
            step.joins.len() == 1 && step.joins.iter().all(|join| join.kind == JoinKind::Inner);
        let mut plain = step.grouping.is_none()
            && step.order.is_empty()
            && step.limit.is_none()
            && !step.distinct
            && body.ctes.is_empty()
            && !step.items.iter().any(|item| matches!(item, Item::Window(..)));
        walk::select(step, &mut |part| {
            plain &= !matches!(part, Part::Query(_) | Part::Value(Expr::Aggregate(_)));
        });
        if references != 1 || !one_inner_join || !plain {
            self.report(Problem::syntax(
                step.span,
                say!(
                    "the step joins the expression itself once, with one INNER JOIN, and has no aggregate, window, DISTINCT, ORDER BY, LIMIT or subquery",
                    "反復 SELECT は自分自身を INNER JOIN で 1 回だけ参照し、集計、ウィンドウ、DISTINCT、ORDER BY、LIMIT、副問い合わせを含められません"
                ),
            ));
        }
    }

    fn select<'a>(&mut self, select: &'a Select, ctes: &[&'a str]) {
        for source in select
            .from
            .iter()
            .chain(select.joins.iter().map(|join| &join.source))
        {
            self.source(source, ctes);
        }
        if select.from.is_none() {
            self.without_from(select);
        }
        for item in &select.items {
            match item {
                Item::Wildcard(_) | Item::QualifiedWildcard(_) => {}
                Item::Expr(expr, _) => {
                    self.value(expr, ctes);
                    self.aggregate_arithmetic(expr, select.grouping.as_ref());
                }
                Item::Window(window, _) => {
                    for expr in window.argument.iter().chain(&window.partition) {
                        self.value(expr, ctes);
                    }
                    for key in &window.order {
                        self.key(&key.expr, "ORDER BY", ctes);
                    }
                }
            }
        }
        if let Some(filter) = &select.filter {
            self.where_condition(filter, ctes);
        }
        if let Some(Grouping::Keys(keys)) = &select.grouping {
            for key in keys {
                self.key(key, "GROUP BY", ctes);
                if walk::has_aggregate(key) {
                    self.report(Problem::syntax(
                        key.span(),
                        say!(
                            "ArgumentError: a GROUP BY key cannot be an aggregate",
                            "ArgumentError: GROUP BY のキーに集計関数は使えません"
                        ),
                    ));
                }
            }
        }
        if let Some(having) = &select.having {
            self.condition(having, ctes);
        }
        for key in &select.order {
            self.key(&key.expr, "ORDER BY", ctes);
        }
        self.grouping_calls(select);
        if select.kintone_order {
            self.kintone_order(select);
        }
    }

    /// No FROM: nothing to take a column from, nothing to group or filter (LNG-21).
    fn without_from(&mut self, select: &Select) {
        let mut wrong = select.items.iter().find_map(|item| match item {
            Item::Wildcard(span) => Some(*span),
            Item::QualifiedWildcard(name) => Some(name.span),
            Item::Window(window, _) => Some(window.span),
            Item::Expr(..) => None,
        });
        walk::select(select, &mut |part| {
            if let Part::Value(value @ (Expr::Column(_) | Expr::Aggregate(_) | Expr::Grouping(..))) = part {
                wrong = wrong.or(Some(value.span()));
            }
        });
        let clause = select.filter.as_ref().map(Condition::span);
        let clause = clause.or(select.grouping.is_some().then_some(select.span));
        if let Some(span) = wrong.or(clause) {
            self.report(Problem::syntax(
                span,
                say!("this needs a FROM", "これを使うには FROM が必要です"),
            ));
        }
    }

    /// A value of a query: variables, subqueries, aggregates not nested.
    pub(super) fn value(&mut self, value: &Expr, ctes: &[&str]) {
        self.use_variables(value);
        let mut queries = Vec::new();
        walk::value(value, &mut |part| match part {
            Part::Value(Expr::Aggregate(call)) => {
                if let Some(argument) = &call.argument {
                    self.aggregate_argument(argument);
                }
            }
            Part::Value(array @ Expr::Array(..)) => self.report(misplaced_array(array.span())),
            Part::Value(Expr::Case(case, _)) => {
                for (condition, _) in &case.branches {
                    self.operands(condition);
                    self.refuse_keywords(condition);
                }
            }
            Part::Query(query) => queries.push(query),
            _ => {}
        });
        for query in queries {
            self.nested_query(query, value, ctes);
        }
    }

    /// A subquery found in a value: scalar where it is a value, any width in IN and EXISTS.
    fn nested_query(&mut self, query: &Query, value: &Expr, ctes: &[&str]) {
        let span = query.span;
        let scalar = walk::any_value(
            value,
            |inner| matches!(inner, Expr::Subquery(inner, _) if inner.span == span),
        );
        if scalar {
            self.scalar_query(query, ctes);
        } else {
            self.query(query, ctes);
        }
    }

    fn aggregate_argument(&mut self, argument: &Expr) {
        let mut wrong = None;
        walk::value(argument, &mut |part| match part {
            Part::Value(inner @ Expr::Aggregate(_)) => wrong = Some(inner.span()),
            Part::Query(query) => wrong = Some(query.span),
            _ => {}
        });
        if let Some(span) = wrong {
            self.report(Problem::syntax(
                span,
                say!(
                    "the argument of an aggregate holds no aggregate and no subquery",
                    "集計関数の引数に集計関数や副問い合わせは使えません"
                ),
            ));
        }
    }

    /// LNG-110: arithmetic with aggregates begins with one, and has none with grouping sets.
    fn aggregate_arithmetic(&mut self, expr: &Expr, grouping: Option<&Grouping>) {
        let Expr::Chain(first, _, span) = expr else { return };
        if !walk::has_aggregate(expr) {
            return;
        }
        if matches!(grouping, Some(Grouping::Sets { .. })) {
            self.report(Problem::syntax(
                *span,
                say!(
                    "arithmetic on aggregates is not possible with grouping sets",
                    "ROLLUP / CUBE / GROUPING SETS では集計同士の計算はできません"
                ),
            ));
        } else if !walk::has_aggregate(first) {
            self.report(
                Problem::syntax(
                    *span,
                    say!(
                        "arithmetic with aggregates begins with an aggregate",
                        "集計を含む計算は集計関数から書き始めます"
                    ),
                )
                .hint(say!(
                    "write SUM(x) * 100 instead of 100 * SUM(x)",
                    "100 * SUM(x) ではなく SUM(x) * 100 と書いてください"
                )),
            );
        }
    }

    /// A key of GROUP BY or ORDER BY: no variable, no subquery.
    fn key(&mut self, key: &Expr, clause: &str, ctes: &[&str]) {
        let mut wrong = None;
        walk::value(key, &mut |part| match part {
            Part::Value(Expr::Variable(name)) => wrong = Some(name.span),
            Part::Query(query) => wrong = Some(query.span),
            _ => {}
        });
        match wrong {
            Some(span) => self.report(Problem::syntax(
                span,
                say!(
                    "{clause} takes no variable and no subquery",
                    "{clause} に変数や副問い合わせは使えません"
                ),
            )),
            None => self.value(key, ctes),
        }
    }

    /// GROUPING stands only with grouping sets.
    fn grouping_calls(&mut self, select: &Select) {
        if matches!(select.grouping, Some(Grouping::Sets { .. })) {
            return;
        }
        let mut found = None;
        walk::select(select, &mut |part| {
            if let Part::Value(Expr::Grouping(_, span)) = part {
                found = Some(*span);
            }
        });
        if let Some(span) = found {
            self.report(Problem::syntax(
                span,
                say!(
                    "GROUPING() needs ROLLUP, CUBE or GROUPING SETS",
                    "GROUPING() は ROLLUP / CUBE / GROUPING SETS と共に使います"
                ),
            ));
        }
    }

    /// A condition outside WHERE: CASE, HAVING, CHECK.
    pub(super) fn condition(&mut self, condition: &Condition, ctes: &[&str]) {
        self.condition_parts(condition, ctes);
        self.operands(condition);
        self.refuse_keywords(condition);
    }

    /// Only kintone searches for keywords, and it sees nothing but WHERE (LNG-50).
    fn refuse_keywords(&mut self, condition: &Condition) {
        match condition {
            Condition::And(parts) | Condition::Or(parts) => {
                for part in parts {
                    self.refuse_keywords(part);
                }
            }
            Condition::Not(inner, _) => self.refuse_keywords(inner),
            Condition::Keyword { span, .. } => self.report(Problem::error(
                code::KEYWORD_NOT_PUSHED,
                *span,
                say!(
                    "only kintone can decide KLIKE, and only as a part of WHERE joined to the rest with AND",
                    "KLIKE は kintone でしか評価できません。WHERE の中で、ほかの条件と AND でつないで書いてください"
                ),
            )),
            _ => {}
        }
    }

    fn condition_parts(&mut self, condition: &Condition, ctes: &[&str]) {
        let mut values: Vec<&Expr> = Vec::new();
        match condition {
            Condition::And(parts) | Condition::Or(parts) => {
                for part in parts {
                    self.condition_parts(part, ctes);
                }
            }
            Condition::Not(inner, _) => self.condition_parts(inner, ctes),
            Condition::Exists(query, _) => self.query(query, ctes),
            Condition::In { left, list, .. } => {
                values.push(left);
                match list {
                    crate::flow::sql::ast::InList::Values(elements) => values.extend(elements),
                    crate::flow::sql::ast::InList::Query(query) => self.query(query, ctes),
                    crate::flow::sql::ast::InList::Variable(name) => {
                        self.use_variable(name, VariableKind::List);
                    }
                }
            }
            Condition::Compare(left, _, right, _) => values.extend([left, right]),
            Condition::Between(left, low, high, _) => values.extend([left, low, high]),
            Condition::Like { left, pattern, .. } | Condition::Keyword { left, pattern, .. } => {
                values.extend([left, pattern]);
            }
            Condition::IsNull { left, .. } => values.push(left),
        }
        for value in values {
            if let Expr::Variable(name) = value
                && self
                    .variables
                    .get(&name.text)
                    .is_some_and(|(_, kind)| *kind == VariableKind::RelativeDate)
            {
                self.relative_date(name, condition);
            } else {
                self.value(value, ctes);
            }
        }
    }

    /// A RELATIVE_DATE variable: right of a comparison or BETWEEN, never in DML (LNG-13).
    fn relative_date(&mut self, name: &crate::flow::sql::ast::Name, condition: &Condition) {
        self.used.insert(name.text.clone());
        let comparison = matches!(condition, Condition::Compare(..) | Condition::Between(..));
        if self.dml || !comparison {
            let text = &name.text;
            self.report(Problem::syntax(name.span, say!("@{text} is a relative date and stands only right of a comparison in the WHERE of a SELECT", "@{text} は相対日付です。SELECT の WHERE の比較の右辺でのみ使えます")));
        }
    }

    /// Left sides are no variables (LNG-14).
    fn operands(&mut self, condition: &Condition) {
        let left = match condition {
            Condition::And(parts) | Condition::Or(parts) => {
                for part in parts {
                    self.operands(part);
                }
                return;
            }
            Condition::Not(inner, _) => return self.operands(inner),
            Condition::Compare(left, ..)
            | Condition::Between(left, ..)
            | Condition::In { left, .. }
            | Condition::Like { left, .. }
            | Condition::Keyword { left, .. }
            | Condition::IsNull { left, .. } => left,
            Condition::Exists(..) => return,
        };
        if let Expr::Variable(name) = left {
            self.report(Problem::syntax(
                name.span,
                say!(
                    "a variable stands right of a comparison",
                    "変数は比較の右辺に書きます"
                ),
            ));
        }
    }

    /// WHERE: no aggregate; kintone's time functions are noted (LNG-62).
    pub(super) fn where_condition(&mut self, condition: &Condition, ctes: &[&str]) {
        self.condition_parts(condition, ctes);
        self.operands(condition);
        let mut server: Option<&ServerFunction> = None;
        walk::condition(condition, &mut |part| match part {
            Part::Value(inner @ Expr::Aggregate(_)) => {
                self.report(
                    Problem::syntax(
                        inner.span(),
                        say!(
                            "WHERE is tested before aggregation",
                            "WHERE に集計関数は使えません"
                        ),
                    )
                    .hint(say!(
                        "put the condition into HAVING",
                        "集計後の条件は HAVING に書いてください"
                    )),
                );
            }
            Part::Value(Expr::Call(name, _, span)) if is_server_function(name) => {
                self.report(
                    Problem::error(
                        code::FUNCTION_NOT_PUSHED,
                        *span,
                        say!(
                            "{name}() in WHERE is evaluated by kintone and stands alone beside a comparison with a field",
                            "WHERE の {name}() は kintone が評価する関数で、フィールドとの比較の片側に単独でのみ書けます"
                        ),
                    )
                    .hint(say!(
                        "write field = {name}(), or use an as-of function or a variable",
                        "フィールド = {name}() と書くか、基準時刻の関数か変数を使ってください"
                    )),
                );
            }
            Part::Value(Expr::Server(function)) => {
                if function.name == "PRIMARY_ORGANIZATION" && self.dml {
                    self.report(Problem::syntax(
                        function.span,
                        say!(
                            "PRIMARY_ORGANIZATION() cannot decide what is written",
                            "PRIMARY_ORGANIZATION() は更新・削除の条件に使えません"
                        ),
                    ));
                }
                if !matches!(function.name.as_str(), "LOGINUSER" | "PRIMARY_ORGANIZATION") {
                    server = server.or(Some(function));
                }
            }
            _ => {}
        });
        if let Some(function) = server
            && self.options.flow
        {
            let name = &function.name;
            self.report(
                Problem::warning(
                    code::SERVER_TIME,
                    self.statement,
                    say!(
                        "{name}() follows kintone's clock, not the as-of instant",
                        "{name}() は基準時刻 (as-of) ではなく kintone の時計で評価されます"
                    ),
                )
                .hint(say!(
                    "use @TODAY(), @NOW(), @MONTH_START(), @NEXT_MONTH_START()",
                    "@TODAY() @NOW() @MONTH_START() @NEXT_MONTH_START() を使ってください"
                )),
            );
        }
    }

    /// KORDER BY: one app, plain fields, LIMIT (LNG-131).
    fn kintone_order(&mut self, select: &Select) {
        let one_app = matches!(
            select.from.as_ref().map(|source| &source.table),
            Some(Table::App(_))
        ) && select.joins.is_empty();
        let plain = select.grouping.is_none()
            && !select.distinct
            && select
                .order
                .iter()
                .all(|key| matches!(&key.expr, Expr::Column(_)))
            && select.items.iter().all(|item| match item {
                Item::Expr(expr, _) => !walk::has_aggregate(expr),
                Item::Window(..) => false,
                _ => true,
            });
        if !(one_app && plain && select.limit.is_some()) {
            self.report(Problem::syntax(
                select.span,
                say!(
                    "KORDER BY needs one app, plain fields, no aggregation and a LIMIT",
                    "KORDER BY は 1 つのアプリ、フィールドのみのキー、集計なし、LIMIT ありで使います"
                ),
            ));
        }
    }
}

/// True if a query names a table in one of its FROM clauses.
fn refers_to(query: &Query, name: &str) -> bool {
    walk::selects(query).any(|select| {
        select
            .from
            .iter()
            .chain(select.joins.iter().map(|join| &join.source))
            .any(|source| matches!(&source.table, Table::Named(table) if table.text == name))
    })
}
