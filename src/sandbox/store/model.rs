//! Property tests of storage: whatever happens, the state after a restart is the state after the last whole line; a
//! refused request leaves no trace; indexes never drift from the records.
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use proptest::prelude::*;
use serde_json::json;

use super::journal::{FILE_NAME, Journal, write_state};
use super::state::{State, Upload};
use super::table::{Table, unique_key};
use super::tx::Tx;
use crate::sandbox::app::file::{AppsFile, check};
use crate::sandbox::record::Record;
use crate::sandbox::value::{FileRef, Row, Text, Value};

const APPS: [u64; 2] = [1, 2];
const UNIQUE_SLOT: usize = 1;

/// A temporary directory.
struct Dir(PathBuf);

impl Dir {
    fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("sandbox-model-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("temporary directory");
        Self(path)
    }
}

impl Drop for Dir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Two apps of one form. Slots are in the order of the codes: check, key, num, rows.
fn fresh() -> State {
    let properties = json!({
        "check": { "type": "CHECK_BOX", "options": { "a": { "index": "0" }, "b": { "index": "1" } } },
        "key": { "type": "SINGLE_LINE_TEXT", "unique": true },
        "num": { "type": "NUMBER" },
        "rows": { "type": "SUBTABLE", "fields": { "cell": { "type": "MULTI_LINE_TEXT" }, "files": { "type": "FILE" } } },
    });
    let apps = APPS.map(|id| json!({ "id": id, "name": "a", "properties": properties }));
    let file: AppsFile = serde_json::from_value(json!({ "apps": apps })).expect("apps file");
    State::new(check(file).expect("apps"))
}

/// One step of a request.
#[derive(Clone, Debug)]
enum Step {
    Insert {
        app: u64,
        key: u8,
        text: String,
        checked: bool,
        rows: usize,
    },
    Update {
        app: u64,
        pick: usize,
        text: String,
    },
    Delete {
        app: u64,
        pick: usize,
    },
    Upload {
        name: String,
    },
    UseUpload {
        app: u64,
    },
}

/// One request: its steps, and whether it is refused in the end.
#[derive(Clone, Debug)]
struct Request {
    steps: Vec<Step>,
    refused: bool,
}

fn any_step() -> impl Strategy<Value = Step> {
    let app = || prop::sample::select(APPS.to_vec());
    let text = || "[a-z\"\\\\\\n日本\u{1f600}]{0,30}";
    prop_oneof![
        4 => (app(), any::<u8>(), text(), any::<bool>(), 0_usize..3)
            .prop_map(|(app, key, text, checked, rows)| Step::Insert { app, key, text, checked, rows }),
        3 => (app(), any::<usize>(), text()).prop_map(|(app, pick, text)| Step::Update { app, pick, text }),
        1 => (app(), any::<usize>()).prop_map(|(app, pick)| Step::Delete { app, pick }),
        1 => text().prop_map(|name| Step::Upload { name }),
        1 => app().prop_map(|app| Step::UseUpload { app }),
    ]
}

fn any_request() -> impl Strategy<Value = Request> {
    (prop::collection::vec(any_step(), 1..6), prop::bool::weighted(0.3))
        .prop_map(|(steps, refused)| Request { steps, refused })
}

fn pick(tx: &Tx<'_>, app: u64, pick: usize) -> Option<(u64, Record)> {
    let table = &tx.state().apps[&app].table;
    let count = table.count();
    let chosen = table.range(0..=u64::MAX).nth(pick.checked_rem(count)?)?;
    Some((chosen.0, chosen.1.clone()))
}

fn row(text: &str, files: Value) -> Row {
    Row {
        id: 0,
        cells: vec![Value::text(text), files].into(),
    }
}

