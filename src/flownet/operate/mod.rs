//! What operators do to a Run by hand: hold, resolve, release, archive (contract 50).
//!
//! Each command reads what it decides on, decides by a function of values, and writes everything it has to say in one
//! bulkRequest with its audit record. Commands that hold no lock are fenced by the revisions of what they read and decide
//! anew when somebody else was faster; `archive-run` takes the Network lock like a start.

pub mod archive;
pub mod cloud_run;
mod desk;
pub mod hold;
pub mod job_unlock;
mod recovery_result;
pub mod resolve;
pub mod stop;
pub mod unlock;

pub use desk::Desk;

/// Foreign text without the white space at its ends; a byte order mark counts as such.
fn trimmed(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

/// Nothing but white space.
fn is_blank(text: &str) -> bool {
    trimmed(text).is_empty()
}
