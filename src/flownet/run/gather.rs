//! All records of one existing Run, in two or three reads (BTR-03, RBT-04, RBT-05).

use super::context::Context;
use super::failure::Failure;
use crate::flownet::key;
use crate::flownet::record::status::AttemptStatus;
use crate::flownet::record::{
    Attempt, Hold, Invocation, NodeState, Resolution, Run, attempt, hold, invocation, node_state, operation,
    resolution, run,
};
use crate::flownet::rule::reconcile::{self, Examination, Records};
use crate::kintone::{App, Client, query};

/// Attempt ids in one resolutions query: keeps the query far below kintone's limit of its length.
const IDS_PER_QUERY: usize = 100;

/// The records of a Run, each list in record order (oldest first).
pub struct Gathered {
    /// The Run.
    pub run: Option<Run>,
    /// Its Node States.
    pub states: Vec<NodeState>,
    /// Its hold.
    pub hold: Option<Hold>,
    /// Its Invocations.
    pub invocations: Vec<Invocation>,
    /// Its Attempts.
    pub attempts: Vec<Attempt>,
    /// Resolutions of its Attempts.
    pub resolutions: Vec<Resolution>,
    /// An archive of the Run is on record.
    pub archived: bool,
}

impl Gathered {
    /// Do these records of `run` agree with each other? For those who look without working on it.
    pub fn examine(&self, run: &Run) -> Examination {
        reconcile::examine(&Records {
            run,
            states: &self.states,
            attempts: &self.attempts,
            resolutions: &self.resolutions,
            invocations: &self.invocations,
            archived: self.archived,
            invocation_id: "",
        })
    }
}

/// Reads everything about a Run.
pub fn gather(ctx: &Context, run_id: &str) -> Result<Gathered, Failure> {
    read(&ctx.client, &ctx.state, &ctx.audit, run_id)
}

/// Reads one Run by its id.
pub fn run_by_id(ctx: &Context, run_id: &str) -> Result<Run, Failure> {
    let condition = query::and(&[
        query::one_of("record_type", &[run::RECORD_TYPE]),
        query::one_of("run_id", &[run_id]),
    ]);
    let page = ctx.client.records(&ctx.state, &condition, &[], false)?;
    let mut exact = page.records.iter().filter(|r| r.text("run_id") == run_id);
    match (exact.next(), exact.next()) {
        (Some(one), None) => Ok(Run::from_record(one)?),
        (None, _) => Err(Failure::new(
            "RECORD_NOT_FOUND",
            format!("there is no Run {run_id}"),
        )),
        (Some(_), Some(_)) => Err(Failure::new(
            "MULTIPLE_RECORDS",
            format!("there are several Runs {run_id}"),
        )),
    }
}

/// Reads everything about a Run; also for `status`, which has no start context.
pub fn read(client: &Client, state: &App, audit: &App, run_id: &str) -> Result<Gathered, Failure> {
    let mut all = Gathered {
        run: None,
        states: Vec::new(),
        hold: None,
        invocations: Vec::new(),
        attempts: Vec::new(),
        resolutions: Vec::new(),
        archived: false,
    };
    let mine = query::one_of("run_id", &[run_id]);
    let hold_key = key::hold_record_key(run_id)?;
    for record in client.all_by_id(state, &mine, &[])? {
        if record.text("run_id") != run_id {
            continue;
        }
        match record.text("record_type") {
            run::RECORD_TYPE => all.run = Some(Run::from_record(&record)?),
            node_state::RECORD_TYPE => all.states.push(NodeState::from_record(&record)?),
            hold::RECORD_TYPE if record.text("record_key") == hold_key => {
                all.hold = Some(Hold::from_record(&record)?);
            }
            _ => {}
        }
    }
    let types = query::one_of("record_type", &[invocation::RECORD_TYPE, attempt::RECORD_TYPE]);
    let archive = query::one_of("result_code", &[operation::RUN_ARCHIVED]);
    let wanted = query::and(&[mine, query::or(&[types, archive])]);
    for record in client.all_by_id(audit, &wanted, &[])? {
        if record.text("run_id") != run_id {
            continue;
        }
        match record.text("record_type") {
            invocation::RECORD_TYPE => all.invocations.push(Invocation::from_record(&record)?),
            attempt::RECORD_TYPE => all.attempts.push(Attempt::from_record(&record)?),
            operation::RECORD_TYPE if record.text("result_code") == operation::RUN_ARCHIVED => {
                all.archived = true;
            }
            _ => {}
        }
    }
    all.resolutions = resolutions(client, audit, &all.attempts)?;
    Ok(all)
}

/// Resolutions of attempts that can have one; none of them, no read.
fn resolutions(client: &Client, audit: &App, attempts: &[Attempt]) -> Result<Vec<Resolution>, Failure> {
    let ids: Vec<&str> = attempts
        .iter()
        .filter(|a| matches!(a.status, AttemptStatus::Unknown | AttemptStatus::Failed))
        .map(|a| a.attempt_id.as_str())
        .collect();
    let mut found = Vec::new();
    for some in ids.chunks(IDS_PER_QUERY) {
        let condition = query::and(&[
            query::one_of("record_type", &[resolution::RECORD_TYPE]),
            query::one_of("attempt_id", some),
        ]);
        for record in client.all_by_id(audit, &condition, &[])? {
            if some.contains(&record.text("attempt_id")) {
                found.push(Resolution::from_record(&record)?);
            }
        }
    }
    Ok(found)
}
