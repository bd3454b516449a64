//! The directory that holds all inputs and outputs (IO-02).

use std::fmt;
use std::path::{Component, Path, PathBuf};

/// `KSQL_FLOWNET_IO_DIR` does not name a directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NotADirectory;

impl fmt::Display for NotADirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KSQL_FLOWNET_IO_DIR must be an existing directory")
    }
}

impl std::error::Error for NotADirectory {}

/// Checks the configured root (absolute) before the lock is taken: an existing directory, itself no symbolic link.
/// Returns it without `.`, `..` and doubled or trailing slashes, which are resolved as text, as the original does.
pub fn check_root(configured: &Path) -> Result<PathBuf, NotADirectory> {
    let mut root = PathBuf::new();
    for component in configured.components() {
        match component {
            Component::ParentDir => {
                root.pop();
            }
            Component::CurDir => {}
            other => root.push(other),
        }
    }
    match root.symlink_metadata() {
        Ok(facts) if facts.is_dir() => Ok(root),
        _ => Err(NotADirectory),
    }
}
