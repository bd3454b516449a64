//! Reading journal lines back into a state. Streaming, without an intermediate tree: a benchmark log has a million records.
use std::collections::HashMap;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error as _, IgnoredAny, MapAccess, SeqAccess, Visitor};

use super::codec::Shape;
use super::state::{AppState, State, Upload};
use super::table::Table;
use crate::sandbox::app::field::Kind;
use crate::sandbox::app::file::{self, AppEntry};
use crate::sandbox::app::form::{Form, Place};
use crate::sandbox::record::Record;
use crate::sandbox::value::{FileRef, Row, Text, Value};

/// Applies journal lines to a state.
pub struct Loader<'a> {
    state: &'a mut State,
    maps: HashMap<u64, PositionMap>,
    shapes: HashMap<u64, Shape>,
    /// Records written or deleted so far: compared with the live ones to decide about compaction.
    pub operations: u64,
}

/// Where the values of a written record go in the present form.
struct PositionMap {
    slots: usize,
    positions: Vec<Option<Position>>,
}

struct Position {
    slot: usize,
    kind: Kind,
    cells: usize,
    /// For a SUBTABLE: kind and index of each written cell.
    cell_positions: Vec<Option<(usize, Kind)>>,
}

impl<'a> Loader<'a> {
    /// A loader into a state without records.
    pub fn new(state: &'a mut State) -> Self {
        Self {
            state,
            maps: HashMap::new(),
            shapes: HashMap::new(),
            operations: 0,
        }
    }

    /// Applies one line's JSON.
    pub fn apply(&mut self, json: &[u8]) -> Result<(), serde_json::Error> {
        let mut reader = serde_json::Deserializer::from_slice(json);
        LineSeed(self).deserialize(&mut reader)?;
        reader.end()
    }

    /// The form shapes that the log's last lines use, by app.
    pub fn into_shapes(self) -> HashMap<u64, Shape> {
        self.shapes
    }

    fn set_shape(&mut self, app: u64, shape: Shape) -> Result<(), String> {
        let state = self.state.apps.get(&app).ok_or_else(|| missing_app(app))?;
        self.maps.insert(
            app,
            position_map(&state.app.form, &shape).map_err(|text| format!("app {app}: {text}"))?,
        );
        self.shapes.insert(app, shape);
        Ok(())
    }

    fn set_app(&mut self, entry: AppEntry) -> Result<(), String> {
        let id = entry.id;
        let app = file::build(entry)?;
        let table = match self.state.apps.remove(&id) {
            None => Table::new(&app.form),
            Some(old) => old.table.migrate(&old.app.form, &app.form)?,
        };
        self.state.apps.insert(
            id,
            AppState {
                app: app.into(),
                table,
                from_api: true,
            },
        );
        Ok(())
    }
}

fn missing_app(app: u64) -> String {
    format!(
        "the data directory holds records of app {app}, which the apps file does not define; add the app or use another data directory"
    )
}

fn changed_type(code: &str, was: &str, now: Kind) -> String {
    format!(
        "field {code:?} was a {was} when its data was written and is a {} now",
        now.name()
    )
}

fn position_map(form: &Form, shape: &Shape) -> Result<PositionMap, String> {
    let mut positions = Vec::new();
    for (code, kind, cells) in shape {
        let Some(Place::Slot(slot)) = form.place(code) else {
            positions.push(None);
            continue;
        };
        let field = &form.fields[slot];
        if field.kind.name() != kind {
            return Err(changed_type(code, kind, field.kind));
        }
        let mut cell_positions = Vec::new();
        for (cell_code, cell_kind) in cells {
            let index = field.cells.iter().position(|cell| cell.code == *cell_code);
            let known = index.map(|index| (index, field.cells[index].kind));
            if let Some((_, now)) = known.filter(|(_, now)| now.name() != cell_kind) {
                return Err(changed_type(cell_code, cell_kind, now));
            }
            cell_positions.push(known);
        }
        positions.push(Some(Position {
            slot,
            kind: field.kind,
            cells: field.cells.len(),
            cell_positions,
        }));
    }
    Ok(PositionMap {
        slots: form.fields.len(),
        positions,
    })
}

