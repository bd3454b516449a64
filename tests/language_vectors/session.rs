//! What vectors do not show: chunks and their events, failures in the middle, interruption, previews, plans.

use std::sync::Mutex;

use ksql_flownet::flow::apps::{AppId, Written};
use ksql_flownet::flow::exec::{
    ChunkEvent, Config, DryRun, EngineError, ErrorKind, Interrupt, Observer, Session, StatementOutcome,
    Unobserved,
};
use ksql_flownet::flow::script::{ImportFormat, ParseOptions, Script, parse};
use ksql_flownet::flow::sql::diagnostic::Severity;
use ksql_flownet::flow::sql::message::Language;
use serde_json::{Value, json};

use super::kintone::Kintone;
use super::run::config;

fn model() -> Kintone {
    let fixtures = super::read(&super::folder().join("fixtures.json"));
    let many: Vec<Value> = (1..=250).map(|i| json!([format!("n{i}")])).collect();
    let tables = json!({"APP51": {"fields": {"名": "SINGLE_LINE_TEXT"}, "columns": ["名"], "rows": many}});
    Kintone::new(&fixtures, &tables)
}

fn settings() -> Config {
    config(&json!({}), true)
}

fn script(sql: &str) -> Script {
    let script = parse(
        &format!("-- @ksql dialect: 1\n{sql}"),
        &ParseOptions {
            apps: Some(&settings().apps),
            strict: false,
        },
    );
    assert!(!script.has_errors(), "{sql}: {:?}", script.diagnostics);
    script
}

/// Runs all statements; the outcome of the last one.
fn run(
    kintone: &Kintone,
    config: Config,
    observer: &dyn Observer,
    sql: &str,
) -> Result<StatementOutcome, EngineError> {
    let script = script(sql);
    let mut session = Session::new(kintone, config, observer);
    let mut last = None;
    for statement in &script.statements {
        last = Some(session.run(statement)?);
    }
    Ok(last.unwrap())
}

#[derive(Default)]
struct Watch {
    events: Mutex<Vec<ChunkEvent>>,
    /// Stop after so many chunks.
    patience: Option<usize>,
}

impl Observer for Watch {
    fn interrupted(&self) -> Option<Interrupt> {
        let seen = self.events.lock().unwrap().len();
        self.patience
            .is_some_and(|most| seen >= most)
            .then_some(Interrupt::Cancelled)
    }

    fn chunk_written(&self, event: &ChunkEvent) {
        self.events.lock().unwrap().push(event.clone());
    }
}

const MANY: &str = "UPSERT INTO APP20 (顧客コード, 顧客名) SELECT 名, 'x' FROM APP51 KEY (顧客コード)";

#[test]
fn every_chunk_is_told_with_its_last_key() {
    let watch = Watch::default();
    let outcome = run(&model(), settings(), &watch, MANY).unwrap();
    assert_eq!(
        outcome.written,
        Written {
            inserted: 250,
            updated: 0,
            deleted: 0
        }
    );
    let events = watch.events.into_inner().unwrap();
    let told: Vec<(u64, usize, &str, Option<&str>)> = events
        .iter()
        .map(|e| (e.chunk, e.records, e.operation, e.last_key.as_deref()))
        .collect();
    assert_eq!(
        told,
        [
            (1, 100, "UPSERT", Some("n100")),
            (2, 100, "UPSERT", Some("n200")),
            (3, 50, "UPSERT", Some("n250"))
        ]
    );
    assert!(
        events
            .iter()
            .all(|event| event.app == AppId(20) && event.key_field.as_deref() == Some("顧客コード"))
    );
}

#[test]
fn a_refused_chunk_ends_the_statement_and_earlier_ones_stay() {
    let kintone = model();
    kintone.state.lock().unwrap().refused_write = Some(2);
    let watch = Watch::default();
    let error = run(&kintone, settings(), &watch, MANY).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Apps);
    assert_eq!(error.apps_error().unwrap().to_string(), "GAIA_DA02");
    assert_eq!(watch.events.into_inner().unwrap().len(), 1);
    assert_eq!(kintone.writes().len(), 100);
}

#[test]
fn an_interrupt_stops_between_two_chunks() {
    let kintone = model();
    let watch = Watch {
        patience: Some(2),
        ..Watch::default()
    };
    let error = run(&kintone, settings(), &watch, MANY).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Interrupted(Interrupt::Cancelled));
    assert_eq!(kintone.writes().len(), 200);
}

