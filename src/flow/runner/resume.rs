//! Where `--resume` and `--resume-batch` begin: what the last batch did, from the log app or the state file (RNR-111, RNR-112).

use std::collections::BTreeMap;

use serde_json::json;

use super::as_of::RunInstant;
use super::connection::Connection;
use super::graph::{self, Node, Recorded};
use super::job_lock;
use super::journal::Event;
use super::log_app::LogApp;
use super::state::State;
use super::verdict::{Failure, JobStatus, batch_status};
use super::workplace::Workplace;
use crate::flow::calendar::Zone;
use crate::flow::sql::message::{Message, say};
use crate::kintone::{self, ErrorKind, Record, query};

/// Most JOB records that are read: one page.
const MAX_JOBS: usize = 500;

/// A batch to resume.
#[derive(Debug, PartialEq, Eq)]
pub struct Origin {
    /// Its session id.
    pub batch_id: String,
    /// Its fixed instant, as stored.
    pub as_of: String,
    /// What it recorded, by logical job name.
    pub jobs: BTreeMap<String, Recorded>,
}

/// The newest batch of the profile: the log app's, else the state file's.
///
/// # Errors
/// Neither knows a batch.
pub fn newest(connection: &Connection, log: Option<&LogApp>, nodes: &[Node]) -> Result<Origin, Failure> {
    let profile = &connection.profile.name;
    let unread = match log.map(|log| newest_in_log(log, profile, nodes)) {
        Some(Ok(Some(origin))) => return Ok(origin),
        Some(Ok(None)) => {
            return Err(Failure::invalid(say!(
                "there is no batch of the profile {profile} to resume",
                "再開できるプロファイル {profile} のバッチがありません"
            )));
        }
        Some(Err(error)) => Some(Message::from(&error)),
        None => None,
    };
    let warn = |instead: &Message| {
        if let Some(error) = &unread {
            connection.console.warn(error.joined(" - ", instead));
        }
    };
    match State::load(profile) {
        Ok(Some(state)) => {
            warn(&say!(
                "resuming from the local state file",
                "ローカルの状態ファイルから再開します"
            ));
            Ok(from_state(state))
        }
        Ok(None) => {
            warn(&say!(
                "there is no local state file either",
                "ローカルの状態ファイルもありません"
            ));
            Err(Failure::invalid(say!(
                "there is no batch of the profile {profile} to resume",
                "再開できるプロファイル {profile} のバッチがありません"
            )))
        }
        Err(warning) => {
            connection.console.warn(warning);
            Err(Failure::invalid(say!(
                "there is no readable batch of the profile {profile} to resume",
                "読み取って再開できるプロファイル {profile} のバッチがありません"
            )))
        }
    }
}

/// The instant of a batch. kintone stores it without its seconds (KTB-114): where the state file on this host knows the
/// same batch, it knows the instant exactly.
pub fn exact_as_of(origin: &Origin, profile: &str, zone: &Zone) -> Result<RunInstant, Failure> {
    const MINUTE: usize = "2026-08-01T00:00".len();
    let stored = RunInstant::parse(&origin.as_of, zone)?;
    let Ok(Some(state)) = State::load(profile) else {
        return Ok(stored);
    };
    if state.batch_id != origin.batch_id {
        return Ok(stored);
    }
    let exact = RunInstant::parse(&state.as_of, zone)?;
    let minute = |instant: &RunInstant| instant.as_of.now().get(..MINUTE).map(str::to_owned);
    Ok(if minute(&exact) == minute(&stored) {
        exact
    } else {
        stored
    })
}

/// The batch with this id.
///
/// # Errors
/// There is not exactly one, or it belongs to another profile; the log app does not answer.
pub fn by_id(log: Option<&LogApp>, profile: &str, batch_id: &str, nodes: &[Node]) -> Result<Origin, Failure> {
    let Some(log) = log else {
        return Err(Failure::invalid(say!(
            "--resume-batch needs a log app",
            "--resume-batch にはログアプリが必要です"
        )));
    };
    let condition = query::and(&[
        query::one_of("record_type", &["BATCH"]),
        query::equals("batch_id", batch_id),
    ]);
    let records = log.find(&format!("{condition} limit 2"), &BATCH_FIELDS)?;
    match records.as_slice() {
        [record] if record.text("profile") == profile => origin(log, record, nodes).map_err(Failure::from),
        [record] => {
            let other = record.text("profile");
            Err(Failure::invalid(say!(
                "the batch {batch_id} belongs to the profile {other:?}, not {profile}",
                "バッチ {batch_id} はプロファイル {profile} ではなく {other:?} のものです"
            )))
        }
        [] => Err(Failure::invalid(say!(
            "there is no batch {batch_id}",
            "バッチ {batch_id} はありません"
        ))),
        _ => Err(Failure::invalid(say!(
            "the log app has several batches {batch_id}",
            "ログアプリにバッチ {batch_id} が複数あります"
        ))),
    }
}

const BATCH_FIELDS: [&str; 4] = ["$id", "batch_id", "profile", "as_of"];

