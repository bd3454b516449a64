//! One file per command: words and settings in, a call into the rooms that do the work, results out. No rule of the
//! domain lives here.

mod completions;
mod explain;
mod network_file;
mod operate;
mod plan;
pub mod preflight;
pub mod run_network;
pub mod status;
mod validate;

use serde::Serialize;

use super::codes::{ExitClass, Facts};
use super::output::{ErrorObject, Output, Requests};
use super::report::{Failure, RunLine};
use super::settings::{Environment, SettingsError, Surroundings};
use super::table::{COMMANDS, Command};
use super::walk::Words;
use crate::flownet::run;
use crate::kintone::Client;

/// Runs a command of the table.
pub fn run(
    command: &'static Command,
    words: &Words,
    env: &Environment<'_>,
    output: &mut Output<'_>,
) -> Result<ExitClass, Failure> {
    match command.name {
        "validate" => validate::run(words, output),
        "plan" => plan::run(words, output),
        "run-network" => run_network::run(words, env, output),
        "status" => status::run(words, env, output),
        "explain" => explain::run(words, output),
        "completions" => completions::run(words, output),
        _ => operate::run(command, words, env, output),
    }
}

/// What the words themselves tell about the next steps.
pub fn facts_of_words(command: &Command, words: &Words) -> Facts {
    let mut known = Facts::default();
    known.set("command", command.name);
    for (fact, flag) in [
        ("run_id", "--run-id"),
        ("run_id", "--resume-run"),
        ("profile", "--profile"),
        ("node_id", "--node-id"),
        ("business_key", "--business-key"),
        ("scheduled_for", "--scheduled-for"),
        ("reason_file", "--reason-file"),
        ("evidence_ref", "--evidence-ref"),
        ("person", "--stop-confirmed-by"),
        ("stop_evidence_ref", "--stop-evidence-ref"),
        ("approver", "--approved-by"),
        ("outcome", "--to"),
        ("owner_invocation_id", "--expected-owner-invocation-id"),
    ] {
        if let Some(value) = words.value(flag) {
            known.set(fact, value);
        }
    }
    for flag in ["--manual-completion", "--compensation"] {
        if words.has(flag) {
            known.set("resolution_flag", flag);
        }
    }
    if let Some(operand) = &command.operand {
        let fact = match operand.name {
            "<network_id>" => "network_id",
            "<code>" => "code",
            "<shell>" => "shell",
            _ => "network",
        };
        known.set(fact, words.operand());
    }
    known
}

/// Prints a failure in the form of its command.
pub fn print_rejection(command: &'static Command, words: &Words, failure: &Failure, output: &mut Output<'_>) {
    #[derive(Serialize)]
    struct Rejection {
        error: ErrorObject,
    }
    let json = output.choices().json;
    if json && command.name == "run-network" {
        output.json(&RunLine::rejected(failure, words.value("--resume-run")));
        return;
    }
    if json && operate::answers(command) {
        output.json(&operate::rejection(command, words, failure));
    } else if json && command.name != "status" {
        // `status --json` printed nothing on standard output in this case, and the poller's callers rely on it.
        output.json(&Rejection {
            error: ErrorObject::of(failure),
        });
    }
    output.failure(failure);
}

/// Requests per app and day of kintone's standard course (D-07).
const DAILY_BUDGET: u64 = 10_000;
/// Clock difference to kintone worth a warning, milliseconds (D-03).
const CLOCK_TOLERANCE_MS: u64 = 30_000;

/// Tells what a command sent to kintone, and warns when one command alone nears the budget of a day or when the clocks
/// differ.
fn traffic(client: &Client, output: &mut Output<'_>) -> Requests {
    let counts = client.requests();
    if let Some((app, sent)) = counts.busiest().filter(|(_, sent)| *sent > DAILY_BUDGET / 10 * 8) {
        output.warn(
            &format!("this command sent {sent} requests to app {app}; kintone's standard course allows {DAILY_BUDGET} a day"),
            None,
        );
    }
    if let Some(offset) = client
        .clock_offset_ms()
        .filter(|ms| ms.unsigned_abs() > CLOCK_TOLERANCE_MS)
    {
        output.warn(
            &format!("this machine's clock and kintone's differ by {} s", offset / 1000),
            None,
        );
    }
    let requests = Requests::from(counts);
    output.requests(&requests);
    requests
}

/// A failure of the rooms below, with its facts.
fn translate(failure: run::Failure) -> Failure {
    let mut shown = Failure::new(failure.code, failure.message).explained_by(failure.extra.explained_by);
    shown.details = failure.details;
    for (name, value) in failure.facts {
        shown = shown.fact(name, value);
    }
    shown.blocked_runs(failure.extra.blocked_run_ids)
}

/// A settings problem under the fallback code of its command (ENV-04). The help of the command lists its variables.
fn settings_failure(fallback: &'static str) -> impl Fn(SettingsError) -> Failure {
    let command = COMMANDS
        .iter()
        .find(|command| command.fallback == fallback)
        .map_or("", |command| command.name);
    move |error| Failure::new(fallback, error.to_string()).next(format!("ksql-flownet {command} --help"))
}

/// What the settings need to know about this process.
fn surroundings() -> Surroundings {
    Surroundings {
        directory: std::env::current_dir().unwrap_or_default(),
        host_name: rustix::system::uname().nodename().to_string_lossy().into_owned(),
        process_id: std::process::id(),
    }
}
