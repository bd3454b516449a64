//! The kSQL language against its vectors: facts about results, requests and errors, run on a model of kintone.
//!
//! `KSQL_VECTORS` points at another folder of the same form. A vector that is believed to be wrong stands in
//! [`disputed`] with the reason; nothing else is skipped.

mod agreement;
mod before_writing;
mod disputed;
mod expectation;
mod in_flight;
mod kintone;
mod local_limits;
mod plans;
mod query;
mod run;
mod session;

use std::path::{Path, PathBuf};

use serde_json::Value;

fn folder() -> PathBuf {
    match std::env::var_os("KSQL_VECTORS") {
        Some(folder) => PathBuf::from(folder),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/ksql"),
    }
}

fn read(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// All vectors of a folder, sorted by file.
fn vectors(folder: &Path) -> Vec<Value> {
    let mut files: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .filter(|path| path.file_name().is_some_and(|name| name != "fixtures.json"))
        .collect();
    files.sort();
    files
        .iter()
        .flat_map(|file| read(file).as_array().cloned().unwrap_or_default())
        .collect()
}

#[test]
fn every_vector_holds() {
    check_all(&folder());
}

/// The same for what the vectors leave out, on the same tables.
#[test]
fn every_further_vector_holds() {
    check_all(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/ksql_more"));
}

fn check_all(folder: &Path) {
    let own = folder.join("fixtures.json");
    let fixtures = if own.exists() {
        own
    } else {
        folder.with_file_name("ksql").join("fixtures.json")
    };
    let fixtures = read(&fixtures);
    let vectors = vectors(folder);
    assert!(!vectors.is_empty(), "no vectors in {}", folder.display());
    let mut failures = Vec::new();
    for vector in &vectors {
        let id = vector["id"].as_str().unwrap_or("?");
        let outcome = expectation::check(vector, &fixtures);
        match (outcome, disputed::reason(id)) {
            (Ok(()), None) | (Err(_), Some(_)) => {}
            (Ok(()), Some(reason)) => failures.push(format!("{id}: disputed ({reason}) but it holds")),
            (Err(why), None) => {
                failures.push(format!("{id} {}: {why}\n    {}", vector["title"], vector["sql"]));
            }
        }
    }
    let (failed, all) = (failures.len(), vectors.len());
    assert!(
        failures.is_empty(),
        "{failed} of {all} vectors fail:\n{}",
        failures.join("\n")
    );
}
