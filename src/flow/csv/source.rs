//! Import sources (RNR-130, RNR-131): read once, hashed as read, and never through a link.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sha2::{Digest, Sha256};

use super::InputReceipt;

/// Largest accepted file: 10 MiB.
pub const MAX_SOURCE_BYTES: u64 = 10 * 1024 * 1024;

/// A file in memory under the name the SQL uses.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Source {
    name: String,
    bytes: Vec<u8>,
    sha256: String,
}

impl Source {
    /// Reads a regular file.
    ///
    /// # Errors
    /// [`SourceError`] when it is a link or no regular file, is too large, or cannot be read.
    pub fn read(name: &str, path: &Path) -> Result<Self, SourceError> {
        let named = |problem| SourceError {
            name: name.to_owned(),
            problem,
        };
        let bytes = read_regular(path).map_err(named)?;
        Ok(Self {
            name: name.to_owned(),
            sha256: sha256_hex(&bytes),
            bytes,
        })
    }

    /// Checks the expected hash, 64 hexadecimal digits in any case.
    ///
    /// # Errors
    /// [`SourceProblem::Mutated`] when the file is another one (`INPUT_FILE_MUTATED`).
    pub fn verify(&self, expected_sha256: &str) -> Result<(), SourceError> {
        if self.sha256.eq_ignore_ascii_case(expected_sha256) {
            return Ok(());
        }
        Err(SourceError {
            name: self.name.clone(),
            problem: SourceProblem::Mutated {
                expected: expected_sha256.to_ascii_lowercase(),
                found: self.sha256.clone(),
            },
        })
    }

    /// The name the SQL uses.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The content.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The receipt before decoding; the caller adds rows and encoding afterwards.
    pub fn receipt(&self) -> InputReceipt {
        InputReceipt {
            name: self.name.clone(),
            sha256: self.sha256.clone(),
            bytes: self.bytes.len() as u64,
            rows: None,
            encoding: None,
        }
    }
}

/// A source that cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SourceError {
    /// The name the SQL uses.
    pub name: String,
    /// Why.
    pub problem: SourceProblem,
}

/// Why a source cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum SourceProblem {
    /// A link, a folder, a pipe or a device.
    NotARegularFile,
    /// Larger than [`MAX_SOURCE_BYTES`].
    TooLarge,
    /// Another content than expected.
    Mutated {
        /// The hash that was asked for.
        expected: String,
        /// The hash of the file.
        found: String,
    },
    /// The operating system refused.
    Unreadable(io::ErrorKind),
}

fn read_regular(path: &Path) -> Result<Vec<u8>, SourceProblem> {
    let unreadable = |e: io::Error| SourceProblem::Unreadable(e.kind());
    let named = fs::symlink_metadata(path).map_err(unreadable)?;
    if !named.is_file() {
        return Err(SourceProblem::NotARegularFile);
    }
    let file = File::open(path).map_err(unreadable)?;
    let opened = file.metadata().map_err(unreadable)?;
    // Another file behind the same name now means that it was exchanged between the two calls.
    if !opened.is_file() || (named.dev(), named.ino()) != (opened.dev(), opened.ino()) {
        return Err(SourceProblem::NotARegularFile);
    }
    let mut bytes = Vec::new();
    file.take(MAX_SOURCE_BYTES + 1)
        .read_to_end(&mut bytes)
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_SOURCE_BYTES {
        return Err(SourceProblem::TooLarge);
    }
    Ok(bytes)
}

/// SHA-256 as 64 lower-case hexadecimal digits.
pub(super) fn sha256_hex(bytes: &[u8]) -> String {
    Sha256::digest(bytes)
        .iter()
        .fold(String::with_capacity(64), |mut hex, byte| {
            hex.extend(
                [byte >> 4, byte & 15].map(|nibble| char::from_digit(u32::from(nibble), 16).unwrap_or('0')),
            );
            hex
        })
}

impl fmt::Display for SourceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "import source '{}': ", self.name)?;
        match &self.problem {
            SourceProblem::NotARegularFile => {
                f.write_str("not a regular file; give the file itself, not a link or a pipe")
            }
            SourceProblem::TooLarge => {
                write!(f, "larger than {MAX_SOURCE_BYTES} bytes; split the file")
            }
            SourceProblem::Mutated { expected, found } => {
                write!(f, "its SHA-256 is {found}, expected was {expected}")
            }
            SourceProblem::Unreadable(kind) => write!(f, "cannot be read: {kind}"),
        }
    }
}

impl std::error::Error for SourceError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn regular_files_only() {
        let folder = std::env::temp_dir().join(format!("ksql-source-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (file, link) = (folder.join("a.csv"), folder.join("link.csv"));
        fs::write(&file, "abc").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();

        let source = Source::read("a", &file).unwrap();
        let hash = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(source.receipt().sha256, hash);
        assert_eq!(source.receipt().bytes, 3);
        assert_eq!(source.verify(&hash.to_uppercase()), Ok(()));
        assert!(matches!(
            source.verify(&"0".repeat(64)).unwrap_err().problem,
            SourceProblem::Mutated { .. }
        ));

        let problem = |path: &Path| Source::read("a", path).unwrap_err().problem;
        assert_eq!(problem(&link), SourceProblem::NotARegularFile);
        assert_eq!(problem(&folder), SourceProblem::NotARegularFile);
        assert_eq!(
            problem(&folder.join("none")),
            SourceProblem::Unreadable(io::ErrorKind::NotFound)
        );
        File::create(folder.join("big"))
            .unwrap()
            .set_len(MAX_SOURCE_BYTES + 1)
            .unwrap();
        assert_eq!(problem(&folder.join("big")), SourceProblem::TooLarge);
        fs::remove_dir_all(&folder).unwrap();
    }
}
