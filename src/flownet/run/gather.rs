//! All records of one existing Run, in two or three reads (BTR-03, RBT-04, RBT-05).

use super::context::Context;
use super::failure::Failure;
use crate::flownet::key;
use crate::flownet::record::status::{AttemptStatus, Lifecycle};
use crate::flownet::record::{
    Attempt, DecodeError, Hold, Invocation, NodeState, Resolution, Run, attempt, hold, invocation,
    node_state, operation, resolution, run,
};
use crate::flownet::rule::edited;
use crate::flownet::rule::reconcile::{self, Examination, Records};
use crate::kintone::{App, Client, Record, query};

/// Attempt ids in one resolutions query: keeps the query far below kintone's limit of its length.
const IDS_PER_QUERY: usize = 100;

/// Records of one page: kintone gives no more at once.
const PAGE: usize = 500;

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
    /// Only the newest of its Invocations were read.
    pub is_cut: bool,
    /// Nodes whose job lock was put on record as gone, with the number of that record.
    pub unlocked: Vec<(String, u64)>,
    /// Records of the Run that cannot be read; they are in none of the lists.
    pub damaged: Vec<DecodeError>,
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
            damaged: &self.damaged,
            invocation_id: "",
        })
    }
}

/// The one Run that was asked for, or a refusal with `code`. A second one with an edited key is out of the way once it is
/// archived.
pub fn only(mut found: Vec<Run>, code: &'static str) -> Result<Option<Run>, Failure> {
    if found.len() > 1 {
        found.retain(|r| edited::run_key(r).is_none() || r.lifecycle == Lifecycle::Active);
    }
    if let Some(text) = copied(&found) {
        return Err(Failure::new(code, text));
    }
    if found.len() > 1 {
        let list: Vec<String> = found
            .iter()
            .map(|r| format!("{} (record {} of the state app)", r.run_id, r.record_id))
            .collect();
        return Err(Failure::new(
            code,
            format!("several Runs are the one that was asked for: {}", list.join(", ")),
        ));
    }
    Ok(found.pop())
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
    let mut exact = Vec::new();
    for record in page.records.iter().filter(|r| r.text("run_id") == run_id) {
        exact.push(Run::from_record(record)?);
    }
    only(exact, "MULTIPLE_RECORDS")?.ok_or_else(|| no_run(run_id))
}

/// Says which records are copies of one Run, when the first one has any: no program makes a second record of a Run.
pub fn copied(found: &[Run]) -> Option<String> {
    let run_id = &found.first()?.run_id;
    let same: Vec<&Run> = found.iter().filter(|r| r.run_id == *run_id).collect();
    let first = same
        .iter()
        .min_by_key(|r| (edited::run_key(r).is_some(), r.record_id))?;
    let copies: Vec<String> = same
        .iter()
        .filter(|r| r.record_id != first.record_id)
        .map(|r| format!("record {}", r.record_id))
        .collect();
    (!copies.is_empty()).then(|| {
        format!(
            "NETWORK_RUN record {} of the state app was copied by hand: {} of the state app has the same run_id '{run_id}' \
             and has to be deleted",
            first.record_id,
            copies.join(" and "),
        )
    })
}

/// The records of a Run in the state app.
pub fn of_run(run_id: &str) -> String {
    query::one_of("run_id", &[run_id])
}

/// Reads everything about a Run without a start context.
pub fn read(client: &Client, state: &App, audit: &App, run_id: &str) -> Result<Gathered, Failure> {
    let state_records = client.all_by_id(state, &of_run(run_id), &[])?;
    read_behind(state_records, client, audit, run_id, false)
}

