//! Sending: chunks of 100 records, one request each, several in flight where their order cannot be seen afterwards, an
//! event after every one that kintone accepted (LNG-141, RNR-72).

use std::collections::BTreeMap;

use crate::flow::apps::{AppId, AppsError, CHUNK_ROWS, WriteChunk, WriteRow, Written};
use crate::flow::exec::in_flight::{Failed, in_flight};
use crate::flow::exec::{ChunkEvent, EngineError};
use crate::flow::sql::message::say;

use super::Dml;
use super::target::TargetField;

/// Kinds of write requests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation<'k> {
    Insert,
    Update,
    /// By this key field.
    Upsert(&'k str),
    Delete,
}

impl Operation<'_> {
    fn word(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Update => "UPDATE",
            Self::Upsert(_) => "UPSERT",
            Self::Delete => "DELETE",
        }
    }
}

/// Which chunks of a batch may be in flight together.
///
/// Chunks that arrive in any order leave the same records if no two of them touch the same record, if no value depends
/// on what other records hold, and if none of them adds records: kintone numbers new ones as they arrive, and lists show
/// them by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Pace {
    /// None: the order of the source must show.
    InOrder,
    /// Any: each row is another record that exists.
    Together,
    /// Each row is another record, and kintone's answers tell whether records are being added. As long as they are, one
    /// chunk goes after the other, so that a first load is numbered in the order of the source. What a chunk will add is
    /// not known before it is sent, and asking would cost as many requests as writing: when chunks that only change
    /// records are followed by several that also add some, those in flight together are numbered as they arrive.
    TogetherUnlessAdding,
}

impl Pace {
    /// For changes of these records in these fields.
    pub fn of_records<'f>(mut ids: Vec<u64>, mut fields: impl Iterator<Item = &'f TargetField>) -> Self {
        ids.sort_unstable();
        let different = ids.windows(2).all(|pair| pair[0] != pair[1]);
        if different && !fields.any(|field| field.entangled) {
            Self::Together
        } else {
            Self::InOrder
        }
    }
}

/// Rows that are written in one way.
pub(super) struct Batch<'b> {
    pub operation: Operation<'b>,
    pub pace: Pace,
    pub fields: &'b [String],
    /// Numbers of the rows, in the order of the source.
    pub rows: &'b [usize],
    /// Makes the row of a number.
    pub row: &'b (dyn Fn(usize) -> WriteRow + Sync),
    /// For events.
    pub key: Option<EventKey<'b>>,
}

/// The single key field of a batch, and the key value of a row.
pub(super) type EventKey<'b> = (&'b str, &'b (dyn Fn(usize) -> String + Sync));

/// What the chunks of a statement have come to so far.
#[derive(Default)]
struct Progress {
    /// Chunks of earlier batches.
    before: u64,
    /// All chunks up to this number are written.
    unbroken: u64,
    /// Written chunks behind a missing one, with the key values of their last records.
    ahead: BTreeMap<u64, Option<String>>,
}

impl Progress {
    /// The number in its statement of a chunk of the batch in hand.
    fn number(&self, chunk: usize) -> u64 {
        self.before + chunk as u64 + 1
    }

    /// Notes a written chunk; by how many the unbroken row has grown, and its last key.
    fn written(&mut self, chunk: u64, last_key: Option<String>) -> (u64, Option<String>) {
        self.ahead.insert(chunk, last_key);
        let mut grown = (0, None);
        while let Some(key) = self.ahead.remove(&(self.unbroken + 1)) {
            self.unbroken += 1;
            grown = (grown.0 + 1, key);
        }
        grown
    }
}

/// Sends the chunks of one statement and adds up what they did.
pub(super) struct Sender<'d, 's, 'a> {
    dml: &'d Dml<'s, 'a>,
    app: AppId,
    progress: Progress,
    pub written: Written,
}

impl<'d, 's, 'a> Sender<'d, 's, 'a> {
    pub fn new(dml: &'d Dml<'s, 'a>, app: AppId) -> Self {
        Self {
            dml,
            app,
            progress: Progress::default(),
            written: Written::default(),
        }
    }

