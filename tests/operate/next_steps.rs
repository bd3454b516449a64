//! What `status` names as the next step is a step: every command that it allows is typed as it stands, in that very state.

use std::process::Output;

use serde_json::{Value as Json, json};

use crate::archive::contradiction;
use crate::desk::{Desk, assert_done, json_of};
use crate::network::{NodeSpec, PROFILE, said, text};
use crate::operator::type_command;
use crate::printed_lines;
use crate::sandbox::AUDIT;

type Build = fn(&str) -> Desk;

fn braked(name: &str) -> Desk {
    printed_lines::braked(name).0
}

fn behind_a_dead_owner(name: &str) -> Desk {
    let desk = Desk::stopped(name);
    let owner = text(&desk.book().invocations[0], "invocation_id").to_owned();
    desk.lock(&owner, "local-pid://elsewhere/7", -5);
    desk
}

fn behind_another_start(name: &str) -> Desk {
    let desk = Desk::stopped(name);
    desk.lock("invoke_other", "local-pid://elsewhere/7", 5);
    desk
}

fn hold_is_over(name: &str) -> Desk {
    let desk = Desk::stopped(name);
    assert_done(&desk.hold(&["--for", "1h"]));
    let hold = desk.book().holds[0].clone();
    let mut reason: Json = serde_json::from_str(text(&hold, "status_reason")).expect("JSON");
    reason["expires_at"] = json!("2026-01-01T00:00:00.000Z");
    desk.edit_state(&hold, "status_reason", &reason.to_string());
    desk
}

fn not_recomputed(name: &str) -> Desk {
    let desk = Desk::new(name, &[NodeSpec::new("a", &[], &["FAILED"])]);
    desk.edit_state(&desk.run(), "status", "RUNNING");
    desk
}

fn resolved(name: &str) -> Desk {
    let nodes = [
        NodeSpec::new("a", &[], &["VANISH"]),
        NodeSpec::new("b", &["a"], &["SUCCESS"]),
    ];
    let desk = Desk::new(name, &nodes);
    assert_done(&desk.resolve("a", "SUCCESS", &[]));
    desk
}

fn archived(name: &str) -> Desk {
    let desk = Desk::new(name, &[NodeSpec::new("a", &[], &["FAILED", "SUCCESS"])]);
    assert_done(&desk.archive(&[]));
    desk
}

/// State, how it comes about, its situation, and the number of ways on that must be open.
const STATES: &[(&str, Build, &str, usize)] = &[
    (
        "failed",
        |n| Desk::new(n, &[NodeSpec::new("a", &[], &["FAILED"])]),
        "FAILED",
        2,
    ),
    (
        "failed_once",
        |n| Desk::new(n, &[NodeSpec::new("a", &[], &["FAILED"]).not_idempotent()]),
        "FAILED",
        2,
    ),
    (
        "cancelled_once",
        |n| Desk::new(n, &[NodeSpec::new("a", &[], &["CANCELLED"]).not_idempotent()]),
        "CANCELLED",
        1,
    ),
    (
        "unknown",
        |n| Desk::new(n, &[NodeSpec::new("a", &[], &["VANISH"])]),
        "DECISION",
        3,
    ),
    (
        "unknown_once",
        |n| Desk::new(n, &[NodeSpec::new("a", &[], &["VANISH"]).not_idempotent()]),
        "DECISION",
        3,
    ),
    ("braked", braked, "FAILED", 2),
    ("held", Desk::held, "HELD", 1),
    ("stopped", Desk::stopped, "WAITING", 3),
    ("hold_is_over", hold_is_over, "WAITING", 3),
    ("dead_owner", behind_a_dead_owner, "WAITING", 1),
    ("other_start", behind_another_start, "WAITING", 1),
    ("not_recomputed", not_recomputed, "FAILED", 2),
    ("contradictory", contradiction, "DECISION", 1),
    ("resolved", resolved, "WAITING", 2),
    ("archived", archived, "ARCHIVED", 1),
    (
        "done",
        |n| Desk::new(n, &[NodeSpec::new("a", &[], &["SUCCESS"])]),
        "DONE",
        0,
    ),
];

/// A start that was not refused, or a command that did its work.
fn assert_worked(output: &Output, command: &str) {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let started = ["NEW: ", "RESUME: ", "NO-OP: "]
        .iter()
        .any(|word| stdout.contains(word));
    assert!(output.status.success() || started, "{command}\n{}", said(output));
}

