//! Many Runs of random networks under random faults, kills and restarts: every one of them ends in SUCCESS by documented
//! commands, no invariant is ever violated, and no job that must not run twice does.
//!
//! `SOAK_RUNS` sets the number of Runs (default 8, `make soak` takes 200), `SOAK_SEED` repeats a soak, `SOAK_FIRST` begins
//! with a later Run of it: every Run has chance of its own, made from the seed and its number.

#[path = "support/network.rs"]
mod network;
#[path = "support/operator.rs"]
mod operator;
#[path = "support/random.rs"]
mod random;
#[path = "support/sandbox.rs"]
mod sandbox;

use std::collections::BTreeMap;
use std::process::{Child, Output, Stdio};
use std::time::{Duration, Instant};

use network::{Book, NodeSpec, Workspace, said, text, violations};
use operator::{free_job_locks, is_idempotent, resolve_nodes, running_jobs};
use random::{Random, number};
use sandbox::Sandbox;
use serde_json::{Value as Json, json};

/// Disturbed commands of one Run at most; then it is left alone to see whether it ends.
const DISTURBED: u64 = 4;
/// Undisturbed commands after which a Run that has not ended counts as a dead end.
const PATIENCE: u64 = 16;
/// Longest time of one command.
const COMMAND: Duration = Duration::from_mins(3);
/// Longest time a job may outlive its control plane.
const JOB: Duration = Duration::from_mins(1);
/// Requests of a Run of middle size: faults beyond them hit nothing.
const REQUESTS: u64 = 25;

/// What a whole soak came to.
#[derive(Default)]
struct Tally {
    commands: usize,
    kills: usize,
    restarts: usize,
    executions: usize,
    resolved: usize,
    reruns: usize,
}

/// Test programs end soon: what they are made of may live as long as they do.
fn lasting(text: String) -> &'static str {
    Box::leak(text.into_boxed_str())
}

/// One to six nodes, each after some of the earlier ones. The last end of every job is SUCCESS, so every Run can end well.
fn random_network(random: &mut Random) -> Vec<NodeSpec> {
    const ENDS: [&str; 8] = [
        "SUCCESS",
        "SUCCESS",
        "SUCCESS",
        "FAILED",
        "NO_RESULT",
        "VANISH",
        "CRASH",
        "WRONG_JOB",
    ];
    let ids: Vec<&'static str> = (0..=random.below(6)).map(|i| lasting(format!("n{i}"))).collect();
    let mut nodes = Vec::new();
    for (i, id) in ids.iter().enumerate() {
        let after: Vec<&'static str> = ids[..i]
            .iter()
            .copied()
            .filter(|_| random.below(3) == 0)
            .collect();
        let mut ends: Vec<&'static str> = (0..random.below(3))
            .map(|_| ENDS[random.below(ENDS.len() as u64) as usize])
            .collect();
        ends.push("SUCCESS");
        let mut node =
            NodeSpec::new(id, after.leak(), ends.leak()).sleeping(random.below(2) * random.below(300));
        if random.below(3) == 0 {
            node = node.not_idempotent();
        }
        nodes.push(node);
    }
    nodes
}

/// Who is killed when the held request is there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Victim {
    Nobody,
    ControlPlane,
    Service,
}

/// Arms what disturbs the next command.
fn arm(sandbox: &Sandbox, random: &mut Random) -> Victim {
    for _ in 0..random.below(4) {
        let nth = 1 + random.below(REQUESTS);
        let times = 1 + random.below(2);
        let fault = match random.below(6) {
            0 => json!({"action": "drop_before"}),
            1 => json!({"action": "drop_after"}),
            2 => json!({"action": "cut"}),
            3 => json!({"action": "status", "status": 503, "body": "<html>busy</html>"}),
            4 => json!({"action": "status", "status": 429, "headers": {"Retry-After": "1"}}),
            _ => json!({"action": "delay", "ms": 10 + random.below(300)}),
        };
        sandbox.fault(&placed(fault, nth, times));
    }
    let victim = match random.below(3) {
        0 => Victim::Nobody,
        1 => Victim::ControlPlane,
        _ => Victim::Service,
    };
    if victim != Victim::Nobody {
        let action = ["hold_before", "hold_after"][random.below(2) as usize];
        sandbox.fault(&placed(json!({"action": action}), 1 + random.below(REQUESTS), 1));
    }
    victim
}

