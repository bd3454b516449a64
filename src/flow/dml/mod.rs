//! Writing: every name, type and key is checked before any record is read; every value before the first is written;
//! chunks of 100 records in source order (LNG-140..152).

mod bind;
mod chunk;
mod convert;
mod delete;
mod fault;
mod import;
mod insert;
mod inspect;
mod reads;
mod stage;
mod target;
mod unique;
mod update;
mod upsert;

pub(in crate::flow) use bind::{BoundDelete, BoundDml, BoundInsert, BoundUpdate, BoundUpsert, Rows, bind};
pub(in crate::flow) use chunk::requests as write_requests;
pub(in crate::flow) use import::{IMPORT_TABLE, required as require_import};
pub(in crate::flow) use inspect::other_columns;
pub(in crate::flow) use stage::needs_precision;
pub(in crate::flow) use target::TargetField;
pub(in crate::flow) use update::filled_values;
pub(in crate::flow) use upsert::lookups;

use crate::flow::apps::{WritePermit, Written};
use crate::flow::exec::query::Executor;
use crate::flow::exec::scan::Reader;
use crate::flow::exec::world::World;
use crate::flow::exec::{Config, EngineError, Preview, Relation};

/// What a DML statement did.
#[derive(Default)]
pub(in crate::flow) struct Done {
    pub written: Written,
    /// In a dry run.
    pub preview: Option<Preview>,
    /// The result of VALIDATE ONLY.
    pub errors: Option<Relation>,
    /// Rows that VALIDATE ONLY or ON ERROR SKIP found wrong.
    pub wrong_rows: Option<u64>,
    /// The same for VALIDATE ONLY, which has nothing else to count.
    pub found_wrong: Option<u64>,
}

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
    pub fn run(&mut self, bound: &BoundDml) -> Result<Done, EngineError> {
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