#[test]
fn without_the_right_to_upsert_records_are_read_then_added_and_changed() {
    let kintone = model();
    let config = Config {
        native_upsert: false,
        ..settings()
    };
    let sql = "UPSERT INTO APP20 (顧客コード, 顧客名) VALUES ('C009', 'a'), ('neu', 'b'), ('C001', 'c') KEY (顧客コード)";
    let watch = Watch::default();
    run(&kintone, config, &watch, sql).unwrap();
    let writes: Vec<(&str, u64, Value)> = kintone
        .writes()
        .into_iter()
        .map(|write| (write.op, write.id, Value::Object(write.record)))
        .collect();
    assert_eq!(
        writes,
        [
            ("insert", 4, json!({"顧客コード": "neu", "顧客名": "b"})),
            ("update", 3, json!({"顧客名": "a"})),
            ("update", 1, json!({"顧客名": "c"})),
        ]
    );
    let keys: Vec<Option<String>> = watch
        .events
        .into_inner()
        .unwrap()
        .into_iter()
        .map(|event| event.last_key)
        .collect();
    assert_eq!(keys, [Some("neu".to_owned()), Some("C001".to_owned())]);
}

#[test]
fn a_search_that_was_cut_short_feeds_no_write() {
    let kintone = model();
    kintone.state.lock().unwrap().search_aborted = true;
    let select = "SELECT 備考 FROM APP10 WHERE 備考 KLIKE '急ぎ'";
    let outcome = run(&kintone, settings(), &Unobserved, select).unwrap();
    assert_eq!(outcome.warnings.len(), 1);
    for sql in [
        format!("CREATE TEMP TABLE t AS {select}"),
        format!("INSERT INTO APP50 (名) {select}"),
        format!("ASSERT ({select}) = '急ぎ'"),
        "DELETE FROM APP10 WHERE 備考 KLIKE '急ぎ'".to_owned(),
        "UPDATE APP10 SET 数量 = 1 WHERE 備考 KLIKE '急ぎ'".to_owned(),
    ] {
        let error = run(&kintone, settings(), &Unobserved, &sql).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::SearchAborted, "{sql}");
    }
    assert!(kintone.writes().is_empty());
}

/// A preview as JSON, and that nothing was written.
fn preview(sql: &str) -> Value {
    let kintone = model();
    let config = Config {
        dry_run: Some(DryRun { samples: 2 }),
        ..settings()
    };
    let preview = run(&kintone, config, &Unobserved, sql).unwrap().preview.unwrap();
    assert!(kintone.writes().is_empty());
    assert!(
        kintone
            .requests()
            .iter()
            .all(|request| request.kind.starts_with("GET"))
    );
    let cells = |list: &[(String, String)]| -> Value {
        list.iter().map(|(code, cell)| json!([code, cell])).collect()
    };
    let samples: Vec<Value> = preview
        .samples
        .iter()
        .map(|s| json!([s.kind, s.key_field, s.key, cells(&s.before), cells(&s.after)]))
        .collect();
    let counts = preview.counts;
    json!({
        "app": preview.app.0, "operation": preview.operation, "requests": preview.estimated_writes,
        "counts": [counts.inserted, counts.updated, counts.deleted], "samples": samples,
    })
}

#[test]
fn previews_count_and_show_and_write_nothing() {
    assert_eq!(
        preview("INSERT INTO APP50 (名, 量) VALUES ('a', 1e3), ('b', 2), ('c', 3)"),
        json!({"app": 50, "operation": "INSERT", "requests": 1, "counts": [3, 0, 0], "samples": [
            ["insert", null, null, [], [["名", "a"], ["量", "1000"]]],
            ["insert", null, null, [], [["名", "b"], ["量", "2"]]],
        ]})
    );
    assert_eq!(
        preview(
            "UPSERT INTO APP20 (顧客コード, 当月受注件数) VALUES ('C001', 3), ('C777', 1), ('C003', 2) KEY (顧客コード)"
        ),
        json!({"app": 20, "operation": "UPSERT", "requests": 1, "counts": [1, 2, 0], "samples": [
            ["update", "顧客コード", "C001", [["顧客コード", "C001"], ["当月受注件数", "9"]], [["顧客コード", "C001"], ["当月受注件数", "3"]]],
            ["insert", "顧客コード", "C777", [], [["顧客コード", "C777"], ["当月受注件数", "1"]]],
        ]})
    );
    assert_eq!(
        preview("UPDATE APP20 SET 当月受注件数 = 当月受注件数 + 1 WHERE $id >= 2"),
        json!({"app": 20, "operation": "UPDATE", "requests": 1, "counts": [0, 2, 0], "samples": [
            ["update", "$id", "2", [["当月受注件数", "1"]], [["当月受注件数", "2"]]],
            ["update", "$id", "3", [["当月受注件数", ""]], [["当月受注件数", "1"]]],
        ]})
    );
    assert_eq!(
        preview("DELETE FROM APP30 WHERE 値 > 9"),
        json!({"app": 30, "operation": "DELETE", "requests": 1, "counts": [0, 0, 2], "samples": [
            ["delete", "$id", "1", [["名前", "r1"], ["タグ", ""], ["担当", ""], ["確度", "高"], ["コード", "10"], ["値", "10"], ["日時", "2026-08-01T00:00:00Z"]], []],
            ["delete", "$id", "5", [["名前", "r5"], ["タグ", "A\nB\nC"], ["担当", ""], ["確度", "高"], ["コード", "20"], ["値", "100"], ["日時", "2026-08-02T00:00:00Z"]], []],
        ]})
    );
    let many = preview(MANY);
    assert_eq!(
        (many["requests"].clone(), many["counts"].clone()),
        (json!(3), json!([250, 0, 0]))
    );
}

