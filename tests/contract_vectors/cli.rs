//! Cases of cli.json: command line and environment, run as a black box.
//!
//! The expected standard error is turned into our form by one rule ([`Line::expected`]): `Error [C]: text` becomes
//! `ksql-flownet: error: text [C]`, `Error: text` gets the code INVALID_ARGUMENTS, `Run 'x' for usage.` becomes
//! `next: x`, all other lines stay. On our side the explanation and the `next:` lines are taken away unless they are
//! expected, and so are detail lines below a coded error. Texts of the operating system are not compared.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::decisions::Rules;
use crate::support::{Tally, load};

const FILE: &str = "cli.json";
/// Flags that all our commands take; the original knows `--json` on two.
const COMMON_FLAGS: [&str; 3] = ["--json", "--quiet", "--verbose"];
/// Options whose empty value counts as given (KEY-03).
const EMPTY_COUNTS: [&str; 2] = ["--business-key", "--scheduled-for"];

#[test]
fn command_line() {
    let vectors = load(FILE);
    let root = Root::new();
    let mut rules = Rules::of(FILE);
    for rule in Rule::ALL {
        // Another set of vectors may have no case of a rule.
        assert!(rules.apply(rule.name()), "no rule {}", rule.name());
    }
    let mut tally = Tally::default();
    for case in vectors["cases"].as_array().expect("cases") {
        let id = case["id"].as_str().expect("id");
        tally.check(id, check(case, &root.0, &mut rules));
    }
    rules.finish();
    tally.finish(FILE);
}

/// What a command printed and returned.
#[derive(Debug, PartialEq)]
struct Outcome {
    exit: i64,
    stdout: String,
    stderr: String,
}

fn run(args: &[String], env: &BTreeMap<String, String>, root: &Path) -> Outcome {
    let output = Command::new(env!("CARGO_BIN_EXE_ksql-flownet"))
        .args(args)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", root)
        .envs(env)
        .current_dir(root)
        .output()
        .expect("the program starts");
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
    Outcome {
        exit: output.status.code().map_or(-1, i64::from),
        stdout: text(output.stdout),
        stderr: text(output.stderr),
    }
}

fn check(case: &Value, root: &Path, rules: &mut Rules) -> Result<(), String> {
    let root_text = root.to_str().expect("a UTF-8 path");
    let place = |text: &str| text.replace("<ROOT>", root_text);
    let args: Vec<String> = strings(&case["args"]).iter().map(|arg| place(arg)).collect();
    let env: BTreeMap<String, String> = case["env"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, value)| (name.clone(), place(value.as_str().expect("a text"))))
        .collect();
    let expect = Outcome {
        exit: case["expect"]["exitCode"].as_i64().expect("an exit code"),
        stdout: place(case["expect"]["stdout"].as_str().expect("stdout")),
        stderr: place(case["expect"]["stderr"].as_str().expect("stderr")),
    };
    let actual = run(&args, &env, root);
    let outcome = match rule_of(&args) {
        Some(rule) => rule.check(&args, &env, root, &expect, &actual),
        None => same(&expect, &actual, rules),
    };
    outcome.map_err(|why| format!("{args:?}: {why}\n  expected {expect:?}\n  actual   {actual:?}"))
}

fn strings(list: &Value) -> Vec<String> {
    list.as_array()
        .into_iter()
        .flatten()
        .map(|item| item.as_str().expect("a text").to_owned())
        .collect()
}

/// Equal, after the mechanical translation.
fn same(expect: &Outcome, actual: &Outcome, rules: &mut Rules) -> Result<(), String> {
    if actual.exit != expect.exit {
        return Err("another exit code".into());
    }
    let own_keys = |line: &str| rules.apply("additional-keys") && line.starts_with("{\"outcome\":");
    if !equal_stdout(&expect.stdout, &actual.stdout, own_keys) {
        return Err("another stdout".into());
    }
    if !rules.apply("error-form") {
        return (expect.stderr == actual.stderr)
            .then_some(())
            .ok_or("another stderr".into());
    }
    let expected: Vec<Line> = expect.stderr.lines().map(Line::expected).collect();
    let lines: Vec<&str> = actual.stderr.lines().collect();
    let mut rest = lines.iter().peekable();
    let mut coded = false;
    for line in &expected {
        while rest
            .next_if(|next| is_additional(next, coded) && !line.matches(next))
            .is_some()
        {}
        match rest.next() {
            Some(next) if line.matches(next) => coded = matches!(line, Line::Coded { .. }),
            other => return Err(format!("expected {line:?}, found {other:?}")),
        }
    }
    match rest.find(|next| !is_additional(next, coded)) {
        None => Ok(()),
        Some(line) => Err(format!("one line too many: {line:?}")),
    }
}

/// Lines that we print in addition: explanation, next steps, and details below a coded error.
fn is_additional(line: &str, coded: bool) -> bool {
    line.starts_with("note: ") || line.starts_with("next: ") || (coded && line.starts_with("- "))
}

