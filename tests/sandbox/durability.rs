//! What is answered is on disk: kill -9 at any moment, torn lines, compaction, changed apps files.
use std::io::Write as _;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value as Json, json};

use crate::harness::{Sandbox, TempDir, command};
use crate::lab::{self, LAB, SOURCE, added, get, put, record};

#[test]
fn everything_survives_a_restart() {
    let mut sandbox = lab::start("restart");
    let key = sandbox.upload("lab", "f.bin", &[0, 159, 146, 150]);
    let unused = sandbox.upload("lab", "later.bin", b"later");
    let id = added(
        &sandbox,
        "lab",
        LAB,
        &json!({
            "text": "x", "num": "1.10", "check": ["a", "c"], "users": [{ "code": "east" }], "date": "2026-01-02",
            "dt": "2026-01-02T03:04:00Z", "multi": "line 1\nline 2\u{1f600}", "file": [{ "fileKey": key }],
            "表": [{ "value": record(&json!({ "t_text": "row", "t_check": ["b"] })) }],
        }),
    );
    put(&sandbox, "lab", LAB, id, &json!({ "text": "y" })).ok();
    let before = get(&sandbox, "lab", LAB, id);
    sandbox.kill_and_restart();
    assert_eq!(get(&sandbox, "lab", LAB, id), before);
    let download = before["file"]["value"][0]["fileKey"].as_str().unwrap_or_default();
    assert_eq!(sandbox.download("lab", download), (200, vec![0, 159, 146, 150]));
    added(&sandbox, "lab", LAB, &json!({ "file": [{ "fileKey": unused }] }));
    assert_eq!(
        lab::add(&sandbox, "lab", LAB, &json!({ "file": [{ "fileKey": key }] })).code(),
        "GAIA_BL01"
    );
}

/// Writers note what was answered; the process is killed in between. Whatever was answered must be there, and a bulkRequest
/// over two apps must be there in both or in neither.
#[test]
fn kill_9_loses_nothing_that_was_answered() {
    let mut sandbox = lab::start("kill");
    for round in 0..3 {
        let stop = AtomicBool::new(false);
        let answered: Vec<String> = std::thread::scope(|scope| {
            let writers: Vec<_> = (0..4)
                .map(|writer| {
                    let (sandbox, stop) = (&sandbox, &stop);
                    scope.spawn(move || {
                        let mut answered = Vec::new();
                        for number in 0.. {
                            if stop.load(Ordering::Relaxed) {
                                break;
                            }
                            let name = format!("{round}-{writer}-{number}");
                            let insert = |app: u64, code: &str| {
                                json!({ "method": "POST", "api": "/k/v1/record.json",
                                    "payload": { "app": app, "record": record(&json!({ code: name })) } })
                            };
                            let bulk = json!({ "requests": [insert(LAB, "key"), insert(SOURCE, "code")] });
                            let headers = [("X-Cybozu-API-Token", "lab,source")];
                            match sandbox.try_send(&headers, "POST", "/k/v1/bulkRequest.json", &bulk) {
                                Ok(answer) if answer.status == 200 => answered.push(name),
                                _ => break,
                            }
                        }
                        answered
                    })
                })
                .collect();
            std::thread::sleep(Duration::from_millis(150));
            let killed = std::process::Command::new("kill")
                .args(["-9", &sandbox.pid().to_string()])
                .status();
            assert!(killed.is_ok_and(|status| status.success()));
            stop.store(true, Ordering::Relaxed);
            writers
                .into_iter()
                .flat_map(|writer| writer.join().expect("writer"))
                .collect()
        });
        assert!(!answered.is_empty());
        sandbox.kill_and_restart();
        let keys = |app: u64, code: &str| -> std::collections::BTreeSet<String> {
            let records = sandbox.records(app);
            records
                .iter()
                .map(|record| record[code]["value"].as_str().unwrap_or_default().to_owned())
                .collect()
        };
        let (left, right) = (keys(LAB, "key"), keys(SOURCE, "code"));
        assert_eq!(left, right, "both or neither");
        for name in answered {
            assert!(left.contains(&name), "{name} was answered and is lost");
        }
    }
}

fn journal(sandbox: &Sandbox) -> std::path::PathBuf {
    sandbox.dir().join("data/journal.log")
}

#[test]
fn a_torn_last_line_is_cut_off() {
    let mut sandbox = lab::start("torn");
    added(&sandbox, "lab", LAB, &json!({ "text": "whole" }));
    let path = journal(&sandbox);
    let whole = std::fs::read(&path).expect("journal");
    for torn in [
        &b"0123456789abcdef {\"t\":1,\"ops\":[[\"put\""[..],
        b"x",
        b"0123456789abcdef {}\n",
    ] {
        let mut file = std::fs::OpenOptions::new()
            .append(true)
            .open(&path)
            .expect("journal");
        file.write_all(torn).expect("torn line");
        sandbox.kill_and_restart();
        assert_eq!(std::fs::read(&path).expect("journal"), whole);
        assert_eq!(sandbox.records(LAB).len(), 1);
    }
    added(&sandbox, "lab", LAB, &json!({ "text": "next" }));
    sandbox.kill_and_restart();
    assert_eq!(sandbox.records(LAB).len(), 2);
}

