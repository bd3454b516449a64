//! What can be said about a script without a request: codes, places, and that nothing a file may hold makes it panic.

use proptest::prelude::*;

use super::*;
use crate::flow::apps::AppId;
use crate::flow::sql::message::Language;
use crate::flow::sql::parse::MAX_STATEMENTS;

fn parsed(source: &str) -> Script {
    let mut apps = AppMap::new();
    apps.insert("受注", AppId(10)).unwrap();
    parse(
        source,
        &ParseOptions {
            apps: Some(&apps),
            strict: false,
        },
    )
}

/// Code, line and column of every finding.
fn findings(source: &str) -> Vec<(&'static str, usize, usize)> {
    parsed(source)
        .diagnostics
        .iter()
        .map(|d| (d.code, d.line, d.column))
        .collect()
}

const FLOW: &str = "-- @ksql dialect: 1\n";

#[test]
fn errors_stand_at_the_exact_token() {
    for (source, code, line, column) in [
        ("SELECT 'abc", "KSQL1201", 1, 8),
        ("SELECT 名前 FROM APP1 WHERE 名前 IN (\"a\")", "KSQL1202", 1, 34),
        ("SELECT 1 AS a;\n  SELEC 2", "KSQL1202", 2, 3),
        ("SELECT 1 AS a FROM LAPP_無い", "KSQL1101", 1, 20),
        ("SELECT 1 AS a,", "KSQL1202", 1, 15),
        ("SELECT 1 AS a FROM APP1 WHERE", "KSQL1202", 1, 30),
        ("SELECT '𠮟' AS a FROM APP1 WHERE x", "KSQL1202", 1, 35),
        ("SELECT order FROM APP1", "KSQL1202", 1, 8),
        ("SELECT a FROM (SELECT 1 AS a)", "KSQL1202", 1, 15),
        ("SELECT a FROM APP1, APP2", "KSQL1202", 1, 19),
        (
            "SELECT a.x FROM APP1 a FULL JOIN APP2 b ON a.x = b.x",
            "KSQL1202",
            1,
            24,
        ),
        ("SELECT a.x FROM APP1 a JOIN APP2 b ON 1 = 1", "KSQL1202", 1, 39),
        ("SELECT SUM(x) FILTER FROM t", "KSQL1203", 1, 27),
        ("CREATE TEMP TABLE s AS SELECT 1 AS a", "KSQL1203", 1, 19),
        ("ASSERT WARN 1 = 1", "KSQL1203", 1, 8),
        ("EXIT SUCCESS IF 1 = 1, 'x'", "KSQL1203", 1, 1),
        (
            "MERGE INTO APP1 AS t USING APP2 AS s ON t.k = s.k",
            "KSQL1203",
            1,
            1,
        ),
        ("UPSERT INTO APP1 (a, b) VALUES (1, 2) KEY (a)", "KSQL1203", 1, 39),
        ("IMPORT UPDATE INTO APP1 (a) FROM CSV x BY NAME", "KSQL1202", 1, 8),
        ("IMPORT INTO APP1 (a) FROM XML x", "KSQL1202", 1, 27),
        (
            "UPDATE APP1 SET a = 1 WHERE b = 2 ON ERROR STOP",
            "KSQL1202",
            1,
            44,
        ),
        ("SELECT a FROM APP1 LIMIT -1", "KSQL1202", 1, 26),
        ("SELECT a FROM APP1 WHERE a LIKE", "KSQL1202", 1, 32),
        ("SELECT UPPER() AS a", "KSQL1202", 1, 8),
        ("SELECT NOPE(1) AS a", "KSQL1202", 1, 8),
    ] {
        let found = findings(source);
        assert_eq!(found.first(), Some(&(code, line, column)), "{source}: {found:?}");
    }
}

#[test]
fn findings_of_keys_and_clocks_stand_at_the_statement() {
    for (source, code) in [
        (
            "SELECT 1 AS a;\n UPSERT INTO APP1 (a, b) SELECT 1, 2 KEY (a, b)",
            "KSQL1301",
        ),
        ("SELECT 1 AS a;\n INSERT INTO APP1 (a) VALUES (1)", "KSQL1305"),
        (
            "SELECT 1 AS a;\n SELECT $id FROM APP1 WHERE d > FROM_TODAY(-7, DAYS)",
            "KSQL1306",
        ),
        ("SELECT 1 AS a;\n DELETE\n FROM APP1$t WHERE _pid = 1", "KSQL1304"),
    ] {
        assert_eq!(findings(&format!("{FLOW}{source}")), [(code, 3, 2)], "{source}");
    }
}

