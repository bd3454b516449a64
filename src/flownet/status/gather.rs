//! Reading for `status`: at most 4 requests for one Run (5 where a business key leads to one of which a node was saved by
//! hand, or whose files may be gone), 3 and one per 500 Runs for a list.

use super::{Detail, Facts, Question, RunFacts, Selection};
use crate::flownet::definition::Network;
use crate::flownet::key;
use crate::flownet::record::status::{Lifecycle, RunStatus};
use crate::flownet::record::{DamagedRun, Hold, Lock, Run, hold, lock, run};
use crate::flownet::run::gather::Gathered;
use crate::flownet::run::{Failure, gather as records, inputs, stored};
use crate::kintone::{Record, query};

/// Runs whose holds are asked for by id; the query has to fit into one request. Beyond that, those of the whole app are read.
const MOST_NAMED: usize = 100;

/// Reads what the question needs.
pub fn gather(question: &Question<'_>) -> Result<Facts, Failure> {
    let lock_key = key::lock_key(question.profile, question.network_id)?;
    match &question.selection {
        Selection::All => list(question, &lock_key),
        Selection::RunId(id) => {
            let found = walk(question, &lock_key, records::of_run(id))?;
            one(question, found, true, |r| r.run_id == *id, |d| d.run_id == *id)
        }
        Selection::BusinessKey(text) => {
            let run_key = key::run_key(question.profile, question.network_id, text)?;
            let by_key = query::one_of("record_key", &[&run_key]);
            // A Run whose record_key was edited is still the Run of this business key.
            let by_parts = query::and(&[
                query::one_of("network_id", &[question.network_id]),
                query::one_of("business_key", &[text]),
            ]);
            let found = runs_and_lock(question, &lock_key, query::or(&[by_key, by_parts]))?;
            one(
                question,
                found,
                false,
                |r| r.record_key == run_key || r.derived_key().as_ref() == Some(&run_key),
                |d| d.record_key == run_key || d.business_key == *text,
            )
        }
    }
}

/// What one walk through the state app gave.
#[derive(Default)]
struct Found {
    runs: Vec<Run>,
    damaged: Vec<DamagedRun>,
    held: Option<Lock>,
    /// Records that are neither.
    rest: Vec<Record>,
}

/// Runs that meet `condition`, and the lock.
fn runs_and_lock(question: &Question<'_>, lock_key: &str, condition: String) -> Result<Found, Failure> {
    let runs = query::and(&[query::one_of("record_type", &[run::RECORD_TYPE]), condition]);
    walk(question, lock_key, runs)
}

/// Records that meet `condition`, and the lock, in one walk.
fn walk(question: &Question<'_>, lock_key: &str, condition: String) -> Result<Found, Failure> {
    let mut found = Found::default();
    let mut held: Vec<Lock> = Vec::new();
    let held_key = key::held_lock_record_key(lock_key)?;
    let both = query::or(&[condition, Lock::condition(&held_key, lock_key)]);
    for record in question.client.all_by_id(question.state, &both, &[])? {
        match record.text("record_type") {
            run::RECORD_TYPE => match Run::from_record(&record) {
                Ok(run) if belongs(question, &run) => found.runs.push(run),
                Ok(_) => {}
                Err(error) => {
                    let damaged = DamagedRun::from_record(&record, error);
                    if damaged.belongs(question.profile, question.network_id) {
                        found.damaged.push(damaged);
                    }
                }
            },
            lock::RECORD_TYPE if Lock::is_held_by(&record, &held_key, lock_key) => {
                held.push(Lock::read(&record));
            }
            _ => found.rest.push(record),
        }
    }
    if held.len() > 1 {
        let ids: Vec<String> = held.iter().map(|l| l.record_id.to_string()).collect();
        return Err(Failure::new(
            "MULTIPLE_RECORDS",
            format!(
                "several records of the state app hold the network lock: {}; the newest is the copy",
                ids.join(", ")
            ),
        ));
    }
    found.held = held.pop();
    Ok(found)
}

fn belongs(question: &Question<'_>, run: &Run) -> bool {
    run.network_id == question.network_id && run.profile() == question.profile
}

