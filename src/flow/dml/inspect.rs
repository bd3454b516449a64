//! CHECK, VALIDATE ONLY and ON ERROR SKIP (LNG-153): which rows are wrong, and what becomes of them.

use std::collections::{BTreeMap, BTreeSet};
use std::convert::Infallible;
use std::sync::Arc;

use crate::flow::exec::eval::{Evaluator, Row};
use crate::flow::exec::{DEFAULT_MAX_TEMP_ROWS, EngineError, Relation};
use crate::flow::plan::bind::Binder;
use crate::flow::plan::filter::Filter;
use crate::flow::plan::scalar::{ColumnId, Scalar};
use crate::flow::plan::scope::Scope;
use crate::flow::plan::types::{ColumnInfo, Type};
use crate::flow::sql::ast::{Disposal, Inspection};
use crate::flow::sql::message::{self, Language, Message, say};

use super::fault::{self, Fault};
use super::stage::Staged;
use super::{Dml, Done};

/// Columns of an error table behind those of the written fields.
const ERROR_COLUMNS: [&str; 10] = [
    "$err_statement",
    "$err_operation",
    "$err_row",
    "$err_field",
    "$err_code",
    "$err_message",
    "$err_value",
    "$err_subtable",
    "$err_subrow",
    "$err_subrow_id",
];
/// Texts in error tables are data of the job, not of the screen: they do not follow the caller's language.
const ERROR_LANGUAGE: Language = Language::Japanese;

/// The checks of a statement with their names resolved.
#[derive(Default)]
pub(in crate::flow) struct BoundInspection {
    /// In each block the first condition that holds gives the message.
    checks: Vec<Vec<(Filter, Scalar)>>,
    disposal: Disposal,
}

impl BoundInspection {
    /// Resolves the checks against the rows that the statement reads.
    pub fn bind(
        binder: &mut Binder<'_>,
        scope: &Scope,
        inspection: &Inspection,
    ) -> Result<Self, EngineError> {
        let mut checks = Vec::with_capacity(inspection.checks.len());
        for block in &inspection.checks {
            let mut branches = Vec::with_capacity(block.branches.len());
            for (condition, message) in &block.branches {
                let condition = binder.where_condition(scope, condition)?;
                branches.push((condition, binder.row_value(scope, message)?.0));
            }
            checks.push(branches);
        }
        Ok(Self {
            checks,
            disposal: inspection.disposal.clone(),
        })
    }

    /// The statement says nothing about its rows.
    pub fn is_plain(&self) -> bool {
        self.checks.is_empty() && !self.isolates()
    }

    /// Wrong rows are told apart instead of failing the statement.
    pub fn isolates(&self) -> bool {
        !matches!(self.disposal, Disposal::Refuse)
    }

    /// Nothing is written at all.
    pub fn only_validates(&self) -> bool {
        matches!(self.disposal, Disposal::ValidateOnly(_))
    }

    /// The temp table that takes the errors.
    pub fn table(&self) -> Option<&str> {
        self.disposal.table().map(|name| name.text.as_str())
    }

    /// Columns that the checks look at.
    pub fn columns(&self, into: &mut Vec<ColumnId>) {
        for (condition, message) in self.checks.iter().flatten() {
            condition.columns(into);
            message.columns(into);
        }
    }

    /// The same checks over rows that have the columns elsewhere.
    pub fn moved(self, place: &dyn Fn(ColumnId) -> Option<ColumnId>) -> Self {
        let mut column = |part: &Scalar| -> Result<Option<Scalar>, Infallible> {
            Ok(match part {
                Scalar::Column(id) => place(*id).map(Scalar::Column),
                _ => None,
            })
        };
        let mut moved = |(condition, message): &(Filter, Scalar)| {
            let (Ok(condition), Ok(message)) = (condition.map(&mut column), message.map(&mut column));
            (condition, message)
        };
        let checks = &self.checks;
        Self {
            checks: checks
                .iter()
                .map(|block| block.iter().map(&mut moved).collect())
                .collect(),
            disposal: self.disposal,
        }
    }

