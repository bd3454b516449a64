//! What must not be shown is shown nowhere, and everything else stays (RNR-90).

use serde_json::json;

use crate::bench::{Bench, Ended};
use crate::evidence::only_log_record;
use crate::sandbox::Sandbox;

/// Jobs that fail, each in a message that would quote a value of 顧客コード or 顧客名.
const REPEATED: &str = "UPSERT INTO LAPP_顧客マスタ (顧客コード, 顧客名)
VALUES ('A0', 'x'), ('TANAKA', 'x'), ('TANAKA', 'y') KEY (顧客コード)";
const ASSERTED: &str =
    "ASSERT (SELECT MAX(顧客名) FROM LAPP_顧客マスタ WHERE 顧客コード = 'S1') = 'x', 'the name'";
const CHECKED: &str = "UPSERT INTO LAPP_顧客マスタ (顧客コード, 顧客名)
SELECT 顧客コード AS c, 顧客名 AS n FROM LAPP_顧客マスタ WHERE 顧客コード = 'S1'
KEY (顧客コード)
CHECK WHEN n <> '' THEN 'wrong: ' || n";
const NO_NUMBER: &str =
    "UPSERT INTO LAPP_顧客マスタ (顧客コード, 当月売上実績) VALUES ('SUZUKI', 'TANAKA') KEY (顧客コード)";
const CAST: &str = "SELECT FORMAT(1, 顧客名) AS x FROM LAPP_顧客マスタ WHERE 顧客コード = 'S1'";

/// Runs a job and gives everything that it left for a reader: streams, result, JSONL, log record.
fn everything(logging: &serde_json::Value, sql: &str) -> (Ended, String) {
    let sandbox = Sandbox::start("flow-masking");
    sandbox.insert(
        20,
        &[json!({"顧客コード": {"value": "S1"}, "顧客名": {"value": "SUZUKI"}})],
    );
    let bench = Bench::with_profile(&sandbox, &json!({"logging": logging}));
    bench.write(
        "job.sql",
        &format!("-- @ksql name: job\n-- @ksql dialect: 1\n{sql};\n"),
    );
    let ended = bench.line(
        "run -f job.sql --profile p --config ksql.config.json --result-json r.json --correlation-id c \
         --attempt-id a --expected-job-id job",
    );
    let mut all = format!(
        "{}{}{}{}",
        ended.stdout,
        ended.stderr,
        bench.json("r.json"),
        only_log_record(&sandbox)
    );
    for entry in std::fs::read_dir(bench.root.join(".ksql/logs")).expect("logs") {
        all.push_str(&std::fs::read_to_string(entry.expect("entry").path()).expect("text"));
    }
    (ended, all)
}

#[test]
fn values_of_masked_fields_appear_nowhere() {
    let logging = json!({"maskFields": ["顧客コード", "顧客名", "当月売上実績"], "stripLiterals": true});
    for (sql, said) in [
        (REPEATED, "the key 顧客コード = *** is in source rows 2 and 3"),
        (ASSERTED, "(actual: ***). the name"),
        (CHECKED, "source row 1: ***; nothing was written"),
        (
            NO_NUMBER,
            "source row 1 (顧客コード = ***): 当月売上実績: '***' is not a number",
        ),
        (CAST, "unknown pattern '***'"),
    ] {
        let (ended, all) = everything(&logging, sql);
        assert!(ended.stderr.contains(said), "{ended:?}");
        for value in ["TANAKA", "SUZUKI"] {
            assert!(!all.contains(value), "{sql}: {all}");
        }
    }
}

#[test]
fn other_fields_and_counts_are_shown() {
    let logging = json!({"maskFields": ["電話番号"]});
    for (sql, said) in [
        (REPEATED, "= TANAKA is in source rows 2 and 3"),
        (ASSERTED, "(actual: SUZUKI). the name"),
        (
            "ASSERT (SELECT COUNT(*) FROM LAPP_受注) = 1, 'm'",
            "(actual: 600). m",
        ),
    ] {
        let (ended, _) = everything(&logging, sql);
        assert!(ended.stderr.contains(said), "{ended:?}");
    }
}

#[test]
fn stripping_literals_leaves_our_own_numbers() {
    let (ended, _) = everything(&json!({"stripLiterals": true}), REPEATED);
    assert!(
        ended
            .stderr
            .contains("ArgumentError: the key 顧客コード = ? is in source rows 2 and 3"),
        "{ended:?}"
    );
}
