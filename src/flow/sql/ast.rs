//! The syntax tree: the grammar of the language and nothing more. Names are not resolved, types are not known.

use super::position::Span;
use crate::flow::apps::AppId;
use crate::flow::value::Arithmetic;

/// An identifier as written (backquotes undone).
#[derive(Clone, Debug)]
pub struct Name {
    /// The name.
    pub text: String,
    /// Where.
    pub span: Span,
}

impl PartialEq for Name {
    /// Names are equal wherever they stand.
    fn eq(&self, other: &Self) -> bool {
        self.text == other.text
    }
}

/// A possibly qualified column.
#[derive(Clone, Debug, PartialEq)]
pub struct ColumnRef {
    /// Alias or table before the dot; `_p` for a subtable's parent.
    pub qualifier: Option<Name>,
    /// Field code or column name.
    pub name: Name,
}

impl ColumnRef {
    /// The place of the whole reference.
    pub fn span(&self) -> Span {
        self.qualifier
            .as_ref()
            .map_or(self.name.span, |qualifier| qualifier.span.to(self.name.span))
    }
}

/// An app as written; the number is known once the logical name was found.
#[derive(Clone, Debug)]
pub struct AppRef {
    /// Number of the app; `None` if logical names are not resolved.
    pub id: Option<AppId>,
    /// `APP12` or `LAPP_name`.
    pub written: Name,
}

/// Comparison operators.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`, `<>`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

impl Comparison {
    /// As kintone and SQL write it.
    pub fn symbol(self) -> &'static str {
        match self {
            Self::Equal => "=",
            Self::NotEqual => "!=",
            Self::Less => "<",
            Self::LessOrEqual => "<=",
            Self::Greater => ">",
            Self::GreaterOrEqual => ">=",
        }
    }

    /// Decides by an ordering.
    pub fn accepts(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

/// Functions of the as-of instant (LNG-60).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AsOfFunction {
    /// `@NOW()`
    Now,
    /// `@TODAY()`
    Today,
    /// `@MONTH_START()`
    MonthStart,
    /// `@NEXT_MONTH_START()`
    NextMonthStart,
}

impl AsOfFunction {
    /// As written.
    pub fn written(self) -> &'static str {
        match self {
            Self::Now => "@NOW()",
            Self::Today => "@TODAY()",
            Self::MonthStart => "@MONTH_START()",
            Self::NextMonthStart => "@NEXT_MONTH_START()",
        }
    }
}

/// A function that only kintone evaluates (LNG-62), in kintone's own spelling.
#[derive(Clone, Debug)]
pub struct ServerFunction {
    /// Upper-case name.
    pub name: String,
    /// Arguments as they are sent.
    pub arguments: Vec<String>,
    /// Where.
    pub span: Span,
}

/// An aggregate with its argument.
#[derive(Clone, Debug)]
pub struct AggregateCall {
    /// Upper-case name.
    pub name: String,
    /// DISTINCT.
    pub distinct: bool,
    /// `None` for `*`.
    pub argument: Option<Box<Expr>>,
    /// SEPARATOR of GROUP_CONCAT.
    pub separator: Option<String>,
    /// Where.
    pub span: Span,
}

/// A value expression.
#[derive(Clone, Debug)]
pub enum Expr {
    /// String literal.
    Text(String, Span),
    /// Number literal as written.
    Number(String, Span),
    /// `['a', 'b']`
    Array(Vec<String>, Span),
    /// Field or column.
    Column(ColumnRef),
    /// `@name`
    Variable(Name),
    /// `@NOW()` and the like.
    AsOf(AsOfFunction, Span),
    /// A function that kintone evaluates; only right of a comparison in WHERE, or `IN (LOGINUSER())`.
    Server(ServerFunction),
    /// Scalar function, name in upper case.
    Call(String, Vec<Expr>, Span),
    /// Aggregate.
    Aggregate(AggregateCall),
    /// `GROUPING(f)`
    Grouping(ColumnRef, Span),
    /// CASE or IF.
    Case(Box<Case>, Span),
    /// `-x`
    Negate(Box<Expr>, Span),
    /// Arithmetic of one precedence, from left to right.
    Chain(Box<Expr>, Vec<(Arithmetic, Expr)>, Span),
    /// `a || b || c`
    Concat(Vec<Expr>, Span),
    /// `(SELECT …)`
    Subquery(Box<Query>, Span),
}

impl Expr {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Self::Text(_, span)
            | Self::Number(_, span)
            | Self::Array(_, span)
            | Self::AsOf(_, span)
            | Self::Call(_, _, span)
            | Self::Grouping(_, span)
            | Self::Case(_, span)
            | Self::Negate(_, span)
            | Self::Chain(_, _, span)
            | Self::Concat(_, span)
            | Self::Subquery(_, span) => *span,
            Self::Column(column) => column.span(),
            Self::Variable(name) => name.span,
            Self::Server(function) => function.span,
            Self::Aggregate(call) => call.span,
        }
    }
}

/// CASE WHEN … THEN … ELSE … END.
#[derive(Clone, Debug)]
pub struct Case {
    /// Conditions with their results.
    pub branches: Vec<(Condition, Expr)>,
    /// ELSE.
    pub otherwise: Option<Expr>,
}

/// What IN tests against.
#[derive(Clone, Debug)]
pub enum InList {
    /// `(a, b)`
    Values(Vec<Expr>),
    /// `(SELECT …)`
    Query(Box<Query>),
    /// `@list`
    Variable(Name),
}

