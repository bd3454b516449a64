//! A runner for tests: speaks Execution Contract v1 and does what a plan file says instead of running SQL.
//!
//! It keeps the JOB log exactly as kSQL-Flow does (lock record, start mark, end) and appends one line per execution to
//! `executions.log`, so that a test can count how often a job really ran. The folder of both files is in
//! `SCRIPTED_RUNNER_DIR`; the plan maps a job id to `{"ends": [...], "sleep_ms": n}`, one end per execution, the last
//! one for all further ones. CSV inputs are read and checked, CSV outputs get one line. Ends: SUCCESS, FAILED, CANCELLED, NO_RESULT (the log
//! says SUCCESS), VANISH (dies after its start mark, the log says RUNNING), CRASH (dies before anything), WRONG_JOB,
//! SUCCESS_ITS_OWN_WAY (with a code of its own).

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::exit;

use ksql_flownet::flownet::canonical_json::sha256_hex;
use ksql_flownet::kintone::{App, BaseUrl, Client, Config, ErrorKind, Fields, Secret, Target};
use serde_json::{Value, json};

fn main() {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let flags: HashMap<&str, &str> = args[1..]
        .windows(2)
        .map(|w| (w[0].as_str(), w[1].as_str()))
        .collect();
    match args[0].as_str() {
        "capabilities" => println!("{}", capabilities()),
        "describe-profile" => println!("{}", describe(flags["--profile"])),
        "inspect-job" => println!("{}", inspect(Path::new(flags["-f"]))),
        "run" => exit(run(&flags)),
        other => panic!("unknown command {other}"),
    }
}

fn capabilities() -> Value {
    json!({"formatVersion": 1, "kind": "CAPABILITIES", "ksqlFlowVersion": "0.9.0", "engineVersion": "3.77.0",
        "executionContracts": ["ksql-flow.execution/v1"],
        "resultSchema": {"$id": "x", "contract": "ksql-flow.execution/v1"},
        "features": {"resultJson": true, "correlationIds": true, "describeProfile": true, "inspectJob": true,
            "durableExecutionStarted": true, "gracefulCancel": true, "importCsv": true, "resultCsv": true,
            "jobLockProtocol": "profile-job-v0"}})
}

fn describe(profile: &str) -> Value {
    json!({"apps": {"orders": 10}, "baseUrl": base_url(), "formatVersion": 1, "guestSpaceId": null,
        "httpTimeoutMs": 60000, "kind": "PROFILE_DESCRIPTION",
        "limits": {"batchTimeoutSec": 3600, "maxApiCalls": null, "maxReadRows": null, "maxTempRows": null},
        "logApp": {"appId": 4, "name": "logs"}, "profile": profile,
        "retry": {"initialDelayMs": 500, "maxAttempts": 5, "maxDelayMs": 30000, "respectRetryAfter": true},
        "timezone": "Asia/Tokyo"})
}

fn job_of(file: &Path) -> String {
    let text = fs::read_to_string(file).expect("job file");
    text.lines()
        .find_map(|l| l.strip_prefix("-- @ksql name: "))
        .expect("header")
        .trim()
        .to_owned()
}

fn inspect(file: &Path) -> Value {
    let job = job_of(file);
    json!({"formatVersion": 1, "kind": "JOB_INSPECTION", "jobId": job, "fileName": format!("{job}.sql"), "dialect": 1,
        "statementCount": 1, "dependsOn": [], "timeoutSec": null, "diagnostics": [], "nondeterministicElements": []})
}

fn base_url() -> String {
    std::env::var("KSQL_FLOWNET_BASE_URL").expect("address")
}

fn folder() -> PathBuf {
    PathBuf::from(std::env::var_os("SCRIPTED_RUNNER_DIR").expect("folder"))
}

/// The planned end of this execution, and how long it takes.
fn planned(job: &str) -> (String, u64) {
    let plan: Value = fs::read(folder().join("plan.json"))
        .ok()
        .and_then(|b| serde_json::from_slice(&b).ok())
        .unwrap_or_default();
    let counter = folder().join(format!("{job}.tries"));
    let tries = fs::read_to_string(&counter)
        .ok()
        .and_then(|t| t.parse::<usize>().ok())
        .unwrap_or(0);
    fs::write(&counter, (tries + 1).to_string()).expect("counter");
    let ends = plan[job]["ends"].as_array().cloned().unwrap_or_default();
    let end = ends
        .get(tries)
        .or(ends.last())
        .and_then(Value::as_str)
        .unwrap_or("SUCCESS")
        .to_owned();
    (end, plan[job]["sleep_ms"].as_u64().unwrap_or(0))
}

