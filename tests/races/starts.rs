//! Two to eight starts at once: on one key, on two keys, resumes against reruns.

use std::collections::BTreeMap;
use std::process::Child;

use crate::network::{NodeSpec, Workspace, said, text};
use crate::random::Random;
use crate::sandbox::Sandbox;
use crate::{Round, delay, rounds, sound};

const NODES: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["SUCCESS"]),
    NodeSpec::new("b", &["a"], &["SUCCESS"]).not_idempotent(),
];
const RETRIED: &[NodeSpec] = &[
    NodeSpec::new("a", &[], &["FAILED", "SUCCESS"]),
    NodeSpec::new("b", &["a"], &["SUCCESS"]),
];
/// What a start may be refused with when another one was quicker.
const REFUSALS: [&str; 3] = ["LOCK_CONFLICT", "RUN_ALREADY_EXISTS", "RERUN_FROM_SUCCESS_RUN"];

/// What one round starts at once: words of each process.
fn contest(kind: u64, random: &mut Random) -> (&'static str, &'static [NodeSpec], Vec<Vec<&'static str>>) {
    let many = 2 + random.below(7) as usize;
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

fn play(sandbox: &Sandbox, round: &Round, random: &mut Random) -> Result<usize, String> {
    let (name, nodes, starts) = contest(round.kind, random);
    let space = Workspace::new(sandbox, &format!("{name}_{}", round.number), nodes);
    if name == "resume_or_rerun" {
        space.run_network(&["--business-key", "k"]);
    }
    delay(sandbox, random);
    let running: Vec<Child> = starts.iter().map(|words| space.start(words)).collect();
    let outputs: Vec<_> = running
        .into_iter()
        .map(|c| c.wait_with_output().expect("ends"))
        .collect();
    sandbox.clear_faults();
    let told = outputs.iter().map(said).collect::<Vec<_>>().join("\n");
    let book = sound(sandbox, &space, name).map_err(|e| format!("{e}\n{told}"))?;
    let mut keys: BTreeMap<&str, usize> = BTreeMap::new();
    for run in &book.runs {
        *keys.entry(text(run, "business_key")).or_default() += 1;
    }
    let succeeded = book.runs.iter().any(|r| text(r, "status") == "SUCCESS");
    let known = |said: &str| REFUSALS.iter().any(|code| said.contains(code));
    let wrong = if !book.held_locks.is_empty() {
        "a lock is left"
    } else if !outputs.iter().any(|o| o.status.success()) {
        "nobody won"
    } else if keys.values().any(|n| *n != 1) {
        "several Runs of one key"
    } else if !succeeded {
        "no Run succeeded"
    } else if !outputs.iter().all(|o| o.status.success() || known(&said(o))) {
        "a start failed for another reason than the others"
    } else {
        return Ok(starts.len());
    };
    Err(format!("{name}: {wrong}\n{told}"))
}

#[test]
fn any_number_of_starts_makes_one_run_per_key() {
    let sandbox = Sandbox::seeded("races", &["--orders", "1"], &[]);
    rounds("starts", &[0, 1, 2], |round, random| {
        play(&sandbox, round, random)
    });
}
