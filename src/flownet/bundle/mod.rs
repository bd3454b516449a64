//! The execution bundle (BND-01 to BND-07): one zip that holds everything a Run executes.
//!
//! The same input gives the same bytes on every host, so the hash of the zip names its content. Pure: bytes in,
//! bytes out. [`build`] is used once per Run, [`open`] every time the Run goes on.

mod manifest;
pub mod zip;

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::flownet::canonical_json::{sha256_hex, text_order};
use crate::flownet::definition::Node;

use zip::ZipError;

const NETWORK_PATH: &str = "network.yaml";
const MANIFEST_PATH: &str = "manifest.json";

/// The only finding that is recorded: a result that depends on the time of execution.
const NONDETERMINISTIC_CODE: &str = "KSQL1306";

/// One inspected job.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct JobInput {
    /// Id of the node; names the file.
    pub node_id: String,
    /// Job id of the definition.
    pub job_id: String,
    /// Job id that the inspection found.
    pub inspected_job_id: String,
    /// The SQL file as read.
    pub sql: Vec<u8>,
    /// Whether the inspection found `KSQL1306`.
    pub nondeterministic: bool,
}

/// A built bundle.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bundle {
    /// The bytes to upload.
    pub zip: Vec<u8>,
    /// Their SHA-256, lower-case hex: `source_bundle_sha256`.
    pub sha256: String,
}

/// A verified bundle.
#[derive(Clone, PartialEq, Debug)]
pub struct Contents {
    /// The network file as it was.
    pub network_yaml: Vec<u8>,
    /// SQL by node id.
    pub jobs: BTreeMap<String, Vec<u8>>,
    /// The manifest.
    pub manifest: Value,
}

/// Why a bundle cannot be made or used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BundleError {
    /// The inspection found another job than the node names (RUN-07).
    JobIdMismatch {
        /// The node.
        node_id: String,
        /// Its `job_id`.
        expected: String,
        /// What the SQL file says.
        inspected: String,
    },
    /// A node that may run again has results that depend on the time of execution (RUN-07).
    Nondeterministic {
        /// The node.
        node_id: String,
    },
    /// A job cannot be put into the bundle (BND-03).
    InputInvalid {
        /// `jobs/<node id>.sql`.
        path: String,
    },
    /// The zip cannot be written or read (BND-05, BND-06).
    Zip(ZipError),
    /// The hash of the zip is not the recorded one.
    HashMismatch,
    /// The manifest is missing or wrong.
    Manifest(String),
    /// A file is not what the manifest says.
    File(String),
}

impl BundleError {
    /// Stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::JobIdMismatch { .. } => "JOB_ID_MISMATCH",
            Self::Nondeterministic { .. } => "NONDETERMINISTIC_IDEMPOTENT_JOB",
            Self::InputInvalid { .. } => "BUNDLE_INPUT_INVALID",
            Self::Zip(_) => "BUNDLE_ZIP_INVALID",
            Self::HashMismatch => "BUNDLE_HASH_MISMATCH",
            Self::Manifest(_) => "BUNDLE_MANIFEST_INVALID",
            Self::File(_) => "BUNDLE_FILE_MISMATCH",
        }
    }
}

impl std::fmt::Display for BundleError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::JobIdMismatch {
                node_id,
                expected,
                inspected,
            } => write!(
                f,
                "node '{node_id}' expects job_id '{expected}', inspected '{inspected}'"
            ),
            Self::Nondeterministic { node_id } => write!(
                f,
                "idempotent node '{node_id}' has unapproved nondeterministic elements: {NONDETERMINISTIC_CODE}"
            ),
            Self::InputInvalid { path } => write!(f, "bundle job input is invalid for '{path}'"),
            Self::Zip(_) => f.write_str("execution bundle ZIP is invalid"),
            Self::HashMismatch => f.write_str("execution bundle ZIP SHA-256 does not match"),
            Self::Manifest(text) | Self::File(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for BundleError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Zip(error) => Some(error),
            _ => None,
        }
    }
}

impl From<ZipError> for BundleError {
    fn from(error: ZipError) -> Self {
        Self::Zip(error)
    }
}

/// Whether a path may name a job's SQL file in the bundle (BND-03).
pub fn is_job_path(path: &str) -> bool {
    path.strip_prefix("jobs/")
        .and_then(|rest| rest.strip_suffix(".sql"))
        .is_some_and(|id| {
            !id.is_empty()
                && id
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        })
        && !path.contains("..")
}

/// Holds the inspection of a node's job against the node (RUN-07). Called for each node in list order, before
/// [`build`].
pub fn check_inspection(
    node: &Node,
    inspected_job_id: &str,
    nondeterministic: bool,
) -> Result<(), BundleError> {
    if inspected_job_id != node.job_id {
        return Err(BundleError::JobIdMismatch {
            node_id: node.id.clone(),
            expected: node.job_id.clone(),
            inspected: inspected_job_id.to_owned(),
        });
    }
    if node.idempotent && nondeterministic {
        return Err(BundleError::Nondeterministic {
            node_id: node.id.clone(),
        });
    }
    Ok(())
}

