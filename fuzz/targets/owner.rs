//! libFuzzer on tests/foreign_bytes/owner.rs, which says what must hold.
#![no_main]

#[path = "../../tests/foreign_bytes/owner.rs"]
mod owner;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| owner::check(bytes));
