//! From "start" to a Run that may be scheduled (ENS-01): one read shows most refusals before anything is locked.

use super::close::{self, release_failed};
use super::context::{Context, Request, WhichRun};
use super::failure::Failure;
use super::reclaim::Dead;
use super::resume::Success;
use super::{Finish, create, gather, prepare, reclaim, repair, resume, schedule};
use crate::flownet::child::process_table::ProcessTable;
use crate::flownet::child::workdir;
use crate::flownet::clock::uuid;
use crate::flownet::key;
use crate::flownet::lease::{self, Change, Lease, Times, Unreleased, owner};
use crate::flownet::record::status::{AttemptStatus, Lifecycle, RunStatus};
use crate::flownet::record::{DamagedRun, Lock, Run, lock, run};
use crate::flownet::rule::edited;
use crate::kintone::{Record, query};

/// The keys of a start.
pub struct Keys {
    /// N1.
    pub lock: String,
    /// Record key of the held lock.
    pub held_lock: String,
    /// R1; `None` when the Run is named by its id.
    pub run: Option<String>,
}

/// What a look at the state app showed.
pub struct Seen {
    /// The Run in question.
    pub run: Option<Run>,
    /// The held lock of the network.
    pub lock: Option<Lock>,
    /// Other unfinished Runs of the network (filled by the look under the lock only).
    pub others: Vec<Run>,
    /// Other Runs of the network that cannot be read (likewise).
    pub damaged: Vec<DamagedRun>,
}

/// Runs a network.
///
/// # Errors
/// Every refusal and every fault as a [`Failure`] with its code; what had been recorded stays recorded.
pub fn start(ctx: &Context, request: &Request) -> Result<Finish, Failure> {
    let keys = keys(ctx, request)?;
    clear_leftovers(ctx, request);
    let seen = look(ctx, request, &keys, false)?;
    let dead_owner = seen
        .lock
        .map(|held| reclaim::prove(&ctx.examiner(), &keys.held_lock, &keys.lock, &held))
        .transpose()?;
    let found = seen.run;
    check_identity(ctx, request, found.as_ref())?;
    let mut prepared = None;
    match &found {
        Some(run) if is_done(run, request) && dead_owner.is_none() => {
            return close_what_is_left(ctx, request, &keys, run);
        }
        Some(run) if !request.continues() && dead_owner.is_none() => return Err(already_exists(run)),
        Some(_) => {}
        None => {
            refuse_missing(request)?;
            prepared = Some(prepare::prepare(ctx, request)?);
        }
    }
    check_access(ctx)?;
    refuse_when_stopped(ctx)?;
    let invocation_id = format!("invoke_{}", uuid()?);
    let (lease, dead_owner) = take_lock(ctx, request, &keys, &invocation_id, dead_owner)?;
    let inside = Inside {
        ctx,
        request,
        keys: &keys,
        invocation_id,
        dead_owner: dead_owner.map(|dead| dead.invocation_id().to_owned()),
    };
    inside.go(lease, prepared)
}

/// A Run that has succeeded needs nothing, except that an owner which died after the last node (the original then leaves its
/// invocation RUNNING) may have left something open: that is closed under the lock (BTR-47).
///
/// The answer is NOOP either way: whoever holds the lock now, or the next start, closes it as well.
fn close_what_is_left(ctx: &Context, request: &Request, keys: &Keys, run: &Run) -> Result<Finish, Failure> {
    let left = resume::confirm_success(ctx, run)?;
    if ctx.stop.is_requested() || matches!(left, Success::Complete) {
        return Ok(close::nothing_to_do(run));
    }
    let invocation_id = format!("invoke_{}", uuid()?);
    match take_lock(ctx, request, keys, &invocation_id, None) {
        Ok((lease, dead_owner)) => {
            let inside = Inside {
                ctx,
                request,
                keys,
                invocation_id,
                dead_owner: dead_owner.map(|dead| dead.invocation_id().to_owned()),
            };
            inside.go(lease, None)
        }
        Err(e) => {
            not_closed(ctx, &e);
            Ok(close::nothing_to_do(run))
        }
    }
}

/// Says that an old invocation could not be closed; nothing depends on it.
fn not_closed(ctx: &Context, why: &Failure) -> bool {
    (ctx.warn)(format!(
        "invocations that were left open on this Run could not be closed: {}",
        why.message
    ));
    false
}

