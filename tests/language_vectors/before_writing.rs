//! What the form forbids is found over all rows before the first is written: by the run itself, by its preview and by
//! VALIDATE ONLY alike (LNG-140, LNG-144, LNG-153).

use ksql_flownet::flow::exec::{Config, DryRun, EngineError, Session, StatementOutcome, Unobserved};
use ksql_flownet::flow::script::{ParseOptions, parse};
use serde_json::{Value, json};

use super::kintone::Kintone;
use super::run::config;

/// 150 good source rows and a bad one behind them, which would be in the second request.
fn model() -> Kintone {
    let mut rows: Vec<Value> = (1..=150)
        .map(|i| {
            json!([
                format!("k{i}"),
                "1",
                "短い",
                "09:00",
                "2026-08-01",
                "https://example.com",
                "A",
                format!("u{i}")
            ])
        })
        .collect();
    rows.push(json!([
        "k151",
        "5000",
        "長すぎる文字列",
        "1:5",
        "2026-02-30",
        "example.com",
        "Z",
        "u1"
    ]));
    let text = "SINGLE_LINE_TEXT";
    let fields = json!({
        "鍵": {"type": text, "unique": true, "required": true},
        "量": {"type": "NUMBER", "minValue": "0", "maxValue": "1000"},
        "名": {"type": text, "minLength": "2", "maxLength": "4"},
        "時": "TIME",
        "日": "DATE",
        "先": {"type": "LINK", "protocol": "WEB"},
        "印": {"type": "CHECK_BOX", "options": ["A", "B"]},
        "番": {"type": text, "unique": true},
    });
    let mut strict = fields.clone();
    strict["要"] = json!({"type": text, "required": true});
    let columns = ["鍵", "量", "名", "時", "日", "先", "印", "番"];
    let plain: Value = columns
        .iter()
        .map(|code| ((*code).to_owned(), json!(text)))
        .collect::<serde_json::Map<_, _>>()
        .into();
    let fixtures = json!({
        "APP1": {"fields": plain, "columns": columns, "rows": rows},
        "APP2": {"fields": fields, "columns": ["鍵"], "rows": [["k1"], ["k151"]]},
        "APP3": {"fields": strict, "columns": ["鍵", "要"], "rows": [["k1", "x"]]},
    });
    Kintone::new(&fixtures, &json!({}))
}

fn run(kintone: &Kintone, config: Config, sql: &str) -> Result<StatementOutcome, EngineError> {
    let options = ParseOptions {
        apps: Some(&config.apps),
        strict: false,
    };
    let script = parse(&format!("-- @ksql dialect: 1\n{sql}"), &options);
    assert!(!script.has_errors(), "{sql}: {:?}", script.diagnostics);
    let mut session = Session::new(kintone, config, &Unobserved);
    let mut last = None;
    for statement in &script.statements {
        last = Some(session.run(statement)?);
    }
    Ok(last.expect("a statement"))
}

/// Fails with all of these words and writes nothing; VALIDATE ONLY agrees about how many rows are wrong.
fn refused(sql: &str, words: &[&str], wrong_rows: u64) {
    let settings = || config(&json!({}), true);
    let preview = Config {
        dry_run: Some(DryRun { samples: 1 }),
        ..settings()
    };
    for config in [settings(), preview] {
        let kintone = model();
        let error = run(&kintone, config, sql).expect_err(sql).to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{sql}: {error}");
        assert!(kintone.writes().is_empty(), "{sql}");
    }
    let outcome = run(&model(), settings(), &format!("{sql} VALIDATE ONLY"))
        .unwrap_or_else(|error| panic!("{sql}: {error}"));
    assert_eq!(outcome.wrong_rows, Some(wrong_rows), "{sql}");
}

#[test]
fn every_value_is_tested_before_the_first_is_written() {
    for (field, why) in [
        ("量", "5000 is more than 1000"),
        ("名", "7 characters, more than 4"),
        ("時", "'1:5' is not a time"),
        ("日", "'2026-02-30' is not a date"),
        ("先", "'example.com' is no link"),
        ("印", "no option 'Z'"),
    ] {
        let upsert = format!("UPSERT INTO APP2 (鍵, {field}) SELECT 鍵, {field} FROM APP1 KEY (鍵)");
        refused(&upsert, &["source row 151 (鍵 = k151)", why], 1);
        let insert = format!("INSERT INTO APP2 (鍵, {field}) SELECT CONCAT('n', 鍵), {field} FROM APP1");
        refused(&insert, &["source row 151", why], 1);
        let update = format!("UPDATE APP2 SET {field} = s.{field} FROM APP1 s WHERE APP2.鍵 = s.鍵");
        refused(&update, &["record 2", why], 1);
    }
    refused(
        "UPDATE APP2 SET 鍵 = '' WHERE 鍵 = 'k1'",
        &["record 1", "鍵 must not be empty"],
        1,
    );
}

#[test]
fn one_value_for_several_records_is_refused_where_duplicates_are_prohibited() {
    let both = "rows 1 and 151 would both get u1";
    refused(
        "INSERT INTO APP2 (鍵, 番) SELECT CONCAT('n', 鍵), 番 FROM APP1",
        &["番", both],
        2,
    );
    refused(
        "UPSERT INTO APP2 (鍵, 番) SELECT 鍵, 番 FROM APP1 KEY (鍵)",
        &["番", both],
        2,
    );
    refused(
        "UPDATE APP2 SET 番 = 'same' WHERE 鍵 != ''",
        &["rows 1 and 2", "same"],
        2,
    );
    let sql = "INSERT INTO APP2 (鍵, 番) VALUES ('x', ''), ('y', '')";
    let kintone = model();
    run(&kintone, config(&json!({}), true), sql).expect("two empty values are no duplicates");
    assert_eq!(kintone.writes().len(), 2);
}

#[test]
fn a_new_record_gets_what_it_must_have() {
    refused("INSERT INTO APP3 (鍵) VALUES ('x')", &["row 1", "without 要"], 1);
    refused(
        "UPSERT INTO APP3 (鍵, 量) VALUES ('k1', 1), ('x', 2) KEY (鍵)",
        &["row 2", "without 要"],
        1,
    );
    let kintone = model();
    let sql = "UPSERT INTO APP3 (鍵, 量) VALUES ('k1', 1) KEY (鍵)";
    run(&kintone, config(&json!({}), true), sql).expect("a stored record has it already");
    assert_eq!(kintone.writes().len(), 1);
}
