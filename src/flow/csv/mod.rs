//! CSV in and out, UTF-8 and Shift_JIS (RNR-130..134). Nothing is guessed and nothing replaced: a byte, a
//! character or a record that does not fit is an error that says where it stands.

mod encoding;
mod file;
mod reader;
mod receipt;
mod source;
mod writer;

#[cfg(test)]
mod properties;

pub use encoding::{Encoding, EncodingError};
pub use file::{CommitError, Committed, Sink, commit};
pub use reader::{CsvError, MAX_COLUMNS, Problem, Table, parse};
pub use receipt::{InputReceipt, OutputReceipt, merge};
pub use source::{MAX_SOURCE_BYTES, Source, SourceError, SourceProblem};
pub use writer::{CellKind, Column, ExportError, MAX_FILE_BYTES, MAX_NUMBER_CHARS, Serialised, Writer};
