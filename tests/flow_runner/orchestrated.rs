//! `run` for an orchestrator: result, start mark, signals (RNR-06, RNR-76, RNR-77, RNR-116..118).

use std::process::{Child, Stdio};

use serde_json::{Value, json};

use crate::bench::{Bench, Ended, value};
use crate::jobs::{BAD_MONTH, EMPTY_MONTH, GOOD_MONTH, MONTHLY};
use crate::sandbox::{CUSTOMERS, JOB_LOG, Sandbox};

fn start() -> (Sandbox, Bench) {
    let sandbox = Sandbox::start("flow-orchestrated");
    let bench = Bench::on(&sandbox);
    bench.write("monthly.sql", MONTHLY);
    (sandbox, bench)
}

fn arguments(as_of: &str) -> Vec<String> {
    format!(
        "run -f monthly.sql --profile p --config ksql.config.json --as-of {as_of} --result-json r.json \
         --correlation-id netrun_1 --attempt-id attempt_1 --expected-job-id monthly"
    )
    .split_whitespace()
    .map(str::to_owned)
    .collect()
}

fn run(bench: &Bench, as_of: &str) -> (Ended, Value) {
    let _ = std::fs::remove_file(bench.root.join("r.json"));
    let ended = bench.run(&arguments(as_of));
    let result = bench.json("r.json");
    check_shape(&result, ended.code);
    (ended, result)
}

/// What a caller checks of every result (contract, RUN-22 and RUN-23; RNR-118).
fn check_shape(result: &Value, exit: Option<i32>) {
    for key in [
        "contract",
        "correlationId",
        "attemptId",
        "executionId",
        "jobId",
        "profile",
        "status",
        "resultCode",
        "finishedAt",
        "ksqlFlowVersion",
        "engineVersion",
    ] {
        assert!(
            result[key].as_str().is_some_and(|text| !text.is_empty()),
            "{key}: {result}"
        );
    }
    for key in [
        "durationMs",
        "readCount",
        "writtenCount",
        "deletedCount",
        "apiCalls",
    ] {
        assert!(result[key].is_u64(), "{key}: {result}");
    }
    for key in [
        "lastSuccessfulChunkNo",
        "lastWrittenKey",
        "startedAt",
        "asOf",
        "error",
    ] {
        assert!(result.get(key).is_some(), "{key}: {result}");
    }
    assert_eq!(
        (result["correlationId"].as_str(), result["attemptId"].as_str()),
        (Some("netrun_1"), Some("attempt_1"))
    );
    assert_eq!(result["exitCode"].as_i64(), exit.map(i64::from), "{result}");
    let success = result["status"] == "SUCCESS";
    assert_eq!(success, result["error"].is_null(), "{result}");
    assert_eq!(success, exit == Some(0), "{result}");
    let started = result["executionStarted"] == json!(true);
    assert_eq!(started, result["startedAt"].is_string(), "{result}");
    if success {
        assert!(started, "{result}");
    }
    if !started {
        assert_eq!(
            (result["durationMs"].as_u64(), result["writtenCount"].as_u64()),
            (Some(0), Some(0))
        );
    }
}

fn log_record(sandbox: &Sandbox) -> Value {
    sandbox.records(JOB_LOG.0).into_iter().next().expect("a record")
}

#[test]
fn a_success_is_answered_and_its_start_recorded() {
    let (sandbox, bench) = start();
    let (ended, result) = run(&bench, GOOD_MONTH);
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{ended:?}");
    assert_eq!(
        (result["resultCode"].as_str(), result["jobId"].as_str()),
        (Some("OK"), Some("monthly"))
    );
    assert_eq!(result["asOf"], GOOD_MONTH);
    assert!(result["writtenCount"].as_u64().is_some_and(|written| written > 0));
    assert_eq!(result["lastSuccessfulChunkNo"], json!(1));
    let record = log_record(&sandbox);
    for (code, expected) in [
        ("correlation_id", "netrun_1"),
        ("attempt_id", "attempt_1"),
        ("execution_id", result["executionId"].as_str().expect("id")),
        ("batch_id", result["executionId"].as_str().expect("id")),
        ("job_id", "monthly"),
        ("status", "SUCCESS"),
    ] {
        assert_eq!(value(&record, code), expected, "{code}");
    }
    let mark = value(&record, "runner_execution_started_at");
    assert_eq!(
        mark.get(..16),
        result["startedAt"].as_str().and_then(|text| text.get(..16))
    );
}

