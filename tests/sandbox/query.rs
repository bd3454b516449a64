//! The query language against records (KTB-50 to KTB-74).
use serde_json::{Value as Json, json};

use crate::harness::Sandbox;
use crate::lab::{self, LAB, added, column, options, password, query};

/// Names of the records that a query finds, in the order of their ids.
fn found(sandbox: &Sandbox, text: &str) -> Vec<String> {
    let text = format!("{text} order by $id asc");
    column(sandbox, "lab", LAB, &text, "key")
}

#[test]
fn ktb_50_to_64_refused_queries() {
    let sandbox = lab::start("bad-queries");
    let cases = [
        ("text = 'x'", "CB_VA01"),
        ("text = \"a\tb\"", "CB_VA01"),
        ("text = \"a\nb\"", "CB_VA01"),
        ("text == \"a\"", "CB_VA01"),
        ("`text` = \"a\"", "CB_VA01"),
        ("limit -1", "CB_VA01"),
        ("limit 1 offset -1", "CB_VA01"),
        ("limit 1.5", "CB_VA01"),
        ("num = \"abc\"", "CB_VA01"),
        ("date = \"2026-02-30\"", "CB_VA01"),
        ("date = SOON()", "CB_VA01"),
        ("limit 501", "GAIA_QU01"),
        ("limit 1 offset 10001", "GAIA_QU02"),
        ("unknown = \"a\"", "GAIA_IQ11"),
        ("order by unknown asc", "GAIA_IQ11"),
        ("ステータス = \"a\"", "GAIA_IQ11"),
        ("multi = \"a\"", "GAIA_IQ03"),
        ("multi in (\"a\")", "GAIA_IQ03"),
        ("drop = \"a\"", "GAIA_IQ03"),
        ("drop like \"a\"", "GAIA_IQ03"),
        ("radio != \"x\"", "GAIA_IQ03"),
        ("text is empty", "GAIA_IQ03"),
        ("text > \"a\"", "GAIA_IQ03"),
        ("num like \"1\"", "GAIA_IQ03"),
        ("date in (\"2026-01-01\")", "GAIA_IQ03"),
        ("users = \"east\"", "GAIA_IQ03"),
        ("$id like \"1\"", "GAIA_IQ03"),
        ("作成者 = \"east\"", "GAIA_IQ03"),
        ("表 in (\"a\")", "GAIA_IQ03"),
        ("t_text = \"a\"", "GAIA_IQ07"),
        ("t_num != 1", "GAIA_IQ07"),
        ("t_date = \"2026-01-01\"", "GAIA_IQ07"),
        ("check in (\"z\")", "GAIA_IQ10"),
        ("drop not in (\"a\", \"z\")", "GAIA_IQ10"),
        ("t_check in (\"z\")", "GAIA_IQ10"),
        ("order by multi asc", "GAIA_IQ10"),
        ("表.t_text in (\"a\")", "GAIA_IR02"),
        ("date = TODAY(1)", "GAIA_IL08"),
        ("date = THIS_MONTH(40)", "GAIA_IQ23"),
        ("date = FROM_TODAY(1, HOURS)", "GAIA_IQ25"),
    ];
    for (text, code) in cases {
        let answer = query(&sandbox, "lab", LAB, text);
        assert_eq!(answer.failure(), (400, code), "{text:?}: {}", answer.body);
        let expected: &[&str] = if code == "CB_VA01" { &["query"] } else { &[] };
        assert_eq!(answer.paths(), expected, "{text:?}");
    }
    let white = "\u{3000}text\t=\r\n\"a\"\u{3000}order\nby $id\tasc ";
    assert_eq!(query(&sandbox, "lab", LAB, white).status, 200, "KTB-53");
}

fn filled() -> Sandbox {
    let sandbox = lab::start("queries");
    let row = |text: &str, num: Json| lab::record(&json!({ "t_text": text, "t_num": num }));
    let table = |rows: Vec<Json>| Json::Array(rows.into_iter().map(|row| json!({ "value": row })).collect());
    let records = [
        json!({ "key": "one", "text": "テスト", "num": 1, "drop": "a", "radio": "x", "check": ["a", "b"],
            "multi": "  \n\u{3000}", "date": "2026-08-31", "time": "09:30", "dt": "2026-08-31T14:59:00Z", "unum": "5.0",
            "users": [{ "code": "east" }], "order": "o1", "表": table(vec![row("p", json!(1)), row("q", json!(50))]) }),
        json!({ "key": "two", "text": "テスト2", "num": "10.50", "drop": "b", "check": ["b"],
            "multi": "gamma keyword", "date": "2026-09-01", "time": "10:00", "dt": "2026-08-31T15:00:00Z", "unum": -3,
            "users": [{ "code": "east" }, { "code": "west" }], "order": "o2", "表": table(vec![row("p", json!(60))]) }),
        json!({ "key": "three", "text": "a\"b\\c", "num": -7, "multi": "東京都庁", "rich": "<b>x</b>", "表": table(vec![]) }),
    ];
    sandbox.insert(LAB, &records.map(|record| lab::record(&record)));
    sandbox
}