fn newest_in_log(log: &LogApp, profile: &str, nodes: &[Node]) -> Result<Option<Origin>, kintone::Error> {
    let condition = query::and(&[
        query::one_of("record_type", &["BATCH"]),
        query::equals("profile", profile),
    ]);
    // Two batches can start within one minute, and kintone stores no seconds: the younger record decides.
    let records = log.find(
        &format!("{condition} order by started_at desc, $id desc limit 1"),
        &BATCH_FIELDS,
    )?;
    records
        .first()
        .map(|record| origin(log, record, nodes))
        .transpose()
}

fn origin(log: &LogApp, batch: &Record, nodes: &[Node]) -> Result<Origin, kintone::Error> {
    let batch_id = batch.text("batch_id").to_owned();
    let condition = query::and(&[
        query::one_of("record_type", &["JOB"]),
        query::equals("parent_batch_id", &batch_id),
    ]);
    let records = log.find(
        &format!("{condition} limit {MAX_JOBS}"),
        &["$id", "script_name", "status", "log_detail"],
    )?;
    let mut jobs = BTreeMap::new();
    for record in &records {
        let node = nodes
            .iter()
            .find(|node| node.file_name == record.text("script_name"));
        // A record that this version cannot read counts as no record: the job runs again.
        if let (Some(node), Some(status)) = (node, JobStatus::parse(record.text("status"))) {
            let filtered = graph::is_filtered(record.text("log_detail"));
            jobs.insert(node.name.clone(), Recorded { status, filtered });
        }
    }
    Ok(Origin {
        batch_id,
        as_of: batch.text("as_of").to_owned(),
        jobs,
    })
}

fn from_state(state: State) -> Origin {
    let filtered = graph::SkipReason::Filtered.to_string();
    let jobs = state
        .jobs
        .into_iter()
        .filter_map(|(name, job)| {
            let status = JobStatus::parse(&job.status)?;
            Some((
                name,
                Recorded {
                    status,
                    filtered: job.skip_reason.as_deref() == Some(&filtered),
                },
            ))
        })
        .collect();
    Origin {
        batch_id: state.batch_id,
        as_of: state.as_of,
        jobs,
    }
}

/// Ends what a batch left behind that was killed between its last job and its own end: the RUNNING record with the lock.
/// All its jobs have succeeded, so that its owner, should it still live, has nothing left to do but the same.
///
/// # Errors
/// Another batch holds the lock, or who holds it cannot be told.
pub fn close_finished(place: &Workplace<'_>, origin: &Origin, lock_key: &str) -> Result<(), Failure> {
    let Some(log) = &place.log else { return Ok(()) };
    let console = &place.connection.console;
    let holder = match log.holder(lock_key) {
        Ok(None) => return Ok(()),
        Ok(Some(holder)) => holder,
        Err(error) if place.local_only => {
            console.warn(&Failure::from(&error));
            return Ok(());
        }
        Err(error) => return Err(Failure::lock_unavailable(&Failure::from(&error).message)),
    };
    if holder.batch_id != origin.batch_id {
        return Err(job_lock::conflict(&holder));
    }
    let took_part: Vec<JobStatus> = origin
        .jobs
        .values()
        .filter(|job| !job.filtered)
        .map(|job| job.status)
        .collect();
    let (status, batch) = (batch_status(&took_part, false), &holder.batch_id);
    let note = "every job had ended well, the end of the batch was missing";
    match job_lock::end(log, &holder, Some(holder.revision), status, note, &place.batch_id) {
        Ok(()) => {}
        // Its owner, or another resume, was quicker: then the key is gone.
        Err(error) if error.kind() == ErrorKind::RevisionConflict => match log.holder(lock_key) {
            Ok(None) => return Ok(()),
            Ok(Some(holder)) => return Err(job_lock::conflict(&holder)),
            Err(error) => return Err(Failure::lock_unavailable(&Failure::from(&error).message)),
        },
        Err(error) => return Err(Failure::lock_unavailable(&Failure::from(&error).message)),
    }
    place.journal.write(
        Event::StaleLockRecovered,
        json!({"jobKey": lock_key, "recordId": holder.record_id, "batchIdOfHolder": batch}),
    );
    console.progress(say!(
        "the batch {batch} had not recorded its end: closed as {status}, lock released",
        "バッチ {batch} は終了が記録されていませんでした。{status} として閉じ、ロックを解放しました"
    ));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::runner::state::JobState;

    #[test]
    fn a_state_file_says_what_a_batch_did() {
        let mut state = State::new("p", "b", "2026-08-01T00:00:00.000Z", "", "s");
        let job = |status: &str, reason: Option<&str>| JobState {
            status: status.to_owned(),
            skip_reason: reason.map(str::to_owned),
            ..JobState::default()
        };
        state.jobs.insert("a".to_owned(), job("SUCCESS", None));
        state
            .jobs
            .insert("b".to_owned(), job("SKIPPED", Some("filtered")));
        state
            .jobs
            .insert("c".to_owned(), job("SKIPPED", Some("dependency: x")));
        state.jobs.insert("d".to_owned(), job("NONSENSE", None));
        let origin = from_state(state);
        assert_eq!(origin.batch_id, "b");
        assert_eq!(origin.jobs.len(), 3, "an unknown status is no record");
        assert!(origin.jobs["b"].filtered && !origin.jobs["c"].filtered);
    }
}