#[test]
fn every_end_has_its_code() {
    let (_sandbox, bench) = start();
    let (_, result) = run(&bench, EMPTY_MONTH);
    assert_eq!(
        (result["status"].as_str(), result["resultCode"].as_str()),
        (Some("SUCCESS"), Some("NO_DATA"))
    );
    let (ended, result) = run(&bench, BAD_MONTH);
    assert_eq!(
        (ended.code, result["resultCode"].as_str()),
        (Some(2), Some("ASSERT_FAILED"))
    );
    assert_eq!(result["error"]["category"], "ASSERT");
    assert_eq!(result["error"]["code"], "ASSERT_VIOLATION");

    bench.write("monthly.sql", &MONTHLY.replace("name: monthly", "name: other"));
    let (ended, result) = run(&bench, GOOD_MONTH);
    assert_eq!(
        (ended.code, result["resultCode"].as_str()),
        (Some(1), Some("VALIDATION_ERROR"))
    );
    assert_eq!(result["executionStarted"], json!(false));

    bench.write("monthly.sql", &MONTHLY.replace("GROUP BY", "GROUPED BY"));
    let (ended, result) = run(&bench, GOOD_MONTH);
    assert_eq!(
        (ended.code, result["resultCode"].as_str()),
        (Some(1), Some("VALIDATION_ERROR"))
    );
    assert!(
        result["error"]["code"]
            .as_str()
            .is_some_and(|code| code.starts_with("KSQL")),
        "{result}"
    );

    bench.write("monthly.sql", &MONTHLY.replace("SUM(金額)", "SUM(無い)"));
    let (ended, result) = run(&bench, GOOD_MONTH);
    assert_eq!(
        (ended.code, result["resultCode"].as_str()),
        (Some(1), Some("VALIDATION_ERROR")),
        "{result}"
    );
    assert_eq!(result["executionStarted"], json!(false));

    bench.write(
        "monthly.sql",
        &MONTHLY.replace(
            "SUM(金額)",
            "MAX(REGEXP_REPLACE(顧客コード, '.*', 'x', '', 顧客コード))",
        ),
    );
    let (ended, result) = run(&bench, GOOD_MONTH);
    assert_eq!(
        (ended.code, result["resultCode"].as_str()),
        (Some(1), Some("SQL_ERROR")),
        "{result}"
    );
    assert_eq!(result["executionStarted"], json!(true));
}

#[test]
fn a_held_lock_is_a_conflict_that_did_not_start() {
    let (sandbox, bench) = start();
    let now = jiff::Timestamp::now().to_string();
    let holder = json!({
        "status": {"value": "RUNNING"}, "job_key": {"value": "p:monthly"}, "batch_id": {"value": "other"},
        "started_at": {"value": now},
    });
    sandbox.insert(JOB_LOG.0, &[holder]);
    let (ended, result) = run(&bench, GOOD_MONTH);
    assert_eq!(
        (ended.code, result["resultCode"].as_str()),
        (Some(5), Some("LOCK_CONFLICT"))
    );
    assert_eq!(result["executionStarted"], json!(false));
}

#[test]
fn the_start_mark_decides_whether_anything_may_run() {
    for (action, times, code, status) in [
        ("drop_after", 1, "OK", "SUCCESS"),
        ("drop_before", 1, "OK", "SUCCESS"),
        ("drop_before", 3, "LOCK_UNAVAILABLE", "FAILED"),
    ] {
        let (sandbox, bench) = start();
        sandbox.fault(&json!({
            "match": {"method": "PUT", "app": JOB_LOG.0, "contains": "runner_execution_started_at"},
            "times": times, "action": action,
        }));
        let (_, result) = run(&bench, GOOD_MONTH);
        assert_eq!(result["resultCode"], code, "{action} {times}: {result}");
        let record = log_record(&sandbox);
        assert_eq!(
            (value(&record, "status"), value(&record, "job_key")),
            (status, ""),
            "{action} {times}"
        );
        let mark = value(&record, "runner_execution_started_at");
        assert_eq!(mark.is_empty(), status == "FAILED", "{action} {times}");
    }
}

#[test]
fn a_foreign_edit_before_the_start_mark_stops_the_run() {
    let (sandbox, bench) = start();
    sandbox.fault(&json!({
        "match": {"method": "PUT", "app": JOB_LOG.0, "contains": "runner_execution_started_at"},
        "action": "hold_before",
    }));
    let child = spawn(&bench);
    let hold = sandbox.wait_for_hold();
    let id = value(&log_record(&sandbox), "$id").parse().expect("id");
    sandbox.edit(JOB_LOG.0, id, &json!({"log_detail": {"value": "touched"}}));
    sandbox.release(&hold, "proceed");
    let ended = Ended::of(child.wait_with_output().expect("ended"));
    let result = bench.json("r.json");
    check_shape(&result, ended.code);
    assert_eq!(result["resultCode"], "LOCK_UNAVAILABLE", "{result}");
    assert!(
        sandbox
            .records(CUSTOMERS.0)
            .iter()
            .all(|customer| value(customer, "当月受注件数").is_empty())
    );
}

#[test]
fn an_old_log_app_is_refused() {
    let sandbox = Sandbox::start("flow-orchestrated");
    let bench = Bench::with_profile(&sandbox, &json!({"logApp": "受注"}));
    bench.write("monthly.sql", MONTHLY);
    let (ended, result) = run(&bench, GOOD_MONTH);
    assert_eq!(
        (ended.code, result["resultCode"].as_str()),
        (Some(3), Some("LOCK_UNAVAILABLE"))
    );
    assert!(ended.stderr.contains("lacks the fields"), "{ended:?}");
}

