//! `capabilities` and `describe-profile`: what an orchestrator asks before it trusts this program (RNR-119).

use serde_json::{Map, Value, json};

use super::config::Profile;
use super::result::{CONTRACT, SCHEMA_ID, VERSION};
use crate::flow::exec::DEFAULT_REQUESTS_IN_FLIGHT;

/// What this program can do. Needs neither configuration nor network.
pub fn capabilities() -> Value {
    json!({
        "formatVersion": 1,
        "kind": "CAPABILITIES",
        "ksqlFlowVersion": VERSION,
        "engineVersion": VERSION,
        "executionContracts": [CONTRACT],
        "resultSchema": {"$id": SCHEMA_ID, "contract": CONTRACT},
        "features": {
            "resultJson": true,
            "correlationIds": true,
            "describeProfile": true,
            "inspectJob": true,
            "durableExecutionStarted": true,
            "gracefulCancel": true,
            "importCsv": true,
            "resultCsv": true,
            "jobLockProtocol": "profile-job-v0",
        },
    })
}

/// The resolved profile without secrets; the keys are sorted at every level.
///
/// A Run is tied to its profile by the hash of all this (RUN-11). What kSQL Flow 0.9 does not know is therefore told only
/// where it is not the default: a Run that was begun with that runner goes on with this one.
pub fn profile(profile: &Profile) -> Value {
    let apps: Map<String, Value> = profile
        .apps
        .iter()
        .map(|app| (app.name.clone(), json!(app.id)))
        .collect();
    let mut limits = json!({
        "maxApiCalls": profile.limits.max_api_calls,
        "maxReadRows": profile.limits.max_read_rows,
        "maxTempRows": profile.limits.max_temp_rows,
        "batchTimeoutSec": profile.limits.batch_timeout_sec,
    });
    if profile.limits.requests_in_flight != DEFAULT_REQUESTS_IN_FLIGHT {
        limits["requestsInFlight"] = json!(profile.limits.requests_in_flight);
    }
    json!({
        "formatVersion": 1,
        "kind": "PROFILE_DESCRIPTION",
        "profile": profile.name,
        "baseUrl": profile.base_url_text,
        "guestSpaceId": profile.guest_space,
        "timezone": profile.timezone,
        "apps": apps,
        "logApp": profile.log_app_entry().map(|app| json!({"appId": app.id, "name": app.name})),
        "httpTimeoutMs": profile.http_timeout_ms,
        "limits": limits,
        "retry": {
            "maxAttempts": profile.retry.max_attempts,
            "initialDelayMs": profile.retry.initial_delay_ms,
            "maxDelayMs": profile.retry.max_delay_ms,
            "respectRetryAfter": profile.retry.respect_retry_after,
        },
    })
}
