//! How a command ends: with a value, or with one [`Failure`].
//!
//! Errors are typed where they arise; a command turns each of them into a `Failure` once, and only `cli` turns a
//! `Failure` into text, JSON and an exit status (house rule "an error", D-05, D-06).

use std::borrow::Cow;

use serde::Serialize;

use super::codes::Facts;
use super::output::{ErrorObject, Requests};

/// The form in which a failure is printed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// `ksql-flownet: error: <message> [CODE]`, then one `- ` line per detail.
    Coded,
    /// The message as a headline exactly as it is, then one `- ` line per detail (CLI-02, DEF-33).
    Block,
}

/// The end of a command that did not do its work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The code: of the error itself, or the fallback of the command (ENV-04).
    pub code: Cow<'static, str>,
    /// What happened, one line; foreign text in it is escaped on output.
    pub message: String,
    /// Further lines, one fact each, printed with `- ` in front.
    pub details: Vec<String>,
    /// Complete command lines that lead on. Empty = those of the code table, filled with the facts.
    pub next: Vec<String>,
    /// Seldom needed; boxed so that results stay small.
    extra: Box<Extra>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Extra {
    explained_by: Option<&'static str>,
    handed: Option<HandedRun>,
    blocked_run_ids: Vec<String>,
    last_line: Option<String>,
    facts: Facts,
    form: Form,
}

/// A Run that the scheduler had when the failure came (CLI-04).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HandedRun {
    /// NEW or RESUME.
    pub outcome: &'static str,
    /// The Run.
    pub run_id: String,
    /// The invocation.
    pub invocation_id: String,
}

impl Failure {
    /// A coded failure.
    pub fn new(code: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Failure {
        Failure {
            code: code.into(),
            message: message.into(),
            details: Vec::new(),
            next: Vec::new(),
            extra: Box::new(Extra {
                explained_by: None,
                handed: None,
                blocked_run_ids: Vec::new(),
                last_line: None,
                facts: Facts::default(),
                form: Form::Coded,
            }),
        }
    }

    /// A headline and problems below it, printed in the form that scripts know.
    pub fn block(
        code: impl Into<Cow<'static, str>>,
        headline: impl Into<String>,
        lines: Vec<String>,
    ) -> Failure {
        let mut failure = Failure::new(code, headline);
        failure.details = lines;
        failure.extra.form = Form::Block;
        failure
    }

    /// An input or output error of the operating system. Its name (`ENOENT`) is the code (ENV-04, OPR-03).
    pub fn system(fallback: &'static str, what: &str, error: &std::io::Error) -> Failure {
        let code = crate::os::error_name::name(error).unwrap_or(fallback);
        Failure::new(code, format!("{what}: {error}"))
    }

    /// Adds a detail line.
    pub fn detail(mut self, line: impl Into<String>) -> Failure {
        self.details.push(line.into());
        self
    }

    /// Adds a command line that leads on.
    pub fn next(mut self, command: impl Into<String>) -> Failure {
        self.next.push(command.into());
        self
    }

    /// Sets a value for the templates of the code table (`run_id`, `network`, `profile`, ...).
    pub fn fact(mut self, name: &'static str, value: impl Into<String>) -> Failure {
        self.extra.facts.set(name, value);
        self
    }

    /// A line after the details whose form scripts know (`Blocking run_id(s): ...`, OUT-01).
    pub fn last_line(mut self, line: impl Into<String>) -> Failure {
        self.extra.last_line = Some(line.into());
        self
    }

    /// The entry of the code table that explains this failure better than its own code does.
    pub fn explained_by(mut self, entry: Option<&'static str>) -> Failure {
        self.extra.explained_by = entry;
        self
    }

    /// The entry of the code table to show.
    pub(super) fn subject(&self) -> &str {
        self.extra.explained_by.unwrap_or(&self.code)
    }

    /// Runs in the way; also printed as a last line (OUT-01).
    pub fn blocked_runs(mut self, ids: Vec<String>) -> Failure {
        if !ids.is_empty() {
            self.extra.last_line = Some(format!("Blocking run_id(s): {}", ids.join(", ")));
        }
        self.extra.blocked_run_ids = ids;
        self
    }

    /// The scheduler had this Run already.
    pub fn handed(mut self, run: HandedRun) -> Failure {
        self.extra.handed = Some(run);
        self
    }

    pub(super) fn facts(&self) -> &Facts {
        &self.extra.facts
    }

    /// Takes over facts that the failure does not know itself.
    pub(super) fn learn(&mut self, facts: &Facts) {
        self.extra.facts.extend(facts);
    }

    pub(super) fn form(&self) -> Form {
        self.extra.form
    }

    pub(super) fn closing(&self) -> Option<&str> {
        self.extra.last_line.as_deref()
    }
}

/// The code of wrong arguments (CLI-04).
pub const INVALID_ARGUMENTS: &str = "INVALID_ARGUMENTS";

/// The line of run-network (OUT-02): fixed keys in fixed order, then additive ones at the end.
#[derive(Clone, Debug, Serialize)]
pub struct RunLine {
    /// NEW, RESUME, NOOP or REJECTED.
    pub outcome: &'static str,
    /// The Run, once it is known.
    pub run_id: Option<String>,
    /// The invocation, once the scheduler has it.
    pub invocation_id: Option<String>,
    /// The aggregate status of a finished invocation.
    pub aggregate_status: Option<String>,
    /// The code.
    pub invocation_result_code: String,
    /// Nodes that the retry brake holds.
    pub retry_brake_node_ids: Vec<String>,
    /// Runs in the way (MAX_ACTIVE_RUNS, RUN_ALREADY_EXISTS).
    pub blocked_run_ids: Vec<String>,
    /// Additive: what went wrong and what leads on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<ErrorObject>,
    /// Additive: what a person would have read on standard error while it ran.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Additive: requests sent to kintone (D-07).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub requests: Option<Requests>,
}

impl RunLine {
    /// A rejection before the scheduler had the Run (CLI-04).
    pub fn rejected(failure: &Failure, resume_run: Option<&str>) -> RunLine {
        let handed = failure.extra.handed.as_ref();
        RunLine {
            outcome: handed.map_or("REJECTED", |h| h.outcome),
            run_id: handed
                .map(|h| h.run_id.clone())
                .or_else(|| resume_run.map(str::to_owned)),
            invocation_id: handed.map(|h| h.invocation_id.clone()),
            aggregate_status: None,
            invocation_result_code: failure.code.to_string(),
            retry_brake_node_ids: Vec::new(),
            blocked_run_ids: failure.extra.blocked_run_ids.clone(),
            error: Some(ErrorObject::of(failure)),
            warnings: Vec::new(),
            requests: None,
        }
    }
}
