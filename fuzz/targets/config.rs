//! libFuzzer on tests/foreign_bytes/config.rs, which says what must hold.
#![no_main]

#[path = "../../tests/foreign_bytes/config.rs"]
mod config;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| config::check(bytes));
