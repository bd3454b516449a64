//! CSV bytes (RNR-133): header always, CRLF after every record, quotes only where needed, no byte order mark.

use std::collections::HashSet;
use std::fmt;

use super::source::sha256_hex;
use super::{Encoding, EncodingError};
use crate::flow::calendar::{Zone, datetime_in_zone};
use crate::flow::value::plain_decimal;

/// Longest plain form of a number, in characters.
pub const MAX_NUMBER_CHARS: usize = 1_024;

/// Largest file.
pub const MAX_FILE_BYTES: usize = 256 * 1024 * 1024;

/// How the cells of a column are written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CellKind {
    /// As they are: texts, DATE, TIME, and selections, whose cells are joined with line feeds already.
    Text,
    /// NUMBER and CALC: exponent forms become plain decimals.
    Number,
    /// DATETIME and the two time stamps: with the offset of the export zone, if there is one.
    DateTime,
    /// SUBTABLE: refused.
    Subtable,
    /// FILE: refused.
    File,
}

/// A column of an export.
#[derive(Clone, Debug)]
pub struct Column {
    /// The name in the header.
    pub name: String,
    /// How its cells are written.
    pub kind: CellKind,
}

/// Builds one file in memory; nothing touches the disk before all files of a run are complete (RNR-134).
#[derive(Debug)]
pub struct Writer<'a> {
    columns: &'a [Column],
    zone: Option<&'a Zone>,
    text: String,
    rows: u64,
}

/// A complete file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Serialised {
    /// The content.
    pub bytes: Vec<u8>,
    /// SHA-256 of the content, 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Records after the header.
    pub rows: u64,
    /// The encoding.
    pub encoding: Encoding,
}

/// Why a file cannot be written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ExportError {
    /// Two columns of one name.
    DuplicateColumn(String),
    /// A SUBTABLE or FILE column.
    UnsupportedColumn(String),
    /// A number whose plain form exceeds [`MAX_NUMBER_CHARS`].
    NumberTooLong {
        /// The column.
        column: String,
        /// 1-based record.
        row: u64,
    },
    /// A record with another number of cells than columns.
    CellCount {
        /// 1-based record.
        row: u64,
    },
    /// More than [`MAX_FILE_BYTES`].
    TooLarge,
    /// A character that the encoding does not have.
    Encoding(EncodingError),
}

impl<'a> Writer<'a> {
    /// Begins with the header.
    ///
    /// # Errors
    /// [`ExportError`] for a repeated name or a column that CSV cannot hold.
    pub fn new(columns: &'a [Column], zone: Option<&'a Zone>) -> Result<Self, ExportError> {
        let mut names = HashSet::new();
        for column in columns {
            if matches!(column.kind, CellKind::Subtable | CellKind::File) {
                return Err(ExportError::UnsupportedColumn(column.name.clone()));
            }
            if !names.insert(&column.name) {
                return Err(ExportError::DuplicateColumn(column.name.clone()));
            }
        }
        let mut writer = Self {
            columns,
            zone,
            text: String::new(),
            rows: 0,
        };
        for (i, column) in columns.iter().enumerate() {
            writer.push(i, &column.name);
        }
        writer.text.push_str("\r\n");
        Ok(writer)
    }

    /// Adds one record.
    ///
    /// # Errors
    /// [`ExportError`] for a number that is too long, a wrong number of cells, or a file over the limit.
    pub fn row<'c>(&mut self, cells: impl IntoIterator<Item = &'c str>) -> Result<(), ExportError> {
        self.rows += 1;
        let columns = self.columns;
        let mut count = 0;
        for cell in cells {
            let Some(column) = columns.get(count) else {
                return Err(ExportError::CellCount { row: self.rows });
            };
            match column.kind {
                CellKind::Number => {
                    let plain =
                        plain_decimal(cell, MAX_NUMBER_CHARS).ok_or_else(|| ExportError::NumberTooLong {
                            column: column.name.clone(),
                            row: self.rows,
                        })?;
                    self.push(count, &plain);
                }
                CellKind::DateTime => match self.zone {
                    Some(zone) => self.push(count, &datetime_in_zone(cell, zone)),
                    None => self.push(count, cell),
                },
                CellKind::Text | CellKind::Subtable | CellKind::File => self.push(count, cell),
            }
            count += 1;
        }
        if count != columns.len() {
            return Err(ExportError::CellCount { row: self.rows });
        }
        self.text.push_str("\r\n");
        if self.text.len() > MAX_FILE_BYTES {
            return Err(ExportError::TooLarge);
        }
        Ok(())
    }

    /// Encodes the file.
    ///
    /// # Errors
    /// [`ExportError::Encoding`] naming the first character that Shift_JIS does not keep.
    pub fn finish(self, encoding: Encoding) -> Result<Serialised, ExportError> {
        let bytes = encoding.encode(self.text).map_err(ExportError::Encoding)?;
        Ok(Serialised {
            sha256: sha256_hex(&bytes),
            bytes,
            rows: self.rows,
            encoding,
        })
    }

    fn push(&mut self, column: usize, cell: &str) {
        if column > 0 {
            self.text.push(',');
        }
        if cell.contains(['"', ',', '\r', '\n']) {
            self.text.push('"');
            for (i, piece) in cell.split('"').enumerate() {
                if i > 0 {
                    self.text.push_str("\"\"");
                }
                self.text.push_str(piece);
            }
            self.text.push('"');
        } else {
            self.text.push_str(cell);
        }
    }
}

