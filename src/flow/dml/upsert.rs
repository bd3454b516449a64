//! UPSERT and MERGE (LNG-142..146): kintone's own upsert where it does the same, else read, then add and change.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;

use crate::flow::apps::{FieldType, Page, WriteRow, WriteTarget, Written};
use crate::flow::exec::in_flight::in_flight;
use crate::flow::exec::scan::{ReadLimit, Scan};
use crate::flow::exec::{EngineError, Preview, Sample};
use crate::flow::plan::push;
use crate::flow::sql::message::{self, say};

use super::bind::{BoundUpsert, Rows};
use super::chunk::{Batch, EventKey, Operation, Pace, Sender, requests};
use super::fault::{self, Fault, refuse_missing};
use super::inspect::{Findings, Stage};
use super::stage::{Staged, normal_key};
use super::target::TargetField;
use super::unique::{find_repeated, refuse_repeated};
use super::{Dml, Done};

/// Keys of one lookup request.
const KEYS_PER_REQUEST: usize = 100;

/// Which way an UPSERT goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::flow) struct Course {
    /// Stored records are looked up while the rows are inspected.
    pub looks_first: bool,
    /// Stored records are looked up before the first write.
    pub looks_up: bool,
    /// kintone's own upsert writes.
    pub native: bool,
}

impl BoundUpsert {
    /// The way that it goes where kintone's own upsert is allowed, or not, and where anything is written, or not.
    pub fn course(&self, native_allowed: bool, writes: bool) -> Course {
        let native = self.native && native_allowed && writes;
        let incomplete = !self.unwritten.is_empty();
        Course {
            looks_first: self.inspection.isolates() && incomplete,
            looks_up: !native || incomplete,
            native,
        }
    }

    /// The field that stored records are looked up by, with its place.
    fn lookup_key(&self) -> Option<(usize, &TargetField)> {
        let key = *self.keys.first()?;
        Some((key, self.fields.get(key)?))
    }

    /// The lookup of some keys.
    fn lookup(&self, condition: String) -> Scan {
        let fields = self.fields.iter().map(|field| field.code.clone());
        Scan {
            app: self.app,
            condition,
            fields: std::iter::once("$id".to_owned()).chain(fields).collect(),
            limit: ReadLimit::Never,
            at_most: None,
            partial: false,
        }
    }

    /// The form of a lookup, and whether it finds each key at most once.
    pub fn lookup_outline(&self) -> Option<(Scan, bool)> {
        let (_, field) = self.lookup_key()?;
        let condition = format!("{} in ({})", field.code, push::LATER);
        Some((self.lookup(condition), field.unique))
    }
}

/// Requests that look up so many different keys.
pub(in crate::flow) fn lookups(keys: u64) -> u64 {
    keys.div_ceil(KEYS_PER_REQUEST as u64)
}

/// A record that exists already.
struct Existing {
    id: u64,
    /// Cells of the statement's fields.
    cells: Vec<String>,
}

impl Dml<'_, '_> {
    pub(super) fn upsert(&mut self, upsert: &BoundUpsert) -> Result<Done, EngineError> {
        let inspection = &upsert.inspection;
        let course = upsert.course(self.config.native_upsert, self.permit.is_some());
        let mut rows = self.stage(upsert.app, &upsert.fields, &upsert.rows, &upsert.keys, inspection)?;
        let mut done = Done::default();
        if inspection.isolates() {
            find_keys(&rows.staged, &upsert.keys, &mut rows.findings);
            find_repeated(&rows.staged, &upsert.keys, &mut rows.findings);
            if course.looks_first {
                let existing = self.existing(upsert, &rows.staged, &rows.findings)?;
                for row in 0..rows.staged.rows {
                    if !existing.contains_key(&rows.staged.key(row, &upsert.keys)) {
                        rows.findings.add_missing(row, &upsert.unwritten);
                    }
                }
            }
        } else {
            check_keys(&rows.staged, &upsert.keys)?;
            refuse_repeated(&rows.staged, &upsert.keys)?;
        }
        let (mut staged, findings) = rows.parts();
        if !self.sort_out(
            inspection,
            "UPSERT",
            &upsert.payload(),
            &mut staged,
            findings,
            &mut done,
        )? {
            return Ok(done);
        }
        if staged.rows == 0 && self.permit.is_some() {
            return Ok(done);
        }
        if !course.looks_up {
            done.written = self.native(upsert, &staged)?;
            return Ok(done);
        }
        let existing = self.existing(upsert, &staged, &Findings::default())?;
        // Which rows add a record, and so lack what the statement does not write, only kintone knows.
        let added = (0..staged.rows).find(|row| !existing.contains_key(&staged.key(*row, &upsert.keys)));
        if let Some(row) = added {
            refuse_missing(&upsert.unwritten, row)?;
        }
        if course.native {
            done.written = self.native(upsert, &staged)?;
            return Ok(done);
        }
        if let Some(dry_run) = self.config.dry_run {
            done.preview = Some(preview(
                upsert,
                &staged,
                &existing,
                self.config.native_upsert,
                dry_run.samples,
            ));
        } else {
            done.written = self.read_then_write(upsert, &staged, &existing)?;
        }
        Ok(done)
    }

