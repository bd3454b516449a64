//! What the last batch of a profile did, kept locally for `--resume` when the log app cannot be read (RNR-82).

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::host;
use super::local_lock::{FOLDER, file_of};
use crate::flow::durable_file::{self, Existing};
use crate::flow::sql::message::{Message, say};

/// Version of the file format.
const SCHEMA_VERSION: u64 = 1;
/// Largest state file that is read, in bytes.
const MAX_BYTES: u64 = 16 << 20;

/// One batch.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct State {
    schema_version: u64,
    /// Profile.
    pub profile: String,
    /// Session id.
    pub batch_id: String,
    /// Fixed instant of the batch, ISO 8601.
    pub as_of: String,
    /// IANA zone of the profile; empty when the host's was used.
    pub timezone: String,
    /// Start, ISO 8601.
    pub started_at: String,
    /// End, ISO 8601; absent while running or after a crash.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Jobs by logical name.
    pub jobs: BTreeMap<String, JobState>,
}

/// One job of the batch.
#[derive(Clone, Debug, Default, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct JobState {
    /// Job file name.
    pub file_name: String,
    /// A status word of the log app.
    pub status: String,
    /// Start, ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<String>,
    /// End, ISO 8601.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub finished_at: Option<String>,
    /// Error text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// Why the job was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub skip_reason: Option<String>,
}

impl State {
    /// The state of a batch that starts now.
    pub fn new(profile: &str, batch_id: &str, as_of: &str, timezone: &str, started_at: &str) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            profile: profile.to_owned(),
            batch_id: batch_id.to_owned(),
            as_of: as_of.to_owned(),
            timezone: timezone.to_owned(),
            started_at: started_at.to_owned(),
            finished_at: None,
            jobs: BTreeMap::new(),
        }
    }

    /// Stores the state. It is only a fallback, so that write errors are ignored.
    pub fn store(&self) {
        let Ok(text) = serde_json::to_vec_pretty(self) else {
            return;
        };
        if fs::create_dir_all(FOLDER).is_ok() {
            let _ = durable_file::write(&file_of("state", &self.profile), &text, Existing::Replace);
        }
    }

    /// The stored state of a profile.
    ///
    /// # Errors
    /// A damaged file or one of another version, as a warning text: the caller goes on without state.
    pub fn load(profile: &str) -> Result<Option<Self>, Message> {
        let path: PathBuf = file_of("state", profile);
        let ignored = |error: &dyn std::fmt::Display| {
            let path = path.display();
            say!(
                "state file {path} ignored: {error}",
                "状態ファイル {path} を無視します: {error}"
            )
        };
        let bytes = match host::read_limited(&path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(ignored(&error)),
        };
        Self::parse(&bytes).map(Some).map_err(|error| ignored(&error))
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let state: Self = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
        if state.schema_version != SCHEMA_VERSION {
            return Err(format!(
                "schemaVersion {} is not {SCHEMA_VERSION}",
                state.schema_version
            ));
        }
        Ok(state)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_read_back() {
        let mut state = State::new(
            "prod",
            "b",
            "2026-08-01T00:00:00Z",
            "Asia/Tokyo",
            "2026-08-01T00:00:00Z",
        );
        state.jobs.insert(
            "sync".to_owned(),
            JobState {
                file_name: "01.sql".to_owned(),
                status: "FAILED".to_owned(),
                ..JobState::default()
            },
        );
        let bytes = serde_json::to_vec(&state).expect("JSON");
        assert_eq!(State::parse(&bytes), Ok(state));
        let text = String::from_utf8(bytes).expect("UTF-8");
        assert!(
            text.contains(r#""schemaVersion":1"#) && text.contains(r#""fileName":"01.sql""#),
            "{text}"
        );
        assert!(!text.contains("finishedAt"), "absent, not null: {text}");
    }

    #[test]
    fn damage_and_other_versions_are_absent_with_a_warning() {
        let state = State::new("p", "b", "a", "", "s");
        let text = serde_json::to_string(&state).expect("JSON");
        assert!(
            State::parse(text.replace(":1", ":2").as_bytes()).is_err_and(|e| e.contains("schemaVersion 2"))
        );
        assert!(State::parse(b"{").is_err());
    }
}
