//! A working folder with a configuration, and the program started in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::{Value, json};

use crate::sandbox::{self, Sandbox};

/// A folder that is removed with its content.
pub struct Bench {
    /// The working folder.
    pub root: PathBuf,
}

impl Bench {
    /// An empty working folder.
    pub fn new() -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let root = std::env::temp_dir().join(format!("ksql-flow-bench-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&root);
        std::fs::create_dir_all(&root).expect("working folder");
        Self { root }
    }

    /// Writes a file below the folder.
    pub fn write(&self, name: &str, content: &str) -> PathBuf {
        let path = self.root.join(name);
        std::fs::create_dir_all(path.parent().expect("parent")).expect("folder");
        std::fs::write(&path, content).expect("file");
        path
    }

    /// Reads a JSON file below the folder.
    pub fn json(&self, name: &str) -> Value {
        let bytes = std::fs::read(self.root.join(name)).expect("file");
        serde_json::from_slice(&bytes).expect("JSON")
    }

    /// The program with arguments, in the folder, without the variables of the surrounding shell.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_ksql-flow"));
        command
            .args(arguments)
            .current_dir(&self.root)
            .env_clear()
            .env("TZ", "UTC")
            .stdin(Stdio::null());
        command
    }

    /// Runs the program to its end.
    pub fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Ended {
        Ended::of(self.command(arguments).output().expect("started"))
    }

    /// Runs a command line of words.
    pub fn line(&self, line: &str) -> Ended {
        self.run(&line.split_whitespace().collect::<Vec<_>>())
    }

    /// Whether the folder is still as it was made: no file but these.
    pub fn holds_only(&self, names: &[&str]) -> bool {
        let mut found: Vec<String> = std::fs::read_dir(&self.root)
            .expect("folder")
            .map(|entry| entry.expect("entry").file_name().to_string_lossy().into_owned())
            .collect();
        found.sort();
        found == names
    }
}

impl Drop for Bench {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.root);
    }
}

/// A process that ended.
#[derive(Debug)]
pub struct Ended {
    /// Exit code; `None` after a signal.
    pub code: Option<i32>,
    /// Standard output.
    pub stdout: String,
    /// Standard error.
    pub stderr: String,
}

impl Ended {
    /// Output of a process.
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            stdout: String::from_utf8(output.stdout).expect("UTF-8"),
            stderr: String::from_utf8(output.stderr).expect("UTF-8"),
        }
    }

    /// Standard output as one JSON value on one line.
    pub fn json(&self) -> Value {
        assert_eq!(self.stdout.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.stdout).expect("JSON")
    }
}

/// A path as text.
pub fn text(path: &Path) -> &str {
    path.to_str().expect("UTF-8 path")
}

/// Logical names, ids and tokens of the seeded apps.
pub const APPS: [(&str, (u64, &str)); 3] = [
    ("受注", sandbox::ORDERS),
    ("顧客マスタ", sandbox::CUSTOMERS),
    ("実行ログ", sandbox::JOB_LOG),
];

impl Bench {
    /// A working folder whose default profile `p` is the sandbox, with quick retries.
    pub fn on(sandbox: &Sandbox) -> Self {
        Self::with_profile(sandbox, &json!({}))
    }

    /// The same with further or other members of the profile.
    pub fn with_profile(sandbox: &Sandbox, members: &Value) -> Self {
        let apps: serde_json::Map<String, Value> = APPS
            .iter()
            .map(|(name, (id, token))| ((*name).to_owned(), json!({"id": id, "tokens": [token]})))
            .collect();
        let mut profile = json!({
            "baseUrl": sandbox.base_url(), "timezone": "Asia/Tokyo", "apps": apps, "logApp": "実行ログ",
            "retry": {"maxAttempts": 3, "initialDelayMs": 1, "maxDelayMs": 2},
        });
        for (key, value) in members.as_object().expect("object") {
            profile[key] = value.clone();
        }
        let bench = Self::new();
        bench.write(
            "ksql.config.json",
            &json!({"defaultProfile": "p", "profiles": {"p": profile}}).to_string(),
        );
        bench
    }
}

/// A value of a record as text.
pub fn value<'a>(record: &'a Value, code: &str) -> &'a str {
    record[code]["value"].as_str().unwrap_or_default()
}
