//! A bundle: an archive that the strict reader accepts is one that the writer makes again from the same entries, and a
//! changed byte is a changed hash.

use ksql_flownet::flownet::bundle::{open, zip};
use ksql_flownet::flownet::canonical_json::sha256_hex;

pub fn check(bytes: &[u8]) {
    assert!(open(bytes, "").is_err());
    if let Ok(contents) = open(bytes, &sha256_hex(bytes)) {
        let total: usize = contents.jobs.values().map(Vec::len).sum();
        assert!(total <= bytes.len(), "more came out than was stored");
    }
    if let Ok(entries) = zip::read(bytes) {
        let borrowed: Vec<(&str, &[u8])> = entries.iter().map(|(n, b)| (n.as_str(), *b)).collect();
        let again = zip::write(&borrowed).expect("what was read can be written");
        assert_eq!(zip::read(&again).expect("what was written can be read"), entries);
    }
}
