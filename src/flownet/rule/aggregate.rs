//! The status of a Run from its nodes (AGG-01, STA-14).

use crate::flownet::record::status::{NodeStatus, RunStatus};

/// First match wins; `started` tells whether the Run has a start time.
pub fn aggregate(nodes: impl IntoIterator<Item = NodeStatus>, started: bool) -> RunStatus {
    let seen: Vec<NodeStatus> = nodes.into_iter().collect();
    let any = |wanted: &[NodeStatus]| seen.iter().any(|s| wanted.contains(s));
    if any(&[NodeStatus::Unknown]) {
        RunStatus::Unknown
    } else if any(&[NodeStatus::Running]) {
        RunStatus::Running
    } else if any(&[NodeStatus::Failed, NodeStatus::Blocked]) {
        RunStatus::Failed
    } else if any(&[NodeStatus::Cancelled]) {
        RunStatus::Cancelled
    } else if !seen.is_empty() && seen.iter().all(|s| *s == NodeStatus::Success) {
        RunStatus::Success
    } else if started {
        RunStatus::Running
    } else {
        RunStatus::Created
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use NodeStatus::{Blocked, Cancelled, Failed, Running, Success, Unknown, Waiting};

    #[test]
    fn priorities() {
        let all = [Unknown, Running, Failed, Cancelled, Success, Waiting];
        let expected = [
            RunStatus::Unknown,
            RunStatus::Running,
            RunStatus::Failed,
            RunStatus::Cancelled,
            RunStatus::Running,
        ];
        for (i, want) in expected.iter().enumerate() {
            assert_eq!(aggregate(all[i..].iter().copied(), true), *want, "from {i}");
        }
        assert_eq!(aggregate([Blocked, Success], true), RunStatus::Failed);
        assert_eq!(aggregate([Success, Success], true), RunStatus::Success);
        assert_eq!(aggregate([Success, Waiting], false), RunStatus::Created);
        assert_eq!(aggregate([], true), RunStatus::Running);
    }
}
