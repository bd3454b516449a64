//! The program around the engine: command line, configuration, locks, log app, results.
//!
//! * [`command`] - arguments against one table; [`config`] - `ksql.config.json`; [`connection`] - profile + client.
//! * [`verdict`] - result codes, statuses and exit codes, in one place.
//! * [`local_lock`], [`job_lock`], [`unlock`], [`lock_recovery`] - who may run, and how a lock is given back.
//! * [`log_fields`], [`log_app`], [`log_app_setup`], [`pending`], [`journal`], [`state`] - what is recorded, and where.
//! * [`console`], [`mask`], [`notify`], [`result`] - what is shown, to whom, without secrets.
//! * [`as_of`], [`host`] - time and machine.

pub mod as_of;
pub mod cancellation;
pub mod command;
pub mod config;
pub mod connection;
pub mod console;
pub mod describe;
pub mod dry_run;
pub mod engine;
pub mod entry;
pub mod execution;
pub mod explain;
pub mod exports;
pub mod file_flags;
pub mod graph;
pub mod host;
pub mod imports;
pub mod inspect;
pub mod job_file;
pub mod job_lock;
pub mod job_record;
pub mod journal;
pub mod local_lock;
pub mod lock_recovery;
pub mod log_app;
pub mod log_app_setup;
pub mod log_fields;
pub mod mask;
pub mod notify;
pub mod pending;
pub mod recorder;
pub mod remote;
pub mod result;
pub mod resume;
pub mod run;
pub mod run_all;
pub mod start_mark;
pub mod state;
pub mod unlock;
pub mod validate;
pub mod verdict;
pub mod workplace;
