//! What fuzzing found worth keeping, through the same checks again: every parser of bytes that others write. The inputs are
//! in `kept`, one a line in base64, a file for each check; `tools/fuzz.sh keep` writes them after a search for more.

mod bundle;
mod config;
mod csv_file;
mod hold;
mod kintone_error;
mod kintone_record;
mod network;
mod owner;
mod records_page;
mod result;
mod sandbox_request;
mod script;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

/// Name of the inputs, and the check.
type Check = (&'static str, fn(&[u8]));

const CHECKS: [Check; 12] = [
    ("bundle", bundle::check),
    ("config", config::check),
    ("csv_file", csv_file::check),
    ("hold", hold::check),
    ("kintone_error", kintone_error::check),
    ("kintone_record", kintone_record::check),
    ("network", network::check),
    ("owner", owner::check),
    ("records_page", records_page::check),
    ("result", result::check),
    ("sandbox_request", sandbox_request::check),
    ("script", script::check),
];

#[test]
fn no_kept_input_breaks_what_must_hold() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/foreign_bytes/kept");
    for (name, check) in CHECKS {
        let path = format!("{folder}/{name}.txt");
        let lines = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{path}: {e}"));
        assert!(lines.lines().count() > 0, "{path} is empty");
        for (number, line) in (1..).zip(lines.lines()) {
            // Shown when the check below panics.
            println!("{path}:{number}");
            check(&STANDARD.decode(line).expect("base64"));
        }
    }
}
