//! Writing records: POST, PUT and DELETE of `record.json` and `records.json` (KTB-80 to KTB-90, KTB-130 to KTB-138). Every
//! function works on a running transaction, so that bulkRequest can call several.
use std::collections::HashSet;
use std::sync::Arc;

use serde_json::{Map, Value as Json, json};

use super::Context;
use super::params::{Params, as_id, as_text, revision};
use crate::sandbox::app::field::{Field, Kind};
use crate::sandbox::app::{App, Right};
use crate::sandbox::error::{
    AT_LEAST_ONE, ApiError, BAD_DELETE_COUNT, BAD_FORMAT, EXCLUSIVE, Message, REQUIRED_PARAMETER,
    TOO_MANY_ADDED, TOO_MANY_UPDATED, Violations, key_not_found, record_not_found, revision_conflict,
};
use crate::sandbox::record::cell::Writing;
use crate::sandbox::record::draft::{self, Draft, Refused};
use crate::sandbox::store::state::AppState;
use crate::sandbox::store::tx::Tx;
use crate::sandbox::value::Text;
use crate::sandbox::value::number::Decimal;

/// Most records of one write (KTB-82, KTB-172).
const MAX_RECORDS: usize = 100;

/// POST record.json
pub fn add_one(tx: &mut Tx<'_>, context: &Context<'_>, params: &Params) -> Result<Json, ApiError> {
    params.require(&["app", "record"])?;
    let app = context.app_for_write(tx.state(), params)?;
    context.caller.require(&app, Right::Add)?;
    let empty = Map::new();
    let sent = params.object("record")?.unwrap_or(&empty);
    let id = insert(tx, context, &app, sent, "record").map_err(single)?;
    Ok(json!({ "id": id.to_string(), "revision": "1" }))
}

/// POST records.json
pub fn add_many(tx: &mut Tx<'_>, context: &Context<'_>, params: &Params) -> Result<Json, ApiError> {
    params.require(&["app", "records"])?;
    let app = context.app_for_write(tx.state(), params)?;
    let records = list(params, "records", TOO_MANY_ADDED)?;
    context.caller.require(&app, Right::Add)?;
    let mut violations = Violations::default();
    let mut ids = Vec::new();
    for (index, sent) in records.iter().enumerate() {
        let path = format!("records[{index}]");
        let Some(sent) = sent.as_object() else {
            violations.add(path, BAD_FORMAT);
            continue;
        };
        match insert(tx, context, &app, sent, &path) {
            Ok(id) => ids.push(id.to_string()),
            Err(refused) => collect(&mut violations, refused)?,
        }
    }
    violations.into_result()?;
    let revisions = vec!["1"; ids.len()];
    Ok(json!({ "ids": ids, "revisions": revisions }))
}

/// PUT record.json
pub fn update_one(tx: &mut Tx<'_>, context: &Context<'_>, params: &Params) -> Result<Json, ApiError> {
    let app = context.app_for_write(tx.state(), params)?;
    let update = Update {
        target: Target::read(&app, params.get("id"), params.get("updateKey"), "")?,
        revision: revision(params.sent("revision"), "revision")?,
        record: params.object("record")?,
    };
    context.caller.require(&app, Right::Edit)?;
    update.target.refuse_key_in_record(update.record, "record")?;
    let id = update
        .target
        .find(state_of(tx, &app)?)
        .ok_or_else(|| update.target.not_found())?;
    let revision = change(tx, context, &app, id, &update, "record").map_err(single)?;
    Ok(json!({ "revision": revision.to_string() }))
}

/// PUT records.json, with or without upsert
pub fn update_many(tx: &mut Tx<'_>, context: &Context<'_>, params: &Params) -> Result<Json, ApiError> {
    params.require(&["app", "records"])?;
    let app = context.app_for_write(tx.state(), params)?;
    let records = list(params, "records", TOO_MANY_UPDATED)?;
    let upsert = params.flag("upsert");
    context.caller.require(&app, Right::Edit)?;
    if upsert {
        // Both rights, even when every record exists (KTB-26).
        context.caller.require(&app, Right::Add)?;
    }
    let updates = read_updates(&app, records)?;
    let mut violations = Violations::default();
    let mut ids = HashSet::new();
    let mut answers = Vec::new();
    for (index, update) in updates.iter().enumerate() {
        let path = format!("records[{index}]");
        let found = update.target.find(state_of(tx, &app)?);
        let outcome = match found {
            Some(id) => {
                if !ids.insert(id) {
                    return Err(same_record_twice());
                }
                change(tx, context, &app, id, update, &path).map(|revision| (id, revision, "UPDATE"))
            }
            None if upsert => {
                let sent = update.target.record_with_key(update.record);
                insert(tx, context, &app, &sent, &path).map(|id| {
                    ids.insert(id);
                    (id, 1, "INSERT")
                })
            }
            None => return Err(update.target.not_found()),
        };
        match outcome {
            Ok((id, revision, operation)) => {
                let mut answer = json!({ "id": id.to_string(), "revision": revision.to_string() });
                if upsert {
                    answer["operation"] = json!(operation);
                }
                answers.push(answer);
            }
            Err(refused) => collect(&mut violations, refused)?,
        }
    }
    violations.into_result()?;
    Ok(json!({ "records": answers }))
}

