//! Has an execution of a Cloud Run job ended? Asked at the Cloud Run Admin API v2 (OPR-23).

use serde_json::Value;

use crate::flownet::time::Timestamp;
use crate::kintone::{BaseUrl, Config, Secret, bearer};

/// Where the API lives.
pub const ADDRESS: &str = "https://run.googleapis.com";

/// States of an execution that has ended.
const ENDED: [&str; 3] = ["SUCCEEDED", "FAILED", "CANCELLED"];

/// Access to the API.
#[derive(Clone)]
pub struct Api {
    /// Transport settings; the address is that of the API.
    pub config: Config,
    /// `KSQL_FLOWNET_GCP_ACCESS_TOKEN`.
    pub token: Secret,
}

impl Api {
    /// The API as an operator reaches it; `address` replaces the public one for a stand-in on this machine only.
    ///
    /// # Errors
    /// The address is neither the public one nor a loopback address.
    pub fn new(transport: &Config, address: Option<&str>, token: Secret) -> Result<Self, String> {
        let base_url = BaseUrl::parse(address.unwrap_or(ADDRESS)).map_err(|e| e.to_string())?;
        if address.is_some() && base_url.is_https() {
            return Err("only an http address of this machine may replace the Cloud Run API".to_owned());
        }
        Ok(Self {
            config: Config {
                base_url,
                guest_space: None,
                basic_auth: None,
                ..transport.clone()
            },
            token,
        })
    }
}

/// Is this the full name of an execution?
fn is_execution(name: &str) -> bool {
    let parts: Vec<&str> = name.split('/').collect();
    let plain = |part: &str| {
        !part.is_empty()
            && part != "."
            && part != ".."
            && part
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"-_.:".contains(&b))
    };
    matches!(parts[..], ["projects", p, "locations", l, "jobs", j, "executions", e]
        if [p, l, j, e].into_iter().all(plain))
}

/// Confirms that the execution `name` has ended; tells what was seen, or why it is not confirmed.
///
/// # Errors
/// Anything that is not a clear answer of the API about this very execution.
pub fn confirm(api: &Api, name: &str) -> Result<String, String> {
    if !is_execution(name) {
        return Err(format!(
            "'{name}' is not projects/<project>/locations/<location>/jobs/<job>/executions/<execution>"
        ));
    }
    let (status, body) = bearer::get(&api.config, &format!("/v2/{name}"), &api.token)
        .map_err(|e| format!("the Cloud Run API did not answer: {e}"))?;
    if status != 200 {
        return Err(format!("the Cloud Run API answered with HTTP {status}"));
    }
    let execution: Value =
        serde_json::from_slice(&body).map_err(|_| "the Cloud Run API did not answer with JSON".to_owned())?;
    judge(&execution, name)
}

/// OPR-23: the same name, a completion time, and no state that says otherwise.
fn judge(execution: &Value, name: &str) -> Result<String, String> {
    let text = |path: &str| execution.pointer(path).and_then(Value::as_str);
    if text("/name") != Some(name) {
        return Err("the Cloud Run API answered about another execution".to_owned());
    }
    let Some(completed) = text("/completionTime").filter(|t| is_instant(t)) else {
        return Err("the execution has no completion time".to_owned());
    };
    let state = ["/state", "/status", "/terminalCondition/state"]
        .into_iter()
        .find_map(|path| execution.pointer(path));
    let state = match state {
        None | Some(Value::Null) => "none",
        Some(Value::String(state)) => state
            .strip_prefix("CONDITION_")
            .unwrap_or(state)
            .trim_start_matches("EXECUTION_"),
        Some(_) => return Err("the state of the execution is not a text".to_owned()),
    };
    if state != "none" && !ENDED.contains(&state) {
        return Err(format!("the execution is {state}"));
    }
    Ok(format!(
        "Cloud Run execution {name}: completionTime {completed}, state {state}"
    ))
}

/// Google's times may have nine digits after the second.
fn is_instant(text: &str) -> bool {
    let cut = match text.split_once('.') {
        Some((head, tail)) => {
            let digits = tail.bytes().take_while(u8::is_ascii_digit).count();
            if digits == 0 || digits > 9 {
                return false;
            }
            format!("{head}{}", &tail[digits..])
        }
        None => text.to_owned(),
    };
    Timestamp::parse(&cut).is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NAME: &str = "projects/p/locations/asia-northeast1/jobs/nightly/executions/nightly-x1";

    #[test]
    fn only_a_full_name_is_asked_for() {
        assert!(is_execution(NAME));
        for name in [
            "",
            "projects/p/locations/l/jobs/j",
            "projects/p/locations/l/jobs/j/executions/",
            "projects/p/locations/l/jobs/j/executions/e/x",
            "projects/../locations/l/jobs/j/executions/e",
            "projects/p/locations/l/jobs/j/executions/e?x=1",
            "projects/p/locations/l/jobs/j/executions/e\r\nx",
        ] {
            assert!(!is_execution(name), "{name:?}");
        }
    }

    #[test]
    fn an_end_needs_a_time_and_a_state_that_agrees() {
        let ended = |more: Value| {
            let mut value = json!({"name": NAME, "completionTime": "2026-08-29T10:00:00.123456789Z"});
            for (key, member) in more.as_object().expect("an object") {
                value[key.as_str()] = member.clone();
            }
            judge(&value, NAME)
        };
        assert!(ended(json!({})).is_ok());
        for state in ENDED {
            assert!(ended(json!({"state": state})).is_ok());
            assert!(ended(json!({"terminalCondition": {"state": format!("CONDITION_{state}")}})).is_ok());
        }
        for more in [
            json!({"name": "projects/p/locations/l/jobs/j/executions/other"}),
            json!({"completionTime": null}),
            json!({"completionTime": "soon"}),
            json!({"state": "RUNNING"}),
            json!({"status": "PENDING"}),
            json!({"terminalCondition": {"state": "CONDITION_RECONCILING"}}),
            json!({"state": 3}),
        ] {
            assert!(ended(more.clone()).is_err(), "{more}");
        }
    }

    #[test]
    fn another_address_must_be_this_machine() {
        let transport = Config::new(BaseUrl::parse("https://example.cybozu.com").expect("an address"));
        let api = |address| Api::new(&transport, address, Secret::new("t"));
        assert!(api(None).is_ok_and(|a| a.config.base_url.as_str() == ADDRESS));
        assert!(api(Some("http://127.0.0.1:1")).is_ok());
        assert!(api(Some("https://example.com")).is_err());
        assert!(api(Some("http://example.com")).is_err());
    }
}
