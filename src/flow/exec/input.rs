//! The sources of a SELECT opened for reading: which fields are fetched and where each column is found (LNG-191).

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use serde_json::Value;

use crate::flow::apps::{AppId, Page, decode};
use crate::flow::plan::scalar::ColumnId;
use crate::flow::plan::scope::{Access, Origin, SUBTABLE_COLUMNS, ScopeSource};
use crate::flow::plan::types::{ColumnInfo, Type};
use crate::flow::sql::message::say;

use super::EngineError;
use super::eval::Row;
use super::relation::Relation;
use super::scan::{ReadLimit, Reader, Scan, id_of};

/// Where each column of a source's schema is in the rows that are read.
pub(in crate::flow) type ColumnMap = Arc<[Option<usize>]>;

/// Takes rows until it breaks.
pub(in crate::flow) type RowSink<'s> = &'s mut dyn FnMut(&dyn Row) -> Result<ControlFlow<()>, EngineError>;

/// Takes rows with their record numbers until it breaks.
pub(in crate::flow) type RecordSink<'s> =
    &'s mut dyn FnMut(u64, &dyn Row) -> Result<ControlFlow<()>, EngineError>;

/// A row of a page as the only source.
#[derive(Clone, Copy)]
pub(in crate::flow) struct PageRow<'p> {
    pub page: &'p Page,
    pub row: usize,
    pub map: &'p [Option<usize>],
}

impl Row for PageRow<'_> {
    fn cell(&self, id: ColumnId) -> &str {
        match self.map.get(id.column) {
            Some(Some(column)) => self.page.cell(self.row, *column),
            _ => "",
        }
    }
}

/// A source that is ready to be read.
pub(in crate::flow) enum Input {
    /// Records of an app.
    Records { scan: Scan, map: ColumnMap },
    /// Rows of a table in an app's records.
    Rows {
        scan: Scan,
        table: Subtable,
        map: ColumnMap,
    },
    /// A table in memory.
    Memory(Arc<Relation>),
}

/// How a record of an app becomes rows of one of its tables.
pub(in crate::flow) struct Subtable {
    /// Page column of the table's JSON.
    json: usize,
    /// What each column of the expanded rows is.
    columns: Vec<SubtableColumn>,
}

enum SubtableColumn {
    ParentId,
    RowId,
    Index,
    Child(String),
    Parent(usize),
}

impl Input {
    /// Opens a source for the columns that are needed.
    pub fn open(
        source: &ScopeSource,
        needed: &BTreeSet<usize>,
        memory: &dyn Fn(&Origin) -> Option<Arc<Relation>>,
    ) -> Result<Self, EngineError> {
        match &source.origin {
            Origin::App(app) => {
                let (fields, map) = projection(source, needed, |access| access == Access::Own);
                Ok(Self::Records {
                    scan: scan(*app, fields),
                    map: map.into(),
                })
            }
            Origin::Subtable(app, code) => {
                let (mut fields, parents) = projection(source, needed, |access| access == Access::Parent);
                let json = fields
                    .iter()
                    .position(|field| field == code)
                    .unwrap_or(fields.len());
                if json == fields.len() {
                    fields.push(code.clone());
                }
                let mut columns = Vec::new();
                let mut map = vec![None; source.columns.len()];
                for column in needed {
                    let Some(found) = source.columns.get(*column) else {
                        continue;
                    };
                    let place = match found.access {
                        Access::Parent => match parents.get(*column) {
                            Some(Some(field)) => SubtableColumn::Parent(*field),
                            _ => continue,
                        },
                        _ => match SUBTABLE_COLUMNS
                            .iter()
                            .position(|(name, _)| *name == found.info.name)
                        {
                            Some(0) => SubtableColumn::ParentId,
                            Some(1) => SubtableColumn::RowId,
                            Some(2) => SubtableColumn::Index,
                            _ => SubtableColumn::Child(found.info.name.clone()),
                        },
                    };
                    if let Some(slot) = map.get_mut(*column) {
                        *slot = Some(columns.len());
                    }
                    columns.push(place);
                }
                Ok(Self::Rows {
                    scan: scan(*app, fields),
                    table: Subtable { json, columns },
                    map: map.into(),
                })
            }
            origin => memory(origin).map(Self::Memory).ok_or_else(|| {
                EngineError::argument(say!(
                    "a table in FROM does not exist any more",
                    "FROM の表がもう存在しません"
                ))
            }),
        }
    }

