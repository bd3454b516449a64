//! Two locks, a log app that may be gone, and answers that get lost (RNR-50..54, RNR-64, RNR-81, RNR-120).

use serde_json::json;

use crate::bench::{Bench, value};
use crate::evidence::{
    events, expected_sums, journal, log_records, only_log_record, run_monthly, start, stored_sums,
};
use crate::jobs::{COUNT, GOOD_MONTH};
use crate::sandbox::{CUSTOMERS, JOB_LOG, ORDERS, Sandbox};

#[test]
fn a_held_lock_keeps_the_job_out() {
    let (sandbox, bench) = start();
    let now = jiff::Timestamp::now().to_string();
    let holder = json!({
        "status": {"value": "RUNNING"}, "job_key": {"value": "p:monthly"}, "batch_id": {"value": "other"},
        "started_at": {"value": now}, "host": {"value": "other-host"}, "script_name": {"value": "monthly.sql"},
    });
    sandbox.insert(JOB_LOG.0, &[holder]);
    let ended = run_monthly(&bench, GOOD_MONTH);
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(
        ended.stderr.contains("the lock p:monthly is held since"),
        "{ended:?}"
    );
    assert!(ended.stderr.contains("other-host"), "{ended:?}");
    assert!(stored_sums(&sandbox).is_empty());
    assert_eq!(log_records(&sandbox).len(), 1);
    assert!(
        !bench.root.join(".ksql/lock-p.json").exists(),
        "the local lock is given back"
    );
}

#[test]
fn a_stale_lock_is_recovered() {
    let (sandbox, bench) = start();
    let holder = json!({
        "status": {"value": "RUNNING"}, "job_key": {"value": "p:count"}, "batch_id": {"value": "crashed"},
        "started_at": {"value": "2026-08-01T00:00:00Z"}, "host": {"value": "other-host"},
    });
    sandbox.insert(JOB_LOG.0, &[holder]);
    let ended = bench.line("run -f count.sql");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("recovered as stale"), "{ended:?}");
    let records = log_records(&sandbox);
    assert_eq!(
        (value(&records[0], "status"), value(&records[0], "job_key")),
        ("TIMEOUT", "")
    );
    assert_eq!(value(&records[0], "job_key_done"), "p:count");
    assert_eq!(value(&records[1], "status"), "SUCCESS");
    assert_eq!(events(&journal(&bench))[0], "stale_lock_recovered");
}

#[test]
fn a_live_process_of_this_folder_keeps_the_job_out() {
    let (sandbox, bench) = start();
    sandbox.fault(&json!({"match": {"method": "POST", "app": JOB_LOG.0}, "action": "hold_before"}));
    let mut first = bench
        .command(&["run", "-f", "count.sql"])
        .spawn()
        .expect("started");
    let hold = sandbox.wait_for_hold();
    let ended = bench.line("run -f monthly.sql");
    assert_eq!(ended.code, Some(5), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("the local lock .ksql/lock-p.json is held by process"),
        "{ended:?}"
    );
    sandbox.release(&hold, "proceed");
    assert!(first.wait().expect("ended").success());
}

#[test]
fn lost_answers_are_settled_by_looking() {
    for (what, fault) in [
        (
            "lock applied",
            json!({"match": {"method": "POST", "app": JOB_LOG.0}, "action": "drop_after"}),
        ),
        (
            "lock not applied",
            json!({"match": {"method": "POST", "app": JOB_LOG.0}, "action": "drop_before"}),
        ),
        (
            "final record",
            json!({"match": {"method": "PUT", "app": JOB_LOG.0}, "action": "drop_after"}),
        ),
        (
            "upsert applied",
            json!({"match": {"method": "PUT", "app": CUSTOMERS.0}, "action": "drop_after"}),
        ),
        (
            "upsert cut",
            json!({"match": {"method": "PUT", "app": CUSTOMERS.0}, "action": "cut"}),
        ),
        (
            "upsert refused",
            json!({"match": {"method": "PUT", "app": CUSTOMERS.0}, "action": "status", "status": 503}),
        ),
        (
            "read",
            json!({"match": {"method": "GET", "app": ORDERS.0}, "nth": 2, "action": "cut"}),
        ),
    ] {
        let (sandbox, bench) = start();
        let expected = expected_sums(&sandbox);
        sandbox.fault(&fault);
        let ended = run_monthly(&bench, GOOD_MONTH);
        assert_eq!(ended.code, Some(0), "{what}: {ended:?}");
        assert_eq!(stored_sums(&sandbox), expected, "{what}");
        let record = only_log_record(&sandbox);
        assert_eq!(
            (value(&record, "status"), value(&record, "job_key")),
            ("SUCCESS", ""),
            "{what}"
        );
    }
}

