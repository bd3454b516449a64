//! Harness: what a person does when a Run needs one, with the commands that the runbook names.
#![allow(dead_code, reason = "every test binary uses another part")]

use std::process::Output;

use serde_json::{Value as Json, json};

use super::network::{Book, PROFILE, Workspace, said, text};
use super::sandbox::{JOB_LOG, Sandbox};

/// Ids of the processes that run jobs of this workspace.
pub fn running_jobs(space: &Workspace) -> Vec<u32> {
    let folder = space.dir.display().to_string();
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| {
            let words = std::fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words);
            words.contains("scripted-runner") && words.contains(&folder)
        })
        .collect()
}

/// Frees the job locks that dead runners left, as kSQL-Flow's `force-unlock-job` does.
pub fn free_job_locks(sandbox: &Sandbox, book: &Book) {
    for record in book.job_log.iter().filter(|r| !text(r, "job_key").is_empty()) {
        let id = text(record, "$id").parse().expect("record id");
        let freed = json!({
            "status": {"value": "FAILED"}, "job_key": {"value": ""},
            "job_key_done": {"value": text(record, "job_key")},
        });
        sandbox.edit(JOB_LOG.0, id, &freed);
    }
}

fn reason_file(space: &Workspace) -> String {
    let file = space.dir.join("reason.txt");
    std::fs::write(&file, "checked by hand").expect("reason");
    file.display().to_string()
}

/// Resolves every node that only a person can decide and answers their ids. Idempotent ones are called FAILED and tried
/// again by the next resume; the others are called done, with a second person's approval.
pub fn resolve_nodes(space: &Workspace, book: &Book) -> Result<Vec<String>, String> {
    let mut resolved = Vec::new();
    for state in &book.states {
        let idempotent = is_idempotent(state);
        let needed = match text(state, "status") {
            "UNKNOWN" => true,
            "FAILED" => !idempotent,
            _ => false,
        };
        if !needed {
            continue;
        }
        let (run, node, file) = (text(state, "run_id"), text(state, "node_id"), reason_file(space));
        let mut words = vec!["resolve-node", "--run-id", run, "--node-id", node];
        words.extend(["--reason-file", &file, "--evidence-ref", "INC-1"]);
        words.extend(["--stop-confirmed-by", "tester", "--stop-evidence-ref", "ps"]);
        if idempotent {
            words.extend(["--to", "FAILED"]);
        } else {
            words.extend([
                "--to",
                "SUCCESS",
                "--manual-completion",
                "--approved-by",
                "second",
            ]);
        }
        let output = space.run(&words);
        if !output.status.success() {
            return Err(format!("resolve-node {node}: {}", said(&output)));
        }
        resolved.push(node.to_owned());
    }
    Ok(resolved)
}

/// Whether a Node State says that its node may be tried again.
pub fn is_idempotent(state: &Json) -> bool {
    text(state, "idempotent") == "true"
}

/// `force-unlock-network` of the lock that somebody dead on this machine left.
pub fn force_unlock(space: &Workspace, lock: &Json) -> Output {
    force_unlock_by(space, lock, "local_pid")
}

/// `force-unlock-network` with a stop method.
pub fn force_unlock_by(space: &Workspace, lock: &Json, method: &str) -> Output {
    let file = reason_file(space);
    space.run(&[
        "force-unlock-network",
        &space.network_id,
        "--profile",
        PROFILE,
        "--expected-owner-invocation-id",
        text(lock, "owner_invocation_id"),
        "--reason-file",
        &file,
        "--evidence-ref",
        "INC-1",
        "--stop-confirmed-by",
        "tester",
        "--stop-evidence-ref",
        "ps",
        "--stop-method",
        method,
    ])
}

/// Types a command as `status` gave it, with a value for everything that only a person knows.
pub fn type_command(space: &Workspace, command: &str) -> Output {
    let values = [
        ("<network>", space.network_file().display().to_string()),
        ("<reason_file>", reason_file(space)),
        ("<evidence_ref>", "INC-1".to_owned()),
        ("<person>", "ito".to_owned()),
        ("<approver>", "ito".to_owned()),
        ("<stop_evidence_ref>", "INC-1#2".to_owned()),
        ("<stop_method>", "manual".to_owned()),
        ("<correction_key>", "k-again".to_owned()),
    ];
    let filled = values.iter().fold(command.to_owned(), |line, (place, value)| {
        line.replace(place, value)
    });
    assert!(!filled.contains('<'), "no value for a place of: {filled}");
    let words: Vec<&str> = filled.split(' ').collect();
    assert_eq!(words[0], "ksql-flownet", "{filled}");
    space.run(&words[1..])
}
