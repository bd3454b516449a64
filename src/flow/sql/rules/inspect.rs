//! Static rules of CHECK, VALIDATE ONLY, ON ERROR SKIP and IMPORT (LNG-153).

use super::Checker;
use crate::flow::sql::ast::{Disposal, Import, Inspection, Item, Mapping, Name};
use crate::flow::sql::diagnostic::Problem;
use crate::flow::sql::message::say;
use crate::flow::sql::position::Span;
use crate::flow::sql::walk::{self, Part};

impl Checker {
    pub(super) fn import(&mut self, import: &Import) {
        if let Mapping::Select(items) = &import.file.mapping {
            for item in items {
                if let Item::Expr(value, _) = item {
                    self.value(value, &[]);
                }
            }
        }
        self.inspection(&import.inspection);
    }

    pub(super) fn inspection(&mut self, inspection: &Inspection) {
        for (condition, message) in inspection.checks.iter().flat_map(|block| &block.branches) {
            let mut found: Option<Span> = None;
            let mut look = |part: Part<'_>| {
                found = found.or(match part {
                    Part::Query(query) => Some(query.span),
                    Part::Value(value) if walk::has_aggregate(value) => Some(value.span()),
                    _ => None,
                });
            };
            walk::condition(condition, &mut look);
            walk::value(message, &mut look);
            if let Some(span) = found {
                self.report(Problem::syntax(
                    span,
                    say!(
                        "CHECK looks at one row: no subquery, no aggregate",
                        "CHECK は 1 行ずつ調べます。副問い合わせと集計関数は使えません"
                    ),
                ));
                continue;
            }
            self.condition(condition, &[]);
            self.value(message, &[]);
        }
        if let Some(into) = inspection.disposal.table() {
            self.error_table(into);
        }
        if let Disposal::Skip { .. } = inspection.disposal
            && self.options.statements < 2
        {
            self.report(Problem::syntax(
                self.statement,
                say!(
                    "ON ERROR SKIP needs a script of several statements: nobody would look at the errors",
                    "ON ERROR SKIP は複数の文からなるスクリプトで使います (エラー行を調べる文が必要です)"
                ),
            ));
        }
    }

    /// Statements may put their errors into one table; a table of another kind is not overwritten.
    fn error_table(&mut self, into: &Name) {
        if !self.error_tables.contains(&into.text) {
            self.create_temp(into);
            self.error_tables.insert(into.text.clone());
        }
    }
}
