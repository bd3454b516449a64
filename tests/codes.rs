//! Every code that the control plane can show has an entry in the table of codes, so that nobody is left with a code and
//! no next step.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use ksql_flownet::flownet::cli::codes;

/// Words of the same shape that are no codes: kinds, record types, audit events, reasons inside records, names of
/// variables. A word that is new in the source must be put here or into the table.
const OTHER_WORDS: &[&str] = &[
    "ALREADY_RELEASED",
    "ALREADY_RESOLVED",
    "ALREADY_SUCCESS",
    "APP_START_DISABLED",
    "ATTEMPT_RESOLUTION",
    "ATTEMPT_RESOLUTION_APPLIED",
    "ATTEMPT_RESOLVED",
    "CANCEL_REQUEST",
    "CARGO_PKG_VERSION",
    "EXECUTION_BUNDLE_MANIFEST",
    "EXECUTION_RESULT",
    "FINAL_WRITE_CONFIRMED",
    "FIRST_LINE",
    "FORCE_UNLOCK",
    "FREE_JOB_LOCK",
    "HTTPS_PROXY",
    "INSPECT_JOB_LOCK",
    "INVALID_RESULT",
    "INVOCATION_FINALIZED",
    "JOB_INSPECTION",
    "JOB_LOCK_FORCE_UNLOCK_RECORDED",
    "LC_ALL",
    "LC_MESSAGES",
    "LOCK_RECOVERY_RESULT",
    "NETWORK_LOCK",
    "NETWORK_LOCK_FORCE_RELEASED",
    "NETWORK_RUN",
    "NEW_KEY",
    "NODE_ATTEMPT",
    "NODE_COMPENSATION_COMPLETED",
    "NODE_MANUAL_COMPLETION_CONFIRMED",
    "NODE_STATE",
    "NOT_FOUND",
    "NOT_IN_ALLOWLIST",
    "NOT_RUNNING",
    "NO_PROXY",
    "NO_RESULT",
    "OPERATION_AUDIT",
    "OUTCOME_CONFIRMED",
    "PROFILE_DESCRIPTION",
    "RECONCILIATION_REPAIR",
    "RECORD_JOB_UNLOCK",
    "RERUN_FROM",
    "RESOLVE_NODE",
    "RUN_AGGREGATE_RECOMPUTED",
    "RUN_HOLD_ACCEPTED",
    "RUN_HOLD_CHANGED",
    "RUN_HOLD_RELEASED",
    "RUN_HOLD_REQUESTED",
    "RUN_INVOCATION",
    "SECOND_LINE",
    "SECOND_LINE_AND_APPROVER",
    "TERMINAL_ATTEMPT_APPLIED",
    "VALID_RESULT",
];

/// Beginnings of variables and of kintone's own codes.
const FOREIGN: &[&str] = &["KSQL_FLOWNET_", "KSQL_FLOW_", "GAIA_", "CB_"];

#[test]
fn every_code_of_the_source_has_an_entry() {
    let mut files = Vec::new();
    collect(
        &Path::new(env!("CARGO_MANIFEST_DIR")).join("src/flownet"),
        &mut files,
    );
    assert!(files.len() > 20, "the source was not found");
    let mut missing = BTreeSet::new();
    let mut seen = BTreeSet::new();
    for file in files
        .iter()
        .filter(|file| !file.to_string_lossy().contains("/cli/codes/"))
    {
        let text = std::fs::read_to_string(file).expect("a source file");
        // Tests in the file itself stand behind everything else; those in a file of their own are no part of it.
        let text = text.split("mod tests {").next().unwrap_or_default();
        for word in words(text) {
            seen.insert(word.to_owned());
            let foreign = FOREIGN.iter().any(|start| word.starts_with(start)) && codes::find(word).is_none();
            if codes::find(word).is_none() && !OTHER_WORDS.contains(&word) && !foreign {
                missing.insert(format!("{word} ({})", file.display()));
            }
        }
    }
    assert!(
        missing.is_empty(),
        "no entry in the table of codes:\n{missing:#?}"
    );
    assert!(seen.contains("INVALID_ARGUMENTS"), "the search finds nothing");
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && path.ends_with("tests") {
            continue;
        }
        if path.is_dir() {
            collect(&path, files);
        } else if path.extension().is_some_and(|ext| ext == "rs")
            && !path.ends_with("tests.rs")
            && !path.ends_with("properties.rs")
        {
            files.push(path);
        }
    }
}

/// Literals of capitals, digits and at least one underscore. A quotation mark that ends another literal does no harm.
fn words(text: &str) -> impl Iterator<Item = &str> {
    text.match_indices('"').filter_map(|(at, _)| {
        let rest = &text[at + 1..];
        let word = &rest[..rest.find('"')?];
        let part = |part: &str| {
            !part.is_empty() && part.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit())
        };
        let is_word = word.contains('_') && word.starts_with(|c: char| c.is_ascii_uppercase());
        (is_word && word.split('_').all(part)).then_some(word)
    })
}