#[test]
fn every_broken_statement_is_reported_once() {
    let found = findings("SELEC 1;\nSELECT 1 AS a;\nDELETE FROM APP1;\nSELECT (1 AS b");
    assert_eq!(
        found,
        [("KSQL1202", 1, 1), ("KSQL1202", 3, 17), ("KSQL1202", 4, 11)]
    );
}

#[test]
fn texts_exist_in_both_languages() {
    let script = parsed("SELECT order FROM APP1");
    let finding = script.diagnostics.first().unwrap();
    assert_eq!(
        finding.message.text(Language::English),
        "order is a reserved word"
    );
    assert_eq!(finding.message.text(Language::Japanese), "order は予約語です");
    assert!(
        finding
            .hint
            .as_ref()
            .unwrap()
            .text(Language::Japanese)
            .contains("バッククォート")
    );
    assert_eq!(finding.token.as_deref(), Some("order"));
}

#[test]
fn static_rules_refuse() {
    for source in [
        "SELECT a FROM APP1 WHERE COUNT(*) > 1",
        "SELECT COUNT(*) AS c FROM APP1 HAVING COUNT(*) > 1",
        "SELECT SUM(SUM(a)) AS s FROM APP1",
        "SELECT SUM((SELECT 1 AS x)) AS s FROM APP1",
        "SELECT 2 * SUM(a) AS s FROM APP1",
        "SELECT a FROM APP1 GROUP BY COUNT(*)",
        "SELECT GROUPING(a) AS g FROM APP1 GROUP BY a",
        "SELECT MODE(DISTINCT a) AS m FROM APP1",
        "SELECT GROUP_CONCAT(a) OVER () AS m FROM APP1",
        "SELECT COUNT(DISTINCT a) OVER () AS m FROM APP1",
        "SELECT ROW_NUMBER() OVER () FROM APP1",
        "SELECT LAG(a) OVER (PARTITION BY b) AS p FROM APP1",
        "SELECT SUM(a) OVER (ORDER BY a ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS s FROM APP1",
        "SELECT *",
        "SELECT 1 AS a WHERE 1 = 1",
        "SELECT a, b FROM APP1 UNION SELECT a FROM APP2",
        "SELECT ['a'] AS x",
        "SELECT a FROM APP1 ORDER BY (SELECT 1 AS x)",
        "SELECT TODAY() > '2026-01-01' AS x",
        "SELECT YESTERDAY() AS x",
        "SELECT a FROM APP1 WHERE d = TODAY() + 1",
        "SELECT a FROM APP1 WHERE CASE a WHEN 1 THEN 2 END = 1",
        "SELECT a FROM APP1 KORDER BY a",
        "WITH t (a) AS (SELECT 1 AS x) SELECT a FROM t",
        "WITH RECURSIVE t (a) AS (SELECT a FROM APP1 UNION ALL SELECT a FROM t) SELECT a FROM t",
        "WITH n AS (GENERATE_SERIES(1)) SELECT * FROM n",
        "SELECT a FROM #t",
        "DROP TEMP TABLE #t",
        "CREATE TEMP TABLE #t AS SELECT 1 AS a; CREATE TEMP TABLE #t AS SELECT 2 AS a",
        "SET @x = 1",
        "SELECT 1 AS a; SET @x = 1; SET @x = 2; SELECT @x AS b",
        "SET @x = 1; SET @y = @x; SELECT @y AS b",
        "SET @l = ['a']; SELECT @l AS b",
        "SET @x = 1; SELECT a FROM APP1 WHERE a IN @x",
        "SET @x = 1; SELECT a FROM APP1 WHERE @x = a",
        "SET @x = 1; SELECT a FROM APP1 ORDER BY @x",
        "SET @x = 1; SELECT @x FROM APP1",
        "SET @x = NULL; SELECT 1 AS a",
        "SET @x = a; SELECT @x AS b",
        "DECLARE @d = (SELECT 1 AS x); SELECT @d AS a",
        "DECLARE @d RELATIVE_DATE = LOGINUSER(); SELECT a FROM APP1 WHERE d > @d",
        "DECLARE @d RELATIVE_DATE = TOMORROW(); SELECT @d AS x FROM APP1",
        "DECLARE @d RELATIVE_DATE = TOMORROW(); DELETE FROM APP1 WHERE d > @d",
        "ASSERT 1",
        "ASSERT UPPER('a') = 'A'",
        "ASSERT (SELECT 1 AS x) + 1 = 2",
        "ASSERT (SELECT 1 AS x, 2 AS y) = 2",
        "INSERT INTO APP1 (a, a) VALUES (1, 2)",
        "INSERT INTO APP1 (a) VALUES (1, 2)",
        "INSERT INTO APP1 (a, b) SELECT a FROM APP2",
        "INSERT INTO APP1 (a) VALUES (@x)",
        "UPSERT INTO APP1 (a) VALUES (1) ON DUPLICATE (b)",
        "UPDATE APP1 SET a = 1",
        "UPDATE APP1 SET a = b WHERE $id = 1",
        "UPDATE APP1 SET a = 1 WHERE b LIKE 'x'",
        "UPDATE APP1 SET a = 1 WHERE LENGTH(b) = 2",
        "UPDATE APP1 SET a = 1 WHERE b + 1 = 2",
        "UPDATE APP1 SET a = COUNT(*) WHERE $id = 1",
        "DELETE FROM APP1",
        "DELETE FROM APP1 WHERE EXISTS (SELECT 1 AS x)",
    ] {
        assert!(parsed(source).has_errors(), "{source}");
    }
}

