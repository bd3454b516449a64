//! INSERT, UPSERT, MERGE, UPDATE, DELETE (LNG-140..153).

use super::{Parse, Parser};
use crate::flow::sql::ast::{Assignment, Expr, InsertSource, Merge, Name, Source, Statement, Table, Target};
use crate::flow::sql::diagnostic::{Problem, code};
use crate::flow::sql::message::say;
use crate::flow::sql::position::Span;
use crate::flow::sql::{render, walk};

impl Parser<'_> {
    /// `APP1`, `LAPP_x`, either with `$table`.
    pub(super) fn target(&mut self) -> Parse<Target> {
        let app = self.app()?;
        let subtable = self.subtable();
        if self.context.flow && subtable.is_some() {
            return Err(Problem::error(
                code::SUBTABLE_DML,
                self.start,
                say!(
                    "a subtable cannot be written in dialect 1",
                    "dialect 1 ではサブテーブルへの書き込みはできません"
                ),
            )
            .hint(say!(
                "write to the app that holds the table",
                "テーブルを持つ親アプリに書き込んでください"
            )));
        }
        if let Some(table) = &subtable {
            return Err(super::unsupported(table.span, "DML on a subtable"));
        }
        Ok(Target {
            app,
            subtable,
            alias: None,
        })
    }

    pub(super) fn insert(&mut self) -> Parse<Statement> {
        let start = self.span();
        self.expect_words(&["INSERT", "INTO"])?;
        let target = self.target()?;
        let fields = self.field_list()?;
        let source = self.insert_source(fields.len(), start)?;
        Ok(Statement::Insert {
            target,
            fields,
            source,
            inspection: Box::new(self.inspection()?),
        })
    }

    pub(super) fn upsert(&mut self) -> Parse<Statement> {
        let start = self.span();
        self.expect_words(&["UPSERT", "INTO"])?;
        let target = self.target()?;
        let fields = self.field_list()?;
        let source = self.insert_source(fields.len(), start)?;
        if let InsertSource::Values(rows) = &source
            && let Some(as_of) = rows
                .iter()
                .flatten()
                .find(|value| matches!(value, Expr::AsOf(..)))
        {
            return Err(Problem::syntax(
                as_of.span(),
                say!(
                    "UPSERT ... VALUES takes no as-of function",
                    "UPSERT ... VALUES に基準時刻の関数は使えません"
                ),
            )
            .hint(say!(
                "use UPSERT ... SELECT",
                "UPSERT ... SELECT を使ってください"
            )));
        }
        let key_span = self.span();
        if self.eat_word("KEY") {
            self.flow_only(key_span, "UPSERT ... KEY")?;
        } else if !self.eat_words(&["ON", "DUPLICATE"]) {
            return Err(self.unexpected(&say!("KEY (field)", "KEY (フィールド)")));
        }
        let keys = self.parenthesised(Self::field_name)?;
        Self::keys_are_fields(&keys, &fields)?;
        if self.context.flow && keys.len() > 1 {
            return Err(Problem::error(
                code::COMPOSITE_KEY,
                start,
                say!(
                    "an UPSERT key is exactly one field",
                    "UPSERT のキーは 1 フィールドだけ指定できます"
                ),
            )
            .hint(say!(
                "keep a field in the app that joins the key values",
                "キーを連結した値を持つフィールドをアプリに用意してください"
            )));
        }
        Ok(Statement::Upsert {
            target,
            fields,
            source,
            keys,
            inspection: Box::new(self.inspection()?),
        })
    }

    pub(super) fn keys_are_fields(keys: &[Name], fields: &[Name]) -> Parse<()> {
        match keys.iter().find(|key| !fields.contains(key)) {
            None => Ok(()),
            Some(missing) => {
                let name = &missing.text;
                Err(Problem::syntax(
                    missing.span,
                    say!(
                        "the key {name} is not in the field list",
                        "キー {name} がフィールド一覧にありません"
                    ),
                ))
            }
        }
    }

    fn field_list(&mut self) -> Parse<Vec<Name>> {
        let fields = self.parenthesised(Self::field_name)?;
        Self::refuse_repeated(fields.iter())?;
        Ok(fields)
    }

    pub(super) fn refuse_repeated<'n>(names: impl Iterator<Item = &'n Name>) -> Parse<()> {
        let mut seen: Vec<&Name> = Vec::new();
        for name in names {
            if seen.contains(&name) {
                let text = &name.text;
                return Err(Problem::syntax(
                    name.span,
                    say!("{text} is given twice", "{text} が 2 回指定されています"),
                ));
            }
            seen.push(name);
        }
        Ok(())
    }

    fn insert_source(&mut self, width: usize, start: Span) -> Parse<InsertSource> {
        if self.at_query() {
            return self.subquery().map(|query| InsertSource::Query(Box::new(query)));
        }
        if !self.eat_word("VALUES") {
            return Err(self.unexpected(&say!("VALUES or SELECT", "VALUES または SELECT")));
        }
        let rows = self.list(|parser| parser.parenthesised(Self::constant))?;
        if let Some(row) = rows.iter().find(|row| row.len() != width) {
            let found = row.len();
            let span = row.first().map_or(start, Expr::span);
            return Err(Problem::syntax(
                span,
                say!(
                    "{found} values for {width} fields",
                    "{width} フィールドに対して値が {found} 個あります"
                ),
            ));
        }
        Ok(InsertSource::Values(rows))
    }

    /// A value of VALUES: literal, signed number, array, constant CASE or IF, as-of (LNG-147).
    fn constant(&mut self) -> Parse<Expr> {
        let value = self.written_value()?;
        if is_constant(&value) {
            return Ok(value);
        }
        Err(Problem::syntax(
            value.span(),
            say!(
                "VALUES takes literals only, no field, variable or function",
                "VALUES に書けるのはリテラルだけです (フィールド、変数、関数は不可)"
            ),
        )
        .hint(say!(
            "use ... SELECT instead of VALUES",
            "VALUES の代わりに SELECT を使ってください"
        )))
    }

    /// A value to write, in which a number may have a plus, results of CASE and IF included (LNG-47).
    fn written_value(&mut self) -> Parse<Expr> {
        let outer = std::mem::replace(&mut self.in_written_value, true);
        let value = self.value();
        self.in_written_value = outer;
        value
    }

    /// The table that rows to write are taken from: a table of an app is none (LNG-146, LNG-149).
    fn row_source(&mut self) -> Parse<Source> {
        let source = self.source()?;
        if let Table::Subtable(..) = source.table {
            return Err(Problem::syntax(
                source.table.span(),
                say!(
                    "a subtable cannot be the source here",
                    "ここではサブテーブルを元の表にできません"
                ),
            )
            .hint(say!(
                "select its rows into a temp table first",
                "先に一時テーブルへ取り出してください"
            )));
        }
        Ok(source)
    }

    pub(super) fn merge(&mut self) -> Parse<Statement> {
        let start = self.span();
        self.expect_words(&["MERGE", "INTO"])?;
        self.flow_only(start, "MERGE")?;
        let mut target = self.target()?;
        self.expect_word("AS")?;
        target.alias = Some(self.name(&say!("an alias", "別名"))?);
        self.expect_word("USING")?;
        let source = self.row_source()?;
        if source.alias.is_none() {
            return Err(self.unexpected(&say!("AS alias", "AS 別名")));
        }
        self.expect_word("ON")?;
        let (left, _, right) = (self.join_column()?, self.expect_symbol("=")?, self.join_column()?);
        let is_target = |name: Option<&Name>| name.is_some() && name == target.alias.as_ref();
        let (key, source_key) = match (
            is_target(left.qualifier.as_ref()),
            is_target(right.qualifier.as_ref()),
        ) {
            (true, false) => (left.name, right),
            (false, true) => (right.name, left),
            _ => {
                return Err(Problem::syntax(
                    left.span().to(right.span()),
                    say!(
                        "ON compares one field of the target with one column of the source",
                        "ON には更新先のフィールドと元の列の等値を 1 つ書きます"
                    ),
                ));
            }
        };
        self.expect_words(&["WHEN", "MATCHED", "THEN", "UPDATE", "SET"])?;
        let update = self.assignments(target.alias.as_ref())?;
        self.expect_words(&["WHEN", "NOT", "MATCHED", "THEN", "INSERT"])?;
        let fields = self.field_list()?;
        let values_span = self.expect_word("VALUES")?;
        let values = self.parenthesised(Self::written_value)?;
        if values.len() != fields.len() {
            let (found, width) = (values.len(), fields.len());
            return Err(Problem::syntax(
                values_span,
                say!(
                    "{found} values for {width} fields",
                    "{width} フィールドに対して値が {found} 個あります"
                ),
            ));
        }
        let insert: Vec<Assignment> = fields
            .into_iter()
            .zip(values)
            .map(|(field, value)| Assignment { field, value })
            .collect();
        if !insert.iter().any(|assignment| assignment.field == key) {
            let name = &key.text;
            return Err(Problem::syntax(
                values_span,
                say!(
                    "the key {name} is not in the INSERT list",
                    "キー {name} が INSERT のフィールド一覧にありません"
                ),
            ));
        }
        for assignment in &update {
            let name = &assignment.field.text;
            let other = insert.iter().find(|inserted| inserted.field == assignment.field);
            if other.is_some_and(|inserted| differ(&inserted.value, &assignment.value)) {
                return Err(Problem::syntax(
                    assignment.value.span(),
                    say!(
                        "{name} gets different values in UPDATE and INSERT",
                        "{name} に UPDATE と INSERT で異なる値が指定されています"
                    ),
                ));
            }
        }
        let inspection = self.inspection()?;
        Ok(Statement::Merge(Box::new(Merge {
            target,
            source,
            key,
            source_key,
            update,
            insert,
            inspection,
        })))
    }

    /// `field = value {, field = value}`; the field may carry the target's alias or app.
    fn assignments(&mut self, alias: Option<&Name>) -> Parse<Vec<Assignment>> {
        let list = self.list(|parser| {
            let column = parser.column()?;
            if column.qualifier.is_some() && column.qualifier.as_ref() != alias {
                return Err(Problem::syntax(
                    column.span(),
                    say!(
                        "SET names a field of the target",
                        "SET には更新先のフィールドを書きます"
                    ),
                ));
            }
            parser.expect_symbol("=")?;
            Ok(Assignment {
                field: column.name,
                value: parser.written_value()?,
            })
        })?;
        Self::refuse_repeated(list.iter().map(|assignment| &assignment.field))?;
        Ok(list)
    }

    pub(super) fn update(&mut self) -> Parse<Statement> {
        self.expect_word("UPDATE")?;
        let target = self.target()?;
        self.expect_word("SET")?;
        let assignments = self.assignments(Some(&target.app.written))?;
        let from: Option<Source> = if self.eat_word("FROM") {
            Some(self.row_source()?)
        } else {
            None
        };
        let filter = self.required_where("UPDATE")?;
        Ok(Statement::Update {
            target,
            assignments,
            from,
            filter,
            inspection: Box::new(self.inspection()?),
        })
    }

    pub(super) fn delete(&mut self) -> Parse<Statement> {
        self.expect_words(&["DELETE", "FROM"])?;
        let target = self.target()?;
        let filter = self.required_where("DELETE")?;
        Ok(Statement::Delete(target, filter))
    }

    fn required_where(&mut self, statement: &str) -> Parse<crate::flow::sql::ast::Condition> {
        if self.eat_word("WHERE") {
            return self.where_condition();
        }
        Err(self.unexpected(&say!("WHERE", "WHERE")).hint(say!(
            "{statement} without WHERE would touch every record and is refused",
            "WHERE のない {statement} は全レコードが対象になるため実行できません"
        )))
    }
}

