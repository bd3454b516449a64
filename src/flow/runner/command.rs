//! The command line: one table of commands and flags, and the walker that reads arguments against it (RNR-01..07).
//!
//! Everything that is wrong with the arguments alone is found here, before a file or kintone is touched (RNR-03).

mod table;
mod usage;

use std::fmt;
use std::path::Path;

pub use table::{COMMANDS, Command, CommandRow, FLAGS, FlagRow, ORCHESTRATION};
pub use usage::usage;

use super::file_flags;
use crate::flow::sql::message::{Message, say};
use table::{CONFIG, CONFLICTS, PROFILE};

/// Flags as given on the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags(Vec<(&'static str, Option<String>)>);

impl Flags {
    /// Whether the flag was given.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|(given, _)| *given == name)
    }

    /// The value of a flag; the last one wins (RNR-01).
    pub fn value(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .rev()
            .find(|(given, _)| *given == name)
            .and_then(|(_, value)| value.as_deref())
    }

    /// All values of a repeatable flag, in order.
    pub fn values<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        self.0
            .iter()
            .filter(move |(given, _)| *given == name)
            .filter_map(|(_, value)| value.as_deref())
    }

    /// Path of the job file.
    pub fn job_file(&self) -> Option<&str> {
        self.value("-f")
            .or_else(|| self.value("--file"))
            .filter(|path| !path.is_empty())
    }
}

/// Arguments that passed every check of this file.
#[derive(Debug)]
pub struct Invocation {
    /// The command's row of the table.
    pub row: &'static CommandRow,
    /// Its flags.
    pub flags: Flags,
    /// Its positional arguments, as many as the row names.
    pub positionals: Vec<String>,
}

/// What the arguments ask for.
#[derive(Debug)]
pub enum Request {
    /// General help on standard output.
    Help,
    /// The version on standard output.
    Version,
    /// Help for one command; machine commands keep standard output free (RNR-04).
    CommandHelp(&'static CommandRow),
    /// A command.
    Invoke(Invocation),
}

/// Ids given by an orchestrator, checked for form (RNR-06).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Orchestration {
    /// Where the execution result goes; `-` is standard output.
    pub result_json: String,
    /// Id of the calling run.
    pub correlation_id: String,
    /// Id of the attempt.
    pub attempt_id: String,
    /// Name the job must have.
    pub expected_job_id: String,
}

/// A mistake in the arguments: exit 1, nothing was done.
#[derive(Debug)]
pub struct UsageError {
    /// What is wrong, and with which argument.
    pub message: Message,
    /// Print the usage after the message (unknown commands).
    pub show_usage: bool,
    /// When an orchestrator gave all it must give, it gets a result even so (RNR-06).
    pub orchestration: Option<Orchestration>,
    /// The profile as far as it was read, for that result.
    pub profile: Option<String>,
    /// The `--as-of` text as far as it was read, for that result.
    pub as_of: Option<String>,
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.message)
    }
}

/// Reads the arguments after the program's name.
///
/// # Errors
/// The first mistake, in the order of the arguments.
pub fn parse(arguments: &[String]) -> Result<Request, Box<UsageError>> {
    let Some((name, rest)) = arguments.split_first() else {
        return Ok(Request::Help);
    };
    if ["help", "--help", "-h"].contains(&name.as_str()) {
        return Ok(Request::Help);
    }
    if ["--version", "-V"].contains(&name.as_str()) {
        return Ok(Request::Version);
    }
    let Some(row) = COMMANDS.iter().find(|row| row.name == name) else {
        return Err(Box::new(UsageError {
            message: say!("unknown command {name:?}", "コマンド {name:?} はありません"),
            show_usage: true,
            orchestration: None,
            profile: None,
            as_of: None,
        }));
    };
    let walk = Walk::over(row, rest);
    match walk.check() {
        Ok(()) if walk.help => Ok(Request::CommandHelp(row)),
        Ok(()) => Ok(Request::Invoke(Invocation {
            row,
            flags: walk.flags,
            positionals: walk.positionals,
        })),
        Err(message) => Err(Box::new(UsageError {
            message,
            show_usage: false,
            orchestration: orchestration(&walk.flags).ok().flatten(),
            profile: walk.flags.value(PROFILE).map(str::to_owned),
            as_of: walk.flags.value("--as-of").map(str::to_owned),
        })),
    }
}

