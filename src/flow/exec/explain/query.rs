//! The plan of a query: its scans in the order of a run, and how many rows it may give.

use std::sync::Arc;

use crate::flow::plan::filter::Filter;
use crate::flow::plan::push::Relation as Reach;
use crate::flow::plan::query::{BoundCte, BoundQuery, BoundSelect, CteBody, Parameter, Recursive};
use crate::flow::plan::scope::{Origin, ScopeSource};
use crate::flow::sql::ast::JoinKind;
use crate::flow::sql::message::say;

use super::scan::Planned;
use super::{ExplainStep, Explainer, Purpose, favourable, may_fail, reach_word};
use crate::flow::exec::EngineError;
use crate::flow::exec::estimate::Estimate;
use crate::flow::exec::fill;
use crate::flow::exec::input::Input;
use crate::flow::exec::join::JoinTable;
use crate::flow::exec::query::{Later, enough};
use crate::flow::exec::scan::{Scan, counting};
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
        let mut best = select.clone();
        best.filter = favourable(&select.filter);
        let rows = match select.sources.as_slice() {
            _ if select.filter == Filter::Constant(false) => {
                self.nothing();
                Estimate::exactly(0)
            }
            [] if select.filter == Filter::Constant(true) => Estimate::exactly(1),
            [] => Estimate::up_to(Some(1)),
            [source] => self.single(select, &best, source)?,
            _ => self.joined(select, &best)?,
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
        best: &BoundSelect,
        source: &ScopeSource,
    ) -> Result<Estimate, EngineError> {
        let perhaps = may_fail(&select.filter);
        if !is_remote(source) {
            let rows = self.read_table(source);
            return Ok(if select.filter == Filter::Constant(true) {
                rows
            } else {
                rows.or_none()
            });
        }
        let reading = self.executor.reading(best, source)?;
        let kept = self.if_later(Later::Kept, |executor| executor.reading(select, source));
        let Some(scan) = reading.input.scan() else {
            return Ok(Estimate::ANY);
        };
        // Where only kintone can decide, the values are sent or the run fails.
        let all = Scan {
            condition: String::new(),
            ..scan.clone()
        };
        let worst = kept.as_ref().map_or(Some(&all), |kept| kept.input.scan());
        let limit = select.limit.unwrap_or(0);
        let planned = Planned {
            window: (select.kintone_order.as_deref()).map(|order| (order, limit, select.offset)),
            stops: stops_after(select).is_some(),
            ..Planned::whole(scan, worst.unwrap_or(scan), reading.reach, perhaps)
        };
        if let Some((app, condition)) = self.executor.counts_only(best) {
            let mut requests = Estimate::exactly(1);
            let mut notes = Vec::new();
            if !select.filter.is_filled() {
                let matches = self.count(&planned)?;
                let scanned = planned.worst.requests(matches, self.executor.reader.ahead);
                requests = requests.or(scanned);
                notes.push(say!(
                    "? is known in a run only; where kintone cannot decide it, records are read",
                    "? は実行時に決まります。kintone で評価できない値ならレコードを読みます"
                ));
                if perhaps {
                    requests = requests.or_none();
                }
            }
            let step = ExplainStep {
                query: Some(counting(app, &condition).query),
                relation: Some(reach_word(Reach::Exact)),
                ..ExplainStep::new(say!("count", "件数"))
            };
            self.step(step.on(app).requests(Purpose::Read, requests).notes(notes));
            return Ok(Estimate::ANY);
        }
        let matches = self.scan(&planned)?;
        let every = reading.rest == Filter::Constant(true) && !planned.is_open();
        Ok(match source.origin {
            Origin::App(_) if every => matches,
            Origin::App(_) => matches.or_none(),
            _ => Estimate::ANY,
        })
    }

    /// The scans of a join.
    fn joined(&mut self, select: &BoundSelect, best: &BoundSelect) -> Result<Estimate, EngineError> {
        let perhaps = may_fail(&select.filter);
        let (inputs, rest) = self.executor.joined_inputs(best)?;
        let kept = self.if_later(Later::Kept, |executor| executor.joined_inputs(select))?;
        // Tables in memory give their keys, as far as they are there.
        let mut tables: Vec<JoinTable> = Vec::new();
        let mut rows: Vec<Estimate> = Vec::new();
        for (place, (source, input)) in select.sources.iter().zip(inputs).enumerate() {
            let mut table = Arc::default();
            let read = match (input.scan(), &input) {
                (Some(scan), _) => {
                    let worst = kept.0.get(place).and_then(Input::scan);
                    let reach = match (&rest, scan.condition.is_empty()) {
                        (Filter::Constant(true), _) => Reach::Exact,
                        (_, false) => Reach::Prefilter,
                        (_, true) => Reach::Local,
                    };
                    let planned = Planned::whole(scan, worst.unwrap_or(scan), reach, perhaps);
                    if let Some(keys) = key_filter(best, place) {
                        self.keyed(&planned, &keys, &select.sources, &tables, &rows)?
                    } else {
                        let matches = self.scan(&planned)?;
                        let known = !planned.is_open() && matches!(source.origin, Origin::App(_));
                        if known { matches } else { Estimate::ANY }
                    }
                }
                (None, Input::Memory(relation)) => {
                    table = Arc::clone(relation);
                    self.read_table(source)
                }
                (None, _) => Estimate::ANY,
            };
            tables.push(JoinTable {
                relation: table,
                map: None,
            });
            rows.push(read);
        }
        Ok(Estimate::ANY)
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

fn is_remote(source: &ScopeSource) -> bool {
    matches!(source.origin, Origin::App(_) | Origin::Subtable(..))
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
