//! What can be seen without writing: `--dry-run`, `validate`, `validate-all`, `inspect-job`, `explain` (RNR-45, RNR-100..102).

use serde_json::{Value, json};

use crate::bench::{Bench, Ended, value};
use crate::jobs::{BAD_MONTH, COUNT, EMPTY_MONTH, GOOD_MONTH, INSERT, MONTHLY};
use crate::sandbox::{CUSTOMERS, JOB_LOG, Sandbox};

fn start() -> (Sandbox, Bench) {
    let sandbox = Sandbox::start("flow-previews");
    let bench = Bench::on(&sandbox);
    for (name, text) in [
        ("monthly.sql", MONTHLY),
        ("insert.sql", INSERT),
        ("count.sql", COUNT),
    ] {
        bench.write(&format!("jobs/{name}"), text);
    }
    (sandbox, bench)
}

fn dry_run(bench: &Bench, rest: &str) -> (Ended, Value) {
    let ended = bench.line(&format!("run --dry-run --json {rest}"));
    let report = ended.json();
    for key in [
        "formatVersion",
        "kind",
        "job",
        "profile",
        "asOf",
        "status",
        "exitCode",
        "sampleLimit",
        "reads",
        "writes",
        "actualApiCalls",
        "samples",
        "incomplete",
    ] {
        assert!(report.get(key).is_some(), "{key}: {report}");
    }
    assert_eq!(report["exitCode"].as_i64(), ended.code.map(i64::from), "{report}");
    (ended, report)
}

/// Requests that were not reads.
fn writes(sandbox: &Sandbox) -> usize {
    sandbox
        .log()
        .iter()
        .filter(|request| request["method"] != "GET")
        .count()
}

#[test]
fn a_dry_run_shows_what_a_run_does() {
    let (sandbox, bench) = start();
    sandbox.clear_log();
    let (_, report) = dry_run(
        &bench,
        &format!("-f jobs/monthly.sql --as-of {GOOD_MONTH} --sample 3"),
    );
    assert_eq!(writes(&sandbox), 0);
    assert!(sandbox.records(JOB_LOG.0).is_empty());
    assert_eq!(
        (report["job"].as_str(), report["status"].as_str()),
        (Some("monthly.sql"), Some("SUCCESS"))
    );
    let target = &report["writes"][0];
    assert_eq!(
        (target["app"].as_str(), target["appId"].as_u64()),
        (Some("LAPP_顧客マスタ"), Some(CUSTOMERS.0))
    );
    assert_eq!(
        (
            report["samples"].as_array().map(Vec::len),
            report["sampleLimit"].as_u64()
        ),
        (Some(3), Some(3))
    );
    let sample = &report["samples"][0];
    assert_eq!(
        (sample["operation"].as_str(), sample["keyField"].as_str()),
        (Some("UPSERT"), Some("顧客コード"))
    );
    let sent = sandbox.log().len() as u64;
    assert_eq!(report["actualApiCalls"]["total"].as_u64(), Some(sent), "{report}");
    assert!(
        !bench.root.join(".ksql/lock-p.json").exists() && !bench.root.join(".ksql/state-p.json").exists()
    );

    assert_eq!(
        bench
            .line(&format!("run -f jobs/monthly.sql --as-of {GOOD_MONTH}"))
            .code,
        Some(0)
    );
    let written = value(&sandbox.records(JOB_LOG.0)[0], "written_count")
        .parse::<u64>()
        .expect("number");
    let counts = &target["counts"];
    let previewed = counts["insert"]
        .as_u64()
        .zip(counts["update"].as_u64())
        .map(|(a, b)| a + b);
    assert_eq!(previewed, Some(written));
    let (_, again) = dry_run(&bench, &format!("-f jobs/monthly.sql --as-of {GOOD_MONTH}"));
    assert_eq!(again["writes"][0]["counts"]["insert"], json!(0), "{again}");
}

