//! Values on their way to a field: by its type, before anything is written (LNG-151, LNG-64).

use std::borrow::Cow;

use crate::flow::apps::{FieldType, NumberPrecision, WriteValue};
use crate::flow::calendar::{Zone, to_date, to_datetime};
use crate::flow::sql::message::{self, say};
use crate::flow::value::{is_number, plain_decimal, selection};

use super::fault::{self, Fault};
use super::target::TargetField;

/// The longest plain form of a number that is sent.
const MAX_NUMBER_CHARS: usize = 1_024;

/// What conversions need to know.
#[derive(Clone, Copy, Debug)]
pub(super) struct Conversion<'z> {
    pub zone: &'z Zone,
    /// Of the app, if a number is written.
    pub precision: Option<NumberPrecision>,
}

impl Conversion<'_> {
    /// The cell to write; `list` says that elements are already apart (line feeds), else commas part them.
    pub fn cell<'t>(&self, field: &TargetField, text: &'t str, list: bool) -> Result<Cow<'t, str>, Fault> {
        let code = &field.code;
        match field.kind {
            kind if kind.is_option_list() || kind.is_code_list() => {
                let cell = if list {
                    Cow::Borrowed(text)
                } else {
                    let elements = text
                        .split(',')
                        .map(str::trim)
                        .filter(|element| !element.is_empty());
                    Cow::Owned(selection::join(elements))
                };
                for option in selection::elements(&cell) {
                    known_option(field, option)?;
                }
                Ok(cell)
            }
            FieldType::RadioButton | FieldType::DropDown => {
                if !text.is_empty() {
                    known_option(field, text)?;
                }
                Ok(Cow::Borrowed(text))
            }
            FieldType::Number => self.number(code, text),
            FieldType::Date => to_date(text)
                .map(Cow::Owned)
                .map_err(|_| unfit(fault::TYPE_DATE, code, text, "a date", "日付")),
            FieldType::DateTime => to_datetime(text, self.zone)
                .map(Cow::Owned)
                .map_err(|_| unfit(fault::TYPE_DATE, code, text, "a date and time", "日時")),
            _ => Ok(Cow::Borrowed(text)),
        }
    }

    fn number<'t>(&self, code: &str, text: &'t str) -> Result<Cow<'t, str>, Fault> {
        if text.is_empty() {
            return Ok(Cow::Borrowed(text));
        }
        let plain = plain_decimal(text, MAX_NUMBER_CHARS).filter(|_| is_number(text));
        let plain = plain.ok_or_else(|| unfit(fault::TYPE_NUMBER, code, text, "a number", "数値"))?;
        let integer = plain
            .split('.')
            .next()
            .unwrap_or("")
            .trim_start_matches(['-', '+', '0']);
        if let Some(digits) = self.precision.map(NumberPrecision::integer_digits)
            && integer.len() > digits as usize
        {
            let text = message::value(code, text);
            return Err(Fault::new(
                fault::INTEGER_DIGITS,
                say!(
                    "{code}: {text} has more integer digits than the app keeps ({digits})",
                    "{code}: {text} の整数部の桁数がアプリの設定 ({digits} 桁) を超えています"
                ),
            ));
        }
        Ok(plain)
    }
}

/// A converted cell in the shape that kintone takes.
pub(super) fn write_value(kind: FieldType, cell: &str) -> WriteValue {
    let elements = || selection::elements(cell).map(str::to_owned).collect();
    if kind.is_option_list() {
        WriteValue::List(elements())
    } else if kind.is_code_list() {
        WriteValue::Codes(elements())
    } else {
        WriteValue::Text(cell.to_owned())
    }
}

/// An option that the form lacks would be refused in the middle of the chunks; it is refused before the first.
fn known_option(field: &TargetField, option: &str) -> Result<(), Fault> {
    match &field.options {
        Some(options) if !options.iter().any(|known| known == option) => {
            let (code, option) = (&field.code, message::value(&field.code, option));
            Err(Fault::new(
                fault::CHOICE_INVALID,
                say!(
                    "{code} has no option '{option}'",
                    "{code} に選択肢「{option}」はありません"
                ),
            ))
        }
        _ => Ok(()),
    }
}

fn unfit(kind: &'static str, code: &str, text: &str, english: &str, japanese: &str) -> Fault {
    let text = message::value(code, text);
    Fault::new(
        kind,
        say!(
            "{code}: '{text}' is not {english}",
            "{code}: '{text}' は{japanese}ではありません"
        ),
    )
}
