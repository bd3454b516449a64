//! Steps that many codes share.

use super::{Step, step};

/// Look at the Run.
pub(in crate::flownet::cli) const SHOW_RUN: Step = step(
    "ksql-flownet status {network_id} --profile {profile} --run-id {run_id}",
    "shows its nodes and the commands that lead on",
    "ノードの状態と、次に使えるコマンドを表示する",
);
/// Look at the network.
pub(super) const SHOW_NETWORK: Step = step(
    "ksql-flownet status {network_id} --profile {profile}",
    "shows the lock and all Runs",
    "ロックとすべての Run を表示する",
);
/// Resume the Run.
pub(in crate::flownet::cli) const RESUME: Step = step(
    "ksql-flownet run-network {network} --resume-run {run_id}",
    "resumes the Run",
    "Run を再開する",
);
/// Remove a record that somebody made by hand.
pub(super) const DELETE_COPY: Step = step(
    "",
    "delete in kintone the record that was made by hand, as the message says, and no other; then repeat the same command",
    "メッセージが示す、手で作られたレコードだけを kintone で削除し、同じコマンドを繰り返す",
);
/// Start again with the same key.
pub(super) const AGAIN: Step = step(
    "",
    "repeat the same command with --resume: it continues where it stopped and repeats no finished node",
    "同じコマンドに --resume を付けて繰り返す (止まった所から続き、完了したノードは繰り返さない)",
);
/// Do the same again.
pub(super) const REPEAT: Step = step(
    "",
    "repeat the same command: what is already done is not done twice",
    "同じコマンドを繰り返す (済んだ処理は二重に行われない)",
);
/// Wait and repeat.
pub(super) const LATER: Step = step(
    "",
    "repeat the same command in a few minutes",
    "数分後に同じコマンドを繰り返す",
);
/// Validate the definition.
pub(super) const VALIDATE: Step = step(
    "ksql-flownet validate {network}",
    "shows every problem of the definition",
    "定義の問題をすべて表示する",
);
/// Correct the definition.
pub(super) const EDIT: Step = step(
    "",
    "correct the network definition at the path shown, then validate again",
    "表示された位置の定義を直してから、もう一度検査する",
);
/// Resolve a node whose work was not done.
pub(in crate::flownet::cli) const RESOLVE: Step = step(
    "ksql-flownet resolve-node --run-id {run_id} --node-id {node_id} --to FAILED --reason-file {reason_file} \
     --evidence-ref {evidence_ref} --stop-confirmed-by {person} --stop-evidence-ref {stop_evidence_ref}",
    "records that the work was not done, after looking at the data",
    "データを確かめたうえで、処理が行われていないことを記録する",
);
/// Resolve a node whose work was finished by hand.
pub(in crate::flownet::cli) const RESOLVE_DONE: Step = step(
    "ksql-flownet resolve-node --run-id {run_id} --node-id {node_id} --to SUCCESS --manual-completion \
     --reason-file {reason_file} --evidence-ref {evidence_ref} --stop-confirmed-by {person} \
     --stop-evidence-ref {stop_evidence_ref}",
    "records that the work is complete, after looking at the data",
    "データを確かめたうえで、処理が完了していることを記録する",
);
/// The same for a node that must not be repeated.
pub(in crate::flownet::cli) const RESOLVE_APPROVED: Step = step(
    "ksql-flownet resolve-node --run-id {run_id} --node-id {node_id} --to SUCCESS --manual-completion \
     --approved-by {approver} --reason-file {reason_file} --evidence-ref {evidence_ref} --stop-confirmed-by {person} \
     --stop-evidence-ref {stop_evidence_ref}",
    "records that the work is complete; a node that is not idempotent needs the approval of another person",
    "処理が完了していることを記録する。冪等でないノードには別の人の承認が必要",
);
/// Correct a Resolution that was wrong.
pub(super) const CORRECT: Step = step(
    "ksql-flownet resolve-node --run-id {run_id} --node-id {node_id} --to {outcome}[ {resolution_flag}] --replaces {resolution_key} \
     --approved-by {approver} --reason-file {reason_file} --evidence-ref {evidence_ref} --stop-confirmed-by {person} \
     --stop-evidence-ref {stop_evidence_ref}",
    "only when the earlier one was wrong, with the approval of another person",
    "以前の確定が誤りだった場合に限り、別の人の承認を得て訂正する",
);
/// Release the lock of a dead owner.
pub(in crate::flownet::cli) const FORCE_UNLOCK: Step = step(
    "ksql-flownet force-unlock-network {network_id} --profile {profile} \
     --expected-owner-invocation-id {owner_invocation_id} --reason-file {reason_file} --evidence-ref {evidence_ref} \
     --stop-confirmed-by {person} --stop-evidence-ref {stop_evidence_ref} --stop-method {stop_method}",
    "only when the owner is proved to be dead",
    "所有者の停止が証明された場合に限る",
);
/// Hold the Run.
pub(in crate::flownet::cli) const HOLD: Step = step(
    "ksql-flownet cancel-run --run-id {run_id} --reason-file {reason_file}",
    "stops the Run before its next node",
    "次のノードの前で Run を止める",
);
/// Take a node and everything behind it again.
pub(in crate::flownet::cli) const RERUN_FROM: Step = step(
    "ksql-flownet run-network {network} --resume-run {run_id} --rerun-from {node_id}",
    "runs the node and everything behind it again",
    "このノードと下流をすべて再実行する",
);
/// Release the hold.
pub(in crate::flownet::cli) const RELEASE: Step = step(
    "ksql-flownet cancel-run --run-id {run_id} --release --reason-file {reason_file}",
    "releases the hold; then resume",
    "保留を解除する。その後に再開する",
);
/// Archive the Run.
pub(in crate::flownet::cli) const ARCHIVE: Step = step(
    "ksql-flownet archive-run {network} --run-id {run_id} --reason-file {reason_file}",
    "closes a Run that will not be resumed",
    "もう再開しない Run を閉じる",
);
/// Archive a Run that can neither be resumed nor ends.
pub(in crate::flownet::cli) const ABANDON: Step = step(
    "ksql-flownet archive-run {network} --run-id {run_id} --reason-file {reason_file} --abandon \
     --evidence-ref {evidence_ref} --stop-confirmed-by {person}",
    "closes it whatever its nodes are in, so that it no longer counts for max_active_runs",
    "ノードの状態にかかわらず Run を閉じ、max_active_runs に数えられないようにする",
);
/// Look at the lock of a job.
pub(in crate::flownet::cli) const INSPECT_JOB_LOCK: Step = step(
    "ksql-flow inspect-lock --job-key {job_key} --profile {profile} --config {ksql_flow_config} --json",
    "shows who holds the lock of the job, and since when",
    "ジョブロックの保持者と取得時刻を表示する",
);
/// Release the lock that a dead job left.
pub(in crate::flownet::cli) const FREE_JOB_LOCK: Step = step(
    "ksql-flow force-unlock-job --job-key {job_key} --reason {reason} --confirmed-by {person} \
     --evidence-ref {evidence_url} --profile {profile} --config {ksql_flow_config} --json > {result_file}",
    "only when the job that took it is proved to be dead",
    "ロックを取得したジョブの停止が証明された場合に限る",
);
/// Put that release on record.
pub(in crate::flownet::cli) const RECORD_JOB_UNLOCK: Step = step(
    "ksql-flownet record-job-unlock --run-id {run_id} --node-id {node_id} --result-file {result_file} \
     --reason-file {reason_file} --evidence-ref {evidence_ref} --stop-confirmed-by {person}",
    "puts the release of the job lock on record; then resume",
    "ジョブロックの解放を監査に記録する。その後に再開する",
);
/// A fresh key.
pub(in crate::flownet::cli) const CORRECTION_KEY: Step = step(
    "ksql-flownet run-network {network} --business-key {correction_key}[ --scheduled-for {scheduled_for}]",
    "runs the same period again under another business key",
    "別の業務キーで同じ期間を実行し直す",
);
/// A fault of ours.
pub(super) const REPORT: Step = step(
    "",
    "this is a fault of the program or of a record: keep the output and the record, and report it",
    "プログラムまたはレコードの異常。出力とレコードを保存して報告する",
);
/// Check the runner.
pub(super) const CHECK_RUNNER: Step = step(
    "",
    "check KSQL_FLOW_BIN, KSQL_FLOW_BIN_ARGS and KSQL_FLOW_CONFIG, and run the runner's capabilities command by hand",
    "KSQL_FLOW_BIN、KSQL_FLOW_BIN_ARGS、KSQL_FLOW_CONFIG を確認し、実行プログラムの capabilities を手で実行する",
);
