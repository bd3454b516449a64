//! Statements that write the rows they are given: INSERT, UPSERT, MERGE.

use crate::flow::apps::Form;
use crate::flow::dml::inspect::BoundInspection;
use crate::flow::dml::target::{self, TargetField};
use crate::flow::exec::EngineError;
use crate::flow::exec::world::World;
use crate::flow::plan::bind::{Binder, Env, resolved};
use crate::flow::plan::catalog::Catalog;
use crate::flow::plan::query::{BoundQuery, Output};
use crate::flow::plan::scalar::{ColumnId, Scalar};
use crate::flow::plan::scope::{Origin, Scope, ScopeSource};
use crate::flow::sql::ast::{self, InsertSource, Inspection, Item, Name};
use crate::flow::sql::message::say;

use super::{BoundDml, BoundInsert, BoundUpsert, Rows, mentioned};

/// Binds an INSERT, or an IMPORT without keys.
pub(in crate::flow::dml) fn insert(
    world: &mut World<'_>,
    form: &Form,
    names: &[Name],
    source: &InsertSource,
    inspection: &Inspection,
) -> Result<BoundDml, EngineError> {
    let fields = target::fields(form, names)?;
    let (rows, inspection) = rows(world, source, &fields, inspection)?;
    Ok(BoundDml::Insert(BoundInsert {
        app: form.app,
        unwritten: target::unwritten_required(form, &fields),
        fields,
        rows,
        inspection,
    }))
}

fn rows(
    world: &mut World<'_>,
    source: &InsertSource,
    fields: &[TargetField],
    inspection: &Inspection,
) -> Result<(Rows, BoundInspection), EngineError> {
    let mut binder = Binder::new(world);
    let (rows, columns) = match source {
        InsertSource::Values(rows) => {
            let rows = rows
                .iter()
                .map(|row| {
                    row.iter()
                        .map(|value| binder.value(&mut Env::constant(), value).map(|(value, _)| value))
                        .collect()
                })
                .collect::<Result<_, _>>()?;
            (
                Rows::Values(rows),
                fields.iter().map(TargetField::column).collect(),
            )
        }
        InsertSource::Query(query) => {
            let bound = binder.query(query)?;
            let (found, wanted) = (bound.columns.len(), fields.len());
            // Columns behind those of the fields are there for CHECK only.
            if found < wanted || (found > wanted && inspection.checks.is_empty()) {
                return Err(EngineError::argument(say!(
                    "the SELECT has {found} columns for {wanted} fields",
                    "SELECT は {found} 列ですが、フィールドは {wanted} 個です"
                ))
                .at(query.span));
            }
            let columns = bound.columns.clone();
            (Rows::Query(Box::new(bound)), columns)
        }
    };
    let scope = Scope {
        sources: vec![ScopeSource::relation(Origin::Temp(String::new()), "", &columns)],
    };
    let inspection = BoundInspection::bind(&mut binder, &scope, inspection)?;
    Ok((rows, inspection))
}

/// Binds an UPSERT, or an IMPORT with keys. The masks tell which fields new and existing records get.
// One argument for each clause of the statement.
#[allow(clippy::too_many_arguments)]
pub(in crate::flow::dml) fn upsert(
    world: &mut World<'_>,
    flow: bool,
    form: &Form,
    names: &[Name],
    keys: &[Name],
    source: &InsertSource,
    (inserted, updated): (Vec<bool>, Vec<bool>),
    inspection: &Inspection,
) -> Result<BoundDml, EngineError> {
    let fields = keyed_fields(flow, form, names, keys)?;
    let (rows, inspection) = rows(world, source, &fields, inspection)?;
    Ok(BoundDml::Upsert(BoundUpsert {
        rows,
        inspection,
        ..keyed(form, fields, keys, (inserted, updated))
    }))
}

