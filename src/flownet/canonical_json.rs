//! Canonical JSON (RUN-10) and the strict reading of JSON that is going to be hashed.
//!
//! The hash of a profile or manifest must be the same for every program that computes it, so the text is the one a
//! JavaScript peer produces: its key order, its number form, its escapes.

use std::cmp::Ordering;
use std::fmt;

use serde::de::{self, DeserializeSeed, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};
use sha2::{Digest as _, Sha256};

/// Lower-case hexadecimal SHA-256.
pub fn sha256_hex(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

/// Lower-case hexadecimal digits of a digest.
pub fn hex(bytes: &[u8]) -> String {
    use fmt::Write as _;
    bytes
        .iter()
        .fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
            // Writing to a String cannot fail.
            let _ = write!(hex, "{byte:02x}");
            hex
        })
}

/// The canonical text of a value (RUN-10). Numbers are written as the doubles they are in JavaScript.
pub fn to_text(value: &Value) -> String {
    let mut out = String::new();
    write_value(value, &mut out);
    out
}

fn write_value(value: &Value, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(b) => out.push_str(if *b { "true" } else { "false" }),
        // Without arbitrary precision every JSON number has a double.
        Value::Number(n) => out.push_str(&number_text(n.as_f64().unwrap_or(f64::NAN))),
        Value::String(text) => write_string(text, out),
        Value::Array(items) => {
            out.push('[');
            for (i, item) in items.iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Object(map) => {
            let mut keys: Vec<&String> = map.keys().collect();
            keys.sort_by(|a, b| property_order(a, b));
            out.push('{');
            for (i, key) in keys.into_iter().enumerate() {
                if i > 0 {
                    out.push(',');
                }
                write_string(key, out);
                out.push(':');
                write_value(&map[key], out);
            }
            out.push('}');
        }
    }
}

fn write_string(text: &str, out: &mut String) {
    use fmt::Write as _;
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\u{8}' => out.push_str("\\b"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            '\u{c}' => out.push_str("\\f"),
            '\r' => out.push_str("\\r"),
            c if c < ' ' => {
                // Writing to a String cannot fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// A double in JavaScript's form: shortest digits that read back the same, `1e+21` above, `1e-7` below.
pub fn number_text(number: f64) -> String {
    if number == 0.0 {
        return "0".to_owned(); // -0 too
    }
    if !number.is_finite() {
        return "null".to_owned();
    }
    let scientific = format!("{:e}", number.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((scientific.as_str(), "0"));
    let digits: String = mantissa.chars().filter(|c| *c != '.').collect();
    // Position of the decimal point, counted from the first digit.
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    let len = digits.len() as i32;
    let body = if (len..=21).contains(&point) {
        format!("{digits}{}", "0".repeat((point - len) as usize))
    } else if (1..=21).contains(&point) {
        let (whole, fraction) = digits.split_at(point as usize);
        format!("{whole}.{fraction}")
    } else if (-5..=0).contains(&point) {
        format!("0.{}{digits}", "0".repeat((-point) as usize))
    } else {
        let (first, rest) = digits.split_at(1);
        let dot = if rest.is_empty() { "" } else { "." };
        let sign = if point > 0 { '+' } else { '-' };
        format!("{first}{dot}{rest}e{sign}{}", (point - 1).abs())
    };
    if number < 0.0 { format!("-{body}") } else { body }
}

/// The number of a canonical array index: `0` to `4294967294` without sign or leading zero (DEF-07).
pub fn array_index(key: &str) -> Option<u32> {
    let canonical = key == "0" || (!key.starts_with('0') && key.bytes().all(|b| b.is_ascii_digit()));
    if !canonical {
        return None;
    }
    key.parse::<u32>().ok().filter(|n| *n < u32::MAX)
}

/// Text order of the contract: by UTF-16 code units.
pub fn text_order(a: &str, b: &str) -> Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

/// Array indices first, ascending; then text order (RUN-10).
fn property_order(a: &str, b: &str) -> Ordering {
    match (array_index(a), array_index(b)) {
        (Some(x), Some(y)) => x.cmp(&y),
        (Some(_), None) => Ordering::Less,
        (None, Some(_)) => Ordering::Greater,
        (None, None) => text_order(a, b),
    }
}

/// Why [`parse_strict`] refused a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum StrictError {
    /// Not exactly one JSON value in UTF-8 (a byte order mark is not allowed either).
    Syntax(String),
    /// An object repeats a key, or uses `__proto__`, which a JavaScript peer would silently drop.
    Key(String),
}

impl fmt::Display for StrictError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax(text) => write!(f, "not valid JSON: {text}"),
            Self::Key(key) => write!(f, "object key '{}' is repeated or reserved", key.escape_debug()),
        }
    }
}

