//! Files (KTB-48, KTB-150 to KTB-153).
use std::time::Duration;

use serde_json::json;

use crate::lab::{self, LAB, SOURCE, add, added, get, put};

#[test]
fn ktb_48_and_150_to_152_keys() {
    let sandbox = lab::start("file-keys");
    let key = sandbox.upload("lab", "日本語 \"名\".txt", b"content");
    assert_eq!(
        sandbox.download("lab", &key).0,
        404,
        "an upload key does not download"
    );
    let id = added(&sandbox, "lab", LAB, &json!({ "file": [{ "fileKey": key }] }));
    assert_eq!(
        add(&sandbox, "lab", LAB, &json!({ "file": [{ "fileKey": key }] })).failure(),
        (404, "GAIA_BL01")
    );
    let stored = get(&sandbox, "lab", LAB, id)["file"]["value"].clone();
    assert_eq!(
        (&stored[0]["contentType"], &stored[0]["size"]),
        (&json!("application/octet-stream"), &json!("7"))
    );
    let download = stored[0]["fileKey"].as_str().unwrap_or_default().to_owned();
    assert_ne!(download, key);
    assert_eq!(sandbox.download("lab", &download), (200, b"content".to_vec()));
    assert_eq!(sandbox.download("source", &download).0, 403);
    // PUT keeps files whose download keys are sent and drops the others.
    let second = sandbox.upload("lab", "second.txt", b"2");
    put(
        &sandbox,
        "lab",
        LAB,
        id,
        &json!({ "file": [{ "fileKey": download }, { "fileKey": second }] }),
    )
    .ok();
    let both = get(&sandbox, "lab", LAB, id)["file"]["value"].clone();
    assert_eq!(both[0]["fileKey"], download.as_str());
    put(
        &sandbox,
        "lab",
        LAB,
        id,
        &json!({ "file": [{ "fileKey": both[1]["fileKey"] }] }),
    )
    .ok();
    assert_eq!(get(&sandbox, "lab", LAB, id)["file"]["value"], json!([both[1]]));
    assert_eq!(sandbox.download("lab", &download).0, 404);
    // A download key of one record does not attach to another.
    let foreign = json!({ "file": [{ "fileKey": both[1]["fileKey"] }] });
    assert_eq!(add(&sandbox, "lab", LAB, &foreign).failure(), (404, "GAIA_BL01"));
    sandbox
        .api(
            "lab",
            "DELETE",
            "records.json",
            &json!({ "app": LAB, "ids": [id] }),
        )
        .ok();
    assert_eq!(
        sandbox
            .download("lab", both[1]["fileKey"].as_str().unwrap_or_default())
            .0,
        404
    );
}

#[test]
fn ktb_151_uploads_are_used_once_survive_a_refusal_and_vanish() {
    let sandbox = lab::start("file-once");
    let key = sandbox.upload("lab", "a", b"a");
    let twice = json!({ "file": [{ "fileKey": key }, { "fileKey": key }] });
    assert_eq!(add(&sandbox, "lab", LAB, &twice).failure(), (404, "GAIA_BL01"));
    let refused = json!({ "file": [{ "fileKey": key }], "drop": "z" });
    assert_eq!(add(&sandbox, "lab", LAB, &refused).failure(), (400, "CB_VA01"));
    let rolled_back = json!({ "requests": [
        { "method": "POST", "api": "/k/v1/record.json", "payload": { "app": LAB,
            "record": { "file": { "value": [{ "fileKey": key }] } } } },
        { "method": "DELETE", "api": "/k/v1/records.json", "payload": { "app": LAB, "ids": [99] } },
    ] });
    assert_eq!(
        sandbox
            .api("lab", "POST", "bulkRequest.json", &rolled_back)
            .failure(),
        (404, "GAIA_RE01")
    );
    added(&sandbox, "lab", LAB, &json!({ "file": [{ "fileKey": key }] }));
    let late = sandbox.upload("lab", "b", b"b");
    sandbox.shift_clock(Duration::from_mins(3 * 24 * 60 + 1));
    assert_eq!(
        add(&sandbox, "lab", LAB, &json!({ "file": [{ "fileKey": late }] })).failure(),
        (404, "GAIA_BL01")
    );
}

#[test]
fn ktb_153_bad_uploads() {
    let sandbox = lab::start("file-bad");
    let no_file = sandbox.api("lab", "POST", "file.json", &json!({ "file": "x" }));
    assert_eq!(
        (no_file.failure(), no_file.paths()),
        ((400, "CB_VA01"), vec!["file".to_owned()])
    );
    let empty = sandbox.upload("lab", "empty", b"");
    let id = added(&sandbox, "lab", LAB, &json!({ "file": [{ "fileKey": empty }] }));
    assert_eq!(get(&sandbox, "lab", LAB, id)["file"]["value"][0]["size"], "0");
    let missing = add(&sandbox, "lab", LAB, &json!({ "file": [{ "key": "x" }] }));
    assert_eq!(missing.paths(), ["record.file.values[0].fileKey"]);
    let uploads = sandbox.api("", "POST", "file.json", &json!({}));
    assert_eq!(uploads.failure(), (401, "CB_AU01"));
    assert!(sandbox.records(SOURCE).is_empty());
}
