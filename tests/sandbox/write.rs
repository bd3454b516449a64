//! Adding and deleting records (KTB-80 to KTB-90, KTB-138).
use serde_json::{Value as Json, json};

use crate::harness::{Answer, Sandbox};
use crate::lab::{self, LAB, STRICT, add, added, get, put, record};

fn add_many(sandbox: &Sandbox, records: &[Json]) -> Answer {
    let records: Vec<Json> = records.iter().map(record).collect();
    sandbox.api(
        "lab",
        "POST",
        "records.json",
        &json!({ "app": LAB, "records": records }),
    )
}

#[test]
fn ktb_80_and_81_answers() {
    let sandbox = lab::start("answers");
    assert_eq!(
        add(&sandbox, "lab", LAB, &json!({})).ok(),
        json!({ "id": "1", "revision": "1" })
    );
    let many = add_many(&sandbox, &[json!({ "num": 1 }), json!({ "num": 2 })]);
    assert_eq!(many.ok(), json!({ "ids": ["2", "3"], "revisions": ["1", "1"] }));
    assert_eq!(
        put(&sandbox, "lab", LAB, 1, &json!({ "num": 5 })).ok(),
        json!({ "revision": "2" })
    );
    let updates = json!({ "app": LAB, "records": [{ "id": 3, "record": record(&json!({ "num": 9 })) }, { "id": "2" }] });
    assert_eq!(
        sandbox.api("lab", "PUT", "records.json", &updates).ok(),
        json!({ "records": [{ "id": "3", "revision": "2" }, { "id": "2", "revision": "1" }] }),
        "KTB-132, KTB-137"
    );
    assert_eq!(
        add_many(&sandbox, &[]).ok(),
        json!({ "ids": [], "revisions": [] })
    );
    let nothing = json!({ "app": LAB, "records": [] });
    assert_eq!(
        sandbox.api("lab", "PUT", "records.json", &nothing).ok(),
        json!({ "records": [] })
    );
}

#[test]
fn ktb_82_at_most_100_records() {
    let sandbox = lab::start("hundred");
    let hundred = vec![json!({}); 100];
    assert_eq!(add_many(&sandbox, &hundred).status, 200);
    let more = add_many(&sandbox, &vec![json!({}); 101]);
    assert_eq!(
        (more.failure(), more.paths()),
        ((400, "CB_VA01"), vec!["records".to_owned()])
    );
    assert_eq!(
        more.body["errors"]["records"]["messages"][0],
        "A maximum of 100 records can be added at one time."
    );
    let updates: Vec<Json> = (1..=101).map(|id| json!({ "id": id, "record": {} })).collect();
    let answer = sandbox.api(
        "lab",
        "PUT",
        "records.json",
        &json!({ "app": LAB, "records": updates }),
    );
    assert_eq!(
        (answer.failure(), answer.paths()),
        ((400, "CB_VA01"), vec!["records".to_owned()])
    );
    let ids: Vec<u64> = (1..=101).collect();
    let answer = sandbox.api(
        "lab",
        "DELETE",
        "records.json",
        &json!({ "app": LAB, "ids": ids }),
    );
    assert_eq!(
        (answer.failure(), answer.paths()),
        ((400, "CB_VA01"), vec!["ids".to_owned()])
    );
    let answer = sandbox.api(
        "lab",
        "DELETE",
        "records.json",
        &json!({ "app": LAB, "ids": &ids[..100] }),
    );
    assert_eq!(answer.ok(), json!({}));
}

#[test]
fn ktb_83_84_and_86_all_or_nothing_with_every_violation() {
    let sandbox = lab::start("atomic");
    let bad = add_many(
        &sandbox,
        &[
            json!({ "num": 1 }),
            json!({ "num": "x", "drop": "z", "check": ["a", "q", "z"] }),
            json!({ "short": "123456" }),
        ],
    );
    assert_eq!(bad.failure(), (400, "CB_VA01"));
    assert_eq!(
        bad.paths(),
        [
            "records[1].check.values[1].value",
            "records[1].check.values[2].value",
            "records[1].drop.value",
            "records[1][num].value",
            "records[2].short.value",
        ]
    );
    assert!(sandbox.records(LAB).is_empty());
    let ids = [
        added(&sandbox, "lab", LAB, &json!({ "num": 1 })),
        added(&sandbox, "lab", LAB, &json!({ "num": 2 })),
    ];
    let updates = json!({ "app": LAB, "records": [
        { "id": ids[0], "record": record(&json!({ "num": 100 })) },
        { "id": ids[1], "record": record(&json!({ "文字列__1行_": "x", "drop": "z" })) },
    ] });
    let answer = sandbox.api("lab", "PUT", "records.json", &updates);
    assert_eq!(
        (answer.failure(), answer.paths()),
        ((400, "CB_VA01"), vec!["records[1].drop.value".to_owned()])
    );
    assert_eq!(get(&sandbox, "lab", LAB, ids[0])["num"]["value"], "1");
}

