//! `explain` tells the truth: what it announces of each job is what a run of the job sends, request by request.

mod announced;
mod jobs;
mod sent;

use serde_json::{Map, Value, json};

use self::announced::Announcement;
use self::jobs::{JOBS, Job};
use self::sent::Sent;
use crate::bench::{APPS, Bench, Ended, text};
use crate::sandbox::{CUSTOMERS, JOB_LOG, ORDERS, Sandbox, TempDir, command};

/// An app of these tests, with a table and a field that every record must have.
const SLIPS: (u64, &str) = (30, "sandbox-slips");
/// Customers, orders of them, slips.
const CUSTOMERS_COUNT: usize = 320;
const ORDERS_COUNT: usize = 1300;
const SLIPS_COUNT: usize = 20;
/// Records that one control request takes.
const AT_ONCE: usize = 100;

/// The seeded apps and the slips, without records.
fn apps() -> Value {
    let seed = TempDir::new("explain-seed");
    let status = command()
        .args(["seed", "--orders", "1", "--customers", "1", "--dir"])
        .arg(seed.path())
        .status();
    assert!(status.expect("seed runs").success());
    let text = std::fs::read(seed.path().join("apps.json")).expect("apps.json");
    let mut apps: Value = serde_json::from_slice(&text).expect("JSON");
    let field = |code: &str, kind: &str| json!({"code": code, "label": code, "type": kind});
    let mut number = field("伝票番号", "SINGLE_LINE_TEXT");
    number["unique"] = json!(true);
    let mut clerk = field("担当", "SINGLE_LINE_TEXT");
    clerk["required"] = json!(true);
    let mut table = field("明細", "SUBTABLE");
    table["fields"] = json!({"品": field("品", "SINGLE_LINE_TEXT"), "個": field("個", "NUMBER")});
    let slips = json!({
        "id": SLIPS.0, "name": "伝票",
        "properties": {
            "伝票番号": number, "担当": clerk, "明細": table,
            "区分": field("区分", "SINGLE_LINE_TEXT"), "値": field("値", "NUMBER"), "日": field("日", "DATE"),
        },
        "tokens": [{"token": SLIPS.1, "rights": ["view", "add", "edit", "delete"]}],
    });
    apps["apps"].as_array_mut().expect("apps").push(slips);
    apps
}

fn record(cells: &[(&str, Value)]) -> Value {
    let cells = cells
        .iter()
        .map(|(code, value)| ((*code).to_owned(), json!({"value": value})));
    Value::Object(cells.collect::<Map<_, _>>())
}

fn fill(sandbox: &Sandbox) {
    let insert = |app: u64, records: Vec<Value>| {
        for some in records.chunks(AT_ONCE) {
            sandbox.insert(app, some);
        }
    };
    let customer = |number: usize| json!(format!("C{number:04}"));
    let customers = (0..CUSTOMERS_COUNT).map(|i| {
        let rank = ["A", "B", "C"][i % 3];
        record(&[
            ("顧客コード", customer(i)),
            ("顧客名", json!(format!("n{i}"))),
            ("ランク", json!(rank)),
            ("当月受注件数", json!(i.to_string())),
        ])
    });
    insert(CUSTOMERS.0, customers.collect());
    let orders = (0..ORDERS_COUNT).map(|i| {
        record(&[
            ("受注日", json!(format!("2026-08-{:02}", i % 28 + 1))),
            ("数量", json!((i % 7).to_string())),
            ("金額", json!(i.to_string())),
            ("顧客コード", customer(i % CUSTOMERS_COUNT)),
            ("ステータス", json!(if i % 2 == 0 { "受注完了" } else { "見積" })),
        ])
    });
    insert(ORDERS.0, orders.collect());
    let slips = (0..SLIPS_COUNT).map(|i| {
        let row = |n: usize| json!({"value": record(&[("品", json!(format!("p{n}"))), ("個", json!(n.to_string()))])});
        record(&[
            ("伝票番号", json!(format!("S{i:02}"))),
            ("担当", json!("c")),
            ("区分", json!(format!("k{}", i % 4))),
            ("値", json!(i.to_string())),
            ("日", json!(format!("2026-08-{:02}", i + 1))),
            ("明細", json!([row(i), row(i + 1)])),
        ])
    });
    insert(SLIPS.0, slips.collect());
}

fn start() -> (Sandbox, Bench) {
    let sandbox = Sandbox::with_apps("flow-explain", &apps());
    fill(&sandbox);
    let mut names: Map<String, Value> = APPS
        .iter()
        .map(|(name, (id, token))| ((*name).to_owned(), json!({"id": id, "tokens": [token]})))
        .collect();
    names.insert("伝票".to_owned(), json!({"id": SLIPS.0, "tokens": [SLIPS.1]}));
    let bench = Bench::with_profile(&sandbox, &json!({"apps": names}));
    bench.write("rows.csv", "伝票番号,担当\nS90,x\nS91,y\n");
    (sandbox, bench)
}

fn started(bench: &Bench, command: &str) -> Result<Ended, String> {
    let ended = bench.line(&format!("{command} -f job.sql --as-of 2026-08-15T00:00:00+09:00"));
    if ended.code == Some(0) {
        Ok(ended)
    } else {
        Err(format!("{command}: {ended:?}"))
    }
}

