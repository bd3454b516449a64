//! The network file as validate, plan and run-network read it: once, with everything that is wrong with it.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::super::output::Output;
use super::super::report::Failure;
use crate::flownet::definition::{self, Loaded, Problem, report};

/// A network file.
pub struct NetworkFile {
    /// The directory that its SQL paths start from, absolute.
    pub folder: PathBuf,
    /// Its bytes: what was checked is what will be stored (item 12).
    pub bytes: Vec<u8>,
    /// The definition and its errors by the rules that also hold for stored definitions.
    pub loaded: Loaded,
    /// What forbids a new Run in addition: our own rules and unreadable SQL files. A Run that exists has its SQL in its
    /// bundle and goes on without them.
    pub refusals: Vec<Problem>,
}

impl NetworkFile {
    /// Reads a file. A file that cannot be read has one error and no definition.
    pub fn read(path: &str) -> NetworkFile {
        let path = Path::new(path);
        let parent = path
            .parent()
            .filter(|parent| !parent.as_os_str().is_empty())
            .unwrap_or(Path::new("."));
        let folder = std::path::absolute(parent).unwrap_or_else(|_| parent.to_path_buf());
        let bytes = match definition::read_file(path) {
            Ok(bytes) => bytes,
            Err(problem) => {
                let loaded = Loaded {
                    problems: vec![problem],
                    ..Loaded::default()
                };
                return NetworkFile {
                    folder,
                    bytes: Vec::new(),
                    loaded,
                    refusals: Vec::new(),
                };
            }
        };
        let mut loaded = definition::load(&bytes);
        // `load` adds our rules behind those of the contract.
        let contract = definition::load_stored(&bytes).problems.len();
        let mut refusals = loaded.problems.split_off(contract.min(loaded.problems.len()));
        if let Some(network) = &loaded.network {
            refusals.extend(definition::check_sql_files(network, &folder));
        }
        NetworkFile {
            folder,
            bytes,
            loaded,
            refusals,
        }
    }

    /// Everything that forbids a new Run, in the order of validate.
    pub fn problems(&self) -> Vec<Problem> {
        [self.loaded.problems.as_slice(), &self.refusals].concat()
    }
}

/// The failure of validate and plan (DEF-33).
pub fn failure(problems: &[Problem]) -> Failure {
    let headline = report::failure_header(problems.len());
    let lines = problems.iter().map(ToString::to_string).collect();
    // Where only the words of the command line are wrong, the file needs no correction.
    let argument = problems.iter().all(|problem| problem.path.starts_with("--"));
    let explained_by = problems.first().filter(|_| argument).map(|problem| problem.code);
    Failure::block("NETWORK_VALIDATION_FAILED", headline.trim_end(), lines).explained_by(explained_by)
}

/// The failure of commands that need a definition: the generic text that scripts know, and then the same list that
/// validate prints (item 4).
pub fn invalid(fallback: &'static str, problems: &[Problem]) -> Failure {
    let failure = Failure::new(fallback, "network definition is invalid");
    problems
        .iter()
        .fold(failure, |failure, problem| failure.detail(problem.to_string()))
}

/// Prints remarks that stop nothing.
pub fn warn(warnings: &[Problem], output: &mut Output<'_>) {
    for warning in warnings {
        output.warn(
            &format!("{}: {}", warning.path, warning.message),
            Some(warning.code),
        );
    }
}

/// A finding as JSON.
#[derive(Serialize)]
pub struct Finding<'a> {
    code: &'a str,
    path: &'a str,
    message: &'a str,
}

impl<'a> Finding<'a> {
    /// A list of findings.
    pub fn list(problems: &'a [Problem]) -> Vec<Finding<'a>> {
        let finding = |p: &'a Problem| Finding {
            code: p.code,
            path: &p.path,
            message: &p.message,
        };
        problems.iter().map(finding).collect()
    }
}
