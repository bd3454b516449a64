//! The strict CSV reader (RNR-131): RFC 4180 with a header, and no repair of anything else.

use std::collections::HashSet;
use std::fmt;
use std::num::NonZeroUsize;

/// Most columns of a file.
pub const MAX_COLUMNS: usize = 1_000;

/// A file read completely: one text for all cells, so that a row costs no allocation of its own.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Table {
    header: Vec<String>,
    text: String,
    /// End of each cell in `text`, row after row.
    ends: Vec<usize>,
}

impl Table {
    /// The column names, distinct and not empty.
    pub fn header(&self) -> &[String] {
        &self.header
    }

    /// Number of records after the header.
    pub fn rows(&self) -> usize {
        self.ends.len() / self.header.len()
    }

    /// The cell of a record and a column, both 0-based; `''` outside the table.
    pub fn cell(&self, row: usize, column: usize) -> &str {
        let at = row * self.header.len() + column;
        let Some(end) = self.ends.get(at).filter(|_| column < self.header.len()) else {
            return "";
        };
        let start = at.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[start..*end]
    }
}

/// Where a file breaks the rules.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CsvError {
    /// 1-based line of the file.
    pub line: usize,
    /// What is wrong there.
    pub problem: Problem,
}

/// What is wrong with a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// No header: the file is empty.
    NoHeader,
    /// A column without name.
    UnnamedColumn(NonZeroUsize),
    /// A name that stands twice in the header.
    DuplicateColumn(String),
    /// More than [`MAX_COLUMNS`].
    TooManyColumns,
    /// A record with another number of cells than the header.
    CellCount {
        /// Cells of this record.
        found: usize,
        /// Cells of the header.
        expected: usize,
    },
    /// A quote inside a cell that does not begin with one.
    StrayQuote,
    /// Something other than a comma or a line end after a closing quote.
    AfterQuote,
    /// A quoted cell that is never closed; the line is where it begins.
    Unclosed,
    /// A carriage return without line feed outside quotes.
    LoneCarriageReturn,
    /// A NUL character.
    Nul,
}

/// Reads a whole file.
///
/// # Errors
/// [`CsvError`] at the first rule it breaks.
pub fn parse(text: &str) -> Result<Table, CsvError> {
    let mut scan = Scan { rest: text, line: 1 };
    let mut header_text = String::new();
    let mut ends = Vec::new();
    if text.is_empty() {
        return Err(scan.error(Problem::NoHeader));
    }
    scan.record(&mut header_text, &mut ends)?;
    let header = names(&header_text, &ends).map_err(|problem| CsvError { line: 1, problem })?;

    let mut table = Table {
        header,
        text: String::with_capacity(scan.rest.len()),
        ends: Vec::new(),
    };
    while !scan.rest.is_empty() {
        let (line, before) = (scan.line, table.ends.len());
        scan.record(&mut table.text, &mut table.ends)?;
        let (found, expected) = (table.ends.len() - before, table.header.len());
        if found != expected {
            let problem = Problem::CellCount { found, expected };
            return Err(CsvError { line, problem });
        }
    }
    Ok(table)
}

fn names(text: &str, ends: &[usize]) -> Result<Vec<String>, Problem> {
    if ends.len() > MAX_COLUMNS {
        return Err(Problem::TooManyColumns);
    }
    let mut seen = HashSet::new();
    let mut start = 0;
    let mut names = Vec::with_capacity(ends.len());
    for (number, end) in (1..).zip(ends) {
        let name = &text[start..*end];
        start = *end;
        if name.is_empty() {
            return Err(NonZeroUsize::new(number).map_or(Problem::NoHeader, Problem::UnnamedColumn));
        }
        if !seen.insert(name) {
            return Err(Problem::DuplicateColumn(name.to_owned()));
        }
        names.push(name.to_owned());
    }
    Ok(names)
}

struct Scan<'a> {
    rest: &'a str,
    line: usize,
}

