//! archive-run: closes a Run that will not be resumed (OPR-36 to OPR-41).
//!
//! Most refusals are found by one read before the lock. Under the lock the Run is read again; Run, hold, audit record and
//! release of the lock are one last commit, so that an archived Run always has its audit record.
//!
//! With `--abandon` Runs are closed that can neither be resumed nor be archived otherwise: records that contradict each
//! other, a bundle or profile that is lost, a result that nobody will ever know. They free their place among
//! `max_active_runs`, and their business key stays taken.

mod report;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

pub use report::{Outcome, Report};

use report::Refusal;

use super::desk::{Desk, Readable};
use super::hold::release_expired;
use super::is_blank;
use crate::flownet::clock::uuid;
use crate::flownet::definition::Network;
use crate::flownet::key;
use crate::flownet::lease::{self, AcquireError, Change, CommitError, Lease, Role, Times, Unreleased, Warn};
use crate::flownet::ordered_json::Object;
use crate::flownet::record::operation::{self, Columns, Operation, RUN_ARCHIVED};
use crate::flownet::record::status::{AttemptStatus, Lifecycle, NodeStatus, RunStatus};
use crate::flownet::record::{Hold, Run};
use crate::flownet::rule::operator::may_archive;
use crate::flownet::run::gather::{self, Gathered};
use crate::flownet::run::reclaim::{self, Examiner, NotTaken};
use crate::flownet::run::{Failure, repair};
use crate::flownet::time::Timestamp;
use crate::kintone::query;

/// An archive-run command.
pub struct Request<'a> {
    /// Definition, for the network's id and its lease times.
    pub network: &'a Network,
    /// Profile.
    pub profile: &'a str,
    /// Run.
    pub run_id: &'a str,
    /// Why, as the file says.
    pub reason: &'a str,
    /// Close the Run whatever its nodes are in.
    pub abandon: Option<Abandon<'a>>,
    /// Owner instance of the lock.
    pub instance: &'a str,
    /// Folder of owner files, when there is a work directory.
    pub owner_dir: Option<PathBuf>,
    /// May a lock be taken from an owner that is proved dead? (D-08)
    pub auto_reclaim: bool,
    /// Host name to record.
    pub host: &'a str,
    /// Warnings for the operator.
    pub warn: Warn,
}

/// What abandoning a Run needs beside the reason.
#[derive(Clone, Copy, Debug)]
pub struct Abandon<'a> {
    /// Incident or ticket.
    pub evidence_ref: &'a str,
    /// Who confirmed that no job of the Run is running.
    pub stop_confirmed_by: &'a str,
}

/// What is known of the Run, which may be one that cannot be read: closing it needs no more than this.
struct Seen {
    run: Readable,
    hold: Option<Hold>,
}

impl Seen {
    fn is_archived(&self) -> bool {
        match &self.run {
            Ok(run) => run.lifecycle == Lifecycle::Archived,
            Err(damaged) => damaged.is_archived(),
        }
    }

    fn revision(&self) -> u64 {
        match &self.run {
            Ok(run) => run.revision,
            Err(damaged) => damaged.revision,
        }
    }

    fn belongs(&self, profile: &str, network_id: &str) -> bool {
        match &self.run {
            Ok(run) => run.network_id == network_id && run.profile() == profile,
            Err(damaged) => damaged.belongs(profile, network_id),
        }
    }

    /// Network and profile as the record says.
    fn place(&self) -> (String, String) {
        match &self.run {
            Ok(run) => (run.network_id.clone(), run.profile()),
            Err(damaged) => (
                damaged.network_id.clone(),
                damaged.profile.clone().unwrap_or_default(),
            ),
        }
    }

