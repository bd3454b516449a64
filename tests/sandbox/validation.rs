//! Validation by type (KTB-97, KTB-100 to KTB-116, KTB-173).
use serde_json::{Value as Json, json};

use crate::harness::Sandbox;
use crate::lab::{self, DEFAULTS, LAB, STRICT, add, added, get, put, record};

#[test]
fn values_by_type_are_stored_or_refused() {
    let sandbox = lab::start("values");
    // Field, sent value, stored value.
    let good: &[(&str, Json, Json)] = &[
        ("num", json!("1.5e1"), json!("15")),
        ("num", json!(" 42 "), json!("42")),
        ("num", json!("100"), json!("100")),
        ("num", json!(-10), json!("-10")),
        ("num", json!("1000.0"), json!("1000.0")),
        ("num", json!("1.23455"), json!("1.2346")),
        ("num", json!(""), json!("")),
        ("num", json!("  "), json!("")),
        ("unum", json!("999999999999.9999"), json!("999999999999.9999")),
        ("text", json!(12), json!("12")),
        ("short", json!("日本語日本"), json!("日本語日本")),
        (
            "multi",
            json!("longer than three\nlines"),
            json!("longer than three\nlines"),
        ),
        ("date", json!("2026-02-28"), json!("2026-02-28")),
        ("date", json!(""), Json::Null),
        ("time", json!("09:05:59"), json!("09:05")),
        ("dt", json!("2026-08-01T00:00:59Z"), json!("2026-08-01T00:00:00Z")),
        (
            "dt",
            json!("2026-08-01T00:00:00.123+0900"),
            json!("2026-07-31T15:00:00Z"),
        ),
        ("radio", json!(""), Json::Null),
        ("drop", Json::Null, Json::Null),
        ("check", json!(["c", "a", "c"]), json!(["c", "a"])),
        ("msel", json!([]), json!([])),
        ("link", json!("https://example.com"), json!("https://example.com")),
        (
            "users",
            json!([{ "code": "east" }]),
            json!([{ "code": "east", "name": "東" }]),
        ),
        (
            "orgs",
            json!([{ "code": "sales" }]),
            json!([{ "code": "sales", "name": "営業部" }]),
        ),
        (
            "groups",
            json!([{ "code": "staff", "name": "ignored" }]),
            json!([{ "code": "staff", "name": "staff" }]),
        ),
    ];
    for (field, sent, stored) in good {
        let id = added(&sandbox, "lab", LAB, &json!({ *field: sent }));
        assert_eq!(
            get(&sandbox, "lab", LAB, id)[*field]["value"],
            *stored,
            "{field} {sent}"
        );
        let clean = sandbox.api(
            "lab",
            "DELETE",
            "records.json",
            &json!({ "app": LAB, "ids": [id] }),
        );
        clean.ok();
    }
    // Field, sent value, code, path.
    let bad: &[(&str, Json, &str, &str)] = &[
        ("num", json!("1,000"), "CB_VA01", "record[num].value"),
        ("num", json!("12abc"), "CB_VA01", "record[num].value"),
        ("num", json!("１２"), "CB_VA01", "record[num].value"),
        ("num", json!("1000.0001"), "CB_VA01", "record.num.value"),
        ("num", json!(-11), "CB_VA01", "record.num.value"),
        ("num", json!({}), "CB_VA01", "record.num.value"),
        ("unum", json!("1234567890123"), "CB_VA01", "record.unum.value"),
        ("text", json!(["a"]), "CB_VA01", "record.text.value"),
        ("short", json!("123456"), "CB_VA01", "record.short.value"),
        ("key", json!("x".repeat(65)), "CB_VA01", "record.key.value"),
        ("date", json!("2026-02-30"), "CB_VA01", "record.date.value"),
        ("date", json!("2026/02/03"), "CB_VA01", "record.date.value"),
        ("time", json!("25:00"), "CB_VA01", "record.time.value"),
        ("dt", json!("yesterday"), "CB_VA01", "record.dt.value"),
        ("radio", json!("z"), "CB_VA01", "record.radio.value"),
        ("drop", json!("z"), "CB_VA01", "record.drop.value"),
        ("check", json!("a"), "CB_VA01", "record.check.values"),
        (
            "msel",
            json!(["p", "z"]),
            "CB_VA01",
            "record.msel.values[1].value",
        ),
        ("link", json!("example"), "CB_VA01", "record.link.value"),
        ("users", json!([{ "code": "nobody" }]), "GAIA_IL26", ""),
        ("orgs", json!([{ "code": "nowhere" }]), "GAIA_IL28", ""),
        ("groups", json!([{ "code": "nothing" }]), "GAIA_IL27", ""),
        ("file", json!([{ "fileKey": "unknown" }]), "GAIA_BL01", ""),
    ];
    for (field, sent, code, path) in bad {
        let answer = add(&sandbox, "lab", LAB, &json!({ *field: sent }));
        assert_eq!(answer.code(), *code, "{field} {sent}: {}", answer.body);
        assert_eq!(answer.paths().join(" "), *path, "{field} {sent}");
    }
    let both = add(
        &sandbox,
        "lab",
        LAB,
        &json!({ "link": "no link and much too long" }),
    );
    let messages = both.body["errors"]["record.link.value"]["messages"]
        .as_array()
        .map_or(0, Vec::len);
    assert_eq!(messages, 2, "KTB-103: format and length in one list");
    assert!(sandbox.records(LAB).is_empty());
}

