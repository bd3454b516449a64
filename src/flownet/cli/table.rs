//! THE table of commands and flags. The parser, both help languages, the completions and the check of the man pages
//! all read this table and nothing else, so a flag exists everywhere or nowhere.
//!
//! The grammar columns ([`Unknown`], [`Extra`], [`Complaint`]) write down how the commands differ (CLI-01 to CLI-04);
//! they look accidental because they are: scripts may depend on each of them.

use super::language::{Text, text};

/// A flag of one command.
#[derive(Debug)]
pub struct Flag {
    /// The flag as typed, with its dashes.
    pub name: &'static str,
    /// The placeholder of its value (`<key>`), or nothing for a switch.
    pub value: Option<&'static str>,
    /// `<flag> is required` when absent.
    pub required: bool,
    /// An empty value is passed on (KEY-03: an empty business key counts as given) instead of being refused.
    pub empty_allowed: bool,
    /// Values to offer in completions and help; empty = free text.
    pub choices: &'static [&'static str],
    /// One line for people.
    pub help: Text,
}

/// The operand of a command.
#[derive(Debug)]
pub struct Operand {
    /// The placeholder, with its angle brackets.
    pub name: &'static str,
    /// What is said when it is absent.
    pub missing: &'static str,
    /// What is said for each further operand; `{}` = the word.
    pub extra: &'static str,
    /// Values to offer in completions; empty = a file or free text.
    pub choices: &'static [&'static str],
    /// It may be left out.
    pub optional: bool,
    /// The completion of this operand is a file name.
    pub file: bool,
}

/// What a word is that the table does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unknown {
    /// Every unknown word is an operand.
    Operand,
    /// A word beginning with `-` is an unknown option, reported in place.
    AnyDash,
    /// A word beginning with `--` is an unknown option, reported in place; `-x` is an operand.
    DoubleDash,
    /// Every unknown word, dashed or not, is an unknown option.
    Everything,
    /// As `DoubleDash`, and it swallows a value.
    TakesValue,
    /// As `TakesValue`, reported once each after the scan.
    TakesValueDeferred,
}

/// When surplus operands are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extra {
    /// Where they stand.
    InPlace,
    /// After the scan.
    AfterScan,
}

/// How wrong arguments are reported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Complaint {
    /// `Invalid <command> arguments:` and one line per problem.
    List,
    /// One fixed error line.
    Line(&'static str),
    /// One fixed line, printed as it is.
    Raw(&'static str),
}

/// A command.
#[derive(Debug)]
pub struct Command {
    /// Its name.
    pub name: &'static str,
    /// Its operand, if it takes one.
    pub operand: Option<Operand>,
    /// Its own flags, in the order in which missing ones are reported. [`COMMON`] flags come on top.
    pub flags: &'static [Flag],
    /// Grammar: unknown words.
    pub unknown: Unknown,
    /// Grammar: surplus operands.
    pub extra: Extra,
    /// Grammar: form of the complaint.
    pub complaint: Complaint,
    /// Rules between flags, checked last.
    pub rules: &'static [Rule],
    /// The code of a failure that has none of its own (ENV-04).
    pub fallback: &'static str,
    /// Shown in help, completions and man pages. False as long as the command cannot be carried out.
    pub finished: bool,
    /// One line for people.
    pub summary: Text,
    /// A paragraph for people.
    pub about: Text,
    /// Command lines to copy.
    pub examples: &'static [&'static str],
}