/// DELETE records.json
pub fn delete_many(tx: &mut Tx<'_>, context: &Context<'_>, params: &Params) -> Result<Json, ApiError> {
    let ids = params
        .get("ids")
        .and_then(Json::as_array)
        .map_or(&[][..], Vec::as_slice);
    if ids.is_empty() {
        let mut violations = Violations::default();
        if params.get("app").is_none() {
            violations.add("app", REQUIRED_PARAMETER);
        }
        violations.add("ids", REQUIRED_PARAMETER);
        violations.add("ids", BAD_DELETE_COUNT);
        violations.into_result()?;
    }
    let app = context.app_for_write(tx.state(), params)?;
    if ids.len() > MAX_RECORDS {
        return Err(ApiError::invalid("ids", BAD_DELETE_COUNT));
    }
    let revisions = match params.get("revisions") {
        None => &[][..],
        Some(Json::Array(revisions)) if revisions.len() == ids.len() => revisions.as_slice(),
        Some(_) => return Err(ApiError::invalid("revisions", BAD_FORMAT)),
    };
    context.caller.require(&app, Right::Delete)?;
    let mut seen = HashSet::new();
    for (index, value) in ids.iter().enumerate() {
        let id = as_id(value).ok_or_else(|| ApiError::invalid(format!("ids[{index}]"), AT_LEAST_ONE))?;
        let expected = revision(revisions.get(index), &format!("revisions[{index}]"))?;
        if !seen.insert(id) {
            return Err(same_record_twice());
        }
        let current = state_of(tx, &app)?
            .table
            .get(id)
            .ok_or_else(|| record_not_found(id))?
            .revision;
        check_revision(id, current, expected)?;
        tx.delete(app.id, id);
    }
    Ok(json!({}))
}

/// One change of a PUT.
struct Update<'a> {
    target: Target<'a>,
    revision: Option<u64>,
    record: Option<&'a Map<String, Json>>,
}

fn read_updates<'a>(app: &'a App, records: &'a [Json]) -> Result<Vec<Update<'a>>, ApiError> {
    let mut updates: Vec<Update<'a>> = Vec::new();
    for (index, sent) in records.iter().enumerate() {
        let path = format!("records[{index}]");
        let sent = sent
            .as_object()
            .ok_or_else(|| ApiError::invalid(path.clone(), BAD_FORMAT))?;
        let member = |name: &str| sent.get(name).filter(|value| !value.is_null());
        let target = Target::read(app, member("id"), member("updateKey"), &format!("{path}."))?;
        let record = match member("record") {
            None => None,
            Some(Json::Object(record)) => Some(record),
            Some(_) => return Err(ApiError::invalid(format!("{path}.record"), BAD_FORMAT)),
        };
        target.refuse_key_in_record(record, &path)?;
        let revision = revision(sent.get("revision"), &format!("{path}.revision"))?;
        if updates.iter().any(|known| known.target.same_key(&target)) {
            let message = Message::fixed(
                "同じ更新キーが複数指定されています。",
                "The same update key is specified more than once.",
            );
            return Err(ApiError::new(400, "GAIA_IQ28", message));
        }
        updates.push(Update {
            target,
            revision,
            record,
        });
    }
    Ok(updates)
}

/// Which record a PUT means (KTB-133).
enum Target<'a> {
    Id(u64),
    Key {
        field: &'a Field,
        slot: usize,
        key: Text,
        sent: &'a Json,
    },
}

impl<'a> Target<'a> {
    /// Reads `id` or `updateKey`; `prefix` is `""` or `records[3].`.
    fn read(
        app: &'a App,
        id: Option<&'a Json>,
        update_key: Option<&'a Json>,
        prefix: &str,
    ) -> Result<Self, ApiError> {
        match (id, update_key) {
            (Some(_), Some(_)) => Err(ApiError::invalid(format!("{prefix}updateKey"), EXCLUSIVE)),
            (None, None) => Err(ApiError::invalid(format!("{prefix}id"), REQUIRED_PARAMETER)),
            (Some(id), None) => as_id(id)
                .map(Self::Id)
                .ok_or_else(|| ApiError::invalid(format!("{prefix}id"), AT_LEAST_ONE)),
            (None, Some(update_key)) => {
                let code = update_key.get("field").and_then(Json::as_str);
                let path = format!("{prefix}updateKey.field");
                let code = code.ok_or_else(|| ApiError::invalid(path.clone(), REQUIRED_PARAMETER))?;
                let (slot, field) = app
                    .form
                    .update_key(code)
                    .ok_or_else(|| ApiError::invalid(path, BAD_FORMAT))?;
                let path = format!("{prefix}updateKey.value");
                let sent = update_key.get("value").unwrap_or(&Json::Null);
                let text = as_text(sent).unwrap_or_default();
                if text.trim().is_empty() {
                    return Err(ApiError::invalid(path, REQUIRED_PARAMETER));
                }
                let key = if field.kind == Kind::Number {
                    Decimal::parse(&text)
                        .ok_or_else(|| ApiError::invalid(path, BAD_FORMAT))?
                        .key()
                } else {
                    text
                };
                Ok(Self::Key {
                    field,
                    slot,
                    key: Text::new(&key),
                    sent,
                })
            }
        }
    }