#[test]
fn previews_see_temp_tables_and_refuse_what_a_run_refuses() {
    let sql = "CREATE TEMP TABLE s AS SELECT 顧客コード AS k FROM APP10 GROUP BY 顧客コード; \
               DELETE FROM APP20 WHERE 顧客コード NOT IN (SELECT k FROM s)";
    assert_eq!(preview(sql)["counts"], json!([0, 0, 1]));
    let config = Config {
        dry_run: Some(DryRun { samples: 2 }),
        ..settings()
    };
    let twice = "UPSERT INTO APP20 (顧客コード, 顧客名) VALUES ('x', 'a'), ('x', 'b') KEY (顧客コード)";
    let error = run(&model(), config, &Unobserved, twice).unwrap_err();
    assert!(error.message(Language::Japanese).contains("重複"), "{error}");
}

#[test]
fn previews_put_wrong_rows_aside_and_count_the_others() {
    let sql = "INSERT INTO APP50 (名, 量) VALUES ('a', 1), ('b', 'x'), ('c', 3) ON ERROR SKIP INTO #err; \
               UPSERT INTO APP20 (顧客コード, 当月受注件数) SELECT 名, $err_row FROM #err KEY (顧客コード)";
    assert_eq!(
        preview(sql)["samples"],
        json!([[
            "insert",
            "顧客コード",
            "b",
            [],
            [["顧客コード", "b"], ["当月受注件数", "2"]]
        ]])
    );
    let first = "INSERT INTO APP50 (名, 量) VALUES ('a', 1), ('b', 'x'), ('c', 3) ON ERROR SKIP INTO #err";
    let kintone = model();
    let config = Config {
        dry_run: Some(DryRun { samples: 9 }),
        ..settings()
    };
    let script = script(&format!("{first}; SELECT 1 AS a"));
    let mut session = Session::new(&kintone, config, &Unobserved);
    let outcome = session.run(&script.statements[0]).unwrap();
    let preview = outcome.preview.unwrap();
    assert_eq!((preview.counts.inserted, preview.samples.len()), (2, 2));
    assert_eq!(outcome.wrong_rows, Some(1));
    assert_eq!(session.temp_table("err").unwrap().cell(0, 0), "b");
}

#[test]
fn imports_tell_what_they_read_and_are_checked_without_their_file() {
    let script = script(
        "EXIT SUCCESS IF 1 = 2, 'x'; IMPORT INTO APP50 (名, 量) FROM CSV f SELECT n, q CHECK WHEN q = '' THEN 'x'; \
         IMPORT INTO APP50 (名) FROM JSON g",
    );
    let needs: Vec<_> = script.statements.iter().map(|s| s.import_source()).collect();
    assert_eq!(
        needs,
        [
            None,
            Some(("f", ImportFormat::Csv)),
            Some(("g", ImportFormat::Json))
        ]
    );
    let kintone = model();
    let mut without = Session::new(&kintone, settings(), &Unobserved);
    assert!(without.check(&script).unwrap().is_empty());
    assert_eq!(without.explain_script(&script).unwrap().statements.len(), 3);
    assert!(without.imported().is_empty());

    let vector = json!({"imports": {"f": {"sjis": "n,q\nあ,1\nい,2\n"}, "g": {"json": "[]"}}});
    let mut session = Session::new(&kintone, config(&vector, true), &Unobserved);
    // Bytes that are no UTF-8 are found before anything is written.
    assert_eq!(session.check(&script).unwrap().len(), 1);
    let vector = json!({"imports": {"f": {"csv": "n,q\nあ,1\nい,2\n"}, "g": {"json": "[]"}}});
    let mut session = Session::new(&kintone, config(&vector, true), &Unobserved);
    for statement in &script.statements {
        session.run(statement).unwrap();
    }
    let read: Vec<(&str, u64)> = session
        .imported()
        .iter()
        .map(|file| (file.name.as_str(), file.rows))
        .collect();
    assert_eq!(read, [("f", 2), ("g", 0)]);
    assert_eq!(kintone.writes().len(), 2);
    assert!(session.temp_table("(import)").is_none());
}

