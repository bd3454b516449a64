//! Every kintone request of every scenario, in four modes: killed before it, killed after it, its answer lost, refused
//! with 503 once. Then the documented next command until the Run ends. The checker reads only records (D-01, D-08).

#[path = "support/boundary.rs"]
mod boundary;
#[path = "support/network.rs"]
mod network;
#[path = "support/sandbox.rs"]
mod sandbox;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use boundary::{Boundary, MODES, Mode, boundaries, disturbed};
use network::{Book, NodeSpec, Workspace, said, violations};
use sandbox::Sandbox;

/// A story that ends in SUCCESS when nothing disturbs it.
struct Scenario {
    name: &'static str,
    nodes: &'static [NodeSpec],
    /// Commands before the disturbed one (words of run-network).
    before: &'static [&'static [&'static str]],
    /// The disturbed command.
    words: &'static [&'static str],
}

const CHAIN: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["SUCCESS"]),
    NodeSpec::new("b", &["a"], &["SUCCESS"]),
    NodeSpec::new("c", &["a"], &["SUCCESS"]).not_idempotent(),
];
const RETRIED: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["FAILED", "SUCCESS"]),
    NodeSpec::new("b", &["a"], &["SUCCESS"]),
];
const AGAIN: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["SUCCESS"]),
    NodeSpec::new("b", &["a"], &["SUCCESS"]),
    NodeSpec::new("c", &["b"], &["FAILED", "SUCCESS"]),
];

const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "new",
        nodes: CHAIN,
        before: &[],
        words: &["--business-key", "k"],
    },
    Scenario {
        name: "resume",
        nodes: RETRIED,
        before: &[&["--business-key", "k"]],
        words: &["--business-key", "k", "--resume"],
    },
    Scenario {
        name: "rerun",
        nodes: AGAIN,
        before: &[&["--business-key", "k"]],
        words: &["--business-key", "k", "--resume", "--rerun-from", "b"],
    },
    Scenario {
        name: "noop",
        nodes: CHAIN,
        before: &[&["--business-key", "k"]],
        words: &["--business-key", "k", "--resume"],
    },
];

struct Tally {
    cases: AtomicUsize,
    failures: Mutex<Vec<String>>,
}

/// One case from an empty network to the end of its Run.
fn case(
    sandbox: &Sandbox,
    scenario: &Scenario,
    number: usize,
    at: &Boundary,
    mode: Mode,
) -> Result<(), String> {
    let name = format!("{}_{number}_{mode:?}", scenario.name);
    let space = Workspace::new(sandbox, &name, scenario.nodes);
    for words in scenario.before {
        space.run_network(words);
    }
    let first = disturbed(sandbox, space.network_command(scenario.words), at, mode);
    sandbox.clear_faults();
    let check = |when: &str| {
        let found = violations(&Book::read(sandbox, &name), &space.executions());
        if found.is_empty() {
            Ok(())
        } else {
            Err(format!("{when}: {}", found.join("; ")))
        }
    };
    check("after the fault")?;
    if let Some(output) = &first {
        if !output.status.success() {
            return Err(format!("the surviving process did not finish: {}", said(output)));
        }
        return check("at the end");
    }
    // What an operator (or cron) does next: the same command. A rerun of a Run that has succeeded is refused.
    let output = space.run_network(scenario.words);
    check("after the next command")?;
    match Book::read(sandbox, &name).status().as_str() {
        "SUCCESS" => Ok(()),
        other => Err(format!(
            "the next command left the Run {other}: {}",
            said(&output)
        )),
    }
}

/// Cases of one scenario, spread over two sandboxes.
fn matrix(scenario: &'static Scenario) {
    let sandbox = Sandbox::seeded(&format!("crash-{}", scenario.name), &["--orders", "1"], &[]);
    let space = Workspace::new(&sandbox, &format!("{}_plain", scenario.name), scenario.nodes);
    for words in scenario.before {
        space.run_network(words);
    }
    sandbox.clear_log();
    let plain = space.run_network(scenario.words);
    assert!(plain.status.success(), "undisturbed: {}", said(&plain));
    let all: Vec<(usize, Boundary, Mode)> = boundaries(&sandbox.log())
        .into_iter()
        .enumerate()
        .flat_map(|(i, b)| MODES.map(|m| (i + 1, b.clone(), m)))
        .collect();
    drop(sandbox);
    let tally = Tally {
        cases: AtomicUsize::new(0),
        failures: Mutex::new(Vec::new()),
    };
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for worker in 0..2 {
            let (tally, next, all) = (&tally, &next, &all);
            scope.spawn(move || {
                let name = format!("crash-{}-{worker}", scenario.name);
                let sandbox = Sandbox::seeded(&name, &["--orders", "1"], &[]);
                while let Some((number, at, mode)) = all.get(next.fetch_add(1, Ordering::SeqCst)) {
                    tally.cases.fetch_add(1, Ordering::SeqCst);
                    if let Err(why) = case(&sandbox, scenario, *number, at, *mode) {
                        let line = format!("{} {number} {mode:?} {at:?}: {why}", scenario.name);
                        tally.failures.lock().expect("lock").push(line);
                    }
                }
            });
        }
    });
    let failures = tally.failures.into_inner().expect("lock");
    println!(
        "{}: {} cases, {} failures, 0 needed a human",
        scenario.name,
        tally.cases.into_inner(),
        failures.len()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

#[test]
fn a_new_run_survives_every_boundary() {
    matrix(&SCENARIOS[0]);
}

#[test]
fn a_resume_survives_every_boundary() {
    matrix(&SCENARIOS[1]);
}

#[test]
fn a_rerun_survives_every_boundary() {
    matrix(&SCENARIOS[2]);
}

#[test]
fn a_no_op_survives_every_boundary() {
    matrix(&SCENARIOS[3]);
}
