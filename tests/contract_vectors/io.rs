//! Cases of io.json: percent-encoding, files on disk, stored summaries, the two settings with a grammar of their own.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use ksql_flownet::flownet::child::bin_args;
use ksql_flownet::flownet::cli::settings::{Environment, IoSettings};
use ksql_flownet::flownet::io::root::check_root;
use ksql_flownet::flownet::io::{PathRefused, Values, resolve_inputs, resolve_outputs, substitute};
use ksql_flownet::flownet::rule::io_summary::{self, BaselineEntry};
use ksql_flownet::flownet::rule::result::{InputReceipt, OutputReceipt};
use serde_json::{Value, json};

use crate::support::{Tally, equal, load};

const VALUES: Values<'static> = Values {
    business_key: "net@2026-09",
    profile: "prod",
    run_id: "netrun_1",
    node_id: "a",
};
/// Contents that the files of the vectors had; the hashes say which.
const CONTENTS: [&str; 3] = ["x\n", "1,2\n", ""];

struct Fixture(PathBuf);

impl Fixture {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("ksql-io-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&path);
        fs::create_dir_all(&path).expect("fixture");
        Self(path)
    }
}

impl Drop for Fixture {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn cases<'a>(file: &'a Value, key: &str) -> &'a [Value] {
    file[key].as_array().expect("list")
}

#[test]
fn percent_encoding() {
    let file = load("io.json");
    let mut tally = Tally::default();
    for case in cases(&file, "percentEncoding") {
        let value = case["value"].as_str().expect("text");
        tally.check(value, equal(&json!(substitute::encode(value)), &case["encoded"]));
    }
    tally.finish("io.json percentEncoding");
}

#[test]
fn bin_args() {
    let file = load("io.json");
    let mut tally = Tally::default();
    for case in cases(&file, "binArgs") {
        let text = case["KSQL_FLOW_BIN_ARGS"].as_str().unwrap_or("");
        let outcome = match bin_args::parse(text) {
            Ok(words) => equal(&json!(words), &case["value"]),
            Err(error) => equal(&json!(error.to_string()), &case["error"]),
        };
        tally.check(&case.to_string(), outcome);
    }
    tally.finish("io.json binArgs");
}

#[test]
fn io_settings() {
    let file = load("io.json");
    let bench = Fixture::new("settings");
    let root = bench.0.display().to_string();
    fs::create_dir(bench.0.join("d")).expect("fixture");
    fs::write(bench.0.join("f"), "").expect("fixture");
    std::os::unix::fs::symlink("d", bench.0.join("l")).expect("fixture");
    let mut tally = Tally::default();
    for case in cases(&file, "ioConfig") {
        let lookup = |name: &str| {
            let value = case["env"][name].as_str()?;
            Some(OsString::from(value.replace("<ROOT>", &root)))
        };
        let read = IoSettings::read(&Environment::new(&lookup))
            .map_err(|e| e.to_string())
            .and_then(|s| {
                check_root(&s.root)
                    .map(|root| (root, s.retention_days))
                    .map_err(|e| e.to_string())
            });
        let outcome = match read {
            Ok((path, days)) => {
                let shown = path.display().to_string().replace(&root, "<ROOT>");
                equal(&json!({"root": shown, "retentionDays": days}), &case["value"])
            }
            Err(error) => equal(&json!(error), &case["error"]),
        };
        tally.check(&case["env"].to_string(), outcome);
    }
    tally.finish("io.json ioConfig");
}

