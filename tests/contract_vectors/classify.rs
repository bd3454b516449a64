//! Cases of classify.json: what one attempt left behind, and what is stored of it.

use ksql_flownet::flownet::rule::classify::{self, Evidence, JobLog, JobRecord};
use ksql_flownet::flownet::rule::io_summary::{
    BaselineEntry, bare_baseline, input_audit, io_audit, output_audit,
};
use ksql_flownet::flownet::rule::result::{Expected, InputReceipt, OutputReceipt, ResultFile};
use ksql_flownet::flownet::time::Timestamp;
use serde_json::{Value, json};

use crate::decisions::Rules;
use crate::support::{Tally, equal, load};

const FILE: &str = "classify.json";
const NOW: &str = "2026-09-02T03:10:00.000Z";
const STARTED: &str = "2026-09-02T03:04:05.000Z";
const EXPECTED: Expected<'static> = Expected {
    correlation_id: "netrun_x",
    attempt_id: "attempt_y",
    job_id: "job_a",
};

#[test]
fn classify() {
    let file = load(FILE);
    let mut rules = Rules::of(FILE);
    let changes: Vec<Change> = [
        ("wrong-job", wrong_job as fn(&Value) -> Option<Value>),
        ("never-started", never_started),
        ("receipt-form", receipt_form),
        ("receipt-match", receipt_match),
    ]
    .into_iter()
    .filter_map(|(rule, change)| rules.apply(rule).then_some(change))
    .collect();
    rules.finish();
    let mut tally = Tally::default();
    for case in file["cases"].as_array().expect("cases") {
        let expected = changes
            .iter()
            .find_map(|change| change(case))
            .unwrap_or_else(|| case["expect"].clone());
        let name = format!("{} {}", case["id"], case["title"]);
        tally.check(&name, equal(&judged(&case["input"]), &expected));
    }
    tally.finish(FILE);
}

/// One decision: the changed expectation of a case that it concerns.
type Change = fn(&Value) -> Option<Value>;

fn judged(input: &Value) -> Value {
    let list = |key: &str| input[key].as_array().cloned().unwrap_or_default();
    let result = ResultFile::read(input["resultFile"].as_str().map(str::as_bytes));
    let baseline = baseline(input);
    let outputs: Vec<String> = list("exports")
        .iter()
        .map(|e| e["name"].as_str().expect("name").to_owned())
        .collect();
    let evidence = Evidence {
        result: &result,
        exit_code: input["processExitCode"].as_i64().map(|code| code as i32),
        forced: input["forced"] == true,
        launch_failed: input["launchFailureConfirmed"] == true,
        leftovers: false,
        expected: EXPECTED,
        baseline: &baseline,
        outputs: &outputs,
        execution_started_at: STARTED,
        now: Timestamp::parse(NOW).expect("time"),
    };
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let job_log = match &input["jobLog"] {
        Value::Null => JobLog::Absent,
        Value::Object(record) => JobLog::Found(JobRecord {
            runner_execution_started_at: text(&record["runnerExecutionStartedAt"]),
            execution_id: text(&record["executionId"]),
            status: record.get("status").and_then(text),
            finished_at: record.get("finishedAt").and_then(text),
        }),
        _ => JobLog::LookupFailed,
    };
    let reading = classify::read(&evidence);
    let verdict = classify::decide(&evidence, &reading, &job_log);
    let mut lookup = json!({"attemptId": "attempt_y"});
    if let Some(id) = reading.execution_id() {
        lookup["executionId"] = json!(id);
    }
    let (attempt, node) = (verdict.attempt, verdict.node);
    json!({
        "classification": reading.kind.as_str(),
        "details": reading.details,
        "invocationResultCode": verdict.invocation_code,
        "jobLogLookup": lookup,
        "attempt": {
            "status": attempt.status.as_str(),
            "result_code": attempt.result_code,
            "runner_execution_started_at": attempt.runner_execution_started_at,
            "execution_id": attempt.execution_id,
            "finished_at": attempt.finished_at,
            "duration_sec": attempt.duration_sec.map(number),
            "error_message": attempt.error_message,
            "read_count": attempt.read_count,
            "written_count": attempt.written_count,
            "last_successful_chunk_no": attempt.last_successful_chunk_no,
            "last_written_key": attempt.last_written_key,
        },
        "nodeState": {
            "status": node.status.as_str(),
            "active_attempt_id": null,
            "started_at": node.started_at,
            "status_reason": node.status_reason,
            "finished_at": node.finished_at,
            "updated_at": node.updated_at,
        },
    })
}

fn baseline(input: &Value) -> Vec<BaselineEntry> {
    let entry = |i: &Value| BaselineEntry {
        source: i["name"].as_str().expect("name").to_owned(),
        sha256: i["sha256"].as_str().expect("hash").to_owned(),
        bytes: i["bytes"].as_u64().expect("bytes"),
    };
    input["imports"]
        .as_array()
        .into_iter()
        .flatten()
        .map(entry)
        .collect()
}