/// The part of the story that holds the lock.
pub struct Inside<'a> {
    /// Surroundings.
    pub ctx: &'a Context,
    /// Wish.
    pub request: &'a Request,
    /// Keys.
    pub keys: &'a Keys,
    /// This start.
    pub invocation_id: String,
    /// Invocation whose lock was taken because its process is dead.
    pub dead_owner: Option<String>,
}

impl Inside<'_> {
    fn go(&self, lease: Lease, prepared: Option<prepare::Prepared>) -> Result<Finish, Failure> {
        let mut found = None;
        match self.ensure(&lease, prepared, &mut found) {
            Ok(Ensured::Done(run)) => self.release_noop(lease, &run),
            Ok(Ensured::Ready(ready)) => schedule::run(self.ctx, lease, *ready),
            Err(failure) => {
                let failure = about(failure, found.as_ref());
                Err(release_failed(lease, self.left_open(found.as_ref()), failure))
            }
        }
    }

    fn ensure(
        &self,
        lease: &Lease,
        prepared: Option<prepare::Prepared>,
        found: &mut Option<Run>,
    ) -> Result<Ensured, Failure> {
        let seen = look(self.ctx, self.request, self.keys, true)?;
        check_identity(self.ctx, self.request, seen.run.as_ref())?;
        found.clone_from(&seen.run);
        match seen.run {
            Some(run) if is_done(&run, self.request) => {
                resume::confirm_success(self.ctx, &run)?;
                Ok(Ensured::Done(Box::new(run)))
            }
            Some(run) => {
                let interrupted = resume::is_interrupted_by(self, &run)?;
                if interrupted && run.status == RunStatus::Success {
                    // The dead owner had done the work; only its last commit is missing.
                    resume::confirm_success(self.ctx, &run)?;
                    return Ok(Ensured::Done(Box::new(run)));
                }
                if !self.request.continues() && !interrupted {
                    return Err(already_exists(&run));
                }
                resume::resume(self, lease, run).map(|r| Ensured::Ready(Box::new(r)))
            }
            None => {
                refuse_missing(self.request)?;
                // The Run was there before the lock and has gone since: prepare now.
                let prepared = match prepared {
                    Some(p) => p,
                    None => prepare::prepare(self.ctx, self.request)?,
                };
                create::create(self, lease, prepared, seen.others, seen.damaged)
                    .map(|r| Ensured::Ready(Box::new(r)))
            }
        }
    }

    /// Invocations that the dead owner left open on this Run; closed even when the start itself is refused.
    fn left_open(&self, run: Option<&Run>) -> Vec<Change> {
        match (run, &self.dead_owner) {
            (Some(run), Some(_)) => self.close_abandoned(run).unwrap_or_default(),
            _ => Vec::new(),
        }
    }

    fn close_abandoned(&self, run: &Run) -> Result<Vec<Change>, Failure> {
        let ctx = self.ctx;
        repair::close_abandoned(&ctx.client, &ctx.audit, run, &self.invocation_id, ctx.clock.now())
    }

    /// The Run has succeeded: close what an earlier owner left open, release, say so (BTR-47).
    fn release_noop(&self, lease: Lease, run: &Run) -> Result<Finish, Failure> {
        let mut changes = self.close_abandoned(run).unwrap_or_else(|e| {
            not_closed(self.ctx, &e);
            Vec::new()
        });
        let (status, reason) = (AttemptStatus::Success, "ALREADY_SUCCESS");
        match lease.try_release(&mut changes, status, reason) {
            Ok(()) => {}
            Err(Unreleased {
                lease: Some(lease),
                error,
            }) => {
                // A record of an earlier start that somebody edited does not keep the lock.
                not_closed(self.ctx, &(*error).into());
                lease.release(&mut [], status, reason)?;
            }
            Err(Unreleased { lease: None, error }) => return Err((*error).into()),
        }
        Ok(close::nothing_to_do(run))
    }
}

enum Ensured {
    Done(Box<Run>),
    Ready(Box<schedule::Ready>),
}

/// Run directories that dead processes left behind (BTR-48). What cannot be removed is no reason not to start.
fn clear_leftovers(ctx: &Context, request: &Request) {
    let now = std::time::SystemTime::now();
    let table = ProcessTable::default();
    if let Err(e) = workdir::remove_abandoned(&ctx.runner.workdir, lease_time(request), now, &table) {
        (ctx.warn)(e.to_string());
    }
    owner::prune(&ctx.owner_dir(), now);
}

