//! The network definition: bytes in, a checked [`Network`] or a list of [`Problem`]s out.
//!
//! Steps: text, YAML, schema, semantics, and for definitions that are to make new Runs our own refusals. Everything
//! but [`files`] is a function of its arguments.

pub mod business_key;
pub mod files;
mod network;
mod pattern;
mod problem;
mod refusal;
pub mod report;
mod schema;
mod semantic;
pub mod yaml;

pub use files::{check_sql_files, read_file};
pub use network::{BusinessKeyPolicy, LockTimes, Network, Node, Period, RerunError};
pub use pattern::{PatternKind, check_pattern};
pub use problem::Problem;
pub use refusal::MAX_NODES;

/// What [`load`] found.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Loaded {
    /// Present as soon as the schema step passed (DEF-28).
    pub network: Option<Network>,
    /// Errors in the order of the contract; ours come last.
    pub problems: Vec<Problem>,
    /// Remarks that stop nothing.
    pub warnings: Vec<Problem>,
}

impl Loaded {
    fn refused(problems: Vec<Problem>) -> Self {
        Self {
            problems,
            ..Self::default()
        }
    }

    /// The definition, if nothing is wrong with it.
    pub fn into_valid(self) -> Result<Network, Vec<Problem>> {
        match self.network {
            Some(network) if self.problems.is_empty() => Ok(network),
            _ => Err(self.problems),
        }
    }
}

/// Checks a definition that is to make new Runs: the contract's rules and our refusals.
pub fn load(bytes: &[u8]) -> Loaded {
    let text = match files::check_bytes(bytes) {
        Ok(text) => text,
        Err(problem) => return Loaded::refused(vec![problem]),
    };
    let mut loaded = load_text(text);
    if let Some(network) = &loaded.network {
        loaded.problems.extend(refusal::problems(network));
        loaded.warnings = refusal::warnings(network);
    }
    loaded
}

/// Checks a definition inside an existing bundle: only the contract's rules. Invalid UTF-8 is replaced, as it was
/// when the Run was made (DEF-01).
pub fn load_stored(bytes: &[u8]) -> Loaded {
    load_text(&String::from_utf8_lossy(bytes))
}