impl std::error::Error for StrictError {}

/// Reads exactly one JSON value and refuses repeated keys and `__proto__` (item 23 of the definition contract).
/// Nesting is limited by the JSON reader (128 levels).
pub fn parse_strict(bytes: &[u8]) -> Result<Value, StrictError> {
    let mut bad_key = None;
    let mut reader = serde_json::Deserializer::from_slice(bytes);
    let outcome = Strict(&mut bad_key)
        .deserialize(&mut reader)
        .and_then(|value| reader.end().map(|()| value));
    match (outcome, bad_key) {
        (Ok(value), None) => Ok(value),
        (_, Some(key)) => Err(StrictError::Key(key)),
        (Err(error), None) => Err(StrictError::Syntax(error.to_string())),
    }
}

/// Builds a [`Value`] and notes the first forbidden key.
struct Strict<'a>(&'a mut Option<String>);

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value)
            .map(Value::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = access.next_element_seed(Strict(self.0))? {
            items.push(item);
        }
        Ok(Value::Array(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut access: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = access.next_key::<String>()? {
            if key == "__proto__" || map.contains_key(&key) {
                *self.0 = Some(key);
                return Err(de::Error::custom("forbidden key"));
            }
            let value = access.next_value_seed(Strict(self.0))?;
            map.insert(key, value);
        }
        Ok(Value::Object(map))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_have_the_javascript_form() {
        for (number, text) in [
            (0.0, "0"),
            (-0.0, "0"),
            (1.0, "1"),
            (-1.5, "-1.5"),
            (30_000.5, "30000.5"),
            (1e21, "1e+21"),
            (1e20, "100000000000000000000"),
            (1.5e300, "1.5e+300"),
            (1e-7, "1e-7"),
            (1.25e-7, "1.25e-7"),
            (1e-6, "0.000001"),
            (123_456_789.125, "123456789.125"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (5e-324, "5e-324"),
        ] {
            assert_eq!(number_text(number), text);
        }
    }

    #[test]
    fn keys_are_ordered_as_a_javascript_peer_writes_them() {
        let value = json!({"b": 1, "10": 2, "9": 3, "01": 4, "": 5, "4294967295": 6, "\u{ffff}": 7, "𠮷": 8});
        assert_eq!(
            to_text(&value),
            "{\"9\":3,\"10\":2,\"\":5,\"01\":4,\"4294967295\":6,\"b\":1,\"𠮷\":8,\"\u{ffff}\":7}"
        );
    }

    #[test]
    fn strings_have_the_minimal_escapes() {
        assert_eq!(
            to_text(&json!("\"\\\u{8}\t\n\u{c}\r\u{1f}/\u{7f}\u{2028}日")),
            "\"\\\"\\\\\\b\\t\\n\\f\\r\\u001f/\u{7f}\u{2028}日\""
        );
    }

    #[test]
    fn repeated_and_reserved_keys_are_refused_at_any_depth() {
        for text in [r#"{"a":1,"a":2}"#, r#"[{"b":{"__proto__":1}}]"#] {
            assert!(matches!(parse_strict(text.as_bytes()), Err(StrictError::Key(_))));
        }
        for text in ["", "{} x", "\u{feff}{}", "{", "1e400", "\"\\ud800\""] {
            assert!(
                matches!(parse_strict(text.as_bytes()), Err(StrictError::Syntax(_))),
                "{text}"
            );
        }
        assert!(parse_strict(b"\"\xff\"").is_err());
    }

    proptest! {
        #[test]
        fn number_text_reads_back_the_same(bits in any::<u64>()) {
            let number = f64::from_bits(bits);
            prop_assume!(number.is_finite());
            prop_assert_eq!(number_text(number).parse::<f64>().ok(), Some(number + 0.0));
        }

        #[test]
        fn strict_reading_never_panics_and_agrees_with_the_plain_reader(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            if let Ok(value) = parse_strict(&bytes) {
                prop_assert_eq!(serde_json::from_slice::<Value>(&bytes).ok(), Some(value));
            }
        }
    }
}