/// A rule between flags.
#[derive(Debug)]
pub enum Rule {
    /// The first flag must not stand with any of the others.
    Excludes(&'static str, &'static [&'static str], &'static str),
    /// The first flag needs one of the others.
    Needs(&'static str, &'static [&'static str], &'static str),
    /// The value of the flag must be one of its choices.
    OneOf(&'static str, &'static str),
}

const fn value(name: &'static str, placeholder: &'static str, help: Text) -> Flag {
    Flag {
        name,
        value: Some(placeholder),
        required: false,
        empty_allowed: false,
        choices: &[],
        help,
    }
}

const fn required(name: &'static str, placeholder: &'static str, help: Text) -> Flag {
    Flag {
        name,
        value: Some(placeholder),
        required: true,
        empty_allowed: false,
        choices: &[],
        help,
    }
}

const fn switch(name: &'static str, help: Text) -> Flag {
    Flag {
        name,
        value: None,
        required: false,
        empty_allowed: false,
        choices: &[],
        help,
    }
}

/// Flags that every command takes. All of them are ours: the original knows `--json` only on two commands.
pub const COMMON: &[Flag] = &[
    switch(
        "--json",
        text(
            "print the result as JSON on standard output",
            "結果を JSON で標準出力へ書く",
        ),
    ),
    switch(
        "--quiet",
        text("print nothing on success", "成功時は何も表示しない"),
    ),
    switch(
        "--verbose",
        text(
            "also print the number of kintone requests per app",
            "アプリごとの kintone リクエスト数も表示する",
        ),
    ),
    switch("--help", text("display this help", "このヘルプを表示する")),
];

const BUSINESS_KEY: Flag = Flag {
    empty_allowed: true,
    ..value(
        "--business-key",
        "<key>",
        text("the business key of the Run", "Run の業務キー"),
    )
};
const SCHEDULED_FOR: Flag = Flag {
    empty_allowed: true,
    ..value(
        "--scheduled-for",
        "<timestamp>",
        text(
            "the planned instant, ISO 8601 with offset; the business key is derived from it",
            "予定時刻 (オフセット付き ISO 8601)。業務キーをここから導く",
        ),
    )
};
const RUN_ID: Text = text("the Run", "対象の Run");
const REASON_FILE: Flag = required(
    "--reason-file",
    "<path>",
    text("file with the reason, UTF-8 text", "理由を書いたファイル (UTF-8)"),
);
const EVIDENCE_REF: Flag = required(
    "--evidence-ref",
    "<ref>",
    text(
        "incident, ticket or record that supports the decision",
        "判断の根拠 (障害番号、チケットなど)",
    ),
);
const STOP_CONFIRMED_BY: Flag = required(
    "--stop-confirmed-by",
    "<subject>",
    text("who confirmed that nothing runs any more", "停止を確認した人"),
);
const STOP_EVIDENCE_REF: Flag = required(
    "--stop-evidence-ref",
    "<ref>",
    text("where that confirmation is recorded", "停止確認の記録の場所"),
);
const PROFILE: Text = text("the kSQL-Flow profile", "kSQL-Flow のプロファイル");
const JSON: Flag = switch(
    "--json",
    text(
        "print the result as one JSON value on standard output",
        "結果を 1 つの JSON として標準出力へ書く",
    ),
);

const NO_EXTRA: &str = "unexpected argument '{}'";

const NETWORK: Operand = Operand {
    name: "<network>",
    missing: "",
    extra: NO_EXTRA,
    choices: &[],
    optional: false,
    file: true,
};

/// All commands, in the order of the help text.
pub const COMMANDS: &[Command] = &[
    Command {
        name: "validate",
        operand: Some(Operand {
            missing: "validate requires exactly one <network> path.",
            ..NETWORK
        }),
        flags: &[],
        unknown: Unknown::Operand,
        extra: Extra::InPlace,
        complaint: Complaint::Line("validate requires exactly one <network> path."),
        rules: &[],
        fallback: "VALIDATE_FAILED",
        finished: true,
        summary: text(
            "validate a network definition and its SQL files",
            "ネットワーク定義とその SQL ファイルを検査する",
        ),
        about: text(
            "Reads the definition and the SQL files that it names, and prints every problem found. Needs no environment \
             variable and contacts nobody.",
            "定義ファイルと、そこに書かれた SQL ファイルを読み、見つかった問題をすべて表示します。環境変数は不要で、どこにも接続しません。",
        ),
        examples: &["ksql-flownet validate networks/monthly-close.yaml"],
    },
    Command {
        name: "plan",
        operand: Some(Operand {
            missing: "plan requires one <network> path",
            ..NETWORK
        }),
        flags: &[SCHEDULED_FOR, BUSINESS_KEY],
        unknown: Unknown::AnyDash,
        extra: Extra::InPlace,
        complaint: Complaint::List,
        rules: &[],
        fallback: "PLAN_FAILED",
        finished: true,
        summary: text(
            "display the business key and stable execution plan (read-only)",
            "業務キーと実行順を表示する (読み取りのみ)",
        ),
        about: text(
            "Validates the definition, resolves the business key and prints the nodes in the order in which they would be \
             executed. Needs no environment variable and contacts nobody.",
            "定義を検査し、業務キーを決め、実行される順にノードを表示します。環境変数は不要で、どこにも接続しません。",
        ),
        examples: &[
            "ksql-flownet plan networks/monthly-close.yaml --scheduled-for 2026-09-30T22:00:00+09:00",
            "ksql-flownet plan networks/repair.yaml --business-key repair@2026-09-correction-1",
        ],
    },
    Command {
        name: "run-network",
        operand: Some(Operand {
            missing: "run-network requires one <network> path",
            ..NETWORK
        }),
        flags: &[
            BUSINESS_KEY,
            SCHEDULED_FOR,
            switch(
                "--resume",
                text(
                    "resume the Run of this business key",
                    "この業務キーの Run を再開する",
                ),
            ),
            value(
                "--resume-run",
                "<run_id>",
                text("resume this Run", "指定した Run を再開する"),
            ),
            value(
                "--rerun-from",
                "<node_id>",
                text(
                    "run this node and all its descendants again; with --resume or --resume-run",
                    "このノードとその下流をすべて再実行する (--resume か --resume-run と共に)",
                ),
            ),
            JSON,
            value(
                "--ksql-flow-bin",
                "<path>",
                text(
                    "the runner, instead of KSQL_FLOW_BIN",
                    "ジョブ実行プログラム (KSQL_FLOW_BIN の代わり)",
                ),
            ),
            value(
                "--ksql-flow-config",
                "<path>",
                text(
                    "its configuration, instead of KSQL_FLOW_CONFIG",
                    "その設定ファイル (KSQL_FLOW_CONFIG の代わり)",
                ),
            ),
            value(
                "--ksql-flow-workdir",
                "<path>",
                text(
                    "the work directory, instead of KSQL_FLOW_WORKDIR",
                    "作業ディレクトリ (KSQL_FLOW_WORKDIR の代わり)",
                ),
            ),
        ],
        unknown: Unknown::AnyDash,
        extra: Extra::InPlace,
        complaint: Complaint::List,
        rules: &[
            Rule::Excludes(
                "--resume-run",
                &["--resume", "--scheduled-for", "--business-key"],
                "--resume-run must not be combined with --resume, --scheduled-for, or --business-key",
            ),
            Rule::Needs(
                "--rerun-from",
                &["--resume-run", "--resume"],
                "--rerun-from requires --resume-run or --resume",
            ),
        ],
        fallback: "RUN_NETWORK_FAILED",
        finished: true,
        summary: text(
            "ensure and execute a Network Run sequentially",
            "Network Run を確保し、ノードを順に実行する",
        ),
        about: text(
            "Finds or creates the Run of the business key and executes its nodes one after the other. A Run that is already \
             SUCCESS is left alone (exit status 0), so the same command may be repeated safely. Without --business-key, \
             --scheduled-for and --resume a manual key is made from the current time.",
            "業務キーの Run を探すか作成し、ノードを 1 つずつ実行します。すでに SUCCESS の Run には何もしないので (終了コード 0)、同じコマンドを安全に繰り返せます。--business-key、--scheduled-for、--resume のどれもなければ、現在時刻から手動キーを作ります。",
        ),
        examples: &[
            "ksql-flownet run-network networks/monthly-close.yaml --resume --scheduled-for 2026-09-30T22:00:00+09:00",
            "ksql-flownet run-network networks/monthly-close.yaml --resume-run <run_id>",
            "ksql-flownet run-network networks/monthly-close.yaml --resume-run <run_id> --rerun-from <node_id>",
        ],
    },
    Command {
        name: "poll-requests",
        operand: None,
        flags: &[switch(
            "--check",
            text(
                "validate the configuration and the read access, write nothing",
                "設定と読み取り権限だけを確認し、何も書かない",
            ),
        )],
        unknown: Unknown::Everything,
        extra: Extra::InPlace,
        complaint: Complaint::Raw("Invalid poll-requests arguments: only --check is accepted."),
        rules: &[],
        fallback: "POLL_REQUESTS_FAILED",
        finished: false,
        summary: text(
            "claim and process app operation requests (one-shot)",
            "依頼アプリの操作依頼を受け付けて処理する (1 回だけ)",
        ),
        about: text(
            "Reads the request app once, claims the waiting requests and carries them out. Start it from a timer.",
            "依頼アプリを一度だけ読み、待っている依頼を受け付けて実行します。タイマーから起動してください。",
        ),
        examples: &["ksql-flownet poll-requests --check", "ksql-flownet poll-requests"],
    },
    Command {
        name: "resolve-node",
        operand: None,
        flags: &[
            required("--run-id", "<run_id>", RUN_ID),
            required(
                "--node-id",
                "<node_id>",
                text("the node to resolve", "確定するノード"),
            ),
            Flag {
                choices: &["SUCCESS", "FAILED", "CANCELLED"],
                ..required(
                    "--to",
                    "<status>",
                    text(
                        "what really happened: SUCCESS, FAILED or CANCELLED",
                        "実際の結果: SUCCESS、FAILED、CANCELLED",
                    ),
                )
            },
            REASON_FILE,
            EVIDENCE_REF,
            STOP_CONFIRMED_BY,
            STOP_EVIDENCE_REF,
            switch(
                "--manual-completion",
                text(
                    "the work of the node was finished by hand",
                    "ノードの処理を手作業で完了した",
                ),
            ),
            switch(
                "--compensation",
                text(
                    "the effects of the node were undone by hand",
                    "ノードの影響を手作業で打ち消した",
                ),
            ),
            value(
                "--approved-by",
                "<subject>",
                text(
                    "another person who approved; needed for SUCCESS of a non-idempotent node",
                    "承認した別の人 (冪等でないノードを SUCCESS にするとき必要)",
                ),
            ),
        ],
        unknown: Unknown::TakesValueDeferred,
        extra: Extra::InPlace,
        complaint: Complaint::List,
        rules: &[
            Rule::OneOf("--to", "--to must be SUCCESS, FAILED, or CANCELLED"),
            Rule::Excludes(
                "--manual-completion",
                &["--compensation"],
                "--manual-completion and --compensation are mutually exclusive",
            ),
        ],
        fallback: "RESOLVE_NODE_FAILED",
        finished: false,
        summary: text(
            "resolve an UNKNOWN or non-idempotent FAILED node",
            "UNKNOWN、または冪等でない FAILED のノードの結果を確定する",
        ),
        about: text(
            "Records what really happened to a node whose result the program cannot know. First make sure that nothing of it \
             runs any more, and look at the data.",
            "プログラムには結果が分からないノードについて、実際に何が起きたかを記録します。先に、その処理がもう動いていないことと、データの状態を確かめてください。",
        ),
        examples: &[
            "ksql-flownet resolve-node --run-id <run_id> --node-id load --to FAILED --reason-file reason.txt --evidence-ref INC-12 --stop-confirmed-by sato --stop-evidence-ref INC-12#3",
        ],
    },
    Command {
        name: "record-job-unlock",
        operand: None,
        flags: &[
            required(
                "--result-file",
                "<path>",
                text(
                    "the JSON printed by the runner's force-unlock-job",
                    "実行プログラムの force-unlock-job が出力した JSON",
                ),
            ),
            required("--run-id", "<run_id>", RUN_ID),
            required(
                "--node-id",
                "<node_id>",
                text("the node of the job", "ジョブのノード"),
            ),
            REASON_FILE,
            EVIDENCE_REF,
            STOP_CONFIRMED_BY,
        ],
        unknown: Unknown::TakesValue,
        extra: Extra::InPlace,
        complaint: Complaint::List,
        rules: &[],
        fallback: "RECORD_JOB_UNLOCK_FAILED",
        finished: false,
        summary: text(
            "associate a kSQL-Flow LOCK_RECOVERY_RESULT with audit",
            "kSQL-Flow の LOCK_RECOVERY_RESULT を監査記録に結び付ける",
        ),
        about: text(
            "Writes an audit record about a job lock that was released with the runner's own command. Changes no lock.",
            "実行プログラムのコマンドで解放したジョブロックについて、監査記録を書きます。ロック自体は変更しません。",
        ),
        examples: &[
            "ksql-flownet record-job-unlock --result-file unlock.json --run-id <run_id> --node-id load --reason-file reason.txt --evidence-ref INC-12 --stop-confirmed-by sato",
        ],
    },
    Command {
        name: "force-unlock-network",
        operand: Some(Operand {
            name: "<network_id>",
            missing: "<network_id> is required",
            file: false,
            ..NETWORK
        }),
        flags: &[
            required("--profile", "<profile>", PROFILE),
            required(
                "--expected-owner-invocation-id",
                "<invocation_id>",
                text(
                    "the owner that status shows for the lock",
                    "status が示すロックの所有者",
                ),
            ),
            REASON_FILE,
            EVIDENCE_REF,
            STOP_CONFIRMED_BY,
            STOP_EVIDENCE_REF,
            Flag {
                choices: &["manual", "local_pid", "cloud_run_job_execution"],
                ..required(
                    "--stop-method",
                    "<method>",
                    text(
                        "how the stop was confirmed: manual, local_pid or cloud_run_job_execution",
                        "停止の確認方法: manual、local_pid、cloud_run_job_execution",
                    ),
                )
            },
        ],
        unknown: Unknown::TakesValue,
        extra: Extra::AfterScan,
        complaint: Complaint::List,
        rules: &[],
        fallback: "FORCE_UNLOCK_NETWORK_FAILED",
        finished: false,
        summary: text(
            "force-release a stale Network lock with an audit record",
            "古くなった Network ロックを監査記録付きで強制解放する",
        ),
        about: text(
            "Releases the lock of an owner that is proved to be dead. A lease that is over is a hint, never a proof: confirm \
             the stop first.",
            "停止が証明された所有者のロックを解放します。リースの期限切れは手掛かりであって証明ではありません。先に停止を確認してください。",
        ),
        examples: &[
            "ksql-flownet force-unlock-network monthly-close --profile prod --expected-owner-invocation-id <invocation_id> --reason-file reason.txt --evidence-ref INC-12 --stop-confirmed-by sato --stop-evidence-ref INC-12#2 --stop-method local_pid",
        ],
    },
    Command {
        name: "cancel-run",
        operand: None,
        flags: &[
            required("--run-id", "<run_id>", RUN_ID),
            switch(
                "--release",
                text(
                    "release the hold instead of placing it",
                    "保留を置くのではなく解除する",
                ),
            ),
            REASON_FILE,
        ],
        unknown: Unknown::Everything,
        extra: Extra::InPlace,
        complaint: Complaint::List,
        rules: &[],
        fallback: "CANCEL_RUN_FAILED",
        finished: false,
        summary: text(
            "request or release a Run hold at the next node boundary",
            "次のノードの境目で Run を止める保留を置く、または解除する",
        ),
        about: text(
            "Places a hold: the Run stops before its next node and stays resumable. --release takes the hold away; it \
             resumes nothing by itself.",
            "保留を置きます。Run は次のノードの前で止まり、再開できる状態のままです。--release は保留を外すだけで、再開はしません。",
        ),
        examples: &[
            "ksql-flownet cancel-run --run-id <run_id> --reason-file reason.txt",
            "ksql-flownet cancel-run --run-id <run_id> --release --reason-file reason.txt",
        ],
    },
    Command {
        name: "archive-run",
        operand: Some(Operand {
            name: "<network.yaml>",
            missing: "<network.yaml> is required",
            extra: "exactly one <network.yaml> path is required",
            ..NETWORK
        }),
        flags: &[
            required("--run-id", "<run_id>", RUN_ID),
            REASON_FILE,
            value(
                "--profile",
                "<profile>",
                text(
                    "the profile, instead of KSQL_FLOWNET_PROFILE",
                    "プロファイル (KSQL_FLOWNET_PROFILE の代わり)",
                ),
            ),
        ],
        unknown: Unknown::DoubleDash,
        extra: Extra::InPlace,
        complaint: Complaint::List,
        rules: &[],
        fallback: "ARCHIVE_RUN_FAILED",
        finished: false,
        summary: text(
            "archive a terminal failed or cancelled Run",
            "失敗または取り消しで終わった Run を保管済みにする",
        ),
        about: text(
            "Closes a Run that will not be resumed. It no longer counts for max_active_runs, cannot be resumed, and still \
             occupies its business key.",
            "もう再開しない Run を閉じます。max_active_runs に数えられなくなり、再開できなくなりますが、業務キーは使われたままです。",
        ),
        examples: &[
            "ksql-flownet archive-run networks/monthly-close.yaml --run-id <run_id> --reason-file reason.txt",
        ],
    },
    Command {
        name: "status",
        operand: Some(Operand {
            name: "<network_id>",
            missing: "<network_id> is required",
            file: false,
            ..NETWORK
        }),
        flags: &[
            required("--profile", "<profile>", PROFILE),
            value(
                "--run-id",
                "<run_id>",
                text("show this Run in detail", "指定した Run を詳しく表示する"),
            ),
            value(
                "--business-key",
                "<key>",
                text(
                    "show the Run of this business key in detail",
                    "この業務キーの Run を詳しく表示する",
                ),
            ),
            JSON,
        ],
        unknown: Unknown::DoubleDash,
        extra: Extra::AfterScan,
        complaint: Complaint::List,
        rules: &[Rule::Excludes(
            "--run-id",
            &["--business-key"],
            "--run-id and --business-key are mutually exclusive",
        )],
        fallback: "STATUS_FAILED",
        finished: true,
        summary: text(
            "inspect lock and Run recovery state (read-only)",
            "ロックと Run の状態、復旧の手掛かりを表示する (読み取りのみ)",
        ),
        about: text(
            "Shows the Network lock, the Runs and, for one selected Run, its nodes, its inconsistencies and the commands that \
             lead on. Writes nothing.",
            "Network ロックと Run の一覧を表示します。Run を 1 つ選ぶと、ノード、不整合、次に使うコマンドも表示します。何も書き込みません。",
        ),
        examples: &[
            "ksql-flownet status monthly-close --profile prod",
            "ksql-flownet status monthly-close --profile prod --run-id <run_id> --json",
        ],
    },
    Command {
        name: "explain",
        operand: Some(Operand {
            name: "<code>",
            missing: "",
            optional: true,
            file: false,
            ..NETWORK
        }),
        flags: &[],
        unknown: Unknown::AnyDash,
        extra: Extra::InPlace,
        complaint: Complaint::List,
        rules: &[],
        fallback: "EXPLAIN_FAILED",
        finished: true,
        summary: text(
            "explain a result code and the next steps",
            "結果コードの意味と次の手順を表示する",
        ),
        about: text(
            "Prints what a code means, its exit status and what to do next. Without a code, all codes are listed.",
            "コードの意味、終了コード、次の手順を表示します。コードを省くと、すべてのコードを一覧します。",
        ),
        examples: &["ksql-flownet explain LOCK_CONFLICT"],
    },
    Command {
        name: "completions",
        operand: Some(Operand {
            name: "<shell>",
            missing: "<shell> is required: bash, zsh or fish",
            choices: &["bash", "zsh", "fish"],
            file: false,
            ..NETWORK
        }),
        flags: &[],
        unknown: Unknown::AnyDash,
        extra: Extra::InPlace,
        complaint: Complaint::List,
        rules: &[],
        fallback: "COMPLETIONS_FAILED",
        finished: true,
        summary: text(
            "print a completion script for a shell",
            "シェルの補完スクリプトを出力する",
        ),
        about: text(
            "Prints a completion script for bash, zsh or fish on standard output.",
            "bash、zsh、fish の補完スクリプトを標準出力へ書きます。",
        ),
        examples: &["ksql-flownet completions bash > /etc/bash_completion.d/ksql-flownet"],
    },
];

impl Command {
    /// The command of this name (case-sensitive).
    pub fn find(name: &str) -> Option<&'static Command> {
        COMMANDS.iter().find(|command| command.name == name)
    }

    /// Its own flags and then the common ones that it does not define itself.
    pub fn all_flags(&self) -> impl Iterator<Item = &'static Flag> {
        let own = self.flags;
        own.iter().chain(
            COMMON
                .iter()
                .filter(move |c| !own.iter().any(|f| f.name == c.name)),
        )
    }

