//! The only place that prints (D-06).
//!
//! Standard output carries results and nothing else; standard error carries
//! `ksql-flownet: <severity>: <what happened> [CODE]`, detail lines (`- ...`), one explanation (`note: ...`) and the
//! steps that lead on (`next: ...`). With `--json` a failure is also one JSON object `{"error":{...}}` on standard output,
//! except where the original already fixed the form: `run-network` (its own line, standard error stays empty, CLI-04) and
//! `status` (standard output stays empty).
//!
//! Foreign text is escaped here and not by the callers, so that no record, file or server can move the cursor, colour a
//! line or forge one. A reader that goes away (`| head`) is not an error; a full disk is.

use std::collections::BTreeMap;
use std::io::{ErrorKind, Write};

use serde::Serialize;

use super::codes::{self, ExitClass, ExitStyle};
use super::language::Language;
use super::report::{Failure, Form};
use crate::kintone::RequestCounts;
use crate::kintone::limit::DAILY_REQUESTS;
use crate::os::relay;

/// The name in front of every message.
const PROGRAM: &str = "ksql-flownet";

/// From here on one command alone is worth a warning.
const MANY_REQUESTS: u64 = DAILY_REQUESTS / 2;

/// How serious a message is. Never translated: scripts look for it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The command did not do its work.
    Error,
    /// It did, but a person should look.
    Warning,
    /// Progress and facts.
    Info,
}

impl Severity {
    fn word(self) -> &'static str {
        match self {
            Severity::Error => "error",
            Severity::Warning => "warning",
            Severity::Info => "info",
        }
    }
}

/// What the user asked for.
#[derive(Clone, Copy, Debug)]
pub struct Choices {
    /// The language of explanations.
    pub language: Language,
    /// `--quiet`: nothing on success. JSON that was asked for is printed all the same.
    pub quiet: bool,
    /// `--verbose`.
    pub verbose: bool,
    /// `--json`.
    pub json: bool,
    /// Standard error stays empty: `run-network --json` (CLI-04).
    pub mute: bool,
    /// D-05.
    pub exit_style: ExitStyle,
}

/// Requests sent to kintone (D-07), as an additive JSON value: `{"total":5,"by_app":{"11":3,"12":2}}`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Requests {
    total: u64,
    by_app: BTreeMap<u64, u64>,
}

impl From<RequestCounts> for Requests {
    fn from(counts: RequestCounts) -> Requests {
        Requests {
            total: counts.total,
            by_app: counts.by_app,
        }
    }
}

/// The additive `error` object of a failure. Its texts are English: JSON is never translated.
#[derive(Clone, Debug, Serialize)]
pub struct ErrorObject {
    code: String,
    message: String,
    details: Vec<String>,
    next: Vec<String>,
}

impl ErrorObject {
    /// The object of a failure.
    pub fn of(failure: &Failure) -> ErrorObject {
        ErrorObject {
            code: failure.code.to_string(),
            message: failure.message.clone(),
            details: failure.details.clone(),
            next: steps(failure, Language::English),
        }
    }
}

/// What leads on: what the failure itself says, else what the code table says.
pub fn steps(failure: &Failure, language: Language) -> Vec<String> {
    if failure.next.is_empty() {
        codes::next_steps(failure.subject(), failure.facts(), language)
    } else {
        failure.next.clone()
    }
}

/// Characters of a foreign text that are repeated in a message; records keep the whole.
const REPEATED_CHARS: usize = 800;

/// A text for a message, cut where it is too long to be read.
pub fn shortened(text: &str) -> String {
    match text.char_indices().nth(REPEATED_CHARS) {
        Some((end, _)) => format!("{} ... ({} characters)", &text[..end], text.chars().count()),
        None => text.to_owned(),
    }
}

/// A warning that cannot wait for the end of the command: a Run may take hours. Goes to standard error at once.
pub fn warn_now(what: &str) {
    let line = format!("{PROGRAM}: {}: {}\n", Severity::Warning.word(), escape(what));
    relay::stderr().send(line.as_bytes());
}

