//! Command line of `kintone-sandbox`: arguments in, exit code out.
use std::ffi::OsString;
use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::ExitCode;

use lexopt::prelude::*;

use super::seed::{self, SeedOptions};
use super::server::{self, Options};

const HELP: &str = "\
kintone-sandbox - a local stand-in for the kintone REST API

Usage:
  kintone-sandbox serve --apps FILE --data DIR [--port N] [--listen ADDR] [--latency MS] [--control]
  kintone-sandbox seed --dir DIR [--orders N] [--customers N] [--seed N] [--port N]
  kintone-sandbox --help | --version

serve   answers REST requests until SIGTERM or SIGINT
  --apps FILE     users, apps, forms and tokens (see kintone-sandbox(1) for the format)
  --data DIR      records and files; made if missing
  --port N        port, 0 takes a free one (default 8080)
  --listen ADDR   address (default 127.0.0.1: this machine only)
  --latency MS    every request waits so long first (default 0)
  --control       open /_control/ for tests: faults, held requests, log, clock

seed    writes example apps and data: DIR/apps.json, DIR/data, DIR/sandbox.env
  --dir DIR       target; nothing there is overwritten
  --orders N      orders (default 600)
  --customers N   customers (default 40)
  --seed N        another number gives other data (default 1)
  --port N        port in sandbox.env (default 8080)

Exit codes: 0 done, 1 wrong command line, 2 cannot serve or write.
";

const EXIT_USAGE: u8 = 1;
const EXIT_FAILED: u8 = 2;
const DEFAULT_PORT: u16 = 8080;
/// Longest latency, milliseconds.
const MAX_LATENCY_MS: u64 = 600_000;

enum Command {
    Serve(Options),
    Seed(SeedOptions),
    Print(String),
}

/// Runs the program; `arguments` without the program name.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let command = match parse(lexopt::Parser::from_args(arguments)) {
        Ok(command) => command,
        Err(error) => {
            eprintln!("kintone-sandbox: error: {error}\nnext: kintone-sandbox --help");
            return ExitCode::from(EXIT_USAGE);
        }
    };
    let result = match command {
        Command::Print(text) => {
            use std::io::Write as _;
            // A reader that went away early does not make this a failure.
            let _ = std::io::stdout().write_all(text.as_bytes());
            return ExitCode::SUCCESS;
        }
        Command::Serve(options) => server::serve(&options).map_err(|error| error.to_string()),
        Command::Seed(options) => seed::run(&options).map_err(|error| error.to_string()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("kintone-sandbox: error: {error}");
            ExitCode::from(EXIT_FAILED)
        }
    }
}

fn parse(mut parser: lexopt::Parser) -> Result<Command, lexopt::Error> {
    match parser.next()? {
        Some(Value(command)) if command == "serve" => parse_serve(&mut parser),
        Some(Value(command)) if command == "seed" => parse_seed(&mut parser),
        Some(Long("help") | Short('h')) => Ok(Command::Print(HELP.to_owned())),
        Some(Long("version") | Short('V')) => Ok(Command::Print(format!(
            "kintone-sandbox {}\n",
            env!("CARGO_PKG_VERSION")
        ))),
        Some(argument) => Err(argument.unexpected()),
        None => Err("a command is missing: serve or seed".into()),
    }
}

fn parse_serve(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let (mut apps, mut data) = (None, None);
    let mut options = Options {
        apps: PathBuf::new(),
        data: PathBuf::new(),
        listen: IpAddr::V4(Ipv4Addr::LOCALHOST),
        port: DEFAULT_PORT,
        latency_ms: 0,
        control: false,
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("apps") => apps = Some(PathBuf::from(parser.value()?)),
            Long("data") => data = Some(PathBuf::from(parser.value()?)),
            Long("port") => options.port = parser.value()?.parse()?,
            Long("listen") => options.listen = parser.value()?.parse()?,
            Long("latency") => {
                options.latency_ms = parser.value()?.parse()?;
                if options.latency_ms > MAX_LATENCY_MS {
                    return Err(format!("--latency is at most {MAX_LATENCY_MS}").into());
                }
            }
            Long("control") => options.control = true,
            Long("help") | Short('h') => return Ok(Command::Print(HELP.to_owned())),
            _ => return Err(argument.unexpected()),
        }
    }
    options.apps = apps.ok_or("serve needs --apps FILE")?;
    options.data = data.ok_or("serve needs --data DIR")?;
    Ok(Command::Serve(options))
}

fn parse_seed(parser: &mut lexopt::Parser) -> Result<Command, lexopt::Error> {
    let mut dir = None;
    let mut options = SeedOptions {
        port: DEFAULT_PORT,
        ..SeedOptions::default()
    };
    while let Some(argument) = parser.next()? {
        match argument {
            Long("dir") => dir = Some(PathBuf::from(parser.value()?)),
            Long("orders") => options.orders = parser.value()?.parse()?,
            Long("customers") => options.customers = parser.value()?.parse()?,
            Long("seed") => options.seed = parser.value()?.parse()?,
            Long("port") => options.port = parser.value()?.parse()?,
            Long("help") | Short('h') => return Ok(Command::Print(HELP.to_owned())),
            _ => return Err(argument.unexpected()),
        }
    }
    options.dir = dir.ok_or("seed needs --dir DIR")?;
    options.check().map_err(lexopt::Error::from)?;
    Ok(Command::Seed(options))
}