fn check(name: &str, build: Build, situation: &str, open: usize) {
    let first = build(&format!("next_{name}"));
    let run = first.status();
    assert_eq!(run["situation"], situation, "{name}: {run:#}");
    let actions = run["next_actions"].as_array().cloned().expect("a list");
    let allowed: Vec<&Json> = actions.iter().filter(|a| a["allowed"] == json!(true)).collect();
    assert_eq!(allowed.len(), open, "{name}: {actions:#?}");
    for (i, action) in actions.iter().enumerate() {
        let Some(command) = action["command"].as_str() else {
            assert_eq!(action["action"], "WAIT", "{name}");
            continue;
        };
        let desk = build(&format!("next_{name}_{i}"));
        let own = command
            .replace(&first.run_id(), &desk.run_id())
            .replace(&first.space.network_id, &desk.space.network_id)
            .replace(
                text(&first.book().invocations[0], "invocation_id"),
                text(&desk.book().invocations[0], "invocation_id"),
            );
        let output = type_command(&desk.space, &own);
        if action["allowed"] == json!(true) {
            assert_worked(&output, &own);
        } else {
            assert_eq!(
                output.status.code(),
                Some(1),
                "{name}: {own} is named as closed\n{}",
                said(&output)
            );
        }
    }
}

#[test]
fn every_way_on_is_open_half() {
    for (name, build, situation, open) in STATES.iter().step_by(2) {
        check(name, *build, situation, *open);
    }
}

#[test]
fn every_way_on_is_open_other_half() {
    for (name, build, situation, open) in STATES.iter().skip(1).step_by(2) {
        check(name, *build, situation, *open);
    }
}

#[test]
fn the_document_keeps_its_order_and_the_text_tells_the_same() {
    let desk = Desk::held("next_text");
    let run = desk.run_id();
    let args = [
        "status",
        &desk.space.network_id,
        "--profile",
        PROFILE,
        "--run-id",
        &run,
    ];
    desk.sandbox.clear_log();
    let json = desk.space.run(&[&args[..], &["--json"]].concat());
    assert!(desk.requests() <= 4, "{}", desk.requests());
    let raw = String::from_utf8_lossy(&json.stdout).into_owned();
    let order = [
        "run_id",
        "business_key",
        "status",
        "resume_allowed",
        "lifecycle_status",
        "created_at",
        "started_at",
        "finished_at",
        "updated_at",
        "hold",
        "activity",
        "invocations",
        "node_states",
        "reconciliation",
        "recovery_identifiers",
        "situation",
        "waiting_on",
        "next_actions",
    ];
    let at = order.map(|key| {
        raw.find(&format!("\n      \"{key}\":"))
            .unwrap_or_else(|| panic!("{key}: {raw}"))
    });
    assert!(at.is_sorted(), "{raw}");
    let shown = json_of(&json)["runs"][0].clone();
    assert_eq!(shown["hold"]["reason"], "because of INC-1\n");
    assert_eq!(shown["hold"]["expires_at"], Json::Null);
    let wait = &shown["waiting_on"];
    assert_eq!(
        (&wait["kind"], &wait["by"], &wait["node_id"]),
        (&json!("hold"), &json!("tester"), &json!("b"))
    );
    let plain = desk.space.run(&args);
    let lines = String::from_utf8_lossy(&plain.stdout).into_owned();
    assert!(
        lines.contains("\n  situation: HELD (a person holds it)\n"),
        "{lines}"
    );
    assert!(lines.contains("\n  waiting_on: hold, node b, since "), "{lines}");
    assert!(
        lines.contains(&format!(
            "\n  next: ksql-flownet cancel-run --run-id {run} --release"
        )),
        "{lines}"
    );
    assert!(lines.contains("\n  not yet: ksql-flownet run-network"), "{lines}");
    assert!(!lines.contains("next_actions"), "{lines}");
    let mut japanese = desk.space.command(&args);
    let lines = japanese
        .env("LC_ALL", "ja_JP.UTF-8")
        .output()
        .expect("runs")
        .stdout;
    assert!(String::from_utf8_lossy(&lines).contains("situation: HELD (人が保留している)"));
}

#[test]
fn a_list_costs_three_requests_and_points_to_each_run() {
    let desk = Desk::stopped("next_list");
    desk.space.run_network(&["--business-key", "l"]);
    desk.sandbox.clear_log();
    let output = desk
        .space
        .run(&["status", &desk.space.network_id, "--profile", PROFILE, "--json"]);
    assert_done(&output);
    assert!(desk.requests() <= 3, "{}", desk.requests());
    let runs = json_of(&output)["runs"].as_array().cloned().expect("a list");
    let of = |key: &str| runs.iter().find(|r| r["business_key"] == key).expect("a Run");
    assert_eq!(of("l")["situation"], "DONE");
    assert_eq!(of("l")["waiting_on"], Json::Null);
    assert_eq!(of("k")["situation"], "WAITING");
    let actions = of("k")["next_actions"].as_array().cloned().expect("a list");
    let look = actions.iter().find(|a| a["action"] == "LOOK").expect("a look");
    assert!(
        type_command(&desk.space, look["command"].as_str().expect("a command"))
            .status
            .success()
    );
}

