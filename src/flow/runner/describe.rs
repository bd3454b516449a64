//! `capabilities` and `describe-profile`: what an orchestrator asks before it trusts this program (RNR-119).

use serde_json::{Map, Value, json};

use super::config::Profile;
use super::result::{CONTRACT, SCHEMA_ID, VERSION};

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
pub fn profile(profile: &Profile) -> Value {
    let apps: Map<String, Value> = profile
        .apps
        .iter()
        .map(|app| (app.name.clone(), json!(app.id)))
        .collect();
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
        "limits": {
            "maxApiCalls": profile.limits.max_api_calls,
            "maxReadRows": profile.limits.max_read_rows,
            "maxTempRows": profile.limits.max_temp_rows,
            "batchTimeoutSec": profile.limits.batch_timeout_sec,
        },
        "retry": {
            "maxAttempts": profile.retry.max_attempts,
            "initialDelayMs": profile.retry.initial_delay_ms,
            "maxDelayMs": profile.retry.max_delay_ms,
            "respectRetryAfter": profile.retry.respect_retry_after,
        },
    })
}
