//! The program itself: arguments, exit codes, signals, seeding.
use std::process::Command;

use serde_json::json;

use crate::harness::{CUSTOMERS, ORDERS, REQUESTS, STATE, Sandbox, TempDir, command};
use crate::lab::{added, password, record};

fn run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = command().args(arguments).output().expect("program runs");
    let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
    (output.status.code(), text(output.stdout), text(output.stderr))
}

#[test]
fn help_version_and_wrong_command_lines() {
    let (code, out, _) = run(&["--help"]);
    assert!(code == Some(0) && out.contains("kintone-sandbox serve --apps FILE"));
    let (code, out, _) = run(&["--version"]);
    assert_eq!(
        (code, out),
        (
            Some(0),
            format!("kintone-sandbox {}\n", env!("CARGO_PKG_VERSION"))
        )
    );
    for (arguments, word) in [
        (&[][..], "command is missing"),
        (&["fly"], "fly"),
        (&["serve"], "--apps"),
        (&["serve", "--apps", "x"], "--data"),
        (
            &["serve", "--apps", "x", "--data", "y", "--port", "70000"],
            "70000",
        ),
        (
            &["serve", "--apps", "x", "--data", "y", "--listen", "here"],
            "here",
        ),
        (&["serve", "--apps", "x", "--data", "y", "--wrong"], "--wrong"),
        (&["seed"], "--dir"),
        (&["seed", "--dir", "x", "--orders", "99999999"], "at most"),
        (&["seed", "--dir", "x", "--customers", "0"], "at least 1"),
    ] {
        let (code, out, error) = run(arguments);
        assert_eq!((code, out.as_str()), (Some(1), ""), "{arguments:?}");
        assert!(
            error.starts_with("kintone-sandbox: error: ") && error.contains(word),
            "{arguments:?}: {error}"
        );
    }
}

#[test]
fn what_cannot_be_served_ends_with_code_2() {
    let dir = TempDir::new("cannot");
    let path = |name: &str| dir.path().join(name).display().to_string();
    let (code, _, error) = run(&[
        "serve",
        "--apps",
        &path("none.json"),
        "--data",
        &path("data"),
        "--port",
        "0",
    ]);
    assert!(code == Some(2) && error.contains("none.json"), "{error}");
    std::fs::write(
        dir.path().join("bad.json"),
        "{\"apps\":[{\"id\":1,\"name\":\"a\",\"fields\":{}}]}",
    )
    .expect("file");
    let (code, _, error) = run(&[
        "serve",
        "--apps",
        &path("bad.json"),
        "--data",
        &path("data"),
        "--port",
        "0",
    ]);
    assert!(
        code == Some(2) && error.contains("unknown field `fields`"),
        "{error}"
    );
    std::fs::write(dir.path().join("good.json"), "{\"apps\":[]}").expect("file");
    let taken = std::net::TcpListener::bind(("127.0.0.1", 0)).expect("port");
    let port = taken.local_addr().expect("address").port().to_string();
    let (code, _, error) = run(&[
        "serve",
        "--apps",
        &path("good.json"),
        "--data",
        &path("data"),
        "--port",
        &port,
    ]);
    assert!(code == Some(2) && error.contains(&port), "{error}");
}

#[test]
fn sigterm_and_sigint_end_it_cleanly() {
    for signal in ["-TERM", "-INT"] {
        let mut sandbox = Sandbox::start("signal");
        added(&sandbox, CUSTOMERS.1, CUSTOMERS.0, &json!({ "顧客コード": "Z" }));
        Command::new("kill")
            .args([signal, &sandbox.pid().to_string()])
            .status()
            .expect("kill");
        assert_eq!(sandbox.wait().code(), Some(0), "{signal}");
        sandbox.kill_and_restart();
        assert_eq!(sandbox.records(CUSTOMERS.0).len(), 41);
    }
}