#[test]
fn gates_end_a_dry_run() {
    let (_sandbox, bench) = start();
    let (ended, report) = dry_run(&bench, &format!("-f jobs/monthly.sql --as-of {BAD_MONTH}"));
    assert_eq!(
        (ended.code, report["status"].as_str()),
        (Some(2), Some("ABORTED"))
    );
    assert_eq!(report["gate"]["kind"], "ASSERT");
    assert!(
        report["gate"]["message"]
            .as_str()
            .is_some_and(|text| text.contains("negative amounts"))
    );
    let (ended, report) = dry_run(&bench, &format!("-f jobs/monthly.sql --as-of {EMPTY_MONTH}"));
    assert_eq!(
        (ended.code, report["status"].as_str()),
        (Some(0), Some("NO_DATA"))
    );
    assert_eq!(report["gate"], json!({"kind": "EXIT", "message": "no orders"}));
    assert_eq!(report["writes"], json!([]));
}

#[test]
fn what_goes_wrong_is_part_of_the_report() {
    let (sandbox, bench) = start();
    for sample in ["0", "51", "x"] {
        let (ended, report) = dry_run(&bench, &format!("-f jobs/monthly.sql --sample {sample}"));
        assert_eq!((ended.code, report["status"].as_str()), (Some(1), Some("FAILED")));
    }
    bench.write(
        "jobs/bad.sql",
        "-- @ksql dialect: 1\nSELECT 無い FROM LAPP_顧客マスタ;",
    );
    let (ended, report) = dry_run(&bench, "-f jobs/bad.sql");
    assert_eq!(
        (ended.code, &report["incomplete"]),
        (Some(1), &json!(false)),
        "{report}"
    );
    assert!(
        report["error"].as_str().is_some_and(|text| text.contains("無い")),
        "{report}"
    );
    sandbox.fault(&json!({
        "match": {"method": "GET", "path": "/k/v1/records.json"}, "nth": 2, "times": 99, "action": "status",
        "status": 503,
    }));
    let (ended, report) = dry_run(&bench, &format!("-f jobs/monthly.sql --as-of {GOOD_MONTH}"));
    assert_eq!(
        (ended.code, &report["incomplete"]),
        (Some(3), &json!(true)),
        "{report}"
    );
}

#[test]
fn masked_fields_stay_hidden_in_samples() {
    let sandbox = Sandbox::start("flow-previews");
    let bench = Bench::with_profile(
        &sandbox,
        &json!({"logging": {"maskFields": ["当月売上実績"], "stripLiterals": true}}),
    );
    bench.write("monthly.sql", MONTHLY);
    let (_, report) = dry_run(&bench, &format!("-f monthly.sql --as-of {GOOD_MONTH}"));
    let after = &report["samples"][0]["after"];
    assert_eq!(
        (after["当月売上実績"].as_str(), after["当月受注件数"].as_str()),
        (Some("***"), Some("?"))
    );
}

#[test]
fn a_batch_is_previewed_job_by_job() {
    let (sandbox, bench) = start();
    sandbox.clear_log();
    let ended = bench.line(&format!("run-all jobs --dry-run --json --as-of {BAD_MONTH}"));
    assert_eq!(ended.code, Some(2), "{ended:?}");
    let report = ended.json();
    assert_eq!(report["kind"], "DRY_RUN_BATCH");
    assert!(report["warning"].as_str().is_some_and(|text| !text.is_empty()));
    let jobs: Vec<(&str, &str)> = report["jobs"]
        .as_array()
        .expect("jobs")
        .iter()
        .map(|job| {
            (
                job["job"].as_str().expect("job"),
                job["status"].as_str().expect("status"),
            )
        })
        .collect();
    assert_eq!(
        jobs,
        [
            ("count.sql", "SUCCESS"),
            ("insert.sql", "SUCCESS"),
            ("monthly.sql", "ABORTED")
        ]
    );
    assert_eq!(writes(&sandbox), 0);
    let ended = bench.line("run-all jobs --dry-run --only insert");
    assert!(
        ended.stdout.contains("[DRY-RUN] insert.sql") && ended.stdout.contains("INSERT 1"),
        "{ended:?}"
    );
}

