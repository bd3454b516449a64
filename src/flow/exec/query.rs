//! Running a whole query: common table expressions, subqueries, UNION (LNG-28, LNG-132..135).

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use crate::flow::apps::{AppId, Form};
use crate::flow::plan::catalog::{app_list_columns, description_columns};
use crate::flow::plan::query::{BoundCte, BoundQuery, CteBody, Parameter, Recursive, Wanted};
use crate::flow::plan::scalar::Scalar;
use crate::flow::plan::series::{Series, add_rows};
use crate::flow::sql::message::say;
use crate::flow::value::selection;

use super::EngineError;
use super::arrange;
use super::eval::{Evaluator, NoRow};
use super::fill::Filled;
use super::memory;
use super::relation::Relation;
use super::scan::Reader;

/// Rounds of a recursive expression (LNG-135).
const MAX_DEPTH: usize = 100;
/// Its rows.
const MAX_RECURSIVE_ROWS: usize = 10_000;
/// Rows that its step may produce in all.
const MAX_EXPANSIONS: usize = 100_000;

/// Temp tables by name.
pub(in crate::flow) type Temps = BTreeMap<String, Arc<Relation>>;
/// Forms by app.
pub(in crate::flow) type Forms = BTreeMap<AppId, Arc<Form>>;

/// Runs bound queries of one statement.
pub(in crate::flow) struct Executor<'e, 'a> {
    pub reader: &'e mut Reader<'a>,
    pub temps: &'e Temps,
    pub forms: &'e Forms,
    pub evaluator: Evaluator,
    /// Conditions may be sent to kintone.
    pub push_down: bool,
    /// A table that is not there is taken for an empty one, as in a plan.
    pub(super) absent: bool,
    /// Common table expressions that are visible, outermost first.
    pub(super) ctes: Vec<Option<Arc<Relation>>>,
}

impl<'e, 'a> Executor<'e, 'a> {
    pub fn new(reader: &'e mut Reader<'a>, temps: &'e Temps, forms: &'e Forms, push_down: bool) -> Self {
        Self {
            reader,
            temps,
            forms,
            evaluator: Evaluator::new(),
            push_down,
            absent: false,
            ctes: Vec::new(),
        }
    }

    /// Runs a query.
    pub fn query(&mut self, query: &BoundQuery) -> Result<Relation, EngineError> {
        self.ctes.truncate(query.outer_ctes);
        for cte in &query.ctes {
            self.reader.check_interrupt()?;
            let rows = if cte.uses > 0 {
                Some(Arc::new(self.cte(cte)?))
            } else {
                None
            };
            self.ctes.push(rows);
        }
        let filled = self.parameters(&query.parameters)?;
        let mut result = self.select(&query.first, &filled)?;
        for (all, branch) in &query.unions {
            self.reader.check_interrupt()?;
            let rows = self.select(branch, &filled)?;
            memory::check_table(
                result.rows() + rows.rows(),
                self.held_bytes() + result.bytes() + rows.bytes(),
            )?;
            result.append(&rows)?;
            if !all {
                let width = result.columns().len();
                let kept = arrange::arrange(&result, Some(width), &[], None, 0);
                result = result.gather(&kept)?;
            }
        }
        self.ctes.truncate(query.outer_ctes);
        if query.order.is_empty() && query.limit.is_none() && query.offset == 0 {
            return Ok(result);
        }
        let kept = arrange::arrange(&result, None, &query.order, query.limit, query.offset);
        Ok(result.gather(&kept)?)
    }

    /// Runs subqueries, each once.
    pub fn parameters(&mut self, parameters: &[Parameter]) -> Result<Vec<Filled>, EngineError> {
        parameters
            .iter()
            .map(|parameter| {
                let visible = self.ctes.clone();
                let rows = self.query(&enough(parameter));
                self.ctes = visible;
                filled(&rows?, parameter.wanted)
            })
            .collect()
    }

