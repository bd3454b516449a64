//! Completion scripts for bash, zsh and fish, made from the table.

use std::fmt::Write;

use super::help::shown;
use super::table::{Command, Flag};

/// The script for a shell, if it is one we know.
pub fn script(shell: &str) -> Option<String> {
    match shell {
        "bash" => Some(bash()),
        "zsh" => Some(zsh()),
        "fish" => Some(fish()),
        _ => None,
    }
}

/// What can follow a flag.
enum Follow {
    Nothing,
    Words(&'static [&'static str]),
    File,
    Text,
}

fn follow(flag: &Flag) -> Follow {
    match flag.value {
        None => Follow::Nothing,
        Some(_) if !flag.choices.is_empty() => Follow::Words(flag.choices),
        Some("<path>") => Follow::File,
        Some(_) => Follow::Text,
    }
}

fn bash() -> String {
    let mut out = String::from(
        "# bash completion for ksql-flownet\n\
         _ksql_flownet() {\n\
         \x20   local cur=\"${COMP_WORDS[COMP_CWORD]}\" prev=\"${COMP_WORDS[COMP_CWORD-1]}\"\n\
         \x20   COMPREPLY=()\n",
    );
    let names: Vec<_> = shown().map(|c| c.name).collect();
    let _ = writeln!(
        out,
        "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n\
         \x20       mapfile -t COMPREPLY < <(compgen -W '{} --help --version' -- \"$cur\")\n\
         \x20       return\n\
         \x20   fi\n\
         \x20   case \"${{COMP_WORDS[1]}} $prev\" in",
        names.join(" ")
    );
    for command in shown() {
        for flag in command.all_flags() {
            let action = match follow(flag) {
                Follow::Nothing => continue,
                Follow::Words(words) => format!(
                    "mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\")",
                    words.join(" ")
                ),
                Follow::File => "mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")".to_owned(),
                Follow::Text => ":".to_owned(),
            };
            let _ = writeln!(out, "    '{} {}') {action}; return ;;", command.name, flag.name);
        }
    }
    out.push_str("    esac\n    case \"${COMP_WORDS[1]}\" in\n");
    for command in shown() {
        let flags: Vec<_> = command.all_flags().map(|f| f.name).collect();
        let _ = writeln!(out, "    {})", command.name);
        let _ = writeln!(
            out,
            "        if [[ \"$cur\" == -* ]]; then mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\"); return; fi",
            flags.join(" ")
        );
        if let Some(operand) = &command.operand {
            if operand.file {
                out.push_str("        mapfile -t COMPREPLY < <(compgen -f -- \"$cur\")\n");
            } else if !operand.choices.is_empty() {
                let _ = writeln!(
                    out,
                    "        mapfile -t COMPREPLY < <(compgen -W '{}' -- \"$cur\")",
                    operand.choices.join(" ")
                );
            }
        }
        out.push_str("        ;;\n");
    }
    out.push_str("    esac\n}\ncomplete -o filenames -F _ksql_flownet ksql-flownet\n");
    out
}

fn zsh() -> String {
    let mut out =
        String::from("#compdef ksql-flownet\n_ksql_flownet() {\n    local -a commands\n    commands=(\n");
    for command in shown() {
        let _ = writeln!(
            out,
            "        {}",
            single_quoted(&format!("{}:{}", command.name, command.summary.en))
        );
    }
    out.push_str(
        "    )\n    if (( CURRENT == 2 )); then\n        _describe -t commands command commands\n        return\n    fi\n\
         \x20   local command=$words[2]\n    shift words; (( CURRENT-- ))\n    case $command in\n",
    );
    for command in shown() {
        let _ = writeln!(out, "    {})\n        _arguments \\", command.name);
        let mut specs: Vec<String> = command.all_flags().map(zsh_flag).collect();
        if let Some(operand) = &command.operand {
            let name = operand.name.trim_matches(['<', '>']);
            let action = match (operand.file, operand.choices) {
                (true, _) => "_files".to_owned(),
                (false, []) => " ".to_owned(),
                (false, choices) => format!("({})", choices.join(" ")),
            };
            let colon = if operand.optional { "1::" } else { "1:" };
            specs.push(single_quoted(&format!("{colon}{name}:{action}")));
        }
        let _ = writeln!(out, "            {}\n        ;;", specs.join(" \\\n            "));
    }
    out.push_str("    esac\n}\n_ksql_flownet \"$@\"\n");
    out
}

fn zsh_flag(flag: &Flag) -> String {
    let help = flag.help.en.replace(['[', ']'], "").replace(':', "\\:");
    let action = match follow(flag) {
        Follow::Nothing => String::new(),
        Follow::Words(words) => format!(":value:({})", words.join(" ")),
        Follow::File => ":file:_files".to_owned(),
        Follow::Text => ":value: ".to_owned(),
    };
    single_quoted(&format!("{}[{help}]{action}", flag.name))
}

fn fish() -> String {
    let mut out = String::from("# fish completion for ksql-flownet\ncomplete -c ksql-flownet -f\n");
    for command in shown() {
        let _ = writeln!(
            out,
            "complete -c ksql-flownet -n __fish_use_subcommand -a {} -d {}",
            command.name,
            single_quoted(command.summary.en)
        );
    }
    for command in shown() {
        fish_command(&mut out, command);
    }
    out
}

fn fish_command(out: &mut String, command: &Command) {
    let seen = format!("-n '__fish_seen_subcommand_from {}'", command.name);
    for flag in command.all_flags() {
        let action = match follow(flag) {
            Follow::Nothing => String::new(),
            Follow::Words(words) => format!(" -x -a '{}'", words.join(" ")),
            Follow::File => " -r -F".to_owned(),
            Follow::Text => " -x".to_owned(),
        };
        let name = flag.name.trim_start_matches('-');
        let _ = writeln!(
            out,
            "complete -c ksql-flownet {seen} -l {name}{action} -d {}",
            single_quoted(flag.help.en)
        );
    }
    if let Some(operand) = &command.operand {
        if operand.file {
            let _ = writeln!(out, "complete -c ksql-flownet {seen} -F");
        } else if !operand.choices.is_empty() {
            let _ = writeln!(
                out,
                "complete -c ksql-flownet {seen} -a '{}'",
                operand.choices.join(" ")
            );
        }
    }
}

fn single_quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_shown_command_and_flag_is_offered_in_every_shell() {
        for shell in ["bash", "zsh", "fish"] {
            let script = script(shell).expect("a shell we know");
            for command in shown() {
                assert!(script.contains(command.name), "{shell} {}", command.name);
                for flag in command.all_flags() {
                    assert!(
                        script.contains(flag.name.trim_start_matches('-')),
                        "{shell} {}",
                        flag.name
                    );
                }
            }
            assert!(!script.contains("<path>"));
        }
        assert!(script("tcsh").is_none());
    }
}
