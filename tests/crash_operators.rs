//! Every kintone request of every operator command, in four modes: killed before it, killed after it, its answer lost,
//! refused with 503 once. Then the same command again, and the way on that it opened. The checker reads only records.

#[path = "support/boundary.rs"]
mod boundary;
#[path = "support/network.rs"]
mod network;
#[path = "support/operator.rs"]
mod operator;
#[path = "support/sandbox.rs"]
mod sandbox;

use boundary::{Boundary, MODES, Mode, boundaries, disturbed};
use ksql_flownet::flownet::clock::{Clock as _, SystemClock};
use ksql_flownet::flownet::key;
use network::{Book, NodeSpec, PROFILE, Workspace, said, text, violations};
use sandbox::{STATE, Sandbox};
use serde_json::{Value as Json, json};

/// One operator command with what comes before and after it.
struct Scenario {
    name: &'static str,
    nodes: &'static [NodeSpec],
    /// Brings the Run into the state for it.
    before: fn(&Stage<'_>),
    /// The words of the disturbed command.
    words: fn(&Stage<'_>) -> Vec<String>,
    /// Type of the event that must be there exactly once.
    event: &'static str,
    /// Goes on and says what is wrong in the end.
    after: fn(&Stage<'_>) -> Result<(), String>,
}

/// A network on a stand-in.
struct Stage<'a> {
    sandbox: &'a Sandbox,
    space: Workspace,
}

impl Stage<'_> {
    fn book(&self) -> Book {
        Book::read(self.sandbox, &self.space.network_id)
    }

    fn run_id(&self) -> String {
        text(&self.book().runs[0], "run_id").to_owned()
    }

    fn reason(&self) -> String {
        let file = self.space.dir.join("reason.txt");
        std::fs::write(&file, "because of INC-1").expect("reason");
        file.display().to_string()
    }

    fn words(&self, words: &[&str]) -> Vec<String> {
        let mut all: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        all.extend(["--reason-file".to_owned(), self.reason()]);
        all
    }

    fn run(&self, words: &[String]) -> std::process::Output {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.space.run(&words)
    }

    fn events(&self, kind: &str) -> usize {
        let book = self.book();
        let of_kind = |r: &&Json| text(r, "reason").contains(&format!("\"event_type\":\"{kind}\""));
        if kind == "ATTEMPT_RESOLVED" {
            return book.resolutions.len();
        }
        book.operations.iter().filter(of_kind).count()
    }

    fn check(&self, when: &str) -> Result<(), String> {
        let found = violations(&self.book(), &self.space.executions());
        if found.is_empty() {
            Ok(())
        } else {
            Err(format!("{when}: {}", found.join("; ")))
        }
    }

    /// A resume that ends in SUCCESS.
    fn finish(&self) -> Result<(), String> {
        operator::free_job_locks(self.sandbox, &self.book());
        let output = self.space.run_network(&["--business-key", "k", "--resume"]);
        match self.book().status().as_str() {
            "SUCCESS" => Ok(()),
            other => Err(format!("the resume left the Run {other}: {}", said(&output))),
        }
    }

    fn lock_key(&self) -> String {
        key::lock_key(PROFILE, &self.space.network_id).expect("key")
    }
}

fn start(stage: &Stage<'_>) {
    stage.space.run_network(&["--business-key", "k"]);
}

fn resolve(stage: &Stage<'_>) -> Vec<String> {
    let run = stage.run_id();
    stage.words(&[
        "resolve-node",
        "--run-id",
        &run,
        "--node-id",
        "a",
        "--to",
        "SUCCESS",
        "--manual-completion",
        "--evidence-ref",
        "INC-1",
        "--stop-confirmed-by",
        "ito",
        "--stop-evidence-ref",
        "ps",
    ])
}

fn hold(stage: &Stage<'_>) -> Vec<String> {
    let run = stage.run_id();
    stage.words(&["cancel-run", "--run-id", &run])
}

fn release(stage: &Stage<'_>) -> Vec<String> {
    let run = stage.run_id();
    stage.words(&["cancel-run", "--run-id", &run, "--release"])
}

/// A hold whose time is over; nobody has recorded that yet.
fn hold_that_is_over(stage: &Stage<'_>) {
    start(stage);
    let mut words = hold(stage);
    words.extend(["--for".to_owned(), "1h".to_owned()]);
    stage.run(&words);
    let hold = stage.book().holds[0].clone();
    let mut reason: Json = serde_json::from_str(text(&hold, "status_reason")).expect("JSON");
    reason["expires_at"] = json!("2026-01-01T00:00:00.000Z");
    let id = text(&hold, "$id").parse().expect("record id");
    stage.sandbox.edit(
        STATE.0,
        id,
        &json!({"status_reason": {"value": reason.to_string()}}),
    );
}

fn resume(stage: &Stage<'_>) -> Vec<String> {
    let file = stage.space.network_file().display().to_string();
    ["run-network", &file, "--business-key", "k", "--resume"]
        .map(str::to_owned)
        .to_vec()
}

fn archive(stage: &Stage<'_>) -> Vec<String> {
    let (run, file) = (stage.run_id(), stage.space.network_file().display().to_string());
    stage.words(&["archive-run", &file, "--run-id", &run])
}

/// The lock of a process of this host that has ended, its lease over.
fn dead_lock(stage: &Stage<'_>) {
    let host = std::process::Command::new("uname")
        .arg("-n")
        .output()
        .expect("runs")
        .stdout;
    let host = String::from_utf8(host).expect("UTF-8").trim().to_owned();
    let mut child = std::process::Command::new("true").spawn().expect("starts");
    child.wait().expect("ends");
    let value = |v: &str| json!({ "value": v });
    let past = SystemClock.now().plus_ms(-300_000).iso_ms();
    let record = json!({
        "record_key": value(&format!("LOCK:{}", stage.lock_key())),
        "record_type": value("NETWORK_LOCK"),
        "lock_key": value(&stage.lock_key()),
        "profile": value(PROFILE),
        "owner_invocation_id": value("invoke_dead"),
        "lease_token": value("00000000-0000-4000-8000-00000000000a"),
        "status": value("RUNNING"),
        "status_reason": value(&format!("owner_instance_id=local-pid://{host}/{}", child.id())),
        "heartbeat_at": value(&past),
        "lease_expires_at": value(&past),
        "revision": value("1"),
    });
    stage.sandbox.insert(STATE.0, &[record]);
}

fn force_unlock(stage: &Stage<'_>) -> Vec<String> {
    stage.words(&[
        "force-unlock-network",
        &stage.space.network_id,
        "--profile",
        PROFILE,
        "--expected-owner-invocation-id",
        "invoke_dead",
        "--evidence-ref",
        "INC-1",
        "--stop-confirmed-by",
        "ito",
        "--stop-evidence-ref",
        "ps",
        "--stop-method",
        "local_pid",
    ])
}

/// What a killed archive-run left locked: its lease runs out, and a person releases it.
fn release_dead_lock(stage: &Stage<'_>) -> Result<(), String> {
    for lock in stage.book().held_locks {
        let past = SystemClock.now().plus_ms(-300_000).iso_ms();
        let id = text(&lock, "$id").parse().expect("record id");
        stage
            .sandbox
            .edit(STATE.0, id, &json!({"lease_expires_at": {"value": past}}));
        let output = operator::force_unlock(&stage.space, &lock);
        if !output.status.success() {
            return Err(said(&output));
        }
    }
    Ok(())
}

const VANISHED: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["VANISH"]),
    NodeSpec::new("b", &["a"], &["SUCCESS"]),
];
/// The second job cannot start at first: the Run stays RUNNING with nobody at work.
const PAUSED: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["SUCCESS"]),
    NodeSpec::new("b", &["a"], &["CRASH", "SUCCESS"]),
];
const FAILED: &[NodeSpec] = &[NodeSpec::new("a", &[], &["FAILED"])];

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "resolve",
        nodes: VANISHED,
        before: start,
        words: resolve,
        event: "ATTEMPT_RESOLVED",
        after: |stage| stage.finish(),
    },
    Scenario {
        name: "hold",
        nodes: PAUSED,
        before: start,
        words: hold,
        event: "RUN_HOLD_REQUESTED",
        after: |stage| {
            let refused = stage.space.run_network(&["--business-key", "k", "--resume"]);
            if !said(&refused).contains("[RUN_ON_HOLD]") {
                return Err(format!("the hold does not hold: {}", said(&refused)));
            }
            stage.run(&release(stage));
            stage.finish()
        },
    },
    Scenario {
        name: "release",
        nodes: PAUSED,
        before: |stage| {
            start(stage);
            stage.run(&hold(stage));
        },
        words: release,
        event: "RUN_HOLD_RELEASED",
        after: |stage| stage.finish(),
    },
    Scenario {
        name: "archive",
        nodes: FAILED,
        before: start,
        words: archive,
        event: "RUN_ARCHIVED",
        after: |stage| match text(&stage.book().runs[0], "lifecycle_status") {
            "ARCHIVED" => Ok(()),
            other => Err(format!("the Run is {other}")),
        },
    },
    Scenario {
        name: "unlock",
        nodes: PAUSED,
        before: |stage| {
            start(stage);
            dead_lock(stage);
        },
        words: force_unlock,
        event: "NETWORK_LOCK_FORCE_RELEASED",
        after: |stage| stage.finish(),
    },
    Scenario {
        name: "expired",
        nodes: PAUSED,
        before: hold_that_is_over,
        words: resume,
        event: "RUN_HOLD_RELEASED",
        after: |stage| stage.finish(),
    },
];

