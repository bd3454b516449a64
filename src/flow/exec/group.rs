//! Hash aggregation: one row in, a few words kept per group. Memory follows the groups, not the rows (LNG-100..112).

use std::collections::HashMap;

use crate::flow::aggregate::{Accumulator, Kind};
use crate::flow::apps::TextColumn;
use crate::flow::plan::query::BoundGrouping;
use crate::flow::plan::types::{ColumnInfo, Type};
use crate::flow::sql::message::say;

use super::EngineError;
use super::eval::{Evaluator, Row};
use super::relation::{Relation, push_key};

/// The most groups of one SELECT.
const MAX_GROUPS: usize = 1_000_000;

/// Groups being built.
pub(super) struct Grouper<'g> {
    grouping: &'g BoundGrouping,
    /// One per grouping set; a plain GROUP BY has one.
    sets: Vec<GroupSet>,
    scratch: String,
}

struct GroupSet {
    /// Which keys the set keeps; `None` = all.
    kept: Option<Vec<bool>>,
    index: HashMap<Box<str>, u32>,
    keys: Vec<TextColumn>,
    accumulators: Vec<Accumulator>,
    groups: usize,
}

impl<'g> Grouper<'g> {
    pub fn new(grouping: &'g BoundGrouping) -> Self {
        let kept: Vec<Option<Vec<bool>>> = match &grouping.sets {
            None => vec![None],
            Some(sets) => sets.iter().cloned().map(Some).collect(),
        };
        let sets = kept
            .into_iter()
            .map(|kept| GroupSet {
                kept,
                index: HashMap::new(),
                keys: grouping.keys.iter().map(|_| TextColumn::new()).collect(),
                accumulators: Vec::new(),
                groups: 0,
            })
            .collect();
        Self {
            grouping,
            sets,
            scratch: String::new(),
        }
    }

    /// Takes a row.
    pub fn add(&mut self, row: &dyn Row, evaluator: &mut Evaluator) -> Result<(), EngineError> {
        let grouping = self.grouping;
        let keys = grouping
            .keys
            .iter()
            .map(|key| evaluator.text(key, row))
            .collect::<Result<Vec<_>, _>>()?;
        for set in &mut self.sets {
            let cells = keys.iter().enumerate().map(|(i, cell)| {
                let kept = set
                    .kept
                    .as_ref()
                    .is_none_or(|kept| kept.get(i).copied().unwrap_or(false));
                if kept { &**cell } else { "" }
            });
            self.scratch.clear();
            for cell in cells.clone() {
                push_key(&mut self.scratch, cell);
            }
            let group = if let Some(group) = set.index.get(self.scratch.as_str()) {
                *group as usize
            } else {
                if set.groups == MAX_GROUPS {
                    return Err(EngineError::argument(say!(
                        "more than {MAX_GROUPS} groups",
                        "グループ数が {MAX_GROUPS} を超えています"
                    )));
                }
                for (column, cell) in set.keys.iter_mut().zip(cells) {
                    column.push(cell)?;
                }
                set.open_group(grouping, self.scratch.as_str())
            };
            set.accumulate(group, grouping, row, evaluator)?;
        }
        Ok(())
    }

    /// Takes the number of rows instead of the rows, where only rows are counted (LNG-192).
    pub fn add_count(&mut self, rows: u64) {
        for set in &mut self.sets {
            if set.groups == 0 {
                set.open_group(self.grouping, "");
            }
            for accumulator in &mut set.accumulators {
                for _ in 0..rows {
                    accumulator.count_row();
                }
            }
        }
    }

    /// The groups in order of first appearance: keys, aggregates, and with grouping sets a flag for each dropped key.
    pub fn finish(mut self) -> Result<Relation, EngineError> {
        let grouping = self.grouping;
        if !grouping.explicit {
            for set in &mut self.sets {
                if set.groups == 0 {
                    set.open_group(grouping, "");
                }
            }
        }
        let flags = if grouping.sets.is_some() {
            grouping.keys.len()
        } else {
            0
        };
        let width = grouping.keys.len() + grouping.aggregates.len() + flags;
        let mut cells: Vec<TextColumn> = (0..width).map(|_| TextColumn::new()).collect();
        let mut rows = 0;
        for set in self.sets {
            for group in 0..set.groups {
                let mut columns = cells.iter_mut();
                for (key, column) in set.keys.iter().zip(&mut columns) {
                    column.push(key.get(group))?;
                }
                let first = group * grouping.aggregates.len();
                for (i, (aggregate, column)) in grouping.aggregates.iter().zip(&mut columns).enumerate() {
                    if let Some(accumulator) = set.accumulators.get(first + i) {
                        column.push_with(|cell| accumulator.finish(&aggregate.spec, cell))?;
                    }
                }
                for (i, column) in (0..flags).zip(&mut columns) {
                    let kept = set
                        .kept
                        .as_ref()
                        .is_none_or(|kept| kept.get(i).copied().unwrap_or(false));
                    column.push(if kept { "0" } else { "1" })?;
                }
            }
            rows += set.groups;
        }
        let columns = (0..width).map(|_| ColumnInfo::exact("", Type::Text)).collect();
        Ok(Relation::from_cells(columns, cells, rows))
    }
}

impl GroupSet {
    fn open_group(&mut self, grouping: &BoundGrouping, key: &str) -> usize {
        let group = self.groups;
        self.index.insert(key.into(), group as u32);
        self.accumulators.extend(
            grouping
                .aggregates
                .iter()
                .map(|aggregate| Accumulator::new(&aggregate.spec)),
        );
        self.groups += 1;
        group
    }

    fn accumulate(
        &mut self,
        group: usize,
        grouping: &BoundGrouping,
        row: &dyn Row,
        evaluator: &mut Evaluator,
    ) -> Result<(), EngineError> {
        let first = group * grouping.aggregates.len();
        for (i, aggregate) in grouping.aggregates.iter().enumerate() {
            let Some(accumulator) = self.accumulators.get_mut(first + i) else {
                continue;
            };
            match &aggregate.argument {
                None => accumulator.count_row(),
                Some(argument) => {
                    let numeric = matches!(aggregate.spec.kind, Kind::Sum | Kind::Avg)
                        && Evaluator::is_computed(argument);
                    if numeric {
                        accumulator.add_number(&aggregate.spec, evaluator.number(argument, row)?)?;
                    } else if let Some(text) = evaluator.absent_or_text(argument, row)? {
                        accumulator.add(&aggregate.spec, &text)?;
                    }
                }
            }
        }
        Ok(())
    }
}
