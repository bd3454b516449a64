//! The network as the rest of the program sees it, and its order (DEF-30, DEF-31).

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::problem::Problem;
use super::semantic;

/// A network definition that passed the schema step (DEF-28: semantic errors may still exist).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Network {
    /// Always 1 today.
    pub schema_version: u64,
    /// Identifier as written; keys hash its NFC form.
    pub network_id: String,
    /// Free text.
    pub description: Option<String>,
    /// How a business key comes about.
    pub policy: BusinessKeyPolicy,
    /// Runs of this network that may be active at once.
    pub max_active_runs: u64,
    /// Times of the network lock.
    pub lock: LockTimes,
    /// Nodes in file order.
    pub nodes: Vec<Node>,
}

/// `business_key_policy` (DEF-21).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum BusinessKeyPolicy {
    /// `scheduled_period`: the key is derived from a time.
    Scheduled {
        /// Day or month.
        period: Period,
        /// Zone whose calendar decides the date.
        timezone: String,
        /// Text with placeholders.
        format: String,
    },
    /// `explicit`: the key is always given.
    Explicit,
}

/// The period of a scheduled policy.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Period {
    /// One key per day.
    Day,
    /// One key per month.
    Month,
}

impl Period {
    /// The text in the file.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Month => "month",
        }
    }
}

/// `network_lock`, in seconds. Values above the range of the type are stored as its largest.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LockTimes {
    /// How long a lease lasts without a heartbeat.
    pub lease_sec: u64,
    /// Time between heartbeats.
    pub heartbeat_sec: u64,
}

/// One node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Node {
    /// Unique within the network, by exact text.
    pub id: String,
    /// The job's name as the runner knows it.
    pub job_id: String,
    /// Path of the SQL file as written.
    pub sql: String,
    /// Ids of direct dependencies in file order.
    pub depends_on: Vec<String>,
    /// `all_success`, or a reserved rule that is refused later.
    pub trigger_rule: String,
    /// Whether the job may run again after a failure.
    pub idempotent: bool,
    /// CSV sources: name and pattern, in property order (DEF-07).
    pub inputs: Vec<(String, String)>,
    /// CSV sinks: name and pattern, in property order (DEF-07).
    pub outputs: Vec<(String, String)>,
}

/// Why the nodes to run again cannot be determined (DEF-31).
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum RerunError {
    /// The stored definition has no such node.
    NodeNotFound(String),
    /// The stored graph is malformed; the first finding.
    DagInvalid(Problem),
}

impl RerunError {
    /// Stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::NodeNotFound(_) => "RERUN_FROM_NODE_NOT_FOUND",
            Self::DagInvalid(_) => "RERUN_FROM_DAG_INVALID",
        }
    }
}

impl std::fmt::Display for RerunError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::NodeNotFound(id) => write!(f, "node '{id}' does not exist in the snapshot DAG"),
            Self::DagInvalid(problem) => write!(
                f,
                "the snapshot DAG is malformed: {} {}",
                problem.path, problem.message
            ),
        }
    }
}

impl std::error::Error for RerunError {}

impl Network {
    /// Positions of the nodes in execution order (DEF-30): always the ready node that stands first in the file.
    /// Nodes on a cycle, behind one, or with an unknown dependency are missing.
    pub fn order(&self) -> Vec<usize> {
        let positions = self.positions();
        let mut waiting: Vec<usize> = Vec::with_capacity(self.nodes.len());
        let mut dependents: Vec<Vec<usize>> = vec![Vec::new(); self.nodes.len()];
        for (i, node) in self.nodes.iter().enumerate() {
            waiting.push(node.depends_on.len());
            for dependency in &node.depends_on {
                if let Some(j) = positions.get(dependency.as_str()) {
                    dependents[*j].push(i);
                }
            }
        }
        let mut ready: BinaryHeap<Reverse<usize>> = waiting
            .iter()
            .enumerate()
            .filter(|(_, count)| **count == 0)
            .map(|(i, _)| Reverse(i))
            .collect();
        let mut order = Vec::with_capacity(self.nodes.len());
        while let Some(Reverse(i)) = ready.pop() {
            order.push(i);
            for j in &dependents[i] {
                waiting[*j] -= 1;
                if waiting[*j] == 0 {
                    ready.push(Reverse(*j));
                }
            }
        }
        order
    }

    /// The node and everything that depends on it, directly or not, in file order (DEF-31).
    pub fn descendants(&self, node_id: &str) -> Result<Vec<String>, RerunError> {
        if let Some(problem) = semantic::graph_problems(self).into_iter().next() {
            return Err(RerunError::DagInvalid(problem));
        }
        let positions = self.positions();
        let start = *positions
            .get(node_id)
            .ok_or_else(|| RerunError::NodeNotFound(node_id.to_owned()))?;
        let mut selected = vec![false; self.nodes.len()];
        // In execution order every dependency is decided before its dependents.
        for i in self.order() {
            selected[i] = i == start
                || self.nodes[i]
                    .depends_on
                    .iter()
                    .any(|id| positions.get(id.as_str()).is_some_and(|j| selected[*j]));
        }
        Ok(self
            .nodes
            .iter()
            .zip(selected)
            .filter(|(_, selected)| *selected)
            .map(|(node, _)| node.id.clone())
            .collect())
    }

    /// The node with this id.
    pub fn node(&self, id: &str) -> Option<&Node> {
        self.nodes.iter().find(|node| node.id == id)
    }

    /// Whether any node reads CSV files.
    pub fn has_inputs(&self) -> bool {
        self.nodes.iter().any(|node| !node.inputs.is_empty())
    }

    /// Whether any node writes CSV files.
    pub fn has_outputs(&self) -> bool {
        self.nodes.iter().any(|node| !node.outputs.is_empty())
    }

    /// First position of each id.
    fn positions(&self) -> HashMap<&str, usize> {
        let mut positions = HashMap::with_capacity(self.nodes.len());
        for (i, node) in self.nodes.iter().enumerate() {
            positions.entry(node.id.as_str()).or_insert(i);
        }
        positions
    }
}
