//! libFuzzer on tests/foreign_bytes/kintone_error.rs, which says what must hold.
#![no_main]

#[path = "../../tests/foreign_bytes/kintone_error.rs"]
mod kintone_error;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kintone_error::check(bytes));
