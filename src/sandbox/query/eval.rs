//! A bound condition and how it holds on a record (KTB-66 to KTB-71).
use std::borrow::Cow;
use std::collections::HashSet;

use super::function::SpanText;
use super::lex::Comparison;
use super::words::contains_words;
use crate::sandbox::app::field::Kind;
use crate::sandbox::record::Record;
use crate::sandbox::store::state::State;
use crate::sandbox::value::datetime::minute_text;
use crate::sandbox::value::number::compare_plain;
use crate::sandbox::value::{Text, Value};

/// A condition bound to a form.
#[derive(Debug)]
pub enum Predicate {
    /// All hold.
    All(Vec<Predicate>),
    /// At least one holds.
    Any(Vec<Predicate>),
    /// A test of the record's id.
    Id {
        /// The test.
        test: IdTest,
        /// Must not hold.
        negated: bool,
    },
    /// A test of one top-level value.
    Value {
        /// Which value.
        column: Column,
        /// The test.
        check: Check,
        /// Must not hold.
        negated: bool,
    },
    /// Tests of cells that must hold on one and the same row (KTB-71).
    SameRow {
        /// Slot of the table.
        table: usize,
        /// Cell index and test.
        checks: Vec<(usize, Check)>,
    },
    /// A negative test: at least one row, and no row passes the check (KTB-70).
    NoRow {
        /// Slot of the table.
        table: usize,
        /// Cell index.
        cell: usize,
        /// The test that no row may pass.
        check: Check,
    },
}

/// A top-level value of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Column {
    /// `$id` or the record number.
    Id,
    /// Creator.
    Creator,
    /// Modifier.
    Modifier,
    /// Time of creation.
    Created,
    /// Time of the last change.
    Updated,
    /// A field's slot and type.
    Slot(usize, Kind),
}

/// A test of a record id.
#[derive(Debug)]
pub enum IdTest {
    /// Comparison with a number; fractions were rounded so that the meaning stays.
    Compare(Comparison, i128),
    /// One of these.
    In(HashSet<u64>),
}

/// A test of a value.
#[derive(Debug)]
pub enum Check {
    /// Nothing is there.
    Empty,
    /// Only white space or nothing is there (KTB-67).
    Blank,
    /// The text is this.
    Text(String),
    /// The text contains these words one after the other.
    Words(String),
    /// The value, or one of the list's, is among these; `""` stands for nothing (KTB-68).
    In(HashSet<Text>),
    /// The number compares so; plain notation.
    Number(Comparison, String),
    /// The number equals one of these, or nothing is there and the flag is set.
    NumberIn(Vec<String>, bool),
    /// Date, time or instant against a span.
    Span(Comparison, SpanText),
}

impl Predicate {
    /// Whether the record fulfils the condition.
    pub fn holds(&self, state: &State, id: u64, record: &Record) -> bool {
        match self {
            Self::All(parts) => parts.iter().all(|part| part.holds(state, id, record)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(state, id, record)),
            Self::Id { test, negated } => test.holds(id) != *negated,
            Self::Value {
                column,
                check,
                negated,
            } => check.holds(&value_of(*column, state, id, record)) != *negated,
            Self::SameRow { table, checks } => record.value(*table).rows().iter().any(|row| {
                checks
                    .iter()
                    .all(|(cell, check)| row.cells.get(*cell).is_some_and(|value| check.holds(value)))
            }),
            Self::NoRow { table, cell, check } => {
                let rows = record.value(*table).rows();
                !rows.is_empty()
                    && rows
                        .iter()
                        .all(|row| row.cells.get(*cell).is_some_and(|value| !check.holds(value)))
            }
        }
    }
}

/// The value of a column; system columns are made up on the fly.
pub fn value_of<'r>(column: Column, state: &State, id: u64, record: &'r Record) -> Cow<'r, Value> {
    let code = |index| Value::Text(Text::new(&state.user(index).code));
    match column {
        Column::Slot(slot, _) => Cow::Borrowed(record.value(slot)),
        Column::Id => Cow::Owned(Value::text(&id.to_string())),
        Column::Creator => Cow::Owned(code(record.creator)),
        Column::Modifier => Cow::Owned(code(record.modifier)),
        Column::Created => Cow::Owned(Value::text(&minute_text(i64::from(record.created)))),
        Column::Updated => Cow::Owned(Value::text(&minute_text(i64::from(record.updated)))),
    }
}

impl IdTest {
    fn holds(&self, id: u64) -> bool {
        match self {
            Self::Compare(comparison, number) => comparison.holds(i128::from(id).cmp(number)),
            Self::In(ids) => ids.contains(&id),
        }
    }
}

impl Comparison {
    /// Whether an ordering fulfils the comparison.
    pub fn holds(self, ordering: std::cmp::Ordering) -> bool {
        match self {
            Self::Equal => ordering.is_eq(),
            Self::NotEqual => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::LessOrEqual => ordering.is_le(),
            Self::Greater => ordering.is_gt(),
            Self::GreaterOrEqual => ordering.is_ge(),
        }
    }
}

impl Check {
    /// Whether a value passes.
    pub fn holds(&self, value: &Value) -> bool {
        let text = value.as_text();
        match self {
            Self::Empty => value.is_empty(),
            Self::Blank => match value {
                Value::Empty => true,
                Value::Text(text) => text.as_str().trim().is_empty(),
                _ => false,
            },
            Self::Text(wanted) => text == wanted,
            Self::Words(words) => match value {
                Value::Files(files) => files.iter().any(|file| contains_words(&file.name, words)),
                _ => contains_words(text, words),
            },
            Self::In(wanted) => match value {
                Value::List(items) => items.iter().any(|item| wanted.contains(item)),
                _ => wanted.contains(text),
            },
            Self::Number(comparison, number) => {
                !text.is_empty() && comparison.holds(compare_plain(text, number))
            }
            Self::NumberIn(numbers, empty) => {
                if text.is_empty() {
                    *empty
                } else {
                    numbers.iter().any(|number| compare_plain(text, number).is_eq())
                }
            }
            Self::Span(comparison, span) => !text.is_empty() && span_holds(*comparison, span, text),
        }
    }
}

fn span_holds(comparison: Comparison, span: &SpanText, text: &str) -> bool {
    let (from, to) = (span.from.as_str(), span.to.as_str());
    match comparison {
        Comparison::Equal => from <= text && text < to,
        Comparison::NotEqual => !(from <= text && text < to),
        Comparison::Less => text < from,
        Comparison::LessOrEqual => text < to,
        Comparison::Greater => to <= text,
        Comparison::GreaterOrEqual => from <= text,
    }
}
