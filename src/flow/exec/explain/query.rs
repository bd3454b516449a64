//! The plan of a query: its scans in the order of a run, and how many rows it may give.

use std::sync::Arc;

use crate::flow::plan::filter::Filter;
use crate::flow::plan::push::Relation as Reach;
use crate::flow::plan::query::{BoundCte, BoundQuery, BoundSelect, CteBody, Parameter, Recursive};
use crate::flow::plan::scope::{Origin, ScopeSource};
use crate::flow::sql::ast::JoinKind;
use crate::flow::sql::message::say;

use super::later::{Outlooks, selects};
use super::scan::Planned;
use super::{ExplainStep, Explainer, Purpose, reach_word};
use crate::flow::exec::EngineError;
use crate::flow::exec::estimate::Estimate;
use crate::flow::exec::fill;
use crate::flow::exec::input::Input;
use crate::flow::exec::join::JoinTable;
use crate::flow::exec::query::enough;
use crate::flow::exec::scan::counting;
use crate::flow::exec::select::{key_filter, stops_after};

impl Explainer<'_, '_, '_> {
    /// Adds the steps of a query.
    pub(super) fn query(&mut self, query: &BoundQuery) -> Result<Estimate, EngineError> {
        self.ctes.truncate(query.outer_ctes);
        for cte in &query.ctes {
            let rows = if cte.uses > 0 {
                self.cte(cte)?
            } else {
                Estimate::ANY
            };
            self.ctes.push(rows);
        }
        self.parameters(&query.parameters)?;
        let mut rows = self.select(&query.first)?;
        for (all, branch) in &query.unions {
            let detail = if *all {
                say!("all", "全行")
            } else {
                say!("distinct", "重複なし")
            };
            self.step(ExplainStep::new(say!("union", "和集合")).detail(detail));
            rows = rows + self.select(branch)?;
            if !all {
                rows.least = rows.least.min(1);
            }
        }
        self.ctes.truncate(query.outer_ctes);
        if !query.order.is_empty() || query.limit.is_some() {
            self.sort(query.limit, query.offset);
        }
        Ok(window(rows, query.limit, query.offset))
    }

    /// Adds the steps of subqueries.
    pub(super) fn parameters(&mut self, parameters: &[Parameter]) -> Result<(), EngineError> {
        for parameter in parameters {
            self.step(ExplainStep::new(say!("subquery", "副問い合わせ")).detail(say!("once", "1 回")));
            self.inside(|plan| plan.query(&enough(parameter)))?;
        }
        Ok(())
    }

    fn cte(&mut self, cte: &BoundCte) -> Result<Estimate, EngineError> {
        let columns: Vec<&str> = cte.columns.iter().map(|column| column.name.as_str()).collect();
        let step = ExplainStep::new(say!("common table expression", "共通テーブル式"));
        self.step(step.detail(columns.join(", ")));
        self.inside(|plan| match &cte.body {
            CteBody::Query(body) => plan.query(body),
            CteBody::Recursive(recursive) => plan.recursive(recursive),
            CteBody::Series(_) => {
                plan.step(ExplainStep::new(say!("series", "連番")));
                Ok(Estimate::ANY)
            }
            CteBody::ShowApps => {
                plan.list_apps();
                Ok(Estimate::ANY)
            }
            CteBody::Describe(app) => {
                plan.step(ExplainStep::new(say!("describe", "フォーム定義")).on(*app));
                Ok(Estimate::ANY)
            }
        })
    }

    pub(super) fn list_apps(&mut self) {
        let requests = Estimate { least: 1, most: None };
        let step = ExplainStep::new(say!("list apps", "アプリ一覧")).requests(Purpose::Read, requests);
        self.step(step.notes([say!("one per 100 apps", "100 アプリごとに 1")]));
    }

    fn recursive(&mut self, recursive: &Recursive) -> Result<Estimate, EngineError> {
        let visible = self.ctes.clone();
        let seed = self.query(&recursive.seed)?;
        self.ctes = visible;
        self.step(
            ExplainStep::new(say!("repeat", "繰り返し"))
                .detail(say!("until no new rows", "新しい行がなくなるまで")),
        );
        let first = self.plan.steps.len();
        self.inside(|plan| {
            plan.ctes.truncate(recursive.own);
            plan.ctes.push(Estimate::ANY);
            plan.select(&recursive.step)
        })?;
        // How many rounds there are, only their rows tell.
        for step in self.plan.steps.iter_mut().skip(first) {
            if let Some((_, requests)) = &mut step.requests {
                requests.most = None;
                if seed.least == 0 {
                    requests.least = 0;
                }
                let round = say!("in every round", "1 巡ごと");
                step.note = Some(
                    step.note
                        .as_ref()
                        .map_or(round.clone(), |note| note.joined("; ", &round)),
                );
            }
        }
        Ok(Estimate {
            least: seed.least,
            most: None,
        })
    }

    fn select(&mut self, select: &BoundSelect) -> Result<Estimate, EngineError> {
        let select = &fill::select(select, &[], &mut self.executor.evaluator)?;
        let outlooks = selects(select);
        let rows = match select.sources.as_slice() {
            _ if select.filter == Filter::Constant(false) => {
                self.nothing();
                Estimate::exactly(0)
            }
            [] if select.filter == Filter::Constant(true) => Estimate::exactly(1),
            [] => Estimate::up_to(Some(1)),
            [source] => self.single(select, &outlooks, source)?,
            _ => self.joined(select, &outlooks)?,
        };
        for join in &select.joins {
            let kind = match join.kind {
                JoinKind::Inner => "inner",
                JoinKind::Left => "left",
                JoinKind::Right => "right",
                JoinKind::Cross => "cross",
            };
            self.step(ExplainStep::new(say!("join", "結合")).detail(kind));
        }
        self.arrange(select);
        Ok(result_rows(select, rows))
    }

    /// Steps that send nothing.
    fn arrange(&mut self, select: &BoundSelect) {
        if let Some(grouping) = &select.grouping {
            let (keys, aggregates) = (grouping.keys.len(), grouping.aggregates.len());
            self.step(ExplainStep::new(say!("group", "集計")).detail(say!(
                "{keys} keys, {aggregates} aggregates",
                "キー {keys}、集計関数 {aggregates}"
            )));
        }
        if !select.windows.is_empty() {
            let windows = select.windows.len();
            self.step(
                ExplainStep::new(say!("window", "ウィンドウ"))
                    .detail(say!("{windows} functions", "関数 {windows}")),
            );
        }
        if select.distinct {
            self.step(ExplainStep::new(say!("distinct", "重複除去")));
        }
        let sorted = !select.order.is_empty() || select.limit.is_some();
        // With kintone's order the window was applied there.
        if sorted && select.kintone_order.is_none() {
            self.sort(select.limit, select.offset);
        }
    }

    fn sort(&mut self, limit: Option<u64>, offset: u64) {
        let detail = match limit {
            Some(limit) if offset > 0 => format!("limit {limit} offset {offset}"),
            Some(limit) => format!("limit {limit}"),
            None => String::new(),
        };
        self.step(ExplainStep::new(say!("sort", "整列")).detail(detail));
    }

    /// The scan of a single source; the rows that WHERE lets pass.
    fn single(
        &mut self,
        select: &BoundSelect,
        outlooks: &Outlooks<BoundSelect>,
        source: &ScopeSource,
    ) -> Result<Estimate, EngineError> {
        if !matches!(source.origin, Origin::App(_) | Origin::Subtable(..)) {
            let rows = self.read_table(source);
            return Ok(if select.filter == Filter::Constant(true) {
                rows
            } else {
                rows.or_none()
            });
        }
        let readings = outlooks.map(|select| self.executor.reading(select, source));
        let possible = readings.possible();
        let scans = possible.map(|reading| reading.and_then(|reading| reading.input.scan()));
        let (
            Outlooks {
                known: Some(known), ..
            },
            Some(scans),
        ) = (&possible, scans.all())
        else {
            return readings.known.map(|_| Estimate::ANY);
        };
        let reach = possible.best.map_or(known.reach, |best| best.reach);
        let limit = select.limit.unwrap_or(0);
        let planned = Planned {
            window: (select.kintone_order.as_deref()).map(|order| (order, limit, select.offset)),
            stops: stops_after(select).is_some(),
            ..Planned::new(scans, &select.filter, reach)
        };
        let counts = outlooks.map(|select| self.executor.counts_only(select));
        if let Some((app, condition)) = counts.best.or(counts.known) {
            let mut requests = Estimate::exactly(1);
            let mut notes = Vec::new();
            if counts.kept.is_none() {
                let matches = self.count(&planned)?;
                requests = requests.or(planned.requests(matches, self.executor.reader.ahead));
                notes.push(say!(
                    "a run decides about ?; where kintone cannot, records are read",
                    "? は実行時に決まります。kintone で評価できなければレコードを読みます"
                ));
            }
            if planned.perhaps {
                requests = requests.or_none();
            }
            let step = ExplainStep {
                query: Some(counting(app, &condition).query),
                relation: Some(reach_word(Reach::Exact)),
                ..ExplainStep::new(say!("count", "件数"))
            };
            self.step(step.on(app).requests(Purpose::Read, requests).notes(notes));
            if counts.kept.is_none() {
                self.alternative(&planned);
            }
            return Ok(Estimate::ANY);
        }
        let matches = self.scan(&planned)?;
        let every = known.rest == Filter::Constant(true) && select.filter.is_filled();
        Ok(match source.origin {
            Origin::App(_) if every => matches,
            Origin::App(_) => matches.or_none(),
            _ => Estimate::ANY,
        })
    }

    /// The scans of a join.
    fn joined(
        &mut self,
        select: &BoundSelect,
        outlooks: &Outlooks<BoundSelect>,
    ) -> Result<Estimate, EngineError> {
        let joined = outlooks.map(|select| self.executor.joined_inputs(select));
        let possible = joined.possible();
        // Tables in memory give their keys, as far as they are there.
        let mut tables: Vec<JoinTable> = Vec::new();
        let mut rows: Vec<Estimate> = Vec::new();
        for (place, source) in select.sources.iter().enumerate() {
            let inputs = possible.map(|joined| joined.and_then(|(inputs, _)| inputs.get(place)));
            let mut table = Arc::default();
            let read = if let Some(scans) = inputs.map(|input| input.and_then(Input::scan)).all() {
                let rest = possible.best.map(|(_, rest)| rest);
                let reach = match (rest, scans.best.condition.is_empty()) {
                    (Some(Filter::Constant(true)), _) => Reach::Exact,
                    (_, false) => Reach::Prefilter,
                    (_, true) => Reach::Local,
                };
                let planned = Planned::new(scans, &select.filter, reach);
                if let Some(keys) = key_filter(select, place) {
                    self.keyed(&planned, &keys, &select.sources, &tables, &rows)?
                } else {
                    let matches = self.scan(&planned)?;
                    let records = matches!(source.origin, Origin::App(_)) && !planned.perhaps;
                    if records { matches } else { Estimate::ANY }
                }
            } else {
                if let Some(Input::Memory(relation)) = inputs.known {
                    table = Arc::clone(relation);
                }
                self.read_table(source)
            };
            tables.push(JoinTable {
                relation: table,
                map: None,
            });
            rows.push(read);
        }
        joined.known.map(|_| Estimate::ANY)
    }

    /// Rows of a table in memory.
    pub(super) fn read_table(&mut self, source: &ScopeSource) -> Estimate {
        let name = source.qualifiers.first().cloned().unwrap_or_default();
        self.step(ExplainStep::new(say!("read table", "一時テーブル")).detail(name));
        match &source.origin {
            Origin::Temp(name) => match self.executor.temps.get(name) {
                Some(relation) => Estimate::exactly(relation.rows() as u64),
                None => self.foreseen.temps.get(name).copied().unwrap_or(Estimate::ANY),
            },
            Origin::Cte(index) => self.ctes.get(*index).copied().unwrap_or(Estimate::ANY),
            Origin::App(_) | Origin::Subtable(..) => Estimate::ANY,
        }
    }
}

/// Rows behind LIMIT and OFFSET.
fn window(rows: Estimate, limit: Option<u64>, offset: u64) -> Estimate {
    rows.map(|rows| rows.saturating_sub(offset).min(limit.unwrap_or(u64::MAX)))
        .capped(limit)
}

/// Rows of a SELECT over so many rows that WHERE lets pass.
fn result_rows(select: &BoundSelect, passed: Estimate) -> Estimate {
    let mut rows = match &select.grouping {
        None => passed,
        Some(grouping) if grouping.sets.is_some() => Estimate::ANY,
        Some(grouping) if grouping.keys.is_empty() && !grouping.explicit => Estimate::exactly(1),
        Some(_) => Estimate {
            least: passed.least.min(1),
            ..passed
        },
    };
    if select.having != Filter::Constant(true) {
        rows = rows.or_none();
    }
    if select.distinct {
        rows.least = rows.least.min(1);
    }
    window(rows, select.limit, select.offset)
}
