//! What a run leaves behind: records of the apps, lines of the JSONL file.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::bench::{Bench, Ended, value};
use crate::jobs::{COUNT, INSERT, MONTHLY};
use crate::sandbox::{CUSTOMERS, JOB_LOG, ORDERS, Sandbox};

/// A sandbox and a working folder with all job files.
pub fn start() -> (Sandbox, Bench) {
    let sandbox = Sandbox::start("flow-run");
    let bench = Bench::on(&sandbox);
    for (name, text) in [
        ("monthly.sql", MONTHLY),
        ("insert.sql", INSERT),
        ("count.sql", COUNT),
    ] {
        bench.write(name, text);
    }
    (sandbox, bench)
}

pub fn run_monthly(bench: &Bench, as_of: &str) -> Ended {
    bench.line(&format!("run -f monthly.sql --as-of {as_of}"))
}

/// Orders of August by customer: number and sum, as the job should find them.
pub fn expected_sums(sandbox: &Sandbox) -> BTreeMap<String, (u64, i64)> {
    let mut sums = BTreeMap::new();
    for order in sandbox.records(ORDERS.0) {
        if value(&order, "受注日").starts_with("2026-08") && value(&order, "ステータス") == "受注完了"
        {
            let entry = sums
                .entry(value(&order, "顧客コード").to_owned())
                .or_insert((0, 0));
            entry.0 += 1;
            entry.1 += value(&order, "金額").parse::<i64>().unwrap_or(0);
        }
    }
    sums
}

/// Customers by code: number and sum, as stored.
pub fn stored_sums(sandbox: &Sandbox) -> BTreeMap<String, (u64, i64)> {
    sandbox
        .records(CUSTOMERS.0)
        .iter()
        .filter(|customer| !value(customer, "当月受注件数").is_empty())
        .map(|customer| {
            let number = value(customer, "当月受注件数").parse().expect("number");
            let sum = value(customer, "当月売上実績").parse().expect("number");
            (value(customer, "顧客コード").to_owned(), (number, sum))
        })
        .collect()
}

pub fn log_records(sandbox: &Sandbox) -> Vec<Value> {
    let mut records = sandbox.records(JOB_LOG.0);
    records.sort_by_key(|record| value(record, "$id").parse::<u64>().expect("id"));
    records
}

pub fn only_log_record(sandbox: &Sandbox) -> Value {
    let records = log_records(sandbox);
    assert_eq!(records.len(), 1, "{records:?}");
    records.into_iter().next().expect("one")
}

/// Lines of the only JSONL file.
pub fn journal(bench: &Bench) -> Vec<Value> {
    let mut files: Vec<_> = std::fs::read_dir(bench.root.join(".ksql/logs"))
        .expect("logs")
        .map(|entry| entry.expect("entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect();
    assert_eq!(files.len(), 1, "{files:?}");
    let text = std::fs::read_to_string(files.remove(0)).expect("journal");
    text.lines()
        .map(|line| serde_json::from_str(line).expect("JSON"))
        .collect()
}

pub fn events(lines: &[Value]) -> Vec<&str> {
    lines.iter().filter_map(|line| line["event"].as_str()).collect()
}
