//! UPDATE and UPDATE ... FROM (LNG-148, LNG-149): read ids and what SET needs, compute everything, then write.

use std::collections::HashMap;
use std::ops::ControlFlow;
use std::sync::Arc;

use crate::flow::apps::{WriteRow, WriteTarget, Written};
use crate::flow::exec::eval::{Evaluator, Row};
use crate::flow::exec::fill::{self, Filled};
use crate::flow::exec::input::ColumnMap;
use crate::flow::exec::join::JoinTable;
use crate::flow::exec::pulse::Pulse;
use crate::flow::exec::select::Reading;
use crate::flow::exec::{EngineError, ErrorKind, Preview, Sample};
use crate::flow::plan::scalar::{ColumnId, Scalar};
use crate::flow::plan::tautology;
use crate::flow::plan::types::Type;
use crate::flow::sql::message::{self, Message, say};

use super::bind::BoundUpdate;
use super::chunk::{Batch, Operation, Pace, Sender, requests};
use super::convert::Conversion;
use super::fault::{self, Fault};
use super::inspect::Findings;
use super::reads::Reads;
use super::stage::{Staged, normal_key, written};
use super::unique::{find_repeated, refuse_repeated};
use super::{Dml, Done};

/// The FROM source in memory, found by its key.
struct KeyedSource {
    table: JoinTable,
    rows: HashMap<String, u32>,
    /// Column of the target that is looked up.
    target: ColumnId,
    numeric: bool,
}

/// A record of the target with the source row that it meets.
struct PairRow<'r> {
    target: &'r dyn Row,
    source: Option<(&'r JoinTable, u32)>,
}

impl Row for PairRow<'_> {
    fn cell(&self, id: ColumnId) -> &str {
        if id.source == 0 {
            return self.target.cell(id);
        }
        self.source.map_or("", |(table, row)| table.cell(row, id.column))
    }
}

impl Dml<'_, '_> {
    pub(super) fn update(&mut self, update: &BoundUpdate) -> Result<Done, EngineError> {
        let inspection = &update.inspection;
        let mut findings = Findings::default();
        let mut executor = self.executor();
        let filled = executor.parameters(&update.parameters)?;
        let mut evaluator = Evaluator::new();
        let filter = fill::filter(&update.filter, &filled, &mut evaluator)?;
        // With FROM the key decides; without, a condition that every record meets is a mistake.
        if update.key.is_none() && tautology::always_holds(&filter) {
            return Err(always_true("UPDATE"));
        }
        let values = filled_values(&update.values, &filled, &mut evaluator)?;
        let (mut ids, mut staged, mut before) = (Vec::new(), Staged::new(&update.fields), Vec::new());
        let previewed = self.config.dry_run.is_some();
        let reads = update.reads(&self.executor(), filter, &values, previewed)?;
        if let Some(Reads {
            source,
            target: Reading { input, rest, .. },
            sampled,
        }) = reads
        {
            let source = match (source, update.key) {
                (Some(source), Some(key)) => Some(self.keyed_source(update, source, key)?),
                _ => None,
            };
            let precision = self.precision(update.app, &update.fields, true)?;
            let zone = self.config.as_of.zone().clone();
            let conversion = Conversion {
                zone: &zone,
                precision,
            };
            let samples = self.config.dry_run.map_or(0, |dry_run| dry_run.samples);
            let scope = &update.scope;
            let is_list = |id: ColumnId| scope.kind(id).is_multi_value();
            let mut pulse = Pulse::rows(self.reader.observer());
            input.each_record(self.reader, &mut |id, row| {
                pulse.beat()?;
                let found = match &source {
                    None => None,
                    Some(source) => {
                        let key = normal_key(row.cell(source.target), source.numeric);
                        match source.rows.get(&key) {
                            Some(found) => Some((&source.table, *found)),
                            None => return Ok(ControlFlow::Continue(())),
                        }
                    }
                };
                let pair = PairRow {
                    target: row,
                    source: found,
                };
                if !evaluator.test(&rest, &pair)? {
                    return Ok(ControlFlow::Continue(()));
                }
                let number = staged.rows;
                let in_record = |error: EngineError| error.context(&say!("record {id}", "レコード {id}"));
                let mut texts = Vec::with_capacity(values.len());
                let mut faults = Vec::new();
                for (field, value) in update.fields.iter().zip(&values) {
                    let computed = written(&mut evaluator, value, &pair, &is_list);
                    let computed = computed.map_err(|error| error.context(&Message::verbatim(&field.code)));
                    let (text, fault) = match computed {
                        Ok(text) => (text, None),
                        Err(error) if inspection.isolates() && error.kind() == ErrorKind::Argument => (
                            Default::default(),
                            Some(Fault::new(fault::EXPRESSION, error.reason())),
                        ),
                        Err(error) => return Err(in_record(error)),
                    };
                    texts.push(text);
                    faults.push(fault);
                }
                let cells = texts.iter().map(|(text, list)| (text.as_str(), *list));
                if inspection.isolates() {
                    let computed = cells.zip(faults).map(|(cell, fault)| fault.map_or(Ok(cell), Err));
                    staged.push_inspected(conversion, computed, &mut findings)?;
                } else {
                    staged.push(conversion, cells).map_err(in_record)?;
                }
                inspection
                    .check(&mut evaluator, number, &pair, &mut findings)
                    .map_err(in_record)?;
                findings.keep(number, || {
                    let cells = texts.iter().map(|(text, _)| text.clone());
                    std::iter::once(id.to_string()).chain(cells).collect()
                });
                if before.len() < samples && !findings.is_wrong(number) {
                    let cells = sampled.iter().map(|column| {
                        row.cell(ColumnId {
                            source: 0,
                            column: *column,
                        })
                        .to_owned()
                    });
                    before.push(
                        update
                            .fields
                            .iter()
                            .map(|field| field.code.clone())
                            .zip(cells)
                            .collect::<Vec<_>>(),
                    );
                }
                ids.push(id);
                Ok(ControlFlow::Continue(()))
            })?;
            self.refuse_incomplete()?;
        }
        let mut done = Done::default();
        if inspection.isolates() {
            find_repeated(&staged, &[], &mut findings);
        } else {
            refuse_repeated(&staged, &[])?;
        }
        let wrong = findings.wrong_rows();
        if !self.sort_out(
            inspection,
            "UPDATE",
            &update.payload(),
            &mut staged,
            findings,
            &mut done,
        )? {
            return Ok(done);
        }
        let ids: Vec<u64> = (0..)
            .zip(ids)
            .filter(|(row, _)| !wrong.contains(row))
            .map(|(_, id)| id)
            .collect();
        let records = ids.len() as u64;
        if self.config.dry_run.is_some() {
            let samples = before
                .into_iter()
                .enumerate()
                .map(|(row, before)| Sample {
                    kind: "update",
                    key_field: Some("$id".to_owned()),
                    key: ids.get(row).map(u64::to_string),
                    before,
                    after: staged.row(row, |_| true),
                })
                .collect();
            let counts = Written {
                updated: records,
                ..Written::default()
            };
            let preview = Preview {
                app: update.app,
                operation: "UPDATE",
                counts,
                estimated_writes: requests(records),
                samples,
            };
            done.preview = Some(preview);
            return Ok(done);
        }
        let rows: Vec<usize> = (0..staged.rows).collect();
        let row = |number: usize| WriteRow {
            target: WriteTarget::Id(ids.get(number).copied().unwrap_or_default()),
            values: staged.values(number, |_| true),
        };
        let mut sender = Sender::new(self, update.app);
        sender.send(&Batch {
            operation: Operation::Update,
            pace: Pace::of_records(ids.clone(), update.fields.iter()),
            fields: &staged.codes(|_| true),
            rows: &rows,
            row: &row,
            key: None,
        })?;
        done.written = sender.written;
        Ok(done)
    }