fn case(
    sandbox: &Sandbox,
    scenario: &Scenario,
    number: usize,
    at: &Boundary,
    mode: Mode,
) -> Result<(), String> {
    let name = format!("{}_{number}_{mode:?}", scenario.name);
    let stage = Stage {
        sandbox,
        space: Workspace::new(sandbox, &name, scenario.nodes),
    };
    (scenario.before)(&stage);
    let words = (scenario.words)(&stage);
    let args: Vec<&str> = words.iter().map(String::as_str).collect();
    let first = disturbed(sandbox, stage.space.command(&args), at, mode);
    sandbox.clear_faults();
    stage.check("after the fault")?;
    match &first {
        Some(output) if !output.status.success() => {
            return Err(format!("the surviving process did not finish: {}", said(output)));
        }
        Some(_) => {}
        None => {
            // A start frees the lock of a dead one by itself (D-08), archive-run never does.
            if words[0] == "archive-run" {
                release_dead_lock(&stage)?;
            }
            let output = stage.run(&words);
            if !output.status.success() {
                return Err(format!("the same command again: {}", said(&output)));
            }
        }
    }
    let events = stage.events(scenario.event);
    if events != 1 {
        return Err(format!("{events} events {}", scenario.event));
    }
    if !stage.book().held_locks.is_empty() {
        return Err("the lock is still held".to_owned());
    }
    stage.check("at the end")?;
    (scenario.after)(&stage)?;
    stage.check("after the way on")
}

