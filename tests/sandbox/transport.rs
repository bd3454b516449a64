//! Transport, errors, language (KTB-01 to KTB-15).
use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::sync::Barrier;

use serde_json::{Value as Json, json};

use crate::lab::{self, LAB, add, added, password};

#[test]
fn ktb_01_and_02_shape_of_errors_and_ids() {
    let sandbox = lab::start("shape");
    let failed = add(&sandbox, "lab", LAB, &json!({ "drop": "z" }));
    assert_eq!(failed.failure(), (400, "CB_VA01"));
    assert_eq!(
        failed.body["errors"],
        json!({ "record.drop.value": { "messages": ["The value, \"z\", is not in options."] } })
    );
    let again = add(&sandbox, "lab", LAB, &json!({ "drop": "z" }));
    assert!(failed.body["id"].is_string() && failed.body["id"] != again.body["id"]);
    let unknown = sandbox.api("lab", "GET", "record.json", &json!({ "app": LAB, "id": 99 }));
    assert_eq!(unknown.failure(), (404, "GAIA_RE01"));
    assert!(unknown.body.get("errors").is_none());
    // Requests may name app and id as numbers or as texts; answers have texts only.
    let id = added(&sandbox, "lab", LAB, &json!({ "num": 5 }));
    for (app, id) in [
        (json!(LAB), json!(id)),
        (json!(LAB.to_string()), json!(id.to_string())),
    ] {
        let update = json!({ "app": app, "id": id, "record": {} });
        assert!(sandbox.api("lab", "PUT", "record.json", &update).ok()["revision"].is_string());
    }
}

#[test]
fn ktb_03_and_04_texts_follow_the_language() {
    let sandbox = lab::start("language");
    let message = |headers: &[(&str, &str)]| {
        let mut headers = headers.to_vec();
        if headers.iter().all(|(name, _)| *name != "X-Cybozu-Authorization") {
            headers.push(("X-Cybozu-API-Token", "lab"));
        }
        let answer = sandbox.send(&headers, "GET", "/k/v1/records.json", &json!({}));
        assert_eq!(answer.failure(), (400, "CB_VA01"));
        answer.body["errors"]["app"]["messages"][0]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    let (japanese, english) = ("必須です。", "Required field.");
    assert_eq!(message(&[("Accept-Language", "ja")]), japanese);
    assert_eq!(message(&[("Accept-Language", "ja;q=0.2,en;q=0.9")]), english);
    assert_eq!(message(&[("Accept-Language", "*")]), english, "KTB-15");
    assert_eq!(message(&[]), english, "KTB-93");
    let fixed = password("east", "pw-east");
    assert_eq!(
        message(&[("X-Cybozu-Authorization", &fixed), ("Accept-Language", "en")]),
        japanese
    );
}

/// Method, path, parameters, expected status, code and paths.
type Case<'a> = (&'a str, &'a str, Json, u16, &'a str, &'a [&'a str]);

