//! The manual pages say what the tables say: synopsis, commands, variables, exit statuses and codes are parts between
//! two marker lines, made from the tables in both languages. `UPDATE_MANUAL=1 cargo test --test manual` writes them anew.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use ksql_flownet::flownet::cli::codes::{self, EXIT_CLASSES, Entry, Facts, Step};
use ksql_flownet::flownet::cli::language::{Language, Text};
use ksql_flownet::flownet::cli::table::{COMMANDS, COMMON, Command, Flag};
use ksql_flownet::flownet::cli::variables::{Need, VARIABLES, Variable};

const PAGES: [(&str, Language); 2] = [
    ("man/ksql-flownet.1", Language::English),
    ("man/ja/ksql-flownet.1", Language::Japanese),
];

#[test]
fn english_and_japanese_pages_agree_with_the_tables() {
    for (name, language) in PAGES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let page = read(&path);
        let fresh = PARTS.iter().fold(page.clone(), |page, (part, render)| {
            replace(&page, part, &render(language))
        });
        if std::env::var_os("UPDATE_MANUAL").is_some() {
            std::fs::write(&path, &fresh).unwrap_or_else(|e| panic!("{name}: {e}"));
        }
        let first = page.lines().zip(fresh.lines()).find(|(old, new)| old != new);
        assert!(
            page == fresh || std::env::var_os("UPDATE_MANUAL").is_some(),
            "{name} differs from the tables at {first:?}: run UPDATE_MANUAL=1 cargo test --test manual"
        );
    }
}

#[test]
fn both_pages_have_the_same_sections() {
    let sections = |name: &str| -> Vec<String> {
        let page = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(name));
        page.lines()
            .filter(|line| line.starts_with(".Sh "))
            .map(str::to_owned)
            .collect()
    };
    let english = sections(PAGES[0].0);
    assert_eq!(english, sections(PAGES[1].0));
    for section in [
        "NAME",
        "SYNOPSIS",
        "DESCRIPTION",
        "ENVIRONMENT",
        "FILES",
        "EXIT STATUS",
        "EXAMPLES",
        "DIAGNOSTICS",
        "CAVEATS",
    ] {
        assert!(english.contains(&format!(".Sh {section}")), "{section}");
    }
}

/// Every variable and flag is really there, whatever the generator does.
#[test]
fn every_flag_and_variable_is_on_both_pages() {
    for (name, _) in PAGES {
        let page = read(&Path::new(env!("CARGO_MANIFEST_DIR")).join(name));
        for command in shown() {
            assert!(
                page.contains(&format!(".Cm {}\n", command.name)),
                "{name}: {}",
                command.name
            );
            for flag in command.all_flags() {
                assert!(
                    page.contains(&format!("Fl {}", &flag.name[1..])),
                    "{name}: {} {}",
                    command.name,
                    flag.name
                );
            }
        }
        for variable in shown_variables() {
            assert!(
                page.contains(&format!(".It Ev {}", variable.name)),
                "{name}: {}",
                variable.name
            );
        }
    }
}

/// mandoc finds nothing to say about either page. References to pages that are not installed are not looked at.
#[test]
fn both_pages_are_clean_for_mandoc() {
    for (name, _) in PAGES {
        let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
        let Ok(output) = std::process::Command::new("mandoc")
            .args(["-T", "lint"])
            .arg(&path)
            .output()
        else {
            println!("mandoc is not installed: {name} was not checked");
            return;
        };
        let found = String::from_utf8_lossy(&output.stdout);
        let found: Vec<_> = found
            .lines()
            .filter(|line| !line.contains("referenced manual not found"))
            .collect();
        assert!(found.is_empty(), "{name}:\n{}", found.join("\n"));
    }
}

type Render = fn(Language) -> String;

const PARTS: [(&str, Render); 5] = [
    ("synopsis", synopsis),
    ("commands", commands),
    ("environment", environment),
    ("exit status", exit_status),
    ("diagnostics", diagnostics),
];

fn read(path: &PathBuf) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Puts a fresh text between the two markers of a part.
fn replace(page: &str, part: &str, text: &str) -> String {
    let (begin, end) = (
        format!(".\\\" begin table: {part}\n"),
        format!(".\\\" end table: {part}\n"),
    );
    let (before, rest) = page
        .split_once(&begin)
        .unwrap_or_else(|| panic!("no marker {begin}"));
    let (_, after) = rest.split_once(&end).unwrap_or_else(|| panic!("no marker {end}"));
    format!("{before}{begin}{text}{end}{after}")
}

