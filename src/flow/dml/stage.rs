//! Rows that are ready to be written: all converted, none sent.

use std::borrow::Cow;

use crate::flow::apps::{AppId, FieldType, NumberPrecision, TextColumn, WriteValue};
use crate::flow::exec::eval::{Evaluator, NoRow, Row};
use crate::flow::exec::pulse::Pulse;
use crate::flow::exec::{EngineError, Relation};
use crate::flow::plan::scalar::{ColumnId, Scalar};
use crate::flow::sql::message::{self, say};
use crate::flow::value::{canonical_number, is_number};

use super::Dml;
use super::bind::Rows;
use super::convert::{Conversion, write_value};
use super::fault::{Fault, demanded};
use super::inspect::{BoundInspection, Findings, Stage};
use super::target::TargetField;

/// Converted cells of the rows to write, field by field.
pub(super) struct Staged<'f> {
    pub fields: &'f [TargetField],
    cells: Vec<TextColumn>,
    pub rows: usize,
}

impl<'f> Staged<'f> {
    pub fn new(fields: &'f [TargetField]) -> Self {
        Self {
            fields,
            cells: fields.iter().map(|_| TextColumn::new()).collect(),
            rows: 0,
        }
    }

    /// Converts a row, tests it against the form and adds it; each text comes with whether it is a list already.
    pub fn push<'t>(
        &mut self,
        conversion: Conversion<'_>,
        row: impl IntoIterator<Item = (&'t str, bool)>,
    ) -> Result<(), EngineError> {
        for ((field, column), (text, list)) in self.fields.iter().zip(&mut self.cells).zip(row) {
            column.push(&acceptable(conversion, field, text, list)?)?;
        }
        self.rows += 1;
        Ok(())
    }

    /// The same; what is wrong with a cell, or why there is none, is noted and the row keeps its place.
    pub fn push_inspected<'t>(
        &mut self,
        conversion: Conversion<'_>,
        row: impl IntoIterator<Item = Result<(&'t str, bool), Fault>>,
        findings: &mut Findings,
    ) -> Result<(), EngineError> {
        for ((field, column), computed) in self.fields.iter().zip(&mut self.cells).zip(row) {
            let text = computed.as_ref().map_or("", |(text, _)| text);
            match computed.and_then(|(text, list)| acceptable(conversion, field, text, list)) {
                Ok(cell) => column.push(&cell)?,
                Err(fault) => {
                    findings.add(self.rows, Stage::Value, &field.code, &fault, text);
                    column.push("")?;
                }
            }
        }
        self.rows += 1;
        Ok(())
    }

    /// Drops rows.
    pub fn retain(&mut self, keep: impl Fn(usize) -> bool) -> Result<(), EngineError> {
        for column in &mut self.cells {
            let mut kept = TextColumn::new();
            for row in (0..self.rows).filter(|row| keep(*row)) {
                kept.push(column.get(row))?;
            }
            *column = kept;
        }
        self.rows = (0..self.rows).filter(|row| keep(*row)).count();
        Ok(())
    }

    /// A converted cell.
    pub fn cell(&self, row: usize, field: usize) -> &str {
        self.cells.get(field).map_or("", |column| column.get(row))
    }

    /// Values of a row for the fields that `wanted` chooses.
    pub fn values(&self, row: usize, wanted: impl Fn(usize) -> bool) -> Vec<WriteValue> {
        self.fields
            .iter()
            .enumerate()
            .filter(|(place, _)| wanted(*place))
            .map(|(place, field)| write_value(field.kind, self.cell(row, place)))
            .collect()
    }

    /// Codes of the fields that `wanted` chooses.
    pub fn codes(&self, wanted: impl Fn(usize) -> bool) -> Vec<String> {
        self.fields
            .iter()
            .enumerate()
            .filter(|(place, _)| wanted(*place))
            .map(|(_, field)| field.code.clone())
            .collect()
    }

