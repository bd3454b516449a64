//! Records with a field that cannot be read: the record is named, other Runs and keys go on, and the Run can be closed.

use serde_json::{Value as Json, json};

use crate::archive::ABANDON;
use crate::desk::{Desk, assert_done, assert_refused, id, json_of};
use crate::network::{NodeSpec, PROFILE, said, text};
use crate::operator::type_command;
use crate::sandbox::STATE;

const NODES: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["SUCCESS"]),
    NodeSpec::new("b", &["a"], &["FAILED"]),
];

fn list(desk: &Desk, words: &[&str]) -> std::process::Output {
    let network = &desk.space.network_id;
    let mut args = vec!["status", network, "--profile", PROFILE];
    args.extend_from_slice(words);
    desk.space.run(&args)
}

#[test]
fn a_damaged_run_is_named_and_stops_no_other() {
    for (i, (field, value)) in [
        ("status", "WAITING"),
        ("resolved_profile_snapshot", "{"),
        ("dialect", ""),
        ("network_id", ""),
    ]
    .into_iter()
    .enumerate()
    {
        let desk = Desk::new(&format!("damaged_run_{i}"), NODES);
        let run = desk.run();
        let run_id = desk.run_id();
        let named = format!(
            "NETWORK_RUN record {} of the state app is damaged: field {field}",
            id(&run)
        );
        desk.edit_state(&run, field, value);
        let other = desk.space.run_network(&["--business-key", "other"]);
        assert!(said(&other).contains("NEW: Run "), "{field}: {}", said(&other));
        desk.sandbox.clear_log();
        let all = list(&desk, &["--json"]);
        assert!(desk.requests() <= 3, "{}", desk.requests());
        assert_done(&all);
        let all = json_of(&all);
        let runs = all["runs"].as_array().expect("a list");
        assert_eq!(runs.len(), 1, "{all:#}");
        // A Run that does not name its network is found by its key only.
        if field != "network_id" {
            let damaged = &all["unreadable_runs"][0];
            assert_eq!(damaged["run_id"], json!(run_id), "{all:#}");
            assert!(
                damaged["problem"].as_str().expect("text").starts_with(&named),
                "{all:#}"
            );
            let lines = list(&desk, &[]);
            assert!(
                said(&lines).contains(&named) && said(&lines).contains("--abandon"),
                "{}",
                said(&lines)
            );
            // The same for the Run alone, however it is asked for.
            for words in [["--run-id", &run_id], ["--business-key", "k"]] {
                let one = list(&desk, &words);
                assert_done(&one);
                assert!(
                    said(&one).contains(&named) && said(&one).contains("--abandon"),
                    "{}",
                    said(&one)
                );
                assert!(
                    !said(&one).contains("next: ksql-flownet status"),
                    "{}",
                    said(&one)
                );
            }
        }
        for words in [
            &["--business-key", "k", "--resume"][..],
            &["--resume-run", &run_id],
        ] {
            let refused = desk.space.run_network(words);
            assert_refused(&refused, "RECONCILIATION_REQUIRED");
            assert!(said(&refused).contains(&named), "{field}: {}", said(&refused));
        }
        let hold = desk
            .space
            .run(&["cancel-run", "--run-id", &run_id, "--reason-file", &desk.reason()]);
        assert_refused(&hold, "RECONCILIATION_REQUIRED");
        let file = desk.space.network_file().display().to_string();
        let reason = desk.reason();
        let archive = [
            "archive-run",
            &file,
            "--run-id",
            &run_id,
            "--reason-file",
            &reason,
        ];
        let plain = desk.space.run(&archive);
        assert_refused(&plain, "RUN_READ_FAILED");
        assert!(said(&plain).contains(&named), "{}", said(&plain));
        assert_done(&desk.space.run(&[&archive[..], ABANDON].concat()));
        if field != "network_id" {
            let event = desk.events("RUN_ARCHIVED").remove(0);
            assert!(
                event["unreadable"].as_str().expect("text").contains(field),
                "{event}"
            );
        }
        assert!(desk.book().held_locks.is_empty());
    }
}

#[test]
fn a_damaged_run_counts_for_the_limit_until_it_is_closed() {
    let desk = Desk::new("damaged_limit", NODES);
    let file = desk.space.network_file();
    let yaml = std::fs::read_to_string(&file).expect("a file");
    std::fs::write(&file, yaml.replace("max_active_runs: 10", "max_active_runs: 1")).expect("written");
    desk.edit_state(&desk.run(), "status", "WAITING");
    let other = || desk.space.run_network(&["--business-key", "other"]);
    let refused = other();
    assert_refused(&refused, "MAX_ACTIVE_RUNS");
    assert!(
        said(&refused).contains("is damaged: field status"),
        "{}",
        said(&refused)
    );
    let all = json_of(&list(&desk, &["--json"]));
    let command = all["unreadable_runs"][0]["command"]
        .as_str()
        .expect("a command")
        .to_owned();
    assert_done(&type_command(&desk.space, &command));
    assert!(said(&other()).contains("NEW: Run "));
}