fn shown() -> impl Iterator<Item = &'static Command> {
    COMMANDS.iter().filter(|command| command.finished)
}

fn shown_variables() -> impl Iterator<Item = &'static Variable> {
    VARIABLES
        .iter()
        .filter(|v| v.commands.is_empty() || shown().any(|c| v.commands.contains(&c.name)))
}

fn synopsis(_: Language) -> String {
    let mut out = String::new();
    for command in shown() {
        let _ = writeln!(out, ".Nm\n.Cm {}", command.name);
        usage(&mut out, command);
    }
    out.push_str(".Nm\n.Fl -help | -version\n");
    out
}

/// Operand and flags as synopsis lines.
fn usage(out: &mut String, command: &Command) {
    if let Some(operand) = &command.operand {
        let name = bare(operand.name);
        let _ = writeln!(out, "{} {name}", if operand.optional { ".Op Ar" } else { ".Ar" });
    }
    for flag in command.flags {
        let _ = writeln!(
            out,
            "{}",
            if flag.required {
                format!(".{}", fl(flag))
            } else {
                format!(".Op {}", fl(flag))
            }
        );
    }
}

/// `Fl -run-id Ar run_id`.
fn fl(flag: &Flag) -> String {
    let name = &flag.name[1..];
    flag.value.map_or_else(
        || format!("Fl {name}"),
        |value| format!("Fl {name} Ar {}", bare(value)),
    )
}

fn bare(placeholder: &str) -> &str {
    placeholder.trim_matches(['<', '>'])
}

fn commands(language: Language) -> String {
    let mut out = String::from(".Bl -tag -width Ds\n");
    for command in shown() {
        out.push_str(".It Xo\n");
        let _ = writeln!(out, ".Cm {}", command.name);
        usage(&mut out, command);
        out.push_str(".Xc\n");
        paragraph(&mut out, command.about.get(language));
        flags(&mut out, command.flags, language);
    }
    out.push_str(".El\n.Pp\n");
    paragraph(&mut out, EVERY_COMMAND.get(language));
    flags(&mut out, COMMON, language);
    out
}

const EVERY_COMMAND: Text = Text {
    en: "These flags are known to every command:",
    ja: "次のフラグはすべてのコマンドで使えます。",
};

fn flags(out: &mut String, flags: &[Flag], language: Language) {
    if flags.is_empty() {
        return;
    }
    out.push_str(".Bl -tag -width Ds\n");
    for flag in flags {
        let _ = writeln!(out, ".It {}", fl(flag));
        paragraph(out, &sentence(flag.help.get(language), language));
    }
    out.push_str(".El\n");
}

fn environment(language: Language) -> String {
    let mut out = String::from(".Bl -tag -width Ds\n");
    for variable in shown_variables() {
        let _ = writeln!(out, ".It Ev {}", variable.name);
        paragraph(&mut out, &sentence(variable.help.get(language), language));
        need_lines(&mut out, variable, language);
    }
    out.push_str(".El\n");
    out
}

/// How necessary a variable is, whether it is secret, and who reads it.
fn need_lines(out: &mut String, variable: &Variable, language: Language) {
    let english = language == Language::English;
    let say = |en: &'static str, ja: &'static str| if english { en } else { ja };
    match variable.need {
        Need::Required => {
            let _ = writeln!(out, "{}", say("Required.", "必須です。"));
        }
        Need::UnlessFlag(flag) if english => {
            let _ = writeln!(out, "Required unless\n.Fl {}\nis given.", &flag[1..]);
        }
        Need::UnlessFlag(flag) => {
            let _ = writeln!(out, ".Fl {}\nの指定がなければ必須です。", &flag[1..]);
        }
        Need::Optional(default) if !default.is_empty() => {
            let _ = writeln!(out, "{}\n.Ql {} .", say("Default:", "既定値:"), escape(default));
        }
        Need::Optional(_) | Need::Sometimes => {}
    }
    if variable.secret {
        let _ = writeln!(out, "{}", say("Secret.", "秘密の値です。"));
    }
    if !variable.commands.is_empty() {
        let used = shown().filter(|command| variable.commands.contains(&command.name));
        let names: Vec<_> = used.map(|command| format!(".Cm {}", command.name)).collect();
        let _ = writeln!(
            out,
            "{}\n{} .",
            say("Used by", "使うコマンド:"),
            names.join(" ,\n")
        );
    }
}

