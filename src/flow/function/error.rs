//! Why a function call fails: always an `ArgumentError` of the statement (LNG-172), never a wrong value.

use std::fmt;

/// A failed call with the function's name.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FunctionError {
    function: &'static str,
    refusal: Refusal,
}

/// The reason of a failed call.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Refusal {
    /// Too few or too many arguments.
    WrongCount {
        /// How many there are.
        given: usize,
        /// Least number.
        min: usize,
        /// Greatest number, if any.
        max: Option<usize>,
    },
    /// An argument whose value the function does not take; the text names it and what is accepted.
    Argument(String),
    /// The result would exceed [`super::MAX_RESULT_BYTES`].
    TooLong,
    /// A regular expression needed too much time for one text.
    TooSlow,
}

impl FunctionError {
    pub(super) fn new(function: &'static str, refusal: Refusal) -> Self {
        Self { function, refusal }
    }

    /// The run-time name of LNG-172.
    pub fn class(&self) -> &'static str {
        "ArgumentError"
    }

    /// Why the call failed.
    pub fn refusal(&self) -> &Refusal {
        &self.refusal
    }
}

impl fmt::Display for FunctionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.function, self.refusal)
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::WrongCount { given, min, max } => {
                write!(f, "takes ")?;
                match max {
                    Some(max) if max == min => write!(f, "{min}")?,
                    Some(max) => write!(f, "{min} to {max}")?,
                    None => write!(f, "at least {min}")?,
                }
                let plural = if *max == Some(1) { "argument" } else { "arguments" };
                write!(f, " {plural}, but {given} given")
            }
            Self::Argument(reason) => f.write_str(reason),
            Self::TooLong => write!(f, "the result is longer than {} bytes", super::MAX_RESULT_BYTES),
            Self::TooSlow => {
                f.write_str("the regular expression needs too much time on one text; simplify it")
            }
        }
    }
}

impl std::error::Error for FunctionError {}
