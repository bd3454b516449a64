//! The walker over the table: one pass over the words of a command (CLI-01 to CLI-03).
//!
//! An argument parser crate cannot be used here, because the grammar forbids what such crates offer and demands what they
//! cannot do: there is no `--flag=value`, no bundling of short flags, no abbreviation and no `--` terminator; a value
//! may begin with one dash but not with two; a missing value is not consumed; and all problems are reported, in order of
//! appearance, not only the first one.

use super::table::{Command, Extra, Rule, Unknown};

/// The words of a command, taken apart.
#[derive(Debug, Default)]
pub struct Words {
    operands: Vec<String>,
    values: Vec<(String, String)>,
    switches: Vec<String>,
    problems: Vec<String>,
}

impl Words {
    /// The value of an option; the last one when it was given twice (then there is a problem as well).
    pub fn value(&self, flag: &str) -> Option<&str> {
        self.values
            .iter()
            .rev()
            .find(|(name, _)| name == flag)
            .map(|(_, value)| value.as_str())
    }

    /// True when a switch was given.
    pub fn has(&self, flag: &str) -> bool {
        self.switches.iter().any(|name| name == flag)
    }

    /// The first operand; empty text when there is none (the walker has then reported it if it is required).
    pub fn operand(&self) -> &str {
        self.operands.first().map_or("", String::as_str)
    }

    /// Everything wrong with the arguments, in reporting order.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    fn given(&self, flag: &str) -> bool {
        self.has(flag) || self.value(flag).is_some()
    }
}

/// Takes the words after the command name apart. Never fails: problems are part of the answer.
pub fn walk(command: &Command, args: &[String]) -> Words {
    let mut words = Words::default();
    let mut deferred: Vec<String> = Vec::new();
    let mut surplus: Vec<String> = Vec::new();
    let mut rest = args.iter().peekable();
    while let Some(word) = rest.next() {
        let known = command.flag(word);
        let swallows = matches!(command.unknown, Unknown::TakesValue | Unknown::TakesValueDeferred);
        let takes_value = match known {
            Some(flag) => flag.value.is_some(),
            None => swallows && word.starts_with("--"),
        };
        if takes_value {
            let empty_allowed = known.is_none_or(|flag| flag.empty_allowed);
            match rest.next_if(|next| !next.starts_with("--")) {
                None => words.problems.push(format!("{word} requires a value")),
                Some(value) => {
                    if known.is_none() && command.unknown == Unknown::TakesValue {
                        words.problems.push(format!("unknown option '{word}'"));
                    }
                    if value.is_empty() && !empty_allowed {
                        words.problems.push(format!("{word} requires a value"));
                    }
                    if words.value(word).is_some() {
                        words
                            .problems
                            .push(format!("{word} was specified more than once"));
                    } else if known.is_none() {
                        deferred.push(word.clone());
                    }
                    words.values.push((word.clone(), value.clone()));
                }
            }
        } else if known.is_some() {
            if words.has(word) {
                words
                    .problems
                    .push(format!("{word} was specified more than once"));
            } else {
                words.switches.push(word.clone());
            }
        } else if is_unknown_option(command.unknown, word) {
            words.problems.push(format!("unknown option '{word}'"));
        } else if words.operands.is_empty() && command.operand.is_some() {
            words.operands.push(word.clone());
        } else {
            let complaint = command
                .operand
                .as_ref()
                .map_or("unexpected argument '{}'", |o| o.extra)
                .replace("{}", word);
            match command.extra {
                Extra::InPlace => words.problems.push(complaint),
                Extra::AfterScan => surplus.push(complaint),
            }
        }
    }
    if command.unknown == Unknown::TakesValueDeferred {
        words
            .problems
            .extend(deferred.iter().map(|word| format!("unknown option '{word}'")));
    }
    words.problems.append(&mut surplus);
    if let Some(operand) = &command.operand
        && !operand.optional
        && words.operand().is_empty()
    {
        words.problems.push(operand.missing.to_owned());
    }
    for flag in command.flags.iter().filter(|flag| flag.required) {
        if words.value(flag.name).is_none() {
            words.problems.push(format!("{} is required", flag.name));
        }
    }
    let broken: Vec<String> = command
        .rules
        .iter()
        .filter_map(|rule| breach(command, rule, &words))
        .collect();
    words.problems.extend(broken);
    words
}

fn is_unknown_option(unknown: Unknown, word: &str) -> bool {
    match unknown {
        Unknown::AnyDash => word.starts_with('-'),
        Unknown::DoubleDash => word.starts_with("--"),
        Unknown::Everything => true,
        // With `TakesValue`, an unknown `--x` never comes here.
        Unknown::Operand | Unknown::TakesValue | Unknown::TakesValueDeferred => false,
    }
}