/// A JSON number as JavaScript writes it: whole numbers without a fraction.
fn number(value: f64) -> Value {
    if value.fract() == 0.0 {
        json!(value as i64)
    } else {
        json!(value)
    }
}

fn result_of(case: &Value) -> Value {
    let text = case["input"]["resultFile"].as_str().unwrap_or("");
    serde_json::from_str(text).unwrap_or(Value::Null)
}

fn only_detail(case: &Value, text: &str) -> bool {
    case["expect"]["details"] == json!([text])
}

/// The expectation of a result that is not believed.
fn unbelieved(case: &Value, detail: &str) -> Value {
    let mut expect = case["expect"].clone();
    expect["classification"] = json!("INVALID_RESULT");
    expect["details"] = json!([detail]);
    expect["invocationResultCode"] = json!("INVALID_EXECUTION_RESULT");
    expect["jobLogLookup"] = json!({"attemptId": "attempt_y"});
    let record = &case["input"]["jobLog"];
    let inputs = baseline(&case["input"]);
    expect["attempt"] = json!({
        "status": "UNKNOWN", "result_code": "INVALID_EXECUTION_RESULT",
        "runner_execution_started_at": record.get("runnerExecutionStartedAt"),
        "execution_id": record.get("executionId"),
        "finished_at": NOW, "duration_sec": null,
        "error_message": if inputs.is_empty() { detail.to_owned() } else { bare_baseline(&inputs) },
        "read_count": 0, "written_count": 0, "last_successful_chunk_no": null, "last_written_key": null,
    });
    expect["nodeState"] = json!({
        "status": "UNKNOWN", "active_attempt_id": null, "started_at": STARTED,
        "status_reason": "INVALID_EXECUTION_RESULT", "finished_at": NOW, "updated_at": NOW,
    });
    expect
}

/// The expectation of a result that is believed, with this stored text.
fn believed(case: &Value, error_message: &Value) -> Value {
    let result = result_of(case);
    let waits = result["resultCode"] == "LOCK_CONFLICT";
    let (status, code) = if waits {
        (json!("CANCELLED"), json!("PREPARE_FAILED"))
    } else {
        (result["status"].clone(), result["resultCode"].clone())
    };
    let finished = &result["finishedAt"];
    let kept = |value: Value| if waits { Value::Null } else { value };
    json!({
        "classification": "VALID_RESULT",
        "details": [],
        "invocationResultCode": if waits { json!("LOCK_CONFLICT") } else { Value::Null },
        "jobLogLookup": {"attemptId": "attempt_y", "executionId": result["executionId"]},
        "attempt": {
            "status": status, "result_code": code,
            "runner_execution_started_at": case["input"]["jobLog"].get("runnerExecutionStartedAt"),
            "execution_id": result["executionId"], "finished_at": finished,
            "duration_sec": number(result["durationMs"].as_f64().expect("duration") / 1000.0),
            "error_message": error_message,
            "read_count": result["readCount"], "written_count": result["writtenCount"],
            "last_successful_chunk_no": result["lastSuccessfulChunkNo"],
            "last_written_key": result["lastWrittenKey"],
        },
        "nodeState": {
            "status": if waits { json!("WAITING") } else { status.clone() },
            "active_attempt_id": null, "started_at": kept(json!(STARTED)), "status_reason": code,
            "finished_at": kept(finished.clone()), "updated_at": finished,
        },
    })
}

fn wrong_job(case: &Value) -> Option<Value> {
    let result = result_of(case);
    let concerned = case["expect"]["classification"] == "VALID_RESULT"
        && result["status"] == "SUCCESS"
        && result["jobId"] != EXPECTED.job_id;
    concerned.then(|| unbelieved(case, "jobId is not the job of the node"))
}

fn never_started(case: &Value) -> Option<Value> {
    let (input, expect) = (&case["input"], &case["expect"]);
    let started = input["jobLog"]
        .get("runnerExecutionStartedAt")
        .is_some_and(Value::is_string);
    let not_launched = input["launchFailureConfirmed"] == true && !started;
    let ended_first = expect["classification"] == "NO_RESULT"
        && input["processExitCode"].is_i64()
        && input["jobLog"].is_null();
    let concerned = input["forced"] != true
        && (not_launched || ended_first)
        && expect["nodeState"]["status"] == "UNKNOWN";
    concerned.then(|| {
        let mut expect = expect.clone();
        expect["attempt"]["status"] = json!("CANCELLED");
        expect["attempt"]["result_code"] = json!("PREPARE_FAILED");
        expect["nodeState"] = json!({
            "status": "WAITING", "active_attempt_id": null, "started_at": null,
            "status_reason": "PREPARE_FAILED", "finished_at": null, "updated_at": NOW,
        });
        expect
    })
}

