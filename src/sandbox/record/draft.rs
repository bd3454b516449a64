//! A write's record before it is stored: sent values, kept values and defaults put together and checked (KTB-86, KTB-88,
//! KTB-89, KTB-100, KTB-109, KTB-110).
use serde_json::{Map, Value as Json, json};

use super::cell::{self, Findings, Path, Writing};
use super::{Record, check, lookup, table};
use crate::sandbox::app::Right;
use crate::sandbox::app::field::{Field, Kind};
use crate::sandbox::app::form::System;
use crate::sandbox::error::{ApiError, BAD_FORMAT, DUPLICATE, Violations};
use crate::sandbox::store::table::{Table, unique_key};
use crate::sandbox::value::Value;
use crate::sandbox::value::datetime::{date_text, instant_text, minute_of, parse_instant, time_text};

/// A checked record and the uploads that it uses up.
pub struct Draft {
    /// The record to store.
    pub record: Record,
    /// Upload keys used up (KTB-151).
    pub uploads: Vec<String>,
}

/// Why a record is refused.
pub enum Refused {
    /// CB_VA01: the paths are collected over the whole request.
    Invalid(Violations),
    /// Anything else ends the request at once.
    Error(ApiError),
}

impl From<ApiError> for Refused {
    fn from(error: ApiError) -> Self {
        Self::Error(error)
    }
}

/// A new record. `record` is the path prefix, `record` or `records[3]`.
pub fn insert(
    writing: &Writing<'_>,
    table: &Table,
    sent: &Map<String, Json>,
    record: &str,
) -> Result<Draft, Refused> {
    let minute = minute_of(writing.now) as i32;
    let user = writing.caller.user;
    let blank = Record {
        revision: 1,
        created: minute,
        updated: minute,
        creator: user,
        modifier: user,
        values: Box::default(),
    };
    let mut draft = build(writing, table, sent, None, blank, record)?;
    set_system_fields(writing, sent, &mut draft.record, record)?;
    Ok(draft)
}

/// A changed record: revision, modifier and time of change move on (KTB-132).
pub fn update(
    writing: &Writing<'_>,
    table: &Table,
    sent: &Map<String, Json>,
    old: (u64, &Record),
    record: &str,
) -> Result<Draft, Refused> {
    let (id, old) = old;
    let head = Record {
        revision: old.revision.saturating_add(1),
        updated: minute_of(writing.now) as i32,
        modifier: writing.caller.user,
        created: old.created,
        creator: old.creator,
        values: Box::default(),
    };
    build(writing, table, sent, Some((id, old)), head, record)
}

fn build(
    writing: &Writing<'_>,
    records: &Table,
    sent: &Map<String, Json>,
    old: Option<(u64, &Record)>,
    mut head: Record,
    record: &str,
) -> Result<Draft, Refused> {
    let mut findings = Findings::default();
    let fields = &writing.app.form.fields;
    let mut values = Vec::with_capacity(fields.len());
    for (slot, field) in fields.iter().enumerate() {
        let path = Path {
            record,
            row: None,
            code: &field.code,
        };
        let old = old.map(|(_, old)| old.value(slot));
        values.push(field_value(
            writing,
            field,
            sent.get(&field.code),
            old,
            path,
            &mut findings,
        )?);
    }
    let is_set = |field: &Field| old.is_none() || sent.contains_key(&field.code);
    lookup::fill(writing, fields, &mut values, is_set)?;
    for (slot, (field, value)) in fields.iter().zip(&values).enumerate() {
        let path = Path {
            record,
            row: None,
            code: &field.code,
        };
        check::required(field, value, path, &mut findings.violations);
        if is_set(field) {
            check::limits(field, value, path, &mut findings.violations);
        }
        if field.unique
            && let Some(key) = unique_key(field.kind, value)
            && let Some(holder) = records.find_unique(slot, key.as_str())
            && Some(holder) != old.map(|(id, _)| id)
        {
            findings.violations.add(path.with(".value"), DUPLICATE);
        }
    }
    if !findings.violations.is_empty() {
        return Err(Refused::Invalid(findings.violations));
    }
    head.values = values.into();
    Ok(Draft {
        record: head,
        uploads: findings.uploads,
    })
}

