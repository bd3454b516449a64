//! What every operator command works with, and how it writes without a lock.

use std::sync::Arc;

use crate::flownet::clock::Clock;
use crate::flownet::lease::change::{self, Apps, Change};
use crate::flownet::lease::witness::{self, WitnessError};
use crate::flownet::record::{DamagedRun, Hold, Run, hold, run};
use crate::flownet::run::failure::remote_code;
use crate::flownet::run::{Failure, gather};
use crate::kintone::{self, App, BulkItem, Client, query};

/// How often a command decides anew because somebody else was faster.
const DECISIONS: u32 = 4;

/// The surroundings of an operator command.
pub struct Desk {
    /// kintone.
    pub client: Client,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// State app.
    pub state: App,
    /// Audit app.
    pub audit: App,
    /// Account that the command runs as; empty when the command does not record it.
    pub service_principal: String,
    /// The person behind the command.
    pub requested_by: String,
}

/// A Run, or what can be read of it.
pub(super) type Readable = Result<Run, Box<DamagedRun>>;

/// Why one round of reading, deciding and writing did not end in a result.
pub(super) enum Stop {
    /// For good.
    Failure(Failure),
    /// A record changed between reading and writing; nothing was written.
    Again(kintone::Error),
}

impl<E: Into<Failure>> From<E> for Stop {
    fn from(e: E) -> Self {
        Self::Failure(e.into())
    }
}

/// Reads, decides and writes until nobody else was faster, a bounded number of times.
pub(super) fn rounds<T>(mut round: impl FnMut() -> Result<T, Stop>) -> Result<T, Failure> {
    let mut left = DECISIONS;
    loop {
        left -= 1;
        match round() {
            Ok(value) => return Ok(value),
            Err(Stop::Failure(failure)) => return Err(failure),
            Err(Stop::Again(_)) if left > 0 => {}
            Err(Stop::Again(error)) => {
                return Err(Failure::new(
                    remote_code(&error),
                    format!("the records kept changing; nothing was written: {error}"),
                ));
            }
        }
    }
}

impl Desk {
    /// A Run and its hold, in one read.
    pub(super) fn run_and_hold(&self, run_id: &str) -> Result<(Run, Option<Hold>), Failure> {
        match self.any_run_and_hold(run_id)? {
            (Ok(run), hold) => Ok((run, hold)),
            (Err(damaged), _) => Err(damaged.into()),
        }
    }

    /// The same for a Run that may be damaged.
    pub(super) fn any_run_and_hold(&self, run_id: &str) -> Result<(Readable, Option<Hold>), Failure> {
        let hold_key = gather::hold_key(run_id)?;
        let condition = query::and(&[
            query::one_of("record_type", &[run::RECORD_TYPE, hold::RECORD_TYPE]),
            query::one_of("run_id", &[run_id]),
        ]);
        let page = self.client.records(&self.state, &condition, &[], false)?;
        let (mut runs, mut found) = (Vec::new(), None);
        for record in page.records.iter().filter(|r| r.text("run_id") == run_id) {
            match record.text("record_type") {
                run::RECORD_TYPE => {
                    let read = Run::from_record(record);
                    runs.push(read.map_err(|e| Box::new(DamagedRun::from_record(record, e))));
                }
                hold::RECORD_TYPE if record.text("record_key") == hold_key => {
                    found = Some(Hold::from_record(record)?);
                }
                _ => {}
            }
        }
        let readable: Vec<Run> = runs.iter().filter_map(|r: &Readable| r.clone().ok()).collect();
        gather::only(readable, "MULTIPLE_RECORDS")?;
        match (runs.pop(), runs.is_empty()) {
            (Some(run), true) => Ok((run, found)),
            (Some(_), false) => Err(Failure::new(
                "MULTIPLE_RECORDS",
                format!("there are several Runs {run_id}"),
            )),
            (None, _) => Err(gather::no_run(run_id)),
        }
    }

    /// Writes `changes`, fenced by their revisions; one of them inserts the audit record `witness`.
    pub(super) fn write(&self, changes: &[Change], witness: &str) -> Result<(), Stop> {
        let apps = Apps {
            state: &self.state,
            audit: &self.audit,
        };
        let items: Vec<BulkItem<'_>> = change::parts(changes)
            .iter()
            .flatten()
            .map(|positions| change::item(apps, changes, positions))
            .collect();
        witness::send(&self.client, &*self.clock, &self.audit, &items, witness).map_err(|e| match e {
            WitnessError::Changed(error) => Stop::Again(error),
            WitnessError::Refused(ref error) => Failure::new(remote_code(error), e.to_string()).into(),
            WitnessError::Undecided(_) => Failure::new("AMBIGUOUS_WRITE", e.to_string()).into(),
        })
    }
}
