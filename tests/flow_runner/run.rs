//! `run`: the life of one job, and what is left of it in the log app and on disk (RNR-60..77, RNR-80, RNR-90, RNR-115).

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpListener;
use std::sync::mpsc::Receiver;

use serde_json::{Value, json};

use crate::bench::{Bench, value};
use crate::evidence::{
    events, expected_sums, journal, log_records, only_log_record, run_monthly, start, stored_sums,
};
use crate::jobs::{BAD_MONTH, EMPTY_MONTH, GOOD_MONTH, MONTHLY};
use crate::sandbox::{CUSTOMERS, JOB_LOG, ORDERS, Sandbox};

#[test]
fn the_monthly_job_updates_every_customer_and_leaves_a_record() {
    let (sandbox, bench) = start();
    let expected = expected_sums(&sandbox);
    assert!(expected.len() > 5, "the seed has orders in August");
    let ended = run_monthly(&bench, GOOD_MONTH);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(stored_sums(&sandbox), expected);

    let record = only_log_record(&sandbox);
    for (code, text) in [
        ("record_type", "JOB"),
        ("status", "SUCCESS"),
        ("job_key", ""),
        ("job_key_done", "p:monthly"),
        ("parent_batch_id", ""),
        ("script_name", "monthly.sql"),
        ("profile", "p"),
        ("as_of", "2026-08-14T15:00:00Z"),
        ("error_message", ""),
        ("attempt_id", ""),
    ] {
        assert_eq!(value(&record, code), text, "{code}");
    }
    assert_eq!(value(&record, "written_count"), expected.len().to_string());
    assert_eq!(value(&record, "deleted_count"), "0");
    let last = value(&record, "last_written_key");
    assert!(
        expected.contains_key(last),
        "the key of a written customer: {last}"
    );
    assert!(value(&record, "ksql_version").starts_with("flow "));
    let detail = value(&record, "log_detail");
    assert!(detail.contains("#1 ASSERT ASSERT_PASSED | ASSERT ("), "{detail}");
    assert!(detail.contains("#4 UPSERT rows="), "{detail}");

    let lines = journal(&bench);
    assert_eq!(
        events(&lines),
        [
            "job_start",
            "statement",
            "statement",
            "statement",
            "write_chunk",
            "statement",
            "job_finish"
        ]
    );
    let finish = lines.last().expect("line");
    assert_eq!(
        (finish["status"].as_str(), finish["exitCode"].as_u64()),
        (Some("SUCCESS"), Some(0))
    );
    assert_eq!(finish["batchId"], value(&record, "batch_id"));
    assert!(!bench.root.join(".ksql/lock-p.json").exists());
}

#[test]
fn the_fixed_cost_is_four_requests() {
    let (sandbox, bench) = start();
    sandbox.clear_log();
    assert_eq!(bench.line("run -f count.sql").code, Some(0));
    let log: Vec<(String, bool)> = sandbox
        .log()
        .iter()
        .map(|request| {
            let path = request["path"]
                .as_str()
                .expect("path")
                .trim_start_matches("/k/v1/");
            let to_log = request["apps"] == json!([JOB_LOG.0]);
            (
                format!("{} {path}", request["method"].as_str().expect("method")),
                to_log,
            )
        })
        .collect();
    let to_log: Vec<&str> = log
        .iter()
        .filter(|(_, to_log)| *to_log)
        .map(|(line, _)| line.as_str())
        .collect();
    assert_eq!(
        to_log,
        [
            "GET app/form/fields.json",
            "GET records.json",
            "POST record.json",
            "PUT record.json"
        ],
        "{log:?}"
    );
    assert_eq!(
        value(&only_log_record(&sandbox), "api_calls"),
        log.len().to_string(),
        "the final request counts itself"
    );
}

