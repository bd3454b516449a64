//! completions: the script for a shell.

use super::super::codes::ExitClass;
use super::super::completion;
use super::super::output::Output;
use super::super::report::{Failure, INVALID_ARGUMENTS};
use super::super::walk::Words;

/// Runs the command.
pub fn run(words: &Words, output: &mut Output<'_>) -> Result<ExitClass, Failure> {
    let shell = words.operand();
    let script = completion::script(shell).ok_or_else(|| {
        Failure::new(
            INVALID_ARGUMENTS,
            format!("no completions for '{shell}'; there are bash, zsh and fish"),
        )
    })?;
    output.document(&script);
    Ok(ExitClass::Done)
}