#[test]
fn a_failed_run_says_all_of_it_in_one_json_line_and_nothing_beside_it() {
    let desk = Desk::empty("next_json", &[NodeSpec::new("a", &[], &["FAILED"])]);
    let output = desk.space.run_network(&["--business-key", "k", "--json"]);
    assert!(output.stderr.is_empty(), "{}", said(&output));
    let line = json_of(&output);
    let error = &line["error"];
    assert_eq!(error["code"], "NODE_FAILED_OR_BLOCKED", "{line}");
    let told = error["details"].to_string();
    assert!(told.contains("node 'a' is FAILED"), "{line}");
    assert!(!line["warnings"].as_array().expect("a list").is_empty(), "{line}");
    let next = error["next"].as_array().expect("a list");
    assert!(
        !next.is_empty() && next.iter().all(|step| !step.to_string().contains('<')),
        "{line}"
    );
    // What was told when it happened is not repeated at the end.
    let plain = desk.space.run_network(&["--business-key", "l"]);
    let text = String::from_utf8_lossy(&plain.stderr).into_owned();
    let told = desk
        .book()
        .attempts
        .iter()
        .map(|a| text_of(a, "error_message"))
        .next()
        .unwrap_or_default();
    assert!(
        !told.is_empty() && text.matches(&told).count() == 1,
        "{told}\n{text}"
    );
}

fn text_of(record: &Json, field: &str) -> String {
    text(record, field).to_owned()
}

#[test]
fn a_resume_tells_once_that_it_keeps_to_the_files_of_its_run() {
    let outcomes = &["FAILED", "FAILED", "SUCCESS"];
    let nodes = [
        NodeSpec::new("a", &[], outcomes),
        NodeSpec::new("b", &["a"], &["SUCCESS"]),
    ];
    let desk = Desk::new("changed-files", &nodes);
    let resume = || said(&desk.space.run_network(&["--business-key", "k", "--resume"]));
    let unchanged = resume();
    assert!(!unchanged.contains("changed since"), "{unchanged}");

    let sql = desk.space.dir.join("jobs/a.sql");
    let corrected = std::fs::read_to_string(&sql).expect("SQL") + "SELECT 2;\n";
    std::fs::write(&sql, corrected).expect("SQL");
    std::fs::remove_file(desk.space.dir.join("jobs/b.sql")).expect("SQL");
    let changed = resume();
    assert_eq!(changed.matches("changed since Run").count(), 1, "{changed}");
    assert!(
        changed.contains(": jobs/a.sql;"),
        "only what was changed: {changed}"
    );
    assert_eq!(text(&desk.run(), "status"), "SUCCESS");
}

#[test]
fn a_work_directory_that_takes_no_owner_file_is_named_with_its_error() {
    let desk = Desk::new("next_workdir", &[NodeSpec::new("a", &[], &["FAILED"])]);
    let owners = desk.space.dir.join("work/owners");
    std::fs::remove_dir_all(&owners).expect("removed");
    std::fs::write(&owners, "no folder").expect("written");
    for output in [
        desk.space.run_network(&["--business-key", "l"]),
        desk.space.run_network(&["--business-key", "k", "--resume"]),
        desk.archive(&[]),
    ] {
        let all = said(&output);
        assert!(!output.status.success(), "{all}");
        assert!(all.contains("cannot write the owner file "), "{all}");
        assert!(
            all.contains("EEXIST") || all.contains("LOCK_UNAVAILABLE"),
            "{all}"
        );
        assert!(all.contains("note: The work directory cannot be used."), "{all}");
        assert!(
            all.contains("next: free space, or correct the permissions"),
            "{all}"
        );
        assert!(!all.contains("ksql-flownet validate"), "{all}");
    }
    assert!(desk.book().held_locks.is_empty());
    assert_eq!(desk.book().runs.len(), 1);
}

/// Does the command print a step that resumes the Run?
fn resumes(output: &Output) -> bool {
    assert_done(output);
    said(output).contains("next: ksql-flownet run-network")
}

#[test]
fn a_resolved_node_leads_to_a_resume_only_where_that_does_something() {
    let nodes = [
        NodeSpec::new("a", &[], &["VANISH"]).not_idempotent(),
        NodeSpec::new("b", &["a"], &["SUCCESS"]),
    ];
    let approved = &["--approved-by", "kato"];
    assert!(!resumes(&Desk::new("resumes_failed", &nodes).resolve(
        "a",
        "FAILED",
        &[]
    )));
    assert!(resumes(
        &Desk::new("resumes_behind", &nodes).resolve("a", "SUCCESS", approved)
    ));
    assert!(!resumes(
        &Desk::new("resumes_last", &nodes[..1]).resolve("a", "SUCCESS", approved)
    ));
    let again = [NodeSpec::new("a", &[], &["VANISH"])];
    assert!(resumes(&Desk::new("resumes_again", &again).resolve(
        "a",
        "FAILED",
        &[]
    )));
}

