//! Plans against runs: what EXPLAIN says of a script is what running it on the model of kintone takes.

use std::path::Path;

use ksql_flownet::flow::apps::PageRequest;
use ksql_flownet::flow::exec::{Config, ExplainStep, Explanation, Purpose, Session, Unobserved};
use ksql_flownet::flow::script::{ParseOptions, Script, parse};
use ksql_flownet::flow::sql::message::Message;
use serde_json::json;

use super::kintone::{Kintone, Request};
use super::run::config;

fn model() -> Kintone {
    let fixtures = super::read(&super::folder().join("fixtures.json"));
    Kintone::new(&fixtures, &json!({}))
}

fn parsed(sql: &str) -> Script {
    let apps = config(&json!({}), true).apps;
    let options = ParseOptions {
        apps: Some(&apps),
        strict: false,
    };
    let script = parse(&format!("-- @ksql dialect: 1\n{sql}"), &options);
    assert!(!script.has_errors(), "{sql}: {:?}", script.diagnostics);
    script
}

/// Queries of a plan that a run sends whatever it finds.
fn certain(plan: &Explanation) -> impl Iterator<Item = &str> {
    let steps = plan.steps.iter().filter(|step| {
        let sure = step.requests.is_some_and(|(_, requests)| requests.least > 0);
        sure && step.note.is_none()
    });
    steps.filter_map(|step| step.query.as_deref())
}

/// Whether a step announces a read of exactly these fields; those with a mark may be missing.
fn reads_fields(step: &ExplainStep, page: &PageRequest) -> bool {
    let detail = match step.action.to_string().as_str() {
        "scan" | "or scan" | "look up" => step.detail.to_string(),
        "count" => "$id".to_owned(),
        _ => return false,
    };
    let announced: Vec<&str> = detail.split(", ").collect();
    let may = |field: &String| announced.iter().any(|own| own.trim_end_matches('?') == field);
    let must = |own: &&str| own.ends_with('?') || page.fields.iter().any(|field| field == own);
    step.app == Some(page.app) && page.fields.iter().all(may) && announced.iter().all(must)
}

/// In what the plan of a script, made on an untouched model, is not what a run has sent.
pub fn differs(kintone: &Kintone, config: Config, script: &Script, sent: &[Request]) -> Option<String> {
    let plan = match Session::new(kintone, config, &Unobserved).explain_script(script) {
        Ok(plan) => plan,
        Err(error) => return Some(format!("no plan: {error}")),
    };
    if !kintone.writes().is_empty() {
        return Some("the plan writes".to_owned());
    }
    let kinds: [(Purpose, &[&str]); 3] = [
        (Purpose::Read, &["GET records", "GET apps"]),
        (Purpose::Write, &["POST records", "PUT records", "DELETE records"]),
        (Purpose::Definition, &["GET form", "GET states", "GET settings"]),
    ];
    for (purpose, kinds) in kinds {
        let number = sent
            .iter()
            .filter(|request| kinds.contains(&request.kind))
            .count() as u64;
        let planned = plan.requests(purpose);
        if number < planned.least || planned.most.is_some_and(|most| number > most) {
            return Some(format!("{number} requests, planned {planned:?} ({purpose:?})"));
        }
    }
    let steps: Vec<&ExplainStep> = plan.statements.iter().flat_map(|plan| &plan.steps).collect();
    let pages = sent.iter().filter_map(|request| request.page.as_ref());
    for page in pages {
        if !steps.iter().any(|step| reads_fields(step, page)) {
            return Some(format!("nothing planned for {page:?}"));
        }
    }
    let queries: Vec<&str> = sent
        .iter()
        .filter_map(|request| Some(request.page.as_ref()?.query.as_str()))
        .collect();
    let reached = plan.statements.iter().filter(|plan| !plan.may_be_skipped);
    let mut planned = reached.flat_map(certain);
    let missing = planned.find(|query| !queries.contains(query));
    missing.map(|query| format!("{query:?} was not sent but {queries:?}"))
}

/// Every script of the vectors that runs to its end.
#[test]
fn plans_of_all_vectors_hold() {
    let (mut failures, mut checked) = (Vec::new(), 0);
    let more = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/vectors/ksql_more");
    let fixtures = super::read(&super::folder().join("fixtures.json"));
    for vector in super::vectors(&super::folder())
        .iter()
        .chain(&super::vectors(&more))
    {
        let run = super::run::run(vector, &fixtures, true);
        if run.failure.is_some() {
            continue;
        }
        checked += 1;
        let kintone = Kintone::new(&fixtures, &vector["tables"]);
        let sent = run.kintone.requests();
        if let Some(why) = differs(&kintone, config(vector, true), &run.script, &sent) {
            failures.push(format!("{} {}: {why}", vector["id"], vector["sql"]));
        }
    }
    assert!(checked > 300, "{checked}");
    assert!(
        failures.is_empty(),
        "{} of {checked}:\n{}",
        failures.len(),
        failures.join("\n")
    );
}