impl Scan<'_> {
    /// Reads one record with its line end; appends the cells to `text` and their ends to `ends`.
    fn record(&mut self, text: &mut String, ends: &mut Vec<usize>) -> Result<(), CsvError> {
        loop {
            if self.rest.starts_with('"') {
                self.quoted(text)?;
            } else {
                self.plain(text)?;
            }
            ends.push(text.len());
            match self.rest.as_bytes() {
                [] => return Ok(()),
                [b',', ..] => self.rest = &self.rest[1..],
                [b'\r', b'\n', ..] => {
                    self.end_line(2);
                    return Ok(());
                }
                [b'\n', ..] => {
                    self.end_line(1);
                    return Ok(());
                }
                [b'\r', ..] => return Err(self.error(Problem::LoneCarriageReturn)),
                _ => return Err(self.error(Problem::AfterQuote)),
            }
        }
    }

    fn end_line(&mut self, length: usize) {
        self.rest = &self.rest[length..];
        self.line += 1;
    }

    fn plain(&mut self, text: &mut String) -> Result<(), CsvError> {
        let end = self
            .rest
            .find([',', '\r', '\n', '"', '\0'])
            .unwrap_or(self.rest.len());
        text.push_str(&self.rest[..end]);
        self.rest = &self.rest[end..];
        match self.rest.as_bytes().first() {
            Some(b'"') => Err(self.error(Problem::StrayQuote)),
            Some(0) => Err(self.error(Problem::Nul)),
            _ => Ok(()),
        }
    }

    fn quoted(&mut self, text: &mut String) -> Result<(), CsvError> {
        let opening = self.line;
        self.rest = &self.rest[1..];
        loop {
            let Some(end) = self.rest.find('"') else {
                let problem = Problem::Unclosed;
                return Err(CsvError {
                    line: opening,
                    problem,
                });
            };
            let piece = &self.rest[..end];
            if let Some(at) = piece.find('\0') {
                self.line += piece[..at].matches('\n').count();
                return Err(self.error(Problem::Nul));
            }
            text.push_str(piece);
            self.line += piece.matches('\n').count();
            self.rest = &self.rest[end + 1..];
            if !self.rest.starts_with('"') {
                return Ok(());
            }
            text.push('"');
            self.rest = &self.rest[1..];
        }
    }

    fn error(&self, problem: Problem) -> CsvError {
        CsvError {
            line: self.line,
            problem,
        }
    }
}

impl fmt::Display for CsvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match &self.problem {
            Problem::NoHeader => f.write_str("the file is empty; its first line must name the columns"),
            Problem::UnnamedColumn(number) => write!(f, "column {number} has no name"),
            Problem::DuplicateColumn(name) => write!(f, "column '{name}' is named twice"),
            Problem::TooManyColumns => write!(f, "more than {MAX_COLUMNS} columns"),
            Problem::CellCount { found, expected } => {
                write!(f, "{found} cells, but the header has {expected}")
            }
            Problem::StrayQuote => {
                f.write_str("a quote inside an unquoted cell; quote the cell and double the quote")
            }
            Problem::AfterQuote => f.write_str("text after a closing quote"),
            Problem::Unclosed => f.write_str("a quoted cell begins here and is never closed"),
            Problem::LoneCarriageReturn => f.write_str("a carriage return without line feed"),
            Problem::Nul => f.write_str("a NUL character"),
        }
    }
}

impl std::error::Error for CsvError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells(text: &str) -> Vec<Vec<String>> {
        let table = parse(text).unwrap();
        let width = table.header().len();
        let row = |r| (0..width).map(|c| table.cell(r, c).to_owned()).collect();
        std::iter::once(table.header().to_vec())
            .chain((0..table.rows()).map(row))
            .collect()
    }

    #[test]
    fn records_cells_and_line_ends() {
        assert_eq!(cells("a,b\r\n1,2\r\n"), [["a", "b"], ["1", "2"]]);
        assert_eq!(cells("a,b\n1,2"), [["a", "b"], ["1", "2"]]);
        assert_eq!(cells("a,b\n,\n"), [["a", "b"], ["", ""]]);
        assert_eq!(cells("a\n\n"), [["a"], [""]]);
        assert_eq!(
            cells("\"x,y\",b\n\"1\r\n\"\"2\"\"\",\"\""),
            [["x,y", "b"], ["1\r\n\"2\"", ""]]
        );
        assert_eq!(parse("a,b\n").unwrap().rows(), 0);
        assert_eq!(parse("a,b\n1,2\n").unwrap().cell(0, 2), "");
        assert_eq!(parse("a,b\n1,2\n").unwrap().cell(1, 0), "");
    }

    #[test]
    fn everything_else_is_refused_with_its_line() {
        for (text, line, problem) in [
            ("", 1, Problem::NoHeader),
            ("a,,c\n", 1, Problem::UnnamedColumn(NonZeroUsize::new(2).unwrap())),
            ("a,a\n", 1, Problem::DuplicateColumn("a".into())),
            (
                "a,b\n1\n",
                2,
                Problem::CellCount {
                    found: 1,
                    expected: 2,
                },
            ),
            (
                "a\n\"1\n2\"\n1,2\n",
                4,
                Problem::CellCount {
                    found: 2,
                    expected: 1,
                },
            ),
            (
                "a,b\n1,2\n\n",
                3,
                Problem::CellCount {
                    found: 1,
                    expected: 2,
                },
            ),
            ("a\nx\"y\n", 2, Problem::StrayQuote),
            ("a\n\"x\"y\n", 2, Problem::AfterQuote),
            ("a\n\"x\n\n", 2, Problem::Unclosed),
            ("a\rb\n", 1, Problem::LoneCarriageReturn),
            ("a\n\"x\"\ry", 2, Problem::LoneCarriageReturn),
            ("a\nx\0\n", 2, Problem::Nul),
            ("a\n\"\n\0\"\n", 3, Problem::Nul),
        ] {
            assert_eq!(parse(text), Err(CsvError { line, problem }), "{text:?}");
        }
        let wide = vec!["x"; MAX_COLUMNS + 1].join(",");
        assert_eq!(parse(&wide).unwrap_err().problem, Problem::TooManyColumns);
    }
}
