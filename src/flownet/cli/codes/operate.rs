//! Codes of status and of the operator commands (file 50 of the contract).

use super::steps::{
    ABANDON, CORRECT, CORRECTION_KEY, FORCE_UNLOCK, LATER, RELEASE, REPEAT, REPORT, RESOLVE,
    RESOLVE_APPROVED, RESUME, SHOW_NETWORK, SHOW_RUN,
};
use super::{Entry, ExitClass, Step, entry, step};
use crate::flownet::cli::language::{Text, text};

const fn refused(code: &'static str, says: Text, next: &'static [Step]) -> Entry {
    entry(code, ExitClass::Refused, says, next)
}

const fn usage(code: &'static str, says: Text) -> Entry {
    entry(code, ExitClass::Usage, says, HELP)
}

const HELP: &[Step] = &[step(
    "ksql-flownet {command} --help",
    "explains the arguments",
    "引数の説明を表示する",
)];

/// An inconsistency that the next resume repairs.
const fn repairable(code: &'static str, says: Text) -> Entry {
    entry(code, ExitClass::Done, says, &[RESUME])
}

/// An inconsistency that no program may repair.
const PUT_BACK: &[Step] = &[
    SHOW_RUN,
    step(
        "",
        "put the named value back in kintone and start again with --resume; where nobody knows it",
        "kintone でその値を元に戻し、--resume で開始する。元の値が分からない場合",
    ),
    ABANDON,
    CORRECTION_KEY,
];

const fn edited(code: &'static str, says: Text) -> Entry {
    entry(code, ExitClass::Unknown, says, PUT_BACK)
}

const fn unsafe_state(code: &'static str, says: Text) -> Entry {
    entry(
        code,
        ExitClass::Unknown,
        says,
        &[SHOW_RUN, ABANDON, CORRECTION_KEY],
    )
}

const AUDIT_BY_HAND: &[Step] = &[step(
    "",
    "the release is done, only its audit record is missing: add the record printed above to the audit app by hand",
    "解放は完了し、監査記録だけがありません。上に表示された内容を監査アプリに手で登録する",
)];

/// The end of a command that did its work.
const fn done(code: &'static str, says: Text, next: &'static [Step]) -> Entry {
    entry(code, ExitClass::Done, says, next)
}