#[test]
fn ktb_85_and_87_paths_by_type() {
    let sandbox = lab::start("paths");
    let table = json!([{ "value": {} }, { "value": record(&json!({ "t_req": "x" })) }]);
    let empty = add(&sandbox, "strict", STRICT, &json!({ "表": table }));
    assert_eq!(empty.failure(), (400, "CB_VA01"));
    assert_eq!(
        empty.paths(),
        [
            "record.check.values",
            "record.date.value",
            "record.drop.value",
            "record.dt.value",
            "record.file.values",
            "record.groups.values.value",
            "record.link.value",
            "record.min.value",
            "record.msel.values",
            "record.multi.value",
            "record.num.value",
            "record.orgs.values.value",
            "record.rich.value",
            "record.text.value",
            "record.time.value",
            "record.users.values.value",
            "record.表.value[0].value.t_req.value",
        ]
    );
    let wrong = add(
        &sandbox,
        "strict",
        STRICT,
        &json!({ "check": ["z"], "num": "x", "text": null, "msel": [] }),
    );
    let paths = wrong.paths();
    for path in [
        "record.check.values",
        "record.check.values[0].value",
        "record.num.value",
        "record[num].value",
        "record.text.value",
        "record.msel.values",
    ] {
        assert!(paths.contains(&path.to_owned()), "{path} in {paths:?}");
    }
}

#[test]
fn ktb_88_and_89_what_a_write_ignores() {
    let sandbox = lab::start("ignored");
    let id = added(
        &sandbox,
        "lab",
        LAB,
        &json!({ "unknown": "x", "レコード番号": "77", "$id": 5, "$revision": 9,
        "ステータス": "x", "カテゴリー": ["x"], "作業者": [], "text": "kept" }),
    );
    assert_eq!(id, 1);
    let read = get(&sandbox, "lab", LAB, id);
    assert!(read.get("unknown").is_none());
    assert_eq!(
        (&read["レコード番号"]["value"], &read["text"]["value"]),
        (&json!("1"), &json!("kept"))
    );
    put(
        &sandbox,
        "lab",
        LAB,
        id,
        &json!({ "作成者": { "code": "east" }, "unknown": 1 }),
    )
    .ok();
    assert_eq!(
        get(&sandbox, "lab", LAB, id)["作成者"]["value"]["code"],
        "Administrator"
    );
}

#[test]
fn ktb_90_and_138_delete() {
    let mut sandbox = lab::start("delete");
    for _ in 0..3 {
        added(&sandbox, "lab", LAB, &json!({}));
    }
    let delete = |sandbox: &Sandbox, ids: Json, revisions: Json| {
        let mut parameters = json!({ "app": LAB, "ids": ids });
        if !revisions.is_null() {
            parameters["revisions"] = revisions;
        }
        let answer = sandbox.api("lab", "DELETE", "records.json", &parameters);
        (answer.status, answer.code().to_owned())
    };
    let refused = |status, code: &str| (status, code.to_owned());
    assert_eq!(
        delete(&sandbox, json!([1, 99]), Json::Null),
        refused(404, "GAIA_RE01")
    );
    assert_eq!(
        delete(&sandbox, json!([1, 2]), json!([1, 5])),
        refused(409, "GAIA_CO02")
    );
    assert_eq!(
        delete(&sandbox, json!([1, 1]), Json::Null),
        refused(400, "GAIA_RE09")
    );
    assert_eq!(
        delete(&sandbox, json!([1]), json!([1, 1])),
        refused(400, "CB_VA01")
    );
    assert_eq!(delete(&sandbox, json!([0]), Json::Null), refused(400, "CB_VA01"));
    assert_eq!(sandbox.records(LAB).len(), 3);
    assert_eq!(
        delete(&sandbox, json!(["3", 2]), json!([-1, "1"])),
        refused(200, "")
    );
    assert_eq!(
        added(&sandbox, "lab", LAB, &json!({})),
        4,
        "ids are never given out again"
    );
    assert_eq!(delete(&sandbox, json!([4]), Json::Null).0, 200);
    sandbox.kill_and_restart();
    assert_eq!(
        added(&sandbox, "lab", LAB, &json!({})),
        5,
        "not even after a restart"
    );
}