/// The two output streams of one command.
pub struct Output<'a> {
    choices: Choices,
    results: &'a mut dyn Write,
    messages: &'a mut dyn Write,
    broken: Option<std::io::Error>,
    /// The last result, to be repeated as a message when results cannot be written.
    last: Vec<u8>,
}

impl<'a> Output<'a> {
    /// Prints results to the first writer and messages to the second.
    pub fn new(choices: Choices, results: &'a mut dyn Write, messages: &'a mut dyn Write) -> Output<'a> {
        Output {
            choices,
            results,
            messages,
            broken: None,
            last: Vec::new(),
        }
    }

    /// What the user asked for.
    pub fn choices(&self) -> Choices {
        self.choices
    }

    /// One result line for people. Silent with `--quiet` and with `--json`.
    pub fn result(&mut self, line: &str) {
        if !self.choices.quiet && !self.choices.json {
            self.line(line);
        }
    }

    /// Text that is the purpose of the command itself (help, version, completions): printed as it is.
    pub fn document(&mut self, text: &str) {
        self.write_result(text.as_bytes());
    }

    /// One JSON value on one line; keys in the order of the type's fields.
    pub fn json(&mut self, value: &impl Serialize) {
        self.json_text(serde_json::to_string(value));
    }

    /// One JSON value with two-space indentation (STA-07).
    pub fn json_pretty(&mut self, value: &impl Serialize) {
        self.json_text(serde_json::to_string_pretty(value));
    }

    fn json_text(&mut self, text: serde_json::Result<String>) {
        match text {
            Ok(text) => self.write_result(format!("{}\n", escape_json(&text)).as_bytes()),
            Err(error) => self.note(error.into()),
        }
    }

    /// A message for people. Information is silent with `--quiet`.
    pub fn message(&mut self, severity: Severity, what: &str, code: Option<&str>) {
        if severity == Severity::Info && self.choices.quiet {
            return;
        }
        let code = code
            .map(|code| format!(" [{}]", escape(code)))
            .unwrap_or_default();
        self.write_message(&format!(
            "{PROGRAM}: {}: {}{code}\n",
            severity.word(),
            escape(what)
        ));
    }

    /// A warning.
    pub fn warn(&mut self, what: &str, code: Option<&str>) {
        self.message(Severity::Warning, what, code);
    }

    /// The number of requests, with `--verbose`, and a warning when this command alone came near the allowance of a
    /// day (D-07).
    pub fn requests(&mut self, requests: &Requests) {
        for (app, n) in requests.by_app.iter().filter(|(_, n)| **n >= MANY_REQUESTS) {
            self.warn(
                &format!("this command sent {n} requests to app {app}; kintone allows {DAILY_REQUESTS} per app and day"),
                None,
            );
        }
        if !self.choices.verbose || requests.total == 0 {
            return;
        }
        let apps: Vec<String> = requests
            .by_app
            .iter()
            .map(|(app, n)| format!("app {app}: {n}"))
            .collect();
        let what = format!("{} kintone requests ({})", requests.total, apps.join(", "));
        self.write_message(&format!("{PROGRAM}: {}: {what}\n", Severity::Info.word()));
    }

    /// A failure on standard error, with its explanation and what leads on.
    pub fn failure(&mut self, failure: &Failure) {
        match failure.form() {
            Form::Coded => self.message(Severity::Error, &failure.message, Some(&failure.code)),
            Form::Block => self.write_message(&format!("{}\n", escape(&failure.message))),
        }
        for detail in &failure.details {
            self.write_message(&format!("- {}\n", escape(detail)));
        }
        if let Some(line) = failure.closing() {
            self.write_message(&format!("{}\n", escape(line)));
        }
        if failure.form() == Form::Coded
            && let Some(entry) = codes::find(failure.subject())
        {
            self.write_message(&format!("note: {}\n", entry.says.get(self.choices.language)));
        }
        self.next_steps(&steps(failure, self.choices.language));
    }

    /// `next: ` lines.
    pub fn next_steps(&mut self, steps: &[String]) {
        for step in steps {
            self.write_message(&format!("next: {}\n", escape(step)));
        }
    }

    /// The exit status of a class. Results that could not be written make a success a failure: a caller that reads them
    /// must not go on with half a result.
    pub fn exit(&mut self, class: ExitClass) -> u8 {
        self.flush_results();
        if let Some(error) = self.broken.take() {
            // Whoever asked for silence on standard error has lost the only other word.
            self.choices.mute = false;
            let code = crate::os::error_name::name(&error).unwrap_or("OUTPUT_FAILED");
            self.message(
                Severity::Error,
                &format!("cannot write the result: {error}"),
                Some(code),
            );
            let last = String::from_utf8_lossy(&self.last).into_owned();
            self.write_message(&format!("- it was: {}\n", escape(&shortened(last.trim_end()))));
            if class == ExitClass::Done {
                return self.choices.exit_style.status(codes::class(code));
            }
        }
        self.choices.exit_style.status(class)
    }

    fn line(&mut self, line: &str) {
        let text = format!("{}\n", escape(line));
        self.write_result(text.as_bytes());
    }

    fn write_result(&mut self, bytes: &[u8]) {
        // Both streams may be one terminal: what was said before is read before.
        let _ = self.messages.flush();
        if self.broken.is_none() {
            bytes.clone_into(&mut self.last);
            if let Err(error) = self.results.write_all(bytes) {
                self.note(error);
            }
        }
    }

    fn note(&mut self, error: std::io::Error) {
        if error.kind() != ErrorKind::BrokenPipe {
            self.broken = Some(error);
        }
    }

    fn flush_results(&mut self) {
        if self.broken.is_none()
            && let Err(error) = self.results.flush()
        {
            self.note(error);
        }
    }

    /// Messages are best effort: when standard error is gone there is nobody to tell.
    fn write_message(&mut self, text: &str) {
        if !self.choices.mute {
            self.flush_results();
            let _ = self.messages.write_all(text.as_bytes());
        }
    }
}

