//! libFuzzer on tests/foreign_bytes/sandbox_request.rs, which says what must hold.
#![no_main]

#[path = "../../tests/foreign_bytes/sandbox_request.rs"]
mod sandbox_request;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| sandbox_request::check(bytes));
