//! Codes of the boundary to the runner: preflight, bundle input, results and CSV files (file 10 of the contract, F and G).

use super::steps::{
    ABANDON, CHECK_RUNNER, CORRECTION_KEY, FREE_JOB_LOCK, INSPECT_JOB_LOCK, RECORD_JOB_UNLOCK, RESOLVE,
    RESOLVE_APPROVED, RESUME, SHOW_RUN,
};
use super::{Entry, ExitClass, Step, entry, step};
use crate::flownet::cli::language::{Text, text};

const fn runner(code: &'static str, says: Text) -> Entry {
    entry(code, ExitClass::Usage, says, &[CHECK_RUNNER])
}

const fn job(code: &'static str, says: Text) -> Entry {
    entry(code, ExitClass::Usage, says, CORRECT_JOB)
}

const fn file(code: &'static str, says: Text) -> Entry {
    entry(code, ExitClass::NodeFailed, says, CORRECT_FILE)
}

const fn unknown(code: &'static str, says: Text) -> Entry {
    entry(
        code,
        ExitClass::Unknown,
        says,
        &[SHOW_RUN, RESOLVE_APPROVED, RESOLVE, RESUME],
    )
}

const fn failed(code: &'static str, says: Text) -> Entry {
    entry(code, ExitClass::NodeFailed, says, &[SHOW_RUN, RESUME])
}

const CORRECT_JOB: &[Step] = &[step(
    "",
    "correct the SQL file or the node named in the message, then start again: no Run was created",
    "メッセージが示す SQL ファイルまたはノードを直して、もう一度開始する (Run は作られていない)",
)];
const CORRECT_FILE: &[Step] = &[
    step(
        "",
        "put the file named in the message in order below KSQL_FLOWNET_IO_DIR",
        "KSQL_FLOWNET_IO_DIR の下にある、メッセージが示すファイルを整える",
    ),
    RESUME,
];

