//! Commands that start and watch Runs: run-network, status, poll-requests.

use super::shared::{BUSINESS_KEY, JSON, NETWORK, PROFILE, SCHEDULED_FOR, required, switch, value};
use super::{Command, Complaint, Extra, Operand, Rule, Unknown};
use crate::flownet::cli::language::text;

pub(super) const RUN_NETWORK: Command = Command {
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
        "make the Run of a business key, or go on with it, node by node",
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
};

pub(super) const STATUS: Command = Command {
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
        "show the lock, the Runs and what leads on",
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
};

pub(super) const POLL_REQUESTS: Command = Command {
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
        "work off the requests that people filed in the request app, once",
        "依頼アプリの操作依頼を受け付けて処理する (1 回だけ)",
    ),
    about: text(
        "Reads the request app once, claims the waiting requests and carries them out. Start it from a timer.",
        "依頼アプリを一度だけ読み、待っている依頼を受け付けて実行します。タイマーから起動してください。",
    ),
    examples: &["ksql-flownet poll-requests --check", "ksql-flownet poll-requests"],
};
