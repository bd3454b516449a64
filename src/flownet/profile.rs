//! What the runner says about itself and about a profile: the shapes of `capabilities` and `describe-profile`
//! (RUN-04), the required capabilities (RUN-05), and the snapshot that ties a Run to its profile (RUN-10, RUN-11).

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::flownet::canonical_json::{StrictError, number_text, parse_strict, sha256_hex, to_text};
use crate::flownet::rule::result::safe_integer;

/// The contract between control plane and runner.
pub const EXECUTION_CONTRACT: &str = "ksql-flow.execution/v1";

/// Features that every network needs, in the order in which missing ones are listed.
const REQUIRED_FEATURES: [&str; 5] = [
    "resultJson",
    "correlationIds",
    "describeProfile",
    "inspectJob",
    "durableExecutionStarted",
];
const IMPORT_FEATURE: &str = "importCsv";
const EXPORT_FEATURE: &str = "resultCsv";

/// Why the runner's answer cannot be used.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ProfileError {
    /// stdout of this command is not exactly one JSON value.
    InvalidJson {
        /// `capabilities` or `describe-profile`.
        command: &'static str,
    },
    /// The JSON value has another form, repeats a key, or uses `__proto__`.
    OutputInvalid {
        /// `capabilities` or `describe-profile`.
        command: &'static str,
        /// The expected `kind`.
        kind: &'static str,
    },
    /// The runner does not speak our contract.
    ContractMissing,
    /// Features that are not exactly `true`.
    FeatureMissing(Vec<&'static str>),
    /// The description is that of another profile, or lacks what a Run needs.
    DescriptionInvalid(String),
    /// A stored snapshot is not one (REC-12).
    SnapshotInvalid(String),
}

impl ProfileError {
    /// Stable code.
    pub fn code(&self) -> &'static str {
        match self {
            Self::InvalidJson { .. } => "KSQL_FLOW_INVALID_JSON",
            Self::OutputInvalid { .. } => "KSQL_FLOW_OUTPUT_INVALID",
            Self::ContractMissing => "CAPABILITY_CONTRACT_MISSING",
            Self::FeatureMissing(_) => "CAPABILITY_FEATURE_MISSING",
            Self::DescriptionInvalid(_) => "PROFILE_DESCRIPTION_INVALID",
            Self::SnapshotInvalid(_) => "RUN_SNAPSHOT_MISMATCH",
        }
    }
}

