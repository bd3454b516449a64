//! libFuzzer on tests/foreign_bytes/network.rs, which says what must hold.
#![no_main]

#[path = "../../tests/foreign_bytes/network.rs"]
mod network;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| network::check(bytes));
