//! Going on with an existing Run: everything is read and decided in memory, then written in one or two commits (ENS-03).

use super::context::Context;
use super::create::{new_invocation, new_state};
use super::ensure::Inside;
use super::failure::Failure;
use super::gather::{Gathered, gather};
use super::ledger::{Entry, Ledger};
use super::schedule::{self, Ready};
use super::{attempt, held, inputs, orphan, prepare, repair, stored};
use crate::flownet::bundle::Contents;
use crate::flownet::definition::Network;
use crate::flownet::key;
use crate::flownet::lease::{Lease, owner};
use crate::flownet::ordered_json::{Json, Object};
use crate::flownet::profile::{self, Description, Snapshot};
use crate::flownet::record::status::{AttemptStatus, Lifecycle, Mode, NodeStatus, RunStatus};
use crate::flownet::record::{Invocation, NodeState, Run};
use crate::flownet::rule::edited::{self, Edit};
use crate::flownet::rule::reconcile::{self, Inconsistency, Records};
use crate::flownet::rule::schedule::Scope;
use crate::flownet::rule::select::{self, Selection};
use crate::flownet::rule::transition::Permit;
use crate::flownet::time::Timestamp;
use crate::kintone::{Record, query};

/// Did the owner that was just proved dead work on this Run? Then this start carries its work on (D-08).
///
/// An owner may die before it has recorded its own invocation: then the one that it was about to carry on is still open.
pub fn is_interrupted_by(inside: &Inside<'_>, run: &Run) -> Result<bool, Failure> {
    let Some(dead) = &inside.dead_owner else {
        return Ok(false);
    };
    let key = key::invocation_record_key(dead)?;
    let condition = query::or(&[
        query::one_of("record_key", &[&key]),
        repair::open_invocations_of(run),
    ]);
    let found = inside.ctx.client.all_by_id(&inside.ctx.audit, &condition, &[])?;
    let of_run = |r: &Record| r.text("run_id") == run.run_id;
    let own = found.iter().find(|r| r.text("record_key") == key);
    Ok(own.map_or_else(|| found.iter().any(of_run), of_run))
}

/// Prepares an existing Run for the scheduler.
pub fn resume(inside: &Inside<'_>, lease: &Lease, run: Run) -> Result<Ready, Failure> {
    let ctx = inside.ctx;
    let mut all = gather(ctx, &run.run_id)?;
    let run = all.run.take().unwrap_or(run);
    if !all.damaged.is_empty() {
        return Err(required(&run.run_id, &all.examine(&run).unrepairable));
    }
    refuse_held(&all, &run, ctx.clock.now())?;
    refuse_finished(inside, &run)?;
    if let Some(edit) = edited::bundle(&run) {
        return Err(edited_run(&run, &edit));
    }
    let description = refuse_drift(ctx, &run)?;
    let log_is_runners = prepare::log_is_runners(ctx, &description);
    let contents = schedule::download(&ctx.client, &ctx.state, &run, &run.bundle_sha256)?;
    let network = stored::definition(&run, &contents)?;
    if let Some(remark) = stored::changed_since(inside.request, &run, &network, &contents) {
        (ctx.warn)(remark);
    }
    inputs::refuse_without_files(ctx, &run, &network)?;
    let mut course = Course {
        inside,
        network,
        ledger: ledger(&run, &mut all)?,
        notes: Vec::new(),
        repaired: false,
        log_is_runners,
    };
    held::release_expired(ctx, &mut course.ledger, ctx.clock.now())?;
    course.add_missing_states()?;
    course.reconcile(&all)?;
    attempt::refuse_unstartable(ctx, &run, &course.network)?;
    let plan = course.plan()?;
    inputs::refuse_mutated(ctx, &course.network, &course.ledger, &plan.retried)?;
    course.record(lease, plan, contents)
}

