//! `validate.json`: definitions and plans.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use ksql_flownet::flownet::definition::{self, Network, Problem, business_key, report};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;

use crate::decisions::Rules;
use crate::support::{Tally, load};

const FILE: &str = "validate.json";

#[test]
fn validate_and_plan() {
    let vectors = load(FILE);
    let mut rules = Rules::of(FILE);
    let mut tally = Tally::default();
    let root = Folder::new();
    for case in vectors["cases"].as_array().expect("cases") {
        let id = case["id"].as_str().expect("id");
        tally.check(id, check(case, &root.0, &mut rules));
    }
    rules.finish();
    tally.finish(FILE);
}

/// `<ROOT>` of the vectors, with `<DIR>` inside.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Self {
        let root = std::env::temp_dir().join(format!("flownet-validate-{}", std::process::id()));
        let jobs = root.join("dir/jobs");
        std::fs::create_dir_all(&jobs).expect("a folder");
        let write = |path: PathBuf, text: &str| std::fs::write(path, text).expect("a file");
        write(root.join("outside.sql"), "SELECT 3;\n");
        write(jobs.join("a.sql"), "SELECT 1;\n");
        write(jobs.join("b.sql"), "SELECT 2;\n");
        write(jobs.join("empty.sql"), "");
        let link = jobs.join("link.sql");
        if !link.exists() {
            std::os::unix::fs::symlink("a.sql", link).expect("a link");
        }
        Self(root)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What the command would print and return.
struct Outcome {
    exit_code: i64,
    stdout: String,
    problems: Vec<Problem>,
}

fn run(case: &Value, dir: &Path) -> Outcome {
    let path = dir.join("network.yaml");
    std::fs::write(&path, bytes(case)).expect("the network file");
    let loaded = match definition::read_file(&path) {
        Ok(bytes) => definition::load(&bytes),
        Err(problem) => definition::Loaded {
            problems: vec![problem],
            ..definition::Loaded::default()
        },
    };
    let mut problems = loaded.problems;
    let mut stdout = report::valid("<DIR>/network.yaml");
    if let Some(network) = &loaded.network {
        problems.extend(definition::check_sql_files(network, dir));
        if case["command"] == "plan" {
            let resolved = business_key::resolve(
                &network.policy,
                &network.network_id,
                option(case, "--scheduled-for"),
                option(case, "--business-key"),
            );
            match resolved {
                Ok(key) => stdout = report::plan(network, &key),
                Err(errors) => problems = report::with_key_problems(problems, errors),
            }
        }
    }
    if problems.is_empty() {
        return Outcome {
            exit_code: 0,
            stdout,
            problems,
        };
    }
    Outcome {
        exit_code: 1,
        stdout: String::new(),
        problems,
    }
}

fn bytes(case: &Value) -> Vec<u8> {
    case["networkYaml"].as_str().map_or_else(
        || {
            let text = case["networkYamlBase64"].as_str().expect("a network file");
            base64::engine::general_purpose::STANDARD
                .decode(text)
                .expect("base64")
        },
        |text| text.as_bytes().to_vec(),
    )
}

fn option<'a>(case: &'a Value, name: &str) -> Option<&'a str> {
    let args = case["args"].as_array()?;
    let at = args.iter().position(|arg| arg == name)?;
    args.get(at + 1)?.as_str()
}

fn check(case: &Value, root: &Path, rules: &mut Rules) -> Result<(), String> {
    let dir = root.join("dir");
    let outcome = run(case, &dir);
    let expected = &case["expect"];

    if rules.apply("invalid-utf8") && std::str::from_utf8(&bytes(case)).is_err() {
        let codes: Vec<&str> = outcome.problems.iter().map(|p| p.code).collect();
        return expect("codes", &codes, &vec!["NETWORK_FILE_UNREADABLE"]);
    }

    let network = definition::load_stored(&bytes(case)).network;
    let additions = additions(case, network.as_ref(), rules);
    let (ours, theirs): (Vec<&Problem>, Vec<&Problem>) = outcome
        .problems
        .iter()
        .partition(|p| additions.contains(&place(p)));
    let found: BTreeSet<_> = ours.iter().map(|p| place(p)).collect();
    expect("our additions", &found, &additions)?;
    expect("number of our additions", &ours.len(), &additions.len())?;

    let peer = expected["errors"].as_array().expect("errors");
    compare(&theirs, peer, root)?;

    let passes = peer.is_empty() && additions.is_empty();
    expect("exit code", &outcome.exit_code, &i64::from(!passes))?;
    if passes {
        let stdout = expected["stdout"].as_str().expect("stdout");
        expect("stdout", &outcome.stdout.as_str(), &stdout)?;
    } else if additions.is_empty() && theirs.len() == peer.len() {
        let header = expected["errorHeader"].as_str().expect("errorHeader");
        let text = report::failure(&outcome.problems);
        expect("header", &text.lines().next(), &Some(header))?;
    }
    Ok(())
}

fn expect<T: PartialEq + std::fmt::Debug>(what: &str, got: &T, want: &T) -> Result<(), String> {
    if got == want {
        Ok(())
    } else {
        Err(format!("{what}: {got:?}, expected {want:?}"))
    }
}

