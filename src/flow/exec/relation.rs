//! Rows that stay in memory: results, temp tables, common table expressions.

use crate::flow::apps::{ArenaFull, TextColumn};
use crate::flow::plan::scalar::ColumnId;
use crate::flow::plan::types::ColumnInfo;

use super::eval::Row;

/// A table of cells, column by column.
#[derive(Clone, Debug, Default)]
pub struct Relation {
    columns: Vec<ColumnInfo>,
    cells: Vec<TextColumn>,
    rows: usize,
}

impl Relation {
    /// An empty table.
    pub fn new(columns: Vec<ColumnInfo>) -> Self {
        let cells = columns.iter().map(|_| TextColumn::new()).collect();
        Self {
            columns,
            cells,
            rows: 0,
        }
    }

    /// A table of complete columns; all have the same number of cells.
    pub(super) fn from_cells(columns: Vec<ColumnInfo>, cells: Vec<TextColumn>, rows: usize) -> Self {
        debug_assert!(cells.iter().all(|column| column.len() == rows));
        Self { columns, cells, rows }
    }

    /// Names and types.
    pub fn columns(&self) -> &[ColumnInfo] {
        &self.columns
    }

    /// Number of rows.
    pub fn rows(&self) -> usize {
        self.rows
    }

    /// A cell; empty outside the table.
    pub fn cell(&self, row: usize, column: usize) -> &str {
        self.cells.get(column).map_or("", |cells| cells.get(row))
    }

    /// Bytes in memory.
    pub fn bytes(&self) -> usize {
        self.cells.iter().map(TextColumn::bytes).sum()
    }

    /// Appends a row; missing cells are empty.
    pub(in crate::flow) fn push_row<'c>(
        &mut self,
        cells: impl IntoIterator<Item = &'c str>,
    ) -> Result<(), ArenaFull> {
        let mut given = cells.into_iter();
        for column in &mut self.cells {
            column.push(given.next().unwrap_or(""))?;
        }
        self.rows += 1;
        Ok(())
    }

    /// Appends the rows of another table by position.
    pub(in crate::flow) fn append(&mut self, other: &Self) -> Result<(), ArenaFull> {
        for row in 0..other.rows {
            self.push_row((0..self.cells.len()).map(|column| other.cell(row, column)))?;
        }
        Ok(())
    }

    /// The rows of these numbers, in this order.
    pub(super) fn gather(&self, rows: &[u32]) -> Result<Self, ArenaFull> {
        let mut cells = Vec::with_capacity(self.cells.len());
        for column in &self.cells {
            let mut gathered = TextColumn::new();
            for row in rows {
                gathered.push(column.get(*row as usize))?;
            }
            cells.push(gathered);
        }
        Ok(Self {
            columns: self.columns.clone(),
            cells,
            rows: rows.len(),
        })
    }

    /// The same rows with other column descriptions.
    pub(super) fn described(mut self, columns: Vec<ColumnInfo>) -> Self {
        self.cells.truncate(columns.len());
        self.columns = columns;
        self
    }

    /// Puts another column in the place of one.
    pub(super) fn replace(&mut self, place: usize, column: TextColumn) {
        debug_assert_eq!(column.len(), self.rows);
        if let Some(cells) = self.cells.get_mut(place) {
            *cells = column;
        }
    }

    /// A text that is equal for rows that are equal in their first `width` cells.
    pub(super) fn row_key(&self, row: usize, width: usize) -> String {
        let mut key = String::new();
        for column in 0..width {
            push_key(&mut key, self.cell(row, column));
        }
        key
    }
}

/// Appends a cell to a composite key so that no two lists of cells give the same text.
pub(super) fn push_key(key: &mut String, cell: &str) {
    use std::fmt::Write;
    let _ = write!(key, "{}:", cell.len());
    key.push_str(cell);
}

/// A row of a table as the only source.
#[derive(Clone, Copy, Debug)]
pub(super) struct RelationRow<'r> {
    pub(super) relation: &'r Relation,
    pub(super) row: usize,
}

impl Row for RelationRow<'_> {
    fn cell(&self, id: ColumnId) -> &str {
        self.relation.cell(self.row, id.column)
    }
}
