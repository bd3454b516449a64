//! The commands of operators and the request poller: settings and files are read in the fixed order (ENV-03), then the
//! work is handed to the room that does it, and its result is told in one of two forms.

mod archive;
mod hold;
mod job_unlock;
mod resolve;
mod unlock;

use std::path::Path;
use std::sync::Arc;

use serde::Serialize;

use super::super::codes::{self, ExitClass, Facts};
use super::super::language::Language;
use super::super::output::{self, ErrorObject, Output, Requests};
use super::super::report::Failure;
use super::super::settings::{ControlSettings, Environment, OperateSettings, PollSettings};
use super::super::table::Command;
use super::super::walk::Words;
use super::{facts_of_words, settings_failure, surroundings, traffic};
use crate::flownet::clock::SystemClock;
use crate::flownet::operate::Desk;
use crate::flownet::ordered_json::Object;
use crate::kintone::Client;

/// Largest reason or result file, in bytes: more than any kintone field holds.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Runs the command.
pub fn run(
    command: &'static Command,
    words: &Words,
    env: &Environment<'_>,
    output: &mut Output<'_>,
) -> Result<ExitClass, Failure> {
    let wrong = settings_failure(command.fallback);
    match command.name {
        "poll-requests" => {
            let settings = PollSettings::read(env).map_err(&wrong)?;
            if !Path::new(&settings.allowlist).is_absolute() {
                return Err(Failure::new(
                    "ALLOWLIST_PATH_NOT_ABSOLUTE",
                    "allowlist path must be absolute",
                ));
            }
            Err(unavailable(command))
        }
        "archive-run" => archive::run(command, words, env, output),
        name => {
            let settings =
                OperateSettings::read(env, name != "cancel-run", &surroundings()).map_err(&wrong)?;
            let desk = desk(
                command,
                &settings.control,
                &settings.service_principal,
                &settings.requested_by,
            )?;
            let told = match name {
                "resolve-node" => resolve::run(command, words, &desk),
                "record-job-unlock" => job_unlock::run(command, words, &desk),
                "force-unlock-network" => unlock::run(command, words, &desk, &settings),
                _ => hold::run(command, words, &desk),
            };
            let requests = traffic(&desk.client, output);
            tell(command, words, &told?, requests, output);
            Ok(ExitClass::Done)
        }
    }
}

