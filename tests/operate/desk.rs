//! What the tests share: a network on a stand-in, commands with their files, ways to disturb one write.

use std::process::{Child, Command, Output};

use ksql_flownet::flownet::clock::{Clock as _, SystemClock};
use ksql_flownet::flownet::key;
use serde_json::{Value as Json, json};

use crate::network::{Book, NodeSpec, PROFILE, Workspace, said, text, violations};
use crate::sandbox::{AUDIT, JOB_LOG, STATE, Sandbox};

/// A network with a Run of business key `k`.
pub struct Desk {
    pub sandbox: Sandbox,
    pub space: Workspace,
}

impl Desk {
    /// A stand-in with a network, and no Run yet.
    pub fn empty(name: &str, nodes: &[NodeSpec]) -> Self {
        let sandbox = Sandbox::seeded(&format!("operate-{name}"), &["--orders", "1"], &[]);
        let space = Workspace::new(&sandbox, name, nodes);
        std::fs::write(space.dir.join("reason.txt"), "because of INC-1\n").expect("reason");
        std::fs::write(space.dir.join("blank.txt"), " \n").expect("reason");
        Self { sandbox, space }
    }

    /// With a Run that was started and has ended somehow.
    pub fn new(name: &str, nodes: &[NodeSpec]) -> Self {
        let desk = Self::empty(name, nodes);
        desk.space.run_network(&["--business-key", "k"]);
        assert_eq!(desk.book().runs.len(), 1);
        desk
    }

    /// With a Run whose first of two nodes has ended, and the start stands still right before it says so.
    pub fn between(name: &str) -> (Self, Child, String) {
        let nodes = [
            NodeSpec::new("a", &[], &["SUCCESS"]),
            NodeSpec::new("b", &["a"], &["SUCCESS"]),
        ];
        let desk = Self::empty(name, &nodes);
        desk.sandbox.fault(&json!({
            "match": {"method": "POST", "path": "/k/v1/bulkRequest.json", "contains": "\"result_code\":{\"value\":\"OK\"}"},
            "nth": 1, "times": 1, "action": "hold_before"
        }));
        let start = desk.space.start(&["--business-key", "k"]);
        let parked = desk.sandbox.wait_for_hold();
        (desk, start, parked)
    }

    /// With a Run that was held while its first node ran: RUNNING, with nobody at work and the hold accepted.
    pub fn held(name: &str) -> Self {
        let (desk, start, parked) = Self::between(name);
        let hold = desk.hold(&[]);
        assert!(hold.status.success(), "{}", said(&hold));
        desk.sandbox.release(&parked, "proceed");
        let ended = start.wait_with_output().expect("ends");
        assert!(said(&ended).contains("STOP_REQUESTED"), "{}", said(&ended));
        desk
    }

    /// With a Run that was held and released: RUNNING, nobody at work.
    pub fn stopped(name: &str) -> Self {
        let desk = Self::held(name);
        let released = desk.hold(&["--release"]);
        assert!(released.status.success(), "{}", said(&released));
        desk
    }

    /// Waits for another parked request than `before`.
    pub fn next_parked(&self, before: &str) -> String {
        loop {
            let parked = self.sandbox.wait_for_hold();
            if parked != before {
                return parked;
            }
            std::thread::yield_now();
        }
    }

    /// Kills a command that waits for its answer; the request is dropped.
    pub fn kill(&self, mut command: Child) {
        let parked = self.sandbox.wait_for_hold();
        command.kill().expect("kill -9");
        command.wait().expect("reaped");
        self.sandbox.drop_held(&parked);
    }

    pub fn book(&self) -> Book {
        Book::read(&self.sandbox, &self.space.network_id)
    }

    pub fn run(&self) -> Json {
        self.book().runs.first().cloned().expect("a Run")
    }

    pub fn run_id(&self) -> String {
        text(&self.run(), "run_id").to_owned()
    }

    pub fn state(&self, node: &str) -> Json {
        let states = self.book().states;
        states
            .into_iter()
            .find(|s| text(s, "node_id") == node)
            .expect("a state")
    }

    /// JSON of the operation audits of one type, oldest first.
    pub fn events(&self, event_type: &str) -> Vec<Json> {
        let events = self.book().operations.into_iter();
        events
            .map(|r| serde_json::from_str::<Json>(text(&r, "reason")).expect("JSON"))
            .filter(|e| e["event_type"] == event_type)
            .collect()
    }

    pub fn reason(&self) -> String {
        self.space.dir.join("reason.txt").display().to_string()
    }

    pub fn blank(&self) -> String {
        self.space.dir.join("blank.txt").display().to_string()
    }

    /// cancel-run of the Run.
    pub fn hold(&self, words: &[&str]) -> Output {
        self.start_hold(words).wait_with_output().expect("ends")
    }

    pub fn start_hold(&self, words: &[&str]) -> Child {
        let (run, reason) = (self.run_id(), self.reason());
        let mut args = vec!["cancel-run", "--run-id", &run, "--reason-file", &reason];
        args.extend_from_slice(words);
        self.space.command(&args).spawn().expect("starts")
    }

