//! Help texts, made from the tables in both languages.

use std::fmt::Write;

use super::codes::EXIT_CLASSES;
use super::language::{Language, Text, text};
use super::table::{COMMANDS, Command, Flag};
use super::variables::{self, Need};

/// Where usage lines are broken.
const WIDTH: usize = 80;

const ABOUT: Text = text(
    "Job networks for kintone: one YAML file in, one Run per business key out.",
    "kintone のジョブネットワーク。1 つの YAML ファイルから、業務キーごとに 1 つの Run を実行します。",
);
const OPTIONS: Text = text("Options:", "オプション:");
const COMMANDS_HEAD: Text = text("Commands:", "コマンド:");
const ENVIRONMENT: Text = text("Environment:", "環境変数:");
const EXAMPLES: Text = text("Examples:", "例:");
const EXIT: Text = text(
    "Exit status (KSQL_FLOWNET_EXIT_CODES=detailed; otherwise 0 and 1):",
    "終了コード (KSQL_FLOWNET_EXIT_CODES=detailed のとき。それ以外は 0 と 1):",
);
const HELP_LINE: Text = text("display help for command", "ヘルプを表示する");
const VERSION_LINE: Text = text("display version", "バージョンを表示する");
const MORE: Text = text(
    "'ksql-flownet <command> --help' explains one command, ksql-flownet(1) all of them.",
    "'ksql-flownet <command> --help' は各コマンドを、ksql-flownet(1) は全体を説明します。",
);
const REQUIRED: Text = text("required", "必須");
const DEFAULT: Text = text("default", "既定");
const UNLESS: Text = text("required unless given:", "次の指定がなければ必須:");
const CHOICES: Text = text("one of", "値");

/// The text of `ksql-flownet --help`.
pub fn overview(language: Language) -> String {
    let mut out = String::from("Usage: ksql-flownet <command> [options]\n\n");
    line(&mut out, ABOUT.get(language));
    line(&mut out, "");
    line(&mut out, OPTIONS.get(language));
    line(
        &mut out,
        &format!("  -h, --help       {}", HELP_LINE.get(language)),
    );
    line(
        &mut out,
        &format!("  -V, --version    {}", VERSION_LINE.get(language)),
    );
    line(&mut out, "");
    line(&mut out, COMMANDS_HEAD.get(language));
    for command in shown() {
        for row in usage_rows(command, "  ") {
            line(&mut out, &row);
        }
        line(&mut out, &format!("      {}", command.summary.get(language)));
    }
    line(&mut out, "");
    line(&mut out, EXIT.get(language));
    for (class, meaning) in EXIT_CLASSES {
        line(
            &mut out,
            &format!("  {:<3} {}", class.detailed(), meaning.get(language)),
        );
    }
    line(&mut out, "");
    line(&mut out, MORE.get(language));
    out
}

/// The text of `ksql-flownet <command> --help`.
pub fn of_command(command: &Command, language: Language) -> String {
    let mut out = String::new();
    for row in usage_rows(command, "Usage: ksql-flownet ") {
        line(&mut out, &row);
    }
    line(&mut out, "");
    for row in wrapped(command.about.get(language)) {
        line(&mut out, &row);
    }
    line(&mut out, "");
    line(&mut out, OPTIONS.get(language));
    for flag in command.all_flags() {
        line(&mut out, &format!("  {}", flag_usage(flag)));
        let mut help = flag.help.get(language).to_owned();
        if flag.required {
            help = format!("{help} ({})", REQUIRED.get(language));
        }
        if !flag.choices.is_empty() {
            help = format!("{help} [{}: {}]", CHOICES.get(language), flag.choices.join(" | "));
        }
        line(&mut out, &format!("      {help}"));
    }
    let variables: Vec<_> = variables::of_command(command.name).collect();
    if !variables.is_empty() {
        line(&mut out, "");
        line(&mut out, ENVIRONMENT.get(language));
        for variable in variables {
            let need = match variable.need {
                Need::UnlessFlag(flag) if command.flag(flag).is_some() => {
                    format!(" ({} {flag})", UNLESS.get(language))
                }
                Need::Required | Need::UnlessFlag(_) => format!(" ({})", REQUIRED.get(language)),
                Need::Optional("") | Need::Sometimes => String::new(),
                Need::Optional(default) => format!(" ({}: {default})", DEFAULT.get(language)),
            };
            line(&mut out, &format!("  {}{need}", variable.name));
            line(&mut out, &format!("      {}", variable.help.get(language)));
        }
    }
    line(&mut out, "");
    line(&mut out, EXAMPLES.get(language));
    for example in command.examples {
        line(&mut out, &format!("  {example}"));
    }
    out
}

/// Commands that can be carried out.
pub fn shown() -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter().filter(|command| command.finished)
}

/// A flag with its placeholder.
pub fn flag_usage(flag: &Flag) -> String {
    flag.value
        .map_or_else(|| flag.name.to_owned(), |value| format!("{} {value}", flag.name))
}

/// The usage of a command, broken into rows; own flags only, the common ones go without saying.
fn usage_rows(command: &Command, prefix: &str) -> Vec<String> {
    let mut parts = Vec::new();
    if let Some(operand) = &command.operand {
        parts.push(if operand.optional {
            format!("[{}]", operand.name)
        } else {
            operand.name.to_owned()
        });
    }
    for flag in command.flags {
        let usage = flag_usage(flag);
        parts.push(if flag.required {
            usage
        } else {
            format!("[{usage}]")
        });
    }
    let head = format!("{prefix}{}", command.name);
    let hanging = " ".repeat(head.len() + 1);
    let mut rows = vec![head];
    for part in parts {
        let last = rows.last().map_or(0, String::len);
        if last + 1 + part.len() > WIDTH {
            rows.push(format!("{hanging}{part}"));
        } else if let Some(row) = rows.last_mut() {
            let _ = write!(row, " {part}");
        }
    }
    rows
}

/// English text in lines of at most [`WIDTH`] columns. Japanese has no blanks to break at; the terminal breaks it.
fn wrapped(text: &str) -> Vec<String> {
    if !text.is_ascii() {
        return vec![text.to_owned()];
    }
    let mut rows = vec![String::new()];
    for word in text.split_whitespace() {
        match rows.last_mut() {
            Some(row) if row.is_empty() => row.push_str(word),
            Some(row) if row.len() + 1 + word.len() <= WIDTH => {
                row.push(' ');
                row.push_str(word);
            }
            _ => rows.push(word.to_owned()),
        }
    }
    rows
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_flag_of_the_table_is_in_the_help_of_its_command() {
        for command in COMMANDS {
            for language in [Language::English, Language::Japanese] {
                let help = of_command(command, language);
                for flag in command.all_flags() {
                    assert!(help.contains(&flag_usage(flag)), "{} {}", command.name, flag.name);
                    assert!(
                        help.contains(flag.help.get(language)),
                        "{} {}",
                        command.name,
                        flag.name
                    );
                }
                for variable in variables::of_command(command.name) {
                    assert!(help.contains(variable.name), "{} {}", command.name, variable.name);
                }
            }
        }
    }

    #[test]
    fn the_overview_shows_finished_commands_and_no_others() {
        let help = overview(Language::English);
        for command in COMMANDS {
            assert_eq!(
                help.contains(&format!("\n  {} ", command.name)),
                command.finished,
                "{}",
                command.name
            );
        }
    }
}
