//! Codes of a Run: results of invocations, refusals before the scheduler, the lock, and what kintone answered
//! (file 20 of the contract, OUT-08 and OUT-09; OPR-05).

use super::steps::{
    ABANDON, AGAIN, ARCHIVE, CORRECTION_KEY, DELETE_COPY, FORCE_UNLOCK, LATER, RELEASE, REPORT, RESOLVE,
    RESOLVE_APPROVED, RESUME, SHOW_NETWORK, SHOW_RUN,
};
use super::{Entry, ExitClass, Step, entry, step};
use crate::flownet::cli::language::{Text, text};

const fn remote(code: &'static str, says: Text) -> Entry {
    entry(code, ExitClass::Remote, says, RETRY)
}

const fn refused(code: &'static str, says: Text, next: &'static [Step]) -> Entry {
    entry(code, ExitClass::Refused, says, next)
}

const fn key(code: &'static str) -> Entry {
    entry(
        code,
        ExitClass::Usage,
        text(
            "A part of a key (profile, network id, business key, node or job id) cannot be used.",
            "キーの一部 (プロファイル、ネットワーク id、業務キー、ノード id、ジョブ id) が使えない形です。",
        ),
        CHANGE_PART,
    )
}

const CHANGE_PART: &[Step] = &[step(
    "",
    "change the part named in the message",
    "メッセージが示す部分を変更する",
)];
const RETRY: &[Step] = &[SHOW_NETWORK, LATER];
const RECOVER: &[Step] = &[SHOW_RUN, AGAIN];
const RERUN_FROM: &[Step] = &[SHOW_RUN, RESUME];

