//! Binding of DML: targets, sources, keys and conditions, all before any record is read.

use crate::flow::apps::{AppId, FieldType, Form};
use crate::flow::exec::EngineError;
use crate::flow::exec::eval::Evaluator;
use crate::flow::exec::fill;
use crate::flow::exec::world::World;
use crate::flow::plan::bind::{Binder, Env, resolved};
use crate::flow::plan::catalog::Catalog;
use crate::flow::plan::filter::Filter;
use crate::flow::plan::query::{BoundQuery, Parameter};
use crate::flow::plan::scalar::{ColumnId, Scalar};
use crate::flow::plan::scope::{Origin, Scope, ScopeSource};
use crate::flow::plan::tautology;
use crate::flow::plan::types::{ColumnInfo, Type};
use crate::flow::script::Statement;
use crate::flow::sql::ast::{self, Comparison, InsertSource, Inspection, Item, Name, Select};
use crate::flow::sql::message::say;
use crate::flow::sql::position::Span;
use crate::flow::sql::walk::{self, Part};

use super::import;
use super::inspect::{BoundInspection, error_columns};
use super::target::{self, TargetField};
use super::update::always_true;

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
        ast::Statement::Merge(merge) => self::merge(world, statement.flow, merge),
        ast::Statement::Update {
            target,
            assignments,
            from,
            filter,
            inspection,
        } => update(world, target, assignments, from.as_ref(), filter, inspection),
        ast::Statement::Delete(target, filter) => {
            let form = world.form(resolved(&target.app)?)?;
            let mut source = ScopeSource::app(&form);
            source.qualifiers.push(target.app.written.text.clone());
            let mut scope = Scope {
                sources: vec![source],
            };
            let mut binder = Binder::new(world);
            binder.load_states(&mut scope, &mentioned(filter))?;
            let filter = binder.where_condition(&scope, filter)?;
            let parameters = binder.take_parameters();
            refuse_always_true("DELETE", &filter, &parameters)?;
            Ok(BoundDml::Delete(Box::new(BoundDelete {
                scope,
                app: form.app,
                filter,
                parameters,
            })))
        }
        _ => Err(EngineError::argument(say!(
            "this statement writes nothing",
            "書き込みのない文です"
        ))),
    }
}

