//! Settings from the environment: read in one fixed order, so that the first problem reported is always the same one
//! (ENV-01 to ENV-03). Pure over a lookup function and a [`Surroundings`] value; secrets are wrapped as soon as they are
//! read.

mod control;
mod environment;
mod number;
mod operate;
mod run;

pub use control::{AppCredential, Connection, ControlSettings};
pub use environment::{Environment, SettingsError};
pub use operate::{ArchiveSettings, OperateSettings, PollSettings};
pub use run::{IoSettings, RunSettings, RunnerFlags, Surroundings, check_profile, local_owner_instance_id};

#[cfg(test)]
mod tests;