fn spawn(bench: &Bench) -> Child {
    bench
        .command(&arguments(GOOD_MONTH))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started")
}

fn signal(child: &Child, name: &str) {
    let status = std::process::Command::new("kill")
        .args([format!("-{name}"), child.id().to_string()])
        .status()
        .expect("kill");
    assert!(status.success());
}

#[test]
fn a_signal_lets_the_running_request_finish_and_gives_the_lock_back() {
    for name in ["TERM", "INT", "HUP"] {
        let (sandbox, bench) = start();
        sandbox.fault(&json!({
            "match": {"method": "GET", "path": "/k/v1/records.json", "app": 10}, "nth": 2, "action": "hold_before",
        }));
        let child = spawn(&bench);
        let hold = sandbox.wait_for_hold();
        // The service manager and the control plane both pass a shutdown on: one request.
        signal(&child, name);
        std::thread::sleep(std::time::Duration::from_millis(100));
        signal(&child, "TERM");
        sandbox.release(&hold, "proceed");
        let ended = Ended::of(child.wait_with_output().expect("ended"));
        let result = bench.json("r.json");
        check_shape(&result, ended.code);
        assert_eq!(
            (ended.code, result["status"].as_str()),
            (Some(3), Some("CANCELLED")),
            "{ended:?}"
        );
        assert_eq!(result["error"]["category"], "CANCELLED");
        let record = log_record(&sandbox);
        assert_eq!(
            (value(&record, "status"), value(&record, "job_key")),
            ("CANCELLED", "")
        );
        assert!(!bench.root.join(".ksql/lock-p.json").exists());
        assert!(
            sandbox
                .records(CUSTOMERS.0)
                .iter()
                .all(|customer| value(customer, "当月受注件数").is_empty())
        );
    }
}

#[test]
fn a_second_signal_ends_at_once() {
    let (sandbox, bench) = start();
    sandbox.fault(&json!({"match": {"method": "PUT", "app": CUSTOMERS.0}, "action": "hold_before"}));
    let mut child = spawn(&bench);
    sandbox.wait_for_hold();
    signal(&child, "TERM");
    // Signals in a row are one: repeat the second.
    let status = loop {
        if let Some(status) = child.try_wait().expect("child") {
            break status;
        }
        signal(&child, "TERM");
        std::thread::sleep(std::time::Duration::from_millis(20));
    };
    sandbox.wait_for_no_hold();
    assert_eq!(status.code(), Some(3));
    assert!(!bench.root.join("r.json").exists());
    assert_eq!(value(&log_record(&sandbox), "status"), "RUNNING");
}

#[test]
fn a_killed_run_leaves_its_lock_and_no_result() {
    let (sandbox, bench) = start();
    sandbox.fault(&json!({"match": {"method": "PUT", "app": CUSTOMERS.0}, "action": "hold_before"}));
    let mut child = spawn(&bench);
    sandbox.wait_for_hold();
    child.kill().expect("killed");
    child.wait().expect("ended");
    sandbox.wait_for_no_hold();
    assert!(!bench.root.join("r.json").exists());
    assert_eq!(value(&log_record(&sandbox), "status"), "RUNNING");
    assert!(bench.root.join(".ksql/lock-p.json").exists());
    sandbox.clear_faults();

    // The local lock of a dead process is no obstacle; the lock in the log app is, until somebody vouches.
    let (ended, result) = run(&bench, GOOD_MONTH);
    assert_eq!(
        (ended.code, result["resultCode"].as_str()),
        (Some(5), Some("LOCK_CONFLICT")),
        "{ended:?}"
    );
    assert_eq!(bench.line("unlock").code, Some(0));
    let (ended, _) = run(&bench, GOOD_MONTH);
    assert_eq!(ended.code, Some(0), "{ended:?}");
}

#[test]
fn a_job_stops_at_its_time_limit() {
    let (sandbox, bench) = start();
    bench.write(
        "monthly.sql",
        &MONTHLY.replace("-- @ksql dialect", "-- @ksql timeout: 1\n-- @ksql dialect"),
    );
    sandbox.fault(&json!({
            "match": {"method": "GET", "path": "/k/v1/records.json", "app": 10}, "nth": 2, "action": "hold_before",
        }));
    let child = spawn(&bench);
    let hold = sandbox.wait_for_hold();
    std::thread::sleep(std::time::Duration::from_millis(1100));
    sandbox.release(&hold, "proceed");
    let ended = Ended::of(child.wait_with_output().expect("ended"));
    let result = bench.json("r.json");
    check_shape(&result, ended.code);
    assert_eq!(
        (ended.code, result["resultCode"].as_str()),
        (Some(3), Some("EXECUTION_TIMEOUT")),
        "{result}"
    );
    assert_eq!(value(&log_record(&sandbox), "status"), "TIMEOUT");
}
