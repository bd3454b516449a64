//! What a vector expects, compared with what happened. An expectation that is not understood fails.

use ksql_flownet::flow::apps::AppId;
use ksql_flownet::flow::exec::Relation;
use serde_json::{Map, Value, json};

use super::kintone::Write;
use super::query::condition_text;
use super::run::{Failure, Run, run};

type Check = Result<(), String>;

/// Runs a vector and compares everything it expects.
pub fn check(vector: &Value, fixtures: &Value) -> Check {
    let run = run(vector, fixtures, true);
    let expect = vector["expect"].as_object().ok_or("no expect")?;
    let fails = ["error", "diagnostics", "jobStatus", "errorText", "meta"]
        .iter()
        .any(|key| expect.contains_key(*key));
    if let (Some(failure), false) = (&run.failure, fails) {
        return Err(format!("failed: {failure:?}"));
    }
    for (key, expected) in expect {
        one(key, expected, expect, &run).map_err(|why| format!("{key}: {why}"))?;
    }
    // Results never depend on push-down.
    if run.failure.is_none() && run.result().is_some() {
        let other = super::run::run(vector, fixtures, false);
        let pair = (rows(run.result()), rows(other.result()));
        if pair.0 != pair.1 {
            return Err(format!(
                "without push-down: {:?}, with: {:?} ({:?})",
                pair.1, pair.0, other.failure
            ));
        }
    }
    Ok(())
}

fn one(key: &str, expected: &Value, expect: &Map<String, Value>, run: &Run) -> Check {
    match key {
        "rows" => same_rows(
            run.result(),
            expected,
            expect.get("ordered") == Some(&json!(true)),
        ),
        "columns" => same_columns(run.result(), expected),
        "ordered" => Ok(()),
        "last" => {
            let ordered = expected["ordered"] == json!(true);
            same_rows(run.result(), &expected["rows"], ordered)?;
            expected
                .get("columns")
                .map_or(Ok(()), |columns| same_columns(run.result(), columns))
        }
        "statements" => match expected {
            Value::Array(statuses) => equal(&json!(run.statuses), &json!(statuses)),
            count => equal(&json!(run.statuses.len()), count),
        },
        "error" => error(run, expected),
        "jobStatus" => equal(&json!(run.job_status()), expected),
        "exitCode" => equal(&json!(run.exit_code()), expected),
        "warnings" => warnings(&run.warnings, expected),
        "errorText" => {
            let text = run.failure.as_ref().map(|failure| failure.text.as_str());
            equal(&json!(text), expected)
        }
        "counts" => {
            let counts = json!({
                "inserted": run.written.inserted, "updated": run.written.updated, "deleted": run.written.deleted,
            });
            for (name, count) in expected.as_object().into_iter().flatten() {
                equal(&counts[name], count).map_err(|why| format!("{name} {why}"))?;
            }
            Ok(())
        }
        "writes" => writes(&run.kintone.writes(), expected),
        "requests" => requests(run, expected),
        "sizes" => sizes(run, expected),
        "parameters" => parameters(run, expected),
        "diagnostics" => diagnostics(run, expected),
        "meta" => meta(run, expected),
        "kintoneQuery" => {
            let page = first_page(run)?;
            equal(&json!(condition_text(&page.query)), expected)
        }
        "relation" => {
            let steps = run.explanation.as_ref().ok_or("no explanation")?;
            let mut relations = steps.steps.iter().filter_map(|step| step.relation.as_ref());
            let relation = relations.next().map(ToString::to_string);
            equal(&json!(relation), expected)
        }
        "fieldsAtLeast" => {
            let fields = first_page(run)?.fields;
            match expected
                .as_array()
                .into_iter()
                .flatten()
                .find(|code| !fields.iter().any(|f| json!(f) == **code))
            {
                Some(missing) => Err(format!("{missing} is not fetched: {fields:?}")),
                None => Ok(()),
            }
        }
        "fieldsAtMostAdds" => {
            let allowed: Vec<&Value> = [expected, &expect["fieldsAtLeast"]]
                .iter()
                .filter_map(|list| list.as_array())
                .flatten()
                .collect();
            match first_page(run)?
                .fields
                .iter()
                .find(|field| !allowed.contains(&&json!(field)))
            {
                Some(surplus) => Err(format!("{surplus} is fetched needlessly")),
                None => Ok(()),
            }
        }
        other => Err(format!("the expectation {other} is not understood")),
    }
}

