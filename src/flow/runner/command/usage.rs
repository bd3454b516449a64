//! Help text, made from the table (RNR-04).

use super::table::{COMMANDS, CommandRow, FLAGS, FlagRow};

/// Help text for everything, or for one command.
pub fn usage(row: Option<&CommandRow>) -> String {
    match row {
        None => general(),
        Some(row) => of_command(row),
    }
}

fn general() -> String {
    let commands: String = COMMANDS
        .iter()
        .map(|row| line(row.name, 17, row.summary))
        .collect();
    format!(
        "usage: ksql-flow COMMAND [FLAGS]\n\ncommands:\n{commands}\n\
         ksql-flow COMMAND --help lists the flags of a command; see also ksql-flow(1).\n"
    )
}

fn of_command(row: &CommandRow) -> String {
    let synopsis = [&["ksql-flow", row.name], row.positionals, &["[FLAGS]"]]
        .concat()
        .join(" ");
    let flags: String = FLAGS
        .iter()
        .filter(|flag| row.flags.contains(&flag.name))
        .map(|flag| line(&form(flag), 33, flag.summary))
        .collect();
    format!("usage: {synopsis}\n\n{}\n\nflags:\n{flags}", row.summary)
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
