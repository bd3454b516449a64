//! `bundle.json`: bytes of bundles, the zip reader, verification.

use base64::Engine as _;
use ksql_flownet::flownet::bundle::{self, BundleError, JobInput, zip};
use ksql_flownet::flownet::canonical_json::sha256_hex;
use ksql_flownet::flownet::definition::Node;
use serde_json::{Value, json};

use crate::support::{Tally, load};

const FILE: &str = "bundle.json";

#[test]
fn bundles() {
    let vectors = load(FILE);
    let list = |value: &Value| value.as_array().expect("a list").clone();
    let mut tally = Tally::default();
    for case in list(&vectors["bundles"]) {
        tally.check(case["id"].as_str().expect("id"), check_bundle(&case));
    }
    for (kind, cases, check) in [
        (
            "raw zip",
            list(&vectors["rawZip"]),
            check_raw as fn(&Value) -> Result<(), String>,
        ),
        ("zip reader", list(&vectors["zipReader"]["cases"]), check_reader),
        ("verify", list(&vectors["verify"]), check_verify),
    ] {
        for case in cases {
            let title = case["title"].as_str().expect("title");
            tally.check(&format!("{kind}: {title}"), check(&case));
        }
    }
    tally.finish(FILE);
}

fn expect(what: &str, got: &Value, want: &Value) -> Result<(), String> {
    if got == want {
        Ok(())
    } else {
        Err(format!("{what}: {got}, expected {want}"))
    }
}

fn error_value(error: &BundleError) -> Value {
    json!({"errorCode": error.code(), "message": error.to_string()})
}

/// Inspection checks in list order, then the bundle, as a new Run does it.
fn build(case: &Value) -> Result<bundle::Bundle, BundleError> {
    let mut jobs = Vec::new();
    for node in case["nodesInDefinitionOrder"].as_array().expect("nodes") {
        let text = |key: &str| node[key].as_str().expect("a text").to_owned();
        let codes = node["nondeterministicElementCodes"].as_array().expect("codes");
        let nondeterministic = codes.iter().any(|code| code == "KSQL1306");
        let definition = Node {
            id: text("id"),
            job_id: text("jobId"),
            sql: String::new(),
            depends_on: Vec::new(),
            trigger_rule: "all_success".to_owned(),
            idempotent: node["idempotent"].as_bool().expect("idempotent"),
            inputs: Vec::new(),
            outputs: Vec::new(),
        };
        bundle::check_inspection(&definition, &text("inspectedJobId"), nondeterministic)?;
        jobs.push(JobInput {
            node_id: text("id"),
            job_id: text("jobId"),
            inspected_job_id: text("inspectedJobId"),
            sql: text("sql").into_bytes(),
            nondeterministic,
        });
    }
    let network_yaml = case["networkYaml"].as_str().expect("networkYaml");
    bundle::build(network_yaml.as_bytes(), &jobs)
}

fn check_bundle(case: &Value) -> Result<(), String> {
    let expected = &case["expect"];
    let built = match build(case) {
        Ok(built) => built,
        Err(error) => return expect("error", &error_value(&error), expected),
    };
    let entries = zip::read(&built.zip).map_err(|e| e.to_string())?;
    let manifest = entries.last().map(|(_, data)| *data).unwrap_or_default();
    let crcs: Vec<String> = entries
        .iter()
        .map(|(_, data)| format!("{:08x}", zip::crc32(data)))
        .collect();
    let mut got = json!({
        "zipSha256": built.sha256,
        "zipByteLength": built.zip.len(),
        "definitionSha256": sha256_hex(case["networkYaml"].as_str().unwrap().as_bytes()),
        "entryOrder": entries.iter().map(|(name, _)| name).collect::<Vec<_>>(),
        "entryCrc32": crcs,
        "manifestJson": String::from_utf8_lossy(manifest),
        "manifestSha256": sha256_hex(manifest),
    });
    if expected["zipBase64"].is_string() {
        let text = base64::engine::general_purpose::STANDARD.encode(&built.zip);
        got["zipBase64"] = json!(text);
    }
    expect("bundle", &got, expected)?;
    let contents = bundle::open(&built.zip, &built.sha256).map_err(|e| e.to_string())?;
    let nodes = case["nodesInDefinitionOrder"].as_array().unwrap();
    for node in nodes {
        let sql = contents.jobs.get(node["id"].as_str().unwrap());
        let want = node["sql"].as_str().unwrap().as_bytes();
        if sql.map(Vec::as_slice) != Some(want) {
            return Err(format!("job {} comes back as {sql:?}", node["id"]));
        }
    }
    Ok(())
}

fn write(case: &Value, data: &str) -> Vec<u8> {
    let entries: Vec<(&str, &[u8])> = case["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .map(|e| (e["name"].as_str().unwrap(), e[data].as_str().unwrap().as_bytes()))
        .collect();
    zip::write(&entries).expect("a small archive")
}

fn bytes_of_hex(text: &str) -> Vec<u8> {
    (0..text.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&text[i..i + 2], 16).expect("hex"))
        .collect()
}

fn check_raw(case: &Value) -> Result<(), String> {
    let zip = write(case, "data");
    let want = bytes_of_hex(case["zipHex"].as_str().expect("zipHex"));
    expect("bytes", &json!(zip), &json!(want))?;
    expect("hash", &json!(sha256_hex(&zip)), &case["zipSha256"])
}

fn check_reader(case: &Value) -> Result<(), String> {
    let zip = bytes_of_hex(case["zipHex"].as_str().expect("zipHex"));
    let got = match zip::read(&zip) {
        Ok(entries) => {
            let names: Vec<&str> = entries.iter().map(|(name, _)| name.as_str()).collect();
            assert_eq!(names, ["a", "b"]);
            "accepted".to_owned()
        }
        Err(error) => error.to_string(),
    };
    expect("result", &json!(got), &case["result"])
}

fn check_verify(case: &Value) -> Result<(), String> {
    let zip = write(case, "text");
    let actual = sha256_hex(&zip);
    // Only the hash of the zip is ever known to a Run; a case that expects more cannot be run.
    let known = match &case["expected"] {
        Value::Null => actual.as_str(),
        Value::Object(expected) if expected.keys().all(|key| key == "zipSha256") => {
            expected["zipSha256"].as_str().expect("a hash")
        }
        other => return Err(format!("unknown expectation {other}")),
    };
    let got = match bundle::open(&zip, known) {
        Ok(_) => json!({"ok": true}),
        Err(error) => error_value(&error),
    };
    expect("result", &got, &case["result"])
}
