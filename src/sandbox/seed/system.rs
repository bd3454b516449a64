//! The four system apps as their installation has them: field codes, types, options and flags (APP-04 to APP-12).
use serde_json::{Map, Value as Json, json};

/// Rows of a field table: code, label, flags and type. Type: `T` text, `M` multi-line, `N` number, `D` date-time, `F` file,
/// `C:a,b` check box, `S:a,b` drop-down, `S=x:a,b` drop-down with default `x`. Flags: `R` required, `U` unique.
type FieldRow = (&'static str, &'static str, &'static str, &'static str);

const STATE: [FieldRow; 40] = [
    ("record_key", "レコード一意キー", "RU", "T"),
    (
        "record_type",
        "レコード種別",
        "R",
        "S:NETWORK_RUN,NODE_STATE,NETWORK_LOCK,CANCEL_REQUEST",
    ),
    ("run_id", "Network Run ID", "", "T"),
    ("lock_key", "Network Lock Key", "U", "T"),
    ("profile", "Profile", "", "T"),
    ("owner_invocation_id", "Owner Invocation ID", "", "T"),
    ("lease_token", "Lease Token", "", "T"),
    ("lease_expires_at", "Lease Expires At", "", "D"),
    ("heartbeat_at", "Heartbeat At", "", "D"),
    ("revision", "Revision Snapshot", "", "N"),
    ("network_id", "Network ID", "", "T"),
    ("business_key", "Business Key", "", "T"),
    ("max_active_runs", "Max Active Runs", "", "N"),
    (
        "status",
        "Status",
        "",
        "S:CREATED,WAITING,RUNNING,SUCCESS,FAILED,BLOCKED,SKIPPED,CANCELLED,UNKNOWN",
    ),
    ("lifecycle_status", "Lifecycle Status", "", "S:ACTIVE,ARCHIVED"),
    ("resume_allowed", "Resume Allowed", "", "S:true,false"),
    ("as_of", "As Of", "", "D"),
    ("definition_schema_version", "Definition Schema Version", "", "N"),
    ("definition_sha256", "Definition SHA-256", "", "T"),
    ("source_bundle_sha256", "Source Bundle SHA-256", "", "T"),
    ("source_bundle_attachment", "Source Bundle Attachment", "", "F"),
    ("resolved_profile_snapshot", "Resolved Profile Snapshot", "", "M"),
    ("resolved_profile_sha256", "Resolved Profile SHA-256", "", "T"),
    ("ksql_flow_version", "kSQL-Flow Version", "", "T"),
    ("engine_version", "Engine Version", "", "T"),
    ("dialect", "Dialect", "", "N"),
    ("created_at", "Created At", "", "D"),
    ("started_at", "Started At", "", "D"),
    ("finished_at", "Finished At", "", "D"),
    ("updated_at", "Updated At", "", "D"),
    ("node_state_id", "Node State ID", "", "T"),
    ("node_state_key", "Canonical Node State Key", "U", "T"),
    ("node_id", "Node ID", "", "T"),
    ("job_id", "Job ID", "", "T"),
    ("latest_attempt_no", "Latest Attempt No", "", "N"),
    ("active_attempt_id", "Active Attempt ID", "", "T"),
    ("idempotent", "Idempotent", "", "S:true,false"),
    ("trigger_rule", "Trigger Rule", "", "S:all_success"),
    ("blocked_by", "Blocked By", "", "M"),
    ("status_reason", "Status Reason", "", "M"),
];

