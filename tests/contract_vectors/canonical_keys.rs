//! `canonical-keys.json`: R1, S1, A1, N1, J1.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ksql_flownet::flownet::key::{self, KeyError};
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use crate::support::{Tally, load};

const FILE: &str = "canonical-keys.json";

#[test]
fn keys_are_made() {
    let mut tally = Tally::default();
    for case in load(FILE)["cases"].as_array().expect("cases") {
        let id = case["id"].as_str().expect("id");
        tally.check(id, check(case));
    }
    tally.finish(FILE);
}

fn make(kind: &str, input: &Value) -> Result<String, KeyError> {
    let text = |name: &str| input[name].as_str().expect("a component");
    match kind {
        "R1" => key::run_key(text("profile"), text("networkId"), text("businessKey")),
        "S1" => key::node_state_key(text("runId"), text("nodeId")),
        // Numbers that the type cannot hold are as invalid as zero.
        "A1" => key::attempt_key(
            text("runId"),
            text("nodeId"),
            input["attemptNo"].as_u64().unwrap_or(0),
        ),
        "N1" => key::lock_key(text("profile"), text("networkId")),
        "J1" => key::job_key(text("profile"), text("jobId")),
        other => panic!("unknown kind {other}"),
    }
}

fn check(case: &Value) -> Result<(), String> {
    let kind = case["kind"].as_str().expect("kind");
    let expected = &case["expect"];
    let outcome = make(kind, &case["input"]);
    let fits = match &outcome {
        Ok(key) => {
            let preimage = bytes_of_hex(expected["preimageHex"].as_str().unwrap_or_default());
            let hash = URL_SAFE_NO_PAD.encode(Sha256::digest(preimage));
            expected["key"] == key.as_str() && *key == format!("{kind}:{hash}")
        }
        Err(error) => {
            expected["errorCode"] == error.code
                && expected["component"] == error.component
                && expected["message"] == error.message.as_str()
        }
    };
    if fits {
        Ok(())
    } else {
        Err(format!("{outcome:?}, expected {expected}"))
    }
}

fn bytes_of_hex(hex: &str) -> Vec<u8> {
    (0..hex.len())
        .step_by(2)
        .map(|i| u8::from_str_radix(&hex[i..i + 2], 16).expect("hex"))
        .collect()
}
