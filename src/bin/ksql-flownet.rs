//! Thin main: arguments in, exit code out.
#![forbid(unsafe_code)]

use std::process::ExitCode;

use ksql_flownet::os::relay;

fn main() -> ExitCode {
    let args = std::env::args_os().skip(1).collect();
    let lookup = |name: &str| std::env::var_os(name);
    let code = ksql_flownet::flownet::cli::main(args, &lookup, &mut relay::stdout(), &mut relay::stderr());
    relay::finish();
    ExitCode::from(code)
}
