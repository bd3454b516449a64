//! `unlock` and `--force-unlock`: release everything a profile holds (RNR-55).

use serde_json::json;

use super::connection::{Connection, Use};
use super::host;
use super::job_lock;
use super::journal::{Event, Journal};
use super::local_lock::LocalLock;
use super::log_app::{Holder, LogApp};
use super::verdict::{Exit, Failure};
use crate::flow::sql::message::{Language, say};
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
            console.warn(say!(
                "no log app: only the local lock is released",
                "ログアプリがありません。ローカルロックだけを解放します"
            ));
            Vec::new()
        }
        Some(Ok(holders)) => holders,
        Some(Err(error)) if strictness == Strictness::Stop => return Err(error),
        Some(Err(error)) => {
            console.warn(error.message.put(|language, error| match language {
                Language::English => format!("RUNNING records could not be listed: {error}"),
                Language::Japanese => format!("RUNNING レコードを一覧できません: {error}"),
            }));
            Vec::new()
        }
    };
    let count = holders.len();
    console.progress(say!(
        "RUNNING records of the profile {profile}: {count}",
        "プロファイル {profile} の RUNNING レコード: {count}"
    ));
    for holder in &holders {
        let (key, since, host) = (&holder.job_key, &holder.started_at, &holder.host);
        let (script, record) = (&holder.script_name, holder.record_id);
        console.progress(say!(
            "  {key} since {since} on {host} ({script}, record {record})",
            "  {key} {since} から {host} ({script}、レコード {record})"
        ));
    }
    if LocalLock::remove_any(profile).map_err(|error| Failure::local("local lock", &error))? {
        journal.write(Event::UnlockLocal, json!({}));
        console.progress(say!("local lock released", "ローカルロックを解放しました"));
    }
    let Some(log) = log else { return Ok(()) };
    for holder in &holders {
        match job_lock::recover(log, holder, None, "released by unlock", &host::user()) {
            Ok(()) => {
                journal.write(
                    Event::StaleLockRecovered,
                    json!({"jobKey": holder.job_key, "recordId": holder.record_id, "batchIdOfHolder": holder.batch_id}),
                );
                let key = &holder.job_key;
                console.progress(say!("released {key}", "{key} を解放しました"));
            }
            Err(error) if strictness == Strictness::Stop => return Err(error.into()),
            Err(error) => {
                let key = &holder.job_key;
                let what = say!("{key} not released", "{key} を解放できません");
                console.warn(what.joined(": ", &(&error).into()));
            }
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
