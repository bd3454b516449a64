//! `business-key.json`: policies, times, zones, manual keys.

use ksql_flownet::flownet::definition::{BusinessKeyPolicy, Period, Problem, business_key};
use ksql_flownet::flownet::time::{Civil, Timestamp};
use serde_json::Value;
use unicode_normalization::UnicodeNormalization as _;

use crate::decisions::Rules;
use crate::support::{Tally, load};

const FILE: &str = "business-key.json";

#[test]
fn keys_are_resolved() {
    let vectors = load(FILE);
    let mut rules = Rules::of(FILE);
    let mut tally = Tally::default();
    for case in vectors["cases"].as_array().expect("cases") {
        let id = case["id"].as_str().expect("id");
        tally.check(id, check(case, &mut rules));
    }
    for (i, case) in vectors["manualKey"]["cases"]
        .as_array()
        .expect("manual keys")
        .iter()
        .enumerate()
    {
        tally.check(&format!("manual key {i}"), check_manual(case));
    }
    rules.finish();
    tally.finish(FILE);
}

fn policy(value: &Value) -> BusinessKeyPolicy {
    let text = |key: &str| value[key].as_str().expect("a policy text").to_owned();
    match value["type"].as_str() {
        Some("explicit") => BusinessKeyPolicy::Explicit,
        _ => BusinessKeyPolicy::Scheduled {
            period: if value["period"] == "day" {
                Period::Day
            } else {
                Period::Month
            },
            timezone: text("timezone"),
            format: text("format"),
        },
    }
}

fn check(case: &Value, rules: &mut Rules) -> Result<(), String> {
    let (input, expected) = (&case["input"], &case["expect"]);
    let scheduled_for = input["scheduledFor"].as_str();
    let business_key = input["businessKey"].as_str();
    let policy = policy(&input["policy"]);
    let outcome = business_key::resolve(
        &policy,
        input["networkId"].as_str().expect("networkId"),
        scheduled_for,
        business_key,
    );
    if let Some(text) = scheduled_for {
        let normalized = business_key::normalize_scheduled_for(text);
        if normalized.as_deref() != expected["normalizedScheduledFor"].as_str() {
            return Err(format!("normalised to {normalized:?}"));
        }
    }

    let peer_key = expected["businessKey"].as_str();
    let early = scheduled_for
        .and_then(Timestamp::parse)
        .is_some_and(|time| Civil::from(time).year < 1000);
    if rules.apply("early-year") && early && peer_key.is_some() {
        return codes(&outcome, "SCHEDULED_FOR_INVALID");
    }
    if rules.apply("run-key")
        && let Some(key) = peer_key
    {
        if key.contains(':') {
            return codes(&outcome, "BUSINESS_KEY_SEPARATOR");
        }
        if key == "__net__" {
            return codes(&outcome, "BUSINESS_KEY_RESERVED");
        }
        if key.nfc().count() > 128 {
            return codes(&outcome, "BUSINESS_KEY_TOO_LONG");
        }
    }
    compare(outcome, expected)
}

fn codes(outcome: &Result<String, Vec<Problem>>, wanted: &str) -> Result<(), String> {
    match outcome {
        Err(problems) if problems.iter().any(|p| p.code == wanted) => Ok(()),
        _ => Err(format!("{outcome:?}, expected {wanted}")),
    }
}

fn compare(outcome: Result<String, Vec<Problem>>, expected: &Value) -> Result<(), String> {
    let (key, problems) = match outcome {
        Ok(key) => (Some(key), Vec::new()),
        Err(problems) => (None, problems),
    };
    let got: Vec<[&str; 3]> = problems
        .iter()
        .map(|p| [p.code, p.path.as_str(), p.message.as_str()])
        .collect();
    let want: Vec<[&str; 3]> = expected["errors"]
        .as_array()
        .expect("errors")
        .iter()
        .map(|e| ["code", "path", "message"].map(|key| e[key].as_str().unwrap()))
        .collect();
    if key.as_deref() == expected["businessKey"].as_str() && got == want {
        Ok(())
    } else {
        Err(format!("{key:?} {got:?}, expected {expected}"))
    }
}

fn check_manual(case: &Value) -> Result<(), String> {
    let now = Timestamp::parse(case["nowUtc"].as_str().expect("nowUtc")).expect("a time");
    let network_id = case["networkId"].as_str().expect("networkId");
    let key = business_key::manual_key(network_id, now);
    if Some(key.as_str()) != case["generated"].as_str() {
        return Err(format!("generated {key}"));
    }
    compare(
        business_key::resolve(&BusinessKeyPolicy::Explicit, network_id, None, Some(&key)),
        &case["expect"],
    )
}