fn placed(mut fault: Json, nth: u64, times: u64) -> Json {
    fault["nth"] = json!(nth);
    fault["times"] = json!(times);
    fault
}

/// One Run from its network to its end.
struct Story<'a> {
    sandbox: &'a mut Sandbox,
    space: Workspace,
    nodes: Vec<NodeSpec>,
    tally: &'a mut Tally,
    /// What happened, for the message of a failure.
    told: Vec<String>,
}

impl Story<'_> {
    /// Runs one command, killing the victim at the held request. `None`: the command was killed.
    fn command(&mut self, words: &[&str], victim: Victim) -> Result<Option<Output>, String> {
        self.tally.commands += 1;
        let file = self.space.network_file();
        let mut args = vec!["run-network", file.to_str().expect("UTF-8")];
        args.extend_from_slice(words);
        let streams = [self.space.dir.join("stdout"), self.space.dir.join("stderr")];
        let [out, err] = streams
            .each_ref()
            .map(|path| std::fs::File::create(path).expect("stream"));
        let mut child = self
            .space
            .command(&args)
            .stdout(Stdio::from(out))
            .stderr(Stdio::from(err))
            .spawn()
            .expect("ksql-flownet starts");
        let ended = self.watch(&mut child, victim);
        let [stdout, stderr] = streams.map(|path| std::fs::read(path).unwrap_or_default());
        let status = match ended {
            Ok(Some(status)) => status,
            Ok(None) => {
                self.told.push(format!("{words:?}: killed"));
                return Ok(None);
            }
            Err(why) => {
                let stderr = String::from_utf8_lossy(&stderr);
                return Err(format!("{words:?}: {why}\n{stderr}"));
            }
        };
        let output = Output {
            status,
            stdout,
            stderr,
        };
        self.told.push(format!("{words:?}: {}", said(&output)));
        Ok(Some(output))
    }

    /// Waits for the end of a command and strikes when a request is held. `None`: it was killed.
    fn watch(
        &mut self,
        child: &mut Child,
        victim: Victim,
    ) -> Result<Option<std::process::ExitStatus>, String> {
        let end = Instant::now() + COMMAND;
        let mut struck = victim == Victim::Nobody;
        loop {
            if let Some(status) = child.try_wait().expect("state") {
                return Ok(Some(status));
            }
            if !struck {
                let holds = self.sandbox.control("GET", "holds", &json!({}));
                if let Some(id) = holds["holds"][0]["id"].as_str().map(str::to_owned) {
                    struck = true;
                    if victim == Victim::ControlPlane {
                        self.tally.kills += 1;
                        child.kill().expect("kill -9");
                        child.wait().expect("reaped");
                        self.let_go(&id);
                        return Ok(None);
                    }
                    self.tally.restarts += 1;
                    self.sandbox.kill_and_restart();
                }
            }
            if Instant::now() > end {
                child.kill().expect("kill -9");
                child.wait().expect("reaped");
                return Err(format!("did not end within {} s", COMMAND.as_secs()));
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// The held request of a killed control plane goes with its client; one of its job, which lives on, proceeds.
    fn let_go(&self, id: &str) {
        for _ in 0..50 {
            let holds = self.sandbox.control("GET", "holds", &json!({}));
            if holds["holds"] == json!([]) {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        let go_on = json!({"id": id, "action": "proceed"});
        self.sandbox.send(&[], "POST", "/_control/release", &go_on);
        self.sandbox.wait_for_no_hold();
    }

    /// Jobs of a dead owner end by themselves; meanwhile every start is refused.
    fn wait_for_jobs(&self) -> Result<(), String> {
        let end = Instant::now() + JOB;
        while !running_jobs(&self.space).is_empty() {
            if Instant::now() > end {
                return Err("a job outlives its control plane".to_owned());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        Ok(())
    }

    /// What holds after every command.
    fn check(&self) -> Result<Book, String> {
        let book = Book::read(self.sandbox, &self.space.network_id);
        let executions = self.space.executions();
        let mut found = violations(&book, &executions);
        if book.runs.len() > 1 {
            found.push(format!("{} Runs of one key", book.runs.len()));
        }
        let mut times: BTreeMap<&str, usize> = BTreeMap::new();
        for (job, _, _) in &executions {
            *times.entry(job).or_default() += 1;
        }
        for node in self.nodes.iter().filter(|n| !n.idempotent) {
            let job = format!("{}_{}", self.space.network_id, node.id);
            if times.get(job.as_str()).is_some_and(|n| *n > 1) {
                found.push(format!(
                    "{job} is not idempotent and ran {} times",
                    times[job.as_str()]
                ));
            }
        }
        if found.is_empty() {
            Ok(book)
        } else {
            Err(found.join("; "))
        }
    }

    /// Disturbed commands, then undisturbed ones and a person's word until the Run has succeeded.
    fn live(&mut self, random: &mut Random) -> Result<(), String> {
        for _ in 0..=random.below(DISTURBED) {
            let victim = arm(self.sandbox, random);
            self.command(&["--business-key", "k", "--resume"], victim)?;
            self.sandbox.clear_faults();
            self.check()?;
        }
        for _ in 0..PATIENCE {
            self.wait_for_jobs()?;
            let output = self.command(&["--business-key", "k", "--resume"], Victim::Nobody)?;
            let book = self.check()?;
            if book.status() == "SUCCESS" {
                if !output.is_some_and(|o| o.status.success()) {
                    return Err("the Run is SUCCESS, the command says otherwise".to_owned());
                }
                return self.ended(&book);
            }
            self.ask_a_person(&book)?;
        }
        Err("no documented command leads on".to_owned())
    }

    /// A person frees dead jobs' locks, resolves what is unknown, and repeats what the brake holds back.
    fn ask_a_person(&mut self, book: &Book) -> Result<(), String> {
        free_job_locks(self.sandbox, book);
        let resolved = resolve_nodes(&self.space, book)?;
        self.tally.resolved += resolved.len();
        self.told.push(format!("resolved {resolved:?}"));
        if !resolved.is_empty() {
            return Ok(());
        }
        let braked = book
            .states
            .iter()
            .find(|s| text(s, "status") == "FAILED" && is_idempotent(s));
        if let Some(state) = braked {
            self.tally.reruns += 1;
            let node = text(state, "node_id");
            self.command(
                &["--business-key", "k", "--resume", "--rerun-from", node],
                Victim::Nobody,
            )?;
            self.check()?;
        }
        Ok(())
    }

    /// What holds at the end of a Run.
    fn ended(&mut self, book: &Book) -> Result<(), String> {
        self.tally.executions += self.space.executions().len();
        if !book.held_locks.is_empty() {
            return Err("a lock is left".to_owned());
        }
        let nodes = book.nodes();
        if nodes.len() != self.nodes.len() || nodes.values().any(|s| s != "SUCCESS") {
            return Err(format!("SUCCESS with nodes {nodes:?}"));
        }
        Ok(())
    }
}

#[test]
fn runs_under_faults_end_without_a_violation() {
    let seed = number("SOAK_SEED", 20_261_130);
    let (first, runs) = (number("SOAK_FIRST", 0), number("SOAK_RUNS", 8));
    println!("soak: SOAK_SEED={seed}, Runs {first} to {}", first + runs);
    let mut sandbox = Sandbox::seeded("soak", &["--orders", "1"], &[]);
    let mut tally = Tally::default();
    let mut failures = Vec::new();
    for number in first..first + runs {
        let mut random = Random::of_round(seed, number);
        let nodes = random_network(&mut random);
        let space = Workspace::new(&sandbox, &format!("soak_{number}"), &nodes);
        let mut story = Story {
            sandbox: &mut sandbox,
            space,
            nodes,
            tally: &mut tally,
            told: Vec::new(),
        };
        if let Err(why) = story.live(&mut random) {
            failures.push(format!(
                "SOAK_SEED={seed} SOAK_FIRST={number} SOAK_RUNS=1: {why}\n{}",
                story.told.join("\n")
            ));
            sandbox.clear_faults();
        }
    }
    println!(
        "soak: {runs} Runs, {} commands, {} killed, kintone restarted {} times, {} jobs executed, {} nodes resolved, \
         {} reruns, {} failures",
        tally.commands,
        tally.kills,
        tally.restarts,
        tally.executions,
        tally.resolved,
        tally.reruns,
        failures.len()
    );
    assert!(failures.is_empty(), "{}", failures.join("\n\n"));
}
