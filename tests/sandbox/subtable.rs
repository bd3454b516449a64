//! SUBTABLE in writes (KTB-105, KTB-106, KTB-111 to KTB-113, KTB-116).
use serde_json::{Value as Json, json};

use crate::harness::Sandbox;
use crate::lab::{self, LAB, add, added, get, put, record};

/// Rows as `(id, t_text, t_num)`.
fn rows(sandbox: &Sandbox, id: u64) -> Vec<(String, String, String)> {
    let table = get(sandbox, "lab", LAB, id)["表"]["value"].clone();
    let text = |value: &Json| value.as_str().unwrap_or("").to_owned();
    let row = |row: &Json| {
        (
            text(&row["id"]),
            text(&row["value"]["t_text"]["value"]),
            text(&row["value"]["t_num"]["value"]),
        )
    };
    table.as_array().into_iter().flatten().map(row).collect()
}

fn row(values: &Json) -> Json {
    json!({ "value": record(values) })
}

fn row_with_id(id: &str, values: &Json) -> Json {
    json!({ "id": id, "value": record(values) })
}

#[test]
fn ktb_111_to_113_rows_of_a_new_record() {
    let sandbox = lab::start("new-rows");
    let table = json!([
        row_with_id("777", &json!({ "t_text": "a", "t_num": "x" })),
        row(&json!({ "t_def": "" }))
    ]);
    let id = added(&sandbox, "lab", LAB, &json!({ "表": table }));
    let stored = get(&sandbox, "lab", LAB, id)["表"]["value"].clone();
    assert_ne!(stored[0]["id"], "777", "a sent id is not kept");
    assert_ne!(stored[0]["id"], stored[1]["id"]);
    assert_eq!(
        stored[0]["value"]["t_num"],
        json!({ "type": "NUMBER", "value": "" }),
        "KTB-105"
    );
    assert_eq!(stored[0]["value"]["t_def"]["value"], "既定");
    assert_eq!(stored[1]["value"]["t_def"]["value"], "");
    assert_eq!(
        stored[1]["value"]["t_check"],
        json!({ "type": "CHECK_BOX", "value": [] })
    );
    let without = added(&sandbox, "lab", LAB, &json!({ "表": [] }));
    assert!(rows(&sandbox, without).is_empty());
}

#[test]
fn ktb_112_rows_of_a_changed_record() {
    let sandbox = lab::start("changed-rows");
    let table = json!([
        row(&json!({ "t_text": "a", "t_num": 1 })),
        row(&json!({ "t_text": "b", "t_num": 2 }))
    ]);
    let id = added(&sandbox, "lab", LAB, &json!({ "表": table }));
    let before = rows(&sandbox, id);
    put(&sandbox, "lab", LAB, id, &json!({ "text": "x" })).ok();
    assert_eq!(rows(&sandbox, id), before, "not sent: rows stay");
    let (kept, gone) = (before[1].0.clone(), before[0].0.clone());
    let table = json!([
        row_with_id(&kept, &json!({ "t_num": 20 })),
        row(&json!({ "t_text": "new" })),
        row_with_id("99999", &json!({ "t_text": "stranger" })),
    ]);
    put(&sandbox, "lab", LAB, id, &json!({ "表": table })).ok();
    let after = rows(&sandbox, id);
    assert_eq!(
        after[0],
        (kept.clone(), "b".to_owned(), "20".to_owned()),
        "cells not sent keep their value"
    );
    assert_eq!(
        (after[1].1.as_str(), after[2].1.as_str(), after.len()),
        ("new", "stranger", 3)
    );
    for row in &after[1..] {
        assert!(
            ![kept.as_str(), &gone, "99999"].contains(&row.0.as_str()),
            "a new row has a new id: {row:?}"
        );
    }
    put(&sandbox, "lab", LAB, id, &json!({ "表": [] })).ok();
    assert!(rows(&sandbox, id).is_empty());
    let table = json!([row_with_id(&kept, &json!({ "t_text": "again" }))]);
    put(&sandbox, "lab", LAB, id, &json!({ "表": table })).ok();
    assert_ne!(
        rows(&sandbox, id)[0].0,
        kept,
        "ids of deleted rows are not given out again"
    );
}

#[test]
fn ktb_113_and_116_odd_tables() {
    let sandbox = lab::start("odd-rows");
    let twice = json!([row_with_id("5", &json!({})), row_with_id("5", &json!({}))]);
    assert_eq!(
        add(&sandbox, "lab", LAB, &json!({ "表": twice })).failure(),
        (520, "GAIA_SI01")
    );
    let id = added(&sandbox, "lab", LAB, &json!({ "表": null }));
    assert_eq!(rows(&sandbox, id).len(), 1, "null is a table with one empty row");
    let id = added(
        &sandbox,
        "lab",
        LAB,
        &json!({ "表": [{ "value": null }, row(&json!({ "t_text": "x" }))] }),
    );
    assert_eq!(rows(&sandbox, id).len(), 1, "a row whose value is null is no row");
    assert_eq!(
        add(&sandbox, "lab", LAB, &json!({ "表": [null] })).paths(),
        ["record.表.value[0]"]
    );
    let bad = json!([
        row(&json!({})),
        row(&json!({ "t_num": 101, "t_check": ["a", "z"], "t_date": "x" }))
    ]);
    assert_eq!(
        add(&sandbox, "lab", LAB, &json!({ "表": bad })).paths(),
        [
            "record.表.value[1].value.t_check.values[1].value",
            "record.表.value[1].value.t_date.value",
            "record.表.value[1].value.t_num.value",
        ]
    );
}
