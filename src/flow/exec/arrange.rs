//! After the rows are known: windows, DISTINCT, ORDER BY, OFFSET and LIMIT, in this order (LNG-20).

use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use crate::flow::aggregate::Accumulator;
use crate::flow::apps::TextColumn;
use crate::flow::plan::query::{BoundWindow, SortKey, WindowFunction};
use crate::flow::sql::ast::Frame;

use super::EngineError;
use super::config::Observer;
use super::pulse::Pulse;
use super::relation::Relation;

/// Compares two rows by sort keys; ties are equal.
pub(super) fn compare(rows: &Relation, keys: &[SortKey], a: u32, b: u32) -> Ordering {
    for key in keys {
        let ordering = key.mode.compare(
            rows.cell(a as usize, key.column),
            rows.cell(b as usize, key.column),
        );
        let ordering = if key.descending {
            ordering.reverse()
        } else {
            ordering
        };
        if ordering.is_ne() {
            return ordering;
        }
    }
    Ordering::Equal
}

/// Row numbers after DISTINCT over the first `width` columns, ORDER BY, OFFSET and LIMIT.
pub(super) fn arrange(
    rows: &Relation,
    distinct: Option<usize>,
    order: &[SortKey],
    limit: Option<u64>,
    offset: u64,
) -> Vec<u32> {
    let mut kept: Vec<u32> = (0..rows.rows() as u32).collect();
    if let Some(width) = distinct {
        let mut seen = HashSet::new();
        kept.retain(|row| seen.insert(rows.row_key(*row as usize, width)));
    }
    if !order.is_empty() {
        kept.sort_by(|a, b| compare(rows, order, *a, *b));
    }
    let skip = usize::try_from(offset).unwrap_or(usize::MAX).min(kept.len());
    kept.drain(..skip);
    if let Some(limit) = limit {
        kept.truncate(usize::try_from(limit).unwrap_or(usize::MAX));
    }
    kept
}

/// The column of a window function, in row order (LNG-120..123).
pub(super) fn window(
    rows: &Relation,
    window: &BoundWindow,
    observer: &dyn Observer,
) -> Result<TextColumn, EngineError> {
    let mut pulse = Pulse::tight(observer);
    let mut partitions: Vec<Vec<u32>> = Vec::new();
    let mut index: HashMap<String, usize> = HashMap::new();
    for row in 0..rows.rows() {
        pulse.beat()?;
        let mut key = String::new();
        for column in &window.partition {
            super::relation::push_key(&mut key, rows.cell(row, *column));
        }
        let partition = *index.entry(key).or_insert_with(|| {
            partitions.push(Vec::new());
            partitions.len() - 1
        });
        if let Some(members) = partitions.get_mut(partition) {
            members.push(row as u32);
        }
    }
    let mut values: Vec<String> = vec![String::new(); rows.rows()];
    for members in &mut partitions {
        members.sort_by(|a, b| compare(rows, &window.order, *a, *b));
        partition(rows, window, members, &mut values, &mut pulse)?;
    }
    let mut column = TextColumn::new();
    for value in &values {
        column.push(value)?;
    }
    Ok(column)
}

/// Computes one ordered partition.
fn partition(
    rows: &Relation,
    window: &BoundWindow,
    members: &[u32],
    values: &mut [String],
    pulse: &mut Pulse<'_>,
) -> Result<(), EngineError> {
    let mut set = |row: u32, value: String| {
        if let Some(slot) = values.get_mut(row as usize) {
            *slot = value;
        }
        pulse.beat()
    };
    match &window.function {
        WindowFunction::RowNumber => {
            for (i, row) in members.iter().enumerate() {
                set(*row, (i + 1).to_string())?;
            }
        }
        WindowFunction::Rank | WindowFunction::DenseRank => {
            let dense = matches!(window.function, WindowFunction::DenseRank);
            let mut before = 0;
            for (number, peers) in peer_groups(rows, window, members).enumerate() {
                let rank = if dense { number + 1 } else { before + 1 };
                before += peers.len();
                for row in peers {
                    set(*row, rank.to_string())?;
                }
            }
        }
        WindowFunction::Lag(distance) | WindowFunction::Lead(distance) => {
            let back = matches!(window.function, WindowFunction::Lag(_));
            let distance = usize::try_from(*distance).unwrap_or(usize::MAX);
            for (i, row) in members.iter().enumerate() {
                let other = if back {
                    i.checked_sub(distance)
                } else {
                    i.checked_add(distance)
                };
                let other = other.and_then(|place| members.get(place));
                if let (Some(other), Some(column)) = (other, window.argument) {
                    set(*row, rows.cell(*other as usize, column).to_owned())?;
                }
            }
        }
        WindowFunction::Aggregate(spec) => {
            let mut accumulator = Accumulator::new(spec);
            let add = |accumulator: &mut Accumulator, row: u32| match window.argument {
                None => {
                    accumulator.count_row();
                    Ok(0)
                }
                Some(column) => accumulator.add(spec, rows.cell(row as usize, column)),
            };
            let running = |accumulator: &Accumulator| {
                let mut value = String::new();
                accumulator.finish(spec, &mut value);
                value
            };
            if window.frame == Frame::Rows && !window.order.is_empty() {
                for row in members {
                    add(&mut accumulator, *row)?;
                    set(*row, running(&accumulator))?;
                }
            } else {
                for peers in peer_groups(rows, window, members) {
                    for row in peers {
                        add(&mut accumulator, *row)?;
                    }
                    let value = running(&accumulator);
                    for row in peers {
                        set(*row, value.clone())?;
                    }
                }
            }
        }
    }
    Ok(())
}

/// Rows of a partition that the window's order does not tell apart, in order; without ORDER BY that is all of them.
fn peer_groups<'m>(
    rows: &Relation,
    window: &BoundWindow,
    members: &'m [u32],
) -> impl Iterator<Item = &'m [u32]> {
    members.chunk_by(move |a, b| compare(rows, &window.order, *a, *b).is_eq())
}
