//! Revisions, update keys, upsert (KTB-130 to KTB-137).
use serde_json::{Value as Json, json};

use crate::harness::{Answer, Sandbox};
use crate::lab::{self, LAB, added, get, record};

fn update(sandbox: &Sandbox, mut parameters: Json) -> Answer {
    parameters["app"] = json!(LAB);
    sandbox.api("lab", "PUT", "record.json", &parameters)
}

fn update_many(sandbox: &Sandbox, upsert: bool, records: &Json) -> Answer {
    sandbox.api(
        "lab",
        "PUT",
        "records.json",
        &json!({ "app": LAB, "upsert": upsert, "records": records }),
    )
}

fn key(field: &str, value: &Json) -> Json {
    json!({ "field": field, "value": value })
}

#[test]
fn ktb_130_to_132_and_137_revisions() {
    let sandbox = lab::start("revisions");
    let id = added(&sandbox, "lab", LAB, &json!({ "num": 1 }));
    let change = record(&json!({ "num": 2 }));
    for (revision, expected) in [
        (json!(1), (200, "2")),
        (json!("2"), (200, "3")),
        (json!(-1), (200, "4")),
        (Json::Null, (200, "5")),
        (json!(4), (409, "GAIA_CO02")),
        (json!(6), (409, "GAIA_CO02")),
        (json!("x"), (400, "CB_VA01")),
    ] {
        let answer = update(
            &sandbox,
            json!({ "id": id, "revision": revision, "record": change }),
        );
        let told = answer.body["revision"].as_str().unwrap_or_else(|| answer.code());
        assert_eq!((answer.status, told), expected, "{revision}");
    }
    assert_eq!(
        update(&sandbox, json!({ "id": id })).ok(),
        json!({ "revision": "5" })
    );
    assert_eq!(
        update(&sandbox, json!({ "id": id, "revision": 1 })).failure(),
        (409, "GAIA_CO02")
    );
    let batch = json!([{ "id": id, "revision": 5, "record": change }, { "id": 99, "record": change }]);
    assert_eq!(update_many(&sandbox, false, &batch).failure(), (404, "GAIA_RE01"));
    assert_eq!(get(&sandbox, "lab", LAB, id)["$revision"]["value"], "5");
}

#[test]
fn ktb_131_concurrent_updates_have_one_winner_per_revision() {
    let sandbox = lab::start("contention");
    let id = added(&sandbox, "lab", LAB, &json!({ "num": 0 }));
    let wins: usize = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    (1..=10)
                        .filter(|revision| {
                            let change = json!({ "id": id, "revision": revision, "record": {} });
                            update(&sandbox, change).status == 200
                        })
                        .count()
                })
            })
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).sum()
    });
    let revision = get(&sandbox, "lab", LAB, id)["$revision"]["value"].clone();
    assert_eq!(revision, (wins + 1).to_string());
}

#[test]
fn ktb_133_to_135_update_keys() {
    let sandbox = lab::start("update-keys");
    let one = added(
        &sandbox,
        "lab",
        LAB,
        &json!({ "key": "001", "unum": 5, "text": "a" }),
    );
    let change = record(&json!({ "text": "b" }));
    let cases: &[(Json, u16, &str, &str)] = &[
        (json!({ "updateKey": key("key", &json!("001")) }), 200, "", ""),
        (json!({ "updateKey": key("unum", &json!("5.0")) }), 200, "", ""),
        (json!({ "updateKey": key("unum", &json!(5)) }), 200, "", ""),
        (
            json!({ "updateKey": key("key", &json!("1")) }),
            404,
            "GAIA_RE20",
            "",
        ),
        (
            json!({ "updateKey": key("key", &json!("")) }),
            400,
            "CB_VA01",
            "updateKey.value",
        ),
        (
            json!({ "updateKey": key("key", &Json::Null) }),
            400,
            "CB_VA01",
            "updateKey.value",
        ),
        (
            json!({ "updateKey": key("unum", &json!("x")) }),
            400,
            "CB_VA01",
            "updateKey.value",
        ),
        (
            json!({ "updateKey": key("text", &json!("a")) }),
            400,
            "CB_VA01",
            "updateKey.field",
        ),
        (
            json!({ "updateKey": key("udate", &json!("2026-01-01")) }),
            400,
            "CB_VA01",
            "updateKey.field",
        ),
        (
            json!({ "id": one, "updateKey": key("key", &json!("001")) }),
            400,
            "CB_VA01",
            "updateKey",
        ),
        (json!({}), 400, "CB_VA01", "id"),
    ];
    for (target, status, code, path) in cases {
        let mut parameters = target.clone();
        parameters["record"] = change.clone();
        let answer = update(&sandbox, parameters);
        assert_eq!(
            (answer.failure(), answer.paths().join(" ")),
            ((*status, *code), (*path).to_owned()),
            "{target}"
        );
        let answer = update_many(&sandbox, false, &json!([target]));
        assert_eq!(answer.failure(), (*status, *code), "{target}");
        if !path.is_empty() {
            assert_eq!(answer.paths(), [format!("records[0].{path}")], "{target}");
        }
    }
    let both = json!({ "updateKey": key("key", &json!("001")), "record": record(&json!({ "key": "001" })) });
    assert_eq!(update(&sandbox, both).failure(), (400, "CB_VA01"));
    let twice = json!([{ "updateKey": key("key", &json!("n")) }, { "updateKey": key("key", &json!("n")) }]);
    assert_eq!(update_many(&sandbox, true, &twice).failure(), (400, "GAIA_IQ28"));
    let same = json!([{ "id": one }, { "updateKey": key("key", &json!("001")) }]);
    assert_eq!(update_many(&sandbox, false, &same).failure(), (400, "GAIA_RE09"));
    let same = json!([{ "id": one }, { "id": one }]);
    assert_eq!(update_many(&sandbox, false, &same).failure(), (400, "GAIA_RE09"));
}

#[test]
fn ktb_136_upsert() {
    let sandbox = lab::start("upsert");
    let one = added(&sandbox, "lab", LAB, &json!({ "key": "a", "num": 1 }));
    let records = json!([
        { "updateKey": key("key", &json!("new")), "record": record(&json!({ "num": 10 })) },
        { "updateKey": key("key", &json!("a")), "record": record(&json!({ "num": 11 })) },
        { "id": 500, "record": record(&json!({ "num": 12 })) },
    ]);
    assert_eq!(
        update_many(&sandbox, true, &records).ok(),
        json!({ "records": [
            { "id": "2", "revision": "1", "operation": "INSERT" },
            { "id": "1", "revision": "2", "operation": "UPDATE" },
            { "id": "3", "revision": "1", "operation": "INSERT" },
        ] })
    );
    assert_eq!(get(&sandbox, "lab", LAB, 2)["key"]["value"], "new");
    assert_eq!(get(&sandbox, "lab", LAB, one)["num"]["value"], "11");
    let bad = json!([
        { "updateKey": key("key", &json!("x")), "record": record(&json!({ "num": 1 })) },
        { "updateKey": key("key", &json!("y")), "record": record(&json!({ "drop": "z" })) },
    ]);
    let answer = update_many(&sandbox, true, &bad);
    assert_eq!(
        (answer.failure(), answer.paths()),
        ((400, "CB_VA01"), vec!["records[1].drop.value".to_owned()])
    );
    assert_eq!(sandbox.records(LAB).len(), 3);
}
