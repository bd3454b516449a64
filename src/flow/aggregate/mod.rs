//! Aggregate functions (LNG-100..107). A group holds one [`Accumulator`] per aggregate; the usual ones are a
//! number or a text and nothing else, so that a hundred thousand groups stay small.
//!
//! [`Accumulator::finish`] does not consume: a running window adds a row and asks again.

mod kind;
mod seen;
mod statistics;

#[cfg(test)]
mod tests;

pub use kind::Kind;

use std::cmp::Ordering;
use std::fmt;

use crate::flow::value::{CompareMode, compare, parse_number, write_number};
use seen::Seen;
use statistics::{Frequencies, Moments, Sample};

/// Longest result of GROUP_CONCAT, in bytes.
pub const MAX_CONCAT_BYTES: usize = 10 * 1024 * 1024;

/// Bytes, roughly, that a remembered value takes beside its text: its place in a table that is half empty at worst, and
/// what the allocator adds.
const ENTRY_BYTES: usize = 64;

/// One aggregate of a query: what is computed, not of which group.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The function.
    pub kind: Kind,
    /// DISTINCT: texts compare for most functions (LNG-107), numbers for statistics (LNG-106).
    pub distinct: bool,
    /// Between the elements of GROUP_CONCAT.
    pub separator: Box<str>,
    /// The mode of the argument: decides MIN, MAX and the ties of MODE (LNG-104).
    pub mode: CompareMode,
}

impl Spec {
    /// An aggregate without DISTINCT, with the default separator `,`.
    pub fn new(kind: Kind, mode: CompareMode) -> Self {
        Self {
            kind,
            distinct: false,
            separator: ",".into(),
            mode,
        }
    }

    /// Bytes, roughly, of the state before the first row.
    pub fn initial_bytes(&self) -> usize {
        let seen = if self.distinct { size_of::<Seen>() } else { 0 };
        let state = match self.kind {
            Kind::VarPop | Kind::VarSamp | Kind::StddevPop | Kind::StddevSamp => size_of::<Moments>(),
            Kind::Median => size_of::<Sample>(),
            Kind::Mode => size_of::<Frequencies>(),
            _ => 0,
        };
        size_of::<Accumulator>() + seen + state
    }

    /// Whether a group keeps only a number or a text, however many rows it has.
    pub fn folds(&self) -> bool {
        !self.distinct && !matches!(self.kind, Kind::GroupConcat | Kind::Median | Kind::Mode)
    }

    /// The mode of the result: the argument's for MIN, MAX and MODE, text for GROUP_CONCAT, else number.
    pub fn result_mode(&self) -> CompareMode {
        match self.kind {
            Kind::Min | Kind::Max | Kind::Mode => self.mode.clone(),
            Kind::GroupConcat => CompareMode::Text,
            _ => CompareMode::Number,
        }
    }
}

/// Why an aggregate fails; always an `ArgumentError` of the statement.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum AggregateError {
    /// A statistic met a text that is no finite number (LNG-106).
    NotANumber {
        /// The function.
        function: &'static str,
        /// The offending cell.
        text: String,
    },
    /// GROUP_CONCAT exceeds [`MAX_CONCAT_BYTES`].
    TooLong,
}

impl fmt::Display for AggregateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotANumber { function, text } => {
                write!(
                    f,
                    "{function}: '{text}' is no finite number; filter such rows out"
                )
            }
            Self::TooLong => write!(
                f,
                "GROUP_CONCAT: the result is longer than {MAX_CONCAT_BYTES} bytes"
            ),
        }
    }
}

impl std::error::Error for AggregateError {}

/// The running state of one aggregate in one group.
#[derive(Clone, Debug)]
pub struct Accumulator {
    state: State,
    /// Only for DISTINCT.
    seen: Option<Box<Seen>>,
}

#[derive(Clone, Debug)]
enum State {
    Count(u64),
    Sum(f64),
    Average { sum: f64, count: u64 },
    Extreme(Option<Box<str>>),
    Concat(String),
    Moments(Box<Moments>),
    Sample(Box<Sample>),
    Frequencies(Box<Frequencies>),
}

impl Accumulator {
    /// The state before the first row.
    pub fn new(spec: &Spec) -> Self {
        let state = match spec.kind {
            Kind::CountRows | Kind::Count => State::Count(0),
            Kind::Sum => State::Sum(0.0),
            Kind::Avg => State::Average { sum: 0.0, count: 0 },
            Kind::Min | Kind::Max => State::Extreme(None),
            Kind::GroupConcat => State::Concat(String::new()),
            Kind::VarPop | Kind::VarSamp | Kind::StddevPop | Kind::StddevSamp => {
                State::Moments(Box::default())
            }
            Kind::Median => State::Sample(Box::default()),
            Kind::Mode => State::Frequencies(Box::default()),
        };
        let seen = spec
            .distinct
            .then(|| Box::new(Seen::new(spec.kind.is_statistic())));
        Self { state, seen }
    }