impl std::fmt::Display for ProfileError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::InvalidJson { command } => {
                write!(f, "kSQL-Flow {command} returned invalid JSON")
            }
            Self::OutputInvalid { command, kind } => write!(
                f,
                "kSQL-Flow {command} output does not match {kind} formatVersion 1"
            ),
            Self::ContractMissing => write!(
                f,
                "required execution contract '{EXECUTION_CONTRACT}' is not supported"
            ),
            Self::FeatureMissing(names) => write!(
                f,
                "required capability features are not true: {}",
                names.join(", ")
            ),
            Self::DescriptionInvalid(text) | Self::SnapshotInvalid(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for ProfileError {}

/// Output of `capabilities --json`.
#[derive(Clone, PartialEq, Debug)]
pub struct Capabilities {
    /// Version of the runner; recorded, never compared (RUN-12).
    pub ksql_flow_version: String,
    /// Version of its engine; recorded, never compared.
    pub engine_version: String,
    /// Contracts it speaks.
    pub contracts: Vec<String>,
    /// Features: `true`, `false` or a text.
    pub features: BTreeMap<String, Value>,
}

/// Reads stdout of `capabilities --json`. Unknown keys are allowed.
pub fn parse_capabilities(stdout: &[u8]) -> Result<Capabilities, ProfileError> {
    const COMMAND: &str = "capabilities";
    const KIND: &str = "CAPABILITIES";
    let value: Value =
        serde_json::from_slice(stdout).map_err(|_| ProfileError::InvalidJson { command: COMMAND })?;
    capabilities(&value, KIND).ok_or(ProfileError::OutputInvalid {
        command: COMMAND,
        kind: KIND,
    })
}

fn capabilities(value: &Value, kind: &str) -> Option<Capabilities> {
    has_form(value, kind)?;
    let schema = value.get("resultSchema")?;
    text(schema, "$id")?;
    text(schema, "contract")?;
    let contracts = value.get("executionContracts")?.as_array()?;
    let features = value.get("features")?.as_object()?;
    if !features.values().all(|f| f.is_boolean() || f.is_string()) {
        return None;
    }
    Some(Capabilities {
        ksql_flow_version: text(value, "ksqlFlowVersion")?,
        engine_version: text(value, "engineVersion")?,
        contracts: contracts
            .iter()
            .map(|c| c.as_str().map(str::to_owned))
            .collect::<Option<_>>()?,
        features: features.iter().map(|(k, v)| (k.clone(), v.clone())).collect(),
    })
}

/// Contract and features that the network needs (RUN-05, step 4).
pub fn check_capabilities(
    capabilities: &Capabilities,
    needs_import: bool,
    needs_export: bool,
) -> Result<(), ProfileError> {
    if !capabilities.contracts.iter().any(|c| c == EXECUTION_CONTRACT) {
        return Err(ProfileError::ContractMissing);
    }
    let optional = [(needs_import, IMPORT_FEATURE), (needs_export, EXPORT_FEATURE)];
    let missing: Vec<&'static str> = REQUIRED_FEATURES
        .into_iter()
        .chain(optional.into_iter().filter(|o| o.0).map(|o| o.1))
        .filter(|name| capabilities.features.get(*name) != Some(&Value::Bool(true)))
        .collect();
    if missing.is_empty() {
        Ok(())
    } else {
        Err(ProfileError::FeatureMissing(missing))
    }
}

/// Output of `describe-profile --json`; never holds a secret.
#[derive(Clone, PartialEq, Debug)]
pub struct Description {
    /// The whole object, unknown fields included: the hash covers all of it.
    value: Value,
    /// Name of the profile.
    pub profile: String,
    /// Base URL without trailing slash.
    pub base_url: String,
    /// Guest space, or JSON null.
    pub guest_space_id: Value,
    /// Zone of the profile.
    pub timezone: Option<String>,
    /// App ids by logical name.
    pub apps: Map<String, Value>,
    limits: Map<String, Value>,
}

/// Reads stdout of `describe-profile --json`. Unknown keys are allowed; repeated ones and `__proto__` are not,
/// because two programs could understand them differently (item 23).
pub fn parse_description(stdout: &[u8]) -> Result<Description, ProfileError> {
    const COMMAND: &str = "describe-profile";
    const KIND: &str = "PROFILE_DESCRIPTION";
    let invalid = ProfileError::OutputInvalid {
        command: COMMAND,
        kind: KIND,
    };
    let value = match parse_strict(stdout) {
        Ok(value) => value,
        Err(StrictError::Syntax(_)) => {
            return Err(ProfileError::InvalidJson { command: COMMAND });
        }
        Err(StrictError::Key(_)) => return Err(invalid),
    };
    description(value, KIND).ok_or(invalid)
}

fn description(value: Value, kind: &str) -> Option<Description> {
    has_form(&value, kind)?;
    let guest_space_id = value.get("guestSpaceId")?;
    let timezone = value.get("timezone")?;
    let apps = value.get("apps")?.as_object()?;
    let limits = value.get("limits")?.as_object()?;
    let retry = value.get("retry")?;
    let log_app = value.get("logApp")?;
    let log_app_fits = log_app.is_null()
        || (text(log_app, "name").is_some() && log_app.get("appId").is_some_and(is_safe_integer));
    let retry_fits = ["initialDelayMs", "maxAttempts", "maxDelayMs"]
        .iter()
        .all(|key| retry.get(key).is_some_and(Value::is_number))
        && retry.get("respectRetryAfter")?.is_boolean();
    let fits = (guest_space_id.is_null() || is_safe_integer(guest_space_id))
        && (timezone.is_null() || timezone.is_string())
        && apps.values().all(is_safe_integer)
        && limits.values().all(|v| v.is_null() || v.is_number())
        && log_app_fits
        && retry_fits
        && value.get("httpTimeoutMs")?.is_number();
    if !fits {
        return None;
    }
    Some(Description {
        profile: text(&value, "profile")?,
        base_url: text(&value, "baseUrl")?,
        guest_space_id: guest_space_id.clone(),
        timezone: timezone.as_str().map(str::to_owned),
        apps: apps.clone(),
        limits: limits.clone(),
        value,
    })
}

fn has_form(value: &Value, kind: &str) -> Option<()> {
    let fits = value.get("formatVersion")?.as_f64() == Some(1.0) && value.get("kind")?.as_str() == Some(kind);
    fits.then_some(())
}

fn text(value: &Value, key: &str) -> Option<String> {
    value.get(key)?.as_str().map(str::to_owned)
}

fn is_safe_integer(value: &Value) -> bool {
    safe_integer(value).is_some()
}

impl Description {
    /// The canonical text of the whole description (RUN-10).
    pub fn canonical_json(&self) -> String {
        to_text(&self.value)
    }

    /// `resolved_profile_sha256`: the hash of that text (RUN-11).
    pub fn sha256(&self) -> String {
        sha256_hex(self.canonical_json().as_bytes())
    }

    /// Id of the app that the runner logs to; `None` when it has none.
    pub fn log_app_id(&self) -> Option<u64> {
        self.value
            .get("logApp")?
            .get("appId")?
            .as_f64()
            .map(|id| id as u64)
    }

    /// Refuses the description of another profile (RUN-06).
    pub fn check_profile(&self, expected: &str) -> Result<(), ProfileError> {
        if self.profile == expected {
            Ok(())
        } else {
            Err(ProfileError::DescriptionInvalid(format!(
                "describe-profile returned profile '{}'; expected '{expected}'",
                self.profile
            )))
        }
    }

    /// What a new Run stores. Called before anything is uploaded (item 25); refuses a description without time zone
    /// or one of the three limits (RUN-06).
    pub fn snapshot(&self) -> Result<Snapshot, ProfileError> {
        let missing = || {
            ProfileError::DescriptionInvalid(
                "describe-profile is missing timezone or required limits".to_owned(),
            )
        };
        let limit = |key: &str| self.limits.get(key).map(Value::as_f64).ok_or_else(missing);
        Ok(Snapshot {
            profile: self.profile.clone(),
            base_url: self.base_url.clone(),
            guest_space_id: self.guest_space_id.clone(),
            timezone: self.timezone.clone().ok_or_else(missing)?,
            apps: self.apps.clone(),
            max_api_calls: limit("maxApiCalls")?,
            max_read_rows: limit("maxReadRows")?,
            batch_timeout_sec: limit("batchTimeoutSec")?,
        })
    }
}

/// `resolved_profile_snapshot` of a Run (REC-12). A limit is `None` when the profile sets none.
#[derive(Clone, PartialEq, Debug)]
pub struct Snapshot {
    /// Name of the profile.
    pub profile: String,
    /// Base URL.
    pub base_url: String,
    /// Guest space, or JSON null.
    pub guest_space_id: Value,
    /// Zone.
    pub timezone: String,
    /// App ids by logical name.
    pub apps: Map<String, Value>,
    /// kintone requests per job.
    pub max_api_calls: Option<f64>,
    /// Rows read per job.
    pub max_read_rows: Option<f64>,
    /// Seconds per job (RUN-17).
    pub batch_timeout_sec: Option<f64>,
}

impl Snapshot {
    /// The stored JSON text: keys in the order of REC-12.
    pub fn to_json(&self) -> String {
        let string = |text: &str| to_text(&Value::String(text.to_owned()));
        let limit = |limit: Option<f64>| limit.map_or_else(|| "null".to_owned(), number_text);
        format!(
            "{{\"profile\":{},\"base_url\":{},\"guest_space_id\":{},\"timezone\":{},\"apps\":{},\"limits\":\
             {{\"max_api_calls\":{},\"max_read_rows\":{},\"batch_timeout_sec\":{}}}}}",
            string(&self.profile),
            string(&self.base_url),
            to_text(&self.guest_space_id),
            string(&self.timezone),
            to_text(&Value::Object(self.apps.clone())),
            limit(self.max_api_calls),
            limit(self.max_read_rows),
            limit(self.batch_timeout_sec),
        )
    }

    /// Reads a stored snapshot.
    pub fn parse(json: &str) -> Result<Self, ProfileError> {
        serde_json::from_str(json)
            .ok()
            .and_then(|value: Value| Self::from_value(&value))
            .ok_or_else(|| {
                ProfileError::SnapshotInvalid(
                    "resolved_profile_snapshot of the Run is not a profile snapshot".to_owned(),
                )
            })
    }

    fn from_value(value: &Value) -> Option<Self> {
        let limits = value.get("limits")?;
        let limit = |key: &str| match limits.get(key)? {
            Value::Null => Some(None),
            Value::Number(n) => n.as_f64().map(Some),
            _ => None,
        };
        Some(Self {
            profile: text(value, "profile")?,
            base_url: text(value, "base_url")?,
            guest_space_id: value.get("guest_space_id")?.clone(),
            timezone: text(value, "timezone")?,
            apps: value.get("apps")?.as_object()?.clone(),
            max_api_calls: limit("max_api_calls")?,
            max_read_rows: limit("max_read_rows")?,
            batch_timeout_sec: limit("batch_timeout_sec")?,
        })
    }
}

/// Names of what differs between a Run's profile and the current one, in the order of RUN-11; empty when the Run may
/// go on.
pub fn compare(stored: &Snapshot, stored_sha256: &str, current: &Description) -> Vec<&'static str> {
    let object = |map: &Map<String, Value>| to_text(&Value::Object(map.clone()));
    let differences = [
        ("canonicalJsonSha256", stored_sha256 != current.sha256()),
        ("baseUrl", stored.base_url != current.base_url),
        (
            "guestSpaceId",
            to_text(&stored.guest_space_id) != to_text(&current.guest_space_id),
        ),
        ("timezone", Some(&stored.timezone) != current.timezone.as_ref()),
        ("apps", object(&stored.apps) != object(&current.apps)),
    ];
    differences
        .into_iter()
        .filter(|(_, differs)| *differs)
        .map(|(name, _)| name)
        .collect()
}