#[test]
fn places_of_run_time_errors_are_places_of_the_script() {
    let kintone = model();
    let script = script("SELECT 1 AS a;\nSELECT 名前,\n  無い FROM APP30");
    let mut session = Session::new(&kintone, settings(), &Unobserved);
    let error = session.run(&script.statements[1]).unwrap_err();
    let position = error.position().unwrap();
    assert_eq!((position.line, position.column), (4, 3));
    let found = session.check(&script).unwrap();
    assert_eq!(
        (found[0].line, found[0].column, found[0].code),
        (4, 3, "KSQL1202")
    );
    let sorted = self::script("SELECT 1 AS a;\nSELECT 名前 FROM APP30\n  KORDER BY 名前, タグ LIMIT 1");
    let found = session.check(&sorted).unwrap();
    assert_eq!((found[0].line, found[0].column), (4, 17));
}

#[test]
fn a_day_in_another_form_than_its_cells_is_pointed_out() {
    for (condition, warnings) in [
        ("受注日 = '2026-08-03'", 0),
        ("受注日 >= '2026-08' AND 受注日 != ''", 0),
        ("受注日 >= @MONTH_START()", 0),
        ("顧客コード = '2026/08/03'", 0),
        ("受注日 = '2026-08'", 1),
        ("受注日 >= '2026/08/01'", 1),
        ("受注日 BETWEEN '2026-8-1' AND '2026-8-31'", 2),
        ("受注日 IN ('2026-08-03', '2026/08/04')", 1),
    ] {
        let sql = format!("SELECT $id FROM APP10 WHERE {condition}");
        let outcome = run(&model(), settings(), &Unobserved, &sql).unwrap();
        assert_eq!(
            outcome.warnings.len(),
            warnings,
            "{condition}: {:?}",
            outcome.warnings
        );
        let kintone = model();
        let mut session = Session::new(&kintone, settings(), &Unobserved);
        let found = session.check(&script(&sql)).unwrap();
        assert_eq!(found.len(), warnings, "{condition}: {found:?}");
        assert!(found.iter().all(|warning| warning.severity == Severity::Warning));
    }
    let kintone = model();
    let mut session = Session::new(&kintone, settings(), &Unobserved);
    let found = session
        .check(&script(
            "SELECT 1 AS a;\nSELECT $id FROM APP10\n  WHERE 受注日 = '2026/08/03'",
        ))
        .unwrap();
    assert_eq!((found[0].line, found[0].column), (4, 15));
}

#[test]
fn validate_only_counts_the_wrong_rows_with_and_without_a_table_for_them() {
    let insert =
        "INSERT INTO APP20 (顧客コード, 顧客名) VALUES ('x1', 'a'), ('', 'b'), ('x1', 'c'), ('x2', 'd')";
    for (tail, wrong) in [("VALIDATE ONLY", 2), ("VALIDATE ONLY INTO #e", 2)] {
        let kintone = model();
        let outcome = run(&kintone, settings(), &Unobserved, &format!("{insert} {tail}")).unwrap();
        assert_eq!(
            (outcome.row_count, outcome.wrong_rows),
            (Some(wrong), Some(wrong)),
            "{tail}"
        );
        let told: Vec<String> = outcome.warnings.iter().map(ToString::to_string).collect();
        assert_eq!(
            told,
            ["of 4 rows that were checked, 2 are wrong; nothing was written"]
        );
        assert!(kintone.writes().is_empty());
    }
    let kintone = model();
    let clean = "INSERT INTO APP20 (顧客コード) VALUES ('x1') VALIDATE ONLY";
    let outcome = run(&kintone, settings(), &Unobserved, clean).unwrap();
    assert_eq!((outcome.row_count, outcome.warnings.len()), (Some(0), 0));
    // What is put aside does not fail the rest.
    let skip = format!("{insert} ON ERROR SKIP INTO #e; SELECT COUNT(*) AS n FROM #e");
    run(&kintone, settings(), &Unobserved, &skip).unwrap();
    assert_eq!(kintone.writes().len(), 2);
}