fn run(flags: &HashMap<&str, &str>) -> i32 {
    let job = job_of(Path::new(flags["-f"]));
    let (end, sleep_ms) = planned(&job);
    if end == "CRASH" {
        return 134;
    }
    let client = Client::new(Config::new(BaseUrl::parse(&base_url()).expect("address"))).expect("client");
    let app = App::with_token(
        4,
        "JOB log",
        Secret::new(std::env::var("KSQL_TOKEN_LOGS").expect("token")),
    );
    let execution = format!("exec-{}", flags["--attempt-id"]);
    let lock = format!("{}:{job}", flags["--profile"]);
    let record = Fields::new()
        .text("record_type", "JOB")
        .text("status", "RUNNING")
        .text("job_key", lock.as_str())
        .text("correlation_id", flags["--correlation-id"])
        .text("attempt_id", flags["--attempt-id"])
        .text("execution_id", execution.as_str())
        .text("job_id", job.as_str());
    let added = match client.add(&app, &record) {
        Ok(added) => added,
        Err(e) if e.kind() == ErrorKind::Invalid => {
            write_result(flags, &job, &execution, "FAILED", "LOCK_CONFLICT", 5, false);
            return 5;
        }
        Err(e) => panic!("JOB log: {e}"),
    };
    let started = Fields::new().text("runner_execution_started_at", "2026-09-01T00:00:00Z");
    client
        .update(&app, &Target::Id(added.id), Some(1), &started)
        .expect("start mark");
    let mut log = OpenOptions::new()
        .create(true)
        .append(true)
        .open(folder().join("executions.log"))
        .expect("log");
    writeln!(
        log,
        "{job} {} {}",
        flags["--correlation-id"], flags["--attempt-id"]
    )
    .expect("log");
    std::thread::sleep(std::time::Duration::from_millis(sleep_ms));
    if end == "VANISH" {
        return 134;
    }
    let (status, code, exit_code, logged) = match end.as_str() {
        "FAILED" => ("FAILED", "SQL_ERROR", 1, "FAILED"),
        "SUCCESS_ITS_OWN_WAY" => ("SUCCESS", "OK_WITH_WARNINGS", 0, "SUCCESS"),
        "CANCELLED" => ("CANCELLED", "CANCELLED", 3, "CANCELLED"),
        _ => ("SUCCESS", "OK", 0, "SUCCESS"),
    };
    if status == "SUCCESS" {
        for (_, path) in named("--export-csv") {
            fs::write(path, format!("job\n{job}\n")).expect("output");
        }
    }
    let ended = Fields::new()
        .text("status", logged)
        .text("job_key", "")
        .text("job_key_done", lock.as_str())
        .text("finished_at", "2026-09-01T00:01:00Z");
    client
        .update(&app, &Target::Id(added.id), None, &ended)
        .expect("end");
    match end.as_str() {
        "NO_RESULT" => {}
        "WRONG_JOB" => write_result(flags, "another", &execution, status, code, exit_code, true),
        _ => write_result(flags, &job, &execution, status, code, exit_code, true),
    }
    exit_code
}

/// Values `name=path` of an option that may be given several times.
fn named(option: &str) -> Vec<(String, PathBuf)> {
    let args: Vec<String> = std::env::args().collect();
    args.windows(2)
        .filter(|w| w[0] == option)
        .filter_map(|w| w[1].split_once('='))
        .map(|(name, path)| (name.to_owned(), PathBuf::from(path)))
        .collect()
}

fn receipt(name: &str, path: &Path) -> Value {
    let bytes = fs::read(path).expect("CSV file");
    let rows = bytes.split(|b| *b == b'\n').count().saturating_sub(2);
    json!({"name": name, "sha256": sha256_hex(&bytes), "bytes": bytes.len(), "rows": rows, "encoding": "utf8"})
}

fn write_result(
    flags: &HashMap<&str, &str>,
    job: &str,
    execution: &str,
    status: &str,
    code: &str,
    exit: i32,
    started: bool,
) {
    let error = json!({"category": "SQL", "code": code, "message": "as planned", "retryable": false,
        "detailsTruncated": false});
    let mut result = json!({"formatVersion": 1, "kind": "EXECUTION_RESULT", "contract": "ksql-flow.execution/v1",
        "correlationId": flags["--correlation-id"], "attemptId": flags["--attempt-id"], "executionId": execution,
        "jobId": job, "profile": flags["--profile"], "status": status, "resultCode": code, "executionStarted": started,
        "exitCode": exit, "asOf": flags["--as-of"],
        "startedAt": if started { json!("2026-09-01T00:00:00Z") } else { Value::Null },
        "finishedAt": "2026-09-01T00:01:00Z", "durationMs": if started { 60000 } else { 0 }, "readCount": 0,
        "writtenCount": 0, "deletedCount": 0, "apiCalls": 3, "lastSuccessfulChunkNo": null, "lastWrittenKey": null,
        "ksqlFlowVersion": "0.9.0", "engineVersion": "3.77.0",
        "error": if status == "SUCCESS" { Value::Null } else { error }});
    let imports = named("--import-csv");
    if !imports.is_empty() {
        result["input_files"] = imports.iter().map(|(name, path)| receipt(name, path)).collect();
    }
    let exports = named("--export-csv");
    if !exports.is_empty() {
        let written = exports.iter().filter(|_| status == "SUCCESS");
        result["output_files"] = written.map(|(name, path)| receipt(name, path)).collect();
    }
    let path = flags["--result-json"];
    let temporary = format!("{path}.tmp");
    fs::write(&temporary, result.to_string()).expect("result");
    fs::rename(&temporary, path).expect("result");
}