/// The peer's list, in order. Where a message is not exact, several problems of one kind may be one.
fn compare(got: &[&Problem], want: &[Value], root: &Path) -> Result<(), String> {
    let inexact = !want.is_empty() && want.iter().all(|e| e["messageExact"] == Value::Bool(false));
    if inexact {
        let allowed: BTreeSet<(&str, &str)> = want
            .iter()
            .map(|e| (e["code"].as_str().unwrap(), e["path"].as_str().unwrap()))
            .collect();
        let fits = !got.is_empty()
            && got.len() <= want.len()
            && got.iter().all(|p| allowed.contains(&(p.code, p.path.as_str())));
        return if fits {
            Ok(())
        } else {
            Err(format!("{got:?}, expected {want:?}"))
        };
    }
    let got: Vec<[String; 3]> = got.iter().map(|p| line(p, root)).collect();
    let want: Vec<(&Value, [String; 3])> = want
        .iter()
        .map(|e| {
            let text = |key: &str| e[key].as_str().unwrap().to_owned();
            (&e["messageExact"], [text("code"), text("path"), text("message")])
        })
        .collect();
    let equal = got.len() == want.len()
        && got.iter().zip(&want).all(|(got, (exact, want))| {
            let (got_text, want_text) = if exact.is_string() {
                (before_parenthesis(&got[2]), before_parenthesis(&want[2]))
            } else {
                (got[2].as_str(), want[2].as_str())
            };
            got[..2] == want[..2] && (**exact == Value::Bool(false) || got_text == want_text)
        });
    if equal {
        Ok(())
    } else {
        Err(format!("{got:#?}, expected {want:#?}"))
    }
}

fn line(problem: &Problem, root: &Path) -> [String; 3] {
    let dir = root.join("dir");
    let message = problem
        .message
        .replace(dir.to_str().unwrap(), "<DIR>")
        .replace(root.to_str().unwrap(), "<ROOT>");
    [problem.code.to_owned(), problem.path.clone(), message]
}

fn before_parenthesis(text: &str) -> &str {
    text.rfind('(').map_or(text, |at| &text[..at])
}

type Place = (String, String);

fn place(problem: &Problem) -> Place {
    (problem.code.to_owned(), problem.path.clone())
}

/// What the rules of the table add to the peer's list, computed from the definition alone.
fn additions(case: &Value, network: Option<&Network>, rules: &mut Rules) -> BTreeSet<Place> {
    let mut out = BTreeSet::new();
    let mut add = |code: &str, path: String| out.insert((code.to_owned(), path));
    let (node_id, job_id, io_name, output_pattern) = (
        rules.apply("node-id"),
        rules.apply("job-id"),
        rules.apply("io-name"),
        rules.apply("output-pattern"),
    );
    let (constant_key, run_key) = (rules.apply("constant-key"), rules.apply("run-key"));
    let Some(network) = network else {
        return out;
    };
    let plain = |text: &str| {
        text.chars()
            .all(|c| c.is_ascii_alphanumeric() || ".-_".contains(c))
    };
    let escaped = |name: &str| name.replace('~', "~0").replace('/', "~1");
    for (i, node) in network.nodes.iter().enumerate() {
        if node_id && (!plain(&node.id) || node.id.contains("..") || node.id.ends_with('.')) {
            add("NODE_ID_UNSUPPORTED", format!("$.nodes/{i}/id"));
        }
        if job_id && (!plain(&node.job_id) || node.job_id == "__batch__") {
            add("JOB_ID_UNSUPPORTED", format!("$.nodes/{i}/job_id"));
        }
        for (name, _) in &node.inputs {
            if io_name && name.starts_with('-') {
                let path = format!("$.nodes/{i}/inputs/{}", escaped(name));
                add("INPUT_NAME_UNSUPPORTED", path);
            }
        }
        let mut seen = BTreeSet::new();
        for (name, pattern) in &node.outputs {
            let path = format!("$.nodes/{i}/outputs/{}", escaped(name));
            if io_name && name.starts_with(['-', '#']) {
                add("OUTPUT_NAME_UNSUPPORTED", path.clone());
            }
            if output_pattern && !seen.insert(pattern) {
                add("OUTPUT_PATTERN_DUPLICATE", path);
            }
        }
    }
    if let definition::BusinessKeyPolicy::Scheduled { format, .. } = &network.policy
        && constant_key
        && business_key::check_policy(&network.policy).is_empty()
    {
        let sample = format
            .replace("{yyyy}", "2000")
            .replace("{MM}", "06")
            .replace("{dd}", "15")
            .replace("{network_id}", &network.network_id);
        let path = "$.business_key_policy.format".to_owned();
        if sample.encode_utf16().count() > 128 || sample.nfc().count() > 128 {
            add("BUSINESS_KEY_TOO_LONG", path.clone());
        }
        if sample.chars().any(char::is_control) {
            add("BUSINESS_KEY_CONTROL_CHARACTER", path.clone());
        }
        if sample.contains(':') {
            add("BUSINESS_KEY_SEPARATOR", path);
        }
    }
    if let Some(key) = option(case, "--business-key")
        && run_key
        && case["command"] == "plan"
    {
        let path = "--business-key".to_owned();
        if key.contains(':') {
            add("BUSINESS_KEY_SEPARATOR", path);
        } else if key == "__net__" {
            add("BUSINESS_KEY_RESERVED", path);
        } else if key.encode_utf16().count() <= 128 && key.nfc().count() > 128 {
            add("BUSINESS_KEY_TOO_LONG", path);
        }
    }
    out
}
