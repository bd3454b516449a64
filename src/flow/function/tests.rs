//! The vectors of the language and the edges between them, evaluated straight over the function table.

use super::*;
use crate::flow::calendar::Zone;

fn context() -> Context {
    let now = "2026-08-21T15:30:00.250Z".parse().unwrap();
    Context::new(now, Zone::named("Asia/Tokyo").unwrap())
}

fn call(name: &str, args: &[&str]) -> Result<String, FunctionError> {
    let function = lookup(name).unwrap_or_else(|| panic!("no function {name}"));
    let mut out = String::from("kept:");
    let result = function.call(args, &mut context(), &mut out);
    let appended = out
        .strip_prefix("kept:")
        .expect("the buffer keeps what it held")
        .to_owned();
    if result.is_err() {
        assert_eq!(appended, "", "a failed call leaves nothing behind");
    }
    result.map(|()| appended)
}

/// Each case: name, arguments, result.
fn check(cases: &[(&str, &[&str], &str)]) {
    for (name, args, expected) in cases {
        assert_eq!(call(name, args).as_deref(), Ok(*expected), "{name}{args:?}");
    }
}

fn refused(name: &str, args: &[&str]) -> Refusal {
    match call(name, args) {
        Ok(result) => panic!("{name}{args:?} gave {result:?}"),
        Err(error) => error.refusal().clone(),
    }
}

/// One call with literal arguments, as the vectors write it: `NAME('a', -1)` or `CAST('a' AS T)`.
fn parse_call(expression: &str) -> Option<(String, Vec<String>)> {
    let (name, rest) = expression.split_once('(')?;
    let mut rest = rest.strip_suffix(')')?.trim();
    let mut args = Vec::new();
    while !rest.is_empty() {
        let (arg, after) = if let Some(text) = rest.strip_prefix('\'') {
            let end = text.find('\'')?;
            (&text[..end], &text[end + 1..])
        } else {
            rest.split_at(rest.find([',', ' ']).unwrap_or(rest.len()))
        };
        args.push(arg.to_owned());
        let after = after.trim_start();
        rest = after
            .strip_prefix(',')
            .or_else(|| after.strip_prefix("AS "))
            .unwrap_or(after)
            .trim_start();
    }
    Some((name.to_owned(), args))
}

#[test]
fn vectors() {
    let text = include_str!("../../../tests/vectors/ksql/functions.json");
    let vectors: serde_json::Value = serde_json::from_str(text).unwrap();
    let mut checked = 0;
    for vector in vectors.as_array().unwrap() {
        let (id, sql) = (vector["id"].as_str().unwrap(), vector["sql"].as_str().unwrap());
        let expression = sql.strip_prefix("SELECT ").and_then(|s| s.strip_suffix(" AS x"));
        let Some((name, args)) = expression.and_then(parse_call) else {
            continue;
        };
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        let result = call(&name, &args);
        let expect = &vector["expect"];
        match expect["rows"][0][0].as_str() {
            Some(value) => assert_eq!(result.as_deref(), Ok(value), "{id}: {sql}"),
            None => assert_eq!(
                Some(result.unwrap_err().class()),
                expect["error"]["class"].as_str(),
                "{id}"
            ),
        }
        checked += 1;
    }
    assert!(checked >= 60, "only {checked} vectors were recognised");
}

#[test]
fn names_and_counts() {
    for (alias, name) in [
        ("substr", "SUBSTRING"),
        ("convert", "CAST"),
        ("Ceiling", "CEIL"),
        ("TRUNC", "TRUNCATE"),
        ("pow", "POWER"),
    ] {
        assert_eq!(lookup(alias).unwrap().name, name);
    }
    assert!(lookup("SOUNDEX").is_none());
    let mut names: Vec<_> = FUNCTIONS
        .iter()
        .flat_map(|f| f.aliases.iter().chain(std::iter::once(&f.name)))
        .collect();
    let count = names.len();
    names.sort();
    names.dedup();
    assert_eq!(names.len(), count, "a name stands for one function");

    let message = |name: &str, args: &[&str]| call(name, args).unwrap_err().to_string();
    assert_eq!(message("UPPER", &[]), "UPPER: takes 1 argument, but 0 given");
    assert_eq!(
        message("ROUND", &["1", "2", "3"]),
        "ROUND: takes 1 to 2 arguments, but 3 given"
    );
    assert_eq!(
        message("CONCAT", &["a"]),
        "CONCAT: takes at least 2 arguments, but 1 given"
    );
}

