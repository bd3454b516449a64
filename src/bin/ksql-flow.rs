//! Thin main: arguments in, exit code out.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use ksql_flownet::flow::runner::entry;

fn main() -> ExitCode {
    ExitCode::from(entry::main(std::env::args_os().skip(1)).code())
}
