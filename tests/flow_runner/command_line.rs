//! What needs no kintone: usage, help, configuration, machine commands (RNR-01..08, RNR-20..24, RNR-119).

use serde_json::json;

use crate::bench::{Bench, text};

const CONFIG: &str = r#"{"defaultProfile":"prod","profiles":{"prod":{
    "baseUrl":"https://example.cybozu.com/","timezone":"Asia/Tokyo",
    "apps":{"受注":{"id":10,"tokens":["env:TOKEN"]},"ログ":{"id":4,"tokens":["env:TOKEN"]}},"logApp":"ログ",
    "limits":{"maxApiCalls":500}}}}"#;

const ORCHESTRATED: &str = "--correlation-id run_1 --attempt-id attempt_1 --expected-job-id job_a";

#[test]
fn usage_errors_come_before_everything_else() {
    let bench = Bench::new();
    for line in [
        "frobnicate",
        "run",
        "run -f a.sql --unknown",
        "run -f a.sql --json",
        "run-all",
        "run-all jobs --resume --from x",
        "capabilities",
        "validate --file",
        "run -f a.sql --result-json x",
    ] {
        let ended = bench.line(line);
        assert_eq!(ended.code, Some(1), "{line}: {ended:?}");
        assert!(
            ended.stderr.starts_with("ksql-flow: error: "),
            "{line}: {ended:?}"
        );
    }
    assert!(bench.holds_only(&[]), "a usage error leaves no file behind");
}

#[test]
fn help_goes_where_it_does_not_disturb() {
    let bench = Bench::new();
    for line in ["", "help", "--help", "run --help", "validate-all jobs --help"] {
        let ended = bench.line(line);
        assert_eq!((ended.code, ended.stderr.as_str()), (Some(0), ""), "{line}");
        assert!(ended.stdout.starts_with("usage: ksql-flow"), "{line}: {ended:?}");
    }
    for line in ["capabilities --help", "inspect-lock --help"] {
        let ended = bench.line(line);
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(0), ""), "{line}");
        assert!(ended.stderr.starts_with("usage: ksql-flow"), "{line}: {ended:?}");
    }
    let ended = bench.line("frobnicate");
    assert!(ended.stdout.starts_with("usage: ksql-flow"), "{ended:?}");
}

#[test]
fn capabilities_need_no_configuration() {
    let bench = Bench::new();
    let ended = bench.line("capabilities --json");
    assert_eq!(ended.code, Some(0));
    let answer = ended.json();
    assert_eq!(answer["kind"], "CAPABILITIES");
    assert_eq!(answer["executionContracts"], json!(["ksql-flow.execution/v1"]));
    for feature in [
        "resultJson",
        "correlationIds",
        "describeProfile",
        "inspectJob",
        "durableExecutionStarted",
    ] {
        assert_eq!(answer["features"][feature], json!(true), "{feature}");
    }
    assert_eq!(answer["features"]["jobLockProtocol"], "profile-job-v0");
}

#[test]
fn a_profile_is_described_without_secrets() {
    let bench = Bench::new();
    bench.write("c.json", CONFIG);
    let arguments = [
        "describe-profile",
        "--profile",
        "prod",
        "--config",
        "c.json",
        "--json",
    ];
    let output = bench
        .command(&arguments)
        .env("TOKEN", "secret-token-1")
        .output()
        .expect("started");
    let ended = crate::bench::Ended::of(output);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(!ended.stdout.contains("secret-token-1"));
    assert_eq!(
        ended.json(),
        json!({
            "formatVersion": 1, "kind": "PROFILE_DESCRIPTION", "profile": "prod",
            "baseUrl": "https://example.cybozu.com", "guestSpaceId": null, "timezone": "Asia/Tokyo",
            "apps": {"受注": 10, "ログ": 4}, "logApp": {"appId": 4, "name": "ログ"}, "httpTimeoutMs": 30000,
            "limits": {"maxApiCalls": 500, "maxReadRows": null, "maxTempRows": null, "batchTimeoutSec": 3600},
            "retry": {"maxAttempts": 5, "initialDelayMs": 1000, "maxDelayMs": 60000, "respectRetryAfter": true},
        })
    );
    // The default is what a runner without the key does, and hashes like it.
    for (configured, told) in [(4, json!(null)), (7, json!(7))] {
        let limits = format!(r#""maxApiCalls": 500, "requestsInFlight": {configured}"#);
        bench.write("c.json", &CONFIG.replace(r#""maxApiCalls":500"#, &limits));
        let output = bench.command(&arguments).env("TOKEN", "secret-token-1").output();
        let description = crate::bench::Ended::of(output.expect("started")).json();
        assert_eq!(description["limits"]["requestsInFlight"], told);
        assert_eq!(description["limits"]["maxApiCalls"], 500);
    }
}

#[test]
fn an_unset_variable_is_named() {
    let bench = Bench::new();
    bench.write("c.json", CONFIG);
    let ended = bench.line("describe-profile --profile prod --config c.json --json");
    assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
    assert!(
        ended
            .stderr
            .contains("apps.受注.tokens: the environment variable TOKEN"),
        "{ended:?}"
    );
}

#[test]
fn an_orchestrator_is_answered_whatever_is_wrong() {
    let bench = Bench::new();
    let config = bench.write("c.json", CONFIG);
    for (line, name) in [
        (
            format!(
                "run -f a.sql --bad --profile prod --config {} {ORCHESTRATED}",
                text(&config)
            ),
            "usage.json",
        ),
        (
            format!("run -f a.sql --profile prod --config none.json {ORCHESTRATED}"),
            "config.json",
        ),
        (
            format!(
                "run -f a.sql --profile prod --config {} {ORCHESTRATED}",
                text(&config)
            ),
            "token.json",
        ),
    ] {
        let ended = bench.line(&format!(
            "{line} --as-of 2026-08-01T00:00:00+09:00 --result-json {name}"
        ));
        assert_eq!((ended.code, ended.stdout.as_str()), (Some(1), ""), "{ended:?}");
        let result = bench.json(name);
        for (key, value) in [
            ("kind", json!("EXECUTION_RESULT")),
            ("correlationId", json!("run_1")),
            ("attemptId", json!("attempt_1")),
            ("jobId", json!("job_a")),
            ("profile", json!("prod")),
            ("status", json!("FAILED")),
            ("resultCode", json!("VALIDATION_ERROR")),
            ("executionStarted", json!(false)),
            ("exitCode", json!(1)),
            ("asOf", json!("2026-08-01T00:00:00+09:00")),
        ] {
            assert_eq!(result[key], value, "{name} {key}");
        }
        assert_eq!(result["error"]["category"], "CONFIG");
    }
}

#[test]
fn the_result_may_go_to_standard_output() {
    let bench = Bench::new();
    let ended = bench.line(&format!(
        "run -f a.sql --profile prod {ORCHESTRATED} --result-json -"
    ));
    assert_eq!(ended.code, Some(1));
    assert_eq!(ended.json()["resultCode"], "VALIDATION_ERROR");
}

#[cfg(unix)]
#[test]
fn a_result_file_is_private() {
    use std::os::unix::fs::PermissionsExt as _;
    let bench = Bench::new();
    bench.line(&format!(
        "run -f a.sql --profile prod {ORCHESTRATED} --result-json r.json"
    ));
    let mode = std::fs::metadata(bench.root.join("r.json"))
        .expect("file")
        .permissions()
        .mode();
    assert_eq!(mode & 0o777, 0o600);
    assert!(bench.holds_only(&["r.json"]), "no temporary file stays");
}
