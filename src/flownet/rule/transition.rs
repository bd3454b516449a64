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
    /// A stored resolution corrects an earlier one.
    Correction,
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
        (Failed, Success | Cancelled) => matches!(permit, Permit::Resolution | Permit::Correction),
        // Not from SUCCESS: nodes behind it may have run.
        (Cancelled, Success | Failed) => permit == Permit::Correction,
        (Skipped | _, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unknown_never_waits_and_skipped_never_moves() {
        for to in NodeStatus::ALL {
            for permit in [
                Permit::None,
                Permit::RerunFrom,
                Permit::Resolution,
                Permit::Correction,
            ] {
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

    /// TRN-01 written a second time, row by row: everything that is not here is forbidden.
    #[test]
    fn the_table_is_closed() {
        use NodeStatus::{Blocked, Cancelled, Failed, Running, Success, Unknown, Waiting};
        let rows = [
            (Waiting, vec![Running, Blocked]),
            (Running, vec![Waiting, Success, Failed, Cancelled, Unknown]),
            (Blocked, vec![Waiting]),
            (Unknown, vec![Success, Failed, Cancelled]),
        ];
        for from in NodeStatus::ALL.iter().copied() {
            for to in NodeStatus::ALL.iter().copied() {
                for idempotent in [false, true] {
                    for permit in [Permit::None, Permit::RerunFrom, Permit::Resolution] {
                        let in_table = rows.iter().any(|(f, tos)| *f == from && tos.contains(&to));
                        let retried = matches!(from, Failed | Cancelled) && to == Waiting && idempotent;
                        let rerun = from == Success && to == Waiting && permit == Permit::RerunFrom;
                        let resolved = from == Failed
                            && matches!(to, Success | Cancelled)
                            && permit == Permit::Resolution;
                        assert_eq!(
                            is_allowed(from, to, idempotent, permit),
                            from == to || in_table || retried || rerun || resolved,
                            "{from} -> {to}, idempotent {idempotent}, {permit:?}"
                        );
                    }
                }
            }
        }
    }

    /// From every status but SKIPPED, SUCCESS can be reached: no status is a dead end for a person with all permits.
    #[test]
    fn no_status_of_an_idempotent_node_is_a_dead_end() {
        let permits = [Permit::None, Permit::RerunFrom, Permit::Resolution];
        for from in NodeStatus::ALL
            .iter()
            .copied()
            .filter(|s| *s != NodeStatus::Skipped)
        {
            let mut reached = vec![from];
            let mut at = 0;
            while let Some(here) = reached.get(at).copied() {
                at += 1;
                for to in NodeStatus::ALL.iter().copied() {
                    let possible = permits.iter().any(|p| is_allowed(here, to, true, *p));
                    if possible && !reached.contains(&to) {
                        reached.push(to);
                    }
                }
            }
            assert!(reached.contains(&NodeStatus::Success), "{from} is a dead end");
        }
    }
}
