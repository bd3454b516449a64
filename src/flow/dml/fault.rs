//! What is wrong with a value that is about to be written (LNG-151, LNG-153).

use std::cmp::Ordering;

use crate::flow::apps::FieldType;
use crate::flow::exec::EngineError;
use crate::flow::sql::message::{self, Message, say};
use crate::flow::value::compare_numbers;

use super::target::{TargetField, is_demanded};

/// No value where one is demanded.
pub(super) const REQUIRED: &str = "ERR_REQUIRED";
/// Not a number.
pub(super) const TYPE_NUMBER: &str = "ERR_TYPE_NUMBER";
/// Not a date, time or date-time.
pub(super) const TYPE_DATE: &str = "ERR_TYPE_DATE";
/// Not a link of the field's protocol.
const TYPE_LINK: &str = "ERR_TYPE_LINK";
/// Larger than the form allows.
const RANGE_MAX: &str = "ERR_RANGE_MAX";
/// Smaller than the form allows.
const RANGE_MIN: &str = "ERR_RANGE_MIN";
/// Longer than the form allows.
const LENGTH_MAX: &str = "ERR_LENGTH_MAX";
/// Shorter than the form allows.
const LENGTH_MIN: &str = "ERR_LENGTH_MIN";
/// An option that the form lacks.
pub(super) const CHOICE_INVALID: &str = "ERR_CHOICE_INVALID";
/// An expression that gives no value for the record.
pub(super) const EXPRESSION: &str = "ERR_EXPRESSION";
/// More integer digits than the app keeps.
pub(super) const INTEGER_DIGITS: &str = "ERR_NUMBER_INTEGER_DIGITS";
/// An empty key.
pub(super) const KEY_EMPTY: &str = "ERR_KEY_EMPTY";
/// A key that stands in several rows of the source.
pub(super) const KEY_REPEATED: &str = "ERR_KEY_DUP_SOURCE";
/// A CHECK of the statement.
pub(super) const CHECK: &str = "ERR_CHECK";

/// The most UTF-16 units of a text in a field that prohibits duplicates (KTB-109).
const MAX_UNIQUE_TEXT: usize = 64;

/// A value that cannot be written.
#[derive(Clone, Debug)]
pub(super) struct Fault {
    /// `$err_code`.
    pub code: &'static str,
    /// What is wrong.
    pub message: Message,
}

impl Fault {
    pub fn new(code: &'static str, message: Message) -> Self {
        Self { code, message }
    }

    /// A field without the value that it must have.
    pub fn required(field: &str) -> Self {
        Self::new(REQUIRED, say!("{field} must not be empty", "{field} は必須です"))
    }
}

impl From<Fault> for EngineError {
    fn from(fault: Fault) -> Self {
        Self::argument(fault.message)
    }
}

/// The error for a new record that would lack a field; `row` counts from 0.
pub(super) fn refuse_missing(unwritten: &[String], row: usize) -> Result<(), EngineError> {
    let Some(field) = unwritten.first() else {
        return Ok(());
    };
    let number = row + 1;
    Err(EngineError::argument(say!(
        "source row {number} would add a record without {field}, which must not be empty; nothing was written",
        "元データの {number} 行目で追加されるレコードには必須の {field} がありません。何も書き込んでいません"
    )))
}

/// Tests a converted cell against the form, as kintone would.
pub(super) fn demanded(field: &TargetField, cell: &str) -> Result<(), Fault> {
    let (code, constraints) = (&field.code, &field.constraints);
    if cell.is_empty() && is_demanded(field.kind, constraints) {
        return Err(Fault::required(code));
    }
    let shown = message::value(code, cell);
    match field.kind {
        FieldType::Number if !cell.is_empty() => {
            let beyond = |limit: &Option<String>, refused: Ordering| {
                limit
                    .clone()
                    .filter(|limit| compare_numbers(cell, limit) == refused)
            };
            if let Some(limit) = beyond(&constraints.max_value, Ordering::Greater) {
                return Err(Fault::new(
                    RANGE_MAX,
                    say!(
                        "{code}: {shown} is more than {limit}",
                        "{code}: {shown} は最大値 {limit} を超えています"
                    ),
                ));
            }
            if let Some(limit) = beyond(&constraints.min_value, Ordering::Less) {
                return Err(Fault::new(
                    RANGE_MIN,
                    say!(
                        "{code}: {shown} is less than {limit}",
                        "{code}: {shown} は最小値 {limit} より小さい値です"
                    ),
                ));
            }
        }
        FieldType::Time if !cell.is_empty() && !is_time(cell) => {
            return Err(Fault::new(
                TYPE_DATE,
                say!(
                    "{code}: '{shown}' is not a time",
                    "{code}: '{shown}' は時刻ではありません"
                ),
            ));
        }
        FieldType::SingleLineText | FieldType::MultiLineText | FieldType::RichText | FieldType::Link => {
            let length = cell.encode_utf16().count();
            let unique = field.unique.then_some(MAX_UNIQUE_TEXT);
            let most = constraints.max_length.into_iter().chain(unique).min();
            if let Some(limit) = most.filter(|limit| length > *limit) {
                return Err(Fault::new(
                    LENGTH_MAX,
                    say!(
                        "{code} has {length} characters, more than {limit}",
                        "{code} は {length} 文字で、最大 {limit} 文字を超えています"
                    ),
                ));
            }
            if let Some(limit) = constraints.min_length.filter(|limit| length < *limit) {
                return Err(Fault::new(
                    LENGTH_MIN,
                    say!(
                        "{code} has {length} characters, fewer than {limit}",
                        "{code} は {length} 文字で、最小 {limit} 文字に足りません"
                    ),
                ));
            }
            let misled = constraints
                .link
                .filter(|link| !cell.is_empty() && !link.accepts(cell));
            if field.kind == FieldType::Link && misled.is_some() {
                return Err(Fault::new(
                    TYPE_LINK,
                    say!(
                        "{code}: '{shown}' is no link of the kind that the field takes",
                        "{code}: '{shown}' はこのフィールドのリンクの形式ではありません"
                    ),
                ));
            }
        }
        _ => {}
    }
    Ok(())
}

