//! An owner that is frozen (SIGSTOP) at any moment, loses its lock to a person who took it for dead or keeps it although its
//! lease is long over, and wakes up.

use std::process::{Child, Output};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value as Json, json};

use crate::network::{Book, NodeSpec, Workspace, said, text};
use crate::operator::{force_unlock_by, free_job_locks, resolve_nodes, running_jobs};
use crate::random::Random;
use crate::sandbox::{AUDIT, STATE, Sandbox};
use crate::{Round, rounds, sound};

/// Lease and heartbeat interval, seconds: short, because a round waits for them.
const TIMES: (u32, u32) = (3, 1);
/// Longer than a heartbeat interval, as every freeze is that lasts until a person may release the lock.
const LONGER_THAN_A_BEAT: Duration = Duration::from_millis(1_300);
/// Longer than a lease.
const LONGER_THAN_A_LEASE: Duration = Duration::from_millis(3_500);
/// Longest wait for anything that must happen.
const PATIENCE: Duration = Duration::from_mins(1);
/// Commands of a person after which a Run counts as a dead end.
const COMMANDS: usize = 8;
/// Requests of a Run of this size.
const REQUESTS: u64 = 22;

/// A chain: what runs later was started later.
fn nodes(random: &mut Random) -> [NodeSpec; 3] {
    [
        NodeSpec::new("a", &[], &["SUCCESS"]).sleeping(random.below(600)),
        NodeSpec::new("b", &["a"], &["SUCCESS"])
            .not_idempotent()
            .sleeping(random.below(600)),
        NodeSpec::new("c", &["b"], &["SUCCESS"]),
    ]
}

fn signal(child: &Child, signal: Signal) {
    let pid = Pid::from_raw(i32::try_from(child.id()).expect("a process number")).expect("not zero");
    // A process that has ended by itself needs no signal.
    let _ = kill_process(pid, signal);
}

/// When the process is frozen, and what became of the request that it was in.
struct Freeze {
    /// Request that was held; it goes on when [`Freeze::let_go`] is called.
    held: Option<String>,
}

impl Freeze {
    /// Freezes `child` at a moment of chance: while it waits for the answer of some request, before some request arrives,
    /// or after some time.
    fn strike(sandbox: &Sandbox, child: &mut Child, random: &mut Random) -> Self {
        let action = ["hold_before", "hold_after", ""][random.below(3) as usize];
        if action.is_empty() {
            std::thread::sleep(Duration::from_millis(random.below(1_500)));
            signal(child, Signal::STOP);
            return Self { held: None };
        }
        // Faults count from now on: the first requests may have passed already.
        sandbox.fault(&json!({"nth": 1 + random.below(REQUESTS), "times": 1, "action": action}));
        let end = Instant::now() + PATIENCE;
        loop {
            let holds = sandbox.control("GET", "holds", &json!({}));
            let held = holds["holds"][0]["id"].as_str().map(str::to_owned);
            if held.is_some() || child.try_wait().expect("state").is_some() {
                signal(child, Signal::STOP);
                sandbox.clear_faults();
                return Self { held };
            }
            assert!(Instant::now() < end, "neither held nor ended");
            std::thread::sleep(Duration::from_millis(3));
        }
    }

    /// The held request goes on its way.
    fn let_go(&mut self, sandbox: &Sandbox) {
        if let Some(id) = self.held.take() {
            sandbox.send(
                &[],
                "POST",
                "/_control/release",
                &json!({"id": id, "action": "proceed"}),
            );
            sandbox.wait_for_no_hold();
        }
    }
}

/// Stands for the time that must pass before a person may release a lock.
fn let_the_lease_end(sandbox: &Sandbox, lock: &Json) {
    let id = text(lock, "$id").parse().expect("record id");
    sandbox.edit(
        STATE.0,
        id,
        &json!({"lease_expires_at": {"value": "2026-01-01T00:00:00Z"}}),
    );
}

