//! Static rules of INSERT, UPSERT, MERGE, UPDATE and DELETE.

use super::{Checker, query};
use crate::flow::sql::ast::{
    Assignment, Condition, Expr, InsertSource, Inspection, Merge, Name, Query, Source, Target,
};
use crate::flow::sql::diagnostic::Problem;
use crate::flow::sql::message::say;
use crate::flow::sql::position::Span;
use crate::flow::sql::walk::{self, Part};

impl Checker {
    pub(super) fn insert_source(&mut self, fields: &[Name], source: &InsertSource, inspection: &Inspection) {
        if let InsertSource::Query(body) = source {
            self.source_query(fields, body, !inspection.checks.is_empty());
        }
        self.inspection(inspection);
    }

    /// `more`: columns behind those of the fields are there for CHECK.
    fn source_query(&mut self, fields: &[Name], body: &Query, more: bool) {
        self.query(body, &[]);
        if let Some(width) = query::width(&body.first)
            && (width < fields.len() || (width > fields.len() && !more))
        {
            let wanted = fields.len();
            self.report(Problem::syntax(
                body.span,
                say!(
                    "the SELECT has {width} columns for {wanted} fields",
                    "SELECT は {width} 列ですが、フィールドは {wanted} 個です"
                ),
            ));
        }
    }

    pub(super) fn merge(&mut self, merge: &Merge) {
        self.source(&merge.source, &[]);
        for assignment in merge.update.iter().chain(&merge.insert) {
            self.written_value(&assignment.value);
        }
        self.inspection(&merge.inspection);
    }

    pub(super) fn update(
        &mut self,
        target: &Target,
        assignments: &[Assignment],
        from: Option<&Source>,
        filter: &Condition,
    ) {
        if let Some(source) = from {
            self.source(source, &[]);
        }
        for assignment in assignments {
            let own = |qualifier: Option<&Name>| {
                qualifier
                    .is_none_or(|qualifier| qualifier.text.eq_ignore_ascii_case(&target.app.written.text))
            };
            // A bare column of the record itself is refused; one of the FROM source is what UPDATE ... FROM is for.
            if let Expr::Column(column) = &assignment.value
                && own(column.qualifier.as_ref())
            {
                let name = &column.name.text;
                self.report(
                    Problem::syntax(
                        column.span(),
                        say!(
                            "SET x = {name} copies a field, which is refused",
                            "SET x = {name} のようなフィールドの単純コピーはできません"
                        ),
                    )
                    .hint(say!(
                        "write an expression, for example {name} || ''",
                        "{name} || '' のような式にしてください"
                    )),
                );
                continue;
            }
            self.written_value(&assignment.value);
        }
        self.where_condition(filter, &[]);
        self.written_filter(filter);
    }

    /// A value of SET or of a MERGE: no aggregate; arrays may be the value or a result of CASE.
    fn written_value(&mut self, value: &Expr) {
        match value {
            Expr::Array(..) => {}
            Expr::Case(case, _) => {
                for (condition, result) in &case.branches {
                    self.condition(condition, &[]);
                    self.written_value(result);
                }
                if let Some(otherwise) = &case.otherwise {
                    self.written_value(otherwise);
                }
            }
            other => {
                if walk::has_aggregate(other) {
                    self.report(Problem::syntax(
                        other.span(),
                        say!("an aggregate needs a SELECT", "集計関数は SELECT の中で使います"),
                    ));
                }
                self.value(other, &[]);
            }
        }
    }

    /// What decides which records are changed must be a plain comparison of fields (LNG-148, LNG-150).
    pub(super) fn written_filter(&mut self, filter: &Condition) {
        self.written_leaves(filter);
        walk::condition(filter, &mut |part| {
            if let Part::Value(
                value @ (Expr::Call(..) | Expr::Case(..) | Expr::Chain(..) | Expr::Concat(..)),
            ) = part
            {
                self.refuse_written(value.span(), "an expression", "式");
            }
        });
    }

    fn written_leaves(&mut self, filter: &Condition) {
        match filter {
            Condition::And(parts) | Condition::Or(parts) => {
                for part in parts {
                    self.written_leaves(part);
                }
            }
            Condition::Not(inner, _) => self.written_leaves(inner),
            Condition::Like { span, .. } => self.refuse_written(*span, "LIKE", "LIKE"),
            Condition::Exists(_, span) => self.refuse_written(*span, "EXISTS", "EXISTS"),
            Condition::Compare(..)
            | Condition::Between(..)
            | Condition::In { .. }
            | Condition::Keyword { .. }
            | Condition::IsNull { .. } => {}
        }
    }

    fn refuse_written(&mut self, span: Span, english: &str, japanese: &str) {
        self.report(
            Problem::syntax(
                span,
                say!(
                    "{english} cannot decide which records are written",
                    "{japanese} は更新・削除の条件に使えません"
                ),
            )
            .hint(say!(
                "select the keys into a temp table first and use IN (SELECT ...)",
                "先に一時テーブルへキーを取り出し、IN (SELECT ...) を使ってください"
            )),
        );
    }
}
