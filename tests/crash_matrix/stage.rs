//! A scenario and its stage: a network on a stand-in, what is looked at, and the way on that `status` names.

use std::process::{Command, Output};

use ksql_flownet::flownet::clock::{Clock as _, SystemClock};
use ksql_flownet::flownet::key;
use serde_json::{Value as Json, json};

use crate::network::{Book, NodeSpec, PROFILE, Workspace, said, text, violations};
use crate::operator::{free_job_locks, type_command};
use crate::sandbox::{STATE, Sandbox};

/// Next steps after which a Run that has not ended counts as a dead end.
const STEPS: usize = 8;

/// Characters of a scenario's name in the ids of its network: a job lock's key has 64 for everything.
const MAX_NAME: usize = 20;

/// A story around one disturbed command.
pub struct Scenario {
    pub name: &'static str,
    pub nodes: &'static [NodeSpec],
    /// Brings the Run into the state for the command.
    pub before: fn(&Stage<'_>),
    /// The words of the disturbed command.
    pub words: fn(&Stage<'_>) -> Vec<String>,
    /// Type of the event that must be on record exactly once after the command, if it makes one.
    pub event: Option<&'static str>,
    /// What the state before the command violates already; gone at the end.
    pub tolerated: &'static [&'static str],
    /// Goes on to the end. Gives the number of words that a person had to say.
    pub after: fn(&Stage<'_>) -> Result<usize, String>,
}

impl Scenario {
    /// A start that is led on by `status`.
    pub const fn start(name: &'static str, nodes: &'static [NodeSpec]) -> Self {
        Self {
            name,
            nodes,
            before: |_| {},
            words: |stage| stage.start_words(&[]),
            event: None,
            tolerated: &[],
            after: |stage| stage.lead_on(),
        }
    }

    pub const fn before(mut self, before: fn(&Stage<'_>)) -> Self {
        self.before = before;
        self
    }

    pub const fn words(mut self, words: fn(&Stage<'_>) -> Vec<String>) -> Self {
        self.words = words;
        self
    }

    pub const fn event(mut self, event: &'static str) -> Self {
        self.event = Some(event);
        self
    }

    pub const fn tolerates(mut self, violations: &'static [&'static str]) -> Self {
        self.tolerated = violations;
        self
    }

    pub const fn after(mut self, after: fn(&Stage<'_>) -> Result<usize, String>) -> Self {
        self.after = after;
        self
    }
}

/// A network on a stand-in.
pub struct Stage<'a> {
    pub sandbox: &'a Sandbox,
    pub space: Workspace,
    tolerated: &'static [&'static str],
}

impl<'a> Stage<'a> {
    /// `case` tells the cases of one scenario apart.
    pub fn new(sandbox: &'a Sandbox, scenario: &Scenario, case: &str) -> Self {
        let short: String = scenario.name.chars().take(MAX_NAME).collect();
        let name = format!("{}_{case}", short.replace([' ', '-'], "_"));
        Self {
            sandbox,
            space: Workspace::new(sandbox, &name, scenario.nodes),
            tolerated: scenario.tolerated,
        }
    }
}

impl Stage<'_> {
    pub fn book(&self) -> Book {
        Book::read(self.sandbox, &self.space.network_id)
    }

    pub fn run_id(&self) -> String {
        text(&self.book().runs[0], "run_id").to_owned()
    }

    /// run-network of business key `k` with further words.
    pub fn start_words(&self, more: &[&str]) -> Vec<String> {
        let file = self.space.network_file().display().to_string();
        let mut words = vec!["run-network", &file, "--business-key", "k"];
        words.extend(more);
        words.into_iter().map(str::to_owned).collect()
    }

    pub fn start(&self) -> Output {
        self.run(&self.start_words(&[]))
    }

    pub fn resume(&self) -> Output {
        self.run(&self.start_words(&["--resume"]))
    }

    /// The words of an operator command, with its reason file.
    pub fn operator_words(&self, words: &[&str]) -> Vec<String> {
        let file = self.space.dir.join("reason.txt");
        std::fs::write(&file, "because of INC-1").expect("reason");
        let mut all: Vec<String> = words.iter().map(|w| (*w).to_owned()).collect();
        all.extend(["--reason-file".to_owned(), file.display().to_string()]);
        all
    }

    pub fn run(&self, words: &[String]) -> Output {
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        self.space.run(&words)
    }

    pub fn lock_key(&self) -> String {
        key::lock_key(PROFILE, &self.space.network_id).expect("key")
    }

    /// Puts a held lock into the state app, its lease ending `minutes` from now.
    pub fn put_lock(&self, owner: &str, instance: &str, minutes: i64) {
        let value = |v: &str| json!({ "value": v });
        let end = SystemClock.now().plus_ms(minutes * 60_000);
        let record = json!({
            "record_key": value(&format!("LOCK:{}", self.lock_key())),
            "record_type": value("NETWORK_LOCK"),
            "lock_key": value(&self.lock_key()),
            "profile": value(PROFILE),
            "owner_invocation_id": value(owner),
            "lease_token": value("00000000-0000-4000-8000-00000000000a"),
            "status": value("RUNNING"),
            "status_reason": value(&format!("owner_instance_id={instance}")),
            "heartbeat_at": value(&end.plus_ms(-300_000).iso_ms()),
            "lease_expires_at": value(&end.iso_ms()),
            "revision": value("1"),
        });
        self.sandbox.insert(STATE.0, &[record]);
    }

    fn found(&self) -> Vec<String> {
        violations(&self.book(), &self.space.executions())
    }

    /// Nothing contradicts anything, except what the state before the command did already.
    pub fn check(&self, when: &str) -> Result<(), String> {
        let mut found = self.found();
        found.retain(|v| !self.tolerated.contains(&v.as_str()));
        if found.is_empty() {
            Ok(())
        } else {
            Err(format!("{when}: {}", found.join("; ")))
        }
    }

    /// Nothing at all is left to complain about.
    pub fn check_end(&self) -> Result<(), String> {
        let found = self.found();
        if !found.is_empty() {
            return Err(format!("at the end: {}", found.join("; ")));
        }
        if !self.book().held_locks.is_empty() {
            return Err("at the end: a lock is held".to_owned());
        }
        Ok(())
    }

    /// The command is on record once, however often it was tried.
    pub fn check_event(&self, scenario: &Scenario) -> Result<(), String> {
        let Some(kind) = scenario.event else {
            return Ok(());
        };
        let book = self.book();
        let of_kind = |r: &&Json| text(r, "reason").contains(&format!("\"event_type\":\"{kind}\""));
        let events = match kind {
            "ATTEMPT_RESOLVED" => book.resolutions.len(),
            _ => book.operations.iter().filter(of_kind).count(),
        };
        if events == 1 {
            Ok(())
        } else {
            Err(format!("{events} events {kind}"))
        }
    }

    /// What `status` says of the Run.
    pub fn status(&self) -> Result<Json, String> {
        let id = self.run_id();
        let words = [
            "status",
            &self.space.network_id,
            "--profile",
            PROFILE,
            "--run-id",
            &id,
            "--json",
        ];
        let output = self.space.run(&words);
        let shown: Json = serde_json::from_slice(&output.stdout).map_err(|_| said(&output))?;
        Ok(shown["runs"][0].clone())
    }

    /// Takes the first way on that `status` names as open, again and again until the Run is done or archived.
    pub fn lead_on(&self) -> Result<usize, String> {
        let mut people = 0;
        let mut told = Vec::new();
        for _ in 0..STEPS {
            let run = self.status()?;
            if run["situation"] == "DONE" || run["situation"] == "ARCHIVED" {
                return Ok(people);
            }
            // Locks of jobs that died are the runner's own; its operators free them.
            free_job_locks(self.sandbox, &self.book());
            let actions = run["next_actions"].as_array().cloned().unwrap_or_default();
            let open = actions
                .iter()
                .find(|a| a["allowed"] == json!(true) && a["command"].is_string());
            let Some(open) = open else {
                return Err(format!("a dead end: {run:#}\n{}", told.join("\n")));
            };
            people += usize::from(open["action"] != "RESUME");
            let command = open["command"].as_str().unwrap_or_default();
            let output = type_command(&self.space, command);
            told.push(format!("{command}\n{}", said(&output)));
            let stdout = String::from_utf8_lossy(&output.stdout);
            let started = ["NEW: ", "RESUME: ", "NO-OP: "]
                .iter()
                .any(|w| stdout.contains(w));
            if !output.status.success() && !started {
                return Err(format!("status names what does not work:\n{}", told.join("\n")));
            }
            self.check("after a next step")
                .map_err(|e| format!("{e}\n{}", told.join("\n")))?;
        }
        Err(format!("no end:\n{}", told.join("\n")))
    }
}

/// Name of this machine, as owner instances carry it.
pub fn host() -> String {
    let name = Command::new("uname").arg("-n").output().expect("runs").stdout;
    String::from_utf8(name).expect("UTF-8").trim().to_owned()
}

/// The number of a process that has ended.
pub fn dead_pid() -> u32 {
    let mut child = Command::new("true").spawn().expect("starts");
    child.wait().expect("ends");
    child.id()
}
