//! Codes of app operation requests (file 40 of the contract).

use super::steps::{CORRECTION_KEY, LATER, RELEASE, REPORT, RESUME, SHOW_NETWORK, SHOW_RUN};
use super::{Entry, ExitClass, Step, entry, step};
use crate::flownet::cli::language::{Text, text};

/// A request that was carried out; the code is for the person who filed it.
const fn done(code: &'static str, says: Text) -> Entry {
    entry(code, ExitClass::Done, says, &[])
}

const fn rejected(code: &'static str, says: Text, next: &'static [Step]) -> Entry {
    entry(code, ExitClass::Refused, says, next)
}

const fn compare(code: &'static str, says: Text) -> Entry {
    entry(code, ExitClass::Unknown, says, COMPARE)
}

/// A part of a request record that cannot be used (REQ-12).
const fn field(code: &'static str, says: Text) -> Entry {
    entry(code, ExitClass::Refused, says, FILE_AGAIN)
}

const FILE_AGAIN: &[Step] = &[step(
    "",
    "correct the request and file a new one",
    "依頼内容を直して、新しい依頼を登録する",
)];
const COMPARE: &[Step] = &[
    step(
        "",
        "do not repeat the request: compare it with the Run, its invocations and its attempts first",
        "依頼を繰り返さず、先に Run、起動、試行の記録と突き合わせる",
    ),
    SHOW_RUN,
];

