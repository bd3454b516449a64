//! What pollers do: many starts of many keys at once, each repeated while another one has the network, under a limit of
//! unfinished Runs (MAX-01).

use std::process::{Child, Output};

use crate::network::{Book, NodeSpec, Workspace, said, text};
use crate::random::Random;
use crate::sandbox::Sandbox;
use crate::{Round, delay, rounds, sound};

/// The job's ends in the order of its executions, whichever Run they belong to; too few failures for the retry brake.
const NODES: &[NodeSpec] = &[NodeSpec::new(
    "a",
    &[],
    &["SUCCESS", "FAILED", "SUCCESS", "FAILED", "SUCCESS"],
)];
/// Times that a poller files a start again.
const POLLS: usize = 5;
/// Resumes after which an unfinished Run counts as stuck: no more ends are FAILED.
const RESUMES: usize = 4;

fn limited(sandbox: &Sandbox, name: &str, limit: u64) -> Workspace {
    let space = Workspace::new(sandbox, name, NODES);
    let file = space.network_file();
    let yaml = std::fs::read_to_string(&file).expect("network");
    let limited = yaml.replace("max_active_runs: 10", &format!("max_active_runs: {limit}"));
    assert_ne!(yaml, limited, "the limit was not set");
    std::fs::write(file, limited).expect("network");
    space
}

fn unfinished(book: &Book) -> usize {
    book.runs
        .iter()
        .filter(|r| text(r, "status") != "SUCCESS")
        .count()
}

/// Starts every key once, at the same time.
fn poll(space: &Workspace, keys: &[String]) -> Vec<Output> {
    let running: Vec<Child> = keys
        .iter()
        .map(|key| space.start(&["--business-key", key]))
        .collect();
    running
        .into_iter()
        .map(|c| c.wait_with_output().expect("ends"))
        .collect()
}

fn play(sandbox: &Sandbox, round: &Round, random: &mut Random) -> Result<usize, String> {
    let limit = 1 + random.below(3);
    let space = limited(sandbox, &format!("many_keys_{}", round.number), limit);
    let mut keys: Vec<String> = (0..3 + random.below(6)).map(|i| format!("k{i}")).collect();
    let mut processes = 0;
    for _ in 0..POLLS {
        delay(sandbox, random);
        let outputs = poll(&space, &keys);
        sandbox.clear_faults();
        processes += keys.len();
        let book = sound(sandbox, &space, "after a poll")?;
        if unfinished(&book) > limit as usize {
            return Err(format!("{} unfinished Runs, limit {limit}", unfinished(&book)));
        }
        if !book.held_locks.is_empty() {
            return Err("a lock is left".to_owned());
        }
        let mut again = Vec::new();
        for (key, output) in keys.iter().zip(&outputs) {
            let made = book.runs.iter().any(|r| text(r, "business_key") == key);
            let refused = ["LOCK_CONFLICT", "MAX_ACTIVE_RUNS"]
                .iter()
                .any(|code| said(output).contains(code));
            match (made, refused) {
                (true, false) => {}
                (false, true) => again.push(key.clone()),
                _ => return Err(format!("{key}: Run made: {made}\n{}", said(output))),
            }
        }
        keys = again;
    }
    finish(sandbox, &space)?;
    Ok(processes)
}

/// Every Run that was made can be brought to its end, and makes room.
fn finish(sandbox: &Sandbox, space: &Workspace) -> Result<(), String> {
    for _ in 0..RESUMES {
        for run in Book::read(sandbox, &space.network_id).runs {
            space.run_network(&["--business-key", text(&run, "business_key"), "--resume"]);
        }
    }
    let book = sound(sandbox, space, "at the end")?;
    match unfinished(&book) {
        0 if !book.runs.is_empty() => Ok(()),
        n => Err(format!("{n} of {} Runs are stuck", book.runs.len())),
    }
}

#[test]
fn starts_of_many_keys_keep_the_limit_of_unfinished_runs() {
    let sandbox = Sandbox::seeded("races-keys", &["--orders", "1"], &[]);
    rounds("many keys", &[5], |round, random| play(&sandbox, round, random));
}
