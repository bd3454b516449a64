//! Lookups: the key must exist in the source app, the mapped fields are filled by the service (KTB-120, KTB-121).
use super::Record;
use super::cell::Writing;
use crate::sandbox::app::field::{Field, Lookup};
use crate::sandbox::app::form::{Place, System};
use crate::sandbox::app::{App, Right};
use crate::sandbox::error::{ApiError, Message, app_not_found};
use crate::sandbox::store::table::{Table, unique_key};
use crate::sandbox::value::datetime::minute_text;
use crate::sandbox::value::{Text, Value};

/// Fills the copied fields among `fields`, whose values are `values`. `applies` says whether a lookup's key was sent.
pub fn fill(
    writing: &Writing<'_>,
    fields: &[Field],
    values: &mut [Value],
    applies: impl Fn(&Field) -> bool,
) -> Result<(), ApiError> {
    for (index, field) in fields.iter().enumerate() {
        let Some(lookup) = field.lookup.as_ref().filter(|_| applies(field)) else {
            continue;
        };
        let copies = resolve(writing, field, lookup, &values[index])?;
        for ((own, _), copy) in lookup.mappings.iter().zip(copies) {
            if let Some(target) = fields.iter().position(|field| field.code == *own) {
                values[target] = copy;
            }
        }
    }
    Ok(())
}

/// The values of the mapped source fields; all empty for an empty key.
fn resolve(
    writing: &Writing<'_>,
    field: &Field,
    lookup: &Lookup,
    key: &Value,
) -> Result<Vec<Value>, ApiError> {
    if key.is_empty() {
        return Ok(vec![Value::Empty; lookup.mappings.len()]);
    }
    let source = writing
        .state
        .apps
        .get(&lookup.app)
        .ok_or_else(|| app_not_found(lookup.app))?;
    writing.caller.require(&source.app, Right::View)?;
    let (id, record) = find(&source.app, &source.table, field, lookup, key).ok_or_else(|| {
        let shown = key.as_text();
        let message = Message::filled(
            format!("ルックアップの参照先に値（{shown}）がありません。"),
            format!("The lookup source has no value \"{shown}\"."),
        );
        ApiError::new(400, "GAIA_LO04", message)
    })?;
    Ok(lookup
        .mappings
        .iter()
        .map(|(_, code)| source_value(&source.app, id, record, code))
        .collect())
}

fn find<'t>(
    app: &App,
    table: &'t Table,
    field: &Field,
    lookup: &Lookup,
    key: &Value,
) -> Option<(u64, &'t Record)> {
    let id = match app.form.place(&lookup.key)? {
        Place::Slot(slot) => {
            // The own field may be a text and the source a number, or the other way round: compare as the source does.
            let key = unique_key(app.form.fields[slot].kind, key).or_else(|| unique_key(field.kind, key))?;
            table.find_unique(slot, key.as_str())?
        }
        Place::System(System::RecordNumber) => app.without_code(key.as_text()).parse().ok()?,
        _ => return None,
    };
    table.get(id).map(|record| (id, record))
}

fn source_value(app: &App, id: u64, record: &Record, code: &str) -> Value {
    match app.form.place(code) {
        Some(Place::Slot(slot)) => record.value(slot).clone(),
        Some(Place::System(System::RecordNumber)) => Value::Text(Text::new(&id.to_string())),
        Some(Place::System(System::CreatedTime)) => Value::text(&minute_text(i64::from(record.created))),
        Some(Place::System(System::UpdatedTime)) => Value::text(&minute_text(i64::from(record.updated))),
        _ => Value::Empty,
    }
}
