//! EXPLAIN: what a run would send to kintone, without reading a record. What is sent, and how, is decided by the functions
//! that a run uses; what depends on records is told by its bounds. Costs one counting request per scan.

mod later;
mod query;
mod scan;
mod script;
mod write;

pub(super) use later::favourable;

use std::collections::{BTreeMap, BTreeSet};

use crate::flow::apps::AppId;
use crate::flow::plan::push::Relation as Reach;
use crate::flow::plan::types::{ColumnInfo, Type};
use crate::flow::sql::message::{Message, say};

use super::EngineError;
use super::estimate::Estimate;
use super::query::Executor;
use super::relation::Relation;

/// The plan of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// Steps in the order in which they happen.
    pub steps: Vec<ExplainStep>,
    /// An EXIT before the statement may end the script.
    pub may_be_skipped: bool,
}

/// The plan of a script.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ScriptExplanation {
    /// What is read before the first statement.
    pub before: Explanation,
    /// The plans of the statements.
    pub statements: Vec<Explanation>,
}

impl ScriptExplanation {
    /// Requests of a run for a purpose.
    pub fn requests(&self, purpose: Purpose) -> Estimate {
        let statements = self.statements.iter().map(|plan| {
            let requests = plan.requests(purpose);
            if plan.may_be_skipped {
                requests.or_none()
            } else {
                requests
            }
        });
        self.before.requests(purpose) + statements.sum()
    }
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExplainStep {
    /// How deep the step is nested in subqueries and common table expressions.
    pub depth: usize,
    /// What is done: `scan`, `join`, `group`, `window`, `sort`, `write`, ...
    pub action: Message,
    /// With what.
    pub detail: Message,
    /// The app that is read or written.
    pub app: Option<AppId>,
    /// The query of the first request, `?` in place of what only a run knows.
    pub query: Option<String>,
    /// How it relates to the whole condition: `exact`, `prefilter` or `local`.
    pub relation: Option<Message>,
    /// What is sent.
    pub requests: Option<(Purpose, Estimate)>,
    /// Why the number of requests is not known exactly, and what else it depends on.
    pub note: Option<Message>,
}

/// What requests are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// They read or count records.
    Read,
    /// They write records.
    Write,
    /// They read form definitions and settings.
    Definition,
}

impl ExplainStep {
    fn new(action: Message) -> Self {
        Self {
            depth: 0,
            action,
            detail: "".into(),
            app: None,
            query: None,
            relation: None,
            requests: None,
            note: None,
        }
    }

    fn detail(self, detail: impl Into<Message>) -> Self {
        Self {
            detail: detail.into(),
            ..self
        }
    }

    fn on(self, app: AppId) -> Self {
        Self {
            app: Some(app),
            ..self
        }
    }

    fn requests(self, purpose: Purpose, requests: Estimate) -> Self {
        Self {
            requests: Some((purpose, requests)),
            ..self
        }
    }

    /// With notes, joined to one.
    fn notes(self, notes: impl IntoIterator<Item = Message>) -> Self {
        let note = notes.into_iter().reduce(|first, next| first.joined("; ", &next));
        Self { note, ..self }
    }
}

impl Explanation {
    /// Requests of all steps for a purpose, if the statement is reached.
    pub fn requests(&self, purpose: Purpose) -> Estimate {
        let requests = self.steps.iter().filter_map(|step| step.requests);
        requests
            .filter(|(what, _)| *what == purpose)
            .map(|(_, number)| number)
            .sum()
    }

    /// The plan as a table. Its words are data of the script: they are English in every language.
    pub(super) fn relation(&self) -> Result<Relation, EngineError> {
        let text = |name| ColumnInfo::exact(name, Type::Text);
        let number = |name| ColumnInfo::exact(name, Type::Number);
        let mut columns: Vec<ColumnInfo> = ["step", "detail", "app", "query", "relation"].map(text).into();
        columns.extend([number("requests"), number("requests_at_most"), text("note")]);
        let mut rows = Relation::new(columns);
        let shown = |message: &Option<Message>| message.as_ref().map(Message::to_string).unwrap_or_default();
        for step in &self.steps {
            let requests = step.requests.map(|(_, requests)| requests);
            let number = |number: Option<u64>| number.map(|number| number.to_string()).unwrap_or_default();
            let cells = [
                format!("{}{}", "  ".repeat(step.depth), step.action),
                step.detail.to_string(),
                step.app.map(|app| app.to_string()).unwrap_or_default(),
                step.query.clone().unwrap_or_default(),
                shown(&step.relation),
                number(requests.map(|requests| requests.least)),
                number(requests.and_then(|requests| requests.most)),
                shown(&step.note),
            ];
            rows.push_row(cells.iter().map(String::as_str))?;
        }
        Ok(rows)
    }
}

/// What earlier statements of a script leave to later ones.
#[derive(Clone, Debug, Default)]
pub(super) struct Foreseen {
    /// Rows of temp tables that a run would have by now.
    temps: BTreeMap<String, Estimate>,
    /// Apps that a run would have written to by now: what their records count to now says nothing about later.
    changed: BTreeSet<AppId>,
    /// Apps whose number precision a run would have read by now; true = certainly.
    precisions: BTreeMap<AppId, bool>,
}

/// A counting request of a plan with its condition; true = a run that knows more might do without.
type Counted = (AppId, String, bool);

/// Makes the plan of one statement.
struct Explainer<'x, 'e, 'a> {
    executor: &'x mut Executor<'e, 'a>,
    foreseen: &'x mut Foreseen,
    plan: Explanation,
    depth: usize,
    /// Rows of the common table expressions that are visible, outermost first.
    ctes: Vec<Estimate>,
    counted: Vec<Counted>,
}

impl<'x, 'e, 'a> Explainer<'x, 'e, 'a> {
    fn new(executor: &'x mut Executor<'e, 'a>, foreseen: &'x mut Foreseen) -> Self {
        executor.absent = true;
        Self {
            executor,
            foreseen,
            plan: Explanation::default(),
            depth: 0,
            ctes: Vec::new(),
            counted: Vec::new(),
        }
    }

    fn finish(self) -> (Explanation, Vec<Counted>) {
        (self.plan, self.counted)
    }

    fn step(&mut self, step: ExplainStep) {
        self.plan.steps.push(ExplainStep {
            depth: self.depth,
            ..step
        });
    }

    /// Steps that are nested one level deeper.
    fn inside<T>(
        &mut self,
        steps: impl FnOnce(&mut Self) -> Result<T, EngineError>,
    ) -> Result<T, EngineError> {
        let visible = self.ctes.clone();
        self.depth += 1;
        let result = steps(self);
        self.depth -= 1;
        self.ctes = visible;
        result
    }

    fn nothing(&mut self) {
        self.step(ExplainStep::new(say!("nothing", "なし")).detail(say!(
            "the condition never holds",
            "条件が成り立つことはありません"
        )));
    }
}

fn reach_word(reach: Reach) -> Message {
    match reach {
        Reach::Exact => say!("exact", "完全"),
        Reach::Prefilter => say!("prefilter", "一部"),
        Reach::Local => say!("local", "送信なし"),
    }
}
