//! The commands of operators and the request poller: settings and files are read in the fixed order (ENV-03), then the
//! work is handed to the room that does it.

use std::path::Path;

use super::super::codes::ExitClass;
use super::super::report::Failure;
use super::super::settings::{ArchiveSettings, Environment, OperateSettings, PollSettings};
use super::super::table::Command;
use super::super::walk::Words;
use super::network_file::{self, NetworkFile};
use super::{settings_failure, surroundings};

/// Largest reason or result file, in bytes: more than any kintone field holds.
const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Runs the command.
pub fn run(command: &'static Command, words: &Words, env: &Environment<'_>) -> Result<ExitClass, Failure> {
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
        }
        "archive-run" => {
            read_text(command, words, "--reason-file")?;
            NetworkFile::read(words.operand())
                .loaded
                .into_valid()
                .map_err(|problems| network_file::invalid(command.fallback, &problems))?;
            ArchiveSettings::read(env, words.value("--profile"), &surroundings()).map_err(&wrong)?;
        }
        name => {
            OperateSettings::read(env, name != "cancel-run", &surroundings()).map_err(&wrong)?;
            if name == "record-job-unlock" {
                let text = read_text(command, words, "--result-file")?;
                serde_json::from_str::<serde_json::Value>(&text).map_err(|error| {
                    Failure::new(command.fallback, format!("the result file is not JSON: {error}"))
                })?;
            }
            read_text(command, words, "--reason-file")?;
        }
    }
    Err(unavailable(command))
}

/// The text of a file named by a flag. Invalid UTF-8 is replaced, as the original does.
fn read_text(command: &Command, words: &Words, flag: &str) -> Result<String, Failure> {
    use std::io::Read;
    let path = words.value(flag).unwrap_or_default();
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| Failure::system(command.fallback, &format!("cannot read {flag} {path}"), &error))?;
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(Failure::new(
            "EFBIG",
            format!("{flag} {path} is larger than {MAX_FILE_BYTES} bytes"),
        ));
    }
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The end of a command whose work is not part of this build; the table hides it from help.
pub fn unavailable(command: &Command) -> Failure {
    Failure::new(
        "COMMAND_UNAVAILABLE",
        format!("this build cannot carry out {}", command.name),
    )
}
