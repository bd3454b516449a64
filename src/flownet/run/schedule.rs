//! Node after node, in stable topological order, until nothing more can run (SCH-01..11).

use super::attempt::{self, AttemptEnd};
use super::close::{self, Ending};
use super::context::Context;
use super::failure::{Failure, Handed};
use super::ledger::Ledger;
use super::{Finish, gather, held};
use crate::flownet::bundle::{self, BundleError, Contents};
use crate::flownet::canonical_json::sha256_hex;
use crate::flownet::child::workdir::RunDirectory;
use crate::flownet::definition::Network;
use crate::flownet::lease::Lease;
use crate::flownet::record::status::{AttemptStatus, Mode, NodeStatus, RunStatus};
use crate::flownet::record::{NodeState, Run};
use crate::flownet::rule::aggregate::aggregate;
use crate::flownet::rule::schedule::{Disposition, Scope, blocked_closure, disposition};
use crate::flownet::rule::select::Brake;
use crate::flownet::time::Timestamp;
use crate::kintone::{App, Client};

/// Clause of an invocation that a signal ended early.
const STOPPED: &str = "stopped by a signal";
/// Largest bundle that is read back, in bytes.
pub const MAX_BUNDLE_BYTES: u64 = 64 << 20;

/// A Run whose invocation is recorded and whose nodes may be run.
pub struct Ready {
    /// How the invocation came to the Run.
    pub mode: Mode,
    /// Its records.
    pub ledger: Ledger,
    /// The definition inside the bundle.
    pub network: Network,
    /// The bundle, when it was read already.
    pub contents: Option<Contents>,
    /// Hash of the bundle that has to be read back.
    pub expected_zip: Option<String>,
    /// This start.
    pub invocation_id: String,
    /// What may run.
    pub scope: Scope,
    /// Braked nodes.
    pub brakes: Vec<Brake>,
    /// The JOB log that we read is the app that the runner writes to.
    pub log_is_runners: bool,
}

/// What the loop over the nodes remembers.
#[derive(Default)]
struct Course {
    selected: Vec<String>,
    preserved: Vec<String>,
    blocked: Vec<String>,
    io_code: Option<&'static str>,
    /// No further node is started: a signal, or a person holds the Run.
    halted: bool,
    /// The ending that a hold makes, whatever the nodes are; a signal leaves it to them (SCH-10, BTR-23).
    early: Option<Ending>,
    reason: Option<String>,
    /// What the runner said of nodes that failed now.
    said: Vec<(String, String)>,
}

/// Runs the nodes and closes the invocation.
pub fn run(ctx: &Context, lease: Lease, ready: Ready) -> Result<Finish, Failure> {
    let mut ready = ready;
    let handed = Handed {
        mode: ready.mode,
        run_id: ready.ledger.run.get().run_id.clone(),
        invocation_id: ready.invocation_id.clone(),
    };
    let ended = Scheduler {
        ctx,
        lease: &lease,
        ready: &mut ready,
    }
    .nodes();
    let result = match ended {
        Ok(course) => finish(ctx, lease, &mut ready, course),
        Err(failure) => Err(fail(ctx, lease, &mut ready, failure)),
    };
    result.map_err(|mut failure| {
        failure.extra.handed = Some(handed);
        failure
    })
}

/// The ordinary end: aggregate, lists, one last commit.
fn finish(ctx: &Context, lease: Lease, ready: &mut Ready, course: Course) -> Result<Finish, Failure> {
    let now = ctx.clock.now();
    let status = refresh_aggregate(&mut ready.ledger, now);
    if status.is_terminal() && status != RunStatus::Success {
        // Independent branches ran on after the first failure: the Run ends now (AGG-02).
        *ready.ledger.run.edit() = ready.ledger.run.get().with_aggregate(status, now);
    }
    let ending = course
        .early
        .unwrap_or_else(|| close::ending(status, course.io_code));
    if let Some(invocation) = ready.ledger.edit_invocation(&ready.invocation_id) {
        invocation.selected = course.selected;
        invocation.preserved = course.preserved;
        invocation.blocked = course.blocked;
        if let Some(reason) = course.reason {
            invocation.add_reason(&reason);
        } else if !ready.brakes.is_empty() {
            let reasons: Vec<String> = ready.brakes.iter().map(Brake::reason).collect();
            invocation.add_reason(&reasons.join("; "));
        }
    }
    close::close(ctx, lease, &mut ready.ledger, &ready.invocation_id, ending, now)?;
    Ok(Finish {
        mode: Some(ready.mode),
        run_id: ready.ledger.run.get().run_id.clone(),
        invocation_id: Some(ready.invocation_id.clone()),
        aggregate: status,
        code: ending.code,
        retry_brake_node_ids: ready.brakes.iter().map(|b| b.node_id.clone()).collect(),
        as_of: ready.ledger.run.get().as_of.clone(),
        halted: course.halted,
        trouble: close::trouble(&ready.ledger, &course.said),
    })
}

