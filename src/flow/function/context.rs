//! What functions need beyond their arguments: the wall clock of the statement and the regular expressions
//! compiled so far.

use jiff::Timestamp;

use super::regexp::Expressions;
use crate::flow::calendar::Zone;

/// The surroundings of function calls; make one per statement.
#[derive(Debug)]
pub struct Context {
    pub(super) now: Timestamp,
    pub(super) host_zone: Zone,
    pub(super) expressions: Expressions,
}

impl Context {
    /// Takes the wall clock and the host's zone (LNG-63); both stand still for the life of the context.
    pub fn new(now: Timestamp, host_zone: Zone) -> Self {
        Self {
            now,
            host_zone,
            expressions: Expressions::default(),
        }
    }
}
