//! What the runner sees of our environment (contract 10 F item 10).
//!
//! The control plane's own tokens are not the jobs' business: a job configuration may name any variable.

use std::ffi::OsStr;
use std::fmt;
use std::process::Command;

use serde_json::Value;

/// Variable that chooses the policy.
pub const CHILD_ENV: &str = "KSQL_FLOWNET_CHILD_ENV";
/// Secret values shorter than this are not searched for in foreign text: they would hide ordinary words.
const MIN_MASKED_CHARS: usize = 6;
/// Longest chain of `extends` that is followed; the runner itself refuses cycles.
const MAX_EXTENDS: usize = 32;

/// Which variables a child process inherits.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub enum EnvPolicy {
    /// Everything except the control plane's secrets.
    #[default]
    WithoutSecrets,
    /// Everything, as the original does.
    Inherit,
}

/// [`CHILD_ENV`] has a value that is not known.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct EnvPolicyError;

impl fmt::Display for EnvPolicyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{CHILD_ENV} must be 'inherit' or not set")
    }
}

impl std::error::Error for EnvPolicyError {}

impl EnvPolicy {
    /// Reads the value of [`CHILD_ENV`]; blank means the default.
    pub fn from_value(value: Option<&str>) -> Result<Self, EnvPolicyError> {
        match value.map(str::trim) {
            None | Some("") => Ok(Self::WithoutSecrets),
            Some("inherit") => Ok(Self::Inherit),
            Some(_) => Err(EnvPolicyError),
        }
    }

    /// Takes the withheld variables out of a command's environment.
    pub(super) fn apply(self, command: &mut Command) {
        if self == Self::WithoutSecrets {
            for (name, _) in std::env::vars_os().filter(|(name, _)| is_secret_name(name)) {
                command.env_remove(name);
            }
        }
    }

    /// What to tell when the runner's text names a variable that this policy withholds.
    pub fn hint(self, text: &str) -> Option<String> {
        if self == Self::Inherit {
            return None;
        }
        text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'))
            .find(|word| is_secret_name(OsStr::new(word)))
            .map(withheld)
    }

    /// The same for a runner configuration, before anything is started: does the profile, or one that it extends, refer
    /// to a withheld variable with `env:NAME`? A configuration that is not understood is left to the runner.
    pub fn configuration_hint(self, configuration: &[u8], profile: &str) -> Option<String> {
        if self == Self::Inherit {
            return None;
        }
        let root: Value = serde_json::from_slice(configuration).ok()?;
        let mut next = Some(profile);
        for _ in 0..MAX_EXTENDS {
            let object = &root["profiles"][next?];
            if let Some(name) = withheld_reference(object) {
                return Some(withheld(&name));
            }
            next = object["extends"].as_str();
        }
        None
    }
}

fn withheld(name: impl AsRef<str>) -> String {
    format!(
        "{} is not handed to the runner; give the job configuration a variable of its own, or set {CHILD_ENV}=inherit",
        name.as_ref()
    )
}

/// The first `env:NAME` below `value` that names one of our secrets.
fn withheld_reference(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => text
            .strip_prefix("env:")
            .filter(|name| is_secret_name(OsStr::new(name)))
            .map(str::to_owned),
        Value::Array(items) => items.iter().find_map(withheld_reference),
        Value::Object(members) => members.values().find_map(withheld_reference),
        _ => None,
    }
}

/// Variables that only the control plane needs and nobody else may learn.
pub fn is_secret_name(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| {
        name.starts_with("KSQL_FLOWNET_")
            && ["_TOKEN", "_PASSWORD", "_SECRET", "_BASIC_AUTH"]
                .iter()
                .any(|end| name.ends_with(end))
    })
}

