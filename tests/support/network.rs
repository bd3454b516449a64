//! Harness: a network with scripted jobs on a sandbox, the real `ksql-flownet`, and a checker that reads only records.
#![allow(dead_code, reason = "every test binary uses another part")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use serde_json::{Value as Json, json};

use super::sandbox::{AUDIT, JOB_LOG, ORDERS, STATE, Sandbox};

/// Profile of every scripted network.
pub const PROFILE: &str = "test";

/// One node of a scripted network.
#[derive(Clone)]
pub struct NodeSpec {
    pub id: &'static str,
    pub after: &'static [&'static str],
    pub idempotent: bool,
    /// Ends of its executions, see `tests/programs/scripted_runner.rs`.
    pub ends: &'static [&'static str],
    pub sleep_ms: u64,
}

impl NodeSpec {
    pub const fn new(
        id: &'static str,
        after: &'static [&'static str],
        ends: &'static [&'static str],
    ) -> Self {
        Self {
            id,
            after,
            idempotent: true,
            ends,
            sleep_ms: 0,
        }
    }

    pub const fn not_idempotent(mut self) -> Self {
        self.idempotent = false;
        self
    }

    pub const fn sleeping(mut self, ms: u64) -> Self {
        self.sleep_ms = ms;
        self
    }
}

/// A folder with a network file, its jobs and the runner's plan, tied to one sandbox.
pub struct Workspace {
    pub dir: PathBuf,
    pub network_id: String,
    env: Vec<(String, String)>,
}

impl Workspace {
    /// Writes the network `name` (also its id) into the sandbox's folder.
    pub fn new(sandbox: &Sandbox, name: &str, nodes: &[NodeSpec]) -> Self {
        Self::leased(sandbox, name, nodes, (300, 60))
    }

    /// Like [`Self::new`] with a lease and a heartbeat interval, seconds.
    pub fn leased(sandbox: &Sandbox, name: &str, nodes: &[NodeSpec], (lease, beat): (u32, u32)) -> Self {
        let dir = sandbox.dir().join(name);
        for folder in ["jobs", "io/in", "io/out"] {
            std::fs::create_dir_all(dir.join(folder)).expect("folder");
        }
        let mut yaml = format!(
            "schema_version: 1\nnetwork_id: {name}\nbusiness_key_policy:\n  type: explicit\nmax_active_runs: 10\n\
             network_lock:\n  lease_duration_sec: {lease}\n  heartbeat_interval_sec: {beat}\nnodes:\n"
        );
        let mut plan = json!({});
        for node in nodes {
            let (id, job) = (node.id, format!("{name}_{}", node.id));
            let entry = format!(
                "  - id: {id}\n    job_id: {job}\n    sql: jobs/{id}.sql\n    depends_on: [{}]\n    \
                 trigger_rule: all_success\n    idempotent: {}\n",
                node.after.join(", "),
                node.idempotent
            );
            yaml.push_str(&entry);
            std::fs::write(
                dir.join(format!("jobs/{id}.sql")),
                format!("-- @ksql name: {job}\nSELECT 1;\n"),
            )
            .expect("job");
            plan[job] = json!({"ends": node.ends, "sleep_ms": node.sleep_ms});
        }
        std::fs::write(dir.join("network.yaml"), yaml).expect("network");
        std::fs::write(dir.join("plan.json"), plan.to_string()).expect("plan");
        std::fs::write(dir.join("config.json"), "{}").expect("config");
        let mut env = sandbox.env();
        for (name, value) in [
            ("KSQL_FLOWNET_PROFILE", PROFILE.to_owned()),
            ("KSQL_FLOWNET_REQUESTED_BY", "tester".to_owned()),
            ("KSQL_FLOWNET_SERVICE_PRINCIPAL", "svc".to_owned()),
            ("KSQL_FLOW_BIN", scripted_runner().display().to_string()),
            ("KSQL_FLOW_CONFIG", dir.join("config.json").display().to_string()),
            ("KSQL_FLOW_WORKDIR", dir.join("work").display().to_string()),
            ("KSQL_FLOWNET_IO_DIR", dir.join("io").display().to_string()),
            ("SCRIPTED_RUNNER_DIR", dir.display().to_string()),
        ] {
            env.push((name.to_owned(), value));
        }
        Self {
            dir,
            network_id: name.to_owned(),
            env,
        }
    }