fn matrix(scenario: &Scenario) {
    let sandbox = Sandbox::seeded(&format!("crash-{}", scenario.name), &["--orders", "1"], &[]);
    let stage = Stage {
        sandbox: &sandbox,
        space: Workspace::new(&sandbox, &format!("{}_plain", scenario.name), scenario.nodes),
    };
    (scenario.before)(&stage);
    let words = (scenario.words)(&stage);
    sandbox.clear_log();
    let plain = stage.run(&words);
    assert!(plain.status.success(), "undisturbed: {}", said(&plain));
    let all = boundaries(&sandbox.log());
    let mut failures = Vec::new();
    let mut cases = 0;
    for (i, at) in all.iter().enumerate() {
        for mode in MODES {
            cases += 1;
            if let Err(why) = case(&sandbox, scenario, i + 1, at, mode) {
                failures.push(format!("{} {} {mode:?} {at:?}: {why}", scenario.name, i + 1));
            }
        }
    }
    println!("{}: {cases} cases, {} failures", scenario.name, failures.len());
    assert!(cases >= 8, "the requests were not seen");
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn resolve_node_survives_every_boundary() {
    matrix(&SCENARIOS[0]);
}

#[test]
fn a_hold_survives_every_boundary() {
    matrix(&SCENARIOS[1]);
}

#[test]
fn a_release_survives_every_boundary() {
    matrix(&SCENARIOS[2]);
}

#[test]
fn an_archive_survives_every_boundary() {
    matrix(&SCENARIOS[3]);
}

#[test]
fn a_forced_unlock_survives_every_boundary() {
    matrix(&SCENARIOS[4]);
}

#[test]
fn a_start_after_the_end_of_a_hold_survives_every_boundary() {
    matrix(&SCENARIOS[5]);
}
