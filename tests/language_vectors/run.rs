//! Runs a vector's script as the runner does: parse, check against forms, statement by statement.

use std::sync::Mutex;

use ksql_flownet::flow::apps::{AppId, AppMap, Written};
use ksql_flownet::flow::calendar::{AsOf, Zone};
use ksql_flownet::flow::csv::Encoding;
use ksql_flownet::flow::exec::{
    ChunkEvent, Config, EngineError, ErrorKind, Explanation, ImportSource, Observer, OutcomeKind, Relation,
    Session, StatementOutcome,
};
use ksql_flownet::flow::script::{ImportFormat, ParseOptions, Script, parse};
use ksql_flownet::flow::sql::diagnostic::{Diagnostic, Severity};
use ksql_flownet::flow::sql::message::Language;
use serde_json::Value;

use super::kintone::Kintone;

/// Why a script failed.
#[derive(Clone, Debug)]
pub struct Failure {
    pub code: Option<String>,
    pub text: String,
    /// A violated ASSERT.
    pub assertion: bool,
    /// It was found before the script ran.
    pub is_static: bool,
}

/// All that a vector can ask about.
pub struct Run {
    pub kintone: Kintone,
    pub script: Script,
    pub failure: Option<Failure>,
    pub outcomes: Vec<StatementOutcome>,
    /// `success`, `failed`, `skipped`
    pub statuses: Vec<&'static str>,
    pub written: Written,
    pub no_data: bool,
    pub warnings: Vec<String>,
    pub explanation: Option<Explanation>,
    pub chunks: Vec<ChunkEvent>,
}

#[derive(Default)]
struct Watch(Mutex<Vec<ChunkEvent>>);

impl Observer for Watch {
    fn chunk_written(&self, event: &ChunkEvent) {
        self.0.lock().unwrap().push(event.clone());
    }
}

/// Settings of a run.
pub fn config(vector: &Value, push_down: bool) -> Config {
    let zone = Zone::named(vector["timezone"].as_str().unwrap_or("Asia/Tokyo")).unwrap();
    let as_of = AsOf::parse(
        vector["asOf"].as_str().unwrap_or("2026-08-22T00:00:00+09:00"),
        &zone,
    )
    .unwrap();
    let mut config = Config::new(as_of, app_map(vector));
    config.max_read_rows = vector["limits"]["maxReadRows"].as_u64();
    config.max_temp_rows = vector["limits"]["maxTempRows"].as_u64();
    config.push_down = push_down;
    config.imports = vector["imports"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(name, file)| import(name, file))
        .collect();
    config
}

/// A file for IMPORT: its text as `csv`, `sjis` or `json`.
fn import(name: &str, file: &Value) -> ImportSource {
    let (kind, text) = file.as_object().unwrap().iter().next().expect("a file");
    let text = text.as_str().expect("the text of a file").to_owned();
    let (format, bytes) = match kind.as_str() {
        "csv" => (ImportFormat::Csv, text.into_bytes()),
        "sjis" => (ImportFormat::Csv, Encoding::ShiftJis.encode(text).unwrap()),
        "json" => (ImportFormat::Json, text.into_bytes()),
        other => panic!("{other} is no format"),
    };
    ImportSource {
        name: name.to_owned(),
        format,
        bytes: bytes.into(),
    }
}

fn app_map(vector: &Value) -> AppMap {
    let mut map = AppMap::new();
    for (name, id) in vector["apps"].as_object().into_iter().flatten() {
        map.insert(name, AppId(id.as_u64().unwrap())).unwrap();
    }
    map
}

/// Runs a vector.
pub fn run(vector: &Value, fixtures: &Value, push_down: bool) -> Run {
    let kintone = Kintone::new(fixtures, &vector["tables"]);
    let sql = vector["sql"].as_str().expect("sql");
    let config = config(vector, push_down);
    let strict = vector["strict"].as_bool().unwrap_or(false);
    let script = parse(
        sql,
        &ParseOptions {
            apps: Some(&config.apps),
            strict,
        },
    );
    let mut run = Run {
        kintone: Kintone::default(),
        failure: script
            .diagnostics
            .iter()
            .find(|d| d.severity == Severity::Error)
            .map(static_failure),
        warnings: script
            .diagnostics
            .iter()
            .filter(|d| d.severity == Severity::Warning)
            .map(|d| d.code.into())
            .collect(),
        script,
        outcomes: Vec::new(),
        statuses: Vec::new(),
        written: Written::default(),
        no_data: false,
        explanation: None,
        chunks: Vec::new(),
    };
    let watch = Watch::default();
    if run.failure.is_none() {
        let mut session = Session::new(&kintone, config.clone(), &watch);
        statements(&mut session, &mut run);
        if vector["expect"].get("relation").is_some()
            && let Some(statement) = run.script.statements.first()
        {
            let other = Kintone::new(fixtures, &vector["tables"]);
            run.explanation = Session::new(&other, config, &watch).explain(statement).ok();
        }
    }
    run.chunks = watch.0.into_inner().unwrap();
    run.kintone = kintone;
    run
}

fn statements(session: &mut Session<'_>, run: &mut Run) {
    match session.check(&run.script) {
        Err(error) => run.failure = Some(failure(&error)),
        Ok(found) => {
            let error = found.iter().find(|finding| finding.severity == Severity::Error);
            run.failure = error.map(static_failure);
        }
    }
    if run.failure.is_some() {
        return;
    }
    for statement in &run.script.statements {
        if run.failure.is_some() || run.no_data {
            run.statuses.push("skipped");
            continue;
        }
        match session.run(statement) {
            Ok(outcome) => {
                run.statuses.push("success");
                run.written += outcome.written;
                match &outcome.kind {
                    OutcomeKind::ExitTaken(_) => run.no_data = true,
                    OutcomeKind::AssertWarning(text) => run.warnings.push(text.to_string()),
                    OutcomeKind::Statement | OutcomeKind::Passed => {}
                }
                run.warnings
                    .extend(outcome.warnings.iter().map(ToString::to_string));
                run.outcomes.push(outcome);
            }
            Err(error) => {
                run.statuses.push("failed");
                run.failure = Some(failure(&error));
            }
        }
    }
}

fn static_failure(diagnostic: &Diagnostic) -> Failure {
    Failure {
        code: Some(diagnostic.code.to_owned()),
        text: diagnostic.message.text(Language::English).to_owned(),
        assertion: false,
        is_static: true,
    }
}

fn failure(error: &EngineError) -> Failure {
    Failure {
        code: error.code().map(str::to_owned),
        text: error.to_string(),
        assertion: error.kind() == ErrorKind::Assert,
        is_static: false,
    }
}

impl Run {
    /// The rows of the last query.
    pub fn result(&self) -> Option<&Relation> {
        self.outcomes.last().and_then(|outcome| outcome.result.as_ref())
    }

    pub fn job_status(&self) -> &'static str {
        match &self.failure {
            Some(failure) if failure.assertion => "ABORTED",
            Some(_) => "FAILED",
            None if self.no_data => "NO_DATA",
            None => "SUCCESS",
        }
    }

    pub fn exit_code(&self) -> u64 {
        match self.job_status() {
            "ABORTED" => 2,
            "FAILED" => 1,
            _ => 0,
        }
    }
}
