//! Cells of one page, column by column, without an allocation per cell.

use std::fmt;

/// A column's text would pass 4 GiB, the most that its offsets can address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ArenaFull;

impl fmt::Display for ArenaFull {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("one column holds more than 4 GiB of text")
    }
}

impl std::error::Error for ArenaFull {}

/// A column of texts: one arena and the end of every cell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextColumn {
    arena: String,
    ends: Vec<u32>,
}

impl TextColumn {
    /// An empty column.
    pub fn new() -> Self {
        Self::default()
    }

    /// Number of cells.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// True without a cell.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The cell of a row; empty for a row that does not exist.
    pub fn get(&self, row: usize) -> &str {
        let Some(&end) = self.ends.get(row) else { return "" };
        let start = if row == 0 {
            0
        } else {
            self.ends.get(row - 1).copied().unwrap_or(0)
        };
        self.arena.get(start as usize..end as usize).unwrap_or("")
    }

    /// Appends a cell.
    pub fn push(&mut self, cell: &str) -> Result<(), ArenaFull> {
        self.arena.push_str(cell);
        self.end_cell()
    }

    /// Appends a cell that `write` produces at the end of the arena.
    pub fn push_with(&mut self, write: impl FnOnce(&mut String)) -> Result<(), ArenaFull> {
        write(&mut self.arena);
        self.end_cell()
    }

    /// Bytes that the column holds, for memory limits.
    pub fn bytes(&self) -> usize {
        self.arena.len() + self.ends.len() * size_of::<u32>()
    }

    /// Drops all cells, keeps the memory.
    pub fn clear(&mut self) {
        self.arena.clear();
        self.ends.clear();
    }

    /// All cells in order.
    pub fn iter(&self) -> impl Iterator<Item = &str> {
        (0..self.len()).map(|row| self.get(row))
    }

    fn end_cell(&mut self) -> Result<(), ArenaFull> {
        if let Ok(end) = u32::try_from(self.arena.len()) {
            self.ends.push(end);
            return Ok(());
        }
        let start = self.ends.last().copied().unwrap_or(0);
        self.arena.truncate(start as usize);
        Err(ArenaFull)
    }
}

/// One page of records: a column per requested field.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Page {
    columns: Vec<TextColumn>,
    rows: usize,
    /// Rows at the beginning that are hidden.
    skipped: usize,
    /// Number of all matching records, when it was asked for.
    pub total_count: Option<u64>,
    /// kintone cut a keyword search short (LNG-181).
    pub search_aborted: bool,
}

impl Page {
    /// An empty page of `width` columns.
    pub fn new(width: usize) -> Self {
        let mut page = Self::default();
        page.reset(width);
        page
    }

    /// Makes the page empty with `width` columns; memory of earlier columns is reused.
    pub fn reset(&mut self, width: usize) {
        self.columns.resize_with(width, TextColumn::new);
        for column in &mut self.columns {
            column.clear();
        }
        self.rows = 0;
        self.skipped = 0;
        self.total_count = None;
        self.search_aborted = false;
    }

    /// Number of columns.
    pub fn width(&self) -> usize {
        self.columns.len()
    }

    /// Number of complete rows.
    pub fn rows(&self) -> usize {
        self.rows - self.skipped
    }

    /// A cell; empty outside the page.
    pub fn cell(&self, row: usize, column: usize) -> &str {
        self.columns
            .get(column)
            .map_or("", |cells| cells.get(self.skipped + row))
    }

    /// Hides the first `count` of the visible rows.
    pub fn skip_rows(&mut self, count: usize) {
        self.skipped += count.min(self.rows());
    }

    /// Sets the next cell of a column in the row being built. A second value for one cell of one row is ignored.
    pub fn push(&mut self, column: usize, cell: &str) -> Result<(), ArenaFull> {
        self.push_with(column, |arena| arena.push_str(cell))
    }

    /// Like [`Page::push`], for a cell that is written piece by piece.
    pub fn push_with(&mut self, column: usize, write: impl FnOnce(&mut String)) -> Result<(), ArenaFull> {
        match self.columns.get_mut(column) {
            Some(cells) if cells.len() == self.rows => cells.push_with(write),
            _ => Ok(()),
        }
    }

    /// Ends the row being built: cells that were not set are empty.
    pub fn end_row(&mut self) -> Result<(), ArenaFull> {
        self.rows += 1;
        for cells in &mut self.columns {
            if cells.len() < self.rows {
                cells.push("")?;
            }
        }
        Ok(())
    }

    /// Appends a complete row; missing cells are empty, surplus ones are ignored.
    pub fn push_row<'a>(&mut self, cells: impl IntoIterator<Item = &'a str>) -> Result<(), ArenaFull> {
        for (column, cell) in cells.into_iter().enumerate() {
            self.push(column, cell)?;
        }
        self.end_row()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_may_leave_cells_out() {
        let mut page = Page::new(3);
        page.push(1, "b").unwrap();
        page.push(1, "ignored").unwrap();
        page.end_row().unwrap();
        page.push_row(["x", "", "z", "surplus"]).unwrap();
        assert_eq!(page.rows(), 2);
        assert_eq!((page.cell(0, 0), page.cell(0, 1), page.cell(0, 2)), ("", "b", ""));
        assert_eq!(
            (page.cell(1, 0), page.cell(1, 1), page.cell(1, 2)),
            ("x", "", "z")
        );
        assert_eq!(page.cell(2, 0), "");
        assert_eq!(page.cell(0, 3), "");
        page.skip_rows(1);
        assert_eq!((page.rows(), page.cell(0, 0), page.cell(1, 0)), (1, "x", ""));
        page.skip_rows(5);
        assert_eq!(page.rows(), 0);
        page.reset(1);
        assert_eq!((page.rows(), page.width(), page.cell(0, 0)), (0, 1, ""));
    }
}
