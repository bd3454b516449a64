//! Work that needs no request has limits too: a signal and the time limit are seen during it, and a script that asks for
//! more memory than there is gets an error (RNR-74, RNR-77, LNG-180).

use std::fmt::Write as _;
use std::sync::atomic::{AtomicUsize, Ordering};

use ksql_flownet::flow::exec::{
    EngineError, ErrorKind, Interrupt, Observer, Session, StatementOutcome, Unobserved,
};
use ksql_flownet::flow::script::{ParseOptions, parse};
use serde_json::{Value, json};

use super::kintone::Kintone;
use super::run::config;

/// 400 rows: one page.
fn model() -> Kintone {
    let rows: Vec<Value> = (1..=400)
        .map(|i| json!([format!("n{i}"), (i % 7).to_string()]))
        .collect();
    let fields = json!({"名": {"type": "SINGLE_LINE_TEXT", "unique": true}, "数": "NUMBER"});
    let fixtures = json!({
        "APP1": {"fields": fields, "columns": ["名", "数"], "rows": rows},
        "APP2": {"fields": fields, "columns": ["名", "数"], "rows": []},
    });
    Kintone::new(&fixtures, &json!({}))
}

fn run(kintone: &Kintone, observer: &dyn Observer, sql: &str) -> Result<StatementOutcome, EngineError> {
    let config = config(&json!({}), true);
    let options = ParseOptions {
        apps: Some(&config.apps),
        strict: false,
    };
    let script = parse(&format!("-- @ksql dialect: 1\n{sql}"), &options);
    assert!(!script.has_errors(), "{sql}: {:?}", script.diagnostics);
    let mut session = Session::new(kintone, config, observer);
    let mut last = None;
    for statement in &script.statements {
        last = Some(session.run(statement)?);
    }
    Ok(last.expect("a statement"))
}

/// Counts how often it is asked, and says stop from some question on.
struct Patience {
    asked: AtomicUsize,
    limit: usize,
}

impl Patience {
    fn of(limit: usize) -> Self {
        Self {
            asked: AtomicUsize::new(0),
            limit,
        }
    }
}

impl Observer for Patience {
    fn interrupted(&self) -> Option<Interrupt> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        (asked >= self.limit).then_some(Interrupt::TimedOut)
    }
}

#[test]
fn an_interrupt_is_seen_between_two_rows() {
    for sql in [
        "SELECT COUNT(*) AS c FROM APP1 WHERE 名 LIKE '%x%'",
        "SELECT 数, COUNT(*) AS c FROM APP1 GROUP BY 数",
        "SELECT a.名, b.数 FROM APP1 a LEFT JOIN APP1 b ON a.名 = b.名",
        "SELECT 名, SUM(数) OVER (PARTITION BY 数) AS s FROM APP1",
        "WITH c AS (SELECT 名, 数 FROM APP1 ORDER BY 数) SELECT 名 FROM c WHERE LENGTH(名) > 2",
        "CREATE TEMP TABLE t AS SELECT 名 || '!' AS x FROM APP1",
        "INSERT INTO APP2 (名) SELECT 名 FROM APP1",
        "UPSERT INTO APP2 (名, 数) SELECT 名, 数 FROM APP1 KEY (名)",
        "UPDATE APP1 SET 数 = 数 + 1 WHERE 数 >= 0",
        "DELETE FROM APP1 WHERE 数 >= 0",
    ] {
        let patient = Patience::of(usize::MAX);
        run(&model(), &patient, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let asked = patient.asked.into_inner();
        assert!(asked >= 399, "{sql}: asked {asked} times");
        let kintone = model();
        let error = run(&kintone, &Patience::of(200), sql).expect_err(sql);
        assert_eq!(error.kind(), ErrorKind::Interrupted(Interrupt::TimedOut), "{sql}");
        assert!(kintone.writes().is_empty(), "{sql}");
    }
}

/// A chain of common table expressions, each made of the one before.
fn chain(first: &str, next: impl Fn(usize) -> String, length: usize, last: &str) -> String {
    let mut sql = format!("WITH c0 AS ({first})");
    for number in 1..=length {
        let _ = write!(sql, ", c{number} AS ({})", next(number - 1));
    }
    format!("{sql} {last}")
}

#[test]
fn texts_and_tables_that_double_end_in_an_error() {
    let texts = chain(
        "SELECT 名 AS x FROM APP1 LIMIT 1",
        |before| format!("SELECT x || x AS x FROM c{before}"),
        39,
        "SELECT LENGTH(x) AS n FROM c39",
    );
    let rows = chain(
        "SELECT 名 FROM APP1",
        |before| format!("SELECT 名 FROM c{before} UNION ALL SELECT 名 FROM c{before}"),
        29,
        "SELECT COUNT(*) AS n FROM c29",
    );
    for (sql, code) in [
        (texts, Some("CellTooLargeError")),
        (rows, Some("ResultTooLargeError")),
    ] {
        let outcome = run(&model(), &Unobserved, &sql);
        assert_eq!(outcome.err().and_then(|error| error.code()), code, "{sql}");
    }
}