/// Implements reading one JSON list: the seed is its own visitor.
macro_rules! reads_list {
    ([$($life:lifetime),*] $seed:ty => $value:ty, $what:literal, |$this:ident, $list:ident| $body:block) => {
        impl<'de, $($life),*> DeserializeSeed<'de> for $seed {
            type Value = $value;
            fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<$value, D::Error> {
                reader.deserialize_seq(self)
            }
        }
        impl<'de, $($life),*> Visitor<'de> for $seed {
            type Value = $value;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str($what)
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut $list: A) -> Result<$value, A::Error> {
                let $this = self;
                $body
            }
        }
    };
}

/// The next element, which must be there.
fn required<'de, A: SeqAccess<'de>, T: serde::Deserialize<'de>>(list: &mut A) -> Result<T, A::Error> {
    list.next_element()?
        .ok_or_else(|| A::Error::custom("the list is too short"))
}

struct LineSeed<'s, 'a>(&'s mut Loader<'a>);

impl<'de> DeserializeSeed<'de> for LineSeed<'_, '_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<(), D::Error> {
        reader.deserialize_map(self)
    }
}

impl<'de> Visitor<'de> for LineSeed<'_, '_> {
    type Value = ();
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a journal line")
    }
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(key) = map.next_key::<String>()? {
            if key == "ops" {
                map.next_value_seed(OpsSeed(self.0))?;
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(())
    }
}

struct OpsSeed<'s, 'a>(&'s mut Loader<'a>);
reads_list!(['s, 'a] OpsSeed<'s, 'a> => (), "a list of operations", |this, list| {
    while list.next_element_seed(OpSeed(this.0))?.is_some() {}
    Ok(())
});

struct OpSeed<'s, 'a>(&'s mut Loader<'a>);
reads_list!(['s, 'a] OpSeed<'s, 'a> => (), "an operation", |this, list| {
    let loader = this.0;
    let name: String = required(&mut list)?;
    match name.as_str() {
        "form" => {
            let app = required(&mut list)?;
            let shape = required(&mut list)?;
            loader.set_shape(app, shape).map_err(A::Error::custom)?;
        }
        "app" => {
            let entry = required(&mut list)?;
            loader.set_app(entry).map_err(A::Error::custom)?;
        }
        "preview" => {
            let entry: AppEntry = required(&mut list)?;
            loader.state.previews.insert(entry.id, entry);
        }
        "live" => {
            let app: u64 = required(&mut list)?;
            loader.state.previews.remove(&app);
        }
        "put" => {
            let app = required(&mut list)?;
            list.next_element_seed(RowsSeed { loader, app })?;
        }
        "del" => {
            let app: u64 = required(&mut list)?;
            let ids: Vec<u64> = required(&mut list)?;
            for id in ids {
                loader.operations += 1;
                loader.state.set_record(app, id, None);
            }
        }
        "next" => {
            let (app, record, row): (u64, u64, u64) =
                (required(&mut list)?, required(&mut list)?, required(&mut list)?);
            if let Some(state) = loader.state.apps.get_mut(&app) {
                state.table.next_id = state.table.next_id.max(record);
                state.table.next_row = state.table.next_row.max(row);
            }
        }
        "up" => {
            let file = FileRef {
                key: required(&mut list)?,
                blob: required(&mut list)?,
                name: required(&mut list)?,
                content_type: required(&mut list)?,
                size: required(&mut list)?,
            };
            let uploaded_ms = required(&mut list)?;
            loader.state.uploads.insert(file.key.clone(), Upload { file, uploaded_ms });
        }
        "used" => {
            let key: String = required(&mut list)?;
            loader.state.uploads.remove(&key);
        }
        other => return Err(A::Error::custom(format!("unknown operation {other:?}"))),
    }
    Ok(())
});

struct RowsSeed<'s, 'a> {
    loader: &'s mut Loader<'a>,
    app: u64,
}
reads_list!(['s, 'a] RowsSeed<'s, 'a> => (), "a list of records", |this, list| {
    let loader = this.loader;
    let map = loader
        .maps
        .remove(&this.app)
        .ok_or_else(|| A::Error::custom(format!("records of app {} come before their form", this.app)))?;
    while let Some(raw) = list.next_element_seed(RecordSeed { map: &map })? {
        let creator = loader.state.user_index(&raw.creator);
        let modifier = loader.state.user_index(&raw.modifier);
        let record = Record { creator, modifier, ..raw.record };
        loader.state.set_record(this.app, raw.id, Some(record));
        loader.operations += 1;
    }
    loader.maps.insert(this.app, map);
    Ok(())
});

