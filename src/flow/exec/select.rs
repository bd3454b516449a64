//! Running one SELECT: push-down, scan or join, filter, group or project, arrange.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::flow::aggregate::Kind;
use crate::flow::apps::{AppId, FieldType, TextColumn};
use crate::flow::plan::bind::not_sent;
use crate::flow::plan::filter::Filter;
use crate::flow::plan::push::{self, Decision, Limits, PushField, Pushed, Relation as Reach};
use crate::flow::plan::query::{BoundSelect, Output};
use crate::flow::plan::scalar::{ColumnId, Scalar};
use crate::flow::plan::scope::{Access, Origin, ScopeSource};
use crate::flow::plan::types::{ColumnInfo, Type};
use crate::flow::sql::ast::JoinKind;
use crate::flow::sql::message::say;

use super::EngineError;
use super::arrange;
use super::config::Observer;
use super::eval::{Evaluator, NoRow, Row};
use super::fill::{self, Filled};
use super::group::Grouper;
use super::input::Input;
use super::join::{JoinTable, Joined};
use super::memory;
use super::narrow::KeyFilter;
use super::pulse::Pulse;
use super::query::Executor;
use super::relation::{Relation, RelationRow};
use super::scan::{ReadLimit, check_offset};

/// Takes the rows that WHERE lets pass, until it breaks.
type Passed<'s> = &'s mut dyn FnMut(&dyn Row, &mut Evaluator) -> Result<ControlFlow<()>, EngineError>;

/// The working rows of a SELECT: its results and the columns that windows and ORDER BY need.
struct Projector<'s> {
    select: &'s BoundSelect,
    cells: Vec<TextColumn>,
    rows: usize,
    /// Bytes of the texts so far, and of all other tables in memory.
    bytes: usize,
}

impl<'s> Projector<'s> {
    /// No rows yet; other tables hold so many bytes.
    fn new(select: &'s BoundSelect, held: usize) -> Self {
        let width = select.outputs.len() + select.hidden.len();
        Self {
            select,
            cells: (0..width).map(|_| TextColumn::new()).collect(),
            rows: 0,
            bytes: held,
        }
    }

    fn add(&mut self, row: &dyn Row, evaluator: &mut Evaluator) -> Result<(), EngineError> {
        let values = self.select.outputs.iter().map(|output| match output {
            Output::Value(value) => Some(value),
            Output::Window(_) => None,
        });
        let values = values.chain(self.select.hidden.iter().map(Some));
        for (column, value) in self.cells.iter_mut().zip(values) {
            match value {
                Some(value) => {
                    let text = evaluator.text(value, row)?;
                    self.bytes += text.len();
                    column.push(&text)?;
                }
                None => column.push("")?,
            }
            self.bytes += size_of::<u32>();
        }
        self.rows += 1;
        memory::check_table(self.rows, self.bytes)
    }

    fn finish(self, observer: &dyn Observer) -> Result<Relation, EngineError> {
        let select = self.select;
        let mut columns = select.columns.clone();
        columns.extend(select.hidden.iter().map(|_| ColumnInfo::exact("", Type::Text)));
        let mut rows = Relation::from_cells(columns, self.cells, self.rows);
        for (place, output) in select.outputs.iter().enumerate() {
            if let Output::Window(number) = output
                && let Some(window) = select.windows.get(*number)
            {
                let column = arrange::window(&rows, window, observer)?;
                rows.replace(place, column);
            }
        }
        let width = select.columns.len();
        let plain =
            !select.distinct && select.order.is_empty() && select.offset == 0 && select.limit.is_none();
        if plain {
            return Ok(rows.described(select.columns.clone()));
        }
        // With kintone's order the window was applied there.
        let (limit, offset) = match select.kintone_order {
            Some(_) => (None, 0),
            None => (select.limit, select.offset),
        };
        let distinct = select.distinct.then_some(width);
        let kept = arrange::arrange(&rows, distinct, &select.order, limit, offset);
        Ok(rows.described(select.columns.clone()).gather(&kept)?)
    }
}