/// Runs `serve` on a data directory that it must refuse; answers exit code and message.
fn refused(apps: &std::path::Path, data: &std::path::Path) -> (Option<i32>, String) {
    let output = command()
        .args(["serve", "--port", "0", "--apps"])
        .arg(apps)
        .arg("--data")
        .arg(data)
        .output()
        .expect("serve runs");
    (
        output.status.code(),
        String::from_utf8_lossy(&output.stderr).into_owned(),
    )
}

#[test]
fn damage_foreign_apps_and_a_second_process_are_refused() {
    let sandbox = lab::start("refused");
    let (apps, data) = (sandbox.dir().join("apps.json"), sandbox.dir().join("data"));
    for number in 0..3 {
        added(&sandbox, "lab", LAB, &json!({ "num": number }));
    }
    let (code, message) = refused(&apps, &data);
    assert!(
        code == Some(2) && message.contains("another process"),
        "{message}"
    );

    let copy = TempDir::new("damaged");
    let bytes = std::fs::read(journal(&sandbox)).expect("journal");
    let start = |bytes: &[u8], apps: &std::path::Path| {
        std::fs::write(copy.path().join("journal.log"), bytes).expect("copy");
        refused(apps, copy.path())
    };
    let mut damaged = bytes.clone();
    let middle = damaged.len() / 2;
    damaged[middle] ^= 1;
    let (code, message) = start(&damaged, &apps);
    assert!(
        code == Some(2) && message.contains("line") && message.contains("damaged"),
        "{message}"
    );

    let mut definition = lab::apps();
    let remaining: Vec<Json> = definition["apps"]
        .as_array()
        .into_iter()
        .flatten()
        .filter(|app| app["id"] != LAB)
        .cloned()
        .collect();
    definition["apps"] = Json::Array(remaining);
    let other = sandbox.dir().join("other.json");
    std::fs::write(&other, definition.to_string()).expect("apps file");
    let (code, message) = start(&bytes, &other);
    assert!(code == Some(2) && message.contains("app 100"), "{message}");

    let mut definition = lab::apps();
    definition["apps"][0]["properties"]["num"] = json!({ "type": "SINGLE_LINE_TEXT" });
    std::fs::write(&other, definition.to_string()).expect("apps file");
    let (code, message) = start(&bytes, &other);
    assert!(
        code == Some(2) && message.contains("\"num\" was a NUMBER"),
        "{message}"
    );
}

#[test]
fn a_changed_apps_file_moves_values_by_field_code() {
    let mut sandbox = lab::start("moved");
    let id = added(
        &sandbox,
        "lab",
        LAB,
        &json!({ "text": "kept", "num": 3, "表": [{ "value": record(&json!({ "t_num": 4 })) }] }),
    );
    let mut definition = lab::apps();
    let properties = &mut definition["apps"][0]["properties"];
    properties["aaa"] = json!({ "type": "SINGLE_LINE_TEXT" });
    properties["表"]["fields"]["a_first"] = json!({ "type": "DATE" });
    if let Some(properties) = properties.as_object_mut() {
        properties.remove("num");
    }
    std::fs::write(sandbox.dir().join("apps.json"), definition.to_string()).expect("apps file");
    for _ in 0..2 {
        sandbox.kill_and_restart();
        let read = get(&sandbox, "lab", LAB, id);
        assert_eq!(
            (&read["text"]["value"], &read["aaa"]["value"]),
            (&json!("kept"), &json!(""))
        );
        assert!(read.get("num").is_none());
        assert_eq!(read["表"]["value"][0]["value"]["t_num"]["value"], "4");
        put(&sandbox, "lab", LAB, id, &json!({ "text": "kept" })).ok();
    }
}

#[test]
fn a_journal_full_of_history_is_written_anew() {
    let mut sandbox = lab::start("compaction");
    let ids: Vec<u64> = sandbox.insert(
        LAB,
        &(0..50)
            .map(|number| record(&json!({ "unum": number })))
            .collect::<Vec<_>>(),
    );
    for round in 0..25 {
        let updates: Vec<Json> = ids
            .iter()
            .map(|id| json!({ "id": id, "record": record(&json!({ "num": round })) }))
            .collect();
        sandbox
            .api(
                "lab",
                "PUT",
                "records.json",
                &json!({ "app": LAB, "records": updates }),
            )
            .ok();
    }
    let last = added(&sandbox, "lab", LAB, &json!({}));
    sandbox
        .api(
            "lab",
            "DELETE",
            "records.json",
            &json!({ "app": LAB, "ids": [last] }),
        )
        .ok();
    let before = (
        sandbox.records(LAB),
        std::fs::metadata(journal(&sandbox)).expect("journal").len(),
    );
    sandbox.kill_and_restart();
    let after = (
        sandbox.records(LAB),
        std::fs::metadata(journal(&sandbox)).expect("journal").len(),
    );
    assert_eq!(before.0, after.0);
    assert!(after.1 < before.1 / 5, "{} -> {}", before.1, after.1);
    assert_eq!(
        added(&sandbox, "lab", LAB, &json!({})),
        last + 1,
        "ids are not given out again"
    );
    sandbox.kill_and_restart();
    assert_eq!(sandbox.records(LAB).len(), 51);
}
