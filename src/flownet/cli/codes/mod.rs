//! THE table of result codes: exit class (D-05), one line of explanation and the commands that lead on (D-06, 15.3),
//! in English and Japanese. Keyed by code; every command ends with one of these codes, and nothing else in the program
//! knows exit statuses or next steps.

mod child;
mod definition;
mod facts;
mod operate;
mod request;
mod run;
pub(super) mod steps;
mod system;

pub use facts::Facts;

use super::language::{Language, Text};
use super::settings::{Environment, SettingsError};

/// What an exit status tells a scheduler (D-05).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ExitClass {
    /// Done, or nothing to do.
    Done,
    /// Wrong usage, configuration or definition: nothing was started.
    Usage,
    /// A node failed or was cancelled.
    NodeFailed,
    /// kintone, the network or the connection to the lock gave trouble: trying again may help.
    Remote,
    /// A result is unknown: a person must decide.
    Unknown,
    /// Locked, or already running.
    Locked,
    /// On hold, or refused because of the state of the Run.
    Refused,
    /// A fault of the program itself.
    Internal,
}

/// All classes, with their text for man page and help.
pub const EXIT_CLASSES: &[(ExitClass, Text)] = &[
    (
        ExitClass::Done,
        super::language::text("done, or nothing to do", "完了、または何もする必要がない"),
    ),
    (
        ExitClass::Usage,
        super::language::text(
            "wrong arguments, settings or definition; nothing was started",
            "引数、設定、定義の誤り。何も開始していない",
        ),
    ),
    (
        ExitClass::NodeFailed,
        super::language::text(
            "a node failed or was cancelled",
            "ノードが失敗した、または取り消された",
        ),
    ),
    (
        ExitClass::Remote,
        super::language::text("trouble with kintone or the network", "kintone または通信の障害"),
    ),
    (
        ExitClass::Unknown,
        super::language::text(
            "a result is unknown: a person must decide",
            "結果が不明。人の判断が必要",
        ),
    ),
    (
        ExitClass::Locked,
        super::language::text("locked, or already running", "ロック中、または実行中"),
    ),
    (
        ExitClass::Refused,
        super::language::text(
            "on hold, or refused because of the state",
            "保留中、または状態により拒否",
        ),
    ),
    (
        ExitClass::Internal,
        super::language::text("internal error", "内部エラー"),
    ),
];

impl ExitClass {
    /// The exit status with `KSQL_FLOWNET_EXIT_CODES=detailed`.
    pub fn detailed(self) -> u8 {
        match self {
            ExitClass::Done => 0,
            ExitClass::Usage => 1,
            ExitClass::NodeFailed => 2,
            ExitClass::Remote => 3,
            ExitClass::Unknown => 4,
            ExitClass::Locked => 5,
            ExitClass::Refused => 6,
            ExitClass::Internal => 70,
        }
    }
}

/// Which exit statuses are used.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExitStyle {
    /// 0 and 1 (CLI-05).
    #[default]
    Simple,
    /// One status per class (D-05).
    Detailed,
}

impl ExitStyle {
    /// `KSQL_FLOWNET_EXIT_CODES`: `simple` or `detailed`.
    pub fn read(env: &Environment<'_>) -> Result<ExitStyle, SettingsError> {
        let choices = [("simple", ExitStyle::Simple), ("detailed", ExitStyle::Detailed)];
        env.choice("KSQL_FLOWNET_EXIT_CODES", &choices, ExitStyle::Simple)
    }

    /// The exit status of a class.
    pub fn status(self, class: ExitClass) -> u8 {
        match self {
            ExitStyle::Detailed => class.detailed(),
            ExitStyle::Simple => u8::from(class != ExitClass::Done),
        }
    }
}

/// One step that leads on: a command, a piece of advice, or a command with its purpose.
#[derive(Debug)]
pub struct Step {
    /// A command line with `{fact}` places; empty when only a person can do it.
    pub command: &'static str,
    /// The purpose of the command, or the advice.
    pub why: Text,
}

/// One code.
#[derive(Debug)]
pub struct Entry {
    /// The code.
    pub code: &'static str,
    /// What it means for the exit status.
    pub class: ExitClass,
    /// One line of explanation.
    pub says: Text,
    /// What to do next.
    pub next: &'static [Step],
}

