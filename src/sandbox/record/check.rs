//! Rules of a field's definition on a value: required, length, range, link format (KTB-85, KTB-100 to KTB-106).
use super::cell::Path;
use crate::sandbox::app::field::{Field, Kind, Protocol};
use crate::sandbox::error::{BAD_LINK, REQUIRED_VALUE, Violations, above, below, too_long, too_short};
use crate::sandbox::value::Value;
use crate::sandbox::value::number::compare_plain;

/// Most characters of a unique text (KTB-109, KTB-174).
const MAX_UNIQUE_TEXT: u64 = 64;

/// Characters as the limits of a text count them: UTF-16 units, so that `😀` is two. No source says how kintone counts
/// them; the lock keys of its clients are measured in these units (RNR-44), and so is every other length here.
fn characters(text: &str) -> u64 {
    text.encode_utf16().count() as u64
}

/// Checks `required`; also run for fields that a PUT did not send (KTB-100).
pub fn required(field: &Field, value: &Value, path: Path<'_>, violations: &mut Violations) {
    // Not enforced on RADIO_BUTTON, without meaning on SUBTABLE (KTB-101).
    let enforced = field.required && !matches!(field.kind, Kind::RadioButton | Kind::Subtable);
    if enforced && value.is_empty() {
        violations.add(path.with(required_suffix(field.kind)), REQUIRED_VALUE);
    }
}

fn required_suffix(kind: Kind) -> &'static str {
    match kind {
        Kind::CheckBox | Kind::MultiSelect | Kind::File => ".values",
        Kind::UserSelect | Kind::OrganizationSelect | Kind::GroupSelect => ".values.value",
        _ => ".value",
    }
}

/// Checks the limits of a value that was sent or filled in.
pub fn limits(field: &Field, value: &Value, path: Path<'_>, violations: &mut Violations) {
    let text = value.as_text();
    match field.kind {
        Kind::SingleLineText | Kind::Link => {
            let characters = characters(text);
            if let Some(limit) = field.max_length.filter(|limit| characters > *limit) {
                violations.add(path.with(".value"), too_long(limit));
            } else if field.unique && characters > MAX_UNIQUE_TEXT {
                violations.add(path.with(".value"), too_long(MAX_UNIQUE_TEXT));
            }
            // An empty text fails too (KTB-102, KTB-95).
            if let Some(limit) = field.min_length.filter(|limit| characters < *limit) {
                violations.add(path.with(".value"), too_short(limit));
            }
            if field.kind == Kind::Link && !text.is_empty() && !is_link(field.protocol, text) {
                violations.add(path.with(".value"), BAD_LINK);
            }
        }
        Kind::Number if !text.is_empty() => {
            if let Some(max) = field
                .max_value
                .as_deref()
                .filter(|max| compare_plain(text, max).is_gt())
            {
                violations.add(path.with(".value"), above(max));
            }
            if let Some(min) = field
                .min_value
                .as_deref()
                .filter(|min| compare_plain(text, min).is_lt())
            {
                violations.add(path.with(".value"), below(min));
            }
        }
        _ => {}
    }
}

fn is_link(protocol: Protocol, text: &str) -> bool {
    let no_spaces = !text.contains(char::is_whitespace);
    match protocol {
        Protocol::Web => ["http://", "https://", "ftp://"].iter().any(|scheme| {
            text.strip_prefix(scheme)
                .is_some_and(|rest| !rest.is_empty() && no_spaces)
        }),
        Protocol::Call => text
            .chars()
            .all(|letter| letter.is_ascii_digit() || "+-*#(). ".contains(letter)),
        Protocol::Mail => {
            let parts = text.split_once('@');
            no_spaces && parts.is_some_and(|(local, domain)| !local.is_empty() && !domain.is_empty())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn violations(definition: &serde_json::Value, value: &str) -> Vec<String> {
        let mut found = Violations::default();
        if let Ok(field) = Field::read("f", definition, false) {
            let path = Path {
                record: "record",
                row: None,
                code: "f",
            };
            let value = Value::text(value);
            required(&field, &value, path, &mut found);
            limits(&field, &value, path, &mut found);
        }
        match found.into_result() {
            Ok(()) => Vec::new(),
            Err(error) => {
                let body = error.body(crate::sandbox::error::Language::En);
                let paths = body["errors"].as_object().cloned().unwrap_or_default();
                paths
                    .iter()
                    .flat_map(|(path, entry)| {
                        let texts = entry["messages"].as_array().cloned().unwrap_or_default();
                        texts
                            .into_iter()
                            .map(move |text| format!("{path}: {}", text.as_str().unwrap_or("")))
                    })
                    .collect()
            }
        }
    }

    #[test]
    fn limits_by_type() {
        let text = |extra: &serde_json::Value| {
            let mut definition = json!({ "type": "SINGLE_LINE_TEXT" });
            if let (Some(target), Some(source)) = (definition.as_object_mut(), extra.as_object()) {
                target.extend(source.clone());
            }
            definition
        };
        let none: [&str; 0] = [];
        assert_eq!(
            violations(&text(&json!({ "minLength": "2" })), ""),
            ["record.f.value: Enter more than 1 characters."]
        );
        assert_eq!(violations(&text(&json!({ "maxLength": 2 })), "日本"), none);
        assert_eq!(
            violations(&text(&json!({ "maxLength": 2 })), "日本語"),
            ["record.f.value: Enter less than 3 characters."]
        );
        assert_eq!(violations(&text(&json!({ "maxLength": 2 })), "😀"), none);
        assert_eq!(
            violations(&text(&json!({ "maxLength": 2 })), "😀a"),
            ["record.f.value: Enter less than 3 characters."],
            "UTF-16 units"
        );
        assert_eq!(
            violations(&text(&json!({ "unique": true })), &"x".repeat(65)),
            ["record.f.value: Enter less than 65 characters."]
        );
        assert_eq!(
            violations(&text(&json!({ "required": true })), ""),
            ["record.f.value: Required."]
        );
        let multi = json!({ "type": "MULTI_LINE_TEXT", "maxLength": "1" });
        assert_eq!(violations(&multi, "long"), none, "KTB-96");
        let number = json!({ "type": "NUMBER", "minValue": "-1.5", "maxValue": "10" });
        assert_eq!(violations(&number, "-1.5"), none);
        assert_eq!(violations(&number, "10.0"), none);
        assert_eq!(
            violations(&number, "10.01"),
            ["record.f.value: The value must be 10 or less."]
        );
        assert_eq!(
            violations(&number, "-1.51"),
            ["record.f.value: The value must be -1.5 or more."]
        );
        assert_eq!(violations(&number, ""), none, "KTB-106: empty is not checked");
        let radio = json!({ "type": "RADIO_BUTTON", "required": true, "options": { "a": { "index": 0 } } });
        assert_eq!(violations(&radio, ""), none, "KTB-101");
    }

    #[test]
    fn ktb_103_links() {
        for (protocol, text, good) in [
            ("WEB", "https://example.com/x", true),
            ("WEB", "example.com", false),
            ("WEB", "https://", false),
            ("MAIL", "a@example.com", true),
            ("MAIL", "a.example.com", false),
            ("CALL", "+81-3-1234", true),
            ("CALL", "call me", false),
        ] {
            let found = violations(&json!({ "type": "LINK", "protocol": protocol }), text);
            assert_eq!(found.is_empty(), good, "{protocol} {text}");
        }
    }
}
