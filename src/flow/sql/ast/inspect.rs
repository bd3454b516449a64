//! What a write may say about its rows (LNG-153), and the statement that reads a file.

use super::{Condition, Expr, Item, Name, Target};
use crate::flow::csv::Encoding;

/// Checks of the rows that are about to be written, and what becomes of rows with errors.
#[derive(Clone, Debug, Default)]
pub struct Inspection {
    /// CHECK blocks.
    pub checks: Vec<CheckBlock>,
    /// What becomes of rows with errors.
    pub disposal: Disposal,
}

impl Inspection {
    /// The conditions of all checks.
    pub fn conditions(&self) -> impl Iterator<Item = &Condition> {
        let branches = self.checks.iter().flat_map(|block| &block.branches);
        branches.map(|(condition, _)| condition)
    }
}

/// `CHECK WHEN … THEN … WHEN …`: the first condition that holds makes the row an error with its message.
#[derive(Clone, Debug)]
pub struct CheckBlock {
    /// Conditions and messages.
    pub branches: Vec<(Condition, Expr)>,
}

/// What becomes of rows with errors.
#[derive(Clone, Debug, Default)]
pub enum Disposal {
    /// The statement fails before anything is written.
    #[default]
    Refuse,
    /// VALIDATE ONLY [INTO #table]: nothing is written, the errors are the result.
    ValidateOnly(Option<Name>),
    /// ON ERROR SKIP INTO #table [REJECT LIMIT n]: they are put aside, the others are written.
    Skip {
        /// Table of the errors.
        into: Name,
        /// The most rows that may be put aside.
        reject_limit: Option<u64>,
    },
}

impl Disposal {
    /// The temp table that takes the errors.
    pub fn table(&self) -> Option<&Name> {
        match self {
            Self::Refuse | Self::ValidateOnly(None) => None,
            Self::ValidateOnly(Some(into)) | Self::Skip { into, .. } => Some(into),
        }
    }
}

/// Formats of imported files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// Comma-separated values.
    Csv,
    /// A JSON array of objects.
    Json,
}

impl ImportFormat {
    /// The word in the statement.
    pub fn word(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Json => "JSON",
        }
    }
}

/// IMPORT INTO app (fields) FROM CSV name …
#[derive(Clone, Debug)]
pub struct Import {
    /// Target.
    pub target: Target,
    /// Fields.
    pub fields: Vec<Name>,
    /// The file and how its columns become fields.
    pub file: ImportFile,
    /// Key fields; none = every row is a new record.
    pub keys: Vec<Name>,
    /// Checks.
    pub inspection: Inspection,
}

/// The file of an IMPORT.
#[derive(Clone, Debug)]
pub struct ImportFile {
    /// Its format.
    pub format: ImportFormat,
    /// The name that the command line gives to a path.
    pub name: Name,
    /// ENCODING.
    pub encoding: Encoding,
    /// What the first line is.
    pub header: Header,
    /// How columns become fields.
    pub mapping: Mapping,
}

/// What the first line of a CSV file is.
#[derive(Clone, Debug)]
pub enum Header {
    /// Column names.
    Named,
    /// A record already: NO HEADER [COLUMNS (…)].
    Absent(Vec<Name>),
}

/// How columns become fields.
#[derive(Clone, Debug)]
pub enum Mapping {
    /// One after the other.
    Position,
    /// BY NAME: a column has the code of its field; with IGNORE UNKNOWN COLUMNS others are skipped.
    Name {
        /// IGNORE UNKNOWN COLUMNS.
        ignore_unknown: bool,
    },
    /// SELECT expressions over the columns.
    Select(Vec<Item>),
}