fn equal(found: &Value, expected: &Value) -> Check {
    if found == expected {
        Ok(())
    } else {
        Err(format!("found {found}, expected {expected}"))
    }
}

fn first_page(run: &Run) -> Result<ksql_flownet::flow::apps::PageRequest, String> {
    run.kintone
        .requests()
        .into_iter()
        .find_map(|request| request.page)
        .ok_or_else(|| "no records were read".into())
}

/// Rows as texts, sorted.
fn rows(relation: Option<&Relation>) -> Option<Vec<Vec<String>>> {
    let relation = relation?;
    let width = relation.columns().len();
    let mut rows: Vec<Vec<String>> = (0..relation.rows())
        .map(|row| {
            (0..width)
                .map(|column| relation.cell(row, column).to_owned())
                .collect()
        })
        .collect();
    rows.sort();
    Some(rows)
}

fn same_rows(relation: Option<&Relation>, expected: &Value, ordered: bool) -> Check {
    let relation = relation.ok_or("no result")?;
    let width = relation.columns().len();
    let mut found: Vec<Value> = (0..relation.rows())
        .map(|row| {
            (0..width)
                .map(|column| json!(relation.cell(row, column)))
                .collect()
        })
        .collect();
    let mut expected = expected.as_array().cloned().ok_or("rows are no list")?;
    if !ordered {
        found.sort_by_key(ToString::to_string);
        expected.sort_by_key(ToString::to_string);
    }
    equal(&json!(found), &json!(expected))
}

fn same_columns(relation: Option<&Relation>, expected: &Value) -> Check {
    let names: Vec<&str> = relation
        .ok_or("no result")?
        .columns()
        .iter()
        .map(|column| column.name.as_str())
        .collect();
    equal(&json!(names), expected)
}

fn error(run: &Run, expected: &Value) -> Check {
    let failure = run.failure.as_ref().ok_or("it did not fail")?;
    if let Some(code) = expected["code"].as_str()
        && failure.code.as_deref() != Some(code)
    {
        return Err(format!("found {failure:?}, expected {code}"));
    }
    if let Some(class) = expected["class"].as_str()
        && !is_of_class(failure, class)
    {
        return Err(format!("found {failure:?}, expected {class}"));
    }
    let requests = run.kintone.requests();
    let too_late = match expected["before"].as_str() {
        Some("any request") => requests.first().map(|request| request.kind),
        Some("any record request") => requests
            .iter()
            .map(|request| request.kind)
            .find(|kind| kind.ends_with("records")),
        Some("any write") => run.kintone.writes().first().map(|write| write.op),
        _ => None,
    };
    // The form of a target may be read to find an error of names; that is no record.
    let static_form = failure.is_static && too_late == Some("GET form");
    match too_late {
        Some(kind) if !static_form => Err(format!("{kind} came before the error")),
        _ => Ok(()),
    }
}

/// A class is a word that the message has in spirit; static errors are argument errors under another name.
fn is_of_class(failure: &Failure, class: &str) -> bool {
    let text = failure.text.to_lowercase();
    text.contains(&class.to_lowercase())
        || (class == "ArgumentError" && failure.is_static)
        || failure.code.as_deref() == Some(class)
}

fn warnings(found: &[String], expected: &Value) -> Check {
    for warning in expected.as_array().into_iter().flatten() {
        let text = warning.as_str().unwrap_or("");
        if !found.iter().any(|found| found.contains(text)) {
            return Err(format!("{text} is not among {found:?}"));
        }
    }
    if expected
        .as_array()
        .is_some_and(|list| list.is_empty() && !found.is_empty())
    {
        return Err(format!("unexpected {found:?}"));
    }
    Ok(())
}