pub(super) fn insert(
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

// One argument for each clause of the statement.
#[allow(clippy::too_many_arguments)]
pub(super) fn upsert(
    world: &mut World<'_>,
    flow: bool,
    form: &Form,
    names: &[Name],
    keys: &[Name],
    source: &InsertSource,
    (inserted, updated): (Vec<bool>, Vec<bool>),
    inspection: &Inspection,
) -> Result<BoundDml, EngineError> {
    if flow {
        for key in keys {
            target::check_key(form, key)?;
        }
    }
    let fields = target::fields(form, names)?;
    let (rows, inspection) = rows(world, source, &fields, inspection)?;
    let positions: Vec<usize> = keys
        .iter()
        .filter_map(|key| names.iter().position(|name| name == key))
        .collect();
    let unique = |key: &Name| {
        form.field(&key.text)
            .is_some_and(|field| field.unique && target::is_key_type(field))
    };
    let only_keys = positions.len() == names.len();
    let native = keys.len() == 1 && keys.iter().all(unique) && inserted == updated && !only_keys;
    Ok(BoundDml::Upsert(BoundUpsert {
        app: form.app,
        unwritten: target::unwritten_required(form, &fields),
        fields,
        rows,
        keys: positions,
        native,
        inserted,
        updated,
        inspection,
    }))
}

/// MERGE is an UPSERT of a SELECT over its source (LNG-146).
fn merge(world: &mut World<'_>, flow: bool, merge: &ast::Merge) -> Result<BoundDml, EngineError> {
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
    let query = ast::Query {
        recursive: false,
        ctes: Vec::new(),
        cycle: None,
        first: Select {
            distinct: false,
            items,
            from: Some(merge.source.clone()),
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
    };
    let source = InsertSource::Query(Box::new(query));
    upsert(
        world,
        flow,
        &form,
        &names,
        std::slice::from_ref(&merge.key),
        &source,
        masks,
        &Inspection::default(),
    )
}

fn update(
    world: &mut World<'_>,
    target: &ast::Target,
    assignments: &[ast::Assignment],
    from: Option<&ast::Source>,
    filter: &ast::Condition,
    inspection: &Inspection,
) -> Result<BoundDml, EngineError> {
    let form = world.form(resolved(&target.app)?)?;
    let names: Vec<Name> = assignments
        .iter()
        .map(|assignment| assignment.field.clone())
        .collect();
    let fields = target::fields(&form, &names)?;
    let mut source = ScopeSource::app(&form);
    source.qualifiers.push(target.app.written.text.clone());
    let mut scope = Scope {
        sources: vec![source],
    };
    let mut binder = Binder::new(world);
    if let Some(from) = from {
        scope.sources.push(binder.source(from)?);
    }
    let checked = inspection
        .checks
        .iter()
        .flat_map(|block| &block.branches)
        .map(|(condition, _)| condition);
    let names = std::iter::once(filter)
        .chain(checked)
        .flat_map(mentioned)
        .collect::<Vec<_>>();
    binder.load_states(&mut scope, &names)?;
    binder.strict_division = true;
    let mut values = Vec::new();
    for assignment in assignments {
        let (value, kind) = binder.row_value(&scope, &assignment.value)?;
        let copied = matches!(&value, Scalar::Column(id) if id.source == 1);
        if copied && !is_copyable(&kind) {
            let name = &assignment.field.text;
            return Err(EngineError::argument(say!(
                "{name} cannot be set from a column of this type",
                "{name} にこの型の列は代入できません"
            ))
            .at(assignment.value.span()));
        }
        values.push(value);
    }
    binder.strict_division = false;
    let filter = binder.where_condition(&scope, filter)?;
    let inspection = BoundInspection::bind(&mut binder, &scope, inspection)?;
    let parameters = binder.take_parameters();
    let (key, filter) = if from.is_some() {
        source_key(&scope, filter, target.app.written.span)?
    } else {
        refuse_always_true("UPDATE", &filter, &parameters)?;
        (None, filter)
    };
    let bound = BoundUpdate {
        scope,
        app: form.app,
        fields,
        values,
        filter,
        key,
        parameters,
        inspection,
    };
    Ok(BoundDml::Update(Box::new(bound)))
}

/// A condition that is always true, whatever is stored, is found before anything runs. One with subqueries is looked at
/// again when their results are known.
fn refuse_always_true(statement: &str, filter: &Filter, parameters: &[Parameter]) -> Result<(), EngineError> {
    if parameters.is_empty() && tautology::always_holds(&fill::filter(filter, &[], &mut Evaluator::new())?) {
        return Err(always_true(statement));
    }
    Ok(())
}

/// Types that UPDATE ... FROM copies (LNG-149).
fn is_copyable(kind: &Type) -> bool {
    !kind.is_multi_value() && kind.field() != Some(FieldType::Subtable)
}

/// Takes `target.key = source.column` out of a conjunction.
fn source_key(
    scope: &Scope,
    filter: Filter,
    span: Span,
) -> Result<(Option<(ColumnId, ColumnId)>, Filter), EngineError> {
    let mut parts = match filter {
        Filter::All(parts) => parts,
        other => vec![other],
    };
    let key_of = |part: &Filter| match part {
        Filter::Compare {
            left: Scalar::Column(a),
            operator: Comparison::Equal,
            right: Scalar::Column(b),
            ..
        } => match (a.source, b.source) {
            (0, 1) => Some((*a, *b)),
            (1, 0) => Some((*b, *a)),
            _ => None,
        },
        _ => None,
    };
    let found: Vec<(usize, (ColumnId, ColumnId))> = parts
        .iter()
        .enumerate()
        .filter_map(|(i, part)| Some((i, key_of(part)?)))
        .collect();
    let [(place, key)] = found.as_slice() else {
        return Err(EngineError::argument(say!(
            "UPDATE ... FROM needs exactly one condition target.key = source.column, joined with AND",
            "UPDATE ... FROM の WHERE には「更新先.キー = 元.列」を AND で 1 つだけ書きます"
        ))
        .at(span));
    };
    let (place, key) = (*place, *key);
    let kind = scope.kind(key.0).field();
    if !matches!(
        kind,
        Some(FieldType::Id | FieldType::Number | FieldType::SingleLineText)
    ) {
        return Err(EngineError::argument(say!(
            "the key of UPDATE ... FROM must be $id, a text or a number",
            "UPDATE ... FROM のキーは $id、文字列 (1 行)、数値のいずれかです"
        ))
        .at(span));
    }
    parts.remove(place);
    Ok((Some(key), Filter::All(parts)))
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
