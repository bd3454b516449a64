//! Three ways to one result: the engine with push-down, the engine without, and a naive evaluation of the same random
//! condition over the same random rows, written here from the rules alone.

use std::collections::BTreeMap;

use ksql_flownet::flow::exec::{Config, EngineError, Relation, Session, StatementOutcome, Unobserved};
use ksql_flownet::flow::script::{ParseOptions, Script, parse};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::kintone::Kintone;
use super::run::config;

/// A record: number, text, option, check boxes, day, instant.
#[derive(Clone, Debug)]
struct Row {
    number: &'static str,
    text: &'static str,
    option: &'static str,
    checks: Vec<&'static str>,
    day: &'static str,
    instant: &'static str,
}

/// What of kintone is not documented, or disputed: no result may depend on it.
#[derive(Clone, Copy, Debug)]
struct Undocumented {
    empty_is_less: bool,
    text_by_words: bool,
}

const NUMBERS: [&str; 9] = ["", "0", "-5", "1.10", "1.1", "10", "9", "2.5", "100"];
const TEXTS: [&str; 9] = ["", "a", "A", "B", "ab", "a b", "あ", "10", "9"];
const OPTIONS: [&str; 4] = ["", "低", "中", "高"];
const DAYS: [&str; 4] = ["", "2026-07-31", "2026-08-01", "2026-08-02"];
/// As they are stored: whole minutes.
const INSTANTS: [&str; 4] = [
    "",
    "2026-08-01T10:19:00Z",
    "2026-08-01T10:20:00Z",
    "2026-08-01T10:21:00Z",
];
/// As they are asked for.
const INSTANTS_MEANT: [&str; 5] = [
    "",
    "2026-08-01T10:20:00Z",
    "2026-08-01T10:20:01Z",
    "2026-08-01T10:20:59Z",
    "2026-08-01T10:21:00Z",
];
const CHECKS: [&str; 3] = ["A", "B", "C"];
const OPERATORS: [&str; 6] = ["=", "!=", "<", "<=", ">", ">="];