fn breach(command: &Command, rule: &Rule, words: &Words) -> Option<String> {
    let (broken, message) = match rule {
        Rule::Excludes(flag, others, message) => (
            words.given(flag) && others.iter().any(|other| words.given(other)),
            message,
        ),
        Rule::Needs(flag, others, message) => (
            words.given(flag) && !others.iter().any(|other| words.given(other)),
            message,
        ),
        Rule::OneOf(flag, message) => {
            let choices = command.flag(flag).map_or(&[][..], |f| f.choices);
            (
                words.value(flag).is_some_and(|value| !choices.contains(&value)),
                message,
            )
        }
    };
    broken.then(|| (*message).to_owned())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::flownet::cli::table::COMMANDS;

    fn problems(line: &str) -> Vec<String> {
        let mut args = line.split(' ').map(str::to_owned);
        let name = args.next().unwrap_or_default();
        let command = Command::find(&name).expect("a command of the table");
        walk(command, &args.collect::<Vec<_>>()).problems().to_vec()
    }

    #[test]
    fn a_value_may_begin_with_one_dash_but_not_with_two() {
        assert_eq!(problems("plan n --business-key -k"), [""; 0]);
        assert_eq!(
            problems("plan n --business-key --k"),
            ["--business-key requires a value", "unknown option '--k'"]
        );
    }

    #[test]
    fn an_empty_business_key_counts_as_given_and_an_empty_run_id_does_not() {
        let plan = Command::find("plan").expect("plan");
        let args = ["n", "--business-key", ""].map(str::to_owned);
        assert!(walk(plan, &args).problems().is_empty());
        let status = Command::find("status").expect("status");
        let args = ["n", "--profile", "p", "--run-id", ""].map(str::to_owned);
        assert_eq!(walk(status, &args).problems(), ["--run-id requires a value"]);
    }

    #[test]
    fn surplus_words_are_reported_where_the_table_says() {
        assert_eq!(
            problems("force-unlock-network net x --zz v --profile")[..3],
            [
                "unknown option '--zz'",
                "--profile requires a value",
                "unexpected argument 'x'"
            ]
        );
        assert_eq!(problems("cancel-run x")[0], "unknown option 'x'");
        assert_eq!(
            problems("resolve-node --bogus v x")[..2],
            ["unexpected argument 'x'", "unknown option '--bogus'"]
        );
    }

    #[test]
    fn rules_between_flags_come_last() {
        assert_eq!(
            problems("run-network n --rerun-from a"),
            ["--rerun-from requires --resume-run or --resume"]
        );
    }

    /// Words that hit every branch of the walker.
    fn any_word() -> impl Strategy<Value = String> {
        let flags: Vec<&'static str> = COMMANDS
            .iter()
            .flat_map(Command::all_flags)
            .map(|flag| flag.name)
            .chain(["--", "--zz", "-x"])
            .collect();
        prop_oneof![
            proptest::sample::select(flags).prop_map(str::to_owned),
            "[a-z]{0,3}",
            "\\PC{0,8}",
        ]
    }

    proptest! {
        /// Whatever is typed, no word is lost: each is a known flag, a value, an operand or part of a problem.
        #[test]
        fn no_word_is_silently_dropped(at in 0..COMMANDS.len(), args in proptest::collection::vec(any_word(), 0..8)) {
            let command = &COMMANDS[at];
            let words = walk(command, &args);
            let kept = words.operands.len() + 2 * words.values.len() + words.switches.len();
            prop_assert!(kept + words.problems.len() >= args.len(), "{args:?}: {words:?}");
            for (flag, value) in &words.values {
                prop_assert!(!value.starts_with("--"), "{flag} took {value}");
            }
        }

        /// A command line made from the table is taken without complaint, and every value arrives.
        #[test]
        fn a_line_made_from_the_table_is_taken(at in 0..COMMANDS.len(), value in "[a-z0-9./@]{1,12}") {
            let command = &COMMANDS[at];
            let mut args = Vec::new();
            if command.operand.is_some() {
                args.push(value.clone());
            }
            let mut given = Vec::new();
            for flag in command.flags.iter().filter(|flag| flag.required) {
                let value = flag.choices.first().map_or(value.as_str(), |choice| *choice).to_owned();
                given.push((flag.name, value.clone()));
                args.extend([flag.name.to_owned(), value]);
            }
            let words = walk(command, &args);
            prop_assert!(words.problems().is_empty(), "{args:?}: {words:?}");
            for (flag, value) in given {
                prop_assert_eq!(words.value(flag), Some(value.as_str()));
            }
        }
    }
}