#[test]
fn a_result_that_standard_output_does_not_take_is_reported() {
    let (sandbox, bench) = start();
    for line in [
        "run -f count.sql --profile p --config ksql.config.json --result-json - --correlation-id c --attempt-id a \
         --expected-job-id count",
        "run -f count.sql --dry-run --json",
    ] {
        let words: Vec<&str> = line.split_whitespace().collect();
        let full = std::fs::File::options()
            .write(true)
            .open("/dev/full")
            .expect("device");
        let ended = bench.command(&words).stdout(full).output().expect("started");
        let stderr = String::from_utf8(ended.stderr).expect("UTF-8");
        assert_eq!(ended.status.code(), Some(0), "the job itself went well: {stderr}");
        assert!(
            stderr.contains("could not be written to standard output"),
            "{stderr}"
        );
    }
    // Every request of the process is in the result.
    sandbox.clear_log();
    let ended = bench.line(
        "run -f count.sql --profile p --config ksql.config.json --result-json - --correlation-id c --attempt-id a \
         --expected-job-id count",
    );
    assert_eq!(ended.json()["apiCalls"], sandbox.log().len());
}

#[test]
fn a_violated_assertion_stops_before_anything_is_written() {
    let (sandbox, bench) = start();
    let before = sandbox.records(CUSTOMERS.0);
    let ended = run_monthly(&bench, BAD_MONTH);
    assert_eq!(ended.code, Some(2), "{ended:?}");
    assert!(ended.stderr.contains("negative amounts"), "{ended:?}");
    assert_eq!(sandbox.records(CUSTOMERS.0), before);
    let record = only_log_record(&sandbox);
    assert_eq!(
        (value(&record, "status"), value(&record, "job_key")),
        ("ABORTED", "")
    );
    assert!(value(&record, "error_message").contains("negative amounts"));
    assert!(value(&record, "log_detail").contains("#4 UPSERT skipped (error)"));
}

#[test]
fn no_data_is_a_success_that_writes_nothing() {
    let (sandbox, bench) = start();
    let ended = run_monthly(&bench, EMPTY_MONTH);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let record = only_log_record(&sandbox);
    assert_eq!(
        (value(&record, "status"), value(&record, "written_count")),
        ("NO_DATA", "0")
    );
    assert!(value(&record, "log_detail").contains("#4 UPSERT skipped (exit)"));
}

#[test]
fn a_script_with_errors_takes_no_lock() {
    let (sandbox, bench) = start();
    bench.write("bad.sql", "-- @ksql dialect: 1\nSELECT FROM WHERE;\n");
    let ended = bench.line("run -f bad.sql");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("bad.sql:2:"), "{ended:?}");
    assert!(log_records(&sandbox).is_empty());
}

#[test]
fn the_request_limit_counts_everything() {
    let (sandbox, bench) = start();
    sandbox.clear_log();
    let ended = bench.line(&format!(
        "run -f monthly.sql --max-api-calls 6 --as-of {GOOD_MONTH}"
    ));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("[API_LIMIT_EXCEEDED]"), "{ended:?}");
    assert_eq!(sandbox.log().len(), 6);
    for bad in ["0", "-1", "1.5", "x", ""] {
        let ended = bench.run(&["run", "-f", "monthly.sql", &format!("--max-api-calls={bad}")]);
        assert_eq!(ended.code, Some(1), "{bad}: {ended:?}");
    }
}

#[test]
fn a_wrong_token_fails_without_being_shown() {
    let sandbox = Sandbox::start("flow-run");
    let apps = json!({
        "受注": {"id": ORDERS.0, "tokens": ["wrong-token-1"]},
        "顧客マスタ": {"id": CUSTOMERS.0, "tokens": [CUSTOMERS.1]},
        "実行ログ": {"id": JOB_LOG.0, "tokens": [JOB_LOG.1]},
    });
    let bench = Bench::with_profile(&sandbox, &json!({"apps": apps}));
    bench.write("monthly.sql", MONTHLY);
    let ended = run_monthly(&bench, GOOD_MONTH);
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("GAIA_IA02"), "{ended:?}");
    let journal = journal(&bench);
    let everything = format!("{ended:?}{journal:?}{}", only_log_record(&sandbox));
    assert!(!everything.contains("wrong-token-1"));
    assert_eq!(value(&only_log_record(&sandbox), "status"), "FAILED");
}

