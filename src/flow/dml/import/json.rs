//! A JSON file as a table: an array of objects whose members are the fields of the statement, no more and no fewer.

use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};

use crate::flow::exec::Relation;
use crate::flow::sql::message::Message;
use crate::flow::value::selection;

use super::super::target::TargetField;
use super::{Unfit, columns};

/// The largest integer that every JSON reader keeps: 2^53 − 1.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

pub(super) fn decode(bytes: &[u8], fields: &[TargetField]) -> Result<Relation, Unfit> {
    let mut relation = Relation::new(columns(fields, true));
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    Records {
        fields,
        relation: &mut relation,
    }
    .deserialize(&mut deserializer)
    .and_then(|()| deserializer.end())
    .map_err(|error| Unfit(Message::verbatim(error.to_string())))?;
    Ok(relation)
}

/// The array.
struct Records<'r> {
    fields: &'r [TargetField],
    relation: &'r mut Relation,
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
        f.write_str("an array of objects")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut array: A) -> Result<(), A::Error> {
        while let Some(cells) = array.next_element_seed(Record {
            fields: self.fields,
            number: self.relation.rows() + 1,
        })? {
            let cells = cells.iter().map(String::as_str);
            self.relation.push_row(cells).map_err(A::Error::custom)?;
        }
        Ok(())
    }
}

/// One object; its value is a cell for each field.
struct Record<'r> {
    fields: &'r [TargetField],
    /// From 1.
    number: usize,
}

impl<'de> DeserializeSeed<'de> for Record<'_> {
    type Value = Vec<String>;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for Record<'_> {
    type Value = Vec<String>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object as record {}", self.number)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let number = self.number;
        let mut cells: Vec<Option<String>> = vec![None; self.fields.len()];
        while let Some(key) = map.next_key::<String>()? {
            let place = self.fields.iter().position(|field| field.code == key);
            let Some((place, cell)) = place.and_then(|place| Some((place, cells.get_mut(place)?))) else {
                return Err(A::Error::custom(format_args!(
                    "record {number}: {key} is no field of the statement"
                )));
            };
            let wrong = |what: &str| A::Error::custom(format_args!("record {number}: {key} {what}"));
            if cell.is_some() {
                return Err(wrong("is given twice"));
            }
            let list = self
                .fields
                .get(place)
                .is_some_and(|field| field.kind.is_multi_value());
            *cell = Some(match map.next_value::<Cell>()? {
                Cell::Text(text) => text,
                Cell::Integer(number) if number.unsigned_abs() <= MAX_SAFE_INTEGER => number.to_string(),
                Cell::Integer(number) => return Err(wrong(&rounded(number))),
                Cell::Number(number) => return Err(wrong(&rounded(number))),
                Cell::List(elements) if list => selection::join(elements.iter().map(String::as_str)),
                Cell::List(_) => return Err(wrong("takes one value, not an array")),
                Cell::Nothing(()) => String::new(),
            });
        }
        let missing = cells.iter().position(Option::is_none);
        match missing.and_then(|place| self.fields.get(place)) {
            Some(field) => Err(A::Error::custom(format_args!(
                "record {number}: {} is missing",
                field.code
            ))),
            None => Ok(cells.into_iter().flatten().collect()),
        }
    }
}

fn rounded(number: impl fmt::Display) -> String {
    format!("is the number {number}, which JSON readers may round; write it as a text")
}

#[derive(Deserialize)]
#[serde(untagged, expecting = "a text, an integer, null or an array of texts")]
enum Cell {
    Text(String),
    Integer(i64),
    Number(f64),
    List(Vec<String>),
    Nothing(()),
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::flow::apps::{Constraints, FieldType};
    use crate::flow::sql::message::Language;

    fn fields() -> [TargetField; 2] {
        [("a", FieldType::SingleLineText), ("b", FieldType::CheckBox)].map(|(code, kind)| TargetField {
            entangled: false,
            code: code.into(),
            kind,
            options: None,
            unique: false,
            constraints: Constraints::default(),
        })
    }

    fn cells(text: &str) -> Result<Vec<[String; 2]>, String> {
        let relation = decode(text.as_bytes(), &fields())
            .map_err(|Unfit(message)| message.text(Language::English).to_owned())?;
        let row = |row| [0, 1].map(|column| relation.cell(row, column).to_owned());
        Ok((0..relation.rows()).map(row).collect())
    }

    #[test]
    fn what_is_wrong_is_told_with_its_record() {
        assert_eq!(
            cells(r#"[{"b":["x","y"],"a":-9007199254740991}]"#),
            Ok(vec![["-9007199254740991".to_owned(), "x\ny".to_owned()]])
        );
        for (text, said) in [
            (
                r#"[{"a":1,"b":[]},{"a":["x"],"b":[]}]"#,
                "record 2: a takes one value",
            ),
            (r#"[{"a":1e3,"b":[]}]"#, "record 1: a is the number"),
            (
                r#"[{"a":18446744073709551615,"b":[]}]"#,
                "record 1: a is the number",
            ),
            (r#"[{"a":{},"b":[]}]"#, "a text, an integer, null"),
            (r#"[{"a":"","b":[]}] x"#, "trailing characters"),
            ("[1]", "an object as record 1"),
            ("", "EOF"),
        ] {
            let error = cells(text).unwrap_err();
            assert!(error.contains(said), "{text}: {error}");
        }
    }

    proptest! {
        #[test]
        fn any_text_is_a_table_or_an_error(text in "[\\[\\]{}:,\"ab0-9.eE\\-ntrulfs \\\\]{0,60}") {
            if let Ok(rows) = cells(&text) {
                let parsed: serde_json::Value = serde_json::from_str(&text).expect("JSON");
                prop_assert_eq!(parsed.as_array().map(Vec::len), Some(rows.len()));
            }
        }
    }
}