/// True for what VALUES may hold.
fn is_constant(value: &Expr) -> bool {
    use crate::flow::sql::ast::{Condition, InList};
    fn constant_condition(condition: &Condition) -> bool {
        match condition {
            Condition::And(parts) | Condition::Or(parts) => parts.iter().all(constant_condition),
            Condition::Not(inner, _) => constant_condition(inner),
            Condition::Compare(left, _, right, _) => is_constant(left) && is_constant(right),
            Condition::Between(left, low, high, _) => {
                is_constant(left) && is_constant(low) && is_constant(high)
            }
            Condition::In {
                left,
                list: InList::Values(values),
                ..
            } => is_constant(left) && values.iter().all(is_constant),
            Condition::Like { left, pattern, .. } => is_constant(left) && is_constant(pattern),
            Condition::IsNull { left, .. } => is_constant(left),
            Condition::In { .. } | Condition::Keyword { .. } | Condition::Exists(..) => false,
        }
    }
    match value {
        Expr::Text(..) | Expr::Number(..) | Expr::Array(..) | Expr::AsOf(..) => true,
        Expr::Case(case, _) => {
            case.branches
                .iter()
                .all(|(condition, result)| constant_condition(condition) && is_constant(result))
                && case.otherwise.as_ref().is_none_or(is_constant)
        }
        _ => false,
    }
}

/// Whether two values are written differently. Two subqueries count as different: they could read different rows.
fn differ(left: &Expr, right: &Expr) -> bool {
    walk::any_value(left, |value| matches!(value, Expr::Subquery(..)))
        || render::expr(left) != render::expr(right)
}