/// What is damaged: the app and the record, the field and its value.
type Damage = (fn(&Desk) -> (bool, Json), &'static str, &'static str);

#[test]
fn a_damaged_record_of_a_run_is_named_and_the_run_can_be_closed() {
    let damages: &[Damage] = &[
        (|d| (true, d.state("b")), "latest_attempt_no", ""),
        (|d| (true, d.state("a")), "blocked_by", "x"),
        (|d| (true, d.state("b")), "status", "CREATED"),
        (|d| (false, d.book().attempts[0].clone()), "attempt_no", ""),
        (
            |d| (false, d.book().invocations[0].clone()),
            "selected_node_ids",
            "x",
        ),
    ];
    for (i, (find, field, value)) in damages.iter().enumerate() {
        let desk = Desk::new(&format!("damaged_record_{i}"), NODES);
        let (in_state, record) = find(&desk);
        if in_state {
            desk.edit_state(&record, field, value);
        } else {
            desk.edit_audit(&record, field, value);
        }
        let app = if in_state { "state" } else { "audit" };
        let named = format!(
            "{} record {} of the {app} app is damaged: field {field}",
            text(&record, "record_type"),
            id(&record)
        );
        desk.sandbox.clear_log();
        let status = desk.status();
        assert!(desk.requests() <= 4, "{}", desk.requests());
        assert_eq!(status["situation"], "DECISION", "{status:#}");
        assert!(status.to_string().contains(&named), "{named}: {status:#}");
        let executed = desk.space.executions().len();
        let refused = desk.space.run_network(&["--business-key", "k", "--resume"]);
        assert_refused(&refused, "RECONCILIATION_REQUIRED");
        assert!(said(&refused).contains(&named), "{}", said(&refused));
        assert_eq!(desk.space.executions().len(), executed);
        let command = status["next_actions"][0]["command"].as_str().expect("a command");
        assert_done(&type_command(&desk.space, command));
        assert_eq!(desk.status()["situation"], "ARCHIVED");
    }
}

#[test]
fn every_edited_lock_is_seen_and_can_be_freed() {
    for (i, (field, value)) in [
        ("record_key", "zzz"),
        ("record_key", "LOCKDONE:x"),
        ("lock_key", ""),
        ("lock_key", "x"),
        ("owner_invocation_id", ""),
        ("lease_token", ""),
        ("status", "SUCCESS"),
        ("status_reason", ""),
        ("lease_expires_at", ""),
        ("heartbeat_at", ""),
        ("revision", ""),
    ]
    .into_iter()
    .enumerate()
    {
        let desk = Desk::stopped(&format!("damaged_lock_{i}"));
        let lock = desk.lock("invoke_gone", "local-pid://elsewhere/7", -5);
        let change = json!({ field: { "value": value } });
        desk.sandbox.edit(STATE.0, lock, &change);
        let resume = || desk.space.run_network(&["--business-key", "k", "--resume"]);
        let refused = resume();
        assert_refused(&refused, "LOCK_CONFLICT");
        let named = format!("NETWORK_LOCK record {lock} of the state app was edited ({field})");
        assert!(said(&refused).contains(&named), "{field}: {}", said(&refused));
        let all = json_of(&list(&desk, &["--json"]));
        assert_eq!(all["lock"]["edited_fields"], json!([field]), "{all:#}");
        let actions = desk.status()["next_actions"].clone();
        let unlock = actions.as_array().expect("a list").iter();
        let unlock = unlock.filter(|a| a["action"] == "FORCE_UNLOCK" && a["allowed"] == json!(true));
        let command = unlock.map(|a| a["command"].as_str().expect("text")).next();
        let command = command.unwrap_or_else(|| panic!("{field}: {actions:#}"));
        assert_done(&type_command(&desk.space, command));
        assert!(desk.book().held_locks.is_empty());
        // A second one after the same edit has a tombstone of its own.
        let again = desk.lock("invoke_gone", "local-pid://elsewhere/7", -5);
        desk.sandbox
            .edit(STATE.0, again, &json!({ "lease_token": { "value": "" } }));
        assert_done(&desk.unlock("invoke_gone", "manual"));
        assert_done(&resume());
    }
}
