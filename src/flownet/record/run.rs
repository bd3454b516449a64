//! NETWORK_RUN: one per profile, network and business key, for ever (REC-11).

use serde_json::Value;

use super::read::{DecodeError, Reader};
use super::status::{Lifecycle, RunStatus};
use crate::flownet::key;
use crate::flownet::time::Timestamp;
use crate::kintone::{Fields, Record};

/// Record type text.
pub const RECORD_TYPE: &str = "NETWORK_RUN";

/// A Run as stored.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Run {
    /// kintone's record number; 0 before it was read.
    pub record_id: u64,
    /// kintone's revision.
    pub revision: u64,
    /// R1 key, which is also the record key.
    pub record_key: String,
    /// `netrun_<uuid>`.
    pub run_id: String,
    /// As in the definition.
    pub network_id: String,
    /// As given, not normalised (KEY-09).
    pub business_key: String,
    /// Limit of unfinished Runs when this one was made.
    pub max_active_runs: u64,
    /// Last written aggregate.
    pub status: RunStatus,
    /// Archived Runs are out of work.
    pub lifecycle: Lifecycle,
    /// Always true on Runs that we know.
    pub resume_allowed: bool,
    /// `--scheduled-for` as stored, or empty.
    pub as_of: String,
    /// Version of the definition format.
    pub definition_schema_version: u64,
    /// Hex SHA-256 of the YAML bytes.
    pub definition_sha256: String,
    /// Hex SHA-256 of the bundle zip.
    pub bundle_sha256: String,
    /// Upload key before the insert, download key after a read (REC-13).
    pub bundle_file_key: String,
    /// JSON text (REC-12).
    pub profile_snapshot: String,
    /// Hash of the whole profile description.
    pub profile_sha256: String,
    /// From the runner's capabilities.
    pub ksql_flow_version: String,
    /// From the runner's capabilities.
    pub engine_version: String,
    /// The one dialect of all jobs.
    pub dialect: u64,
    /// As stored.
    pub created_at: String,
    /// As stored, empty before the first node.
    pub started_at: String,
    /// As stored, empty while unfinished.
    pub finished_at: String,
    /// As stored.
    pub updated_at: String,
}

/// The profile named in a stored snapshot.
fn profile_in(snapshot: &str) -> Option<String> {
    let value: Value = serde_json::from_str(snapshot).ok()?;
    value.get("profile").and_then(Value::as_str).map(str::to_owned)
}

/// A Run that cannot be understood, with what can be read of it: other Runs go on, and this one can be closed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DamagedRun {
    /// What is damaged.
    pub error: DecodeError,
    /// kintone's revision.
    pub revision: u64,
    /// As stored.
    pub record_key: String,
    /// As stored.
    pub run_id: String,
    /// As stored.
    pub network_id: String,
    /// As stored.
    pub business_key: String,
    /// From the snapshot, if it can be read.
    pub profile: Option<String>,
    /// As stored.
    pub status: String,
    /// As stored.
    pub lifecycle: String,
}

impl DamagedRun {
    /// What can be read of `record`, which `error` says cannot be a [`Run`].
    pub fn from_record(record: &Record, error: DecodeError) -> Self {
        let text = |field: &str| record.text(field).to_owned();
        Self {
            error,
            revision: record.revision(),
            record_key: text("record_key"),
            run_id: text("run_id"),
            network_id: text("network_id"),
            business_key: text("business_key"),
            profile: profile_in(record.text("resolved_profile_snapshot")),
            status: text("status"),
            lifecycle: text("lifecycle_status"),
        }
    }

    /// Is it a Run of this network and profile? Its key tells, and without it what else names them.
    pub fn belongs(&self, profile: &str, network_id: &str) -> bool {
        let derived = key::run_key(profile, network_id, &self.business_key);
        let named = self.profile.as_deref() == Some(profile) && self.network_id == network_id;
        named || derived.is_ok_and(|key| key == self.record_key)
    }

    /// Closed by an archive, as far as can be read.
    pub fn is_archived(&self) -> bool {
        self.lifecycle == Lifecycle::Archived.as_str()
    }

    /// Does it count for `max_active_runs`? What cannot be read is taken for unfinished.
    pub fn is_unfinished(&self) -> bool {
        !self.is_archived() && self.status != RunStatus::Success.as_str()
    }

    /// What an archive write relies on (D-09).
    pub fn archive_basis(&self) -> Fields {
        Fields::new()
            .text("lifecycle_status", &self.lifecycle)
            .text("status", &self.status)
    }
}

impl Run {
    /// The record to insert.
    pub fn to_fields(&self) -> Fields {
        self.own_fields()
            .file("source_bundle_attachment", &self.bundle_file_key)
    }

    /// All fields but the attachment, whose file key is another one at every read.
    pub fn own_fields(&self) -> Fields {
        Fields::new()
            .text("record_key", &self.record_key)
            .text("record_type", RECORD_TYPE)
            .text("run_id", &self.run_id)
            .text("network_id", &self.network_id)
            .text("business_key", &self.business_key)
            .number("max_active_runs", self.max_active_runs)
            .text("status", self.status.as_str())
            .text("lifecycle_status", self.lifecycle.as_str())
            .text(
                "resume_allowed",
                if self.resume_allowed { "true" } else { "false" },
            )
            .text("as_of", &self.as_of)
            .number("definition_schema_version", self.definition_schema_version)
            .text("definition_sha256", &self.definition_sha256)
            .text("source_bundle_sha256", &self.bundle_sha256)
            .text("resolved_profile_snapshot", &self.profile_snapshot)
            .text("resolved_profile_sha256", &self.profile_sha256)
            .text("ksql_flow_version", &self.ksql_flow_version)
            .text("engine_version", &self.engine_version)
            .number("dialect", self.dialect)
            .text("created_at", &self.created_at)
            .text("started_at", &self.started_at)
            .text("finished_at", &self.finished_at)
            .text("updated_at", &self.updated_at)
    }