    /// Takes the real runner `program` instead of the scripted one, with these statements for these nodes.
    pub fn use_the_real_runner(&mut self, sandbox: &Sandbox, program: &str, jobs: &[(&str, &str)]) {
        let app = |(id, token): (u64, &str)| json!({"id": id, "tokens": [token]});
        let profile = json!({"baseUrl": sandbox.base_url(), "timezone": "Asia/Tokyo", "logApp": "logs",
            "apps": {"orders": app(ORDERS), "logs": app(JOB_LOG)}});
        let config = self.dir.join("ksql.config.json");
        let profiles = json!({"defaultProfile": PROFILE, "profiles": {PROFILE: profile}});
        std::fs::write(&config, profiles.to_string()).expect("configuration");
        for (node, statements) in jobs {
            let text = format!(
                "-- @ksql name: {}_{node}\n-- @ksql dialect: 1\n{statements}\n",
                self.network_id
            );
            std::fs::write(self.dir.join(format!("jobs/{node}.sql")), text).expect("job");
        }
        for (name, value) in [
            ("KSQL_FLOW_BIN", program.to_owned()),
            ("KSQL_FLOW_CONFIG", config.display().to_string()),
        ] {
            self.env.retain(|(known, _)| known != name);
            self.env.push((name.to_owned(), value));
        }
    }

    pub fn network_file(&self) -> PathBuf {
        self.dir.join("network.yaml")
    }

    /// A `ksql-flownet` command with the environment of this workspace and nothing else.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ksql-flownet"));
        command
            .args(args)
            // The real runner keeps its local lock in the working directory.
            .current_dir(&self.dir)
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .envs(self.env.iter().map(|(n, v)| (n, v)))
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        command
    }

    /// Runs a command to its end.
    pub fn run(&self, args: &[&str]) -> Output {
        self.command(args).output().expect("ksql-flownet runs")
    }

    /// `run-network` of this network with further words.
    pub fn run_network(&self, words: &[&str]) -> Output {
        self.start(words).wait_with_output().expect("ksql-flownet ends")
    }

    /// `run-network` of this network, not started yet.
    pub fn network_command(&self, words: &[&str]) -> Command {
        let file = self.network_file();
        let mut args = vec!["run-network", file.to_str().expect("UTF-8")];
        args.extend_from_slice(words);
        self.command(&args)
    }

    /// Starts `run-network` of this network.
    pub fn start(&self, words: &[&str]) -> Child {
        self.network_command(words).spawn().expect("ksql-flownet starts")
    }

    /// Executions so far: job, Run, attempt of each.
    pub fn executions(&self) -> Vec<(String, String, String)> {
        let text = std::fs::read_to_string(self.dir.join("executions.log")).unwrap_or_default();
        let whole = text.rfind('\n').map_or("", |end| &text[..end]);
        whole
            .lines()
            .map(|line| {
                let words: Vec<&str> = line.split(' ').collect();
                (words[0].to_owned(), words[1].to_owned(), words[2].to_owned())
            })
            .collect()
    }
}

/// The scripted runner, built by cargo beside the tests.
pub fn scripted_runner() -> PathBuf {
    let tests = std::env::current_exe().expect("path of this test");
    let profile = tests.parent().and_then(Path::parent).expect("target folder");
    profile.join("examples/scripted-runner")
}

/// What an ended command said, for messages of failing tests.
pub fn said(output: &Output) -> String {
    format!(
        "{}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    )
}

/// The processes that a process started and that have not ended.
pub fn children(of: u32) -> Vec<u32> {
    let tasks = std::fs::read_dir(format!("/proc/{of}/task")).expect("/proc");
    let lines = tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok());
    lines
        .flat_map(|line| {
            line.split_whitespace()
                .filter_map(|pid| pid.parse().ok())
                .collect::<Vec<_>>()
        })
        .collect()
}

