//! The program `ksql-flow` from outside: arguments in; streams, files, requests and exit code out.

#[path = "../support/sandbox.rs"]
mod sandbox;

mod bench;
mod command_line;
mod customary_jobs;
mod evidence;
mod explain;
mod export_files;
mod import_files;
mod in_flight;
mod jobs;
mod language;
mod lock_commands;
mod locks;
mod masking;
mod orchestrated;
mod outages;
mod previews;
mod run;
mod run_all;
mod statements;
