//! Reading records (KTB-40 to KTB-48).
use serde_json::{Value as Json, json};

use crate::lab::{self, LAB, added, column, get, query};

#[test]
fn ktb_40_to_42_and_45_a_record_has_every_field_with_its_type() {
    let sandbox = lab::start("fields");
    let id = added(&sandbox, "lab", LAB, &json!({}));
    let record = get(&sandbox, "lab", LAB, id);
    let typed = |kind: &str, value: Json| json!({ "type": kind, "value": value });
    for (code, expected) in [
        ("$id", typed("__ID__", json!("1"))),
        ("$revision", typed("__REVISION__", json!("1"))),
        ("レコード番号", typed("RECORD_NUMBER", json!("1"))),
        ("text", typed("SINGLE_LINE_TEXT", json!(""))),
        ("multi", typed("MULTI_LINE_TEXT", json!(""))),
        ("rich", typed("RICH_TEXT", json!(""))),
        ("link", typed("LINK", json!(""))),
        ("num", typed("NUMBER", json!(""))),
        ("date", typed("DATE", Json::Null)),
        ("time", typed("TIME", Json::Null)),
        ("dt", typed("DATETIME", json!(""))),
        ("drop", typed("DROP_DOWN", Json::Null)),
        ("radio", typed("RADIO_BUTTON", Json::Null)),
        ("check", typed("CHECK_BOX", json!([]))),
        ("msel", typed("MULTI_SELECT", json!([]))),
        ("users", typed("USER_SELECT", json!([]))),
        ("orgs", typed("ORGANIZATION_SELECT", json!([]))),
        ("groups", typed("GROUP_SELECT", json!([]))),
        ("file", typed("FILE", json!([]))),
        ("表", typed("SUBTABLE", json!([]))),
    ] {
        assert_eq!(record[code], expected, "{code}");
    }
    for code in ["作成者", "更新者", "作成日時", "更新日時"] {
        assert!(record[code]["type"].is_string(), "{code}");
    }
    assert!(
        record.get("ステータス").is_none(),
        "KTB-42: no status field without process management"
    );
    // A drop-down reads null whether never set, set to "" on POST or on PUT.
    let id = added(&sandbox, "lab", LAB, &json!({ "drop": "" }));
    assert_eq!(get(&sandbox, "lab", LAB, id)["drop"]["value"], Json::Null);
    lab::put(&sandbox, "lab", LAB, id, &json!({ "drop": "a" })).ok();
    lab::put(&sandbox, "lab", LAB, id, &json!({ "drop": "" })).ok();
    assert_eq!(get(&sandbox, "lab", LAB, id)["drop"]["value"], Json::Null);
}

#[test]
fn ktb_40_an_app_code_prefixes_record_numbers() {
    let sandbox = lab::start("app-code");
    let id = added(&sandbox, "coded", 108, &json!({}));
    let record = get(&sandbox, "coded", 108, id);
    assert_eq!(
        (&record["レコード番号"]["value"], &record["$id"]["value"]),
        (&json!("CODE-1"), &json!("1"))
    );
    for text in [
        "レコード番号 = \"CODE-1\"",
        "レコード番号 = 1",
        "$id in (\"CODE-1\", 7)",
    ] {
        assert_eq!(column(&sandbox, "coded", 108, text, "$id"), ["1"], "{text}");
    }
}

#[test]
fn ktb_43_and_44_pages_order_and_totals() {
    let sandbox = lab::start("pages");
    let records: Vec<Json> = (0..230)
        .map(|number| lab::record(&json!({ "num": number })))
        .collect();
    sandbox.insert(LAB, &records);
    let ids = column(&sandbox, "lab", LAB, "", "$id");
    assert_eq!(
        (ids.len(), ids[0].as_str(), ids[99].as_str()),
        (100, "230", "131")
    );
    let ids = column(
        &sandbox,
        "lab",
        LAB,
        "num >= 20 order by $id asc limit 500 offset 200",
        "$id",
    );
    assert_eq!(ids, (221..=230).map(|id| id.to_string()).collect::<Vec<_>>());
    assert_eq!(
        query(&sandbox, "lab", LAB, "limit 1").ok()["totalCount"],
        Json::Null
    );
    let counted = json!({ "app": LAB, "query": "num < 50 limit 1 offset 10", "totalCount": true });
    let answer = sandbox.api("lab", "GET", "records.json", &counted).ok();
    assert_eq!(answer["totalCount"], "50");
    assert_eq!(answer["records"].as_array().map(Vec::len), Some(1));
    let selected = json!({ "app": LAB, "fields": ["num", "unknown", "$revision"], "query": "limit 1" });
    let answer = sandbox.api("lab", "GET", "records.json", &selected).ok();
    let codes: Vec<&String> = answer["records"][0]
        .as_object()
        .into_iter()
        .flat_map(serde_json::Map::keys)
        .collect();
    assert_eq!(codes, ["$revision", "num"]);
}

#[test]
fn ktb_47_times_have_minutes_only() {
    let sandbox = lab::start("times");
    let id = added(
        &sandbox,
        "lab",
        LAB,
        &json!({ "dt": "2026-08-01T09:05:59+09:00" }),
    );
    let record = get(&sandbox, "lab", LAB, id);
    assert_eq!(record["dt"]["value"], "2026-08-01T00:05:00Z");
    for code in ["作成日時", "更新日時"] {
        let text = record[code]["value"].as_str().unwrap_or_default();
        assert!(text.len() == 20 && text.ends_with(":00Z"), "{code} {text}");
    }
}
