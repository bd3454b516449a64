//! One write request as a transaction (KTB-83, KTB-140): changes happen in place, each leaves a note how to undo it.
//! Dropping the transaction without [`Tx::finish`] undoes everything, also when a handler panics.
use std::collections::BTreeSet;
use std::sync::Arc;

use super::codec;
use super::state::{AppState, State, Upload};
use super::table::Table;
use crate::sandbox::app::App;
use crate::sandbox::app::file::{self, AppEntry};
use crate::sandbox::record::Record;
use crate::sandbox::value::Value;

/// A running transaction.
pub struct Tx<'a> {
    state: &'a mut State,
    undo: Vec<Undo>,
    touched: BTreeSet<(u64, u64)>,
    ops: Vec<u8>,
    now_ms: i64,
    finished: bool,
}

enum Undo {
    Record { app: u64, id: u64, old: Option<Record> },
    UploadAdded { key: String },
    UploadTaken { upload: Upload },
    App { id: u64, old: Option<AppState> },
    Preview { id: u64, old: Option<AppEntry> },
}

impl<'a> Tx<'a> {
    /// Begins a transaction at the service's time `now_ms`.
    pub fn begin(state: &'a mut State, now_ms: i64) -> Self {
        Self {
            state,
            undo: Vec::new(),
            touched: BTreeSet::new(),
            ops: Vec::new(),
            now_ms,
            finished: false,
        }
    }

    /// The state as this transaction sees it: earlier inner requests included (KTB-142).
    pub fn state(&self) -> &State {
        self.state
    }

    /// Milliseconds since 1970 on the service's clock.
    pub fn now_ms(&self) -> i64 {
        self.now_ms
    }

    /// The record id that the next insert into `app` gets.
    fn next_id(&self, app: u64) -> u64 {
        self.state.apps.get(&app).map_or(1, |state| state.table.next_id)
    }

    /// Inserts a record and answers its id.
    pub fn insert(&mut self, app: u64, record: Record) -> u64 {
        let id = self.next_id(app);
        self.put(app, id, record);
        id
    }

    /// Stores a record under an id; rows without an id get new ones (KTB-112, KTB-113).
    pub fn put(&mut self, app: u64, id: u64, mut record: Record) {
        if let Some(state) = self.state.apps.get_mut(&app) {
            number_rows(&mut record, &mut state.table);
        }
        let old = self.state.set_record(app, id, Some(record));
        self.undo.push(Undo::Record { app, id, old });
        self.touched.insert((app, id));
    }

    /// Deletes a record.
    pub fn delete(&mut self, app: u64, id: u64) {
        let old = self.state.set_record(app, id, None);
        self.undo.push(Undo::Record { app, id, old });
        self.touched.insert((app, id));
    }

    /// Adds an upload.
    pub fn add_upload(&mut self, upload: Upload) {
        codec::upload(&mut self.ops, &upload);
        self.undo.push(Undo::UploadAdded {
            key: upload.file.key.clone(),
        });
        self.state.uploads.insert(upload.file.key.clone(), upload);
    }

    /// Uses up an upload key (KTB-151); unknown keys do nothing.
    pub fn take_upload(&mut self, key: &str) {
        if let Some(upload) = self.state.uploads.remove(key) {
            codec::used_upload(&mut self.ops, key);
            self.undo.push(Undo::UploadTaken { upload });
        }
    }

    /// Adds an app or replaces its definition; existing records move to the new form. The error is the code of a
    /// unique field whose values collide.
    pub fn set_app(&mut self, app: App) -> Result<(), String> {
        let id = app.id;
        let old = self.state.apps.remove(&id);
        let table = match &old {
            None => Table::new(&app.form),
            Some(state) => match state.table.copied().migrate(&state.app.form, &app.form) {
                Ok(table) => table,
                Err(code) => {
                    self.state.apps.extend(old.map(|state| (id, state)));
                    return Err(code);
                }
            },
        };
        let touched: Vec<u64> = table.range(0..=u64::MAX).map(|(record, _)| record).collect();
        self.touched
            .extend(touched.into_iter().map(|record| (id, record)));
        codec::app(&mut self.ops, &file::entry(&app));
        codec::form(&mut self.ops, id, &app.form);
        self.undo.push(Undo::App { id, old });
        self.state.apps.insert(
            id,
            AppState {
                app: Arc::new(app),
                table,
                from_api: true,
            },
        );
        Ok(())
    }

    /// Stores changed settings that are not deployed yet.
    pub fn set_preview(&mut self, entry: AppEntry) {
        let id = entry.id;
        codec::preview(&mut self.ops, &entry);
        let old = self.state.previews.insert(id, entry);
        self.undo.push(Undo::Preview { id, old });
    }

    /// Forgets changed settings, after they became live.
    pub fn drop_preview(&mut self, id: u64) {
        codec::no_preview(&mut self.ops, id);
        let old = self.state.previews.remove(&id);
        self.undo.push(Undo::Preview { id, old });
    }

    /// True when something was changed.
    pub fn changed(&self) -> bool {
        !self.undo.is_empty()
    }

    /// The journal line of this transaction (without checksum and line end).
    pub fn line(&mut self) -> Vec<u8> {
        let mut ops = std::mem::take(&mut self.ops);
        codec::records(&mut ops, self.state, &self.touched);
        codec::line(self.now_ms, &ops)
    }

    /// Keeps the changes.
    pub fn finish(mut self) {
        self.finished = true;
    }

    fn roll_back(&mut self) {
        while let Some(step) = self.undo.pop() {
            match step {
                Undo::Record { app, id, old } => {
                    self.state.set_record(app, id, old);
                }
                Undo::UploadAdded { key } => {
                    self.state.uploads.remove(&key);
                }
                Undo::UploadTaken { upload } => {
                    self.state.uploads.insert(upload.file.key.clone(), upload);
                }
                Undo::App { id, old } => {
                    self.state.apps.remove(&id);
                    self.state.apps.extend(old.map(|state| (id, state)));
                }
                Undo::Preview { id, old } => {
                    self.state.previews.remove(&id);
                    self.state.previews.extend(old.map(|entry| (id, entry)));
                }
            }
        }
    }
}

impl Drop for Tx<'_> {
    fn drop(&mut self) {
        if !self.finished {
            self.roll_back();
        }
    }
}

fn number_rows(record: &mut Record, table: &mut Table) {
    for value in &mut record.values {
        if let Value::Rows(rows) = value {
            for row in rows.iter_mut().filter(|row| row.id == 0) {
                row.id = table.next_row;
                table.next_row += 1;
            }
        }
    }
}