/// The end after an error: what is known is kept, the invocation says SCHEDULER_FAILED (SCH-12).
fn fail(ctx: &Context, lease: Lease, ready: &mut Ready, failure: Failure) -> Failure {
    ready.ledger.discard();
    let (status, code) = if failure.code == "NETWORK_LEASE_INTERRUPTED" {
        (AttemptStatus::Cancelled, "NETWORK_LEASE_INTERRUPTED")
    } else {
        (AttemptStatus::Failed, "SCHEDULER_FAILED")
    };
    let now = ctx.clock.now();
    match close::close(
        ctx,
        lease,
        &mut ready.ledger,
        &ready.invocation_id,
        Ending { status, code },
        now,
    ) {
        Ok(()) => failure,
        Err(e) if e.code == failure.code => failure,
        Err(e) => failure.detail(format!("the invocation could not be closed: {e}")),
    }
}

/// Writes the aggregate of the nodes into the Run, if it changed or the Run starts now.
pub fn refresh_aggregate(ledger: &mut Ledger, now: Timestamp) -> RunStatus {
    let run: &Run = ledger.run.get();
    let started = !run.started_at.is_empty();
    let status = aggregate(ledger.nodes.iter().map(|n| n.get().status), started);
    if status != run.status {
        *ledger.run.edit() = run.with_aggregate(status, now);
    }
    status
}

struct Scheduler<'a> {
    ctx: &'a Context,
    lease: &'a Lease,
    ready: &'a mut Ready,
}

