//! What UPDATE and DELETE read: decided before the first request, for a run and for its plan alike.

use std::collections::BTreeSet;

use crate::flow::exec::EngineError;
use crate::flow::exec::query::Executor;
use crate::flow::exec::select::Reading;
use crate::flow::plan::bind::not_sent;
use crate::flow::plan::filter::Filter;
use crate::flow::plan::push::{Decision, Pushed, Relation as Reach};
use crate::flow::plan::scalar::{ColumnId, Scalar};

use super::bind::{BoundDelete, BoundUpdate};
use super::target::TargetField;

/// What an UPDATE reads, decided before the first request.
pub(in crate::flow) struct Reads {
    /// The FROM source.
    pub source: Option<Reading>,
    /// The records to change; what is left to test looks at the source's rows too.
    pub target: Reading,
    /// Columns of the written fields, for samples of a preview.
    pub(super) sampled: Vec<usize>,
}

impl BoundUpdate {
    /// How records are found and what is read of them; nothing if no record can meet the condition.
    pub fn reads(
        &self,
        executor: &Executor<'_, '_>,
        filter: Filter,
        values: &[Scalar],
        previewed: bool,
    ) -> Result<Option<Reads>, EngineError> {
        let [target, from @ ..] = self.scope.sources.as_slice() else {
            return Ok(None);
        };
        if filter == Filter::Constant(false) {
            return Ok(None);
        }
        let (mut own, mut of_source, mut mixed) = (Vec::new(), Vec::new(), Vec::new());
        for part in conjuncts(filter) {
            let mut columns = Vec::new();
            part.columns(&mut columns);
            if part.server_test().is_some() || columns.iter().all(|id| id.source == 0) {
                own.push(part);
            } else if columns.iter().all(|id| id.source == 1) {
                of_source.push(part);
            } else {
                mixed.push(part);
            }
        }
        let pushed = executor.push(target, 0, &Filter::all(own), Decision::Tested);
        if let Some(test) = pushed.rest.server_test() {
            return Err(not_sent(test));
        }
        let mixed = Filter::all(mixed);
        let rest = Filter::all(vec![pushed.rest, mixed.clone()]);
        let mut needed: Vec<ColumnId> = Vec::new();
        rest.columns(&mut needed);
        for value in values {
            value.columns(&mut needed);
        }
        self.inspection.columns(&mut needed);
        needed.extend(self.key.iter().flat_map(|(own, other)| [*own, *other]));
        let of = |source: usize| -> BTreeSet<usize> {
            let columns = needed.iter().filter(|id| id.source == source);
            columns.map(|id| id.column).collect()
        };
        let columns = &target.columns;
        let place_of = |field: &TargetField| columns.iter().position(|column| column.info.name == field.code);
        let sampled: Vec<usize> = self.fields.iter().filter_map(place_of).collect();
        let mut own_columns = of(0);
        if previewed {
            own_columns.extend(&sampled);
        }
        let source = match from.first() {
            Some(source) if self.key.is_some() => {
                let pushed = executor.push(source, 1, &Filter::all(of_source), Decision::Tested);
                let mut columns = of(1);
                let mut tested = Vec::new();
                pushed.rest.columns(&mut tested);
                columns.extend(tested.iter().map(|id| id.column));
                Some(Reading::new(executor.open(source, &columns)?, pushed))
            }
            _ => None,
        };
        let relation = match (&mixed, pushed.query.is_empty()) {
            (Filter::Constant(true), _) => pushed.relation,
            (_, true) => Reach::Local,
            (_, false) => Reach::Prefilter,
        };
        let sent = Pushed {
            query: pushed.query,
            rest,
            relation,
        };
        Ok(Some(Reads {
            source,
            target: Reading::new(executor.open(target, &own_columns)?, sent),
            sampled,
        }))
    }
}

impl BoundDelete {
    /// How records are found, and what is read of them beside these columns; nothing if no record can meet the condition.
    pub fn reads(
        &self,
        executor: &Executor<'_, '_>,
        filter: &Filter,
        shown: &[usize],
    ) -> Result<Option<Reading>, EngineError> {
        let ([target], false) = (self.scope.sources.as_slice(), *filter == Filter::Constant(false)) else {
            return Ok(None);
        };
        let pushed = executor.push(target, 0, filter, Decision::Tested);
        if let Some(test) = pushed.rest.server_test() {
            return Err(not_sent(test));
        }
        let mut needed = Vec::new();
        pushed.rest.columns(&mut needed);
        let tested = needed.iter().map(|id| id.column);
        let columns: BTreeSet<usize> = tested.chain(shown.iter().copied()).collect();
        Ok(Some(Reading::new(executor.open(target, &columns)?, pushed)))
    }
}

fn conjuncts(filter: Filter) -> Vec<Filter> {
    match filter {
        Filter::All(parts) => parts,
        other => vec![other],
    }
}