#[test]
fn ktb_05_to_08_missing_and_unknown_things() {
    let sandbox = lab::start("missing");
    let cases: &[Case<'_>] = &[
        ("GET", "record.json", json!({}), 400, "CB_VA01", &["app", "id"]),
        (
            "GET",
            "record.json",
            json!({ "app": "", "id": 1 }),
            400,
            "CB_VA01",
            &["app"],
        ),
        ("GET", "records.json", json!({}), 400, "CB_VA01", &["app"]),
        ("GET", "app/form/fields.json", json!({}), 400, "CB_VA01", &["app"]),
        ("GET", "file.json", json!({}), 400, "CB_VA01", &["fileKey"]),
        ("GET", "app.json", json!({}), 400, "CB_VA01", &["id"]),
        (
            "POST",
            "record.json",
            json!({}),
            400,
            "CB_VA01",
            &["app", "record"],
        ),
        (
            "POST",
            "records.json",
            json!({ "app": LAB }),
            400,
            "CB_VA01",
            &["records"],
        ),
        (
            "PUT",
            "records.json",
            json!({}),
            400,
            "CB_VA01",
            &["app", "records"],
        ),
        (
            "PUT",
            "record.json",
            json!({ "app": LAB }),
            400,
            "CB_VA01",
            &["id"],
        ),
        (
            "DELETE",
            "records.json",
            json!({ "app": LAB }),
            400,
            "CB_VA01",
            &["ids"],
        ),
        (
            "DELETE",
            "records.json",
            json!({ "app": LAB, "ids": [] }),
            400,
            "CB_VA01",
            &["ids"],
        ),
        (
            "GET",
            "records.json",
            json!({ "app": 0 }),
            400,
            "CB_VA01",
            &["app"],
        ),
        (
            "GET",
            "records.json",
            json!({ "app": -1 }),
            400,
            "CB_VA01",
            &["app"],
        ),
        (
            "GET",
            "records.json",
            json!({ "app": "x" }),
            400,
            "CB_VA01",
            &["app"],
        ),
        (
            "GET",
            "records.json",
            json!({ "app": 999 }),
            404,
            "GAIA_AP01",
            &[],
        ),
        (
            "GET",
            "record.json",
            json!({ "app": LAB, "id": 999 }),
            404,
            "GAIA_RE01",
            &[],
        ),
        (
            "PUT",
            "record.json",
            json!({ "app": LAB, "id": 999, "record": {} }),
            404,
            "GAIA_RE01",
            &[],
        ),
        (
            "GET",
            "file.json",
            json!({ "fileKey": "nothing" }),
            404,
            "GAIA_BL01",
            &[],
        ),
        ("GET", "nothing.json", json!({}), 404, "CB_NA01", &[]),
    ];
    for (method, path, parameters, status, code, paths) in cases {
        let answer = sandbox.api("lab", method, path, parameters);
        assert_eq!(answer.failure(), (*status, *code), "{method} {path} {parameters}");
        assert_eq!(answer.paths(), *paths, "{method} {path} {parameters}");
    }
    let no_ids = sandbox.api("lab", "DELETE", "records.json", &json!({ "app": LAB }));
    let messages = no_ids.body["errors"]["ids"]["messages"]
        .as_array()
        .map_or(0, Vec::len);
    assert_eq!(messages, 2, "KTB-07");
}

#[test]
fn ktb_09_and_10_concurrency_limit() {
    let sandbox = lab::start("concurrency");
    let quiet = sandbox.api("lab", "GET", "records.json", &json!({ "app": LAB }));
    assert_eq!(quiet.headers["x-concurrencylimit-limit"], "100");
    assert_eq!(quiet.headers["x-concurrencylimit-running"], "1");
    assert!(
        quiet.headers["date"]
            .to_str()
            .is_ok_and(|date| date.ends_with(" GMT"))
    );
    sandbox.fault(&json!({ "action": "hold_before", "times": 100 }));
    let parked = Barrier::new(101);
    std::thread::scope(|scope| {
        for _ in 0..100 {
            scope.spawn(|| {
                parked.wait();
                assert_eq!(
                    sandbox
                        .api("lab", "GET", "records.json", &json!({ "app": LAB }))
                        .status,
                    200
                );
            });
        }
        parked.wait();
        let all_held = || {
            let holds = sandbox.control("GET", "holds", &json!({}))["holds"]
                .as_array()
                .cloned();
            holds.filter(|holds| holds.len() == 100)
        };
        let mut holds = all_held();
        while holds.is_none() {
            std::thread::sleep(std::time::Duration::from_millis(20));
            holds = all_held();
        }
        let refused = sandbox.api("lab", "GET", "records.json", &json!({ "app": LAB }));
        assert_eq!(refused.failure(), (429, "GAIA_TO04"));
        assert_eq!(
            refused.body["message"],
            "The number of concurrent API requests exceeds the limit."
        );
        assert_eq!(refused.headers["x-cybozu-error"], "GAIA_TO04");
        assert_eq!(refused.headers["x-concurrencylimit-running"], "101");
        assert!(
            refused.headers["cache-control"]
                .to_str()
                .is_ok_and(|value| value.contains("no-store"))
        );
        assert!(!refused.headers.contains_key("retry-after"));
        for hold in holds.into_iter().flatten() {
            sandbox.release(hold["id"].as_str().unwrap_or_default(), "proceed");
        }
    });
}