    /// One `PUT` with `upsert` per 100 rows.
    fn native(&mut self, upsert: &BoundUpsert, staged: &Staged<'_>) -> Result<Written, EngineError> {
        let key = upsert.keys.first().copied().unwrap_or_default();
        let Some(field) = upsert.fields.get(key) else {
            return Ok(Written::default());
        };
        let fields = staged.codes(|place| place != key);
        let rows: Vec<usize> = (0..staged.rows).collect();
        let row = |number: usize| WriteRow {
            target: WriteTarget::Key(staged.cell(number, key).to_owned()),
            values: staged.values(number, |place| place != key),
        };
        let last_key = |number: usize| staged.cell(number, key).to_owned();
        let mut sender = Sender::new(self, upsert.app);
        sender.send(&Batch {
            operation: Operation::Upsert(&field.code),
            pace: native_pace(upsert, staged, key),
            fields: &fields,
            rows: &rows,
            row: &row,
            key: Some((&field.code, &last_key)),
        })?;
        Ok(sender.written)
    }

    fn read_then_write(
        &mut self,
        upsert: &BoundUpsert,
        staged: &Staged<'_>,
        existing: &HashMap<Vec<String>, Existing>,
    ) -> Result<Written, EngineError> {
        let id = |row: usize| {
            existing
                .get(&staged.key(row, &upsert.keys))
                .map(|record| record.id)
        };
        let (old, new): (Vec<usize>, Vec<usize>) = (0..staged.rows).partition(|row| id(*row).is_some());
        let inserted = |place: usize| upsert.inserted.get(place).copied().unwrap_or(true);
        let updated = |place: usize| {
            upsert.updated.get(place).copied().unwrap_or(true) && !upsert.keys.contains(&place)
        };
        let single = match upsert.keys.as_slice() {
            [key] => upsert.fields.get(*key).map(|field| (field.code.as_str(), *key)),
            _ => None,
        };
        let last_key =
            |number: usize| single.map_or(String::new(), |(_, key)| staged.cell(number, key).to_owned());
        let key: Option<EventKey<'_>> = single.map(|(code, _)| (code, &last_key as _));
        let mut sender = Sender::new(self, upsert.app);
        let insert_row = |number: usize| WriteRow {
            target: WriteTarget::New,
            values: staged.values(number, inserted),
        };
        sender.send(&Batch {
            operation: Operation::Insert,
            pace: Pace::InOrder,
            fields: &staged.codes(inserted),
            rows: &new,
            row: &insert_row,
            key,
        })?;
        let fields = upsert.fields.iter().enumerate();
        let update_row = |number: usize| WriteRow {
            target: WriteTarget::Id(id(number).unwrap_or_default()),
            values: staged.values(number, updated),
        };
        sender.send(&Batch {
            operation: Operation::Update,
            // Different keys have found different records.
            pace: Pace::of_records(
                old.iter().filter_map(|row| id(*row)).collect(),
                fields
                    .filter(|(place, _)| updated(*place))
                    .map(|(_, field)| field),
            ),
            fields: &staged.codes(updated),
            rows: &old,
            row: &update_row,
            key,
        })?;
        Ok(sender.written)
    }

