//! validate: is this definition, with its SQL files, fit to make Runs?

use serde::Serialize;

use super::super::codes::ExitClass;
use super::super::output::Output;
use super::super::report::Failure;
use super::super::walk::Words;
use super::network_file::{self, Finding, NetworkFile};
use crate::flownet::definition::report;

#[derive(Serialize)]
struct Validated<'a> {
    network_id: &'a str,
    valid: bool,
    warnings: Vec<Finding<'a>>,
}

/// Runs the command.
pub fn run(words: &Words, output: &mut Output<'_>) -> Result<ExitClass, Failure> {
    let path = words.operand();
    let file = NetworkFile::read(path);
    let problems = file.problems();
    let Some(network) = file.loaded.network.as_ref().filter(|_| problems.is_empty()) else {
        return Err(network_file::failure(&problems));
    };
    network_file::warn(&file.loaded.warnings, output);
    if output.choices().json {
        output.json(&Validated {
            network_id: &network.network_id,
            valid: true,
            warnings: Finding::list(&file.loaded.warnings),
        });
    }
    output.result(report::valid(path).trim_end_matches('\n'));
    Ok(ExitClass::Done)
}
