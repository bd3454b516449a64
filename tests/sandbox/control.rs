//! The control interface: faults, held requests, log, counters, latency, clock, edits.
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::lab::{self, LAB, SOURCE, add, added, get, record};

const TOKEN: &[(&str, &str)] = &[("X-Cybozu-API-Token", "lab,source")];

fn insert(key: &str) -> Json {
    json!({ "app": LAB, "record": record(&json!({ "key": key })) })
}

#[test]
fn faults_drop_cut_and_replace_answers() {
    let sandbox = lab::start("faults");
    let post = |key: &str| sandbox.try_send(TOKEN, "POST", "/k/v1/record.json", &insert(key));
    let count = || sandbox.records(LAB).len();

    sandbox.fault(&json!({ "action": "drop_before" }));
    assert!(post("a").is_err());
    assert_eq!(count(), 0);
    sandbox.fault(&json!({ "action": "drop_after" }));
    assert!(post("a").is_err());
    assert_eq!(count(), 1);
    sandbox.fault(&json!({ "action": "cut" }));
    assert!(post("b").is_err());
    assert_eq!(count(), 2);

    sandbox.fault(&json!({ "action": "status", "status": 503, "body": "<html>down</html>", "headers": { "Retry-After": "1" } }));
    let answer = post("c").expect("an answer");
    assert_eq!((answer.status, &answer.body), (503, &Json::Null));
    assert_eq!(answer.headers["retry-after"], "1");
    assert_eq!(count(), 2);
    sandbox.fault(&json!({ "action": "status", "status": 400, "code": "GAIA_DA02", "after": true }));
    assert_eq!(post("c").expect("an answer").failure(), (400, "GAIA_DA02"));
    assert_eq!(count(), 3);
    sandbox.fault(&json!({ "action": "delay", "ms": 1 }));
    assert_eq!(post("d").expect("an answer").status, 200);
    assert_eq!(post("e").expect("an answer").status, 200, "a fault strikes once");
}

#[test]
fn faults_match_count_and_are_cleared() {
    let sandbox = lab::start("fault-match");
    let status = |method: &str, path: &str, body: &Json| {
        sandbox.send(TOKEN, method, &format!("/k/v1/{path}"), body).status
    };
    let fault = |matching: Json, nth: u64, times: u64| {
        sandbox.fault(
            &json!({ "match": matching, "nth": nth, "times": times, "action": "status", "status": 599 }),
        );
    };
    fault(json!({ "method": "POST", "app": LAB }), 2, 2);
    let posts: Vec<u16> = ["a", "b", "c", "d"]
        .map(|key| status("POST", "record.json", &insert(key)))
        .to_vec();
    assert_eq!(posts, [200, 599, 599, 200]);
    fault(json!({ "path": "/k/v1/bulkRequest.json", "app": SOURCE }), 1, 1);
    let bulk = |app: u64| json!({ "requests": [{ "method": "POST", "api": "/k/v1/record.json", "payload": { "app": app, "record": {} } }] });
    assert_eq!(status("POST", "bulkRequest.json", &bulk(LAB)), 200);
    assert_eq!(status("POST", "bulkRequest.json", &bulk(SOURCE)), 599);
    fault(json!({ "contains": "needle" }), 1, 9);
    assert_eq!(
        status(
            "GET",
            "records.json",
            &json!({ "app": LAB, "query": "text = \"needle\"" })
        ),
        599
    );
    assert_eq!(status("POST", "record.json", &insert("a needle here")), 599);
    assert_eq!(status("GET", "records.json", &json!({ "app": LAB })), 200);
    sandbox.clear_faults();
    assert_eq!(status("POST", "record.json", &insert("a needle here")), 200);
    for (bad, word) in [
        (json!({ "action": "explode" }), "explode"),
        (json!({ "action": "status" }), "status"),
        (json!({ "action": "headers" }), "headers"),
        (json!({ "action": "cut", "nth": 0 }), "nth"),
        (json!({ "action": "cut", "match": { "url": "x" } }), "url"),
    ] {
        let answer = sandbox.send(&[], "POST", "/_control/faults", &bad);
        assert_eq!(answer.status, 400);
        assert!(
            answer.body["error"]
                .as_str()
                .is_some_and(|text| text.contains(word)),
            "{}",
            answer.body
        );
    }
}

#[test]
fn held_requests_go_on_or_are_cut() {
    let sandbox = lab::start("holds");
    let count = || sandbox.records(LAB).len();
    let held = |action: &str, release: &str| {
        sandbox.fault(&json!({ "action": action }));
        std::thread::scope(|scope| {
            let client = scope.spawn(|| {
                sandbox.try_send(
                    TOKEN,
                    "POST",
                    "/k/v1/record.json",
                    &json!({ "app": LAB, "record": {} }),
                )
            });
            let id = sandbox.wait_for_hold();
            let before = count();
            sandbox.release(&id, release);
            let answer = client.join().expect("client");
            (before, count(), answer.ok().map(|answer| answer.status))
        })
    };
    assert_eq!(held("hold_before", "proceed"), (0, 1, Some(200)));
    assert_eq!(held("hold_before", "drop"), (1, 1, None));
    assert_eq!(held("hold_after", "proceed"), (2, 2, Some(200)));
    assert_eq!(held("hold_after", "drop"), (3, 3, None));
    assert_eq!(
        sandbox
            .send(
                &[],
                "POST",
                "/_control/release",
                &json!({ "id": "h99", "action": "drop" })
            )
            .status,
        404
    );
}

