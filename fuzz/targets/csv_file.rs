//! libFuzzer on tests/foreign_bytes/csv_file.rs, which says what must hold.
#![no_main]

#[path = "../../tests/foreign_bytes/csv_file.rs"]
mod csv_file;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| csv_file::check(bytes));