    /// The flag of this name.
    pub fn flag(&self, name: &str) -> Option<&'static Flag> {
        self.all_flags().find(|flag| flag.name == name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_and_texts_are_complete() {
        for (i, command) in COMMANDS.iter().enumerate() {
            assert!(
                COMMANDS[..i].iter().all(|c| c.name != command.name),
                "{}",
                command.name
            );
            let flags: Vec<_> = command.all_flags().collect();
            for (j, flag) in flags.iter().enumerate() {
                assert!(flag.name.starts_with("--"), "{}", flag.name);
                assert!(
                    flags[..j].iter().all(|f| f.name != flag.name),
                    "{} {}",
                    command.name,
                    flag.name
                );
                assert!(!flag.help.en.is_empty() && !flag.help.ja.is_empty());
                assert_ne!(flag.help.en, flag.help.ja);
            }
            for text in [command.summary, command.about] {
                assert!(!text.en.is_empty() && !text.ja.is_empty());
                assert_ne!(text.en, text.ja);
            }
            assert!(!command.examples.is_empty());
        }
    }

    #[test]
    fn rules_name_flags_that_exist() {
        for command in COMMANDS {
            for rule in command.rules {
                let (first, others): (&str, &[&str]) = match rule {
                    Rule::Excludes(flag, others, _) | Rule::Needs(flag, others, _) => (flag, others),
                    Rule::OneOf(flag, _) => (flag, &[]),
                };
                assert!(command.flag(first).is_some(), "{} {first}", command.name);
                for other in others {
                    assert!(command.flag(other).is_some(), "{} {other}", command.name);
                }
            }
        }
    }
}
