//! force-unlock-network (OPR-21 to OPR-27).

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::process::Command;

use serde_json::{Value as Json, json};

use crate::desk::{Desk, assert_done, assert_refused, disturbances, json_of, park};
use crate::network::{NodeSpec, PROFILE, said, text};
use crate::sandbox::STATE;

const NODES: &[NodeSpec] = &[NodeSpec::new("a", &[], &["SUCCESS"])];
const OWNER: &str = "invoke_dead";

/// The number of a process that has ended.
fn dead_pid() -> u32 {
    let mut child = Command::new("true").spawn().expect("starts");
    child.wait().expect("ends");
    child.id()
}

fn lock_record(desk: &Desk, id: u64) -> Json {
    let records = desk.sandbox.records(STATE.0);
    let wanted = id.to_string();
    records
        .into_iter()
        .find(|r| text(r, "$id") == wanted)
        .expect("the lock")
}

#[test]
fn tombstone_and_audit_are_one_request() {
    let desk = Desk::empty("unlock", NODES);
    let lock = desk.lock(OWNER, "somewhere", -2);
    desk.sandbox.clear_log();
    let output = desk.unlock(OWNER, "manual");
    assert_done(&output);
    assert_eq!(desk.requests(), 3);
    let record = lock_record(&desk, lock);
    assert!(text(&record, "record_key").starts_with("LOCKDONE:"));
    for field in ["lock_key", "owner_invocation_id", "lease_token"] {
        assert_eq!(text(&record, field), "", "{field}");
    }
    assert_eq!(
        (text(&record, "status"), text(&record, "revision")),
        ("CANCELLED", "2")
    );
    assert_eq!(text(&record, "status_reason"), "NETWORK_LOCK_FORCE_RELEASED");
    let operation = desk.book().operations[0].clone();
    let event: Json = serde_json::from_str(text(&operation, "reason")).expect("JSON");
    for (key, value) in [
        ("event_type", json!("NETWORK_LOCK_FORCE_RELEASED")),
        ("network_id", json!("unlock")),
        ("profile", json!(PROFILE)),
        ("record_id", json!(lock.to_string())),
        ("previous_owner_invocation_id", json!(OWNER)),
        ("service_principal", json!("svc")),
        ("requested_by", json!("tester")),
        ("stop_confirmed_by", json!("ito")),
        ("stop_method", json!("manual")),
        ("stop_evidence_ref", json!("INC-1#2")),
        ("reason", json!("because of INC-1\n")),
        ("evidence_ref", json!("INC-1")),
        ("post_release_revision", json!(2)),
        ("stop_detail", json!("confirmed by ito")),
    ] {
        assert_eq!(event[key], value, "{key}");
    }
    assert_eq!(text(&operation, "requested_by"), "tester");
    let line = format!("(previous owner {OWNER}, post revision 2).");
    assert!(said(&output).contains(&line), "{}", said(&output));
    assert_done(&desk.space.run_network(&["--business-key", "k"]));
}

#[test]
fn a_second_call_tells_about_the_first() {
    let desk = Desk::empty("unlock_twice", NODES);
    desk.lock(OWNER, "somewhere", -2);
    assert_done(&desk.unlock(OWNER, "manual"));
    let again = desk.unlock(OWNER, "manual");
    assert_done(&again);
    let event = desk.events("NETWORK_LOCK_FORCE_RELEASED")[0]["event_id"].clone();
    let event = event.as_str().expect("an id");
    assert!(said(&again).contains("ALREADY_RELEASED: "), "{}", said(&again));
    assert!(
        said(&again).contains("tester released it at 2"),
        "{}",
        said(&again)
    );
    assert!(said(&again).contains(event), "{}", said(&again));
    // Also when somebody else holds the lock by now.
    desk.lock("invoke_next", "somewhere", 5);
    assert_done(&desk.unlock(OWNER, "manual"));
    assert_eq!(desk.events("NETWORK_LOCK_FORCE_RELEASED").len(), 1);
    assert_eq!(desk.book().held_locks.len(), 1);
}