    /// Adds what the checks find in a row.
    pub(super) fn check(
        &self,
        evaluator: &mut Evaluator,
        number: usize,
        row: &dyn Row,
        findings: &mut Findings,
    ) -> Result<(), EngineError> {
        for block in &self.checks {
            for (condition, message) in block {
                if evaluator.test(condition, row)? {
                    let text = evaluator.text(message, row)?;
                    // A message that takes something from the row may show any of its values.
                    let text = match message {
                        Scalar::Text(_) => text.into_owned(),
                        _ => message::unknown(&text).to_string(),
                    };
                    let fault = Fault::new(fault::CHECK, Message::verbatim(text));
                    findings.add(number, Stage::Check, "", &fault, "");
                    break;
                }
            }
        }
        Ok(())
    }
}

/// The columns of an error table for these written columns.
pub(in crate::flow) fn error_columns(payload: &[ColumnInfo]) -> Vec<ColumnInfo> {
    let own = ERROR_COLUMNS.map(|name| {
        let number = matches!(name, "$err_statement" | "$err_row");
        ColumnInfo::exact(name, if number { Type::Number } else { Type::Text })
    });
    payload.iter().cloned().chain(own).collect()
}

/// What found something, in the order in which it is told for one row.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stage {
    Value,
    Key,
    Check,
}

struct Finding {
    row: usize,
    stage: Stage,
    field: String,
    code: &'static str,
    message: Message,
    value: String,
}

/// Everything that is wrong with the rows of a statement.
#[derive(Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
    /// Cells of the wrong rows as they came, by row from 0.
    payloads: BTreeMap<usize, Vec<String>>,
}

impl Findings {
    pub fn add(&mut self, row: usize, stage: Stage, field: &str, fault: &Fault, value: &str) {
        self.payloads.entry(row).or_default();
        self.list.push(Finding {
            row,
            stage,
            field: field.to_owned(),
            code: fault.code,
            message: fault.message.clone(),
            value: value.to_owned(),
        });
    }

    /// Adds the fields that a new record must have but does not get from the row.
    pub fn add_missing(&mut self, row: usize, unwritten: &[String]) {
        for code in unwritten {
            self.add(row, Stage::Value, code, &Fault::required(code), "");
        }
    }

    /// Sets the cells of the wrong rows.
    pub fn fill(&mut self, cells: impl Fn(usize) -> Vec<String>) {
        for (row, payload) in &mut self.payloads {
            *payload = cells(*row);
        }
    }

    /// Sets the cells of a row if it is wrong.
    pub fn keep(&mut self, row: usize, cells: impl FnOnce() -> Vec<String>) {
        if let Some(payload) = self.payloads.get_mut(&row) {
            *payload = cells();
        }
    }

    pub fn wrong_rows(&self) -> BTreeSet<usize> {
        self.payloads.keys().copied().collect()
    }

    pub fn is_wrong(&self, row: usize) -> bool {
        self.payloads.contains_key(&row)
    }
}

impl Dml<'_, '_> {
    /// Refuses the statement, or puts the wrong rows where it wants them.
    pub(super) fn settle(
        &mut self,
        inspection: &BoundInspection,
        (operation, checked): (&str, usize),
        payload: &[ColumnInfo],
        mut findings: Findings,
        done: &mut Done,
    ) -> Result<(), EngineError> {
        findings.list.sort_by_key(|finding| (finding.row, finding.stage));
        let wrong = findings.payloads.len() as u64;
        match &inspection.disposal {
            Disposal::Refuse => return findings.list.first().map_or(Ok(()), |first| Err(refused(first))),
            Disposal::Skip {
                reject_limit: Some(limit),
                ..
            } if wrong > *limit => {
                let first = findings
                    .list
                    .first()
                    .map_or_else(|| Message::verbatim(""), |first| refused(first).line());
                return Err(EngineError::coded(
                    "RejectLimitExceededError",
                    first.put(|language, first| match language {
                        Language::English => format!(
                            "{wrong} rows are wrong, REJECT LIMIT allows {limit}; nothing was written; the first: {first}"
                        ),
                        Language::Japanese => format!(
                            "エラー行が {wrong} 行あり、REJECT LIMIT {limit} を超えています。何も書き込んでいません。最初のエラー: {first}"
                        ),
                    }),
                ));
            }
            _ => {}
        }
        let errors = self.errors(operation, payload, &findings)?;
        done.wrong_rows = Some(wrong);
        if inspection.only_validates() {
            done.found_wrong = Some(wrong);
            if wrong > 0 {
                self.world.note(say!(
                    "of {checked} rows that were checked, {wrong} are wrong; nothing was written",
                    "検査した {checked} 行のうち {wrong} 行にエラーがあります。何も書き込んでいません"
                ));
            }
        }
        if let (Disposal::Skip { into, .. }, 1..) = (&inspection.disposal, wrong) {
            let table = &into.text;
            self.world.note(say!(
                "{wrong} rows with errors were put aside into #{table}",
                "エラーのある {wrong} 行を #{table} に分けました"
            ));
        }
        match inspection.table() {
            Some(table) => self.keep_errors(table, errors)?,
            None => done.errors = Some(errors),
        }
        Ok(())
    }

