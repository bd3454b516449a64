//! Keeps secrets, and values the owner wants hidden, out of every output (RNR-90).

use serde_json::Value;

use super::config::{Logging, Profile};
use super::verdict::Failure;
use crate::flow::sql::message::{Message, Origin};

/// What is shown instead of a hidden text.
pub const MASK: &str = "***";

/// Hides texts; made from a profile, empty before one is known.
#[derive(Clone, Default)]
pub struct Masker {
    /// Longest first, so that a secret containing another one is hidden whole.
    secrets: Vec<String>,
    fields: Vec<String>,
    strip_literals: bool,
}

impl Masker {
    /// Everything the profile names.
    pub fn of(profile: &Profile) -> Self {
        Self::new(
            profile.masked.iter().map(|secret| secret.expose().to_owned()),
            &profile.logging,
        )
    }

    fn new(secrets: impl Iterator<Item = String>, logging: &Logging) -> Self {
        let mut secrets: Vec<String> = secrets.filter(|secret| !secret.is_empty()).collect();
        secrets.sort_by(|a, b| b.len().cmp(&a.len()).then_with(|| a.cmp(b)));
        secrets.dedup();
        Self {
            secrets,
            fields: logging.mask_fields.clone(),
            strip_literals: logging.strip_literals,
        }
    }

    /// The text without secrets.
    pub fn text(&self, text: &str) -> String {
        let mut masked = text.to_owned();
        for secret in &self.secrets {
            if masked.contains(secret.as_str()) {
                masked = masked.replace(secret.as_str(), MASK);
            }
        }
        masked
    }

    /// The JSON value without secrets in any of its texts.
    pub fn json(&self, value: Value) -> Value {
        match value {
            Value::String(text) => Value::String(self.text(&text)),
            Value::Array(items) => Value::Array(items.into_iter().map(|item| self.json(item)).collect()),
            Value::Object(members) => Value::Object(
                members
                    .into_iter()
                    .map(|(key, value)| (key, self.json(value)))
                    .collect(),
            ),
            other => other,
        }
    }

    /// Whether the owner hides the values of this field.
    pub fn hides_field(&self, code: &str) -> bool {
        self.fields.iter().any(|field| field == code)
    }

    /// A key value for logs: hidden with its field, else without secrets.
    pub fn key(&self, field: &str, value: &str) -> String {
        if self.hides_field(field) {
            MASK.to_owned()
        } else {
            self.text(value)
        }
    }

    /// A cell of a dry-run sample.
    pub fn sample(&self, field: &str, value: &str) -> String {
        if self.hides_field(field) {
            MASK.to_owned()
        } else if self.strip_literals {
            "?".to_owned()
        } else {
            self.text(value)
        }
    }

    /// SQL text for logs: without secrets and, if configured, without literals.
    pub fn sql(&self, sql: &str) -> String {
        if self.strip_literals {
            self.text(&strip_literals(sql))
        } else {
            self.text(sql)
        }
    }

    /// A message without secrets and without the values that are to be hidden. Only what it quotes is touched: our own
    /// words and numbers stay. A value of unknown origin counts as one of a hidden field.
    pub fn message(&self, message: &Message) -> Message {
        message
            .with_quotations(|origin, text| match origin {
                Origin::Script if self.strip_literals => strip_literals(text),
                Origin::Field(code) if self.hides_field(code) => MASK.to_owned(),
                Origin::Unknown if !self.fields.is_empty() => MASK.to_owned(),
                Origin::Field(_) | Origin::Unknown if self.strip_literals => "?".to_owned(),
                Origin::Script | Origin::Field(_) | Origin::Unknown => text.to_owned(),
            })
            .put(|_, text| self.text(text))
    }

    /// The message of a failure. What kintone said is left out when values are to be hidden: it may quote them.
    pub fn failure(&self, failure: &Failure) -> Message {
        let quoted = failure
            .quoted
            .as_ref()
            .filter(|_| self.fields.is_empty() && !self.strip_literals);
        let message = match quoted {
            Some(quoted) => failure.message.put(|_, text| format!("{text} - {quoted}")),
            None => failure.message.clone(),
        };
        self.message(&message)
    }
}

/// Replaces literals by `?`: `'…'` and numbers; `"…"` becomes `"?"`. Comments and names stay.
pub fn strip_literals(sql: &str) -> String {
    let mut out = String::with_capacity(sql.len());
    let mut rest = sql;
    let mut previous = None;
    while let Some(c) = rest.chars().next() {
        let taken = if rest.starts_with("--") {
            let end = rest.find('\n').unwrap_or(rest.len());
            out.push_str(&rest[..end]);
            end
        } else if c == '\'' || c == '"' {
            out.push_str(if c == '"' { "\"?\"" } else { "?" });
            quoted_length(rest, c)
        } else if c == '`' {
            let end = quoted_length(rest, c);
            out.push_str(&rest[..end]);
            end
        } else if c.is_ascii_digit() && !previous.is_some_and(continues_name) {
            out.push('?');
            number_length(rest)
        } else {
            out.push(c);
            c.len_utf8()
        };
        previous = rest[..taken].chars().next_back();
        rest = &rest[taken..];
    }
    out
}

fn continues_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '$'
}