/// The value of a field as text.
pub fn text<'a>(record: &'a Json, field: &str) -> &'a str {
    record[field]["value"].as_str().unwrap_or_default()
}

/// All records of one network, by record type.
pub struct Book {
    pub runs: Vec<Json>,
    pub states: Vec<Json>,
    pub holds: Vec<Json>,
    pub held_locks: Vec<Json>,
    pub invocations: Vec<Json>,
    pub attempts: Vec<Json>,
    pub resolutions: Vec<Json>,
    pub operations: Vec<Json>,
    pub job_log: Vec<Json>,
}

impl Book {
    /// Reads everything that belongs to a network.
    pub fn read(sandbox: &Sandbox, network_id: &str) -> Self {
        Self::of_profile(sandbox, network_id, PROFILE)
    }

    /// The same for a network that runs under another profile.
    pub fn of_profile(sandbox: &Sandbox, network_id: &str, profile: &str) -> Self {
        let state = sandbox.records(STATE.0);
        let audit = sandbox.records(AUDIT.0);
        let of = |records: &[Json], kind: &str, keep: &dyn Fn(&Json) -> bool| -> Vec<Json> {
            records
                .iter()
                .filter(|r| text(r, "record_type") == kind && keep(r))
                .cloned()
                .collect()
        };
        let runs = of(&state, "NETWORK_RUN", &|r| text(r, "network_id") == network_id);
        let ids: BTreeSet<String> = runs.iter().map(|r| text(r, "run_id").to_owned()).collect();
        let mine = |r: &Json| ids.contains(text(r, "run_id"));
        let attempts = of(&audit, "NODE_ATTEMPT", &mine);
        let attempt_ids: BTreeSet<String> = attempts
            .iter()
            .map(|a| text(a, "node_attempt_id").to_owned())
            .collect();
        let lock_key = ksql_flownet::flownet::key::lock_key(profile, network_id).expect("key");
        Self {
            states: of(&state, "NODE_STATE", &mine),
            holds: of(&state, "CANCEL_REQUEST", &mine),
            held_locks: of(&state, "NETWORK_LOCK", &|r| text(r, "lock_key") == lock_key),
            invocations: of(&audit, "RUN_INVOCATION", &mine),
            resolutions: of(&audit, "ATTEMPT_RESOLUTION", &|r| {
                attempt_ids.contains(text(r, "attempt_id"))
            }),
            operations: of(&audit, "OPERATION_AUDIT", &|r| {
                mine(r) || text(r, "reason").contains(&lock_key)
            }),
            job_log: sandbox
                .records(JOB_LOG.0)
                .into_iter()
                .filter(|r| attempt_ids.contains(text(r, "attempt_id")))
                .collect(),
            runs,
            attempts,
        }
    }

    pub fn status(&self) -> String {
        self.runs
            .first()
            .map(|r| text(r, "status").to_owned())
            .unwrap_or_default()
    }

    /// Statuses by node.
    pub fn nodes(&self) -> BTreeMap<String, String> {
        self.states
            .iter()
            .map(|s| (text(s, "node_id").to_owned(), text(s, "status").to_owned()))
            .collect()
    }
}

/// Checks what must hold of the records at any moment, and more when nobody holds the lock. Every violation is one line.
pub fn violations(book: &Book, executions: &[(String, String, String)]) -> Vec<String> {
    let mut found = Vec::new();
    let mut keys = BTreeSet::new();
    for run in &book.runs {
        if !keys.insert(text(run, "record_key").to_owned()) {
            found.push(format!("two Runs of one key: {}", text(run, "record_key")));
        }
        check_run(book, run, &mut found);
    }
    if book.held_locks.len() > 1 {
        found.push("two held locks".to_owned());
    }
    let mut per_attempt: BTreeMap<&str, usize> = BTreeMap::new();
    for (job, _, attempt) in executions {
        *per_attempt.entry(attempt).or_default() += 1;
        if !book
            .attempts
            .iter()
            .any(|a| text(a, "node_attempt_id") == attempt)
        {
            found.push(format!("{job} ran without an attempt"));
        }
    }
    for (attempt, times) in per_attempt {
        if times > 1 {
            found.push(format!("attempt {attempt} ran {times} times"));
        }
    }
    for attempt in book.attempts.iter().filter(|a| text(a, "status") == "SUCCESS") {
        let id = text(attempt, "node_attempt_id");
        if !executions.iter().any(|(_, _, a)| a == id) {
            found.push(format!("attempt {id} is SUCCESS and never ran"));
        }
    }
    found
}

