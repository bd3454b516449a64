//! Statements: queries, temp tables, variables, gates and everything that writes.

use super::{AppRef, ColumnRef, Comparison, Condition, Expr, Import, Inspection, Name, Query, Source};
use crate::flow::sql::position::Span;

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
        /// Checks.
        inspection: Box<Inspection>,
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
        /// Checks.
        inspection: Box<Inspection>,
    },
    /// IMPORT.
    Import(Box<Import>),
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
        /// Checks.
        inspection: Box<Inspection>,
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
    /// What becomes of wrong rows; its checks see the source.
    pub inspection: Inspection,
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
