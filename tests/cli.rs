//! Command line cases of `tests/cli/*.txt`: written for people, run against the program. The form is explained in
//! `tests/cli/README.md`.

use std::fmt::Write as _;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Default)]
struct Case {
    title: String,
    env: Vec<(String, String)>,
    args: Vec<String>,
    stdout: Vec<String>,
    stderr: Vec<String>,
    exit: Option<i32>,
}

#[test]
fn cases_in_text_files() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli");
    let mut files: Vec<PathBuf> = std::fs::read_dir(&folder)
        .expect("tests/cli")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "txt"))
        .collect();
    files.sort();
    let (mut run, mut failures) = (0, String::new());
    for file in &files {
        let text = std::fs::read_to_string(file).expect("a case file");
        for case in parse(&text, file) {
            run += 1;
            if let Err(why) = check(&case, &folder.join("fixtures")) {
                let name = file
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned();
                let _ = writeln!(failures, "{name}: {}\n{why}", case.title);
            }
        }
    }
    assert!(run > 0, "no case was found");
    assert!(failures.is_empty(), "{failures}");
}

fn parse(text: &str, file: &Path) -> Vec<Case> {
    let mut cases: Vec<Case> = Vec::new();
    for (n, line) in text.lines().enumerate() {
        let at = || format!("{}:{}", file.display(), n + 1);
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        if let Some(title) = line.strip_prefix("case: ") {
            cases.push(Case {
                title: title.to_owned(),
                ..Case::default()
            });
            continue;
        }
        let case = cases
            .last_mut()
            .unwrap_or_else(|| panic!("{}: no case yet", at()));
        if let Some(pair) = line.strip_prefix("env: ") {
            let (name, value) = pair.split_once('=').unwrap_or_else(|| panic!("{}: no '='", at()));
            case.env.push((name.to_owned(), value.to_owned()));
        } else if let Some(command) = line.strip_prefix("$ ksql-flownet") {
            case.args = words(command);
        } else if let Some(expected) = line.strip_prefix("> ").or_else(|| line.strip_prefix('>')) {
            case.stdout.push(expected.to_owned());
        } else if let Some(expected) = line.strip_prefix("! ").or_else(|| line.strip_prefix('!')) {
            case.stderr.push(expected.to_owned());
        } else if let Some(status) = line.strip_prefix("exit: ") {
            case.exit = Some(status.parse().unwrap_or_else(|_| panic!("{}: no status", at())));
        } else {
            panic!("{}: {line:?} is not understood", at());
        }
    }
    cases
}

/// Words of a command line: blanks separate, single quotes keep, double quotes know `\n` and `\x1b`.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in line.chars() {
        match (quote, c) {
            (None, ' ') => words.extend(word.take()),
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), c) if c == open => quote = None,
            _ => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
        .into_iter()
        .map(|word| word.replace("\\n", "\n").replace("\\x1b", "\u{1b}"))
        .collect()
}

fn check(case: &Case, fixtures: &Path) -> Result<(), String> {
    let folder = Folder::copy_of(fixtures);
    let output = program(&folder.0)
        .args(&case.args)
        .envs(case.env.iter().map(|(name, value)| (name, value)))
        .output()
        .expect("the program starts");
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("UTF-8");
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    let actual = format!(
        "--- stdout\n{stdout}--- stderr\n{stderr}--- exit {:?}\n",
        output.status.code()
    );
    let lines = |text: &str| text.lines().map(str::to_owned).collect::<Vec<_>>();
    if output.status.code() != case.exit {
        return Err(format!("exit status {:?} expected\n{actual}", case.exit));
    }
    for (name, expected, found) in [
        ("stdout", &case.stdout, lines(&stdout)),
        ("stderr", &case.stderr, lines(&stderr)),
    ] {
        if !all_match(expected, &found) {
            return Err(format!(
                "another {name} expected:\n{}\n{actual}",
                expected.join("\n")
            ));
        }
    }
    Ok(())
}

/// Compares lists of lines; the line `[...]` stands for any number of lines.
fn all_match(expected: &[String], found: &[String]) -> bool {
    match expected.split_first() {
        None => found.is_empty(),
        Some((first, rest)) if first == "[...]" => {
            (0..=found.len()).any(|skip| all_match(rest, &found[skip..]))
        }
        Some((first, rest)) => found
            .split_first()
            .is_some_and(|(line, more)| line_matches(first, line) && all_match(rest, more)),
    }
}

/// Compares a line; `[...]` stands for any text.
fn line_matches(expected: &str, found: &str) -> bool {
    match expected.split_once("[...]") {
        None => expected == found,
        Some((start, rest)) => found.strip_prefix(start).is_some_and(|found| {
            (0..=found.len())
                .filter(|&i| found.is_char_boundary(i))
                .any(|i| line_matches(rest, &found[i..]))
        }),
    }
}

fn program(folder: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ksql-flownet"));
    command
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .current_dir(folder)
        .stdin(Stdio::null());
    command
}

/// A copy of the fixtures for one case.
struct Folder(PathBuf);

impl Folder {
    fn copy_of(fixtures: &Path) -> Folder {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let folder = std::env::temp_dir().join(format!("flownet-cases-{}-{number}", std::process::id()));
        copy(fixtures, &folder);
        Folder(folder)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("a folder");
    for entry in std::fs::read_dir(from).expect("fixtures") {
        let path = entry.expect("an entry").path();
        let target = to.join(path.file_name().unwrap_or_default());
        if path.is_dir() {
            copy(&path, &target);
        } else {
            std::fs::copy(&path, &target).expect("a copy");
        }
    }
}

/// `ksql-flownet explain | head -1` ends quietly and well.
#[test]
fn a_reader_that_goes_away_is_no_error() {
    let mut child = program(Path::new("."))
        .arg("explain")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program starts");
    drop(child.stdout.take());
    let mut messages = String::new();
    child
        .stderr
        .take()
        .expect("stderr")
        .read_to_string(&mut messages)
        .expect("UTF-8");
    assert_eq!(
        (child.wait().expect("an end").code(), messages.as_str()),
        (Some(0), "")
    );
}

/// A disk without space is an error although the work was done.
#[test]
fn a_result_that_cannot_be_written_is_an_error() {
    let Ok(full) = std::fs::OpenOptions::new().write(true).open("/dev/full") else {
        println!("this system has no /dev/full");
        return;
    };
    let output = program(Path::new("."))
        .arg("explain")
        .stdout(full)
        .output()
        .expect("the program starts");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{messages}");
    assert!(
        messages.starts_with("ksql-flownet: error: cannot write the result: "),
        "{messages}"
    );
    assert!(messages.contains("[ENOSPC]"), "{messages}");
}

/// An argument that is no text is named, not guessed.
#[test]
fn an_argument_that_is_not_utf8_is_refused() {
    use std::os::unix::ffi::OsStrExt as _;
    let output = program(Path::new("."))
        .args(["validate".as_ref(), std::ffi::OsStr::from_bytes(b"a\xff.yaml")])
        .output()
        .expect("the program starts");
    let messages = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1));
    assert!(
        messages.contains("is not valid UTF-8 [INVALID_ARGUMENTS]"),
        "{messages}"
    );
}