    fn cte(&mut self, cte: &BoundCte) -> Result<Relation, EngineError> {
        let rows = match &cte.body {
            CteBody::Query(query) => {
                let visible = self.ctes.clone();
                let rows = self.query(query);
                self.ctes = visible;
                rows?
            }
            CteBody::Recursive(recursive) => return self.recursive(recursive, cte),
            CteBody::Series(arguments) => return self.series(arguments, cte),
            CteBody::ShowApps => show_apps(self.reader)?,
            CteBody::Describe(app) => describe(self.forms.get(app).map(AsRef::as_ref))?,
        };
        Ok(rows.described(cte.columns.clone()))
    }

    fn series(&mut self, arguments: &[Scalar], cte: &BoundCte) -> Result<Relation, EngineError> {
        let mut texts = Vec::new();
        for argument in arguments {
            texts.push(self.evaluator.text(argument, &NoRow)?.into_owned());
        }
        let series = Series::new(&texts).map_err(EngineError::argument)?;
        self.reader.rows_generated =
            add_rows(self.reader.rows_generated, &series).map_err(EngineError::argument)?;
        let mut rows = Relation::new(cte.columns.clone());
        for value in series.values() {
            rows.push_row([value.as_str()])?;
        }
        Ok(rows)
    }

    /// Rounds of the step over the rows of the round before, until none are new (LNG-135).
    fn recursive(&mut self, recursive: &Recursive, cte: &BoundCte) -> Result<Relation, EngineError> {
        let visible = self.ctes.clone();
        let seed = self.query(&recursive.seed);
        self.ctes = visible;
        let seed = seed?;
        let width = seed.columns().len();
        let mut all = Relation::new(cte.columns.clone());
        // Each open row with the values of the watched column on its path.
        let mut open: Vec<(Vec<String>, HashSet<String>)> = Vec::new();
        let cells = |rows: &Relation, row: usize| -> Vec<String> {
            (0..width)
                .map(|column| rows.cell(row, column).to_owned())
                .collect()
        };
        for row in 0..seed.rows() {
            self.take_row(recursive, &mut all, &mut open, cells(&seed, row), &HashSet::new())?;
        }
        let mut expansions = 0;
        for depth in 0.. {
            if open.is_empty() {
                break;
            }
            if depth == MAX_DEPTH {
                return Err(limit("depth", "再帰の深さ", MAX_DEPTH));
            }
            let rows = std::mem::take(&mut open);
            if recursive.cycle.is_none() {
                let mut frontier = Relation::new(cte.columns.clone());
                for (row, _) in &rows {
                    frontier.push_row(row.iter().map(String::as_str))?;
                }
                let next = self.step(recursive, frontier)?;
                expansions += next.rows();
                for row in 0..next.rows() {
                    self.take_row(recursive, &mut all, &mut open, cells(&next, row), &HashSet::new())?;
                }
            } else {
                // With CYCLE every row has its own path, so it is expanded alone.
                for (row, path) in &rows {
                    let mut frontier = Relation::new(cte.columns.clone());
                    frontier.push_row(row.iter().map(String::as_str))?;
                    let next = self.step(recursive, frontier)?;
                    expansions += next.rows();
                    for row in 0..next.rows() {
                        self.take_row(recursive, &mut all, &mut open, cells(&next, row), path)?;
                    }
                }
            }
            if expansions > MAX_EXPANSIONS {
                return Err(limit("expansions", "再帰の展開数", MAX_EXPANSIONS));
            }
        }
        Ok(all)
    }

    fn step(&mut self, recursive: &Recursive, frontier: Relation) -> Result<Relation, EngineError> {
        self.ctes.truncate(recursive.own);
        self.ctes.push(Some(Arc::new(frontier)));
        let rows = self.select(&recursive.step, &[]);
        self.ctes.truncate(recursive.own);
        rows
    }

    fn take_row(
        &self,
        recursive: &Recursive,
        all: &mut Relation,
        open: &mut Vec<(Vec<String>, HashSet<String>)>,
        row: Vec<String>,
        path: &HashSet<String>,
    ) -> Result<(), EngineError> {
        if all.rows() == MAX_RECURSIVE_ROWS {
            return Err(limit("rows", "再帰の行数", MAX_RECURSIVE_ROWS));
        }
        memory::check_table(all.rows(), self.held_bytes() + all.bytes())?;
        let cells = row.iter().map(String::as_str);
        match &recursive.cycle {
            None => {
                all.push_row(cells)?;
                open.push((row, HashSet::new()));
            }
            Some((watched, cyclic, acyclic)) => {
                let value = row.get(*watched).cloned().unwrap_or_default();
                let repeats = path.contains(&value);
                all.push_row(cells.chain([if repeats {
                    cyclic.as_str()
                } else {
                    acyclic.as_str()
                }]))?;
                if !repeats {
                    let mut path = path.clone();
                    path.insert(value);
                    open.push((row, path));
                }
            }
        }
        Ok(())
    }
}