#[test]
fn files_are_checked_against_the_apps() {
    let (sandbox, bench) = start();
    let ended = bench.line("validate -f jobs/monthly.sql");
    assert_eq!(
        (ended.code, ended.stdout.as_str()),
        (Some(0), "monthly.sql: OK\n"),
        "{ended:?}"
    );
    let ended = bench.line("validate -f jobs/insert.sql");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended
            .stdout
            .starts_with("insert.sql: OK (warnings 1)\n  insert.sql:3:1 warning KSQL1305"),
        "{ended:?}"
    );
    let ended = bench.line("validate -f jobs/insert.sql --strict");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended
            .stdout
            .starts_with("insert.sql: NG (errors 1 / warnings 0)\n"),
        "{ended:?}"
    );

    bench.write(
        "spelling.sql",
        "-- @ksql name: spelling\nSELECT COUNT(*) AS n FROM LAPP_受注\nWHERE 受注日 = '2026/08/03';\n",
    );
    let ended = bench.line("validate -f spelling.sql");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.starts_with(
            "spelling.sql: OK (warnings 1)\n  spelling.sql:3:13 warning KSQL1202 受注日 is DATE"
        ),
        "{ended:?}"
    );
    // A run tells it once, with the statement.
    let ended = bench.line("run -f spelling.sql");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let output = format!("{}{}", ended.stdout, ended.stderr);
    assert_eq!(output.matches("is not in the form").count(), 1, "{ended:?}");

    bench.write(
        "jobs/key.sql",
        &MONTHLY
            .replace("KEY (顧客コード)", "KEY (顧客名)")
            .replace("(顧客コード, 当月", "(顧客名, 当月"),
    );
    let ended = bench.line("validate -f jobs/key.sql");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stdout.contains("error KSQL1303"), "{ended:?}");

    let output = bench
        .command(&["validate", "-f", "jobs/key.sql"])
        .env("LANG", "ja_JP.UTF-8")
        .output();
    let japanese = Ended::of(output.expect("started"));
    assert_ne!(japanese.stdout, ended.stdout);

    let ended = bench.line("validate-all jobs");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert_eq!(
        ended
            .stdout
            .lines()
            .filter(|line| line.contains(".sql: "))
            .count(),
        4,
        "{ended:?}"
    );

    sandbox.fault(&json!({"times": 99, "action": "status", "status": 503}));
    let ended = bench.line("validate -f jobs/monthly.sql");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stdout.contains("monthly.sql:1:1 error KSQL1201"),
        "{ended:?}"
    );
}

#[test]
fn a_job_is_inspected_without_a_request_or_a_secret() {
    let (sandbox, bench) = start();
    bench.write(
        "jobs/bad.sql",
        "-- @ksql name: j\n-- @ksql depends_on: a, b\n-- @ksql timeout: 60\n-- @ksql dialect: 1\nSELEC 1;\n",
    );
    sandbox.clear_log();
    let ended = bench.line("inspect-job -f jobs/bad.sql --profile p --config ksql.config.json --json");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let answer = ended.json();
    for (key, expected) in [
        ("kind", json!("JOB_INSPECTION")),
        ("jobId", json!("j")),
        ("fileName", json!("bad.sql")),
        ("dialect", json!(1)),
        ("dependsOn", json!(["a", "b"])),
        ("timeoutSec", json!(60)),
        ("nondeterministicElements", json!([])),
    ] {
        assert_eq!(answer[key], expected, "{key}");
    }
    let finding = &answer["diagnostics"][0];
    assert_eq!(
        (finding["severity"].as_str(), finding["line"].as_u64()),
        (Some("error"), Some(5))
    );

    bench.write(
        "jobs/now.sql",
        "-- @ksql dialect: 1\nSELECT 顧客コード FROM LAPP_受注 WHERE 受注日 = TODAY();\n",
    );
    let answer = bench
        .line("inspect-job -f jobs/now.sql --profile p --config ksql.config.json --json")
        .json();
    assert_eq!(
        answer["nondeterministicElements"][0]["code"], "KSQL1306",
        "{answer}"
    );
    assert_eq!(
        (answer["jobId"].as_str(), answer["statementCount"].as_u64()),
        (Some("now"), Some(1))
    );
    assert!(sandbox.log().is_empty());
}

#[test]
fn a_plan_is_explained_without_reading_a_record() {
    let (sandbox, bench) = start();
    sandbox.clear_log();
    let ended = bench.line(&format!("explain -f jobs/monthly.sql --as-of {GOOD_MONTH}"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for text in [
        "#1 ASSERT",
        "#2 CREATE_TEMP_TABLE",
        "#4 UPSERT",
        "受注日 >= \"2026-08-01\"",
        "estimated requests:",
    ] {
        assert!(ended.stdout.contains(text), "{text}: {}", ended.stdout);
    }
    assert_eq!(writes(&sandbox), 0);
    assert_eq!(bench.line("explain -f jobs/nope.sql").code, Some(1));
}
