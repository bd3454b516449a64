//! Rows that are ready to be written: all converted, none sent.

use crate::flow::apps::{FieldType, TextColumn, WriteValue};
use crate::flow::exec::eval::{Evaluator, NoRow, Row};
use crate::flow::exec::{EngineError, Relation};
use crate::flow::plan::scalar::{ColumnId, Scalar};
use crate::flow::sql::message::say;
use crate::flow::value::{canonical_number, is_number};

use super::Dml;
use super::bind::Rows;
use super::convert::{Conversion, write_value};
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

    /// Converts and adds a row; each text comes with whether it is a list already.
    pub fn push<'t>(
        &mut self,
        conversion: Conversion<'_>,
        row: impl IntoIterator<Item = (&'t str, bool)>,
    ) -> Result<(), EngineError> {
        for ((field, column), (text, list)) in self.fields.iter().zip(&mut self.cells).zip(row) {
            column.push(&conversion.cell(field, text, list)?)?;
        }
        self.rows += 1;
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

/// A key in one spelling.
pub(super) fn normal_key(cell: &str, numeric: bool) -> String {
    if numeric && is_number(cell) {
        canonical_number(cell).into_owned()
    } else {
        cell.to_owned()
    }
}

impl Dml<'_, '_> {
    /// Computes, converts and checks all rows before any is written.
    pub(super) fn stage<'f>(
        &mut self,
        app: crate::flow::apps::AppId,
        fields: &'f [TargetField],
        rows: &Rows,
    ) -> Result<Staged<'f>, EngineError> {
        let mut staged = Staged::new(fields);
        match rows {
            Rows::Values(rows) => {
                let zone = self.config.as_of.zone().clone();
                let precision = self.precision(app, fields, !rows.is_empty())?;
                let conversion = Conversion {
                    zone: &zone,
                    precision,
                };
                let mut evaluator = Evaluator::new();
                for (number, row) in rows.iter().enumerate() {
                    let mut texts = Vec::with_capacity(row.len());
                    for value in row {
                        texts.push(written(&mut evaluator, value, &NoRow, &|_| false)?);
                    }
                    let cells = texts.iter().map(|(text, list)| (text.as_str(), *list));
                    staged
                        .push(conversion, cells)
                        .map_err(|error| in_row(error, number))?;
                }
            }
            Rows::Query(query) => {
                let relation = self.executor().query(query)?;
                self.refuse_incomplete()?;
                let zone = self.config.as_of.zone().clone();
                let precision = self.precision(app, fields, relation.rows() > 0)?;
                stage_relation(
                    &mut staged,
                    Conversion {
                        zone: &zone,
                        precision,
                    },
                    &relation,
                )?;
            }
        }
        Ok(staged)
    }

    /// The app's number precision, if numbers are going to be written.
    pub(super) fn precision(
        &mut self,
        app: crate::flow::apps::AppId,
        fields: &[TargetField],
        any_rows: bool,
    ) -> Result<Option<crate::flow::apps::NumberPrecision>, EngineError> {
        if any_rows && fields.iter().any(|field| field.kind == FieldType::Number) {
            return self.world.precision(app).map(Some);
        }
        Ok(None)
    }
}

fn stage_relation(
    staged: &mut Staged<'_>,
    conversion: Conversion<'_>,
    relation: &Relation,
) -> Result<(), EngineError> {
    let lists: Vec<bool> = relation
        .columns()
        .iter()
        .map(|column| column.kind.is_multi_value())
        .collect();
    for row in 0..relation.rows() {
        let cells = lists
            .iter()
            .enumerate()
            .map(|(column, list)| (relation.cell(row, column), *list));
        staged
            .push(conversion, cells)
            .map_err(|error| in_row(error, row))?;
    }
    Ok(())
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

/// Names the source row of a value that does not fit.
fn in_row(error: EngineError, row: usize) -> EngineError {
    let number = row + 1;
    error.context(&say!("source row {number}", "元データの {number} 行目"))
}
