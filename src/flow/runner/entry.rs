//! From arguments to exit code: usage first, then the command (RNR-03, RNR-04, RNR-08).

use std::ffi::OsString;
use std::path::Path;

use super::command::{self, Command, Flags, Invocation, Request, UsageError};
use super::config::Secrets;
use super::connection::Connection;
use super::console::{self, Console};
use super::verdict::{Exit, Failure};
use super::{describe, explain, host, inspect, lock_recovery, log_app_setup, run, run_all, unlock, validate};
use crate::flow::sql::message::say;

/// Runs the program with the arguments after its name.
pub fn main(arguments: impl IntoIterator<Item = OsString>) -> Exit {
    let mut texts = Vec::new();
    for argument in arguments {
        match argument.into_string() {
            Ok(text) => texts.push(text),
            Err(argument) => {
                Console::default().error({
                    let argument = argument.display();
                    say!(
                        "the argument {argument} is not UTF-8",
                        "引数 {argument} は UTF-8 ではありません"
                    )
                });
                return Exit::Invalid;
            }
        }
    }
    match command::parse(&texts) {
        Ok(Request::Help) => {
            console::help(&command::usage(None, host::language()), false);
            Exit::Done
        }
        Ok(Request::Version) => {
            console::help(concat!("ksql-flow ", env!("CARGO_PKG_VERSION")), false);
            Exit::Done
        }
        Ok(Request::CommandHelp(row)) => {
            console::help(&command::usage(Some(row), host::language()), row.machine);
            Exit::Done
        }
        Ok(Request::Invoke(invocation)) => invoke(&invocation),
        Err(error) => refuse(&error),
    }
}

fn refuse(error: &UsageError) -> Exit {
    let console = Console::default();
    console.error(&error.message);
    if error.show_usage {
        console::help(&command::usage(None, host::language()), false);
    }
    if let Some(orchestration) = &error.orchestration {
        run::answer_usage_error(orchestration, error, &console);
    }
    Exit::Invalid
}

fn invoke(invocation: &Invocation) -> Exit {
    let flags = &invocation.flags;
    match invocation.row.command {
        Command::Run => run::run(invocation),
        Command::RunAll => with(flags, Secrets::Resolve, |open| run_all::run_all(open, invocation)),
        Command::Capabilities => {
            Console::default().machine(describe::capabilities());
            Exit::Done
        }
        Command::DescribeProfile => with(flags, Secrets::Resolve, |open| {
            open.console.machine(describe::profile(&open.profile));
            Ok(Exit::Done)
        }),
        Command::InspectLock => with(flags, Secrets::Resolve, |open| {
            lock_recovery::inspect(open, flags)
        }),
        Command::ForceUnlockJob => with(flags, Secrets::Resolve, |open| {
            lock_recovery::force_unlock(open, flags)
        }),
        Command::Unlock => with(flags, Secrets::Resolve, unlock::command),
        Command::InitLogapp => with(flags, Secrets::Resolve, |open| log_app_setup::create(open, flags)),
        Command::Validate if flags.has("--check-logapp") => {
            with(flags, Secrets::Resolve, log_app_setup::check)
        }
        Command::Validate => with(flags, Secrets::Resolve, |open| validate::one(open, flags)),
        Command::ValidateAll => with(flags, Secrets::Resolve, |open| {
            let folder = invocation
                .positionals
                .first()
                .map(String::as_str)
                .unwrap_or_default();
            validate::folder(open, flags, Path::new(folder))
        }),
        Command::InspectJob => with(flags, Secrets::Skip, |open| inspect::inspect_job(open, flags)),
        Command::Explain => with(flags, Secrets::Resolve, |open| explain::explain(open, flags)),
    }
}

/// Runs a command on the profile that the flags name; its failure is reported here.
fn with(flags: &Flags, secrets: Secrets, command: impl FnOnce(&Connection) -> Result<Exit, Failure>) -> Exit {
    let connection = match Connection::open(flags, secrets) {
        Ok(connection) => connection,
        Err(failure) => {
            Console::default().error(&failure);
            return failure.exit();
        }
    };
    command(&connection).unwrap_or_else(|failure| {
        connection.console.error(connection.masker.failure(&failure));
        failure.exit()
    })
}
