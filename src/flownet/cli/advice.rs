//! Words for what leads on from the state of a Run: one command template and one sentence for each, in both languages.

use super::codes::{Facts as Values, steps};
use super::language::{Language, Text, text};
use crate::flownet::record::DamagedRun;
use crate::flownet::record::status::Outcome;
use crate::flownet::rule::next_action::{Action, Advice, Effect, NextAction, Situation, WaitKind};
use crate::flownet::status::{Facts, RunFacts, Wording};

/// The words of `status`.
pub struct Words {
    /// The runner's configuration, where this machine knows it.
    pub runner_config: Option<String>,
}

impl Wording for Words {
    fn command(&self, facts: &Facts, run: &RunFacts, action: &Action) -> String {
        self.typed(facts, run, action)
    }

    fn close_damaged(&self, facts: &Facts, run: &DamagedRun) -> String {
        let mut values = Values::default();
        values.set("network_id", facts.network_id.as_str());
        values.set("profile", facts.profile.as_str());
        values.set("run_id", run.run_id.as_str());
        values.fill_command(steps::ABANDON.command)
    }

    fn effect(&self, effect: Effect) -> &'static str {
        sentence(effect).en
    }
}

impl Words {
    /// The command line of an action, filled with everything that the records know.
    fn typed(&self, facts: &Facts, run: &RunFacts, action: &Action) -> String {
        let mut values = Values::default();
        values.set("network_id", facts.network_id.as_str());
        values.set("profile", facts.profile.as_str());
        values.set("run_id", run.run.run_id.as_str());
        values.set("scheduled_for", run.run.as_of.as_str());
        values.set("ksql_flow_config", self.runner_config.clone().unwrap_or_default());
        match action {
            Action::RerunFrom(node_id)
            | Action::RecordJobUnlock(node_id)
            | Action::Resolve { node_id, .. } => {
                values.set("node_id", node_id.as_str());
            }
            Action::InspectJobLock(job_key) | Action::FreeJobLock(job_key) => {
                values.set("job_key", job_key.as_str());
            }
            Action::ForceUnlock(owner) => values.set("owner_invocation_id", owner.as_str()),
            _ => {}
        }
        values.fill_command(template(action))
    }

    /// The lines that tell a person where a Run stands.
    pub fn lines(&self, facts: &Facts, run: &RunFacts, advice: &Advice, language: Language) -> Vec<String> {
        let mut lines = vec![format!(
            "situation: {} ({})",
            advice.situation.as_str(),
            gloss(advice).get(language)
        )];
        if let Some(wait) = &advice.waiting_on {
            let facts = [
                ("node", wait.node_id.as_deref()),
                ("since", Some(wait.since.as_str()).filter(|t| !t.is_empty())),
                ("until", wait.until.as_deref()),
                ("by", wait.by.as_deref()),
            ];
            let known: String = facts
                .into_iter()
                .filter_map(|(name, value)| value.map(|v| format!(", {name} {v}")))
                .collect();
            lines.push(format!(
                "waiting_on: {}{known}: {}",
                wait.kind.as_str(),
                wait.reason
            ));
        }
        lines.extend(
            advice
                .actions
                .iter()
                .map(|next| self.line(facts, run, next, language)),
        );
        lines
    }

    fn line(&self, facts: &Facts, run: &RunFacts, next: &NextAction, language: Language) -> String {
        let label = if next.allowed { "next" } else { "not yet" };
        let typed = match self.typed(facts, run, &next.action) {
            typed if typed.is_empty() => next.action.as_str().to_owned(),
            typed => typed,
        };
        let needs = if next.needs.is_empty() {
            String::new()
        } else {
            format!("; needs {}", next.needs.join(", "))
        };
        format!(
            "{label}: {typed}  # {} [{}{needs}]",
            sentence(next.effect).get(language),
            next.who.as_str()
        )
    }
}

/// The template of an action; empty when nobody has to type anything.
fn template(action: &Action) -> &'static str {
    match action {
        Action::Resume => steps::RESUME.command,
        Action::RerunFrom(_) => steps::RERUN_FROM.command,
        Action::Hold => steps::HOLD.command,
        Action::Release => steps::RELEASE.command,
        Action::Resolve {
            to: Outcome::Success,
            approver: true,
            ..
        } => steps::RESOLVE_APPROVED.command,
        Action::Resolve {
            to: Outcome::Success, ..
        } => steps::RESOLVE_DONE.command,
        Action::Resolve { .. } => steps::RESOLVE.command,
        Action::Archive => steps::ARCHIVE.command,
        Action::Abandon => steps::ABANDON.command,
        Action::ForceUnlock(_) => steps::FORCE_UNLOCK.command,
        Action::InspectJobLock(_) => steps::INSPECT_JOB_LOCK.command,
        Action::FreeJobLock(_) => steps::FREE_JOB_LOCK.command,
        Action::RecordJobUnlock(_) => steps::RECORD_JOB_UNLOCK.command,
        Action::NewKey => steps::CORRECTION_KEY.command,
        Action::Look => steps::SHOW_RUN.command,
        Action::Wait => "",
    }
}

