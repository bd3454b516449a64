//! INSERT (LNG-147).

use crate::flow::apps::{WriteRow, WriteTarget, Written};
use crate::flow::exec::{EngineError, Preview, Sample};

use super::bind::BoundInsert;
use super::chunk::{Batch, Operation, Pace, Sender, requests};
use super::fault::refuse_missing;
use super::unique::{find_repeated, refuse_repeated};
use super::{Dml, Done};

impl Dml<'_, '_> {
    pub(super) fn insert(&mut self, insert: &BoundInsert) -> Result<Done, EngineError> {
        let inspection = &insert.inspection;
        let mut rows = self.stage(insert.app, &insert.fields, &insert.rows, &[], inspection)?;
        if inspection.isolates() {
            for row in 0..rows.staged.rows {
                rows.findings.add_missing(row, &insert.unwritten);
            }
            find_repeated(&rows.staged, &[], &mut rows.findings);
        } else {
            if rows.staged.rows > 0 {
                refuse_missing(&insert.unwritten, 0)?;
            }
            refuse_repeated(&rows.staged, &[])?;
        }
        let (mut staged, findings) = rows.parts();
        let mut done = Done::default();
        if !self.sort_out(
            inspection,
            "INSERT",
            &insert.payload(),
            &mut staged,
            findings,
            &mut done,
        )? {
            return Ok(done);
        }
        let records = staged.rows as u64;
        if let Some(dry_run) = self.config.dry_run {
            let samples = (0..staged.rows.min(dry_run.samples))
                .map(|row| Sample {
                    kind: "insert",
                    key_field: None,
                    key: None,
                    before: Vec::new(),
                    after: staged.row(row, |_| true),
                })
                .collect();
            let counts = Written {
                inserted: records,
                ..Written::default()
            };
            let preview = Preview {
                app: insert.app,
                operation: "INSERT",
                counts,
                estimated_writes: requests(records),
                samples,
            };
            done.preview = Some(preview);
            return Ok(done);
        }
        let rows: Vec<usize> = (0..staged.rows).collect();
        let fields = staged.codes(|_| true);
        let row = |number: usize| WriteRow {
            target: WriteTarget::New,
            values: staged.values(number, |_| true),
        };
        let mut sender = Sender::new(self, insert.app);
        sender.send(&Batch {
            operation: Operation::Insert,
            pace: Pace::InOrder,
            fields: &fields,
            rows: &rows,
            row: &row,
            key: None,
        })?;
        done.written = sender.written;
        Ok(done)
    }
}