#[test]
fn a_plan_names_queries_and_requests_and_reads_no_record() {
    let kintone = model();
    let script = parsed(
        "CREATE TEMP TABLE s AS WITH big AS (SELECT 顧客コード AS k, SUM(金額) AS t FROM APP10 WHERE 金額 > 5 GROUP BY 顧客コード) \
         SELECT c.顧客名, big.t FROM big INNER JOIN APP20 c ON c.顧客コード = big.k WHERE c.ランク = 'A' ORDER BY big.t LIMIT 3",
    );
    let mut session = Session::new(&kintone, config(&json!({}), true), &Unobserved);
    let plan = session.explain(&script.statements[0]).unwrap();
    let text = |message: &Option<Message>| message.as_ref().map(Message::to_string).unwrap_or_default();
    let steps: Vec<String> = plan
        .steps
        .iter()
        .map(|step| {
            let requests = step.requests.map(|(_, requests)| requests.requests());
            let query = step.query.as_deref().unwrap_or_default();
            let (action, relation, requests) = (&step.action, text(&step.relation), text(&requests));
            format!("{} {action} | {query} | {relation} | {requests}", step.depth)
        })
        .collect();
    assert_eq!(
        steps,
        [
            "0 common table expression |  |  | ",
            "1 scan | 金額 > 5 order by $id asc limit 500 | exact | 1 request",
            "1 group |  |  | ",
            "0 read table |  |  | ",
            "0 scan | (顧客コード in (?)) and ランク in (\"A\") order by $id asc limit 500 | exact | 1 request",
            "0 join |  |  | ",
            "0 sort |  |  | ",
        ]
    );
    assert_eq!(plan.requests(Purpose::Read).exact(), Some(2));
    assert!(
        kintone
            .requests()
            .iter()
            .filter_map(|request| request.page.as_ref())
            .all(|page| page.query.ends_with("limit 1"))
    );
}

/// A statement of EXPLAIN knows the temp tables of its run, and so the keys that are sent.
#[test]
fn a_statement_is_planned_with_the_tables_of_its_run() {
    let kintone = model();
    let script = parsed(
        "CREATE TEMP TABLE t AS SELECT 顧客コード AS k FROM APP10 WHERE 金額 > 5; \
         SELECT c.顧客名 FROM t INNER JOIN APP20 c ON c.顧客コード = t.k",
    );
    let mut session = Session::new(&kintone, config(&json!({}), true), &Unobserved);
    session.run(&script.statements[0]).unwrap();
    let plan = session.explain(&script.statements[1]).unwrap();
    let before = kintone.requests().len();
    session.run(&script.statements[1]).unwrap();
    let sent: Vec<String> = kintone.requests()[before..]
        .iter()
        .map(|request| request.page.as_ref().unwrap().query.clone())
        .collect();
    let planned: Vec<&str> = plan
        .steps
        .iter()
        .filter_map(|step| step.query.as_deref())
        .collect();
    assert_eq!(planned, sent);
    assert!(planned[0].starts_with("顧客コード in (\""), "{planned:?}");
    assert_eq!(plan.requests(Purpose::Read).exact(), Some(1));
}

/// The forms of all statements and the process states are read before the first one.
#[test]
fn a_script_is_planned_with_its_definitions() {
    let tables = json!({"APP51": {"fields": {"状態": "STATUS"}, "columns": ["状態"], "rows": []}});
    let fixtures = super::read(&super::folder().join("fixtures.json"));
    let kintone = Kintone::new(&fixtures, &tables);
    let script = parsed("DESCRIBE APP20; SELECT 状態 FROM APP51 WHERE 状態 = '完了'");
    let mut session = Session::new(&kintone, config(&json!({}), true), &Unobserved);
    let plan = session.explain_script(&script).unwrap();
    let steps: Vec<String> = plan
        .before
        .steps
        .iter()
        .map(|step| format!("{} {:?}", step.action, step.app.map(|app| app.0)))
        .collect();
    assert_eq!(steps, ["form Some(20)", "form Some(51)", "states Some(51)"]);
    assert_eq!(plan.before.requests(Purpose::Definition).exact(), Some(3));
}
