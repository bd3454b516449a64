//! SUBTABLE in a write: rows by id, kept cells, defaults of new rows (KTB-111 to KTB-113, KTB-116).
use serde_json::{Map, Value as Json};

use super::cell::{Findings, Path, Writing};
use super::{check, draft, lookup};
use crate::sandbox::app::field::Field;
use crate::sandbox::error::{ApiError, BAD_FORMAT, Message, REQUIRED_PARAMETER};
use crate::sandbox::value::{Row, Value};

/// Reads a sent table. Rows without a known id get id 0; the transaction gives them a new one.
pub fn read(
    writing: &Writing<'_>,
    table: &Field,
    sent: &Json,
    old: &Value,
    record: &str,
    findings: &mut Findings,
) -> Result<Value, ApiError> {
    let empty_row = [Json::Object(Map::from_iter([(
        "value".to_owned(),
        Json::Object(Map::new()),
    )]))];
    let sent_rows = match sent {
        // A table sent as null is a table with one empty row (KTB-116).
        Json::Null => &empty_row[..],
        Json::Array(rows) => rows,
        _ => {
            findings
                .violations
                .add(format!("{record}.{}.value", table.code), BAD_FORMAT);
            return Ok(Value::Empty);
        }
    };
    refuse_duplicate_ids(sent_rows)?;
    let mut rows = Vec::new();
    for (index, sent_row) in sent_rows.iter().enumerate() {
        if sent_row.is_null() {
            findings.violations.add(
                format!("{record}.{}.value[{index}]", table.code),
                REQUIRED_PARAMETER,
            );
            continue;
        }
        let cells = match sent_row.get("value") {
            // A row whose value is null is no row (KTB-116).
            Some(Json::Null) => continue,
            Some(Json::Object(cells)) => cells.clone(),
            None => Map::new(),
            Some(_) => {
                findings.violations.add(
                    format!("{record}.{}.value[{index}].value", table.code),
                    BAD_FORMAT,
                );
                continue;
            }
        };
        let kept = row_id(sent_row).and_then(|id| old.rows().iter().find(|row| row.id == id));
        rows.push(read_row(writing, table, &cells, kept, record, index, findings)?);
    }
    Ok(if rows.is_empty() {
        Value::Empty
    } else {
        Value::Rows(rows.into())
    })
}

fn read_row(
    writing: &Writing<'_>,
    table: &Field,
    sent: &Map<String, Json>,
    kept: Option<&Row>,
    record: &str,
    index: usize,
    findings: &mut Findings,
) -> Result<Row, ApiError> {
    let mut cells = Vec::with_capacity(table.cells.len());
    for (position, field) in table.cells.iter().enumerate() {
        let path = Path {
            record,
            row: Some((&table.code, index)),
            code: &field.code,
        };
        let old = kept.and_then(|row| row.cells.get(position));
        cells.push(draft::field_value(
            writing,
            field,
            sent.get(&field.code),
            old,
            path,
            findings,
        )?);
    }
    lookup::fill(writing, &table.cells, &mut cells, |field| {
        sent.contains_key(&field.code) || kept.is_none()
    })?;
    for (field, value) in table.cells.iter().zip(&cells) {
        let path = Path {
            record,
            row: Some((&table.code, index)),
            code: &field.code,
        };
        check::required(field, value, path, &mut findings.violations);
        if kept.is_none() || sent.contains_key(&field.code) {
            check::limits(field, value, path, &mut findings.violations);
        }
    }
    Ok(Row {
        id: kept.map_or(0, |row| row.id),
        cells: cells.into(),
    })
}

fn row_id(row: &Json) -> Option<u64> {
    match row.get("id")? {
        Json::String(text) => text.parse().ok(),
        Json::Number(number) => number.as_u64(),
        _ => None,
    }
}

/// The same row id twice in one table is refused (KTB-113).
fn refuse_duplicate_ids(rows: &[Json]) -> Result<(), ApiError> {
    let mut ids: Vec<u64> = rows.iter().filter_map(row_id).collect();
    ids.sort_unstable();
    if ids.windows(2).any(|pair| pair[0] == pair[1]) {
        let message = Message::fixed(
            "テーブルの行のIDが重複しています。",
            "The same row ID is specified more than once in a table.",
        );
        return Err(ApiError::new(520, "GAIA_SI01", message));
    }
    Ok(())
}
