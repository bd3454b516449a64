//! Harness: the original (`@rex0220/ksql-flownet` 1.0.0) as a black box, and its `status` beside ours.
#![allow(dead_code, reason = "every test binary uses another part")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use serde_json::Value as Json;

use super::network::{PROFILE, Workspace, said};

/// The original's program; `None` when it cannot be had here.
pub fn original() -> Option<&'static Path> {
    static FOUND: OnceLock<Option<PathBuf>> = OnceLock::new();
    FOUND
        .get_or_init(|| {
            let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tools/original.sh");
            let output = Command::new(script).output().expect("tools/original.sh runs");
            if output.status.success() {
                return Some(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
            }
            println!("skipped: {}", String::from_utf8_lossy(&output.stderr).trim());
            None
        })
        .as_deref()
}

/// The original, with the environment of a workspace.
pub fn run_original(program: &Path, space: &Workspace, args: &[&str]) -> Output {
    original_command(program, space, args)
        .output()
        .expect("node runs")
}

pub fn original_command(program: &Path, space: &Workspace, args: &[&str]) -> Command {
    let ours = space.command(&[]);
    let mut command = Command::new("node");
    command.arg(program).args(args).env_clear();
    for (name, value) in ours.get_envs() {
        command.env(name, value.unwrap_or_default());
    }
    command
}

pub fn original_network(program: &Path, space: &Workspace, words: &[&str]) -> Output {
    let file = space.network_file();
    let mut args = vec!["run-network", file.to_str().expect("UTF-8")];
    args.extend_from_slice(words);
    run_original(program, space, &args)
}

pub fn status_words(space: &Workspace) -> Vec<String> {
    [
        "status",
        &space.network_id,
        "--profile",
        PROFILE,
        "--business-key",
        "k",
        "--json",
    ]
    .map(str::to_owned)
    .to_vec()
}

/// `status --json` of both; ours without its additive keys.
pub fn assert_same_status(program: &Path, space: &Workspace) {
    let words = status_words(space);
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    let theirs = run_original(program, space, &words);
    let ours = space.run(&words);
    assert!(
        theirs.status.success() && ours.status.success(),
        "{}\n{}",
        said(&theirs),
        said(&ours)
    );
    let theirs: Json = serde_json::from_slice(&theirs.stdout).expect("JSON of the original");
    let mut ours: Json = serde_json::from_slice(&ours.stdout).expect("our JSON");
    drop_additive(&mut ours, &theirs);
    assert_eq!(ours, theirs);
}

/// Removes keys that the other object does not have, at every level that both have.
pub fn drop_additive(ours: &mut Json, theirs: &Json) {
    match (ours, theirs) {
        (Json::Object(a), Json::Object(b)) => {
            a.retain(|key, _| b.contains_key(key));
            for (key, value) in a.iter_mut() {
                drop_additive(value, &b[key]);
            }
        }
        (Json::Array(a), Json::Array(b)) => a.iter_mut().zip(b).for_each(|(x, y)| drop_additive(x, y)),
        _ => {}
    }
}