fn keys(ctx: &Context, request: &Request) -> Result<Keys, Failure> {
    let network_id = &request.network.network_id;
    let lock = key::lock_key(&ctx.profile, network_id)?;
    let run = match &request.which {
        WhichRun::Key { business_key, .. } => Some(key::run_key(&ctx.profile, network_id, business_key)?),
        WhichRun::Id(_) => None,
    };
    Ok(Keys {
        held_lock: key::held_lock_record_key(&lock)?,
        lock,
        run,
    })
}

/// Lease duration of the given definition.
fn lease_time(request: &Request) -> std::time::Duration {
    std::time::Duration::from_secs(request.network.lock.lease_sec)
}

/// One query: the Run, the lock and, under the lock, the other unfinished Runs (QRY-01, 02, 03, 06).
fn look(ctx: &Context, request: &Request, keys: &Keys, others: bool) -> Result<Seen, Failure> {
    let network_id = &request.network.network_id;
    let a_run = |condition: &[String]| {
        let mut all = vec![query::one_of("record_type", &[run::RECORD_TYPE])];
        all.extend_from_slice(condition);
        query::and(&all)
    };
    let mut wanted = vec![Lock::condition(&keys.held_lock, &keys.lock)];
    match &request.which {
        WhichRun::Id(id) => wanted.push(a_run(&[query::one_of("run_id", &[id])])),
        // By its key and by what the key is made of: a Run whose record_key was edited is still the Run of this
        // business key, and there must not be a second one.
        WhichRun::Key { business_key, .. } => {
            wanted.extend(keys.run.iter().map(|key| query::one_of("record_key", &[key])));
            wanted.push(a_run(&[
                query::one_of("network_id", &[network_id]),
                query::one_of("business_key", &[business_key]),
            ]));
        }
    }
    if others {
        wanted.push(a_run(&[
            query::one_of("network_id", &[network_id]),
            query::none_of("status", &[RunStatus::Success.as_str()]),
        ]));
    }
    let mut seen = Seen {
        run: None,
        lock: None,
        others: Vec::new(),
        damaged: Vec::new(),
    };
    let mut found = Vec::new();
    for record in ctx.client.all_by_id(&ctx.state, &query::or(&wanted), &[])? {
        sort_in(ctx, request, keys, &record, &mut seen, &mut found)?;
    }
    seen.run = gather::only(found, "MULTIPLE_RUNS")?;
    Ok(seen)
}

/// kintone's text conditions may match more than was asked for (QRY-18): decide by exact equality.
fn sort_in(
    ctx: &Context,
    request: &Request,
    keys: &Keys,
    record: &Record,
    seen: &mut Seen,
    found: &mut Vec<Run>,
) -> Result<(), Failure> {
    match record.text("record_type") {
        lock::RECORD_TYPE if Lock::is_held_by(record, &keys.held_lock, &keys.lock) => {
            seen.lock = Some(Lock::read(record));
        }
        run::RECORD_TYPE => {
            let here = record.text("network_id") == request.network.network_id;
            let named = match &request.which {
                WhichRun::Id(id) => record.text("run_id") == id,
                WhichRun::Key { .. } => keys.run.as_deref() == Some(record.text("record_key")),
            };
            if !named && !here {
                return Ok(());
            }
            match Run::from_record(record) {
                Ok(run) if named || (keys.run.is_some() && run.derived_key() == keys.run) => found.push(run),
                Ok(run) if run.profile() == ctx.profile => seen.others.push(run),
                Ok(_) => {}
                Err(error) => {
                    let damaged = DamagedRun::from_record(record, error);
                    let ours = damaged.belongs(&ctx.profile, &request.network.network_id);
                    if named || (ours && is_wanted(request, &damaged)) {
                        return Err(damaged.into());
                    } else if ours {
                        seen.damaged.push(damaged);
                    }
                }
            }
        }
        _ => {}
    }
    Ok(())
}

/// A Run with a damaged field and perhaps an edited key: is it the one of the business key?
fn is_wanted(request: &Request, damaged: &DamagedRun) -> bool {
    match &request.which {
        WhichRun::Key { business_key, .. } => damaged.business_key == *business_key,
        WhichRun::Id(_) => false,
    }
}

