//! The manifest of a bundle: its canonical text (BND-04) and its strict reading (BND-07).

use serde_json::{Map, Value, json};

use super::{BundleError, JobInput, NETWORK_PATH, NONDETERMINISTIC_CODE, is_job_path};
use crate::flownet::canonical_json::{sha256_hex, to_text};
use crate::flownet::key::MAX_SAFE_INTEGER;

const KIND: &str = "EXECUTION_BUNDLE_MANIFEST";

/// Keys that only job files have.
const JOB_KEYS: [&str; 4] = ["approvedExceptions", "jobId", "nodeId", "nondeterministicCodes"];

/// The manifest of these files, in this order.
pub(super) fn text(network_yaml: &[u8], files: &[(String, &JobInput)]) -> String {
    let mut entries = vec![json!({
        "byteLength": network_yaml.len(),
        "path": NETWORK_PATH,
        "sha256": sha256_hex(network_yaml),
    })];
    for (path, job) in files {
        let codes: &[&str] = if job.nondeterministic {
            &[NONDETERMINISTIC_CODE]
        } else {
            &[]
        };
        entries.push(json!({
            "approvedExceptions": [],
            "byteLength": job.sql.len(),
            "jobId": job.job_id,
            "nodeId": job.node_id,
            "nondeterministicCodes": codes,
            "path": path,
            "sha256": sha256_hex(&job.sql),
        }));
    }
    to_text(&json!({"files": entries, "formatVersion": 1, "kind": KIND}))
}

/// A manifest whose form is right.
pub(super) struct Manifest {
    pub value: Value,
    pub files: Vec<FileEntry>,
}

/// One listed file; `node_id` is there for jobs.
pub(super) struct FileEntry {
    pub path: String,
    pub byte_length: u64,
    pub sha256: String,
    pub node_id: Option<String>,
}

/// JSON, then shape, then canonical form. Unknown keys are allowed.
pub(super) fn parse(bytes: &[u8]) -> Result<Manifest, BundleError> {
    let wrong = |what: &str| BundleError::Manifest(format!("execution bundle manifest {what}"));
    let value: Value = serde_json::from_slice(bytes).map_err(|_| wrong("is not valid JSON"))?;
    let files = files(&value).ok_or_else(|| wrong("shape is invalid"))?;
    if to_text(&value).as_bytes() != bytes {
        return Err(wrong("is not canonical JSON"));
    }
    Ok(Manifest { value, files })
}

fn files(value: &Value) -> Option<Vec<FileEntry>> {
    let fits = value.get("formatVersion")?.as_f64() == Some(1.0) && value.get("kind")?.as_str() == Some(KIND);
    let entries = value.get("files")?.as_array()?;
    if !fits || entries.is_empty() {
        return None;
    }
    entries.iter().map(|entry| file(entry.as_object()?)).collect()
}

fn file(entry: &Map<String, Value>) -> Option<FileEntry> {
    let path = entry.get("path")?.as_str()?;
    let byte_length = entry.get("byteLength")?.as_u64()?;
    let sha256 = entry.get("sha256")?.as_str()?;
    let node_id = if path == NETWORK_PATH {
        if JOB_KEYS.iter().any(|key| entry.contains_key(*key)) {
            return None;
        }
        None
    } else {
        Some(job_node(entry, path)?)
    };
    let fits = byte_length <= MAX_SAFE_INTEGER
        && sha256.len() == 64
        && sha256.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    fits.then(|| FileEntry {
        path: path.to_owned(),
        byte_length,
        sha256: sha256.to_owned(),
        node_id,
    })
}

/// The node id of a job file, if everything about it fits. Its path is made of it, as in every bundle ever written.
fn job_node(entry: &Map<String, Value>, path: &str) -> Option<String> {
    let node_id = entry.get("nodeId")?.as_str()?;
    let job_id = entry.get("jobId")?.as_str()?;
    let codes = entry.get("nondeterministicCodes")?.as_array()?;
    let exceptions = entry.get("approvedExceptions")?.as_array()?;
    let codes_fit = match codes.as_slice() {
        [] => true,
        [code] => code.as_str() == Some(NONDETERMINISTIC_CODE),
        _ => false,
    };
    let fits = is_job_path(path)
        && path == format!("jobs/{node_id}.sql")
        && !job_id.trim().is_empty()
        && codes_fit
        && exceptions
            .iter()
            .all(|exception| exception_fits(exception, node_id, codes));
    fits.then(|| node_id.to_owned())
}

/// An approved exception names this node and a code that was found (BND-04).
fn exception_fits(exception: &Value, node_id: &str, codes: &[Value]) -> bool {
    let text = |key: &str| {
        exception
            .get(key)
            .and_then(Value::as_str)
            .filter(|text| !text.trim().is_empty())
    };
    text("node_id") == Some(node_id)
        && exception.get("code").is_some_and(|code| codes.contains(code))
        && ["approved_by", "reason", "approved_at"]
            .iter()
            .all(|key| text(key).is_some())
}