/// Builds the bundle of a new Run from the bytes of the network file and one job per node (BND-01 to BND-05).
pub fn build(network_yaml: &[u8], jobs: &[JobInput]) -> Result<Bundle, BundleError> {
    let mut files: Vec<(String, &JobInput)> = Vec::with_capacity(jobs.len());
    let mut paths = BTreeSet::new();
    for job in jobs {
        let path = format!("jobs/{}.sql", job.node_id);
        let valid = is_job_path(&path)
            && !job.job_id.trim().is_empty()
            && job.inspected_job_id == job.job_id
            && paths.insert(path.clone());
        if !valid {
            return Err(BundleError::InputInvalid { path });
        }
        files.push((path, job));
    }
    files.sort_by(|a, b| text_order(&a.0, &b.0));

    let manifest = manifest::text(network_yaml, &files);
    let mut entries: Vec<(&str, &[u8])> = vec![(NETWORK_PATH, network_yaml)];
    entries.extend(
        files
            .iter()
            .map(|(path, job)| (path.as_str(), job.sql.as_slice())),
    );
    entries.push((MANIFEST_PATH, manifest.as_bytes()));
    let zip = zip::write(&entries)?;
    let sha256 = sha256_hex(&zip);
    Ok(Bundle { zip, sha256 })
}

/// Verifies a bundle against its recorded hash and takes it apart, in the order of BND-07.
pub fn open(zip: &[u8], expected_sha256: &str) -> Result<Contents, BundleError> {
    if sha256_hex(zip) != expected_sha256 {
        return Err(BundleError::HashMismatch);
    }
    let entries: BTreeMap<String, &[u8]> = zip::read(zip)?.into_iter().collect();
    let manifest_bytes = entries
        .get(MANIFEST_PATH)
        .ok_or_else(|| BundleError::Manifest("execution bundle has no manifest.json".to_owned()))?;
    let manifest = manifest::parse(manifest_bytes)?;

    let mut seen = BTreeSet::new();
    let mut jobs = BTreeMap::new();
    for file in &manifest.files {
        if !seen.insert(file.path.as_str()) {
            return Err(BundleError::Manifest(format!(
                "manifest contains duplicate path '{}'",
                file.path
            )));
        }
        let bytes = entries
            .get(&file.path)
            .filter(|bytes| bytes.len() as u64 == file.byte_length)
            .filter(|bytes| sha256_hex(bytes) == file.sha256)
            .ok_or_else(|| {
                BundleError::File(format!("bundle file '{}' does not match its manifest", file.path))
            })?;
        if let Some(node_id) = &file.node_id {
            jobs.insert(node_id.clone(), bytes.to_vec());
        }
    }
    let network_yaml = entries
        .get(NETWORK_PATH)
        .filter(|_| seen.contains(NETWORK_PATH))
        .ok_or_else(|| BundleError::Manifest("manifest does not contain network.yaml".to_owned()))?;
    let foreign: Vec<&str> = entries
        .keys()
        .map(String::as_str)
        .filter(|path| *path != MANIFEST_PATH && !seen.contains(path))
        .collect();
    if !foreign.is_empty() {
        return Err(BundleError::File(format!(
            "bundle has entries not represented by the manifest: {}",
            foreign.join(", ")
        )));
    }
    Ok(Contents {
        network_yaml: network_yaml.to_vec(),
        jobs,
        manifest: manifest.value,
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn job(node_id: &str, sql: &[u8]) -> JobInput {
        JobInput {
            node_id: node_id.to_owned(),
            job_id: format!("job_{node_id}"),
            inspected_job_id: format!("job_{node_id}"),
            sql: sql.to_vec(),
            nondeterministic: false,
        }
    }

    #[test]
    fn a_node_that_stands_twice_is_refused() {
        let jobs = [job("a", b"1"), job("a", b"2")];
        assert_eq!(
            build(b"", &jobs).map_err(|e| e.code()),
            Err("BUNDLE_INPUT_INVALID")
        );
    }

    #[test]
    fn any_changed_byte_is_noticed() {
        let bundle = build(b"yaml", &[job("a", b"SELECT 1;")]).expect("valid input");
        for i in 0..bundle.zip.len() {
            let mut zip = bundle.zip.clone();
            zip[i] ^= 1;
            assert_eq!(open(&zip, &bundle.sha256), Err(BundleError::HashMismatch));
            // Even if the recorded hash were that of the changed zip, no other content may come out.
            if let Ok(contents) = open(&zip, &sha256_hex(&zip)) {
                assert_eq!(contents.network_yaml, b"yaml");
                assert_eq!(contents.jobs["a"], b"SELECT 1;");
            }
        }
    }

    proptest! {
        #[test]
        fn what_was_built_is_opened(
            network in prop::collection::vec(any::<u8>(), 0..200),
            jobs in prop::collection::btree_map("[A-Za-z0-9_-]{1,10}", prop::collection::vec(any::<u8>(), 0..100), 0..8),
        ) {
            let inputs: Vec<JobInput> = jobs.iter().map(|(id, sql)| job(id, sql)).collect();
            let bundle = build(&network, &inputs).expect("valid input");
            let reversed: Vec<JobInput> = inputs.iter().rev().cloned().collect();
            prop_assert_eq!(&build(&network, &reversed).expect("valid input"), &bundle);
            let contents = open(&bundle.zip, &bundle.sha256).expect("own bundle");
            prop_assert_eq!(contents.network_yaml, network);
            prop_assert_eq!(contents.jobs, jobs);
        }
    }
}