#[test]
fn as_of_functions_stand_where_literals_do() {
    for source in [
        "SELECT @TODAY() AS a",
        "SET @d = @MONTH_START(); SELECT a FROM APP1 WHERE d >= @d",
        "INSERT INTO APP1 (a) VALUES (@NOW())",
        "UPDATE APP1 SET a = @NOW() WHERE $id = 1",
    ] {
        assert!(!parsed(&format!("{FLOW}{source}")).has_errors(), "{source}");
        assert!(
            parsed(source).diagnostics.iter().any(|d| d.code == "KSQL1203"),
            "{source}"
        );
    }
    assert!(
        parsed(&format!(
            "{FLOW}UPSERT INTO APP1 (a, b) VALUES (1, @NOW()) KEY (a)"
        ))
        .has_errors()
    );
    assert!(parsed(&format!("{FLOW}SELECT @NOW(1) AS a")).has_errors());
}

#[test]
fn unused_variables_are_mentioned() {
    let script = parsed("SET @x = 1; SELECT 1 AS a");
    assert!(!script.has_errors());
    assert_eq!(script.diagnostics.len(), 1);
}

#[test]
fn deep_nesting_is_refused_and_long_chains_are_not() {
    let nested = |depth: usize| format!("SELECT {}1{} AS x", "(".repeat(depth), ")".repeat(depth));
    assert!(!parsed(&nested(20)).has_errors());
    assert!(parsed(&nested(10_000)).has_errors());
    assert!(
        parsed(&format!(
            "SELECT a FROM APP1 WHERE {} a = 1",
            "NOT ".repeat(10_000)
        ))
        .has_errors()
    );
    assert!(parsed(&format!("SELECT {}1 AS x", "- ".repeat(10_000))).has_errors());
    assert!(parsed(&"EXPLAIN ".repeat(10_000)).has_errors());
    let chain = format!("SELECT 1{} AS x", "+1".repeat(20_000));
    assert!(!parsed(&chain).has_errors());
    let alternatives = format!("SELECT a FROM APP1 WHERE a = 1{}", " OR a = 1".repeat(20_000));
    assert!(!parsed(&alternatives).has_errors());
}