#[test]
fn an_app_without_token_is_named() {
    let sandbox = Sandbox::start("flow-run");
    let apps = json!({
        "受注": {"id": ORDERS.0}, "顧客マスタ": {"id": CUSTOMERS.0, "tokens": [CUSTOMERS.1]},
        "実行ログ": {"id": JOB_LOG.0, "tokens": [JOB_LOG.1]},
    });
    let bench = Bench::with_profile(&sandbox, &json!({"apps": apps}));
    bench.write("monthly.sql", MONTHLY);
    let ended = run_monthly(&bench, GOOD_MONTH);
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("LAPP_受注 (app 10) has no API token"),
        "{ended:?}"
    );
}

#[test]
fn literals_are_stripped_from_logs() {
    let sandbox = Sandbox::start("flow-run");
    let bench = Bench::with_profile(
        &sandbox,
        &json!({"logging": {"stripLiterals": true, "maskFields": ["顧客コード"]}}),
    );
    bench.write("monthly.sql", MONTHLY);
    assert_eq!(run_monthly(&bench, GOOD_MONTH).code, Some(0));
    let record = only_log_record(&sandbox);
    assert_eq!(value(&record, "last_written_key"), "***");
    assert!(!value(&record, "log_detail").contains("no orders"));
    assert!(value(&record, "log_detail").contains("EXIT SUCCESS IF (SELECT COUNT(*) FROM summary) = ?, ?"));
}

#[test]
fn a_web_hook_hears_of_failures_and_a_heartbeat_of_successes() {
    let (listener, url) = listen();
    let sandbox = Sandbox::start("flow-run");
    let bench = Bench::with_profile(
        &sandbox,
        &json!({"notifications": {
            "onFailure": {"webhook": format!("{url}/alarm")},
            "heartbeat": {"url": format!("{url}/beat"), "on": "success"},
        }}),
    );
    bench.write("monthly.sql", MONTHLY);
    assert_eq!(run_monthly(&bench, BAD_MONTH).code, Some(2));
    let (path, body) = listener.recv().expect("a request");
    assert_eq!(path, "/alarm");
    for (key, expected) in [
        ("source", json!("ksql-flow")),
        ("profile", json!("p")),
        ("kind", json!("job")),
        ("status", json!("ABORTED")),
        ("exit_code", json!(2)),
    ] {
        assert_eq!(body[key], expected, "{key}");
    }
    assert_eq!(body["jobs"][0]["name"], "monthly");
    assert!(
        body["text"]
            .as_str()
            .is_some_and(|text| text.contains("monthly ABORTED"))
    );

    let ended = run_monthly(&bench, GOOD_MONTH);
    assert_eq!(ended.code, Some(0));
    let (path, body) = listener.recv().expect("a request");
    assert_eq!(
        (path.as_str(), body["status"].as_str()),
        ("/beat", Some("SUCCESS"))
    );
}

/// A local web server that answers 200 to everything and hands on path and JSON body.
fn listen() -> (Receiver<(String, Value)>, String) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("port");
    let address = listener.local_addr().expect("address");
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = BufReader::new(stream.expect("connection"));
            let mut lines = Vec::new();
            loop {
                let mut line = String::new();
                stream.read_line(&mut line).expect("header");
                if line.trim().is_empty() {
                    break;
                }
                lines.push(line.trim().to_ascii_lowercase());
            }
            let path = lines[0].split(' ').nth(1).expect("path").to_owned();
            let length = lines
                .iter()
                .find_map(|line| line.strip_prefix("content-length: "))
                .expect("length");
            let mut body = vec![0; length.parse().expect("number")];
            stream.read_exact(&mut body).expect("body");
            let answer = b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
            stream.get_mut().write_all(answer).expect("answer");
            if sender
                .send((path, serde_json::from_slice(&body).expect("JSON")))
                .is_err()
            {
                break;
            }
        }
    });
    (receiver, format!("http://{address}"))
}