fn check_identity(ctx: &Context, request: &Request, run: Option<&Run>) -> Result<(), Failure> {
    let Some(run) = run else { return Ok(()) };
    if let Some(edit) = edited::run_key(run) {
        return Err(
            Failure::new("RECONCILIATION_REQUIRED", format!("Run {}: {edit}", run.run_id))
                .fact("run_id", &run.run_id),
        );
    }
    if run.network_id != request.network.network_id || run.profile() != ctx.profile {
        return Err(Failure::new(
            "RUN_ID_MISMATCH",
            format!(
                "Run {} belongs to network '{}' and profile '{}'",
                run.run_id,
                run.network_id,
                run.profile()
            ),
        )
        .fact("run_id", &run.run_id));
    }
    Ok(())
}

fn is_done(run: &Run, request: &Request) -> bool {
    run.status == RunStatus::Success && request.rerun_from.is_none()
}

fn already_exists(run: &Run) -> Failure {
    let mut failure = Failure::new(
        "RUN_ALREADY_EXISTS",
        format!(
            "Run {} of business key '{}' exists with status {}",
            run.run_id, run.business_key, run.status
        ),
    )
    .fact("run_id", &run.run_id)
    .fact("scheduled_for", &run.as_of);
    if run.lifecycle == Lifecycle::Archived {
        failure.extra.explained_by = Some("RUN_IS_ARCHIVED");
    }
    failure.extra.blocked_run_ids.push(run.run_id.clone());
    failure
}

/// The Run that a failed start was about, for its next steps.
fn about(failure: Failure, run: Option<&Run>) -> Failure {
    let Some(run) = run else { return failure };
    // MAX_ACTIVE_RUNS and the like are about another Run, and say so themselves.
    let named = failure.facts.iter().any(|(name, _)| *name == "run_id");
    let failure = failure.fact("scheduled_for", &run.as_of);
    if named {
        failure
    } else {
        failure.fact("run_id", &run.run_id)
    }
}

fn refuse_missing(request: &Request) -> Result<(), Failure> {
    match (&request.which, &request.rerun_from) {
        (WhichRun::Id(id), _) => {
            Err(Failure::new("RUN_NOT_FOUND", format!("there is no Run {id}")).fact("run_id", id))
        }
        (WhichRun::Key { business_key, .. }, Some(node)) => Err(Failure::new(
            "RUN_NOT_FOUND",
            format!("there is no Run of business key '{business_key}' to rerun from node '{node}'"),
        )),
        _ => Ok(()),
    }
}

/// The two apps that are first needed after the lock was taken: a wrong id or token must not leave a trace.
fn check_access(ctx: &Context) -> Result<(), Failure> {
    for app in [&ctx.audit, &ctx.job_log] {
        ctx.client.records(app, "limit 1", &["$id"], false)?;
    }
    Ok(())
}

/// A signal that came before anything was locked ends the start.
fn refuse_when_stopped(ctx: &Context) -> Result<(), Failure> {
    if ctx.stop.is_requested() {
        return Err(Failure::new(
            "INTERRUPTED",
            "a signal asked to stop before anything was started",
        ));
    }
    Ok(())
}

/// Takes the lock, and tells which dead owner gave way.
fn take_lock(
    ctx: &Context,
    request: &Request,
    keys: &Keys,
    invocation_id: &str,
    dead_owner: Option<Dead>,
) -> Result<(Lease, Option<Dead>), Failure> {
    let wish = || lease::Request {
        store: std::sync::Arc::new(ctx.client.clone()),
        clock: std::sync::Arc::clone(&ctx.clock),
        state: ctx.state.clone(),
        audit: ctx.audit.clone(),
        lock_key: keys.lock.clone(),
        held_key: keys.held_lock.clone(),
        profile: ctx.profile.clone(),
        owner: invocation_id.to_owned(),
        instance: ctx.instance.clone(),
        times: Times {
            lease: lease_time(request),
            heartbeat: std::time::Duration::from_secs(request.network.lock.heartbeat_sec),
        },
        owner_dir: Some(ctx.owner_dir()),
        warn: std::sync::Arc::clone(&ctx.warn),
    };
    Ok(reclaim::take(
        &ctx.examiner(),
        &request.network.network_id,
        wish,
        dead_owner,
    )?)
}