/// The text of `PROFILE_SNAPSHOT_MISMATCH` (RUN-11).
pub fn mismatch_text(differences: &[&'static str]) -> String {
    format!(
        "resolved profile differs from snapshot: {}",
        differences.join(", ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    const DESCRIPTION: &str = r#"{"formatVersion":1,"kind":"PROFILE_DESCRIPTION","profile":"prod",
        "baseUrl":"https://example.cybozu.com","guestSpaceId":null,"timezone":"Asia/Tokyo","apps":{"b":2,"a":1},
        "logApp":null,"limits":{"maxApiCalls":5000,"maxReadRows":1e5,"batchTimeoutSec":null},
        "retry":{"initialDelayMs":1,"maxAttempts":1,"maxDelayMs":1,"respectRetryAfter":true},"httpTimeoutMs":1}"#;

    fn description(text: &str) -> Description {
        parse_description(text.as_bytes()).expect("a description")
    }

    #[test]
    fn the_snapshot_has_the_key_order_of_the_record_contract_and_is_read_back() {
        let snapshot = description(DESCRIPTION).snapshot().expect("complete");
        let json = snapshot.to_json();
        assert_eq!(
            json,
            r#"{"profile":"prod","base_url":"https://example.cybozu.com","guest_space_id":null,"timezone":"Asia/Tokyo","apps":{"a":1,"b":2},"limits":{"max_api_calls":5000,"max_read_rows":100000,"batch_timeout_sec":null}}"#
        );
        let read = Snapshot::parse(&json).expect("own text");
        assert_eq!(read.to_json(), json);
        let current = description(DESCRIPTION);
        assert!(compare(&read, &current.sha256(), &current).is_empty());
    }

    #[test]
    fn a_profile_without_zone_or_limit_makes_no_run() {
        for (from, to) in [
            (r#""timezone":"Asia/Tokyo""#, r#""timezone":null"#),
            (r#""maxApiCalls":5000,"#, ""),
        ] {
            let result = description(&DESCRIPTION.replace(from, to)).snapshot();
            assert_eq!(result.map_err(|e| e.code()), Err("PROFILE_DESCRIPTION_INVALID"));
        }
    }

    #[test]
    fn another_profile_is_refused() {
        assert!(description(DESCRIPTION).check_profile("prod").is_ok());
        assert!(description(DESCRIPTION).check_profile("test").is_err());
    }

    #[test]
    fn a_broken_stored_snapshot_is_an_error_not_a_difference() {
        for text in ["", "{}", r#"{"profile":"p"}"#] {
            assert!(Snapshot::parse(text).is_err(), "{text}");
        }
    }
}