/// Bytes of a quoted text, a doubled quote being part of it; the rest of the text when it is not closed.
fn quoted_length(text: &str, quote: char) -> usize {
    let mut from = 1;
    while let Some(at) = text[from..].find(quote) {
        let end = from + at + 1;
        if !text[end..].starts_with(quote) {
            return end;
        }
        from = end + 1;
    }
    text.len()
}

/// Bytes of an integer, decimal or exponent form.
fn number_length(text: &str) -> usize {
    let digits = |from: usize| text[from..].bytes().take_while(u8::is_ascii_digit).count();
    let mut end = digits(0);
    if text[end..].starts_with('.') {
        let fraction = digits(end + 1);
        if fraction > 0 {
            end += 1 + fraction;
        }
    }
    if text[end..].starts_with(['e', 'E']) {
        let sign = usize::from(text[end + 1..].starts_with(['+', '-']));
        let exponent = digits(end + 1 + sign);
        if exponent > 0 {
            end += 1 + sign + exponent;
        }
    }
    end
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::runner::verdict::ResultCode;
    use crate::flow::sql::message::{Language, say, script, unknown, value};
    use proptest::prelude::*;

    fn masker(secrets: &[&str], fields: &[&str], strip_literals: bool) -> Masker {
        let logging = Logging {
            local_dir: "x".into(),
            mask_fields: fields.iter().map(|&field| field.to_owned()).collect(),
            strip_literals,
        };
        Masker::new(secrets.iter().map(|&secret| secret.to_owned()), &logging)
    }

    #[test]
    fn longer_secrets_are_hidden_first() {
        let masker = masker(&["secret", "secret-long"], &[], false);
        assert_eq!(masker.text("a secret-long b secret"), "a *** b ***");
        let value = serde_json::json!({"a": ["x secret", 1], "secret": null});
        assert_eq!(
            masker.json(value),
            serde_json::json!({"a": ["x ***", 1], "secret": null})
        );
    }

    #[test]
    fn samples_and_keys_follow_their_field() {
        let masker = masker(&["token-123"], &["与信限度額"], false);
        assert_eq!(masker.sample("与信限度額", "100"), MASK);
        assert_eq!(masker.key("顧客コード", "C1 token-123"), "C1 ***");
        let stripping = super::tests::masker(&[], &[], true);
        assert_eq!(stripping.sample("a", "100"), "?");
        assert_eq!(
            stripping.key("a", "100"),
            "100",
            "only SQL and samples are stripped"
        );
    }

    #[test]
    fn what_kintone_said_is_shown_unless_values_are_hidden() {
        let mut failure = Failure::new(ResultCode::ApiError, "HTTP 400 token-123");
        failure.quoted = Some("record.a.value: \"x\" is not an option".to_owned());
        let shown = masker(&["token-123"], &[], false).failure(&failure);
        assert_eq!(
            shown.to_string(),
            "HTTP 400 *** - record.a.value: \"x\" is not an option"
        );
        for hiding in [masker(&[], &["a"], false), masker(&[], &[], true)] {
            assert_eq!(hiding.failure(&failure).to_string(), "HTTP 400 token-123");
        }
    }

    #[test]
    fn only_quotations_are_hidden() {
        let (key, other, sql) = (value("k", "TANAKA"), unknown("42"), script("q = 'x'"));
        let row = 7;
        let message = say!(
            "12:5: row {row}: {key}, {other}, {sql}",
            "12:5: {row} 行目: {key}, {other}, {sql}"
        );
        for (fields, strip, shown) in [
            (&[][..], false, "12:5: row 7: TANAKA, 42, q = 'x'"),
            (&["k"], false, "12:5: row 7: ***, ***, q = 'x'"),
            (&["z"], false, "12:5: row 7: TANAKA, ***, q = 'x'"),
            (&[], true, "12:5: row 7: ?, ?, q = ?"),
            (&["z"], true, "12:5: row 7: ?, ***, q = ?"),
        ] {
            let hidden = masker(&[], fields, strip).message(&message);
            assert_eq!(hidden.to_string(), shown, "{fields:?} {strip}");
        }
        let japanese = masker(&[], &["k"], true).message(&message);
        assert_eq!(japanese.text(Language::Japanese), "12:5: 7 行目: ***, ***, q = ?");
    }

    #[test]
    fn literals_become_question_marks() {
        for (sql, expected) in [
            ("WHERE 金額 < 0", "WHERE 金額 < ?"),
            ("x = 'it''s' AND y=1.5e-3", "x = ? AND y=?"),
            ("LAPP_\"顧客 2026\" t1 c_2 $3", "LAPP_\"?\" t1 c_2 $3"),
            (
                "`field 1` = 12 -- note 13 'x'\n+ 4",
                "`field 1` = ? -- note 13 'x'\n+ ?",
            ),
            ("'open", "?"),
            ("1.", "?."),
            ("2e", "?e"),
            ("", ""),
        ] {
            assert_eq!(strip_literals(sql), expected, "{sql}");
        }
    }

    proptest! {
        #[test]
        fn stripping_takes_any_text(sql in "[ -~あ'\"`\n]{0,40}") {
            let stripped = strip_literals(&sql);
            prop_assert!(stripped.chars().count() <= sql.chars().count() + 2 * sql.matches('"').count());
        }
    }
}
