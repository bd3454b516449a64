//! libFuzzer on tests/foreign_bytes/bundle.rs, which says what must hold.
#![no_main]

#[path = "../../tests/foreign_bytes/bundle.rs"]
mod bundle;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| bundle::check(bytes));
