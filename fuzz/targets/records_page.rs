//! libFuzzer on tests/foreign_bytes/records_page.rs, which says what must hold.
#![no_main]

#[path = "../../tests/foreign_bytes/records_page.rs"]
mod records_page;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| records_page::check(bytes));
