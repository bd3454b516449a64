//! Several write requests in flight, from outside: what is reported when some of them fail, are lost or are cut off, and
//! what running again makes of it (RNR-33, RNR-72, RNR-73, RNR-77).

use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::bench::{Bench, Ended, text, value};
use crate::evidence::{journal, log_records, only_log_record};
use crate::sandbox::{CUSTOMERS, ORDERS, Sandbox};

/// Customers of the sandbox: seven chunks.
const ROWS: usize = 650;

const UPDATE: &str = "-- @ksql name: update
-- @ksql dialect: 1
UPDATE LAPP_顧客マスタ SET 顧客名 = 'new' WHERE 顧客コード != '';
";

const UPSERT: &str = "-- @ksql name: upsert
-- @ksql dialect: 1
UPSERT INTO LAPP_顧客マスタ (顧客コード, 顧客名)
SELECT 顧客コード, 'new' FROM LAPP_顧客マスタ
KEY (顧客コード);
";

fn start(members: &Value) -> (Sandbox, Bench) {
    let sandbox = Sandbox::seeded(
        "flow-in-flight",
        &["--orders", "1", "--customers", &ROWS.to_string()],
        &[],
    );
    let bench = Bench::with_profile(&sandbox, members);
    bench.write("update.sql", UPDATE);
    bench.write("upsert.sql", UPSERT);
    (sandbox, bench)
}

fn spawn(bench: &Bench, job: &str) -> Child {
    bench
        .command(&["run", "-f", job])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started")
}

