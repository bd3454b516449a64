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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A network whose node `i` depends on the listed nodes; ids are `n0`, `n1` ...
    fn network(dependencies: &[Vec<usize>]) -> Network {
        Network {
            schema_version: 1,
            network_id: "net".to_owned(),
            description: None,
            policy: BusinessKeyPolicy::Explicit,
            max_active_runs: 1,
            lock: LockTimes {
                lease_sec: 300,
                heartbeat_sec: 60,
            },
            nodes: dependencies
                .iter()
                .enumerate()
                .map(|(i, list)| Node {
                    id: format!("n{i}"),
                    job_id: format!("j{i}"),
                    sql: "a.sql".to_owned(),
                    depends_on: list.iter().map(|j| format!("n{j}")).collect(),
                    trigger_rule: "all_success".to_owned(),
                    idempotent: true,
                    inputs: Vec::new(),
                    outputs: Vec::new(),
                })
                .collect(),
        }
    }

    /// Graphs without cycles: edges follow a random ranking of the nodes.
    fn acyclic() -> impl Strategy<Value = Vec<Vec<usize>>> {
        (1usize..12).prop_flat_map(|n| {
            let ranks = Just((0..n).collect::<Vec<_>>()).prop_shuffle();
            let edges = prop::collection::vec(any::<bool>(), n * n);
            (ranks, edges).prop_map(move |(ranks, edges)| {
                (0..n)
                    .map(|i| {
                        (0..n)
                            .filter(|j| ranks[*j] < ranks[i] && edges[i * n + j])
                            .collect()
                    })
                    .collect()
            })
        })
    }

    #[test]
    fn a_node_that_becomes_ready_late_but_stands_early_goes_first() {
        // n0 depends on n1; n2 and n3 are ready from the start.
        let network = network(&[vec![1], vec![], vec![], vec![]]);
        assert_eq!(network.order(), [1, 0, 2, 3]);
    }

    #[test]
    fn nodes_on_or_behind_a_cycle_are_not_emitted() {
        let network = network(&[vec![1], vec![2], vec![1], vec![]]);
        assert_eq!(network.order(), [3]);
    }

    #[test]
    fn descendants_stand_in_file_order() {
        let network = network(&[vec![3], vec![], vec![0], vec![1], vec![1]]);
        let ids = |result: Result<Vec<String>, RerunError>| result.expect("a sound graph");
        assert_eq!(ids(network.descendants("n3")), ["n0", "n2", "n3"]);
        assert_eq!(ids(network.descendants("n2")), ["n2"]);
    }

    #[test]
    fn descendants_of_nothing_and_of_a_malformed_graph() {
        let sound = network(&[vec![], vec![0]]);
        let unknown = sound.descendants("x").expect_err("no such node");
        assert_eq!(unknown.code(), "RERUN_FROM_NODE_NOT_FOUND");
        assert_eq!(unknown.to_string(), "node 'x' does not exist in the snapshot DAG");
        for dependencies in [
            vec![vec![1], vec![0]],
            vec![vec![0]],
            vec![vec![7]],
            vec![vec![], vec![0, 0]],
        ] {
            let error = network(&dependencies).descendants("n0").expect_err("malformed");
            assert_eq!(error.code(), "RERUN_FROM_DAG_INVALID");
        }
    }

    proptest! {
        #[test]
        fn the_order_always_emits_the_first_ready_node(dependencies in acyclic()) {
            let order = network(&dependencies).order();
            prop_assert_eq!(order.len(), dependencies.len());
            let mut emitted = vec![false; dependencies.len()];
            for i in order {
                let ready = |j: &usize| !emitted[*j] && dependencies[*j].iter().all(|d| emitted[*d]);
                prop_assert_eq!((0..dependencies.len()).find(ready), Some(i));
                emitted[i] = true;
            }
        }

        #[test]
        fn descendants_are_what_can_be_reached(dependencies in acyclic(), start in any::<prop::sample::Index>()) {
            let start = start.index(dependencies.len());
            fn reaches(dependencies: &[Vec<usize>], from: usize, to: usize) -> bool {
                from == to || dependencies[from].iter().any(|next| reaches(dependencies, *next, to))
            }
            let wanted: Vec<String> = (0..dependencies.len())
                .filter(|i| reaches(&dependencies, *i, start))
                .map(|i| format!("n{i}"))
                .collect();
            prop_assert_eq!(network(&dependencies).descendants(&format!("n{start}")), Ok(wanted));
        }

        #[test]
        fn the_order_of_any_graph_is_stable(
            dependencies in (1usize..8).prop_flat_map(|n| prop::collection::vec(prop::collection::vec(0..n + 1, 0..4), n)),
        ) {
            let network = network(&dependencies);
            let order = network.order();
            prop_assert_eq!(&network.order(), &order);
            let mut seen = order.clone();
            seen.sort_unstable();
            seen.dedup();
            prop_assert_eq!(seen.len(), order.len());
        }
    }
}
