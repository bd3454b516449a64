//! The whole domain in memory: apps with their records, users, uploaded files. The journal brings it back after a restart.
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::table::Table;
use crate::sandbox::app::App;
use crate::sandbox::app::field::Kind;
use crate::sandbox::app::file::{AppEntry, Directory, User};
use crate::sandbox::record::{Record, UserIndex};
use crate::sandbox::value::{FileRef, Value};

/// An app with its records.
pub struct AppState {
    /// Definition; shared, so that a handler can hold it while records change.
    pub app: Arc<App>,
    /// Records.
    pub table: Table,
    /// Defined or changed through the API: the journal holds the definition, not the apps file.
    pub from_api: bool,
}

/// An upload that no record holds yet (KTB-151).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Upload {
    /// The file; its `key` is the upload key.
    pub file: FileRef,
    /// Instant of the upload, milliseconds since 1970.
    pub uploaded_ms: i64,
}

/// Life of an upload that no record holds: three days (KTB-151).
const UPLOAD_LIFE_MS: i64 = 3 * 24 * 60 * 60 * 1_000;

impl Upload {
    /// True when the upload has vanished by `now_ms`.
    pub fn expired(&self, now_ms: i64) -> bool {
        now_ms - self.uploaded_ms > UPLOAD_LIFE_MS
    }
}

/// Everything the stand-in knows.
pub struct State {
    /// Apps by id.
    pub apps: BTreeMap<u64, AppState>,
    /// Users; the first is Administrator.
    pub users: Vec<User>,
    /// Organizations by code.
    pub organizations: BTreeMap<String, String>,
    /// Groups by code.
    pub groups: BTreeMap<String, String>,
    /// Uploads by upload key.
    pub uploads: HashMap<String, Upload>,
    /// Settings that were changed but not deployed yet, by app (KTB-162).
    pub previews: BTreeMap<u64, AppEntry>,
    /// App of every attached file, by download key.
    pub attached: HashMap<String, (u64, FileRef)>,
}

impl State {
    /// A state without records.
    pub fn new(directory: Directory) -> Self {
        let apps = directory
            .apps
            .into_iter()
            .map(|(id, app)| {
                let table = Table::new(&app.form);
                (
                    id,
                    AppState {
                        app: Arc::new(app),
                        table,
                        from_api: false,
                    },
                )
            })
            .collect();
        Self {
            apps,
            users: directory.users,
            organizations: directory.organizations,
            groups: directory.groups,
            uploads: HashMap::new(),
            previews: BTreeMap::new(),
            attached: HashMap::new(),
        }
    }

    /// The id that the next new app gets.
    pub fn next_app_id(&self) -> u64 {
        let last = |id: Option<&u64>| id.copied().unwrap_or(0);
        last(self.apps.keys().next_back()).max(last(self.previews.keys().next_back())) + 1
    }

    /// The index of a user; a code that the apps file no longer names is remembered without a password.
    pub fn user_index(&mut self, code: &str) -> UserIndex {
        if let Some(index) = self.users.iter().position(|user| user.code == code) {
            return index as UserIndex;
        }
        if self.users.len() >= usize::from(UserIndex::MAX) {
            return 0;
        }
        self.users.push(User {
            code: code.to_owned(),
            name: code.to_owned(),
            password: None,
            zone: jiff::tz::TimeZone::UTC,
            language: None,
            administrator: false,
        });
        (self.users.len() - 1) as UserIndex
    }

    /// The user of an index.
    pub fn user(&self, index: UserIndex) -> &User {
        self.users.get(usize::from(index)).unwrap_or(&self.users[0])
    }

    /// Sets or removes a record and keeps the list of attached files; answers the former record.
    pub fn set_record(&mut self, app: u64, id: u64, record: Option<Record>) -> Option<Record> {
        let state = self.apps.get_mut(&app)?;
        let has_files = has_files(&state.app);
        let files = if has_files {
            record.as_ref().map(files_of).unwrap_or_default()
        } else {
            Vec::new()
        };
        let old = match record {
            Some(record) => state.table.put(id, record),
            None => state.table.remove(id),
        };
        if has_files {
            for file in old.as_ref().map(files_of).unwrap_or_default() {
                self.attached.remove(&file.key);
            }
            for file in files {
                self.attached.insert(file.key.clone(), (app, file));
            }
        }
        old
    }
}

fn has_files(app: &App) -> bool {
    let is_file = |kind: Kind| kind == Kind::File;
    app.form
        .fields
        .iter()
        .any(|field| is_file(field.kind) || field.cells.iter().any(|cell| is_file(cell.kind)))
}

/// All files of a record, those of table rows too.
pub fn files_of(record: &Record) -> Vec<FileRef> {
    let in_rows = record
        .values
        .iter()
        .flat_map(Value::rows)
        .flat_map(|row| row.cells.iter());
    record
        .values
        .iter()
        .chain(in_rows)
        .flat_map(Value::files)
        .cloned()
        .collect()
}