impl Executor<'_, '_> {
    /// Runs a SELECT whose subqueries are known.
    pub(super) fn select(
        &mut self,
        select: &BoundSelect,
        filled: &[Filled],
    ) -> Result<Relation, EngineError> {
        let select = &fill::select(select, filled, &mut self.evaluator)?;
        let (held, observer) = (self.held_bytes(), self.reader.observer());
        let Some(grouping) = &select.grouping else {
            let mut projector = Projector::new(select, held);
            let stop = stops_after(select);
            self.rows(select, &mut |row, evaluator| {
                projector.add(row, evaluator)?;
                Ok(if stop.is_some_and(|most| projector.rows as u64 >= most) {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                })
            })?;
            return projector.finish(observer);
        };
        let mut grouper = Grouper::new(grouping, held);
        if let Some(count) = self.counted(select)? {
            grouper.add_count(count);
        } else {
            self.rows(select, &mut |row, evaluator| {
                grouper.add(row, evaluator)?;
                Ok(ControlFlow::Continue(()))
            })?;
        }
        let groups = grouper.finish()?;
        let mut projector = Projector::new(select, held + groups.bytes());
        let mut pulse = Pulse::rows(observer);
        for row in 0..groups.rows() {
            pulse.beat()?;
            let row = RelationRow {
                relation: &groups,
                row,
            };
            if self.evaluator.test(&select.having, &row)? {
                projector.add(&row, &mut self.evaluator)?;
            }
        }
        drop(groups);
        projector.finish(observer)
    }

    /// Calls `each` for every row that WHERE lets pass.
    fn rows(&mut self, select: &BoundSelect, each: Passed<'_>) -> Result<(), EngineError> {
        if select.filter == Filter::Constant(false) {
            return Ok(());
        }
        match select.sources.as_slice() {
            [] => each(&NoRow, &mut self.evaluator).map(|_| ()),
            [source] => self.single(select, source, each),
            _ => self.joined(select, each),
        }
    }

    fn single(
        &mut self,
        select: &BoundSelect,
        source: &ScopeSource,
        each: Passed<'_>,
    ) -> Result<(), EngineError> {
        let Reading { input, rest, .. } = self.reading(select, source)?;
        let mut pulse = Pulse::rows(self.reader.observer());
        let evaluator = &mut self.evaluator;
        let mut each = |row: &dyn Row| {
            pulse.beat()?;
            if evaluator.test(&rest, row)? {
                each(row, evaluator)
            } else {
                Ok(ControlFlow::Continue(()))
            }
        };
        if let (Some(order), Input::Records { scan, map }) = (&select.kintone_order, &input) {
            let order = order.clone();
            let limit = select.limit.unwrap_or(0);
            return self
                .reader
                .ordered(scan, &order, limit, select.offset, &mut |page| {
                    super::input::page_rows(page, map, &mut each)
                });
        }
        input.each_row(self.reader, &mut each)
    }