#[test]
fn a_correction_is_printed_with_everything_that_it_needs() {
    let desk = Desk::new(
        "next_correct",
        &[NodeSpec::new("a", &[], &["VANISH"]).not_idempotent()],
    );
    assert_done(&desk.resolve("a", "FAILED", &[]));
    let refused = desk.resolve("a", "SUCCESS", &["--approved-by", "kato"]);
    let all = said(&refused);
    let line = all
        .lines()
        .filter_map(|l| l.strip_prefix("next: "))
        .find(|l| l.contains("--replaces"))
        .unwrap_or_else(|| panic!("{all}"));
    assert!(
        line.contains("--to SUCCESS --manual-completion --replaces"),
        "{line}"
    );
    let (command, _) = line.split_once("  #").expect("a purpose");
    assert_done(&type_command(&desk.space, command));
    assert_eq!(text(&desk.run(), "status"), "SUCCESS");
}

#[test]
fn a_job_that_cannot_start_is_told_with_its_reason_and_blamed_on_no_lock() {
    for (name, inputs) in [
        ("next_start", ""),
        ("next_start_io", "    inputs: {src: a.csv}\n"),
    ] {
        let desk = Desk::empty(name, &[NodeSpec::new("a", &[], &["CRASH"])]);
        let file = desk.space.network_file();
        let yaml = std::fs::read_to_string(&file).expect("a file");
        std::fs::write(&file, yaml + inputs).expect("written");
        std::fs::write(desk.space.dir.join("io/in/a.csv"), "x\n1\n").expect("written");
        let why = "nothing was executed: the runner ended with exit status 134";
        let started = said(&desk.space.run_network(&["--business-key", "k"]));
        assert!(
            started.contains(why) && started.contains("next: check KSQL_FLOW_BIN"),
            "{started}"
        );
        assert!(!started.contains("inspect-lock"), "{started}");
        let json = json_of(
            &desk
                .space
                .run_network(&["--business-key", "k", "--resume", "--json"]),
        );
        assert!(json["error"]["details"].to_string().contains(why), "{json}");
        let run = desk.status();
        assert_eq!(
            (&run["situation"], &run["waiting_on"]["kind"]),
            (&json!("WAITING"), &json!("person"))
        );
        let reason = run["waiting_on"]["reason"].as_str().expect("a reason");
        assert!(reason.contains("attempt 2"), "{run:#}");
        assert_eq!(reason.contains(why), inputs.is_empty(), "{run:#}");
        assert_eq!(run["next_actions"][0]["action"], "RESUME", "{run:#}");
        assert!(!run.to_string().contains("inspect-lock"), "{run:#}");
        let lines = desk
            .space
            .run(&["status", name, "--profile", PROFILE, "--business-key", "k"]);
        assert!(
            said(&lines).contains("WAITING (a job could not be started)"),
            "{}",
            said(&lines)
        );
    }
}

#[test]
fn a_run_of_very_many_starts_costs_four_requests_and_says_what_it_leaves_out() {
    let desk = Desk::new(
        "next_many",
        &[NodeSpec::new("a", &[], &["VANISH"]).not_idempotent()],
    );
    let last = desk.book().invocations.pop().expect("an invocation");
    for n in 0..620 {
        let id = format!("invoke_{n:04}");
        let changes = [
            ("invocation_id", id.as_str()),
            ("record_key", &format!("INV:{id}")),
        ];
        desk.copy(AUDIT.0, &last, &changes);
    }
    for words in [["--run-id", &desk.run_id()], ["--business-key", "k"]] {
        let command = [
            &["status", &desk.space.network_id, "--profile", PROFILE, "--json"],
            &words[..],
        ]
        .concat();
        desk.sandbox.clear_log();
        let run = json_of(&desk.space.run(&command))["runs"][0].clone();
        assert!(desk.requests() <= 4, "{words:?}: {}", desk.requests());
        assert_eq!(run["older_invocations_left_out"], json!(true));
        let shown = run["invocations"].as_array().expect("a list");
        assert!(
            shown.len() < 500 && shown.iter().any(|i| i["invocation_id"] == "invoke_0619"),
            "{}",
            shown.len()
        );
        assert_eq!(run["situation"], "DECISION", "{run:#}");
        assert_eq!(run["reconciliation"]["inconsistencies"], json!([]));
    }
}