    /// Takes the wrong rows out; false if nothing is to be written.
    pub(super) fn sort_out(
        &mut self,
        inspection: &BoundInspection,
        operation: &str,
        payload: &[ColumnInfo],
        staged: &mut Staged<'_>,
        findings: Findings,
        done: &mut Done,
    ) -> Result<bool, EngineError> {
        if inspection.is_plain() {
            return Ok(true);
        }
        let wrong = findings.wrong_rows();
        self.settle(inspection, (operation, staged.rows), payload, findings, done)?;
        if inspection.only_validates() {
            return Ok(false);
        }
        if !wrong.is_empty() {
            staged.retain(|row| !wrong.contains(&row))?;
        }
        Ok(true)
    }

    fn errors(
        &self,
        operation: &str,
        payload: &[ColumnInfo],
        findings: &Findings,
    ) -> Result<Relation, EngineError> {
        let mut errors = Relation::new(error_columns(payload));
        let statement = (self.statement + 1).to_string();
        for finding in &findings.list {
            let number = (finding.row + 1).to_string();
            let own = [
                statement.as_str(),
                operation,
                &number,
                &finding.field,
                finding.code,
                finding.message.text(ERROR_LANGUAGE),
                &finding.value,
                "",
                "",
                "",
            ];
            let cells = findings.payloads.get(&finding.row).map_or(&[][..], Vec::as_slice);
            let written = (0..payload.len()).map(|place| cells.get(place).map_or("", String::as_str));
            errors.push_row(written.chain(own))?;
        }
        Ok(errors)
    }

    /// Puts errors into a temp table, behind those of earlier statements with the same columns.
    fn keep_errors(&mut self, table: &str, errors: Relation) -> Result<(), EngineError> {
        let mut all = errors;
        if let Some(earlier) = self.world.temps.get(table) {
            if earlier.columns() != all.columns() {
                return Err(other_columns(table));
            }
            let mut joined = Relation::clone(earlier);
            joined.append(&all)?;
            all = joined;
        }
        let limit = self.config.max_temp_rows.unwrap_or(DEFAULT_MAX_TEMP_ROWS);
        let rows = all.rows() as u64;
        if rows > limit {
            return Err(EngineError::argument(say!(
                "the errors would be {rows} rows in #{table}, more than {limit} (limits.maxTempRows); nothing was written",
                "#{table} のエラー行数 {rows} が上限 {limit} (limits.maxTempRows) を超えています。何も書き込んでいません"
            )));
        }
        self.world.temps.insert(table.to_owned(), Arc::new(all));
        Ok(())
    }
}

/// The error for a table that holds errors of other fields already.
pub(in crate::flow) fn other_columns(table: &str) -> EngineError {
    EngineError::argument(say!(
        "#{table} holds errors with other columns; use another table",
        "#{table} には列の異なるエラーが入っています。別の一時テーブルを使ってください"
    ))
}

fn refused(finding: &Finding) -> EngineError {
    let number = finding.row + 1;
    EngineError::argument(finding.message.put(|language, text| match language {
        Language::English => format!("source row {number}: {text}; nothing was written"),
        Language::Japanese => format!("元データの {number} 行目: {text}。何も書き込んでいません"),
    }))
}
