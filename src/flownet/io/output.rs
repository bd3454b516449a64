//! Outputs of a node: their directories are made ready below `<root>/out`, the files are left to the runner (IO-05).

use std::io;
use std::path::{Path, PathBuf};

use super::directory::{Directory, Entry};
use super::substitute::{self, Values};
use super::{IoCode, PathRefused};
use crate::flownet::canonical_json::text_order;
use crate::flownet::definition::PatternKind;

/// Where an output goes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct OutputFile {
    /// Sink name.
    pub name: String,
    /// Absolute path; the file may or may not exist.
    pub path: PathBuf,
}

/// Checks all outputs, then makes their directories one by one, in text order of the names. Existing files stay as they
/// are: the runner replaces them atomically. `<root>/out` is made even when there is nothing to write.
pub fn resolve_outputs(
    root: &Path,
    patterns: &[(String, String)],
    values: &Values<'_>,
) -> Result<Vec<OutputFile>, PathRefused> {
    let refuse = |fault: Fault, name: Option<&str>, path: PathBuf| PathRefused {
        code: IoCode::OutputPathRejected,
        message: fault.message.to_owned(),
        name: name.map(str::to_owned),
        path: Some(path),
        cause: fault.cause,
    };
    let mut sorted: Vec<&(String, String)> = patterns.iter().collect();
    sorted.sort_by(|a, b| text_order(&a.0, &b.0));
    let mut targets = Vec::with_capacity(sorted.len());
    for (name, pattern) in sorted {
        let components = substitute::components(PatternKind::Output, pattern, values).ok_or_else(|| {
            let fault = Fault::of("output pattern does not resolve to an allowed relative path");
            refuse(fault, Some(name), root.join("out"))
        })?;
        targets.push((name, components));
    }
    let top = open_root(root)
        .and_then(|directory| enter(&directory, "out"))
        .map_err(|fault| refuse(fault, None, root.join("out")))?;
    let mut files = Vec::with_capacity(targets.len());
    for (name, components) in targets {
        let path = components.iter().fold(root.join("out"), |path, c| path.join(c));
        prepare(&top, &components).map_err(|fault| refuse(fault, Some(name), path.clone()))?;
        files.push(OutputFile {
            name: name.clone(),
            path,
        });
    }
    Ok(files)
}

struct Fault {
    message: &'static str,
    cause: Option<String>,
}

impl Fault {
    fn of(message: &'static str) -> Self {
        Self { message, cause: None }
    }

    fn directory(error: impl Into<io::Error>) -> Self {
        Self {
            message: "output directory could not be created",
            cause: Some(error.into().to_string()),
        }
    }

    fn target(error: impl Into<io::Error>) -> Self {
        Self {
            message: "output target could not be inspected",
            cause: Some(error.into().to_string()),
        }
    }
}

fn open_root(root: &Path) -> Result<Directory, Fault> {
    match Directory::entry_at(root).map_err(Fault::directory)? {
        Entry::Directory => Directory::open_at(root).map_err(Fault::directory),
        _ => Err(Fault::of("output root is not a regular directory")),
    }
}

/// Opens a directory below, making it when it is missing.
fn enter(here: &Directory, name: &str) -> Result<Directory, Fault> {
    if here.entry(name).map_err(Fault::directory)? == Entry::Missing {
        here.make(name).map_err(Fault::directory)?;
    }
    match here.entry(name).map_err(Fault::directory)? {
        Entry::Directory => here.open(name).map_err(Fault::directory),
        _ => Err(Fault::of(
            "output path component is not a regular directory or is a symbolic link or junction",
        )),
    }
}

fn prepare(top: &Directory, components: &[String]) -> Result<(), Fault> {
    let Some((last, parents)) = components.split_last() else {
        return Err(Fault::of("output path is empty"));
    };
    let mut below = None;
    for name in parents {
        below = Some(enter(below.as_ref().unwrap_or(top), name)?);
    }
    match below.as_ref().unwrap_or(top).entry(last).map_err(Fault::target)? {
        Entry::Missing | Entry::File => Ok(()),
        _ => Err(Fault::of(
            "output target is not a regular file or is a symbolic link or junction",
        )),
    }
}
