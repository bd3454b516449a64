//! A result file: whatever it says, an attempt is SUCCESS only when it names this Run, attempt and job, and never RUNNING.

use ksql_flownet::flownet::record::status::{AttemptStatus, NodeStatus};
use ksql_flownet::flownet::rule::classify::{Evidence, JobLog, decide, read};
use ksql_flownet::flownet::rule::result::{Expected, ResultFile};
use ksql_flownet::flownet::time::Timestamp;

pub fn check(bytes: &[u8]) {
    // The first byte is the rest of the evidence.
    let Some((&around, bytes)) = bytes.split_first() else {
        return;
    };
    let file = ResultFile::read(Some(bytes));
    let expected = Expected {
        correlation_id: "netrun_x",
        attempt_id: "attempt_y",
        job_id: "job_a",
    };
    let evidence = Evidence {
        result: &file,
        exit_code: (around & 1 == 0).then_some(i32::from(around >> 4)),
        forced: around & 2 != 0,
        launch_failed: false,
        leftovers: around & 4 != 0,
        expected,
        baseline: &[],
        outputs: &[],
        execution_started_at: "2026-09-01T00:00:00.000Z",
        now: Timestamp(1_788_000_000_000),
    };
    let log = if around & 8 == 0 {
        JobLog::Absent
    } else {
        JobLog::LookupFailed
    };
    let verdict = decide(&evidence, &read(&evidence), &log);
    assert_ne!(verdict.attempt.status, AttemptStatus::Running);
    assert_ne!(verdict.node.status, NodeStatus::Running);
    if verdict.attempt.status == AttemptStatus::Success {
        assert!(!evidence.forced);
        let value: serde_json::Value =
            serde_json::from_str(&String::from_utf8_lossy(bytes)).expect("a success is JSON");
        assert_eq!(value["correlationId"], expected.correlation_id);
        assert_eq!(value["attemptId"], expected.attempt_id);
        assert_eq!(value["jobId"], expected.job_id);
        assert_eq!(value["status"], "SUCCESS");
    }
}
