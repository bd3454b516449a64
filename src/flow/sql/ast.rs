//! The syntax tree: the grammar of the language and nothing more. Names are not resolved, types are not known. Values
//! and conditions stand here, queries and statements in files of their own.

mod inspect;
mod query;
mod statement;

pub use inspect::{CheckBlock, Disposal, Header, Import, ImportFile, ImportFormat, Inspection, Mapping};
pub use query::{
    Cte, CteBody, Cycle, Frame, Grouping, Item, Join, JoinKind, OrderKey, Query, Select, Source, Table,
    Window,
};
pub use statement::{Assignment, Gate, GateTest, InsertSource, Merge, Statement, Target};

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

    /// The operator that says the same with the sides exchanged.
    pub fn turned_round(self) -> Self {
        match self {
            Self::Equal | Self::NotEqual => self,
            Self::Less => Self::Greater,
            Self::LessOrEqual => Self::GreaterOrEqual,
            Self::Greater => Self::Less,
            Self::GreaterOrEqual => Self::LessOrEqual,
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
