//! Commands that contact nobody: validate, plan, explain, completions.

use super::shared::{BUSINESS_KEY, NETWORK, SCHEDULED_FOR};
use super::{Command, Complaint, Extra, Operand, Unknown};
use crate::flownet::cli::language::text;

pub(super) const VALIDATE: Command = Command {
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
        "check a network file and the SQL files that it names",
        "ネットワーク定義とその SQL ファイルを検査する",
    ),
    about: text(
        "Reads the definition and the SQL files that it names, and prints every problem found. Needs no environment \
         variable and contacts nobody.",
        "定義ファイルと、そこに書かれた SQL ファイルを読み、見つかった問題をすべて表示します。環境変数は不要で、どこにも接続しません。",
    ),
    examples: &["ksql-flownet validate networks/monthly-close.yaml"],
};

pub(super) const PLAN: Command = Command {
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
        "show which Run a start would make, and its nodes in order",
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
};

pub(super) const EXPLAIN: Command = Command {
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
};

pub(super) const COMPLETIONS: Command = Command {
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
};
