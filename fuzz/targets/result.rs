//! libFuzzer on tests/foreign_bytes/result.rs, which says what must hold.
#![no_main]

#[path = "../../tests/foreign_bytes/result.rs"]
mod result;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| result::check(bytes));
