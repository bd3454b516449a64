//! libFuzzer on tests/foreign_bytes/script.rs, which says what must hold.
#![no_main]

#[path = "../../tests/foreign_bytes/script.rs"]
mod script;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| script::check(bytes));