#[test]
fn literals_are_checked_before_any_row() {
    let check = |name: &str, args: &[Option<&str>]| lookup(name).unwrap().check(args).is_ok();
    for (name, args) in [
        ("DATE_ADD", [None, Some("x"), Some("DAY")].as_slice()),
        ("DATE_ADD", &[None, None, Some("WEEK")]),
        ("CAST", &[None, Some("DATE")]),
        ("FORMAT", &[None, Some("abc")]),
        ("TRANSLATE", &[None, Some("ab"), Some("x")]),
        ("REGEXP_LIKE", &[None, Some("(")]),
        ("REGEXP_LIKE", &[None, None, Some("g")]),
        ("REGEXP_SUBSTR", &[None, Some("a"), Some("ii")]),
        ("REGEXP_REPLACE", &[None, None, Some("$`")]),
        ("REGEXP_REPLACE", &[None, None, None, Some("x")]),
        ("REGEXP_REPLACE", &[None, None, None, None, Some("-1")]),
        ("UPPER", &[]),
    ] {
        assert!(!check(name, args), "{name}{args:?}");
    }
    for (name, args) in [
        ("DATE_ADD", [None, None, None].as_slice()),
        ("DATE_ADD", &[Some("not a date"), Some("1"), Some("day")]),
        ("CAST", &[None, Some("int")]),
        ("FORMAT", &[None, None]),
        ("TRANSLATE", &[None, Some("ab"), None]),
        ("REGEXP_LIKE", &[None, Some("a+"), None]),
        (
            "REGEXP_REPLACE",
            &[None, Some("a"), Some("$1"), Some("i"), Some("2")],
        ),
        ("UPPER", &[None]),
    ] {
        assert!(check(name, args), "{name}{args:?}");
    }
}

#[test]
fn result_modes() {
    let numeric = |name: &str, args: &[bool]| lookup(name).unwrap().is_numeric(args, None);
    assert!(numeric("LENGTH", &[false]));
    assert!(!numeric("UPPER", &[true]));
    assert!(numeric("COALESCE", &[true, true]));
    assert!(!numeric("COALESCE", &[true, false]));
    let cast = lookup("CAST").unwrap();
    assert!(cast.is_numeric(&[false], CastType::parse("int")));
    assert!(!cast.is_numeric(&[true], CastType::parse("VARCHAR")));
    assert_eq!(CastType::parse("BLOB"), None);
}

