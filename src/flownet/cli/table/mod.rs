//! THE table of commands and flags. The parser, both help languages, the completions and the check of the man pages
//! all read this table and nothing else, so a flag exists everywhere or nowhere.
//!
//! The grammar columns ([`Unknown`], [`Extra`], [`Complaint`]) write down how the commands differ (CLI-01 to CLI-04);
//! they look accidental because they are: scripts may depend on each of them.

mod local;
mod operate;
mod run;
mod shared;

use shared::switch;

use super::language::{Text, text};

/// A flag of one command.
#[derive(Debug)]
pub struct Flag {
    /// The flag as typed, with its dashes.
    pub name: &'static str,
    /// The placeholder of its value (`<key>`), or nothing for a switch.
    pub value: Option<&'static str>,
    /// `<flag> is required` when absent.
    pub required: bool,
    /// An empty value is passed on (KEY-03: an empty business key counts as given) instead of being refused.
    pub empty_allowed: bool,
    /// Values to offer in completions and help; empty = free text.
    pub choices: &'static [&'static str],
    /// One line for people.
    pub help: Text,
}

/// The operand of a command.
#[derive(Debug)]
pub struct Operand {
    /// The placeholder, with its angle brackets.
    pub name: &'static str,
    /// What is said when it is absent.
    pub missing: &'static str,
    /// What is said for each further operand; `{}` = the word.
    pub extra: &'static str,
    /// Values to offer in completions; empty = a file or free text.
    pub choices: &'static [&'static str],
    /// It may be left out.
    pub optional: bool,
    /// The completion of this operand is a file name.
    pub file: bool,
}

/// What a word is that the table does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Every unknown word is an operand.
    Operand,
    /// A word beginning with `-` is an unknown option, reported in place.
    AnyDash,
    /// A word beginning with `--` is an unknown option, reported in place; `-x` is an operand.
    DoubleDash,
    /// Every unknown word, dashed or not, is an unknown option.
    Everything,
    /// As `DoubleDash`, and it swallows a value.
    TakesValue,
    /// As `TakesValue`, reported once each after the scan.
    TakesValueDeferred,
}

/// When surplus operands are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// Where they stand.
    InPlace,
    /// After the scan.
    AfterScan,
}

/// How wrong arguments are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complaint {
    /// `Invalid <command> arguments:` and one line per problem.
    List,
    /// One fixed error line.
    Line(&'static str),
    /// One fixed line, printed as it is.
    Raw(&'static str),
}

/// A command.
#[derive(Debug)]
pub struct Command {
    /// Its name.
    pub name: &'static str,
    /// Its operand, if it takes one.
    pub operand: Option<Operand>,
    /// Its own flags, in the order in which missing ones are reported. [`COMMON`] flags come on top.
    pub flags: &'static [Flag],
    /// Grammar: unknown words.
    pub unknown: Unknown,
    /// Grammar: surplus operands.
    pub extra: Extra,
    /// Grammar: form of the complaint.
    pub complaint: Complaint,
    /// Rules between flags, checked last.
    pub rules: &'static [Rule],
    /// The code of a failure that has none of its own (ENV-04).
    pub fallback: &'static str,
    /// Shown in help, completions and man pages. False as long as the command cannot be carried out.
    pub finished: bool,
    /// One line for people.
    pub summary: Text,
    /// A paragraph for people.
    pub about: Text,
    /// Command lines to copy.
    pub examples: &'static [&'static str],
}

/// A rule between flags.
#[derive(Debug)]
pub enum Rule {
    /// The first flag must not stand with any of the others.
    Excludes(&'static str, &'static [&'static str], &'static str),
    /// The first flag needs one of the others.
    Needs(&'static str, &'static [&'static str], &'static str),
    /// The value of the flag must be one of its choices.
    OneOf(&'static str, &'static str),
}

/// Flags that every command takes. All of them are ours: the original knows `--json` only on two commands.
pub const COMMON: &[Flag] = &[
    switch(
        "--json",
        text(
            "print the result as JSON on standard output",
            "結果を JSON で標準出力へ書く",
        ),
    ),
    switch(
        "--quiet",
        text("print nothing on success", "成功時は何も表示しない"),
    ),
    switch(
        "--verbose",
        text(
            "also print the number of kintone requests per app",
            "アプリごとの kintone リクエスト数も表示する",
        ),
    ),
    switch("--help", text("display this help", "このヘルプを表示する")),
];

/// All commands, in the order of the help text.
pub const COMMANDS: &[Command] = &[
    local::VALIDATE,
    local::PLAN,
    run::RUN_NETWORK,
    run::POLL_REQUESTS,
    operate::RESOLVE_NODE,
    operate::RECORD_JOB_UNLOCK,
    operate::FORCE_UNLOCK_NETWORK,
    operate::CANCEL_RUN,
    operate::ARCHIVE_RUN,
    run::STATUS,
    local::EXPLAIN,
    local::COMPLETIONS,
];

impl Command {
    /// The command of this name (case-sensitive).
    pub fn find(name: &str) -> Option<&'static Command> {
        COMMANDS.iter().find(|command| command.name == name)
    }

    /// Its own flags and then the common ones that it does not define itself.
    pub fn all_flags(&self) -> impl Iterator<Item = &'static Flag> {
        let own = self.flags;
        own.iter().chain(
            COMMON
                .iter()
                .filter(move |c| !own.iter().any(|f| f.name == c.name)),
        )
    }

    /// The flag of this name.
    pub fn flag(&self, name: &str) -> Option<&'static Flag> {
        self.all_flags().find(|flag| flag.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_texts_are_complete() {
        for (i, command) in COMMANDS.iter().enumerate() {
            assert!(
                COMMANDS[..i].iter().all(|c| c.name != command.name),
                "{}",
                command.name
            );
            let flags: Vec<_> = command.all_flags().collect();
            for (j, flag) in flags.iter().enumerate() {
                assert!(flag.name.starts_with("--"), "{}", flag.name);
                assert!(
                    flags[..j].iter().all(|f| f.name != flag.name),
                    "{} {}",
                    command.name,
                    flag.name
                );
                assert!(!flag.help.en.is_empty() && !flag.help.ja.is_empty());
                assert_ne!(flag.help.en, flag.help.ja);
            }
            for text in [command.summary, command.about] {
                assert!(!text.en.is_empty() && !text.ja.is_empty());
                assert_ne!(text.en, text.ja);
            }
            assert!(!command.examples.is_empty());
        }
    }

    #[test]
    fn rules_name_flags_that_exist() {
        for command in COMMANDS {
            for rule in command.rules {
                let (first, others): (&str, &[&str]) = match rule {
                    Rule::Excludes(flag, others, _) | Rule::Needs(flag, others, _) => (flag, others),
                    Rule::OneOf(flag, _) => (flag, &[]),
                };
                assert!(command.flag(first).is_some(), "{} {first}", command.name);
                for other in others {
                    assert!(command.flag(other).is_some(), "{} {other}", command.name);
                }
            }
        }
    }
}