fn complete(sandbox: &Sandbox) -> Json {
    let key = sandbox.upload("strict", "a.txt", b"a");
    json!({ "text": "t", "multi": "m", "rich": "r", "link": "https://e.com", "num": 0, "date": "2026-01-01",
        "time": "00:00", "dt": "2026-01-01T00:00:00Z", "drop": "a", "check": ["a"], "msel": ["a"], "min": "abc",
        "file": [{ "fileKey": key }], "users": [{ "code": "east" }], "orgs": [{ "code": "sales" }],
        "groups": [{ "code": "staff" }] })
}

#[test]
fn ktb_97_100_and_101_required() {
    let sandbox = lab::start("required");
    let id = added(&sandbox, "strict", STRICT, &complete(&sandbox));
    assert_eq!(get(&sandbox, "strict", STRICT, id)["radio"]["value"], Json::Null);
    for (field, value) in [
        ("text", Json::Null),
        ("text", json!("")),
        ("check", json!([])),
        ("file", json!([])),
        ("users", json!([])),
    ] {
        assert_eq!(
            put(&sandbox, "strict", STRICT, id, &json!({ field: value })).failure(),
            (400, "CB_VA01"),
            "{field}"
        );
    }
    // What was not sent keeps its value and satisfies the rule.
    put(&sandbox, "strict", STRICT, id, &json!({ "num": 5 })).ok();
    assert_eq!(
        put(&sandbox, "strict", STRICT, id, &json!({ "min": "" })).paths(),
        ["record.min.value"],
        "KTB-102"
    );
}

