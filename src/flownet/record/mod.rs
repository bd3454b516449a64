//! One file per record type: kintone fields to struct and back, nothing else (contract 30).

pub mod attempt;
pub mod hold;
pub mod hold_event;
pub mod invocation;
pub mod lock;
pub mod node_state;
pub mod operation;
pub mod read;
pub mod resolution;
pub mod run;
pub mod status;

pub use attempt::Attempt;
pub use hold::Hold;
pub use invocation::Invocation;
pub use lock::Lock;
pub use node_state::NodeState;
pub use read::DecodeError;
pub use resolution::Resolution;
pub use run::{DamagedRun, Run};