#[test]
fn text_functions() {
    check(&[
        ("UPPER", &["straße"], "STRASSE"),
        ("LOWER", &["ΣΑΣ"], "σας"),
        ("TRIM", &["\u{FEFF}\u{3000}\r\n\t a \u{2028}\u{A0}"], "a"),
        ("TRIM", &["\u{85}a"], "\u{85}a"),
        ("RTRIM", &[" a　"], " a"),
        ("LENGTH", &[""], "0"),
        ("LENGTH", &["あ😀"], "3"),
        ("LENGTH_CHAR", &["あ😀"], "2"),
        ("SUBSTRING", &["abcdef", "0", "2"], "ab"),
        ("SUBSTRING", &["abcdef", "-3"], "abcdef"),
        ("SUBSTRING", &["abcdef", "2.9", "1.9"], "b"),
        ("SUBSTRING", &["abcdef", "2", "-1"], ""),
        ("SUBSTRING", &["abcdef", "2", "x"], ""),
        ("SUBSTRING", &["a𠮟b", "2"], "𠮟b"),
        ("SUBSTRING", &["a𠮟b", "3"], "b"),
        ("SUBSTRING", &["a𠮟b", "3", "1"], ""),
        ("SUBSTRING", &["a𠮟b", "1", "2"], "a"),
        ("SUBSTRING", &["a𠮟b", "1", "3"], "a𠮟"),
        ("SUBSTRING", &["日本語", "2", "1e300"], "本語"),
        ("LEFT", &["日本語", "2"], "日本"),
        ("LEFT", &["日本語", "9"], "日本語"),
        ("LEFT", &["abc", "x"], ""),
        ("LEFT", &["𠮟る", "1"], ""),
        ("RIGHT", &["日本語", "2"], "本語"),
        ("RIGHT", &["日本語", "0"], ""),
        ("RIGHT", &["る𠮟", "1"], ""),
        ("RIGHT", &["る𠮟", "2"], "𠮟"),
        ("INSTR", &["abc", ""], "1"),
        ("INSTR", &["", ""], "1"),
        ("INSTR", &["𠮟るb", "b"], "4"),
        ("LPAD", &["7", "3", "0"], "007"),
        ("LPAD", &["7", "3"], "  7"),
        ("LPAD", &["7", "6", "ab"], "ababa7"),
        ("LPAD", &["7", "3", ""], "7"),
        ("LPAD", &["123", "2", ""], "12"),
        ("LPAD", &["7", "0", "x"], ""),
        ("LPAD", &["a", "2", "𠮟"], "a"),
        ("RPAD", &["7", "3", "0"], "700"),
        ("RPAD", &["12345", "3"], "123"),
        ("RPAD", &["a", "4", "𠮟"], "a𠮟"),
        ("CONCAT", &["", ""], ""),
        ("REPLACE", &["aaa", "aa", "b"], "ba"),
        ("REPLACE", &["", "a", "b"], ""),
        ("TRANSLATE", &["aabb", "aba", "xyz"], "xxyy"),
        ("TRANSLATE", &["😀", "😀", "笑"], "笑"),
        ("TRANSLATE", &["abc", "", ""], "abc"),
    ]);
    assert!(matches!(
        refused("TRANSLATE", &["a", "ab", "x"]),
        Refusal::Argument(_)
    ));
}

#[test]
fn choices() {
    check(&[
        ("COALESCE", &["", ""], ""),
        ("COALESCE", &["", "0"], "0"),
        ("ISNULL", &["", "x"], "x"),
        ("ISNULL", &["a", "x"], "a"),
        ("NULLIF", &["1", "1.0"], "1"),
        ("GREATEST", &["", ""], ""),
        ("GREATEST", &["", "-5"], "-5"),
        ("GREATEST", &["1e2", "99", "100"], "1e2"),
        ("LEAST", &["01", "1", "1.0"], "01"),
        ("LEAST", &["b", "a", "10"], "10"),
        (
            "GREATEST",
            &["9007199254740993", "9007199254740992"],
            "9007199254740993",
        ),
    ]);
}

