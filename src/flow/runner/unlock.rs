//! `unlock` and `--force-unlock`: release everything a profile holds (RNR-55).

use serde_json::json;

use super::connection::{Connection, Use};
use super::host;
use super::job_lock;
use super::journal::{Event, Journal};
use super::local_lock::LocalLock;
use super::log_app::{Holder, LogApp};
use super::verdict::{Exit, Failure};
use crate::kintone::query;

/// Most RUNNING records that are released at once: one page.
const MAX_RECORDS: usize = 500;

/// The command `unlock`.
///
/// # Errors
/// As [`release_all`].
pub fn command(connection: &Connection) -> Result<Exit, Failure> {
    let client = connection.client(&Use::default())?;
    let log = connection.log_app(&client)?.map(|(log, _)| log);
    let journal = connection.journal(&host::uuid()?, None);
    release_all(connection, log.as_ref(), Strictness::Stop, &journal)?;
    Ok(Exit::Done)
}

/// What to do when the log app does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Strictness {
    /// `unlock`: release nothing.
    Stop,
    /// `--force-unlock`: warn and go on with the local lock.
    Warn,
}

/// Lists what is held, then releases the local lock and every RUNNING record of the profile.
///
/// # Errors
/// The log app does not answer (only under [`Strictness::Stop`]); the local lock file cannot be removed.
pub fn release_all(
    connection: &Connection,
    log: Option<&LogApp>,
    strictness: Strictness,
    journal: &Journal,
) -> Result<(), Failure> {
    let (console, profile) = (&connection.console, &connection.profile.name);
    let holders = match log.map(|log| running(log, profile)) {
        None => {
            console.warn("no log app: only the local lock is released");
            Vec::new()
        }
        Some(Ok(holders)) => holders,
        Some(Err(error)) if strictness == Strictness::Stop => return Err(error),
        Some(Err(error)) => {
            console.warn(format_args!("RUNNING records could not be listed: {error}"));
            Vec::new()
        }
    };
    console.progress(format_args!(
        "RUNNING records of the profile {profile}: {}",
        holders.len()
    ));
    for holder in &holders {
        console.progress(format_args!(
            "  {} since {} on {} ({}, record {})",
            holder.job_key, holder.started_at, holder.host, holder.script_name, holder.record_id
        ));
    }
    if LocalLock::remove_any(profile).map_err(|error| Failure::local("local lock", &error))? {
        journal.write(Event::UnlockLocal, json!({}));
        console.progress("local lock released");
    }
    let Some(log) = log else { return Ok(()) };
    for holder in &holders {
        match job_lock::recover(log, holder, None, "released by unlock", &host::user()) {
            Ok(()) => {
                journal.write(
                    Event::StaleLockRecovered,
                    json!({"jobKey": holder.job_key, "recordId": holder.record_id, "batchIdOfHolder": holder.batch_id}),
                );
                console.progress(format_args!("released {}", holder.job_key));
            }
            Err(error) if strictness == Strictness::Stop => return Err(error.into()),
            Err(error) => console.warn(format_args!("{} not released: {error}", holder.job_key)),
        }
    }
    Ok(())
}

fn running(log: &LogApp, profile: &str) -> Result<Vec<Holder>, Failure> {
    let condition = query::and(&[
        query::one_of("status", &["RUNNING"]),
        query::equals("profile", profile),
    ]);
    log.holders(&format!("{condition} limit {MAX_RECORDS}"))
        .map_err(Failure::from)
}
