//! kintone's JSON of records, decoded straight into a [`Page`]: no tree, no allocation for a scalar cell.

use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use super::{ArenaFull, Page};

/// The body of a page of records could not be decoded.
#[derive(Debug)]
pub struct DecodeError(serde_json::Error);

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the answer with records cannot be read: {}", self.0)
    }
}

impl std::error::Error for DecodeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.0)
    }
}

/// Reads the body of `GET records.json` into a page whose columns are `fields`. Codes that a record lacks are empty.
pub fn page(body: &[u8], fields: &[String], into: &mut Page) -> Result<(), DecodeError> {
    into.reset(fields.len());
    let mut json = serde_json::Deserializer::from_slice(body);
    Body { fields, page: into }
        .deserialize(&mut json)
        .and_then(|()| json.end())
        .map_err(DecodeError)
}

/// One `value` member, written as a cell (see [`super`] for the conventions).
pub fn value(json: &Value, cell: &mut String) {
    match json {
        Value::Null => {}
        Value::String(text) => cell.push_str(text),
        Value::Array(elements) if elements.iter().any(|element| element.get("value").is_some()) => {
            cell.push_str(&json.to_string());
        }
        Value::Array(elements) => {
            for (i, element) in elements.iter().enumerate() {
                if i > 0 {
                    cell.push('\n');
                }
                value(element, cell);
            }
        }
        Value::Object(members) => {
            let named = members.get("code").or_else(|| members.get("name"));
            if let Some(Value::String(text)) = named {
                cell.push_str(text);
            }
        }
        Value::Bool(_) | Value::Number(_) => cell.push_str(&json.to_string()),
    }
}

/// The whole body.
struct Body<'a> {
    fields: &'a [String],
    page: &'a mut Page,
}

impl<'de> DeserializeSeed<'de> for Body<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Body<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object with `records`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut seen = false;
        while let Some(key) = map.next_key_seed(Key(&["records", "totalCount"]))? {
            match key {
                Some(0) => {
                    seen = true;
                    map.next_value_seed(Records {
                        fields: self.fields,
                        page: &mut *self.page,
                    })?;
                }
                Some(_) => {
                    let total: Value = map.next_value()?;
                    self.page.total_count = match &total {
                        Value::String(text) => text.parse().ok(),
                        other => other.as_u64(),
                    };
                }
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        if seen {
            Ok(())
        } else {
            Err(A::Error::missing_field("records"))
        }
    }
}

/// An object key, as its position in a list.
struct Key<'a, S>(&'a [S]);

impl<'de, S: AsRef<str>> DeserializeSeed<'de> for Key<'_, S> {
    type Value = Option<usize>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_str(self)
    }
}

impl<S: AsRef<str>> Visitor<'_> for Key<'_, S> {
    type Value = Option<usize>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object key")
    }

    fn visit_str<E>(self, key: &str) -> Result<Self::Value, E> {
        Ok(self.0.iter().position(|known| known.as_ref() == key))
    }
}

/// The array of records.
struct Records<'a> {
    fields: &'a [String],
    page: &'a mut Page,
}

impl<'de> DeserializeSeed<'de> for Records<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_seq(self)
    }
}

impl<'de> Visitor<'de> for Records<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an array of records")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        while seq
            .next_element_seed(Record {
                fields: self.fields,
                page: &mut *self.page,
            })?
            .is_some()
        {}
        Ok(())
    }
}

/// One record.
struct Record<'a> {
    fields: &'a [String],
    page: &'a mut Page,
}

impl<'de> DeserializeSeed<'de> for Record<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Record<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a record")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(column) = map.next_key_seed(Key(self.fields))? {
            match column {
                Some(column) => map.next_value_seed(FieldValue {
                    column,
                    page: &mut *self.page,
                })?,
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        self.page.end_row().map_err(A::Error::custom)
    }
}

/// `{"type": …, "value": …}` of one field.
struct FieldValue<'a> {
    column: usize,
    page: &'a mut Page,
}

