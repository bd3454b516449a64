//! Is anybody working on an unfinished Run? (STA-11, LCK-13)

use crate::flownet::record::status::RunStatus;
use crate::flownet::time::{MINUTE_MS, Timestamp};

/// Shown for CREATED and RUNNING Runs only.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Activity {
    /// The lock is held by one of the Run's invocations and the lease is not over.
    Live,
    /// A person holds it.
    Stopped,
    /// Not started, nobody there.
    Idle,
    /// Started, nobody there.
    Interrupted,
}

impl Activity {
    /// The text of `status --json`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Live => "LIVE",
            Self::Stopped => "STOPPED",
            Self::Idle => "IDLE",
            Self::Interrupted => "INTERRUPTED",
        }
    }
}

/// First match of STA-11. `owner_expires` is the stored lease end of a lock that one of the Run's invocations holds.
pub fn activity(
    status: RunStatus,
    held: bool,
    owner_expires: Option<Timestamp>,
    started: bool,
    now: Timestamp,
) -> Option<Activity> {
    if status.is_terminal() {
        None
    } else if held {
        Some(Activity::Stopped)
    } else if owner_expires.is_some_and(|end| now <= end.plus_ms(MINUTE_MS)) {
        Some(Activity::Live)
    } else if started {
        Some(Activity::Interrupted)
    } else {
        Some(Activity::Idle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_match_wins() {
        let now = Timestamp(1_000_000);
        let live = Some(Timestamp(1_000_000 - MINUTE_MS));
        let gone = Some(Timestamp(1_000_000 - MINUTE_MS - 1));
        assert_eq!(activity(RunStatus::Failed, true, live, true, now), None);
        assert_eq!(
            activity(RunStatus::Running, true, live, true, now),
            Some(Activity::Stopped)
        );
        assert_eq!(
            activity(RunStatus::Running, false, live, true, now),
            Some(Activity::Live)
        );
        assert_eq!(
            activity(RunStatus::Running, false, gone, true, now),
            Some(Activity::Interrupted)
        );
        assert_eq!(
            activity(RunStatus::Created, false, None, false, now),
            Some(Activity::Idle)
        );
    }
}