#[test]
fn a_held_request_whose_client_is_gone_is_abandoned_or_arrives_late() {
    use std::io::Write as _;
    let sandbox = lab::start("gone");
    let send_and_close = || {
        let body = insert("late").to_string();
        let request = format!(
            "POST /k/v1/record.json HTTP/1.1\r\nHost: x\r\nX-Cybozu-API-Token: lab\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        let mut stream = std::net::TcpStream::connect(("127.0.0.1", sandbox.port())).expect("connect");
        stream.write_all(request.as_bytes()).expect("send");
        sandbox.wait_for_hold()
    };
    sandbox.fault(&json!({ "action": "hold_before" }));
    send_and_close();
    sandbox.wait_for_no_hold();
    assert!(sandbox.records(LAB).is_empty(), "abandoned");
    sandbox.fault(&json!({ "action": "hold_before", "when_gone": "keep" }));
    let id = send_and_close();
    std::thread::sleep(Duration::from_millis(200));
    sandbox.release(&id, "proceed");
    sandbox.wait_for_no_hold();
    // The release is seen before the write ends.
    while sandbox.records(LAB).is_empty() {
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn the_log_and_the_counters_tell_what_came_in() {
    let sandbox = lab::start("log");
    sandbox.clear_log();
    added(&sandbox, "lab", LAB, &json!({ "text": "x" }));
    add(&sandbox, "lab", LAB, &json!({ "drop": "z" }));
    lab::query(&sandbox, "lab", LAB, "text = \"x\"").ok();
    let bulk = json!({ "requests": [
        { "method": "PUT", "api": "/k/v1/record.json", "payload": { "app": LAB, "id": 1, "record": { "record_type": { "value": "T" } } } },
        { "method": "POST", "api": "/k/v1/records.json", "payload": { "app": SOURCE, "records": [{}, {}] } },
    ] });
    sandbox.send(TOKEN, "POST", "/k/v1/bulkRequest.json", &bulk).ok();
    sandbox.fault(&json!({ "action": "drop_before" }));
    let _ = sandbox.try_send(TOKEN, "GET", "/k/v1/records.json", &json!({ "app": LAB }));
    let log = sandbox.log();
    let short: Vec<Json> = log
        .iter()
        .map(|entry| {
            json!([
                entry["method"],
                entry["path"],
                entry["apps"],
                entry["status"],
                entry["applied"],
                entry["fault"]
            ])
        })
        .collect();
    assert_eq!(
        Json::Array(short),
        json!([
            ["POST", "/k/v1/record.json", [100], 200, true, null],
            ["POST", "/k/v1/record.json", [100], 400, false, null],
            ["GET", "/k/v1/records.json", [100], 200, true, null],
            ["POST", "/k/v1/bulkRequest.json", [100, 103], 200, true, null],
            ["GET", "/k/v1/records.json", [100], null, false, "drop_before"],
        ])
    );
    assert_eq!(log[2]["query"], "text = \"x\"");
    assert_eq!(
        log[3]["summary"],
        "PUT record.json; T; POST records.json; 2 x record"
    );
    assert!(
        !Json::Array(log).to_string().contains("\"lab\""),
        "no token in the log"
    );
    let counters = sandbox.counters();
    assert_eq!(
        (&counters["total"], &counters["by_app"]),
        (&json!(5), &json!({ "100": 5, "103": 1 }))
    );
    assert_eq!(counters["by_endpoint"]["POST /k/v1/record.json"], 2);
    assert!(
        counters["max_concurrent"]
            .as_u64()
            .is_some_and(|count| count >= 1)
    );
}

#[test]
fn clock_and_edits() {
    let sandbox = lab::start("clock");
    sandbox.shift_clock(Duration::from_hours(400 * 24));
    let id = added(&sandbox, "lab", LAB, &json!({}));
    let year = |text: &Json| {
        text.as_str()
            .and_then(|text| text.get(..4)?.parse::<i16>().ok())
            .unwrap_or_default()
    };
    let created = get(&sandbox, "lab", LAB, id)["作成日時"]["value"].clone();
    let present = jiff::Timestamp::now()
        .to_zoned_datetime(jiff::tz::TimeZone::UTC)
        .year();
    assert!(year(&created) > present, "{created}");
    sandbox.edit(LAB, id, &json!({}));
    sandbox.edit(LAB, id, &record(&json!({ "text": "by hand" })));
    let edited = get(&sandbox, "lab", LAB, id);
    assert_eq!(
        (&edited["$revision"]["value"], &edited["text"]["value"]),
        (&json!("3"), &json!("by hand"))
    );
    let bad = json!({ "app": LAB, "records": [record(&json!({ "drop": "z" }))] });
    assert_eq!(
        sandbox.send(&[], "POST", "/_control/records", &bad).failure(),
        (400, "CB_VA01")
    );
}