/// Ids of parked requests, once there are so many.
fn wait_for_holds(sandbox: &Sandbox, count: usize) -> Vec<String> {
    let end = Instant::now() + Duration::from_secs(30);
    loop {
        let holds = sandbox.control("GET", "holds", &json!({}));
        let ids: Vec<String> = holds["holds"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|hold| hold["id"].as_str().map(str::to_owned))
            .collect();
        if ids.len() >= count {
            return ids;
        }
        assert!(Instant::now() < end, "not {count} requests at once: {holds}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

fn hold(sandbox: &Sandbox, nth: u64, times: usize, action: &str) {
    sandbox.fault(&json!({
        "match": {"method": "PUT", "app": CUSTOMERS.0}, "nth": nth, "times": times, "action": action,
    }));
}

/// Runs a job whose chunk with `text` is refused while three others are in flight, the first of them being the PUT with
/// this number: those are applied, and answered when the refusal is out.
fn run_with_a_refusal(sandbox: &Sandbox, bench: &Bench, job: &str, first: u64, text: &str) -> Ended {
    let matching = json!({"method": "PUT", "app": CUSTOMERS.0, "contains": text});
    sandbox.fault(&json!({"match": matching, "action": "hold_before"}));
    sandbox.fault(&json!({
        "match": matching, "nth": 2, "action": "status", "status": 400, "code": "GAIA_XX99",
    }));
    hold(sandbox, first, 3, "hold_after");
    let child = spawn(bench, job);
    wait_for_holds(sandbox, 4);
    let holds = sandbox.control("GET", "holds", &json!({}));
    let (chosen, others): (Vec<&Value>, Vec<&Value>) = holds["holds"]
        .as_array()
        .expect("holds")
        .iter()
        .partition(|hold| hold["stage"] == "before");
    let id = |hold: &Value| hold["id"].as_str().expect("id").to_owned();
    // It is sent again, and refused.
    sandbox.release(&id(chosen[0]), "drop");
    let end = Instant::now() + Duration::from_secs(30);
    while !sandbox.log().iter().any(|request| request["status"] == 400) {
        assert!(Instant::now() < end, "not sent again");
        std::thread::sleep(Duration::from_millis(10));
    }
    for hold in others {
        sandbox.release(&id(hold), "proceed");
    }
    Ended::of(child.wait_with_output().expect("ended"))
}

fn written(sandbox: &Sandbox) -> usize {
    let customers = sandbox.records(CUSTOMERS.0);
    customers
        .iter()
        .filter(|record| value(record, "顧客名") == "new")
        .count()
}

/// PUT requests to the customers, by whether they were applied.
fn puts(sandbox: &Sandbox) -> (usize, usize) {
    let log = sandbox.log();
    let puts: Vec<&Value> = log
        .iter()
        .filter(|request| request["method"] == "PUT" && request["apps"] == json!([CUSTOMERS.0]))
        .collect();
    (
        puts.len(),
        puts.iter()
            .filter(|request| request["applied"] == json!(true))
            .count(),
    )
}

#[test]
fn the_forms_of_all_apps_are_asked_for_at_once_and_once_only() {
    let (sandbox, bench) = start(&json!({}));
    bench.write(
        "two_apps.sql",
        "-- @ksql name: two_apps
-- @ksql dialect: 1
ASSERT (SELECT COUNT(*) FROM LAPP_受注) < 10, 'too many';
UPDATE LAPP_顧客マスタ SET 顧客名 = 'new' WHERE 顧客コード IN (SELECT 顧客コード FROM LAPP_受注);
",
    );
    sandbox.clear_log();
    for app in [ORDERS.0, CUSTOMERS.0] {
        sandbox.fault(&json!({
            "match": {"method": "GET", "path": "/k/v1/app/form/fields.json", "app": app}, "action": "hold_before",
        }));
    }
    let child = spawn(&bench, "two_apps.sql");
    for id in wait_for_holds(&sandbox, 2) {
        sandbox.release(&id, "proceed");
    }
    let ended = Ended::of(child.wait_with_output().expect("ended"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let forms = |app: u64| {
        let log = sandbox.log();
        let forms = log.iter().filter(|request| {
            request["path"]
                .as_str()
                .is_some_and(|path| path.contains("form/fields"))
        });
        forms.filter(|request| request["apps"] == json!([app])).count()
    };
    assert_eq!((forms(ORDERS.0), forms(CUSTOMERS.0)), (1, 1));
}

#[test]
fn four_by_default_and_as_many_as_are_configured() {
    for (members, expected) in [
        (json!({}), 4),
        (json!({"limits": {"requestsInFlight": 7}}), 7),
        (json!({"limits": {"requestsInFlight": 1}}), 1),
    ] {
        let (sandbox, bench) = start(&members);
        sandbox.clear_log();
        hold(&sandbox, 1, expected, "hold_before");
        let child = spawn(&bench, "update.sql");
        for id in wait_for_holds(&sandbox, expected) {
            sandbox.release(&id, "proceed");
        }
        let ended = Ended::of(child.wait_with_output().expect("ended"));
        assert_eq!(ended.code, Some(0), "{ended:?}");
        assert_eq!((written(&sandbox), puts(&sandbox)), (ROWS, (7, 7)));
        let most = &sandbox.counters()["max_concurrent"];
        assert!(
            most.as_u64().is_some_and(|most| most as usize <= expected + 1),
            "{most}"
        );
        let record = only_log_record(&sandbox);
        assert_eq!(value(&record, "last_written_key"), "chunk:7");
        assert_eq!(value(&record, "written_count"), ROWS.to_string());
    }
}

#[test]
fn other_numbers_are_refused_in_the_readers_language() {
    for bad in [json!(0), json!(11), json!(2.5), json!("4"), json!(true)] {
        let sandbox = Sandbox::start("flow-in-flight");
        let bench = Bench::with_profile(&sandbox, &json!({"limits": {"requestsInFlight": bad}}));
        bench.write("update.sql", UPDATE);
        sandbox.clear_log();
        for (locale, expected) in [
            (
                "C",
                "profiles.p.limits.requestsInFlight: must be a whole number from 1 to 10",
            ),
            (
                "ja_JP.UTF-8",
                "profiles.p.limits.requestsInFlight: 1 から 10 までの整数",
            ),
        ] {
            let output = bench
                .command(&["run", "-f", "update.sql"])
                .env("LC_ALL", locale)
                .output();
            let ended = Ended::of(output.expect("started"));
            assert_eq!(ended.code, Some(1), "{bad}: {ended:?}");
            assert!(ended.stderr.contains(expected), "{bad}: {ended:?}");
            assert!(!bench.root.join(".ksql").exists(), "{bad}");
        }
        assert!(sandbox.log().is_empty());
    }
}

#[test]
fn a_refused_chunk_among_others_is_reported_truly() {
    let (sandbox, bench) = start(&json!({}));
    let ended = run_with_a_refusal(&sandbox, &bench, "update.sql", 1, "\"id\":150,");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let reported = written(&sandbox);
    assert!(reported >= 300, "{reported}");
    let sentence =
        format!("it was chunk 2 of the statement, of which {reported} records are known to be written");
    assert!(
        ended.stderr.contains("GAIA_XX99") && ended.stderr.contains(&sentence),
        "{ended:?}"
    );
    let record = only_log_record(&sandbox);
    assert_eq!(value(&record, "written_count"), reported.to_string());
    assert_eq!(
        value(&record, "last_written_key"),
        "chunk:1",
        "chunk 2 is missing"
    );
    assert!(value(&record, "error_message").contains(&sentence), "{record}");
    let lines = journal(&bench);
    let records: u64 = lines.iter().filter_map(|line| line["records"].as_u64()).sum();
    assert_eq!(records, reported as u64);

    // Running again repairs it.
    assert_eq!(bench.line("run -f update.sql").code, Some(0));
    assert_eq!(written(&sandbox), ROWS);
}

#[test]
fn a_key_behind_a_missing_chunk_is_never_the_last_one_written() {
    let (sandbox, bench) = start(&json!({}));
    let third = |record: &&Value| value(record, "$id") == "250";
    let customers = sandbox.records(CUSTOMERS.0);
    let code = value(customers.iter().find(third).expect("customer 250"), "顧客コード").to_owned();
    let last = |id: &str| {
        let found = customers.iter().find(|record| value(record, "$id") == id);
        value(found.expect("customer"), "顧客コード").to_owned()
    };
    // The first chunk of an UPSERT goes alone; of the next four, the second is refused.
    let ended = run_with_a_refusal(&sandbox, &bench, "upsert.sql", 2, &format!("\"{code}\""));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(written(&sandbox) >= 400);
    let record = only_log_record(&sandbox);
    assert_eq!(value(&record, "last_written_key"), last("200"));
    assert_eq!(value(&record, "written_count"), written(&sandbox).to_string());
    // Every line still tells the last key of its own chunk.
    let keys: Vec<String> = journal(&bench)
        .iter()
        .filter_map(|line| line["lastKeyValue"].as_str().map(str::to_owned))
        .collect();
    assert!(
        keys.contains(&last("400")) && !keys.contains(&last("300")),
        "{keys:?}"
    );
}

#[test]
fn a_chunk_that_loses_a_race_in_the_database_is_sent_again_alone() {
    let (sandbox, bench) = start(&json!({}));
    for (nth, status, code) in [(2, 400, "GAIA_DA02"), (4, 409, "GAIA_CO02")] {
        sandbox.fault(&json!({
            "match": {"method": "PUT", "app": CUSTOMERS.0}, "nth": nth, "action": "status", "status": status,
            "code": code,
        }));
    }
    sandbox.clear_log();
    let ended = bench.line("run -f update.sql");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!((written(&sandbox), puts(&sandbox)), (ROWS, (9, 7)));
    assert_eq!(
        value(&only_log_record(&sandbox), "written_count"),
        ROWS.to_string()
    );

    // Within the limits of retries: three attempts, and kintone's code in the end.
    sandbox.fault(&json!({
        "match": {"method": "PUT", "app": CUSTOMERS.0, "contains": "\"id\":150,"}, "times": 3, "action": "status",
        "status": 409, "code": "GAIA_CO02",
    }));
    let ended = bench.line("run -f update.sql");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(
        ended.stderr.contains("GAIA_CO02") && ended.stderr.contains("(3 attempts)"),
        "{ended:?}"
    );
}

#[test]
fn a_lost_answer_is_settled_by_sending_that_chunk_again() {
    for action in ["drop_before", "drop_after", "cut"] {
        let (sandbox, bench) = start(&json!({}));
        sandbox.clear_log();
        hold(&sandbox, 3, 2, action);
        let ended = bench.line("run -f update.sql");
        assert_eq!(ended.code, Some(0), "{action}: {ended:?}");
        assert_eq!((written(&sandbox), puts(&sandbox).0), (ROWS, 9), "{action}");
        let record = only_log_record(&sandbox);
        assert_eq!(value(&record, "written_count"), ROWS.to_string(), "{action}");
    }
}

#[test]
fn a_signal_lets_all_in_flight_land() {
    let (sandbox, bench) = start(&json!({}));
    hold(&sandbox, 1, 4, "hold_before");
    let child = spawn(&bench, "update.sql");
    let holds = wait_for_holds(&sandbox, 4);
    let pid = child.id().to_string();
    assert!(
        Command::new("kill")
            .args(["-TERM", &pid])
            .status()
            .expect("kill")
            .success()
    );
    for id in holds {
        sandbox.release(&id, "proceed");
    }
    let ended = Ended::of(child.wait_with_output().expect("ended"));
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let record = only_log_record(&sandbox);
    assert_eq!(value(&record, "status"), "CANCELLED");
    assert_eq!(value(&record, "written_count"), "400");
    assert_eq!(value(&record, "last_written_key"), "chunk:4");
    assert_eq!((written(&sandbox), puts(&sandbox)), (400, (4, 4)));
}

#[test]
fn after_a_kill_with_four_in_flight_a_person_vouches_and_running_again_repairs() {
    let (sandbox, bench) = start(&json!({}));
    hold(&sandbox, 1, 4, "hold_after");
    let mut child = spawn(&bench, "update.sql");
    wait_for_holds(&sandbox, 4);
    child.kill().expect("killed");
    child.wait().expect("ended");
    sandbox.wait_for_no_hold();
    sandbox.clear_faults();
    assert_eq!(written(&sandbox), 400, "applied, and nobody was told");
    let record = only_log_record(&sandbox);
    assert_eq!(
        (value(&record, "status"), value(&record, "last_written_key")),
        ("RUNNING", "")
    );
    assert!(journal(&bench).iter().all(|line| line["event"] != "write_chunk"));

    assert_eq!(bench.line("run -f update.sql").code, Some(5), "the lock is held");
    assert_eq!(bench.line("unlock").code, Some(0));
    assert_eq!(bench.line("run -f update.sql").code, Some(0));
    assert_eq!(written(&sandbox), ROWS);
    let statuses: Vec<String> = log_records(&sandbox)
        .iter()
        .map(|record| value(record, "status").to_owned())
        .collect();
    assert_eq!(statuses, ["TIMEOUT", "SUCCESS"]);
}

#[test]
fn the_limit_of_requests_is_never_passed() {
    let (sandbox, bench) = start(&json!({}));
    sandbox.clear_log();
    assert_eq!(bench.line("run -f update.sql").code, Some(0));
    let needed = sandbox.log().len();
    for left in 1..=6 {
        let (sandbox, bench) = start(&json!({}));
        sandbox.clear_log();
        // The final record comes after the seven chunks.
        let limit = needed - 1 - left;
        let ended = bench.line(&format!("run -f update.sql --max-api-calls {limit}"));
        assert_eq!(ended.code, Some(3), "{left}: {ended:?}");
        assert!(ended.stderr.contains("[API_LIMIT_EXCEEDED]"), "{ended:?}");
        let log = sandbox.log();
        assert_eq!(log.len(), limit, "{log:?}");
        let chunks = puts(&sandbox).0;
        assert_eq!(chunks, 7 - left);
        let lines = journal(&bench);
        let finish = lines.last().expect("line");
        assert_eq!(
            finish["writtenCount"].as_u64(),
            Some(written(&sandbox) as u64),
            "{finish}"
        );
    }
}

#[test]
fn imported_rows_go_the_same_way() {
    let (sandbox, bench) = start(&json!({}));
    bench.write(
        "load.sql",
        "-- @ksql name: load\n-- @ksql dialect: 1\n\
         IMPORT INTO LAPP_顧客マスタ (顧客コード, 顧客名) FROM CSV source ON DUPLICATE (顧客コード);\n",
    );
    let csv = sandbox
        .records(CUSTOMERS.0)
        .iter()
        .fold("code,name\r\n".to_owned(), |csv, record| {
            csv + value(record, "顧客コード") + ",new\r\n"
        });
    let source = bench.write("source.csv", &csv);
    hold(&sandbox, 2, 4, "hold_before");
    let import = format!("source={}", text(&source));
    let child = bench
        .command(&["run", "-f", "load.sql", "--import-csv", &import])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("started");
    for id in wait_for_holds(&sandbox, 4) {
        sandbox.release(&id, "proceed");
    }
    let ended = Ended::of(child.wait_with_output().expect("ended"));
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert_eq!(written(&sandbox), ROWS);
}