    /// The fields of an aggregate write (WRT-02).
    pub fn aggregate_fields(&self) -> Fields {
        Fields::new()
            .text("status", self.status.as_str())
            .text("started_at", &self.started_at)
            .text("finished_at", &self.finished_at)
            .text("updated_at", &self.updated_at)
    }

    /// The fields of an archive write (WRT-03).
    pub fn archive_fields(now: Timestamp) -> Fields {
        Fields::new()
            .text("lifecycle_status", Lifecycle::Archived.as_str())
            .text("updated_at", now.iso_ms())
    }

    /// Reads a stored Run.
    pub fn from_record(record: &Record) -> Result<Self, DecodeError> {
        let r = Reader::new(record, RECORD_TYPE);
        let snapshot = r.required("resolved_profile_snapshot")?;
        if profile_in(&snapshot).is_none() {
            return Err(r.broken("resolved_profile_snapshot", "is not JSON with a profile"));
        }
        Ok(Self {
            record_id: record.id(),
            revision: record.revision(),
            record_key: r.required("record_key")?,
            run_id: r.required("run_id")?,
            network_id: r.required("network_id")?,
            business_key: r.required("business_key")?,
            max_active_runs: r.count("max_active_runs")?,
            status: r.option("status", RunStatus::parse)?,
            lifecycle: r.option("lifecycle_status", Lifecycle::parse)?,
            resume_allowed: r.flag("resume_allowed"),
            as_of: r.text("as_of"),
            definition_schema_version: r.count("definition_schema_version")?,
            definition_sha256: r.required("definition_sha256")?,
            bundle_sha256: r.required("source_bundle_sha256")?,
            bundle_file_key: record
                .file_keys("source_bundle_attachment")
                .first()
                .map(|key| (*key).to_owned())
                .unwrap_or_default(),
            profile_snapshot: snapshot,
            profile_sha256: r.required("resolved_profile_sha256")?,
            ksql_flow_version: r.text("ksql_flow_version"),
            engine_version: r.text("engine_version"),
            dialect: r.count("dialect")?,
            created_at: r.text("created_at"),
            started_at: r.text("started_at"),
            finished_at: r.text("finished_at"),
            updated_at: r.text("updated_at"),
        })
    }

    /// The profile named inside the stored snapshot; a Run without one is not read.
    pub fn profile(&self) -> String {
        profile_in(&self.profile_snapshot).unwrap_or_default()
    }

    /// The key that the Run must have; `None` when a part of it cannot be one.
    pub fn derived_key(&self) -> Option<String> {
        key::run_key(&self.profile(), &self.network_id, &self.business_key).ok()
    }

    /// The runner's time limit per node in seconds, from the stored snapshot (RUN-17).
    pub fn batch_timeout_sec(&self) -> Option<f64> {
        serde_json::from_str::<Value>(&self.profile_snapshot)
            .ok()
            .and_then(|v| v.get("limits")?.get("batch_timeout_sec")?.as_f64())
    }

    /// What the jobs are run "as of": the stored scheduled time, else the creation time (RUN-03).
    pub fn job_as_of(&self) -> &str {
        if self.as_of.is_empty() {
            &self.created_at
        } else {
            &self.as_of
        }
    }

    /// The same Run with another aggregate; `started_at` is set once, `finished_at` follows the status (REC-11).
    pub fn with_aggregate(&self, status: RunStatus, now: Timestamp) -> Self {
        let mut next = self.clone();
        next.status = status;
        if next.started_at.is_empty() && status != RunStatus::Created {
            next.started_at = now.iso_ms();
        }
        next.finished_at = if status.is_terminal() {
            now.iso_ms()
        } else {
            String::new()
        };
        next.updated_at = now.iso_ms();
        next
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    /// A Run for the tests of rules.
    pub(crate) fn sample(status: RunStatus) -> Run {
        Run {
            record_id: 1,
            revision: 1,
            record_key: key::run_key("prod", "net", "key").expect("a key"),
            run_id: "r".into(),
            network_id: "net".into(),
            business_key: "key".into(),
            max_active_runs: 1,
            status,
            lifecycle: Lifecycle::Active,
            resume_allowed: true,
            as_of: String::new(),
            definition_schema_version: 1,
            definition_sha256: "d".into(),
            bundle_sha256: "b".into(),
            bundle_file_key: "f".into(),
            profile_snapshot: r#"{"profile":"prod"}"#.into(),
            profile_sha256: "p".into(),
            ksql_flow_version: "0.9.0".into(),
            engine_version: "0.9.0".into(),
            dialect: 1,
            created_at: "2026-08-29T10:00:00Z".into(),
            started_at: if status == RunStatus::Created {
                String::new()
            } else {
                "2026-08-29T10:01:00Z".into()
            },
            finished_at: String::new(),
            updated_at: "2026-08-29T10:02:00Z".into(),
        }
    }

    #[test]
    fn an_aggregate_sets_the_times_that_follow_from_it() {
        let started = sample(RunStatus::Created).with_aggregate(RunStatus::Running, Timestamp(0));
        assert_eq!(started.started_at, "1970-01-01T00:00:00.000Z");
        assert_eq!(started.finished_at, "");
        let ended = started.with_aggregate(RunStatus::Failed, Timestamp(60_000));
        assert_eq!(ended.started_at, "1970-01-01T00:00:00.000Z");
        assert_eq!(ended.finished_at, "1970-01-01T00:01:00.000Z");
        assert_eq!(ended.profile(), "prod");
    }
}
