//! Authentication, permissions, guest spaces (KTB-20 to KTB-34).
use serde_json::{Value as Json, json};

use crate::harness::Sandbox;
use crate::lab::{self, GUEST5, GUEST6, LAB, SPACE7, added, get, password, record};

/// Headers, expected status, expected code.
type Case<'a> = (&'a [(&'a str, &'a str)], u16, &'a str);

fn read(sandbox: &Sandbox, headers: &[(&str, &str)]) -> (u16, String) {
    let answer = sandbox.send(headers, "GET", "/k/v1/records.json", &json!({ "app": LAB }));
    (answer.status, answer.code().to_owned())
}

#[test]
fn ktb_20_to_24_credentials() {
    let sandbox = lab::start("credentials");
    let good = password("west", "pw:with:colons");
    let wrong = password("west", "pw");
    let stranger = password("nobody", "pw");
    let without_password = password("Administrator", "");
    let nine = [
        "lab", "strict", "defaults", "source", "target", "guest5", "guest6", "space7", "coded",
    ]
    .join(",");
    let ten = format!("{nine},lab-view");
    let token = "X-Cybozu-API-Token";
    let login = "X-Cybozu-Authorization";
    let cases: &[Case<'_>] = &[
        (&[], 401, "CB_AU01"),
        (&[(token, "")], 401, "CB_AU01"),
        (&[(login, &good)], 200, ""),
        (&[(login, &wrong)], 401, "CB_WA01"),
        (&[(login, &stranger)], 401, "CB_WA01"),
        (&[(login, &without_password)], 401, "CB_WA01"),
        (&[(login, "not base64!")], 401, "CB_WA01"),
        (&[(login, &wrong), (token, "lab")], 401, "CB_WA01"),
        (&[(login, &good), (token, "unknown")], 200, ""),
        (&[(token, "unknown")], 400, "GAIA_IA02"),
        (&[(token, "lab,unknown")], 400, "GAIA_IA02"),
        (&[(token, "strict, lab")], 200, ""),
        (&[(token, "lab,lab-view")], 400, "GAIA_DA03"),
        (&[(token, &nine)], 200, ""),
        (&[(token, &ten)], 400, "CB_IL02"),
        (&[(token, "strict")], 403, "GAIA_NO01"),
        (&[(token, "lab-add")], 403, "GAIA_NO01"),
    ];
    for (headers, status, code) in cases {
        assert_eq!(
            read(&sandbox, headers),
            (*status, (*code).to_owned()),
            "{headers:?}"
        );
    }
}

#[test]
fn ktb_24_and_26_each_right_is_needed() {
    let sandbox = lab::start("rights");
    let id = added(&sandbox, "lab", LAB, &json!({ "key": "k" }));
    let upsert = json!({ "app": LAB, "upsert": true,
        "records": [{ "updateKey": { "field": "key", "value": "k" }, "record": {} }] });
    let cases: &[(&str, &str, Json, &[&str])] = &[
        ("GET", "records.json", json!({ "app": LAB }), &["lab-view"]),
        (
            "GET",
            "record.json",
            json!({ "app": LAB, "id": id }),
            &["lab-view"],
        ),
        (
            "GET",
            "app/form/fields.json",
            json!({ "app": LAB }),
            &["lab-view", "lab-add"],
        ),
        (
            "GET",
            "app/settings.json",
            json!({ "app": LAB }),
            &["lab-view", "lab-add"],
        ),
        (
            "POST",
            "record.json",
            json!({ "app": LAB, "record": {} }),
            &["lab-add"],
        ),
        (
            "POST",
            "records.json",
            json!({ "app": LAB, "records": [] }),
            &["lab-add"],
        ),
        (
            "PUT",
            "record.json",
            json!({ "app": LAB, "id": id, "record": {} }),
            &["lab-edit"],
        ),
        (
            "PUT",
            "records.json",
            json!({ "app": LAB, "records": [] }),
            &["lab-edit"],
        ),
        ("PUT", "records.json", upsert, &[]),
        ("DELETE", "records.json", json!({ "app": LAB, "ids": [999] }), &[]),
        (
            "POST",
            "records/cursor.json",
            json!({ "app": LAB }),
            &["lab-view"],
        ),
        ("GET", "preview/app/form/fields.json", json!({ "app": LAB }), &[]),
    ];
    for (method, path, parameters, allowed) in cases {
        for token in ["lab-view", "lab-add", "lab-edit"] {
            let answer = sandbox.api(token, method, path, parameters);
            if allowed.contains(&token) {
                assert_eq!(answer.status, 200, "{token} {method} {path}: {}", answer.body);
            } else {
                assert_eq!(answer.failure(), (403, "GAIA_NO01"), "{token} {method} {path}");
            }
        }
    }
    let login = password("west", "pw:with:colons");
    let headers = [("X-Cybozu-Authorization", login.as_str())];
    let body = json!({ "app": LAB, "record": {} });
    assert_eq!(
        sandbox
            .send(&headers, "POST", "/k/v1/record.json", &body)
            .failure(),
        (403, "CB_NO02")
    );
}

