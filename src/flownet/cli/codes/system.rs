//! Codes of the command line itself, of settings and of the operating system.

use super::steps::VALIDATE;
use super::{Entry, ExitClass, Step, entry, step};
use crate::flownet::cli::language::{Text, text};

const CHECK_SETTINGS: &[Step] = &[step(
    "ksql-flownet {command} --help",
    "lists arguments and environment variables",
    "引数と環境変数の一覧",
)];

const CHECK_DEFINITION: &[Step] = &[
    VALIDATE,
    step(
        "ksql-flownet {command} --help",
        "lists arguments and environment variables",
        "引数と環境変数の一覧",
    ),
];

const STOPPED: Text = text(
    "The command stopped for the reason given above; most often a setting or the definition is wrong.",
    "上に示した理由で中止しました。多くの場合、設定または定義の誤りです。",
);

/// The fallback code of a command: its message says what happened.
const fn fallback(code: &'static str) -> Entry {
    entry(code, ExitClass::Usage, STOPPED, CHECK_SETTINGS)
}

const fn system(code: &'static str, says: Text, next: &'static [Step]) -> Entry {
    entry(code, ExitClass::Usage, says, next)
}

const CHECK_PATH: &[Step] = &[step(
    "",
    "check the path in the message, its permissions and the account that runs the command",
    "メッセージにあるパス、その権限、コマンドを実行するアカウントを確認する",
)];
const FREE_SPACE: &[Step] = &[step(
    "",
    "free space on the device, then repeat the command",
    "ディスクの空きを確保してから、同じコマンドを繰り返す",
)];
const RAISE_LIMIT: &[Step] = &[step(
    "",
    "raise the limit of open files (ulimit -n) or stop other programs, then repeat the command",
    "開けるファイル数の上限 (ulimit -n) を上げるか、他のプログラムを止めてから繰り返す",
)];