/// The tokens of one command, read to the end even after a mistake so that an orchestrator can be answered.
struct Walk {
    row: &'static CommandRow,
    flags: Flags,
    positionals: Vec<String>,
    help: bool,
    mistake: Option<Message>,
}

impl Walk {
    fn over(row: &'static CommandRow, tokens: &[String]) -> Self {
        let mut walk = Self {
            row,
            flags: Flags::default(),
            positionals: Vec::new(),
            help: false,
            mistake: None,
        };
        let mut tokens = tokens.iter().map(String::as_str).peekable();
        while let Some(token) = tokens.next() {
            if !token.starts_with('-') {
                walk.positionals.push(token.to_owned());
                continue;
            }
            let (name, inline) = match token.split_once('=') {
                Some((name, value)) => (name, Some(value)),
                None => (token, None),
            };
            if name == "--help" || name == "-h" {
                walk.help = true;
                if inline.is_some() {
                    walk.note(no_value(name));
                }
                continue;
            }
            let Some(flag) = FLAGS.iter().find(|flag| flag.name == name) else {
                walk.note(say!("unknown flag {name}", "フラグ {name} はありません"));
                continue;
            };
            if !row.flags.contains(&flag.name) {
                let command = row.name;
                walk.note(say!(
                    "{name} is not a flag of {command}",
                    "{name} は {command} のフラグではありません"
                ));
            }
            match (flag.value, inline) {
                (None, None) => walk.flags.0.push((flag.name, None)),
                (None, Some(_)) => walk.note(no_value(name)),
                (Some(_), Some(value)) => walk.flags.0.push((flag.name, Some(value.to_owned()))),
                (Some(_), None) => match tokens.peek() {
                    Some(next) if !next.starts_with('-') || (name == "--result-json" && *next == "-") => {
                        walk.flags.0.push((flag.name, Some((*next).to_owned())));
                        tokens.next();
                    }
                    _ => walk.note(say!("{name} needs a value", "{name} には値が必要です")),
                },
            }
        }
        walk
    }

    fn note(&mut self, mistake: Message) {
        self.mistake.get_or_insert(mistake);
    }

    fn check(&self) -> Result<(), Message> {
        if let Some(mistake) = &self.mistake {
            return Err(mistake.clone());
        }
        let (given, wanted) = (self.positionals.len(), self.row.positionals.len());
        if given < wanted {
            return Err(needs(self.row.name, self.row.positionals[given]));
        }
        if let Some(extra) = self.positionals.get(wanted) {
            return Err(say!(
                "unexpected argument {extra:?}",
                "余分な引数 {extra:?} があります"
            ));
        }
        for group in CONFLICTS {
            let given: Vec<&str> = group
                .iter()
                .copied()
                .filter(|name| self.flags.has(name))
                .collect();
            if let [first, second, ..] = given[..] {
                return Err(exclusive(first, second));
            }
        }
        if matches!(self.row.command, Command::Run | Command::RunAll) && !self.flags.has("--dry-run") {
            for name in ["--json", "--sample"] {
                if self.flags.has(name) {
                    return Err(needs(name, "--dry-run"));
                }
            }
        }
        self.check_orchestration()?;
        if self.help {
            return Ok(());
        }
        self.check_required()
    }

    fn check_orchestration(&self) -> Result<(), Message> {
        if orchestration(&self.flags)?.is_none() {
            return Ok(());
        }
        let excluded = ["--dry-run", "--json", "--sample"];
        if let Some(name) = excluded.into_iter().find(|name| self.flags.has(name)) {
            return Err(exclusive(name, "--result-json"));
        }
        if self.help {
            return Err(exclusive("--help", "--result-json"));
        }
        if self.flags.value("--lock") == Some("local-only") {
            return Err(say!(
                "--lock local-only and --result-json exclude each other: an orchestrated run needs the log app",
                "--lock local-only と --result-json は同時に指定できません。オーケストレーターからの実行にはログアプリが必要です"
            ));
        }
        Ok(())
    }

