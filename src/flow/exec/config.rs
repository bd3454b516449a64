//! What a run is configured with, and whom it tells.

use std::fmt;
use std::sync::Arc;

use crate::flow::apps::{AppId, AppMap, Written};
use crate::flow::calendar::AsOf;
use crate::flow::csv::Encoding;
use crate::flow::sql::ast::ImportFormat;

use super::Interrupt;

/// Rows that a statement may read when nothing is configured (LNG-180).
pub const DEFAULT_MAX_READ_ROWS: u64 = 10_000;
/// Rows of a temp table when nothing is configured (LNG-11).
pub const DEFAULT_MAX_TEMP_ROWS: u64 = 10_000;
/// Requests in flight when nothing is configured.
pub const DEFAULT_REQUESTS_IN_FLIGHT: usize = 4;
/// The most requests in flight; kintone serves 100 of a whole domain at once (KTB-09).
pub const MAX_REQUESTS_IN_FLIGHT: usize = 10;

/// Configuration of a session.
#[derive(Clone, Debug)]
pub struct Config {
    /// The instant of `@` functions, with the profile's zone.
    pub as_of: AsOf,
    /// The profile's logical names.
    pub apps: AppMap,
    /// `limits.maxReadRows`; `None` = [`DEFAULT_MAX_READ_ROWS`], to which scans that only aggregate are not held.
    pub max_read_rows: Option<u64>,
    /// `limits.maxTempRows`; `None` = [`DEFAULT_MAX_TEMP_ROWS`].
    pub max_temp_rows: Option<u64>,
    /// Requests of one statement in flight at once, reads and writes alike, 1 to [`MAX_REQUESTS_IN_FLIGHT`].
    pub requests_in_flight: usize,
    /// UPSERT may use kintone's own upsert, which needs the right to add records (LNG-143).
    pub native_upsert: bool,
    /// Nothing is written; DML is previewed with so many samples (RNR-100).
    pub dry_run: Option<DryRun>,
    /// Files for IMPORT.
    pub imports: Vec<ImportSource>,
    /// Send nothing of a WHERE to kintone: a check that results do not depend on push-down.
    pub push_down: bool,
}

impl Config {
    /// The defaults.
    pub fn new(as_of: AsOf, apps: AppMap) -> Self {
        Self {
            as_of,
            apps,
            max_read_rows: None,
            max_temp_rows: None,
            requests_in_flight: DEFAULT_REQUESTS_IN_FLIGHT,
            native_upsert: true,
            dry_run: None,
            imports: Vec::new(),
            push_down: true,
        }
    }

    /// Requests in flight at once, within the bounds.
    pub(in crate::flow) fn width(&self) -> usize {
        self.requests_in_flight.clamp(1, MAX_REQUESTS_IN_FLIGHT)
    }
}

/// A file that the command line supplies for IMPORT (RNR-130).
#[derive(Clone, PartialEq, Eq)]
pub struct ImportSource {
    /// The name that the statement uses.
    pub name: String,
    /// Format of the bytes.
    pub format: ImportFormat,
    /// The whole file, at most 10 MiB.
    pub bytes: Arc<[u8]>,
}

impl fmt::Debug for ImportSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ImportSource")
            .field("name", &self.name)
            .field("format", &self.format)
            .field("bytes", &self.bytes.len())
            .finish()
    }
}

/// A file that an IMPORT could decode; part of its receipt (RNR-131).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Imported {
    /// Name of the source.
    pub name: String,
    /// Records.
    pub rows: u64,
    /// Encoding of the text.
    pub encoding: Encoding,
}

/// How DML is previewed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DryRun {
    /// The most samples of one statement.
    pub samples: usize,
}

/// One write request that kintone accepted (RNR-72).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChunkEvent {
    /// The statement, from 0.
    pub statement: usize,
    /// The app written to.
    pub app: AppId,
    /// INSERT, UPDATE, UPSERT or DELETE: the kind of request.
    pub operation: &'static str,
    /// Records in the request.
    pub records: usize,
    /// Number of the chunk in its statement, from 1, in the order of the source. Chunks in flight together may be told
    /// of in another order.
    pub chunk: u64,
    /// What it did.
    pub written: Written,
    /// The single key field of an UPSERT.
    pub key_field: Option<String>,
    /// Key value of the chunk's last record.
    pub last_key: Option<String>,
    /// By how many chunks the statement's unbroken row of written chunks has grown: 0 while an earlier one is missing.
    pub unbroken: u64,
    /// Key value of the last record of that row, if it has grown.
    pub unbroken_key: Option<String>,
}

/// Follows a run from outside.
pub trait Observer: Sync {
    /// A reason to stop before the next request. Asked by every thread that is about to send one.
    fn interrupted(&self) -> Option<Interrupt> {
        None
    }

    /// A chunk was written. Called from the thread that runs statements; other chunks may be in flight.
    fn chunk_written(&self, event: &ChunkEvent) {
        let _ = event;
    }
}

/// Nobody watches.
#[derive(Clone, Copy, Debug)]
pub struct Unobserved;

impl Observer for Unobserved {}