    /// Records of the target that have one of the keys; of several with one key the newest counts.
    fn existing(
        &mut self,
        upsert: &BoundUpsert,
        staged: &Staged<'_>,
        findings: &Findings,
    ) -> Result<HashMap<Vec<String>, Existing>, EngineError> {
        let mut found: HashMap<Vec<String>, Existing> = HashMap::new();
        let Some((first, field)) = upsert.lookup_key() else {
            return Ok(found);
        };
        let mut values: Vec<String> = (0..staged.rows)
            .filter(|row| !findings.is_wrong(*row))
            .map(|row| staged.cell(row, first).to_owned())
            .collect();
        values.sort();
        values.dedup();
        let lists: Vec<&[String]> = values.chunks(KEYS_PER_REQUEST).collect();
        let reader = &*self.reader;
        let look_up = |list: usize| {
            let mut reader = reader.single();
            let mut records = Vec::new();
            let keys = lists.get(list).copied().unwrap_or_default();
            let keys = keys.iter().map(String::as_str);
            let scan = upsert.lookup(push::one_of(&field.code, field.kind, keys));
            reader.scan(&scan, &mut |page| {
                records.extend((0..page.rows()).map(|row| record(upsert, page, row)));
                Ok(ControlFlow::Continue(()))
            })?;
            Ok((reader, records))
        };
        let mut read = reader.single();
        let looked_up = in_flight(
            0..lists.len(),
            self.config.width(),
            look_up,
            |_| true,
            |_, (reader, records)| {
                read.absorb(&reader);
                for (key, record) in records {
                    // Answers come in any order: the highest number wins, whichever comes last.
                    match found.entry(key) {
                        Entry::Occupied(mut known) if known.get().id < record.id => {
                            known.insert(record);
                        }
                        Entry::Occupied(_) => {}
                        Entry::Vacant(place) => {
                            place.insert(record);
                        }
                    }
                }
            },
        );
        self.reader.absorb(&read);
        looked_up?;
        Ok(found)
    }
}

/// A record that a lookup found, with its key.
fn record(upsert: &BoundUpsert, page: &Page, row: usize) -> (Vec<String>, Existing) {
    let cells: Vec<String> = (1..page.width())
        .map(|column| page.cell(row, column).to_owned())
        .collect();
    let part = |place: &usize| {
        let field = upsert.fields.get(*place);
        let numeric = field.is_some_and(|field| field.kind == FieldType::Number);
        normal_key(cells.get(*place).map_or("", String::as_str), numeric)
    };
    let key = upsert.keys.iter().map(part).collect();
    let id = page.cell(row, 0).parse().unwrap_or_default();
    (key, Existing { id, cells })
}

/// How chunks of kintone's own upsert may go. Every key of the source is given and none is there twice, which was
/// checked over the whole source before; but that compares texts exactly, and whether kintone tells `c001` from `C001`
/// in a unique field is not documented. Keys that differ in case, width or blanks only could be one record to it, and
/// then the later row must win.
fn native_pace(upsert: &BoundUpsert, staged: &Staged<'_>, key: usize) -> Pace {
    // Who writes ORDER BY cares in which order new records are numbered.
    let ordered = matches!(&upsert.rows, Rows::Query(query) if query.is_ordered());
    let entangled = |(place, field): (usize, &TargetField)| place != key && field.entangled;
    let mut seen = HashSet::new();
    let different = (0..staged.rows).all(|row| seen.insert(folded(staged.cell(row, key))));
    if different && !ordered && !upsert.fields.iter().enumerate().any(entangled) {
        Pace::TogetherUnlessAdding
    } else {
        Pace::InOrder
    }
}

/// A text without what may not count in a comparison: blanks at its ends, width of letters and digits, case.
fn folded(text: &str) -> String {
    const WIDE: u32 = '！' as u32 - '!' as u32;
    text.trim()
        .chars()
        .map(|c| match c {
            '！'..='～' => char::from_u32(c as u32 - WIDE).unwrap_or(c),
            other => other,
        })
        .flat_map(char::to_lowercase)
        .collect()
}

/// Notes rows without a key, and all rows whose key stands in several (LNG-153).
fn find_keys(staged: &Staged<'_>, keys: &[usize], findings: &mut Findings) {
    let name = key_names(staged, keys);
    let mut rows_of: HashMap<Vec<String>, Vec<usize>> = HashMap::new();
    for row in 0..staged.rows {
        let key = staged.key(row, keys);
        if key.iter().any(String::is_empty) {
            // A key that could not be converted is told already.
            if !findings.is_wrong(row) {
                let fault = Fault::new(
                    fault::KEY_EMPTY,
                    say!("the key {name} is empty", "キー {name} が空です"),
                );
                findings.add(row, Stage::Key, &name, &fault, "");
            }
        } else {
            rows_of.entry(key).or_default().push(row);
        }
    }
    for (key, rows) in rows_of.iter().filter(|(_, rows)| rows.len() > 1) {
        let text = key.join(", ");
        let shown = key_values(staged, keys, key);
        let fault = Fault::new(
            fault::KEY_REPEATED,
            say!(
                "the key {name} = {shown} is in several rows",
                "キー {name} = {shown} が複数の行にあります"
            ),
        );
        for row in rows {
            findings.add(*row, Stage::Key, &name, &fault, &text);
        }
    }
}

