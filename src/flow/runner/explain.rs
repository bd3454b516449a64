//! `explain`: plan, kintone queries and estimated requests of a job file, without reading or writing a record.

use std::path::Path;

use super::command::Flags;
use super::connection::{Connection, Use};
use super::engine;
use super::job_file::JobFile;
use super::remote::{FormCache, Remote};
use super::validate;
use super::verdict::{Exit, Failure};
use super::workplace::RunOptions;
use crate::flow::exec::{ExplainStep, Session, Unobserved};
use crate::flow::sql::message::say;

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
    let mut total = 0;
    for (statement, plan) in job.script.statements.iter().zip(&plans) {
        console.progress(format_args!(
            "#{} {}",
            statement.index + 1,
            statement.kind.as_str()
        ));
        for step in &plan.steps {
            console.progress(line(step));
        }
        total += plan.estimated_requests();
    }
    let at_once = profile.limits.requests_in_flight;
    console.progress(say!(
        "estimated requests: {total} to read, one per 100 records to write, 4 for lock and log; at most {at_once} at once",
        "見積もりリクエスト数: 読み取り {total}、書き込みは 100 レコードごとに 1、ロックとログに 4。同時に送るのは最大 {at_once}"
    ));
    Ok(Exit::Done)
}

/// `  scan APP10 (exact, 2 requests): 受注日 >= "2026-08-01"`
fn line(step: &ExplainStep) -> String {
    let mut text = format!("  {}{}", "  ".repeat(step.depth), step.action);
    if !step.detail.is_empty() {
        text = format!("{text} {}", step.detail);
    }
    if let Some(app) = step.app {
        text = format!("{text} {app}");
    }
    let requests = step.requests.map(|requests| format!("{requests} requests"));
    let notes: Vec<String> = step
        .relation
        .map(str::to_owned)
        .into_iter()
        .chain(requests)
        .collect();
    if !notes.is_empty() {
        text = format!("{text} ({})", notes.join(", "));
    }
    match step.query.as_deref().filter(|query| !query.is_empty()) {
        Some(query) => format!("{text}: {query}"),
        None => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::apps::AppId;

    #[test]
    fn steps_are_one_line_each() {
        let step = ExplainStep {
            depth: 1,
            action: "scan",
            detail: String::new(),
            app: Some(AppId(10)),
            query: Some("金額 < \"0\"".to_owned()),
            relation: Some("exact"),
            requests: Some(2),
        };
        assert_eq!(line(&step), "    scan APP10 (exact, 2 requests): 金額 < \"0\"");
        let step = ExplainStep {
            action: "group",
            detail: "by 顧客コード".to_owned(),
            ..ExplainStep::default()
        };
        assert_eq!(line(&step), "  group by 顧客コード");
    }
}
