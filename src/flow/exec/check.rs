//! What a run would refuse whatever is stored, found before its first statement: conditions that only kintone can decide
//! and that cannot be sent, by the decisions of the run itself (LNG-10, LNG-50, LNG-62, LNG-131), and a list of apps that
//! the account does not see (LNG-19).

use crate::flow::dml::{BoundDml, Rows, filled_values};
use crate::flow::plan::query::{BoundQuery, BoundSelect, CteBody, Parameter};

use super::EngineError;
use super::explain::favourable;
use super::fill;
use super::query::Executor;

impl Executor<'_, '_> {
    /// Decides how a query is read, without reading.
    pub(super) fn check_query(&mut self, query: &BoundQuery) -> Result<(), EngineError> {
        self.absent = true;
        for cte in &query.ctes {
            match &cte.body {
                CteBody::Query(body) => self.check_query(body)?,
                CteBody::Recursive(recursive) => {
                    self.check_query(&recursive.seed)?;
                    self.check_select(&recursive.step)?;
                }
                CteBody::ShowApps => self.check_list()?,
                CteBody::Series(_) | CteBody::Describe(_) => {}
            }
        }
        self.check_parameters(&query.parameters)?;
        self.check_select(&query.first)?;
        query
            .unions
            .iter()
            .try_for_each(|(_, branch)| self.check_select(branch))
    }

    /// Refuses SHOW APPS where the account is known to see no list of apps (LNG-19).
    pub(super) fn check_list(&self) -> Result<(), EngineError> {
        let refusal = self.reader.apps().list_refusal();
        refusal.map_or(Ok(()), |why| Err(EngineError::argument(why)))
    }

    /// The same for subqueries.
    pub(super) fn check_parameters(&mut self, parameters: &[Parameter]) -> Result<(), EngineError> {
        parameters
            .iter()
            .try_for_each(|parameter| self.check_query(&parameter.query))
    }

    /// The same for what a statement reads that writes.
    pub(super) fn check_write(&mut self, bound: &BoundDml) -> Result<(), EngineError> {
        self.absent = true;
        match bound {
            BoundDml::Insert(insert) => self.check_rows(&insert.rows),
            BoundDml::Upsert(upsert) => self.check_rows(&upsert.rows),
            BoundDml::Update(update) => {
                self.check_parameters(&update.parameters)?;
                let filter = fill::filter(&update.filter, &[], &mut self.evaluator)?;
                let values = filled_values(&update.values, &[], &mut self.evaluator)?;
                update.reads(self, favourable(&filter), &values, false).map(drop)
            }
            BoundDml::Delete(delete) => {
                self.check_parameters(&delete.parameters)?;
                let filter = fill::filter(&delete.filter, &[], &mut self.evaluator)?;
                delete.reads(self, &favourable(&filter), &[]).map(drop)
            }
        }
    }

    fn check_rows(&mut self, rows: &Rows) -> Result<(), EngineError> {
        match rows {
            Rows::Values(_) => Ok(()),
            Rows::Query(query) => self.check_query(query),
        }
    }

    fn check_select(&mut self, select: &BoundSelect) -> Result<(), EngineError> {
        let mut select = fill::select(select, &[], &mut self.evaluator)?;
        select.filter = favourable(&select.filter);
        match select.sources.as_slice() {
            [] => Ok(()),
            [source] => self.reading(&select, source).map(drop),
            _ => self.joined_inputs(&select).map(drop),
        }
    }
}