    /// The archive itself.
    fn change(&self, now: Timestamp) -> Change {
        let (record_key, known) = match &self.run {
            Ok(run) => (&run.record_key, run.own_fields()),
            Err(damaged) => (&damaged.record_key, damaged.archive_basis()),
        };
        Change::Update {
            role: Role::State,
            record_key: record_key.clone(),
            revision: self.revision(),
            counted: false,
            fields: Run::archive_fields(now),
            known,
        }
    }
}

/// Carries the command out.
///
/// # Errors
/// Only what comes before anything is read: a blank text, no random bytes.
pub fn run(desk: &Desk, request: &Request<'_>) -> Result<Report, Failure> {
    refuse_blank(request)?;
    let event_id = format!("archive_{}", uuid()?);
    let archiver = Archiver {
        desk,
        request,
        event_id: &event_id,
    };
    Ok(archiver.go())
}

/// The contract accepts an empty reason, but then nothing says why (OPR-07).
fn refuse_blank(request: &Request<'_>) -> Result<(), Failure> {
    let mut texts = vec![("reason", request.reason)];
    if let Some(abandon) = &request.abandon {
        texts.push(("evidenceRef", abandon.evidence_ref));
        texts.push(("stopConfirmedBy", abandon.stop_confirmed_by));
    }
    match texts.into_iter().find(|(_, text)| is_blank(text)) {
        Some((name, _)) => Err(Failure::new(
            "AUDIT_INPUT_REQUIRED",
            format!("{name} must not be blank"),
        )),
        None => Ok(()),
    }
}

struct Archiver<'a> {
    desk: &'a Desk,
    request: &'a Request<'a>,
    event_id: &'a str,
}

