//! The control plane: one YAML network in, one Run per business key out.

pub mod bundle;
pub mod canonical_json;
pub mod child;
pub mod cli;
pub mod clock;
pub mod definition;
pub mod io;
pub mod key;
pub mod lease;
pub mod operate;
pub mod ordered_json;
pub mod profile;
pub mod record;
pub mod rule;
pub mod run;
pub mod status;
pub mod time;
