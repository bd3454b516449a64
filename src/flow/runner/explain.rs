//! `explain`: plan, kintone queries and requests of a job file, without reading or writing a record.

use std::path::Path;

use super::command::Flags;
use super::connection::{Connection, Use};
use super::console::Console;
use super::engine;
use super::execution;
use super::job_file::JobFile;
use super::remote::{FormCache, Remote};
use super::validate;
use super::verdict::{Exit, Failure};
use super::workplace::RunOptions;
use crate::flow::exec::{Estimate, ExplainStep, Explanation, Purpose, Session, Unobserved};
use crate::flow::sql::message::{Language, Message, say};

/// Prints the plan of every statement.
///
/// # Errors
/// The script has errors; kintone does not answer.
pub fn explain(connection: &Connection, flags: &Flags) -> Result<Exit, Failure> {
    let profile = &connection.profile;
    let job = JobFile::read(Path::new(flags.job_file().unwrap_or_default()), profile, false)?;
    let options = RunOptions::read(flags, profile)?;
    let client = connection.client(&Use {
        read_only: true,
        ..Use::default()
    })?;
    let forms = FormCache::default();
    if let Some(failure) = job.refusal_by(&validate::findings(connection, &client, &forms, &job)) {
        return Err(failure);
    }
    let remote = Remote::new(&client, profile, &forms);
    let mut session = Session::new(&remote, engine::settings(profile, &options.as_of), &Unobserved);
    let plans = session
        .explain_script(&job.script)
        .map_err(|error| engine::failure_of(&error))?;
    let console = &connection.console;
    let (file, instant) = (&job.file_name, &options.as_of.text);
    console.progress(say!("{file} (as of {instant})", "{file} (基準日時 {instant})"));
    if !plans.before.steps.is_empty() {
        console.progress(say!("before the first statement", "最初の文の前"));
        show(console, &plans.before);
    }
    for (statement, plan) in job.script.statements.iter().zip(&plans.statements) {
        let (number, kind) = (statement.index + 1, statement.kind.as_str());
        console.progress(format_args!("#{number} {kind}"));
        show(console, plan);
    }
    let read = plans.requests(Purpose::Read);
    let write = plans.requests(Purpose::Write);
    let definitions = plans.requests(Purpose::Definition);
    let log = match profile.log_app_entry() {
        Some(_) => execution::log_requests(write),
        None => Estimate::exactly(0),
    };
    let at_once = profile.limits.requests_in_flight;
    let [read, write, definitions, log] = [read, write, definitions, log].map(Estimate::text);
    let part = |language| [&read, &write, &definitions, &log].map(|number| number.text(language).to_owned());
    let [english, japanese] = [Language::English, Language::Japanese].map(part);
    let [read, write, definitions, log] = english;
    let line = format!(
        "estimated requests: {read} to read, {write} to write, {definitions} for forms and settings, {log} for lock and log; at most {at_once} at once"
    );
    let [read, write, definitions, log] = japanese;
    console.progress(Message::new(
        line,
        format!(
            "見積もりリクエスト数: 読み取り {read}、書き込み {write}、フォームと設定 {definitions}、ロックとログ {log}。同時に送るのは最大 {at_once}"
        ),
    ));
    Ok(Exit::Done)
}

fn show(console: &Console, plan: &Explanation) {
    for step in &plan.steps {
        console.progress(line(step));
        if let Some(note) = &step.note {
            let indent = "  ".repeat(step.depth + 2);
            console.progress(note.put(|language, note| match language {
                Language::English => format!("{indent}note: {note}"),
                Language::Japanese => format!("{indent}注: {note}"),
            }));
        }
    }
}

/// `  scan $id, 金額 APP10 (exact, 2 requests): 受注日 >= "2026-08-01" order by $id asc limit 500`
fn line(step: &ExplainStep) -> Message {
    let text = |language| {
        let mut text = format!("  {}{}", "  ".repeat(step.depth), step.action.text(language));
        let detail = step.detail.text(language);
        if !detail.is_empty() {
            text = format!("{text} {detail}");
        }
        if let Some(app) = step.app {
            text = format!("{text} {app}");
        }
        let requests = step.requests.map(|(_, requests)| requests.requests());
        let facts: Vec<&str> = step
            .relation
            .iter()
            .chain(&requests)
            .map(|fact| fact.text(language))
            .collect();
        if !facts.is_empty() {
            text = format!("{text} ({})", facts.join(", "));
        }
        match step.query.as_deref().filter(|query| !query.is_empty()) {
            Some(query) => format!("{text}: {query}"),
            None => text,
        }
    };
    Message::new(text(Language::English), text(Language::Japanese))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::apps::AppId;

    #[test]
    fn steps_are_one_line_each() {
        let step = ExplainStep {
            depth: 1,
            action: say!("scan", "読み取り"),
            detail: "$id".into(),
            app: Some(AppId(10)),
            query: Some("金額 < 0 limit 500".to_owned()),
            relation: Some(say!("exact", "完全")),
            requests: Some((Purpose::Read, Estimate::exactly(2))),
            note: None,
        };
        let text = line(&step);
        assert_eq!(
            text.to_string(),
            "    scan $id APP10 (exact, 2 requests): 金額 < 0 limit 500"
        );
        assert_eq!(
            text.text(Language::Japanese),
            "    読み取り $id APP10 (完全, 2 リクエスト): 金額 < 0 limit 500"
        );
        let step = ExplainStep {
            depth: 0,
            action: say!("group", "集計"),
            detail: "by 顧客コード".into(),
            app: None,
            query: None,
            relation: None,
            requests: None,
            ..step
        };
        assert_eq!(line(&step).to_string(), "  group by 顧客コード");
    }
}