/// What a resume is going to do to the nodes.
struct Plan {
    mode: Mode,
    selection: Selection,
    /// Nodes of a rerun-from.
    rerun: Vec<String>,
    /// Nodes that run again, for the check of their inputs.
    retried: Vec<String>,
}

struct Course<'a> {
    inside: &'a Inside<'a>,
    network: Network,
    ledger: Ledger,
    /// Clauses for the invocation's reason.
    notes: Vec<String>,
    repaired: bool,
    log_is_runners: bool,
}

fn refuse_held(all: &Gathered, run: &Run, now: Timestamp) -> Result<(), Failure> {
    match all.hold.as_ref().filter(|h| h.stops(now)) {
        None => Ok(()),
        Some(hold) => Err(Failure::new(
            "RUN_ON_HOLD",
            format!(
                "Run {} is held by {} since {}: {}",
                run.run_id,
                hold.requested_by,
                hold.requested_at,
                hold.reason.trim()
            ),
        )
        .fact("run_id", &run.run_id)),
    }
}

fn refuse_finished(inside: &Inside<'_>, run: &Run) -> Result<(), Failure> {
    let rerun_of_success = inside.request.rerun_from.is_some() && run.status == RunStatus::Success;
    if rerun_of_success || (run.lifecycle == Lifecycle::Active && run.resume_allowed) {
        return Ok(());
    }
    let mut failure = Failure::new("RUN_NOT_RESUMABLE", String::new()).fact("run_id", &run.run_id);
    failure.message = if run.lifecycle == Lifecycle::Archived {
        format!(
            "Run {} is archived; start its work again under another business key",
            run.run_id
        )
    } else {
        failure.extra.explained_by = Some("RESUME_NOT_ALLOWED");
        format!(
            "resume_allowed of Run {} is false: it may not be resumed",
            run.run_id
        )
    };
    Err(failure)
}

/// The profile must be what it was when the Run was made (RUN-11).
fn refuse_drift(ctx: &Context, run: &Run) -> Result<Description, Failure> {
    let description = prepare::describe(ctx)?;
    let snapshot = || description.snapshot().map(|now| now.to_json());
    let stored = match Snapshot::parse(&run.profile_snapshot) {
        Ok(stored) => stored,
        Err(_) if run.profile_sha256 == description.sha256() => {
            return Err(edited_snapshot(run, &snapshot()?));
        }
        Err(e) => return Err(e.into()),
    };
    let differences = profile::compare(&stored, &run.profile_sha256, &description);
    if differences.is_empty() {
        return Ok(description);
    }
    // The hash covers more than the snapshot: where it fits, the profile is what it was.
    if run.profile_sha256 == description.sha256() {
        return Err(edited_snapshot(run, &snapshot()?));
    }
    let mut failure = Failure::new("PROFILE_SNAPSHOT_MISMATCH", profile::mismatch_text(&differences))
        .fact("run_id", &run.run_id);
    if snapshot().is_ok_and(|now| run.profile_snapshot == now) {
        failure = failure.detail(format!(
            "NETWORK_RUN record {} of the state app: field resolved_profile_sha256 is '{}', the profile has '{}' and fits \
             the field resolved_profile_snapshot: either the hash was edited, or something was changed in the profile that \
             only the hash covers",
            run.record_id,
            run.profile_sha256,
            description.sha256()
        ));
    }
    Err(failure)
}

fn edited_snapshot(run: &Run, expected: &str) -> Failure {
    let stored = &run.profile_snapshot;
    let edit = edited::of_run(run, "resolved_profile_snapshot", stored, edited::value(expected));
    edited_run(run, &edit)
}

/// The Run contradicts itself, and the field that does is known (D-09).
pub fn edited_run(run: &Run, edit: &Edit) -> Failure {
    required(&run.run_id, &[reconcile::edit_of(None, edit)])
}