    /// A row as names and cells, for previews.
    pub fn row(&self, row: usize, wanted: impl Fn(usize) -> bool) -> Vec<(String, String)> {
        self.fields
            .iter()
            .enumerate()
            .filter(|(place, _)| wanted(*place))
            .map(|(place, field)| (field.code.clone(), self.cell(row, place).to_owned()))
            .collect()
    }

    /// The key of a row in one spelling: texts as they are, numbers normalised (LNG-143).
    pub fn key(&self, row: usize, keys: &[usize]) -> Vec<String> {
        keys.iter()
            .map(|place| {
                let numeric = self
                    .fields
                    .get(*place)
                    .is_some_and(|field| field.kind == FieldType::Number);
                normal_key(self.cell(row, *place), numeric)
            })
            .collect()
    }
}

/// The cell to write, as kintone will take it.
fn acceptable<'t>(
    conversion: Conversion<'_>,
    field: &TargetField,
    text: &'t str,
    list: bool,
) -> Result<Cow<'t, str>, Fault> {
    let cell = conversion.cell(field, text, list)?;
    demanded(field, &cell)?;
    Ok(cell)
}

/// A key in one spelling.
pub(super) fn normal_key(cell: &str, numeric: bool) -> String {
    if numeric && is_number(cell) {
        canonical_number(cell).into_owned()
    } else {
        cell.to_owned()
    }
}

/// The rows of a statement's source, computed.
pub(super) enum SourceRows {
    Values(Vec<Vec<(String, bool)>>),
    Relation { relation: Relation, lists: Vec<bool> },
}

impl SourceRows {
    fn rows(&self) -> usize {
        match self {
            Self::Values(rows) => rows.len(),
            Self::Relation { relation, .. } => relation.rows(),
        }
    }

    /// Names and values of the key fields of a row; empty without keys.
    fn key(&self, row: usize, fields: &[TargetField], keys: &[usize]) -> String {
        let parts: Vec<String> = keys
            .iter()
            .filter_map(|place| {
                let code = &fields.get(*place)?.code;
                let value = message::value(code, self.cell(row, *place).0);
                Some(format!("{code} = {value}"))
            })
            .collect();
        parts.join(", ")
    }

    /// A cell and whether it is a list already.
    fn cell(&self, row: usize, column: usize) -> (&str, bool) {
        match self {
            Self::Values(rows) => rows
                .get(row)
                .and_then(|row| row.get(column))
                .map_or(("", false), |(text, list)| (text.as_str(), *list)),
            Self::Relation { relation, lists } => (
                relation.cell(row, column),
                lists.get(column).copied().unwrap_or(false),
            ),
        }
    }
}

/// Staged rows with what was found out about them.
pub(super) struct Inspected<'f> {
    pub staged: Staged<'f>,
    pub findings: Findings,
    source: SourceRows,
}

impl<'f> Inspected<'f> {
    /// The findings with the cells of the wrong rows as they came; the source is dropped.
    pub fn parts(mut self) -> (Staged<'f>, Findings) {
        let width = self.staged.fields.len();
        self.findings.fill(|row| {
            (0..width)
                .map(|column| self.source.cell(row, column).0.to_owned())
                .collect()
        });
        (self.staged, self.findings)
    }
}

/// One of them, as its checks see it.
struct SourceRow<'s> {
    source: &'s SourceRows,
    row: usize,
}

impl Row for SourceRow<'_> {
    fn cell(&self, id: ColumnId) -> &str {
        self.source.cell(self.row, id.column).0
    }
}

