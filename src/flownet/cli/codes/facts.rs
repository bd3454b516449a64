//! Values for the templates of the code table: what a command knows about the things it worked on, so that a next step
//! can be copied and pasted instead of assembled by hand (15.3).

use std::fmt::Write as _;

use crate::flownet::cli::output::escape;

/// Named values (`run_id`, `network`, ...).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Facts(Vec<(&'static str, String)>);

impl Facts {
    /// Sets a value; a later one replaces an earlier one, an empty one is ignored.
    pub fn set(&mut self, name: &'static str, value: impl Into<String>) {
        let value = value.into();
        if value.is_empty() {
            return;
        }
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some(slot) => slot.1 = value,
            None => self.0.push((name, value)),
        }
    }

    /// Takes over the values that are not known yet.
    pub fn extend(&mut self, others: &Facts) {
        for (name, value) in &others.0 {
            if self.get(name).is_none() {
                self.set(name, value.clone());
            }
        }
    }

    fn get(&self, name: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_str())
    }

    /// Fills `{name}` places of a sentence; an unknown one stays visible as `<name>`.
    pub fn fill(&self, template: &str) -> String {
        self.replace(template, str::to_owned)
    }

    /// Fills a command line: values are quoted for a POSIX shell where necessary. What stands in brackets is left out when
    /// its value is not known.
    pub fn fill_command(&self, template: &str) -> String {
        let mut line = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('[') {
            let (optional, tail) = after.split_once(']').unwrap_or((after, ""));
            line.push_str(before);
            let name = optional
                .split_once('{')
                .and_then(|(_, name)| name.split_once('}'));
            if name.is_none_or(|(name, _)| self.get(name).is_some()) {
                line.push_str(optional);
            }
            rest = tail;
        }
        line.push_str(rest);
        self.replace(&line, quoted)
    }

    fn replace(&self, template: &str, write: impl Fn(&str) -> String) -> String {
        let mut out = String::with_capacity(template.len());
        let mut rest = template;
        while let Some((before, after)) = rest.split_once('{') {
            out.push_str(before);
            let Some((name, tail)) = after.split_once('}') else {
                out.push('{');
                rest = after;
                break;
            };
            match self.get(name) {
                Some(value) => out.push_str(&write(value)),
                None => out.extend(["<", name, ">"]),
            }
            rest = tail;
        }
        out.push_str(rest);
        out
    }
}

/// The word as a POSIX shell must be given it. A word beginning with a dash needs no quotes: no flag value may begin
/// with two (CLI-02). Characters that a terminal would not show are written as bytes (`$'...'`), so that a copied line
/// still names the same thing.
fn quoted(word: &str) -> String {
    if escape(word) != word {
        return dollar_quoted(word);
    }
    let plain = |c: char| c.is_alphanumeric() || "-_./:@%+,=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

fn dollar_quoted(word: &str) -> String {
    let mut out = String::from("$'");
    let mut buffer = [0; 4];
    for c in word.chars() {
        let text = &*c.encode_utf8(&mut buffer);
        if matches!(c, '\'' | '\\') {
            out.extend(['\\', c]);
        } else if escape(text) == text {
            out.push(c);
        } else {
            for byte in text.bytes() {
                let _ = write!(out, "\\{byte:03o}");
            }
        }
    }
    out.push('\'');
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_values_are_filled_and_quoted_and_unknown_ones_stay_visible() {
        let mut facts = Facts::default();
        facts.set("run_id", "run 1");
        facts.set("profile", "");
        assert_eq!(
            facts.fill_command("status {network_id} --run-id {run_id}"),
            "status <network_id> --run-id 'run 1'"
        );
        assert_eq!(
            facts.fill("Run {run_id} of {profile} {"),
            "Run run 1 of <profile> {"
        );
        assert_eq!(
            facts.fill_command("a[ --b {b}][ --run {run_id}] c"),
            "a --run 'run 1' c"
        );
        facts.set("run_id", "it's");
        assert_eq!(facts.fill_command("{run_id}"), r"'it'\''s'");
        facts.set("run_id", "a\tb 1'\\\u{202e}");
        let line = facts.fill_command("{run_id}");
        assert_eq!(line, r"$'a\011b 1\'\\\342\200\256'");
        assert_eq!(escape(&line), line);
    }

    #[test]
    fn later_values_win_and_extend_keeps_them() {
        let (mut a, mut b) = (Facts::default(), Facts::default());
        a.set("x", "1");
        a.set("x", "2");
        b.set("x", "3");
        b.set("y", "4");
        a.extend(&b);
        assert_eq!(a.fill("{x}{y}"), "24");
    }
}
