//! Storage: the state behind one lock, the journal that makes accepted writes durable, and the file contents.
//!
//! Reads share the lock. A write holds it alone from its first check until its journal line is on disk: simple to argue
//! (what a reader sees is durable; requests are serial) and fast enough, because a flush costs a fraction of a
//! millisecond on the machines where a stand-in runs.
pub mod blob;
pub mod codec;
mod decode;
pub mod journal;
#[cfg(test)]
mod model;
pub mod state;
pub mod table;
pub mod tx;

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockReadGuard};

use super::app::App;
use super::error::{ApiError, app_not_found, storage_failed};
use blob::Blobs;
use journal::{Journal, JournalError};
use state::State;
use tx::Tx;

/// The storage of a running stand-in.
pub struct Store {
    state: RwLock<State>,
    journal: Mutex<Journal>,
    /// File contents.
    pub blobs: Blobs,
}

impl Store {
    /// Opens a data directory on top of a fresh state.
    pub fn open(dir: &Path, mut state: State) -> Result<Self, JournalError> {
        let journal = Journal::open(dir, &mut state)?;
        let blobs = Blobs::open(dir, &state)?;
        Ok(Self {
            state: RwLock::new(state),
            journal: Mutex::new(journal),
            blobs,
        })
    }

    /// The state for reading.
    pub fn read(&self) -> RwLockReadGuard<'_, State> {
        // A panic in a writer rolled its transaction back while unwinding; the state is whole.
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Runs one write request: all of its changes are on disk when this answers `Ok`, none exist when it answers `Err`.
    pub fn write<T, E: From<ApiError>>(
        &self,
        now_ms: i64,
        request: impl FnOnce(&mut Tx<'_>) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let mut tx = Tx::begin(&mut state, now_ms);
        let answer = request(&mut tx)?;
        if tx.changed() {
            let line = tx.line();
            let mut journal = self.journal.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(error) = journal.append(&line) {
                eprintln!("kintone-sandbox: error: journal: {error}");
                return Err(storage_failed().into());
            }
        }
        tx.finish();
        Ok(answer)
    }

    /// Changes an app's settings until the process ends; for the control interface.
    pub fn change_app(&self, id: u64, change: impl FnOnce(&mut App)) -> Result<(), ApiError> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let found = state.apps.get_mut(&id).ok_or_else(|| app_not_found(id))?;
        change(Arc::make_mut(&mut found.app));
        Ok(())
    }

    /// Waits for running requests and lets no other begin until the process ends.
    pub fn close(&self) {
        // Never released: the process is about to end.
        std::mem::forget(self.state.write().unwrap_or_else(PoisonError::into_inner));
    }
}
