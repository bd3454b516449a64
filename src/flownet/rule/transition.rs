//! Which change of a Node State is allowed (TRN-01); checked before every write.

use std::fmt;

use crate::flownet::record::status::NodeStatus;

/// Why a node may leave a status that is otherwise final.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Permit {
    /// The ordinary course.
    None,
    /// `--rerun-from` takes a finished node again.
    RerunFrom,
    /// A stored resolution says so.
    Resolution,
}

/// A change that the table forbids.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Forbidden {
    /// Node concerned.
    pub node_id: String,
    /// Stored status.
    pub from: NodeStatus,
    /// Wanted status.
    pub to: NodeStatus,
}

impl fmt::Display for Forbidden {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "node '{}' cannot go from {} to {}",
            self.node_id, self.from, self.to
        )
    }
}

/// Is `from` -> `to` allowed? Writing the same status again always is.
pub fn is_allowed(from: NodeStatus, to: NodeStatus, idempotent: bool, permit: Permit) -> bool {
    use NodeStatus::{Blocked, Cancelled, Failed, Running, Skipped, Success, Unknown, Waiting};
    if from == to {
        return true;
    }
    match (from, to) {
        (Waiting, Running | Blocked)
        | (Running, Waiting | Success | Failed | Cancelled | Unknown)
        | (Blocked, Waiting)
        | (Unknown, Success | Failed | Cancelled) => true,
        (Success, Waiting) => permit == Permit::RerunFrom,
        (Failed | Cancelled, Waiting) => idempotent,
        (Failed, Success | Cancelled) => permit == Permit::Resolution,
        (Skipped, _) | (_, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_never_waits_and_skipped_never_moves() {
        for to in NodeStatus::ALL {
            for permit in [Permit::None, Permit::RerunFrom, Permit::Resolution] {
                assert_eq!(
                    is_allowed(NodeStatus::Skipped, *to, true, permit),
                    *to == NodeStatus::Skipped
                );
            }
        }
        assert!(!is_allowed(
            NodeStatus::Unknown,
            NodeStatus::Waiting,
            true,
            Permit::RerunFrom
        ));
    }

    #[test]
    fn only_idempotent_failures_are_retried() {
        for from in [NodeStatus::Failed, NodeStatus::Cancelled] {
            assert!(is_allowed(from, NodeStatus::Waiting, true, Permit::None));
            assert!(!is_allowed(from, NodeStatus::Waiting, false, Permit::RerunFrom));
        }
    }

    #[test]
    fn a_result_needs_a_running_node_or_a_persons_word() {
        assert!(!is_allowed(
            NodeStatus::Waiting,
            NodeStatus::Success,
            true,
            Permit::None
        ));
        assert!(!is_allowed(
            NodeStatus::Failed,
            NodeStatus::Success,
            true,
            Permit::None
        ));
        assert!(is_allowed(
            NodeStatus::Failed,
            NodeStatus::Success,
            false,
            Permit::Resolution
        ));
    }
}
