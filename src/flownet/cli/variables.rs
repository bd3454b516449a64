//! THE table of environment variables: help texts, man pages and a test of the settings read it, so that no variable can
//! work undocumented and none can be documented without working.

use super::language::{Text, text};

/// One variable.
#[derive(Debug)]
pub struct Variable {
    /// Its name.
    pub name: &'static str,
    /// Commands that read it; empty = every command that talks to kintone.
    pub commands: &'static [&'static str],
    /// How necessary it is.
    pub need: Need,
    /// Its value is a secret.
    pub secret: bool,
    /// One line for people.
    pub help: Text,
}

/// How necessary a variable is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    /// Always.
    Required,
    /// Unless the flag is given.
    UnlessFlag(&'static str),
    /// Not; with its default.
    Optional(&'static str),
    /// Only in the situation that the help line names.
    Sometimes,
}

const fn variable(name: &'static str, commands: &'static [&'static str], need: Need, help: Text) -> Variable {
    Variable {
        name,
        commands,
        need,
        secret: false,
        help,
    }
}

const fn secret(name: &'static str, commands: &'static [&'static str], need: Need, help: Text) -> Variable {
    Variable {
        name,
        commands,
        need,
        secret: true,
        help,
    }
}

const RUN: &[&str] = &["run-network"];
const POLL: &[&str] = &["poll-requests"];
/// The commands whose name of the operator goes into audit records.
const OPERATE: &[&str] = &[
    "run-network",
    "resolve-node",
    "record-job-unlock",
    "force-unlock-network",
    "cancel-run",
    "archive-run",
];
const PRINCIPAL: &[&str] = &[
    "resolve-node",
    "record-job-unlock",
    "force-unlock-network",
    "archive-run",
];
/// The commands that know how long files are kept.
const FILES: &[&str] = &["run-network", "status"];
/// The commands that work on the state app and the audit app.
const CONTROL: &[&str] = &[
    "run-network",
    "status",
    "resolve-node",
    "record-job-unlock",
    "force-unlock-network",
    "cancel-run",
    "archive-run",
];

/// All variables, in the order of the man page.
pub const VARIABLES: &[Variable] = &[
    variable(
        "KSQL_FLOWNET_BASE_URL",
        &[],
        Need::Required,
        text(
            "kintone address, https://<subdomain>.cybozu.com; plain http is accepted for loopback addresses only",
            "kintone のアドレス https://<サブドメイン>.cybozu.com。http はループバックアドレスに限る",
        ),
    ),
    variable(
        "KSQL_FLOWNET_STATE_APP_ID",
        CONTROL,
        Need::Required,
        text("app number of the state app", "状態アプリのアプリ番号"),
    ),
    secret(
        "KSQL_FLOWNET_STATE_API_TOKEN",
        CONTROL,
        Need::Required,
        text("API token of the state app", "状態アプリの API トークン"),
    ),
    variable(
        "KSQL_FLOWNET_AUDIT_APP_ID",
        CONTROL,
        Need::Required,
        text("app number of the audit app", "監査アプリのアプリ番号"),
    ),
    secret(
        "KSQL_FLOWNET_AUDIT_API_TOKEN",
        CONTROL,
        Need::Required,
        text("API token of the audit app", "監査アプリの API トークン"),
    ),
    variable(
        "KSQL_FLOWNET_PROFILE",
        &["run-network", "poll-requests", "archive-run"],
        Need::Required,
        text(
            "profile of the runner's configuration, part of every key; --profile of archive-run replaces it",
            "実行プログラムの設定のプロファイル。すべてのキーの一部。archive-run では --profile で代用できる",
        ),
    ),
    variable(
        "KSQL_FLOW_BIN",
        RUN,
        Need::UnlessFlag("--ksql-flow-bin"),
        text(
            "the runner; a name without a slash is looked up in PATH",
            "実行プログラム。スラッシュのない名前は PATH から探す",
        ),
    ),
    variable(
        "KSQL_FLOW_BIN_ARGS",
        RUN,
        Need::Optional(""),
        text(
            "words put in front of every argument list of the runner: a JSON list of strings, or words separated by blanks",
            "実行プログラムの引数の先頭に付ける語。文字列の JSON リスト、または空白区切りの語",
        ),
    ),
    variable(
        "KSQL_FLOW_CONFIG",
        RUN,
        Need::UnlessFlag("--ksql-flow-config"),
        text("configuration file of the runner", "実行プログラムの設定ファイル"),
    ),
    variable(
        "KSQL_FLOW_WORKDIR",
        &["run-network", "archive-run"],
        Need::UnlessFlag("--ksql-flow-workdir"),
        text(
            "work directory; created when missing; archive-run does without it, but can then prove no owner of a lock dead, nor be proved dead itself",
            "作業ディレクトリ。なければ作る。archive-run では省けるが、その場合はロックの所有者の停止を証明できず、自分の停止も証明されない",
        ),
    ),
    variable(
        "KSQL_FLOW_LOG_APP_ID",
        RUN,
        Need::Required,
        text(
            "app number of the runner's JOB log app",
            "実行プログラムの JOB ログアプリのアプリ番号",
        ),
    ),
    secret(
        "KSQL_FLOW_LOG_API_TOKEN",
        RUN,
        Need::Required,
        text("API token of the JOB log app", "JOB ログアプリの API トークン"),
    ),
    variable(
        "KSQL_FLOW_GRACE_PERIOD_MS",
        RUN,
        Need::Optional("30000"),
        text(
            "milliseconds between the polite and the forced stop of a job",
            "ジョブに停止を求めてから強制終了するまでのミリ秒",
        ),
    ),
    variable(
        "KSQL_FLOWNET_IO_DIR",
        FILES,
        Need::Sometimes,
        text(
            "absolute directory of CSV inputs (in/) and outputs (out/); required by run-network when a node has inputs or outputs, also when it has them only in the definition of a stored Run",
            "CSV の入力 (in/) と出力 (out/) の絶対ディレクトリ。ノードに入出力があるとき run-network に必要 (保存済みの Run の定義だけにあるときも)",
        ),
    ),
    variable(
        "KSQL_FLOWNET_IO_RETENTION_DAYS",
        FILES,
        Need::Optional("90"),
        text(
            "days after which a Run with inputs can no longer be resumed",
            "入力のある Run を再開できなくなるまでの日数",
        ),
    ),
    variable(
        "KSQL_FLOWNET_REQUESTED_BY",
        OPERATE,
        Need::Sometimes,
        text(
            "the person behind the command, for the records; required except by run-network (default: USERNAME, else unknown)",
            "コマンドを実行した人 (記録用)。run-network 以外では必須 (run-network の既定: USERNAME、なければ unknown)",
        ),
    ),
    variable(
        "USERNAME",
        RUN,
        Need::Optional("unknown"),
        text(
            "used when KSQL_FLOWNET_REQUESTED_BY is not set",
            "KSQL_FLOWNET_REQUESTED_BY がないときに使う",
        ),
    ),
    variable(
        "KSQL_FLOWNET_SERVICE_PRINCIPAL",
        PRINCIPAL,
        Need::Sometimes,
        text(
            "the account that the command runs as, for the records; required except by archive-run (default: the host)",
            "コマンドを実行するアカウント (記録用)。archive-run 以外では必須 (archive-run の既定: ホスト名)",
        ),
    ),
    variable(
        "KSQL_FLOWNET_HOST",
        &[
            "run-network",
            "poll-requests",
            "force-unlock-network",
            "archive-run",
        ],
        Need::Optional(""),
        text(
            "name of this host in records and locks; when not set, the host name of the system",
            "記録とロックに書くこのホストの名前。設定しなければシステムのホスト名",
        ),
    ),
    variable(
        "KSQL_FLOWNET_OWNER_INSTANCE_ID",
        RUN,
        Need::Optional("local-pid://<host>/<pid>"),
        text(
            "identity of the lock owner; set it only where the platform has better ids than process numbers",
            "ロック所有者の識別子。プロセス番号より良い識別子がある環境でだけ設定する",
        ),
    ),
    secret(
        "KSQL_FLOWNET_GCP_ACCESS_TOKEN",
        &["force-unlock-network"],
        Need::Optional(""),
        text(
            "bearer token for the stop method cloud_run_job_execution",
            "停止確認方法 cloud_run_job_execution で使うアクセストークン",
        ),
    ),
    variable(
        "KSQL_FLOWNET_CLOUD_RUN_URL",
        &["force-unlock-network"],
        Need::Optional("https://run.googleapis.com"),
        text(
            "stand-in for the Cloud Run API, an http address of this machine; for rehearsals",
            "Cloud Run API の代わりに使う、このマシンの http アドレス (練習用)",
        ),
    ),
    variable(
        "KSQL_FLOWNET_REQUEST_APP_ID",
        POLL,
        Need::Required,
        text("app number of the request app", "依頼アプリのアプリ番号"),
    ),
    secret(
        "KSQL_FLOWNET_REQUEST_API_TOKEN",
        POLL,
        Need::Required,
        text("API token of the request app", "依頼アプリの API トークン"),
    ),
    variable(
        "KSQL_FLOWNET_REQUEST_ALLOWLIST_PATH",
        POLL,
        Need::Required,
        text(
            "absolute path of the list of allowed networks",
            "許可するネットワークの一覧の絶対パス",
        ),
    ),
    variable(
        "KSQL_FLOWNET_REQUEST_HEARTBEAT_INTERVAL_MS",
        POLL,
        Need::Optional("60000"),
        text(
            "milliseconds between heartbeats of a claimed request",
            "受け付けた依頼の生存通知の間隔 (ミリ秒)",
        ),
    ),
    variable(
        "KSQL_FLOWNET_REQUEST_STALE_AFTER_MS",
        POLL,
        Need::Optional("900000"),
        text(
            "milliseconds without heartbeat after which a claimed request is stale; more than the interval",
            "生存通知が途絶えた依頼を停滞とみなすまでのミリ秒。間隔より大きくする",
        ),
    ),
    variable(
        "KSQL_FLOWNET_GUEST_SPACE_ID",
        &[],
        Need::Optional(""),
        text(
            "number of the guest space that holds the apps",
            "アプリのあるゲストスペースの番号",
        ),
    ),
    secret(
        "KSQL_FLOWNET_BASIC_AUTH",
        &[],
        Need::Optional(""),
        text(
            "user:password of the Basic authentication in front of kintone",
            "kintone の前段の Basic 認証の user:password",
        ),
    ),
    variable(
        "KSQL_FLOWNET_CA_FILE",
        &[],
        Need::Optional(""),
        text(
            "PEM file with further root certificates",
            "追加のルート証明書の PEM ファイル",
        ),
    ),
    variable(
        "HTTPS_PROXY",
        &[],
        Need::Optional(""),
        text(
            "proxy for https connections (also in lower case)",
            "https 接続のプロキシ (小文字も可)",
        ),
    ),
    variable(
        "NO_PROXY",
        &[],
        Need::Optional(""),
        text(
            "hosts that are reached without the proxy (also in lower case)",
            "プロキシを使わないホスト (小文字も可)",
        ),
    ),
    variable(
        "KSQL_FLOWNET_CHILD_ENV",
        RUN,
        Need::Optional(""),
        text(
            "inherit: the runner also gets the secrets of the control plane; not set: it does not",
            "inherit: 実行プログラムに管理側の秘密も渡す。設定しなければ渡さない",
        ),
    ),
    variable(
        "KSQL_FLOWNET_AUTO_RECLAIM",
        &["run-network", "archive-run"],
        Need::Optional("on"),
        text(
            "off: never release the lock of a dead process of this host without a person",
            "off: このホストで死んだプロセスのロックを人手なしに解放しない",
        ),
    ),
    variable(
        "KSQL_FLOWNET_EXIT_CODES",
        &[],
        Need::Optional("simple"),
        text(
            "detailed: one exit status per kind of failure; see EXIT STATUS",
            "detailed: 失敗の種類ごとの終了コードを使う",
        ),
    ),
];

/// The variables that a command reads.
pub fn of_command(name: &str) -> impl Iterator<Item = &'static Variable> {
    let remote = CONTROL.contains(&name) || POLL.contains(&name);
    VARIABLES.iter().filter(move |v| {
        if v.commands.is_empty() {
            remote
        } else {
            v.commands.contains(&name)
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flownet::cli::table::Command;

    #[test]
    fn variables_are_unique_and_name_commands_that_exist() {
        for (i, variable) in VARIABLES.iter().enumerate() {
            assert!(
                VARIABLES[..i].iter().all(|v| v.name != variable.name),
                "{}",
                variable.name
            );
            assert!(
                variable.commands.iter().all(|c| Command::find(c).is_some()),
                "{}",
                variable.name
            );
            assert!(
                variable.help.en.is_ascii() && !variable.help.ja.is_ascii(),
                "{}",
                variable.name
            );
            assert_eq!(
                variable.secret,
                ["TOKEN", "AUTH"].iter().any(|s| variable.name.ends_with(s)),
                "{}",
                variable.name
            );
        }
    }

    #[test]
    fn commands_that_contact_nobody_read_nothing() {
        assert_eq!(of_command("validate").count(), 0);
        assert!(of_command("run-network").any(|v| v.name == "KSQL_FLOW_BIN"));
    }
}
