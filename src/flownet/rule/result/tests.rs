//! Shapes and contradictions of result files, one by one.

use super::*;
use serde_json::json;

fn good() -> Value {
    json!({
        "formatVersion": 1, "kind": "EXECUTION_RESULT", "contract": "ksql-flow.execution/v1",
        "correlationId": "r", "attemptId": "a", "executionId": "e", "jobId": "j", "profile": "p",
        "status": "SUCCESS", "resultCode": "OK", "executionStarted": true, "exitCode": 0,
        "asOf": null, "startedAt": "2026-09-02T03:04:10Z", "finishedAt": "2026-09-02T03:05:10.500Z",
        "durationMs": 60500, "readCount": 1, "writtenCount": 2, "deletedCount": 0, "apiCalls": 4,
        "lastSuccessfulChunkNo": null, "lastWrittenKey": null, "ksqlFlowVersion": "0.9.0",
        "engineVersion": "3.77.0", "error": null
    })
}

fn with(key: &str, value: Value) -> Value {
    let mut result = good();
    result[key] = value;
    result
}

const EXPECTED: Expected<'static> = Expected {
    correlation_id: "r",
    attempt_id: "a",
    job_id: "j",
};

#[test]
fn whole_doubles_are_integers_and_fractions_are_not() {
    assert_eq!(safe_integer(&json!(1.0)), Some(1));
    assert_eq!(safe_integer(&json!(-0.0)), Some(0));
    assert_eq!(safe_integer(&json!(1.5)), None);
    assert_eq!(safe_integer(&json!(9_007_199_254_740_992_u64)), None);
    assert_eq!(safe_integer(&json!("1")), None);
}

#[test]
fn times_need_their_zone_and_lose_what_is_below_a_millisecond() {
    let result = check_shape(&with("finishedAt", json!("2026-09-02T03:05:10.123456Z"))).expect("good");
    assert_eq!(result.finished_at, "2026-09-02T03:05:10.123Z");
    assert_eq!(
        check_shape(&with("finishedAt", json!("2026-09-02T03:05:10+00:00"))),
        Err(vec!["finishedAt must be a UTC ISO-8601 timestamp".into()])
    );
    assert!(check_shape(&with("finishedAt", json!("2026-02-30T03:05:10Z"))).is_err());
    let looks = |key: &str, text: &str| check_shape(&with(key, json!(text))).is_ok();
    for text in [
        "2026-09-01T00:00:00+09:00",
        "2026-09-01T00:00+23:59",
        "2026-02-30T00:00:00.123456Z",
    ] {
        assert!(looks("asOf", text), "{text}");
    }
    for text in [
        "",
        "2026-09-01",
        "2026-09-01T00:00:00",
        "2026-09-01T00:00:00.Z",
        "2026-09-01T00:00:00+0900",
    ] {
        assert!(!looks("asOf", text), "{text}");
    }
    assert!(!looks("startedAt", "2026-09-02T03:04:10+09:00"));
}

#[test]
fn a_receipt_may_lack_rows_but_not_contradict_another() {
    let hash = "a".repeat(64);
    let receipt = |extra: Value| {
        let mut r = json!({"name": "s", "sha256": hash, "bytes": 5});
        for (k, v) in extra.as_object().expect("object") {
            r[k] = v.clone();
        }
        r
    };
    let shape = |list: Value| check_shape(&with("input_files", list)).is_ok();
    assert!(shape(json!([receipt(json!({}))])));
    assert!(shape(json!([
        receipt(json!({"rows": 1, "encoding": "UTF8"})),
        receipt(json!({"rows": 2, "encoding": "SJIS"}))
    ])));
    assert!(!shape(json!([receipt(json!({})), receipt(json!({"bytes": 6}))])));
    assert!(!shape(json!([receipt(json!({"rows": null}))])));
    assert!(!shape(json!([receipt(json!({"encoding": "a b"}))])));
    assert!(!shape(json!([receipt(json!({"name": "a=b"}))])));
    assert!(!shape(json!({})));
}

#[test]
fn success_of_another_job_is_not_believed_and_its_failure_is() {
    let success = check_shape(&with("jobId", json!("other"))).expect("good");
    assert_eq!(
        inconsistencies(&success, &EXPECTED, Some(0)),
        ["jobId is not the job of the node"]
    );
    let mut failed = success;
    failed.status = ResultStatus::Failed;
    failed.result_code = "VALIDATION_ERROR".into();
    failed.execution_started = false;
    failed.exit_code = 1;
    assert!(inconsistencies(&failed, &EXPECTED, Some(1)).is_empty());
}

#[test]
fn a_success_with_an_error_is_refused() {
    let error = json!({"category": "SQL", "code": "c", "message": "m", "retryable": false,
                       "detailsTruncated": false});
    assert_eq!(
        check_shape(&with("error", error)),
        Err(vec!["SUCCESS requires error=null".into()])
    );
}

#[test]
fn a_byte_that_is_no_text_spoils_only_its_own_text() {
    assert_eq!(
        ResultFile::read(Some(b"{\"a\":\"\xff\"}")),
        ResultFile::Json(json!({"a": "\u{fffd}"}))
    );
    assert_eq!(ResultFile::read(Some(b"\xef\xbb\xbf{}")), ResultFile::NotJson);
    assert_eq!(ResultFile::read(Some(b"{} {}")), ResultFile::NotJson);
    assert_eq!(ResultFile::read(None), ResultFile::Missing);
}