fn limit(english: &str, japanese: &str, most: usize) -> EngineError {
    EngineError::argument(say!(
        "WITH RECURSIVE passes its limit of {english} ({most}); is there a cycle?",
        "WITH RECURSIVE の{japanese}が上限 {most} を超えました。循環していないか確認してください"
    ))
}

/// The query of a subquery, for no more rows than it takes.
pub(super) fn enough(parameter: &Parameter) -> BoundQuery {
    let mut query = parameter.query.clone();
    // One row answers EXISTS, two are enough to refuse a scalar.
    let enough = match parameter.wanted {
        Wanted::Existence => Some(1),
        Wanted::Scalar => Some(2),
        Wanted::List => None,
    };
    if query.unions.is_empty() && query.first.limit.is_none() {
        query.first.limit = enough;
    }
    query
}

/// The elements that a subquery lists for IN: of a cell that holds several values each one (LNG-48).
fn listed(rows: &Relation) -> Vec<String> {
    let cells = (0..rows.rows()).map(|row| rows.cell(row, 0));
    let column = rows.columns().first();
    if !column.is_some_and(|column| column.kind.is_multi_value()) {
        return cells.map(str::to_owned).collect();
    }
    let elements = cells.flat_map(|cell| cell.split(selection::SEPARATOR));
    elements.map(str::to_owned).collect()
}

fn filled(rows: &Relation, wanted: Wanted) -> Result<Filled, EngineError> {
    match wanted {
        Wanted::Existence => Ok(Filled::Exists(rows.rows() > 0)),
        Wanted::List => Ok(Filled::List(listed(rows))),
        Wanted::Scalar => {
            if rows.rows() == 0 {
                return Err(EngineError::argument(say!(
                    "a scalar subquery must give exactly 1 row, but there is none",
                    "スカラー副問い合わせ (scalar subquery) の結果は 1 行でなければなりませんが、0 行です"
                )));
            }
            if rows.rows() > 1 {
                return Err(EngineError::argument(say!(
                    "a scalar subquery must give exactly 1 row, but there are more",
                    "スカラー副問い合わせ (scalar subquery) の結果は 1 行でなければなりませんが、2 行以上あります"
                )));
            }
            let text = rows.cell(0, 0);
            let numeric = rows
                .columns()
                .first()
                .is_some_and(|column| column.kind.is_numeric());
            Ok(Filled::Value(if numeric {
                Scalar::number(text)
            } else {
                Scalar::Text(text.to_owned())
            }))
        }
    }
}

/// The rows of SHOW APPS (LNG-19).
pub(in crate::flow) fn show_apps(reader: &Reader<'_>) -> Result<Relation, EngineError> {
    let mut rows = Relation::new(app_list_columns());
    for app in reader.apps().list()? {
        rows.push_row([app.id.0.to_string().as_str(), &app.name, &app.description])?;
    }
    Ok(rows)
}

/// The rows of DESCRIBE (LNG-19).
pub(in crate::flow) fn describe(form: Option<&Form>) -> Result<Relation, EngineError> {
    let mut rows = Relation::new(description_columns());
    let yes = |flag: bool| if flag { "YES" } else { "" };
    let Some(form) = form else { return Ok(rows) };
    for field in form.fields.iter().filter(|field| !field.code.starts_with('$')) {
        for (table, entry) in std::iter::once(("", field))
            .chain(field.children.iter().map(|child| (field.code.as_str(), child)))
        {
            rows.push_row([
                entry.code.as_str(),
                &entry.label,
                entry.kind.name(),
                table,
                yes(entry.lookup),
                yes(entry.lookup_copy),
                yes(entry.unique),
                &entry.expression,
            ])?;
        }
    }
    Ok(rows)
}
