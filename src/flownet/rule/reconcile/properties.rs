//! Whatever the records say, an examination ends, and carrying its repairs out leaves nothing to repair.

use proptest::prelude::*;
use serde_json::json;

use super::{Examination, Records, Repair, examine};
use crate::flownet::key;
use crate::flownet::record::status::{AttemptStatus, NodeStatus, Outcome, RunStatus};
use crate::flownet::record::{Attempt, NodeState, Resolution, Run};
use crate::flownet::rule::classify::PREPARE_FAILED;
use crate::kintone::Record;

/// The records of one Run, owned.
#[derive(Clone, Debug)]
struct Story {
    run: Run,
    states: Vec<NodeState>,
    attempts: Vec<Attempt>,
    resolutions: Vec<Resolution>,
}

const NOW: &str = "2026-09-01T00:00:00.000Z";

fn record(fields: &[(&str, String)]) -> Record {
    let mut object = json!({"$id": {"value": "1"}, "$revision": {"value": "5"}});
    for (code, value) in fields {
        object[*code] = json!({"value": value});
    }
    serde_json::from_value(object).expect("record")
}

fn any_of<T: Copy + std::fmt::Debug + 'static>(all: &'static [T]) -> impl Strategy<Value = T> {
    (0..all.len()).prop_map(move |i| all[i])
}

/// One node: its status, newest attempt number and active attempt.
fn node() -> impl Strategy<Value = (NodeStatus, u64, u64, bool)> {
    (any_of(NodeStatus::ALL), 0u64..4, 0u64..4, any::<bool>())
}

/// One attempt: node, number, status, whether it never started, its invocation, revision before.
fn attempt() -> impl Strategy<Value = (usize, u64, AttemptStatus, bool, bool, u64)> {
    (
        0usize..4,
        1u64..4,
        any_of(AttemptStatus::ALL),
        any::<bool>(),
        any::<bool>(),
        1u64..7,
    )
}

fn story() -> impl Strategy<Value = Story> {
    (
        prop::collection::vec(node(), 0..4),
        prop::collection::vec(attempt(), 0..6),
        prop::collection::vec((0usize..4, 1u64..4, any_of(Outcome::ALL)), 0..3),
        any_of(RunStatus::ALL),
        any::<bool>(),
    )
        .prop_map(|(nodes, attempts, resolutions, status, started)| Story {
            run: a_run(status, started),
            states: nodes
                .into_iter()
                .enumerate()
                .map(|(i, n)| a_state(i, n))
                .collect(),
            attempts: attempts.into_iter().map(an_attempt).collect(),
            resolutions: resolutions
                .into_iter()
                .map(|(node, number, outcome)| Resolution {
                    revision: 1,
                    record_id: number,
                    record_key: String::new(),
                    replaces: None,
                    requested_by: String::new(),
                    attempt_id: format!("a{node}_{number}"),
                    outcome,
                    resolution_type: "OUTCOME_CONFIRMED".to_owned(),
                    resolved_at: NOW.to_owned(),
                })
                .collect(),
        })
}

