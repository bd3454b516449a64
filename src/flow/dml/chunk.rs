//! Sending: chunks of 100 records, one request each, an event after every one that kintone accepted (LNG-141, RNR-72).

use crate::flow::apps::{AppId, CHUNK_ROWS, WriteChunk, WriteRow, Written};
use crate::flow::exec::{ChunkEvent, EngineError};
use crate::flow::sql::message::say;

use super::Dml;

/// Kinds of write requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation<'k> {
    Insert,
    Update,
    /// By this key field.
    Upsert(&'k str),
    Delete,
}

/// Sends the chunks of one statement and adds up what they did.
pub(super) struct Sender<'d, 's, 'a> {
    dml: &'d mut Dml<'s, 'a>,
    app: AppId,
    chunk: u64,
    pub written: Written,
}

impl<'d, 's, 'a> Sender<'d, 's, 'a> {
    pub fn new(dml: &'d mut Dml<'s, 'a>, app: AppId) -> Self {
        Self {
            dml,
            app,
            chunk: 0,
            written: Written::default(),
        }
    }

    /// Sends all rows; `row` makes the row of a number, `key` its key value for events.
    pub fn send(
        &mut self,
        operation: Operation<'_>,
        fields: &[String],
        rows: &[usize],
        row: &dyn Fn(usize) -> WriteRow,
        key: Option<(&str, &dyn Fn(usize) -> String)>,
    ) -> Result<(), EngineError> {
        for numbers in rows.chunks(CHUNK_ROWS) {
            self.dml.reader.check_interrupt()?;
            let rows: Vec<WriteRow> = numbers.iter().map(|number| row(*number)).collect();
            let app = self.app;
            let chunk = match operation {
                Operation::Insert => WriteChunk::Insert {
                    app,
                    fields,
                    rows: &rows,
                },
                Operation::Update => WriteChunk::Update {
                    app,
                    fields,
                    rows: &rows,
                },
                Operation::Upsert(key) => WriteChunk::Upsert {
                    app,
                    key,
                    fields,
                    rows: &rows,
                },
                Operation::Delete => WriteChunk::Delete { app, rows: &rows },
            };
            let Some(permit) = &self.dml.permit else {
                return Err(EngineError::argument(say!(
                    "internal: a dry run cannot write",
                    "内部エラー: ドライランでは書き込めません"
                )));
            };
            let written = self.dml.reader.apps().write(permit, &chunk)?;
            self.written += written;
            self.chunk += 1;
            let last = numbers.last().copied();
            self.dml.reader.observer().chunk_written(&ChunkEvent {
                statement: self.dml.statement,
                app,
                operation: match operation {
                    Operation::Insert => "INSERT",
                    Operation::Update => "UPDATE",
                    Operation::Upsert(_) => "UPSERT",
                    Operation::Delete => "DELETE",
                },
                records: rows.len(),
                chunk: self.chunk,
                written,
                key_field: key.map(|(field, _)| field.to_owned()),
                last_key: key.zip(last).map(|((_, value), last)| value(last)),
            });
        }
        Ok(())
    }
}

/// Requests that so many records take.
pub(super) fn requests(records: u64) -> u64 {
    records.div_ceil(CHUNK_ROWS as u64)
}
