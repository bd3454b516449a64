//! What we refuse or warn about beyond the original, before anything is locked or sent (items 1, 2, 3, 17 and 21 of
//! the contract's improvements). A definition inside an existing bundle is never judged by these rules.

use std::collections::{HashMap, HashSet};

use unicode_normalization::is_nfc;

use super::business_key;
use super::network::{BusinessKeyPolicy, Network, Node};
use super::problem::{Problem, pointer_segment};
use crate::flownet::bundle::is_job_path;
use crate::flownet::canonical_json;

/// Most nodes of one network.
pub const MAX_NODES: usize = 5_000;

/// Longest job id that the runner accepts.
const MAX_JOB_ID_CHARS: usize = 128;
/// The runner's own name for its batch lock.
const RUNNER_RESERVED_JOB_ID: &str = "__batch__";
/// Longest `<profile>:<job_id>` of the runner's job lock, in UTF-16 code units.
const MAX_JOB_LOCK_UNITS: usize = 64;
/// Longest input audit that an attempt record holds, in UTF-16 code units (IO-07).
const MAX_AUDIT_UNITS: usize = 10_000;

/// Refusals of a definition that is to make new Runs.
pub(super) fn problems(network: &Network) -> Vec<Problem> {
    let mut problems = business_key::constant_problems(&network.policy, &network.network_id);
    if network.network_id.starts_with("--") {
        problems.push(Problem::new(
            "NETWORK_ID_UNSUPPORTED",
            "$.network_id",
            "a network id must not start with '--': no command could name it",
        ));
    }
    if network.nodes.len() > MAX_NODES {
        problems.push(Problem::new(
            "NODES_TOO_MANY",
            "$.nodes",
            format!("must NOT have more than {MAX_NODES} items"),
        ));
    }
    for (i, node) in network.nodes.iter().enumerate() {
        if !is_job_path(&format!("jobs/{}.sql", node.id)) || node.id.starts_with("--") {
            problems.push(Problem::new(
                "NODE_ID_UNSUPPORTED",
                format!("$.nodes/{i}/id"),
                format!(
                    "node id '{}' cannot name a file of the bundle; use only A-Z a-z 0-9 . _ - without '..' and \
                     without '.' at the end or '--' at the start",
                    node.id
                ),
            ));
        }
        if !is_job_id(&node.job_id) {
            problems.push(Problem::new(
                "JOB_ID_UNSUPPORTED",
                format!("$.nodes/{i}/job_id"),
                format!(
                    "the runner refuses job id '{}'; use 1 to {MAX_JOB_ID_CHARS} of A-Z a-z 0-9 . _ - and not \
                     '{RUNNER_RESERVED_JOB_ID}'",
                    node.job_id
                ),
            ));
        }
        problems.extend(name_problems(node, i));
    }
    problems
}

/// Names and patterns of CSV files that pass the schema and fail at run time.
fn name_problems(node: &Node, i: usize) -> Vec<Problem> {
    let mut problems = Vec::new();
    let at = |property: &str, name: &str| format!("$.nodes/{i}/{property}/{}", pointer_segment(name));
    for (name, _) in &node.inputs {
        if name.starts_with('-') {
            problems.push(Problem::new(
                "INPUT_NAME_UNSUPPORTED",
                at("inputs", name),
                "an input name must not start with '-': the runner would read it as an option",
            ));
        }
    }
    if smallest_audit(&node.inputs) > MAX_AUDIT_UNITS {
        problems.push(Problem::new(
            "INPUTS_TOO_MANY",
            format!("$.nodes/{i}/inputs"),
            format!(
                "{} inputs do not fit into the audit summary of {MAX_AUDIT_UNITS} characters",
                node.inputs.len()
            ),
        ));
    }
    let mut patterns = HashMap::new();
    for (name, pattern) in &node.outputs {
        if name.starts_with(['-', '#']) {
            problems.push(Problem::new(
                "OUTPUT_NAME_UNSUPPORTED",
                at("outputs", name),
                "an output name must not start with '-' or '#': the runner refuses it",
            ));
        }
        if let Some(first) = patterns.insert(pattern.as_str(), name.as_str()) {
            problems.push(Problem::new(
                "OUTPUT_PATTERN_DUPLICATE",
                at("outputs", name),
                format!("writes the same file as output '{first}'"),
            ));
        }
    }
    problems
}