impl<'de> DeserializeSeed<'de> for FieldValue<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for FieldValue<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field with `value`")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key_seed(Key(&["value"]))? {
            if key.is_some() {
                map.next_value_seed(Cell {
                    column: self.column,
                    page: &mut *self.page,
                })?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

/// The value itself: scalars without a detour, everything else through a small tree.
struct Cell<'a> {
    column: usize,
    page: &'a mut Page,
}

impl Cell<'_> {
    fn tree(self, json: &Value) -> Result<(), ArenaFull> {
        self.page.push_with(self.column, |cell| value(json, cell))
    }
}

impl<'de> DeserializeSeed<'de> for Cell<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Cell<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a field value")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<(), E> {
        self.page.push(self.column, text).map_err(E::custom)
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_bool<E: serde::de::Error>(self, json: bool) -> Result<(), E> {
        self.tree(&Value::from(json)).map_err(E::custom)
    }

    fn visit_i64<E: serde::de::Error>(self, json: i64) -> Result<(), E> {
        self.tree(&Value::from(json)).map_err(E::custom)
    }

    fn visit_u64<E: serde::de::Error>(self, json: u64) -> Result<(), E> {
        self.tree(&Value::from(json)).map_err(E::custom)
    }

    fn visit_f64<E: serde::de::Error>(self, json: f64) -> Result<(), E> {
        self.tree(&Value::from(json)).map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        let mut members = serde_json::Map::new();
        while let Some((key, member)) = map.next_entry::<String, Value>()? {
            members.insert(key, member);
        }
        self.tree(&Value::Object(members)).map_err(A::Error::custom)
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<(), A::Error> {
        let mut elements = Vec::new();
        while let Some(element) = seq.next_element::<Value>()? {
            elements.push(element);
        }
        self.tree(&Value::Array(elements)).map_err(A::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(body: &str, fields: &[&str]) -> Result<Page, DecodeError> {
        let fields: Vec<String> = fields.iter().map(|field| (*field).to_owned()).collect();
        let mut into = Page::new(0);
        page(body.as_bytes(), &fields, &mut into)?;
        Ok(into)
    }

    #[test]
    fn every_shape_becomes_a_cell() {
        let body = r#"{"totalCount":"12","records":[
            {"$id":{"type":"__ID__","value":"7"},"u":{"type":"USER_SELECT","value":[{"code":"a","name":"A"},{"code":"b"}]},
             "c":{"value":["x","y"],"type":"CHECK_BOX"},"w":{"type":"CREATOR","value":{"code":"me","name":"Me"}},
             "f":{"type":"FILE","value":[{"contentType":"t","fileKey":"k","name":"n.txt","size":"1"}]},
             "t":{"type":"SUBTABLE","value":[{"id":"1","value":{"品":{"type":"SINGLE_LINE_TEXT","value":"ペ\nン"}}}]},
             "d":{"type":"DROP_DOWN","value":null},"other":{"type":"NUMBER","value":"1"}},
            {"$id":{"type":"__ID__","value":"8"},"t":{"type":"SUBTABLE","value":[]}}]}"#;
        let page = decoded(body, &["$id", "u", "c", "w", "f", "t", "d"]).unwrap();
        assert_eq!(page.total_count, Some(12));
        assert_eq!(page.rows(), 2);
        let row: Vec<&str> = (0..5).map(|column| page.cell(0, column)).collect();
        assert_eq!(row, ["7", "a\nb", "x\ny", "me", "n.txt"]);
        assert_eq!(
            page.cell(0, 5),
            r#"[{"id":"1","value":{"品":{"type":"SINGLE_LINE_TEXT","value":"ペ\nン"}}}]"#
        );
        assert_eq!((page.cell(0, 6), page.cell(1, 0), page.cell(1, 5)), ("", "8", ""));
    }

    #[test]
    fn no_total_and_no_records() {
        assert_eq!(
            decoded(r#"{"records":[],"totalCount":null}"#, &["$id"])
                .unwrap()
                .total_count,
            None
        );
        assert!(decoded(r#"{"code":"X"}"#, &["$id"]).is_err());
        assert!(decoded(r#"{"records":[{"$id":{"value":"1"}}"#, &["$id"]).is_err());
    }
}