    /// RNR-05 (job file and machine commands) and RNR-07.
    fn check_required(&self) -> Result<(), Message> {
        let flags = &self.flags;
        let name = self.row.name;
        let required: &[&str] = match self.row.command {
            Command::Capabilities => &["--json"],
            Command::DescribeProfile | Command::InspectJob => &["--json", PROFILE, CONFIG],
            Command::InspectLock => &["--json", PROFILE, CONFIG, "--job-key"],
            Command::ForceUnlockJob => &[
                "--json",
                PROFILE,
                CONFIG,
                "--job-key",
                "--reason",
                "--confirmed-by",
                "--evidence-ref",
            ],
            _ => &[],
        };
        for flag in required {
            let blank = flags.value(flag).is_some_and(|value| value.trim().is_empty());
            if !flags.has(flag) || blank {
                return Err(needs(name, flag));
            }
        }
        if flags
            .value("--evidence-ref")
            .is_some_and(|text| !is_absolute_uri(text))
        {
            return Err(say!(
                "--evidence-ref must be an absolute URI, for example https://example.com/tickets/1",
                "--evidence-ref には https://example.com/tickets/1 のような絶対 URI を指定してください"
            ));
        }
        let needs_file = match self.row.command {
            Command::Run | Command::InspectJob | Command::Explain => true,
            Command::Validate => !flags.has("--check-logapp"),
            _ => false,
        };
        if needs_file && flags.job_file().is_none() {
            return Err(needs(name, "-f FILE"));
        }
        if self.row.command == Command::Run {
            file_flags::imports(flags, flags.has("--result-json"))?;
            file_flags::exports(flags)?;
        }
        Ok(())
    }
}

fn needs(what: &str, wanted: &str) -> Message {
    say!("{what} needs {wanted}", "{what} には {wanted} が必要です")
}

fn no_value(name: &str) -> Message {
    say!("{name} takes no value", "{name} は値を取りません")
}

fn exclusive(first: &str, second: &str) -> Message {
    say!(
        "{first} and {second} exclude each other",
        "{first} と {second} は同時に指定できません"
    )
}

/// The orchestrator's four flags: all or none, each of the right form.
fn orchestration(flags: &Flags) -> Result<Option<Orchestration>, Message> {
    let given: Vec<&str> = ORCHESTRATION.into_iter().filter(|name| flags.has(name)).collect();
    if given.is_empty() {
        return Ok(None);
    }
    let take = |name: &str| {
        flags.value(name).map(str::to_owned).ok_or_else(|| {
            let first = given[0];
            say!("{first} also needs {name}", "{first} には {name} も必要です")
        })
    };
    let all = Orchestration {
        result_json: take("--result-json")?,
        correlation_id: take("--correlation-id")?,
        attempt_id: take("--attempt-id")?,
        expected_job_id: take("--expected-job-id")?,
    };
    for (name, id) in [
        ("--correlation-id", &all.correlation_id),
        ("--attempt-id", &all.attempt_id),
        ("--expected-job-id", &all.expected_job_id),
    ] {
        if !is_contract_id(id) {
            return Err(say!(
                "{name} must be 1 to {MAX_ID_CHARS} of A-Z a-z 0-9 . _ : -",
                "{name} は A-Z a-z 0-9 . _ : - からなる 1 から {MAX_ID_CHARS} 文字にしてください"
            ));
        }
    }
    if all.result_json.is_empty() {
        return Err(say!(
            "--result-json needs a path, or -",
            "--result-json にはパスか - が必要です"
        ));
    }
    if all.result_json != "-" && Path::new(&all.result_json).symlink_metadata().is_ok() {
        let path = &all.result_json;
        return Err(say!(
            "--result-json: {path} exists already; give a new path",
            "--result-json: {path} は既にあります。新しいパスを指定してください"
        ));
    }
    Ok(Some(all))
}

impl Invocation {
    /// The orchestrator's ids, if this is an orchestrated run.
    pub fn orchestration(&self) -> Option<Orchestration> {
        orchestration(&self.flags).ok().flatten()
    }
}

/// Longest id of Execution Contract v1, in characters.
const MAX_ID_CHARS: usize = 128;

fn is_contract_id(text: &str) -> bool {
    (1..=MAX_ID_CHARS).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b))
}

/// `scheme:rest` after RFC 3986, without blanks or control characters.
fn is_absolute_uri(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once(':') else {
        return false;
    };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"+-.".contains(&b))
        && !rest.is_empty()
        && !text.contains(|c: char| c.is_whitespace() || c.is_control())
}

#[cfg(test)]
mod tests;
