//! The table of commands and flags: parser, help and manual page follow it (RNR-02).

use crate::language::{Text, text};

/// The commands, in the order of the help text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Check one job file.
    Validate,
    /// Check every job file of a folder.
    ValidateAll,
    /// Run one job file.
    Run,
    /// Run every job file of a folder.
    RunAll,
    /// Show how a job would be executed, without reading a record.
    Explain,
    /// Release all locks of a profile.
    Unlock,
    /// Create the log app.
    InitLogapp,
    /// Machine: what this program can do.
    Capabilities,
    /// Machine: the resolved profile without secrets.
    DescribeProfile,
    /// Machine: name, statements and diagnostics of a job file.
    InspectJob,
    /// Machine: who holds the lock of a job.
    InspectLock,
    /// Machine: release the lock of one job, with evidence.
    ForceUnlockJob,
}

/// One row of the command table.
#[derive(Debug)]
pub struct CommandRow {
    /// The command.
    pub command: Command,
    /// Its name on the command line.
    pub name: &'static str,
    /// Names of its positional arguments, all required.
    pub positionals: &'static [&'static str],
    /// Names of the flags it takes, beside `--help`.
    pub flags: &'static [&'static str],
    /// Prints one JSON object for a program; needs `--json`.
    pub machine: bool,
    /// What it does, for the help text.
    pub summary: Text,
}

/// One row of the flag table.
pub struct FlagRow {
    /// Name with its dashes.
    pub name: &'static str,
    /// Name of the value in the help text; `None` for a switch.
    pub value: Option<&'static str>,
    /// May be given several times.
    pub repeatable: bool,
    /// What it does, for the help text.
    pub summary: Text,
}

/// The flag that every command but `capabilities` takes.
pub(super) const PROFILE: &str = "--profile";
/// And the other one.
pub(super) const CONFIG: &str = "--config";

/// All commands (RNR-02); `explain` is an addition of this program.
pub const COMMANDS: &[CommandRow] = &[
    CommandRow {
        command: Command::Validate,
        name: "validate",
        positionals: &[],
        flags: &["-f", "--file", "--strict", "--check-logapp", PROFILE, CONFIG],
        machine: false,
        summary: text(
            "check one job file, or the log app",
            "ジョブファイル 1 つ、またはログアプリを検査する",
        ),
    },
    CommandRow {
        command: Command::ValidateAll,
        name: "validate-all",
        positionals: &["JOBS"],
        flags: &["--strict", PROFILE, CONFIG],
        machine: false,
        summary: text(
            "check every job file of a folder",
            "フォルダーのすべてのジョブファイルを検査する",
        ),
    },
    CommandRow {
        command: Command::Run,
        name: "run",
        positionals: &[],
        flags: &[
            "-f",
            "--file",
            "--as-of",
            "--dry-run",
            "--sample",
            "--json",
            "--strict",
            "--max-api-calls",
            "--lock",
            "--force-unlock",
            "--result-json",
            "--correlation-id",
            "--attempt-id",
            "--expected-job-id",
            "--import-csv",
            "--import-json",
            "--expected-import-sha256",
            "--export-csv",
            "--export-encoding",
            "--export-timezone",
            PROFILE,
            CONFIG,
        ],
        machine: false,
        summary: text("run one job file", "ジョブファイルを 1 つ実行する"),
    },
    CommandRow {
        command: Command::RunAll,
        name: "run-all",
        positionals: &["JOBS"],
        flags: &[
            "--as-of",
            "--dry-run",
            "--sample",
            "--json",
            "--strict",
            "--resume",
            "--resume-batch",
            "--from",
            "--only",
            "--stop-on-error",
            "--continue-on-error",
            "--max-api-calls",
            "--lock",
            "--force-unlock",
            PROFILE,
            CONFIG,
        ],
        machine: false,
        summary: text(
            "run every job file of a folder, in order of file name and dependencies",
            "フォルダーのジョブファイルをファイル名と依存関係の順にすべて実行する",
        ),
    },
    CommandRow {
        command: Command::Explain,
        name: "explain",
        positionals: &[],
        flags: &["-f", "--file", "--as-of", PROFILE, CONFIG],
        machine: false,
        summary: text(
            "show plan, kintone queries and estimated requests of a job file",
            "ジョブファイルの実行計画、kintone のクエリ、見積もりリクエスト数を表示する",
        ),
    },
    CommandRow {
        command: Command::Unlock,
        name: "unlock",
        positionals: &[],
        flags: &[PROFILE, CONFIG],
        machine: false,
        summary: text(
            "release the local lock and every RUNNING record of the profile",
            "ローカルロックと、プロファイルの RUNNING レコードをすべて解放する",
        ),
    },
    CommandRow {
        command: Command::InitLogapp,
        name: "init-logapp",
        positionals: &[],
        flags: &["--name", PROFILE, CONFIG],
        machine: false,
        summary: text(
            "create the log app (password authentication only)",
            "ログアプリを作成する (パスワード認証のみ)",
        ),
    },
    CommandRow {
        command: Command::Capabilities,
        name: "capabilities",
        positionals: &[],
        flags: &["--json"],
        machine: true,
        summary: text(
            "versions, execution contracts and features",
            "バージョン、実行契約、機能",
        ),
    },
    CommandRow {
        command: Command::DescribeProfile,
        name: "describe-profile",
        positionals: &[],
        flags: &["--json", PROFILE, CONFIG],
        machine: true,
        summary: text(
            "the resolved profile, without secrets",
            "解決済みのプロファイル (秘密情報を除く)",
        ),
    },
    CommandRow {
        command: Command::InspectJob,
        name: "inspect-job",
        positionals: &[],
        flags: &["-f", "--file", "--json", PROFILE, CONFIG],
        machine: true,
        summary: text(
            "name, dependencies, statements and diagnostics of a job file",
            "ジョブファイルの名前、依存関係、文、診断",
        ),
    },
    CommandRow {
        command: Command::InspectLock,
        name: "inspect-lock",
        positionals: &[],
        flags: &["--job-key", "--json", PROFILE, CONFIG],
        machine: true,
        summary: text("who holds the lock of a job", "ジョブのロックの保持者"),
    },
    CommandRow {
        command: Command::ForceUnlockJob,
        name: "force-unlock-job",
        positionals: &[],
        flags: &[
            "--job-key",
            "--reason",
            "--confirmed-by",
            "--evidence-ref",
            "--json",
            PROFILE,
            CONFIG,
        ],
        machine: true,
        summary: text(
            "release the lock of one job, recording who confirmed what",
            "誰が何を確認したかを記録してジョブのロックを解放する",
        ),
    },
];

