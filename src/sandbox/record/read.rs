//! Records as JSON (KTB-40, KTB-41, KTB-45, KTB-48), written straight into the answer's buffer: a page of 500 records is
//! the hot path of every benchmark.
use std::io::Write as _;

use crate::sandbox::app::App;
use crate::sandbox::app::field::{Field, Kind};
use crate::sandbox::app::form::{SYSTEM_FIELDS, System};
use crate::sandbox::store::state::State;
use crate::sandbox::value::datetime::minute_text;
use crate::sandbox::value::{FileRef, Row, Text, Value};

use super::{Record, UserIndex};

/// Which fields an answer shows, prepared once per request.
pub struct Projection<'a> {
    state: &'a State,
    app: &'a App,
    columns: Vec<Column<'a>>,
}

struct Column<'a> {
    /// `"code":{"type":"NUMBER","value":`
    prefix: Vec<u8>,
    source: Source<'a>,
}

enum Source<'a> {
    Id,
    Revision,
    System(System),
    Field(usize, &'a Field),
}

impl<'a> Projection<'a> {
    /// All fields, or those named in `wanted`; unknown names are left out.
    pub fn new(state: &'a State, app: &'a App, wanted: Option<&[String]>) -> Self {
        let form = &app.form;
        let wants = |code: &str| wanted.is_none_or(|codes| codes.iter().any(|known| known == code));
        let mut columns = Vec::new();
        if wants("$id") {
            columns.push(Column {
                prefix: prefix("$id", "__ID__"),
                source: Source::Id,
            });
        }
        if wants("$revision") {
            columns.push(Column {
                prefix: prefix("$revision", "__REVISION__"),
                source: Source::Revision,
            });
        }
        for (system, type_name, _) in SYSTEM_FIELDS {
            let code = form.system_code(system);
            if system.has_value() && wants(code) {
                columns.push(Column {
                    prefix: prefix(code, type_name),
                    source: Source::System(system),
                });
            }
        }
        for (slot, field) in form.fields.iter().enumerate() {
            if wants(&field.code) {
                let prefix = prefix(&field.code, field.kind.name());
                columns.push(Column {
                    prefix,
                    source: Source::Field(slot, field),
                });
            }
        }
        Self { state, app, columns }
    }

    /// Writes one record object.
    pub fn write(&self, out: &mut Vec<u8>, id: u64, record: &Record) {
        out.push(b'{');
        for (index, column) in self.columns.iter().enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&column.prefix);
            match &column.source {
                Source::Id => quoted(out, id),
                Source::Revision => quoted(out, record.revision),
                Source::System(system) => self.write_system(out, *system, id, record),
                Source::Field(slot, field) => self.write_value(out, field, record.value(*slot)),
            }
            out.push(b'}');
        }
        out.push(b'}');
    }

    fn write_system(&self, out: &mut Vec<u8>, system: System, id: u64, record: &Record) {
        match system {
            System::RecordNumber if self.app.code.is_empty() => quoted(out, id),
            System::RecordNumber => text(out, &format!("{}-{id}", self.app.code)),
            System::Creator => self.write_user(out, record.creator),
            System::Modifier => self.write_user(out, record.modifier),
            System::CreatedTime => quoted(out, minute_text(i64::from(record.created))),
            System::UpdatedTime => quoted(out, minute_text(i64::from(record.updated))),
            System::Status | System::StatusAssignee | System::Category => out.extend_from_slice(b"null"),
        }
    }

    fn write_user(&self, out: &mut Vec<u8>, index: UserIndex) {
        let user = self.state.user(index);
        coded(out, &user.code, &user.name);
    }

    fn write_value(&self, out: &mut Vec<u8>, field: &Field, value: &Value) {
        match value {
            Value::Empty => out.extend_from_slice(empty(field.kind).as_bytes()),
            Value::Text(value) => text(out, value.as_str()),
            Value::List(items) => self.write_list(out, field.kind, items),
            Value::Files(files) => list(out, files, write_file),
            Value::Rows(rows) => list(out, rows, |out, row| self.write_row(out, field, row)),
        }
    }

    fn write_list(&self, out: &mut Vec<u8>, kind: Kind, items: &[Text]) {
        list(out, items, |out, item| {
            let code = item.as_str();
            match kind {
                Kind::UserSelect => {
                    let name = self
                        .state
                        .users
                        .iter()
                        .find(|user| user.code == code)
                        .map(|user| &user.name);
                    coded(out, code, name.map_or(code, String::as_str));
                }
                Kind::OrganizationSelect => {
                    coded(
                        out,
                        code,
                        self.state.organizations.get(code).map_or(code, String::as_str),
                    );
                }
                Kind::GroupSelect => {
                    coded(
                        out,
                        code,
                        self.state.groups.get(code).map_or(code, String::as_str),
                    );
                }
                _ => text(out, code),
            }
        });
    }

    fn write_row(&self, out: &mut Vec<u8>, table: &Field, row: &Row) {
        out.extend_from_slice(b"{\"id\":");
        quoted(out, row.id);
        out.extend_from_slice(b",\"value\":{");
        for (index, (field, value)) in table.cells.iter().zip(&row.cells).enumerate() {
            if index > 0 {
                out.push(b',');
            }
            out.extend_from_slice(&prefix(&field.code, field.kind.name()));
            self.write_value(out, field, value);
            out.push(b'}');
        }
        out.extend_from_slice(b"}}");
    }
}

/// How nothing reads (KTB-45).
fn empty(kind: Kind) -> &'static str {
    match kind {
        Kind::DropDown | Kind::RadioButton | Kind::Date | Kind::Time => "null",
        Kind::File | Kind::Subtable => "[]",
        kind if kind.is_list() => "[]",
        _ => "\"\"",
    }
}

fn prefix(code: &str, type_name: &str) -> Vec<u8> {
    let mut prefix = Vec::new();
    text(&mut prefix, code);
    let _ = write!(prefix, ":{{\"type\":\"{type_name}\",\"value\":");
    prefix
}

/// A JSON string; writing to memory cannot fail.
fn text(out: &mut Vec<u8>, text: &str) {
    let _ = serde_json::to_writer(out, text);
}

/// Something without characters to escape, as a JSON string (KTB-02).
fn quoted(out: &mut Vec<u8>, value: impl std::fmt::Display) {
    let _ = write!(out, "\"{value}\"");
}

fn coded(out: &mut Vec<u8>, code: &str, name: &str) {
    out.extend_from_slice(b"{\"code\":");
    text(out, code);
    out.extend_from_slice(b",\"name\":");
    text(out, name);
    out.push(b'}');
}

fn write_file(out: &mut Vec<u8>, file: &FileRef) {
    for (key, value) in [
        ("{\"contentType\":", &file.content_type),
        (",\"fileKey\":", &file.key),
        (",\"name\":", &file.name),
    ] {
        out.extend_from_slice(key.as_bytes());
        text(out, value);
    }
    let _ = write!(out, ",\"size\":\"{}\"}}", file.size);
}

fn list<T>(out: &mut Vec<u8>, items: &[T], mut write: impl FnMut(&mut Vec<u8>, &T)) {
    out.push(b'[');
    for (index, item) in items.iter().enumerate() {
        if index > 0 {
            out.push(b',');
        }
        write(out, item);
    }
    out.push(b']');
}
