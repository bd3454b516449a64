//! The runner: one SQL job file (or a folder of them) against kintone apps.

pub mod aggregate;
pub mod apps;
pub mod calendar;
pub mod csv;
pub mod dml;
pub mod durable_file;
pub mod exec;
pub mod function;
pub mod plan;
pub mod runner;
pub mod script;
pub mod sql;
pub mod value;
