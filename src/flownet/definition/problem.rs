//! What is wrong with a definition or a business key: code, place, text.

use std::fmt;

/// One finding. Errors and warnings have the same form; the list they stand in tells which it is.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Problem {
    /// Stable code, e.g. `SCHEMA_INVALID`.
    pub code: &'static str,
    /// Where: a path into the definition (DEF-16, DEF-25) or the name of an option.
    pub path: String,
    /// What: the contract's sentence.
    pub message: String,
}

impl Problem {
    /// A finding at a place.
    pub fn new(code: &'static str, path: impl Into<String>, message: impl Into<String>) -> Self {
        Self {
            code,
            path: path.into(),
            message: message.into(),
        }
    }
}

/// `[CODE] path: message`, the form of every list of problems (DEF-33, KEY-08).
impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}] {}: {}", self.code, self.path, self.message)
    }
}

/// A name as one segment of a JSON pointer: `~` is `~0`, `/` is `~1`.
pub(super) fn pointer_segment(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}
