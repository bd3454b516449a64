//! Several processes at once, with random delays in kintone: one Run per key, no job twice, nothing left behind.
//!
//! `RACE_ROUNDS` sets the number of rounds (default 24, `make soak` takes 200), `RACE_SEED` repeats a run.

#[path = "support/network.rs"]
mod network;
#[path = "support/random.rs"]
mod random;
#[path = "support/sandbox.rs"]
mod sandbox;

use std::collections::BTreeMap;
use std::process::Child;

use network::{Book, NodeSpec, Workspace, said, text, violations};
use random::{Random, number};
use sandbox::Sandbox;
use serde_json::json;

const NODES: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["SUCCESS"]),
    NodeSpec::new("b", &["a"], &["SUCCESS"]).not_idempotent(),
];
const RETRIED: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["FAILED", "SUCCESS"]),
    NodeSpec::new("b", &["a"], &["SUCCESS"]),
];

/// What one round starts at once: words of each process.
fn contest(kind: u64, random: &mut Random) -> (&'static str, &'static [NodeSpec], Vec<Vec<&'static str>>) {
    let many = 2 + random.below(4) as usize;
    match kind {
        0 => (
            "one_key",
            NODES,
            vec![vec!["--business-key", "k", "--resume"]; many],
        ),
        1 => (
            "two_keys",
            NODES,
            (0..many)
                .map(|i| vec!["--business-key", if i % 2 == 0 { "k" } else { "l" }])
                .collect(),
        ),
        _ => (
            "resume_or_rerun",
            RETRIED,
            (0..many)
                .map(|i| {
                    let mut words = vec!["--business-key", "k", "--resume"];
                    if i % 2 == 1 {
                        words.extend(["--rerun-from", "a"]);
                    }
                    words
                })
                .collect(),
        ),
    }
}

fn delay(sandbox: &Sandbox, random: &mut Random) {
    for _ in 0..4 {
        let (nth, ms) = (1 + random.below(40), 10 + random.below(150));
        sandbox.fault(&json!({"nth": nth, "times": 3, "action": "delay", "ms": ms}));
    }
}

#[test]
fn any_number_of_starts_makes_one_run_per_key() {
    let seed = number("RACE_SEED", 20_261_130);
    let mut random = Random(seed | 1);
    let sandbox = Sandbox::seeded("races", &["--orders", "1"], &[]);
    for round in 0..number("RACE_ROUNDS", 24) {
        let (name, nodes, starts) = contest(round % 3, &mut random);
        let id = format!("{name}_{round}");
        let space = Workspace::new(&sandbox, &id, nodes);
        if name == "resume_or_rerun" {
            space.run_network(&["--business-key", "k"]);
        }
        delay(&sandbox, &mut random);
        let running: Vec<Child> = starts.iter().map(|words| space.start(words)).collect();
        let outputs: Vec<_> = running
            .into_iter()
            .map(|c| c.wait_with_output().expect("ends"))
            .collect();
        sandbox.clear_faults();
        let told = || outputs.iter().map(said).collect::<Vec<_>>().join("\n");
        let book = Book::read(&sandbox, &id);
        let found = violations(&book, &space.executions());
        assert!(
            found.is_empty(),
            "seed {seed}, round {round} {name}: {found:?}\n{}",
            told()
        );
        assert!(
            book.held_locks.is_empty(),
            "seed {seed}, round {round} {name}: lock left\n{}",
            told()
        );
        assert!(
            outputs.iter().any(|o| o.status.success()),
            "seed {seed}, round {round}: nobody won\n{}",
            told()
        );
        let mut keys: BTreeMap<&str, usize> = BTreeMap::new();
        for run in &book.runs {
            *keys.entry(text(run, "business_key")).or_default() += 1;
        }
        assert!(
            keys.values().all(|n| *n == 1),
            "seed {seed}, round {round}: {keys:?}"
        );
        let succeeded = book
            .runs
            .iter()
            .filter(|r| text(r, "status") == "SUCCESS")
            .count();
        assert!(
            succeeded >= 1,
            "seed {seed}, round {round} {name}: no Run succeeded\n{}",
            told()
        );
        for output in &outputs {
            let said = said(output);
            let known = output.status.success()
                || ["LOCK_CONFLICT", "RUN_ALREADY_EXISTS", "RERUN_FROM_SUCCESS_RUN"]
                    .iter()
                    .any(|c| said.contains(c));
            assert!(known, "seed {seed}, round {round} {name}: {said}");
        }
    }
}
