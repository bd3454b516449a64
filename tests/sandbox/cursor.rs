//! Cursors (KTB-145 to KTB-147).
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::harness::{Answer, Sandbox};
use crate::lab::{self, LAB, put, record};

fn create(sandbox: &Sandbox, mut parameters: Json) -> Answer {
    parameters["app"] = json!(LAB);
    sandbox.api("lab", "POST", "records/cursor.json", &parameters)
}

fn next(sandbox: &Sandbox, id: &Json) -> Answer {
    sandbox.api("lab", "GET", "records/cursor.json", &json!({ "id": id }))
}

fn nums(page: &Json) -> Vec<&str> {
    let records = page["records"].as_array().into_iter().flatten();
    records
        .map(|record| record["num"]["value"].as_str().unwrap_or(""))
        .collect()
}

#[test]
fn ktb_145_and_147_pages() {
    let sandbox = lab::start("cursor");
    let records: Vec<Json> = (1..=5).map(|number| record(&json!({ "num": number }))).collect();
    sandbox.insert(LAB, &records);
    let cursor = create(
        &sandbox,
        json!({ "size": 2, "fields": ["num"], "query": "num > 1 order by num asc" }),
    )
    .ok();
    assert_eq!(cursor["totalCount"], "4");
    let id = &cursor["id"];
    let page = next(&sandbox, id).ok();
    assert_eq!((nums(&page), &page["next"]), (vec!["2", "3"], &json!(true)));
    // The ids are fixed, the values are those of the moment, deleted records are missing.
    put(&sandbox, "lab", LAB, 5, &json!({ "num": 50 })).ok();
    sandbox.insert(LAB, &[record(&json!({ "num": 4.5 }))]);
    sandbox
        .api(
            "lab",
            "DELETE",
            "records.json",
            &json!({ "app": LAB, "ids": [4] }),
        )
        .ok();
    let page = next(&sandbox, id).ok();
    assert_eq!((nums(&page), &page["next"]), (vec!["50"], &json!(false)));
    assert_eq!(
        next(&sandbox, id).failure(),
        (404, "GAIA_CN01"),
        "the end frees it"
    );
    let cursor = create(&sandbox, json!({})).ok();
    let delete = |id: &Json| sandbox.api("lab", "DELETE", "records/cursor.json", &json!({ "id": id }));
    assert_eq!(delete(&cursor["id"]).ok(), json!({}));
    assert_eq!(delete(&cursor["id"]).failure(), (404, "GAIA_CN01"));
    for (parameters, path) in [
        (json!({ "size": 501 }), "size"),
        (json!({ "size": 0 }), "size"),
        (json!({ "query": "limit 5" }), "query"),
        (json!({ "query": "num = 1 offset 5" }), "query"),
    ] {
        assert_eq!(
            create(&sandbox, parameters.clone()).paths(),
            [path],
            "{parameters}"
        );
    }
}

#[test]
fn ktb_146_ten_cursors_for_ten_minutes() {
    let sandbox = lab::start("cursors");
    sandbox.insert(LAB, &[record(&json!({})), record(&json!({}))]);
    let ids: Vec<Json> = (0..10)
        .map(|_| create(&sandbox, json!({ "size": 1 })).ok()["id"].clone())
        .collect();
    assert_eq!(create(&sandbox, json!({})).failure(), (429, "GAIA_TM12"));
    sandbox.shift_clock(Duration::from_mins(9));
    next(&sandbox, &ids[0]).ok();
    sandbox.shift_clock(Duration::from_mins(11));
    assert_eq!(next(&sandbox, &ids[1]).failure(), (404, "GAIA_CN01"));
    next(&sandbox, &ids[0]).ok();
    create(&sandbox, json!({})).ok();
}
