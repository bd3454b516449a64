//! The journal file: one checksummed line per accepted request, appended and flushed to disk before the answer goes out.
//!
//! Why a log and a state in memory, not a database: the stand-in must survive `kill -9` at any instant without a lost or a
//! half-applied write, and be readable by people who look for the reason of a failed test. A line is the unit of
//! atomicity: a bulkRequest over several apps is one line. A last line without its line end is a write that was never
//! answered; it is cut off at the next start. A damaged line anywhere else is refused, never skipped.
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::codec;
use super::decode::Loader;
use super::state::State;

/// Name of the journal in the data directory.
pub const FILE_NAME: &str = "journal.log";
const NEW_NAME: &str = "journal.new";
const CHECKSUM_LEN: usize = 16;
/// Records per line when a journal is written anew.
const CHUNK: usize = 500;
/// A journal is written anew when it holds this many times more record versions than live records.
const WASTE_FACTOR: u64 = 2;
/// Below this many record versions nothing is gained.
const WASTE_FLOOR: u64 = 1_000;

/// Why the data directory cannot be used.
#[derive(Debug)]
pub enum JournalError {
    /// The file system refused.
    Io(PathBuf, io::Error),
    /// A line other than the last is damaged, or holds something that the apps file does not fit.
    Damaged(PathBuf, u64, String),
    /// Another process uses the data directory.
    InUse(PathBuf),
}

impl fmt::Display for JournalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(path, error) => write!(f, "{}: {error}", path.display()),
            Self::Damaged(path, line, what) => write!(f, "{} line {line}: {what}", path.display()),
            Self::InUse(path) => write!(f, "{}: another process uses this data directory", path.display()),
        }
    }
}

/// The open journal.
pub struct Journal {
    file: File,
    len: u64,
    broken: bool,
}