    /// The scan of an app's records.
    pub(super) fn scan(&self) -> Option<&Scan> {
        match self {
            Self::Records { scan, .. } | Self::Rows { scan, .. } => Some(scan),
            Self::Memory(_) => None,
        }
    }

    /// Sets the condition that kintone applies.
    pub fn set_condition(&mut self, condition: String) {
        if let Self::Records { scan, .. } = self {
            scan.condition = condition;
        }
    }

    /// Calls `each` for every row until it breaks.
    pub fn each_row(&self, reader: &mut Reader<'_>, each: RowSink<'_>) -> Result<(), EngineError> {
        match self {
            Self::Records { scan, map } => reader.scan(scan, &mut |page| page_rows(page, map, each)),
            Self::Rows { scan, table, map } => {
                let mut rows = Page::new(table.columns.len());
                reader.scan(scan, &mut |page| {
                    table.expand(page, &mut rows)?;
                    page_rows(&rows, map, each)
                })
            }
            Self::Memory(relation) => {
                for row in 0..relation.rows() {
                    let row = super::relation::RelationRow { relation, row };
                    if each(&row)?.is_break() {
                        break;
                    }
                }
                Ok(())
            }
        }
    }

    /// Like [`Input::each_row`], with the record number of every row.
    pub fn each_record(&self, reader: &mut Reader<'_>, each: RecordSink<'_>) -> Result<(), EngineError> {
        let Self::Records { scan, map } = self else {
            return Ok(());
        };
        reader.scan(scan, &mut |page| {
            for row in 0..page.rows() {
                let id = id_of(page, row)?;
                if each(id, &PageRow { page, row, map })?.is_break() {
                    return Ok(ControlFlow::Break(()));
                }
            }
            Ok(ControlFlow::Continue(()))
        })
    }

    /// Reads only records that one of several conditions lets pass; no record passes two of them.
    pub fn materialise_narrowed(
        mut self,
        reader: &mut Reader<'_>,
        conditions: &[String],
    ) -> Result<(Arc<Relation>, Option<ColumnMap>), EngineError> {
        let base = match &self {
            Self::Records { scan, .. } => scan.condition.clone(),
            _ => return self.materialise(reader),
        };
        let mut all: Option<(Relation, Option<ColumnMap>)> = None;
        for condition in conditions {
            self.set_condition(crate::flow::plan::push::and(condition, &base));
            let (part, map) = self.read_all(reader)?;
            match &mut all {
                None => all = Some((part, map)),
                Some((rows, _)) => rows.append(&part)?,
            }
        }
        let (rows, map) = all.unwrap_or_default();
        Ok((Arc::new(rows), map))
    }

    /// Reads everything into memory; the second part maps the source's columns to the table's.
    pub fn materialise(
        self,
        reader: &mut Reader<'_>,
    ) -> Result<(Arc<Relation>, Option<ColumnMap>), EngineError> {
        if let Self::Memory(relation) = self {
            return Ok((relation, None));
        }
        self.read_all(reader)
            .map(|(relation, map)| (Arc::new(relation), map))
    }

