//! Decisions as functions of values: no I/O, no clock.

pub mod io_summary;
pub mod result;