const AUDIT: [FieldRow; 37] = [
    ("record_key", "レコード一意キー", "RU", "T"),
    (
        "record_type",
        "レコード種別",
        "R",
        "S:RUN_INVOCATION,NODE_ATTEMPT,ATTEMPT_RESOLUTION,OPERATION_AUDIT",
    ),
    ("run_id", "Network Run ID", "", "T"),
    ("started_at", "Started At", "", "D"),
    ("finished_at", "Finished At", "", "D"),
    (
        "status",
        "Status",
        "",
        "S:RUNNING,SUCCESS,FAILED,CANCELLED,UNKNOWN",
    ),
    ("result_code", "Result Code", "", "T"),
    ("invocation_id", "Invocation ID", "", "T"),
    ("mode", "Mode", "", "S:NEW,RESUME,RERUN_FROM"),
    ("requested_by", "Requested By", "", "T"),
    ("host", "Host", "", "T"),
    ("selected_node_ids", "Selected Node IDs", "", "M"),
    ("preserved_node_ids", "Preserved Node IDs", "", "M"),
    ("blocked_node_ids", "Blocked Node IDs", "", "M"),
    ("reason", "Reason", "", "M"),
    ("node_attempt_id", "Node Attempt ID", "U", "T"),
    ("attempt_key", "Canonical Attempt Key", "U", "T"),
    ("node_id", "Node ID", "", "T"),
    ("job_id", "Job ID", "", "T"),
    ("attempt_no", "Attempt No", "", "N"),
    ("state_revision_before", "State Revision Before", "", "N"),
    (
        "execution_started_at",
        "Orchestrator Execution Started At",
        "",
        "D",
    ),
    (
        "runner_execution_started_at",
        "Runner Execution Started At",
        "",
        "D",
    ),
    ("execution_id", "kSQL-Flow Execution ID", "", "T"),
    ("duration_sec", "Duration Sec", "", "N"),
    ("error_message", "Safe Error Message", "", "M"),
    ("read_count", "Read Count", "", "N"),
    ("written_count", "Written Count", "", "N"),
    ("last_successful_chunk_no", "Last Successful Chunk No", "", "N"),
    ("last_written_key", "Last Written Key", "", "T"),
    ("event_type", "Event Type", "", "S:ATTEMPT_RESOLVED"),
    ("attempt_id", "Resolved Attempt ID", "", "T"),
    (
        "resolved_outcome",
        "Resolved Outcome",
        "",
        "S:SUCCESS,FAILED,CANCELLED",
    ),
    ("evidence_ref", "Evidence Reference", "", "T"),
    ("service_principal", "Service Principal", "", "T"),
    ("approved_by", "Approved By", "", "T"),
    ("resolved_at", "Resolved At", "", "D"),
];

const REQUESTS: [FieldRow; 14] = [
    (
        "request_type",
        "要求種別",
        "R",
        "S:RERUN,STOP,RELEASE,START,CLOSE",
    ),
    ("run_id", "Run ID", "", "T"),
    ("network_id", "Network ID", "", "T"),
    ("business_key", "Business Key", "", "T"),
    ("scheduled_for", "対象日時", "", "D"),
    ("rerun_from_node", "リラン開始ノード", "", "T"),
    ("reason", "理由", "R", "M"),
    ("cancel_requested", "取消", "", "C:取消"),
    (
        "request_state",
        "要求状態",
        "R",
        "S=REQUESTED:REQUESTED,ACCEPTED,DONE,REJECTED,CANCELLED",
    ),
    ("claimed_at", "受理日時", "", "D"),
    ("claimed_host", "受理ホスト", "", "T"),
    ("claim_heartbeat_at", "受理heartbeat日時", "", "D"),
    ("result_code", "結果コード", "", "T"),
    ("result_message", "結果メッセージ", "", "M"),
];

/// The job log as its template has it, without the ten `rerun_` fields that nothing here reads.
const JOB_LOG: [FieldRow; 28] = [
    ("record_type", "レコード種別", "", "S:BATCH,JOB"),
    (
        "status",
        "ステータス",
        "",
        "S:SUCCESS,NO_DATA,FAILED,ABORTED,SKIPPED,RUNNING,TIMEOUT,CANCELLED",
    ),
    ("batch_id", "バッチ実行ID", "", "T"),
    ("correlation_id", "Correlation ID", "", "T"),
    ("attempt_id", "Attempt ID", "", "T"),
    ("execution_id", "Execution ID", "", "T"),
    ("job_id", "Job ID", "", "T"),
    (
        "runner_execution_started_at",
        "Runner Execution Started At",
        "",
        "D",
    ),
    ("parent_batch_id", "親バッチID", "", "T"),
    ("job_key", "ジョブキー", "U", "T"),
    ("job_key_done", "ジョブキー履歴", "", "T"),
    ("script_name", "スクリプト名", "", "T"),
    ("profile", "プロファイル", "", "T"),
    ("as_of", "実行基準時刻", "", "D"),
    ("started_at", "開始日時", "", "D"),
    ("finished_at", "終了日時", "", "D"),
    ("duration_sec", "所要時間(秒)", "", "N"),
    ("read_count", "取得件数", "", "N"),
    ("written_count", "更新件数", "", "N"),
    ("deleted_count", "削除件数", "", "N"),
    ("last_written_key", "最終書込キー", "", "T"),
    ("api_calls", "API消費回数", "", "N"),
    ("executed_by", "実行者", "", "T"),
    ("host", "実行ホスト", "", "T"),
    ("git_ref", "Git リビジョン", "", "T"),
    ("ksql_version", "エンジン版数", "", "T"),
    ("error_message", "エラー内容", "", "M"),
    ("log_detail", "実行詳細ログ", "", "M"),
];