/// Pieces that scripts are made of, so that random ones get far into the parser.
const PIECES: [&str; 108] = [
    "IMPORT INTO ",
    "FROM CSV f ",
    "FROM JSON f ",
    "ENCODING SJIS ",
    "NO HEADER ",
    "COLUMNS (",
    "BY NAME ",
    "IGNORE UNKNOWN COLUMNS ",
    "CHECK WHEN ",
    "VALIDATE ONLY ",
    "ON ERROR SKIP INTO #e ",
    "REJECT LIMIT ",
    "SELECT ",
    "DISTINCT ",
    "FROM ",
    "WHERE ",
    "GROUP BY ",
    "HAVING ",
    "ORDER BY ",
    "KORDER BY ",
    "LIMIT ",
    "OFFSET ",
    "UNION ",
    "ALL ",
    "WITH ",
    "RECURSIVE ",
    "AS ",
    "CYCLE ",
    "SET ",
    "TO ",
    "DEFAULT ",
    "GENERATE_SERIES(",
    "CREATE TEMP TABLE ",
    "DROP TEMP TABLE ",
    "DECLARE ",
    "RELATIVE_DATE ",
    "ASSERT ",
    "WARN ",
    "EXIT SUCCESS IF ",
    "INSERT INTO ",
    "UPSERT INTO ",
    "MERGE INTO ",
    "USING ",
    "ON ",
    "WHEN MATCHED THEN UPDATE SET ",
    "WHEN NOT MATCHED THEN INSERT ",
    "VALUES ",
    "KEY (",
    "ON DUPLICATE (",
    "UPDATE ",
    "DELETE FROM ",
    "CASE ",
    "WHEN ",
    "THEN ",
    "ELSE ",
    "END ",
    "IF(",
    "CAST(",
    "COUNT(*) ",
    "SUM(",
    "GROUP_CONCAT(",
    "SEPARATOR ",
    "OVER (",
    "PARTITION BY ",
    "ROWS BETWEEN ",
    "UNBOUNDED PRECEDING ",
    "AND ",
    "OR ",
    "NOT ",
    "IN ",
    "LIKE ",
    "KLIKE ",
    "BETWEEN ",
    "IS ",
    "NULL ",
    "EXISTS ",
    "INNER ",
    "LEFT ",
    "JOIN ",
    "CROSS ",
    "ROLLUP(",
    "CUBE(",
    "GROUPING SETS ",
    "LAG(",
    "UPPER(",
    "TODAY() ",
    "@NOW() ",
    "@x ",
    "#t ",
    "APP1 ",
    "APP1$t ",
    "LAPP_受注 ",
    "LAPP_\"a b\" ",
    "a ",
    "o.a ",
    "_p.a ",
    "`b c` ",
    "'x' ",
    "1 ",
    "1.5e3 ",
    "( ",
    ") ",
    ", ",
    "; ",
    "= ",
    "<> ",
    "|| ",
    "* ",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_parsed_without_panic(text in ".{0,200}", flow in any::<bool>()) {
        let source = if flow { format!("{FLOW}{text}") } else { text };
        let script = parsed(&source);
        for found in &script.diagnostics {
            prop_assert!(found.line >= 1 && found.column >= 1);
        }
    }

    #[test]
    fn any_sequence_of_pieces_is_parsed_without_panic(
        pieces in prop::collection::vec(prop::sample::select(PIECES.as_slice()), 0..40),
        flow in any::<bool>(),
    ) {
        let text = pieces.concat();
        let script = parsed(&if flow { format!("{FLOW}{text}") } else { text });
        let lines = 2;
        for found in &script.diagnostics {
            prop_assert!(found.line <= lines);
        }
    }

    #[test]
    fn damaged_scripts_are_parsed_without_panic(at in 0usize..400, with in "[\\PC]{0,3}") {
        const SCRIPT: &str = "-- @ksql dialect: 1\nASSERT (SELECT COUNT(*) FROM LAPP_受注 WHERE d >= @MONTH_START() AND x < 0) = 0, 'm';\nCREATE TEMP TABLE s AS SELECT k, COUNT(n) AS c, SUM(x) AS t FROM LAPP_受注 WHERE s = 'done' GROUP BY k;\nEXIT SUCCESS IF (SELECT COUNT(*) FROM s) = 0, 'none';\nUPSERT INTO APP20 (k, c, t, n) SELECT k, c, t, @NOW() FROM s KEY (k);";
        let mut chars: Vec<char> = SCRIPT.chars().collect();
        let at = at.min(chars.len());
        chars.splice(at..(at + 1).min(chars.len()), with.chars());
        let text: String = chars.into_iter().collect();
        parsed(&text);
    }
}

#[test]
fn a_script_of_very_many_statements_is_not_parsed_to_its_end() {
    for statement in ["SELECT 1 AS x;", "SELECT;"] {
        let script = parse(&statement.repeat(20_000), &ParseOptions::default());
        let found = script.statements.len().max(script.diagnostics.len());
        assert_eq!(found, MAX_STATEMENTS + 1);
        assert!(script.has_errors());
    }
}
