//! Decisions as functions of values: no I/O, no clock.

pub mod io_summary;
pub mod result;

pub mod activity;
pub mod aggregate;
pub mod classify;
pub mod reconcile;
pub mod schedule;
pub mod select;
pub mod transition;