fn writes(found: &[Write], expected: &Value) -> Check {
    let expected = expected.as_object().ok_or("writes are no object")?;
    for (app, list) in expected {
        let id = AppId(
            app.trim_start_matches("APP")
                .parse()
                .map_err(|_| format!("{app}?"))?,
        );
        let own: Vec<&Write> = found.iter().filter(|write| write.app == id).collect();
        let list = list.as_array().ok_or("writes of an app are no list")?;
        if own.len() != list.len() {
            return Err(format!(
                "{app}: {} writes, expected {}: {own:?}",
                own.len(),
                list.len()
            ));
        }
        for (write, expected) in own.iter().zip(list) {
            let mut shown = Map::new();
            for (key, _) in expected.as_object().into_iter().flatten() {
                let value = match key.as_str() {
                    "op" => json!(write.op),
                    "id" => json!(write.id.to_string()),
                    "key" => json!(write.key),
                    "record" => Value::Object(write.record.clone()),
                    other => return Err(format!("{other} of a write is not understood")),
                };
                shown.insert(key.clone(), value);
            }
            equal(&Value::Object(shown), expected)?;
        }
    }
    match found
        .iter()
        .find(|write| !expected.contains_key(&write.app.to_string()))
    {
        Some(surplus) => Err(format!("unexpected {surplus:?}")),
        None => Ok(()),
    }
}

fn requests(run: &Run, expected: &Value) -> Check {
    let found = run.kintone.requests();
    for (kind, count) in expected.as_object().into_iter().flatten() {
        if kind == "sizes" {
            sizes(run, count)?;
            continue;
        }
        let same = found.iter().filter(|request| request.kind == kind).count();
        equal(&json!(same), count).map_err(|why| format!("{kind} {why}"))?;
    }
    Ok(())
}

fn sizes(run: &Run, expected: &Value) -> Check {
    let sizes: Vec<usize> = run
        .kintone
        .requests()
        .iter()
        .map(|request| request.size)
        .filter(|size| *size > 0)
        .collect();
    equal(&json!(sizes), expected)
}

fn parameters(run: &Run, expected: &Value) -> Check {
    let page = first_page(run)?;
    let limit = page
        .query
        .split("limit ")
        .nth(1)
        .and_then(|rest| rest.split(' ').next())
        .and_then(|n| n.parse::<u64>().ok());
    let found = json!({"totalCount": page.total_count, "limit": limit});
    for (name, value) in expected.as_object().into_iter().flatten() {
        equal(&found[name], value).map_err(|why| format!("{name} {why}"))?;
    }
    Ok(())
}

fn diagnostics(run: &Run, expected: &Value) -> Check {
    let list = expected.as_array().ok_or("diagnostics are no list")?;
    let found = &run.script.diagnostics;
    if found.len() != list.len() {
        return Err(format!("found {found:?}"));
    }
    for (diagnostic, expected) in found.iter().zip(list) {
        let shown = json!({
            "code": diagnostic.code,
            "severity": format!("{:?}", diagnostic.severity).to_lowercase(),
            "line": diagnostic.line,
            "column": diagnostic.column,
        });
        for (name, value) in expected.as_object().into_iter().flatten() {
            equal(&shown[name], value).map_err(|why| format!("{name} {why} in {diagnostic:?}"))?;
        }
    }
    Ok(())
}

fn meta(run: &Run, expected: &Value) -> Check {
    let header = &run.script.header;
    let found = json!({
        "name": header.name, "dependsOn": header.depends_on, "dialect": header.dialect, "timeout": header.timeout,
    });
    for (name, value) in expected.as_object().into_iter().flatten() {
        equal(&found[name], value).map_err(|why| format!("{name} {why}"))?;
    }
    Ok(())
}
