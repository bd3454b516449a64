//! Binding of DML: targets, sources, keys and conditions, all before any record is read.

mod found;
mod given;

pub(super) use given::{insert, upsert};

use crate::flow::apps::{AppId, FieldType};
use crate::flow::exec::EngineError;
use crate::flow::exec::world::World;
use crate::flow::plan::bind::resolved;
use crate::flow::plan::catalog::Catalog;
use crate::flow::plan::filter::Filter;
use crate::flow::plan::query::{BoundQuery, Parameter};
use crate::flow::plan::scalar::{ColumnId, Scalar};
use crate::flow::plan::scope::Scope;
use crate::flow::plan::types::{ColumnInfo, Type};
use crate::flow::script::Statement;
use crate::flow::sql::ast;
use crate::flow::sql::message::say;
use crate::flow::sql::walk::{self, Part};

use super::import;
use super::inspect::{BoundInspection, error_columns};
use super::target::TargetField;

/// A DML statement that can run.
pub(in crate::flow) enum BoundDml {
    Insert(BoundInsert),
    Upsert(BoundUpsert),
    Update(Box<BoundUpdate>),
    Delete(Box<BoundDelete>),
}

impl BoundDml {
    /// The temp table that takes its errors, with the table's columns.
    pub fn error_table(&self) -> Option<(&str, Vec<ColumnInfo>)> {
        let (inspection, payload) = match self {
            Self::Insert(insert) => (&insert.inspection, insert.payload()),
            Self::Upsert(upsert) => (&upsert.inspection, upsert.payload()),
            Self::Update(update) => (&update.inspection, update.payload()),
            Self::Delete(_) => return None,
        };
        Some((inspection.table()?, error_columns(&payload)))
    }
}

/// Rows to write.
pub(in crate::flow) enum Rows {
    /// Constants.
    Values(Vec<Vec<Scalar>>),
    /// A query.
    Query(Box<BoundQuery>),
}

/// INSERT.
pub(in crate::flow) struct BoundInsert {
    pub app: AppId,
    pub fields: Vec<TargetField>,
    pub rows: Rows,
    pub inspection: BoundInspection,
    /// Fields that a new record must have but this statement does not write.
    pub unwritten: Vec<String>,
}

impl BoundInsert {
    /// The written columns of its error table.
    pub fn payload(&self) -> Vec<ColumnInfo> {
        self.fields.iter().map(TargetField::column).collect()
    }
}

/// UPSERT or MERGE.
pub(in crate::flow) struct BoundUpsert {
    pub app: AppId,
    pub fields: Vec<TargetField>,
    pub rows: Rows,
    /// Positions of the key fields among the fields.
    pub keys: Vec<usize>,
    /// Kinds of keys that kintone's own upsert takes.
    pub native: bool,
    /// For each field, whether a new record gets it.
    pub inserted: Vec<bool>,
    /// For each field, whether an existing record gets it.
    pub updated: Vec<bool>,
    pub inspection: BoundInspection,
    /// Fields that a new record must have but this statement does not write.
    pub unwritten: Vec<String>,
}

impl BoundUpsert {
    /// The written columns of its error table.
    pub fn payload(&self) -> Vec<ColumnInfo> {
        self.fields.iter().map(TargetField::column).collect()
    }
}

/// UPDATE.
pub(in crate::flow) struct BoundUpdate {
    /// The target, and the FROM source if there is one.
    pub scope: Scope,
    pub app: AppId,
    pub fields: Vec<TargetField>,
    pub values: Vec<Scalar>,
    pub filter: Filter,
    /// Key columns of the target and the source (LNG-149).
    pub key: Option<(ColumnId, ColumnId)>,
    pub parameters: Vec<Parameter>,
    pub inspection: BoundInspection,
}

impl BoundUpdate {
    /// The written columns of its error table, behind the record's number.
    pub fn payload(&self) -> Vec<ColumnInfo> {
        let id = ColumnInfo::exact("$id", Type::with_options(FieldType::Id, None));
        std::iter::once(id)
            .chain(self.fields.iter().map(TargetField::column))
            .collect()
    }
}

/// DELETE.
pub(in crate::flow) struct BoundDelete {
    pub scope: Scope,
    pub app: AppId,
    pub filter: Filter,
    pub parameters: Vec<Parameter>,
}

/// Binds a statement that writes.
pub(in crate::flow) fn bind(world: &mut World<'_>, statement: &Statement) -> Result<BoundDml, EngineError> {
    match &statement.tree {
        ast::Statement::Insert {
            target,
            fields,
            source,
            inspection,
        } => {
            let form = world.form(resolved(&target.app)?)?;
            insert(world, &form, fields, source, inspection)
        }
        ast::Statement::Import(import) => import::bind(world, import),
        ast::Statement::Upsert {
            target,
            fields,
            source,
            keys,
            inspection,
        } => {
            let form = world.form(resolved(&target.app)?)?;
            let all = vec![true; fields.len()];
            upsert(
                world,
                statement.flow,
                &form,
                fields,
                keys,
                source,
                (all.clone(), all),
                inspection,
            )
        }
        ast::Statement::Merge(merge) => given::merge(world, statement.flow, merge),
        ast::Statement::Update {
            target,
            assignments,
            from,
            filter,
            inspection,
        } => found::update(world, target, assignments, from.as_ref(), filter, inspection),
        ast::Statement::Delete(target, filter) => found::delete(world, target, filter),
        _ => Err(EngineError::argument(say!(
            "this statement writes nothing",
            "書き込みのない文です"
        ))),
    }
}

/// Names of the columns in a condition.
fn mentioned(filter: &ast::Condition) -> Vec<&str> {
    let mut names = Vec::new();
    walk::condition(filter, &mut |part| {
        if let Part::Value(ast::Expr::Column(column)) = part {
            names.push(column.name.text.as_str());
        }
    });
    names
}