fn a_run(status: RunStatus, started: bool) -> Run {
    let text = |code: &'static str, value: &str| (code, value.to_owned());
    let started = if started { NOW } else { "" };
    let mut fields = vec![
        text("record_type", "NETWORK_RUN"),
        text("status", status.as_str()),
        text("lifecycle_status", "ACTIVE"),
        text("started_at", started),
        text("resume_allowed", "true"),
        text("source_bundle_attachment", ""),
    ];
    for code in [
        "run_id",
        "network_id",
        "business_key",
        "max_active_runs",
        "definition_schema_version",
        "definition_sha256",
        "source_bundle_sha256",
        "resolved_profile_sha256",
        "ksql_flow_version",
        "engine_version",
        "dialect",
    ] {
        fields.push(text(code, "1"));
    }
    fields.push(text("resolved_profile_snapshot", r#"{"profile":"prod"}"#));
    fields.push(("record_key", key::run_key("prod", "1", "1").expect("a key")));
    fields.push(text("created_at", NOW));
    fields.push(text("updated_at", NOW));
    let mut record = json!({"$id": {"value": "1"}, "$revision": {"value": "1"}});
    for (code, value) in fields {
        record[code] = json!({"value": value});
    }
    record["source_bundle_attachment"] = json!({"value": [{"fileKey": "k", "name": "b.zip", "size": "1"}]});
    Run::from_record(&serde_json::from_value(record).expect("record")).expect("Run")
}

fn a_state(index: usize, (status, latest, active, idempotent): (NodeStatus, u64, u64, bool)) -> NodeState {
    let text = |code: &'static str, value: &str| (code, value.to_owned());
    let active = if active == 0 {
        String::new()
    } else {
        format!("a{index}_{active}")
    };
    let unique = key::node_state_key("1", &format!("n{index}")).expect("a key");
    let state = record(&[
        text("record_type", "NODE_STATE"),
        ("record_key", key::state_record_key(&unique).expect("a key")),
        ("node_state_key", unique),
        text("node_state_id", "s"),
        text("run_id", "1"),
        ("node_id", format!("n{index}")),
        text("job_id", "j"),
        text("status", status.as_str()),
        text("revision", "5"),
        ("latest_attempt_no", latest.to_string()),
        ("active_attempt_id", active),
        text("idempotent", if idempotent { "true" } else { "false" }),
        text("trigger_rule", "all_success"),
        text("updated_at", NOW),
    ]);
    NodeState::from_record(&state).expect("Node State")
}

fn an_attempt(
    (node, number, status, never_started, ours, before): (usize, u64, AttemptStatus, bool, bool, u64),
) -> Attempt {
    let text = |code: &'static str, value: &str| (code, value.to_owned());
    let attempt = record(&[
        text("record_type", "NODE_ATTEMPT"),
        (
            "record_key",
            key::attempt_record_key(&format!("a{node}_{number}")).expect("a key"),
        ),
        (
            "attempt_key",
            key::attempt_key("1", &format!("n{node}"), number).expect("a key"),
        ),
        text("run_id", "1"),
        ("node_id", format!("n{node}")),
        text("job_id", "j"),
        text("invocation_id", if ours { "ours" } else { "theirs" }),
        ("node_attempt_id", format!("a{node}_{number}")),
        ("attempt_no", number.to_string()),
        text("status", status.as_str()),
        text(
            "result_code",
            if never_started {
                PREPARE_FAILED
            } else {
                "SQL_ERROR"
            },
        ),
        text("execution_started_at", if never_started { "" } else { NOW }),
        ("state_revision_before", before.to_string()),
        text("read_count", "0"),
        text("written_count", "0"),
    ]);
    Attempt::from_record(&attempt).expect("Attempt")
}

fn look(story: &Story) -> Examination {
    examine(&Records {
        run: &story.run,
        states: &story.states,
        attempts: &story.attempts,
        resolutions: &story.resolutions,
        invocations: &[],
        archived: false,
        damaged: &[],
        invocation_id: "ours",
    })
}

/// What a resume writes for a repair.
fn carry_out(story: &mut Story, repair: &Repair) {
    let mut set = |node_id: &str, status: NodeStatus| {
        for state in story.states.iter_mut().filter(|s| s.node_id == node_id) {
            state.status = status;
            state.active_attempt_id.clear();
            state.revision += 1;
        }
    };
    match repair {
        Repair::ApplyAttempt { node_id, to, .. } => set(node_id, *to),
        Repair::ApplyResolution { node_id, outcome, .. } => set(node_id, outcome.as_node()),
        Repair::NeverStarted { node_id, attempt_id } => {
            set(node_id, NodeStatus::Waiting);
            for state in story.states.iter_mut().filter(|s| s.node_id == *node_id) {
                state.latest_attempt_no += 1;
            }
            for attempt in story.attempts.iter_mut().filter(|a| a.attempt_id == *attempt_id) {
                attempt.status = AttemptStatus::Cancelled;
                PREPARE_FAILED.clone_into(&mut attempt.result_code);
            }
        }
        Repair::Aggregate(status) => story.run.status = *status,
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn repairs_lead_to_records_without_repairs(mut story in story()) {
        // Attempts of one node have numbers of their own: the A1 key sees to it.
        let mut seen = std::collections::BTreeSet::new();
        story.attempts.retain(|a| seen.insert(a.attempt_id.clone()));
        // A repaired node changes the aggregate, and a resolution may wait behind an attempt: three rounds are enough.
        for _ in 0..3 {
            let found = look(&story);
            for stopped in &found.unrepairable {
                prop_assert!(found.findings.contains(stopped), "refused and not shown: {stopped:?}");
            }
            for repair in &found.repairs {
                carry_out(&mut story, repair);
            }
        }
        prop_assert_eq!(look(&story).repairs, vec![]);
    }
}
