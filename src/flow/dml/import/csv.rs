//! A CSV file as a table: by position, by field code, or all columns for a SELECT.

use std::borrow::Cow;

use crate::flow::apps::Form;
use crate::flow::csv::{self, Encoding, Table};
use crate::flow::exec::Relation;
use crate::flow::plan::types::{ColumnInfo, Type};
use crate::flow::sql::ast::{Import, Mapping};
use crate::flow::sql::message::{Message, say};

use super::super::target::TargetField;
use super::{Unfit, columns, given_names};

pub(super) fn decode(
    import: &Import,
    bytes: &[u8],
    form: &Form,
    fields: &[TargetField],
) -> Result<Relation, Unfit> {
    let text = import.file.encoding.decode(bytes).map_err(|error| {
        let other = match import.file.encoding {
            Encoding::Utf8 => "SJIS",
            Encoding::ShiftJis => "UTF8",
        };
        Unfit(say!(
            "{error}; if the file is in another encoding, write FROM CSV name ENCODING {other}",
            "{error}。ファイルの文字コードが違う場合は FROM CSV 名前 ENCODING {other} と書いてください"
        ))
    })?;
    let table = table(import, &text, fields.len())?;
    match &import.file.mapping {
        Mapping::Position => {
            let (found, wanted) = (table.header().len(), fields.len());
            if found != wanted {
                return Err(Unfit(say!(
                    "{found} columns for {wanted} fields; use BY NAME or SELECT to choose among them",
                    "{found} 列ありますが、フィールドは {wanted} 個です。列を選ぶには BY NAME か SELECT を使ってください"
                )));
            }
            let all: Vec<usize> = (0..found).collect();
            chosen(&table, columns(fields, false), &all)
        }
        Mapping::Name { ignore_unknown } => {
            let places = by_name(&table, form, fields, *ignore_unknown)?;
            chosen(&table, columns(fields, true), &places)
        }
        Mapping::Select(_) => {
            let all: Vec<usize> = (0..table.header().len()).collect();
            let given = given_names(&import.file.header).unwrap_or_default();
            let name = |place: &usize| match given.get(*place) {
                Some(name) => name.text.clone(),
                None => table.header().get(*place).cloned().unwrap_or_default(),
            };
            let columns = all
                .iter()
                .map(|place| ColumnInfo::exact(name(place), Type::Text))
                .collect();
            chosen(&table, columns, &all)
        }
    }
}

/// Reads the text. A file without header line gets one: names do not matter here, only their number.
fn table(import: &Import, text: &str, width: usize) -> Result<Table, Unfit> {
    let given = given_names(&import.file.header);
    let text = match given {
        None => Cow::Borrowed(text),
        Some(names) => {
            let width = if names.is_empty() { width } else { names.len() };
            let header: Vec<String> = (1..=width).map(|number| format!("c{number}")).collect();
            Cow::Owned(format!("{}\n{text}", header.join(",")))
        }
    };
    csv::parse(&text).map_err(|mut error| {
        if given.is_some() {
            error.line = error.line.saturating_sub(1).max(1);
        }
        Unfit(Message::verbatim(error.to_string()))
    })
}

/// The place of each field's column; every other column must be one that is no loss.
fn by_name(
    table: &Table,
    form: &Form,
    fields: &[TargetField],
    ignore_unknown: bool,
) -> Result<Vec<usize>, Unfit> {
    let header = table.header();
    let mut places = Vec::with_capacity(fields.len());
    for field in fields {
        let code = &field.code;
        let place = header.iter().position(|name| name == code);
        places.push(place.ok_or_else(|| {
            Unfit(say!(
                "the header line has no column {code}",
                "ヘッダ行に列 {code} がありません"
            ))
        })?);
    }
    let lost = header.iter().enumerate().find(|(place, name)| {
        let no_loss = form.field(name).is_some_and(|field| !field.kind.is_writable());
        !places.contains(place) && !no_loss
    });
    match lost {
        Some((_, name)) if !ignore_unknown => Err(Unfit(say!(
            "the column {name} is no field of the statement; list it or add IGNORE UNKNOWN COLUMNS",
            "列 {name} は取込先のフィールドにありません。フィールドに加えるか IGNORE UNKNOWN COLUMNS を付けてください"
        ))),
        _ => Ok(places),
    }
}

fn chosen(table: &Table, columns: Vec<ColumnInfo>, places: &[usize]) -> Result<Relation, Unfit> {
    let mut relation = Relation::new(columns);
    for row in 0..table.rows() {
        relation.push_row(places.iter().map(|place| table.cell(row, *place)))?;
    }
    Ok(relation)
}
