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

    proptest::proptest! {
        #[test]
        fn order_and_repetition_do_not_matter(
            mut picks in proptest::collection::vec(0..NodeStatus::ALL.len(), 0..12),
            started in proptest::bool::ANY,
        ) {
            let of = |picks: &[usize]| aggregate(picks.iter().map(|i| NodeStatus::ALL[*i]), started);
            let before = of(&picks);
            let twice: Vec<usize> = picks.iter().chain(&picks).copied().collect();
            proptest::prop_assert_eq!(of(&twice), before);
            picks.reverse();
            proptest::prop_assert_eq!(of(&picks), before);
            let has = |wanted: NodeStatus| picks.iter().any(|i| NodeStatus::ALL[*i] == wanted);
            proptest::prop_assert_eq!(before == RunStatus::Unknown, has(Unknown));
            if before == RunStatus::Success {
                proptest::prop_assert!(picks.iter().all(|i| NodeStatus::ALL[*i] == Success));
            }
        }
    }
}
