//! CSV inputs and outputs of nodes on disk (contract 10 G): only files below the configured root, never through links.
//!
//! What is stored about them is decided in [`crate::flownet::rule::io_summary`]; the patterns themselves are checked in
//! [`crate::flownet::definition`].

mod directory;
pub mod input;
pub mod output;
pub mod root;
pub mod substitute;

use std::fmt;
use std::path::PathBuf;

pub use input::{InputFile, resolve_inputs};
pub use output::{OutputFile, resolve_outputs};
pub use substitute::Values;

/// Why a node's files cannot be used; also the result code of the attempt (IO-08).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IoCode {
    /// An input is not there.
    InputFileMissing,
    /// An input is there and may not be read.
    InputPathRejected,
    /// An input is not the file that an earlier attempt had.
    InputFileMutated,
    /// An output may not be written.
    OutputPathRejected,
}

impl IoCode {
    /// The code as stored and shown.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::InputFileMissing => "INPUT_FILE_MISSING",
            Self::InputPathRejected => "INPUT_PATH_REJECTED",
            Self::InputFileMutated => "INPUT_FILE_MUTATED",
            Self::OutputPathRejected => "OUTPUT_PATH_REJECTED",
        }
    }
}

/// A file that was refused. The text is stored and names no path; name and path are for the person at the terminal.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PathRefused {
    /// Result code of the node.
    pub code: IoCode,
    /// Stored text.
    pub message: String,
    /// Source or sink; none when no single one is at fault.
    pub name: Option<String>,
    /// The path concerned.
    pub path: Option<PathBuf>,
    /// The operating system's reason, if it gave one; not stored.
    pub cause: Option<String>,
}

impl PathRefused {
    /// A refusal that no single path is to blame for.
    pub fn new(code: IoCode, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            name: None,
            path: None,
            cause: None,
        }
    }
}

impl fmt::Display for PathRefused {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(name) = &self.name {
            write!(f, "'{name}': ")?;
        }
        f.write_str(&self.message)?;
        if let Some(path) = &self.path {
            write!(f, " ({})", path.display())?;
        }
        match &self.cause {
            Some(cause) => write!(f, ": {cause}"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for PathRefused {}