    /// Reads the FROM source; its keys are given and none twice (LNG-149).
    fn keyed_source(
        &mut self,
        update: &BoundUpdate,
        source: Reading,
        (target, key): (ColumnId, ColumnId),
    ) -> Result<KeyedSource, EngineError> {
        let Reading { input, rest, .. } = source;
        let (relation, map): (_, Option<ColumnMap>) = input.materialise(self.reader)?;
        self.refuse_incomplete()?;
        let table = JoinTable {
            relation: Arc::clone(&relation),
            map,
        };
        // The target's type decides, as of every left side (LNG-45): the texts of a source may be numbers.
        let numeric = is_numeric(&update.scope.kind(target));
        let mut rows = HashMap::new();
        let mut evaluator = Evaluator::new();
        let mut pulse = Pulse::rows(self.reader.observer());
        for row in 0..table.rows() as u32 {
            pulse.beat()?;
            let cells = SourceRow { table: &table, row };
            if !evaluator.test(&rest, &cells)? {
                continue;
            }
            let cell = table.cell(row, key.column);
            let number = row + 1;
            if cell.is_empty() {
                return Err(EngineError::argument(say!(
                    "the key of the FROM source is empty in row {number}; nothing was written",
                    "FROM の {number} 行目のキーが空です。何も書き込んでいません"
                )));
            }
            if rows.insert(normal_key(cell, numeric), row).is_some() {
                let cell = message::unknown(cell);
                return Err(EngineError::argument(say!(
                    "the key {cell} is twice in the FROM source; nothing was written",
                    "FROM のキー {cell} が重複しています。何も書き込んでいません"
                )));
            }
        }
        Ok(KeyedSource {
            table,
            rows,
            target,
            numeric,
        })
    }
}

/// A row of the FROM source alone.
struct SourceRow<'r> {
    table: &'r JoinTable,
    row: u32,
}

impl Row for SourceRow<'_> {
    fn cell(&self, id: ColumnId) -> &str {
        self.table.cell(self.row, id.column)
    }
}

fn is_numeric(kind: &Type) -> bool {
    use crate::flow::value::CompareMode;
    matches!(kind.mode(), Some(CompareMode::Number | CompareMode::RecordNumber))
}

pub(in crate::flow) fn filled_values(
    values: &[Scalar],
    filled: &[Filled],
    evaluator: &mut Evaluator,
) -> Result<Vec<Scalar>, EngineError> {
    values
        .iter()
        .map(|value| fill::nested(value, filled, evaluator))
        .collect()
}

/// The error for a condition that would touch every record (LNG-14, LNG-150).
pub(super) fn always_true(statement: &str) -> EngineError {
    EngineError::argument(say!(
        "the WHERE of this {statement} is true for every record; nothing was written",
        "この {statement} の WHERE はすべてのレコードで真になります。何も書き込んでいません"
    ))
}