pub(super) const ENTRIES: &[Entry] = &[
    done(
        "NODE_RESOLVED",
        text(
            "The result of the node is on record, and the Run follows from it.",
            "ノードの結果を記録し、Run の状態に反映しました。",
        ),
        &[SHOW_RUN, RESUME],
    ),
    done(
        "JOB_UNLOCK_RECORDED",
        text(
            "The release of the job lock is on record.",
            "ジョブロックの解放を記録しました。",
        ),
        &[SHOW_RUN, RESUME],
    ),
    done(
        "LOCK_RELEASED",
        text("The Network lock is free.", "Network ロックは解放されています。"),
        &[SHOW_NETWORK, RESUME],
    ),
    done(
        "RUN_HELD",
        text(
            "The Run does not start another node until the hold is released.",
            "保留が解除されるまで、Run は次のノードを開始しません。",
        ),
        &[RELEASE],
    ),
    done(
        "HOLD_RELEASED",
        text(
            "The Run is not on hold; nothing was resumed.",
            "Run は保留されていません。再開はしていません。",
        ),
        &[RESUME],
    ),
    usage(
        "AUDIT_INPUT_REQUIRED",
        text(
            "A text that the audit needs is blank.",
            "監査に必要な文が空です。",
        ),
    ),
    usage(
        "INVALID_ARGUMENT",
        text(
            "An argument has a value that cannot be used here.",
            "ここでは使えない値の引数があります。",
        ),
    ),
    usage(
        "COMPENSATION_CANNOT_SUCCEED",
        text(
            "A compensated node cannot be SUCCESS.",
            "打ち消したノードを SUCCESS にはできません。",
        ),
    ),
    usage(
        "MANUAL_COMPLETION_REQUIRED",
        text(
            "SUCCESS needs --manual-completion.",
            "SUCCESS にするには --manual-completion が必要です。",
        ),
    ),
    usage(
        "MANUAL_COMPLETION_REQUIRES_SUCCESS",
        text(
            "--manual-completion goes with SUCCESS only.",
            "--manual-completion は SUCCESS のときだけ使えます。",
        ),
    ),
    usage(
        "DISTINCT_APPROVER_REQUIRED",
        text(
            "SUCCESS of a non-idempotent node needs an approver who is neither the requester nor the service account.",
            "冪等でないノードを SUCCESS にするには、依頼者でも実行アカウントでもない承認者が必要です。",
        ),
    ),
    usage(
        "INVALID_LOCK_RECOVERY_RESULT",
        text(
            "The result file is not a LOCK_RECOVERY_RESULT.",
            "結果ファイルが LOCK_RECOVERY_RESULT ではありません。",
        ),
    ),
    usage(
        "JOB_KEY_MISMATCH",
        text(
            "The result belongs to another job.",
            "結果が別のジョブのものです。",
        ),
    ),
    refused(
        "NODE_STATE_NOT_UNIQUE",
        text(
            "The Run does not have exactly one such node.",
            "Run にそのノードがちょうど 1 つではありません。",
        ),
        &[SHOW_RUN],
    ),
    refused(
        "NODE_NOT_RESOLVABLE",
        text(
            "Only UNKNOWN nodes and FAILED nodes that are not idempotent can be resolved.",
            "確定できるのは、UNKNOWN のノードと、冪等でない FAILED のノードだけです。",
        ),
        &[SHOW_RUN, RESUME],
    ),
    refused(
        "CURRENT_ATTEMPT_NOT_UNIQUE",
        text(
            "The latest attempt of the node is not unique.",
            "ノードの最新の試行が 1 つに定まりません。",
        ),
        &[SHOW_RUN, REPORT],
    ),
    refused(
        "STATE_ATTEMPT_MISMATCH",
        text(
            "Node and attempt have different states.",
            "ノードと試行の状態が一致しません。",
        ),
        &[SHOW_RUN, RESUME],
    ),
    refused(
        "RESOLUTION_EXISTS",
        text(
            "The attempt was resolved before in another way.",
            "この試行はすでに別の結果で確定されています。",
        ),
        &[SHOW_RUN, CORRECT],
    ),
    refused(
        "RESOLUTION_IN_USE",
        text(
            "The attempt was resolved before, and the nodes behind it may have run on that.",
            "この試行はすでに確定され、それに基づいて下流が実行された可能性があります。",
        ),
        &[SHOW_RUN, RESUME],
    ),
    refused(
        "RESOLUTION_NOT_FOUND",
        text(
            "There is no such resolution of the latest attempt.",
            "最新の試行に、その確定はありません。",
        ),
        &[SHOW_RUN],
    ),
    entry(
        "LOCK_READ_FAILED",
        ExitClass::Remote,
        text(
            "The Network lock could not be read.",
            "Network ロックを読めませんでした。",
        ),
        &[LATER],
    ),
    refused(
        "LOCK_NOT_FOUND",
        text(
            "The network is not locked.",
            "ネットワークはロックされていません。",
        ),
        &[SHOW_NETWORK],
    ),
    refused(
        "OWNER_MISMATCH",
        text(
            "The lock belongs to another owner now.",
            "ロックの所有者が変わっています。",
        ),
        &[SHOW_NETWORK],
    ),
    entry(
        "LEASE_STILL_ACTIVE",
        ExitClass::Locked,
        text(
            "The lease of the lock is not over by more than 60 seconds.",
            "ロックのリース期限から 60 秒を過ぎていません。",
        ),
        &[SHOW_NETWORK, LATER],
    ),
    refused(
        "STOP_NOT_CONFIRMED",
        text(
            "It is not confirmed that the owner has stopped.",
            "所有者の停止が確認できていません。",
        ),
        &[SHOW_NETWORK, FORCE_UNLOCK],
    ),
    entry(
        "HEARTBEAT_ADVANCED",
        ExitClass::Locked,
        text(
            "The owner of the lock is alive.",
            "ロックの所有者は動いています。",
        ),
        &[SHOW_NETWORK],
    ),
    entry(
        "RELEASE_UNCONFIRMED",
        ExitClass::Unknown,
        text(
            "Whether the lock was released is not known.",
            "ロックが解放されたかどうか不明です。",
        ),
        &[SHOW_NETWORK, REPEAT],
    ),
    entry(
        "AUDIT_FAILED",
        ExitClass::Remote,
        text(
            "The lock is released, its audit record is not written.",
            "ロックは解放されましたが、監査記録を書けませんでした。",
        ),
        AUDIT_BY_HAND,
    ),
    entry(
        "AUDIT_CONFLICT",
        ExitClass::Unknown,
        text(
            "The audit app has another record with this event id.",
            "監査アプリに同じイベント id の別の記録があります。",
        ),
        &[SHOW_RUN, REPORT],
    ),
    refused(
        "RUN_ALREADY_TERMINAL",
        text(
            "The Run has ended; there is nothing to hold.",
            "Run は終わっており、保留できません。",
        ),
        &[SHOW_RUN],
    ),
    refused(
        "RUN_STATUS_NOT_CLOSABLE",
        text(
            "A successful Run is not archived.",
            "成功した Run は保管できません。",
        ),
        &[SHOW_RUN],
    ),
    entry(
        "RUN_UNKNOWN_NOT_CLOSABLE",
        ExitClass::Unknown,
        text(
            "A node of the Run has an unknown result.",
            "結果が不明なノードがあります。",
        ),
        &[SHOW_RUN, RESOLVE_APPROVED, RESOLVE, ABANDON],
    ),
    refused(
        "RUN_NOT_TERMINAL",
        text("The Run has not ended.", "Run は終わっていません。"),
        &[SHOW_RUN, RESUME, ABANDON],
    ),
    entry(
        "RUN_LIVE",
        ExitClass::Locked,
        text("The Run is being executed.", "Run は実行中です。"),
        &[SHOW_RUN, LATER],
    ),
    entry(
        "RUN_READ_FAILED",
        ExitClass::Remote,
        text("The Run could not be read.", "Run を読めませんでした。"),
        &[SHOW_NETWORK, LATER, ABANDON],
    ),
    entry(
        "LEASE_INTERRUPTED",
        ExitClass::Remote,
        text(
            "The Network lock could not be kept; nothing was archived.",
            "Network ロックを維持できず、保管していません。",
        ),
        &[SHOW_RUN, REPEAT],
    ),
    entry(
        "LEASE_INTERRUPTED_AFTER_ARCHIVE",
        ExitClass::Remote,
        text(
            "The Run is archived; its audit record is not written.",
            "Run は保管済みですが、監査記録を書けませんでした。",
        ),
        &[SHOW_RUN],
    ),
    entry(
        "ARCHIVE_WRITE_FAILED",
        ExitClass::Remote,
        text("The Run could not be archived.", "Run を保管できませんでした。"),
        &[SHOW_RUN, REPEAT],
    ),
    entry(
        "ARCHIVE_UNCONFIRMED",
        ExitClass::Unknown,
        text(
            "Whether the Run was archived is not known.",
            "Run が保管されたかどうか不明です。",
        ),
        &[SHOW_RUN, REPEAT],
    ),
    entry(
        "ARCHIVE_AUDIT_FAILED",
        ExitClass::Remote,
        text(
            "The Run is archived; its audit record is not written.",
            "Run は保管済みですが、監査記録を書けませんでした。",
        ),
        &[SHOW_RUN],
    ),
    entry(
        "ALREADY_ARCHIVED",
        ExitClass::Refused,
        text(
            "The Run was archived before, but the lock could not be released.",
            "Run は以前に保管済みですが、ロックを解放できませんでした。",
        ),
        &[SHOW_NETWORK, FORCE_UNLOCK],
    ),
    entry(
        "RUN_ARCHIVED_LOCK_UNRELEASED",
        ExitClass::Remote,
        text(
            "The Run is archived; the lock could not be released.",
            "Run は保管済みですが、ロックを解放できませんでした。",
        ),
        &[SHOW_NETWORK, FORCE_UNLOCK],
    ),
    unsafe_state(
        "ATTEMPT_NODE_STATE_MISSING",
        text(
            "Attempts exist for a node without a state.",
            "試行があるのにノードの状態がありません。",
        ),
    ),
    unsafe_state(
        "MULTIPLE_RUNNING_ATTEMPTS",
        text(
            "A node has several running attempts.",
            "実行中の試行が複数あるノードがあります。",
        ),
    ),
    edited(
        "RECORD_EDITED",
        text(
            "Somebody edited a field of a record; the message says which, and what it must be.",
            "レコードのフィールドが編集されています。どのフィールドで、本来の値が何かはメッセージにあります。",
        ),
    ),
    edited(
        "RECORD_DAMAGED",
        text(
            "A field of a record cannot be read; the message says which.",
            "レコードに読み取れないフィールドがあります。どのフィールドかはメッセージにあります。",
        ),
    ),
    unsafe_state(
        "NODE_STATE_MISSING",
        text(
            "The Run has started, and the record of a node is not there any more.",
            "開始済みの Run のノードのレコードがなくなっています。",
        ),
    ),
    unsafe_state(
        "REVISION_SERIES_INVERTED",
        text(
            "The revisions of a node contradict each other.",
            "ノードのリビジョンが矛盾しています。",
        ),
    ),
    unsafe_state(
        "REVISION_SERIES_UNDETERMINED",
        text(
            "The order of node and attempt cannot be told.",
            "ノードと試行の前後関係を判定できません。",
        ),
    ),
    unsafe_state(
        "ACTIVE_ATTEMPT_ID_MISSING",
        text(
            "A running node names no attempt.",
            "実行中のノードに試行の指定がありません。",
        ),
    ),
    unsafe_state(
        "ACTIVE_ATTEMPT_NOT_FOUND",
        text(
            "A node names an attempt that does not exist.",
            "ノードが存在しない試行を指しています。",
        ),
    ),
    unsafe_state(
        "STATE_TERMINAL_ATTEMPT_RUNNING",
        text(
            "A node has ended, its attempt has not.",
            "ノードは終わっているのに試行が終わっていません。",
        ),
    ),
    unsafe_state(
        "STATE_ATTEMPT_STATUS_MISMATCH",
        text(
            "Node and attempt have different states.",
            "ノードと試行の状態が一致しません。",
        ),
    ),
    entry(
        "CONFLICTING_ATTEMPT_RESOLUTIONS",
        ExitClass::Unknown,
        text(
            "An attempt was resolved in two different ways.",
            "1 つの試行が 2 通りに確定されています。",
        ),
        &[SHOW_RUN, CORRECT, ABANDON],
    ),
    unsafe_state(
        "RESOLUTION_ATTEMPT_NOT_UNKNOWN",
        text(
            "An attempt was resolved that had a known result.",
            "結果が分かっている試行が確定されています。",
        ),
    ),
    unsafe_state(
        "RESOLUTION_NOT_CURRENT_ATTEMPT",
        text(
            "An attempt was resolved that is not the latest.",
            "最新でない試行が確定されています。",
        ),
    ),
    unsafe_state(
        "RESOLUTION_STATE_NOT_UNKNOWN",
        text(
            "A resolution does not fit the state of its node.",
            "確定内容がノードの状態に合いません。",
        ),
    ),
    repairable(
        "TERMINAL_ATTEMPT_PENDING_APPLY",
        text(
            "The result of an attempt is not yet in its node.",
            "試行の結果がまだノードに反映されていません。",
        ),
    ),
    repairable(
        "ATTEMPT_RESOLUTION_PENDING_APPLY",
        text(
            "A resolution is not yet in its node.",
            "確定内容がまだノードに反映されていません。",
        ),
    ),
    repairable(
        "RUN_AGGREGATE_MISMATCH",
        text(
            "The status of the Run does not follow from its nodes.",
            "Run の状態がノードの状態と合っていません。",
        ),
    ),
    refused(
        "RUN_ALREADY_ON_HOLD",
        text("The Run is on hold already.", "Run はすでに保留中です。"),
        &[SHOW_RUN, RELEASE],
    ),
];
