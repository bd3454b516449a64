//! `inspect-lock`, `force-unlock-job`, `unlock` and the commands about the log app itself (RNR-54..58, RNR-65, RNR-66).

use serde_json::{Value, json};

use crate::bench::{Bench, Ended, value};
use crate::sandbox::{JOB_LOG, Sandbox};

/// A RUNNING record of job `j`, as a crashed execution leaves it.
fn insert_running(sandbox: &Sandbox, job: &str) -> u64 {
    let record = json!({
        "record_type": {"value": "JOB"}, "status": {"value": "RUNNING"}, "profile": {"value": "p"},
        "job_key": {"value": format!("p:{job}")}, "batch_id": {"value": format!("batch-{job}")},
        "started_at": {"value": "2026-08-01T00:00:00Z"}, "host": {"value": "other-host"},
        "script_name": {"value": format!("{job}.sql")},
    });
    sandbox.insert(JOB_LOG.0, &[record])[0]
}

fn log_record(sandbox: &Sandbox, id: u64) -> Value {
    let records = sandbox.records(JOB_LOG.0);
    records
        .into_iter()
        .find(|record| value(record, "$id") == id.to_string())
        .expect("record")
}

fn inspect(bench: &Bench, job: &str) -> Ended {
    bench.line(&format!(
        "inspect-lock --job-key p:{job} --profile p --config ksql.config.json --json"
    ))
}

fn force_unlock(bench: &Bench, job: &str) -> Ended {
    bench.run(&[
        "force-unlock-job",
        "--job-key",
        &format!("p:{job}"),
        "--reason",
        "host was replaced",
        "--confirmed-by",
        "operator",
        "--evidence-ref",
        "https://example.com/tickets/1",
        "--profile",
        "p",
        "--config",
        "ksql.config.json",
        "--json",
    ])
}

#[test]
fn a_lock_is_shown_and_released_with_evidence() {
    let sandbox = Sandbox::start("flow-locks");
    let bench = Bench::on(&sandbox);
    let ended = inspect(&bench, "j");
    assert_eq!(
        (ended.code, &ended.json()["locked"]),
        (Some(0), &json!(false)),
        "{ended:?}"
    );

    let id = insert_running(&sandbox, "j");
    let answer = inspect(&bench, "j").json();
    assert_eq!(answer["locked"], json!(true));
    assert_eq!(
        answer["record"],
        json!({
            "recordId": id.to_string(), "batchId": "batch-j", "startedAt": "2026-08-01T00:00:00Z",
            "host": "other-host", "scriptName": "j.sql",
        })
    );

    let ended = force_unlock(&bench, "j");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let answer = ended.json();
    assert_eq!(
        (answer["outcome"].as_str(), answer["recordId"].as_str()),
        (Some("RELEASED"), Some(id.to_string().as_str()))
    );
    assert_eq!(answer["before"]["batchId"], "batch-j");
    assert!(answer.get("nextAction").is_none());
    let record = log_record(&sandbox, id);
    assert_eq!(value(&record, "status"), "FAILED");
    assert_eq!(
        (value(&record, "job_key"), value(&record, "job_key_done")),
        ("", "p:j")
    );
    let evidence = value(&record, "log_detail")
        .strip_prefix("LOCK_RECOVERY ")
        .expect("evidence");
    let evidence: Value = serde_json::from_str(evidence).expect("JSON");
    for (key, expected) in [
        ("operation", "force-unlock-job"),
        ("jobKey", "p:j"),
        ("reason", "host was replaced"),
        ("confirmedBy", "operator"),
        ("evidenceRef", "https://example.com/tickets/1"),
        ("authenticationSubject", "profile:p"),
    ] {
        assert_eq!(evidence[key], expected, "{key}");
    }
    let journal = std::fs::read_to_string(bench.root.join(".ksql/logs/batch-j.jsonl")).expect("journal");
    assert!(journal.contains("job_lock_force_released"), "{journal}");

    let ended = force_unlock(&bench, "j");
    assert_eq!(
        (ended.code, ended.json()["outcome"].as_str()),
        (Some(0), Some("NOT_FOUND"))
    );
}

#[test]
fn a_release_whose_answer_is_lost_is_decided_by_looking_again() {
    let sandbox = Sandbox::start("flow-locks");
    let bench = Bench::on(&sandbox);
    for (action, outcome, code, status) in [
        ("drop_after", "RELEASED", 0, "FAILED"),
        ("drop_before", "UNCONFIRMED", 3, "RUNNING"),
    ] {
        let id = insert_running(&sandbox, action);
        sandbox.fault(&json!({"match": {"method": "PUT", "app": JOB_LOG.0}, "times": 9, "action": action}));
        let ended = force_unlock(&bench, action);
        sandbox.clear_faults();
        let answer = ended.json();
        assert_eq!(
            (ended.code, answer["outcome"].as_str()),
            (Some(code), Some(outcome)),
            "{action}: {ended:?}"
        );
        assert_eq!(answer.get("nextAction").is_some(), outcome == "UNCONFIRMED");
        assert_eq!(value(&log_record(&sandbox, id), "status"), status);
    }
}