fn ledger(run: &Run, all: &mut Gathered) -> Result<Ledger, Failure> {
    fn entries<T: super::ledger::Stored>(values: Vec<T>) -> Vec<Entry<T>> {
        values.into_iter().map(Entry::read).collect()
    }
    let states = std::mem::take(&mut all.states);
    for (i, state) in states.iter().enumerate() {
        if let Some(first) = states[..i].iter().find(|s| s.node_id == state.node_id) {
            return Err(Failure::new(
                "MULTIPLE_RECORDS",
                format!(
                    "node '{}' has several Node States: record {} of the state app and its copy, record {}",
                    state.node_id, first.record_id, state.record_id
                ),
            )
            .fact("run_id", &run.run_id));
        }
    }
    Ok(Ledger {
        run: Entry::read(run.clone()),
        nodes: entries(states),
        hold: all.hold.take().map(Entry::read),
        invocations: entries(std::mem::take(&mut all.invocations)),
        attempts: entries(std::mem::take(&mut all.attempts)),
        operations: Vec::new(),
        permits: Vec::new(),
    })
}

impl Course<'_> {
    fn now(&self) -> Timestamp {
        self.inside.ctx.clock.now()
    }

    /// Node States in definition order; those that an interrupted creation left out are added (N11).
    fn add_missing_states(&mut self) -> Result<(), Failure> {
        let run_id = self.ledger.run.get().run_id.clone();
        let now = self.now();
        let started = edited::was_started(self.ledger.run.get());
        let states: Vec<_> = self.ledger.nodes.iter().map(|e| e.get().clone()).collect();
        let edits = reconcile::against_definition(&states, &self.network);
        if !edits.is_empty() {
            return Err(required(&run_id, &edits));
        }
        let mut ordered = Vec::new();
        for node in &self.network.nodes {
            match self.ledger.nodes.iter().position(|e| e.get().node_id == node.id) {
                // All were made before the Run was started: this one was deleted, or its run_id was edited.
                None if started => {
                    return Err(required(&run_id, &[reconcile::state_missing(&run_id, &node.id)]));
                }
                None => ordered.push(Entry::fresh(new_state(&run_id, node, now)?)),
                Some(at) => ordered.push(self.ledger.nodes.swap_remove(at)),
            }
        }
        if let Some(foreign) = self.ledger.nodes.first() {
            return Err(Failure::new(
                "RUN_SNAPSHOT_MISMATCH",
                format!(
                    "Node State of '{}' is not in the definition",
                    foreign.get().node_id
                ),
            ));
        }
        self.ledger.nodes = ordered;
        Ok(())
    }

    /// Repairs what the records prove, asks the JOB log about orphans, refuses the rest (RCN, ORP).
    fn reconcile(&mut self, all: &Gathered) -> Result<(), Failure> {
        let newest_first = |mut v: Vec<NodeState>| {
            v.reverse();
            v
        };
        let states = newest_first(self.ledger.nodes.iter().map(|e| e.get().clone()).collect());
        let mut attempts: Vec<_> = self.ledger.attempts.iter().map(|e| e.get().clone()).collect();
        attempts.reverse();
        let invocations: Vec<_> = self.ledger.invocations.iter().map(|e| e.get().clone()).collect();
        let examination = reconcile::examine(&Records {
            run: self.ledger.run.get(),
            states: &states,
            attempts: &attempts,
            resolutions: &all.resolutions,
            invocations: &invocations,
            archived: all.archived,
            damaged: &all.damaged,
            invocation_id: &self.inside.invocation_id,
        });
        if !examination.unrepairable.is_empty() {
            return Err(required(&self.ledger.run.get().run_id, &examination.unrepairable));
        }
        for saved in states.iter().filter(|s| s.revision != s.business_revision) {
            (self.inside.ctx.warn)(format!(
                "the Node State of '{}' (record {} of the state app) was saved by somebody else; its values agree with its \
                 attempts, going on",
                saved.node_id, saved.record_id
            ));
        }
        let now = self.now();
        for step in &examination.repairs {
            repair::apply(&mut self.ledger, step, now)?;
            self.repaired = true;
        }
        let adjudicated = orphan::adjudicate(
            self.inside.ctx,
            &mut self.ledger,
            &examination.orphans,
            self.log_is_runners,
        )?;
        if !adjudicated.is_empty() {
            self.repaired = true;
            self.notes
                .push(format!("orphan attempts adjudicated: {}", adjudicated.join(", ")));
        }
        repair::finish_abandoned(&mut self.ledger, &self.inside.invocation_id, now)?;
        Ok(())
    }

    fn plan(&self) -> Result<Plan, Failure> {
        let states: Vec<&NodeState> = self.ledger.nodes.iter().map(Entry::get).collect();
        let attempts: Vec<_> = self.ledger.attempts.iter().map(Entry::get).collect();
        let success = self.ledger.run.get().status == RunStatus::Success;
        if let Some(from) = &self.inside.request.rerun_from {
            let rerun = select::rerun_from(&self.network, &states, success, from)?;
            Ok(Plan {
                mode: Mode::RerunFrom,
                selection: Selection::default(),
                retried: rerun.clone(),
                rerun,
            })
        } else {
            let selection = select::resume(&self.network, &states, &attempts);
            // A node that an earlier resume set back and did not reach waits like one that was never tried.
            let retried = states
                .iter()
                .filter(|s| s.status == NodeStatus::Waiting || selection.reset.contains(&s.node_id))
                .filter(|s| !selection.excluded.contains(&s.node_id))
                .map(|s| s.node_id.clone())
                .collect();
            Ok(Plan {
                mode: Mode::Resume,
                selection,
                rerun: Vec::new(),
                retried,
            })
        }
    }

    /// Writes the plan: repairs first, so that no node skips a status; then resets and the new invocation.
    fn record(mut self, lease: &Lease, plan: Plan, contents: Contents) -> Result<Ready, Failure> {
        let now = self.now();
        self.ledger
            .invocations
            .push(Entry::fresh(self.invocation(&plan, now)?));
        if self.repaired {
            schedule::refresh_aggregate(&mut self.ledger, now);
            self.ledger.commit(lease)?;
        }
        for brake in &plan.selection.brakes {
            if let Some(state) = self.ledger.edit_node(&brake.node_id)
                && state.status_reason != brake.reason()
            {
                state.status_reason = brake.reason();
                state.updated_at = now.iso_ms();
            }
        }
        for node_id in plan.selection.reset.iter().chain(&plan.rerun) {
            if plan.mode == Mode::RerunFrom {
                self.ledger.permit(node_id, Permit::RerunFrom);
            }
            if let Some(state) = self.ledger.edit_node(node_id) {
                reset(state, now);
            }
        }
        let scope = Scope {
            mode: plan.mode,
            selected: plan.rerun.iter().cloned().collect(),
            excluded: self.excluded(&plan),
        };
        schedule::block_dependents(&self.network, &scope, &mut self.ledger, now);
        schedule::refresh_aggregate(&mut self.ledger, now);
        self.ledger.commit(lease)?;
        self.forget_owners();
        lease.set_heartbeat(std::time::Duration::from_secs(self.network.lock.heartbeat_sec));
        Ok(Ready {
            mode: plan.mode,
            ledger: self.ledger,
            network: self.network,
            contents: Some(contents),
            expected_zip: None,
            invocation_id: self.inside.invocation_id.clone(),
            scope,
            brakes: plan.selection.brakes,
            log_is_runners: self.log_is_runners,
        })
    }

    /// Owner files of invocations that are settled now have served their purpose.
    fn forget_owners(&self) {
        let dir = self.inside.ctx.owner_dir();
        for invocation in self.ledger.invocations.iter().map(Entry::get) {
            if invocation.invocation_id != self.inside.invocation_id
                && let Some(left) = owner::find_by_invocation(&dir, &invocation.invocation_id)
            {
                owner::forget(&dir, &left.token);
            }
        }
    }

    /// A rerun resets nothing else, but excludes like a resume (SEL-04).
    fn excluded(&self, plan: &Plan) -> std::collections::BTreeSet<String> {
        if plan.mode == Mode::Resume {
            return plan.selection.excluded.clone();
        }
        let states: Vec<&NodeState> = self.ledger.nodes.iter().map(Entry::get).collect();
        let attempts: Vec<_> = self.ledger.attempts.iter().map(Entry::get).collect();
        let mut excluded = select::resume(&self.network, &states, &attempts).excluded;
        excluded.retain(|id| !plan.rerun.contains(id));
        excluded
    }

    fn invocation(&self, plan: &Plan, now: Timestamp) -> Result<Invocation, Failure> {
        let run_id = &self.ledger.run.get().run_id;
        let mut new = new_invocation(self.inside, run_id, plan.mode, now)?;
        if let Some(from) = &self.inside.request.rerun_from {
            new.selected.clone_from(&plan.rerun);
            new.reason = format!("rerun from {from}");
        } else {
            for state in self.ledger.nodes.iter().map(Entry::get) {
                let list = match state.status {
                    NodeStatus::Success => &mut new.preserved,
                    NodeStatus::Unknown => &mut new.blocked,
                    NodeStatus::Failed | NodeStatus::Cancelled if !state.idempotent => &mut new.blocked,
                    _ => &mut new.selected,
                };
                list.push(state.node_id.clone());
            }
            for list in [&mut new.selected, &mut new.preserved, &mut new.blocked] {
                list.sort_by(|a, b| crate::flownet::canonical_json::text_order(a, b));
            }
            "resume incomplete run".clone_into(&mut new.reason);
        }
        for note in &self.notes {
            new.add_reason(note);
        }
        Ok(new)
    }
}

