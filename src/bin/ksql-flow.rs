//! Thin main: arguments in, exit code out.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use ksql_flownet::flow::runner::entry;
use ksql_flownet::os::relay;

fn main() -> ExitCode {
    let exit = entry::main(std::env::args_os().skip(1));
    relay::finish();
    ExitCode::from(exit.code())
}
