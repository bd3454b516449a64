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
        sort(state, &mut found, &plan.order, window.end);
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

/// Brings the first `wanted` records into order and drops the others: a page of a million records needs no full sort.
fn sort(state: &State, records: &mut Vec<(u64, &Record)>, order: &[(Column, bool)], wanted: usize) {
    let compare = |left: &(u64, &Record), right: &(u64, &Record)| precedes(state, order, *left, *right);
    if wanted < records.len() {
        if wanted > 0 {
            records.select_nth_unstable_by(wanted - 1, compare);
        }
        records.truncate(wanted);
    }
    records.sort_unstable_by(compare);
}

/// Order by the keys; equal records come newest first, so that no two records are equal.
fn precedes(
    state: &State,
    order: &[(Column, bool)],
    left: (u64, &Record),
    right: (u64, &Record),
) -> Ordering {
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
}

/// Numbers by value, everything else by code point; nothing comes first.
fn compare(column: Column, left: &str, right: &str) -> Ordering {
    if matches!(column, Column::Slot(_, Kind::Number)) && !left.is_empty() && !right.is_empty() {
        compare_plain(left, right)
    } else {
        left.cmp(right)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::app::file::{AppsFile, check};
    use crate::sandbox::auth::Caller;
    use crate::sandbox::query::bind::Scope;
    use proptest::prelude::*;
    use serde_json::json;

    /// One app with a unique text, a unique number and a plain number; records from `(key, number)`.
    fn state(rows: &[(u8, i8)]) -> State {
        let file: AppsFile = serde_json::from_value(json!({ "apps": [{ "id": 1, "name": "a", "properties": {
            "key": { "type": "SINGLE_LINE_TEXT", "unique": true },
            "num": { "type": "NUMBER" },
            "unum": { "type": "NUMBER", "unique": true },
        } }] }))
        .expect("apps file");
        let mut state = State::new(check(file).expect("apps"));
        for (index, (key, number)) in rows.iter().enumerate() {
            let id = index as u64 * 2 + 1;
            // Every second record shares no key with another one.
            let key = format!("{key}-{id}");
            let values = vec![
                Value::text(&key),
                Value::text(&number.to_string()),
                Value::text(&format!("{id}.0")),
            ];
            let record = Record {
                revision: 1,
                created: 0,
                updated: 0,
                creator: 0,
                modifier: 0,
                values: values.into(),
            };
            state.set_record(1, id, Some(record));
        }
        state
    }

    fn any_test() -> impl Strategy<Value = String> {
        let sign = || prop::sample::select(vec!["=", "!=", "<", "<=", ">", ">="]);
        let not = || prop::sample::select(vec!["", "not "]);
        prop_oneof![
            (sign(), -2_i64..40).prop_map(|(sign, id)| format!("$id {sign} {id}")),
            (sign(), -2_i64..40).prop_map(|(sign, id)| format!("$id {sign} {id}.5")),
            (not(), prop::collection::vec(0_u8..40, 1..4))
                .prop_map(|(not, ids)| format!("$id {not}in ({})", list(ids.iter().map(u8::to_string)))),
            (sign(), any::<i8>()).prop_map(|(sign, number)| format!("num {sign} {number}")),
            (0_u8..4, 0_u8..40).prop_map(|(key, id)| format!("key = \"{key}-{id}\"")),
            (not(), 0_u8..4, prop::collection::vec(0_u8..40, 1..4)).prop_map(|(not, key, ids)| {
                format!(
                    "key {not}in ({})",
                    list(ids.iter().map(|id| format!("\"{key}-{id}\"")))
                )
            }),
            (sign(), 0_u8..40).prop_map(|(sign, number)| format!("unum {sign} {number}")),
            prop::collection::vec(0_u8..40, 1..4)
                .prop_map(|ids| format!("unum in ({})", list(ids.iter().map(u8::to_string)))),
        ]
    }

    fn list(items: impl Iterator<Item = String>) -> String {
        items.collect::<Vec<_>>().join(", ")
    }

    fn any_condition() -> impl Strategy<Value = String> {
        any_test().prop_recursive(3, 12, 3, |inner| {
            prop::collection::vec(inner, 2..4).prop_flat_map(|parts| {
                prop::sample::select(vec![" and ", " or "])
                    .prop_map(move |word| format!("({})", parts.join(word)))
            })
        })
    }

    proptest! {
        /// Index, id range and early stop find exactly what a look at every record finds.
        #[test]
        fn short_cuts_change_nothing(
            rows in prop::collection::vec((0_u8..4, any::<i8>()), 0..20),
            condition in any_condition(),
            order in prop::sample::select(vec!["", "order by $id asc", "order by $id desc", "order by num asc, $id asc", "order by num desc"]),
            limit in 0_usize..12,
            offset in 0_usize..5,
        ) {
            let state = state(&rows);
            let app = &state.apps[&1];
            let caller = Caller::administrator(&state);
            let scope = Scope { state: &state, app: &app.app, caller: &caller, now: jiff::Timestamp::UNIX_EPOCH };
            let text = format!("{condition} {order} limit {limit} offset {offset}");
            let plan = scope.plan(&text);
            prop_assert!(plan.is_ok(), "{text}");
            let Ok(plan) = plan else { return Ok(()) };
            let predicate = plan.predicate.as_ref();
            let mut naive: Vec<(u64, &Record)> = app
                .table
                .range(0..=u64::MAX)
                .filter(|(id, record)| predicate.is_none_or(|predicate| predicate.holds(&state, *id, record)))
                .collect();
            let number = |record: &Record| record.value(1).as_text().parse::<i32>().unwrap_or_default();
            naive.sort_by(|(left_id, left), (right_id, right)| match order {
                "order by $id asc" => left_id.cmp(right_id),
                "order by num asc, $id asc" => number(left).cmp(&number(right)).then(left_id.cmp(right_id)),
                "order by num desc" => number(right).cmp(&number(left)).then(right_id.cmp(left_id)),
                _ => right_id.cmp(left_id),
            });
            let all: Vec<u64> = naive.iter().map(|(id, _)| *id).collect();
            let expected: Vec<u64> = all.iter().copied().skip(offset).take(limit).collect();
            for want_total in [true, false] {
                let page = page(&state, &app.table, &plan, want_total);
                let found: Vec<u64> = page.records.iter().map(|(id, _)| *id).collect();
                prop_assert_eq!(&found, &expected, "{}", text);
                prop_assert_eq!(page.total, want_total.then_some(all.len() as u64), "{}", text);
            }
            prop_assert_eq!(all_ids(&state, &app.table, &plan), all, "{}", text);
        }
    }
}