    /// The key's value may not be in the record too (KTB-133).
    fn refuse_key_in_record(&self, record: Option<&Map<String, Json>>, path: &str) -> Result<(), ApiError> {
        match self {
            Self::Key { field, .. } if record.is_some_and(|record| record.contains_key(&field.code)) => Err(
                ApiError::invalid(format!("{path}.{}.value", field.code), EXCLUSIVE),
            ),
            _ => Ok(()),
        }
    }

    fn same_key(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Key { slot, key, .. },
                Self::Key {
                    slot: other_slot,
                    key: other_key,
                    ..
                },
            ) => slot == other_slot && key == other_key,
            _ => false,
        }
    }

    fn find(&self, state: &AppState) -> Option<u64> {
        match self {
            Self::Id(id) => state.table.get(*id).map(|_| *id),
            Self::Key { slot, key, .. } => state.table.find_unique(*slot, key.as_str()),
        }
    }

    fn not_found(&self) -> ApiError {
        match self {
            Self::Id(id) => record_not_found(*id),
            Self::Key { .. } => key_not_found(),
        }
    }

    /// The record that an upsert inserts: with the key's value; a sent id is not used (KTB-136).
    fn record_with_key(&self, record: Option<&Map<String, Json>>) -> Map<String, Json> {
        let mut record = record.cloned().unwrap_or_default();
        if let Self::Key { field, sent, .. } = self {
            record.insert(field.code.clone(), json!({ "value": sent }));
        }
        record
    }
}

fn insert(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    app: &Arc<App>,
    sent: &Map<String, Json>,
    path: &str,
) -> Result<u64, Refused> {
    let Draft { record, uploads } = {
        let state = state_of(tx, app)?;
        draft::insert(&writing(tx, context, app), &state.table, sent, path)?
    };
    for key in &uploads {
        tx.take_upload(key);
    }
    Ok(tx.insert(app.id, record))
}

/// Applies one change and answers the new revision.
fn change(
    tx: &mut Tx<'_>,
    context: &Context<'_>,
    app: &Arc<App>,
    id: u64,
    update: &Update<'_>,
    path: &str,
) -> Result<u64, Refused> {
    let (current, drafted) = {
        let state = state_of(tx, app)?;
        let old = state.table.get(id).ok_or_else(|| record_not_found(id))?;
        check_revision(id, old.revision, update.revision)?;
        let writing = writing(tx, context, app);
        let drafted = update
            .record
            .map(|sent| draft::update(&writing, &state.table, sent, (id, old), path))
            .transpose()?;
        (old.revision, drafted)
    };
    // Without a record nothing changes and the call succeeds (KTB-137).
    let Some(Draft { record, uploads }) = drafted else {
        return Ok(u64::from(current));
    };
    let new = record.revision;
    for key in &uploads {
        tx.take_upload(key);
    }
    tx.put(app.id, id, record);
    Ok(u64::from(new))
}

fn writing<'s>(tx: &'s Tx<'_>, context: &'s Context<'_>, app: &'s App) -> Writing<'s> {
    Writing {
        state: tx.state(),
        app,
        caller: context.caller,
        now: context.now,
    }
}

fn state_of<'s>(tx: &'s Tx<'_>, app: &App) -> Result<&'s AppState, ApiError> {
    tx.state()
        .apps
        .get(&app.id)
        .ok_or_else(|| crate::sandbox::error::app_not_found(app.id))
}

fn check_revision(id: u64, current: u32, expected: Option<u64>) -> Result<(), ApiError> {
    match expected {
        Some(expected) if expected != u64::from(current) => Err(revision_conflict(id)),
        _ => Ok(()),
    }
}

fn list<'p>(params: &'p Params, name: &str, too_many: Message) -> Result<&'p [Json], ApiError> {
    let items = params
        .get(name)
        .and_then(Json::as_array)
        .ok_or_else(|| ApiError::invalid(name, BAD_FORMAT))?;
    if items.len() > MAX_RECORDS {
        Err(ApiError::invalid(name, too_many))
    } else {
        Ok(items)
    }
}

/// Violations of a batch come together; anything else ends the request (KTB-86, KTB-120).
fn collect(violations: &mut Violations, refused: Refused) -> Result<(), ApiError> {
    match refused {
        Refused::Invalid(found) => {
            violations.merge(found);
            Ok(())
        }
        Refused::Error(error) => Err(error),
    }
}

fn single(refused: Refused) -> ApiError {
    match refused {
        Refused::Invalid(violations) => ApiError::invalid_paths(violations),
        Refused::Error(error) => error,
    }
}

fn same_record_twice() -> ApiError {
    let message = Message::fixed(
        "同じレコードが複数指定されています。",
        "The same record is specified more than once.",
    );
    ApiError::new(400, "GAIA_RE09", message)
}