/// Sends bytes and answers what comes back until the sandbox closes the connection.
fn raw(port: u16, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("connect");
    stream.write_all(bytes).expect("send");
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn ktb_12_bodies_and_content_types() {
    let sandbox = lab::start("bodies");
    let send = |head: &str, body: &str| {
        let length = if body.is_empty() {
            String::new()
        } else {
            format!("Content-Length: {}\r\n", body.len())
        };
        let request = format!(
            "{head}\r\nHost: x\r\nX-Cybozu-API-Token: lab\r\nConnection: close\r\n{length}\r\n{body}"
        );
        raw(sandbox.port(), request.as_bytes())
    };
    let json = "Content-Type: application/json";
    let cases = [
        (
            format!("GET /k/v1/records.json?app={LAB} HTTP/1.1\r\n{json}"),
            "",
            "CB_IL02",
        ),
        (
            format!("POST /k/v1/record.json HTTP/1.1\r\n{json}"),
            "{not json",
            "CB_IJ01",
        ),
        (
            format!("POST /k/v1/record.json HTTP/1.1\r\n{json}"),
            "[1]",
            "CB_IJ01",
        ),
        (
            "POST /k/v1/record.json HTTP/1.1\r\nContent-Type: text/plain".to_owned(),
            "{}",
            "CB_IL02",
        ),
        (
            format!("GET /k/v1/records.json?app={LAB} HTTP/1.1"),
            "",
            "\"records\":[]",
        ),
        (
            format!("GET /k/v1/records.json HTTP/1.1\r\n{json}"),
            "{\"app\":100}",
            "\"records\":[]",
        ),
    ];
    for (head, body, expected) in cases {
        let answer = send(&head, body);
        assert!(answer.contains(expected), "{head} {body}: {answer}");
    }
}

#[test]
fn ktb_13_and_14_long_reads_and_lists() {
    let sandbox = lab::start("override");
    let id = added(&sandbox, "lab", LAB, &json!({ "text": "x", "num": 1 }));
    let headers = [("X-Cybozu-API-Token", "lab"), ("X-HTTP-Method-Override", "GET")];
    let list = (0..2_000)
        .map(|number| format!("\"{number:05}\""))
        .collect::<Vec<_>>()
        .join(",");
    let long = json!({ "app": LAB, "query": format!("text in ({list}) or text = \"x\""), "fields": ["num"] });
    let answer = sandbox.send(&headers, "POST", "/k/v1/records.json", &long).ok();
    assert_eq!(
        answer["records"],
        json!([{ "num": { "type": "NUMBER", "value": "1" } }])
    );
    let in_url = sandbox.api("lab", "GET", "records.json", &long);
    assert_eq!(in_url.status, 414);
    let fields = json!({ "app": LAB, "fields": ["$id", "num"] });
    let answer = sandbox.api("lab", "GET", "records.json", &fields).ok();
    assert_eq!(
        answer["records"][0].as_object().map(serde_json::Map::len),
        Some(2)
    );
    // DELETE takes its parameters in the query string, too.
    let head = format!("DELETE /k/v1/records.json?app={LAB}&ids%5B0%5D={id} HTTP/1.1");
    let request = format!("{head}\r\nHost: x\r\nX-Cybozu-API-Token: lab\r\nConnection: close\r\n\r\n");
    assert!(raw(sandbox.port(), request.as_bytes()).ends_with("{}"));
    assert!(sandbox.records(LAB).is_empty());
}

#[test]
fn a_connection_serves_many_requests() {
    let sandbox = lab::start("keep-alive");
    let one =
        format!("GET /k/v1/records.json?app={LAB} HTTP/1.1\r\nHost: x\r\nX-Cybozu-API-Token: lab\r\n\r\n");
    let last = one.replace("Host: x", "Host: x\r\nConnection: close");
    let answers = raw(sandbox.port(), [one.as_str(), &one, &last].concat().as_bytes());
    assert_eq!(answers.matches("HTTP/1.1 200 OK").count(), 3);
    assert_eq!(answers.matches("Connection: keep-alive").count(), 2);
    let garbage = raw(sandbox.port(), b"\x00\x01\x02\r\n\r\n");
    assert!(garbage.starts_with("HTTP/1.1 400 "), "{garbage}");
}