#[test]
fn preconditions_in_order() {
    let desk = Desk::empty("unlock_rows", NODES);
    assert_refused(&desk.unlock(OWNER, "manual"), "LOCK_NOT_FOUND");
    let (reason, blank) = (desk.reason(), desk.blank());
    let with = |changes: &[(&str, &str)]| {
        let mut words = [
            ("--profile", PROFILE),
            ("--expected-owner-invocation-id", OWNER),
            ("--reason-file", reason.as_str()),
            ("--evidence-ref", "INC-1"),
            ("--stop-confirmed-by", "ito"),
            ("--stop-evidence-ref", "INC-1#2"),
            ("--stop-method", "manual"),
        ];
        for (flag, value) in changes {
            words
                .iter_mut()
                .filter(|w| w.0 == *flag)
                .for_each(|w| w.1 = value);
        }
        let mut args = vec!["force-unlock-network", desk.space.network_id.as_str()];
        args.extend(words.iter().flat_map(|(flag, value)| [*flag, *value]));
        desk.space.run(&args)
    };
    desk.lock(OWNER, "somewhere", 5);
    for flag in [
        "--profile",
        "--expected-owner-invocation-id",
        "--evidence-ref",
        "--stop-confirmed-by",
        "--stop-evidence-ref",
        "--stop-method",
    ] {
        assert_refused(&with(&[(flag, " ")]), "INVALID_ARGUMENT");
    }
    assert_refused(&with(&[("--reason-file", &blank)]), "INVALID_ARGUMENT");
    assert_refused(&with(&[("--profile", "a:b")]), "LOCK_KEY_IDENTIFIER_SEPARATOR");
    assert_refused(&desk.unlock("invoke_other", "manual"), "OWNER_MISMATCH");
    assert_refused(&desk.unlock(OWNER, "manual"), "LEASE_STILL_ACTIVE");
    assert_eq!(desk.book().held_locks.len(), 1);
    let lock = desk.book().held_locks[0].clone();
    let number: u64 = text(&lock, "$id").parse().expect("an id");
    let end = |text: &str| {
        desk.sandbox
            .edit(STATE.0, number, &json!({"lease_expires_at": {"value": text}}));
    };
    // An end that cannot be read holds nothing up, but the stop has to be confirmed all the same.
    end("");
    assert_refused(&desk.unlock(OWNER, "by_dream"), "STOP_NOT_CONFIRMED");
    end("2026-01-01T00:00:00Z");
    for (method, why) in [
        ("by_dream", "is no stop method"),
        ("local_pid", "not local-pid://"),
        ("cloud_run_job_execution", "KSQL_FLOWNET_GCP_ACCESS_TOKEN"),
    ] {
        let refused = desk.unlock(OWNER, method);
        assert_refused(&refused, "STOP_NOT_CONFIRMED");
        assert!(said(&refused).contains(why), "{}", said(&refused));
    }
    desk.sandbox.fault(&json!({
        "match": {"method": "GET", "contains": "LOCK:"}, "nth": 1, "times": 1, "action": "status", "status": 403,
        "body": "{\"code\":\"GAIA_NO01\"}"
    }));
    assert_refused(&desk.unlock(OWNER, "manual"), "LOCK_READ_FAILED");
    assert!(desk.book().operations.is_empty());
    assert_done(&desk.unlock(OWNER, "manual"));
}

#[test]
fn a_process_of_this_host_is_looked_up() {
    let desk = Desk::empty("unlock_pid", NODES);
    let host =
        String::from_utf8(Command::new("uname").arg("-n").output().expect("runs").stdout).expect("UTF-8");
    let host = host.trim();
    let lock = desk.lock(OWNER, &format!("local-pid://{host}/{}", std::process::id()), -5);
    let refused = desk.unlock(OWNER, "local_pid");
    assert_refused(&refused, "STOP_NOT_CONFIRMED");
    assert!(said(&refused).contains(" exists"), "{}", said(&refused));
    desk.unlock_by_hand(lock);
    let pid = dead_pid();
    desk.lock(OWNER, &format!("local-pid://{host}/{pid}"), -5);
    assert_done(&desk.unlock(OWNER, "local_pid"));
    let event = desk.events("NETWORK_LOCK_FORCE_RELEASED").remove(0);
    let detail = event["stop_detail"].as_str().expect("a text");
    assert!(
        detail.contains(&format!("no process {pid} on {host} at 2")),
        "{detail}"
    );
}

