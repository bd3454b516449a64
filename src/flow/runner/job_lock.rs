//! The second of two locks: a RUNNING record in the log app whose `job_key` no other record may have (RNR-51..54).

use jiff::{SignedDuration, Timestamp};
use serde_json::json;

use super::console::Console;
use super::host;
use super::journal::{Event, Journal};
use super::log_app::{Holder, LogApp, LogRecord};
use super::log_fields::JOB_KEY;
use super::verdict::{Failure, JobStatus, ResultCode};
use crate::flow::calendar::instant_seconds;
use crate::flow::sql::message::say;
use crate::kintone::{self, ErrorKind, Outcome};

/// Longest job key, in UTF-16 units: what a unique text field of kintone holds (KTB-174).
const MAX_KEY_UNITS: usize = 64;
/// Job name of the batch lock.
const BATCH_NAME: &str = "__batch__";
/// kintone stores the start of a lock without its seconds, so that it looks up to a minute older than it is (KTB-114).
const MINUTE: i64 = 60;
/// How often a lock POST whose answer was lost is decided and sent again.
const LOST_ANSWERS: u32 = 3;

/// The lock key of a job (RNR-44).
///
/// # Errors
/// `:` in either part, the reserved name, or a key too long for the log app.
pub fn job_key(profile: &str, job: &str) -> Result<String, Failure> {
    if job == BATCH_NAME {
        return Err(Failure::invalid(say!(
            "the job name {BATCH_NAME} is reserved",
            "ジョブ名 {BATCH_NAME} は予約されています"
        )));
    }
    key(profile, job, "job name")
}

/// The lock key of run-all.
///
/// # Errors
/// As [`job_key`].
pub fn batch_key(profile: &str) -> Result<String, Failure> {
    key(profile, BATCH_NAME, "batch")
}

fn key(profile: &str, name: &str, what: &str) -> Result<String, Failure> {
    for (part, value) in [("profile name", profile), (what, name)] {
        if value.contains(':') {
            return Err(Failure::invalid(say!(
                "the {part} {value:?} contains ':', which separates the lock key",
                "{value:?} は ':' を含みます。':' はロックキーの区切りなので使えません"
            )));
        }
    }
    let key = format!("{profile}:{name}");
    let units = key.encode_utf16().count();
    if units > MAX_KEY_UNITS {
        return Err(Failure::invalid(say!(
            "the lock key {key:?} has {units} characters, at most {MAX_KEY_UNITS} fit: shorten the {what}",
            "ロックキー {key:?} は {units} 文字で、上限 {MAX_KEY_UNITS} 文字を超えています。名前を短くしてください"
        )));
    }
    Ok(key)
}

/// A lock that is held: the RUNNING record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HeldLock {
    /// Its record.
    pub record_id: u64,
    /// Revision of the record after the insert.
    pub revision: u64,
    /// Its key, to be moved to `job_key_done` at the end.
    pub job_key: String,
}

/// Takes the lock by inserting `record`, which must carry `job_key`, `status` = RUNNING and `batch_id`.
///
/// # Errors
/// [`ResultCode::LockConflict`] naming the holder; [`ResultCode::LockUnavailable`] when that cannot be decided.
pub fn acquire(
    log: &LogApp,
    record: &LogRecord,
    now: Timestamp,
    stale_after_sec: u64,
    journal: &Journal,
    console: &Console,
) -> Result<HeldLock, Failure> {
    let field = |code| record.get(code).unwrap_or_default();
    let (job_key, batch_id) = (field(JOB_KEY).to_owned(), field("batch_id").to_owned());
    let look = || {
        log.holder(&job_key)
            .map_err(|error| unavailable(&job_key, &error))
    };
    if let Some(holder) = look()? {
        if !is_stale(&holder, now, stale_after_sec) {
            return Err(conflict(&holder));
        }
        let (since, host) = (&holder.started_at, &holder.host);
        console.warn(say!(
            "the lock {job_key} has been held since {since} by {host}, longer than batchTimeoutSec ({stale_after_sec} s): recovered as stale",
            "ロック {job_key} は {since} から {host} が batchTimeoutSec ({stale_after_sec} 秒) を超えて保持していたため、期限切れとして回収しました"
        ));
        match recover(
            log,
            &holder,
            Some(holder.revision),
            "stale lock recovered by the next run",
            &batch_id,
        ) {
            Ok(()) => {}
            // A holder that still writes its record is alive.
            Err(error) if error.kind() == ErrorKind::RevisionConflict => return Err(conflict(&holder)),
            Err(error) => return Err(unavailable(&job_key, &error)),
        }
        journal.write(
            Event::StaleLockRecovered,
            json!({"jobKey": job_key, "recordId": holder.record_id, "batchIdOfHolder": holder.batch_id}),
        );
    }
    let mut last = None;
    for _ in 0..LOST_ANSWERS {
        let error = match log.insert(record) {
            Ok(added) => {
                return Ok(HeldLock {
                    record_id: added.id,
                    revision: added.revision,
                    job_key,
                });
            }
            Err(error) => error,
        };
        // Refused (400: the key is unique) or the answer was lost: the record itself tells who holds the lock.
        let refused = error.outcome() == Outcome::NotApplied;
        if refused && error.status() != Some(400) {
            return Err(unavailable(&job_key, &error));
        }
        match look()? {
            Some(holder) if holder.batch_id == batch_id => {
                return Ok(HeldLock {
                    record_id: holder.record_id,
                    revision: holder.revision,
                    job_key,
                });
            }
            Some(holder) => return Err(conflict(&holder)),
            None if refused => return Err(unavailable(&job_key, &error)),
            None => last = Some(error),
        }
    }
    match last {
        Some(error) => Err(unavailable(&job_key, &error)),
        None => Err(Failure::new(
            ResultCode::LockUnavailable,
            say!(
                "the lock {job_key} could not be taken",
                "ロック {job_key} を取得できませんでした"
            ),
        )),
    }
}