const fn entry(code: &'static str, class: ExitClass, says: Text, next: &'static [Step]) -> Entry {
    Entry {
        code,
        class,
        says,
        next,
    }
}

const fn step(command: &'static str, en: &'static str, ja: &'static str) -> Step {
    Step {
        command,
        why: super::language::text(en, ja),
    }
}

/// All entries, by subject.
pub fn entries() -> impl Iterator<Item = &'static Entry> {
    [
        definition::ENTRIES,
        run::ENTRIES,
        child::ENTRIES,
        operate::ENTRIES,
        request::ENTRIES,
        system::ENTRIES,
    ]
    .into_iter()
    .flatten()
}

/// The entry of a code.
pub fn find(code: &str) -> Option<&'static Entry> {
    entries().find(|entry| entry.code == code)
}

/// The exit class of a code. A code without an entry is a fault of the program (a test forbids it).
pub fn class(code: &str) -> ExitClass {
    find(code).map_or(ExitClass::Internal, |entry| entry.class)
}

/// The next steps of a code, one line each, filled with what is known.
pub fn next_steps(code: &str, facts: &Facts, language: Language) -> Vec<String> {
    find(code).map_or_else(Vec::new, |entry| {
        entry
            .next
            .iter()
            .map(|step| {
                let why = step.why.get(language);
                if step.command.is_empty() {
                    facts.fill(why)
                } else {
                    format!("{}  # {}", facts.fill_command(step.command), facts.fill(why))
                }
            })
            .collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_unique_and_complete_in_both_languages() {
        let all: Vec<_> = entries().collect();
        for (i, entry) in all.iter().enumerate() {
            assert!(
                all[..i].iter().all(|e| e.code != entry.code),
                "{} stands twice",
                entry.code
            );
            assert!(
                entry
                    .code
                    .bytes()
                    .all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_'),
                "{}",
                entry.code
            );
            for text in std::iter::once(entry.says).chain(entry.next.iter().map(|s| s.why)) {
                assert!(
                    !text.en.is_empty() && text.en.is_ascii(),
                    "{}: {}",
                    entry.code,
                    text.en
                );
                assert!(
                    !text.ja.is_ascii(),
                    "{}: no Japanese in {:?}",
                    entry.code,
                    text.ja
                );
                assert!(
                    !text.en.contains('\n') && !text.ja.contains('\n'),
                    "{}",
                    entry.code
                );
            }
            assert!(
                entry.class == ExitClass::Done || !entry.next.is_empty(),
                "{}: an operator needs a next step",
                entry.code
            );
        }
    }

    /// Every command that the table tells a person to type is taken by our own parser.
    #[test]
    fn commands_of_next_steps_parse() {
        use crate::flownet::cli::{table::Command, walk::walk};
        for entry in entries() {
            for step in entry.next {
                let Some(line) = step.command.strip_prefix("ksql-flownet ") else {
                    continue;
                };
                let line = line.replace(['[', ']'], "");
                let line = line.replace("{resolution_flag}", "--manual-completion");
                let line = line.split(" > ").next().unwrap_or_default();
                let mut words = line.split(' ').map(str::to_owned);
                let name = words.next().unwrap_or_default();
                if name.starts_with("--") || name == "{command}" {
                    continue;
                }
                let command = Command::find(&name).unwrap_or_else(|| panic!("{}: {line}", entry.code));
                let problems = walk(command, &words.collect::<Vec<_>>()).problems().to_vec();
                let real: Vec<_> = problems
                    .iter()
                    .filter(|p| !p.starts_with("--to must be"))
                    .collect();
                assert!(real.is_empty(), "{}: {line}: {real:?}", entry.code);
            }
        }
    }

    #[test]
    fn every_error_of_the_system_has_an_explanation() {
        for (_, name) in crate::os::error_name::NAMES {
            assert!(find(name).is_some(), "{name}");
        }
    }

    #[test]
    fn simple_style_knows_only_zero_and_one() {
        for (class, _) in EXIT_CLASSES {
            assert_eq!(
                ExitStyle::Simple.status(*class),
                u8::from(*class != ExitClass::Done)
            );
        }
        assert_eq!(ExitStyle::Detailed.status(ExitClass::Internal), 70);
    }
}