fn check_run(book: &Book, run: &Json, found: &mut Vec<String>) {
    let id = text(run, "run_id");
    let of = |records: &'_ [Json]| -> Vec<Json> {
        records
            .iter()
            .filter(|r| text(r, "run_id") == id)
            .cloned()
            .collect()
    };
    let (states, attempts, invocations) = (of(&book.states), of(&book.attempts), of(&book.invocations));
    let quiet = book.held_locks.is_empty();
    for state in &states {
        let node = text(state, "node_id");
        if text(state, "revision") != text(state, "$revision") {
            found.push(format!(
                "{node}: revision {} beside {}",
                text(state, "revision"),
                text(state, "$revision")
            ));
        }
        let own: Vec<&Json> = attempts.iter().filter(|a| text(a, "node_id") == node).collect();
        let numbers: BTreeSet<u64> = own
            .iter()
            .filter_map(|a| text(a, "attempt_no").parse().ok())
            .collect();
        if numbers.len() != own.len() {
            found.push(format!("{node}: an attempt number is used twice"));
        }
        let latest: u64 = text(state, "latest_attempt_no").parse().unwrap_or(0);
        if numbers.iter().max().copied().unwrap_or(0) != latest {
            found.push(format!(
                "{node}: latest_attempt_no {latest}, attempts {numbers:?}"
            ));
        }
        let running = own.iter().filter(|a| text(a, "status") == "RUNNING").count();
        if running > 1 {
            found.push(format!("{node}: {running} running attempts"));
        }
        if (text(state, "status") == "RUNNING") != (running == 1) {
            found.push(format!(
                "{node}: {} with {running} running attempts",
                text(state, "status")
            ));
        }
        if (text(state, "status") == "RUNNING") == text(state, "active_attempt_id").is_empty() {
            found.push(format!(
                "{node}: {} with active attempt '{}'",
                text(state, "status"),
                text(state, "active_attempt_id")
            ));
        }
    }
    let computed = aggregate(&states, !text(run, "started_at").is_empty());
    if computed != text(run, "status") {
        found.push(format!(
            "Run says {}, its nodes make {computed}",
            text(run, "status")
        ));
    }
    let open = invocations
        .iter()
        .filter(|i| text(i, "status") == "RUNNING")
        .count();
    if quiet && open > 0 {
        found.push(format!("nobody holds the lock, {open} invocations are RUNNING"));
    }
    if quiet && states.iter().any(|s| text(s, "status") == "RUNNING") {
        found.push("nobody holds the lock, a node is RUNNING".to_owned());
    }
    for attempt in &attempts {
        if !invocations
            .iter()
            .any(|i| text(i, "invocation_id") == text(attempt, "invocation_id"))
        {
            found.push(format!(
                "attempt {} has no invocation",
                text(attempt, "node_attempt_id")
            ));
        }
    }
}

/// The contract's rule, written a second time from its text (AGG-01).
fn aggregate(states: &[Json], started: bool) -> &'static str {
    let has = |wanted: &str| states.iter().any(|s| text(s, "status") == wanted);
    if has("UNKNOWN") {
        "UNKNOWN"
    } else if has("RUNNING") {
        "RUNNING"
    } else if has("FAILED") || has("BLOCKED") {
        "FAILED"
    } else if has("CANCELLED") {
        "CANCELLED"
    } else if !states.is_empty() && states.iter().all(|s| text(s, "status") == "SUCCESS") {
        "SUCCESS"
    } else if started {
        "RUNNING"
    } else {
        "CREATED"
    }
}