/// A truth-valued expression.
#[derive(Clone, Debug)]
pub enum Condition {
    /// All hold.
    And(Vec<Condition>),
    /// One holds.
    Or(Vec<Condition>),
    /// Does not hold.
    Not(Box<Condition>, Span),
    /// `a < b`
    Compare(Expr, Comparison, Expr, Span),
    /// `a BETWEEN b AND c`
    Between(Expr, Expr, Expr, Span),
    /// `a [NOT] IN …`
    In {
        /// Left side.
        left: Expr,
        /// NOT.
        negated: bool,
        /// Right side.
        list: InList,
        /// Where.
        span: Span,
    },
    /// `a [NOT] LIKE b`
    Like {
        /// Left side.
        left: Expr,
        /// NOT.
        negated: bool,
        /// Right side.
        pattern: Expr,
        /// Where.
        span: Span,
    },
    /// `a [NOT] KLIKE b`
    Keyword {
        /// Left side.
        left: Expr,
        /// NOT.
        negated: bool,
        /// Right side.
        pattern: Expr,
        /// Where.
        span: Span,
    },
    /// `a IS [NOT] NULL`
    IsNull {
        /// Left side.
        left: Expr,
        /// NOT.
        negated: bool,
        /// Where.
        span: Span,
    },
    /// `EXISTS (SELECT …)`
    Exists(Box<Query>, Span),
}

impl Condition {
    /// Where it stands.
    pub fn span(&self) -> Span {
        match self {
            Self::And(parts) | Self::Or(parts) => match (parts.first(), parts.last()) {
                (Some(first), Some(last)) => first.span().to(last.span()),
                _ => Span::default(),
            },
            Self::Not(_, span)
            | Self::Compare(_, _, _, span)
            | Self::Between(_, _, _, span)
            | Self::In { span, .. }
            | Self::Like { span, .. }
            | Self::Keyword { span, .. }
            | Self::IsNull { span, .. }
            | Self::Exists(_, span) => *span,
        }
    }
}

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

/// Where DML goes.
#[derive(Clone, Debug)]
pub struct Target {
    /// The app.
    pub app: AppRef,
    /// A table in it.
    pub subtable: Option<Name>,
    /// Alias (MERGE).
    pub alias: Option<Name>,
}

/// What INSERT and UPSERT read.
#[derive(Clone, Debug)]
pub enum InsertSource {
    /// VALUES rows.
    Values(Vec<Vec<Expr>>),
    /// A query.
    Query(Box<Query>),
}

/// `field = value`
#[derive(Clone, Debug)]
pub struct Assignment {
    /// Field of the target.
    pub field: Name,
    /// Value.
    pub value: Expr,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Statement {
    /// SELECT.
    Query(Box<Query>),
    /// CREATE TEMP TABLE.
    CreateTemp(Name, Box<Query>),
    /// DROP TEMP TABLE.
    DropTemp(Name),
    /// SET @x = …
    Set(Name, Expr),
    /// DECLARE @x [RELATIVE_DATE] = …
    Declare(Name, Expr),
    /// ASSERT [WARN] condition [, message]
    Assert {
        /// WARN.
        warn: bool,
        /// What must hold.
        condition: Gate,
        /// Message.
        message: Option<String>,
    },
    /// EXIT SUCCESS IF condition, message
    Exit(Gate, String),
    /// INSERT.
    Insert {
        /// Target.
        target: Target,
        /// Fields.
        fields: Vec<Name>,
        /// Rows.
        source: InsertSource,
    },
    /// UPSERT.
    Upsert {
        /// Target.
        target: Target,
        /// Fields.
        fields: Vec<Name>,
        /// Rows.
        source: InsertSource,
        /// Key fields.
        keys: Vec<Name>,
    },
    /// MERGE.
    Merge(Box<Merge>),
    /// UPDATE.
    Update {
        /// Target.
        target: Target,
        /// SET.
        assignments: Vec<Assignment>,
        /// FROM.
        from: Option<Source>,
        /// WHERE.
        filter: Condition,
    },
    /// DELETE.
    Delete(Target, Condition),
    /// SHOW APPS.
    ShowApps,
    /// DESCRIBE app.
    Describe(AppRef),
    /// EXPLAIN statement.
    Explain(Box<Statement>),
}

/// MERGE INTO t USING s ON t.k = s.k …
#[derive(Clone, Debug)]
pub struct Merge {
    /// Target with its alias.
    pub target: Target,
    /// Source with its alias.
    pub source: Source,
    /// Key field of the target.
    pub key: Name,
    /// Matching column of the source.
    pub source_key: ColumnRef,
    /// WHEN MATCHED THEN UPDATE SET.
    pub update: Vec<Assignment>,
    /// WHEN NOT MATCHED THEN INSERT.
    pub insert: Vec<Assignment>,
}

/// The condition of ASSERT and EXIT.
#[derive(Clone, Debug)]
pub struct Gate {
    /// Left operand.
    pub left: Expr,
    /// Comparison with one operand or range of two.
    pub test: GateTest,
    /// Where.
    pub span: Span,
}

/// What a gate compares with.
#[derive(Clone, Debug)]
pub enum GateTest {
    /// `left op right`
    Compare(Comparison, Expr),
    /// `left BETWEEN low AND high`
    Between(Expr, Expr),
}
