//! Where the vectors are, and how a failing case is reported.
#![allow(dead_code)] // each module uses what it needs

use std::path::PathBuf;

use serde_json::Value;

/// The folder of the vector files.
pub fn folder() -> PathBuf {
    std::env::var_os("CONTRACT_VECTORS").map_or_else(
        || PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/contract"),
        PathBuf::from,
    )
}

/// One vector file, parsed. A missing or broken file fails the test: nothing is skipped silently.
pub fn load(name: &str) -> Value {
    let path = folder().join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Compares what came out with what the case says.
pub fn equal(found: &Value, expected: &Value) -> Result<(), String> {
    if found == expected {
        return Ok(());
    }
    Err(format!("\n  found    {found}\n  expected {expected}"))
}

/// Collects the failures of a vector file so that one run shows all of them.
#[derive(Default)]
pub struct Tally {
    passed: usize,
    failures: Vec<String>,
}

impl Tally {
    /// Records one case.
    pub fn check(&mut self, case: &str, outcome: Result<(), String>) {
        match outcome {
            Ok(()) => self.passed += 1,
            Err(why) => self.failures.push(format!("{case}: {why}")),
        }
    }

    /// Fails with the full list if any case failed, or if there was no case at all.
    pub fn finish(self, file: &str) {
        assert!(self.passed + self.failures.len() > 0, "{file}: no case was run");
        assert!(
            self.failures.is_empty(),
            "{file}: {} of {} cases failed\n{}",
            self.failures.len(),
            self.passed + self.failures.len(),
            self.failures.join("\n")
        );
        println!("{file}: {} cases", self.passed);
    }
}