/// Codes `N0001` ... as an IN list would be long: every order of the seed becomes a customer.
const MANY: &str = "-- @ksql name: many
-- @ksql dialect: 1
UPSERT INTO LAPP_顧客マスタ (顧客コード, 顧客名)
SELECT CONCAT('N', LPAD($id, 5, '0')), 'x' FROM LAPP_受注 ORDER BY $id
KEY (顧客コード);
";

#[test]
fn every_chunk_is_journalled_and_the_last_good_one_remembered() {
    let sandbox = Sandbox::seeded("flow-run", &["--orders", "250"], &[]);
    let bench = Bench::on(&sandbox);
    bench.write("many.sql", MANY);
    let ended = bench.line("run -f many.sql");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let chunks: Vec<(u64, u64, String)> = journal(&bench)
        .iter()
        .filter(|line| line["event"] == "write_chunk")
        .map(|line| {
            assert_eq!(
                (line["app"].as_u64(), line["operation"].as_str()),
                (Some(CUSTOMERS.0), Some("UPSERT"))
            );
            let number = |key: &str| line[key].as_u64().expect("number");
            (
                number("chunk"),
                number("records"),
                line["lastKeyValue"].as_str().expect("key").to_owned(),
            )
        })
        .collect();
    assert_eq!(
        chunks.iter().map(|chunk| (chunk.0, chunk.1)).collect::<Vec<_>>(),
        [(1, 100), (2, 100), (3, 50)]
    );
    let record = only_log_record(&sandbox);
    assert_eq!(value(&record, "last_written_key"), chunks[2].2);
    assert_eq!(value(&record, "written_count"), "250");

    let bench = Bench::on(&sandbox);
    bench.write("many.sql", MANY);
    sandbox.fault(&json!({
        "match": {"method": "PUT", "app": CUSTOMERS.0}, "nth": 3, "action": "status", "status": 400,
        "code": "CB_VA01",
    }));
    let ended = bench.line("run -f many.sql");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let record = log_records(&sandbox).pop().expect("record");
    assert_eq!(
        (value(&record, "status"), value(&record, "written_count")),
        ("FAILED", "200")
    );
    assert_eq!(value(&record, "last_written_key"), chunks[1].2);
}

#[test]
fn long_jobs_leave_checkpoints() {
    let sandbox = Sandbox::seeded("flow-run", &["--orders", "2600"], &[]);
    let bench = Bench::on(&sandbox);
    bench.write("many.sql", MANY);
    sandbox
        .fault(&json!({"match": {"method": "PUT", "app": CUSTOMERS.0}, "nth": 26, "action": "hold_before"}));
    let child = bench
        .command(&["run", "-f", "many.sql"])
        .stdout(std::process::Stdio::null())
        .spawn();
    let hold = sandbox.wait_for_hold();
    let record = only_log_record(&sandbox);
    assert_eq!(
        (value(&record, "status"), value(&record, "written_count")),
        ("RUNNING", "2500")
    );
    assert!(!value(&record, "last_written_key").is_empty());
    sandbox.release(&hold, "proceed");
    assert!(child.expect("started").wait().expect("ended").success());
    let puts = sandbox.log();
    let puts = puts
        .iter()
        .filter(|request| request["method"] == "PUT" && request["apps"] == json!([JOB_LOG.0]));
    assert_eq!(puts.count(), 2, "one checkpoint, one final record");
    assert_eq!(value(&only_log_record(&sandbox), "written_count"), "2600");
}

