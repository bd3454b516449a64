//! The little of kintone that a lease needs, as a trait so that tests can lose answers at will.

use std::time::Instant;

use crate::flownet::record::{DecodeError, Lock};
use crate::kintone::{self, Added, App, BulkItem, Client, Fields, Record, query};

/// kintone as the lease sees it.
pub trait Store: Send + Sync {
    /// Sends one bulkRequest; never repeated by the store.
    fn bulk(&self, items: &[BulkItem<'_>]) -> Result<(), kintone::Error>;
    /// Inserts one record; never repeated by the store.
    fn add(&self, app: &App, fields: &Fields) -> Result<Added, kintone::Error>;
    /// Reads records; retried by the store.
    fn records(&self, app: &App, query: &str) -> Result<Vec<Record>, kintone::Error>;
    /// Reads are not retried beyond this instant.
    fn set_read_deadline(&self, deadline: Option<Instant>);
}

impl Store for Client {
    fn bulk(&self, items: &[BulkItem<'_>]) -> Result<(), kintone::Error> {
        Self::bulk(self, items).map(|_| ())
    }

    fn add(&self, app: &App, fields: &Fields) -> Result<Added, kintone::Error> {
        Self::add(self, app, fields)
    }

    fn records(&self, app: &App, query: &str) -> Result<Vec<Record>, kintone::Error> {
        Self::records(self, app, query, &[], false).map(|page| page.records)
    }

    fn set_read_deadline(&self, deadline: Option<Instant>) {
        Self::set_read_deadline(self, deadline);
    }
}

/// A read that gave no usable record.
#[derive(Debug)]
pub enum ReadError {
    /// kintone's answer, or none.
    Remote(kintone::Error),
    /// A record that cannot be understood.
    Broken(DecodeError),
}

impl std::fmt::Display for ReadError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Remote(e) => e.fmt(f),
            Self::Broken(e) => e.fmt(f),
        }
    }
}

impl std::error::Error for ReadError {}

/// Lock records with exactly one of these record keys (QRY-06, QRY-07; re-filtered, QRY-18).
pub fn lock_records(store: &dyn Store, state: &App, keys: &[&str]) -> Result<Vec<Lock>, ReadError> {
    let records = store
        .records(state, &query::one_of("record_key", keys))
        .map_err(ReadError::Remote)?;
    records
        .iter()
        .filter(|r| keys.contains(&r.text("record_key")))
        .map(|r| Lock::from_record(r).map_err(ReadError::Broken))
        .collect()
}

/// The lock of a network, whatever became of its fields.
pub fn network_lock(
    store: &dyn Store,
    state: &App,
    held_key: &str,
    lock_key: &str,
) -> Result<Vec<Lock>, kintone::Error> {
    let records = store.records(state, &Lock::condition(held_key, lock_key))?;
    Ok(records
        .iter()
        .filter(|r| Lock::is_held_by(r, held_key, lock_key))
        .map(Lock::read)
        .collect())
}

/// The lock record with this record key.
pub fn lock_record(store: &dyn Store, state: &App, key: &str) -> Result<Option<Lock>, ReadError> {
    lock_records(store, state, &[key]).map(|found| found.into_iter().next())
}
