//! Decisions as functions of values: no I/O, no clock.

pub mod activity;
pub mod aggregate;
pub mod classify;
pub mod edited;
pub mod io_summary;
pub mod last_word;
pub mod next_action;
pub mod operator;
pub mod reconcile;
pub mod result;
pub mod schedule;
pub mod select;
pub mod transition;
