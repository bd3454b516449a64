//! The fields of the log app: one table for creating, checking and filling it (RNR-60, RNR-61, RNR-65, RNR-66).

use serde_json::{Map, Value, json};

use super::verdict::JobStatus;
use crate::flow::sql::message::{Message, say};

/// kintone type of a log-app field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FieldType {
    /// `SINGLE_LINE_TEXT`
    Text,
    /// `MULTI_LINE_TEXT`
    MultiLineText,
    /// `NUMBER`
    Number,
    /// `DATETIME`
    DateTime,
    /// `DROP_DOWN`
    DropDown(&'static [&'static str]),
}

impl FieldType {
    const fn kintone_name(self) -> &'static str {
        match self {
            Self::Text => "SINGLE_LINE_TEXT",
            Self::MultiLineText => "MULTI_LINE_TEXT",
            Self::Number => "NUMBER",
            Self::DateTime => "DATETIME",
            Self::DropDown(_) => "DROP_DOWN",
        }
    }
}

/// Whether a log app may lack the field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// Every log app has it.
    Required,
    /// Apps made for older versions lack it.
    Optional,
    /// Needed by orchestrated runs only.
    Orchestrated,
}

/// One field.
pub struct LogField {
    /// Field code.
    pub code: &'static str,
    /// Label shown in kintone.
    pub label: &'static str,
    /// Type.
    pub field_type: FieldType,
    /// Whether it may be missing.
    pub presence: Presence,
}

const RECORD_TYPES: &[&str] = &["BATCH", "JOB"];
const STATUSES: &[&str] = &[
    JobStatus::Success.word(),
    JobStatus::NoData.word(),
    JobStatus::Failed.word(),
    JobStatus::Aborted.word(),
    JobStatus::Skipped.word(),
    JobStatus::Running.word(),
    JobStatus::Timeout.word(),
    JobStatus::Cancelled.word(),
];
/// The option that log apps made for older versions lack.
const OPTIONAL_STATUS: &str = JobStatus::Cancelled.word();
/// The lock: unique in the app, and only filled while a job runs.
pub const JOB_KEY: &str = "job_key";

const fn field(code: &'static str, label: &'static str, field_type: FieldType) -> LogField {
    LogField {
        code,
        label,
        field_type,
        presence: Presence::Required,
    }
}

const fn orchestrated(code: &'static str, label: &'static str, field_type: FieldType) -> LogField {
    LogField {
        code,
        label,
        field_type,
        presence: Presence::Orchestrated,
    }
}

/// All 28 fields.
pub const LOG_FIELDS: &[LogField] = &[
    field("record_type", "レコード種別", FieldType::DropDown(RECORD_TYPES)),
    field("status", "ステータス", FieldType::DropDown(STATUSES)),
    field("batch_id", "バッチ実行ID", FieldType::Text),
    field("parent_batch_id", "親バッチID", FieldType::Text),
    field(JOB_KEY, "ジョブキー", FieldType::Text),
    field("job_key_done", "ジョブキー履歴", FieldType::Text),
    field("script_name", "スクリプト名", FieldType::Text),
    field("profile", "プロファイル", FieldType::Text),
    field("as_of", "実行基準時刻", FieldType::DateTime),
    field("started_at", "開始日時", FieldType::DateTime),
    field("finished_at", "終了日時", FieldType::DateTime),
    field("duration_sec", "所要時間(秒)", FieldType::Number),
    field("read_count", "取得件数", FieldType::Number),
    field("written_count", "更新件数", FieldType::Number),
    LogField {
        code: "deleted_count",
        label: "削除件数",
        field_type: FieldType::Number,
        presence: Presence::Optional,
    },
    field("last_written_key", "最終書込キー", FieldType::Text),
    field("api_calls", "API消費回数", FieldType::Number),
    field("executed_by", "実行者", FieldType::Text),
    field("host", "実行ホスト", FieldType::Text),
    field("git_ref", "Gitリビジョン", FieldType::Text),
    field("ksql_version", "エンジン版数", FieldType::Text),
    field("error_message", "エラー内容", FieldType::MultiLineText),
    field("log_detail", "実行詳細ログ", FieldType::MultiLineText),
    orchestrated("correlation_id", "相関ID", FieldType::Text),
    orchestrated("attempt_id", "試行ID", FieldType::Text),
    orchestrated("execution_id", "実行ID", FieldType::Text),
    orchestrated("job_id", "ジョブID", FieldType::Text),
    orchestrated(
        "runner_execution_started_at",
        "実行開始記録日時",
        FieldType::DateTime,
    ),
];