pub(super) const ENTRIES: &[Entry] = &[
    runner(
        "KSQL_FLOW_PROCESS_FAILED",
        text(
            "The runner could not be started, or was killed.",
            "実行プログラムを起動できないか、強制終了されました。",
        ),
    ),
    runner(
        "KSQL_FLOW_EXIT_MISMATCH",
        text(
            "The runner ended with an unexpected exit status.",
            "実行プログラムが想定外の終了コードで終わりました。",
        ),
    ),
    runner(
        "KSQL_FLOW_INVALID_JSON",
        text(
            "The runner did not print JSON.",
            "実行プログラムの出力が JSON ではありません。",
        ),
    ),
    runner(
        "KSQL_FLOW_OUTPUT_INVALID",
        text(
            "The runner printed JSON of an unexpected form.",
            "実行プログラムの出力の形式が想定と異なります。",
        ),
    ),
    runner(
        "CAPABILITY_CONTRACT_MISSING",
        text(
            "The runner does not support our execution contract.",
            "実行プログラムが必要な実行契約に対応していません。",
        ),
    ),
    runner(
        "CAPABILITY_FEATURE_MISSING",
        text(
            "The runner lacks a feature that this network needs.",
            "実行プログラムに、このネットワークが必要とする機能がありません。",
        ),
    ),
    runner(
        "PROFILE_DESCRIPTION_INVALID",
        text(
            "The runner's description of the profile is incomplete.",
            "実行プログラムが返したプロファイルの説明が不完全です。",
        ),
    ),
    job(
        "JOB_ID_MISMATCH",
        text(
            "An SQL file belongs to another job.",
            "SQL ファイルが別のジョブのものです。",
        ),
    ),
    job(
        "JOB_INSPECTION_FAILED",
        text(
            "The runner found errors in an SQL file.",
            "実行プログラムが SQL ファイルに誤りを見つけました。",
        ),
    ),
    job(
        "NONDETERMINISTIC_IDEMPOTENT_JOB",
        text(
            "A node is marked idempotent, but its SQL gives another result each time.",
            "冪等とされたノードの SQL が、実行のたびに異なる結果になります。",
        ),
    ),
    job(
        "BUNDLE_INPUT_CHANGED",
        text(
            "A file was changed while it was read.",
            "読み取り中にファイルが変更されました。",
        ),
    ),
    job(
        "BUNDLE_DIALECT_MISMATCH",
        text(
            "The SQL files of the network use different dialects.",
            "ネットワークの SQL ファイルの方言が揃っていません。",
        ),
    ),
    job(
        "BUNDLE_INPUT_INVALID",
        text(
            "A node or job id cannot be stored.",
            "保存できないノード id またはジョブ id があります。",
        ),
    ),
    file(
        "INPUT_FILE_MISSING",
        text("An input file does not exist.", "入力ファイルがありません。"),
    ),
    file(
        "INPUT_PATH_REJECTED",
        text("An input path is not allowed.", "入力のパスが許されない形です。"),
    ),
    file(
        "OUTPUT_PATH_REJECTED",
        text("An output path is not allowed.", "出力のパスが許されない形です。"),
    ),
    entry(
        "INPUT_FILE_MUTATED",
        ExitClass::Refused,
        text(
            "An input file is not the one that the Run began with.",
            "入力ファイルが Run の開始時のものと異なります。",
        ),
        &[
            step(
                "",
                "restore the original file, then resume",
                "元のファイルに戻してから再開する",
            ),
            RESUME,
            ABANDON,
            CORRECTION_KEY,
        ],
    ),
    entry(
        "INPUT_RETENTION_EXPIRED",
        ExitClass::Refused,
        text(
            "The Run is older than its input files are kept.",
            "入力ファイルの保存期間を過ぎた Run です。",
        ),
        &[ABANDON, CORRECTION_KEY],
    ),
    unknown(
        "NO_EXECUTION_RESULT",
        text(
            "The job left neither a result nor a final log record.",
            "ジョブの結果も最終ログも残っていません。",
        ),
    ),
    unknown(
        "INVALID_EXECUTION_RESULT",
        text(
            "The result of the job contradicts itself.",
            "ジョブの結果に矛盾があります。",
        ),
    ),
    unknown(
        "FORCED_TERMINATION",
        text(
            "The job did not stop in time and was killed.",
            "ジョブが期限までに止まらず、強制終了しました。",
        ),
    ),
    failed(
        "EXECUTION_TIMEOUT",
        text("The job ran out of time.", "ジョブが時間切れになりました。"),
    ),
    failed(
        "ASSERT_FAILED",
        text("An assertion of the job failed.", "ジョブの検証に失敗しました。"),
    ),
    failed(
        "VALIDATION_ERROR",
        text(
            "The runner refused the job.",
            "実行プログラムがジョブを拒否しました。",
        ),
    ),
    failed(
        "SQL_ERROR",
        text("The SQL of the job failed.", "ジョブの SQL が失敗しました。"),
    ),
    failed(
        "API_ERROR",
        text(
            "kintone refused a request of the job.",
            "ジョブの要求を kintone が拒否しました。",
        ),
    ),
    failed(
        "AUTH_ERROR",
        text("kintone did not let the job in.", "ジョブの認証に失敗しました。"),
    ),
    failed(
        "INTERNAL_ERROR",
        text(
            "The runner had an internal error.",
            "実行プログラムの内部エラーです。",
        ),
    ),
    entry(
        "PREPARE_FAILED",
        ExitClass::NodeFailed,
        text("The job was never started.", "ジョブは開始されませんでした。"),
        &[SHOW_RUN, CHECK_RUNNER, RESUME],
    ),
    entry(
        "JOB_LOCK_HELD",
        ExitClass::Locked,
        text(
            "The lock of a job is held: by another execution, or left behind by one that was killed.",
            "ジョブロックが保持されています。別の実行が使用中か、強制終了した実行が残したものです。",
        ),
        &[
            SHOW_RUN,
            INSPECT_JOB_LOCK,
            FREE_JOB_LOCK,
            RECORD_JOB_UNLOCK,
            RESUME,
        ],
    ),
    failed("FAILED", text("The job failed.", "ジョブが失敗しました。")),
    failed(
        "CANCELLED",
        text("The job was cancelled.", "ジョブが取り消されました。"),
    ),
    entry(
        "NO_DATA",
        ExitClass::Done,
        text(
            "The job found nothing to do.",
            "処理対象のデータがありませんでした。",
        ),
        &[],
    ),
];
