//! A NEW Run: bundle up, then Run, Node States and Invocation in one commit (ENS-02, D-01).

use super::attempt;
use super::context::{Context, WhichRun};
use super::ensure::Inside;
use super::failure::Failure;
use super::ledger::{Entry, Ledger};
use super::prepare::Prepared;
use super::schedule::Ready;
use crate::flownet::canonical_json::sha256_hex;
use crate::flownet::clock::uuid;
use crate::flownet::definition::{Network, Node};
use crate::flownet::key;
use crate::flownet::lease::Lease;
use crate::flownet::record::status::{AttemptStatus, Lifecycle, Mode, NodeStatus, RunStatus};
use crate::flownet::record::{DamagedRun, Invocation, NodeState, Run, invocation};
use crate::flownet::rule::schedule::Scope;
use crate::flownet::time::Timestamp;

/// Creates the Run and its records.
pub fn create(
    inside: &Inside<'_>,
    lease: &Lease,
    prepared: Prepared,
    others: Vec<Run>,
    damaged: Vec<DamagedRun>,
) -> Result<Ready, Failure> {
    let network = &inside.request.network;
    let ctx = inside.ctx;
    refuse_too_many(ctx, network, others, damaged)?;
    let now = ctx.clock.now();
    let run = new_run(inside, &prepared, now)?;
    attempt::refuse_unstartable(ctx, &run, network)?;
    let file_key = ctx
        .client
        .upload(
            &ctx.state,
            "execution-bundle.zip",
            "application/zip",
            &prepared.bundle.zip,
        )
        .map_err(|e| Failure::new("BUNDLE_UPLOAD_FAILED", format!("bundle upload failed: {e}")))?;
    let run = Run {
        bundle_file_key: file_key,
        ..run
    };
    let mut nodes = Vec::new();
    for node in &network.nodes {
        nodes.push(Entry::fresh(new_state(&run.run_id, node, now)?));
    }
    let mut first = new_invocation(inside, &run.run_id, Mode::New, now)?;
    first.selected = network.nodes.iter().map(|n| n.id.clone()).collect();
    "new business run".clone_into(&mut first.reason);
    let mut ledger = Ledger {
        run: Entry::fresh(run),
        nodes,
        hold: None,
        invocations: vec![Entry::fresh(first)],
        attempts: Vec::new(),
        operations: Vec::new(),
        permits: Vec::new(),
    };
    ledger
        .commit(lease)
        .map_err(|e| taken_meanwhile(e.into(), &ledger))?;
    Ok(Ready {
        mode: Mode::New,
        ledger,
        network: network.clone(),
        contents: None,
        expected_zip: Some(prepared.bundle.sha256),
        invocation_id: inside.invocation_id.clone(),
        scope: Scope::new_run(),
        brakes: Vec::new(),
        log_is_runners: prepared.log_is_runners,
    })
}

/// A duplicate of the R1 key: somebody made the Run in a way that our query did not show.
fn taken_meanwhile(failure: Failure, ledger: &Ledger) -> Failure {
    if failure.code == "DUPLICATE_RECORD" {
        let run = ledger.run.get();
        return failure.detail(format!(
            "a record with the key of business key '{}' ({}) may exist already",
            run.business_key, run.record_key
        ));
    }
    failure
}

/// MAX-01: unfinished Runs of other business keys.
///
/// One that cannot be read counts: it may be unfinished.
fn refuse_too_many(
    ctx: &Context,
    network: &Network,
    others: Vec<Run>,
    damaged: Vec<DamagedRun>,
) -> Result<(), Failure> {
    let mut ids: Vec<String> = others
        .into_iter()
        .filter(|r| r.resume_allowed && r.lifecycle == Lifecycle::Active && r.status != RunStatus::Success)
        .map(|r| r.run_id)
        .collect();
    for run in damaged.into_iter().filter(DamagedRun::is_unfinished) {
        (ctx.warn)(format!(
            "Run {} counts as unfinished: {}; archive-run --abandon closes it",
            run.run_id, run.error
        ));
        ids.push(run.run_id);
    }
    ids.sort_unstable();
    if ids.len() as u64 >= network.max_active_runs {
        let mut failure = Failure::new(
            "MAX_ACTIVE_RUNS",
            format!(
                "network '{}' has {} unfinished Runs of other business keys, max_active_runs is {}",
                network.network_id,
                ids.len(),
                network.max_active_runs
            ),
        )
        .fact("run_id", ids.first().cloned().unwrap_or_default());
        failure.extra.blocked_run_ids = ids;
        return Err(failure);
    }
    Ok(())
}