#[derive(Clone, Debug)]
enum Condition {
    And(Vec<Condition>),
    Or(Vec<Condition>),
    Not(Box<Condition>),
    Number(&'static str, &'static str),
    Text(&'static str, &'static str),
    Option(&'static str, &'static str),
    Day(&'static str, &'static str),
    Instant(&'static str, &'static str),
    NumberIn(Vec<&'static str>, bool),
    TextIn(Vec<&'static str>, bool),
    ChecksIn(Vec<&'static str>, bool),
    Like(&'static str, bool),
    Null(&'static str, bool),
    Computed(&'static str, i64),
}

impl Condition {
    fn sql(&self) -> String {
        let list = |values: &[&str], quote: &str| {
            values
                .iter()
                .map(|value| format!("{quote}{value}{quote}"))
                .collect::<Vec<_>>()
                .join(", ")
        };
        let not = |negated: &bool| if *negated { "NOT " } else { "" };
        match self {
            Self::And(parts) | Self::Or(parts) => {
                let word = if matches!(self, Self::And(_)) {
                    " AND "
                } else {
                    " OR "
                };
                format!("({})", parts.iter().map(Self::sql).collect::<Vec<_>>().join(word))
            }
            Self::Not(inner) => format!("NOT ({})", inner.sql()),
            Self::Number(operator, "") => format!("数 {operator} ''"),
            Self::Number(operator, value) => format!("数 {operator} {value}"),
            Self::Text(operator, value) => format!("文 {operator} '{value}'"),
            Self::Option(operator, value) => format!("選 {operator} '{value}'"),
            Self::Day(operator, value) => format!("日 {operator} '{value}'"),
            Self::Instant(operator, value) => format!("時 {operator} '{value}'"),
            Self::NumberIn(values, negated) => format!("数 {}IN ({})", not(negated), list(values, "")),
            Self::TextIn(values, negated) => format!("文 {}IN ({})", not(negated), list(values, "'")),
            Self::ChecksIn(values, negated) => format!("印 {}IN ({})", not(negated), list(values, "'")),
            Self::Like(pattern, negated) => format!("文 {}LIKE '{pattern}'", not(negated)),
            Self::Null(field, negated) => format!("{field} IS {}NULL", not(negated)),
            Self::Computed(operator, value) => format!("数 * 2 + 1 {operator} {value}"),
        }
    }

    fn holds(&self, row: &Row) -> bool {
        match self {
            Self::And(parts) => parts.iter().all(|part| part.holds(row)),
            Self::Or(parts) => parts.iter().any(|part| part.holds(row)),
            Self::Not(inner) => !inner.holds(row),
            Self::Number(operator, value) => decide(operator, &hundredths(row.number), &hundredths(value)),
            Self::Text(operator, value) => decide(operator, &row.text, value),
            Self::Option(operator, value) => decide(operator, &rank(row.option), &rank(value)),
            Self::Day(operator, value) => decide(operator, &row.day, value),
            Self::Instant(operator, value) => decide(operator, &row.instant, value),
            Self::NumberIn(values, negated) => {
                values
                    .iter()
                    .any(|value| hundredths(value) == hundredths(row.number))
                    != *negated
            }
            Self::TextIn(values, negated) => values.contains(&row.text) != *negated,
            Self::ChecksIn(values, negated) => {
                let found = if row.checks.is_empty() {
                    values.contains(&"")
                } else {
                    row.checks.iter().any(|check| values.contains(check))
                };
                found != *negated
            }
            Self::Like(pattern, negated) => like(row.text, pattern) != *negated,
            Self::Null(field, negated) => {
                let cell = match *field {
                    "数" => row.number,
                    "文" => row.text,
                    "選" => row.option,
                    "印" => row.checks.first().copied().unwrap_or(""),
                    "時" => row.instant,
                    _ => row.day,
                };
                cell.is_empty() != *negated
            }
            Self::Computed(operator, value) => {
                let number = hundredths(row.number).unwrap_or(0);
                decide(operator, &(number * 2 + 100), &(value * 100))
            }
        }
    }
}

fn decide<T: PartialOrd>(operator: &str, left: &T, right: &T) -> bool {
    match operator {
        "=" => left == right,
        "!=" => left != right,
        "<" => left < right,
        "<=" => left <= right,
        ">" => left > right,
        _ => left >= right,
    }
}

/// A number as whole hundredths; nothing for the empty cell, which `Option` orders first.
fn hundredths(text: &str) -> Option<i64> {
    if text.is_empty() {
        return None;
    }
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let fraction: i64 = format!("{fraction:0<2}").parse().unwrap();
    let whole: i64 = whole.parse().unwrap();
    Some(
        whole * 100
            + if text.starts_with('-') {
                -fraction
            } else {
                fraction
            },
    )
}

fn rank(option: &str) -> Option<usize> {
    OPTIONS.iter().position(|known| *known == option)
}

fn like(text: &str, pattern: &str) -> bool {
    match pattern {
        "a%" => text.starts_with('a'),
        "_" => text.chars().count() == 1,
        contained => text.contains(contained),
    }
}

fn row() -> impl Strategy<Value = Row> {
    (
        prop::sample::select(&NUMBERS[..]),
        prop::sample::select(&TEXTS[..]),
        prop::sample::select(&OPTIONS[..]),
        prop::sample::subsequence(&CHECKS[..], 0..=3),
        prop::sample::select(&DAYS[..]),
        prop::sample::select(&INSTANTS[..]),
    )
        .prop_map(|(number, text, option, checks, day, instant)| Row {
            number,
            text,
            option,
            checks,
            day,
            instant,
        })
}

fn undocumented() -> impl Strategy<Value = Undocumented> {
    any::<(bool, bool)>().prop_map(|(empty_is_less, text_by_words)| Undocumented {
        empty_is_less,
        text_by_words,
    })
}

fn condition() -> impl Strategy<Value = Condition> {
    let operator = || prop::sample::select(&OPERATORS[..]);
    let equality = || prop::sample::select(&OPERATORS[..]);
    let leaf = prop_oneof![
        (operator(), prop::sample::select(&NUMBERS[..])).prop_map(|(o, v)| Condition::Number(o, v)),
        (operator(), prop::sample::select(&TEXTS[..])).prop_map(|(o, v)| Condition::Text(o, v)),
        (equality(), prop::sample::select(&OPTIONS[..])).prop_map(|(o, v)| Condition::Option(o, v)),
        (operator(), prop::sample::select(&DAYS[..])).prop_map(|(o, v)| Condition::Day(o, v)),
        (operator(), prop::sample::select(&INSTANTS_MEANT[..])).prop_map(|(o, v)| Condition::Instant(o, v)),
        (prop::sample::subsequence(&NUMBERS[1..], 1..4), any::<bool>())
            .prop_map(|(v, n)| Condition::NumberIn(v, n)),
        (prop::sample::subsequence(&TEXTS[..], 1..4), any::<bool>())
            .prop_map(|(v, n)| Condition::TextIn(v, n)),
        (
            prop::sample::subsequence(&["", "A", "B", "C"][..], 1..3),
            any::<bool>()
        )
            .prop_map(|(v, n)| Condition::ChecksIn(v, n)),
        (prop::sample::select(&["a%", "_", "b"][..]), any::<bool>()).prop_map(|(p, n)| Condition::Like(p, n)),
        (
            prop::sample::select(&["数", "文", "選", "印", "日", "時"][..]),
            any::<bool>()
        )
            .prop_map(|(f, n)| Condition::Null(f, n)),
        (operator(), -3i64..30).prop_map(|(o, v)| Condition::Computed(o, v)),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::And),
            prop::collection::vec(inner.clone(), 2..4).prop_map(Condition::Or),
            inner.prop_map(|c| Condition::Not(Box::new(c))),
        ]
    })
}

/// A condition of the kinds that may decide what is deleted.
fn pushable() -> impl Strategy<Value = Condition> {
    condition().prop_filter("no expression decides what is written", |condition| {
        fn plain(condition: &Condition) -> bool {
            match condition {
                Condition::And(parts) | Condition::Or(parts) => parts.iter().all(plain),
                Condition::Not(inner) => plain(inner),
                Condition::Like(..) | Condition::Computed(..) => false,
                _ => true,
            }
        }
        plain(condition)
    })
}

fn kintone(rows: &[Row], others: &[&str], undocumented: Undocumented) -> Kintone {
    let records: Vec<Value> = rows
        .iter()
        .map(|row| json!([row.number, row.text, row.option, row.checks, row.day, row.instant]))
        .collect();
    let texts: Vec<Value> = others.iter().map(|text| json!([text])).collect();
    let fixtures = json!({
        "APP1": {
            "fields": {
                "数": "NUMBER", "文": "SINGLE_LINE_TEXT", "選": {"type": "DROP_DOWN", "options": ["低", "中", "高"]},
                "印": {"type": "CHECK_BOX", "options": CHECKS}, "日": "DATE", "時": "DATETIME",
            },
            "columns": ["数", "文", "選", "印", "日", "時"],
            "rows": records,
            "emptyIsLess": undocumented.empty_is_less,
            "textEquality": if undocumented.text_by_words { "words" } else { "exact" },
        },
        "APP2": {"fields": {"文": "SINGLE_LINE_TEXT"}, "columns": ["文"], "rows": texts, "textEquality": if undocumented.text_by_words { "words" } else { "exact" }},
    });
    Kintone::new(&fixtures, &json!({}))
}

/// What becomes of one statement.
fn outcome(kintone: &Kintone, sql: &str, push_down: bool) -> Result<StatementOutcome, EngineError> {
    let (script, config) = script(sql, push_down);
    Session::new(kintone, config, &Unobserved).run(&script.statements[0])
}

fn script(sql: &str, push_down: bool) -> (Script, Config) {
    let config = config(&json!({}), push_down);
    let script = parse(
        sql,
        &ParseOptions {
            apps: Some(&config.apps),
            strict: false,
        },
    );
    assert!(!script.has_errors(), "{sql}: {:?}", script.diagnostics);
    (script, config)
}

/// In what a plan on an untouched model is not what was asked.
fn unplanned(untouched: &Kintone, asked: &Kintone, sql: &str, push_down: bool) -> Option<String> {
    let (script, config) = script(sql, push_down);
    super::plans::differs(untouched, config, &script, &asked.requests())
}

/// The result of a query, with and without push-down; its plan says what that takes.
fn both(kintone: impl Fn() -> Kintone, sql: &str) -> [Vec<Vec<String>>; 2] {
    [true, false].map(|push_down| {
        let asked = kintone();
        let outcome = outcome(&asked, sql, push_down).unwrap_or_else(|error| panic!("{sql}: {error}"));
        let why = unplanned(&kintone(), &asked, sql, push_down);
        assert!(why.is_none(), "{sql}: {why:?}");
        outcome.result.as_ref().map_or_else(Vec::new, cells)
    })
}

fn cells(relation: &Relation) -> Vec<Vec<String>> {
    (0..relation.rows())
        .map(|row| {
            (0..relation.columns().len())
                .map(|column| relation.cell(row, column).to_owned())
                .collect()
        })
        .collect()
}

fn ids(rows: &[Vec<String>]) -> Vec<u64> {
    rows.iter().map(|row| row[0].parse().unwrap()).collect()
}

/// Numbers of the rows that a condition lets pass.
fn chosen(rows: &[Row], condition: &Condition) -> Vec<u64> {
    (1..)
        .zip(rows)
        .filter(|(_, row)| condition.holds(row))
        .map(|(id, _)| id)
        .collect()
}

fn sum(rows: &[&Row]) -> f64 {
    rows.iter()
        .filter(|row| !row.number.is_empty())
        .map(|row| row.number.parse::<f64>().unwrap())
        .sum()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn where_chooses_the_same_rows(rows in prop::collection::vec(row(), 0..12), condition in condition(), undocumented in undocumented()) {
        let sql = format!("SELECT $id FROM APP1 WHERE {}", condition.sql());
        let expected = chosen(&rows, &condition);
        for found in both(|| kintone(&rows, &[], undocumented), &sql) {
            prop_assert_eq!(ids(&found), expected.clone(), "{}", sql);
        }
    }

    #[test]
    fn counts_and_sums_agree(rows in prop::collection::vec(row(), 0..12), condition in condition(), undocumented in undocumented()) {
        let filter = condition.sql();
        let passed: Vec<&Row> = rows.iter().filter(|row| condition.holds(row)).collect();
        for found in both(|| kintone(&rows, &[], undocumented), &format!("SELECT COUNT(*) AS c FROM APP1 WHERE {filter}")) {
            prop_assert_eq!(&found, &vec![vec![passed.len().to_string()]]);
        }
        let sql = format!("SELECT 選, COUNT(*) AS c, SUM(数) AS s, COUNT(数) AS n FROM APP1 WHERE {filter} GROUP BY 選 HAVING COUNT(*) > 1");
        let mut groups: Vec<(&str, Vec<&Row>)> = Vec::new();
        for row in passed {
            match groups.iter_mut().find(|(option, _)| *option == row.option) {
                Some((_, members)) => members.push(row),
                None => groups.push((row.option, vec![row])),
            }
        }
        groups.retain(|(_, members)| members.len() > 1);
        for found in both(|| kintone(&rows, &[], undocumented), &sql) {
            prop_assert_eq!(found.len(), groups.len(), "{}", sql);
            for (cells, (option, members)) in found.iter().zip(&groups) {
                let numbers = members.iter().filter(|row| !row.number.is_empty()).count();
                prop_assert_eq!(&cells[0], option);
                prop_assert_eq!(&cells[1], &members.len().to_string());
                prop_assert_eq!(cells[2].parse::<f64>().unwrap().to_bits(), (sum(members) + 0.0).to_bits());
                prop_assert_eq!(&cells[3], &numbers.to_string());
            }
        }
    }

    #[test]
    fn order_and_window_of_rows_agree(
        rows in prop::collection::vec(row(), 0..12),
        condition in condition(),
        undocumented in undocumented(),
        (limit, offset, descending) in (0usize..6, 0usize..4, any::<bool>()),
    ) {
        let direction = if descending { "DESC" } else { "ASC" };
        let sql = format!(
            "SELECT $id FROM APP1 WHERE {} ORDER BY 数 {direction}, 選 LIMIT {limit} OFFSET {offset}",
            condition.sql()
        );
        let mut expected = chosen(&rows, &condition);
        expected.sort_by(|a, b| {
            let (a, b) = (&rows[*a as usize - 1], &rows[*b as usize - 1]);
            let numbers = hundredths(a.number).cmp(&hundredths(b.number));
            let numbers = if descending { numbers.reverse() } else { numbers };
            numbers.then(rank(a.option).cmp(&rank(b.option)))
        });
        let expected: Vec<u64> = expected.into_iter().skip(offset).take(limit).collect();
        for found in both(|| kintone(&rows, &[], undocumented), &sql) {
            prop_assert_eq!(ids(&found), expected.clone(), "{}", sql);
        }
    }

    #[test]
    fn windows_without_order_agree(
        rows in prop::collection::vec(row(), 0..12),
        condition in condition(),
        limit in 1usize..6,
        undocumented in undocumented(),
    ) {
        let sql = format!("SELECT $id FROM APP1 WHERE {} LIMIT {limit}", condition.sql());
        let expected: Vec<u64> = chosen(&rows, &condition).into_iter().take(limit).collect();
        for found in both(|| kintone(&rows, &[], undocumented), &sql) {
            prop_assert_eq!(ids(&found), expected.clone(), "{}", sql);
        }
    }

    #[test]
    fn joins_agree(
        rows in prop::collection::vec(row(), 0..8),
        others in prop::collection::vec(prop::sample::select(&TEXTS[..]), 0..6),
        kind in prop::sample::select(&["INNER", "LEFT", "RIGHT"][..]),
        undocumented in undocumented(),
    ) {
        let sql = format!("SELECT a.$id AS x, b.$id AS y FROM APP1 a {kind} JOIN APP2 b ON a.文 = b.文 WHERE b.文 != 'B'");
        let mut expected: BTreeMap<(String, String), usize> = BTreeMap::new();
        let mut add = |a: String, b: String, text: &str| {
            if text != "B" {
                *expected.entry((a, b)).or_default() += 1;
            }
        };
        for (id, row) in (1..).zip(&rows) {
            let met: Vec<usize> = (1..).zip(&others).filter(|(_, text)| **text == row.text).map(|(id, _)| id).collect();
            for other in &met {
                add(id.to_string(), other.to_string(), row.text);
            }
            if met.is_empty() && kind == "LEFT" {
                add(id.to_string(), String::new(), "");
            }
        }
        for (id, text) in (1..).zip(&others) {
            if kind == "RIGHT" && !rows.iter().any(|row| row.text == *text) {
                add(String::new(), id.to_string(), text);
            }
        }
        for found in both(|| kintone(&rows, &others, undocumented), &sql) {
            let mut counted: BTreeMap<(String, String), usize> = BTreeMap::new();
            for row in found {
                *counted.entry((row[0].clone(), row[1].clone())).or_default() += 1;
            }
            prop_assert_eq!(&counted, &expected, "{}", sql);
        }
    }

    #[test]
    fn subqueries_agree(
        rows in prop::collection::vec(row(), 0..12), others in prop::collection::vec(prop::sample::select(&TEXTS[1..]), 0..5),
        condition in condition(), second in condition(), undocumented in undocumented(),
        test in prop::sample::select(&[
            "文 IN (SELECT 文 FROM APP2)", "文 NOT IN (SELECT 文 FROM APP2)", "EXISTS (SELECT 文 FROM APP2)",
            "数 > (SELECT COUNT(*) FROM APP2)", "NOT EXISTS (SELECT 文 FROM APP2 WHERE 文 = 'a')",
            "(SELECT COUNT(*) FROM APP2) > 2", "文 IN ('a', (SELECT MIN(文) FROM APP2))",
            "CASE WHEN EXISTS (SELECT 文 FROM APP2) THEN 数 ELSE 1 END > 3",
        ][..]),
        shape in prop::sample::select(&["{a} AND {t}", "{a} OR {t}", "{a} AND ({b} OR {t})", "({a} AND {t}) OR {b}", "NOT ({a} AND {t})"][..]),
        selected in prop::sample::select(&["$id", "COUNT(*)", "$id, 文", "CASE WHEN EXISTS (SELECT 文 FROM APP2) AND 文 = 'a' THEN 選 ELSE 日 END"][..]),
        tail in prop::sample::select(&["", " LIMIT 3"][..]),
    ) {
        let filter = shape.replace("{a}", &condition.sql()).replace("{b}", &second.sql()).replace("{t}", test);
        let sql = format!("SELECT {selected} FROM APP1 WHERE {filter}{tail}");
        let others: Vec<&str> = others.clone();
        let [sent, kept] = both(|| kintone(&rows, &others, undocumented), &sql);
        prop_assert_eq!(sent, kept, "{}", sql);
    }

    #[test]
    fn deletions_touch_what_the_condition_chooses(rows in prop::collection::vec(row(), 0..12), condition in pushable(), undocumented in undocumented()) {
        let sql = format!("DELETE FROM APP1 WHERE {}", condition.sql());
        let expected = chosen(&rows, &condition);
        for push_down in [true, false] {
            let asked = kintone(&rows, &[], undocumented);
            let done = outcome(&asked, &sql, push_down);
            if done.is_ok() {
                let why = unplanned(&kintone(&rows, &[], undocumented), &asked, &sql, push_down);
                prop_assert!(why.is_none(), "{}: {:?}", sql, why);
            }
            let kintone = asked;
            match done {
                Ok(_) => {
                    let deleted: Vec<u64> = kintone.writes().iter().map(|write| write.id).collect();
                    prop_assert_eq!(&deleted, &expected, "{}", sql);
                }
                Err(error) => {
                    prop_assert!(error.to_string().contains("true for every record"), "{}: {}", sql, error);
                    prop_assert_eq!(rows.len(), expected.len(), "{}", sql);
                    prop_assert!(kintone.writes().is_empty());
                }
            }
        }
    }
}
