//! Queries: SELECT with its clauses, UNION, common table expressions.

use super::{AppRef, ColumnRef, Condition, Expr, Name};
use crate::flow::sql::position::Span;

/// Key of ORDER BY.
#[derive(Clone, Debug)]
pub struct OrderKey {
    /// What to sort by.
    pub expr: Expr,
    /// DESC.
    pub descending: bool,
}

/// Window frame with ORDER BY (LNG-121).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frame {
    /// Unbounded preceding to the current row's peers.
    Range,
    /// Unbounded preceding to the current row.
    Rows,
}

/// A window function with its window.
#[derive(Clone, Debug)]
pub struct Window {
    /// Upper-case name.
    pub function: String,
    /// Argument; `None` for `*` or none.
    pub argument: Option<Expr>,
    /// Distance of LAG and LEAD.
    pub offset: u64,
    /// PARTITION BY.
    pub partition: Vec<Expr>,
    /// ORDER BY.
    pub order: Vec<OrderKey>,
    /// Frame.
    pub frame: Frame,
    /// Where.
    pub span: Span,
}

/// A SELECT item.
#[derive(Clone, Debug)]
pub enum Item {
    /// `*`
    Wildcard(Span),
    /// `alias.*`, `_p.*`
    QualifiedWildcard(Name),
    /// `expr [AS alias]`
    Expr(Expr, Option<Name>),
    /// `f() OVER (…) AS alias`
    Window(Window, Name),
}

/// What FROM names.
#[derive(Clone, Debug)]
pub enum Table {
    /// An app.
    App(AppRef),
    /// An app's table as rows.
    Subtable(AppRef, Name),
    /// `#name`
    Temp(Name),
    /// A CTE or, in dialect 1, a temp table.
    Named(Name),
}

impl Table {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Self::App(app) => app.written.span,
            Self::Subtable(app, code) => app.written.span.to(code.span),
            Self::Temp(name) | Self::Named(name) => name.span,
        }
    }
}

/// A table with its alias.
#[derive(Clone, Debug)]
pub struct Source {
    /// What.
    pub table: Table,
    /// Alias.
    pub alias: Option<Name>,
}

/// Kinds of joins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JoinKind {
    /// INNER.
    Inner,
    /// LEFT.
    Left,
    /// RIGHT.
    Right,
    /// CROSS.
    Cross,
}

/// A joined source.
#[derive(Clone, Debug)]
pub struct Join {
    /// Kind.
    pub kind: JoinKind,
    /// What is joined.
    pub source: Source,
    /// Both sides of the equality; `None` for CROSS.
    pub on: Option<(ColumnRef, ColumnRef)>,
}

/// GROUP BY.
#[derive(Clone, Debug)]
pub enum Grouping {
    /// Plain keys.
    Keys(Vec<Expr>),
    /// ROLLUP, CUBE or GROUPING SETS, expanded: the fields, and the fields of each set.
    Sets {
        /// All fields in order of first mention.
        fields: Vec<ColumnRef>,
        /// For each set, which fields it groups by.
        sets: Vec<Vec<bool>>,
    },
}

/// One SELECT.
#[derive(Clone, Debug)]
pub struct Select {
    /// DISTINCT.
    pub distinct: bool,
    /// Items.
    pub items: Vec<Item>,
    /// First source.
    pub from: Option<Source>,
    /// Joined sources.
    pub joins: Vec<Join>,
    /// WHERE.
    pub filter: Option<Condition>,
    /// GROUP BY.
    pub grouping: Option<Grouping>,
    /// HAVING.
    pub having: Option<Condition>,
    /// ORDER BY or KORDER BY.
    pub order: Vec<OrderKey>,
    /// The order is kintone's own (KORDER).
    pub kintone_order: bool,
    /// LIMIT.
    pub limit: Option<u64>,
    /// OFFSET.
    pub offset: u64,
    /// Where.
    pub span: Span,
}

/// Body of a CTE.
#[derive(Clone, Debug)]
pub enum CteBody {
    /// A query.
    Query(Box<Query>),
    /// GENERATE_SERIES(start, stop[, step]) [AS column]
    Series(Vec<Expr>, Option<Name>),
    /// SHOW APPS
    ShowApps,
    /// DESCRIBE app
    Describe(AppRef),
}

/// One common table expression.
#[derive(Clone, Debug)]
pub struct Cte {
    /// Name.
    pub name: Name,
    /// Column names, for recursive ones.
    pub columns: Vec<Name>,
    /// Body.
    pub body: CteBody,
}

/// CYCLE c SET m TO 'x' DEFAULT 'y'
#[derive(Clone, Debug)]
pub struct Cycle {
    /// The column whose repetition is a cycle.
    pub column: Name,
    /// The mark's column.
    pub mark: Name,
    /// Mark of a repeating row.
    pub cyclic: String,
    /// Mark of other rows.
    pub acyclic: String,
}

/// A query with its CTEs and set operations.
#[derive(Clone, Debug)]
pub struct Query {
    /// WITH RECURSIVE.
    pub recursive: bool,
    /// CTEs in order.
    pub ctes: Vec<Cte>,
    /// CYCLE.
    pub cycle: Option<Cycle>,
    /// First SELECT.
    pub first: Select,
    /// Further SELECTs; true = UNION ALL.
    pub unions: Vec<(bool, Select)>,
    /// Where.
    pub span: Span,
}

impl Query {
    /// `SELECT items FROM source`, as statements that write make it of what they are given.
    pub fn over(source: Source, items: Vec<Item>, span: Span) -> Self {
        Self {
            recursive: false,
            ctes: Vec::new(),
            cycle: None,
            first: Select {
                distinct: false,
                items,
                from: Some(source),
                joins: Vec::new(),
                filter: None,
                grouping: None,
                having: None,
                order: Vec::new(),
                kintone_order: false,
                limit: None,
                offset: 0,
                span,
            },
            unions: Vec::new(),
            span,
        }
    }
}