fn perform(tx: &mut Tx<'_>, step: &Step) {
    match step {
        Step::Insert {
            app,
            key,
            text,
            checked,
            rows,
        } => {
            let key = key.to_string();
            if tx.state().apps[app]
                .table
                .find_unique(UNIQUE_SLOT, &key)
                .is_some()
            {
                return;
            }
            let rows: Vec<Row> = (0..*rows).map(|_| row(text, Value::Empty)).collect();
            let check = if *checked {
                Value::list(vec![Text::new("a"), Text::new("b")])
            } else {
                Value::Empty
            };
            let rows = if rows.is_empty() {
                Value::Empty
            } else {
                Value::Rows(rows.into())
            };
            let values = vec![check, Value::text(&key), Value::text("1.50"), rows];
            let record = Record {
                revision: 1,
                created: 5,
                updated: 6,
                creator: 0,
                modifier: 0,
                values: values.into(),
            };
            tx.insert(*app, record);
        }
        Step::Update { app, pick: at, text } => {
            if let Some((id, mut record)) = pick(tx, *app, *at) {
                record.revision += 1;
                record.values[3] = Value::Rows(vec![row(text, Value::Empty)].into());
                tx.put(*app, id, record);
            }
        }
        Step::Delete { app, pick: at } => {
            if let Some((id, _)) = pick(tx, *app, *at) {
                tx.delete(*app, id);
            }
        }
        Step::Upload { name } => {
            // Real keys are random; these are as different.
            static NEXT: AtomicU32 = AtomicU32::new(0);
            let key = format!("key{:08}", NEXT.fetch_add(1, Ordering::Relaxed));
            let file = FileRef {
                key,
                blob: "blob".to_owned(),
                name: name.clone(),
                content_type: "text/plain".to_owned(),
                size: 3,
            };
            tx.add_upload(Upload { file, uploaded_ms: 7 });
        }
        Step::UseUpload { app } => {
            let Some(upload) = tx
                .state()
                .uploads
                .values()
                .min_by_key(|upload| upload.file.key.clone())
                .cloned()
            else {
                return;
            };
            tx.take_upload(&upload.file.key);
            let file = FileRef {
                key: format!("attached-{}", upload.file.key),
                ..upload.file
            };
            let rows = Value::Rows(vec![row("", Value::Files(vec![file].into()))].into());
            let values = vec![Value::Empty, Value::Empty, Value::Empty, rows];
            let record = Record {
                revision: 1,
                created: 5,
                updated: 6,
                creator: 0,
                modifier: 0,
                values: values.into(),
            };
            tx.insert(*app, record);
        }
    }
}

/// Everything a restart must bring back, in a comparable form. Ids that were given out by a refused request may be given
/// out again after a restart, so only the ids of existing records count.
fn picture(state: &State) -> (Vec<String>, Vec<String>, Vec<String>) {
    let mut bytes = Vec::new();
    write_state(&mut bytes, state).expect("memory");
    let text = String::from_utf8(bytes).expect("UTF-8");
    let records = text.lines().skip(1).map(|line| line[17..].to_owned()).collect();
    let mut uploads: Vec<String> = state.uploads.keys().cloned().collect();
    let mut attached: Vec<String> = state
        .attached
        .iter()
        .map(|(key, (app, file))| format!("{app} {key} {}", file.name))
        .collect();
    uploads.sort();
    attached.sort();
    (records, uploads, attached)
}

/// The unique index holds exactly the keys of the records.
fn assert_index(table: &Table) {
    for (id, record) in table.range(0..=u64::MAX) {
        let kind = crate::sandbox::app::field::Kind::SingleLineText;
        if let Some(key) = unique_key(kind, record.value(UNIQUE_SLOT)) {
            assert_eq!(table.find_unique(UNIQUE_SLOT, key.as_str()), Some(id));
        }
    }
    for key in 0..=u8::MAX {
        if let Some(id) = table.find_unique(UNIQUE_SLOT, &key.to_string()) {
            let holder = table.get(id).expect("an indexed record exists");
            assert_eq!(holder.value(UNIQUE_SLOT).as_text(), key.to_string());
        }
    }
}

fn opened(dir: &Path) -> (State, Journal) {
    let mut state = fresh();
    let journal = Journal::open(dir, &mut state).expect("journal");
    (state, journal)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_restart_brings_back_the_last_whole_line(
        requests in prop::collection::vec(any_request(), 1..12),
        cut in any::<prop::sample::Index>(),
    ) {
        let dir = Dir::new();
        let path = dir.0.join(FILE_NAME);
        let (mut state, mut journal) = opened(&dir.0);
        // Length of the journal and picture of the state after every accepted request.
        let length = || std::fs::metadata(&path).expect("journal").len();
        let mut history = vec![(length(), picture(&state))];
        for request in &requests {
            let before = picture(&state);
            let mut tx = Tx::begin(&mut state, 1);
            for step in &request.steps {
                perform(&mut tx, step);
            }
            if request.refused {
                drop(tx);
                prop_assert_eq!(&picture(&state), &before);
            } else {
                if tx.changed() {
                    let line = tx.line();
                    journal.append(&line).expect("append");
                }
                tx.finish();
                history.push((length(), picture(&state)));
            }
            for app in state.apps.values() {
                assert_index(&app.table);
            }
        }
        drop(journal);
        let (again, journal) = opened(&dir.0);
        prop_assert_eq!(&picture(&again), &history.last().expect("history").1);
        for app in again.apps.values() {
            assert_index(&app.table);
        }
        drop(journal);
        // A power cut after any byte: the whole lines count, the torn one does not.
        let first = history[0].0;
        let total = length();
        let at = first + cut.index((total - first + 1) as usize) as u64;
        let file = std::fs::OpenOptions::new().write(true).open(&path).expect("journal");
        file.set_len(at).expect("cut");
        drop(file);
        let (state, _journal) = opened(&dir.0);
        let expected = history.iter().rfind(|(length, _)| *length <= at).expect("first line");
        prop_assert_eq!(&picture(&state), &expected.1);
        prop_assert_eq!(length(), expected.0);
    }
}