#[test]
fn an_insert_whose_answer_is_lost_is_not_repeated() {
    for (action, added) in [("drop_after", 1), ("drop_before", 0)] {
        let (sandbox, bench) = start();
        let before = sandbox.records(CUSTOMERS.0).len();
        sandbox.fault(&json!({"match": {"method": "POST", "app": CUSTOMERS.0}, "action": action}));
        let ended = bench.line("run -f insert.sql");
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert!(
            ended.stderr.contains("whether it took effect is unknown"),
            "{ended:?}"
        );
        assert_eq!(sandbox.records(CUSTOMERS.0).len(), before + added, "{action}");
        assert_eq!(value(&only_log_record(&sandbox), "status"), "FAILED");
    }
}

#[test]
fn without_the_log_app_nothing_runs_unless_asked_to() {
    let (sandbox, bench) = start();
    let down = json!({"match": {"app": JOB_LOG.0}, "times": 99, "action": "status", "status": 503});
    sandbox.fault(&down);
    let ended = run_monthly(&bench, GOOD_MONTH);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.stderr.contains("nothing was run [LOCK_UNAVAILABLE]"),
        "{ended:?}"
    );
    assert!(stored_sums(&sandbox).is_empty());

    let ended = bench.line(&format!(
        "run -f monthly.sql --lock local-only --as-of {GOOD_MONTH}"
    ));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stderr.contains("going on with the local lock only"),
        "{ended:?}"
    );
    assert_eq!(stored_sums(&sandbox), expected_sums(&sandbox));
    assert!(log_records(&sandbox).is_empty());
}

#[test]
fn a_profile_without_log_app_needs_local_only() {
    let sandbox = Sandbox::start("flow-run");
    let bench = Bench::with_profile(&sandbox, &json!({"logApp": null}));
    bench.write("count.sql", COUNT);
    sandbox.clear_log();
    let ended = bench.line("run -f count.sql");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(sandbox.log().is_empty());
    assert_eq!(bench.line("run -f count.sql --lock local-only").code, Some(0));
}

#[test]
fn a_final_record_that_cannot_be_written_is_sent_by_the_next_run() {
    let (sandbox, bench) = start();
    sandbox.fault(&json!({
        "match": {"method": "PUT", "app": JOB_LOG.0}, "times": 99, "action": "status", "status": 503,
    }));
    let ended = bench.line("run -f count.sql");
    assert_eq!(ended.code, Some(0), "the outcome stays: {ended:?}");
    assert!(ended.stderr.contains("kept for the next run"), "{ended:?}");
    assert_eq!(value(&only_log_record(&sandbox), "status"), "RUNNING");
    sandbox.clear_faults();

    let ended = bench.line("run -f count.sql");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.contains("log-app writes of earlier runs sent: 1"),
        "{ended:?}"
    );
    let records = log_records(&sandbox);
    assert_eq!(records.len(), 2);
    for record in &records {
        assert_eq!(
            (value(record, "status"), value(record, "job_key")),
            ("SUCCESS", "")
        );
    }
    assert_eq!(
        std::fs::read_dir(bench.root.join(".ksql/logs/pending"))
            .expect("queue")
            .count(),
        0
    );
}

#[test]
fn a_queued_write_that_is_refused_does_not_block_the_others() {
    let (_sandbox, bench) = start();
    let entry = |id: u64| {
        json!({"op": "update", "recordId": id, "fields": {"status": "FAILED"}, "createdAt": "2026-08-01T00:00:00Z"})
            .to_string()
    };
    bench.write(".ksql/logs/pending/0000000000001-1-000000.json", &entry(999_999));
    let ended = bench.line("run -f count.sql");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("set aside"), "{ended:?}");
    assert!(
        bench
            .root
            .join(".ksql/logs/pending/0000000000001-1-000000.refused")
            .exists()
    );
}
