//! Every status of a node beside every end of its newest attempt, written down a second time.

use super::*;
use crate::flownet::record::run::tests::sample;
use crate::flownet::rule::reconcile::{Examination, examine};

const NOW: &str = "2026-09-01T00:00:00Z";

fn a_state(status: NodeStatus, tries: u64, idempotent: bool, saved: bool) -> NodeState {
    let unique = key::node_state_key("r", "n").expect("a key");
    NodeState {
        record_id: 7,
        revision: if saved { 6 } else { 5 },
        business_revision: 5,
        record_key: key::state_record_key(&unique).expect("a key"),
        node_state_key: unique,
        node_state_id: "nodestate_n".into(),
        run_id: "r".into(),
        node_id: "n".into(),
        job_id: "j".into(),
        status,
        latest_attempt_no: tries,
        active_attempt_id: String::new(),
        idempotent,
        trigger_rule: "all_success".into(),
        blocked_by: Vec::new(),
        status_reason: String::new(),
        started_at: String::new(),
        finished_at: String::new(),
        updated_at: NOW.into(),
    }
}

fn an_attempt(status: AttemptStatus, code: &str, started: bool) -> Attempt {
    Attempt {
        record_id: 20,
        revision: 2,
        record_key: key::attempt_record_key("a1").expect("a key"),
        run_id: "r".into(),
        node_id: "n".into(),
        job_id: "j".into(),
        invocation_id: "invoke_1".into(),
        attempt_id: "a1".into(),
        attempt_key: key::attempt_key("r", "n", 1).expect("a key"),
        attempt_no: 1,
        status,
        result_code: code.into(),
        execution_started_at: if started { NOW.into() } else { String::new() },
        runner_execution_started_at: String::new(),
        execution_id: String::new(),
        finished_at: match status {
            AttemptStatus::Running => String::new(),
            _ => NOW.into(),
        },
        duration_sec: None,
        error_message: String::new(),
        read_count: 0,
        written_count: 0,
        last_successful_chunk_no: None,
        last_written_key: String::new(),
        state_revision_before: Some(1),
    }
}

fn an_invocation(record_id: u64, mode: Mode, selected: &[&str], blocked: &[&str]) -> Invocation {
    let list = |nodes: &[&str]| nodes.iter().map(|n| (*n).to_owned()).collect();
    let id = format!("invoke_{record_id}");
    Invocation {
        record_id,
        revision: 1,
        record_key: key::invocation_record_key(&id).expect("a key"),
        run_id: "r".into(),
        invocation_id: id,
        mode,
        requested_by: String::new(),
        host: String::new(),
        started_at: NOW.into(),
        finished_at: String::new(),
        status: AttemptStatus::Failed,
        result_code: String::new(),
        selected: list(selected),
        preserved: Vec::new(),
        blocked: list(blocked),
        reason: String::new(),
    }
}

