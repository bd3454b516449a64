//! What an operator may do to a Run and its nodes (OPR-10, OPR-30, OPR-37). One place for the commands that do it and for
//! `status`, which names them.

use std::fmt;

use crate::flownet::record::status::{NodeStatus, Outcome, RunStatus};
use crate::flownet::record::{Hold, NodeState, Run};
use crate::flownet::time::Timestamp;

/// Why a Run may not be held or archived.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Refusal {
    /// The contract's code.
    pub code: &'static str,
    /// In words.
    pub why: String,
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

/// OPR-30: a Run that has ended has nothing to stop.
pub fn may_hold(run: &Run) -> Result<(), Refusal> {
    if run.status.is_terminal() {
        return Err(Refusal {
            code: "RUN_ALREADY_TERMINAL",
            why: format!("Run {} has ended with status {}", run.run_id, run.status),
        });
    }
    Ok(())
}

/// OPR-37 step 4: the status first, then the hold. `abandon` closes Runs that have not ended, too.
pub fn may_archive(run: &Run, hold: Option<&Hold>, abandon: bool, now: Timestamp) -> Result<(), Refusal> {
    let refuse = |code, why| Err(Refusal { code, why });
    let (id, status) = (&run.run_id, run.status);
    match status {
        RunStatus::Success => {
            return refuse("RUN_STATUS_NOT_CLOSABLE", format!("Run {id} has succeeded"));
        }
        RunStatus::Unknown if !abandon => {
            let why = format!("Run {id} has a node whose result is unknown");
            return refuse("RUN_UNKNOWN_NOT_CLOSABLE", why);
        }
        RunStatus::Created | RunStatus::Running if !abandon => {
            return refuse("RUN_NOT_TERMINAL", format!("Run {id} is {status}"));
        }
        RunStatus::Unknown
        | RunStatus::Created
        | RunStatus::Running
        | RunStatus::Failed
        | RunStatus::Cancelled => {}
    }
    match hold.filter(|h| h.stops(now)) {
        Some(hold) => refuse(
            "RUN_ON_HOLD",
            format!("Run {id} is held by {}", hold.requested_by),
        ),
        None => Ok(()),
    }
}

/// Row 7 of OPR-10: only a result that nobody else can know, or that cannot be had by trying again.
pub fn may_resolve(state: &NodeState) -> bool {
    state.status == NodeStatus::Unknown || (state.status == NodeStatus::Failed && !state.idempotent)
}

/// Row 8 of OPR-10: nobody alone says that work was done which cannot be repeated.
pub fn needs_approver(state: &NodeState, to: Outcome) -> bool {
    !state.idempotent && to == Outcome::Success
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flownet::record::run::tests::sample;

    fn code(status: RunStatus, hold: Option<&Hold>, abandon: bool) -> Option<&'static str> {
        may_archive(&sample(status), hold, abandon, Timestamp(1000))
            .err()
            .map(|r| r.code)
    }

    #[test]
    fn archiving_looks_at_the_status_first_and_then_at_the_hold() {
        let hold = Hold::first("CANCEL:r".into(), "r", "ops", "why", Timestamp(0), None);
        for held in [None, Some(&hold)] {
            let end = held.map(|_| "RUN_ON_HOLD");
            let never = Some("RUN_STATUS_NOT_CLOSABLE");
            for (status, plain, abandoned) in [
                (RunStatus::Success, never, never),
                (RunStatus::Unknown, Some("RUN_UNKNOWN_NOT_CLOSABLE"), end),
                (RunStatus::Created, Some("RUN_NOT_TERMINAL"), end),
                (RunStatus::Running, Some("RUN_NOT_TERMINAL"), end),
                (RunStatus::Failed, end, end),
                (RunStatus::Cancelled, end, end),
            ] {
                assert_eq!(code(status, held, false), plain, "{status}");
                assert_eq!(code(status, held, true), abandoned, "{status}");
            }
        }
    }

    #[test]
    fn released_and_ended_holds_are_none() {
        let over = Some(Timestamp(1000));
        let hold = Hold::first("CANCEL:r".into(), "r", "ops", "why", Timestamp(0), over);
        assert_eq!(code(RunStatus::Failed, Some(&hold), false), None);
        let released = hold.released("ops", "ok", Timestamp(1));
        assert_eq!(code(RunStatus::Failed, Some(&released), false), None);
    }

    #[test]
    fn only_unfinished_runs_are_held() {
        for status in RunStatus::ALL {
            assert_eq!(may_hold(&sample(*status)).is_err(), status.is_terminal());
        }
    }
}
