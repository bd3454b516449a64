//! The plan of a statement that writes: what it reads first, and how many write requests follow.

use crate::flow::apps::AppId;
use crate::flow::dml::{
    BoundDelete, BoundDml, BoundInsert, BoundUpdate, BoundUpsert, Rows, TargetField, filled_values, lookups,
    needs_precision, write_requests,
};
use crate::flow::plan::filter::Filter;
use crate::flow::plan::scalar::Scalar;
use crate::flow::sql::message::{Language, say};

use super::later::{Outlooks, conditions, may_fail, with_fewest_columns};
use super::scan::Planned;
use super::{ExplainStep, Explainer, Purpose};
use crate::flow::exec::EngineError;
use crate::flow::exec::estimate::Estimate;
use crate::flow::exec::fill;
use crate::flow::exec::select::Reading;

/// What a write depends on beside the statement.
#[derive(Clone, Copy, Debug)]
pub(super) struct Circumstances {
    /// The file of an IMPORT is there.
    pub rows_known: bool,
    /// kintone's own upsert may be used.
    pub native_upsert: bool,
}

impl Explainer<'_, '_, '_> {
    /// Adds the steps of a statement that writes.
    pub(super) fn write(
        &mut self,
        bound: &BoundDml,
        circumstances: Circumstances,
    ) -> Result<(), EngineError> {
        match bound {
            BoundDml::Insert(insert) => self.insert(insert, circumstances),
            BoundDml::Upsert(upsert) => self.upsert(upsert, circumstances),
            BoundDml::Update(update) => self.update(update),
            BoundDml::Delete(delete) => self.delete(delete),
        }
    }

    fn insert(&mut self, insert: &BoundInsert, circumstances: Circumstances) -> Result<(), EngineError> {
        let mut rows = self.rows(&insert.rows, circumstances)?;
        self.settings(insert.app, &insert.fields, rows.least > 0);
        if insert.inspection.only_validates() {
            self.only_checks(insert.app, "INSERT");
            return Ok(());
        }
        if insert.inspection.isolates() {
            rows = rows.or_none();
        }
        self.send(insert.app, "INSERT", rows, rows.map(write_requests));
        Ok(())
    }

    fn upsert(&mut self, upsert: &BoundUpsert, circumstances: Circumstances) -> Result<(), EngineError> {
        let mut rows = self.rows(&upsert.rows, circumstances)?;
        self.settings(upsert.app, &upsert.fields, rows.least > 0);
        let course = upsert.course(circumstances.native_upsert, true);
        if upsert.inspection.isolates() {
            rows = rows.or_none();
        }
        if course.looks_first {
            self.look_up(upsert, rows);
        }
        if upsert.inspection.only_validates() {
            self.only_checks(upsert.app, "UPSERT");
            return Ok(());
        }
        if course.looks_up {
            self.look_up(upsert, rows);
        }
        let mut requests = rows.map(write_requests);
        if !course.native && rows.most != Some(1) {
            // New records and changed ones go apart.
            requests.most = requests.most.map(|most| most + u64::from(most > 0));
        }
        self.send(upsert.app, "UPSERT", rows, requests);
        Ok(())
    }

    fn update(&mut self, update: &BoundUpdate) -> Result<(), EngineError> {
        self.parameters(&update.parameters)?;
        let filter = fill::filter(&update.filter, &[], &mut self.executor.evaluator)?;
        let values = filled_values(&update.values, &[], &mut self.executor.evaluator)?;
        let fewest: Vec<Scalar> = values.iter().map(with_fewest_columns).collect();
        let filters = conditions(&filter);
        let read = |filter: &Filter, values| update.reads(self.executor, filter.clone(), values, false);
        let reads = Outlooks {
            best: read(&filters.best, &fewest),
            known: read(&filters.known, &fewest),
            kept: read(&filters.kept, &values),
        };
        let possible = reads.possible().map(|reads| reads.and_then(Option::as_ref));
        let Some(reads) = possible.all() else {
            self.nothing();
            return reads.known.map(drop);
        };
        if let Some(sources) = reads.map(|reads| reads.source.as_ref()).all() {
            match update.scope.sources.get(1) {
                Some(table) if sources.known.input.scan().is_none() => drop(self.read_table(table)),
                _ => drop(self.records(&sources, &filter)?),
            }
        }
        self.settings(update.app, &update.fields, !may_fail(&filter));
        let mut rows = self.records(&reads.map(|reads| &reads.target), &filter)?;
        if update.inspection.only_validates() {
            self.only_checks(update.app, "UPDATE");
            return Ok(());
        }
        if update.key.is_some() || update.inspection.isolates() {
            rows = rows.or_none();
        }
        self.send(update.app, "UPDATE", rows, rows.map(write_requests));
        Ok(())
    }

    fn delete(&mut self, delete: &BoundDelete) -> Result<(), EngineError> {
        self.parameters(&delete.parameters)?;
        let filter = fill::filter(&delete.filter, &[], &mut self.executor.evaluator)?;
        let reads = conditions(&filter).map(|filter| delete.reads(self.executor, filter, &[]));
        let possible = reads.possible().map(|reads| reads.and_then(Option::as_ref));
        let Some(reads) = possible.all() else {
            self.nothing();
            return reads.known.map(drop);
        };
        let rows = self.records(&reads, &filter)?;
        self.send(delete.app, "DELETE", rows, rows.map(write_requests));
        Ok(())
    }

    /// Adds the scan of a source; the rows that its condition lets pass.
    fn records(&mut self, readings: &Outlooks<&Reading>, filter: &Filter) -> Result<Estimate, EngineError> {
        let Some(scans) = readings.map(|reading| reading.input.scan()).all() else {
            return Ok(Estimate::ANY);
        };
        let planned = Planned::new(scans, filter, readings.best.reach);
        let matches = self.scan(&planned)?;
        let every = readings.known.rest == Filter::Constant(true) && filter.is_filled();
        Ok(if every { matches } else { matches.or_none() })
    }

    /// Adds the steps of the rows to write.
    fn rows(&mut self, rows: &Rows, circumstances: Circumstances) -> Result<Estimate, EngineError> {
        match rows {
            Rows::Query(query) => self.query(query),
            Rows::Values(rows) if circumstances.rows_known => Ok(Estimate::exactly(rows.len() as u64)),
            Rows::Values(_) => {
                self.step(
                    ExplainStep::new(say!("read file", "ファイル"))
                        .detail(say!("its rows are unknown here", "行数はここでは分かりません")),
                );
                Ok(Estimate::ANY)
            }
        }
    }

    /// Adds the read of an app's number precision, once for a script.
    fn settings(&mut self, app: AppId, fields: &[TargetField], certain: bool) {
        let earlier = self.foreseen.precisions.get(&app).copied();
        if !needs_precision(fields) || earlier == Some(true) {
            return;
        }
        self.foreseen.precisions.insert(app, certain);
        let mut requests = Estimate::exactly(1);
        let mut notes = Vec::new();
        if !certain || earlier.is_some() {
            requests = requests.or_none();
            notes.push(say!("if there are rows to write", "書き込む行がある場合"));
        }
        let step = ExplainStep::new(say!("settings", "アプリ設定")).on(app);
        self.step(step.requests(Purpose::Definition, requests).notes(notes));
    }

    /// Adds the lookup of stored records by the keys of so many rows.
    fn look_up(&mut self, upsert: &BoundUpsert, rows: Estimate) {
        let Some((scan, once)) = upsert.lookup_outline() else {
            return;
        };
        let mut requests = rows.map(lookups);
        // Rows with several key fields may have the first one in common.
        if upsert.keys.len() > 1 {
            requests.least = requests.least.min(1);
        }
        let mut notes = vec![say!("100 keys per request", "100 キーごとに 1")];
        if !once {
            requests.most = requests.most.filter(|most| *most == 0);
            notes.push(say!(
                "more if many records have a key",
                "同じキーのレコードが多ければ増えます"
            ));
        }
        let step = ExplainStep {
            query: Some(scan.first().query),
            ..ExplainStep::new(say!("look up", "照会"))
        };
        let step = step.detail(scan.fields.join(", ")).on(upsert.app);
        self.step(step.requests(Purpose::Read, requests).notes(notes));
    }

    fn only_checks(&mut self, app: AppId, operation: &'static str) {
        let step = ExplainStep::new(say!("check", "検査")).detail(operation).on(app);
        self.step(step.notes([say!("nothing is written", "何も書き込みません")]));
    }

    /// Adds the write requests.
    fn send(&mut self, app: AppId, operation: &'static str, rows: Estimate, requests: Estimate) {
        let step = ExplainStep::new(say!("write", "書き込み"))
            .detail(operation)
            .on(app);
        let records = rows.text().put(|language, number| match language {
            Language::English => format!("{number} records, 100 per request"),
            Language::Japanese => format!("{number} レコード、100 レコードごとに 1"),
        });
        self.step(step.requests(Purpose::Write, requests).notes([records]));
        self.foreseen.changed.insert(app);
    }
}
