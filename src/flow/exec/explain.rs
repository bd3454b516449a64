//! EXPLAIN: the plan of a statement, the queries that would go to kintone and how many requests they would take. Costs
//! one counting request per scan and reads no record.

use std::collections::BTreeSet;

use crate::flow::apps::{AppId, PAGE_ROWS};
use crate::flow::dml::BoundDml;
use crate::flow::plan::filter::Filter;
use crate::flow::plan::push::{Decision, Relation as Reach};
use crate::flow::plan::query::{BoundQuery, BoundSelect, CteBody};
use crate::flow::plan::scope::{Origin, ScopeSource};
use crate::flow::plan::types::{ColumnInfo, Type};
use crate::flow::sql::ast::JoinKind;

use super::EngineError;
use super::fill;
use super::input::Input;
use super::query::Executor;
use super::relation::Relation;
use super::select::{decision, needed};

/// The plan of a statement.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Explanation {
    /// Steps in the order in which they happen.
    pub steps: Vec<ExplainStep>,
}

/// One step of a plan.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExplainStep {
    /// How deep the step is nested in subqueries and common table expressions.
    pub depth: usize,
    /// What is done: `scan`, `join`, `group`, `window`, `sort`, `write`, ...
    pub action: &'static str,
    /// With what.
    pub detail: String,
    /// The app that is read or written.
    pub app: Option<AppId>,
    /// The condition that is sent.
    pub query: Option<String>,
    /// How it relates to the whole condition: `exact`, `prefilter` or `local`.
    pub relation: Option<&'static str>,
    /// Estimated requests.
    pub requests: Option<u64>,
}

impl Explanation {
    /// Estimated read requests of all steps.
    pub fn estimated_requests(&self) -> u64 {
        self.steps.iter().filter_map(|step| step.requests).sum()
    }

    /// The plan as a table.
    pub(super) fn relation(&self) -> Result<Relation, EngineError> {
        let columns =
            ["step", "detail", "app", "query", "relation"].map(|name| ColumnInfo::exact(name, Type::Text));
        let mut columns: Vec<ColumnInfo> = columns.into();
        columns.push(ColumnInfo::exact("requests", Type::Number));
        let mut rows = Relation::new(columns);
        for step in &self.steps {
            let name = format!("{}{}", "  ".repeat(step.depth), step.action);
            let app = step.app.map(|app| app.to_string()).unwrap_or_default();
            let requests = step.requests.map(|count| count.to_string()).unwrap_or_default();
            rows.push_row([
                name.as_str(),
                &step.detail,
                &app,
                step.query.as_deref().unwrap_or(""),
                step.relation.unwrap_or(""),
                &requests,
            ])?;
        }
        Ok(rows)
    }

    fn step(&mut self, depth: usize, action: &'static str, detail: impl Into<String>) {
        self.steps.push(ExplainStep {
            depth,
            action,
            detail: detail.into(),
            ..ExplainStep::default()
        });
    }
}

impl Executor<'_, '_> {
    /// Adds the steps of a query.
    pub(super) fn explain_query(
        &mut self,
        query: &BoundQuery,
        depth: usize,
        plan: &mut Explanation,
    ) -> Result<(), EngineError> {
        for cte in query.ctes.iter().filter(|cte| cte.uses > 0) {
            let columns: Vec<&str> = cte.columns.iter().map(|column| column.name.as_str()).collect();
            plan.step(depth, "common table expression", columns.join(", "));
            match &cte.body {
                CteBody::Query(body) => self.explain_query(body, depth + 1, plan)?,
                CteBody::Recursive(recursive) => {
                    self.explain_query(&recursive.seed, depth + 1, plan)?;
                    plan.step(depth + 1, "repeat", "until no new rows");
                    self.explain_select(&recursive.step, depth + 2, plan)?;
                }
                CteBody::Series(_) => plan.step(depth + 1, "series", ""),
                CteBody::ShowApps => plan.step(depth + 1, "list apps", ""),
                CteBody::Describe(app) => plan.step(depth + 1, "describe", app.to_string()),
            }
        }
        for parameter in &query.parameters {
            plan.step(depth, "subquery", "once");
            self.explain_query(&parameter.query, depth + 1, plan)?;
        }
        self.explain_select(&query.first, depth, plan)?;
        for (all, branch) in &query.unions {
            plan.step(depth, "union", if *all { "all" } else { "distinct" });
            self.explain_select(branch, depth, plan)?;
        }
        if !query.order.is_empty() || query.limit.is_some() {
            plan.step(depth, "sort", limits(query.limit, query.offset));
        }
        Ok(())
    }

