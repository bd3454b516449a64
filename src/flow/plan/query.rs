//! Bound queries: what the executor runs. Every name is a number, every rule has been checked.

use crate::flow::aggregate::Spec;
use crate::flow::apps::AppId;
use crate::flow::sql::ast::{Frame, JoinKind};
use crate::flow::value::CompareMode;

use super::filter::Filter;
use super::scalar::{ColumnId, Scalar};
use super::scope::ScopeSource;
use super::types::ColumnInfo;

/// A query with its common table expressions, subqueries and set operations.
#[derive(Clone, Debug)]
pub struct BoundQuery {
    /// Its common table expressions, in order.
    pub ctes: Vec<BoundCte>,
    /// How many common table expressions are visible from outside: its own follow them.
    pub outer_ctes: usize,
    /// Its subqueries, in the order of their numbers.
    pub parameters: Vec<Parameter>,
    /// First SELECT.
    pub first: BoundSelect,
    /// Further SELECTs; true = UNION ALL.
    pub unions: Vec<(bool, BoundSelect)>,
    /// Order of a UNION's result, by columns.
    pub order: Vec<SortKey>,
    /// LIMIT of a UNION's result.
    pub limit: Option<u64>,
    /// OFFSET of a UNION's result.
    pub offset: u64,
    /// Result columns.
    pub columns: Vec<ColumnInfo>,
}

impl BoundQuery {
    /// Whether the order of its rows was asked for.
    pub fn is_ordered(&self) -> bool {
        let own = !self.first.order.is_empty() || self.first.kintone_order.is_some();
        !self.order.is_empty() || (self.unions.is_empty() && own)
    }
}

/// A common table expression.
#[derive(Clone, Debug)]
pub struct BoundCte {
    /// What it computes.
    pub body: CteBody,
    /// Its columns.
    pub columns: Vec<ColumnInfo>,
    /// How often it is read; one that nobody reads is not computed.
    pub uses: usize,
}

/// Kinds of common table expressions.
#[derive(Clone, Debug)]
pub enum CteBody {
    /// A query.
    Query(Box<BoundQuery>),
    /// `seed UNION ALL step`
    Recursive(Box<Recursive>),
    /// GENERATE_SERIES with constant arguments.
    Series(Vec<Scalar>),
    /// SHOW APPS.
    ShowApps,
    /// DESCRIBE.
    Describe(AppId),
}

/// A recursive common table expression (LNG-135).
#[derive(Clone, Debug)]
pub struct Recursive {
    /// First rows.
    pub seed: BoundQuery,
    /// Rows from the rows of the last round, which it sees as a common table expression.
    pub step: BoundSelect,
    /// The step's own name among the common table expressions.
    pub own: usize,
    /// Which source of the step is the expression itself.
    pub own_source: usize,
    /// CYCLE: the watched column and both marks; the mark is the last column.
    pub cycle: Option<(usize, String, String)>,
}

/// A subquery that is computed once.
#[derive(Clone, Debug)]
pub struct Parameter {
    /// The query.
    pub query: BoundQuery,
    /// What of it is wanted.
    pub wanted: Wanted,
}

/// What a subquery gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wanted {
    /// Exactly one row and column.
    Scalar,
    /// All values of the first column.
    List,
    /// Whether there is a row.
    Existence,
}

/// One SELECT.
#[derive(Clone, Debug)]
pub struct BoundSelect {
    /// Sources; none for a SELECT without FROM.
    pub sources: Vec<ScopeSource>,
    /// How the second and later sources are joined.
    pub joins: Vec<BoundJoin>,
    /// WHERE.
    pub filter: Filter,
    /// GROUP BY and aggregates.
    pub grouping: Option<BoundGrouping>,
    /// HAVING, over groups.
    pub having: Filter,
    /// Result columns in order.
    pub outputs: Vec<Output>,
    /// Further columns that windows and ORDER BY need.
    pub hidden: Vec<Scalar>,
    /// Window functions.
    pub windows: Vec<BoundWindow>,
    /// DISTINCT.
    pub distinct: bool,
    /// ORDER BY.
    pub order: Vec<SortKey>,
    /// KORDER BY: kintone's order, as query text.
    pub kintone_order: Option<String>,
    /// LIMIT.
    pub limit: Option<u64>,
    /// OFFSET.
    pub offset: u64,
    /// Names and types of the outputs.
    pub columns: Vec<ColumnInfo>,
}

/// A join with an earlier source.
#[derive(Clone, Debug)]
pub struct BoundJoin {
    /// Kind.
    pub kind: JoinKind,
    /// Column of an earlier source and column of the joined one; `None` for CROSS.
    pub on: Option<(ColumnId, ColumnId)>,
    /// Compare keys as decimals (LNG-26).
    pub numeric: bool,
}

/// Grouping. A group's row has the keys, then the aggregates, then for grouping sets one flag per key.
#[derive(Clone, Debug)]
pub struct BoundGrouping {
    /// GROUP BY keys over input rows.
    pub keys: Vec<Scalar>,
    /// Aggregates over input rows.
    pub aggregates: Vec<BoundAggregate>,
    /// For each grouping set, which keys it keeps.
    pub sets: Option<Vec<Vec<bool>>>,
    /// GROUP BY is written (not only aggregates used).
    pub explicit: bool,
}

impl BoundGrouping {
    /// Whether each row leaves no more in its group than a number or a text for each aggregate.
    pub fn folds(&self) -> bool {
        self.aggregates.iter().all(|aggregate| aggregate.spec.folds())
    }
}

/// An aggregate.
#[derive(Clone, Debug)]
pub struct BoundAggregate {
    /// Argument; `None` for `COUNT(*)`.
    pub argument: Option<Scalar>,
    /// Function.
    pub spec: Spec,
}

/// A result column.
#[derive(Clone, Debug)]
pub enum Output {
    /// A value of the row.
    Value(Scalar),
    /// A window function.
    Window(usize),
}

/// A sort key: a column of the working rows (outputs, then hidden columns).
#[derive(Clone, Debug)]
pub struct SortKey {
    /// Which column.
    pub column: usize,
    /// How it compares.
    pub mode: CompareMode,
    /// DESC.
    pub descending: bool,
}

/// A window function over the working rows.
#[derive(Clone, Debug)]
pub struct BoundWindow {
    /// What it computes.
    pub function: WindowFunction,
    /// Column of the argument.
    pub argument: Option<usize>,
    /// PARTITION BY columns.
    pub partition: Vec<usize>,
    /// ORDER BY.
    pub order: Vec<SortKey>,
    /// Frame.
    pub frame: Frame,
}

/// Window functions (LNG-120).
#[derive(Clone, Debug)]
pub enum WindowFunction {
    /// ROW_NUMBER.
    RowNumber,
    /// RANK.
    Rank,
    /// DENSE_RANK.
    DenseRank,
    /// LAG: so many rows before.
    Lag(u64),
    /// LEAD: so many rows after.
    Lead(u64),
    /// A running aggregate.
    Aggregate(Spec),
}
