//! Writing: every name, type and key is checked before any record is read; every value before the first is written;
//! chunks of 100 records in source order (LNG-140..152).

mod bind;
mod chunk;
mod convert;
mod delete;
mod insert;
mod stage;
mod target;
mod update;
mod upsert;

pub(in crate::flow) use bind::{BoundDml, bind};

use crate::flow::apps::{WritePermit, Written};
use crate::flow::exec::query::Executor;
use crate::flow::exec::scan::Reader;
use crate::flow::exec::world::World;
use crate::flow::exec::{Config, EngineError, Preview};

/// What a DML statement works with.
pub(in crate::flow) struct Dml<'s, 'a> {
    pub world: &'s mut World<'a>,
    pub reader: &'s mut Reader<'a>,
    pub config: &'s Config,
    /// Number of the statement, from 0.
    pub statement: usize,
    /// Missing in a dry run: nothing can be written without it.
    pub permit: Option<WritePermit>,
}

impl<'a> Dml<'_, 'a> {
    /// Runs a bound statement, or previews it.
    pub fn run(&mut self, bound: &BoundDml) -> Result<(Written, Option<Preview>), EngineError> {
        match bound {
            BoundDml::Insert(insert) => self.insert(insert),
            BoundDml::Upsert(upsert) => self.upsert(upsert),
            BoundDml::Update(update) => self.update(update),
            BoundDml::Delete(delete) => self.delete(delete),
        }
    }

    fn executor(&mut self) -> Executor<'_, 'a> {
        Executor::new(
            self.reader,
            &self.world.temps,
            &self.world.forms,
            self.config.push_down,
        )
    }

    /// What feeds a write must be complete (LNG-181).
    fn refuse_incomplete(&self) -> Result<(), EngineError> {
        if self.reader.search_aborted {
            Err(EngineError::search_aborted())
        } else {
            Ok(())
        }
    }
}