/// Explains and runs a job; everything in which the two differ.
fn differences(sandbox: &Sandbox, bench: &Bench, job: &Job) -> Result<(), String> {
    let dialect = if job.sql.starts_with("--") {
        ""
    } else {
        "-- @ksql dialect: 1\n"
    };
    bench.write("job.sql", &format!("-- @ksql name: j\n{dialect}{};\n", job.sql));
    sandbox.clear_log();
    let announcement = Announcement::read(&started(bench, "explain")?.stdout);
    let mut wrong = Vec::new();
    for request in sandbox.log() {
        let of = |key: &str| request[key].as_str().unwrap_or_default().to_owned();
        let counts = of("query").ends_with("limit 1") || !of("path").ends_with("/records.json");
        if of("method") != "GET" || !counts {
            wrong.push(format!("explain sends {request}"));
        }
    }
    sandbox.clear_log();
    let file = format!("run --import-csv f={}", text(&bench.root.join("rows.csv")));
    started(bench, if job.imports { &file } else { "run" })?;
    wrong.extend(announcement.differences(&Sent::of(&sandbox.log(), JOB_LOG.0)));
    let totals = announcement.totals();
    if totals != job.totals {
        wrong.push(format!("totals {totals:?} instead of {:?}", job.totals));
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(format!("{}\n{}", wrong.join("\n"), announcement.text))
    }
}

#[test]
fn a_run_sends_what_was_announced() {
    let (sandbox, bench) = start();
    let wrong: Vec<String> = JOBS
        .iter()
        .filter_map(|job| {
            let why = differences(&sandbox, &bench, job).err()?;
            Some(format!("{}: {}\n{why}", job.name, job.sql))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

#[test]
fn a_plan_says_where_the_read_limit_ends_a_run() {
    let sandbox = Sandbox::start("flow-explain");
    let bench = Bench::with_profile(&sandbox, &json!({"limits": {"maxReadRows": 100}}));
    bench.write("job.sql", "-- @ksql dialect: 1\nSELECT 金額 FROM LAPP_受注;\n");
    let plan = started(&bench, "explain").expect("explained");
    let note = "note: a run fails here: more than 100 records (limits.maxReadRows)";
    assert!(plan.stdout.contains(note), "{plan:?}");
    assert!(started(&bench, "run").is_err());
    bench.write(
        "job.sql",
        "-- @ksql dialect: 1\nSELECT 金額 FROM LAPP_受注 LIMIT 50;\n",
    );
    let plan = started(&bench, "explain").expect("explained");
    assert!(!plan.stdout.contains("note: "), "{plan:?}");
    started(&bench, "run").expect("run");
}

/// Words are Japanese, what is sent is the same.
#[test]
fn a_plan_speaks_the_language_of_its_reader() {
    let sandbox = Sandbox::start("flow-explain");
    let bench = Bench::on(&sandbox);
    let sql = "SELECT 顧客コード FROM LAPP_顧客マスタ WHERE 顧客コード IN (SELECT 顧客コード FROM LAPP_受注)";
    bench.write("job.sql", &format!("-- @ksql dialect: 1\n{sql};\n"));
    let english = started(&bench, "explain").expect("explained").stdout;
    let mut command = bench.command(&["explain", "-f", "job.sql"]);
    let japanese = Ended::of(command.env("LANG", "ja_JP.UTF-8").output().expect("started")).stdout;
    for line in [
        "最初の文の前",
        "  フォーム APP10 (1 リクエスト)",
        "  副問い合わせ 1 回",
        "    読み取り $id, 顧客コード APP10 (完全, 2 リクエスト): order by $id asc limit 500",
        "    注: ? と、条件のどの部分を送るかは、実行時に決まります; 該当がありえなければ送りません",
    ] {
        assert!(japanese.lines().any(|other| other == line), "{line}\n{japanese}");
    }
    let queries = |text: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| line.split_once("): "));
        lines.map(|(_, query)| query.to_owned()).collect()
    };
    assert_eq!(queries(&english), queries(&japanese));
    assert_eq!(queries(&english).len(), 2, "{english}");
}

/// RNR-76: the start mark is one request more.
#[test]
fn a_plan_allows_for_a_start_by_an_orchestrator() {
    let sandbox = Sandbox::start("flow-explain");
    let bench = Bench::on(&sandbox);
    bench.write(
        "job.sql",
        "-- @ksql name: j\n-- @ksql dialect: 1\nSELECT 金額 FROM LAPP_受注;\n",
    );
    let english = started(&bench, "explain").expect("explained").stdout;
    assert!(english.contains(", 4 to 5 for lock and log;"), "{english}");
    let mut command = bench.command(&["explain", "-f", "job.sql"]);
    let japanese = Ended::of(command.env("LANG", "ja_JP.UTF-8").output().expect("started")).stdout;
    assert!(japanese.contains("ロックとログ 4～5。"), "{japanese}");
    let orchestrated =
        "run --result-json r.json --correlation-id netrun_1 --attempt-id attempt_1 --expected-job-id j";
    for (run, requests) in [("run", 4), (orchestrated, 5)] {
        sandbox.clear_log();
        started(&bench, run).expect("run");
        assert_eq!(Sent::of(&sandbox.log(), JOB_LOG.0).log, requests, "{run}");
    }
}