/// Reads everything about a Run whose records in the state app are read already; `newest` leaves out what does not fit into
/// one page of Invocations.
pub fn read_behind(
    state_records: Vec<Record>,
    client: &Client,
    audit: &App,
    run_id: &str,
    newest: bool,
) -> Result<Gathered, Failure> {
    let mut all = Gathered {
        run: None,
        states: Vec::new(),
        hold: None,
        invocations: Vec::new(),
        attempts: Vec::new(),
        resolutions: Vec::new(),
        archived: false,
        is_cut: false,
        unlocked: Vec::new(),
        damaged: Vec::new(),
    };
    let hold_key = hold_key(run_id)?;
    for record in state_records {
        if record.text("run_id") != run_id {
            continue;
        }
        match record.text("record_type") {
            run::RECORD_TYPE => all.run = sound(Run::from_record(&record), &mut all.damaged),
            node_state::RECORD_TYPE => {
                let read = NodeState::from_record(&record);
                all.states.extend(sound(read, &mut all.damaged));
            }
            hold::RECORD_TYPE if record.text("record_key") == hold_key => {
                all.hold = sound(Hold::from_record(&record), &mut all.damaged);
            }
            _ => {}
        }
    }
    let types = query::one_of("record_type", &[invocation::RECORD_TYPE, attempt::RECORD_TYPE]);
    let codes = [&[operation::RUN_ARCHIVED], &operation::LOCK_IS_GONE[..]].concat();
    let events = query::one_of("result_code", &codes);
    let wanted = query::and(&[of_run(run_id), query::or(&[types, events])]);
    let page = if newest {
        newest_page(client, audit, &wanted)?
    } else {
        None
    };
    let (records, is_cut) = match page {
        Some(page) => page,
        None => (client.all_by_id(audit, &wanted, &[])?, false),
    };
    all.is_cut = is_cut;
    for record in records {
        if record.text("run_id") != run_id {
            continue;
        }
        match record.text("record_type") {
            invocation::RECORD_TYPE => {
                let read = Invocation::from_record(&record);
                all.invocations.extend(sound(read, &mut all.damaged));
            }
            attempt::RECORD_TYPE => {
                let read = Attempt::from_record(&record);
                all.attempts.extend(sound(read, &mut all.damaged));
            }
            operation::RECORD_TYPE if record.text("result_code") == operation::RUN_ARCHIVED => {
                all.archived = true;
            }
            operation::RECORD_TYPE => {
                let node = operation::unlocked_node(&record);
                all.unlocked.extend(node.map(|node| (node, record.id())));
            }
            _ => {}
        }
    }
    all.resolutions = resolutions(client, audit, &all.attempts, &mut all.damaged)?;
    Ok(all)
}

/// One page with all Attempts and the newest of everything else, oldest first, and whether something was left out; `None`
/// when the Attempts alone fill it. Only they have a number, and an empty one counts as the smallest.
fn newest_page(client: &Client, audit: &App, wanted: &str) -> Result<Option<(Vec<Record>, bool)>, Failure> {
    let text = format!("{wanted} order by attempt_no desc, $id desc limit {PAGE}");
    let mut records = client.records(audit, &text, &[], false)?.records;
    let full = records.len() >= PAGE;
    let attempts_end = |last: &Record| last.text("record_type") != attempt::RECORD_TYPE;
    if full && !records.last().is_some_and(attempts_end) {
        return Ok(None);
    }
    records.sort_by_key(Record::id);
    Ok(Some((records, full)))
}

/// A record that was read, or a line among the damaged ones: it must hide no other record.
fn sound<T>(read: Result<T, DecodeError>, damaged: &mut Vec<DecodeError>) -> Option<T> {
    read.map_err(|e| damaged.push(e)).ok()
}

/// Resolutions of attempts that can have one; none of them, no read.
fn resolutions(
    client: &Client,
    audit: &App,
    attempts: &[Attempt],
    damaged: &mut Vec<DecodeError>,
) -> Result<Vec<Resolution>, Failure> {
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
                found.extend(sound(Resolution::from_record(&record), damaged));
            }
        }
    }
    Ok(found)
}

/// The record key of a Run's hold. An id that fits into no key is the id of no Run: mistyped, or pasted twice.
pub fn hold_key(run_id: &str) -> Result<String, Failure> {
    key::hold_record_key(run_id).map_err(|_| no_run(run_id))
}

/// There is no such Run.
pub fn no_run(run_id: &str) -> Failure {
    Failure::new("RECORD_NOT_FOUND", format!("there is no Run {run_id}"))
}
