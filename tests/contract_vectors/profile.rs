//! `profile.json`: canonical JSON, capabilities, snapshots; and the shapes of `child.json` that belong to them.

use ksql_flownet::flownet::profile::{
    self, ProfileError, Snapshot, check_capabilities, compare, parse_capabilities, parse_description,
};
use serde_json::{Value, json};

use crate::decisions::Rules;
use crate::support::{Tally, load};

const FILE: &str = "profile.json";

#[test]
fn profiles() {
    let vectors = load(FILE);
    let list = |name: &str| vectors[name].as_array().expect("a list").clone();
    let mut rules = Rules::of(FILE);
    let mut tally = Tally::default();
    for case in list("canonical") {
        tally.check(title(&case), check_canonical(&case, &mut rules));
    }
    for case in list("capabilities") {
        tally.check(title(&case), check_needs(&case));
    }
    for case in list("snapshotCompare") {
        tally.check(title(&case), check_compare(&case));
    }
    rules.finish();
    tally.finish(FILE);
}

#[test]
fn output_shapes() {
    let vectors = load("child.json");
    let mut tally = Tally::default();
    for case in vectors["outputShapes"].as_array().expect("shapes") {
        let stdout = case["stdout"].as_str().expect("stdout").as_bytes();
        let outcome = match case["command"].as_str() {
            Some("capabilities") => parse_capabilities(stdout).map(|_| ()),
            Some("describeProfile") => parse_description(stdout).map(|_| ()),
            _ => continue,
        };
        let got = outcome.map_or_else(|e| e.code(), |()| "ok");
        let fits = case["result"] == got;
        tally.check(
            title(case),
            if fits {
                Ok(())
            } else {
                Err(format!("{got}, expected {}", case["result"]))
            },
        );
    }
    tally.finish("child.json");
}

fn title(case: &Value) -> &str {
    case["title"].as_str().expect("title")
}

fn expect(got: &Value, want: &Value) -> Result<(), String> {
    if got == want {
        Ok(())
    } else {
        Err(format!("{got}, expected {want}"))
    }
}

fn check_canonical(case: &Value, rules: &mut Rules) -> Result<(), String> {
    let stdout = case["stdout"].as_str().expect("stdout");
    let outcome = parse_description(stdout.as_bytes());
    if rules.apply("ambiguous-key") && (stdout.contains("__proto__") || repeats_a_key(stdout)) {
        let code = outcome.map_or_else(|e| e.code(), |_| "ok");
        return expect(&json!(code), &json!("KSQL_FLOW_OUTPUT_INVALID"));
    }
    let description = outcome.map_err(|e| e.to_string())?;
    expect(&json!(description.canonical_json()), &case["canonicalJson"])?;
    expect(&json!(description.sha256()), &case["sha256"])
}

/// Whether reading and writing the text again loses a member: members are counted by their colons outside of texts.
fn repeats_a_key(text: &str) -> bool {
    fn members(value: &Value) -> usize {
        match value {
            Value::Object(map) => map.len() + map.values().map(members).sum::<usize>(),
            Value::Array(items) => items.iter().map(members).sum(),
            _ => 0,
        }
    }
    let (mut in_text, mut escaped, mut colons) = (false, false, 0);
    for c in text.chars() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => in_text = !in_text,
            ':' if !in_text => colons += 1,
            _ => {}
        }
    }
    serde_json::from_str(text).is_ok_and(|value| members(&value) != colons)
}

fn check_needs(case: &Value) -> Result<(), String> {
    let stdout = case["capabilities"].to_string();
    let capabilities = parse_capabilities(stdout.as_bytes()).map_err(|e| e.to_string())?;
    let additional = case["additionalFeatures"].as_array().expect("features");
    let outcome = check_capabilities(
        &capabilities,
        additional.contains(&json!("importCsv")),
        additional.contains(&json!("resultCsv")),
    );
    let got = match outcome {
        Ok(()) => json!({"ok": true}),
        Err(error) => {
            let details = match &error {
                ProfileError::FeatureMissing(names) => names.clone(),
                _ => Vec::new(),
            };
            json!({"errorCode": error.code(), "message": error.to_string(), "details": details})
        }
    };
    expect(&got, &case["result"])
}

fn check_compare(case: &Value) -> Result<(), String> {
    let stdout = case["description"].to_string();
    let current = parse_description(stdout.as_bytes()).map_err(|e| e.to_string())?;
    let expected = &case["expected"];
    let text = |key: &str| expected[key].as_str().expect("a text").to_owned();
    let stored = Snapshot {
        profile: current.profile.clone(),
        base_url: text("baseUrl"),
        guest_space_id: expected["guestSpaceId"].clone(),
        timezone: text("timezone"),
        apps: expected["apps"].as_object().expect("apps").clone(),
        max_api_calls: None,
        max_read_rows: None,
        batch_timeout_sec: None,
    };
    let differences = compare(&stored, &text("canonicalJsonSha256"), &current);
    let got = if differences.is_empty() {
        json!({"ok": true})
    } else {
        json!({
            "errorCode": "PROFILE_SNAPSHOT_MISMATCH",
            "message": profile::mismatch_text(&differences),
            "details": differences,
        })
    };
    expect(&got, &case["result"])
}
