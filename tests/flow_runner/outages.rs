//! Every request of a job fails once, in every way, and from every request on kintone is gone: what is reported must be
//! true, and running again must repair it (RNR-51, RNR-64, RNR-76, RNR-81, RNR-120).

use serde_json::{Value, json};

use crate::bench::{Bench, Ended, value};
use crate::jobs::{GOOD_MONTH, MONTHLY};
use crate::sandbox::{CUSTOMERS, JOB_LOG, Sandbox};

fn run(bench: &Bench) -> (Ended, Value) {
    let _ = std::fs::remove_file(bench.root.join("r.json"));
    let ended = bench.line(&format!(
        "run -f monthly.sql --profile p --config ksql.config.json --as-of {GOOD_MONTH} --result-json r.json \
         --correlation-id netrun_1 --attempt-id attempt_1 --expected-job-id monthly"
    ));
    let result = bench.json("r.json");
    assert_eq!(
        result["exitCode"].as_i64(),
        ended.code.map(i64::from),
        "{ended:?}"
    );
    (ended, result)
}

/// A fresh folder and fresh records on one sandbox.
fn bench(sandbox: &Sandbox) -> Bench {
    let bench = Bench::on(sandbox);
    bench.write("monthly.sql", MONTHLY);
    bench
}

fn newest_log_record(sandbox: &Sandbox) -> Option<Value> {
    let id = |record: &Value| value(record, "$id").parse::<u64>().expect("id");
    sandbox.records(JOB_LOG.0).into_iter().max_by_key(id)
}

fn updated_customers(sandbox: &Sandbox) -> usize {
    sandbox
        .records(CUSTOMERS.0)
        .iter()
        .filter(|customer| !value(customer, "当月受注件数").is_empty())
        .count()
}

/// Requests of a run without faults.
fn requests_of_a_run() -> usize {
    let sandbox = Sandbox::start("flow-outages");
    let bench = bench(&sandbox);
    sandbox.clear_log();
    assert_eq!(run(&bench).0.code, Some(0));
    sandbox.log().len()
}

#[test]
fn one_failure_anywhere_does_not_change_the_outcome() {
    let requests = requests_of_a_run();
    assert!(requests >= 8, "{requests}");
    let sandbox = Sandbox::start("flow-outages");
    for action in ["drop_before", "drop_after", "cut", "status"] {
        for nth in 1..=requests {
            let bench = bench(&sandbox);
            sandbox.fault(&json!({"nth": nth, "action": action, "status": 503}));
            let (ended, result) = run(&bench);
            sandbox.clear_faults();
            let context = format!("{action} {nth}: {ended:?}");
            assert_eq!(
                (ended.code, result["resultCode"].as_str()),
                (Some(0), Some("OK")),
                "{context}"
            );
            let record = newest_log_record(&sandbox).expect("record");
            assert_eq!(
                (value(&record, "status"), value(&record, "job_key")),
                ("SUCCESS", ""),
                "{context}"
            );
            assert_eq!(
                value(&record, "execution_id"),
                result["executionId"].as_str().expect("id"),
                "{context}"
            );
        }
    }
}

#[test]
fn an_outage_is_reported_truly_and_repaired_by_running_again() {
    let requests = requests_of_a_run();
    for action in ["drop_before", "drop_after", "status"] {
        for nth in 1..=requests {
            let sandbox = Sandbox::start("flow-outages");
            let bench = bench(&sandbox);
            sandbox.fault(&json!({"nth": nth, "times": 9999, "action": action, "status": 503}));
            let (ended, result) = run(&bench);
            sandbox.clear_faults();
            let context = format!("{action} {nth}: {ended:?} {result}");
            let started = result["executionStarted"] == json!(true);
            let record = newest_log_record(&sandbox);
            let marked = record
                .as_ref()
                .is_some_and(|record| !value(record, "runner_execution_started_at").is_empty());
            if started {
                assert!(marked, "a start that is reported is recorded: {context}");
            } else {
                assert_eq!(updated_customers(&sandbox), 0, "{context}");
                // Between the lock and the mark stands only the check against the forms.
                let code = result["resultCode"].as_str();
                assert!(
                    matches!(code, Some("LOCK_UNAVAILABLE" | "API_ERROR")),
                    "{context}"
                );
            }
            if ended.code == Some(0) {
                assert!(updated_customers(&sandbox) > 0, "{context}");
            }

            // The next run sends what is queued; if the lock could not even be settled, a person vouches first.
            let (again, result) = run(&bench);
            if result["resultCode"] == "LOCK_CONFLICT" {
                assert!(
                    record.is_some_and(|record| value(&record, "status") == "RUNNING"),
                    "{context}"
                );
                assert_eq!(bench.line("unlock").code, Some(0));
                assert_eq!(run(&bench).0.code, Some(0), "{context}");
            } else {
                assert_eq!(again.code, Some(0), "{context}\nagain: {again:?}");
            }
            assert!(updated_customers(&sandbox) > 0, "{context}");
            for record in sandbox.records(JOB_LOG.0) {
                assert_eq!(value(&record, "job_key"), "", "{context}");
            }
        }
    }
}
