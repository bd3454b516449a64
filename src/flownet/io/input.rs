//! Inputs of a node: found below `<root>/in` and hashed before anything is started (IO-04).

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use super::directory::{Directory, Entry};
use super::substitute::{self, Values};
use super::{IoCode, PathRefused};
use crate::flownet::canonical_json::{hex, text_order};
use crate::flownet::definition::PatternKind;
use crate::flownet::rule::io_summary::BaselineEntry;

/// Bytes read at a time while hashing.
const CHUNK: usize = 128 << 10;

/// An input as it is now.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct InputFile {
    /// Source name.
    pub name: String,
    /// Absolute path.
    pub path: PathBuf,
    /// Lower-case hexadecimal SHA-256 of all bytes.
    pub sha256: String,
    /// Bytes read.
    pub bytes: u64,
}

impl InputFile {
    /// What is stored of it.
    pub fn to_baseline(&self) -> BaselineEntry {
        BaselineEntry {
            source: self.name.clone(),
            sha256: self.sha256.clone(),
            bytes: self.bytes,
        }
    }
}

/// Finds and hashes all inputs, in text order of their names. The first one that fails ends it. `<root>/in` has to be
/// there even when there is nothing to find.
pub fn resolve_inputs(
    root: &Path,
    patterns: &[(String, String)],
    values: &Values<'_>,
) -> Result<Vec<InputFile>, PathRefused> {
    let top = root.join("in");
    let directory = open_top(&top).map_err(|fault| fault.at(None, &top))?;
    let mut sorted: Vec<&(String, String)> = patterns.iter().collect();
    sorted.sort_by(|a, b| text_order(&a.0, &b.0));
    let mut files = Vec::with_capacity(sorted.len());
    for (name, pattern) in sorted {
        let components = substitute::components(PatternKind::Input, pattern, values).ok_or_else(|| {
            Fault::rejected("input pattern does not resolve to an allowed relative path").at(Some(name), &top)
        })?;
        let path = components.iter().fold(top.clone(), |path, c| path.join(c));
        let (sha256, bytes) = find(&directory, &components)
            .and_then(hash)
            .map_err(|fault| fault.at(Some(name), &path))?;
        files.push(InputFile {
            name: name.clone(),
            path,
            sha256,
            bytes,
        });
    }
    Ok(files)
}

struct Fault {
    code: IoCode,
    message: &'static str,
    cause: Option<String>,
}

impl Fault {
    fn new(code: IoCode, message: &'static str) -> Self {
        Self {
            code,
            message,
            cause: None,
        }
    }

    fn missing(message: &'static str) -> Self {
        Self::new(IoCode::InputFileMissing, message)
    }

    fn rejected(message: &'static str) -> Self {
        Self::new(IoCode::InputPathRejected, message)
    }

    fn unavailable(error: impl Into<io::Error>) -> Self {
        Self::rejected("input path component is unavailable").caused_by(error)
    }

    fn unreadable(error: impl Into<io::Error>) -> Self {
        Self::rejected("input file could not be read").caused_by(error)
    }

    fn caused_by(mut self, error: impl Into<io::Error>) -> Self {
        self.cause = Some(error.into().to_string());
        self
    }

    fn at(self, name: Option<&str>, path: &Path) -> PathRefused {
        PathRefused {
            code: self.code,
            message: self.message.to_owned(),
            name: name.map(str::to_owned),
            path: Some(path.to_owned()),
            cause: self.cause,
        }
    }
}

fn open_top(top: &Path) -> Result<Directory, Fault> {
    match Directory::entry_at(top).map_err(Fault::unavailable)? {
        Entry::Directory => Directory::open_at(top).map_err(Fault::unavailable),
        Entry::Missing => Err(Fault::missing("input path does not exist")),
        _ => Err(Fault::rejected("input root is not a regular directory")),
    }
}

fn find(top: &Directory, components: &[String]) -> Result<File, Fault> {
    let mut below = None;
    let Some((last, parents)) = components.split_last() else {
        return Err(Fault::rejected("input path is not a regular file"));
    };
    for name in parents {
        let here = below.as_ref().unwrap_or(top);
        check(
            here,
            name,
            Entry::Directory,
            "input path contains a non-directory component",
        )?;
        below = Some(here.open(name).map_err(Fault::unavailable)?);
    }
    let here = below.as_ref().unwrap_or(top);
    check(here, last, Entry::File, "input path is not a regular file")?;
    here.open_file(last).map_err(Fault::unreadable)
}

fn check(here: &Directory, name: &str, wanted: Entry, otherwise: &'static str) -> Result<(), Fault> {
    match here.entry(name).map_err(Fault::unavailable)? {
        entry if entry == wanted => Ok(()),
        Entry::Missing => Err(Fault::missing("input path component is unavailable")),
        Entry::Link => Err(Fault::rejected("input path contains a symbolic link or junction")),
        _ => Err(Fault::rejected(otherwise)),
    }
}

fn hash(mut file: File) -> Result<(String, u64), Fault> {
    if !file.metadata().map_err(Fault::unreadable)?.is_file() {
        return Err(Fault::rejected("input path is not a regular file"));
    }
    let mut hasher = Sha256::new();
    let mut chunk = vec![0u8; CHUNK];
    let mut bytes = 0u64;
    loop {
        match file.read(&mut chunk) {
            Ok(0) => break,
            Ok(n) => {
                hasher.update(&chunk[..n]);
                bytes += n as u64;
            }
            Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
            Err(e) => return Err(Fault::unreadable(e)),
        }
    }
    Ok((hex(&hasher.finalize()), bytes))
}
