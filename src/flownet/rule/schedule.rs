//! What to do with the next node (SCH-06), as a function of the states around it.

use std::collections::BTreeSet;

use crate::flownet::definition::{Network, Node};
use crate::flownet::record::status::{Mode, NodeStatus};

/// The decision for one node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Disposition {
    /// Already done; kept.
    Preserved,
    /// Cannot be taken on now; `reported` puts it into `blocked_node_ids`.
    Excluded {
        /// Shown as blocked.
        reported: bool,
    },
    /// A dependency ended badly: write BLOCKED, naming the direct culprits.
    Block(Vec<String>),
    /// A dependency has not ended; a later invocation takes it.
    Deferred,
    /// Ready to run.
    Run,
}

/// What limits this invocation.
#[derive(Clone, Debug)]
pub struct Scope {
    /// How the invocation came to the Run.
    pub mode: Mode,
    /// Nodes of a rerun-from; unused otherwise.
    pub selected: BTreeSet<String>,
    /// Nodes that may not run, with their descendants (SEL-03).
    pub excluded: BTreeSet<String>,
}

impl Scope {
    /// A NEW Run: everything may run.
    pub fn new_run() -> Self {
        Self {
            mode: Mode::New,
            selected: BTreeSet::new(),
            excluded: BTreeSet::new(),
        }
    }
}

/// Decides for `node`; `status` gives the present status of any node id.
pub fn disposition(node: &Node, scope: &Scope, status: impl Fn(&str) -> NodeStatus) -> Disposition {
    let own = status(&node.id);
    if scope.mode == Mode::RerunFrom && !scope.selected.contains(&node.id) {
        return if own == NodeStatus::Success {
            Disposition::Preserved
        } else {
            Disposition::Excluded { reported: false }
        };
    }
    if own == NodeStatus::Success {
        return Disposition::Preserved;
    }
    let excluded = scope.excluded.contains(&node.id);
    if excluded && own != NodeStatus::Waiting {
        return Disposition::Excluded { reported: true };
    }
    let culprits: Vec<String> = node
        .depends_on
        .iter()
        .filter(|d| ended_badly(status(d)))
        .cloned()
        .collect();
    if own == NodeStatus::Waiting && (excluded || !culprits.is_empty()) {
        return Disposition::Block(culprits);
    }
    if node
        .depends_on
        .iter()
        .any(|d| matches!(status(d), NodeStatus::Waiting | NodeStatus::Running))
    {
        return Disposition::Deferred;
    }
    if own == NodeStatus::Waiting {
        Disposition::Run
    } else {
        Disposition::Excluded { reported: true }
    }
}

/// A dependency in one of these keeps its dependents from running.
pub fn ended_badly(status: NodeStatus) -> bool {
    matches!(
        status,
        NodeStatus::Failed | NodeStatus::Blocked | NodeStatus::Cancelled | NodeStatus::Unknown
    )
}

/// Every WAITING node that is to be BLOCKED now, directly or through another of them, in execution order.
pub fn blocked_closure(
    network: &Network,
    scope: &Scope,
    status: impl Fn(&str) -> NodeStatus,
) -> Vec<(String, Vec<String>)> {
    let mut found: Vec<(String, Vec<String>)> = Vec::new();
    for index in network.order() {
        let node = &network.nodes[index];
        let seen = |id: &str| {
            if found.iter().any(|(n, _)| n == id) {
                NodeStatus::Blocked
            } else {
                status(id)
            }
        };
        if let Disposition::Block(culprits) = disposition(node, scope, seen) {
            found.push((node.id.clone(), culprits));
        }
    }
    found
}