/// FNV-1a, 64 bits: finds torn and damaged lines; no protection against people.
fn checksum(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// The line as written: checksum, space, JSON, line end.
pub fn sealed(json: &[u8]) -> Vec<u8> {
    let mut line = format!("{:016x} ", checksum(json)).into_bytes();
    line.extend_from_slice(json);
    line.push(b'\n');
    line
}

/// The JSON of a complete line, if its checksum is right.
fn unsealed(line: &[u8]) -> Option<&[u8]> {
    let body = line.strip_suffix(b"\n")?;
    let sum = std::str::from_utf8(body.get(..CHECKSUM_LEN)?).ok()?;
    let json = body.get(CHECKSUM_LEN..)?.strip_prefix(b" ")?;
    (u64::from_str_radix(sum, 16).ok()? == checksum(json)).then_some(json)
}

impl Journal {
    /// Opens the journal of a data directory, makes the state from it, cuts off a torn last line and writes the file anew
    /// when most of it is history.
    pub fn open(dir: &Path, state: &mut State) -> Result<Self, JournalError> {
        std::fs::create_dir_all(dir).map_err(|error| JournalError::Io(dir.to_owned(), error))?;
        let path = dir.join(FILE_NAME);
        let io = |error| JournalError::Io(path.clone(), error);
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .create(true)
            .open(&path)
            .map_err(io)?;
        if file.try_lock().is_err() {
            return Err(JournalError::InUse(path));
        }
        let mut loader = Loader::new(state);
        let len = replay(&file, &path, &mut loader)?;
        let total = file.metadata().map_err(io)?.len();
        if len < total {
            file.set_len(len).map_err(io)?;
            file.sync_all().map_err(io)?;
        }
        let operations = loader.operations;
        let shapes = loader.into_shapes();
        let live: u64 = state.apps.values().map(|app| app.table.count() as u64).sum();
        if operations > WASTE_FLOOR && operations > live.saturating_mul(WASTE_FACTOR) {
            return Self::rewritten(dir, state);
        }
        let mut journal = Self {
            file,
            len,
            broken: false,
        };
        let mut ops = Vec::new();
        for (id, app) in &state.apps {
            if shapes.get(id) != Some(&codec::shape(&app.app.form)) {
                codec::form(&mut ops, *id, &app.app.form);
            }
        }
        if !ops.is_empty() {
            journal.append(&codec::line(0, &ops)).map_err(io)?;
        }
        sync_dir(dir)?;
        Ok(journal)
    }

    /// Writes the state into a new file and puts it in the place of the old one.
    fn rewritten(dir: &Path, state: &State) -> Result<Self, JournalError> {
        let new = dir.join(NEW_NAME);
        let io = |error| JournalError::Io(new.clone(), error);
        let file = File::create(&new).map_err(io)?;
        let mut out = BufWriter::new(&file);
        write_state(&mut out, state).map_err(io)?;
        out.flush().map_err(io)?;
        drop(out);
        file.sync_all().map_err(io)?;
        let path = dir.join(FILE_NAME);
        std::fs::rename(&new, &path).map_err(io)?;
        sync_dir(dir)?;
        let io = |error| JournalError::Io(path.clone(), error);
        let file = OpenOptions::new()
            .read(true)
            .append(true)
            .open(&path)
            .map_err(io)?;
        if file.try_lock().is_err() {
            return Err(JournalError::InUse(path));
        }
        let len = file.metadata().map_err(io)?.len();
        Ok(Self {
            file,
            len,
            broken: false,
        })
    }

    /// Appends one line and waits until it is on disk. After an error the line is not part of the journal; when even
    /// that cannot be made sure, every later call fails too.
    pub fn append(&mut self, json: &[u8]) -> io::Result<()> {
        if self.broken {
            return Err(io::Error::other(
                "an earlier write to the journal failed; restart the sandbox",
            ));
        }
        let line = sealed(json);
        match self.file.write_all(&line).and_then(|()| self.file.sync_data()) {
            Ok(()) => {
                self.len += line.len() as u64;
                Ok(())
            }
            Err(error) => {
                let undone = self.file.set_len(self.len).and_then(|()| self.file.sync_data());
                self.broken = undone.is_err();
                Err(error)
            }
        }
    }
}

/// Applies all complete lines; answers the length of the good part.
fn replay(file: &File, path: &Path, loader: &mut Loader<'_>) -> Result<u64, JournalError> {
    let mut reader = BufReader::with_capacity(1 << 20, file);
    let mut good = 0;
    let mut number = 0;
    let mut line = Vec::new();
    loop {
        line.clear();
        let read = reader
            .read_until(b'\n', &mut line)
            .map_err(|error| JournalError::Io(path.to_owned(), error))?;
        if read == 0 {
            return Ok(good);
        }
        number += 1;
        let damaged = |what: String| JournalError::Damaged(path.to_owned(), number, what);
        let Some(json) = unsealed(&line) else {
            let more = reader
                .fill_buf()
                .map_err(|error| JournalError::Io(path.to_owned(), error))?;
            if more.is_empty() {
                return Ok(good);
            }
            return Err(damaged("the line is damaged".to_owned()));
        };
        loader.apply(json).map_err(|error| damaged(error.to_string()))?;
        good += read as u64;
    }
}

/// The whole state as journal lines.
pub(super) fn write_state(out: &mut impl Write, state: &State) -> io::Result<()> {
    let mut ops = Vec::new();
    for app in state.apps.values().filter(|app| app.from_api) {
        codec::app(&mut ops, &crate::sandbox::app::file::entry(&app.app));
    }
    for (id, app) in &state.apps {
        codec::form(&mut ops, *id, &app.app.form);
        codec::next_ids(&mut ops, *id, app.table.next_id, app.table.next_row);
    }
    for entry in state.previews.values() {
        codec::preview(&mut ops, entry);
    }
    for upload in state.uploads.values() {
        codec::upload(&mut ops, upload);
    }
    out.write_all(&sealed(&codec::line(0, &ops)))?;
    for (id, app) in &state.apps {
        let mut rows = Vec::new();
        let mut count = 0;
        for (record_id, record) in app.table.range(0..=u64::MAX) {
            let code = |index| state.user(index).code.as_str();
            codec::row(
                &mut rows,
                record_id,
                record,
                code(record.creator),
                code(record.modifier),
            );
            count += 1;
            if count == CHUNK {
                write_rows(out, *id, &mut rows)?;
                count = 0;
            }
        }
        write_rows(out, *id, &mut rows)?;
    }
    Ok(())
}

fn write_rows(out: &mut impl Write, app: u64, rows: &mut Vec<u8>) -> io::Result<()> {
    if rows.is_empty() {
        return Ok(());
    }
    let mut ops = Vec::new();
    codec::put(&mut ops, app, rows);
    rows.clear();
    out.write_all(&sealed(&codec::line(0, &ops)))
}

/// Makes a rename or a new file in `dir` durable.
pub fn sync_dir(dir: &Path) -> Result<(), JournalError> {
    File::open(dir)
        .and_then(|dir| dir.sync_all())
        .map_err(|error| JournalError::Io(dir.to_owned(), error))
}
