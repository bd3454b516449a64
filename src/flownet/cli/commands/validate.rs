//! validate: is this definition, with its SQL files, fit to make Runs?

use serde::Serialize;

use super::super::codes::ExitClass;
use super::super::output::Output;
use super::super::report::Failure;
use super::super::walk::Words;
use super::network_file::{self, Finding, NetworkFile, Purpose};
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
    let file = NetworkFile::read(path, Purpose::NewRun);
    let Some(network) = file.valid() else {
        return Err(network_file::failure(&file.loaded.problems));
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
