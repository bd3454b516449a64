//! Which nodes a resume or a rerun-from takes on (SEL-01..06, RRF-01..06, SCH-13), decided in memory before any write.

use std::collections::BTreeSet;
use std::fmt;

use crate::flownet::definition::Network;
use crate::flownet::record::status::{AttemptStatus, NodeStatus};
use crate::flownet::record::{Attempt, NodeState};

/// Equal failures in a row after which an idempotent node is not tried again by itself.
const BRAKE_AFTER: usize = 3;

/// A node that failed the same way too often (SCH-13).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Brake {
    /// Braked node.
    pub node_id: String,
    /// Repeated result code.
    pub result_code: String,
    /// How often in a row.
    pub count: usize,
}

impl Brake {
    /// The stored reason.
    pub fn reason(&self) -> String {
        format!("RETRY_BRAKE:{}x{}", self.result_code, self.count)
    }
}

/// What a resume does to the nodes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Selection {
    /// Set back to WAITING.
    pub reset: Vec<String>,
    /// Nodes that cannot go on without a person.
    pub roots: Vec<String>,
    /// Roots and everything behind them.
    pub excluded: BTreeSet<String>,
    /// Braked nodes, in definition order.
    pub brakes: Vec<Brake>,
}

/// Selection of a RESUME over the nodes in definition order.
pub fn resume(network: &Network, states: &[&NodeState], attempts: &[&Attempt]) -> Selection {
    let mut selection = Selection::default();
    let mut retry: Vec<&NodeState> = Vec::new();
    for state in states {
        match state.status {
            NodeStatus::Failed | NodeStatus::Cancelled if state.idempotent => {
                let own = attempts.iter().copied().filter(|a| a.node_id == state.node_id);
                match brake(&state.node_id, own) {
                    Some(brake) => {
                        selection.brakes.push(brake);
                        selection.roots.push(state.node_id.clone());
                    }
                    None => retry.push(state),
                }
            }
            NodeStatus::Failed | NodeStatus::Cancelled | NodeStatus::Unknown => {
                selection.roots.push(state.node_id.clone());
            }
            NodeStatus::Blocked => retry.push(state),
            NodeStatus::Waiting | NodeStatus::Running | NodeStatus::Success | NodeStatus::Skipped => {}
        }
    }
    for root in &selection.roots {
        // A root is a node of this network, so it has descendants (itself at least).
        selection
            .excluded
            .extend(network.descendants(root).unwrap_or_default());
    }
    // A node that would be blocked again at once stays as it is.
    let stays = |s: &&NodeState| s.status == NodeStatus::Blocked && selection.excluded.contains(&s.node_id);
    selection.reset = retry
        .iter()
        .filter(|s| !stays(s))
        .map(|s| s.node_id.clone())
        .collect();
    selection
}

/// The same failure again and again, newest first; attempts that never started do not count (RUN-29).
pub fn brake<'a>(node_id: &str, attempts: impl Iterator<Item = &'a Attempt>) -> Option<Brake> {
    let mut own: Vec<&Attempt> = attempts.collect();
    own.sort_by_key(|a| std::cmp::Reverse(a.attempt_no));
    let counted = own
        .into_iter()
        .filter(|a| !(a.status == AttemptStatus::Cancelled && a.result_code == "PREPARE_FAILED"));
    let mut code: Option<&str> = None;
    let mut count = 0;
    for attempt in counted {
        let this = attempt.result_code.trim();
        if attempt.status != AttemptStatus::Failed || this.is_empty() || code.is_some_and(|c| c != this) {
            break;
        }
        code = Some(this);
        count += 1;
    }
    code.filter(|_| count >= BRAKE_AFTER).map(|c| Brake {
        node_id: node_id.to_owned(),
        result_code: c.to_owned(),
        count,
    })
}

/// Why a rerun-from is refused (RRF-02).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// RERUN_FROM_*.
    pub code: &'static str,
    /// What is wrong.
    pub message: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

/// Nodes of a rerun-from, in definition order, after all checks that need no files.
pub fn rerun_from(
    network: &Network,
    states: &[&NodeState],
    run_is_success: bool,
    from: &str,
) -> Result<Vec<String>, Refusal> {
    let selected = network.descendants(from).map_err(|e| Refusal {
        code: e.code(),
        message: e.to_string(),
    })?;
    if run_is_success {
        return Err(Refusal {
            code: "RERUN_FROM_SUCCESS_RUN",
            message: "the Run has already succeeded; use another business key to do the work again"
                .to_owned(),
        });
    }
    for id in &selected {
        let Some(state) = states.iter().find(|s| s.node_id == *id) else {
            return Err(Refusal {
                code: "RERUN_FROM_DAG_INVALID",
                message: format!("node '{id}' has no Node State"),
            });
        };
        if state.status == NodeStatus::Unknown {
            return Err(Refusal {
                code: "RERUN_FROM_UNKNOWN_STATE",
                message: format!("node '{id}' is UNKNOWN; somebody has to resolve it first"),
            });
        }
    }
    for id in &selected {
        let tried = states
            .iter()
            .any(|s| s.node_id == *id && !s.idempotent && s.latest_attempt_no > 0);
        if tried {
            return Err(Refusal {
                code: "RERUN_FROM_NON_IDEMPOTENT",
                message: format!("node '{id}' is not idempotent and has been tried already"),
            });
        }
    }
    Ok(selected)
}