fn exit_status(language: Language) -> String {
    let mut out = String::from(".Bl -tag -width Ds\n");
    for (class, meaning) in EXIT_CLASSES {
        let _ = writeln!(out, ".It {}", class.detailed());
        paragraph(&mut out, &sentence(meaning.get(language), language));
    }
    out.push_str(".El\n");
    out
}

/// Codes by exit status; codes with the same next steps stand together.
fn diagnostics(language: Language) -> String {
    let mut out = String::new();
    for (class, meaning) in EXIT_CLASSES {
        let entries: Vec<&Entry> = codes::entries().filter(|entry| entry.class == *class).collect();
        if entries.is_empty() {
            continue;
        }
        let word = if language == Language::English {
            "Exit status"
        } else {
            "終了コード"
        };
        // The linter takes a Japanese character at the end of a heading for a bracket.
        let end = if language == Language::English { "" } else { "\\&" };
        let _ = writeln!(
            out,
            ".Ss {word} {}: {}{end}",
            class.detailed(),
            meaning.get(language)
        );
        let mut done: Vec<Vec<String>> = Vec::new();
        for entry in &entries {
            let steps = steps_of(entry, language);
            if done.contains(&steps) {
                continue;
            }
            out.push_str(".Bl -tag -width Ds\n");
            for other in entries.iter().filter(|other| steps_of(other, language) == steps) {
                let _ = writeln!(out, ".It Er {}", other.code);
                paragraph(&mut out, other.says.get(language));
            }
            out.push_str(".El\n");
            if !steps.is_empty() {
                let what = if language == Language::English {
                    "What to do:"
                } else {
                    "対処:"
                };
                let _ = writeln!(out, ".Pp\n{what}\n.Bl -bullet -offset indent -compact");
                for step in entry.next {
                    out.push_str(".It\n");
                    step_lines(&mut out, step, language);
                }
                out.push_str(".El\n");
            }
            done.push(steps);
        }
    }
    out
}

fn steps_of(entry: &Entry, language: Language) -> Vec<String> {
    codes::next_steps(entry.code, &Facts::default(), language)
}

fn step_lines(out: &mut String, step: &Step, language: Language) {
    if !step.command.is_empty() {
        let command = Facts::default().fill_command(step.command);
        out.push_str(".Li");
        let mut column = 3;
        for word in command.split(' ') {
            if column + word.len() > 74 {
                out.push_str("\n.Li");
                column = 3;
            }
            let word = escape(word);
            column += word.len() + 1;
            let _ = write!(out, " {word}");
        }
        out.push_str("\n.br\n");
    }
    paragraph(out, &sentence(step.why.get(language), language));
}

/// Text lines: one sentence per line, English broken at 78 columns.
fn paragraph(out: &mut String, text: &str) {
    if !text.is_ascii() {
        for sentence in text.split_inclusive('。') {
            // The linter asks for shorter lines where a Japanese line begins with a Latin word; it cannot be broken.
            let guard = if sentence.starts_with(|c: char| c.is_ascii()) {
                "\\&"
            } else {
                ""
            };
            let _ = writeln!(out, "{guard}{}", escape(sentence.trim()));
        }
        return;
    }
    for sentence in text.split_inclusive(". ") {
        let mut line = String::new();
        for word in sentence.split_whitespace() {
            let word = escape(word);
            if !line.is_empty() && line.len() + 1 + word.len() > 78 {
                let _ = writeln!(out, "{line}");
                line.clear();
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line.push_str(&word);
        }
        let _ = writeln!(out, "{line}");
    }
}

/// A phrase of a table as a sentence.
fn sentence(text: &str, language: Language) -> String {
    if text.ends_with(['.', '。', ':', '：']) {
        return text.to_owned();
    }
    if language == Language::Japanese {
        return format!("{text}。");
    }
    // Words that are names keep their case.
    let name = text
        .split_whitespace()
        .next()
        .is_some_and(|word| word.contains(['_', ':', '-', '/']) || word == "kintone");
    let mut chars = text.chars();
    let first = chars.next().unwrap_or_default();
    let first = if name {
        first.to_string()
    } else {
        first.to_uppercase().collect()
    };
    format!("{first}{}.", chars.as_str())
}

/// Text that roff takes literally.
fn escape(text: &str) -> String {
    let escaped = text.replace('\\', "\\e").replace("--", "\\-\\-");
    if text.starts_with(['.', '\'']) {
        format!("\\&{escaped}")
    } else {
        escaped
    }
}