/// All flags.
pub const FLAGS: &[FlagRow] = &[
    valued(
        PROFILE,
        "NAME",
        text(
            "profile of the configuration file (default: its defaultProfile)",
            "設定ファイルのプロファイル (既定: defaultProfile)",
        ),
    ),
    valued(
        CONFIG,
        "FILE",
        text(
            "configuration file (default: ./ksql.config.json)",
            "設定ファイル (既定: ./ksql.config.json)",
        ),
    ),
    valued("-f", "FILE", text("job file", "ジョブファイル")),
    valued("--file", "FILE", text("job file", "ジョブファイル")),
    valued(
        "--as-of",
        "INSTANT",
        text(
            "fix @NOW(), @TODAY() ... to this date or date-time (default: the start)",
            "@NOW()、@TODAY() などをこの日付・日時に固定する (既定: 開始時刻)",
        ),
    ),
    switch(
        "--dry-run",
        text(
            "show what would be written; write nothing",
            "書き込む内容を表示するだけで、何も書き込まない",
        ),
    ),
    valued(
        "--sample",
        "N",
        text(
            "with --dry-run: number of sample changes, 1 to 50 (default 5)",
            "--dry-run で表示する変更例の数。1 から 50 (既定 5)",
        ),
    ),
    switch(
        "--json",
        text(
            "print one JSON object; for run and run-all only with --dry-run",
            "JSON オブジェクトを 1 つ出力する。run と run-all では --dry-run と共に",
        ),
    ),
    switch(
        "--strict",
        text(
            "treat plain INSERT as an error",
            "ただの INSERT をエラーとして扱う",
        ),
    ),
    switch(
        "--check-logapp",
        text(
            "check the fields of the log app instead of a job file",
            "ジョブファイルではなくログアプリのフィールドを検査する",
        ),
    ),
    valued(
        "--max-api-calls",
        "N",
        text(
            "stop after this number of requests to kintone",
            "kintone へのリクエストがこの数に達したら止める",
        ),
    ),
    valued(
        "--lock",
        "MODE",
        text(
            "local-only: go on without the lock in the log app",
            "local-only: ログアプリのロックなしで続行する",
        ),
    ),
    switch(
        "--force-unlock",
        text(
            "release every lock of the profile first",
            "先にプロファイルのロックをすべて解放する",
        ),
    ),
    switch(
        "--resume",
        text(
            "run again what did not succeed in the newest batch",
            "最新のバッチで成功しなかったものを再実行する",
        ),
    ),
    valued(
        "--resume-batch",
        "ID",
        text(
            "run again what did not succeed in this batch",
            "このバッチで成功しなかったものを再実行する",
        ),
    ),
    valued(
        "--from",
        "JOB",
        text(
            "start at this job (file name or job name)",
            "このジョブから始める (ファイル名かジョブ名)",
        ),
    ),
    valued(
        "--only",
        "JOB",
        text(
            "run this job only (file name or job name)",
            "このジョブだけを実行する (ファイル名かジョブ名)",
        ),
    ),
    switch(
        "--stop-on-error",
        text(
            "skip everything after the first failure",
            "最初の失敗より後をすべてスキップする",
        ),
    ),
    switch(
        "--continue-on-error",
        text(
            "exit with 4 when some jobs succeeded and some failed",
            "成功と失敗が混在したとき終了コードを 4 にする",
        ),
    ),
    valued("--name", "NAME", text("name of the log app", "ログアプリの名前")),
    valued(
        "--result-json",
        "FILE",
        text(
            "orchestrated: write the execution result here; - for standard output",
            "オーケストレーター用: 実行結果の書き込み先。- は標準出力",
        ),
    ),
    valued(
        "--correlation-id",
        "ID",
        text(
            "orchestrated: id of the calling run",
            "オーケストレーター用: 呼び出し元の実行の ID",
        ),
    ),
    valued(
        "--attempt-id",
        "ID",
        text(
            "orchestrated: id of the attempt",
            "オーケストレーター用: 試行の ID",
        ),
    ),
    valued(
        "--expected-job-id",
        "ID",
        text(
            "orchestrated: refuse a job file with another name",
            "オーケストレーター用: 名前の違うジョブファイルを拒否する",
        ),
    ),
    repeated(
        "--import-csv",
        "NAME=FILE",
        text(
            "CSV source of IMPORT ... FROM CSV NAME (absolute path)",
            "IMPORT ... FROM CSV NAME の CSV ファイル (絶対パス)",
        ),
    ),
    repeated(
        "--import-json",
        "NAME=FILE",
        text(
            "JSON source of IMPORT ... FROM JSON NAME (absolute path)",
            "IMPORT ... FROM JSON NAME の JSON ファイル (絶対パス)",
        ),
    ),
    repeated(
        "--expected-import-sha256",
        "NAME=HEX",
        text(
            "refuse a source with another SHA-256",
            "SHA-256 の違う取込元を拒否する",
        ),
    ),
    repeated(
        "--export-csv",
        "[NAME=]FILE",
        text(
            "write temp table #NAME, or the only SELECT, as CSV",
            "一時テーブル #NAME、または唯一の SELECT を CSV に書き出す",
        ),
    ),
    valued(
        "--export-encoding",
        "ENCODING",
        text("utf8 (default) or sjis", "utf8 (既定) または sjis"),
    ),
    valued(
        "--export-timezone",
        "ZONE",
        text(
            "show date-times in this IANA time zone",
            "日時をこの IANA タイムゾーンで表す",
        ),
    ),
    valued("--job-key", "KEY", text("PROFILE:JOB", "PROFILE:JOB")),
    valued(
        "--reason",
        "TEXT",
        text("why the lock is released", "ロックを解放する理由"),
    ),
    valued(
        "--confirmed-by",
        "NAME",
        text(
            "who confirmed that the job is not running",
            "ジョブが動いていないことを確認した人",
        ),
    ),
    valued(
        "--evidence-ref",
        "URI",
        text(
            "where the confirmation is recorded (absolute URI)",
            "確認を記録した場所 (絶対 URI)",
        ),
    ),
];

const fn valued(name: &'static str, value: &'static str, summary: Text) -> FlagRow {
    FlagRow {
        name,
        value: Some(value),
        repeatable: false,
        summary,
    }
}

const fn repeated(name: &'static str, value: &'static str, summary: Text) -> FlagRow {
    FlagRow {
        name,
        value: Some(value),
        repeatable: true,
        summary,
    }
}

const fn switch(name: &'static str, summary: Text) -> FlagRow {
    FlagRow {
        name,
        value: None,
        repeatable: false,
        summary,
    }
}

/// The four flags of Execution Contract v1 (RNR-06).
pub const ORCHESTRATION: [&str; 4] = [
    "--result-json",
    "--correlation-id",
    "--attempt-id",
    "--expected-job-id",
];

/// Flags that exclude each other (RNR-03).
pub(super) const CONFLICTS: &[&[&str]] = &[
    &["-f", "--file"],
    &["--resume", "--resume-batch", "--from", "--only"],
    &["--stop-on-error", "--continue-on-error"],
];
