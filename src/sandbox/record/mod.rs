//! Records: what is stored, how it is read as JSON ([`read`]), how a write is checked ([`draft`]).
pub mod cell;
pub mod check;
pub mod draft;
pub mod lookup;
pub mod read;
pub mod table;

use super::value::Value;

/// Position of a user in the state's user list.
pub type UserIndex = u16;

/// One stored record. Times are minutes since 1970, because the service has no finer ones (KTB-47).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// Revision, from 1.
    pub revision: u32,
    /// Creation, minutes since 1970.
    pub created: i32,
    /// Last change, minutes since 1970.
    pub updated: i32,
    /// Who created it.
    pub creator: UserIndex,
    /// Who changed it last.
    pub modifier: UserIndex,
    /// Values by slot of the form.
    pub values: Box<[Value]>,
}

impl Record {
    /// The value of a slot.
    pub fn value(&self, slot: usize) -> &Value {
        static EMPTY: Value = Value::Empty;
        self.values.get(slot).unwrap_or(&EMPTY)
    }
}