    fn explain_select(
        &mut self,
        select: &BoundSelect,
        depth: usize,
        plan: &mut Explanation,
    ) -> Result<(), EngineError> {
        // Subqueries stay unknown: conditions with them are counted as local.
        let select = &fill::select(select, &[], &mut self.evaluator)?;
        let counted = self.counts_only(select);
        let (mut sent, mut rest) = self.push_joined(select);
        let mut single = None;
        if let [source] = select.sources.as_slice() {
            let decision = if counted.is_some() {
                Decision::Remote
            } else {
                decision(select)
            };
            let pushed = self.push(source, 0, &select.filter, decision);
            sent = vec![pushed.query];
            rest = pushed.rest;
            single = Some(pushed.relation);
        }
        for (place, source) in select.sources.iter().enumerate() {
            let counting = counted.is_some();
            let condition = sent.get(place).cloned().unwrap_or_default();
            let relation = single.unwrap_or(match (&rest, condition.is_empty()) {
                (Filter::Constant(true), _) => Reach::Exact,
                (_, false) => Reach::Prefilter,
                (_, true) => Reach::Local,
            });
            let columns = needed(select, &rest, place);
            self.explain_source(source, &columns, condition, relation, counting, depth, plan)?;
        }
        for join in &select.joins {
            let kind = match join.kind {
                JoinKind::Inner => "inner",
                JoinKind::Left => "left",
                JoinKind::Right => "right",
                JoinKind::Cross => "cross",
            };
            plan.step(depth, "join", kind);
        }
        if let Some(grouping) = &select.grouping {
            let (keys, aggregates) = (grouping.keys.len(), grouping.aggregates.len());
            plan.step(depth, "group", format!("{keys} keys, {aggregates} aggregates"));
        }
        if !select.windows.is_empty() {
            plan.step(depth, "window", format!("{} functions", select.windows.len()));
        }
        if select.distinct {
            plan.step(depth, "distinct", "");
        }
        if !select.order.is_empty() || select.limit.is_some() {
            plan.step(depth, "sort", limits(select.limit, select.offset));
        }
        Ok(())
    }

    #[expect(clippy::too_many_arguments, reason = "the facts of one line of the plan")]
    fn explain_source(
        &mut self,
        source: &ScopeSource,
        columns: &BTreeSet<usize>,
        condition: String,
        relation: Reach,
        counting: bool,
        depth: usize,
        plan: &mut Explanation,
    ) -> Result<(), EngineError> {
        let (Origin::App(app) | Origin::Subtable(app, _)) = source.origin else {
            plan.step(
                depth,
                "read table",
                source.qualifiers.first().cloned().unwrap_or_default(),
            );
            return Ok(());
        };
        let fields = match Input::open(source, columns, &|_| None)? {
            Input::Records { scan, .. } | Input::Rows { scan, .. } => scan.fields,
            Input::Memory(_) => Vec::new(),
        };
        let requests = if counting {
            1
        } else {
            self.reader
                .count(app, &condition)?
                .div_ceil(PAGE_ROWS as u64)
                .max(1)
        };
        plan.steps.push(ExplainStep {
            depth,
            action: if counting { "count" } else { "scan" },
            detail: fields.join(", "),
            app: Some(app),
            query: Some(condition),
            relation: Some(match relation {
                Reach::Exact => "exact",
                Reach::Prefilter => "prefilter",
                Reach::Local => "local",
            }),
            requests: Some(requests),
        });
        Ok(())
    }

    /// Adds the steps of a statement that writes.
    pub(super) fn explain_write(
        &mut self,
        bound: &BoundDml,
        plan: &mut Explanation,
    ) -> Result<(), EngineError> {
        if let Some(query) = bound.query() {
            self.explain_query(query, 0, plan)?;
        }
        if let Some((target, filter)) = bound.target() {
            let pushed = self.push(target, 0, filter, Decision::Tested);
            self.explain_source(
                target,
                &BTreeSet::new(),
                pushed.query,
                pushed.relation,
                false,
                0,
                plan,
            )?;
        }
        plan.steps.push(ExplainStep {
            action: "write",
            detail: format!("{}, one request per 100 records", bound.operation()),
            app: Some(bound.app()),
            ..ExplainStep::default()
        });
        Ok(())
    }
}

fn limits(limit: Option<u64>, offset: u64) -> String {
    match limit {
        Some(limit) if offset > 0 => format!("limit {limit} offset {offset}"),
        Some(limit) => format!("limit {limit}"),
        None => String::new(),
    }
}
