//! Contents of uploaded files: one file each in `files/`, on disk before the upload is answered.
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use super::journal::{JournalError, sync_dir};
use super::state::State;

/// The directory of file contents.
pub struct Blobs {
    dir: PathBuf,
}

impl Blobs {
    /// Opens the directory and removes contents that nothing refers to any more.
    pub fn open(data: &Path, state: &State) -> Result<Self, JournalError> {
        let dir = data.join("files");
        let io = |error| JournalError::Io(dir.clone(), error);
        fs::create_dir_all(&dir).map_err(io)?;
        sync_dir(data)?;
        let blobs = Self { dir: dir.clone() };
        let known = referenced(state);
        for entry in fs::read_dir(&dir).map_err(io)? {
            let entry = entry.map_err(io)?;
            let name = entry.file_name();
            if name.to_str().is_none_or(|name| !known.contains(name)) {
                fs::remove_file(entry.path()).map_err(io)?;
            }
        }
        Ok(blobs)
    }

    /// Stores a content under a new name.
    pub fn put(&self, name: &str, content: &[u8]) -> io::Result<()> {
        let mut file = File::create_new(self.dir.join(name))?;
        file.write_all(content)?;
        file.sync_all()?;
        File::open(&self.dir)?.sync_all()
    }

    /// Reads a content.
    pub fn get(&self, name: &str) -> io::Result<Vec<u8>> {
        fs::read(self.dir.join(name))
    }
}

fn referenced(state: &State) -> HashSet<String> {
    let uploads = state.uploads.values().map(|upload| upload.file.blob.clone());
    let attached = state.attached.values().map(|(_, file)| file.blob.clone());
    uploads.chain(attached).collect()
}