/// Answers one request with this status and body, and gives back what was asked.
fn api(status: &str, body: &str) -> (String, std::thread::JoinHandle<String>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = format!("http://{}", listener.local_addr().expect("an address"));
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
        body.len()
    );
    let asked = std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().expect("a request");
        let (mut head, mut byte) = (Vec::new(), [0; 1]);
        while !head.ends_with(b"\r\n\r\n") && stream.read(&mut byte).expect("bytes") == 1 {
            head.push(byte[0]);
        }
        stream.write_all(answer.as_bytes()).expect("answered");
        String::from_utf8(head).expect("UTF-8")
    });
    (address, asked)
}

#[test]
fn a_cloud_run_execution_is_asked_for() {
    const NAME: &str = "projects/p/locations/l/jobs/j/executions/e";
    let desk = Desk::empty("unlock_cloud", NODES);
    desk.lock(OWNER, NAME, -5);
    let reason = desk.reason();
    let unlock = |address: &str| {
        let args = [
            "force-unlock-network",
            &desk.space.network_id,
            "--profile",
            PROFILE,
            "--expected-owner-invocation-id",
            OWNER,
            "--reason-file",
            &reason,
            "--evidence-ref",
            "INC-1",
            "--stop-confirmed-by",
            "ito",
            "--stop-evidence-ref",
            "INC-1#2",
            "--stop-method",
            "cloud_run_job_execution",
        ];
        let mut command = desk.space.command(&args);
        command.env("KSQL_FLOWNET_GCP_ACCESS_TOKEN", "ya29.secret-token");
        command.env("KSQL_FLOWNET_CLOUD_RUN_URL", address);
        command.output().expect("runs")
    };
    let running = json!({"name": NAME, "completionTime": null}).to_string();
    let other = json!({"name": "x", "completionTime": "2026-11-30T10:00:00Z"}).to_string();
    for (status, body, why) in [
        ("200 OK", running.as_str(), "no completion time"),
        ("200 OK", &other, "another execution"),
        ("200 OK", "<html>", "not answer with JSON"),
        ("403 Forbidden", "{}", "HTTP 403"),
        ("302 Found", "", "HTTP 302"),
    ] {
        let (address, asked) = api(status, body);
        let refused = unlock(&address);
        asked.join().expect("asked");
        assert_refused(&refused, "STOP_NOT_CONFIRMED");
        assert!(said(&refused).contains(why), "{}", said(&refused));
        assert!(!said(&refused).contains("secret-token"));
    }
    assert_refused(&unlock("https://example.com"), "FORCE_UNLOCK_NETWORK_FAILED");
    let done =
        json!({"name": NAME, "completionTime": "2026-11-30T10:00:00.123456Z", "state": "FAILED"}).to_string();
    let (address, asked) = api("200 OK", &done);
    assert_done(&unlock(&address));
    let head = asked.join().expect("asked").to_lowercase();
    assert!(
        head.starts_with(&format!("get /v2/{NAME} http/1.1\r\n")),
        "{head}"
    );
    assert!(
        head.contains("\r\nauthorization: bearer ya29.secret-token\r\n"),
        "{head}"
    );
    let event = desk.events("NETWORK_LOCK_FORCE_RELEASED").remove(0);
    assert!(
        event["stop_detail"]
            .as_str()
            .expect("a text")
            .contains("state FAILED")
    );
}