/// What a command did, for both forms of output.
struct Told {
    /// Lines for people.
    lines: Vec<String>,
    /// What was done.
    outcome: &'static str,
    /// Its code in the table, which knows the next steps.
    code: &'static str,
    /// Ids of everything concerned, in this order.
    ids: Vec<(&'static str, String)>,
    /// Revision of the record that the command is about.
    revision: Option<u64>,
    /// The event in the audit app; nothing when nothing was written.
    audit_event_id: Option<String>,
    /// A resume of the Run does something now.
    resumes: bool,
    /// Further values for the next steps.
    facts: Vec<(&'static str, String)>,
}

impl Told {
    fn facts(&self, command: &Command, words: &Words) -> Facts {
        let mut facts = Facts::default();
        for (name, value) in self.ids.iter().chain(&self.facts) {
            facts.set(name, value.clone());
        }
        facts.extend(&facts_of_words(command, words));
        facts
    }
}

/// The JSON object of an operator command, keys in this order.
#[derive(Serialize)]
pub struct Answer {
    command: &'static str,
    outcome: &'static str,
    code: String,
    ids: Object,
    revision: Option<u64>,
    audit_event_id: Option<String>,
    next: Vec<String>,
    /// Why the command was refused, as for every other command.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<ErrorObject>,
    #[serde(skip_serializing_if = "Option::is_none")]
    requests: Option<Requests>,
}

/// Prints what was done: lines, or one JSON object.
fn tell(command: &'static Command, words: &Words, told: &Told, requests: Requests, output: &mut Output<'_>) {
    let facts = told.facts(command, words);
    let next = |language: Language| {
        let mut steps = codes::next_steps(told.code, &facts, language);
        steps.retain(|step| told.resumes || !step.starts_with("ksql-flownet run-network "));
        steps
    };
    if output.choices().json {
        let ids = told.ids.iter();
        output.json(&Answer {
            command: command.name,
            outcome: told.outcome,
            code: told.code.to_owned(),
            ids: ids.fold(Object::new(), |ids, (name, value)| ids.with(name, value.as_str())),
            revision: told.revision,
            audit_event_id: told.audit_event_id.clone(),
            next: next(Language::English),
            error: None,
            requests: Some(requests),
        });
    }
    for line in &told.lines {
        output.result(line);
    }
    if !output.choices().quiet && !output.choices().json {
        output.next_steps(&next(output.choices().language));
    }
}

/// The same object for a command that was refused.
pub fn rejection(command: &'static Command, words: &Words, failure: &Failure) -> Answer {
    let known = [
        ("run_id", "--run-id"),
        ("node_id", "--node-id"),
        ("profile", "--profile"),
    ];
    let ids = known
        .into_iter()
        .filter_map(|(name, flag)| words.value(flag).map(|value| (name, value)))
        .fold(Object::new(), |ids, (name, value)| ids.with(name, value));
    Answer {
        command: command.name,
        outcome: "REJECTED",
        code: failure.code.to_string(),
        ids,
        revision: None,
        audit_event_id: None,
        next: output::steps(failure, Language::English),
        error: Some(ErrorObject::of(failure)),
        requests: None,
    }
}

/// Is this a command whose JSON form is [`answer`]?
pub fn answers(command: &Command) -> bool {
    matches!(
        command.name,
        "resolve-node" | "record-job-unlock" | "force-unlock-network" | "cancel-run" | "archive-run"
    )
}

fn desk(
    command: &Command,
    control: &ControlSettings,
    service_principal: &str,
    requested_by: &str,
) -> Result<Desk, Failure> {
    let client =
        Client::new(control.client_config()).map_err(|e| Failure::new(command.fallback, e.to_string()))?;
    Ok(Desk {
        client,
        clock: Arc::new(SystemClock),
        state: control.state_app(),
        audit: control.audit_app(),
        service_principal: service_principal.to_owned(),
        requested_by: requested_by.to_owned(),
    })
}

/// The text of a file named by a flag: a regular file, so that nothing waits for a writer, in UTF-8, so that an audit record
/// holds what was meant.
fn read_text(command: &Command, words: &Words, flag: &str) -> Result<String, Failure> {
    use std::io::Read;
    let path = words.value(flag).unwrap_or_default();
    let mut bytes = Vec::new();
    let unreadable = |error| Failure::system(command.fallback, &format!("cannot read {flag} {path}"), &error);
    let kind = std::fs::metadata(path).map_err(unreadable)?;
    if !kind.is_file() && !kind.is_dir() {
        return Err(Failure::new(
            "EINVAL",
            format!("{flag} {path} is not a regular file"),
        ));
    }
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(unreadable)?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Failure::new(
            "EFBIG",
            format!("{flag} {path} is larger than {MAX_FILE_BYTES} bytes"),
        ));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        Failure::new(
            "NOT_UTF8",
            format!("{flag} {path} is not UTF-8: see byte {}", at + 1),
        )
    })
}

/// The end of a command whose work is not part of this build; the table hides it from help.
fn unavailable(command: &Command) -> Failure {
    Failure::new(
        "COMMAND_UNAVAILABLE",
        format!("this build cannot carry out {}", command.name),
    )
}

/// The names of Run and network for the next steps.
fn run_facts(network_id: &str, profile: &str) -> Vec<(&'static str, String)> {
    vec![
        ("network_id", network_id.to_owned()),
        ("profile", profile.to_owned()),
    ]
}

/// One word of a flag that the table requires.
fn given<'a>(words: &'a Words, flag: &str) -> &'a str {
    words.value(flag).unwrap_or_default()
}