#[test]
fn ktb_65_to_72_meaning() {
    let sandbox = filled();
    let cases: &[(&str, &[&str])] = &[
        // Text (KTB-51, KTB-69)
        ("text = \"テスト\"", &["one"]),
        ("text != \"テスト\"", &["two", "three"]),
        ("text = \"a\\\"b\\\\c\"", &["three"]),
        ("text in (\"テスト\", \"テスト2\")", &["one", "two"]),
        ("text not in (\"テスト\")", &["two", "three"]),
        ("key in (\"three\", \"one\", \"none\")", &["one", "three"]),
        ("key = \"two\" and num > 100", &[]),
        ("order = \"o1\" or order in (\"o2\")", &["one", "two"]),
        ("文字列__1行_ = \"\"", &["one", "two", "three"]),
        // Words (KTB-66) and emptiness (KTB-67)
        ("multi like \"key\"", &[]),
        ("multi like \"keyword\"", &["two"]),
        ("multi not like \"keyword\"", &["one", "three"]),
        ("multi like \"京都\"", &["three"]),
        ("multi is empty", &["one"]),
        ("multi is not empty", &["two", "three"]),
        ("rich is empty", &["one", "two"]),
        ("file is empty", &["one", "two", "three"]),
        // Numbers
        ("num = 10.5", &["two"]),
        ("num = \"10.50\"", &["two"]),
        ("num >= -7 and num <= 1", &["one", "three"]),
        ("num in (1, \"-7.0\")", &["one", "three"]),
        ("num != 1", &["two", "three"]),
        ("num < -7", &[]),
        ("unum = 5", &["one"]),
        ("unum in (5, -3)", &["one", "two"]),
        ("unum in (\"\")", &["three"]),
        ("$id > 1", &["two", "three"]),
        ("$id >= 1.5 and $id < 2.5", &["two"]),
        ("$id in (1, 3, 99)", &["one", "three"]),
        ("$id not in (1)", &["two", "three"]),
        ("$id != 2", &["one", "three"]),
        (
            "$id > -99999999999999999999999999999999999999999999",
            &["one", "two", "three"],
        ),
        ("$id > 18446744073709551615", &[]),
        ("レコード番号 <= 2", &["one", "two"]),
        // Choices (KTB-68)
        ("drop in (\"\")", &["three"]),
        ("drop not in (\"\", \"a\")", &["two"]),
        ("drop in (\"a\", \"\")", &["one", "three"]),
        ("radio in (\"x\")", &["one"]),
        ("check in (\"a\")", &["one"]),
        ("check in (\"\")", &["three"]),
        ("check not in (\"a\")", &["two", "three"]),
        // Dates, local days of the caller (Asia/Tokyo)
        ("date >= \"2026-09-01\"", &["two"]),
        ("date < \"2026-09-01\"", &["one"]),
        ("date = \"\"", &["three"]),
        ("date != \"\"", &["one", "two"]),
        ("dt = \"\"", &["three"]),
        ("dt != \"\" and num > 5", &["two"]),
        ("dt = \"2026-08-31T23:59:30+09:00\"", &["one"]),
        ("dt >= \"2026-09-01T00:00:00+09:00\"", &["two"]),
        ("time > \"09:30\"", &["two"]),
        ("time <= \"09:30\"", &["one"]),
        // Codes
        ("users in (\"west\")", &["two"]),
        ("users not in (\"west\")", &["one", "three"]),
        ("作成者 in (LOGINUSER())", &["one", "two", "three"]),
        ("作成者 not in (LOGINUSER())", &[]),
        // Tables (KTB-70, KTB-71)
        ("t_text in (\"p\")", &["one", "two"]),
        ("t_num > 55", &["two"]),
        ("t_text in (\"p\") and t_num >= 50", &["two"]),
        ("t_text in (\"p\") and (t_num >= 50)", &["two"]),
        ("t_text in (\"q\") and t_num >= 50 and num = 1", &["one"]),
        ("t_text in (\"p\") or t_num >= 50", &["one", "two"]),
        ("t_text not in (\"q\")", &["two"]),
        ("t_text not in (\"zzz\")", &["one", "two"]),
        ("t_date < \"2026-01-01\"", &[]),
    ];
    for (text, expected) in cases {
        assert_eq!(found(&sandbox, text), *expected, "{text}");
    }
}

