//! The records of one app: ordered by id, so that a keyset page (`$id > n ... limit 500`) starts at its bound instead of
//! scanning a million records, plus one index per unique field.
use std::collections::{BTreeMap, HashMap};

use crate::sandbox::app::field::{Field, Kind};
use crate::sandbox::app::form::Form;
use crate::sandbox::record::Record;
use crate::sandbox::value::number::Decimal;
use crate::sandbox::value::{Text, Value};

/// Records of one app.
#[derive(Debug, Default)]
pub struct Table {
    records: BTreeMap<u64, Record>,
    unique: Vec<UniqueIndex>,
    /// Id for the next record; ids are never given out again (KTB-90).
    pub next_id: u64,
    /// Id for the next SUBTABLE row.
    pub next_row: u64,
}

#[derive(Debug)]
struct UniqueIndex {
    slot: usize,
    kind: Kind,
    ids: HashMap<Text, u64>,
}

/// The index key of a value: equal values have equal keys, empty ones have none (KTB-109).
pub fn unique_key(kind: Kind, value: &Value) -> Option<Text> {
    let Value::Text(text) = value else { return None };
    if kind == Kind::Number && text.as_str().contains('.') {
        let number = Decimal::parse(text.as_str())?;
        return Some(Text::new(&number.key()));
    }
    Some(text.clone())
}

impl Table {
    /// An empty table for a form.
    pub fn new(form: &Form) -> Self {
        let mut table = Self {
            next_id: 1,
            next_row: 1,
            ..Self::default()
        };
        table.set_indexes(form);
        table
    }

    fn set_indexes(&mut self, form: &Form) {
        let index = |(slot, field): (usize, &Field)| UniqueIndex {
            slot,
            kind: field.kind,
            ids: HashMap::new(),
        };
        self.unique = form
            .fields
            .iter()
            .enumerate()
            .filter(|(_, field)| field.unique)
            .map(index)
            .collect();
    }

    /// Number of records.
    pub fn count(&self) -> usize {
        self.records.len()
    }

    /// A record.
    pub fn get(&self, id: u64) -> Option<&Record> {
        self.records.get(&id)
    }

    /// All records with ids in `bounds`, ascending; double-ended.
    pub fn range(
        &self,
        bounds: std::ops::RangeInclusive<u64>,
    ) -> impl DoubleEndedIterator<Item = (u64, &Record)> {
        // An empty range must not reach the map, which panics on start > end.
        let bounds = if bounds.is_empty() { 0..=0 } else { bounds };
        self.records.range(bounds).map(|(id, record)| (*id, record))
    }

    /// The record that holds `key` in a unique field.
    pub fn find_unique(&self, slot: usize, key: &str) -> Option<u64> {
        let index = self.unique.iter().find(|index| index.slot == slot)?;
        index.ids.get(key).copied()
    }

    /// Whether a slot has a unique index.
    pub fn is_unique(&self, slot: usize) -> bool {
        self.unique.iter().any(|index| index.slot == slot)
    }

    /// Stores a record; answers the one it replaces. The caller has checked unique fields.
    pub fn put(&mut self, id: u64, record: Record) -> Option<Record> {
        let old = self.remove(id);
        for index in &mut self.unique {
            if let Some(key) = unique_key(index.kind, record.value(index.slot)) {
                index.ids.insert(key, id);
            }
        }
        self.next_id = self.next_id.max(id + 1);
        for row in record.values.iter().flat_map(Value::rows) {
            self.next_row = self.next_row.max(row.id + 1);
        }
        self.records.insert(id, record);
        old
    }

    /// Removes a record.
    pub fn remove(&mut self, id: u64) -> Option<Record> {
        let old = self.records.remove(&id)?;
        for index in &mut self.unique {
            if let Some(key) = unique_key(index.kind, old.value(index.slot))
                && index.ids.get(key.as_str()) == Some(&id)
            {
                index.ids.remove(key.as_str());
            }
        }
        Some(old)
    }

    /// A copy of the records without indexes, as input for [`Table::migrate`].
    pub fn copied(&self) -> Self {
        Self {
            records: self.records.clone(),
            unique: Vec::new(),
            next_id: self.next_id,
            next_row: self.next_row,
        }
    }

    /// Takes over records of another form of the same app: values move by field code. Answers the code of the first
    /// unique field whose values collide, with the table unusable.
    pub fn migrate(self, old: &Form, new: &Form) -> Result<Self, String> {
        let moves: Vec<Option<usize>> = new
            .fields
            .iter()
            .map(|field| {
                old.fields
                    .iter()
                    .position(|known| known.code == field.code && known.kind == field.kind)
            })
            .collect();
        let mut table = Self::new(new);
        for (id, mut record) in self.records {
            let values: Vec<Value> = new
                .fields
                .iter()
                .zip(&moves)
                .map(|(field, from)| {
                    let value = from
                        .and_then(|slot| record.values.get_mut(slot))
                        .map(std::mem::take);
                    let table = from.map(|slot| &old.fields[slot]);
                    migrate_rows(value.unwrap_or_default(), table, field)
                })
                .collect();
            record.values = values.into();
            for index in &table.unique {
                if let Some(key) = unique_key(index.kind, record.value(index.slot))
                    && index.ids.contains_key(key.as_str())
                {
                    return Err(new.fields[index.slot].code.clone());
                }
            }
            table.put(id, record);
        }
        table.next_id = table.next_id.max(self.next_id);
        table.next_row = table.next_row.max(self.next_row);
        Ok(table)
    }
}

/// Moves the cells of a SUBTABLE value to the order of the new definition.
fn migrate_rows(value: Value, old: Option<&Field>, new: &Field) -> Value {
    let (Value::Rows(mut rows), Some(old)) = (value.clone(), old) else {
        return value;
    };
    for row in &mut rows {
        let cells: Vec<Value> = new
            .cells
            .iter()
            .map(|cell| {
                let from = old
                    .cells
                    .iter()
                    .position(|known| known.code == cell.code && known.kind == cell.kind);
                from.and_then(|index| row.cells.get_mut(index))
                    .map(std::mem::take)
                    .unwrap_or_default()
            })
            .collect();
        row.cells = cells.into();
    }
    Value::Rows(rows)
}