#[test]
fn a_refused_value_is_explained_in_kintones_words_unless_values_are_hidden() {
    const REFUSED: &str = "-- @ksql dialect: 1
UPSERT INTO LAPP_顧客マスタ (顧客コード, 顧客名) VALUES ('C00001', 'x') KEY (顧客コード);
";
    let sandbox = Sandbox::start("flow-run");
    for (logging, shown) in [(json!({}), true), (json!({"maskFields": ["顧客名"]}), false)] {
        let bench = Bench::with_profile(&sandbox, &json!({"logging": logging}));
        bench.write("refused.sql", REFUSED);
        let errors = json!({"records[0].顧客名.value": {"messages": ["secret-value is not accepted"]}});
        let body = json!({"code": "CB_VA01", "id": "x", "message": "refused", "errors": errors}).to_string();
        sandbox.fault(&json!({
            "match": {"method": "PUT", "app": CUSTOMERS.0}, "action": "status", "status": 400, "body": body,
        }));
        let ended = bench.line("run -f refused.sql");
        assert_eq!(ended.code, Some(3), "{ended:?}");
        assert!(
            ended.stderr.contains("CB_VA01 at records[0].顧客名.value"),
            "{ended:?}"
        );
        assert_eq!(ended.stderr.contains("secret-value"), shown, "{ended:?}");
        assert_eq!(format!("{:?}", journal(&bench)).contains("secret-value"), shown);
    }
}

#[test]
fn nothing_is_written_before_every_statement_was_checked() {
    let (sandbox, bench) = start();
    let before = sandbox.records(CUSTOMERS.0);
    for (number, (last, code)) in [
        ("SELECT nosuch FROM LAPP_顧客マスタ", "KSQL1202"),
        (
            "UPSERT INTO LAPP_顧客マスタ (顧客コード, 作成者) VALUES ('x', 'y') KEY (顧客コード)",
            "KSQL1202",
        ),
        (
            "UPSERT INTO LAPP_顧客マスタ (顧客コード, 顧客名) VALUES ('x', 'y') KEY (顧客名)",
            "KSQL1303",
        ),
        ("DELETE FROM LAPP_顧客マスタ WHERE 1 = 1", "KSQL1202"),
        (
            "UPDATE LAPP_顧客マスタ SET 顧客名 = 'x' WHERE 顧客名 IS NULL OR 顧客名 IS NOT NULL",
            "KSQL1202",
        ),
        (
            "DELETE FROM LAPP_顧客マスタ WHERE 顧客コード = 顧客コード",
            "KSQL1202",
        ),
        (
            "DELETE FROM LAPP_顧客マスタ WHERE NOT (顧客コード = '1' AND 顧客コード = '2')",
            "KSQL1202",
        ),
    ]
    .into_iter()
    .enumerate()
    {
        bench.write(
            "two.sql",
            &format!(
                "-- @ksql dialect: 1\nUPSERT INTO LAPP_顧客マスタ (顧客コード, 顧客名) VALUES ('first', 'x') KEY (顧客コード);\n{last};\n"
            ),
        );
        let ended = bench.line("run -f two.sql");
        assert_eq!(ended.code, Some(1), "{ended:?}");
        assert!(
            ended.stderr.contains("two.sql:3:") && ended.stderr.contains(code),
            "{ended:?}"
        );
        assert_eq!(sandbox.records(CUSTOMERS.0), before, "{last}");
        let records = log_records(&sandbox);
        assert_eq!(records.len(), number + 1);
        let record = records.last().expect("the run's own");
        assert_eq!(
            (value(record, "status"), value(record, "job_key")),
            ("FAILED", "")
        );
    }
}

#[test]
fn what_is_only_doubtful_is_told_and_runs() {
    let (_sandbox, bench) = start();
    let ended = bench.line("run -f insert.sql");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(ended.stderr.contains("KSQL1305"), "{ended:?}");
}