/// Statuses that are no edit; all others must be refused.
struct Row {
    name: &'static str,
    attempt: Option<(AttemptStatus, &'static str, bool)>,
    said: &'static [Outcome],
    later: &'static [(Mode, bool)],
    idempotent: bool,
    saved: bool,
    fits: &'static [NodeStatus],
    expected: &'static str,
}

#[test]
fn every_status_beside_every_end_of_the_attempt() {
    use AttemptStatus as A;
    use NodeStatus::{Blocked, Cancelled, Failed, Success, Unknown, Waiting};
    let base = Row {
        name: "never tried",
        attempt: None,
        said: &[],
        later: &[],
        idempotent: false,
        saved: true,
        fits: &[Waiting, Blocked],
        expected: "'WAITING'",
    };
    let ended = |status| Some((status, "X", true));
    let never = Some((A::Cancelled, PREPARE_FAILED, true));
    let rows = [
        Row {
            name: "once, succeeded",
            attempt: ended(A::Success),
            fits: &[Success],
            expected: "'SUCCESS'",
            ..base
        },
        Row {
            name: "once, succeeded, not saved",
            attempt: ended(A::Success),
            saved: false,
            fits: &[Success],
            expected: "'SUCCESS'",
            ..base
        },
        Row {
            name: "once, failed",
            attempt: ended(A::Failed),
            fits: &[Failed],
            expected: "'FAILED'",
            ..base
        },
        Row {
            name: "once, failed, resumed",
            attempt: ended(A::Failed),
            later: &[(Mode::Resume, true)],
            fits: &[Failed],
            expected: "'FAILED'",
            ..base
        },
        Row {
            name: "once, cancelled",
            attempt: ended(A::Cancelled),
            fits: &[Cancelled],
            expected: "'CANCELLED'",
            ..base
        },
        Row {
            name: "once, unknown",
            attempt: ended(A::Unknown),
            fits: &[Unknown],
            expected: "'UNKNOWN'",
            ..base
        },
        Row {
            name: "once, running",
            attempt: ended(A::Running),
            fits: &[],
            expected: "'RUNNING'",
            ..base
        },
        Row {
            name: "once, inserted only",
            attempt: Some((A::Running, "PENDING", false)),
            fits: &[Waiting, Blocked],
            expected: "'WAITING'",
            ..base
        },
        Row {
            name: "once, never ran",
            attempt: never,
            fits: &[Waiting, Blocked, Cancelled],
            expected: "'WAITING'",
            ..base
        },
        Row {
            name: "once, resolved",
            attempt: ended(A::Unknown),
            said: &[Outcome::Failed, Outcome::Success],
            fits: &[Unknown, Failed, Success],
            expected: "'SUCCESS'",
            ..base
        },
        Row {
            name: "again, succeeded",
            attempt: ended(A::Success),
            idempotent: true,
            fits: &[Success],
            expected: "'SUCCESS'",
            ..base
        },
        Row {
            name: "again, succeeded, interrupted rerun of the original",
            attempt: ended(A::Success),
            idempotent: true,
            saved: false,
            fits: &[Success, Waiting, Blocked],
            expected: "'SUCCESS'",
            ..base
        },
        Row {
            name: "again, succeeded, resumed",
            attempt: ended(A::Success),
            idempotent: true,
            later: &[(Mode::Resume, true)],
            fits: &[Success],
            expected: "'SUCCESS'",
            ..base
        },
        Row {
            name: "again, succeeded, rerun",
            attempt: ended(A::Success),
            idempotent: true,
            later: &[(Mode::RerunFrom, true)],
            fits: &[Success, Waiting, Blocked],
            expected: "'SUCCESS'",
            ..base
        },
        Row {
            name: "again, succeeded, rerun of others",
            attempt: ended(A::Success),
            idempotent: true,
            later: &[(Mode::RerunFrom, false)],
            fits: &[Success],
            expected: "'SUCCESS'",
            ..base
        },
        Row {
            name: "again, failed",
            attempt: ended(A::Failed),
            idempotent: true,
            fits: &[Failed],
            expected: "'FAILED'",
            ..base
        },
        Row {
            name: "again, failed, not saved",
            attempt: ended(A::Failed),
            idempotent: true,
            saved: false,
            fits: &[Failed, Waiting, Blocked],
            expected: "'FAILED'",
            ..base
        },
        Row {
            name: "again, failed, resumed",
            attempt: ended(A::Failed),
            idempotent: true,
            later: &[(Mode::Resume, true)],
            fits: &[Failed, Waiting, Blocked],
            expected: "'FAILED'",
            ..base
        },
        Row {
            name: "again, cancelled, resumed",
            attempt: ended(A::Cancelled),
            idempotent: true,
            later: &[(Mode::Resume, true)],
            fits: &[Cancelled, Waiting, Blocked],
            expected: "'CANCELLED'",
            ..base
        },
        Row {
            name: "again, unknown",
            attempt: ended(A::Unknown),
            idempotent: true,
            saved: false,
            later: &[(Mode::Resume, true)],
            fits: &[Unknown],
            expected: "'UNKNOWN'",
            ..base
        },
        Row {
            name: "again, running, rerun of the original",
            attempt: ended(A::Running),
            idempotent: true,
            saved: false,
            fits: &[Waiting, Blocked],
            expected: "'RUNNING'",
            ..base
        },
        Row {
            name: "again, resolved, resumed",
            attempt: ended(A::Unknown),
            said: &[Outcome::Failed],
            idempotent: true,
            later: &[(Mode::Resume, true)],
            fits: &[Unknown, Failed, Waiting, Blocked],
            expected: "'FAILED'",
            ..base
        },
        base,
    ];
    for row in rows {
        let attempt = row
            .attempt
            .map(|(status, code, started)| an_attempt(status, code, started));
        let invocations: Vec<Invocation> = std::iter::once(an_invocation(10, Mode::New, &["n"], &[]))
            .chain(row.later.iter().enumerate().map(|(i, (mode, ours))| {
                an_invocation(30 + i as u64, *mode, if *ours { &["n"] } else { &["m"] }, &[])
            }))
            .collect();
        for status in NodeStatus::ALL
            .iter()
            .copied()
            .filter(|s| *s != NodeStatus::Running)
        {
            let state = a_state(status, u64::from(attempt.is_some()), row.idempotent, row.saved);
            let edit = super::status(&state, attempt.as_ref(), row.said, &invocations);
            assert_eq!(
                edit.is_none(),
                row.fits.contains(&status),
                "{}: {status}: {edit:?}",
                row.name
            );
            if let Some(edit) = edit {
                assert_eq!(edit.expected, row.expected, "{}: {status}", row.name);
                assert_eq!((edit.record_id, edit.field), (7, "status"));
                assert_eq!(edit.stored, status.as_str());
            }
        }
    }
}

/// The records of a Run with one node and one attempt, before and after an edit.
fn look(change: impl Fn(&mut Run, &mut NodeState, &mut Attempt)) -> Examination {
    let mut run = sample(RunStatus::Success);
    let mut state = a_state(NodeStatus::Success, 1, true, false);
    let mut attempt = an_attempt(AttemptStatus::Success, "OK", true);
    change(&mut run, &mut state, &mut attempt);
    examine(&Records {
        run: &run,
        states: &[state],
        attempts: &[attempt],
        resolutions: &[],
        invocations: &[an_invocation(10, Mode::New, &["n"], &[])],
        archived: false,
        damaged: &[],
        invocation_id: "",
    })
}

#[test]
fn each_edited_field_is_named_with_what_it_must_say() {
    assert_eq!(look(|_, _, _| {}), Examination::default());
    type Change = fn(&mut Run, &mut NodeState, &mut Attempt);
    let cases: &[(&str, &str, Change)] = &[
        (
            "RECORD_EDITED",
            "NETWORK_RUN record 1 of the state app was edited: field record_key is 'z', expected 'R1:",
            |r, _, _| r.record_key = "z".into(),
        ),
        ("RECORD_EDITED", "field record_key is 'R1:", |r, _, _| {
            r.business_key = "other".into();
        }),
        (
            "RECORD_EDITED",
            "field created_at is '', expected the time",
            |r, _, _| r.created_at.clear(),
        ),
        (
            "RECORD_EDITED",
            "field node_state_key is 'z', expected 'S1:",
            |_, s, _| s.node_state_key = "z".into(),
        ),
        (
            "RECORD_EDITED",
            "NODE_STATE record 7 of the state app was edited: field record_key is 'z', expected 'STATE:S1:",
            |_, s, _| s.record_key = "z".into(),
        ),
        (
            "RECORD_EDITED",
            "NODE_ATTEMPT record 20 of the audit app was edited: field attempt_key is 'A1:",
            |_, _, a| a.attempt_no = 2,
        ),
        (
            "RECORD_EDITED",
            "field record_key is 'z', expected 'ATT:a1'",
            |_, _, a| a.record_key = "z".into(),
        ),
        ("NODE_STATE_MISSING", "node 'n' and run_id 'r'", |_, s, _| {
            s.node_id = "m".into();
        }),
        (
            "STATE_ATTEMPT_STATUS_MISMATCH",
            "NODE_STATE record 7 of the state app was edited: field status is 'FAILED', expected 'SUCCESS'",
            |_, s, _| {
                s.status = NodeStatus::Failed;
                s.revision += 1;
            },
        ),
        (
            "RECORD_EDITED",
            "NODE_ATTEMPT record 20 of the audit app was edited: field status is 'FAILED', expected 'SUCCESS', which goes \
             with its result_code OK",
            |_, _, a| a.status = AttemptStatus::Failed,
        ),
        (
            "RECORD_EDITED",
            "field status is 'SUCCESS', expected 'RUNNING', because it has no finished_at",
            |_, _, a| {
                a.result_code = "PENDING".into();
                a.finished_at.clear();
            },
        ),
        (
            "RECORD_EDITED",
            "field status is 'RUNNING', expected 'SUCCESS', because it has a finished_at",
            |_, _, a| a.status = AttemptStatus::Running,
        ),
        (
            "STATE_ATTEMPT_STATUS_MISMATCH",
            "NODE_ATTEMPT record 20 of the audit app was edited: field status is 'FAILED', expected an end that leaves its \
             node SUCCESS",
            |_, _, a| {
                a.status = AttemptStatus::Failed;
                a.result_code = "SQL_ERROR".into();
            },
        ),
        (
            "STATE_ATTEMPT_STATUS_MISMATCH",
            "field latest_attempt_no is '2', expected the number of an Attempt",
            |_, s, _| s.latest_attempt_no = 2,
        ),
        (
            "ACTIVE_ATTEMPT_ID_MISSING",
            "field status is 'RUNNING', expected 'SUCCESS'",
            |_, s, _| s.status = NodeStatus::Running,
        ),
        (
            "ACTIVE_ATTEMPT_NOT_FOUND",
            "field active_attempt_id is 'z', expected nothing",
            |_, s, _| s.active_attempt_id = "z".into(),
        ),
        (
            "RUN_AGGREGATE_MISMATCH",
            "field status is 'CREATED', expected 'SUCCESS'",
            |r, _, _| {
                r.status = RunStatus::Created;
                r.started_at = NOW.into();
            },
        ),
        (
            "RUN_AGGREGATE_MISMATCH",
            "field status is 'FAILED', expected 'SUCCESS'",
            |r, _, _| r.status = RunStatus::Failed,
        ),
    ];
    for (code, text, change) in cases {
        let found = look(change);
        let named = |i: &super::super::reconcile::Inconsistency| i.code == *code && i.detail.contains(text);
        assert!(found.unrepairable.iter().any(named), "{code} {text}: {found:#?}");
        assert!(found.findings.iter().any(named), "{code} is not shown");
    }
    let lost = look(|r, _, _| r.status = RunStatus::Running);
    assert_eq!(lost.unrepairable, vec![], "a Run may lag behind its nodes");
    assert_eq!(lost.repairs.len(), 1);
}

#[test]
fn a_run_cannot_say_more_than_its_nodes_ever_were() {
    let failed = look(|_, s, a| {
        s.status = NodeStatus::Failed;
        a.status = AttemptStatus::Failed;
        a.result_code = "SQL_ERROR".into();
    });
    let detail = &failed.unrepairable.first().expect("an edit").detail;
    assert!(
        detail.contains("field status is 'SUCCESS', expected 'FAILED'"),
        "{detail}"
    );
    assert_eq!(failed.repairs, vec![], "nobody acts on it");
}

/// A Node State that nobody saved is right; the Resolution that somebody saved is not.
#[test]
fn the_record_that_was_saved_is_blamed() {
    let blamed = |state_saved, resolution_revision| {
        let (run, state) = (
            sample(RunStatus::Failed),
            a_state(NodeStatus::Failed, 1, false, state_saved),
        );
        let attempt = an_attempt(AttemptStatus::Unknown, "NO_EXECUTION_RESULT", true);
        let resolution = Resolution {
            record_id: 30,
            revision: resolution_revision,
            record_key: "RES:1".into(),
            attempt_id: "a1".into(),
            outcome: Outcome::Success,
            requested_by: String::new(),
            resolution_type: String::new(),
            resolved_at: NOW.into(),
            replaces: None,
        };
        let found = examine(&Records {
            run: &run,
            states: &[state],
            attempts: &[attempt],
            resolutions: &[resolution],
            invocations: &[],
            archived: false,
            damaged: &[],
            invocation_id: "",
        });
        let details: Vec<String> = found.unrepairable.into_iter().map(|i| i.detail).collect();
        details.join("\n")
    };
    let resolution = "ATTEMPT_RESOLUTION record 30 of the audit app was edited: field resolved_outcome is 'SUCCESS', \
                      expected 'FAILED'";
    assert!(blamed(false, 2).contains(resolution), "{}", blamed(false, 2));
    let state =
        "NODE_STATE record 7 of the state app was edited: field status is 'FAILED', expected 'SUCCESS'";
    assert!(blamed(true, 1).ends_with(state), "{}", blamed(true, 1));
    let both = "or ATTEMPT_RESOLUTION record 30 of the audit app was edited";
    assert!(
        blamed(true, 2).contains(state) && blamed(true, 2).contains(both),
        "{}",
        blamed(true, 2)
    );
}

/// Runners may have codes that we do not know, with any end (RUN-27).
#[test]
fn an_unknown_result_code_goes_with_every_end() {
    use AttemptStatus::{Cancelled, Failed, Success, Unknown};
    for code in ["OK_WITH_WARNINGS", "PENDING", PREPARE_FAILED, "NEW_CODE", ""] {
        for status in [Success, Failed, Cancelled, Unknown] {
            let attempt = an_attempt(status, code, true);
            assert_eq!(ended_otherwise(&attempt), None, "{status} {code}");
        }
    }
    for code in ["OK", "NO_DATA"] {
        assert_eq!(ended_otherwise(&an_attempt(Success, code, true)), None);
        for status in [Failed, Cancelled, Unknown] {
            assert!(ended_otherwise(&an_attempt(status, code, true)).is_some());
        }
    }
    assert!(ended_otherwise(&an_attempt(Success, "ASSERT_FAILED", true)).is_some());
}