#[test]
fn ktb_72_order() {
    let sandbox = filled();
    for (text, expected) in [
        ("order by レコード番号 desc", ["three", "two", "one"]),
        ("order by num asc", ["three", "one", "two"]),
        ("order by num desc", ["two", "one", "three"]),
        ("order by date asc, $id desc", ["three", "one", "two"]),
        ("order by 更新日時 desc, key asc", ["one", "three", "two"]),
        ("order by order desc limit 3", ["two", "one", "three"]),
    ] {
        assert_eq!(column(&sandbox, "lab", LAB, text, "key"), expected, "{text}");
    }
    assert_eq!(
        column(&sandbox, "lab", LAB, "order by num asc limit 1 offset 1", "key"),
        ["one"]
    );
}

#[test]
fn ktb_69_word_equality_is_an_option() {
    let sandbox = lab::start("words");
    for key in ["m@2026-09", "m@2026-09-correction-1", "m@2026-10"] {
        added(&sandbox, "lab", LAB, &json!({ "key": key, "text": key }));
    }
    assert_eq!(found(&sandbox, "text = \"m@2026-09\"").len(), 1);
    sandbox.control("POST", "text_equality", &json!({ "app": LAB, "mode": "words" }));
    assert_eq!(found(&sandbox, "text = \"m@2026-09\"").len(), 2);
    assert_eq!(
        found(&sandbox, "key = \"m@2026-09\"").len(),
        1,
        "unique fields stay exact"
    );
    assert_eq!(found(&sandbox, "text in (\"m@2026-09\")").len(), 1);
}

#[test]
fn ktb_73_dates_follow_the_callers_zone() {
    // Kiritimati is 24 hours ahead of Honolulu: the two users never share a calendar day.
    let sandbox = lab::start("zones");
    let login = |user: &str, word: &str| password(user, word);
    let (east, west) = (login("east", "pw-east"), login("west", "pw:with:colons"));
    let today = jiff::Timestamp::now()
        .to_zoned_datetime(jiff::tz::TimeZone::get("Pacific/Kiritimati").expect("zone"))
        .date();
    let record = json!({ "app": LAB, "record": lab::record(&json!({ "date": today.to_string() })) });
    sandbox.api("lab", "POST", "record.json", &record).ok();
    let count = |login: &str, text: &str| {
        let parameters = json!({ "app": LAB, "query": text, "totalCount": "true" });
        let headers = [("X-Cybozu-Authorization", login)];
        sandbox
            .send(&headers, "GET", "/k/v1/records.json", &parameters)
            .ok()["totalCount"]
            .clone()
    };
    // Around midnight the first read may already be the next day; then both shift together.
    assert_eq!(count(&east, "date >= TODAY() and date < TOMORROW()"), "1");
    assert_eq!(count(&west, "date = TODAY()"), "0");
    assert_eq!(count(&west, "date = TOMORROW()"), "1");
}

#[test]
fn ktb_57_fields_with_the_names_of_keywords() {
    let fields = [
        "order", "limit", "offset", "and", "or", "in", "not", "like", "is", "empty", "by", "asc",
    ];
    let properties: serde_json::Map<String, Json> = fields
        .iter()
        .map(|code| ((*code).to_owned(), json!({ "type": "SINGLE_LINE_TEXT" })))
        .chain([(
            "orders".to_owned(),
            json!({ "type": "DROP_DOWN", "options": options(&["a"]) }),
        )])
        .collect();
    let apps = json!({ "apps": [{ "id": 1, "name": "keywords", "properties": properties,
        "tokens": [{ "token": "t", "rights": ["view", "add"] }] }] });
    let sandbox = Sandbox::with_apps("keywords", &apps);
    let values: serde_json::Map<String, Json> = fields
        .iter()
        .map(|code| ((*code).to_owned(), json!(code)))
        .collect();
    added(&sandbox, "t", 1, &Json::Object(values));
    for code in fields {
        let text =
            format!("{code} = \"{code}\" and {code} in (\"{code}\") order by {code} asc limit 5 offset 0");
        assert_eq!(column(&sandbox, "t", 1, &text, "$id"), ["1"], "{text}");
    }
}