#[test]
fn ktb_108_and_109_unique() {
    let sandbox = lab::start("unique");
    let one = added(
        &sandbox,
        "lab",
        LAB,
        &json!({ "key": "a", "unum": "5.0", "udate": "2026-01-01", "check": ["a"] }),
    );
    let two = added(&sandbox, "lab", LAB, &json!({ "key": "", "check": ["a"] }));
    added(&sandbox, "lab", LAB, &json!({ "key": null }));
    for (field, value) in [
        ("key", json!("a")),
        ("unum", json!(5)),
        ("udate", json!("2026-01-01")),
    ] {
        let path = [format!("record.{field}.value")];
        let post = add(&sandbox, "lab", LAB, &json!({ field: value }));
        assert_eq!(
            (post.failure(), post.paths()),
            ((400, "CB_VA01"), path.to_vec()),
            "{field}"
        );
        assert_eq!(
            post.body["errors"][&path[0]]["messages"][0],
            "This value already exists in another record."
        );
        assert_eq!(
            put(&sandbox, "lab", LAB, two, &json!({ field: value })).paths(),
            path,
            "{field}"
        );
    }
    put(&sandbox, "lab", LAB, one, &json!({ "key": "a", "unum": 5 })).ok();
    added(&sandbox, "lab", LAB, &json!({ "key": "A" }));
    let within =
        json!({ "app": LAB, "records": [record(&json!({ "key": "n" })), record(&json!({ "key": "n" }))] });
    let answer = sandbox.api("lab", "POST", "records.json", &within);
    assert_eq!(
        (answer.failure(), answer.paths()),
        ((400, "CB_VA01"), vec!["records[1].key.value".to_owned()])
    );
    // A freed value may be used again.
    put(&sandbox, "lab", LAB, one, &json!({ "key": "b" })).ok();
    added(&sandbox, "lab", LAB, &json!({ "key": "a" }));
}

#[test]
fn ktb_109_concurrent_inserts_have_one_winner() {
    let sandbox = lab::start("race");
    let results: Vec<(u16, String)> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..16)
            .map(|_| {
                scope.spawn(|| {
                    let answer = add(&sandbox, "lab", LAB, &json!({ "key": "only one" }));
                    (answer.status, answer.code().to_owned())
                })
            })
            .collect();
        threads
            .into_iter()
            .filter_map(|thread| thread.join().ok())
            .collect()
    });
    let winners = results.iter().filter(|(status, _)| *status == 200).count();
    let losers = results
        .iter()
        .filter(|result| **result == (400, "CB_VA01".to_owned()))
        .count();
    assert_eq!((winners, losers), (1, 15));
}

#[test]
fn ktb_110_defaults() {
    let sandbox = lab::start("defaults");
    let before = jiff::Timestamp::now();
    let id = added(&sandbox, "defaults", DEFAULTS, &json!({}));
    let made = get(&sandbox, "defaults", DEFAULTS, id);
    for (field, value) in [
        ("text", json!("初期")),
        ("num", json!("7")),
        ("drop", json!("b")),
        ("check", json!(["a", "b"])),
    ] {
        assert_eq!(made[field]["value"], value, "{field}");
    }
    let instant: jiff::Timestamp = made["dt"]["value"]
        .as_str()
        .and_then(|text| text.parse().ok())
        .unwrap_or_default();
    assert!(before.as_second() - instant.as_second() < 60 && instant.as_second() % 60 == 0);
    // DATE and TIME are local to the user; tokens act as Administrator, here in Asia/Tokyo.
    let local = instant.to_zoned_datetime(jiff::tz::TimeZone::get("Asia/Tokyo").expect("zone"));
    assert_eq!(made["date"]["value"], local.date().to_string());
    assert_eq!(made["time"]["value"], local.strftime("%H:%M").to_string());
    // Sent empty stays empty, and then a required field fails.
    let id = added(
        &sandbox,
        "defaults",
        DEFAULTS,
        &json!({ "num": "", "drop": "", "check": [], "date": "", "dt": null }),
    );
    let made = get(&sandbox, "defaults", DEFAULTS, id);
    for (field, value) in [
        ("num", json!("")),
        ("drop", Json::Null),
        ("check", json!([])),
        ("date", Json::Null),
        ("dt", json!("")),
    ] {
        assert_eq!(made[field]["value"], value, "{field}");
    }
    assert_eq!(
        add(&sandbox, "defaults", DEFAULTS, &json!({ "text": "" })).paths(),
        ["record.text.value"]
    );
    // Defaults are for new records only.
    put(&sandbox, "defaults", DEFAULTS, id, &json!({ "text": "x" })).ok();
    assert_eq!(get(&sandbox, "defaults", DEFAULTS, id)["num"]["value"], "");
}
