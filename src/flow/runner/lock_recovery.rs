//! `inspect-lock` and `force-unlock-job`: one lock, seen and released with evidence by a machine (RNR-57, RNR-58).

use serde_json::{Value, json};

use super::command::Flags;
use super::connection::{Connection, Use};
use super::host;
use super::journal::Event;
use super::log_app::{Holder, LogApp, LogRecord};
use super::log_fields::JOB_KEY;
use super::verdict::{Exit, Failure, JobStatus};
use crate::flow::calendar::instant_seconds;
use crate::kintone::{ErrorKind, Outcome};

/// Prints who holds the lock; anything but RUNNING counts as unlocked.
///
/// # Errors
/// The profile has no log app.
pub fn inspect(connection: &Connection, flags: &Flags) -> Result<Exit, Failure> {
    let job_key = flags.value("--job-key").unwrap_or_default();
    let client = connection.client(&Use {
        read_only: true,
        ..Use::default()
    })?;
    let (log, _) = connection.required_log_app(&client)?;
    let looked = log.holder(job_key);
    let mut answer = json!({
        "kind": "LOCK_INSPECTION_RESULT",
        "formatVersion": 1,
        "jobKey": job_key,
        "locked": null,
        "record": null,
        "inspectedAt": instant_seconds(host::now()),
    });
    let exit = match looked {
        Ok(holder) => {
            let holder = holder.filter(|holder| holder.status == JobStatus::Running.word());
            answer["locked"] = json!(holder.is_some());
            answer["record"] = holder.map_or(Value::Null, |holder| {
                json!({
                    "recordId": holder.record_id.to_string(),
                    "batchId": holder.batch_id,
                    "startedAt": holder.started_at,
                    "host": holder.host,
                    "scriptName": holder.script_name,
                })
            });
            Exit::Done
        }
        Err(error) => {
            connection.console.error(&Failure::from(&error));
            answer["error"] = json!({"code": "LOCK_QUERY_UNAVAILABLE"});
            Exit::Runtime
        }
    };
    connection.console.machine(answer);
    Ok(exit)
}

/// How a recovery ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Recovery {
    Released,
    NotFound,
    NotRunning,
    Conflict,
    Unconfirmed,
}

impl Recovery {
    const fn word(self) -> &'static str {
        match self {
            Self::Released => "RELEASED",
            Self::NotFound => "NOT_FOUND",
            Self::NotRunning => "NOT_RUNNING",
            Self::Conflict => "CONFLICT",
            Self::Unconfirmed => "UNCONFIRMED",
        }
    }

    const fn exit(self) -> Exit {
        match self {
            Self::Released | Self::NotFound | Self::NotRunning => Exit::Done,
            Self::Conflict => Exit::Locked,
            Self::Unconfirmed => Exit::Runtime,
        }
    }
}

/// Releases the lock of one job and records why.
///
/// # Errors
/// The profile has no log app.
pub fn force_unlock(connection: &Connection, flags: &Flags) -> Result<Exit, Failure> {
    let text = |name: &str| flags.value(name).unwrap_or_default().to_owned();
    let job_key = text("--job-key");
    let executed_at = instant_seconds(host::now());
    let evidence = json!({
        "operation": "force-unlock-job",
        "jobKey": job_key,
        "reason": text("--reason"),
        "confirmedBy": text("--confirmed-by"),
        "evidenceRef": text("--evidence-ref"),
        "authenticationSubject": format!("profile:{}", connection.profile.name),
        "executedAt": executed_at,
    });
    let client = connection.client(&Use::default())?;
    let (log, _) = connection.required_log_app(&client)?;
    let audit = connection.masker.text(&format!("LOCK_RECOVERY {evidence}"));
    let (recovery, before) = release(&log, &job_key, &audit, &executed_at);
    let mut answer = json!({
        "kind": "LOCK_RECOVERY_RESULT",
        "formatVersion": 1,
        "jobKey": job_key,
        "recordId": before.as_ref().map(|holder| holder.record_id.to_string()),
        "outcome": recovery.word(),
        "before": before.as_ref().map(|holder| json!({
            "batchId": holder.batch_id, "startedAt": holder.started_at, "host": holder.host,
        })),
        "executedAt": executed_at,
    });
    if recovery == Recovery::Unconfirmed {
        answer["nextAction"] =
            json!("Run inspect-lock for this key, then repeat this command if it is still locked.");
    }
    if recovery == Recovery::Released
        && let Some(holder) = &before
    {
        let journal = connection.journal(&holder.batch_id, None);
        journal.write(Event::JobLockForceReleased, evidence);
    }
    connection.console.machine(answer);
    Ok(recovery.exit())
}

/// Observes, re-reads by id, writes at the observed revision, and decides a failed write by looking again.
fn release(log: &LogApp, job_key: &str, audit: &str, executed_at: &str) -> (Recovery, Option<Holder>) {
    let running = JobStatus::Running.word();
    let observed = match log.holder(job_key) {
        Err(_) => return (Recovery::Unconfirmed, None),
        Ok(None) => return (Recovery::NotFound, None),
        Ok(Some(holder)) => holder,
    };
    let current = match log.holder_by_id(observed.record_id) {
        Err(_) => return (Recovery::Unconfirmed, Some(observed)),
        Ok(None) => return (Recovery::NotFound, Some(observed)),
        Ok(Some(holder)) => holder,
    };
    let same = current.batch_id == observed.batch_id && current.job_key == job_key;
    if !same || current.status != running {
        return (Recovery::NotRunning, Some(observed));
    }
    let mut record = LogRecord::new();
    record
        .set("status", JobStatus::Failed.word())
        .set(JOB_KEY, "")
        .set("job_key_done", job_key)
        .set("finished_at", executed_at)
        .set("log_detail", audit);
    let Err(error) = log.update(current.record_id, Some(current.revision), &record) else {
        return (Recovery::Released, Some(current));
    };
    let again = log.holder_by_id(current.record_id);
    let recovery = match again {
        Ok(Some(now)) if now.job_key.is_empty() && now.log_detail == audit => Recovery::Released,
        Ok(Some(now)) if now.job_key.is_empty() => Recovery::NotRunning,
        Ok(None) => Recovery::NotFound,
        Ok(Some(_))
            if error.kind() == ErrorKind::RevisionConflict && error.outcome() == Outcome::NotApplied =>
        {
            Recovery::Conflict
        }
        _ => Recovery::Unconfirmed,
    };
    (recovery, Some(current))
}
