//! The lock that a killed job leaves in the JOB log: who says so, and the commands that lead on, typed as printed.

#[path = "support/network.rs"]
mod network;
#[path = "support/sandbox.rs"]
mod sandbox;

use std::path::Path;
use std::process::{Command, Output};

use network::{Book, NodeSpec, PROFILE, Workspace, children, said, text};
use sandbox::{JOB_LOG, ORDERS, Sandbox};
use serde_json::{Value as Json, json};

const INSERT: &str = "INSERT INTO LAPP_orders (顧客コード, 受注日) VALUES ('C00001', '2026-11-01');";

/// A Run whose only job was killed while it wrote, and that a person has called failed.
fn killed(name: &str) -> (Sandbox, Workspace, String) {
    let sandbox = Sandbox::seeded(name, &["--orders", "1"], &[]);
    let mut space = Workspace::new(&sandbox, name, &[NodeSpec::new("a", &[], &[])]);
    space.use_the_real_runner(&sandbox, env!("CARGO_BIN_EXE_ksql-flow"), &[("a", INSERT)]);
    std::fs::write(space.dir.join("reason.txt"), "checked by hand").expect("reason");
    sandbox.fault(&json!({"match": {"method": "POST", "app": ORDERS.0}, "nth": 1, "action": "hold_before"}));
    let start = space.start(&["--business-key", "k"]);
    sandbox.wait_for_hold();
    for job in children(start.id()) {
        let kill = Command::new("kill").args(["-9", &job.to_string()]).status();
        assert!(kill.expect("kill runs").success());
    }
    start.wait_with_output().expect("ends");
    sandbox.clear_faults();
    let run = text(&Book::read(&sandbox, name).runs[0], "run_id").to_owned();
    let resolved = type_line(
        &space,
        &format!(
            "ksql-flownet resolve-node --run-id {run} --node-id a --to FAILED --reason-file <reason_file> \
             --evidence-ref e --stop-confirmed-by bob --stop-evidence-ref s"
        ),
    );
    assert!(resolved.status.success(), "{}", said(&resolved));
    (sandbox, space, run)
}

/// Types a printed line into a shell, with a value for everything that only a person knows.
fn type_line(space: &Workspace, line: &str) -> Output {
    let file = |name: &str| space.dir.join(name).display().to_string();
    let values = [
        ("<network>", file("network.yaml")),
        ("<reason_file>", file("reason.txt")),
        ("<result_file>", file("unlocked.json")),
        ("<reason>", "dead".to_owned()),
        ("<evidence_ref>", "INC-1".to_owned()),
        ("<evidence_url>", "https://example.com/INC-1".to_owned()),
        ("<person>", "ito".to_owned()),
    ];
    let line = values
        .iter()
        .fold(line.to_owned(), |line, (place, value)| line.replace(place, value));
    let (command, _) = line.split_once("  #").unwrap_or((&line, ""));
    assert!(!command.contains('<'), "no value for a place of: {command}");
    let programs = Path::new(env!("CARGO_BIN_EXE_ksql-flownet"))
        .parent()
        .expect("folder");
    let environment = space.command(&[]);
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(command).current_dir(&space.dir).env_clear();
    for (name, value) in environment.get_envs() {
        if let Some(value) = value {
            shell.env(name, value);
        }
    }
    shell.env("PATH", format!("{}:/usr/bin:/bin", programs.display()));
    shell.output().expect("runs")
}

fn status(space: &Workspace, run: &str) -> Json {
    let args = [
        "status",
        &space.network_id,
        "--profile",
        PROFILE,
        "--run-id",
        run,
        "--json",
    ];
    let output = space.run(&args);
    assert!(output.status.success(), "{}", said(&output));
    let document: Json = serde_json::from_slice(&output.stdout).expect("JSON");
    document["runs"][0].clone()
}

#[test]
fn the_start_that_meets_it_says_who_holds_it_and_its_next_lines_lead_on() {
    let (sandbox, space, run) = killed("joblock_start");
    let met = space.run_network(&["--resume-run", &run]);
    let told = said(&met);
    let key = format!("{PROFILE}:joblock_start_a");
    assert!(
        told.contains("NODES_DEFERRED") && told.contains(&format!("the lock {key} is held since")),
        "{told}"
    );
    let next: Vec<&str> = told
        .lines()
        .filter_map(|line| line.strip_prefix("next: "))
        .collect();
    assert!(
        next.iter().any(|line| line.starts_with("ksql-flow inspect-lock")),
        "{told}"
    );
    for line in &next {
        let output = type_line(&space, line);
        assert!(output.status.success(), "{line}\n{}", said(&output));
    }
    let book = Book::read(&sandbox, "joblock_start");
    assert_eq!(book.status(), "SUCCESS");
    assert!(
        sandbox
            .records(JOB_LOG.0)
            .iter()
            .all(|record| text(record, "job_key").is_empty())
    );
    let recorded = book
        .operations
        .iter()
        .any(|o| text(o, "reason").contains("JOB_LOCK_FORCE_UNLOCK_RECORDED"));
    assert!(recorded, "{:#?}", book.operations);
}

#[test]
fn status_names_it_with_the_attempt_that_left_it_and_costs_no_further_request() {
    let (sandbox, space, run) = killed("joblock_status");
    let first = text(
        &Book::read(&sandbox, "joblock_status").attempts[0],
        "node_attempt_id",
    )
    .to_owned();
    space.run_network(&["--resume-run", &run]);
    sandbox.clear_log();
    let shown = status(&space, &run);
    assert!(sandbox.log().len() <= 4);
    let wait = &shown["waiting_on"];
    assert_eq!(
        (&wait["kind"], &wait["node_id"]),
        (&json!("lock"), &json!("a")),
        "{shown:#}"
    );
    assert_eq!(wait["by"].as_str(), Some(first.as_str()), "{shown:#}");
    let actions = shown["next_actions"].as_array().expect("a list");
    for (action, allowed) in [
        ("INSPECT_JOB_LOCK", true),
        ("FREE_JOB_LOCK", true),
        ("RECORD_JOB_UNLOCK", false),
        ("RESUME", true),
    ] {
        let found = actions.iter().find(|a| a["action"] == action).expect(action);
        assert_eq!(found["allowed"], json!(allowed), "{found}");
        let output = type_line(&space, found["command"].as_str().expect("a command"));
        assert!(output.status.success(), "{found}\n{}", said(&output));
        if action == "RECORD_JOB_UNLOCK" {
            let resume = format!("--resume-run {run}");
            assert!(said(&output).contains(&resume), "{}", said(&output));
            let now = status(&space, &run);
            assert_eq!(now["waiting_on"]["kind"], "schedule", "the lock is gone: {now:#}");
            assert_eq!(now["next_actions"][0]["action"], "RESUME", "{now:#}");
        }
    }
    assert_eq!(Book::read(&sandbox, "joblock_status").status(), "SUCCESS");
}