/// State app; related records point to the other three apps (APP-05).
pub fn state(audit: u64, requests: u64, job_log: u64) -> Map<String, Json> {
    let mut properties = properties(&STATE);
    for (code, label, app, other, shown, size) in [
        (
            "related_audit_events",
            "関連監査イベント",
            audit,
            "run_id",
            &[
                "record_type",
                "node_id",
                "status",
                "result_code",
                "requested_by",
                "invocation_id",
            ][..],
            "10",
        ),
        (
            "related_requests",
            "関連操作要求",
            requests,
            "run_id",
            &[
                "request_type",
                "request_state",
                "result_code",
                "reason",
                "作成日時",
            ],
            "5",
        ),
        (
            "related_job_logs",
            "関連JOBログ(このRunの実行ログ — エラー全文はここ)",
            job_log,
            "correlation_id",
            &[
                "job_id",
                "status",
                "error_message",
                "started_at",
                "finished_at",
                "execution_id",
            ],
            "10",
        ),
    ] {
        let definition = json!({
            "type": "REFERENCE_TABLE",
            "code": code,
            "label": label,
            "noLabel": false,
            "referenceTable": {
                "relatedApp": { "app": app.to_string(), "code": "" },
                "condition": { "field": "run_id", "relatedField": other },
                "filterCond": "",
                "displayFields": shown,
                "sort": "$id desc",
                "size": size,
            },
        });
        properties.insert(code.to_owned(), definition);
    }
    properties
}

/// Audit app.
pub fn audit() -> Map<String, Json> {
    properties(&AUDIT)
}

/// Request app.
pub fn requests() -> Map<String, Json> {
    properties(&REQUESTS)
}

/// Job-log app.
pub fn job_log() -> Map<String, Json> {
    properties(&JOB_LOG)
}

/// Field definitions of a table of rows.
pub fn properties(rows: &[FieldRow]) -> Map<String, Json> {
    rows.iter()
        .map(|(code, label, flags, kind)| {
            let (kind, options) = kind.split_once(':').unwrap_or((kind, ""));
            let (kind, default) = kind.split_once('=').unwrap_or((kind, ""));
            let mut definition = json!({
                "type": type_name(kind),
                "code": code,
                "label": label,
                "required": flags.contains('R'),
            });
            if flags.contains('U') {
                definition["unique"] = json!(true);
            }
            if !options.is_empty() {
                let entries: Map<String, Json> = options
                    .split(',')
                    .enumerate()
                    .map(|(index, label)| {
                        (
                            label.to_owned(),
                            json!({ "label": label, "index": index.to_string() }),
                        )
                    })
                    .collect();
                definition["options"] = Json::Object(entries);
            }
            if !default.is_empty() {
                definition["defaultValue"] = json!(default);
            }
            ((*code).to_owned(), definition)
        })
        .collect()
}

fn type_name(kind: &str) -> &'static str {
    match kind {
        "M" => "MULTI_LINE_TEXT",
        "N" => "NUMBER",
        "D" => "DATETIME",
        "d" => "DATE",
        "F" => "FILE",
        "C" => "CHECK_BOX",
        "S" => "DROP_DOWN",
        "O" => "RADIO_BUTTON",
        _ => "SINGLE_LINE_TEXT",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::app::form::Form;

    #[test]
    fn forms_have_the_fields_of_the_installation() {
        for (properties, count) in [
            (state(2, 3, 4), 40),
            (audit(), 37),
            (requests(), 14),
            (job_log(), 28),
        ] {
            let form = Form::read(&properties);
            assert_eq!(form.map(|form| form.fields.len()), Ok(count));
        }
    }

    #[test]
    fn flags_options_and_defaults_arrive() {
        let properties = requests();
        assert_eq!(properties["request_state"]["defaultValue"], "REQUESTED");
        assert_eq!(properties["request_state"]["required"], true);
        assert_eq!(properties["cancel_requested"]["options"]["取消"]["index"], "0");
        let state = state(2, 3, 4);
        for code in ["record_key", "lock_key", "node_state_key"] {
            assert_eq!(state[code]["unique"], true, "{code}");
        }
        assert_eq!(
            state["related_job_logs"]["referenceTable"]["relatedApp"]["app"],
            "4"
        );
    }
}
