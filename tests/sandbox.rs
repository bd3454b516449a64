//! Black-box tests of `kintone-sandbox`, by rule.
#[path = "support/sandbox.rs"]
mod sandbox;

use sandbox::{CUSTOMERS, ORDERS, STATE, Sandbox};
use serde_json::json;

#[test]
fn a_record_lives_through_add_read_update_delete_and_restart() {
    let mut sandbox = Sandbox::start("smoke");
    let (app, token) = CUSTOMERS;
    let record = json!({ "顧客コード": { "value": "X1" }, "顧客名": { "value": "新規" } });
    let added = sandbox
        .api(
            token,
            "POST",
            "record.json",
            &json!({ "app": app, "record": record }),
        )
        .ok();
    assert_eq!(added["revision"], "1");
    let id = added["id"].as_str().unwrap_or_default().to_owned();
    let update = json!({ "app": app, "updateKey": { "field": "顧客コード", "value": "X1" }, "revision": 1,
        "record": { "当月売上実績": { "value": "1.5e3" } } });
    assert_eq!(
        sandbox.api(token, "PUT", "record.json", &update).ok(),
        json!({ "revision": "2" })
    );
    assert_eq!(
        sandbox.api(token, "PUT", "record.json", &update).failure(),
        (409, "GAIA_CO02")
    );
    sandbox.kill_and_restart();
    let read = sandbox
        .api(token, "GET", "record.json", &json!({ "app": app, "id": id }))
        .ok();
    assert_eq!(
        read["record"]["当月売上実績"],
        json!({ "type": "NUMBER", "value": "1500" })
    );
    assert_eq!(read["record"]["$revision"]["value"], "2");
    let delete = json!({ "app": app, "ids": [id] });
    assert_eq!(
        sandbox.api(token, "DELETE", "records.json", &delete).ok(),
        json!({})
    );
    assert_eq!(
        sandbox
            .api(token, "GET", "record.json", &json!({ "app": app, "id": id }))
            .failure(),
        (404, "GAIA_RE01")
    );
}

#[test]
fn seeded_orders_are_read_page_by_page() {
    let sandbox = Sandbox::start("orders");
    let (app, token) = ORDERS;
    let mut last = 0;
    let mut count = 0;
    loop {
        let query = format!(
            "受注日 >= \"2026-06-01\" and 受注日 < \"2026-07-01\" and $id > {last} order by $id asc limit 30"
        );
        let page = sandbox
            .api(
                token,
                "GET",
                "records.json",
                &json!({ "app": app, "query": query, "fields": ["$id", "金額"] }),
            )
            .ok();
        let records = page["records"].as_array().cloned().unwrap_or_default();
        let Some(end) = records.last() else { break };
        last = end["$id"]["value"]
            .as_str()
            .and_then(|id| id.parse().ok())
            .unwrap_or(u64::MAX);
        count += records.len();
    }
    assert_eq!(count, 100);
    let negative =
        json!({ "app": app, "query": "金額 < 0 and 受注日 < \"2026-10-01\" limit 1", "totalCount": true });
    assert_eq!(
        sandbox.api(token, "GET", "records.json", &negative).ok()["totalCount"],
        "0"
    );
}

#[test]
fn a_bulk_request_is_all_or_nothing() {
    let sandbox = Sandbox::start("bulk");
    let insert = |key: &str| {
        json!({ "method": "POST", "api": "/k/v1/record.json", "payload": { "app": STATE.0, "record": {
            "record_key": { "value": key }, "record_type": { "value": "NETWORK_LOCK" } } } })
    };
    let good = json!({ "requests": [insert("a"), insert("b")] });
    let answer = sandbox.api(STATE.1, "POST", "bulkRequest.json", &good).ok();
    assert_eq!(answer["results"][1], json!({ "id": "2", "revision": "1" }));
    let bad = json!({ "requests": [insert("c"), insert("a")] });
    let answer = sandbox.api(STATE.1, "POST", "bulkRequest.json", &bad);
    assert_eq!(answer.failure(), (400, "CB_VA01"));
    assert_eq!(answer.body["results"][0], json!({}));
    assert!(answer.body["results"][1]["errors"]["record.record_key.value"].is_object());
    assert_eq!(sandbox.records(STATE.0).len(), 2);
}

#[test]
fn files_are_attached_once_and_read_under_a_new_key() {
    let sandbox = Sandbox::start("files");
    let (app, token) = STATE;
    let key = sandbox.upload(token, "bundle.zip", b"PK\x03\x04 content");
    assert_eq!(sandbox.download(token, &key).0, 404);
    let record = |name: &str| {
        json!({ "app": app, "record": { "record_key": { "value": name }, "record_type": { "value": "NETWORK_RUN" },
            "source_bundle_attachment": { "value": [{ "fileKey": key }] } } })
    };
    sandbox.api(token, "POST", "record.json", &record("a")).ok();
    assert_eq!(
        sandbox.api(token, "POST", "record.json", &record("b")).failure(),
        (404, "GAIA_BL01")
    );
    let file = sandbox.records(app)[0]["source_bundle_attachment"]["value"][0].clone();
    assert_eq!(
        (&file["name"], &file["size"]),
        (&json!("bundle.zip"), &json!("12"))
    );
    let (status, content) = sandbox.download(token, file["fileKey"].as_str().unwrap_or_default());
    assert_eq!((status, content.as_slice()), (200, &b"PK\x03\x04 content"[..]));
}
