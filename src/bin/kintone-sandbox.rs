//! Thin main: arguments in, exit code out.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    ksql_flownet::sandbox::cli::run(std::env::args_os().skip(1))
}
