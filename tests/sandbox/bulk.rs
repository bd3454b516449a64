//! bulkRequest (KTB-140 to KTB-143).
use serde_json::{Value as Json, json};

use crate::harness::{Answer, Sandbox};
use crate::lab::{self, LAB, SOURCE, added, get, record};

fn request(method: &str, api: &str, payload: &Json) -> Json {
    json!({ "method": method, "api": format!("/k/v1/{api}"), "payload": payload })
}

fn bulk(sandbox: &Sandbox, token: &str, requests: &[Json]) -> Answer {
    sandbox.api(
        token,
        "POST",
        "bulkRequest.json",
        &json!({ "requests": requests }),
    )
}

#[test]
fn ktb_140_to_143_one_transaction_over_two_apps() {
    let sandbox = lab::start("bulk-two");
    let fence = added(&sandbox, "lab", LAB, &json!({ "key": "lock" }));
    let commit = |revision: u64, code: &str| {
        vec![
            request(
                "PUT",
                "record.json",
                &json!({ "app": LAB, "id": fence, "revision": revision, "record": {} }),
            ),
            request(
                "POST",
                "records.json",
                &json!({ "app": SOURCE, "records": [record(&json!({ "code": code }))] }),
            ),
            request(
                "PUT",
                "records.json",
                &json!({ "app": SOURCE, "records": [
                { "updateKey": { "field": "code", "value": code }, "record": record(&json!({ "name": "seen" })) }] }),
            ),
        ]
    };
    let answer = bulk(&sandbox, "lab,source", &commit(1, "x")).ok();
    assert_eq!(
        answer["results"],
        json!([{ "revision": "2" }, { "ids": ["1"], "revisions": ["1"] }, { "records": [{ "id": "1", "revision": "2" }] }])
    );
    // A stale fence rolls everything back and shows its place.
    let answer = bulk(&sandbox, "lab,source", &commit(1, "y"));
    assert_eq!(answer.failure(), (409, "GAIA_CO02"));
    let results = answer.body["results"].as_array().cloned().unwrap_or_default();
    assert_eq!(
        (results.len(), &results[1], &results[2]),
        (3, &json!({}), &json!({}))
    );
    assert_eq!(results[0]["code"], "GAIA_CO02");
    // A late failure takes the fence's new revision back.
    let mut requests = commit(2, "z");
    requests.push(request(
        "DELETE",
        "records.json",
        &json!({ "app": SOURCE, "ids": [1, 99] }),
    ));
    let answer = bulk(&sandbox, "lab,source", &requests);
    assert_eq!(
        (answer.failure(), &answer.body["results"][3]["code"]),
        ((404, "GAIA_RE01"), &json!("GAIA_RE01"))
    );
    assert_eq!(get(&sandbox, "lab", LAB, fence)["$revision"]["value"], "2");
    assert_eq!(sandbox.records(SOURCE).len(), 1);
    // Every app needs its token.
    assert_eq!(
        bulk(&sandbox, "lab", &commit(2, "z")).failure(),
        (403, "GAIA_NO01")
    );
    assert_eq!(get(&sandbox, "lab", LAB, fence)["$revision"]["value"], "2");
}

#[test]
fn ktb_140_limits_and_kinds() {
    let sandbox = lab::start("bulk-kinds");
    let insert = request("POST", "record.json", &json!({ "app": LAB, "record": {} }));
    assert_eq!(bulk(&sandbox, "lab", &[]).paths(), ["requests"]);
    assert_eq!(
        bulk(&sandbox, "lab", &vec![insert.clone(); 21]).paths(),
        ["requests"]
    );
    assert_eq!(bulk(&sandbox, "lab", &vec![insert.clone(); 20]).status, 200);
    assert_eq!(sandbox.records(LAB).len(), 20);
    for (inner, status, code) in [
        (
            request("GET", "records.json", &json!({ "app": LAB })),
            400,
            "CB_VA01",
        ),
        (
            request("POST", "bulkRequest.json", &json!({ "requests": [] })),
            400,
            "CB_VA01",
        ),
        (request("POST", "nothing.json", &json!({})), 404, "CB_NA01"),
        (
            json!({ "method": "POST", "api": "record.json", "payload": {} }),
            400,
            "CB_IL02",
        ),
        (
            json!({ "method": "POST", "api": "/k/v1/record.json" }),
            400,
            "CB_VA01",
        ),
        (
            json!({ "api": "/k/v1/record.json", "payload": {} }),
            400,
            "CB_VA01",
        ),
        (
            request(
                "PUT",
                "record/status.json",
                &json!({ "app": LAB, "id": 1, "action": "x" }),
            ),
            400,
            "GAIA_ST02",
        ),
        (
            request(
                "POST",
                "record.json",
                &json!({ "app": LAB, "record": record(&json!({ "drop": "z" })) }),
            ),
            400,
            "CB_VA01",
        ),
    ] {
        let answer = bulk(&sandbox, "lab", &[insert.clone(), inner.clone()]);
        assert_eq!(answer.failure(), (status, code), "{inner}: {}", answer.body);
        assert_eq!(answer.body["results"][0], json!({}), "{inner}");
    }
    assert_eq!(sandbox.records(LAB).len(), 20);
}
