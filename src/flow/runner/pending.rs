//! Log-app writes that failed, kept on disk and sent by the next run (RNR-64, RNR-81).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use serde::{Deserialize, Serialize};

use super::console::Console;
use super::host;
use super::log_app::{LogApp, LogRecord};
use super::verdict::Failure;
use crate::flow::calendar::instant_millis;
use crate::flow::durable_file::{self, Existing};
use crate::flow::sql::message::{Message, say};
use crate::kintone::ErrorKind;

/// Largest queued write that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// Most writes sent in one run; the rest waits for the next.
const MAX_PER_RUN: usize = 500;

/// One queued write.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    op: Operation,
    #[serde(skip_serializing_if = "Option::is_none")]
    record_id: Option<u64>,
    fields: LogRecord,
    created_at: String,
}

#[derive(Clone, Copy, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
enum Operation {
    Insert,
    Update,
}

/// What a resend did.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Resent {
    /// Writes that are now in the log app.
    pub sent: usize,
    /// Why it stopped early.
    pub stopped: Option<Message>,
}

/// The queue of one log folder.
pub struct PendingQueue {
    folder: PathBuf,
    sequence: AtomicU64,
}

impl PendingQueue {
    /// The queue below `localDir`.
    pub fn new(local_dir: &Path) -> Self {
        Self {
            folder: local_dir.join("pending"),
            sequence: AtomicU64::new(0),
        }
    }

    /// Queues an insert, or an update of a record.
    ///
    /// # Errors
    /// As the operating system reports: the write is lost then, and the caller says so.
    pub fn add(&self, record_id: Option<u64>, fields: &LogRecord) -> io::Result<()> {
        let now = host::now();
        let op = if record_id.is_some() {
            Operation::Update
        } else {
            Operation::Insert
        };
        let entry = Entry {
            op,
            record_id,
            fields: fields.clone(),
            created_at: instant_millis(now),
        };
        let name = format!(
            "{:013}-{}-{:06}.json",
            now.as_millisecond(),
            std::process::id(),
            self.sequence.fetch_add(1, Ordering::Relaxed)
        );
        fs::create_dir_all(&self.folder)?;
        let text = serde_json::to_vec(&entry).map_err(io::Error::other)?;
        durable_file::write(&self.folder.join(name), &text, Existing::Refuse)
    }

    /// Sends what is queued, oldest first, until the first failure that may pass. A write that kintone refuses for good
    /// (the record is gone, a value is not accepted) is set aside as `.refused`, so that it does not block the others.
    pub fn resend(&self, log: &LogApp, console: &Console) -> Resent {
        let mut resent = Resent::default();
        for path in self.files().into_iter().take(MAX_PER_RUN) {
            let Some(entry) = read(&path) else { continue };
            let result = match (entry.op, entry.record_id) {
                (Operation::Update, Some(id)) => log.update(id, None, &entry.fields).map(drop),
                (Operation::Insert, _) => log.insert(&entry.fields).map(drop),
                (Operation::Update, None) => continue,
            };
            match result {
                Ok(()) => resent.sent += 1,
                Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::Invalid) => {
                    let aside = path.with_extension("refused");
                    let shown = aside.display();
                    let what = say!(
                        "queued log-app write set aside as {shown}",
                        "キューのログ書き込みを {shown} に退避しました"
                    );
                    console.warn(what.joined(": ", &(&error).into()));
                    if let Err(error) = fs::rename(&path, &aside) {
                        resent.stopped = Some(Failure::local(path.display().to_string(), &error).message);
                        break;
                    }
                    continue;
                }
                Err(error) => {
                    resent.stopped = Some(Failure::from(&error).message);
                    break;
                }
            }
            if let Err(error) = fs::remove_file(&path) {
                resent.stopped = Some(Failure::local(path.display().to_string(), &error).message);
                break;
            }
        }
        resent
    }

    /// Queued files in name order, which is the order of time.
    fn files(&self) -> Vec<PathBuf> {
        let Ok(entries) = fs::read_dir(&self.folder) else {
            return Vec::new();
        };
        let mut files: Vec<PathBuf> = entries
            .filter_map(|entry| entry.ok().map(|entry| entry.path()))
            .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
            .filter(|path| {
                !path
                    .file_name()
                    .is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
            })
            .collect();
        files.sort();
        files
    }
}

/// A queued write; `None` for a file that is not one (it is left alone).
fn read(path: &Path) -> Option<Entry> {
    serde_json::from_slice(&host::read_limited(path, MAX_BYTES).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_are_queued_in_order_and_read_back() {
        let folder =
            std::env::temp_dir().join(format!("ksql-flow-pending-{}", host::uuid().expect("random")));
        let queue = PendingQueue::new(&folder);
        let mut fields = LogRecord::new();
        fields.set("status", "FAILED");
        queue.add(Some(7), &fields).expect("queued");
        queue.add(None, &fields).expect("queued");
        fs::write(folder.join("pending/junk.json"), "{").expect("junk");
        fs::write(folder.join("pending/note.txt"), "x").expect("note");
        let files = queue.files();
        assert_eq!(files.len(), 3);
        let first = read(&files[0]).expect("entry");
        assert_eq!((first.op, first.record_id), (Operation::Update, Some(7)));
        assert_eq!(first.fields.get("status"), Some("FAILED"));
        assert_eq!(read(&files[1]).expect("entry").op, Operation::Insert);
        assert!(read(&files[2]).is_none());
        fs::remove_dir_all(&folder).expect("removed");
    }
}
