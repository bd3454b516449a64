//! Help text, made from the table (RNR-04).

use crate::language::Language;

use super::table::{COMMANDS, CommandRow, FLAGS, FlagRow};

/// Help text for everything, or for one command.
pub fn usage(row: Option<&CommandRow>, language: Language) -> String {
    match row {
        None => general(language),
        Some(row) => of_command(row, language),
    }
}

fn general(language: Language) -> String {
    let commands: String = COMMANDS
        .iter()
        .map(|row| line(row.name, 17, row.summary.get(language)))
        .collect();
    match language {
        Language::English => format!(
            "usage: ksql-flow COMMAND [FLAGS]\n\ncommands:\n{commands}\n\
             ksql-flow COMMAND --help lists the flags of a command; see also ksql-flow(1).\n"
        ),
        Language::Japanese => format!(
            "使い方: ksql-flow COMMAND [FLAGS]\n\nコマンド:\n{commands}\n\
             ksql-flow COMMAND --help でコマンドのフラグを表示します。ksql-flow(1) も参照してください。\n"
        ),
    }
}

fn of_command(row: &CommandRow, language: Language) -> String {
    let synopsis = [&["ksql-flow", row.name], row.positionals, &["[FLAGS]"]]
        .concat()
        .join(" ");
    let flags: String = FLAGS
        .iter()
        .filter(|flag| row.flags.contains(&flag.name))
        .map(|flag| line(&form(flag), 33, flag.summary.get(language)))
        .collect();
    let summary = row.summary.get(language);
    match language {
        Language::English => format!("usage: {synopsis}\n\n{summary}\n\nflags:\n{flags}"),
        Language::Japanese => format!("使い方: {synopsis}\n\n{summary}\n\nフラグ:\n{flags}"),
    }
}

fn form(flag: &FlagRow) -> String {
    match flag.value {
        Some(value) => format!("{} {value}", flag.name),
        None => flag.name.to_owned(),
    }
}

fn line(left: &str, width: usize, right: &str) -> String {
    format!("  {left:<width$} {right}\n")
}
