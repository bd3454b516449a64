//! Single statements against a small form: what they answer, and what is left in kintone.

use serde_json::{Value, json};

use crate::bench::{Bench, Ended, value};
use crate::sandbox::Sandbox;

/// The app of these tests, and its token.
const ITEMS: (u64, &str) = (20, "tok-items-secret");

fn start() -> (Sandbox, Bench) {
    let field =
        |code: &str, kind: &str| json!({"code": code, "label": code, "type": kind, "required": false});
    let mut unique = field("code", "SINGLE_LINE_TEXT");
    unique["unique"] = json!(true);
    let apps = json!({"apps": [{
        "id": ITEMS.0, "name": "items", "code": "", "description": "",
        "properties": {
            "code": unique, "words": field("words", "SINGLE_LINE_TEXT"),
            "number": field("number", "NUMBER"), "day": field("day", "DATE"),
        },
        "tokens": [{"token": ITEMS.1, "rights": ["view", "add", "edit", "delete"]}],
    }]});
    let sandbox = Sandbox::with_apps("flow-statements", &apps);
    let bench = Bench::new();
    let profile = json!({
        "baseUrl": sandbox.base_url(), "timezone": "Asia/Tokyo",
        "apps": {"items": {"id": ITEMS.0, "tokens": [ITEMS.1]}},
        "retry": {"maxAttempts": 2, "initialDelayMs": 1, "maxDelayMs": 2},
    });
    let config = json!({"defaultProfile": "p", "profiles": {"p": profile}});
    bench.write("ksql.config.json", &config.to_string());
    (sandbox, bench)
}

fn insert(sandbox: &Sandbox, records: &[&[(&str, &str)]]) {
    let records: Vec<Value> = records
        .iter()
        .map(|fields| {
            fields
                .iter()
                .map(|(code, text)| ((*code).to_owned(), json!({"value": text})))
                .collect()
        })
        .collect();
    sandbox.insert(ITEMS.0, &records);
}

fn run(bench: &Bench, statements: &str) -> Ended {
    bench.write("job.sql", &format!("-- @ksql dialect: 1\n{statements}"));
    bench.line("run -f job.sql --lock local-only")
}

fn stored(sandbox: &Sandbox, code: &str) -> Vec<String> {
    let mut records = sandbox.records(ITEMS.0);
    records.sort_by_key(|record| value(record, "$id").parse::<u64>().expect("id"));
    records
        .iter()
        .map(|record| value(record, code).to_owned())
        .collect()
}

/// LNG-181
#[test]
fn a_search_that_kintone_cut_short_feeds_nothing() {
    let (sandbox, bench) = start();
    insert(&sandbox, &[&[("code", "a"), ("words", "pen")]]);
    let warning = "Filter aborted because of too many search results";
    sandbox.fault(&json!({
        "match": {"method": "GET", "contains": "like"}, "times": 99,
        "action": "headers", "headers": {"X-Cybozu-Warning": warning},
    }));
    for statement in [
        "CREATE TEMP TABLE t AS SELECT code FROM LAPP_items WHERE words KLIKE 'pen'",
        "UPDATE LAPP_items SET number = 1 WHERE words KLIKE 'pen'",
        "DELETE FROM LAPP_items WHERE words KLIKE 'pen'",
        "UPSERT INTO LAPP_items (code, number) SELECT code, 1 FROM LAPP_items WHERE words KLIKE 'pen' KEY (code)",
        "ASSERT (SELECT COUNT(*) FROM LAPP_items WHERE words KLIKE 'pen') = 1",
    ] {
        let ended = run(&bench, statement);
        assert_eq!(ended.code, Some(1), "{statement}: {ended:?}");
        assert!(ended.stderr.contains("SearchAbortedError"), "{ended:?}");
    }
    assert_eq!(stored(&sandbox, "number"), [""]);
    let shown = run(&bench, "SELECT code FROM LAPP_items WHERE words KLIKE 'pen'");
    assert_eq!(shown.code, Some(0), "{shown:?}");
    assert!(shown.stderr.contains("stopped the keyword search"), "{shown:?}");
}

/// LNG-190: what kintone takes for a number has digits on both sides of the point; what a text may say has not.
#[test]
fn a_number_without_a_digit_before_or_behind_its_point_is_sent_with_one() {
    let (sandbox, bench) = start();
    let numbers: [&[(&str, &str)]; 3] = [
        &[("code", "a"), ("number", "0.5")],
        &[("code", "b"), ("number", "-0.5")],
        &[("code", "c"), ("number", "1")],
    ];
    insert(&sandbox, &numbers);
    let ended = run(
        &bench,
        "CREATE TEMP TABLE keys AS SELECT '.5' AS v;
         ASSERT (SELECT COUNT(*) FROM LAPP_items WHERE number = '.5') = 1;
         ASSERT (SELECT COUNT(*) FROM LAPP_items WHERE number IN ('-.5', '1.')) = 2;
         ASSERT (SELECT COUNT(*) FROM LAPP_items WHERE number IN (SELECT v FROM keys)) = 1;
         UPDATE LAPP_items SET words = 'half' WHERE number >= '.5'",
    );
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(stored(&sandbox, "words"), ["half", "", "half"]);
}

/// LNG-46: an error of a value names its record and field.
#[test]
fn a_division_by_zero_names_the_record_and_the_field() {
    let (sandbox, bench) = start();
    insert(
        &sandbox,
        &[
            &[("code", "a"), ("number", "2")],
            &[("code", "b"), ("number", "0")],
        ],
    );
    let ended = run(
        &bench,
        "UPDATE LAPP_items SET number = 10 / number WHERE code IN ('a', 'b')",
    );
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stderr.contains("record 2: number: division by zero"),
        "{ended:?}"
    );
    assert_eq!(stored(&sandbox, "number"), ["2", "0"]);
}

/// RNR-11, RNR-118: what was tried as often as it may be has a code of its own.
#[test]
fn a_read_that_fails_to_the_last_attempt_has_exhausted_its_retries() {
    let (sandbox, bench) = start();
    sandbox.fault(&json!({
        "match": {"method": "GET", "app": ITEMS.0, "path": "/k/v1/records.json"}, "times": 99,
        "action": "status", "status": 503,
    }));
    let ended = run(&bench, "SELECT code FROM LAPP_items");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.stderr.contains("HTTP 503") && ended.stderr.contains("[RETRY_EXHAUSTED]"),
        "{ended:?}"
    );
}

/// LNG-10, LNG-19
#[test]
fn show_apps_with_api_tokens_is_refused_before_the_first_statement() {
    let (sandbox, bench) = start();
    let written = "UPSERT INTO LAPP_items (code) VALUES ('a') KEY (code);\n";
    for listing in [
        "SHOW APPS",
        "WITH a AS (SHOW APPS) SELECT COUNT(*) AS n FROM a",
        "INSERT INTO LAPP_items (code) WITH a AS (SHOW APPS) SELECT アプリ名 FROM a",
    ] {
        bench.write("job.sql", &format!("-- @ksql dialect: 1\n{written}{listing}"));
        for command in [
            "run -f job.sql --lock local-only",
            "validate -f job.sql",
            "explain -f job.sql",
        ] {
            let ended = bench.line(command);
            assert_eq!(ended.code, Some(1), "{command}: {ended:?}");
            let told = format!("{}{}", ended.stdout, ended.stderr);
            assert!(
                told.contains("3:1 error KSQL1202 ArgumentError: SHOW APPS needs auth.type password"),
                "{command}: {ended:?}"
            );
        }
        assert!(stored(&sandbox, "code").is_empty(), "{listing}");
    }
}
