//! Running statements: scans, joins, groups, windows, order; temp tables and variables of a script.

mod ahead;
mod arrange;
mod check;
mod config;
mod error;
mod estimate;
pub(in crate::flow) mod eval;
mod explain;
pub(in crate::flow) mod fill;
mod gate;
mod group;
pub(in crate::flow) mod in_flight;
pub(in crate::flow) mod input;
pub(in crate::flow) mod join;
mod memory;
mod narrow;
mod outcome;
pub(in crate::flow) mod pulse;
pub(in crate::flow) mod query;
mod relation;
pub(in crate::flow) mod scan;
pub(in crate::flow) mod select;
mod session;
pub(in crate::flow) mod world;

pub use config::{
    ChunkEvent, Config, DEFAULT_MAX_READ_ROWS, DEFAULT_MAX_TEMP_ROWS, DEFAULT_REQUESTS_IN_FLIGHT, DryRun,
    ImportSource, Imported, MAX_REQUESTS_IN_FLIGHT, Observer, Unobserved,
};
pub use error::{EngineError, ErrorKind, Interrupt};
pub use estimate::Estimate;
pub use explain::{ExplainStep, Explanation, Purpose, ScriptExplanation};
pub use outcome::{OutcomeKind, Preview, Sample, StatementOutcome};
pub use relation::Relation;
pub use session::Session;
