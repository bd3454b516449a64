//! The command line: one table of commands and flags, settings, output, exit codes. Only this room prints, and only it
//! knows exit statuses.

mod advice;
pub mod codes;
pub mod commands;
mod completion;
mod help;
pub mod language;
pub mod output;
pub mod report;
pub mod settings;
pub mod table;
pub mod variables;
mod walk;

use std::ffi::OsString;
use std::io::Write;

use codes::{ExitClass, ExitStyle};
use language::Language;
use output::{Choices, Output};
use report::Failure;
use settings::Environment;
use table::Command;
use walk::Words;

/// The whole program: arguments without the program name in, exit status out.
///
/// `lookup` reads environment variables; results go to the first writer, messages to the second.
pub fn main(
    args: Vec<OsString>,
    lookup: &dyn Fn(&str) -> Option<OsString>,
    results: &mut dyn Write,
    messages: &mut dyn Write,
) -> u8 {
    let text = |name: &str| lookup(name).and_then(|value| value.into_string().ok());
    let language = Language::from_locale(text);
    // A wrong value is reported by `run`; until then it counts as the default.
    let exit_style = ExitStyle::read(&Environment::new(lookup)).unwrap_or_default();
    let choices = Choices {
        language,
        quiet: false,
        verbose: false,
        json: false,
        mute: false,
        exit_style,
    };
    let args = match args
        .into_iter()
        .map(OsString::into_string)
        .collect::<Result<Vec<_>, _>>()
    {
        Ok(args) => args,
        Err(word) => {
            let message = format!("argument '{}' is not valid UTF-8", word.to_string_lossy());
            let failure = Failure::new(report::INVALID_ARGUMENTS, message);
            return fail(&mut Output::new(choices, results, messages), &failure);
        }
    };
    let mut output = Output::new(choices, results, messages);
    match args.first().map(String::as_str) {
        None | Some("-h" | "--help") => {
            output.document(&help::overview(language));
            output.exit(ExitClass::Done)
        }
        Some("-V" | "--version") => {
            output.document(concat!(env!("CARGO_PKG_VERSION"), "\n"));
            output.exit(ExitClass::Done)
        }
        Some(name) => match Command::find(name) {
            None => {
                let failure = Failure::new(report::INVALID_ARGUMENTS, format!("unknown command '{name}'."))
                    .next("ksql-flownet --help");
                fail(&mut output, &failure)
            }
            Some(command) => {
                let words = walk::walk(command, &args[1..]);
                let choices = Choices {
                    quiet: words.has("--quiet"),
                    verbose: words.has("--verbose"),
                    json: words.has("--json"),
                    mute: command.name == "run-network" && words.has("--json"),
                    ..choices
                };
                run(
                    command,
                    &words,
                    &Environment::new(lookup),
                    &mut Output::new(choices, results, messages),
                )
            }
        },
    }
}

/// Runs one command whose words were taken apart.
fn run(command: &'static Command, words: &Words, env: &Environment<'_>, output: &mut Output<'_>) -> u8 {
    if words.has("--help") {
        output.document(&help::of_command(command, output.choices().language));
        return output.exit(ExitClass::Done);
    }
    let outcome = if words.problems().is_empty() {
        ExitStyle::read(env)
            .map_err(|error| Failure::new(command.fallback, error.to_string()))
            .and_then(|_| commands::run(command, words, env, output))
    } else {
        Err(wrong_arguments(command, words))
    };
    match outcome {
        Ok(class) => output.exit(class),
        Err(mut failure) => {
            failure.learn(&commands::facts_of_words(command, words));
            commands::print_rejection(command, words, &failure, output);
            output.exit(codes::class(&failure.code))
        }
    }
}

fn wrong_arguments(command: &Command, words: &Words) -> Failure {
    match command.complaint {
        table::Complaint::List => Failure::block(
            report::INVALID_ARGUMENTS,
            format!("Invalid {} arguments:", command.name),
            words.problems().to_vec(),
        ),
        table::Complaint::Raw(line) => Failure::block(report::INVALID_ARGUMENTS, line, Vec::new()),
        table::Complaint::Line(line) => Failure::new(report::INVALID_ARGUMENTS, line),
    }
}

fn fail(output: &mut Output<'_>, failure: &Failure) -> u8 {
    output.failure(failure);
    output.exit(codes::class(&failure.code))
}