    /// Takes the argument's value of one row, in read order. An "absent" value (a CASE without ELSE, LNG-40) is not
    /// given at all, and `COUNT(*)` counts with [`Accumulator::count_row`]. Gives the bytes, roughly, by which the state
    /// has grown.
    ///
    /// # Errors
    /// [`AggregateError`] for a statistic over a text that is no finite number, or a GROUP_CONCAT over the limit.
    pub fn add(&mut self, spec: &Spec, text: &str) -> Result<usize, AggregateError> {
        if spec.kind == Kind::CountRows {
            self.count_row();
            return Ok(0);
        }
        let extreme = matches!(spec.kind, Kind::Min | Kind::Max);
        if text.is_empty() && !extreme {
            return Ok(0);
        }
        let mut remembered = 0;
        if let Some(seen) = &mut self.seen {
            if !seen.insert(text) {
                return Ok(0);
            }
            remembered = text.len() + ENTRY_BYTES;
        }
        let kept = match &mut self.state {
            State::Count(count) => {
                *count += 1;
                0
            }
            State::Sum(_) | State::Average { .. } => {
                self.accumulate(parse_number(text));
                0
            }
            State::Extreme(best) => take_extreme(best, text, spec),
            State::Concat(joined) => concat(joined, text, spec)?,
            State::Moments(moments) => {
                moments.push(finite(text, spec)?);
                0
            }
            State::Sample(sample) => {
                sample.push(finite(text, spec)?);
                size_of::<f64>()
            }
            State::Frequencies(frequencies) => {
                if frequencies.push(text) {
                    text.len() + ENTRY_BYTES
                } else {
                    0
                }
            }
        };
        Ok(remembered + kept)
    }

    /// Takes a number that was computed: for SUM and AVG without the way through its text.
    ///
    /// # Errors
    /// As [`Accumulator::add`].
    pub fn add_number(&mut self, spec: &Spec, number: f64) -> Result<usize, AggregateError> {
        if self.seen.is_none() && matches!(self.state, State::Sum(_) | State::Average { .. }) {
            self.accumulate(number);
            return Ok(0);
        }
        let mut text = String::new();
        write_number(number, &mut text);
        self.add(spec, &text)
    }

    /// Appends the result so far; over no value COUNT, SUM and AVG give `0`, the others `''` (LNG-103).
    pub fn finish(&self, spec: &Spec, out: &mut String) {
        match &self.state {
            State::Count(count) => write_number(*count as f64, out),
            State::Sum(sum) => write_number(*sum, out),
            State::Average { count: 0, .. } => out.push('0'),
            State::Average { sum, count } => write_number(sum / *count as f64, out),
            State::Extreme(best) => out.push_str(best.as_deref().unwrap_or("")),
            State::Concat(joined) => out.push_str(joined),
            State::Moments(moments) => write_optional(moments.result(spec.kind), out),
            State::Sample(sample) => write_optional(sample.median(), out),
            State::Frequencies(frequencies) => out.push_str(frequencies.most_frequent(&spec.mode)),
        }
    }

    /// Counts one row of `COUNT(*)` without looking at a value.
    pub fn count_row(&mut self) {
        if let State::Count(count) = &mut self.state {
            *count += 1;
        }
    }

    /// Adds to SUM or AVG in binary64; what is no number is skipped (LNG-102).
    fn accumulate(&mut self, number: f64) {
        if number.is_nan() {
            return;
        }
        match &mut self.state {
            State::Sum(sum) => *sum += number,
            State::Average { sum, count } => {
                *sum += number;
                *count += 1;
            }
            _ => {}
        }
    }
}

/// Bytes by which the state has grown.
fn take_extreme(best: &mut Option<Box<str>>, text: &str, spec: &Spec) -> usize {
    let better = match best {
        None => true,
        Some(best) => {
            let wanted = if spec.kind == Kind::Min {
                Ordering::Less
            } else {
                Ordering::Greater
            };
            compare(&spec.mode, text, best) == wanted
        }
    };
    if !better {
        return 0;
    }
    let before = best.replace(text.into()).map_or(0, |best| best.len());
    text.len().saturating_sub(before)
}

/// Bytes by which the state has grown.
fn concat(joined: &mut String, text: &str, spec: &Spec) -> Result<usize, AggregateError> {
    let before = joined.len();
    if joined.len() + spec.separator.len() + text.len() > MAX_CONCAT_BYTES {
        return Err(AggregateError::TooLong);
    }
    // Elements are never empty, so only the first one finds nothing before it.
    if !joined.is_empty() {
        joined.push_str(&spec.separator);
    }
    joined.push_str(text);
    Ok(joined.len() - before)
}

fn finite(text: &str, spec: &Spec) -> Result<f64, AggregateError> {
    let number = parse_number(text);
    if number.is_finite() {
        Ok(number)
    } else {
        Err(AggregateError::NotANumber {
            function: spec.kind.name(),
            text: text.to_owned(),
        })
    }
}

fn write_optional(number: Option<f64>, out: &mut String) {
    if let Some(number) = number {
        write_number(number, out);
    }
}