fn key_codes<'s>(staged: &'s Staged<'_>, keys: &[usize]) -> Vec<&'s str> {
    keys.iter()
        .filter_map(|key| staged.fields.get(*key))
        .map(|field| field.code.as_str())
        .collect()
}

fn key_names(staged: &Staged<'_>, keys: &[usize]) -> String {
    key_codes(staged, keys).join(", ")
}

/// The values of a key for a message, each known as its field's.
fn key_values(staged: &Staged<'_>, keys: &[usize], key: &[String]) -> String {
    let codes = key_codes(staged, keys);
    let values: Vec<String> = codes
        .iter()
        .zip(key)
        .map(|(code, text)| message::value(code, text).to_string())
        .collect();
    values.join(", ")
}

/// Every key is given and none twice, over the whole source, before the first write (LNG-144).
fn check_keys(staged: &Staged<'_>, keys: &[usize]) -> Result<(), EngineError> {
    let name = key_names(staged, keys);
    let mut seen: HashMap<Vec<String>, usize> = HashMap::new();
    for row in 0..staged.rows {
        let key = staged.key(row, keys);
        let number = row + 1;
        if key.iter().any(String::is_empty) {
            return Err(EngineError::argument(say!(
                "the key {name} is empty in source row {number}; nothing was written",
                "元データの {number} 行目のキー {name} が空です。何も書き込んでいません"
            )));
        }
        let text = key_values(staged, keys, &key);
        if let Some(earlier) = seen.insert(key, number) {
            return Err(EngineError::argument(say!(
                "the key {name} = {text} is in source rows {earlier} and {number}; nothing was written",
                "キー {name} = {text} が元データの {earlier} 行目と {number} 行目で重複しています。何も書き込んでいません"
            )));
        }
    }
    Ok(())
}

fn preview(
    upsert: &BoundUpsert,
    staged: &Staged<'_>,
    existing: &HashMap<Vec<String>, Existing>,
    native: bool,
    samples: usize,
) -> Preview {
    let record = |row: usize| existing.get(&staged.key(row, &upsert.keys));
    let updated = (0..staged.rows).filter(|row| record(*row).is_some()).count() as u64;
    let inserted = staged.rows as u64 - updated;
    let estimated_writes = if upsert.native && native {
        requests(updated + inserted)
    } else {
        requests(updated) + requests(inserted)
    };
    let single = match upsert.keys.as_slice() {
        [key] => Some(*key),
        _ => None,
    };
    let samples = (0..staged.rows.min(samples))
        .map(|row| {
            let stored = record(row);
            let mask = if stored.is_some() {
                &upsert.updated
            } else {
                &upsert.inserted
            };
            let wanted = |place: usize| mask.get(place).copied().unwrap_or(true);
            Sample {
                kind: if stored.is_some() { "update" } else { "insert" },
                key_field: single
                    .and_then(|key| upsert.fields.get(key))
                    .map(|field| field.code.clone()),
                key: single.map(|key| staged.cell(row, key).to_owned()),
                before: stored.map_or_else(Vec::new, |stored| {
                    upsert
                        .fields
                        .iter()
                        .map(|field| field.code.clone())
                        .zip(stored.cells.iter().cloned())
                        .collect()
                }),
                after: staged.row(row, wanted),
            }
        })
        .collect();
    let counts = Written {
        inserted,
        updated,
        deleted: 0,
    };
    Preview {
        app: upsert.app,
        operation: "UPSERT",
        counts,
        estimated_writes,
        samples,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_may_be_one_to_kintone_fold_into_one() {
        for same in ["c001", "C001", " c001", "Ｃ００１", "ｃ００１　"] {
            assert_eq!(folded(same), "c001", "{same:?}");
        }
        assert_ne!(folded("c001"), folded("c 001"));
        assert_eq!(folded("顧客～"), "顧客~");
    }
}
