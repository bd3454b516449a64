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