/// Ends a RUNNING record as TIMEOUT and clears its key (RNR-54), only at the given revision if there is one.
///
/// # Errors
/// As the client reports.
pub fn recover(
    log: &LogApp,
    holder: &Holder,
    revision: Option<u64>,
    note: &str,
    by: &str,
) -> Result<(), kintone::Error> {
    end(log, holder, revision, JobStatus::Timeout, note, by)
}

/// Ends a RUNNING record in a status and clears its key, only at the given revision if there is one.
///
/// # Errors
/// As the client reports.
pub fn end(
    log: &LogApp,
    holder: &Holder,
    revision: Option<u64>,
    status: JobStatus,
    note: &str,
    by: &str,
) -> Result<(), kintone::Error> {
    let mut record = LogRecord::new();
    record
        .set("status", status.word())
        .set(JOB_KEY, "")
        .set("job_key_done", &holder.job_key)
        .set("finished_at", instant_seconds(host::now()))
        .set("log_detail", format!("LOCK_RECOVERY {note} ({by})"));
    log.update(holder.record_id, revision, &record).map(drop)
}

fn is_stale(holder: &Holder, now: Timestamp, stale_after_sec: u64) -> bool {
    let seconds = i64::try_from(stale_after_sec)
        .unwrap_or(i64::MAX)
        .saturating_add(MINUTE);
    let limit = SignedDuration::from_secs(seconds);
    holder
        .started_at
        .parse::<Timestamp>()
        .is_ok_and(|started| now.duration_since(started) > limit)
}

/// Another execution holds the lock: who, and how it is freed.
pub fn conflict(holder: &Holder) -> Failure {
    let Holder {
        job_key,
        started_at: since,
        host,
        script_name: script,
        record_id: record,
        ..
    } = holder;
    Failure::new(
        ResultCode::LockConflict,
        say!(
            "the lock {job_key} is held since {since} by {host} ({script}, record {record}); nothing was run. Wait for it; if it is certain that it does not run any more, free the lock with `ksql-flow unlock` or `ksql-flow force-unlock-job`",
            "ロック {job_key} は {since} から {host} が保持しています ({script}、レコード {record})。何も実行していません。終了を待つか、もう動いていないことが確かなら `ksql-flow unlock` か `ksql-flow force-unlock-job` で解放してください"
        ),
    )
}

fn unavailable(job_key: &str, error: &kintone::Error) -> Failure {
    Failure::new(
        ResultCode::LockUnavailable,
        say!(
            "the lock {job_key} could not be established",
            "ロック {job_key} を確認できませんでした"
        )
        .joined(": ", &error.into()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_fit_the_unique_field() {
        assert_eq!(job_key("prod", "月次").expect("key"), "prod:月次");
        assert_eq!(batch_key("prod").expect("key"), "prod:__batch__");
        for (profile, job, message) in [
            ("a:b", "j", "the profile name \"a:b\" contains ':'"),
            ("p", "a:b", "the job name \"a:b\" contains ':'"),
            ("p", "__batch__", "the job name __batch__ is reserved"),
        ] {
            let failure = job_key(profile, job).expect_err(message);
            assert!(failure.to_string().starts_with(message), "{failure}");
        }
        assert!(job_key("p", &"x".repeat(62)).is_ok());
        assert!(job_key("p", &"x".repeat(63)).is_err());
        assert!(job_key("p", &"😀".repeat(31)).is_ok() && job_key("p", &"😀".repeat(32)).is_err());
    }

    #[test]
    fn a_lock_is_stale_only_after_the_batch_time_limit() {
        let mut holder = Holder {
            record_id: 1,
            revision: 1,
            job_key: "p:j".to_owned(),
            status: "RUNNING".to_owned(),
            batch_id: "b".to_owned(),
            started_at: "2026-08-01T00:00:00Z".to_owned(),
            host: "h".to_owned(),
            script_name: "j.sql".to_owned(),
            log_detail: String::new(),
        };
        let at = |text: &str| text.parse::<Timestamp>().expect("instant");
        assert!(!is_stale(&holder, at("2026-08-01T01:01:00Z"), 3600));
        assert!(is_stale(&holder, at("2026-08-01T01:01:01Z"), 3600));
        holder.started_at = String::new();
        assert!(
            !is_stale(&holder, at("2027-01-01T00:00:00Z"), 3600),
            "unknown age is no age"
        );
    }
}