fn receipt_form(case: &Value) -> Option<Value> {
    if !only_detail(case, "input_files must contain safe input receipt entries") {
        return None;
    }
    let result = result_of(case);
    let receipts = result["input_files"].as_array()?;
    let good = |r: &Value| {
        r["sha256"].as_str().is_some_and(|h| {
            h.len() == 64 && !h.contains(|c: char| !c.is_ascii_hexdigit() || c.is_ascii_uppercase())
        }) && r["name"]
            .as_str()
            .is_some_and(|n| !n.is_empty() && !n.contains([':', '=', '\0', '\n']))
            && r["bytes"].is_u64()
            && r.get("rows").is_none_or(Value::is_u64)
            && r.get("encoding")
                .is_none_or(|e| matches!(e.as_str(), Some("UTF8" | "SJIS")))
    };
    let agree = |a: &Value| {
        receipts
            .iter()
            .filter(|b| a["name"] == b["name"])
            .all(|b| a["sha256"] == b["sha256"] && a["bytes"] == b["bytes"])
    };
    if !receipts.iter().all(|r| good(r) && agree(r)) {
        return None;
    }
    let inputs = baseline(&case["input"]);
    if inputs.is_empty() {
        let message = result["error"].get("message").unwrap_or(&Value::Null);
        return Some(believed(case, message));
    }
    let known = |e: &BaselineEntry| {
        receipts
            .iter()
            .any(|r| r["name"] == e.source && r["sha256"] == e.sha256 && r["bytes"] == e.bytes)
    };
    let strangers = receipts
        .iter()
        .any(|r| !inputs.iter().any(|e| r["name"] == e.source));
    let missing = !inputs.iter().all(known);
    if result["executionStarted"] == true && (strangers || (missing && result["status"] == "SUCCESS")) {
        return Some(unbelieved(
            case,
            "input_files does not match the preflight input baseline",
        ));
    }
    Some(believed(case, &json!(bare_baseline(&inputs))))
}

fn receipt_match(case: &Value) -> Option<Value> {
    let result = result_of(case);
    let inputs = baseline(&case["input"]);
    let of_inputs = only_detail(case, "input_files does not match the preflight input baseline");
    let of_outputs = only_detail(case, "output_files does not match the configured export sinks")
        || only_detail(case, "output_files contains an unconfigured export sink");
    let not_started = result["executionStarted"] == false;
    let same = |r: &Value| {
        inputs
            .iter()
            .any(|e| r["name"] == e.source && r["sha256"] == e.sha256 && r["bytes"] == e.bytes)
    };
    let receipts: Vec<&Value> = result["input_files"].as_array().into_iter().flatten().collect();
    let partial = of_inputs && result["status"] != "SUCCESS" && receipts.iter().all(|r| same(r));
    let concerned = (of_inputs || of_outputs) && not_started || partial;
    concerned.then(|| {
        let stored = stored_inputs(&receipts, of_inputs && not_started);
        let sinks = if of_outputs {
            &Value::Null
        } else {
            &result["output_files"]
        };
        let sinks: Vec<OutputReceipt> = sinks.as_array().into_iter().flatten().map(output).collect();
        let text = match (inputs.is_empty(), case["input"].get("exports").is_some()) {
            (false, true) => io_audit(&inputs, &stored, &sinks).expect("short"),
            (true, true) => output_audit(&sinks).expect("short"),
            (false, false) if !stored.is_empty() => input_audit(&inputs, &stored).expect("short"),
            (false, false) => bare_baseline(&inputs),
            (true, false) => result["error"]["message"].as_str().expect("message").to_owned(),
        };
        believed(case, &json!(text))
    })
}

/// The receipts that the stored form can hold: all of them complete and of different names, or none.
fn stored_inputs(receipts: &[&Value], ignored: bool) -> Vec<InputReceipt> {
    let read: Option<Vec<InputReceipt>> = receipts
        .iter()
        .map(|r| {
            Some(InputReceipt {
                name: r["name"].as_str()?.to_owned(),
                sha256: r["sha256"].as_str()?.to_owned(),
                bytes: r["bytes"].as_u64()?,
                rows: Some(r["rows"].as_u64()?),
                encoding: Some(r["encoding"].as_str()?.to_owned()),
            })
        })
        .collect();
    let distinct = |list: &Vec<InputReceipt>| {
        list.iter()
            .enumerate()
            .all(|(i, a)| list[..i].iter().all(|b| a.name != b.name))
    };
    read.filter(|list| !ignored && distinct(list)).unwrap_or_default()
}

fn output(receipt: &Value) -> OutputReceipt {
    let text = |key: &str| receipt[key].as_str().expect("text").to_owned();
    OutputReceipt {
        name: text("name"),
        sha256: text("sha256"),
        bytes: receipt["bytes"].as_u64().expect("bytes"),
        rows: receipt["rows"].as_u64().expect("rows"),
        encoding: text("encoding"),
    }
}