impl Archiver<'_> {
    fn go(&self) -> Report {
        let early = match self.look() {
            Ok(seen) => seen,
            Err(refusal) => return self.rejected(refusal, true),
        };
        let mut report = self.decided(&early);
        if let Ok(run) = &early.run {
            report.as_of.clone_from(&run.as_of);
        }
        report
    }

    fn decided(&self, early: &Seen) -> Report {
        if early.is_archived() {
            return self.already(early, true);
        }
        if let Err(refusal) = self.check(early) {
            return self.rejected(refusal, true);
        }
        match self.acquire() {
            Ok(lease) => self.under_lock(lease),
            Err((refusal, free)) => self.rejected(refusal, free),
        }
    }

    fn report(&self, outcome: Outcome, revision: Option<u64>, lock_released: bool) -> Report {
        Report {
            run_id: self.request.run_id.to_owned(),
            event_id: self.event_id.to_owned(),
            outcome,
            revision,
            code: None,
            lock_released,
            why: String::new(),
            earlier: None,
            as_of: String::new(),
            lock_owner: String::new(),
            explained_by: None,
        }
    }

    fn rejected(&self, refusal: Refusal, lock_released: bool) -> Report {
        Report {
            code: Some(refusal.code),
            why: refusal.why,
            lock_owner: refusal.lock_owner,
            explained_by: refusal.explained_by,
            ..self.report(Outcome::Rejected, refusal.revision, lock_released)
        }
    }

    fn already(&self, seen: &Seen, lock_released: bool) -> Report {
        Report {
            earlier: self.earlier(),
            ..self.report(Outcome::AlreadyArchived, Some(seen.revision()), lock_released)
        }
    }

    /// Run and hold in one read; the Run must be one of this network and profile.
    fn look(&self) -> Result<Seen, Refusal> {
        let id = self.request.run_id;
        let (run, hold) = self
            .desk
            .any_run_and_hold(id)
            .map_err(|failure| match failure.code.as_ref() {
                // A mistyped id is no trouble with kintone.
                "RECORD_NOT_FOUND" => Refusal::new("RECORD_NOT_FOUND", failure.message),
                "MULTIPLE_RECORDS" => Refusal::new("MULTIPLE_RECORDS", failure.message),
                _ => Refusal::new("RUN_READ_FAILED", failure.message),
            })?;
        let seen = Seen { run, hold };
        let (network, profile) = (&self.request.network.network_id, self.request.profile);
        if !seen.belongs(profile, network) {
            let (its_network, its_profile) = seen.place();
            return Err(Refusal::new(
                "RUN_ID_MISMATCH",
                format!(
                    "Run {id} belongs to network '{its_network}' and profile '{its_profile}', not to '{network}' and \
                     '{profile}'"
                ),
            ));
        }
        Ok(seen)
    }

    fn check(&self, seen: &Seen) -> Result<(), Refusal> {
        let (hold, abandon) = (seen.hold.as_ref(), self.request.abandon.is_some());
        let now = self.desk.clock.now();
        let run = match &seen.run {
            Ok(run) => run,
            Err(_) if abandon && hold.is_none_or(|h| !h.stops(now)) => return Ok(()),
            Err(damaged) => {
                let why = format!("{}; --abandon closes the Run when nobody holds it", damaged.error);
                return Err(Refusal::at(damaged.revision, "RUN_READ_FAILED", why));
            }
        };
        if abandon && run.status == RunStatus::Success && self.is_contradicted(run) {
            return Ok(());
        }
        may_archive(run, hold, abandon, now)
            .map_err(|refusal| Refusal::at(run.revision, refusal.code, refusal.why))
    }

    /// A Run that says SUCCESS while its other records say otherwise: nothing else closes it (D-09).
    fn is_contradicted(&self, run: &Run) -> bool {
        match gather::read(&self.desk.client, &self.desk.state, &self.desk.audit, &run.run_id) {
            Ok(all) => !all.examine(run).unrepairable.is_empty(),
            Err(_) => false,
        }
    }

    /// The lock, or why not and whether it is certainly not ours. An owner that is proved dead gives way (D-08); any other
    /// keeps it, however old it is (OPR-37).
    fn acquire(&self) -> Result<Lease, (Refusal, bool)> {
        let (desk, request) = (self.desk, self.request);
        let unavailable = |why: String| (Refusal::new("LOCK_UNAVAILABLE", why), true);
        let lock_key = key::lock_key(request.profile, &request.network.network_id)
            .map_err(|e| unavailable(e.to_string()))?;
        let held_key = key::held_lock_record_key(&lock_key).map_err(|e| unavailable(e.to_string()))?;
        let wish = || lease::Request {
            store: Arc::new(desk.client.clone()),
            clock: Arc::clone(&desk.clock),
            state: desk.state.clone(),
            audit: desk.audit.clone(),
            lock_key: lock_key.clone(),
            held_key: held_key.clone(),
            profile: request.profile.to_owned(),
            owner: self.event_id.to_owned(),
            instance: request.instance.to_owned(),
            times: Times {
                lease: Duration::from_secs(request.network.lock.lease_sec),
                heartbeat: Duration::from_secs(request.network.lock.heartbeat_sec),
            },
            owner_dir: request.owner_dir.clone(),
            warn: Arc::clone(&request.warn),
        };
        let network_id = &request.network.network_id;
        match reclaim::take(&self.examiner(), network_id, wish, None) {
            Ok((lease, _)) => Ok(lease),
            Err(NotTaken::Held(failure)) => Err((Refusal::held(failure), true)),
            Err(NotTaken::Lock(error)) => {
                let mut refusal = Refusal::new("LOCK_UNAVAILABLE", error.to_string());
                refusal.explained_by =
                    matches!(error, AcquireError::OwnerFile(_)).then_some("WORK_DIRECTORY_FAILED");
                Err((refusal, error.is_surely_not_ours()))
            }
        }
    }

    fn examiner(&self) -> Examiner<'_> {
        Examiner {
            client: &self.desk.client,
            clock: &self.desk.clock,
            audit: &self.desk.audit,
            owner_dir: self.request.owner_dir.clone(),
            auto_reclaim: self.request.auto_reclaim,
            host: self.request.host,
            requested_by: &self.desk.requested_by,
            warn: &self.request.warn,
        }
    }

    fn under_lock(&self, lease: Lease) -> Report {
        let seen = match self.look().and_then(|seen| {
            if !seen.is_archived() {
                self.check(&seen)?;
            }
            Ok(seen)
        }) {
            Ok(seen) => seen,
            Err(refusal) => return self.rejected(refusal, release(lease)),
        };
        if seen.is_archived() {
            return self.already(&seen, release(lease));
        }
        let mut changes = match self.changes(&seen) {
            Ok(changes) => changes,
            Err(failure) => {
                let mut refusal = Refusal::new("ARCHIVE_WRITE_FAILED", failure.message);
                refusal.revision = Some(seen.revision());
                return self.rejected(refusal, release(lease));
            }
        };
        match lease.try_release(&mut changes, AttemptStatus::Success, "NORMAL") {
            Ok(()) => {
                // D-09 may have taken over another revision of the Run.
                let revision = changes
                    .first()
                    .map_or(seen.revision() + 1, Change::revision_after);
                self.report(Outcome::Archived, Some(revision), true)
            }
            Err(unreleased) => self.unwritten(&seen, unreleased),
        }
    }

    /// OPR-39. The commit is one request: an archived Run has its audit record, and the lock is released with it.
    fn unwritten(&self, seen: &Seen, unreleased: Unreleased) -> Report {
        let Unreleased { lease, error } = unreleased;
        let code = match &*error {
            CommitError::Lost => "LEASE_INTERRUPTED",
            CommitError::Undecided(_) => match self.look() {
                Ok(now) if now.is_archived() => {
                    return self.report(Outcome::Archived, Some(now.revision()), true);
                }
                _ => {
                    return Report {
                        code: Some("ARCHIVE_UNCONFIRMED"),
                        why: error.to_string(),
                        ..self.report(Outcome::Unconfirmed, None, false)
                    };
                }
            },
            CommitError::Refused { .. } | CommitError::Foreign { .. } | CommitError::Vanished { .. } => {
                "ARCHIVE_WRITE_FAILED"
            }
        };
        let refusal = Refusal::at(seen.revision(), code, error.to_string());
        // A lost lock is somebody else's, or still ours in a kintone that could not be reached.
        let free = lease.is_some_and(|lease| release(*lease));
        self.rejected(refusal, free)
    }

    /// The Run first, then what goes with it.
    fn changes(&self, seen: &Seen) -> Result<Vec<Change>, Failure> {
        let now = self.desk.clock.now();
        let mut changes = vec![seen.change(now)];
        if let Some(over) = seen.hold.as_ref().filter(|h| h.is_expired(now)) {
            changes.extend(release_expired(over, &self.desk.requested_by, now)?);
        }
        let mut event = self.event(seen, now);
        if let Some(abandon) = &self.request.abandon {
            event = event
                .with("abandoned", true)
                .with("evidence_ref", abandon.evidence_ref)
                .with("stop_confirmed_by", abandon.stop_confirmed_by);
            event = self.leave(seen, event);
        }
        changes.extend(self.finish_invocations(seen, now));
        let operation = Operation {
            record_key: key::operation_record_key(self.event_id)?,
            run_id: self.request.run_id,
            result_code: RUN_ARCHIVED,
            at: now,
            columns: Columns {
                requested_by: &self.desk.requested_by,
                service_principal: &self.desk.service_principal,
                evidence_ref: self.request.abandon.as_ref().map_or("", |a| a.evidence_ref),
                ..Columns::default()
            },
            event,
        };
        changes.push(insert(operation.to_fields()));
        Ok(changes)
    }

    /// What an abandoned Run leaves behind goes into the event.
    fn leave(&self, seen: &Seen, event: Object) -> Object {
        let run = match &seen.run {
            Ok(run) => run,
            Err(damaged) => return event.with("unreadable", damaged.error.to_string()),
        };
        let all = gather::read(&self.desk.client, &self.desk.state, &self.desk.audit, &run.run_id);
        match all {
            Ok(all) => {
                let (nodes, findings) = left_behind(run, &all);
                let damaged: Vec<String> = all.damaged.iter().map(ToString::to_string).collect();
                event
                    .with("unfinished_nodes", nodes)
                    .with("inconsistencies", findings)
                    // A record that cannot be read is what may have brought the Run here.
                    .with_some("unreadable", (!damaged.is_empty()).then(|| damaged.join("; ")))
            }
            Err(failure) => event.with("unreadable", failure.message),
        }
    }

    /// OPR-40.
    fn event(&self, seen: &Seen, now: Timestamp) -> Object {
        let status = match &seen.run {
            Ok(run) => run.status.as_str(),
            Err(damaged) => &damaged.status,
        };
        Object::new()
            .with("event_id", self.event_id)
            .with("event_type", RUN_ARCHIVED)
            .with("run_id", self.request.run_id)
            .with("result_code", RUN_ARCHIVED)
            .with("requested_by", self.desk.requested_by.as_str())
            .with("reason", self.request.reason)
            .with("archived_at", now.iso_ms())
            .with("previous_status", status)
            .with("run_revision_before", seen.revision())
            .with("service_principal", self.desk.service_principal.as_str())
    }

    /// Invocations of dead processes; nobody resumes this Run any more, who would finish them otherwise.
    ///
    /// What cannot be read does not keep the Run from being closed.
    fn finish_invocations(&self, seen: &Seen, now: Timestamp) -> Vec<Change> {
        let Ok(run) = &seen.run else {
            return Vec::new();
        };
        let (client, audit) = (&self.desk.client, &self.desk.audit);
        repair::close_abandoned(client, audit, run, self.event_id, now).unwrap_or_else(|failure| {
            (self.request.warn)(format!(
                "invocations that were left open on Run {} could not be closed: {}",
                run.run_id, failure.message
            ));
            Vec::new()
        })
    }

    /// Who archived the Run before; unknown when the audit app does not say.
    fn earlier(&self) -> Option<(String, String)> {
        let condition = query::and(&[
            query::one_of("record_type", &[operation::RECORD_TYPE]),
            query::one_of("run_id", &[self.request.run_id]),
            query::one_of("result_code", &[RUN_ARCHIVED]),
        ]);
        let page = self.desk.client.records(&self.desk.audit, &condition, &[], false);
        let events = page.map(|p| p.records).unwrap_or_default();
        events
            .iter()
            .filter(|r| r.text("run_id") == self.request.run_id)
            .find_map(|r| serde_json::from_str::<serde_json::Value>(r.text("reason")).ok())
            .and_then(|event| {
                let text = |key: &str| {
                    event
                        .get(key)
                        .and_then(serde_json::Value::as_str)
                        .map(str::to_owned)
                };
                Some((text("requested_by")?, text("archived_at")?))
            })
    }
}

fn insert(fields: crate::kintone::Fields) -> Change {
    Change::Insert {
        role: Role::Audit,
        fields,
    }
}

/// Releases a lock under which nothing was written; true when it is free.
fn release(lease: Lease) -> bool {
    lease.release(&mut [], AttemptStatus::Success, "NORMAL").is_ok()
}

/// What an abandoned Run leaves behind: nodes that did not end well, and what its records contradict themselves in.
fn left_behind(run: &Run, all: &Gathered) -> (Vec<String>, Vec<String>) {
    let nodes = all
        .states
        .iter()
        .filter(|s| s.status != NodeStatus::Success)
        .map(|s| format!("{}={}", s.node_id, s.status))
        .collect();
    let findings = all
        .examine(run)
        .unrepairable
        .iter()
        .map(|f| format!("{} {}: {}", f.code, f.node_id.as_deref().unwrap_or("-"), f.detail))
        .collect();
    (nodes, findings)
}