pub(super) const ENTRIES: &[Entry] = &[
    done("RELEASED", text("The hold was released.", "保留を解除しました。")),
    entry(
        "RUN_ARCHIVED",
        ExitClass::Done,
        text("The Run was archived.", "Run を保管しました。"),
        &[CORRECTION_KEY],
    ),
    done(
        "RUN_ALREADY_ARCHIVED",
        text("The Run was archived before.", "Run はすでに保管済みです。"),
    ),
    done(
        "CANCELLED_BY_REQUESTER",
        text(
            "The request was withdrawn in time.",
            "依頼は受け付け前に取り下げられました。",
        ),
    ),
    entry(
        "RUN_ARCHIVED_AUDIT_PENDING",
        ExitClass::Remote,
        text(
            "The Run is archived; its audit record is missing.",
            "Run は保管済みですが、監査記録がありません。",
        ),
        &[SHOW_RUN],
    ),
    rejected(
        "REQUEST_INVALID",
        text(
            "The request record is incomplete or wrong.",
            "依頼レコードに不備があります。",
        ),
        FILE_AGAIN,
    ),
    rejected(
        "REQUESTED_BY_INVALID",
        text(
            "The name of the requester cannot be used.",
            "依頼者の名前が使えない形です。",
        ),
        FILE_AGAIN,
    ),
    rejected(
        "RUN_ID_AMBIGUOUS",
        text(
            "More than one network has this Run.",
            "複数のネットワークにこの Run があります。",
        ),
        &[REPORT],
    ),
    rejected(
        "RUN_ID_NOT_ALLOWED",
        text(
            "A START request names no Run.",
            "START の依頼に Run は指定できません。",
        ),
        FILE_AGAIN,
    ),
    entry(
        "STATUS_UNAVAILABLE",
        ExitClass::Remote,
        text(
            "The state could not be checked; nothing was done.",
            "状態を確認できず、何も実行していません。",
        ),
        &[SHOW_NETWORK, LATER],
    ),
    rejected(
        "RUN_STATUS_NOT_RERUNNABLE",
        text(
            "The status of the Run does not allow RERUN.",
            "Run の状態では RERUN できません。",
        ),
        &[SHOW_RUN],
    ),
    rejected(
        "RUN_TERMINAL",
        text(
            "The Run has ended; there is nothing to stop.",
            "Run は終わっており、止める対象がありません。",
        ),
        &[SHOW_RUN],
    ),
    rejected(
        "RUN_NOT_ON_HOLD",
        text("The Run is not on hold.", "Run は保留中ではありません。"),
        &[SHOW_RUN, RESUME],
    ),
    rejected(
        "NETWORK_NOT_ALLOWED",
        text(
            "The network may not be started by request.",
            "このネットワークは依頼からは開始できません。",
        ),
        &[step(
            "",
            "ask for an entry with app_start: true in the allow-list",
            "許可一覧に app_start: true の登録を依頼する",
        )],
    ),
    rejected(
        "NETWORK_NOT_IDEMPOTENT",
        text(
            "Only networks of idempotent nodes may be started by request.",
            "依頼から開始できるのは、全ノードが冪等なネットワークだけです。",
        ),
        &[step(
            "ksql-flownet run-network {network}",
            "starts it on the server",
            "サーバー上で開始する",
        )],
    ),
    rejected(
        "KEY_POLICY_MISMATCH",
        text(
            "The key does not fit the policy of the network.",
            "キーがネットワークの方針に合いません。",
        ),
        FILE_AGAIN,
    ),
    rejected(
        "AS_OF_UNDEFINED",
        text(
            "The request needs a planned time as well.",
            "予定時刻も必要です。",
        ),
        FILE_AGAIN,
    ),
    rejected(
        "INVALID_TIMESTAMP_FORMAT",
        text(
            "The planned time is not valid.",
            "予定時刻の形式が正しくありません。",
        ),
        FILE_AGAIN,
    ),
    rejected(
        "CANCEL_RUN_REJECTED",
        text(
            "The hold could not be placed or released.",
            "保留の設定または解除ができませんでした。",
        ),
        &[SHOW_RUN, RELEASE],
    ),
    entry(
        "CHILD_SPAWN_FAILED",
        ExitClass::Internal,
        text(
            "The command of the request could not be started.",
            "依頼のコマンドを起動できませんでした。",
        ),
        &[step(
            "",
            "check the poller's account and its limits",
            "ポーラーの実行アカウントと制限を確認する",
        )],
    ),
    compare(
        "CHILD_EXECUTION_FAILED",
        text(
            "The command of the request may have run.",
            "依頼のコマンドが実行された可能性があります。",
        ),
    ),
    compare(
        "CHILD_RESULT_INVALID",
        text(
            "The command of the request gave no valid answer.",
            "依頼のコマンドの応答が正しくありません。",
        ),
    ),
    compare(
        "STALE",
        text(
            "The claim of the request went stale; its outcome is unknown.",
            "依頼の処理が途絶えました。結果は不明です。",
        ),
    ),
    compare(
        "RESULT_FINALIZE_ABANDONED",
        text(
            "The result could not be written to the request.",
            "結果を依頼レコードに書けませんでした。",
        ),
    ),
    compare(
        "RESULT_STATE_MISMATCH",
        text(
            "The request was changed while it was processed.",
            "処理中に依頼レコードが変更されました。",
        ),
    ),
    entry(
        "REQUEST_RECORD_UNIDENTIFIABLE",
        ExitClass::Remote,
        text(
            "A record of the request app cannot be read.",
            "依頼アプリに読めないレコードがあります。",
        ),
        &[step(
            "",
            "look for records without id or creator",
            "id や作成者のないレコードを調べる",
        )],
    ),
    entry(
        "CANCEL_FINALIZE_CONFLICT",
        ExitClass::Remote,
        text(
            "A withdrawn request was changed at the same time.",
            "取り下げ中の依頼が同時に変更されました。",
        ),
        &[LATER],
    ),
    entry(
        "CLAIM_HEARTBEAT_FAILED",
        ExitClass::Remote,
        text(
            "The sign of life of a claimed request was not written.",
            "受け付けた依頼の生存通知を書けませんでした。",
        ),
        &[LATER],
    ),
    entry(
        "STALE_STATUS_UNAVAILABLE",
        ExitClass::Remote,
        text(
            "The state behind a stale request could not be read.",
            "途絶えた依頼の状態を確認できませんでした。",
        ),
        &[LATER],
    ),
    rejected(
        "REQUEST_EXPIRED",
        text("The request came too late.", "依頼の期限が過ぎています。"),
        FILE_AGAIN,
    ),
    rejected(
        "PRECONDITION_FAILED",
        text(
            "The Run changed since the request was filed.",
            "依頼の登録後に Run の状態が変わりました。",
        ),
        FILE_AGAIN,
    ),
    field(
        "FIELD_TYPE_INVALID",
        text(
            "A field has another type than expected.",
            "フィールドの型が想定と異なります。",
        ),
    ),
    field(
        "CREATOR_INVALID",
        text("The creator cannot be used.", "作成者が使えない形です。"),
    ),
    field(
        "UNKNOWN_CHOICE",
        text("A choice is not known.", "不明な選択肢です。"),
    ),
    field(
        "ID_INVALID",
        text(
            "The record number is not valid.",
            "レコード番号が正しくありません。",
        ),
    ),
    field(
        "REVISION_INVALID",
        text("The revision is not valid.", "リビジョンが正しくありません。"),
    ),
    field(
        "DATETIME_INVALID",
        text("A time is not valid.", "日時が正しくありません。"),
    ),
    field(
        "REQUIRED",
        text("A required field is empty.", "必須のフィールドが空です。"),
    ),
    field("VALUE_TOO_LONG", text("A value is too long.", "値が長すぎます。")),
    field(
        "FIELD_NOT_ALLOWED",
        text(
            "A field does not belong to this kind of request.",
            "この種類の依頼では使えないフィールドです。",
        ),
    ),
    field(
        "CLAIM_FIELDS_INCOMPLETE",
        text(
            "The claim of the request is incomplete.",
            "受け付け情報が揃っていません。",
        ),
    ),
    field(
        "STATE_FIELDS_INVALID",
        text(
            "State and fields of the request do not fit.",
            "依頼の状態とフィールドが合いません。",
        ),
    ),
    field(
        "RESULT_REQUIRED",
        text(
            "A finished request has no result code.",
            "完了した依頼に結果コードがありません。",
        ),
    ),
];
