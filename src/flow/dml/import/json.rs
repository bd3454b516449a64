//! A JSON file as a table: an array of objects whose members are the fields of the statement, no more and no fewer.

use std::cell::RefCell;
use std::fmt;

use serde::Deserialize;
use serde::de::{DeserializeSeed, Deserializer, Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde_json::error::Category;

use crate::flow::exec::Relation;
use crate::flow::sql::message::{self, Message, say};
use crate::flow::value::selection;

use super::super::target::TargetField;
use super::{Unfit, columns};

/// The largest integer that every JSON reader keeps: 2^53 − 1.
const MAX_SAFE_INTEGER: u64 = (1 << 53) - 1;

pub(super) fn decode(bytes: &[u8], fields: &[TargetField]) -> Result<Relation, Unfit> {
    let mut relation = Relation::new(columns(fields, true));
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let refusal = Refusal::default();
    Records {
        fields,
        relation: &mut relation,
        refusal: &refusal,
    }
    .deserialize(&mut deserializer)
    .and_then(|()| deserializer.end())
    .map_err(|error| Unfit(refusal.0.into_inner().unwrap_or_else(|| not_a_table(&error))))?;
    Ok(relation)
}

/// What is wrong with a record, in our own words: the JSON reader only passes on that something is.
#[derive(Default)]
struct Refusal(RefCell<Option<Message>>);

impl Refusal {
    fn because<E: Error>(&self, message: Message) -> E {
        *self.0.borrow_mut() = Some(message);
        E::custom("refused")
    }
}

/// The reader's own words may quote the file, and are not meant for those who made it.
fn not_a_table(error: &serde_json::Error) -> Message {
    let (line, column) = (error.line(), error.column());
    if error.classify() == Category::Data {
        say!(
            "at line {line}, column {column}: expected an array of objects, such as [{{\"code\": \"a\"}}, {{\"code\": \"b\"}}]",
            "{line} 行 {column} 列: [{{\"code\": \"a\"}}, {{\"code\": \"b\"}}] のようなオブジェクトの配列が必要です"
        )
    } else {
        say!(
            "not valid JSON at line {line}, column {column}",
            "{line} 行 {column} 列: JSON として正しくありません"
        )
    }
}

/// The array.
struct Records<'r> {
    fields: &'r [TargetField],
    relation: &'r mut Relation,
    refusal: &'r Refusal,
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
            refusal: self.refusal,
        })? {
            let cells = cells.iter().map(String::as_str);
            self.relation
                .push_row(cells)
                .map_err(|full| self.refusal.because::<A::Error>(full.to_string().into()))?;
        }
        Ok(())
    }
}

/// One object; its value is a cell for each field.
struct Record<'r> {
    fields: &'r [TargetField],
    /// From 1.
    number: usize,
    refusal: &'r Refusal,
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
                return Err(self.refusal.because(say!(
                    "record {number}: {key} is no field of the statement",
                    "{number} 件目: {key} はこの文のフィールドではありません"
                )));
            };
            if cell.is_some() {
                return Err(self.refusal.because(say!(
                    "record {number}: {key} is given twice",
                    "{number} 件目: {key} が 2 回あります"
                )));
            }
            let list = self
                .fields
                .get(place)
                .is_some_and(|field| field.kind.is_multi_value());
            let rounded = |value: &str| {
                let value = message::value(&key, value);
                self.refusal.because::<A::Error>(say!(
                    "record {number}: {key} is the number {value}, which JSON readers may round; write it as a text",
                    "{number} 件目: {key} の数値 {value} は JSON の読み手によって丸められることがあります。文字列で書いてください"
                ))
            };
            *cell = Some(match map.next_value::<Cell>()? {
                Cell::Text(text) => text,
                Cell::Integer(number) if number.unsigned_abs() <= MAX_SAFE_INTEGER => number.to_string(),
                Cell::Integer(number) => return Err(rounded(&number.to_string())),
                Cell::Number(number) => return Err(rounded(&number.to_string())),
                Cell::List(elements) if list => selection::join(elements.iter().map(String::as_str)),
                Cell::List(_) => {
                    return Err(self.refusal.because(say!(
                        "record {number}: {key} takes one value, not an array",
                        "{number} 件目: {key} の値は 1 つです。配列は書けません"
                    )));
                }
                Cell::Nothing(()) => String::new(),
                Cell::Other(_) => {
                    return Err(self.refusal.because(say!(
                        "record {number}: {key} must be a text, an integer, null or an array of texts",
                        "{number} 件目: {key} は文字列、整数、null、文字列の配列のいずれかにしてください"
                    )));
                }
            });
        }
        let missing = cells.iter().position(Option::is_none);
        match missing.and_then(|place| self.fields.get(place)) {
            Some(field) => {
                let code = &field.code;
                Err(self.refusal.because(say!(
                    "record {number}: {code} is missing",
                    "{number} 件目: {code} がありません"
                )))
            }
            None => Ok(cells.into_iter().flatten().collect()),
        }
    }
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Cell {
    Text(String),
    Integer(i64),
    Number(f64),
    List(Vec<String>),
    Nothing(()),
    Other(IgnoredAny),
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
            (
                r#"[{"a":{},"b":[]}]"#,
                "record 1: a must be a text, an integer, null",
            ),
            (
                r#"{"a":"","b":[]}"#,
                "at line 1, column 0: expected an array of objects",
            ),
            (r#"[{"a":"","b":[]}] x"#, "not valid JSON at line 1, column 19"),
            ("[1]", "at line 1, column 2: expected an array of objects"),
            (r#"["secret"]"#, "at line 1, column 9: expected an array"),
            ("", "not valid JSON at line 1, column 0"),
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