#[test]
fn every_release_happens_once_whatever_becomes_of_its_answer() {
    let desk = Desk::empty("unlock_faults", NODES);
    for (i, (name, fault)) in disturbances().into_iter().enumerate() {
        let owner = format!("invoke_dead_{i}");
        desk.lock(&owner, "somewhere", -5);
        desk.sandbox.fault(&fault);
        let output = desk.unlock(&owner, "manual");
        desk.sandbox.clear_faults();
        assert!(output.status.success(), "{name}: {}", said(&output));
        assert!(desk.book().held_locks.is_empty(), "{name}");
        assert_eq!(desk.events("NETWORK_LOCK_FORCE_RELEASED").len(), i + 1, "{name}");
        // All tombstones of this test would have one key.
        let done = desk.sandbox.records(STATE.0);
        let tombstone = done.iter().find(|r| {
            text(r, "record_key").starts_with("LOCKDONE:")
                && text(r, "status_reason") == "NETWORK_LOCK_FORCE_RELEASED"
        });
        let number: u64 = text(tombstone.expect("a tombstone"), "$id")
            .parse()
            .expect("an id");
        desk.sandbox.edit(
            STATE.0,
            number,
            &json!({"record_key": {"value": format!("GONE:{i}")}, "status_reason": {"value": ""}}),
        );
    }
}

#[test]
fn an_owner_that_moves_while_its_stop_is_confirmed_keeps_its_lock() {
    let desk = Desk::empty("unlock_moves", NODES);
    let lock = desk.lock(OWNER, "somewhere", -5);
    // Its heartbeat comes between the two looks.
    desk.sandbox.fault(&json!({
        "match": {"method": "GET", "contains": "LOCK:"}, "nth": 2, "times": 1, "action": "hold_before"
    }));
    let unlocking = desk.start_unlock(OWNER, "manual");
    let parked = desk.sandbox.wait_for_hold();
    desk.sandbox
        .edit(STATE.0, lock, &json!({"revision": {"value": "2"}}));
    desk.sandbox.release(&parked, "proceed");
    assert_refused(&unlocking.wait_with_output().expect("ends"), "HEARTBEAT_ADVANCED");
    // It comes between the second look and the release.
    park(&desk.sandbox);
    let unlocking = desk.start_unlock(OWNER, "manual");
    let parked = desk.sandbox.wait_for_hold();
    desk.sandbox
        .edit(STATE.0, lock, &json!({"revision": {"value": "3"}}));
    desk.sandbox.release(&parked, "proceed");
    assert_refused(&unlocking.wait_with_output().expect("ends"), "REVISION_CONFLICT");
    assert_eq!(desk.book().held_locks.len(), 1);
    assert!(desk.book().operations.is_empty());
}

#[test]
fn two_operators_at_once_get_one_answer() {
    let desk = Desk::empty("unlock_race", NODES);
    desk.lock(OWNER, "somewhere", -5);
    park(&desk.sandbox);
    let first = desk.start_unlock(OWNER, "manual");
    let parked = desk.sandbox.wait_for_hold();
    assert_done(&desk.unlock(OWNER, "manual"));
    desk.sandbox.release(&parked, "proceed");
    let first = first.wait_with_output().expect("ends");
    assert_done(&first);
    assert!(said(&first).contains("ALREADY_RELEASED"), "{}", said(&first));
    assert_eq!(desk.events("NETWORK_LOCK_FORCE_RELEASED").len(), 1);
}

#[test]
fn an_audit_that_cannot_be_written_keeps_the_lock() {
    let desk = Desk::empty("unlock_refused", NODES);
    desk.lock(OWNER, "somewhere", -5);
    desk.sandbox.fault(&json!({
        "match": {"method": "POST", "path": "/k/v1/bulkRequest.json"}, "nth": 1, "times": 1, "action": "status",
        "status": 403, "body": "{\"code\":\"GAIA_NO01\"}"
    }));
    assert_refused(&desk.unlock(OWNER, "manual"), "RELEASE_UNCONFIRMED");
    assert_eq!(desk.book().held_locks.len(), 1);
    let told = json_of(&desk.unlock_with_json(OWNER));
    assert_eq!(
        (&told["outcome"], &told["code"]),
        (&json!("RELEASED"), &json!("LOCK_RELEASED"))
    );
    assert_eq!(told["ids"]["previous_owner_invocation_id"], OWNER);
}