    /// resolve-node of a node with the usual texts.
    pub fn resolve(&self, node: &str, to: &str, words: &[&str]) -> Output {
        self.start_resolve(node, to, words)
            .wait_with_output()
            .expect("ends")
    }

    pub fn start_resolve(&self, node: &str, to: &str, words: &[&str]) -> Child {
        let (run, reason) = (self.run_id(), self.reason());
        let mut args = vec![
            "resolve-node",
            "--run-id",
            &run,
            "--node-id",
            node,
            "--to",
            to,
            "--reason-file",
            &reason,
            "--evidence-ref",
            "INC-1",
            "--stop-confirmed-by",
            "ito",
            "--stop-evidence-ref",
            "INC-1#2",
        ];
        if to == "SUCCESS" {
            args.push("--manual-completion");
        }
        args.extend_from_slice(words);
        self.space.command(&args).spawn().expect("starts")
    }

    /// archive-run of the Run.
    pub fn archive(&self, words: &[&str]) -> Output {
        self.start_archive(words).wait_with_output().expect("ends")
    }

    pub fn start_archive(&self, words: &[&str]) -> Child {
        self.archive_command(words).spawn().expect("starts")
    }

    pub fn archive_command(&self, words: &[&str]) -> Command {
        let (run, reason) = (self.run_id(), self.reason());
        let file = self.space.network_file().display().to_string();
        let mut args = vec!["archive-run", &file, "--run-id", &run, "--reason-file", &reason];
        args.extend_from_slice(words);
        self.space.command(&args)
    }

    /// force-unlock-network of the network.
    pub fn unlock(&self, owner: &str, method: &str) -> Output {
        self.start_unlock(owner, method).wait_with_output().expect("ends")
    }

    pub fn unlock_with_json(&self, owner: &str) -> Output {
        let mut command = self.unlock_command(owner, "manual");
        command.arg("--json").output().expect("runs")
    }

    pub fn start_unlock(&self, owner: &str, method: &str) -> Child {
        self.unlock_command(owner, method).spawn().expect("starts")
    }

    fn unlock_command(&self, owner: &str, method: &str) -> Command {
        let reason = self.reason();
        self.space.command(&[
            "force-unlock-network",
            &self.space.network_id,
            "--profile",
            PROFILE,
            "--expected-owner-invocation-id",
            owner,
            "--reason-file",
            &reason,
            "--evidence-ref",
            "INC-1",
            "--stop-confirmed-by",
            "ito",
            "--stop-evidence-ref",
            "INC-1#2",
            "--stop-method",
            method,
        ])
    }

    /// Puts a held lock into the state app; `minutes` from now until the end of its lease.
    pub fn lock(&self, owner: &str, instance: &str, minutes: i64) -> u64 {
        let lock_key = key::lock_key(PROFILE, &self.space.network_id).expect("key");
        let now = SystemClock.now();
        let value = |v: &str| json!({ "value": v });
        let record = json!({
            "record_key": value(&format!("LOCK:{lock_key}")),
            "record_type": value("NETWORK_LOCK"),
            "lock_key": value(&lock_key),
            "profile": value(PROFILE),
            "owner_invocation_id": value(owner),
            "lease_token": value("00000000-0000-4000-8000-00000000000a"),
            "status": value("RUNNING"),
            "status_reason": value(&format!("owner_instance_id={instance}")),
            "heartbeat_at": value(&now.plus_ms((minutes - 5) * 60_000).iso_ms()),
            "lease_expires_at": value(&now.plus_ms(minutes * 60_000).iso_ms()),
            "revision": value("1"),
        });
        self.sandbox.insert(STATE.0, &[record])[0]
    }

    /// What the runner's own force-unlock-job does with locks of jobs that vanished.
    pub fn free_job_locks(&self) {
        for record in self.book().job_log {
            self.sandbox
                .edit(JOB_LOG.0, id(&record), &json!({ "job_key": { "value": "" } }));
        }
    }

    /// Turns a lock of [`Self::lock`] into a tombstone that nobody asks about.
    pub fn unlock_by_hand(&self, lock: u64) {
        let value = |v: &str| json!({ "value": v });
        let done = json!({
            "record_key": value(&format!("LOCKDONE:{lock}")), "lock_key": value(""), "status": value("CANCELLED"),
        });
        self.sandbox.edit(STATE.0, lock, &done);
    }

    /// Edits one field of a state record, as a person in the browser.
    pub fn edit_state(&self, record: &Json, field: &str, value: &str) {
        self.sandbox
            .edit(STATE.0, id(record), &json!({ field: { "value": value } }));
    }

    /// Edits one field of an audit record, as a person in the browser.
    pub fn edit_audit(&self, record: &Json, field: &str, value: &str) {
        self.sandbox
            .edit(AUDIT.0, id(record), &json!({ field: { "value": value } }));
    }

