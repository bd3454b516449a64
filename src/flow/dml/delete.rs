//! DELETE (LNG-150): the ids first, all of them, then the requests.

use std::ops::ControlFlow;

use crate::flow::apps::{FieldType, WriteRow, WriteTarget, Written};
use crate::flow::exec::eval::Evaluator;
use crate::flow::exec::fill;
use crate::flow::exec::pulse::Pulse;
use crate::flow::exec::select::Reading;
use crate::flow::exec::{EngineError, Preview, Sample};
use crate::flow::plan::scalar::ColumnId;
use crate::flow::plan::scope::Access;
use crate::flow::plan::tautology;

use super::bind::BoundDelete;
use super::chunk::{Batch, Operation, Pace, Sender, requests};
use super::update::always_true;
use super::{Dml, Done};

impl Dml<'_, '_> {
    pub(super) fn delete(&mut self, delete: &BoundDelete) -> Result<Done, EngineError> {
        let mut executor = self.executor();
        let filled = executor.parameters(&delete.parameters)?;
        let mut evaluator = Evaluator::new();
        let filter = fill::filter(&delete.filter, &filled, &mut evaluator)?;
        if tautology::always_holds(&filter) {
            return Err(always_true("DELETE"));
        }
        let mut ids: Vec<u64> = Vec::new();
        let mut before: Vec<Vec<(String, String)>> = Vec::new();
        let samples = self.config.dry_run.map_or(0, |dry_run| dry_run.samples);
        let target = delete.scope.sources.first().filter(|_| samples > 0);
        let shown = target.map_or_else(Vec::new, sampled);
        let reads = delete.reads(&self.executor(), &filter, &shown)?;
        if let (Some(Reading { input, rest, .. }), [target]) = (reads, delete.scope.sources.as_slice()) {
            let mut pulse = Pulse::rows(self.reader.observer());
            input.each_record(self.reader, &mut |id, row| {
                pulse.beat()?;
                if evaluator.test(&rest, row)? {
                    if ids.len() < samples {
                        let cell = |column: &usize| {
                            let name = target
                                .columns
                                .get(*column)
                                .map_or("", |found| found.info.name.as_str());
                            (
                                name.to_owned(),
                                row.cell(ColumnId {
                                    source: 0,
                                    column: *column,
                                })
                                .to_owned(),
                            )
                        };
                        before.push(shown.iter().map(cell).collect());
                    }
                    ids.push(id);
                }
                Ok(ControlFlow::Continue(()))
            })?;
            self.refuse_incomplete()?;
        }
        let records = ids.len() as u64;
        if self.config.dry_run.is_some() {
            let samples = before
                .into_iter()
                .zip(&ids)
                .map(|(before, id)| Sample {
                    kind: "delete",
                    key_field: Some("$id".to_owned()),
                    key: Some(id.to_string()),
                    before,
                    after: Vec::new(),
                })
                .collect();
            let counts = Written {
                deleted: records,
                ..Written::default()
            };
            let preview = Preview {
                app: delete.app,
                operation: "DELETE",
                counts,
                estimated_writes: requests(records),
                samples,
            };
            return Ok(Done {
                preview: Some(preview),
                ..Done::default()
            });
        }
        let rows: Vec<usize> = (0..ids.len()).collect();
        let row = |number: usize| WriteRow {
            target: WriteTarget::Id(ids.get(number).copied().unwrap_or_default()),
            values: Vec::new(),
        };
        let mut sender = Sender::new(self, delete.app);
        sender.send(&Batch {
            operation: Operation::Delete,
            pace: Pace::of_records(ids.clone(), std::iter::empty()),
            fields: &[],
            rows: &rows,
            row: &row,
            key: None,
        })?;
        Ok(Done {
            written: sender.written,
            ..Done::default()
        })
    }
}

/// Columns that show what a record was: all with a value of their own.
fn sampled(target: &crate::flow::plan::scope::ScopeSource) -> Vec<usize> {
    target
        .columns
        .iter()
        .enumerate()
        .filter(|(_, column)| {
            let kind = column.info.kind.field();
            column.access == Access::Own
                && !matches!(
                    kind,
                    Some(FieldType::Subtable | FieldType::File | FieldType::Revision | FieldType::Id)
                )
        })
        .map(|(place, _)| place)
        .collect()
}