/// What an action does.
fn sentence(effect: Effect) -> Text {
    match effect {
        Effect::GoesOn => text("the Run goes on with its next node", "Run が次のノードから続く"),
        Effect::SettlesAndGoesOn => text(
            "what the last process left open is settled, then the Run goes on",
            "前のプロセスが残した状態を確定してから、Run が続く",
        ),
        Effect::TriesAgain => text(
            "failed nodes are tried again; finished ones are not repeated",
            "失敗したノードを再試行する。完了したノードは繰り返さない",
        ),
        Effect::Recomputes => text(
            "the status of the Run is computed anew from its nodes, then it goes on",
            "ノードの状態から Run の状態を計算し直してから続く",
        ),
        Effect::RunsAgain => text(
            "the node and everything behind it run again; remove the cause of the failures first",
            "このノードと下流をすべて再実行する。先に失敗の原因を取り除く",
        ),
        Effect::StopsBeforeNextNode => text(
            "the running node ends, the next one is not started",
            "実行中のノードは終わりまで動き、次のノードは開始しない",
        ),
        Effect::StopsStarts => text(
            "starts leave the Run alone until the hold is released",
            "保留を解除するまで、起動しても Run は進まない",
        ),
        Effect::EndsHold => text(
            "the hold ends; nothing is started by that",
            "保留が終わる。それだけでは何も開始しない",
        ),
        Effect::CountsAsDone => text(
            "the node counts as done; the nodes behind it run with the next start",
            "ノードは完了とみなされ、次の起動で下流が実行される",
        ),
        Effect::NodeRunsAgain => text(
            "the node runs again with the next start",
            "次の起動でこのノードを再実行する",
        ),
        Effect::NodeStaysFailed => text(
            "the node stays failed and the nodes behind it blocked; then the Run can be archived",
            "ノードは失敗のまま、下流は止まったままになる。その後 Run を保管できる",
        ),
        Effect::Closes => text(
            "the Run is closed and no longer counts for max_active_runs; its business key stays taken",
            "Run を閉じ、max_active_runs に数えなくする。業務キーは使われたまま",
        ),
        Effect::FreesLock => text(
            "the lock is free; the next start settles what its owner left",
            "ロックが解放され、次の起動が所有者の残した状態を確定する",
        ),
        Effect::ShowsJobLock => text(
            "shows who holds the lock of the job, and since when",
            "ジョブロックの保持者と取得時刻を表示する",
        ),
        Effect::FreesJobLock => text(
            "the lock of the job is free; only when the job that took it is proved to be dead",
            "ジョブロックが解放される。取得したジョブの停止が証明された場合に限る",
        ),
        Effect::RecordsUnlock => text(
            "the release of the job lock is on record",
            "ジョブロックの解放が監査に記録される",
        ),
        Effect::NewRun => text(
            "the work is done again in a Run of its own",
            "別の Run として作業をやり直す",
        ),
        Effect::Shows => text(
            "shows its nodes and what leads on",
            "ノードの状態と次の手順を表示する",
        ),
        Effect::EndsByItself => text("ends by itself", "自動で終わる"),
    }
}

fn gloss(advice: &Advice) -> Text {
    let waits_for = |kind| advice.waiting_on.as_ref().is_some_and(|wait| wait.kind == kind);
    match advice.situation {
        Situation::Waiting if waits_for(WaitKind::Lock) => text("a lock is in its way", "ロックの解放待ち"),
        Situation::Waiting if waits_for(WaitKind::Person) => {
            text("a job could not be started", "ジョブを開始できなかった")
        }
        Situation::Running => text("somebody is at work on it", "実行中"),
        Situation::Waiting => text("nothing is wrong, it waits", "待機中。異常ではない"),
        Situation::Held => text("a person holds it", "人が保留している"),
        Situation::Decision => text("a person has to decide", "人の判断が必要"),
        Situation::Failed => text("a node failed", "ノードが失敗した"),
        Situation::Cancelled => text("a node was cancelled", "ノードが取り消された"),
        Situation::Archived => text("closed for good", "保管済み"),
        Situation::Done => text("everything succeeded", "すべて成功"),
    }
}