    /// Sends all rows. After a failed chunk no further one is begun; those in flight are waited for and counted.
    pub fn send(&mut self, batch: &Batch<'_>) -> Result<(), EngineError> {
        let dml = self.dml;
        let Some(permit) = &dml.permit else {
            return Err(EngineError::argument(say!(
                "internal: a dry run cannot write",
                "内部エラー: ドライランでは書き込めません"
            )));
        };
        let (apps, observer) = (dml.reader.apps(), dml.reader.observer());
        let app = self.app;
        let chunks: Vec<&[usize]> = batch.rows.chunks(CHUNK_ROWS).collect();
        let numbers = |chunk: usize| chunks.get(chunk).copied().unwrap_or_default();
        let write = |chunk: usize| {
            if let Some(interrupt) = observer.interrupted() {
                return Err(EngineError::interrupted(interrupt));
            }
            let rows: Vec<WriteRow> = numbers(chunk).iter().map(|number| (batch.row)(*number)).collect();
            Ok(apps.write(permit, &request(app, batch, &rows))?)
        };
        let mut adding = batch.pace == Pace::TogetherUnlessAdding;
        let mut next = 0;
        while next < chunks.len() {
            let alone = adding || batch.pace == Pace::InOrder;
            let width = if alone { 1 } else { dml.config.width() };
            let goes_on = |written: &Written| {
                batch.pace != Pace::TogetherUnlessAdding || (written.inserted > 0) == adding
            };
            let sent = in_flight(next..chunks.len(), width, write, goes_on, |chunk, written| {
                self.written += written;
                let last_key = batch
                    .key
                    .zip(numbers(chunk).last())
                    .map(|((_, value), last)| value(*last));
                let number = self.progress.number(chunk);
                let (unbroken, unbroken_key) = self.progress.written(number, last_key.clone());
                observer.chunk_written(&ChunkEvent {
                    statement: dml.statement,
                    app,
                    operation: batch.operation.word(),
                    records: numbers(chunk).len(),
                    chunk: number,
                    written,
                    key_field: batch.key.map(|(field, _)| field.to_owned()),
                    last_key,
                    unbroken,
                    unbroken_key,
                });
            });
            next = sent.map_err(|failed| self.failure(failed, chunks.len()))?;
            // Without a failure only a change between the two ends it early.
            adding = !adding;
        }
        self.progress.before += chunks.len() as u64;
        Ok(())
    }

    /// The first failure, with what else has come of the batch.
    fn failure(&self, failed: Failed, chunks: usize) -> EngineError {
        let Failed { task, error, others } = failed;
        let said = error.apps_error().map(AppsError::message);
        if (self.progress.before == 0 && chunks == 1) || said.is_none() {
            return error;
        }
        let (number, later) = (self.progress.number(task), self.progress.ahead.len());
        let records = self.written.total();
        let mut note = say!(
            "it was chunk {number} of the statement, of which {records} records are known to be written",
            "失敗したのはこの文の {number} 番目のチャンクです。この文で書き込みが確認できたのは {records} レコードです"
        );
        let mut add = |separator, text| note = note.joined(separator, &text);
        if later > 0 {
            add(
                "",
                say!(
                    " ({later} later chunks among them)",
                    " (後のチャンク {later} 個を含む)"
                ),
            );
        }
        let mut alike: Vec<String> = Vec::new();
        for (chunk, other) in others {
            let number = self.progress.number(chunk);
            match other.apps_error().map(AppsError::message) {
                None => {}
                text if text == said => alike.push(number.to_string()),
                Some(text) => {
                    let failed = say!("chunk {number} failed too", "チャンク {number} も失敗しました");
                    add("; ", failed.joined(": ", text));
                }
            }
        }
        if !alike.is_empty() {
            let numbers = alike.join(", ");
            add(
                "; ",
                say!(
                    "chunks {numbers} failed in the same way",
                    "チャンク {numbers} も同じ理由で失敗しました"
                ),
            );
        }
        error.note(note)
    }
}

fn request<'r>(app: AppId, batch: &Batch<'r>, rows: &'r [WriteRow]) -> WriteChunk<'r> {
    let fields = batch.fields;
    match batch.operation {
        Operation::Insert => WriteChunk::Insert { app, fields, rows },
        Operation::Update => WriteChunk::Update { app, fields, rows },
        Operation::Upsert(key) => WriteChunk::Upsert {
            app,
            key,
            fields,
            rows,
        },
        Operation::Delete => WriteChunk::Delete { app, rows },
    }
}

/// Requests that so many records take.
pub(in crate::flow) fn requests(records: u64) -> u64 {
    records.div_ceil(CHUNK_ROWS as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_unbroken_row_ends_before_a_missing_chunk() {
        let mut progress = Progress::default();
        let key = |text: &str| Some(text.to_owned());
        assert_eq!(progress.written(2, key("b")), (0, None));
        assert_eq!(progress.written(4, key("d")), (0, None));
        assert_eq!(progress.written(1, key("a")), (2, key("b")));
        assert_eq!(progress.written(5, None), (0, None));
        assert_eq!(progress.written(3, key("c")), (3, None));
        assert_eq!((progress.unbroken, progress.ahead.len()), (5, 0));
    }

    #[test]
    fn only_independent_changes_go_together() {
        use crate::flow::apps::{Constraints, FieldType};

        let field = |entangled| TargetField {
            code: "a".to_owned(),
            kind: FieldType::Number,
            options: None,
            unique: false,
            constraints: Constraints::default(),
            entangled,
        };
        let pace = |ids: &[u64], fields: &[TargetField]| Pace::of_records(ids.to_vec(), fields.iter());
        assert_eq!(pace(&[3, 1, 2], &[field(false)]), Pace::Together);
        assert_eq!(pace(&[3, 1, 3], &[field(false)]), Pace::InOrder);
        assert_eq!(pace(&[3, 1, 2], &[field(false), field(true)]), Pace::InOrder);
        assert_eq!(pace(&[], &[]), Pace::Together);
    }
}