pub(super) const ENTRIES: &[Entry] = &[
    system(
        "WORK_DIRECTORY_FAILED",
        text(
            "The work directory cannot be used. What ran before is recorded, and nothing else was started.",
            "作業ディレクトリを使用できません。それまでの実行は記録済みで、以後は何も開始していません。",
        ),
        &[step(
            "",
            "free space, or correct the permissions of the path in the message, then repeat the command with --resume",
            "空きを確保するか、メッセージにあるパスの権限を直してから、--resume を付けて同じコマンドを繰り返す",
        )],
    ),
    system(
        "NOT_UTF8",
        text(
            "The file is not UTF-8 text.",
            "ファイルが UTF-8 のテキストではありません。",
        ),
        &[step(
            "",
            "save the file as UTF-8, then repeat the command",
            "ファイルを UTF-8 で保存してから、同じコマンドを繰り返す",
        )],
    ),
    entry(
        "INVALID_ARGUMENTS",
        ExitClass::Usage,
        text(
            "The arguments are wrong; nothing was done.",
            "引数に誤りがあります。何も実行していません。",
        ),
        CHECK_SETTINGS,
    ),
    entry(
        "COMMAND_UNAVAILABLE",
        ExitClass::Internal,
        text(
            "This build cannot carry out the command.",
            "このビルドではこのコマンドを実行できません。",
        ),
        &[step(
            "ksql-flownet --help",
            "lists the commands of this build",
            "このビルドで使えるコマンドの一覧",
        )],
    ),
    entry(
        "CODE_UNKNOWN",
        ExitClass::Usage,
        text("There is no such code.", "そのようなコードはありません。"),
        &[step(
            "ksql-flownet explain",
            "lists all codes",
            "すべてのコードの一覧",
        )],
    ),
    entry(
        "OUTPUT_FAILED",
        ExitClass::Internal,
        text(
            "The result could not be written to standard output.",
            "結果を標準出力へ書けませんでした。",
        ),
        &[step(
            "",
            "check where standard output goes; the work itself may be done: look with status before repeating",
            "標準出力の行き先を確認する。処理自体は終わっている可能性があるため、繰り返す前に status で確認する",
        )],
    ),
    fallback("VALIDATE_FAILED"),
    fallback("PLAN_FAILED"),
    entry("RUN_NETWORK_FAILED", ExitClass::Usage, STOPPED, CHECK_DEFINITION),
    fallback("POLL_REQUESTS_FAILED"),
    fallback("RESOLVE_NODE_FAILED"),
    fallback("RECORD_JOB_UNLOCK_FAILED"),
    fallback("FORCE_UNLOCK_NETWORK_FAILED"),
    fallback("CANCEL_RUN_FAILED"),
    entry("ARCHIVE_RUN_FAILED", ExitClass::Usage, STOPPED, CHECK_DEFINITION),
    fallback("STATUS_FAILED"),
    fallback("EXPLAIN_FAILED"),
    fallback("COMPLETIONS_FAILED"),
    system(
        "EPERM",
        text("The operation is not permitted.", "許可されていない操作です。"),
        CHECK_PATH,
    ),
    system(
        "ENOENT",
        text(
            "A file or directory does not exist.",
            "ファイルまたはディレクトリがありません。",
        ),
        CHECK_PATH,
    ),
    system(
        "EIO",
        text("The device reported an error.", "装置がエラーを返しました。"),
        CHECK_PATH,
    ),
    system(
        "EACCES",
        text("Access was denied.", "アクセスが拒否されました。"),
        CHECK_PATH,
    ),
    system(
        "EBUSY",
        text(
            "The file or device is in use.",
            "ファイルまたは装置が使用中です。",
        ),
        CHECK_PATH,
    ),
    system(
        "EEXIST",
        text(
            "Something else already has this name.",
            "同じ名前の別のものがすでにあります。",
        ),
        CHECK_PATH,
    ),
    system(
        "ENOTDIR",
        text(
            "A part of the path is not a directory.",
            "パスの途中にディレクトリでないものがあります。",
        ),
        CHECK_PATH,
    ),
    system(
        "EISDIR",
        text(
            "The path names a directory.",
            "パスがディレクトリを指しています。",
        ),
        CHECK_PATH,
    ),
    system(
        "EINVAL",
        text(
            "The path or argument is not valid.",
            "パスまたは引数が正しくありません。",
        ),
        CHECK_PATH,
    ),
    system(
        "ENFILE",
        text(
            "The system has too many open files.",
            "システム全体で開いているファイルが多すぎます。",
        ),
        RAISE_LIMIT,
    ),
    system(
        "EMFILE",
        text(
            "The process has too many open files.",
            "プロセスが開いているファイルが多すぎます。",
        ),
        RAISE_LIMIT,
    ),
    system(
        "EFBIG",
        text(
            "The file is larger than the program accepts.",
            "ファイルがプログラムの受け付ける大きさを超えています。",
        ),
        CHECK_PATH,
    ),
    system(
        "ENOSPC",
        text("The device is full.", "ディスクに空きがありません。"),
        FREE_SPACE,
    ),
    system(
        "EROFS",
        text(
            "The file system is read-only.",
            "ファイルシステムが読み取り専用です。",
        ),
        CHECK_PATH,
    ),
    system(
        "ENAMETOOLONG",
        text("A file name is too long.", "ファイル名が長すぎます。"),
        CHECK_PATH,
    ),
    system(
        "ELOOP",
        text("Too many symbolic links.", "シンボリックリンクが多すぎます。"),
        CHECK_PATH,
    ),
    system(
        "ESTALE",
        text(
            "The network file system lost the file.",
            "ネットワークファイルシステム上でファイルが失われました。",
        ),
        CHECK_PATH,
    ),
    system(
        "EDQUOT",
        text(
            "The disk quota is used up.",
            "ディスクの割り当てを使い切りました。",
        ),
        FREE_SPACE,
    ),
];