struct RawRecord {
    id: u64,
    record: Record,
    creator: String,
    modifier: String,
}

struct RecordSeed<'m> {
    map: &'m PositionMap,
}
reads_list!(['m] RecordSeed<'m> => RawRecord, "a record", |this, list| {
    let id = required(&mut list)?;
    let (revision, created, updated) = (required(&mut list)?, required(&mut list)?, required(&mut list)?);
    let (creator, modifier) = (required(&mut list)?, required(&mut list)?);
    let seed = ValuesSeed { slots: this.map.slots, target: Target::Record(&this.map.positions) };
    let values = list.next_element_seed(seed)?.ok_or_else(|| A::Error::custom("the record has no values"))?;
    Ok(RawRecord {
        id,
        record: Record { revision, created, updated, creator: 0, modifier: 0, values: values.into() },
        creator,
        modifier,
    })
});

/// Where the values of a list go.
enum Target<'m> {
    Record(&'m [Option<Position>]),
    Row(&'m [Option<(usize, Kind)>]),
}

struct ValuesSeed<'m> {
    slots: usize,
    target: Target<'m>,
}
reads_list!(['m] ValuesSeed<'m> => Vec<Value>, "a list of values", |this, list| {
    let mut values = vec![Value::Empty; this.slots];
    let mut index = 0;
    loop {
        let (place, kind, table) = match this.target {
            Target::Record(positions) => match positions.get(index) {
                Some(Some(position)) => (Some(position.slot), position.kind, Some(position)),
                _ => (None, Kind::SingleLineText, None),
            },
            Target::Row(cells) => match cells.get(index) {
                Some(Some((cell, kind))) => (Some(*cell), *kind, None),
                _ => (None, Kind::SingleLineText, None),
            },
        };
        let Some(slot) = place else {
            if list.next_element::<IgnoredAny>()?.is_none() {
                return Ok(values);
            }
            index += 1;
            continue;
        };
        let Some(value) = list.next_element_seed(ValueSeed { kind, table })? else { return Ok(values) };
        values[slot] = value;
        index += 1;
    }
});

struct ValueSeed<'m> {
    kind: Kind,
    table: Option<&'m Position>,
}

impl<'de> DeserializeSeed<'de> for ValueSeed<'_> {
    type Value = Value;
    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for ValueSeed<'_> {
    type Value = Value;
    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a value of a {} field", self.kind.name())
    }
    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Empty)
    }
    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::text(text))
    }
    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        match (self.kind, self.table) {
            (Kind::File, _) => {
                let mut files = Vec::new();
                while let Some((key, blob, name, content_type, size)) = list.next_element()? {
                    files.push(FileRef {
                        key,
                        blob,
                        name,
                        content_type,
                        size,
                    });
                }
                Ok(Value::Files(files.into()))
            }
            (Kind::Subtable, Some(table)) => {
                let mut rows = Vec::new();
                while let Some(row) = list.next_element_seed(RowSeed { table })? {
                    rows.push(row);
                }
                Ok(if rows.is_empty() {
                    Value::Empty
                } else {
                    Value::Rows(rows.into())
                })
            }
            _ => {
                let mut items = Vec::new();
                while let Some(item) = list.next_element::<String>()? {
                    items.push(Text::new(&item));
                }
                Ok(Value::list(items))
            }
        }
    }
}

struct RowSeed<'m> {
    table: &'m Position,
}
reads_list!(['m] RowSeed<'m> => Row, "a table row", |this, list| {
    let id = required(&mut list)?;
    let seed = ValuesSeed { slots: this.table.cells, target: Target::Row(&this.table.cell_positions) };
    let cells = list.next_element_seed(seed)?.ok_or_else(|| A::Error::custom("the row has no cells"))?;
    Ok(Row { id, cells: cells.into() })
});