/// Rebuilds what was on disk before: the tree afterwards, without the directories that a successful output run makes.
fn build(root: &Path, case: &Value) {
    let made_by_us = case["kind"] == "out" && case["result"].get("ok").is_some();
    let tree: Vec<&str> = cases(case, "treeAfter")
        .iter()
        .filter_map(Value::as_str)
        .collect();
    for entry in &tree {
        let path = root.join(entry.trim_end_matches(['/', '@']));
        if entry.ends_with('/') {
            if !made_by_us {
                fs::create_dir_all(&path).expect("fixture");
            }
            continue;
        }
        fs::create_dir_all(path.parent().expect("below the root")).expect("fixture");
        if entry.ends_with('@') {
            let parent = entry.rsplit_once('/').map_or("", |(parent, _)| parent);
            let sibling = tree.iter().find_map(|other| {
                let name = other.trim_end_matches('/');
                let (dir, name) = name.rsplit_once('/').unwrap_or(("", name));
                (dir == parent && !other.ends_with('@')).then_some(name)
            });
            std::os::unix::fs::symlink(sibling.unwrap_or("nowhere"), &path).expect("fixture");
        } else {
            fs::write(&path, content(case, &format!("<IO>/{entry}"))).expect("fixture");
        }
    }
}

fn content(case: &Value, path: &str) -> &'static str {
    let hash = case["result"]["ok"]
        .as_array()
        .into_iter()
        .flatten()
        .find(|f| f["path"] == path)
        .and_then(|f| f["sha256"].as_str());
    CONTENTS
        .into_iter()
        .find(|c| Some(ksql_flownet::flownet::canonical_json::sha256_hex(c.as_bytes()).as_str()) == hash)
        .unwrap_or(CONTENTS[0])
}

fn tree(root: &Path) -> Vec<String> {
    fn walk(dir: &Path, prefix: &str, out: &mut Vec<String>) {
        for entry in fs::read_dir(dir).expect("readable") {
            let entry = entry.expect("readable");
            let name = format!("{prefix}{}", entry.file_name().to_str().expect("text"));
            let kind = entry.file_type().expect("readable");
            if kind.is_dir() {
                out.push(format!("{name}/"));
                walk(&entry.path(), &format!("{name}/"), out);
            } else {
                out.push(name + if kind.is_symlink() { "@" } else { "" });
            }
        }
    }
    let mut out = Vec::new();
    walk(root, "", &mut out);
    out.sort();
    out
}

#[test]
fn files() {
    let file = load("io.json");
    let mut tally = Tally::default();
    for case in cases(&file, "files") {
        let bench = Fixture::new(case["id"].as_str().expect("id"));
        let root = bench.0.clone();
        build(&root, case);
        let patterns: Vec<(String, String)> = case["patterns"]
            .as_object()
            .expect("patterns")
            .iter()
            .map(|(name, pattern)| (name.clone(), pattern.as_str().expect("text").to_owned()))
            .collect();
        let shown = |path: &Path| {
            path.display()
                .to_string()
                .replacen(&root.display().to_string(), "<IO>", 1)
        };
        let found: Result<Vec<Value>, PathRefused> = if case["kind"] == "in" {
            resolve_inputs(&root, &patterns, &VALUES).map(|files| {
                let entry = |f: &ksql_flownet::flownet::io::InputFile| {
                    json!({"name": f.name, "path": shown(&f.path), "sha256": f.sha256, "bytes": f.bytes})
                };
                files.iter().map(entry).collect()
            })
        } else {
            resolve_outputs(&root, &patterns, &VALUES).map(|files| {
                files
                    .iter()
                    .map(|f| json!({"name": f.name, "path": shown(&f.path)}))
                    .collect()
            })
        };
        let outcome = match found {
            Ok(files) => equal(&json!(files), &case["result"]["ok"]),
            Err(refused) => equal(
                &json!([refused.code.as_str(), refused.message]),
                &json!([case["result"]["errorCode"], case["result"]["message"]]),
            ),
        };
        let mut expected: Vec<String> = cases(case, "treeAfter")
            .iter()
            .map(|e| e.as_str().expect("text").to_owned())
            .collect();
        expected.sort();
        let outcome = outcome.and_then(|()| equal(&json!(tree(&root)), &json!(expected)));
        tally.check(&format!("{} {}", case["id"], case["title"]), outcome);
    }
    tally.finish("io.json files");
}

fn entries(list: &Value) -> Vec<BaselineEntry> {
    let entry = |e: &Value| BaselineEntry {
        source: e["source"].as_str().expect("source").to_owned(),
        sha256: e["sha256"].as_str().expect("hash").to_owned(),
        bytes: e["bytes"].as_u64().expect("bytes"),
    };
    list.as_array().into_iter().flatten().map(entry).collect()
}

