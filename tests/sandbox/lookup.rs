//! Lookups (KTB-46, KTB-120 to KTB-122).
use serde_json::json;

use crate::lab::{self, SOURCE, TARGET, add, added, get, put, record};

#[test]
fn ktb_120_to_122_copies() {
    let sandbox = lab::start("lookups");
    let both = "target,source";
    let source = added(
        &sandbox,
        "source",
        SOURCE,
        &json!({ "code": "P1", "name": "りんご", "price": 120 }),
    );
    added(
        &sandbox,
        "source",
        SOURCE,
        &json!({ "code": "P2", "name": "みかん", "price": 80 }),
    );

    let id = added(
        &sandbox,
        both,
        TARGET,
        &json!({ "商品": "P1", "商品名": "ignored", "番号": source }),
    );
    let made = get(&sandbox, "target", TARGET, id);
    for (field, expected) in [
        ("商品", json!({ "type": "SINGLE_LINE_TEXT", "value": "P1" })),
        ("商品名", json!({ "type": "SINGLE_LINE_TEXT", "value": "りんご" })),
        ("単価", json!({ "type": "NUMBER", "value": "120" })),
        ("番号名", json!({ "type": "SINGLE_LINE_TEXT", "value": "りんご" })),
    ] {
        assert_eq!(made[field], expected, "{field}");
    }
    // Later changes in the source are not copied; a PUT without the key keeps, with a new key copies, with "" clears.
    put(&sandbox, "source", SOURCE, source, &json!({ "name": "林檎" })).ok();
    put(&sandbox, both, TARGET, id, &json!({ "商品名": "still ignored" })).ok();
    assert_eq!(get(&sandbox, "target", TARGET, id)["商品名"]["value"], "りんご");
    put(&sandbox, both, TARGET, id, &json!({ "商品": "P2" })).ok();
    assert_eq!(get(&sandbox, "target", TARGET, id)["単価"]["value"], "80");
    put(&sandbox, both, TARGET, id, &json!({ "商品": "" })).ok();
    assert_eq!(get(&sandbox, "target", TARGET, id)["商品名"]["value"], "");
    let id = added(&sandbox, both, TARGET, &json!({}));
    assert_eq!(
        get(&sandbox, "target", TARGET, id)["商品名"]["value"],
        "",
        "no key: targets stay empty"
    );

    let rows = json!([{ "value": record(&json!({ "明細商品": "P2" })) }, { "value": {} }]);
    let id = added(&sandbox, both, TARGET, &json!({ "明細": rows }));
    let table = get(&sandbox, "target", TARGET, id)["明細"]["value"].clone();
    assert_eq!(table[0]["value"]["明細名"]["value"], "みかん");
    assert_eq!(table[1]["value"]["明細名"]["value"], "");
}

#[test]
fn ktb_120_a_missing_key_is_refused_without_paths() {
    let sandbox = lab::start("lookup-miss");
    let both = "target,source";
    let missed = add(&sandbox, both, TARGET, &json!({ "商品": "none" }));
    assert_eq!(missed.failure(), (400, "GAIA_LO04"));
    assert!(missed.body.get("errors").is_none());
    let batch = json!({ "app": TARGET, "records": [{}, record(&json!({ "商品": "none" })), record(&json!({ "番号": 99 }))] });
    assert_eq!(
        sandbox.api(both, "POST", "records.json", &batch).failure(),
        (400, "GAIA_LO04")
    );
    assert!(sandbox.records(TARGET).is_empty());
    // The source app must be readable, too.
    added(&sandbox, "source", SOURCE, &json!({ "code": "P1" }));
    assert_eq!(
        add(&sandbox, "target", TARGET, &json!({ "商品": "P1" })).failure(),
        (403, "GAIA_NO01")
    );
}
