//! Black-box tests of `kintone-sandbox`: each fact KTB-nn that the stand-in claims to reproduce, and what makes it usable in
//! tests: durability, faults, the control interface.
#[path = "../support/sandbox.rs"]
mod harness;

mod access;
mod apps;
mod bulk;
mod command_line;
mod control;
mod cursor;
mod durability;
mod file;
mod lab;
mod lookup;
mod manual;
mod query;
mod read;
mod subtable;
mod transport;
mod update;
mod validation;
mod write;
