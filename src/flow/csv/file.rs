//! Export files appear whole or not at all, and none before all are serialised (RNR-134).

use std::fmt;
use std::io;
use std::path::PathBuf;

use super::{OutputReceipt, Serialised};
use crate::flow::durable_file::{self, Existing};

/// A serialised file and where it goes.
#[derive(Clone, Debug)]
pub struct Sink {
    /// The name in receipts and messages.
    pub name: String,
    /// The target.
    pub path: PathBuf,
    /// The content.
    pub file: Serialised,
}

/// What became of the files.
#[derive(Debug)]
pub struct Committed {
    /// One receipt per completed file, in order.
    pub receipts: Vec<OutputReceipt>,
    /// The failure that ended the work, if any; earlier files stay, later ones were not touched.
    pub failure: Option<CommitError>,
}

/// A file that could not be written.
#[derive(Debug)]
pub struct CommitError {
    /// The sink's name.
    pub name: String,
    /// The target.
    pub path: PathBuf,
    /// What the operating system said.
    pub error: io::Error,
}

/// Writes all files, one after the other; call it only when every one of them is serialised.
pub fn commit(sinks: Vec<Sink>) -> Committed {
    let mut receipts = Vec::with_capacity(sinks.len());
    for sink in sinks {
        if let Err(error) = durable_file::write(&sink.path, &sink.file.bytes, Existing::Replace) {
            let failure = Some(CommitError {
                name: sink.name,
                path: sink.path,
                error,
            });
            return Committed { receipts, failure };
        }
        receipts.push(OutputReceipt {
            name: sink.name,
            sha256: sink.file.sha256,
            bytes: sink.file.bytes.len() as u64,
            rows: sink.file.rows,
            encoding: sink.file.encoding,
        });
    }
    Committed {
        receipts,
        failure: None,
    }
}

impl fmt::Display for CommitError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let path = self.path.display();
        write!(f, "the export file {path} could not be written: {}", self.error)
    }
}

impl std::error::Error for CommitError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::csv::Encoding;
    use std::fs;

    fn sink(name: &str, path: PathBuf, text: &str) -> Sink {
        let file = Serialised {
            bytes: text.into(),
            sha256: String::new(),
            rows: 1,
            encoding: Encoding::Utf8,
        };
        Sink {
            name: name.into(),
            path,
            file,
        }
    }

    #[test]
    fn earlier_files_stay_and_later_ones_are_untouched() {
        let folder = std::env::temp_dir().join(format!("ksql-export-{}", std::process::id()));
        fs::create_dir_all(folder.join("is-a-folder/x")).unwrap();
        fs::write(folder.join("a.csv"), "old").unwrap();
        let committed = commit(vec![
            sink("a", folder.join("a.csv"), "new"),
            sink("b", folder.join("is-a-folder"), "b"),
            sink("c", folder.join("c.csv"), "c"),
        ]);
        let completed: Vec<_> = committed.receipts.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(completed, ["a"]);
        assert_eq!(committed.failure.unwrap().name, "b");
        assert_eq!(fs::read_to_string(folder.join("a.csv")).unwrap(), "new");
        let mut left: Vec<_> = fs::read_dir(&folder)
            .unwrap()
            .map(|e| e.unwrap().file_name())
            .collect();
        left.sort();
        assert_eq!(left, ["a.csv", "is-a-folder"]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