/// `HH:MM` with or without seconds.
fn is_time(text: &str) -> bool {
    let mut parts = text.split(':');
    let mut within = |limit: u8| {
        parts.next().is_some_and(|part| {
            part.len() == 2
                && part.bytes().all(|b| b.is_ascii_digit())
                && part.parse::<u8>().is_ok_and(|number| number < limit)
        })
    };
    let whole = within(24) && within(60);
    whole && (text.len() == 5 || (text.len() == 8 && within(60)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::apps::{Constraints, LinkProtocol};

    fn fault(kind: FieldType, constraints: Constraints, cell: &str) -> Option<&'static str> {
        let field = TargetField {
            entangled: false,
            code: "f".into(),
            kind,
            options: None,
            unique: false,
            constraints,
        };
        demanded(&field, cell).err().map(|fault| fault.code)
    }

    #[test]
    fn limits_are_exact_and_include_their_ends() {
        let limits = Constraints {
            min_value: Some("-1".into()),
            max_value: Some("9007199254740993".into()),
            ..Constraints::default()
        };
        let number = |cell| fault(FieldType::Number, limits.clone(), cell);
        assert_eq!(number("9007199254740993"), None);
        assert_eq!(number("9007199254740993.1"), Some(RANGE_MAX));
        assert_eq!(number("-1.00"), None);
        assert_eq!(number("-1.01"), Some(RANGE_MIN));
        assert_eq!(number(""), None);
    }

    #[test]
    fn lengths_are_utf16_units_and_an_empty_text_is_short() {
        let limits = Constraints {
            min_length: Some(1),
            max_length: Some(3),
            ..Constraints::default()
        };
        let text = |cell| fault(FieldType::SingleLineText, limits.clone(), cell);
        assert_eq!(text("𠮟a"), None);
        assert_eq!(text("𠮟𠮟"), Some(LENGTH_MAX));
        assert_eq!(text(""), Some(LENGTH_MIN));
    }

    #[test]
    fn links_have_the_form_of_their_protocol() {
        for (protocol, text, good) in [
            ("WEB", "https://example.com/a?b", true),
            ("WEB", "HTTP://example.com", true),
            ("WEB", "", true),
            ("WEB", "https://", false),
            ("WEB", "https://a b", false),
            ("WEB", "example.com", false),
            ("CALL", "+81 (3) 1234-5678", true),
            ("CALL", "０３", false),
            ("MAIL", "a@example.com", true),
            ("MAIL", "a@", false),
            ("MAIL", "a b@example.com", false),
        ] {
            let constraints = Constraints {
                link: LinkProtocol::parse(protocol),
                ..Constraints::default()
            };
            let expected = (!good).then_some(TYPE_LINK);
            assert_eq!(
                fault(FieldType::Link, constraints, text),
                expected,
                "{protocol} {text}"
            );
        }
    }

    #[test]
    fn a_demanded_value_and_times() {
        let demanded = Constraints {
            required: true,
            ..Constraints::default()
        };
        assert_eq!(fault(FieldType::CheckBox, demanded.clone(), ""), Some(REQUIRED));
        assert_eq!(fault(FieldType::RadioButton, demanded, ""), None);
        let time = |cell| fault(FieldType::Time, Constraints::default(), cell);
        for good in ["", "00:00", "23:59", "23:59:59"] {
            assert_eq!(time(good), None, "{good}");
        }
        for bad in [
            "24:00",
            "1:00",
            "12:60",
            "12:00:",
            "12:00:60",
            "12:00:00:00",
            "noon",
        ] {
            assert_eq!(time(bad), Some(TYPE_DATE), "{bad}");
        }
    }
}
