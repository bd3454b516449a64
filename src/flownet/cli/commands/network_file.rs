//! The network file as validate, plan and run-network read it: once, with everything that is wrong with it.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::super::output::Output;
use super::super::report::Failure;
use crate::flownet::definition::{self, Loaded, Network, Problem, report};

/// A network file.
pub struct NetworkFile {
    /// The directory that its SQL paths start from.
    pub folder: PathBuf,
    /// Its bytes: what was checked is what will be stored (item 12).
    pub bytes: Vec<u8>,
    /// What was found.
    pub loaded: Loaded,
}

/// Which rules a definition must obey.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// It is to make new Runs: all rules, and the SQL files must be there.
    NewRun,
    /// It only names the network of a Run that exists: the rules that held when that Run was made.
    ExistingRun,
}

impl NetworkFile {
    /// Reads a file. A file that cannot be read has one problem and no definition.
    pub fn read(path: &str, purpose: Purpose) -> NetworkFile {
        let path = Path::new(path);
        let folder = path.parent().map(Path::to_path_buf).unwrap_or_default();
        let folder = std::path::absolute(if folder.as_os_str().is_empty() {
            Path::new(".")
        } else {
            &folder
        })
        .unwrap_or(folder);
        let (bytes, mut loaded) = match definition::read_file(path) {
            Ok(bytes) => {
                let loaded = match purpose {
                    Purpose::NewRun => definition::load(&bytes),
                    Purpose::ExistingRun => definition::load_stored(&bytes),
                };
                (bytes, loaded)
            }
            Err(problem) => (
                Vec::new(),
                Loaded {
                    problems: vec![problem],
                    ..Loaded::default()
                },
            ),
        };
        if purpose == Purpose::NewRun
            && let Some(network) = &loaded.network
        {
            loaded
                .problems
                .extend(definition::check_sql_files(network, &folder));
        }
        NetworkFile {
            folder,
            bytes,
            loaded,
        }
    }

    /// The definition, if nothing is wrong.
    pub fn valid(&self) -> Option<&Network> {
        self.loaded
            .network
            .as_ref()
            .filter(|_| self.loaded.problems.is_empty())
    }
}

/// The failure of validate and plan (DEF-33).
pub fn failure(problems: &[Problem]) -> Failure {
    let headline = report::failure_header(problems.len());
    let lines = problems.iter().map(ToString::to_string).collect();
    Failure::block("NETWORK_VALIDATION_FAILED", headline.trim_end(), lines)
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