#[test]
fn a_holder_that_writes_meanwhile_keeps_its_lock() {
    let sandbox = Sandbox::start("flow-locks");
    let bench = Bench::on(&sandbox);
    let id = insert_running(&sandbox, "j");
    sandbox.fault(&json!({"match": {"method": "PUT", "app": JOB_LOG.0}, "action": "hold_before"}));
    let arguments = [
        "force-unlock-job",
        "--job-key",
        "p:j",
        "--reason",
        "r",
        "--confirmed-by",
        "me",
        "--evidence-ref",
        "https://example.com/1",
        "--profile",
        "p",
        "--config",
        "ksql.config.json",
        "--json",
    ];
    let child = bench
        .command(&arguments)
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .expect("started");
    let hold = sandbox.wait_for_hold();
    sandbox.edit(JOB_LOG.0, id, &json!({"written_count": {"value": "100"}}));
    sandbox.release(&hold, "proceed");
    let ended = Ended::of(child.wait_with_output().expect("ended"));
    assert_eq!(
        (ended.code, ended.json()["outcome"].as_str()),
        (Some(5), Some("CONFLICT")),
        "{ended:?}"
    );
    assert_eq!(value(&log_record(&sandbox, id), "status"), "RUNNING");
}

#[test]
fn an_unreachable_log_app_is_no_free_lock() {
    let sandbox = Sandbox::start("flow-locks");
    let bench = Bench::on(&sandbox);
    sandbox.fault(&json!({
        "match": {"method": "GET", "path": "/k/v1/records.json"}, "times": 9, "action": "status", "status": 503,
    }));
    let ended = inspect(&bench, "j");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    let answer = ended.json();
    assert_eq!(answer["locked"], Value::Null);
    assert_eq!(answer["error"]["code"], "LOCK_QUERY_UNAVAILABLE");
}

#[test]
fn unlock_releases_everything_of_the_profile_and_nothing_else() {
    let sandbox = Sandbox::start("flow-locks");
    let bench = Bench::on(&sandbox);
    let ours = [insert_running(&sandbox, "a"), insert_running(&sandbox, "b")];
    let other =
        json!({"status": {"value": "RUNNING"}, "profile": {"value": "q"}, "job_key": {"value": "q:a"}});
    let other = sandbox.insert(JOB_LOG.0, &[other])[0];
    bench.write(".ksql/lock-p.json", "{}");

    sandbox.fault(&json!({
        "match": {"method": "GET", "path": "/k/v1/records.json"}, "times": 3, "action": "status", "status": 503,
    }));
    assert_eq!(bench.line("unlock").code, Some(3));
    assert!(
        bench.root.join(".ksql/lock-p.json").exists(),
        "nothing is released when the list is not known"
    );
    sandbox.clear_faults();

    let ended = bench.line("unlock");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for text in [
        "RUNNING records of the profile p: 2",
        "p:a since 2026-08-01T00:00:00Z on other-host",
        "p:b",
    ] {
        assert!(ended.stdout.contains(text), "{ended:?}");
    }
    assert!(!bench.root.join(".ksql/lock-p.json").exists());
    for id in ours {
        let record = log_record(&sandbox, id);
        assert_eq!(
            (value(&record, "status"), value(&record, "job_key")),
            ("TIMEOUT", "")
        );
        assert!(value(&record, "job_key_done").starts_with("p:"));
    }
    assert_eq!(value(&log_record(&sandbox, other), "status"), "RUNNING");
}

#[test]
fn the_seeded_log_app_passes_its_check() {
    let sandbox = Sandbox::start("flow-locks");
    let bench = Bench::on(&sandbox);
    let ended = bench.line("validate --check-logapp");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    assert!(
        ended.stdout.ends_with("log app 実行ログ (app 4): OK\n"),
        "{ended:?}"
    );

    let bench = Bench::with_profile(&sandbox, &json!({"logApp": "受注"}));
    let ended = bench.line("validate --check-logapp");
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(
        ended.stdout.contains("error: job_key: the field is missing"),
        "{ended:?}"
    );
}

#[test]
fn a_wrong_token_says_so() {
    let sandbox = Sandbox::start("flow-locks");
    let apps = json!({"実行ログ": {"id": JOB_LOG.0, "tokens": ["not-the-token"]}});
    let bench = Bench::with_profile(&sandbox, &json!({"apps": apps}));
    let ended = bench.line("validate --check-logapp");
    assert_eq!(ended.code, Some(3), "{ended:?}");
    assert!(ended.stderr.contains("GAIA_IA02"), "{ended:?}");
    assert!(!ended.stderr.contains("not-the-token"), "{ended:?}");
}

#[test]
fn a_log_app_is_created_and_used() {
    let sandbox = Sandbox::start("flow-locks");
    let password = json!({"type": "password", "username": "admin", "password": "admin-password"});
    let bench = Bench::with_profile(&sandbox, &json!({"auth": password, "logApp": null}));
    let ended = bench.run(&["init-logapp", "--name", "新しいログ"]);
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let created = ended
        .stdout
        .strip_prefix("app ")
        .expect("id")
        .split(' ')
        .next()
        .expect("id");
    let id: u64 = created.parse().expect("number");

    let apps = json!({"顧客マスタ": {"id": 20}, "ログ": {"id": id}});
    let bench = Bench::with_profile(
        &sandbox,
        &json!({"auth": password, "apps": apps, "logApp": "ログ"}),
    );
    let ended = bench.line("validate --check-logapp");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    bench.write("count.sql", crate::jobs::COUNT);
    let ended = bench.line("run -f count.sql");
    assert_eq!(ended.code, Some(0), "{ended:?}");
    let record = &sandbox.records(id)[0];
    assert_eq!(
        (value(record, "status"), value(record, "job_key_done")),
        ("SUCCESS", "p:count")
    );

    let bench = Bench::on(&sandbox);
    assert_eq!(
        bench.line("init-logapp").code,
        Some(1),
        "a token cannot create apps"
    );
}
