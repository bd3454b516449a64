//! Thin main: arguments in, exit code out.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    let args = std::env::args_os().skip(1).collect();
    let (mut results, mut messages) = (std::io::stdout(), std::io::stderr());
    let lookup = |name: &str| std::env::var_os(name);
    ExitCode::from(ksql_flownet::flownet::cli::main(
        args,
        &lookup,
        &mut results,
        &mut messages,
    ))
}