pub(super) const ENTRIES: &[Entry] = &[
    entry(
        "OK",
        ExitClass::Done,
        text("All nodes are done.", "すべてのノードが完了しました。"),
        &[],
    ),
    entry(
        "NOOP_ALREADY_SUCCESS",
        ExitClass::Done,
        text(
            "The Run was already SUCCESS; nothing was executed.",
            "Run はすでに SUCCESS です。何も実行していません。",
        ),
        &[],
    ),
    entry(
        "PENDING",
        ExitClass::Locked,
        text(
            "The invocation has not ended yet.",
            "この起動はまだ終わっていません。",
        ),
        &[SHOW_RUN],
    ),
    entry(
        "NODE_FAILED_OR_BLOCKED",
        ExitClass::NodeFailed,
        text(
            "At least one node failed; nodes behind it are blocked.",
            "失敗したノードがあり、その下流は実行できません。",
        ),
        &[SHOW_RUN, RESUME],
    ),
    entry(
        "NODE_CANCELLED",
        ExitClass::NodeFailed,
        text(
            "A node was cancelled or ran out of time.",
            "ノードが取り消されたか、時間切れになりました。",
        ),
        &[SHOW_RUN, RESUME],
    ),
    entry(
        "NODE_RESULT_UNKNOWN",
        ExitClass::Unknown,
        text(
            "Nobody can tell whether a node did its work: a person must look at the data.",
            "ノードの処理が行われたかどうか判断できません。人がデータを確かめる必要があります。",
        ),
        &[SHOW_RUN, RESOLVE_APPROVED, RESOLVE, RESUME],
    ),
    entry(
        "ALL_SUCCESS_NOT_SATISFIED",
        ExitClass::NodeFailed,
        text(
            "A node behind a failed one was not started.",
            "失敗したノードの下流にあるため開始しませんでした。",
        ),
        &[SHOW_RUN, RESUME],
    ),
    entry(
        "NODES_DEFERRED",
        ExitClass::NodeFailed,
        text(
            "Nodes could not be started and wait for the next attempt.",
            "開始できなかったノードがあり、次の実行を待っています。",
        ),
        &[SHOW_RUN, RESUME],
    ),
    entry(
        "RETRY_BRAKE",
        ExitClass::NodeFailed,
        text(
            "A node failed three times in the same way and is not tried again by itself.",
            "同じ失敗が 3 回続いたノードがあり、自動では再試行しません。",
        ),
        &[
            SHOW_RUN,
            step(
                "ksql-flownet run-network {network} --resume-run {run_id} --rerun-from {node_id}",
                "runs the node again after the cause was removed",
                "原因を取り除いた後、そのノードから再実行する",
            ),
        ],
    ),
    entry(
        "STOP_REQUESTED",
        ExitClass::Refused,
        text(
            "A hold stopped the Run before its next node.",
            "保留により、次のノードの前で Run が止まりました。",
        ),
        &[RELEASE, RESUME],
    ),
    entry(
        "NETWORK_LEASE_INTERRUPTED",
        ExitClass::Remote,
        text(
            "The Network lock could not be kept; no further node was started.",
            "Network ロックを維持できず、以後のノードは開始していません。",
        ),
        RECOVER,
    ),
    entry(
        "SCHEDULER_FAILED",
        ExitClass::Remote,
        text(
            "The invocation ended because of an error.",
            "この起動はエラーで終わりました。",
        ),
        RECOVER,
    ),
    entry(
        "ENSURE_RUN_FAILED",
        ExitClass::Remote,
        text("The Run could not be prepared.", "Run を準備できませんでした。"),
        RECOVER,
    ),
    entry(
        "LOCK_CONFLICT",
        ExitClass::Locked,
        text(
            "Another command holds this network, or a dead one left its lock.",
            "別のコマンドがこのネットワークを使用中か、停止したコマンドのロックが残っています。",
        ),
        &[SHOW_NETWORK, FORCE_UNLOCK],
    ),
    entry(
        "INTERRUPTED",
        ExitClass::NodeFailed,
        text(
            "A signal asked to stop: no further node was started, and what had run is recorded.",
            "シグナルにより停止しました。以後のノードは開始しておらず、実行済みの結果は記録されています。",
        ),
        &[AGAIN],
    ),
    entry(
        "LOCK_OWNER_ALIVE",
        ExitClass::Locked,
        text(
            "Another command, or its job, is at work on this network.",
            "別のコマンド、またはそのジョブがこのネットワークで実行中です。",
        ),
        &[SHOW_NETWORK, LATER],
    ),
    entry(
        "LOCK_UNAVAILABLE",
        ExitClass::Remote,
        text(
            "The Network lock could not be read or written.",
            "Network ロックの読み書きができませんでした。",
        ),
        RETRY,
    ),
    entry(
        "RUN_NOT_FOUND",
        ExitClass::Refused,
        text("There is no such Run.", "そのような Run はありません。"),
        &[SHOW_NETWORK],
    ),
    refused(
        "RUN_ALREADY_EXISTS",
        text(
            "The business key already has an unfinished Run.",
            "この業務キーには未完了の Run があります。",
        ),
        &[SHOW_RUN, RESUME],
    ),
    refused(
        "MAX_ACTIVE_RUNS",
        text(
            "As many unfinished Runs exist as max_active_runs allows.",
            "未完了の Run が max_active_runs の上限に達しています。",
        ),
        &[SHOW_NETWORK, SHOW_RUN, ABANDON],
    ),
    refused(
        "RUN_IS_ARCHIVED",
        text(
            "The Run of this business key is archived and keeps the key.",
            "この業務キーの Run は保管済みで、キーは使われたままです。",
        ),
        &[SHOW_RUN, CORRECTION_KEY],
    ),
    refused(
        "RESUME_NOT_ALLOWED",
        text(
            "The Run may not be resumed: its field resume_allowed says no.",
            "Run の resume_allowed が「いいえ」のため再開できません。",
        ),
        &[SHOW_RUN, ABANDON, CORRECTION_KEY],
    ),
    entry(
        "NOT_TRIED_AGAIN",
        ExitClass::NodeFailed,
        text(
            "The failed nodes are not idempotent: no start tries them again.",
            "失敗したノードは冪等でないため、自動では再試行しません。",
        ),
        &[SHOW_RUN, ARCHIVE, CORRECTION_KEY],
    ),
    refused(
        "RUN_ON_HOLD",
        text("The Run is on hold.", "Run は保留中です。"),
        &[SHOW_RUN, RELEASE, RESUME],
    ),
    refused(
        "RUN_NOT_RESUMABLE",
        text(
            "The Run is archived or may not be resumed.",
            "Run は保管済みか、再開できない状態です。",
        ),
        &[SHOW_RUN, CORRECTION_KEY],
    ),
    refused(
        "RUN_ID_MISMATCH",
        text(
            "The Run belongs to another network or profile.",
            "Run は別のネットワークまたはプロファイルのものです。",
        ),
        &[SHOW_NETWORK],
    ),
    refused(
        "MULTIPLE_RUNS",
        text(
            "More than one Run has this key; one record was made by hand.",
            "同じキーの Run が複数あります。手で作られたレコードがあります。",
        ),
        &[SHOW_NETWORK, DELETE_COPY, REPORT],
    ),
    refused(
        "RERUN_FROM_NODE_NOT_FOUND",
        text(
            "The stored definition of the Run has no such node.",
            "Run の保存済み定義にそのノードはありません。",
        ),
        RERUN_FROM,
    ),
    refused(
        "RERUN_FROM_DAG_INVALID",
        text(
            "The stored definition of the Run is damaged.",
            "Run の保存済み定義が壊れています。",
        ),
        &[SHOW_RUN, REPORT],
    ),
    entry(
        "RERUN_FROM_UNKNOWN_STATE",
        ExitClass::Unknown,
        text(
            "A node to run again has an unknown result.",
            "再実行するノードの中に結果が不明なものがあります。",
        ),
        &[SHOW_RUN, RESOLVE_APPROVED, RESOLVE],
    ),
    refused(
        "RERUN_FROM_NON_IDEMPOTENT",
        text(
            "A node to run again is not idempotent.",
            "再実行するノードの中に冪等でないものがあります。",
        ),
        &[SHOW_RUN, ABANDON, CORRECTION_KEY],
    ),
    refused(
        "RERUN_FROM_SUCCESS_RUN",
        text(
            "A Run that is SUCCESS is never run again.",
            "SUCCESS の Run は再実行できません。",
        ),
        &[CORRECTION_KEY],
    ),
    entry(
        "RECONCILIATION_REQUIRED",
        ExitClass::Unknown,
        text(
            "The records of the Run contradict each other in a way that no program may repair.",
            "Run のレコードに、プログラムが直してはならない矛盾があります。",
        ),
        &[
            SHOW_RUN,
            step(
                "",
                "where a record is named that was edited: put the named value back in kintone, then repeat the command (a start with --resume); otherwise",
                "編集されたレコードが示されている場合は、kintone でその値を元に戻し、同じコマンド (起動なら --resume 付き) を繰り返す。それ以外の場合",
            ),
            ABANDON,
            CORRECTION_KEY,
        ],
    ),
    refused(
        "RUN_SNAPSHOT_MISMATCH",
        text(
            "The stored bundle does not belong to this Run.",
            "保存済みバンドルがこの Run のものではありません。",
        ),
        &[SHOW_RUN, ABANDON, CORRECTION_KEY],
    ),
    refused(
        "PROFILE_SNAPSHOT_MISMATCH",
        text(
            "The profile is not the one in the record of the Run, which keeps the profile it began with.",
            "プロファイルが Run のレコードのものと一致しません。Run は開始時のプロファイルで実行します。",
        ),
        &[
            step(
                "",
                "put back the profile, or the field that is named above, as it was; or",
                "プロファイルまたは上に示したフィールドを元に戻す。または次のコマンドを使う",
            ),
            ABANDON,
            CORRECTION_KEY,
        ],
    ),
    entry(
        "BUNDLE_UPLOAD_FAILED",
        ExitClass::Remote,
        text(
            "The execution bundle could not be stored or fetched.",
            "実行バンドルを保存または取得できませんでした。",
        ),
        RECOVER,
    ),
    refused(
        "BUNDLE_HASH_MISMATCH",
        text(
            "The stored bundle does not have the hash that the Run keeps of it.",
            "保存済みバンドルが Run に記録されたハッシュと一致しません。",
        ),
        &[SHOW_RUN, ABANDON, CORRECTION_KEY],
    ),
    refused(
        "BUNDLE_ZIP_INVALID",
        text(
            "The stored bundle is damaged.",
            "保存済みバンドルが壊れています。",
        ),
        &[SHOW_RUN, ABANDON, CORRECTION_KEY],
    ),
    refused(
        "BUNDLE_MANIFEST_INVALID",
        text(
            "The manifest of the stored bundle is damaged.",
            "保存済みバンドルの目録が壊れています。",
        ),
        &[SHOW_RUN, ABANDON, CORRECTION_KEY],
    ),
    refused(
        "BUNDLE_FILE_MISMATCH",
        text(
            "A file of the stored bundle was changed.",
            "保存済みバンドルのファイルが変更されています。",
        ),
        &[SHOW_RUN, ABANDON, CORRECTION_KEY],
    ),
    entry(
        "REVISION_CONFLICT",
        ExitClass::Remote,
        text(
            "Someone else changed the record at the same time.",
            "同じレコードが同時に変更されました。",
        ),
        RECOVER,
    ),
    entry(
        "AMBIGUOUS_WRITE",
        ExitClass::Remote,
        text(
            "The answer to a request was lost; whether it was carried out is decided by the next start.",
            "応答が失われました。実行されたかどうかは次の起動が判定します。",
        ),
        RECOVER,
    ),
    remote(
        "REMOTE_ERROR",
        text(
            "kintone refused or failed a request.",
            "kintone が要求を拒否したか、処理に失敗しました。",
        ),
    ),
    entry(
        "KINTONE_ACCESS",
        ExitClass::Remote,
        text(
            "kintone does not accept an app id or an API token of this command.",
            "このコマンドのアプリ id または API トークンを kintone が受け付けません。",
        ),
        &[
            step(
                "",
                "compare KSQL_FLOWNET_..._APP_ID and ..._API_TOKEN of the app named above with the app's settings; after a new token, update the app",
                "上に示したアプリの KSQL_FLOWNET_..._APP_ID と ..._API_TOKEN をアプリの設定と照合する。トークンを作った後はアプリを更新する",
            ),
            step(
                "",
                "then repeat the same command",
                "その後、同じコマンドを実行する",
            ),
        ],
    ),
    remote(
        "REMOTE_UNAVAILABLE",
        text("kintone cannot be reached.", "kintone に接続できません。"),
    ),
    entry(
        "RECORD_NOT_FOUND",
        ExitClass::Refused,
        text("There is no such record.", "そのようなレコードはありません。"),
        &[SHOW_NETWORK],
    ),
    refused(
        "MULTIPLE_RECORDS",
        text(
            "A key that must be unique stands in several records.",
            "一意であるべきキーが複数のレコードにあります。",
        ),
        &[SHOW_NETWORK, DELETE_COPY, REPORT],
    ),
    refused(
        "DUPLICATE_RECORD",
        text(
            "Another record already has this key.",
            "同じキーの別のレコードがあります。",
        ),
        &[SHOW_NETWORK, REPORT],
    ),
    refused(
        "INVALID_STATE_TRANSITION",
        text(
            "The state of the record does not allow this change.",
            "レコードの状態がこの変更を許しません。",
        ),
        &[SHOW_RUN],
    ),
    entry(
        "UNIQUE_KEY_TOO_LONG",
        ExitClass::Internal,
        text(
            "A record key is longer than 64 characters.",
            "レコードキーが 64 文字を超えています。",
        ),
        &[REPORT],
    ),
    entry(
        "ATTEMPT_NUMBER_CONFLICT",
        ExitClass::Internal,
        text(
            "The number of an attempt is already taken.",
            "試行番号がすでに使われています。",
        ),
        &[SHOW_RUN, REPORT],
    ),
    entry(
        "ATTEMPT_TERMINAL",
        ExitClass::Internal,
        text(
            "A finished attempt would have been changed.",
            "終了した試行を変更しようとしました。",
        ),
        &[SHOW_RUN, REPORT],
    ),
    entry(
        "ATTEMPT_LIFECYCLE_VIOLATION",
        ExitClass::Internal,
        text(
            "An attempt would have taken a step that is not allowed.",
            "試行に許されない変更をしようとしました。",
        ),
        &[SHOW_RUN, REPORT],
    ),
    key("RECORD_KEY_IDENTIFIER_EMPTY"),
    key("RECORD_KEY_IDENTIFIER_NUL"),
    key("RECORD_KEY_IDENTIFIER_SEPARATOR"),
    key("RECORD_KEY_IDENTIFIER_RESERVED"),
    key("RECORD_KEY_IDENTIFIER_TOO_LONG"),
    key("RECORD_KEY_ATTEMPT_NO_INVALID"),
    key("LOCK_KEY_IDENTIFIER_EMPTY"),
    key("LOCK_KEY_IDENTIFIER_NUL"),
    key("LOCK_KEY_IDENTIFIER_SEPARATOR"),
    key("LOCK_KEY_IDENTIFIER_RESERVED"),
    key("LOCK_KEY_IDENTIFIER_TOO_LONG"),
];
