//! Several processes at once, with random delays in kintone and processes that freeze: one Run per key, no job twice, no
//! write of an owner that lost its lock, nothing left behind.
//!
//! `RACE_ROUNDS` sets the number of rounds of all kinds together (default 24, `make soak` takes 200), `RACE_SEED` repeats a
//! run, `RACE_FIRST` begins with a later round of it.

#[path = "../support/network.rs"]
mod network;
#[path = "../support/operator.rs"]
mod operator;
#[path = "../support/random.rs"]
mod random;
#[path = "../support/sandbox.rs"]
mod sandbox;

mod frozen;
mod many_keys;
mod starts;

use network::{Book, Workspace, violations};
use random::{Random, number};
use sandbox::Sandbox;
use serde_json::json;

/// Number of kinds that the rounds go through in turn.
const KINDS: u64 = 6;

/// Plays the rounds whose kind is among `kinds`, and tells how many there were.
fn rounds(name: &str, kinds: &[u64], mut play: impl FnMut(&Round, &mut Random) -> Result<usize, String>) {
    let seed = number("RACE_SEED", 20_261_130);
    let (first, count) = (number("RACE_FIRST", 0), number("RACE_ROUNDS", 24));
    let (mut played, mut processes) = (0, 0);
    for number in (first..first + count).filter(|n| kinds.contains(&(n % KINDS))) {
        let round = Round {
            number,
            kind: number % KINDS,
        };
        let mut random = Random::of_round(seed, number);
        match play(&round, &mut random) {
            Ok(started) => processes += started,
            Err(why) => panic!("{name}: RACE_SEED={seed} RACE_FIRST={number} RACE_ROUNDS=1: {why}"),
        }
        played += 1;
    }
    println!("races, {name}: {played} rounds, {processes} processes, 0 violations (RACE_SEED={seed})");
}

/// One round.
struct Round {
    number: u64,
    kind: u64,
}

/// Delays some of the requests to come.
fn delay(sandbox: &Sandbox, random: &mut Random) {
    for _ in 0..4 {
        let (nth, ms) = (1 + random.below(40), 10 + random.below(150));
        sandbox.fault(&json!({"nth": nth, "times": 3, "action": "delay", "ms": ms}));
    }
}

/// The records of a workspace, if they keep every invariant.
fn sound(sandbox: &Sandbox, space: &Workspace, when: &str) -> Result<Book, String> {
    let book = Book::read(sandbox, &space.network_id);
    let found = violations(&book, &space.executions());
    if found.is_empty() {
        Ok(book)
    } else {
        Err(format!("{when}: {}", found.join("; ")))
    }
}
