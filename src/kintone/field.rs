//! Typed values of records: what we write (REC-04) and what we read back (REC-05).

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::{Number, Value};

/// Largest whole number that JSON readers and kintone agree on.
const SAFE_INTEGER: f64 = 9_007_199_254_740_991.0;

/// Field codes with values to write, in the order they were added; JSON `{"code": {"value": X}, ...}`.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(Vec<(String, Value)>);

impl Fields {
    /// No fields yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Text, an id or an option.
    pub fn text(self, code: &str, value: impl Into<String>) -> Self {
        self.value(code, Value::String(value.into()))
    }

    /// Text or, for `None`, the empty text that stands for null (REC-04).
    pub fn opt_text(self, code: &str, value: Option<impl Into<String>>) -> Self {
        self.text(code, value.map(Into::into).unwrap_or_default())
    }

    /// A number, sent as a JSON number.
    pub fn number(self, code: &str, value: impl Into<Number>) -> Self {
        self.value(code, Value::Number(value.into()))
    }

    /// A number or, for `None`, the empty text that stands for null (REC-04).
    pub fn opt_number(self, code: &str, value: Option<impl Into<Number>>) -> Self {
        match value {
            Some(value) => self.number(code, value),
            None => self.text(code, ""),
        }
    }

    /// A yes or no, sent as the option `true` or `false` of a drop-down.
    pub fn flag(self, code: &str, value: bool) -> Self {
        self.text(code, if value { "true" } else { "false" })
    }

    /// One attachment by the key that its upload gave.
    pub fn file(self, code: &str, upload_key: &str) -> Self {
        self.value(code, serde_json::json!([{ "fileKey": upload_key }]))
    }

    /// Any JSON value. A code that is already there gets the new value in its old place.
    pub fn value(mut self, code: &str, value: Value) -> Self {
        match self.0.iter_mut().find(|(c, _)| c == code) {
            Some(entry) => entry.1 = value,
            None => self.0.push((code.to_owned(), value)),
        }
        self
    }

    /// Adds all fields of `other`.
    pub fn extend(self, other: Self) -> Self {
        other
            .0
            .into_iter()
            .fold(self, |all, (code, value)| all.value(&code, value))
    }

    /// The value set for a code.
    pub fn get(&self, code: &str) -> Option<&Value> {
        self.0.iter().find(|(c, _)| c == code).map(|(_, value)| value)
    }

    /// Codes and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(code, value)| (code.as_str(), value))
    }

    /// Whether nothing was set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Cell<'a> {
            value: &'a Value,
        }
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (code, value) in &self.0 {
            map.serialize_entry(code, &Cell { value })?;
        }
        map.end()
    }
}

/// A record as kintone returned it: field codes with their `value`, types left out.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Record(Vec<(Box<str>, Value)>);

impl Record {
    /// The record id, 0 when the answer had none (`$id` was not asked for).
    pub fn id(&self) -> u64 {
        self.unsigned("$id").unwrap_or(0)
    }

    /// kintone's revision, 0 when the answer had none.
    pub fn revision(&self) -> u64 {
        self.unsigned("$revision").unwrap_or(0)
    }

    /// The value of a field; `None` when the record has no such field.
    pub fn field(&self, code: &str) -> Option<&Value> {
        self.0.iter().find(|(c, _)| &**c == code).map(|(_, value)| value)
    }

    /// Text, `""` when the field is missing, null or no text (REC-05).
    pub fn text(&self, code: &str) -> &str {
        self.field(code).and_then(Value::as_str).unwrap_or_default()
    }

    /// Text, `None` when missing, null or empty (REC-05).
    pub fn opt_text(&self, code: &str) -> Option<&str> {
        Some(self.text(code)).filter(|text| !text.is_empty())
    }

    /// A whole number within the safe range, `None` when missing, null, empty or no such number.
    pub fn number(&self, code: &str) -> Option<i64> {
        match self.field(code)? {
            Value::Number(n) => n.as_i64().or_else(|| whole(n.as_f64()?)),
            Value::String(text) => text.parse().ok().or_else(|| whole(decimal(text)?)),
            _ => None,
        }
        .filter(|n| n.unsigned_abs() as f64 <= SAFE_INTEGER)
    }

    /// A whole number of at least 0, else as [`Record::number`].
    pub fn unsigned(&self, code: &str) -> Option<u64> {
        self.number(code).and_then(|n| u64::try_from(n).ok())
    }

    /// Any finite number, `None` when missing, null, empty or no number.
    pub fn decimal(&self, code: &str) -> Option<f64> {
        match self.field(code)? {
            Value::Number(n) => n.as_f64(),
            Value::String(text) => decimal(text),
            _ => None,
        }
    }

    /// True only for the exact text `true` (REC-05).
    pub fn flag(&self, code: &str) -> bool {
        self.text(code) == "true"
    }

    /// The download keys of an attachment field, in order (REC-13).
    pub fn file_keys(&self, code: &str) -> Vec<&str> {
        let files = self
            .field(code)
            .and_then(Value::as_array)
            .map(Vec::as_slice)
            .unwrap_or_default();
        files
            .iter()
            .filter_map(|file| file.get("fileKey")?.as_str())
            .collect()
    }

    /// Codes and values in the answer's order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(code, value)| (&**code, value))
    }
}

