//! Join prefilter (LNG-194): when the rows on one side are few, the app on the other side is asked for their keys only.

use std::collections::BTreeSet;

use crate::flow::apps::FieldType;
use crate::flow::calendar::is_canonical_date;
use crate::flow::plan::push;
use crate::flow::plan::query::BoundJoin;
use crate::flow::plan::scalar::ColumnId;
use crate::flow::plan::scope::{Origin, ScopeSource};
use crate::flow::sql::ast::JoinKind;
use crate::flow::sql::message::{Message, say};
use crate::flow::value::{canonical_number, is_number};

use super::estimate::Estimate;
use super::join::JoinTable;

/// The most distinct keys that are sent.
const MAX_KEYS: usize = 300;
/// Keys of one request.
const KEYS_PER_REQUEST: usize = 50;

/// How keys of an earlier source become conditions about a joined one: decided by types alone.
pub(super) struct KeyFilter<'s> {
    code: &'s str,
    kind: FieldType,
    /// Where the keys come from.
    pub earlier: ColumnId,
}

impl<'s> KeyFilter<'s> {
    /// `None` if a join reads everything in any case.
    pub fn of(join: &BoundJoin, source: &'s ScopeSource) -> Option<Self> {
        let (earlier, joined) = join.on?;
        if !matches!(join.kind, JoinKind::Inner | JoinKind::Left) || !matches!(source.origin, Origin::App(_))
        {
            return None;
        }
        let column = source.columns.get(joined.column)?;
        let kind = column.info.kind.field()?;
        let usable = match kind {
            FieldType::Number | FieldType::Id => join.numeric,
            FieldType::SingleLineText | FieldType::Date => true,
            _ => false,
        };
        usable.then_some(Self {
            code: &column.info.name,
            kind,
            earlier,
        })
    }

    fn is_numeric(&self) -> bool {
        matches!(self.kind, FieldType::Number | FieldType::Id)
    }

    /// Conditions that together let all records pass that the join can meet, none of them twice; `None` = read
    /// everything, of which the author is warned.
    pub fn conditions(&self, tables: &[JoinTable]) -> Option<Vec<String>> {
        let table = tables.get(self.earlier.source)?;
        let numeric = self.is_numeric();
        // Rows of an earlier table that are joined more than once give the same keys again.
        let mut keys: BTreeSet<String> = BTreeSet::new();
        for row in 0..table.rows() as u32 {
            let cell = table.cell(row, self.earlier.column);
            let sendable =
                !cell.is_empty() && !cell.chars().any(char::is_control) && (!numeric || is_number(cell));
            if !sendable {
                return None;
            }
            keys.insert(if numeric {
                canonical_number(cell).into_owned()
            } else {
                cell.to_owned()
            });
            if keys.len() > MAX_KEYS {
                return None;
            }
        }
        if self.kind == FieldType::Date {
            let days = keys.iter().all(|key| is_canonical_date(key));
            let (first, last) = (keys.first()?, keys.last()?);
            return days.then(|| vec![self.between(&push::quoted(first), &push::quoted(last))]);
        }
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        Some(
            keys.chunks(KEYS_PER_REQUEST)
                .map(|keys| push::one_of(self.code, self.kind, keys.iter().copied()))
                .collect(),
        )
    }

    /// What the author should know where the keys cannot be asked for.
    pub fn read_whole(&self) -> Message {
        let code = self.code;
        say!(
            "all records are read for the join by {code}: it has more than {MAX_KEYS} keys, or one that is empty or cannot be sent",
            "{code} による結合のために全レコードを読み取ります。キーが {MAX_KEYS} 個を超えるか、空のキーや送信できないキーがあります"
        )
    }

    fn between(&self, first: &str, last: &str) -> String {
        let code = self.code;
        format!("{code} >= {first} and {code} <= {last}")
    }

    /// The form of such a condition, and how many of them there are, while only the number of rows is known that give
    /// keys.
    pub fn outline(&self, rows: Estimate) -> (String, Estimate) {
        if self.kind == FieldType::Date {
            return (self.between(push::LATER, push::LATER), Estimate::exactly(1));
        }
        let keys = rows.most.map_or(MAX_KEYS, |most| {
            usize::try_from(most).unwrap_or(MAX_KEYS).min(MAX_KEYS)
        });
        let conditions = Estimate {
            least: rows.least.min(1),
            most: Some(keys.div_ceil(KEYS_PER_REQUEST) as u64),
        };
        (format!("{} in ({})", self.code, push::LATER), conditions)
    }
}