/// Length of the smallest audit that these inputs can end with (IO-07): byte counts of one digit, row counts and
/// encoding names as long as they may get.
fn smallest_audit(inputs: &[(String, String)]) -> usize {
    const FRAME: &str = r#"{"version":1,"kind":"KSQL_FLOWNET_INPUT_AUDIT","baseline":[],"input_files":[]}"#;
    const BASELINE: &str = r#"{"source":,"sha256":"","bytes":0},"#;
    const RECEIPT: &str = r#"{"source":,"type":"IMPORT","sha256":"","bytes":0,"rows":,"encoding":""},"#;
    const SHA256_DIGITS: usize = 64;
    const RECEIPT_SHA256_DIGITS: usize = 12;
    const ROWS_DIGITS: usize = 16;
    const ENCODING_CHARS: usize = 32;
    let fixed =
        BASELINE.len() + RECEIPT.len() + SHA256_DIGITS + RECEIPT_SHA256_DIGITS + ROWS_DIGITS + ENCODING_CHARS;
    let entries: usize = inputs
        .iter()
        .map(|(name, _)| {
            let quoted = canonical_json::to_text(&serde_json::Value::String(name.clone()));
            fixed + 2 * quoted.encode_utf16().count()
        })
        .sum();
    // The last entry of each list has no comma.
    (FRAME.len() + entries).saturating_sub(2)
}

/// What deserves a look but stops nothing.
pub(super) fn warnings(network: &Network) -> Vec<Problem> {
    let mut warnings = Vec::new();
    if !is_nfc(&network.network_id) {
        warnings.push(Problem::new(
            "NETWORK_ID_NOT_NFC",
            "$.network_id",
            "is not in Unicode NFC; its NFC spelling shares lock and Runs but is another text in searches",
        ));
    }
    if let BusinessKeyPolicy::Scheduled { format, .. } = &network.policy
        && !is_nfc(format)
    {
        warnings.push(Problem::new(
            "BUSINESS_KEY_NOT_NFC",
            "$.business_key_policy.format",
            "is not in Unicode NFC; keys of its NFC spelling name the same Runs but are other texts in searches",
        ));
    }
    for (other, i) in network.case_collisions() {
        warnings.push(Problem::new(
            "NODE_ID_CASE_COLLISION",
            format!("$.nodes/{i}/id"),
            format!(
                "node ids '{other}' and '{}' differ only in case and collide on some file systems",
                network.nodes[i].id
            ),
        ));
    }
    for (i, node) in network.nodes.iter().enumerate() {
        for (name, pattern) in &node.outputs {
            if !pattern.contains("{business_key}") && !pattern.contains("{run_id}") {
                warnings.push(Problem::new(
                    "OUTPUT_PATTERN_SHARED",
                    format!("$.nodes/{i}/outputs/{}", pointer_segment(name)),
                    "has neither {business_key} nor {run_id}: every Run overwrites the same file",
                ));
            }
        }
    }
    warnings
}

fn is_job_id(job_id: &str) -> bool {
    (1..=MAX_JOB_ID_CHARS).contains(&job_id.len())
        && job_id
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        && job_id != RUNNER_RESERVED_JOB_ID
}

impl Network {
    /// Job ids whose lock name `<profile>:<job_id>` the runner would refuse (item 2); each id once.
    pub fn job_lock_problems(&self, profile: &str) -> Vec<Problem> {
        let mut seen = HashSet::new();
        let profile_units = profile.encode_utf16().count();
        self.nodes
            .iter()
            .enumerate()
            .filter(|(_, node)| {
                profile_units + 1 + node.job_id.encode_utf16().count() > MAX_JOB_LOCK_UNITS
                    && seen.insert(node.job_id.as_str())
            })
            .map(|(i, node)| {
                Problem::new(
                    "JOB_ID_UNSUPPORTED",
                    format!("$.nodes/{i}/job_id"),
                    format!(
                        "the runner's lock name '{profile}:{}' is longer than {MAX_JOB_LOCK_UNITS} characters",
                        node.job_id
                    ),
                )
            })
            .collect()
    }

    /// Nodes whose id a case-insensitive file system cannot tell from an earlier one: that id, and the position of
    /// the later node (item 1).
    pub fn case_collisions(&self) -> Vec<(&str, usize)> {
        let mut folded: HashMap<String, &str> = HashMap::new();
        let mut collisions = Vec::new();
        for (i, node) in self.nodes.iter().enumerate() {
            match folded.insert(node.id.to_lowercase(), &node.id) {
                Some(other) if other != node.id => collisions.push((other, i)),
                _ => {}
            }
        }
        collisions
    }
}