/// Our line may have more keys at its end.
fn equal_stdout(expect: &str, actual: &str, own_keys: impl FnOnce(&str) -> bool) -> bool {
    if expect == actual {
        return true;
    }
    let Some(start) = expect.strip_suffix("}\n") else {
        return false;
    };
    let Some(more) = actual.strip_prefix(start) else {
        return false;
    };
    let value: Result<Value, _> = serde_json::from_str(actual);
    own_keys(expect) && more.starts_with(",\"error\":{") && more.ends_with("}\n") && value.is_ok()
}

/// One expected line of standard error in our form.
#[derive(Debug)]
enum Line {
    Plain(String),
    /// `text [CODE]`; no text when it comes from the operating system.
    Coded {
        text: Option<String>,
        code: String,
    },
    /// Only this beginning counts; the rest comes from the operating system.
    Beginning(String),
}

impl Line {
    /// THE rule.
    fn expected(line: &str) -> Line {
        const UNREADABLE: &str = "- [NETWORK_FILE_UNREADABLE] $: cannot read network file: ";
        if let Some((code, text)) = line
            .strip_prefix("Error [")
            .and_then(|rest| rest.split_once("]: "))
        {
            let of_system = text.strip_prefix(code).is_some_and(|rest| rest.starts_with(": "));
            let text = (!of_system).then(|| text.to_owned());
            return Line::Coded {
                text,
                code: code.to_owned(),
            };
        }
        if let Some(text) = line.strip_prefix("Error: ") {
            return Line::Coded {
                text: Some(text.to_owned()),
                code: "INVALID_ARGUMENTS".to_owned(),
            };
        }
        if let Some(command) = line
            .strip_prefix("Run '")
            .and_then(|rest| rest.strip_suffix("' for usage."))
        {
            return Line::Plain(format!("next: {command}"));
        }
        if line.starts_with(UNREADABLE) {
            return Line::Beginning(UNREADABLE.to_owned());
        }
        Line::Plain(line.to_owned())
    }

    fn matches(&self, actual: &str) -> bool {
        match self {
            Line::Plain(line) => actual == line,
            Line::Beginning(start) => actual.len() > start.len() && actual.starts_with(start),
            Line::Coded { text, code } => {
                let said = actual
                    .strip_prefix("ksql-flownet: error: ")
                    .and_then(|rest| rest.strip_suffix(&format!(" [{code}]")));
                match text {
                    Some(text) => said == Some(text),
                    None => said.is_some_and(|said| !said.is_empty()),
                }
            }
        }
    }
}

/// Cases in which we differ on purpose, recognised by their arguments.
enum Rule {
    /// The version is ours.
    Version,
    /// The help text is ours and shows the original's commands.
    Help,
    /// `--help` after a command.
    HelpOfCommand,
    /// A flag that all our commands take.
    CommonFlag,
    /// An empty value or operand.
    EmptyValue,
}

fn rule_of(args: &[String]) -> Option<Rule> {
    let first = args.first().map(String::as_str);
    match first {
        None | Some("-h" | "--help") => return Some(Rule::Help),
        Some("-V" | "--version") => return Some(Rule::Version),
        Some(_) => {}
    }
    let rest = &args[1..];
    if !COMMANDS.contains(&args[0].as_str()) {
        return None;
    }
    if rest.iter().any(|arg| arg == "--help") {
        return Some(Rule::HelpOfCommand);
    }
    let json_is_theirs = ["run-network", "status"].contains(&args[0].as_str());
    if rest
        .iter()
        .any(|arg| COMMON_FLAGS.contains(&arg.as_str()) && !(json_is_theirs && arg == "--json"))
    {
        return Some(Rule::CommonFlag);
    }
    let empty = args
        .windows(2)
        .any(|pair| pair[1].is_empty() && !EMPTY_COUNTS.contains(&pair[0].as_str()));
    empty.then_some(Rule::EmptyValue)
}

const COMMANDS: [&str; 10] = [
    "validate",
    "plan",
    "run-network",
    "poll-requests",
    "resolve-node",
    "record-job-unlock",
    "force-unlock-network",
    "cancel-run",
    "archive-run",
    "status",
];

impl Rule {
    const ALL: [Rule; 5] = [
        Rule::Version,
        Rule::Help,
        Rule::HelpOfCommand,
        Rule::CommonFlag,
        Rule::EmptyValue,
    ];

