//! Journal lines: `{"t":ms,"ops":[...]}`, one line per accepted request. An operation is a list that begins with its name:
//!
//! * `["form",app,[["code","TYPE",[["cell","TYPE"],...]],...]]` - meaning of the value positions that follow;
//! * `["put",app,[[id,revision,created,updated,creator,modifier,[values]],...]]` - whole records, times in minutes;
//! * `["del",app,[ids]]`, `["next",app,record,row]` - deletions and the next ids;
//! * `["up",key,blob,name,type,size,ms]`, `["used",key]` - uploads;
//! * `["app",{...}]` - an app defined through the API; `["preview",{...}]`, `["live",app]` - settings not deployed yet.
//!
//! Values stand by position without their field codes: a million records are written and read without naming ten fields
//! each. Writing is here, reading in [`super::decode`].
use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;

use serde::Serialize;

use super::state::{State, Upload};
use crate::sandbox::app::field::Field;
use crate::sandbox::app::file::AppEntry;
use crate::sandbox::app::form::Form;
use crate::sandbox::record::Record;
use crate::sandbox::value::{FileRef, Text, Value};

/// Wraps operations into a line's JSON.
pub fn line(now_ms: i64, ops: &[u8]) -> Vec<u8> {
    let mut line = Vec::with_capacity(ops.len() + 32);
    let _ = write!(line, "{{\"t\":{now_ms},\"ops\":[");
    line.extend_from_slice(ops);
    line.extend_from_slice(b"]}");
    line
}

/// Begins another operation.
fn next(out: &mut Vec<u8>) {
    if !out.is_empty() {
        out.push(b',');
    }
}

/// Appends any serialisable value; writing to memory cannot fail, and the types written here have text keys only.
fn push<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    let _ = serde_json::to_writer(out, value);
}

/// `["form",...]`
pub fn form(out: &mut Vec<u8>, app: u64, form: &Form) {
    next(out);
    push(out, &("form", app, shape(form)));
}

/// The shape of a form as the journal writes it: code, type and cells of each slot.
pub type Shape = Vec<(String, String, Vec<(String, String)>)>;

/// The shape of a form.
pub fn shape(form: &Form) -> Shape {
    let named = |field: &Field| (field.code.clone(), field.kind.name().to_owned());
    form.fields
        .iter()
        .map(|field| {
            let (code, kind) = named(field);
            (code, kind, field.cells.iter().map(named).collect())
        })
        .collect()
}

/// `["app",...]`
pub fn app(out: &mut Vec<u8>, entry: &AppEntry) {
    next(out);
    push(out, &("app", entry));
}

/// `["preview",...]`
pub fn preview(out: &mut Vec<u8>, entry: &AppEntry) {
    next(out);
    push(out, &("preview", entry));
}

/// `["live",...]`
pub fn no_preview(out: &mut Vec<u8>, app: u64) {
    next(out);
    push(out, &("live", app));
}

/// `["up",...]`
pub fn upload(out: &mut Vec<u8>, upload: &Upload) {
    let file = &upload.file;
    next(out);
    push(
        out,
        &(
            "up",
            &file.key,
            &file.blob,
            &file.name,
            &file.content_type,
            file.size,
            upload.uploaded_ms,
        ),
    );
}

/// `["used",...]`
pub fn used_upload(out: &mut Vec<u8>, key: &str) {
    next(out);
    push(out, &("used", key));
}

/// `["next",...]`
pub fn next_ids(out: &mut Vec<u8>, app: u64, record: u64, row: u64) {
    next(out);
    push(out, &("next", app, record, row));
}

/// `["put",...]` and `["del",...]` for the touched records as they are now.
pub fn records(out: &mut Vec<u8>, state: &State, touched: &BTreeSet<(u64, u64)>) {
    let mut by_app: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (app, id) in touched {
        by_app.entry(*app).or_default().push(*id);
    }
    for (app, ids) in by_app {
        let Some(app_state) = state.apps.get(&app) else {
            continue;
        };
        let mut rows = Vec::new();
        let mut deleted = Vec::new();
        for id in ids {
            match app_state.table.get(id) {
                Some(record) => {
                    let code = |index| state.user(index).code.as_str();
                    row(&mut rows, id, record, code(record.creator), code(record.modifier));
                }
                None => deleted.push(id),
            }
        }
        put(out, app, &rows);
        if !deleted.is_empty() {
            next(out);
            push(out, &("del", app, deleted));
        }
    }
}

/// `["put",app,[rows]]` from rows written by [`row`]; nothing for no rows.
pub fn put(out: &mut Vec<u8>, app: u64, rows: &[u8]) {
    if rows.is_empty() {
        return;
    }
    next(out);
    let _ = write!(out, "[\"put\",{app},[");
    out.extend_from_slice(rows);
    out.extend_from_slice(b"]]");
}

/// One record of a `put`.
pub fn row(out: &mut Vec<u8>, id: u64, record: &Record, creator: &str, modifier: &str) {
    next(out);
    let _ = write!(
        out,
        "[{id},{},{},{},",
        record.revision, record.created, record.updated
    );
    push(out, creator);
    out.push(b',');
    push(out, modifier);
    out.push(b',');
    values(out, &record.values);
    out.push(b']');
}

fn values(out: &mut Vec<u8>, values: &[Value]) {
    out.push(b'[');
    for (index, value) in values.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        match value {
            Value::Empty => out.extend_from_slice(b"null"),
            Value::Text(text) => push(out, text.as_str()),
            Value::List(items) => push(out, &items.iter().map(Text::as_str).collect::<Vec<_>>()),
            Value::Files(files) => push(out, &files.iter().map(file_tuple).collect::<Vec<_>>()),
            Value::Rows(rows) => {
                out.push(b'[');
                for (index, row) in rows.iter().enumerate() {
                    if index > 0 {
                        out.push(b',');
                    }
                    let _ = write!(out, "[{},", row.id);
                    self::values(out, &row.cells);
                    out.push(b']');
                }
                out.push(b']');
            }
        }
    }
    out.push(b']');
}

fn file_tuple(file: &FileRef) -> (&str, &str, &str, &str, u64) {
    (&file.key, &file.blob, &file.name, &file.content_type, file.size)
}
