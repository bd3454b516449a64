//! record-job-unlock (OPR-16 to OPR-20).

use serde_json::{Value as Json, json};

use crate::desk::{Desk, assert_done, assert_refused, disturbances, json_of};
use crate::network::{NodeSpec, PROFILE, said, text};

/// Flags with other values.
type Changes<'a> = &'a [(&'a str, &'a str)];

fn good(desk: &Desk) -> Json {
    json!({
        "kind": "LOCK_RECOVERY_RESULT", "formatVersion": 1,
        "jobKey": format!("{PROFILE}:{}_a", desk.space.network_id), "recordId": "7", "outcome": "RELEASED",
        "before": {"batchId": "b", "startedAt": "2026-11-30T10:00:00Z", "host": "h"},
        "executedAt": "2026-11-30T10:05:00.000Z", "extra": true,
    })
}

fn record(desk: &Desk, result: &str, changes: &[(&str, &str)], more: &[&str]) -> std::process::Output {
    let file = desk.space.dir.join("result.json").display().to_string();
    std::fs::write(&file, result).expect("result");
    let (run, reason) = (desk.run_id(), desk.reason());
    let mut words = [
        ("--result-file", file.as_str()),
        ("--run-id", run.as_str()),
        ("--node-id", "a"),
        ("--reason-file", reason.as_str()),
        ("--evidence-ref", "INC-1"),
        ("--stop-confirmed-by", "ito"),
    ];
    for (flag, value) in changes {
        words
            .iter_mut()
            .filter(|w| w.0 == *flag)
            .for_each(|w| w.1 = value);
    }
    let mut args = vec!["record-job-unlock"];
    args.extend(words.iter().flat_map(|(flag, value)| [*flag, *value]));
    args.extend_from_slice(more);
    desk.space.run(&args)
}

#[test]
fn the_event_carries_the_result_in_the_order_of_the_contract() {
    let desk = Desk::new("job_unlock", &[NodeSpec::new("a", &[], &["FAILED"])]);
    desk.sandbox.clear_log();
    let output = record(&desk, &good(&desk).to_string(), &[], &[]);
    assert_done(&output);
    assert_eq!(desk.requests(), 2);
    let operation = desk.book().operations[0].clone();
    let event = text(&operation, "record_key")
        .trim_start_matches("OP:")
        .to_owned();
    let line = format!("RECORDED: RELEASED for {PROFILE}:job_unlock_a ({event}).");
    assert!(said(&output).contains(&line), "{}", said(&output));
    let reason = text(&operation, "reason");
    let order = [
        "event_id",
        "event_type",
        "run_id",
        "node_id",
        "job_id",
        "service_principal",
        "requested_by",
        "stop_confirmed_by",
        "reason",
        "evidence_ref",
        "recorded_at",
        "lock_recovery_result",
        "kind",
        "formatVersion",
        "jobKey",
        "recordId",
        "outcome",
        "before",
        "batchId",
        "startedAt",
        "host",
        "executedAt",
    ];
    let at = order.map(|key| reason.find(&format!("\"{key}\":")).expect(key));
    assert!(at.is_sorted() && !reason.contains("extra"), "{reason}");
    assert_eq!(text(&operation, "result_code"), "RELEASED");
    assert_eq!(
        (text(&operation, "node_id"), text(&operation, "evidence_ref")),
        ("a", "INC-1")
    );
    // Each call is an event of its own.
    let told = json_of(&record(&desk, &good(&desk).to_string(), &[], &["--json"]));
    assert_eq!(
        (&told["outcome"], &told["revision"]),
        (&json!("RECORDED"), &Json::Null)
    );
    assert_eq!(desk.book().operations.len(), 2);
}

#[test]
fn preconditions_in_order() {
    let desk = Desk::new("job_unlock_rows", &[NodeSpec::new("a", &[], &["FAILED"])]);
    let result = good(&desk).to_string();
    let (blank, nowhere) = (desk.blank(), "/nowhere/x.json");
    let mut other = good(&desk);
    other["jobKey"] = json!("test:other");
    let rows: [(&str, Changes<'_>, &str); 9] = [
        (
            &result,
            &[("--result-file", nowhere), ("--reason-file", &blank)],
            "ENOENT",
        ),
        ("{", &[("--reason-file", nowhere)], "RECORD_JOB_UNLOCK_FAILED"),
        (&result, &[("--reason-file", nowhere)], "ENOENT"),
        ("[]", &[("--reason-file", &blank)], "AUDIT_INPUT_REQUIRED"),
        ("[]", &[("--evidence-ref", " ")], "AUDIT_INPUT_REQUIRED"),
        ("[]", &[("--run-id", "netrun_x")], "INVALID_LOCK_RECOVERY_RESULT"),
        (&result, &[("--run-id", "netrun_x")], "RECORD_NOT_FOUND"),
        (&result, &[("--node-id", "z")], "NODE_STATE_NOT_UNIQUE"),
        (&other.to_string(), &[], "JOB_KEY_MISMATCH"),
    ];
    for (result, changes, code) in rows {
        assert_refused(&record(&desk, result, changes, &[]), code);
    }
    assert!(desk.book().operations.is_empty());
}

#[test]
fn every_write_happens_once_whatever_becomes_of_its_answer() {
    let desk = Desk::new("job_unlock_faults", &[NodeSpec::new("a", &[], &["FAILED"])]);
    let result = good(&desk).to_string();
    for (i, (name, fault)) in disturbances().into_iter().enumerate() {
        desk.sandbox.fault(&fault);
        let output = record(&desk, &result, &[], &[]);
        desk.sandbox.clear_faults();
        assert!(output.status.success(), "{name}: {}", said(&output));
        assert_eq!(desk.book().operations.len(), i + 1, "{name}");
    }
}
