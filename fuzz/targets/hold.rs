//! libFuzzer on tests/foreign_bytes/hold.rs, which says what must hold.
#![no_main]

#[path = "../../tests/foreign_bytes/hold.rs"]
mod hold;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| hold::check(bytes));