/// The Run without its bundle, which is uploaded last.
fn new_run(inside: &Inside<'_>, prepared: &Prepared, now: Timestamp) -> Result<Run, Failure> {
    let request = inside.request;
    // Only a start by business key creates a Run (`refuse_missing`).
    let (business_key, as_of) = match &request.which {
        WhichRun::Key { business_key, as_of } => (business_key.clone(), as_of.clone()),
        WhichRun::Id(id) => return Err(Failure::new("RUN_NOT_FOUND", format!("there is no Run {id}"))),
    };
    Ok(Run {
        record_id: 0,
        revision: 0,
        record_key: key::run_key(&inside.ctx.profile, &request.network.network_id, &business_key)?,
        run_id: format!("netrun_{}", uuid()?),
        network_id: request.network.network_id.clone(),
        business_key,
        max_active_runs: request.network.max_active_runs,
        status: RunStatus::Created,
        lifecycle: Lifecycle::Active,
        resume_allowed: true,
        as_of,
        definition_schema_version: request.network.schema_version,
        definition_sha256: sha256_hex(&request.network_yaml),
        bundle_sha256: prepared.bundle.sha256.clone(),
        bundle_file_key: String::new(),
        profile_snapshot: prepared.snapshot.to_json(),
        profile_sha256: prepared.profile_sha256.clone(),
        ksql_flow_version: request.capabilities.ksql_flow_version.clone(),
        engine_version: request.capabilities.engine_version.clone(),
        dialect: prepared.dialect,
        created_at: now.iso_ms(),
        started_at: String::new(),
        finished_at: String::new(),
        updated_at: now.iso_ms(),
    })
}

/// A node that has not been tried.
pub fn new_state(run_id: &str, node: &Node, now: Timestamp) -> Result<NodeState, Failure> {
    let node_state_key = key::node_state_key(run_id, &node.id)?;
    Ok(NodeState {
        record_id: 0,
        revision: 0,
        business_revision: 0,
        record_key: key::state_record_key(&node_state_key)?,
        node_state_key,
        node_state_id: format!("nodestate_{}", uuid()?),
        run_id: run_id.to_owned(),
        node_id: node.id.clone(),
        job_id: node.job_id.clone(),
        status: NodeStatus::Waiting,
        latest_attempt_no: 0,
        active_attempt_id: String::new(),
        idempotent: node.idempotent,
        trigger_rule: node.trigger_rule.clone(),
        blocked_by: Vec::new(),
        status_reason: String::new(),
        started_at: String::new(),
        finished_at: String::new(),
        updated_at: now.iso_ms(),
    })
}

/// This start as a record, RUNNING.
pub fn new_invocation(
    inside: &Inside<'_>,
    run_id: &str,
    mode: Mode,
    now: Timestamp,
) -> Result<Invocation, Failure> {
    Ok(Invocation {
        record_id: 0,
        revision: 0,
        record_key: key::invocation_record_key(&inside.invocation_id)?,
        run_id: run_id.to_owned(),
        invocation_id: inside.invocation_id.clone(),
        mode,
        requested_by: inside.ctx.requested_by.clone(),
        host: inside.ctx.host.clone(),
        started_at: now.iso_ms(),
        finished_at: String::new(),
        status: AttemptStatus::Running,
        result_code: invocation::PENDING.to_owned(),
        selected: Vec::new(),
        preserved: Vec::new(),
        blocked: Vec::new(),
        reason: String::new(),
    })
}