/// kintone's number text: sign, digits, point, exponent (KTB-116); not the words that Rust reads as numbers.
fn decimal(text: &str) -> Option<f64> {
    let plain = text.bytes().all(|b| b.is_ascii_digit() || b"+-.eE".contains(&b));
    text.parse().ok().filter(|n: &f64| plain && n.is_finite())
}

fn whole(n: f64) -> Option<i64> {
    (n.fract() == 0.0 && n.abs() <= SAFE_INTEGER).then_some(n as i64)
}

impl<'de> Deserialize<'de> for Record {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Codes;
        impl<'de> Visitor<'de> for Codes {
            type Value = Record;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a record: an object of fields")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Record, A::Error> {
                let mut fields = Vec::with_capacity(map.size_hint().unwrap_or(0).min(64));
                while let Some((code, Cell(value))) = map.next_entry::<Box<str>, Cell>()? {
                    fields.push((code, value));
                }
                Ok(Record(fields))
            }
        }
        deserializer.deserialize_map(Codes)
    }
}

/// The `value` of a field object; other members, known or new, are skipped.
struct Cell(Value);

impl<'de> Deserialize<'de> for Cell {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Members;
        impl<'de> Visitor<'de> for Members {
            type Value = Cell;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a field: an object with a value")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Cell, A::Error> {
                let mut value = Value::Null;
                while let Some(name) = map.next_key::<std::borrow::Cow<'de, str>>()? {
                    if name == "value" {
                        value = map.next_value()?;
                    } else {
                        map.next_value::<IgnoredAny>()?;
                    }
                }
                Ok(Cell(value))
            }
        }
        deserializer.deserialize_map(Members)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn record(json: &str) -> Record {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn writes_in_order_with_the_contract_encodings() {
        let fields = Fields::new()
            .text("z", "x\"y")
            .opt_text("a", None::<&str>)
            .opt_text("b", Some("v"))
            .number("n", 3)
            .opt_number("m", None::<u64>)
            .flag("f", true)
            .file("att", "key1")
            .text("z", "again");
        assert_eq!(
            serde_json::to_string(&fields).unwrap(),
            concat!(
                r#"{"z":{"value":"again"},"a":{"value":""},"b":{"value":"v"},"n":{"value":3},"m":{"value":""},"#,
                r#""f":{"value":"true"},"att":{"value":[{"fileKey":"key1"}]}}"#
            )
        );
        assert_eq!(fields.get("n"), Some(&Value::from(3)));
        assert_eq!(fields.iter().count(), 7);
    }

    #[test]
    fn reads_null_missing_and_empty_alike() {
        let r = record(
            r#"{"$id":{"type":"__ID__","value":"7"},"$revision":{"value":"3","type":"__REVISION__"},
            "d":{"type":"DROP_DOWN","value":null},"e":{"type":"SINGLE_LINE_TEXT","value":""},"x":{"type":"NEW"},
            "t":{"value":"true"},"n":{"value":"15.0"},"w":{"value":"1.5e1"},"f":{"value":"1.25"},"j":{"value":4},
            "bad":{"value":"12abc"},"inf":{"value":"inf"},"big":{"value":"9007199254740993"},"neg":{"value":"-2"},
            "att":{"value":[{"fileKey":"k1","name":"a"},{"name":"b"},{"fileKey":"k2"}]}}"#,
        );
        assert_eq!((r.id(), r.revision()), (7, 3));
        for code in ["d", "e", "x", "missing", "j"] {
            assert_eq!((r.text(code), r.opt_text(code)), ("", None), "{code}");
        }
        assert!(r.flag("t") && !r.flag("d"));
        assert_eq!(
            [r.number("n"), r.number("w"), r.number("j"), r.number("neg")],
            [Some(15), Some(15), Some(4), Some(-2)]
        );
        for code in ["bad", "inf", "big", "e", "d", "missing", "f"] {
            assert_eq!(r.number(code), None, "{code}");
        }
        assert_eq!(
            (r.decimal("f"), r.decimal("inf"), r.unsigned("neg")),
            (Some(1.25), None, None)
        );
        assert_eq!(r.file_keys("att"), ["k1", "k2"]);
        assert_eq!(r.file_keys("d"), Vec::<&str>::new());
        assert_eq!(Record::default().id(), 0);
    }

    #[test]
    fn refuses_what_is_no_record() {
        for bad in [
            "[]",
            "1",
            "null",
            r#"{"a":1}"#,
            r#"{"a":[]}"#,
            r#"{"a":{"value":1}"#,
        ] {
            assert!(serde_json::from_str::<Record>(bad).is_err(), "{bad}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_decode_or_fail(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = serde_json::from_slice::<Record>(&bytes);
        }

        #[test]
        fn what_is_written_reads_back(text in any::<String>(), n in any::<i32>(), flag in any::<bool>()) {
            let fields = Fields::new().text("t", text.clone()).number("n", n).flag("f", flag);
            let back: Record = serde_json::from_slice(&serde_json::to_vec(&fields).unwrap()).unwrap();
            prop_assert_eq!(back.text("t"), text);
            prop_assert_eq!(back.number("n"), Some(i64::from(n)));
            prop_assert_eq!(back.flag("f"), flag);
        }

        #[test]
        fn number_text_never_panics(text in any::<String>()) {
            let back: Record =
                serde_json::from_value(serde_json::json!({ "n": { "value": text } })).unwrap();
            let _ = (back.number("n"), back.unsigned("n"), back.decimal("n"));
        }
    }
}
