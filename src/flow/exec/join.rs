//! Hash joins (LNG-26, LNG-27): all sources in memory, rows as tuples of row numbers, one level after the other.

use std::collections::HashMap;
use std::sync::Arc;

use crate::flow::plan::query::BoundJoin;
use crate::flow::plan::scalar::ColumnId;
use crate::flow::sql::ast::JoinKind;
use crate::flow::sql::message::say;
use crate::flow::value::{canonical_number, is_number};

use super::EngineError;
use super::config::Observer;
use super::eval::Row;
use super::input::ColumnMap;
use super::memory::MAX_ROWS;
use super::pulse::Pulse;
use super::relation::Relation;

/// The most rows of a CROSS JOIN step (LNG-27).
const MAX_CROSS_ROWS: usize = 10_000;
/// The number of a row that an outer join did not find.
const MISSING: u32 = u32::MAX;

/// A source in memory.
pub(in crate::flow) struct JoinTable {
    pub relation: Arc<Relation>,
    pub map: Option<ColumnMap>,
}

impl JoinTable {
    pub(in crate::flow) fn cell(&self, row: u32, column: usize) -> &str {
        if row == MISSING {
            return "";
        }
        match &self.map {
            None => self.relation.cell(row as usize, column),
            Some(map) => match map.get(column) {
                Some(Some(place)) => self.relation.cell(row as usize, *place),
                _ => "",
            },
        }
    }

    pub(in crate::flow) fn rows(&self) -> usize {
        self.relation.rows()
    }
}

/// Joined rows: for each, the row number in every source.
pub(super) struct Joined<'t> {
    tables: &'t [JoinTable],
    width: usize,
    tuples: Vec<u32>,
}

/// One joined row.
pub(super) struct JoinedRow<'j> {
    tables: &'j [JoinTable],
    ids: &'j [u32],
}

impl Row for JoinedRow<'_> {
    fn cell(&self, id: ColumnId) -> &str {
        match (self.tables.get(id.source), self.ids.get(id.source)) {
            (Some(table), Some(row)) => table.cell(*row, id.column),
            _ => "",
        }
    }
}

impl<'t> Joined<'t> {
    /// The first source alone.
    pub fn first(tables: &'t [JoinTable]) -> Self {
        let rows = tables.first().map_or(0, JoinTable::rows);
        Self {
            tables,
            width: 1,
            tuples: (0..rows as u32).collect(),
        }
    }

    /// All rows in order.
    pub fn rows(&self) -> impl Iterator<Item = JoinedRow<'_>> {
        self.tuples.chunks_exact(self.width).map(|ids| JoinedRow {
            tables: self.tables,
            ids,
        })
    }

    fn len(&self) -> usize {
        self.tuples.len() / self.width
    }

    /// Joins the next source.
    pub fn join(self, join: &BoundJoin, observer: &dyn Observer) -> Result<Self, EngineError> {
        let Some(table) = self.tables.get(self.width) else {
            return Ok(self);
        };
        match join.on {
            None => self.cross(table),
            Some((earlier, joined)) => self.hash(join, (earlier, joined), table, observer),
        }
    }

    fn cross(self, table: &JoinTable) -> Result<Self, EngineError> {
        let rows = self.len().saturating_mul(table.rows());
        if rows > MAX_CROSS_ROWS {
            return Err(EngineError::argument(say!(
                "CROSS JOIN would make {rows} rows, more than {MAX_CROSS_ROWS}",
                "CROSS JOIN の行数 {rows} が上限 {MAX_CROSS_ROWS} を超えます"
            )));
        }
        let mut tuples = Vec::with_capacity(rows * (self.width + 1));
        for ids in self.tuples.chunks_exact(self.width) {
            for row in 0..table.rows() as u32 {
                tuples.extend_from_slice(ids);
                tuples.push(row);
            }
        }
        Ok(Self {
            width: self.width + 1,
            tuples,
            ..self
        })
    }

    fn hash(
        self,
        join: &BoundJoin,
        (earlier, joined): (ColumnId, ColumnId),
        table: &JoinTable,
        observer: &dyn Observer,
    ) -> Result<Self, EngineError> {
        let mut pulse = Pulse::tight(observer);
        let mut index: HashMap<String, Vec<u32>> = HashMap::new();
        for row in 0..table.rows() as u32 {
            pulse.beat()?;
            index
                .entry(key(table.cell(row, joined.column), join.numeric))
                .or_default()
                .push(row);
        }
        let width = self.width + 1;
        let mut matched = vec![
            false;
            if join.kind == JoinKind::Right {
                table.rows()
            } else {
                0
            }
        ];
        let mut tuples = Vec::new();
        for ids in self.tuples.chunks_exact(self.width) {
            let cell = JoinedRow {
                tables: self.tables,
                ids,
            }
            .cell(earlier)
            .to_owned();
            // A row that an outer join left out has no key: it meets nothing.
            let absent = ids.get(earlier.source) == Some(&MISSING);
            let found = if absent {
                None
            } else {
                index.get(&key(&cell, join.numeric))
            };
            pulse.beat()?;
            for row in found.into_iter().flatten() {
                tuples.extend_from_slice(ids);
                tuples.push(*row);
                if let Some(flag) = matched.get_mut(*row as usize) {
                    *flag = true;
                }
            }
            if found.is_none() && join.kind == JoinKind::Left {
                tuples.extend_from_slice(ids);
                tuples.push(MISSING);
            }
            if tuples.len() > MAX_ROWS * width {
                return Err(EngineError::argument(say!(
                    "the join makes more than {MAX_ROWS} rows; check its keys",
                    "結合結果が {MAX_ROWS} 行を超えます。結合キーを確認してください"
                )));
            }
        }
        for (row, _) in matched.iter().enumerate().filter(|(_, matched)| !**matched) {
            tuples.extend(std::iter::repeat_n(MISSING, self.width));
            tuples.push(row as u32);
        }
        Ok(Self {
            width,
            tuples,
            ..self
        })
    }
}

/// Keys are equal texts; numbers are equal whatever their spelling (LNG-26, LNG-43).
fn key(cell: &str, numeric: bool) -> String {
    if numeric && is_number(cell) {
        canonical_number(cell).into_owned()
    } else {
        cell.to_owned()
    }
}
