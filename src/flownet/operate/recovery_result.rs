//! The LOCK_RECOVERY_RESULT that the runner's own command prints when it releases a job lock (OPR-18).

use serde_json::{Map, Value};

use super::is_blank;
use crate::flownet::ordered_json::{Json, Object};
use crate::flownet::time::Timestamp;

/// A checked result. Unknown keys are gone.
#[derive(Clone, PartialEq, Debug)]
pub struct RecoveryResult {
    /// `<profile>:<job_id>`.
    pub job_key: String,
    /// RELEASED, NOT_FOUND, NOT_RUNNING, CONFLICT or UNCONFIRMED.
    pub outcome: String,
    members: Object,
}

const OUTCOMES: [&str; 5] = ["RELEASED", "NOT_FOUND", "NOT_RUNNING", "CONFLICT", "UNCONFIRMED"];

impl RecoveryResult {
    /// Checks the value of a result file. The error names the first thing that is wrong.
    pub fn parse(value: &Value) -> Result<Self, String> {
        let object = value.as_object().ok_or("it is not a JSON object")?;
        let wrong = |key: &str| format!("its {key} is missing or wrong");
        let text = |key: &str| {
            object
                .get(key)
                .and_then(Value::as_str)
                .filter(|t| !is_blank(t))
                .map(str::to_owned)
                .ok_or_else(|| wrong(key))
        };
        if object.get("kind") != Some(&Value::from("LOCK_RECOVERY_RESULT")) {
            return Err(wrong("kind"));
        }
        if object.get("formatVersion").and_then(Value::as_f64) != Some(1.0) {
            return Err(wrong("formatVersion"));
        }
        let job_key = text("jobKey")?;
        let outcome = text("outcome")?;
        if !OUTCOMES.contains(&outcome.as_str()) {
            return Err(wrong("outcome"));
        }
        let record_id = match object.get("recordId") {
            Some(Value::Null) => Json::Null,
            _ => text("recordId")?.into(),
        };
        let before = match object.get("before") {
            Some(Value::Null) => Json::Null,
            Some(Value::Object(before)) => lock_before(before).ok_or_else(|| wrong("before"))?,
            _ => return Err(wrong("before")),
        };
        let executed_at = text("executedAt")?;
        if Timestamp::parse(&executed_at).is_none() {
            return Err(wrong("executedAt"));
        }
        let next_action = match object.get("nextAction") {
            None => None,
            Some(_) => Some(text("nextAction")?),
        };
        let fits = match outcome.as_str() {
            "NOT_FOUND" => record_id == Json::Null && before == Json::Null,
            "UNCONFIRMED" => true,
            _ => record_id != Json::Null && before != Json::Null,
        };
        if !fits {
            return Err(format!(
                "its recordId and before do not fit the outcome {outcome}"
            ));
        }
        let members = Object::new()
            .with("kind", "LOCK_RECOVERY_RESULT")
            .with("formatVersion", 1_u64)
            .with("jobKey", job_key.as_str())
            .with("recordId", record_id)
            .with("outcome", outcome.as_str())
            .with("before", before)
            .with("executedAt", executed_at)
            .with_some("nextAction", next_action);
        Ok(Self {
            job_key,
            outcome,
            members,
        })
    }

    /// The value as it goes into the audit.
    pub fn to_object(&self) -> Object {
        self.members.clone()
    }
}

/// `{batchId, startedAt, host}`, all texts.
fn lock_before(before: &Map<String, Value>) -> Option<Json> {
    let text = |key: &str| before.get(key).and_then(Value::as_str);
    let known = Object::new()
        .with("batchId", text("batchId")?)
        .with("startedAt", text("startedAt")?)
        .with("host", text("host")?);
    Some(known.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn good() -> Value {
        json!({
            "kind": "LOCK_RECOVERY_RESULT", "formatVersion": 1, "jobKey": "prod:load", "recordId": "12",
            "outcome": "RELEASED", "before": {"batchId": "b", "startedAt": "2026-08-29T10:00:00Z", "host": "h", "pid": 7},
            "executedAt": "2026-08-29T11:00:00.000Z", "secret": "dropped",
        })
    }

    fn with(changes: &[(&str, Value)]) -> Result<RecoveryResult, String> {
        let mut value = good();
        for (key, change) in changes {
            value[*key] = change.clone();
        }
        RecoveryResult::parse(&value)
    }

    #[test]
    fn known_keys_are_kept_in_the_order_of_the_contract() {
        let result = RecoveryResult::parse(&good()).expect("good");
        assert_eq!(
            (result.job_key.as_str(), result.outcome.as_str()),
            ("prod:load", "RELEASED")
        );
        assert_eq!(
            Json::from(result.to_object()).compact(),
            r#"{"kind":"LOCK_RECOVERY_RESULT","formatVersion":1,"jobKey":"prod:load","recordId":"12","outcome":"RELEASED","before":{"batchId":"b","startedAt":"2026-08-29T10:00:00Z","host":"h"},"executedAt":"2026-08-29T11:00:00.000Z"}"#
        );
        let next = with(&[("outcome", json!("UNCONFIRMED")), ("nextAction", json!("look"))]).expect("good");
        assert!(
            Json::from(next.to_object())
                .compact()
                .ends_with(r#","nextAction":"look"}"#)
        );
    }

    #[test]
    fn the_outcome_says_what_must_be_known_of_the_lock() {
        let null = || json!(null);
        for outcome in OUTCOMES {
            let full = with(&[("outcome", json!(outcome))]).is_ok();
            let empty = with(&[
                ("outcome", json!(outcome)),
                ("recordId", null()),
                ("before", null()),
            ])
            .is_ok();
            let half = with(&[("outcome", json!(outcome)), ("recordId", null())]).is_ok();
            let expected = match outcome {
                "NOT_FOUND" => (false, true, false),
                "UNCONFIRMED" => (true, true, true),
                _ => (true, false, false),
            };
            assert_eq!((full, empty, half), expected, "{outcome}");
        }
    }

    #[test]
    fn every_wrong_value_is_named() {
        for (key, wrong) in [
            ("kind", json!("OTHER")),
            ("formatVersion", json!(2)),
            ("formatVersion", json!("1")),
            ("jobKey", json!(" ")),
            ("outcome", json!("DONE")),
            ("recordId", json!(12)),
            ("before", json!({"batchId": "b"})),
            ("before", json!([])),
            ("executedAt", json!("yesterday")),
            ("nextAction", json!("")),
            ("nextAction", json!(null)),
        ] {
            let error = with(&[(key, wrong.clone())]).expect_err("wrong");
            assert!(error.contains(key), "{key} {wrong}: {error}");
        }
        for value in [json!(null), json!([]), json!("x"), json!({})] {
            assert!(RecoveryResult::parse(&value).is_err());
        }
    }
}
