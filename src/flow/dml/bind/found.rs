//! Statements that write the records that a condition finds: UPDATE and DELETE.

use crate::flow::apps::FieldType;
use crate::flow::dml::inspect::BoundInspection;
use crate::flow::dml::target;
use crate::flow::dml::update::always_true;
use crate::flow::exec::EngineError;
use crate::flow::exec::eval::Evaluator;
use crate::flow::exec::fill;
use crate::flow::exec::world::World;
use crate::flow::plan::bind::{Binder, resolved};
use crate::flow::plan::catalog::Catalog;
use crate::flow::plan::filter::Filter;
use crate::flow::plan::query::Parameter;
use crate::flow::plan::scalar::{ColumnId, Scalar};
use crate::flow::plan::scope::{Scope, ScopeSource};
use crate::flow::plan::tautology;
use crate::flow::plan::types::Type;
use crate::flow::sql::ast::{self, Comparison, Inspection, Name};
use crate::flow::sql::message::say;
use crate::flow::sql::position::Span;

use super::{BoundDelete, BoundDml, BoundUpdate, mentioned};

/// Binds an UPDATE (LNG-148, LNG-149).
pub(super) fn update(
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
    let names = std::iter::once(filter)
        .chain(inspection.conditions())
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

/// Binds a DELETE (LNG-150).
pub(super) fn delete(
    world: &mut World<'_>,
    target: &ast::Target,
    filter: &ast::Condition,
) -> Result<BoundDml, EngineError> {
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
