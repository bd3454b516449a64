//! Codes of network definitions, business keys and allow-lists (file 10 of the contract, ENV-06).

use super::steps::{EDIT, VALIDATE};
use super::{Entry, ExitClass, Step, entry, step};
use crate::flownet::cli::language::{Text, text};

const fn wrong(code: &'static str, says: Text) -> Entry {
    entry(code, ExitClass::Usage, says, CORRECT)
}

/// A warning: it stops nothing.
const fn remark(code: &'static str, says: Text) -> Entry {
    entry(code, ExitClass::Done, says, CORRECT)
}

const fn wrong_key(code: &'static str, says: Text) -> Entry {
    entry(code, ExitClass::Usage, says, CORRECT_KEY)
}

const fn wrong_list(code: &'static str, says: Text) -> Entry {
    entry(code, ExitClass::Usage, says, CORRECT_LIST)
}

const CORRECT: &[Step] = &[EDIT, VALIDATE];
const CORRECT_KEY: &[Step] = &[step(
    "ksql-flownet plan {network} --business-key {business_key}",
    "shows the key and the order without starting anything",
    "何も開始せずに、キーと実行順を確認する",
)];
const CORRECT_LIST: &[Step] = &[
    step("", "correct the allow-list", "許可一覧を直す"),
    step(
        "ksql-flownet poll-requests --check",
        "checks it without writing",
        "何も書かずに確認する",
    ),
];