fn wait_for_jobs(space: &Workspace) -> Result<(), String> {
    let end = Instant::now() + PATIENCE;
    while !running_jobs(space).is_empty() {
        if Instant::now() > end {
            return Err("a job does not end".to_owned());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(())
}

fn resume(space: &Workspace) -> Output {
    space.run_network(&["--business-key", "k", "--resume"])
}

/// Resumes, and a person's word where one is asked for, until the Run has succeeded.
fn finish(sandbox: &Sandbox, space: &Workspace) -> Result<(), String> {
    let mut told = Vec::new();
    for _ in 0..COMMANDS {
        wait_for_jobs(space)?;
        let output = resume(space);
        told.push(said(&output));
        let book =
            sound(sandbox, space, "after a resume").map_err(|e| format!("{e}\n{}", told.join("\n")))?;
        if book.status() == "SUCCESS" {
            return Ok(());
        }
        free_job_locks(sandbox, &book);
        told.push(format!("resolved {:?}", resolve_nodes(space, &book)?));
    }
    Err(format!("a dead end\n{}", told.join("\n")))
}

/// Everything that a control plane writes.
fn everything(sandbox: &Sandbox) -> [Vec<Json>; 2] {
    [sandbox.records(STATE.0), sandbox.records(AUDIT.0)]
}

/// The same, as soon as nothing more changes: a write of the frozen owner may still be under way in kintone.
fn settled(sandbox: &Sandbox) -> [Vec<Json>; 2] {
    let mut before = everything(sandbox);
    loop {
        std::thread::sleep(Duration::from_millis(300));
        let now = everything(sandbox);
        if now == before {
            return now;
        }
        before = now;
    }
}

/// Records that are new or other than before.
fn differences(before: &[Vec<Json>; 2], after: &[Vec<Json>; 2]) -> String {
    let known: Vec<&Json> = before.iter().flatten().collect();
    let new = after.iter().flatten().filter(|r| !known.contains(r));
    new.map(ToString::to_string).collect::<Vec<_>>().join("\n")
}

/// What must hold at the end: nothing of a job twice without a person's word, nothing of `old` after it lost its lock.
fn judge(sandbox: &Sandbox, space: &Workspace, old: Option<&str>) -> Result<(), String> {
    let book = sound(sandbox, space, "at the end")?;
    if !book.held_locks.is_empty() {
        return Err("a lock is left".to_owned());
    }
    let executions = space.executions();
    let once = format!("{}_b", space.network_id);
    if executions.iter().filter(|(job, _, _)| *job == once).count() > 1 {
        return Err(format!("b must not run twice: {executions:?}"));
    }
    let Some(old) = old else { return Ok(()) };
    let number = |r: &Json| text(r, "$id").parse::<u64>().expect("record id");
    let taken = book
        .operations
        .iter()
        .find(|r| text(r, "reason").contains("\"event_type\":\"NETWORK_LOCK_FORCE_RELEASED\""))
        .map(number)
        .ok_or("the forced release is not on record")?;
    let of_old: Vec<&Json> = book
        .attempts
        .iter()
        .filter(|a| text(a, "invocation_id") == old)
        .collect();
    if of_old.iter().any(|a| number(a) > taken) {
        return Err("the old owner made an attempt after its lock was taken".to_owned());
    }
    // The nodes are a chain: whatever the old owner started ran before anything of its successors.
    let mine = |attempt: &str| of_old.iter().any(|a| text(a, "node_attempt_id") == attempt);
    let order: Vec<bool> = executions.iter().map(|(_, _, attempt)| !mine(attempt)).collect();
    if !order.is_sorted() {
        return Err(format!(
            "the old owner ran a job after its successor did: {executions:?}"
        ));
    }
    let end = book
        .invocations
        .iter()
        .find(|i| text(i, "invocation_id") == old)
        .map(|i| (text(i, "status"), text(i, "result_code")));
    match end {
        None | Some(("CANCELLED", "NETWORK_LEASE_INTERRUPTED")) => Ok(()),
        Some(other) => Err(format!("the old owner recorded its end as {other:?}")),
    }
}

/// The process is frozen without the lock: nobody waits for it.
fn wake_up(sandbox: &Sandbox, old: Child, freeze: &mut Freeze) -> Output {
    signal(&old, Signal::CONT);
    freeze.let_go(sandbox);
    old.wait_with_output().expect("ends")
}

fn held_lock(sandbox: &Sandbox, space: &Workspace) -> Option<Json> {
    Book::read(sandbox, &space.network_id).held_locks.first().cloned()
}

/// A person takes the lock of a frozen owner; it wakes up before, during or after the work of its successor.
fn taken_from_a_sleeper(sandbox: &Sandbox, round: &Round, random: &mut Random) -> Result<usize, String> {
    let name = format!("sleeper_{}", round.number);
    let space = Workspace::leased(sandbox, &name, &nodes(random), TIMES);
    let mut old = space.start(&["--business-key", "k"]);
    let mut freeze = Freeze::strike(sandbox, &mut old, random);
    // The request that it was in may arrive long after its lock was taken.
    if random.below(2) == 0 {
        freeze.let_go(sandbox);
    }
    let Some(lock) = held_lock(sandbox, &space) else {
        let output = wake_up(sandbox, old, &mut freeze);
        finish(sandbox, &space).map_err(|e| e + &said(&output))?;
        judge(sandbox, &space, None)?;
        return Ok(1);
    };
    std::thread::sleep(LONGER_THAN_A_BEAT);
    let_the_lease_end(sandbox, &lock);
    let seen = force_unlock_by(&space, &lock, "local_pid");
    if !said(&seen).contains("STOP_NOT_CONFIRMED") {
        return Err(format!("a frozen process passes for a dead one: {}", said(&seen)));
    }
    let released = force_unlock_by(&space, &lock, "manual");
    if !released.status.success() {
        return Err(said(&released));
    }
    let wakes = random.below(3);
    let wake = |moment: u64| {
        if wakes == moment {
            signal(&old, Signal::CONT);
        }
    };
    wake(0);
    let next = space.start(&["--business-key", "k", "--resume"]);
    std::thread::sleep(Duration::from_millis(random.below(400)));
    wake(1);
    freeze.let_go(sandbox);
    let next = next.wait_with_output().expect("ends");
    let finished = finish(sandbox, &space);
    let before = settled(sandbox);
    wake(2);
    let old = old.wait_with_output().expect("ends");
    let told = format!("\nwakes {wakes}\nnext: {}\nold: {}", said(&next), said(&old));
    finished.map_err(|e| e + &told)?;
    if old.status.success() {
        return Err(format!("the old owner claims success{told}"));
    }
    let after = everything(sandbox);
    if before != after {
        let new = differences(&before, &after);
        return Err(format!(
            "the old owner wrote after its Run had ended:\n{new}{told}"
        ));
    }
    judge(sandbox, &space, Some(text(&lock, "owner_invocation_id"))).map_err(|e| e + &told)?;
    Ok(2)
}

/// An owner sleeps longer than its lease. While its process exists no start takes its lock; then it goes on as if nothing
/// had happened, or it is killed and the next start goes on without a person.
fn sleeps_through_its_lease(sandbox: &Sandbox, round: &Round, random: &mut Random) -> Result<usize, String> {
    let name = format!("lease_{}", round.number);
    let space = Workspace::leased(sandbox, &name, &nodes(random), TIMES);
    let mut old = space.start(&["--business-key", "k"]);
    let mut freeze = Freeze::strike(sandbox, &mut old, random);
    freeze.let_go(sandbox);
    std::thread::sleep(LONGER_THAN_A_LEASE);
    wait_for_jobs(&space)?;
    let mut rivals = 0;
    if held_lock(sandbox, &space).is_some() {
        let before = settled(sandbox);
        rivals = 1 + random.below(3) as usize;
        let words = ["--business-key", "k", "--resume"];
        let running: Vec<Child> = (0..rivals).map(|_| space.start(&words)).collect();
        for rival in running {
            let output = rival.wait_with_output().expect("ends");
            let told = said(&output);
            if output.status.success() || !told.contains("LOCK_CONFLICT") || !told.contains("is running") {
                return Err(format!("a rival of a frozen owner: {told}"));
            }
        }
        let after = everything(sandbox);
        if before != after {
            let new = differences(&before, &after);
            return Err(format!("a refused start wrote something:\n{new}"));
        }
    }
    if random.below(2) == 0 {
        let output = wake_up(sandbox, old, &mut freeze);
        if !output.status.success() {
            return Err(format!("the owner did not go on: {}", said(&output)));
        }
    } else {
        old.kill().expect("kill -9");
        old.wait().expect("reaped");
        let output = resume(&space);
        if !output.status.success() {
            return Err(format!("the next start did not go on: {}", said(&output)));
        }
    }
    let book = sound(sandbox, &space, "at the end")?;
    if book.status() != "SUCCESS" {
        return Err(format!("the Run is {}", book.status()));
    }
    judge(sandbox, &space, None)?;
    Ok(1 + rivals)
}

#[test]
fn a_frozen_owner_never_writes_after_its_lock_was_taken() {
    let sandbox = Sandbox::seeded("races-frozen", &["--orders", "1"], &[]);
    rounds("frozen owners", &[3], |round, random| {
        taken_from_a_sleeper(&sandbox, round, random)
    });
}

#[test]
fn an_owner_that_slept_through_its_lease_goes_on() {
    let sandbox = Sandbox::seeded("races-lease", &["--orders", "1"], &[]);
    rounds("slept leases", &[4], |round, random| {
        sleeps_through_its_lease(&sandbox, round, random)
    });
}
