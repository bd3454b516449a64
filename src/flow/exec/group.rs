//! Hash aggregation: one row in, a few words kept per group. Memory follows the groups, not the rows (LNG-100..112).

use std::collections::HashMap;

use crate::flow::aggregate::{Accumulator, Kind};
use crate::flow::apps::TextColumn;
use crate::flow::plan::query::BoundGrouping;
use crate::flow::plan::types::{ColumnInfo, Type};
use crate::flow::sql::message::say;

use super::EngineError;
use super::eval::{Evaluator, Row};
use super::memory;
use super::relation::{Relation, push_key};

/// The most groups of one SELECT.
const MAX_GROUPS: usize = 1_000_000;
/// Bytes, roughly, that a group takes beside its key texts and aggregates: its place in an index that is half empty at
/// worst, and what the allocator adds.
const GROUP_BYTES: usize = 64;

/// Groups being built.
pub(super) struct Grouper<'g> {
    grouping: &'g BoundGrouping,
    /// One per grouping set; a plain GROUP BY has one.
    sets: Vec<GroupSet>,
    /// Bytes of all other tables in memory.
    held: usize,
    scratch: String,
}

struct GroupSet {
    /// Which keys the set keeps; `None` = all.
    kept: Option<Vec<bool>>,
    index: HashMap<Box<str>, u32>,
    keys: Vec<TextColumn>,
    accumulators: Vec<Accumulator>,
    groups: usize,
    /// Bytes of all that, roughly.
    bytes: usize,
}

impl<'g> Grouper<'g> {
    /// No groups yet; other tables hold so many bytes.
    pub fn new(grouping: &'g BoundGrouping, held: usize) -> Self {
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
                bytes: 0,
            })
            .collect();
        Self {
            grouping,
            sets,
            held,
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
                    set.bytes += cell.len() + size_of::<u32>();
                }
                set.open_group(grouping, self.scratch.as_str())
            };
            set.accumulate(group, grouping, row, evaluator)?;
        }
        let groups = self.sets.iter().map(|set| set.groups).sum();
        memory::check_table(groups, self.held + self.bytes())
    }

    /// Bytes of the groups so far.
    fn bytes(&self) -> usize {
        self.sets.iter().map(|set| set.bytes).sum()
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
        let mut states = self.bytes();
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
                let written: usize = cells.iter().map(TextColumn::bytes).sum();
                memory::check_table(rows + group + 1, self.held + states + written)?;
            }
            rows += set.groups;
            states = states.saturating_sub(set.bytes);
        }
        let columns = (0..width).map(|_| ColumnInfo::exact("", Type::Text)).collect();
        Ok(Relation::from_cells(columns, cells, rows))
    }
}

impl GroupSet {
    fn open_group(&mut self, grouping: &BoundGrouping, key: &str) -> usize {
        let group = self.groups;
        self.index.insert(key.into(), group as u32);
        let aggregates = grouping.aggregates.iter();
        let aggregates: usize = aggregates.map(|aggregate| aggregate.spec.initial_bytes()).sum();
        self.bytes += GROUP_BYTES + key.len() + aggregates;
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
                        let number = evaluator.number(argument, row)?;
                        self.bytes += accumulator.add_number(&aggregate.spec, number)?;
                    } else if let Some(text) = evaluator.absent_or_text(argument, row)? {
                        self.bytes += accumulator.add(&aggregate.spec, &text)?;
                    }
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::aggregate::Spec;
    use crate::flow::plan::query::BoundAggregate;
    use crate::flow::plan::scalar::{ColumnId, Scalar};
    use crate::flow::value::CompareMode;

    /// A row whose every cell is one text.
    struct Same(String);

    impl Row for Same {
        fn cell(&self, _: ColumnId) -> &str {
            &self.0
        }
    }

    fn grouping(
        kind: Kind,
        distinct: bool,
        keys: Vec<Scalar>,
        sets: Option<Vec<Vec<bool>>>,
    ) -> BoundGrouping {
        let spec = Spec {
            distinct,
            ..Spec::new(kind, CompareMode::Text)
        };
        BoundGrouping {
            keys,
            aggregates: vec![BoundAggregate {
                argument: Some(cell()),
                spec,
            }],
            sets,
            explicit: true,
        }
    }

    fn cell() -> Scalar {
        Scalar::Column(ColumnId { source: 0, column: 0 })
    }

    /// How many of 100 different texts are taken when other tables leave so many bytes.
    fn taken(grouping: &BoundGrouping, left: usize) -> usize {
        let mut grouper = Grouper::new(grouping, memory::MAX_BYTES - left);
        let mut evaluator = Evaluator::new();
        for number in 0..100 {
            let text = format!("{number:0100}");
            if let Err(error) = grouper.add(&Same(text), &mut evaluator) {
                assert_eq!(error.code(), Some("ResultTooLargeError"));
                return number;
            }
        }
        100
    }

    #[test]
    fn groups_and_what_they_keep_count_against_the_bytes_in_memory() {
        let texts = |kind, distinct| grouping(kind, distinct, Vec::new(), None);
        let groups = |sets| grouping(Kind::Count, false, vec![cell()], sets);
        for (grouping, most) in [
            // The key stands in the index and in its column.
            (groups(None), 40),
            (groups(Some(vec![vec![true], vec![true]])), 20),
            (texts(Kind::GroupConcat, false), 100),
            (texts(Kind::Count, true), 65),
            (texts(Kind::Mode, false), 65),
        ] {
            let kind = grouping.aggregates[0].spec.kind;
            let some = taken(&grouping, 10_000);
            assert!((most / 2..=most).contains(&some), "{kind:?}: {some}");
            assert_eq!(taken(&grouping, 100_000), 100, "{kind:?}");
        }
        // One state, however many rows.
        for kind in [Kind::Count, Kind::Sum, Kind::Max] {
            assert_eq!(taken(&texts(kind, false), 10_000), 100, "{kind:?}");
        }
    }

    #[test]
    fn results_count_while_the_groups_are_still_there() {
        let grouping = grouping(Kind::Max, false, Vec::new(), None);
        let text = "x".repeat(1_000);
        let finish = |left: usize| {
            let mut grouper = Grouper::new(&grouping, memory::MAX_BYTES - left);
            grouper.add(&Same(text.clone()), &mut Evaluator::new()).unwrap();
            grouper.finish().map(|groups| groups.rows())
        };
        assert_eq!(finish(3_000).ok(), Some(1));
        let error = finish(1_500).unwrap_err();
        assert_eq!(error.code(), Some("ResultTooLargeError"));
    }
}
