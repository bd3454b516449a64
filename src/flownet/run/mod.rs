//! The story of one start: ensure the Run, schedule its nodes, close.
//!
//! [`start`] reads: look what is there (peek) -> refuse, no-op, create or resume (ensure) -> nodes one by one
//! (schedule, attempt) -> last commit (close). Before the lock is taken nothing is written.

mod attempt;
mod close;
pub mod context;
mod create;
mod ensure;
pub mod failure;
pub mod gather;
mod held;
pub mod inputs;
mod job_log;
pub mod ledger;
mod orphan;
mod prepare;
pub mod reclaim;
pub mod repair;
mod resume;
mod schedule;
pub mod stored;

pub use context::{Context, Io, Request, WhichRun};
pub use ensure::start;
pub use failure::{Failure, Handed};

use crate::flownet::record::status::{Mode, RunStatus};

/// How a start ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Finish {
    /// `None`: nothing to do, the Run had succeeded before.
    pub mode: Option<Mode>,
    /// The Run.
    pub run_id: String,
    /// This start; `None` when nothing was done.
    pub invocation_id: Option<String>,
    /// Last written aggregate.
    pub aggregate: RunStatus,
    /// SCH-10, STOP_REQUESTED, NETWORK_LEASE_INTERRUPTED or NOOP_ALREADY_SUCCESS.
    pub code: &'static str,
    /// Braked nodes.
    pub retry_brake_node_ids: Vec<String>,
    /// Its scheduled time; empty when it has none.
    pub as_of: String,
    /// A node could have run and was not started any more.
    pub halted: bool,
    /// Nodes that need a look, with their status reason.
    pub trouble: Vec<Trouble>,
}

/// A node that ended badly, for the operator's eyes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// Node.
    pub node_id: String,
    /// Its status text.
    pub status: &'static str,
    /// Its status reason.
    pub reason: String,
    /// What the runner said, if anything.
    pub detail: String,
    /// Further starts may try it again, as far as its definition goes.
    pub again: bool,
    /// It failed so often in the same way that no start tries it again by itself.
    pub braked: bool,
    /// It was told as a warning already, when it happened.
    pub told: bool,
    /// The lock of its job that kept it from being executed.
    pub job_key: Option<String>,
}