#[test]
fn without_control_there_is_no_side_door() {
    let dir = TempDir::new("no-control");
    std::fs::write(dir.path().join("apps.json"), "{\"apps\":[]}").expect("file");
    let sandbox = Sandbox::without_control("no-control");
    let answer = sandbox.send(&[], "GET", "/_control/log", &json!({}));
    assert_eq!(answer.failure(), (401, "CB_AU01"));
    let answer = sandbox.api(STATE.1, "GET", "../../_control/log", &json!({}));
    assert_eq!(answer.status, 404);
}

#[test]
fn seed_is_repeatable_and_does_not_overwrite() {
    let dir = TempDir::new("seed");
    let target = |name: &str| dir.path().join(name).display().to_string();
    for name in ["a", "b"] {
        assert_eq!(
            run(&["seed", "--dir", &target(name), "--orders", "500", "--seed", "7"]).0,
            Some(0)
        );
    }
    let data = |name: &str| std::fs::read(dir.path().join(name).join("data/journal.log")).expect("journal");
    assert_eq!(data("a"), data("b"));
    assert_eq!(
        run(&["seed", "--dir", &target("c"), "--orders", "500", "--seed", "8"]).0,
        Some(0)
    );
    assert_ne!(data("a"), data("c"));
    let (code, _, error) = run(&["seed", "--dir", &target("a")]);
    assert!(code == Some(2) && error.contains("already exists"), "{error}");
    let env = std::fs::read_to_string(dir.path().join("a/sandbox.env")).expect("sandbox.env");
    for name in [
        "KSQL_FLOWNET_BASE_URL=http://127.0.0.1:8080",
        "KSQL_FLOWNET_STATE_APP_ID=1",
        "KSQL_TOKEN_LOGS=sandbox-log",
    ] {
        assert!(env.contains(&format!("export {name}\n")), "{env}");
    }
}

#[test]
fn seeded_apps_have_their_rights_and_data() {
    let sandbox = Sandbox::seeded("seeded", &["--orders", "1200", "--customers", "10"], &[]);
    let total = |(app, token): (u64, &str), query: &str| {
        let parameters = json!({ "app": app, "query": query, "totalCount": true });
        sandbox.api(token, "GET", "records.json", &parameters).ok()["totalCount"].clone()
    };
    assert_eq!(total(ORDERS, ""), "1200");
    assert_eq!(total(CUSTOMERS, ""), "10");
    for month in ["2026-05", "2026-08", "2026-10"] {
        let query = format!("受注日 >= \"{month}-01\" and 受注日 <= \"{month}-31\"");
        // Days that a month lacks are refused, so June and September have their own end.
        assert_eq!(total(ORDERS, &query), "200", "{month}");
    }
    assert_ne!(total(ORDERS, "金額 < 0"), "0");
    assert_eq!(total(ORDERS, "金額 < 0 and 受注日 < \"2026-10-01\""), "0");
    assert_ne!(total(ORDERS, "テスト区分 in (\"テスト\")"), "0");
    assert_eq!(
        total(ORDERS, "テスト区分 in (\"テスト\") and 受注日 < \"2026-10-01\""),
        "0"
    );
    assert_ne!(total(ORDERS, "ステータス in (\"受注完了\")"), "0");
    // The poller's token cannot add; a person files requests, and is their creator.
    let request =
        json!({ "app": REQUESTS.0, "record": record(&json!({ "request_type": "START", "reason": "test" })) });
    assert_eq!(
        sandbox.api(REQUESTS.1, "POST", "record.json", &request).failure(),
        (403, "GAIA_NO01")
    );
    let login = password("operator", "operator-password");
    sandbox
        .send(
            &[("X-Cybozu-Authorization", &login)],
            "POST",
            "/k/v1/record.json",
            &request,
        )
        .ok();
    let filed = &sandbox.records(REQUESTS.0)[0];
    assert_eq!(
        (
            &filed["request_state"]["value"],
            &filed["作成者"]["value"]["code"]
        ),
        (&json!("REQUESTED"), &json!("operator"))
    );
    let env = sandbox.env();
    assert!(
        env.iter()
            .any(|(name, value)| name == "KSQL_FLOWNET_BASE_URL" && value == sandbox.base_url())
    );
}