    fn read_all(&self, reader: &mut Reader<'_>) -> Result<(Relation, Option<ColumnMap>), EngineError> {
        let width = match self {
            Self::Memory(relation) => return Ok((Relation::clone(relation), None)),
            Self::Records { scan, .. } => scan.fields.len(),
            Self::Rows { table, .. } => table.columns.len(),
        };
        let columns = (0..width).map(|_| ColumnInfo::exact("", Type::Text)).collect();
        let mut relation = Relation::new(columns);
        let mut keep = |page: &Page| -> Result<ControlFlow<()>, EngineError> {
            for row in 0..page.rows() {
                relation.push_row((0..page.width()).map(|column| page.cell(row, column)))?;
            }
            Ok(ControlFlow::Continue(()))
        };
        let map = match self {
            Self::Memory(_) => None,
            Self::Records { scan, map } => {
                reader.scan(scan, &mut keep)?;
                Some(Arc::clone(map))
            }
            Self::Rows { scan, table, map } => {
                let mut rows = Page::new(table.columns.len());
                reader.scan(scan, &mut |page| {
                    table.expand(page, &mut rows)?;
                    keep(&rows)
                })?;
                Some(Arc::clone(map))
            }
        };
        Ok((relation, map))
    }
}

fn scan(app: AppId, fields: Vec<String>) -> Scan {
    Scan {
        app,
        condition: String::new(),
        fields,
        limit: ReadLimit::Always,
        at_most: None,
        partial: false,
    }
}

/// `$id` and the needed fields, each once, and where each column of the schema is among them.
fn projection(
    source: &ScopeSource,
    needed: &BTreeSet<usize>,
    wanted: impl Fn(Access) -> bool,
) -> (Vec<String>, Vec<Option<usize>>) {
    let mut fields = vec!["$id".to_owned()];
    let mut map = vec![None; source.columns.len()];
    for column in needed {
        let Some(found) = source.columns.get(*column).filter(|found| wanted(found.access)) else {
            continue;
        };
        let code = &found.info.name;
        let place = fields.iter().position(|field| field == code).unwrap_or_else(|| {
            fields.push(code.clone());
            fields.len() - 1
        });
        if let Some(slot) = map.get_mut(*column) {
            *slot = Some(place);
        }
    }
    (fields, map)
}

pub(in crate::flow) fn page_rows(
    page: &Page,
    map: &[Option<usize>],
    each: RowSink<'_>,
) -> Result<ControlFlow<()>, EngineError> {
    for row in 0..page.rows() {
        if each(&PageRow { page, row, map })?.is_break() {
            return Ok(ControlFlow::Break(()));
        }
    }
    Ok(ControlFlow::Continue(()))
}

impl Subtable {
    /// One row per row of the table; `_idx` counts from 0 in each record (LNG-05).
    fn expand(&self, page: &Page, rows: &mut Page) -> Result<(), EngineError> {
        rows.reset(self.columns.len());
        for record in 0..page.rows() {
            let json = page.cell(record, self.json);
            if json.is_empty() {
                continue;
            }
            let table: Value = serde_json::from_str(json).map_err(|error| {
                EngineError::argument(say!(
                    "a table cell cannot be read: {error}",
                    "テーブルの値を読み取れません: {error}"
                ))
            })?;
            for (index, row) in table.as_array().into_iter().flatten().enumerate() {
                for (place, column) in self.columns.iter().enumerate() {
                    match column {
                        SubtableColumn::ParentId => rows.push(place, page.cell(record, 0))?,
                        SubtableColumn::RowId => {
                            rows.push_with(place, |cell| {
                                decode::value(row.get("id").unwrap_or(&Value::Null), cell);
                            })?;
                        }
                        SubtableColumn::Index => rows.push(place, &index.to_string())?,
                        SubtableColumn::Parent(field) => rows.push(place, page.cell(record, *field))?,
                        SubtableColumn::Child(code) => {
                            let value = row
                                .get("value")
                                .and_then(|cells| cells.get(code))
                                .and_then(|cell| cell.get("value"));
                            rows.push_with(place, |cell| decode::value(value.unwrap_or(&Value::Null), cell))?;
                        }
                    }
                }
                rows.end_row()?;
            }
        }
        Ok(())
    }
}