impl Dml<'_, '_> {
    /// Computes, converts and checks all rows before any is written. Without checks the first wrong row is an error.
    pub(super) fn stage<'f>(
        &mut self,
        app: AppId,
        fields: &'f [TargetField],
        rows: &Rows,
        keys: &[usize],
        inspection: &BoundInspection,
    ) -> Result<Inspected<'f>, EngineError> {
        let source = self.source_rows(rows)?;
        let zone = self.config.as_of.zone().clone();
        let precision = self.precision(app, fields, source.rows() > 0)?;
        let conversion = Conversion {
            zone: &zone,
            precision,
        };
        let (mut staged, mut findings) = (Staged::new(fields), Findings::default());
        let in_row = |error, row| in_row(error, row, &source.key(row, fields, keys));
        let mut evaluator = Evaluator::new();
        let mut pulse = Pulse::rows(self.reader.observer());
        for row in 0..source.rows() {
            pulse.beat()?;
            let cells = (0..fields.len()).map(|column| source.cell(row, column));
            if inspection.isolates() {
                staged.push_inspected(conversion, cells.map(Ok), &mut findings)?;
            } else {
                staged
                    .push(conversion, cells)
                    .map_err(|error| in_row(error, row))?;
            }
            let seen = SourceRow { source: &source, row };
            inspection
                .check(&mut evaluator, row, &seen, &mut findings)
                .map_err(|error| in_row(error, row))?;
        }
        Ok(Inspected {
            staged,
            findings,
            source,
        })
    }

    fn source_rows(&mut self, rows: &Rows) -> Result<SourceRows, EngineError> {
        match rows {
            Rows::Values(rows) => {
                let mut evaluator = Evaluator::new();
                let mut texts = Vec::with_capacity(rows.len());
                for row in rows {
                    let cells = row
                        .iter()
                        .map(|value| written(&mut evaluator, value, &NoRow, &|_| false));
                    texts.push(cells.collect::<Result<_, _>>()?);
                }
                Ok(SourceRows::Values(texts))
            }
            Rows::Query(query) => {
                let relation = self.executor().query(query)?;
                self.refuse_incomplete()?;
                let lists = relation
                    .columns()
                    .iter()
                    .map(|column| column.kind.is_multi_value())
                    .collect();
                Ok(SourceRows::Relation { relation, lists })
            }
        }
    }

    /// The app's number precision, if numbers are going to be written.
    pub(super) fn precision(
        &mut self,
        app: AppId,
        fields: &[TargetField],
        any_rows: bool,
    ) -> Result<Option<NumberPrecision>, EngineError> {
        if any_rows && needs_precision(fields) {
            return self.world.precision(app).map(Some);
        }
        Ok(None)
    }
}

/// Whether the app's number precision must be known before such fields are written.
pub(in crate::flow) fn needs_precision(fields: &[TargetField]) -> bool {
    fields.iter().any(|field| field.kind == FieldType::Number)
}

/// The text of a value to write and whether it is a list: arrays are, also as the result of CASE.
pub(super) fn written(
    evaluator: &mut Evaluator,
    value: &Scalar,
    row: &dyn Row,
    is_list: &dyn Fn(ColumnId) -> bool,
) -> Result<(String, bool), EngineError> {
    match value {
        Scalar::List(elements) => Ok((elements.join("\n"), true)),
        Scalar::Column(id) => Ok((row.cell(*id).to_owned(), is_list(*id))),
        Scalar::Case(branches, otherwise) => {
            for (test, result) in branches {
                if evaluator.test(test, row)? {
                    return written(evaluator, result, row, is_list);
                }
            }
            match otherwise {
                Some(result) => written(evaluator, result, row, is_list),
                None => Ok((String::new(), false)),
            }
        }
        other => Ok((evaluator.text(other, row)?.into_owned(), false)),
    }
}

/// Names the source row, and its key, of a value that does not fit.
fn in_row(error: EngineError, row: usize, key: &str) -> EngineError {
    let number = row + 1;
    if key.is_empty() {
        return error.context(&say!("source row {number}", "元データの {number} 行目"));
    }
    error.context(&say!(
        "source row {number} ({key})",
        "元データの {number} 行目 ({key})"
    ))
}