/// Replaces the values of our secret variables in foreign text by `***`. `KSQL_FLOW_LOG_API_TOKEN` is handed to the
/// runner, and still never shown.
pub fn mask_secrets(text: String, vars: impl Iterator<Item = (String, String)>) -> String {
    vars.filter(|(name, value)| {
        (is_secret_name(OsStr::new(name)) || name == "KSQL_FLOW_LOG_API_TOKEN")
            && value.chars().count() >= MIN_MASKED_CHARS
    })
    .fold(text, |text, (_, value)| {
        if text.contains(&value) {
            text.replace(&value, "***")
        } else {
            text
        }
    })
}

/// [`mask_secrets`] with this process's environment.
pub(super) fn mask_own_secrets(text: String) -> String {
    mask_secrets(
        text,
        std::env::vars_os()
            .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?))),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_control_planes_own_secrets_are_withheld() {
        for name in [
            "KSQL_FLOWNET_STATE_API_TOKEN",
            "KSQL_FLOWNET_REQUEST_API_TOKEN",
            "KSQL_FLOWNET_GCP_ACCESS_TOKEN",
            "KSQL_FLOWNET_BASIC_AUTH",
        ] {
            assert!(is_secret_name(OsStr::new(name)), "{name}");
        }
        for name in [
            "KSQL_FLOW_LOG_API_TOKEN",
            "KSQL_FLOWNET_BASE_URL",
            "APP_TOKEN",
            "PATH",
        ] {
            assert!(!is_secret_name(OsStr::new(name)), "{name}");
        }
    }

    #[test]
    fn the_policy_has_one_other_value() {
        assert_eq!(EnvPolicy::from_value(None), Ok(EnvPolicy::WithoutSecrets));
        assert_eq!(EnvPolicy::from_value(Some(" ")), Ok(EnvPolicy::WithoutSecrets));
        assert_eq!(EnvPolicy::from_value(Some("inherit")), Ok(EnvPolicy::Inherit));
        assert_eq!(EnvPolicy::from_value(Some("all")), Err(EnvPolicyError));
    }

    #[test]
    fn a_withheld_name_in_the_runners_text_gives_a_hint() {
        let text = "environment variable 'KSQL_FLOWNET_STATE_API_TOKEN' is not set";
        assert!(
            EnvPolicy::WithoutSecrets
                .hint(text)
                .is_some_and(|h| h.starts_with("KSQL_FLOWNET_STATE_API_TOKEN is not"))
        );
        assert_eq!(EnvPolicy::Inherit.hint(text), None);
        assert_eq!(EnvPolicy::WithoutSecrets.hint("MY_TOKEN is not set"), None);
    }

    #[test]
    fn a_configuration_that_needs_a_withheld_variable_is_noticed_before_the_start() {
        let text = br#"{"profiles":{
            "base":{"apps":{"a":{"id":1,"tokens":["env:KSQL_FLOWNET_STATE_API_TOKEN"]}}},
            "prod":{"extends":"base","baseUrl":"x"},
            "own":{"apps":{"a":{"id":1,"tokens":["env:APP_TOKEN"]}}},
            "loop":{"extends":"loop"}}}"#;
        let policy = EnvPolicy::WithoutSecrets;
        assert!(policy.configuration_hint(text, "prod").is_some());
        for profile in ["own", "loop", "absent"] {
            assert_eq!(policy.configuration_hint(text, profile), None, "{profile}");
        }
        assert_eq!(EnvPolicy::Inherit.configuration_hint(text, "prod"), None);
        assert_eq!(policy.configuration_hint(b"{", "prod"), None);
    }

    #[test]
    fn secret_values_never_pass() {
        let vars = [
            ("KSQL_FLOWNET_STATE_API_TOKEN", "s3cretvalue"),
            ("KSQL_FLOW_LOG_API_TOKEN", "logtoken99"),
            ("KSQL_FLOWNET_AUDIT_API_TOKEN", "ab"),
            ("HOME", "/home/batch"),
        ];
        let masked = mask_secrets(
            "sent s3cretvalue and logtoken99 from /home/batch".into(),
            vars.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())),
        );
        assert_eq!(masked, "sent *** and *** from /home/batch");
    }
}