#[test]
fn ktb_25_and_27_creator_and_times() {
    let sandbox = lab::start("creator");
    let id = added(&sandbox, "lab", LAB, &json!({}));
    assert_eq!(
        get(&sandbox, "lab", LAB, id)["作成者"]["value"]["code"],
        "Administrator"
    );
    let login = password("east", "pw-east");
    let headers = [("X-Cybozu-Authorization", login.as_str())];
    let body = json!({ "app": LAB, "record": { "text": { "value": "x" } } });
    let id = sandbox.send(&headers, "POST", "/k/v1/record.json", &body).ok()["id"].clone();
    let id = id.as_str().and_then(|id| id.parse().ok()).unwrap_or_default();
    let made = get(&sandbox, "lab", LAB, id);
    assert_eq!(
        made["作成者"],
        json!({ "type": "CREATOR", "value": { "code": "east", "name": "東" } })
    );
    // A later change by a token leaves the creator and names the modifier.
    lab::put(&sandbox, "lab", LAB, id, &json!({ "text": "y" })).ok();
    let changed = get(&sandbox, "lab", LAB, id);
    assert_eq!(
        (
            &changed["作成者"]["value"]["code"],
            &changed["更新者"]["value"]["code"]
        ),
        (&json!("east"), &json!("Administrator"))
    );
    let backdated = json!({ "app": LAB, "record": record(&json!({
        "作成者": { "code": "west" }, "作成日時": "2020-01-02T03:04:59Z" })) });
    assert_eq!(
        sandbox
            .api("lab-plain", "POST", "record.json", &backdated)
            .failure(),
        (403, "GAIA_NO01")
    );
    let id = sandbox.api("lab", "POST", "record.json", &backdated).ok()["id"].clone();
    let made = sandbox
        .api("lab", "GET", "record.json", &json!({ "app": LAB, "id": id }))
        .ok();
    assert_eq!(made["record"]["作成者"]["value"]["code"], "west");
    assert_eq!(made["record"]["作成日時"]["value"], "2020-01-02T03:04:00Z");
}

#[test]
fn ktb_30_to_34_guest_spaces() {
    let sandbox = lab::start("guest");
    let call = |token: &str, method: &str, path: &str, body: Json| {
        let answer = sandbox.send(&[("X-Cybozu-API-Token", token)], method, path, &body);
        (answer.status, answer.code().to_owned())
    };
    let ok = (200, String::new());
    for path in ["records.json", "app/form/fields.json", "app/settings.json"] {
        let app = json!({ "app": GUEST5 });
        let refused = (400, "GAIA_IL23".to_owned());
        assert_eq!(
            call("guest5", "GET", &format!("/k/v1/{path}"), app.clone()),
            refused,
            "{path}"
        );
        assert_eq!(
            call("guest5", "GET", &format!("/k/guest/5/v1/{path}"), app),
            ok,
            "{path}"
        );
    }
    let forbidden = (403, "CB_NO02".to_owned());
    assert_eq!(
        call("lab", "GET", "/k/guest/5/v1/records.json", json!({ "app": LAB })),
        forbidden
    );
    assert_eq!(
        call(
            "guest6",
            "GET",
            "/k/guest/5/v1/records.json",
            json!({ "app": GUEST6 })
        ),
        forbidden
    );
    assert_eq!(
        call("space7", "GET", "/k/v1/records.json", json!({ "app": SPACE7 })),
        ok
    );

    let app = sandbox.send(
        &[("X-Cybozu-API-Token", "guest5")],
        "GET",
        "/k/guest/5/v1/app.json",
        &json!({ "id": GUEST5 }),
    );
    let app = app.ok();
    assert_eq!(
        (&app["appId"], &app["spaceId"]),
        (&json!(GUEST5.to_string()), &json!("5"))
    );

    let insert = |prefix: &str, app: u64| json!({ "method": "POST", "api": format!("{prefix}/record.json"), "payload": { "app": app, "record": {} } });
    let bulk = |token: &str, path: &str, requests: Json| {
        call(
            token,
            "POST",
            &format!("{path}/bulkRequest.json"),
            json!({ "requests": requests }),
        )
    };
    let guest = "/k/guest/5/v1";
    assert_eq!(bulk("guest5", guest, json!([insert(guest, GUEST5)])), ok);
    assert_eq!(
        bulk(
            "guest5,lab",
            guest,
            json!([insert(guest, GUEST5), insert("/k/v1", LAB)])
        ),
        forbidden
    );
    assert_eq!(
        bulk(
            "guest5,lab",
            "/k/v1",
            json!([insert("/k/v1", LAB), insert(guest, GUEST5)])
        ),
        forbidden
    );
    assert_eq!(sandbox.records(GUEST5).len(), 1);
    assert!(sandbox.records(LAB).is_empty());
}