impl Scheduler<'_> {
    fn nodes(&mut self) -> Result<Course, Failure> {
        let contents = self.open_bundle()?;
        let directory = RunDirectory::create(&self.ctx.runner.workdir)?;
        let mut course = Course::default();
        for index in self.ready.network.order() {
            let node = self.ready.network.nodes[index].clone();
            let decided = disposition(&node, &self.ready.scope, |id| status_of(&self.ready.ledger, id));
            match decided {
                Disposition::Preserved => course.preserved.push(node.id),
                Disposition::Excluded { reported: true } | Disposition::Block(_) => {
                    course.blocked.push(node.id);
                }
                Disposition::Excluded { reported: false } => {}
                Disposition::Deferred => course.selected.push(node.id),
                Disposition::Run => {
                    course.selected.push(node.id.clone());
                    if !course.halted && self.may_start(&mut course)? {
                        let job = contents.jobs.get(&node.id).ok_or_else(|| {
                            Failure::new(
                                "BUNDLE_FILE_MISMATCH",
                                format!("the bundle has no job of node '{}'", node.id),
                            )
                        })?;
                        let sql = directory.write_job(&node.id, job)?;
                        let end = attempt::run(
                            self.ctx,
                            self.lease,
                            &mut self.ready.ledger,
                            &attempt::Task {
                                node: &node,
                                sql,
                                invocation_id: &self.ready.invocation_id,
                                log_is_runners: self.ready.log_is_runners,
                            },
                            |ledger, now| {
                                block_dependents(&self.ready.network, &self.ready.scope, ledger, now);
                                refresh_aggregate(ledger, now);
                            },
                        )?;
                        note_end(&node.id, end, &mut course);
                    }
                }
            }
        }
        // A failure to remove the directory is no failure of the Run; the next start removes what is left.
        if let Err(e) = directory.remove() {
            (self.ctx.warn)(e.to_string());
        }
        Ok(course)
    }

    /// The bundle as stored: read back and verified before anything of it is executed (BND-09, BND-10).
    fn open_bundle(&mut self) -> Result<Contents, Failure> {
        if let Some(contents) = self.ready.contents.take() {
            return Ok(contents);
        }
        let run_id = self.ready.ledger.run.get().run_id.clone();
        let stored = gather::run_by_id(self.ctx, &run_id)?;
        let expected = self
            .ready
            .expected_zip
            .clone()
            .unwrap_or_else(|| stored.bundle_sha256.clone());
        let contents = download(&self.ctx.client, &self.ctx.state, &stored, &expected)?;
        self.ready.ledger.run = super::ledger::Entry::read(stored);
        Ok(contents)
    }

    /// Nothing forbids a further node: no signal, no hold, and the lock is still ours (SCH-07).
    fn may_start(&mut self, course: &mut Course) -> Result<bool, Failure> {
        // A Run that was made a moment ago starts its first node at once: the start commit is fenced anyway.
        let just_made = self.ready.mode == Mode::New && self.ready.ledger.attempts.is_empty();
        let free = just_made || self.nobody_holds(course)?;
        // Asked last: a signal that came during the read must not start a node either.
        if free && self.ctx.stop.is_requested() {
            course.halted = true;
            course.reason = Some(STOPPED.to_owned());
            return Ok(false);
        }
        Ok(free)
    }

    /// The lock is still ours and no person holds the Run.
    fn nobody_holds(&mut self, course: &mut Course) -> Result<bool, Failure> {
        let ready = &mut *self.ready;
        let Some(hold_key) = held::stops(self.ctx, self.lease, &mut ready.ledger, &ready.invocation_id)?
        else {
            return Ok(true);
        };
        course.halted = true;
        course.early = Some(Ending {
            status: AttemptStatus::Cancelled,
            code: "STOP_REQUESTED",
        });
        course.reason = Some(format!("cancel request {hold_key} accepted"));
        Ok(false)
    }
}

fn note_end(node_id: &str, end: AttemptEnd, course: &mut Course) {
    if end.io_code.is_some() {
        course.io_code = end.io_code;
    }
    if end.stopped {
        course.reason = Some(STOPPED.to_owned());
    }
    course
        .said
        .extend(end.said.map(|text| (node_id.to_owned(), text)));
}

fn status_of(ledger: &Ledger, node_id: &str) -> NodeStatus {
    // Definition and Node States were compared before; a missing one could never run.
    ledger.node(node_id).map_or(NodeStatus::Skipped, |n| n.status)
}

/// WAITING nodes that cannot run any more become BLOCKED, in the commit of what blocks them (BTR-07).
pub fn block_dependents(network: &Network, scope: &Scope, ledger: &mut Ledger, now: Timestamp) {
    for (node_id, culprits) in blocked_closure(network, scope, |id| status_of(ledger, id)) {
        if let Some(state) = ledger.edit_node(&node_id) {
            set_blocked(state, culprits, now);
        }
    }
}

fn set_blocked(state: &mut NodeState, culprits: Vec<String>, now: Timestamp) {
    state.status = NodeStatus::Blocked;
    state.blocked_by = culprits;
    "ALL_SUCCESS_NOT_SATISFIED".clone_into(&mut state.status_reason);
    state.finished_at = now.iso_ms();
    state.updated_at = now.iso_ms();
}

/// Downloads the bundle of a Run and verifies it.
pub fn download(client: &Client, state: &App, run: &Run, expected_sha256: &str) -> Result<Contents, Failure> {
    let zip = client
        .download(state, &run.bundle_file_key, MAX_BUNDLE_BYTES)
        .map_err(|e| Failure::new("BUNDLE_UPLOAD_FAILED", format!("bundle download failed: {e}")))?;
    bundle::open(&zip, expected_sha256).map_err(|e| match e {
        BundleError::HashMismatch => Failure::from(e).detail(format!(
            "NETWORK_RUN record {} of the state app: field source_bundle_sha256 is '{expected_sha256}', the file in \
             source_bundle_attachment has '{}': one of the two was changed",
            run.record_id,
            sha256_hex(&zip)
        )),
        e => e.into(),
    })
}