    fn name(&self) -> &'static str {
        match self {
            Rule::Version => "version",
            Rule::Help => "help",
            Rule::HelpOfCommand => "help-of-command",
            Rule::CommonFlag => "common-flags",
            Rule::EmptyValue => "empty-value",
        }
    }

    fn check(
        &self,
        args: &[String],
        env: &BTreeMap<String, String>,
        root: &Path,
        expect: &Outcome,
        actual: &Outcome,
    ) -> Result<(), String> {
        let held = match self {
            Rule::Version => {
                actual.exit == 0
                    && actual.stderr.is_empty()
                    && actual.stdout == concat!(env!("CARGO_PKG_VERSION"), "\n")
            }
            Rule::Help => {
                let shown = |name: &str| {
                    actual
                        .stdout
                        .lines()
                        .any(|line| line.starts_with(&format!("  {name}")))
                };
                let missing: Vec<_> = commands_of_help(&expect.stdout)
                    .into_iter()
                    .filter(|name| !shown(name))
                    .collect();
                let hidden = |name: &&String| {
                    // A command that this build cannot carry out yet is not offered.
                    let help = run(&[(*name).clone(), "--help".to_owned()], env, root);
                    help.exit == 0 && !help.stdout.is_empty()
                };
                actual.exit == 0 && actual.stderr.is_empty() && missing.iter().all(|name| hidden(&name))
            }
            Rule::HelpOfCommand => {
                let usage = format!("Usage: ksql-flownet {}", args[0]);
                actual.exit == 0 && actual.stderr.is_empty() && actual.stdout.starts_with(&usage)
            }
            Rule::CommonFlag => {
                let without: Vec<String> = args
                    .iter()
                    .filter(|arg| !COMMON_FLAGS.contains(&arg.as_str()))
                    .cloned()
                    .collect();
                let plain = run(&without, env, root);
                let json: Result<Value, _> = serde_json::from_str(&actual.stdout);
                plain.exit == actual.exit
                    && plain.stderr == actual.stderr
                    && (actual.stdout.is_empty() || json.is_ok())
            }
            Rule::EmptyValue => {
                actual.exit == 1
                    && actual.stdout.is_empty()
                    && ["requires", "is required"]
                        .iter()
                        .any(|w| actual.stderr.contains(w))
            }
        };
        held.then_some(())
            .ok_or_else(|| format!("not as rule {} says", self.name()))
    }
}

fn commands_of_help(help: &str) -> Vec<String> {
    help.lines()
        .skip_while(|line| *line != "Commands:")
        .filter_map(|line| line.strip_prefix("  "))
        .filter(|line| line.starts_with(|c: char| c.is_ascii_lowercase()))
        .filter_map(|line| line.split(' ').next())
        .map(str::to_owned)
        .collect()
}

/// `<ROOT>` of the vectors.
struct Root(PathBuf);

impl Root {
    fn new() -> Root {
        let root = std::env::temp_dir().join(format!("flownet-cli-{}", std::process::id()));
        std::fs::create_dir_all(root.join("jobs")).expect("a folder");
        let root = std::fs::canonicalize(root).expect("its path");
        let write = |name: &str, text: &str| std::fs::write(root.join(name), text).expect("a file");
        write("n.yaml", NETWORK);
        write("io.yaml", &format!("{NETWORK}    inputs: {{ i: a.csv }}\n"));
        write("bad.yaml", "{}\n");
        write("jobs/a.sql", "SELECT 1;\n");
        write("reason.txt", "because\n");
        write("empty.txt", "");
        write("file", "");
        let good = capabilities("ksql-flow.execution/v1", true);
        for (name, script) in [
            ("flow-ok", format!("cat <<'END'\n{good}\nEND")),
            ("flow-exit3", "exit 3".to_owned()),
            ("flow-killed", "kill -9 $$".to_owned()),
            ("flow-text", "echo hello".to_owned()),
            ("flow-empty", "exit 0".to_owned()),
            ("flow-two", "echo '{} {}'".to_owned()),
            (
                "flow-bom",
                format!("printf '\\357\\273\\277'; cat <<'END'\n{good}\nEND"),
            ),
            ("flow-shape", "echo '{}'".to_owned()),
            (
                "flow-nocontract",
                format!("cat <<'END'\n{}\nEND", capabilities("other/v1", true)),
            ),
            (
                "flow-nofeature",
                format!(
                    "cat <<'END'\n{}\nEND",
                    capabilities("ksql-flow.execution/v1", false)
                ),
            ),
        ] {
            write(name, &format!("#!/bin/sh\n{script}\n"));
            let mode = std::fs::Permissions::from_mode(0o755);
            std::fs::set_permissions(root.join(name), mode).expect("a mode");
        }
        Root(root)
    }
}

impl Drop for Root {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

const NETWORK: &str = "\
schema_version: 1
network_id: net
business_key_policy: { type: explicit }
network_lock: { lease_duration_sec: 300, heartbeat_interval_sec: 60 }
nodes:
  - id: a
    job_id: a
    sql: jobs/a.sql
    depends_on: []
    trigger_rule: all_success
    idempotent: true
";

fn capabilities(contract: &str, inspect: bool) -> Value {
    let mut features = serde_json::Map::new();
    for name in [
        "resultJson",
        "correlationIds",
        "describeProfile",
        "inspectJob",
        "durableExecutionStarted",
    ] {
        features.insert(name.to_owned(), Value::Bool(inspect || name != "inspectJob"));
    }
    serde_json::json!({
        "formatVersion": 1,
        "kind": "CAPABILITIES",
        "ksqlFlowVersion": "0.9.0",
        "engineVersion": "0.9.0",
        "executionContracts": [contract],
        "resultSchema": { "$id": "result", "contract": contract },
        "features": features,
    })
}
