//! Looking up from long local work: a signal or the time limit ends it, not only the next request (RNR-74, RNR-77).

use super::EngineError;
use super::config::Observer;

/// Steps of a tight loop between two looks.
const STEPS: u32 = 1_024;

/// Stops if the run was asked to. Cheap enough for every row for which values are computed.
pub(in crate::flow) fn stop_if_asked(observer: &dyn Observer) -> Result<(), EngineError> {
    match observer.interrupted() {
        Some(interrupt) => Err(EngineError::interrupted(interrupt)),
        None => Ok(()),
    }
}

/// Looks up now and then in a loop whose steps are too small to look up in each.
pub(super) struct Pulse<'o> {
    observer: &'o dyn Observer,
    left: u32,
}

impl<'o> Pulse<'o> {
    /// Looks up for the first time after some steps.
    pub fn new(observer: &'o dyn Observer) -> Self {
        Self {
            observer,
            left: STEPS,
        }
    }

    /// Counts a step.
    pub fn beat(&mut self) -> Result<(), EngineError> {
        self.left -= 1;
        if self.left == 0 {
            self.left = STEPS;
            stop_if_asked(self.observer)?;
        }
        Ok(())
    }
}