fn load_text(text: &str) -> Loaded {
    let checked = yaml::read(text).and_then(|tree| schema::check(&tree));
    match checked {
        Ok(checked) => Loaded {
            problems: semantic::problems(&checked.network, checked.lease, checked.heartbeat),
            network: Some(checked.network),
            warnings: Vec::new(),
        },
        Err(problems) => Loaded::refused(problems),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A network with one node that has these extra lines.
    fn yaml(id: &str, job_id: &str, extra: &str) -> String {
        format!(
            "schema_version: 1\nnetwork_id: net\nbusiness_key_policy: {{type: explicit}}\n\
             network_lock: {{lease_duration_sec: 300, heartbeat_interval_sec: 60}}\nnodes:\n  - id: '{id}'\n    \
             job_id: '{job_id}'\n    sql: a.sql\n    depends_on: []\n    trigger_rule: all_success\n    \
             idempotent: true\n{extra}"
        )
    }

    fn codes(problems: &[Problem]) -> Vec<&'static str> {
        problems.iter().map(|p| p.code).collect()
    }

    /// Refused for new Runs, accepted in a bundle.
    fn refused(text: &str) -> Vec<&'static str> {
        assert!(load_stored(text.as_bytes()).into_valid().is_ok(), "{text}");
        codes(&load(text.as_bytes()).problems)
    }

    #[test]
    fn ids_that_bundle_or_runner_cannot_take_are_refused_for_new_runs_only() {
        assert_eq!(refused(&yaml("a", "j", "")), [""; 0]);
        for id in ["a b", "売上", "a..b", "a.", ".", "a/b", "--a"] {
            assert_eq!(refused(&yaml(id, "j", "")), ["NODE_ID_UNSUPPORTED"]);
        }
        let network = yaml("a", "j", "").replace("network_id: net", "network_id: --net");
        assert_eq!(refused(&network), ["NETWORK_ID_UNSUPPORTED"]);
        for job_id in ["ジョブ", "__batch__", "a b"] {
            assert_eq!(refused(&yaml("a", job_id, "")), ["JOB_ID_UNSUPPORTED"]);
        }
    }

    #[test]
    fn names_that_break_the_argv_of_the_runner_are_refused() {
        assert_eq!(
            refused(&yaml("a", "j", "    inputs: {-x: a.csv, '#y': b.csv}\n")),
            ["INPUT_NAME_UNSUPPORTED"]
        );
        assert_eq!(
            refused(&yaml("a", "j", "    outputs: {-x: a, '#y': a}\n")),
            [
                "OUTPUT_NAME_UNSUPPORTED",
                "OUTPUT_NAME_UNSUPPORTED",
                "OUTPUT_PATTERN_DUPLICATE"
            ]
        );
    }

    #[test]
    fn more_inputs_than_an_audit_can_hold_are_refused() {
        // The measured boundary: 41 names of four characters fit, 42 do not.
        let inputs = |n: usize| {
            let entries: Vec<String> = (0..n).map(|i| format!("s{i:03}: f{i}.csv")).collect();
            yaml("a", "j", &format!("    inputs: {{{}}}\n", entries.join(", ")))
        };
        assert_eq!(refused(&inputs(41)), [""; 0]);
        assert_eq!(refused(&inputs(42)), ["INPUTS_TOO_MANY"]);
    }

    #[test]
    fn thousands_of_nodes_are_refused() {
        let nodes: Vec<String> = (0..MAX_NODES)
            .map(|i| {
                format!(
                    "  - {{id: n{i}, job_id: j, sql: a, depends_on: [], trigger_rule: all_success, idempotent: true}}\n"
                )
            })
            .collect();
        let text = yaml("a", "j", &nodes.concat());
        assert_eq!(refused(&text), ["NODES_TOO_MANY"]);
    }

    #[test]
    fn remarks_do_not_stop_anything() {
        let text = yaml(
            "A",
            "j",
            "    outputs: {o: out.csv}\n  - {id: a, job_id: j, sql: a.sql, depends_on: [], \
             trigger_rule: all_success, idempotent: true, outputs: {o: 'x/{run_id}'}}\n",
        )
        .replace("network_id: net", "network_id: cafe\u{301}");
        let loaded = load(text.as_bytes());
        assert_eq!(codes(&loaded.problems), [""; 0]);
        assert_eq!(
            codes(&loaded.warnings),
            [
                "NETWORK_ID_NOT_NFC",
                "NODE_ID_CASE_COLLISION",
                "OUTPUT_PATTERN_SHARED"
            ]
        );
        let network = loaded.into_valid().expect("valid");
        assert_eq!(network.case_collisions(), [("A", 1)]);
    }

    #[test]
    fn invalid_text_is_refused_for_new_runs_and_replaced_in_a_bundle() {
        let mut bytes = yaml("a", "j", "").into_bytes();
        bytes.extend_from_slice(b"# \xff\n");
        assert_eq!(codes(&load(&bytes).problems), ["NETWORK_FILE_UNREADABLE"]);
        assert!(load_stored(&bytes).into_valid().is_ok());
    }

    #[test]
    fn lock_names_that_the_runner_refuses_depend_on_the_profile() {
        let network = load(yaml("a", &"j".repeat(60), "").as_bytes())
            .into_valid()
            .expect("valid");
        assert!(network.job_lock_problems("pro").is_empty());
        assert_eq!(codes(&network.job_lock_problems("prod")), ["JOB_ID_UNSUPPORTED"]);
    }

    #[test]
    fn times_beyond_the_type_are_compared_as_written() {
        let text = yaml("a", "j", "")
            .replace("300", "1e300")
            .replace("60}", "1e299}");
        let network = load(text.as_bytes()).into_valid().expect("valid");
        assert_eq!(network.lock.lease_sec, u64::MAX);
    }

    proptest! {
        #[test]
        fn loading_never_panics(bytes in prop::collection::vec(any::<u8>(), 0..300)) {
            let _ = load(&bytes);
            let _ = load_stored(&bytes);
        }

        #[test]
        fn loading_a_damaged_definition_never_panics(
            at in any::<prop::sample::Index>(),
            cut in 0usize..8,
            piece in prop::sample::select(vec!["[", "]", "{", ": ", "\n", "\n ", "- ", "*a", "&a ", "'", "~", "\u{0}", "!!set "]),
        ) {
            let text = yaml("a", "j", "    inputs: {s: 'a.csv'}\n    outputs: {\n      o: '{run_id}.csv'\n    }\n");
            let (at, text) = (at.index(text.len()), text.into_bytes());
            let mut damaged = text[..at].to_vec();
            damaged.extend_from_slice(piece.as_bytes());
            damaged.extend_from_slice(&text[(at + cut).min(text.len())..]);
            let loaded = load(&damaged);
            prop_assert!(loaded.network.is_some() || !loaded.problems.is_empty());
        }
    }
}
