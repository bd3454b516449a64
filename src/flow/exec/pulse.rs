//! Looking up from long local work: a signal or the time limit ends it, not only the next request (RNR-74, RNR-77).

use super::EngineError;
use super::config::Observer;

/// Steps of a tight loop between two looks.
const STEPS: u32 = 1_024;

/// Stops if the run was asked to.
pub(super) fn stop_if_asked(observer: &dyn Observer) -> Result<(), EngineError> {
    match observer.interrupted() {
        Some(interrupt) => Err(EngineError::interrupted(interrupt)),
        None => Ok(()),
    }
}

/// Looks up now and then in a loop. The first step is always made: what the last request brought in time is not lost.
pub(in crate::flow) struct Pulse<'o> {
    observer: &'o dyn Observer,
    every: u32,
    left: u32,
}

impl<'o> Pulse<'o> {
    /// For loops whose steps are too small to look up in each.
    pub(super) fn tight(observer: &'o dyn Observer) -> Self {
        Self::every(STEPS, observer)
    }

    /// For loops that compute values, which may take long, in every step.
    pub fn rows(observer: &'o dyn Observer) -> Self {
        Self::every(1, observer)
    }

    fn every(every: u32, observer: &'o dyn Observer) -> Self {
        Self {
            observer,
            every,
            left: every,
        }
    }

    /// Begins a step.
    pub fn beat(&mut self) -> Result<(), EngineError> {
        if self.left == 0 {
            self.left = self.every;
            stop_if_asked(self.observer)?;
        }
        self.left -= 1;
        Ok(())
    }
}
