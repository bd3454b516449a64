//! The only place that prints: progress, warnings, errors, machine output (RNR-08). Secrets are masked here.

use std::io::Write as _;
use std::sync::Arc;

use serde_json::Value;

use super::host;
use super::mask::Masker;
use crate::flow::sql::message::{Language, Message, say};
use crate::os::relay;

/// Where people read along.
#[derive(Clone)]
pub struct Console {
    masker: Arc<Masker>,
    /// Standard output belongs to the result; progress goes to standard error.
    result_on_stdout: bool,
    language: Language,
}

/// A console before a profile is known: nothing to hide yet.
impl Default for Console {
    fn default() -> Self {
        Self::new(Arc::default(), false)
    }
}

impl Console {
    /// A console that hides what the masker hides.
    pub fn new(masker: Arc<Masker>, result_on_stdout: bool) -> Self {
        Self {
            masker,
            result_on_stdout,
            language: host::language(),
        }
    }

    /// A progress line.
    pub fn progress(&self, text: impl Into<Message>) {
        let text = self.clean(&text.into());
        if self.result_on_stdout {
            tell(&text);
        } else {
            // Progress like what goes to standard error: nobody has to read it.
            relay::stderr().keep_order();
            relay::stdout().send(format!("{text}\n").as_bytes());
        }
    }

    /// Something that needs attention but does not stop the command.
    pub fn warn(&self, text: impl Into<Message>) {
        let text = text.into();
        self.complain(&text.put(|language, text| match language {
            Language::English => format!("warning: {text}"),
            Language::Japanese => format!("警告: {text}"),
        }));
    }

    /// Why the command ends without doing what it was asked.
    pub fn error(&self, text: impl Into<Message>) {
        let text = text.into();
        self.complain(&text.put(|language, text| match language {
            Language::English => format!("error: {text}"),
            Language::Japanese => format!("エラー: {text}"),
        }));
    }

    /// One JSON object on one line of standard output.
    pub fn machine(&self, value: Value) {
        self.result(&self.masker.json(value).to_string());
    }

    /// A finished document on standard output; it was masked where it was made.
    pub fn raw(&self, text: &str) {
        self.result(text.trim_end_matches('\n'));
    }

    /// Whoever waits for a result must hear that it is lost; the exit code still tells what the command did (RNR-116).
    fn result(&self, text: &str) {
        if let Err(error) = answer(text) {
            self.error(say!(
                "the result could not be written to standard output: {error}",
                "結果を標準出力に書き込めませんでした: {error}"
            ));
        }
    }

    fn complain(&self, text: &Message) {
        tell(&format!("ksql-flow: {}", self.clean(text)));
    }

    fn clean(&self, text: &Message) -> String {
        printable(self.masker.message(text).text(self.language))
    }
}

/// Help text, as it is.
pub fn help(text: &str, on_stderr: bool) {
    let text = text.trim_end();
    if on_stderr {
        tell(text);
    } else {
        // Nobody reads the help text: nothing is lost.
        let _ = answer(text);
    }
}

/// A line for people. A reader that does not read is no reason to stop a job half-way.
fn tell(text: &str) {
    relay::stdout().keep_order();
    relay::stderr().send(format!("{text}\n").as_bytes());
}

/// A line for programs.
fn answer(text: &str) -> std::io::Result<()> {
    relay::stderr().keep_order();
    let mut stdout = relay::stdout();
    stdout
        .write_all(format!("{text}\n").as_bytes())
        .and_then(|()| stdout.flush())
}

/// Control characters of foreign text (file names, messages, data) cannot move the cursor or forge lines.
fn printable(text: &str) -> String {
    let bidi = |c: char| matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    if !text.contains(|c: char| (c.is_control() && c != '\n') || bidi(c)) {
        return text.to_owned();
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if (c.is_control() && c != '\n') || bidi(c) {
            out.extend(c.escape_unicode());
        } else {
            out.push(c);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_spelled_out() {
        assert_eq!(printable("受注\nok"), "受注\nok");
        assert_eq!(printable("a\u{1b}[2Kb\r\u{202e}"), "a\\u{1b}[2Kb\\u{d}\\u{202e}");
    }
}