/// Writes the values of a stored text again, baseline entries in reverse: the same text has to come out.
fn rewrite(text: &str) -> String {
    let value: Value = serde_json::from_str(text).expect("summary");
    let mut baseline = entries(value.get("baseline").unwrap_or(&value["inputs"]));
    baseline.reverse();
    let full_hash = |source: &str| {
        let same = baseline.iter().find(|e| e.source == source);
        same.map(|e| e.sha256.clone()).expect("source of the baseline")
    };
    let inputs: Vec<InputReceipt> = value["input_files"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|f| InputReceipt {
            name: f["source"].as_str().expect("source").to_owned(),
            sha256: full_hash(f["source"].as_str().expect("source")),
            bytes: f["bytes"].as_u64().expect("bytes"),
            rows: f["rows"].as_u64(),
            encoding: f["encoding"].as_str().map(str::to_owned),
        })
        .collect();
    let outputs: Vec<OutputReceipt> = value["output_files"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|f| OutputReceipt {
            name: f["sink"].as_str().expect("sink").to_owned(),
            sha256: f["sha256"].as_str().expect("hash").to_owned(),
            bytes: f["bytes"].as_u64().expect("bytes"),
            rows: f["rows"].as_u64().expect("rows"),
            encoding: f["encoding"].as_str().expect("encoding").to_owned(),
        })
        .collect();
    match value["kind"].as_str() {
        Some("KSQL_FLOWNET_INPUT_BASELINE") => io_summary::baseline_text(&baseline),
        Some("KSQL_FLOWNET_INPUT_AUDIT") => io_summary::input_audit(&baseline, &inputs),
        Some("KSQL_FLOWNET_OUTPUT_AUDIT") => io_summary::output_audit(&outputs),
        _ => io_summary::io_audit(&baseline, &inputs, &outputs),
    }
    .expect("short enough")
}

/// The inputs of the cases that have no text to read them from.
fn titled(title: &str) -> Vec<BaselineEntry> {
    let entry = |source: String| BaselineEntry {
        source,
        sha256: "a".repeat(64),
        bytes: 1,
    };
    match title {
        "duplicate source names" => vec![entry("a".into()), entry("a".into())],
        "upper case hash" => vec![BaselineEntry {
            sha256: "A".repeat(64),
            ..entry("a".into())
        }],
        _ => {
            let count = title.split(' ').next().and_then(|n| n.parse().ok());
            (0..count.unwrap_or_else(|| panic!("no inputs known for '{title}'")))
                .map(|i: u32| entry(format!("s{i:03}")))
                .collect()
        }
    }
}

#[test]
fn summaries() {
    let file = load("io.json");
    let mut tally = Tally::default();
    for case in cases(&file, "summaries") {
        let title = case["title"].as_str().expect("title");
        let outcome = if let Some(text) = case["value"].as_str() {
            equal(&json!(rewrite(text)), &json!(text))
        } else {
            match io_summary::baseline_text(&titled(title)) {
                Ok(text) => equal(&json!(text.len()), &case["value"]),
                Err(error) => equal(&json!(error.to_string()), &case["error"]),
            }
        };
        tally.check(title, outcome);
    }
    tally.finish("io.json summaries");
}

#[test]
fn parse_baseline() {
    let file = load("io.json");
    let mut tally = Tally::default();
    for case in cases(&file, "parseBaseline") {
        let outcome = match io_summary::parse_baseline(case["summary"].as_str()) {
            Ok(found) => equal(
                &json!(found.map(|list| {
                    let entry =
                        |e: &BaselineEntry| json!({"source": e.source, "sha256": e.sha256, "bytes": e.bytes});
                    list.iter().map(entry).collect::<Vec<_>>()
                })),
                case.get("value").unwrap_or(&json!("an error")),
            ),
            Err(error) => equal(&json!(error.to_string()), &case["error"]),
        };
        tally.check(&case["title"].to_string(), outcome);
    }
    tally.finish("io.json parseBaseline");
}