    /// The first invocation again as its process would leave it that died before it said how it ended.
    pub fn reopen_invocation(&self) {
        let invocation = self.book().invocations[0].clone();
        for (field, value) in [
            ("status", "RUNNING"),
            ("result_code", "PENDING"),
            ("finished_at", ""),
        ] {
            self.edit_audit(&invocation, field, value);
        }
    }

    /// Deletes an audit record, as a person in the browser.
    pub fn delete_audit(&self, record: &Json) {
        self.delete(AUDIT.0, id(record));
    }

    /// Deletes a record, as a person in the browser.
    pub fn delete(&self, app: u64, record: u64) {
        // admin:admin-password of the stand-in
        let who = [("X-Cybozu-Authorization", "YWRtaW46YWRtaW4tcGFzc3dvcmQ=")];
        let which = json!({ "app": app, "ids": [record] });
        self.sandbox
            .send(&who, "DELETE", "/k/v1/records.json", &which)
            .ok();
    }

    /// Inserts a copy of an audit record with other values.
    pub fn copy_audit(&self, record: &Json, changes: &[(&str, &str)]) {
        self.copy(AUDIT.0, record, changes);
    }

    /// Inserts a copy of a record, without its files, with other values.
    pub fn copy(&self, app: u64, record: &Json, changes: &[(&str, &str)]) -> u64 {
        let mut copy = serde_json::Map::new();
        for (code, field) in record.as_object().expect("a record") {
            let own = !code.starts_with('$')
                && field["type"].as_str().is_none_or(|t| {
                    ![
                        "CREATOR",
                        "MODIFIER",
                        "CREATED_TIME",
                        "UPDATED_TIME",
                        "RECORD_NUMBER",
                    ]
                    .contains(&t)
                });
            let set = field["value"].as_str().is_some_and(|v| !v.is_empty());
            if own && set {
                copy.insert(code.clone(), json!({ "value": field["value"] }));
            }
        }
        for (code, value) in changes {
            copy.insert((*code).to_owned(), json!({ "value": value }));
        }
        self.sandbox.insert(app, &[Json::Object(copy)])[0]
    }

    /// Nothing in the records contradicts anything else.
    pub fn assert_sound(&self) {
        let found = violations(&self.book(), &self.space.executions());
        assert!(found.is_empty(), "{found:?}");
    }

    /// What `status --json` says about the Run.
    pub fn status(&self) -> Json {
        let run = self.run_id();
        let args = [
            "status",
            &self.space.network_id,
            "--profile",
            PROFILE,
            "--run-id",
            &run,
            "--json",
        ];
        json_of(&self.space.run(&args))["runs"][0].clone()
    }

    /// Requests since the last `clear_log`.
    pub fn requests(&self) -> usize {
        self.sandbox.log().len()
    }
}

/// Record number.
pub fn id(record: &Json) -> u64 {
    text(record, "$id").parse().expect("an id")
}

/// The one JSON value of standard output.
pub fn json_of(output: &Output) -> Json {
    let text = String::from_utf8_lossy(&output.stdout);
    serde_json::from_str(text.trim_end()).unwrap_or_else(|e| panic!("{e}: {}", said(output)))
}

/// It failed with this code, and told a next step.
pub fn assert_refused(output: &Output, code: &str) {
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{}", said(output));
    assert!(
        stderr.contains(&format!(" [{code}]\n")),
        "{code}: {}",
        said(output)
    );
    assert!(stderr.contains("\nnext: "), "{code}: {}", said(output));
}

/// It succeeded.
pub fn assert_done(output: &Output) {
    assert!(output.status.success(), "{}", said(output));
}

/// Everything that can happen to one write without its sender dying: the name, and the fault for the next bulkRequest.
pub fn disturbances() -> Vec<(&'static str, Json)> {
    let bulk = json!({"method": "POST", "path": "/k/v1/bulkRequest.json"});
    let fault = |action: &str, more: Json| {
        let mut fault = json!({"match": bulk, "nth": 1, "times": 1, "action": action});
        for (key, value) in more.as_object().expect("members") {
            fault[key.as_str()] = value.clone();
        }
        fault
    };
    vec![
        ("never arrives", fault("drop_before", json!({}))),
        ("answer lost", fault("drop_after", json!({}))),
        ("answer cut", fault("cut", json!({}))),
        (
            "503 not applied",
            fault("status", json!({"status": 503, "body": "<html>busy</html>"})),
        ),
        (
            "502 applied",
            fault("status", json!({"status": 502, "body": "<html>", "after": true})),
        ),
        (
            "429",
            fault(
                "status",
                json!({"status": 429, "body": "", "headers": {"Retry-After": "1"}}),
            ),
        ),
        (
            "database lock",
            fault(
                "status",
                json!({"status": 400, "body": "{\"code\":\"GAIA_DA02\"}"}),
            ),
        ),
    ]
}

/// Parks the next bulkRequest before it is applied.
pub fn park(sandbox: &Sandbox) {
    sandbox.fault(&json!({
        "match": {"method": "POST", "path": "/k/v1/bulkRequest.json"}, "nth": 1, "times": 1, "action": "hold_before"
    }));
}