impl fmt::Display for ExportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::DuplicateColumn(name) => {
                write!(f, "column '{name}' occurs twice; give one of them another alias")
            }
            Self::UnsupportedColumn(name) => {
                write!(
                    f,
                    "column '{name}' is a table or a file and cannot be written as CSV; leave it out"
                )
            }
            Self::NumberTooLong { column, row } => write!(
                f,
                "record {row}, column '{column}': the number needs more than {MAX_NUMBER_CHARS} characters"
            ),
            Self::CellCount { row } => write!(f, "record {row} does not have one cell per column"),
            Self::TooLarge => write!(f, "the file is larger than {MAX_FILE_BYTES} bytes"),
            Self::Encoding(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ExportError {}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(kinds: &[(&str, CellKind)]) -> Vec<Column> {
        let column = |(name, kind): &(&str, CellKind)| Column {
            name: (*name).to_owned(),
            kind: *kind,
        };
        kinds.iter().map(column).collect()
    }

    #[test]
    fn bytes_of_a_file() {
        let columns = columns(&[
            ("名", CellKind::Text),
            ("量,\"", CellKind::Number),
            ("時", CellKind::DateTime),
        ]);
        let tokyo = Zone::named("Asia/Tokyo").unwrap();
        let mut writer = Writer::new(&columns, Some(&tokyo)).unwrap();
        writer.row(["A\nB", "1.10", "2026-08-01T00:00:00Z"]).unwrap();
        writer.row(["", "1e3", ""]).unwrap();
        writer
            .row(["x\"y", "-2.5E-3", "2026-08-01T00:00:00.250Z"])
            .unwrap();
        let file = writer.finish(Encoding::Utf8).unwrap();
        assert_eq!(
            String::from_utf8(file.bytes).unwrap(),
            "名,\"量,\"\"\",時\r\n\"A\nB\",1.10,2026-08-01T09:00:00+09:00\r\n,1000,\r\n\"x\"\"y\",-0.0025,2026-08-01T09:00:00.250+09:00\r\n"
        );
        assert_eq!(file.rows, 3);
    }

    #[test]
    fn without_rows_or_zone() {
        let columns = columns(&[("t", CellKind::DateTime)]);
        let writer = Writer::new(&columns, None).unwrap();
        assert_eq!(writer.finish(Encoding::ShiftJis).unwrap().bytes, b"t\r\n");
        let mut writer = Writer::new(&columns, None).unwrap();
        writer.row(["2026-08-01T00:00:00Z"]).unwrap();
        assert_eq!(
            writer.finish(Encoding::Utf8).unwrap().bytes,
            b"t\r\n2026-08-01T00:00:00Z\r\n"
        );
    }

    #[test]
    fn what_csv_cannot_hold_is_refused() {
        let refused = |kinds: &[(&str, CellKind)]| Writer::new(&columns(kinds), None).unwrap_err();
        assert_eq!(
            refused(&[("a", CellKind::Text), ("a", CellKind::Number)]),
            ExportError::DuplicateColumn("a".into())
        );
        assert_eq!(
            refused(&[("表", CellKind::Subtable)]),
            ExportError::UnsupportedColumn("表".into())
        );
        assert_eq!(
            refused(&[("添付", CellKind::File)]),
            ExportError::UnsupportedColumn("添付".into())
        );
        let columns = columns(&[("n", CellKind::Number)]);
        let mut writer = Writer::new(&columns, None).unwrap();
        assert_eq!(writer.row(["1e1023"]), Ok(()));
        assert_eq!(
            writer.row(["1e1024"]),
            Err(ExportError::NumberTooLong {
                column: "n".into(),
                row: 2
            })
        );
        assert_eq!(writer.row(["1", "2"]), Err(ExportError::CellCount { row: 3 }));
        assert_eq!(writer.row([]), Err(ExportError::CellCount { row: 4 }));
    }

    #[test]
    fn unmappable_characters_give_no_file() {
        let columns = columns(&[("n", CellKind::Text)]);
        let mut writer = Writer::new(&columns, None).unwrap();
        writer.row(["é"]).unwrap();
        assert!(matches!(
            writer.finish(Encoding::ShiftJis),
            Err(ExportError::Encoding(EncodingError::Unmappable {
                character: 'é',
                offset: 3,
                line: 2
            }))
        ));
    }
}