#[test]
fn number_functions() {
    check(&[
        ("ROUND", &["1250", "-2"], "1300"),
        ("ROUND", &["-1250", "-2"], "-1200"),
        ("ROUND", &["-200000.5", "-4"], "-200000"),
        ("ROUND", &["0.49999999999999994"], "0"),
        ("ROUND", &["-0.4"], "0"),
        ("ROUND", &["1.45", "1"], "1.5"),
        ("ROUND", &["1.5", "400"], "1.5"),
        ("ROUND", &["1.5", "-400"], "0"),
        ("ROUND", &["", "2"], "0"),
        ("ROUND", &["x"], "NaN"),
        ("ROUND", &["1", "x"], "NaN"),
        ("ROUND", &["1e300", "10"], "1e+300"),
        ("FLOOR", &["-1.2"], "-2"),
        ("FLOOR", &["129.99", "1"], "129.9"),
        ("CEIL", &["-1.2"], "-1"),
        ("CEIL", &["1201", "-2"], "1300"),
        ("TRUNCATE", &["1.999", "2"], "1.99"),
        ("TRUNCATE", &["-1999", "-3"], "-1000"),
        ("ABS", &["-0"], "0"),
        ("MOD", &["5.5", "2"], "1.5"),
        ("MOD", &["7", "0"], "NaN"),
        ("MOD", &["7", ""], "NaN"),
        ("POWER", &["2", "-1"], "0.5"),
        ("POWER", &["2", "0.5"], "1.4142135623730951"),
        ("POWER", &["1", "Infinity"], "NaN"),
        ("POWER", &["x", "0"], "1"),
        ("POWER", &["10", "400"], "Infinity"),
        ("SQRT", &["-1"], "NaN"),
        ("CAST", &["", "NUMBER"], "0"),
        ("CAST", &["1e3", "decimal"], "1000"),
        ("CAST", &["12.50", "TEXT"], "12.50"),
        ("CAST", &[" ", "INT"], " "),
    ]);
    assert!(matches!(refused("CAST", &["1", "DATE"]), Refusal::Argument(_)));
}

#[test]
fn formats() {
    check(&[
        ("FORMAT", &["1234567.891", "2"], "1,234,567.89"),
        ("FORMAT", &["-1234567.891", "0"], "-1,234,568"),
        ("FORMAT", &["-999", "0"], "-999"),
        ("FORMAT", &["2.5", "0"], "3"),
        ("FORMAT", &["-2.5", "0"], "-3"),
        ("FORMAT", &["0.5", "0"], "1"),
        ("FORMAT", &["1.125", "2"], "1.13"),
        ("FORMAT", &["1.005", "2"], "1.00"),
        ("FORMAT", &["9.5", "0"], "10"),
        ("FORMAT", &["999.5", "0"], "1,000"),
        ("FORMAT", &["0.96875", "4"], "0.9688"),
        ("FORMAT", &["1314207313728615.25", "1"], "1,314,207,313,728,615.3"),
        (
            "FORMAT",
            &["318470003697.3087", "12"],
            "318,470,003,697.308715820313",
        ),
        ("FORMAT", &["-0.001", "2"], "-0.00"),
        ("FORMAT", &["-0", "2"], "0.00"),
        ("FORMAT", &["1e21", "2"], "1e+21"),
        (
            "FORMAT",
            &["123456789012345680000", "0"],
            "123,456,789,012,345,683,968",
        ),
        ("FORMAT", &["", "#,##0"], "0"),
        ("FORMAT", &["x", "#,##0"], "NaN"),
        ("FORMAT", &["1234.5", "0"], "1,235"),
        ("FORMAT", &["1234.5", "#0"], "1235"),
        ("FORMAT", &["1234", "#,##0.##"], "1,234"),
        ("FORMAT", &["1234.567", "#,##0.0#"], "1,234.57"),
        ("FORMAT", &["1234", "#,##0.0#"], "1,234.0"),
        ("FORMAT", &["0.156", "0%"], "16%"),
        ("FORMAT", &["12.3456", "#,##0.00#%"], "1,234.56%"),
        ("FORMAT", &["1", "100"], &format!("1.{}", "0".repeat(100))),
    ]);
    for pattern in [
        "", "101", "abc", "0.#0", "#,##0.", ".", "-1", "0.0.0", "%%", "1.5",
    ] {
        assert!(
            matches!(refused("FORMAT", &["1", pattern]), Refusal::Argument(_)),
            "{pattern}"
        );
    }
}