/// The written fields of an UPSERT; in dialect 1 the key is checked first (LNG-142).
fn keyed_fields(
    flow: bool,
    form: &Form,
    names: &[Name],
    keys: &[Name],
) -> Result<Vec<TargetField>, EngineError> {
    if flow {
        for key in keys {
            target::check_key(form, key)?;
        }
    }
    target::fields(form, names)
}

/// An UPSERT into these fields, without rows so far.
fn keyed(
    form: &Form,
    fields: Vec<TargetField>,
    keys: &[Name],
    (inserted, updated): (Vec<bool>, Vec<bool>),
) -> BoundUpsert {
    let positions: Vec<usize> = keys
        .iter()
        .filter_map(|key| fields.iter().position(|field| field.code == key.text))
        .collect();
    let unique = |key: &Name| {
        form.field(&key.text)
            .is_some_and(|field| field.unique && target::is_key_type(field))
    };
    let only_keys = positions.len() == fields.len();
    let native = keys.len() == 1 && keys.iter().all(unique) && inserted == updated && !only_keys;
    BoundUpsert {
        app: form.app,
        unwritten: target::unwritten_required(form, &fields),
        fields,
        rows: Rows::Values(Vec::new()),
        keys: positions,
        native,
        inserted,
        updated,
        inspection: BoundInspection::default(),
    }
}

/// MERGE is an UPSERT of a SELECT over its source (LNG-146).
pub(super) fn merge(world: &mut World<'_>, flow: bool, merge: &ast::Merge) -> Result<BoundDml, EngineError> {
    let form = world.form(resolved(&merge.target.app)?)?;
    let added = merge
        .update
        .iter()
        .filter(|update| !merge.insert.iter().any(|insert| insert.field == update.field));
    let assignments: Vec<&ast::Assignment> = merge.insert.iter().chain(added).collect();
    let names: Vec<Name> = assignments
        .iter()
        .map(|assignment| assignment.field.clone())
        .collect();
    let listed = |list: &[ast::Assignment]| -> Vec<bool> {
        names
            .iter()
            .map(|name| *name == merge.key || list.iter().any(|assignment| assignment.field == *name))
            .collect()
    };
    let masks = (listed(&merge.insert), listed(&merge.update));
    let span = merge.key.span;
    let items = assignments
        .iter()
        .map(|assignment| Item::Expr(assignment.value.clone(), Some(assignment.field.clone())))
        .collect();
    let query = ast::Query::over(merge.source.clone(), items, span);
    let keys = std::slice::from_ref(&merge.key);
    let fields = keyed_fields(flow, &form, &names, keys)?;
    let mut binder = Binder::new(world);
    let mut bound = binder.query(&query)?;
    let inspection = source_checks(&mut binder, merge, &mut bound)?;
    Ok(BoundDml::Upsert(BoundUpsert {
        rows: Rows::Query(Box::new(bound)),
        inspection,
        ..keyed(&form, fields, keys, masks)
    }))
}

/// The checks of a MERGE look at the source: the columns that they need follow those of the fields.
fn source_checks(
    binder: &mut Binder<'_>,
    merge: &ast::Merge,
    rows: &mut BoundQuery,
) -> Result<BoundInspection, EngineError> {
    let mut scope = Scope {
        sources: vec![binder.source(&merge.source)?],
    };
    let names: Vec<&str> = merge.inspection.conditions().flat_map(mentioned).collect();
    binder.load_states(&mut scope, &names)?;
    let inspection = BoundInspection::bind(binder, &scope, &merge.inspection)?;
    let mut seen = Vec::new();
    inspection.columns(&mut seen);
    seen.sort();
    seen.dedup();
    let first = rows.columns.len();
    for (id, column) in seen.iter().filter_map(|id| Some((id, scope.column(*id)?))) {
        let own = &mut rows.first;
        own.outputs.push(Output::Value(Scalar::Column(*id)));
        own.columns.push(column.info.clone());
        rows.columns.push(column.info.clone());
    }
    Ok(inspection.moved(&|id| {
        let place = seen.iter().position(|known| *known == id)?;
        Some(ColumnId {
            source: 0,
            column: first + place,
        })
    }))
}
