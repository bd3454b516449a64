//! The mark that an orchestrated job is about to run its first statement (RNR-76). Without it nothing runs: the
//! orchestrator relies on it to know what may have been executed.

use jiff::Timestamp;
use serde_json::json;

use super::job_lock::HeldLock;
use super::job_record;
use super::journal::{Event, Journal};
use super::log_app::LogApp;
use super::verdict::Failure;
use crate::flow::calendar::instant_seconds;
use crate::flow::sql::message::say;
use crate::kintone::{self, Outcome};

/// How often the mark is sent when its answer is lost and the record shows that it did not arrive.
const ATTEMPTS: u32 = 3;

/// Stores the mark on the job's own record, which nobody may have touched since it was made.
///
/// # Errors
/// It is not certain that the mark is stored.
pub fn store(log: &LogApp, lock: &HeldLock, at: Timestamp, journal: &Journal) -> Result<(), Failure> {
    let mark = job_record::execution_started(at);
    let stored = || {
        journal.write(Event::ExecutionStarted, json!({"at": instant_seconds(at)}));
        Ok(())
    };
    for _ in 0..ATTEMPTS {
        let Err(error) = log.update(lock.record_id, Some(lock.revision), &mark) else {
            return stored();
        };
        let unavailable = |error: &kintone::Error| {
            let what = say!("the start could not be recorded", "開始を記録できませんでした");
            Failure::lock_unavailable(what.joined(": ", &error.into()))
        };
        if error.outcome() == Outcome::NotApplied {
            return Err(unavailable(&error));
        }
        match log.start_mark(lock.record_id) {
            Ok((_, Some(mark))) if same_minute(&mark, at) => return stored(),
            // Not applied so far; sent again at the same revision, at most one of the two can be.
            Ok((revision, None)) if revision == lock.revision => {}
            _ => return Err(unavailable(&error)),
        }
    }
    Err(Failure::lock_unavailable(say!(
        "the start could not be recorded: no answer from the log app",
        "開始を記録できませんでした: ログアプリから応答がありません"
    )))
}

/// kintone stores the mark without its seconds (KTB-114).
fn same_minute(stored: &str, at: Timestamp) -> bool {
    const MINUTE: usize = "2026-08-01T00:00".len();
    let ours = instant_seconds(at);
    stored
        .get(..MINUTE)
        .is_some_and(|stored| Some(stored) == ours.get(..MINUTE))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_compared_by_the_minute() {
        let at: Timestamp = "2026-08-01T00:59:59.9Z".parse().expect("instant");
        assert!(same_minute("2026-08-01T00:59:00Z", at));
        assert!(!same_minute("2026-08-01T01:00:00Z", at));
        assert!(!same_minute("", at));
    }
}