    fn joined(&mut self, select: &BoundSelect, each: Passed<'_>) -> Result<(), EngineError> {
        let (inputs, rest) = self.joined_inputs(select)?;
        let mut tables: Vec<JoinTable> = Vec::new();
        for (place, input) in inputs.into_iter().enumerate() {
            let keys = key_filter(select, place).and_then(|filter| {
                let keys = filter.conditions(&tables);
                if keys.is_none() {
                    self.reader.notes.push(filter.read_whole());
                }
                keys
            });
            let (relation, map) = match keys {
                Some(keys) => input.materialise_narrowed(self.reader, &keys)?,
                None => input.materialise(self.reader)?,
            };
            tables.push(JoinTable { relation, map });
        }
        let observer = self.reader.observer();
        let mut joined = Joined::first(&tables);
        for join in &select.joins {
            joined = joined.join(join, observer)?;
        }
        let mut pulse = Pulse::rows(observer);
        for row in joined.rows() {
            pulse.beat()?;
            if self.evaluator.test(&rest, &row)? && each(&row, &mut self.evaluator)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    /// How the only source of a SELECT is read.
    pub(super) fn reading(&self, select: &BoundSelect, source: &ScopeSource) -> Result<Reading, EngineError> {
        let pushed = self.push(source, 0, &select.filter, decision(select));
        // A test that only kintone can decide must have been sent; what is left beside it is decided here (LNG-62).
        if let Some(test) = pushed.rest.server_test() {
            return Err(not_sent(test));
        }
        let needed = needed(select, &pushed.rest, 0);
        let exact = pushed.relation == Reach::Exact;
        let mut reading = Reading::new(self.open(source, &needed)?, pushed);
        if let Input::Records { scan, .. } = &mut reading.input {
            scan.limit = read_limit(select);
            scan.at_most = stops_after(select).filter(|_| exact);
            scan.partial = stops_after(select).is_some();
            if select.kintone_order.is_some() {
                check_offset(select.offset)?;
            }
            if select.kintone_order.is_some() && !exact {
                return Err(EngineError::argument(say!(
                    "KORDER BY needs a WHERE that kintone can decide alone",
                    "KORDER BY を使うには WHERE 全体を kintone で評価できる必要があります"
                )));
            }
        }
        Ok(reading)
    }

    /// The sources of a join, opened with the conditions that are sent for each, and what is left for the joined rows.
    pub(super) fn joined_inputs(&self, select: &BoundSelect) -> Result<(Vec<Input>, Filter), EngineError> {
        let (sent, rest) = self.push_joined(select);
        if let Some(test) = rest.server_test() {
            return Err(not_sent(test));
        }
        let mut inputs = Vec::with_capacity(sent.len());
        for (place, (source, condition)) in select.sources.iter().zip(sent).enumerate() {
            let mut needed = needed(select, &rest, place);
            let keys = select.joins.iter().filter_map(|join| join.on);
            needed.extend(
                keys.flat_map(|(a, b)| [a, b])
                    .filter(|id| id.source == place)
                    .map(|id| id.column),
            );
            let mut input = self.open(source, &needed)?;
            input.set_condition(condition);
            inputs.push(input);
        }
        Ok((inputs, rest))
    }

    /// Bytes of the temp tables and of the visible common table expressions.
    pub(super) fn held_bytes(&self) -> usize {
        let temps = self.temps.values().map(AsRef::as_ref);
        let ctes = self.ctes.iter().flatten().map(AsRef::as_ref);
        temps.chain(ctes).map(Relation::bytes).sum()
    }

    /// The number of rows, if counting is all and kintone can do it: one request (LNG-192).
    fn counted(&mut self, select: &BoundSelect) -> Result<Option<u64>, EngineError> {
        let Some((app, query)) = self.counts_only(select) else {
            return Ok(None);
        };
        if select.filter == Filter::Constant(false) {
            return Ok(Some(0));
        }
        self.reader.count(app, &query).map(Some)
    }

    /// The app and the exact condition of a SELECT that only counts records.
    pub(super) fn counts_only(&self, select: &BoundSelect) -> Option<(AppId, String)> {
        let [source] = select.sources.as_slice() else {
            return None;
        };
        let Origin::App(app) = source.origin else {
            return None;
        };
        let grouping = select.grouping.as_ref()?;
        let counts = |kind: Kind, argument: Option<&Scalar>| match (kind, argument) {
            (Kind::CountRows, _) => true,
            (Kind::Count, Some(Scalar::Column(id))) => is_never_empty(source, *id),
            _ => false,
        };
        let only_counts = grouping.keys.is_empty()
            && !grouping.explicit
            && grouping.aggregates.iter().all(|aggregate| {
                !aggregate.spec.distinct && counts(aggregate.spec.kind, aggregate.argument.as_ref())
            });
        let pushed = self.push(source, 0, &select.filter, Decision::Remote);
        (only_counts && pushed.relation == Reach::Exact).then_some((app, pushed.query))
    }

    /// What kintone can decide about one source.
    pub(in crate::flow) fn push(
        &self,
        source: &ScopeSource,
        place: usize,
        filter: &Filter,
        decision: Decision,
    ) -> Pushed {
        let known = |id: ColumnId| {
            if id.source != place || !matches!(source.origin, Origin::App(_)) {
                return None;
            }
            let column = source
                .columns
                .get(id.column)
                .filter(|column| column.access == Access::Own)?;
            Some(PushField {
                code: &column.info.name,
                kind: &column.info.kind,
                unique: column.unique,
            })
        };
        if self.push_down {
            return push::push(filter, &known, decision, Limits::default());
        }
        // Without push-down only what nothing else can decide is sent.
        let (sent, kept): (Vec<Filter>, Vec<Filter>) = conjuncts(filter)
            .into_iter()
            .partition(|part| part.server_test().is_some());
        let pushed = push::push(&Filter::all(sent), &known, decision, Limits::default());
        let rest = Filter::all(kept.into_iter().chain([pushed.rest]).collect());
        let relation = match (&rest, pushed.query.is_empty()) {
            (Filter::Constant(true), _) => Reach::Exact,
            (_, true) => Reach::Local,
            (_, false) => Reach::Prefilter,
        };
        Pushed {
            query: pushed.query,
            relation,
            rest,
        }
    }

    /// Conditions for each source of a join, and what is left for the joined rows. A source that an outer join may leave
    /// out is not narrowed: a row it loses would come back as "missing".
    fn push_joined(&self, select: &BoundSelect) -> (Vec<String>, Filter) {
        let mut optional = vec![false; select.sources.len()];
        for (i, join) in select.joins.iter().enumerate() {
            match join.kind {
                JoinKind::Left => {
                    if let Some(flag) = optional.get_mut(i + 1) {
                        *flag = true;
                    }
                }
                JoinKind::Right => optional.iter_mut().take(i + 1).for_each(|flag| *flag = true),
                JoinKind::Inner | JoinKind::Cross => {}
            }
        }
        let mut rest = select.filter.clone();
        let mut sent = Vec::new();
        for (place, source) in select.sources.iter().enumerate() {
            if optional.get(place).copied().unwrap_or(true) {
                sent.push(String::new());
                continue;
            }
            let pushed = self.push(source, place, &rest, Decision::Tested);
            sent.push(pushed.query);
            rest = pushed.rest;
        }
        (sent, rest)
    }

    pub(in crate::flow) fn open(
        &self,
        source: &ScopeSource,
        needed: &BTreeSet<usize>,
    ) -> Result<Input, EngineError> {
        Input::open(source, needed, &|origin| self.memory(origin))
    }

    /// A temp table or common table expression.
    fn memory(&self, origin: &Origin) -> Option<Arc<Relation>> {
        let found = match origin {
            Origin::Temp(name) => self.temps.get(name).cloned(),
            Origin::Cte(index) => self.ctes.get(*index).cloned().flatten(),
            Origin::App(_) | Origin::Subtable(..) => return None,
        };
        found.or_else(|| self.absent.then(Arc::default))
    }
}

/// How a source is read: decided before the first request.
pub(in crate::flow) struct Reading {
    /// The source with the condition that is sent.
    pub input: Input,
    /// What is left to test.
    pub rest: Filter,
    /// How the condition relates to the whole one.
    pub reach: Reach,
}

impl Reading {
    /// The opened source with what was decided about its condition.
    pub fn new(mut input: Input, pushed: Pushed) -> Self {
        input.set_condition(pushed.query);
        Self {
            input,
            rest: pushed.rest,
            reach: pushed.relation,
        }
    }
}

/// The keys of earlier sources that a joined source may be asked for alone.
pub(super) fn key_filter(select: &BoundSelect, place: usize) -> Option<KeyFilter<'_>> {
    let join = select.joins.get(place.checked_sub(1)?)?;
    KeyFilter::of(join, select.sources.get(place)?)
}

fn conjuncts(filter: &Filter) -> Vec<Filter> {
    match filter {
        Filter::All(parts) => parts.clone(),
        other => vec![other.clone()],
    }
}

/// Columns of a source that a SELECT needs beside what kintone decides.
fn needed(select: &BoundSelect, rest: &Filter, source: usize) -> BTreeSet<usize> {
    let mut columns = Vec::new();
    rest.columns(&mut columns);
    if let Some(grouping) = &select.grouping {
        for key in &grouping.keys {
            key.columns(&mut columns);
        }
        for argument in grouping
            .aggregates
            .iter()
            .filter_map(|aggregate| aggregate.argument.as_ref())
        {
            argument.columns(&mut columns);
        }
    } else {
        for output in &select.outputs {
            if let Output::Value(value) = output {
                value.columns(&mut columns);
            }
        }
        for value in &select.hidden {
            value.columns(&mut columns);
        }
    }
    columns
        .into_iter()
        .filter(|id| id.source == source)
        .map(|id| id.column)
        .collect()
}

/// Rows after which a SELECT has all it needs, if its first rows are enough.
pub(super) fn stops_after(select: &BoundSelect) -> Option<u64> {
    let first_rows = select.grouping.is_none()
        && !select.distinct
        && select.order.is_empty()
        && select.windows.is_empty()
        && select.kintone_order.is_none();
    select
        .limit
        .filter(|_| first_rows)
        .map(|limit| limit.saturating_add(select.offset))
}

/// kintone alone decides about the rows where it is asked for a window of them.
fn decision(select: &BoundSelect) -> Decision {
    if stops_after(select).is_some() || select.kintone_order.is_some() {
        Decision::Remote
    } else {
        Decision::Tested
    }
}

/// GROUP BY over one source folds every row away at once, and the limit is there for rows that are kept: it is exempt
/// (LNG-180). Aggregates without GROUP BY, which the original's limit stops, and those that keep values are held to a
/// configured limit.
fn read_limit(select: &BoundSelect) -> ReadLimit {
    match &select.grouping {
        Some(grouping) if grouping.explicit && grouping.folds() => ReadLimit::Never,
        Some(_) => ReadLimit::Configured,
        None => ReadLimit::Always,
    }
}

/// `$id` and the record number exist in every record.
fn is_never_empty(source: &ScopeSource, id: ColumnId) -> bool {
    source.columns.get(id.column).is_some_and(|column| {
        matches!(
            column.info.kind.field(),
            Some(FieldType::Id | FieldType::RecordNumber)
        )
    })
}