#[test]
fn date_functions() {
    check(&[
        ("YEAR", &["0026-08-05"], "26"),
        ("MONTH", &["2026-12-05"], "12"),
        ("DAY", &["2026-08-31T00:00:00Z"], "31"),
        ("DAY", &["abcdefghij"], ""),
        ("YEAR", &["日本語日本語日本語日"], ""),
        ("DAYOFWEEK", &["2026-08-22"], "7"),
        ("DAYOFWEEK", &["2026-08-23"], "1"),
        ("DAYOFWEEK", &["2026-02-29"], ""),
        ("DAYOFWEEK", &["2026-8-3xx"], ""),
        ("QUARTER", &["2026-03-31"], "1"),
        ("QUARTER", &["2026/04/01"], "2"),
        ("QUARTER", &["2026-13-01"], ""),
        ("WEEK", &["2027-01-01"], "53"),
        ("WEEK", &["2026-01-01"], "1"),
        ("WEEK", &[""], ""),
        ("DATE_FORMAT", &["2026-08-05", "%H:%i:%s"], "00:00:00"),
        (
            "DATE_FORMAT",
            &["2026-08-05", "%y%m%d %w %% %M %"],
            "260805 3 %% %M %",
        ),
        ("DATE_FORMAT", &["2026-08", "%Y"], ""),
        ("DATE_FORMAT", &["2026-08-05", ""], ""),
        ("DATEDIFF", &["2024-03-01", "2024-02-28"], "2"),
        ("DATEDIFF", &["2026-01-01T23:59:59Z", "2026-01-02"], "-1"),
        ("DATEDIFF", &["2026-02-30", "2026-02-01"], ""),
        ("DATE_ADD", &["2026-12-31T10:00:00Z", "1", "day"], "2027-01-01"),
        ("DATE_ADD", &["2026-03-31", "-1", "MONTH"], "2026-02-28"),
        ("DATE_ADD", &["2026-03-31", "1.9", "DAY"], "2026-04-01"),
        ("DATE_ADD", &["2026-03-31", "", "DAY"], "2026-03-31"),
        ("DATE_ADD", &["2026-03", "1", "DAY"], "2026-03"),
        ("DATE_ADD", &["", "1", "DAY"], ""),
        ("DATE_ADD", &["2026-02-30", "1", "DAY"], ""),
        ("LAST_DAY", &["2026-02-31"], "2026-02-28"),
        ("LAST_DAY", &["2026-02"], ""),
        ("LAST_DAY", &["2026-13-01"], ""),
    ]);
    assert!(matches!(
        refused("DATE_ADD", &["2026-01-01", "x", "DAY"]),
        Refusal::Argument(_)
    ));
    assert!(matches!(
        refused("DATE_ADD", &["9999-12-31", "1", "DAY"]),
        Refusal::Argument(_)
    ));
    assert!(matches!(
        refused("DATE_ADD", &["2026-01-01", "1e300", "YEAR"]),
        Refusal::Argument(_)
    ));
    // The unit is wrong even when there is no date.
    assert!(matches!(
        refused("DATE_ADD", &["", "1", "HOUR"]),
        Refusal::Argument(_)
    ));
}

#[test]
fn the_wall_clock_is_the_contexts() {
    check(&[
        ("TODAY", &[], "2026-08-22"),
        ("CURRENT_DATE", &[], "2026-08-22"),
        ("NOW", &[], "2026-08-21T15:30:00.250Z"),
        ("CURRENT_TIMESTAMP", &[], "2026-08-21T15:30:00.250Z"),
    ]);
}

#[test]
fn results_are_limited() {
    let long = "x".repeat(4096);
    assert_eq!(refused("REPLACE", &[&long, "x", &long]), Refusal::TooLong);
    assert_eq!(refused("LPAD", &["", "1e9"]), Refusal::TooLong);
    assert_eq!(refused("REGEXP_REPLACE", &[&long, "x", &long]), Refusal::TooLong);
    let whole = "$&".repeat(4096);
    assert_eq!(
        refused("REGEXP_REPLACE", &[&long, "^x*$", &whole]),
        Refusal::TooLong
    );
    let third = "x".repeat(MAX_RESULT_BYTES / 2);
    assert_eq!(refused("CONCAT", &[&third, &third, "y"]), Refusal::TooLong);
}
