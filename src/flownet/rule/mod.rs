//! Decisions as functions of values: no I/O, no clock.

pub mod result;