fn list(question: &Question<'_>, lock_key: &str) -> Result<Facts, Failure> {
    let condition = query::one_of("network_id", &[question.network_id]);
    let Found {
        mut runs,
        damaged,
        held,
        ..
    } = runs_and_lock(question, lock_key, condition)?;
    runs.sort_by(|a, b| crate::flownet::canonical_json::text_order(&a.run_id, &b.run_id));
    let mut holds = Vec::new();
    if !runs.is_empty() {
        let mut condition = query::one_of("record_type", &[hold::RECORD_TYPE]);
        if runs.len() <= MOST_NAMED {
            let ids: Vec<&str> = runs.iter().map(|r| r.run_id.as_str()).collect();
            condition = query::and(&[condition, query::one_of("run_id", &ids)]);
        }
        for record in question.client.all_by_id(question.state, &condition, &[])? {
            // A damaged hold of another network must not hide this one.
            if runs.iter().any(|r| r.run_id == record.text("run_id")) {
                holds.push(Hold::from_record(&record)?);
            }
        }
    }
    let owner_run = match &held {
        Some(lock) if !runs.is_empty() => run_of_invocation(question, &lock.owner_invocation_id)?,
        _ => None,
    };
    let copied: Vec<Option<String>> = runs
        .chunk_by(|a, b| a.run_id == b.run_id)
        .flat_map(|same| vec![records::copied(same); same.len()])
        .collect();
    let runs = runs
        .into_iter()
        .zip(copied)
        .map(|(run, copied)| RunFacts {
            copied,
            hold: holds.iter().find(|h| h.run_id == run.run_id).cloned(),
            owns_lock: owner_run.as_deref() == Some(run.run_id.as_str()),
            run,
            detail: None,
        })
        .collect();
    Ok(facts(question, held, runs, damaged))
}

fn run_of_invocation(question: &Question<'_>, invocation_id: &str) -> Result<Option<String>, Failure> {
    let Ok(record_key) = key::invocation_record_key(invocation_id) else {
        return Ok(None);
    };
    let text = query::one_of("record_key", &[&record_key]);
    let page = question
        .client
        .records(question.audit, &text, &["$id", "record_key", "run_id"], false)?;
    let own = page.records.iter().find(|r| r.text("record_key") == record_key);
    Ok(own.map(|r| r.text("run_id").to_owned()))
}

/// The one Run among `found`; `whole` says that the rest is everything else that the state app has of it.
fn one(
    question: &Question<'_>,
    found: Found,
    whole: bool,
    wanted: impl Fn(&Run) -> bool,
    wanted_too: impl Fn(&DamagedRun) -> bool,
) -> Result<Facts, Failure> {
    let Found {
        runs,
        damaged,
        held,
        rest,
    } = found;
    let exact: Vec<Run> = runs.into_iter().filter(|r| wanted(r)).collect();
    let Some(found) = records::only(exact, "MULTIPLE_RECORDS")? else {
        if let Some(broken) = damaged.into_iter().find(|d| wanted_too(d)) {
            return Ok(facts(question, held, Vec::new(), vec![broken]));
        }
        return Err(Failure::new(
            "RECORD_NOT_FOUND",
            format!(
                "there is no such Run of network '{}' and profile '{}'",
                question.network_id, question.profile
            ),
        ));
    };
    let (client, audit) = (question.client, question.audit);
    let state_records = if whole {
        rest
    } else {
        client.all_by_id(question.state, &records::of_run(&found.run_id), &[])?
    };
    let mut all = records::read_behind(state_records, client, audit, &found.run_id, true)?;
    all.states.reverse();
    all.attempts.reverse();
    let run = all.run.take().unwrap_or(found);
    let (network, refused) = definition(question, &run, &all);
    let owner = held.as_ref().map(|l| l.owner_invocation_id.as_str());
    let run = RunFacts {
        owns_lock: all
            .invocations
            .iter()
            .any(|i| Some(i.invocation_id.as_str()) == owner),
        hold: all.hold,
        copied: None,
        run,
        detail: Some(Detail {
            invocations: all.invocations,
            states: all.states,
            attempts: all.attempts,
            resolutions: all.resolutions,
            archived: all.archived,
            is_cut: all.is_cut,
            unlocked: all.unlocked,
            damaged: all.damaged,
            network,
            refused,
        }),
    };
    Ok(facts(question, held, vec![run], Vec::new()))
}

/// The definition of the Run, where it tells what the records do not: what a saved Node State must say, and whether an old
/// Run needs input files that may be gone. With it, why no start takes the Run on.
fn definition(question: &Question<'_>, run: &Run, all: &Gathered) -> (Option<Network>, Option<String>) {
    let open = run.lifecycle == Lifecycle::Active && run.status != RunStatus::Success;
    let saved = all.states.iter().any(|s| s.revision != s.business_revision);
    let expired = question
        .retention_days
        .and_then(|days| inputs::expired(run, days, question.now));
    if !(open && (saved || expired.is_some())) || run.bundle_file_key.is_empty() {
        return (None, None);
    }
    match stored::read_definition(question.client, question.state, run) {
        Ok(network) => {
            let refused = expired.filter(|_| network.has_inputs());
            (
                Some(network),
                refused.map(|why| format!("{why} [INPUT_RETENTION_EXPIRED]")),
            )
        }
        // What kintone did not give says nothing about the Run.
        Err(failure) if failure.code == "BUNDLE_UPLOAD_FAILED" => (None, None),
        Err(failure) => (None, Some(failure.to_string())),
    }
}

fn facts(
    question: &Question<'_>,
    lock: Option<Lock>,
    runs: Vec<RunFacts>,
    damaged: Vec<DamagedRun>,
) -> Facts {
    Facts {
        damaged,
        network_id: question.network_id.to_owned(),
        profile: question.profile.to_owned(),
        lock,
        runs,
    }
}
