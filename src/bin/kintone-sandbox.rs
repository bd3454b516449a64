//! Thin main: arguments in, exit code out.
#![forbid(unsafe_code)]

fn main() {}