/// The value of one field: sent, kept or default. `old` is `None` in a new record or row.
pub fn field_value(
    writing: &Writing<'_>,
    field: &Field,
    sent: Option<&Json>,
    old: Option<&Value>,
    path: Path<'_>,
    findings: &mut Findings,
) -> Result<Value, ApiError> {
    let empty = Value::Empty;
    if field.copied {
        // The service fills these; sent values are ignored (KTB-121).
        return Ok(old.cloned().unwrap_or_default());
    }
    let Some(sent) = sent else {
        return match old {
            Some(kept) => Ok(kept.clone()),
            None => default_value(writing, field, path, findings),
        };
    };
    let old = old.unwrap_or(&empty);
    let Some(value) = sent
        .as_object()
        .map(|object| object.get("value").unwrap_or(&Json::Null))
    else {
        findings.violations.add(path.with(""), BAD_FORMAT);
        return Ok(Value::Empty);
    };
    if field.kind == Kind::Subtable {
        return table::read(writing, field, value, old, path.record, findings);
    }
    cell::read(writing, field, value, old, path, findings)
}

/// The default of a field that was not sent (KTB-110).
fn default_value(
    writing: &Writing<'_>,
    field: &Field,
    path: Path<'_>,
    findings: &mut Findings,
) -> Result<Value, ApiError> {
    if field.default_now {
        let local = writing.now.to_zoned_datetime(writing.caller.zone.clone());
        return Ok(match field.kind {
            Kind::Date => Value::text(&date_text(local.date())),
            Kind::Time => Value::text(&time_text(local.time())),
            Kind::DateTime => Value::text(&instant_text(writing.now)),
            _ => Value::Empty,
        });
    }
    if matches!(field.kind, Kind::File | Kind::Subtable) || field.default.is_null() {
        return Ok(Value::Empty);
    }
    let default = match &field.default {
        Json::Array(entries) => &Json::Array(
            entries
                .iter()
                .filter_map(|entry| default_entry(writing, entry))
                .collect(),
        ),
        other => other,
    };
    cell::read(writing, field, default, &Value::Empty, path, findings)
}

/// One entry of a default list; `LOGINUSER()` stands for the caller, other functions for nobody.
fn default_entry(writing: &Writing<'_>, entry: &Json) -> Option<Json> {
    if entry.get("type").and_then(Json::as_str) != Some("FUNCTION") {
        return Some(entry.clone());
    }
    let user = writing.state.user(writing.caller.user);
    (entry.get("code").and_then(Json::as_str) == Some("LOGINUSER()")).then(|| json!({ "code": user.code }))
}

/// Creator, modifier and times in a POST: only with administration rights on the app (KTB-27).
fn set_system_fields(
    writing: &Writing<'_>,
    sent: &Map<String, Json>,
    target: &mut Record,
    record: &str,
) -> Result<(), Refused> {
    for system in [
        System::Creator,
        System::CreatedTime,
        System::Modifier,
        System::UpdatedTime,
    ] {
        let code = writing.app.form.system_code(system);
        let Some(value) = sent.get(code).and_then(|sent| sent.get("value")) else {
            continue;
        };
        writing.caller.require(writing.app, Right::Admin)?;
        let path = Path {
            record,
            row: None,
            code,
        };
        let invalid = || {
            let mut violations = Violations::default();
            violations.add(path.with(".value"), BAD_FORMAT);
            Refused::Invalid(violations)
        };
        match system {
            System::Creator | System::Modifier => {
                let user = value.get("code").and_then(Json::as_str).ok_or_else(invalid)?;
                let index = writing
                    .state
                    .users
                    .iter()
                    .position(|known| known.code == user)
                    .ok_or_else(invalid)?;
                let place = if system == System::Creator {
                    &mut target.creator
                } else {
                    &mut target.modifier
                };
                *place = index as super::UserIndex;
            }
            _ => {
                let text = value.as_str().ok_or_else(invalid)?;
                let instant = parse_instant(text, &writing.caller.zone).ok_or_else(invalid)?;
                let place = if system == System::CreatedTime {
                    &mut target.created
                } else {
                    &mut target.updated
                };
                *place = minute_of(instant) as i32;
            }
        }
    }
    Ok(())
}
