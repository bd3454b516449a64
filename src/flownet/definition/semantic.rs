//! The semantic step (DEF-22 to DEF-27), for a definition whose form is right.

use std::collections::HashSet;

use super::business_key;
use super::network::Network;
use super::pattern::{PatternKind, check_pattern};
use super::problem::{Problem, pointer_segment};

/// The only trigger rule that is executed.
const SUPPORTED_TRIGGER_RULE: &str = "all_success";

/// All problems, in the order of DEF-22. The lock times are compared as the doubles they were in the file.
pub(super) fn problems(network: &Network, lease: f64, heartbeat: f64) -> Vec<Problem> {
    let mut problems = business_key::check_policy(&network.policy);
    problems.extend(lock_problems(lease, heartbeat));
    let mut graph = Graph::new(network);
    for i in 0..network.nodes.len() {
        problems.extend(graph.duplicate_id(i));
        problems.extend(node_problems(network, i));
        problems.extend(graph.dependency_problems(i));
    }
    problems.extend(graph.unknown_dependencies_and_cycle());
    problems
}

/// Only what makes the graph malformed (DEF-31).
pub(super) fn graph_problems(network: &Network) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut graph = Graph::new(network);
    for i in 0..network.nodes.len() {
        problems.extend(graph.duplicate_id(i));
        problems.extend(graph.dependency_problems(i));
    }
    problems.extend(graph.unknown_dependencies_and_cycle());
    problems
}

fn lock_problems(lease: f64, heartbeat: f64) -> Vec<Problem> {
    const PATH: &str = "$.network_lock.heartbeat_interval_sec";
    let mut problems = Vec::new();
    if heartbeat >= lease {
        problems.push(Problem::new(
            "NETWORK_LOCK_HEARTBEAT_NOT_LESS_THAN_LEASE",
            PATH,
            "must be less than lease_duration_sec",
        ));
    }
    if heartbeat > lease / 3.0 {
        problems.push(Problem::new(
            "NETWORK_LOCK_HEARTBEAT_EXCEEDS_ONE_THIRD",
            PATH,
            "must be at most lease_duration_sec / 3",
        ));
    }
    problems
}

/// Patterns and trigger rule of one node.
fn node_problems(network: &Network, i: usize) -> Vec<Problem> {
    let node = &network.nodes[i];
    let mut problems = Vec::new();
    for (kind, code, property, patterns) in [
        (
            PatternKind::Input,
            "INPUT_PATTERN_INVALID",
            "inputs",
            &node.inputs,
        ),
        (
            PatternKind::Output,
            "OUTPUT_PATTERN_INVALID",
            "outputs",
            &node.outputs,
        ),
    ] {
        for (name, pattern) in patterns {
            if let Err(message) = check_pattern(kind, pattern) {
                let path = format!("$.nodes/{i}/{property}/{}", pointer_segment(name));
                problems.push(Problem::new(code, path, message));
            }
        }
    }
    if node.trigger_rule != SUPPORTED_TRIGGER_RULE {
        problems.push(Problem::new(
            "TRIGGER_RULE_UNSUPPORTED",
            format!("$.nodes/{i}/trigger_rule"),
            format!("'{}' is reserved and not supported in Phase 1", node.trigger_rule),
        ));
    }
    problems
}

/// The checks of the graph, which remember what they have seen.
struct Graph<'n> {
    network: &'n Network,
    ids: HashSet<&'n str>,
    has_duplicates: bool,
}

impl<'n> Graph<'n> {
    fn new(network: &'n Network) -> Self {
        Self {
            network,
            ids: HashSet::with_capacity(network.nodes.len()),
            has_duplicates: false,
        }
    }

    /// Called once per node, in order.
    fn duplicate_id(&mut self, i: usize) -> Option<Problem> {
        let id = self.network.nodes[i].id.as_str();
        if self.ids.insert(id) {
            return None;
        }
        self.has_duplicates = true;
        Some(Problem::new(
            "DUPLICATE_NODE_ID",
            format!("$.nodes/{i}/id"),
            format!("duplicate node id '{id}'"),
        ))
    }

    fn dependency_problems(&self, i: usize) -> Vec<Problem> {
        let node = &self.network.nodes[i];
        let mut seen = HashSet::new();
        let mut problems = Vec::new();
        for (j, dependency) in node.depends_on.iter().enumerate() {
            let path = format!("$.nodes/{i}/depends_on/{j}");
            if *dependency == node.id {
                problems.push(Problem::new(
                    "SELF_DEPENDENCY",
                    path.clone(),
                    "self-dependency is not allowed",
                ));
            }
            if !seen.insert(dependency) {
                problems.push(Problem::new(
                    "DUPLICATE_DEPENDENCY",
                    path,
                    format!("duplicate dependency '{dependency}'"),
                ));
            }
        }
        problems
    }

    /// After all nodes were seen. A graph with duplicate ids or unknown dependencies is not searched for cycles
    /// (DEF-26).
    fn unknown_dependencies_and_cycle(&self) -> Vec<Problem> {
        let mut problems = Vec::new();
        for (i, node) in self.network.nodes.iter().enumerate() {
            for (j, dependency) in node.depends_on.iter().enumerate() {
                if !self.ids.contains(dependency.as_str()) {
                    problems.push(Problem::new(
                        "UNKNOWN_DEPENDENCY",
                        format!("$.nodes/{i}/depends_on/{j}"),
                        format!("unknown dependency '{dependency}'"),
                    ));
                }
            }
        }
        if problems.is_empty() && !self.has_duplicates {
            problems.extend(self.cycle());
        }
        problems
    }

    /// All nodes that the sort could not emit, in file order (DEF-27).
    fn cycle(&self) -> Option<Problem> {
        let emitted: HashSet<usize> = self.network.order().into_iter().collect();
        let left: Vec<&str> = self
            .network
            .nodes
            .iter()
            .enumerate()
            .filter(|(i, _)| !emitted.contains(i))
            .map(|(_, node)| node.id.as_str())
            .collect();
        (!left.is_empty()).then(|| {
            Problem::new(
                "CYCLE_DETECTED",
                "$.nodes",
                format!("cycle detected; nodes not sortable: {}", left.join(", ")),
            )
        })
    }
}
