//! Commands of operators: resolve-node, record-job-unlock, force-unlock-network, cancel-run, archive-run.

use super::shared::{
    EVIDENCE_REF, NETWORK, PROFILE, REASON_FILE, RUN_ID, STOP_CONFIRMED_BY, STOP_EVIDENCE_REF, required,
    switch, value,
};
use super::{Command, Complaint, Extra, Flag, Operand, Rule, Unknown};
use crate::flownet::cli::language::text;

pub(super) const RESOLVE_NODE: Command = Command {
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
        value(
            "--replaces",
            "<resolution>",
            text(
                "correct this earlier Resolution of the node; needs --approved-by",
                "以前の確定 (Resolution) を訂正する。--approved-by が必要",
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
    finished: true,
    summary: text(
        "record what a node really did when only a person can know it",
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
};

pub(super) const RECORD_JOB_UNLOCK: Command = Command {
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
    finished: true,
    summary: text(
        "record in the audit that a job lock was freed by hand",
        "kSQL-Flow の LOCK_RECOVERY_RESULT を監査記録に結び付ける",
    ),
    about: text(
        "Writes an audit record about a job lock that was released with the runner's own command. Changes no lock.",
        "実行プログラムのコマンドで解放したジョブロックについて、監査記録を書きます。ロック自体は変更しません。",
    ),
    examples: &[
        "ksql-flownet record-job-unlock --result-file unlock.json --run-id <run_id> --node-id load --reason-file reason.txt --evidence-ref INC-12 --stop-confirmed-by sato",
    ],
};

pub(super) const FORCE_UNLOCK_NETWORK: Command = Command {
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
                "the owner that status shows for the lock; none when the field was emptied",
                "status が示すロックの所有者。欄が空にされている場合は none",
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
    finished: true,
    summary: text(
        "take the network lock from an owner that is proved to have stopped",
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
};

pub(super) const CANCEL_RUN: Command = Command {
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
        value(
            "--expires-at",
            "<timestamp>",
            text(
                "the hold ends by itself at this instant, ISO 8601 with offset",
                "この時刻 (オフセット付き ISO 8601) に保留が自動で終わる",
            ),
        ),
        value(
            "--for",
            "<duration>",
            text(
                "the hold ends by itself after this time: 90m, 2h, 3d12h; 366d at most",
                "この時間 (90m、2h、3d12h など、最長 366d) の後に保留が自動で終わる",
            ),
        ),
    ],
    unknown: Unknown::Everything,
    extra: Extra::InPlace,
    complaint: Complaint::List,
    rules: &[
        Rule::Excludes(
            "--release",
            &["--expires-at", "--for"],
            "--release must not be combined with --expires-at or --for",
        ),
        Rule::Excludes(
            "--expires-at",
            &["--for"],
            "--expires-at and --for are mutually exclusive",
        ),
    ],
    fallback: "CANCEL_RUN_FAILED",
    finished: true,
    summary: text(
        "hold a Run before its next node, or let it go on",
        "次のノードの境目で Run を止める保留を置く、または解除する",
    ),
    about: text(
        "Places a hold: the Run stops before its next node and stays resumable. --release takes the hold away; it \
         resumes nothing by itself. A hold with --expires-at or --for ends by itself: the next start after that instant \
         writes the release and goes on. On a Run that is held already they set another end; without them nothing is \
         written.",
        "保留を置きます。Run は次のノードの前で止まり、再開できる状態のままです。--release は保留を外すだけで、再開はしません。--expires-at または --for を付けた保留は自動で終わり、その時刻より後の最初の起動が解除を記録して続行します。すでに保留中の Run に付けると終わりの時刻を変え、付けなければ何も書き込みません。",
    ),
    examples: &[
        "ksql-flownet cancel-run --run-id <run_id> --reason-file reason.txt",
        "ksql-flownet cancel-run --run-id <run_id> --reason-file reason.txt --for 12h",
        "ksql-flownet cancel-run --run-id <run_id> --release --reason-file reason.txt",
    ],
};

pub(super) const ARCHIVE_RUN: Command = Command {
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
        switch(
            "--abandon",
            text(
                "close a Run that can neither be resumed nor ends: CREATED, RUNNING or UNKNOWN too",
                "再開も終了もできない Run を閉じる (CREATED、RUNNING、UNKNOWN でも)",
            ),
        ),
        value(
            "--evidence-ref",
            "<ref>",
            text(
                "incident or ticket; required by --abandon",
                "障害番号やチケット (--abandon のとき必須)",
            ),
        ),
        value(
            "--stop-confirmed-by",
            "<subject>",
            text(
                "who confirmed that no job of the Run is running; required by --abandon",
                "Run のジョブが動いていないことを確認した人 (--abandon のとき必須)",
            ),
        ),
    ],
    unknown: Unknown::DoubleDash,
    extra: Extra::InPlace,
    complaint: Complaint::List,
    rules: &[
        Rule::Needs(
            "--abandon",
            &["--evidence-ref"],
            "--abandon requires --evidence-ref",
        ),
        Rule::Needs(
            "--abandon",
            &["--stop-confirmed-by"],
            "--abandon requires --stop-confirmed-by",
        ),
    ],
    fallback: "ARCHIVE_RUN_FAILED",
    finished: true,
    summary: text(
        "close a Run that nobody will continue",
        "失敗または取り消しで終わった Run を保管済みにする",
    ),
    about: text(
        "Closes a FAILED or CANCELLED Run that will not be resumed. It no longer counts for max_active_runs, cannot be \
         resumed, and still occupies its business key. --abandon also closes a Run whose records contradict each other, \
         whose definition or profile is lost, or whose result nobody will ever know; it needs evidence. \
         Nobody else may hold the Network lock; that of an owner which is proved dead is taken over.",
        "もう再開しない FAILED または CANCELLED の Run を閉じます。max_active_runs に数えられなくなり、再開できなくなりますが、業務キーは使われたままです。--abandon は、レコードが矛盾している Run、定義やプロファイルが失われた Run、結果が永久に分からない Run も閉じます。こちらは根拠が必要です。どちらも Network ロックを誰も持っていないときに限りますが、停止を証明できた所有者のロックは引き継ぎます。",
    ),
    examples: &[
        "ksql-flownet archive-run networks/monthly-close.yaml --run-id <run_id> --reason-file reason.txt",
        "ksql-flownet archive-run networks/monthly-close.yaml --run-id <run_id> --reason-file reason.txt --abandon --evidence-ref INC-12 --stop-confirmed-by sato",
    ],
};
