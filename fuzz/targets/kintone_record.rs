//! libFuzzer on tests/foreign_bytes/kintone_record.rs, which says what must hold.
#![no_main]

#[path = "../../tests/foreign_bytes/kintone_record.rs"]
mod kintone_record;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| kintone_record::check(bytes));