/// Characters that act on a terminal or reorder text: C0, DEL, C1, line and paragraph separators, bidi controls.
fn acts(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// Foreign text made harmless: characters that act are shown, all others stay byte for byte.
pub fn escape(text: &str) -> String {
    if !text.contains(acts) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if acts(c) => out.extend(['\\', 'u', '{'].into_iter().chain(hex(c, 1)).chain(['}'])),
            c => out.push(c),
        }
    }
    out
}

/// The number of a character in hexadecimal digits, with leading zeros up to `width`.
fn hex(c: char, width: u32) -> impl Iterator<Item = char> {
    let number = u32::from(c);
    let digits = (32 - number.leading_zeros()).div_ceil(4).max(width);
    (0..digits)
        .rev()
        .filter_map(move |i| char::from_digit((number >> (4 * i)) & 0xf, 16))
}

/// JSON text in which the characters of [`escape`] are written as `\uXXXX`: the same value, harmless on a terminal. The
/// line feeds of indented JSON stay.
fn escape_json(json: &str) -> String {
    if !json.contains(|c| acts(c) && c != '\n') {
        return json.to_owned();
    }
    json.chars()
        .fold(String::with_capacity(json.len() + 8), |mut out, c| {
            if acts(c) && c != '\n' {
                // All of them lie in the basic plane, so four digits are enough.
                out.extend(['\\', 'u'].into_iter().chain(hex(c, 4)));
            } else {
                out.push(c);
            }
            out
        })
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    const CHOICES: Choices = Choices {
        language: Language::English,
        quiet: false,
        verbose: false,
        json: false,
        mute: false,
        exit_style: ExitStyle::Detailed,
    };

    /// A stream on which every write fails in the same way.
    struct Failing(ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> std::io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn text_that_acts_on_a_terminal_is_shown_instead() {
        assert_eq!(
            escape("a\u{1b}[2Jb\nnext: x\u{9b}\u{202e}"),
            "a\\u{1b}[2Jb\\nnext: x\\u{9b}\\u{202e}"
        );
        assert_eq!(escape("月次締め é 😀"), "月次締め é 😀");
    }

    #[test]
    fn escaped_json_is_the_same_value() {
        let value = json!({ "k": "a\u{9b}b\u{202e}\u{7f}\n" });
        for text in [value.to_string(), format!("{value:#}")] {
            let escaped = escape_json(&text);
            assert!(!escaped.contains(|c| acts(c) && c != '\n'));
            assert_eq!(serde_json::from_str::<Value>(&escaped).ok(), Some(value.clone()));
        }
    }

    #[test]
    fn a_reader_that_went_away_is_no_error_and_a_full_disk_is() {
        let mut err = Vec::new();
        let mut pipe = Failing(ErrorKind::BrokenPipe);
        let mut output = Output::new(CHOICES, &mut pipe, &mut err);
        output.result("x");
        assert_eq!(output.exit(ExitClass::Done), 0);
        let mut disk = Failing(ErrorKind::Other);
        let mut output = Output::new(CHOICES, &mut disk, &mut err);
        output.result("x");
        assert_ne!(output.exit(ExitClass::Done), 0);
        assert!(String::from_utf8_lossy(&err).contains("cannot write the result"));
        // JSON that was asked for with nothing beside it: the error and the outcome are told all the same.
        let (mut disk, mut err) = (Failing(ErrorKind::Other), Vec::new());
        let alone = Choices {
            json: true,
            mute: true,
            ..CHOICES
        };
        let mut output = Output::new(alone, &mut disk, &mut err);
        output.json(&json!({"outcome": "NEW"}));
        assert_eq!(output.exit(ExitClass::NodeFailed), 2);
        let err = String::from_utf8_lossy(&err);
        assert!(err.contains("cannot write the result"), "{err}");
        assert!(err.contains(r#"- it was: {"outcome":"NEW"}"#), "{err}");
    }

    #[test]
    fn quiet_silences_results_and_keeps_failures() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut output = Output::new(
            Choices {
                quiet: true,
                ..CHOICES
            },
            &mut out,
            &mut err,
        );
        output.result("done");
        output.message(Severity::Info, "progress", None);
        output.failure(&Failure::new("ENOENT", "no\u{1b}such file"));
        drop(output);
        assert!(out.is_empty());
        let err = String::from_utf8_lossy(&err);
        assert!(
            err.starts_with("ksql-flownet: error: no\\u{1b}such file [ENOENT]\n"),
            "{err}"
        );
        assert!(!err.contains("progress"));
    }

    #[test]
    fn a_command_that_used_half_a_day_is_worth_a_warning() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut output = Output::new(CHOICES, &mut out, &mut err);
        for n in [MANY_REQUESTS - 1, MANY_REQUESTS] {
            output.requests(&Requests {
                total: n,
                by_app: BTreeMap::from([(7, n)]),
            });
        }
        drop(output);
        let err = String::from_utf8_lossy(&err);
        assert_eq!(err.lines().count(), 1, "{err}");
        assert!(
            err.contains("warning: this command sent 5000 requests to app 7"),
            "{err}"
        );
    }

    proptest::proptest! {
        /// No text, whoever wrote it, can act on a terminal after it was escaped.
        #[test]
        fn escaped_text_is_harmless(text in ".{0,40}|[\\x00-\\x9f\\u{200e}-\\u{2069}]{0,20}") {
            proptest::prop_assert!(!escape(&text).contains(acts));
            let json = serde_json::to_string(&text).expect("a text");
            let escaped = escape_json(&json);
            proptest::prop_assert!(!escaped.contains(acts));
            proptest::prop_assert_eq!(serde_json::from_str::<String>(&escaped).ok(), Some(text));
        }
    }
}