/// `properties` for creating the app (RNR-66).
pub fn creation_properties() -> Value {
    let mut properties = Map::new();
    for field in LOG_FIELDS {
        let mut property = json!({
            "type": field.field_type.kintone_name(), "code": field.code, "label": field.label,
        });
        if let FieldType::DropDown(options) = field.field_type {
            let options: Map<String, Value> = options
                .iter()
                .enumerate()
                .map(|(index, option)| {
                    (
                        (*option).to_owned(),
                        json!({"label": option, "index": index.to_string()}),
                    )
                })
                .collect();
            property["options"] = Value::Object(options);
        }
        if field.code == JOB_KEY {
            property["unique"] = json!(true);
        }
        properties.insert(field.code.to_owned(), property);
    }
    Value::Object(properties)
}

/// Result of comparing a form with the table.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// What makes the app unusable.
    pub errors: Vec<Message>,
    /// What is missing but not needed by every run.
    pub notes: Vec<Message>,
}

/// Compares the `properties` of a form definition with the table (RNR-65).
pub fn compare(properties: &Value) -> Comparison {
    let mut comparison = Comparison::default();
    for field in LOG_FIELDS {
        let code = field.code;
        let Some(property) = properties.get(code) else {
            match field.presence {
                Presence::Required => comparison.errors.push(say!(
                    "{code}: the field is missing",
                    "{code}: フィールドがありません"
                )),
                Presence::Optional => comparison
                    .notes
                    .push(say!("{code}: not there (optional)", "{code}: ありません (任意)")),
                Presence::Orchestrated => comparison.notes.push(say!(
                    "{code}: not there (needed by orchestrated runs)",
                    "{code}: ありません (オーケストレーターからの実行には必要)"
                )),
            }
            continue;
        };
        let actual = property["type"].as_str().unwrap_or_default();
        let wanted = field.field_type.kintone_name();
        if actual != wanted {
            comparison.errors.push(say!(
                "{code}: the type is {actual}, must be {wanted}",
                "{code}: 種類が {actual} です。{wanted} でなければなりません"
            ));
            continue;
        }
        if code == JOB_KEY && property["unique"].as_bool() != Some(true) {
            comparison.errors.push(say!(
                "{JOB_KEY}: must prohibit duplicate values (it is the lock)",
                "{JOB_KEY}: 値の重複を禁止してください (ロックに使います)"
            ));
        }
        if let FieldType::DropDown(options) = field.field_type {
            compare_options(code, options, &property["options"], &mut comparison);
        }
    }
    comparison
}

fn compare_options(code: &str, wanted: &[&str], actual: &Value, comparison: &mut Comparison) {
    let actual: Vec<&str> = actual
        .as_object()
        .map(|options| options.keys().map(String::as_str).collect())
        .unwrap_or_default();
    for option in wanted.iter().filter(|option| !actual.contains(option)) {
        if *option == OPTIONAL_STATUS {
            comparison.notes.push(say!(
                "{code}: no option {option} (cancelled jobs are logged as FAILED)",
                "{code}: 選択肢 {option} がありません (中止したジョブは FAILED として記録されます)"
            ));
        } else {
            comparison.errors.push(say!(
                "{code}: the option {option} is missing",
                "{code}: 選択肢 {option} がありません"
            ));
        }
    }
    for option in actual.iter().filter(|option| !wanted.contains(option)) {
        comparison.errors.push(say!(
            "{code}: the option {option:?} does not belong there",
            "{code}: 選択肢 {option:?} は不要です"
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_created_form_passes_its_own_check() {
        assert_eq!(LOG_FIELDS.len(), 28);
        assert_eq!(compare(&creation_properties()), Comparison::default());
    }

    #[test]
    fn deviations_are_errors_or_notes() {
        let mut form = creation_properties();
        form[JOB_KEY]["unique"] = json!(false);
        form["read_count"]["type"] = json!("SINGLE_LINE_TEXT");
        form["record_type"]["options"]["STEP"] = json!({"label": "STEP", "index": "2"});
        let members = form.as_object_mut().expect("object");
        for code in ["profile", "deleted_count", "attempt_id"] {
            members.remove(code);
        }
        members["status"]["options"]
            .as_object_mut()
            .expect("options")
            .remove("CANCELLED");
        let comparison = compare(&form);
        let errors: Vec<String> = comparison.errors.iter().map(ToString::to_string).collect();
        assert_eq!(
            errors,
            [
                "record_type: the option \"STEP\" does not belong there",
                "job_key: must prohibit duplicate values (it is the lock)",
                "profile: the field is missing",
                "read_count: the type is SINGLE_LINE_TEXT, must be NUMBER",
            ]
        );
        assert_eq!(comparison.notes.len(), 3, "{:?}", comparison.notes);
    }
}