pub(super) const ENTRIES: &[Entry] = &[
    wrong(
        "NETWORK_VALIDATION_FAILED",
        text(
            "The network definition has errors; nothing was started.",
            "ネットワーク定義に誤りがあります。何も開始していません。",
        ),
    ),
    wrong(
        "NETWORK_FILE_UNREADABLE",
        text(
            "The network file cannot be read.",
            "ネットワーク定義ファイルを読めません。",
        ),
    ),
    wrong(
        "YAML_PARSE_ERROR",
        text("The file is not valid YAML.", "YAML として正しくありません。"),
    ),
    wrong(
        "YAML_VALUE_INVALID",
        text(
            "A YAML alias cannot be resolved.",
            "YAML のエイリアスを解決できません。",
        ),
    ),
    wrong(
        "UNKNOWN_PROPERTY",
        text(
            "The definition has a property that does not exist.",
            "定義に存在しない項目があります。",
        ),
    ),
    wrong(
        "SCHEMA_INVALID",
        text(
            "A value of the definition has a wrong form.",
            "定義の値の形式に誤りがあります。",
        ),
    ),
    wrong(
        "TIMEZONE_INVALID",
        text("The time zone is not known.", "タイムゾーンが不明です。"),
    ),
    wrong(
        "FORMAT_PLACEHOLDER_UNSUPPORTED",
        text(
            "The key format uses a placeholder that does not exist.",
            "キーの書式に存在しない置換子があります。",
        ),
    ),
    wrong(
        "FORMAT_PLACEHOLDER_INVALID",
        text(
            "The key format has a stray brace.",
            "キーの書式に対応しない波括弧があります。",
        ),
    ),
    wrong(
        "FORMAT_PERIOD_MISMATCH",
        text(
            "The placeholders of the key format do not fit the period.",
            "キーの書式の置換子が期間の種類と合いません。",
        ),
    ),
    wrong(
        "NETWORK_LOCK_HEARTBEAT_NOT_LESS_THAN_LEASE",
        text(
            "The heartbeat interval must be shorter than the lease.",
            "生存通知の間隔はリースより短くしてください。",
        ),
    ),
    wrong(
        "NETWORK_LOCK_HEARTBEAT_EXCEEDS_ONE_THIRD",
        text(
            "The heartbeat interval must be at most a third of the lease.",
            "生存通知の間隔はリースの 3 分の 1 以下にしてください。",
        ),
    ),
    wrong(
        "DUPLICATE_NODE_ID",
        text("Two nodes have the same id.", "同じ id のノードが 2 つあります。"),
    ),
    wrong(
        "INPUT_PATTERN_INVALID",
        text(
            "The path pattern of an input is not allowed.",
            "入力のパスの書式が許されない形です。",
        ),
    ),
    wrong(
        "OUTPUT_PATTERN_INVALID",
        text(
            "The path pattern of an output is not allowed.",
            "出力のパスの書式が許されない形です。",
        ),
    ),
    wrong(
        "TRIGGER_RULE_UNSUPPORTED",
        text(
            "Only the trigger rule all_success is supported.",
            "使える起動条件は all_success だけです。",
        ),
    ),
    wrong(
        "SELF_DEPENDENCY",
        text("A node depends on itself.", "ノードが自分自身に依存しています。"),
    ),
    wrong(
        "DUPLICATE_DEPENDENCY",
        text(
            "A node names the same dependency twice.",
            "同じ依存先が 2 回書かれています。",
        ),
    ),
    wrong(
        "UNKNOWN_DEPENDENCY",
        text(
            "A node depends on a node that does not exist.",
            "存在しないノードに依存しています。",
        ),
    ),
    wrong(
        "CYCLE_DETECTED",
        text("The dependencies form a cycle.", "依存関係が循環しています。"),
    ),
    wrong(
        "SQL_FILE_UNREADABLE",
        text(
            "An SQL file of the network cannot be read.",
            "ネットワークの SQL ファイルを読めません。",
        ),
    ),
    wrong(
        "NETWORK_ID_UNSUPPORTED",
        text(
            "A network id must not start with two hyphens.",
            "ネットワーク id をハイフン 2 つで始めることはできません。",
        ),
    ),
    wrong(
        "NODE_ID_UNSUPPORTED",
        text(
            "A node id may use letters, digits, dot, underscore and hyphen only, and not start with two hyphens.",
            "ノード id に使えるのは英数字、ピリオド、下線、ハイフンだけで、ハイフン 2 つでは始められません。",
        ),
    ),
    wrong(
        "JOB_ID_UNSUPPORTED",
        text(
            "A job id may use letters, digits, dot, underscore and hyphen only.",
            "ジョブ id に使えるのは英数字、ピリオド、下線、ハイフンだけです。",
        ),
    ),
    wrong(
        "NODES_TOO_MANY",
        text("The network has too many nodes.", "ノードが多すぎます。"),
    ),
    wrong(
        "INPUTS_TOO_MANY",
        text(
            "A node has more inputs than its audit record can hold.",
            "ノードの入力が多すぎ、監査記録に収まりません。",
        ),
    ),
    wrong(
        "INPUT_NAME_UNSUPPORTED",
        text(
            "The runner does not accept the name of an input.",
            "実行プログラムが受け付けない入力名があります。",
        ),
    ),
    wrong(
        "OUTPUT_NAME_UNSUPPORTED",
        text(
            "The runner does not accept the name of an output.",
            "実行プログラムが受け付けない出力名があります。",
        ),
    ),
    wrong(
        "OUTPUT_PATTERN_DUPLICATE",
        text(
            "Two outputs of a node write the same file.",
            "ノードの 2 つの出力が同じファイルに書きます。",
        ),
    ),
    remark(
        "NETWORK_ID_NOT_NFC",
        text(
            "The network id has two spellings that look the same.",
            "ネットワーク id に、見た目が同じ別の表記があります。",
        ),
    ),
    remark(
        "BUSINESS_KEY_NOT_NFC",
        text(
            "The business key has two spellings that look the same.",
            "業務キーに、見た目が同じ別の表記があります。",
        ),
    ),
    remark(
        "NODE_ID_CASE_COLLISION",
        text(
            "Two node ids differ only in case.",
            "大文字と小文字だけが異なるノード id があります。",
        ),
    ),
    remark(
        "OUTPUT_PATTERN_SHARED",
        text(
            "All Runs write an output to the same file.",
            "出力がどの Run でも同じファイルになります。",
        ),
    ),
    wrong_key(
        "BUSINESS_KEY_RESERVED",
        text("The business key is a reserved word.", "業務キーが予約語です。"),
    ),
    wrong_key(
        "BUSINESS_KEY_SEPARATOR",
        text(
            "A business key must not contain a colon.",
            "業務キーにコロンは使えません。",
        ),
    ),
    wrong_key(
        "BUSINESS_KEY_INVALID",
        text(
            "The business key cannot be used or derived.",
            "業務キーが使えない形であるか、導けません。",
        ),
    ),
    wrong_key(
        "BUSINESS_KEY_REQUIRED",
        text(
            "This network needs --business-key.",
            "このネットワークには --business-key が必要です。",
        ),
    ),
    wrong_key(
        "BUSINESS_KEY_EMPTY",
        text("The business key is empty.", "業務キーが空です。"),
    ),
    wrong_key(
        "BUSINESS_KEY_TOO_LONG",
        text("The business key is too long.", "業務キーが長すぎます。"),
    ),
    wrong_key(
        "BUSINESS_KEY_CONTROL_CHARACTER",
        text(
            "The business key contains a control character.",
            "業務キーに制御文字があります。",
        ),
    ),
    wrong_key(
        "SCHEDULED_FOR_NOT_ALLOWED",
        text(
            "A network with explicit keys takes no --scheduled-for.",
            "明示キーのネットワークでは --scheduled-for を使えません。",
        ),
    ),
    wrong_key(
        "SCHEDULED_FOR_REQUIRED",
        text(
            "This network needs --scheduled-for or --business-key.",
            "--scheduled-for か --business-key が必要です。",
        ),
    ),
    wrong_key(
        "SCHEDULED_FOR_INVALID",
        text(
            "--scheduled-for must look like 2026-09-30T22:00:00+09:00.",
            "--scheduled-for は 2026-09-30T22:00:00+09:00 の形で書いてください。",
        ),
    ),
    wrong_list(
        "ALLOWLIST_PATH_NOT_ABSOLUTE",
        text(
            "The path of the allow-list must be absolute.",
            "許可一覧のパスは絶対パスにしてください。",
        ),
    ),
    wrong_list(
        "ALLOWLIST_UNREADABLE",
        text("The allow-list cannot be read.", "許可一覧を読めません。"),
    ),
    wrong_list(
        "ALLOWLIST_PARSE_ERROR",
        text(
            "The allow-list is not valid YAML.",
            "許可一覧が YAML として正しくありません。",
        ),
    ),
    wrong_list(
        "CONFIG_SHAPE_INVALID",
        text(
            "The allow-list has a wrong form.",
            "許可一覧の形式に誤りがあります。",
        ),
    ),
    wrong_list(
        "NETWORK_ENTRY_INVALID",
        text(
            "An entry of the allow-list has a wrong form.",
            "許可一覧の項目に誤りがあります。",
        ),
    ),
    wrong_list(
        "DUPLICATE_NETWORK",
        text(
            "A network stands twice in the allow-list.",
            "許可一覧に同じネットワークが 2 回あります。",
        ),
    ),
    wrong_list(
        "DEFINITION_PATH_NOT_ABSOLUTE",
        text(
            "Definition paths of the allow-list must be absolute.",
            "許可一覧の定義パスは絶対パスにしてください。",
        ),
    ),
    wrong_list(
        "NETWORK_DEFINITION_INVALID",
        text(
            "A listed network definition has errors.",
            "許可一覧のネットワーク定義に誤りがあります。",
        ),
    ),
    wrong_list(
        "NETWORK_ID_MISMATCH",
        text(
            "The definition carries another network id than the allow-list.",
            "定義のネットワーク id が許可一覧と異なります。",
        ),
    ),
    wrong_list(
        "THRESHOLD_INVALID",
        text(
            "KSQL_FLOWNET_REQUEST_STALE_AFTER_MS must exceed the heartbeat interval.",
            "KSQL_FLOWNET_REQUEST_STALE_AFTER_MS は生存通知の間隔より大きくしてください。",
        ),
    ),
];