/// Back to WAITING; start time and attempt number stay (SEL-02).
fn reset(state: &mut NodeState, now: Timestamp) {
    state.status = NodeStatus::Waiting;
    state.active_attempt_id = String::new();
    state.blocked_by = Vec::new();
    state.status_reason = String::new();
    state.finished_at = String::new();
    state.updated_at = now.iso_ms();
}

/// RCN-02: the findings as JSON, as the original words them.
pub fn required(run_id: &str, findings: &[Inconsistency]) -> Failure {
    let list: Vec<Object> = findings
        .iter()
        .map(|f| {
            Object::new()
                .with("code", f.code)
                .with_some("nodeId", f.node_id.as_deref())
                .with("detail", f.detail.as_str())
                .with_some(
                    "attemptIds",
                    (!f.attempt_ids.is_empty()).then(|| f.attempt_ids.clone()),
                )
        })
        .collect();
    let mut failure = Failure::new(
        "RECONCILIATION_REQUIRED",
        format!("RECONCILIATION_REQUIRED: {}", Json::from(list).compact()),
    )
    .fact("run_id", run_id);
    for f in findings {
        failure = failure.detail(format!(
            "{} {}: {}",
            f.code,
            f.node_id.as_deref().unwrap_or("-"),
            f.detail
        ));
    }
    failure
}

/// What a Run that says SUCCESS still needs.
pub enum Success {
    /// Nothing.
    Complete,
    /// An earlier owner left invocations open.
    LeftOpen,
}

/// Do the records of a Run that says SUCCESS say the same? Without that its start may not end as done (D-09).
pub fn confirm_success(ctx: &Context, run: &Run) -> Result<Success, Failure> {
    let all = gather(ctx, &run.run_id)?;
    let found = all.examine(all.run.as_ref().unwrap_or(run));
    if !found.unrepairable.is_empty() {
        return Err(required(&run.run_id, &found.unrepairable));
    }
    let open = |i: &Invocation| i.status == AttemptStatus::Running;
    Ok(if all.invocations.iter().any(open) {
        Success::LeftOpen
    } else {
        Success::Complete
    })
}
