//! Finding the records of a page. Three ways in, best first: ids found through a unique index, the id range that the
//! condition allows, everything. When the order is by id, the walk stops as soon as the page is full.
use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::ops::{Range, RangeInclusive};

use super::bind::Plan;
use super::eval::{Check, Column, IdTest, Predicate, value_of};
use super::lex::Comparison;
use crate::sandbox::app::field::Kind;
use crate::sandbox::record::Record;
use crate::sandbox::store::state::State;
use crate::sandbox::store::table::{Table, unique_key};
use crate::sandbox::value::Value;
use crate::sandbox::value::number::compare_plain;

/// A page of records.
pub struct Page<'t> {
    /// Records in order.
    pub records: Vec<(u64, &'t Record)>,
    /// Number of all records that fulfil the condition, if it was asked for (KTB-44).
    pub total: Option<u64>,
}

/// Finds a page.
pub fn page<'t>(state: &State, table: &'t Table, plan: &Plan, want_total: bool) -> Page<'t> {
    let window = plan.offset..plan.offset.saturating_add(plan.limit);
    find(state, table, plan, window, want_total)
}

/// All ids that fulfil the condition, in order: what a cursor fixes at its creation (KTB-147).
pub fn all_ids(state: &State, table: &Table, plan: &Plan) -> Vec<u64> {
    let page = find(state, table, plan, 0..usize::MAX, false);
    page.records.into_iter().map(|(id, _)| id).collect()
}

fn find<'t>(
    state: &State,
    table: &'t Table,
    plan: &Plan,
    window: Range<usize>,
    want_total: bool,
) -> Page<'t> {
    let holds = |(id, record): &(u64, &Record)| {
        plan.predicate
            .as_ref()
            .is_none_or(|predicate| predicate.holds(state, *id, record))
    };
    let by_id = match plan.order.first() {
        None => Some(false),
        Some((Column::Id, ascending)) => Some(*ascending),
        Some(_) => None,
    };
    let mut found: Vec<(u64, &Record)> = Vec::new();
    let mut total = 0_u64;
    let mut visit = |item: (u64, &'t Record)| {
        total += 1;
        if by_id.is_none() || found.len() < window.end {
            found.push(item);
        }
        // Go on while the page is not full or a total was asked for.
        want_total || by_id.is_none() || found.len() < window.end
    };
    if window.end > 0 || want_total {
        let ascending = by_id != Some(false);
        match Walk::of(table, plan.predicate.as_ref()) {
            Walk::Ids(ids) => {
                let records = ids
                    .into_iter()
                    .filter_map(|id| table.get(id).map(|record| (id, record)));
                walk(records.filter(holds), ascending, &mut visit);
            }
            Walk::Range(bounds) => walk(table.range(bounds).filter(holds), ascending, &mut visit),
        }
    }
    if by_id.is_none() {
        sort(state, &mut found, &plan.order);
    }
    let records = found.into_iter().skip(window.start).take(window.len()).collect();
    Page {
        records,
        total: want_total.then_some(total),
    }
}

/// Visits items until the visitor has enough.
fn walk<T>(
    mut items: impl DoubleEndedIterator<Item = T>,
    ascending: bool,
    visit: &mut impl FnMut(T) -> bool,
) {
    while let Some(item) = if ascending {
        items.next()
    } else {
        items.next_back()
    } {
        if !visit(item) {
            return;
        }
    }
}

/// Where to look.
enum Walk {
    Ids(BTreeSet<u64>),
    Range(RangeInclusive<u64>),
}

impl Walk {
    fn of(table: &Table, predicate: Option<&Predicate>) -> Self {
        let parts = match predicate {
            None => &[],
            Some(Predicate::All(parts)) => parts.as_slice(),
            Some(other) => std::slice::from_ref(other),
        };
        if let Some(ids) = parts.iter().find_map(|part| indexed_ids(table, part)) {
            return Self::Ids(ids);
        }
        let (mut low, mut high) = (1_u64, u64::MAX);
        for part in parts {
            if let Predicate::Id {
                test: IdTest::Compare(comparison, number),
                negated: false,
            } = part
            {
                narrow(&mut low, &mut high, *comparison, *number);
            }
        }
        Self::Range(low..=high)
    }
}

/// The ids that a test through `$id in`, `$id =` or a unique field can find.
fn indexed_ids(table: &Table, part: &Predicate) -> Option<BTreeSet<u64>> {
    match part {
        Predicate::Id {
            test: IdTest::In(ids),
            negated: false,
        } => Some(ids.iter().copied().collect()),
        Predicate::Value {
            column: Column::Slot(slot, kind),
            check,
            negated: false,
        } if table.is_unique(*slot) => {
            let find = |text: &str| {
                unique_key(*kind, &Value::text(text)).and_then(|key| table.find_unique(*slot, key.as_str()))
            };
            match check {
                Check::Text(text) => Some(find(text).into_iter().collect()),
                Check::Number(Comparison::Equal, number) => Some(find(number).into_iter().collect()),
                Check::In(wanted) if !wanted.contains("") => {
                    Some(wanted.iter().filter_map(|text| find(text.as_str())).collect())
                }
                Check::NumberIn(numbers, false) => {
                    Some(numbers.iter().filter_map(|number| find(number)).collect())
                }
                _ => None,
            }
        }
        _ => None,
    }
}

fn narrow(low: &mut u64, high: &mut u64, comparison: Comparison, number: i128) {
    // Ids are at most u64::MAX, so clamping a bound to that range keeps its meaning except beyond the ends, where the
    // range becomes empty.
    let at_least = |bound: i128| u64::try_from(bound.max(0)).unwrap_or(u64::MAX);
    match comparison {
        Comparison::Greater => *low = (*low).max(at_least(number.saturating_add(1))),
        Comparison::GreaterOrEqual => *low = (*low).max(at_least(number)),
        Comparison::Less => *high = (*high).min(at_least(number.saturating_sub(1))),
        Comparison::LessOrEqual => *high = (*high).min(at_least(number)),
        Comparison::Equal => {
            *low = (*low).max(at_least(number));
            *high = (*high).min(at_least(number));
        }
        Comparison::NotEqual => {}
    }
}

/// Sorts by the keys; equal records come newest first.
fn sort(state: &State, records: &mut [(u64, &Record)], order: &[(Column, bool)]) {
    records.sort_by(|left, right| {
        for (column, ascending) in order {
            let ordering = if *column == Column::Id {
                left.0.cmp(&right.0)
            } else {
                let left = value_of(*column, state, left.0, left.1);
                let right = value_of(*column, state, right.0, right.1);
                compare(*column, left.as_text(), right.as_text())
            };
            let ordering = if *ascending { ordering } else { ordering.reverse() };
            if ordering.is_ne() {
                return ordering;
            }
        }
        right.0.cmp(&left.0)
    });
}

/// Numbers by value, everything else by code point; nothing comes first.
fn compare(column: Column, left: &str, right: &str) -> Ordering {
    if matches!(column, Column::Slot(_, Kind::Number)) && !left.is_empty() && !right.is_empty() {
        compare_plain(left, right)
    } else {
        left.cmp(right)
    }
}
