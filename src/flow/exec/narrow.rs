//! Join prefilter (LNG-194): when the rows on one side are few, the app on the other side is asked for their keys only.

use std::collections::BTreeSet;

use crate::flow::apps::FieldType;
use crate::flow::calendar::is_canonical_date;
use crate::flow::plan::push;
use crate::flow::plan::query::BoundJoin;
use crate::flow::plan::scope::{Origin, ScopeSource};
use crate::flow::sql::ast::JoinKind;
use crate::flow::value::{canonical_number, is_number};

use super::join::JoinTable;

/// The most distinct keys that are sent.
const MAX_KEYS: usize = 300;
/// Keys of one request.
const KEYS_PER_REQUEST: usize = 50;

/// Conditions that together let all records pass that the join can meet, none of them twice; `None` = read everything.
pub(super) fn key_conditions(
    join: &BoundJoin,
    source: &ScopeSource,
    tables: &[JoinTable],
) -> Option<Vec<String>> {
    let (earlier, joined) = join.on?;
    if !matches!(join.kind, JoinKind::Inner | JoinKind::Left) || !matches!(source.origin, Origin::App(_)) {
        return None;
    }
    let column = source.columns.get(joined.column)?;
    let kind = column.info.kind.field()?;
    let table = tables.get(earlier.source)?;
    let numeric = matches!(kind, FieldType::Number | FieldType::Id);
    if numeric && !join.numeric {
        return None;
    }
    // Rows of an earlier table that are joined more than once give the same keys again.
    let mut keys: BTreeSet<String> = BTreeSet::new();
    for row in 0..table.rows() as u32 {
        let cell = table.cell(row, earlier.column);
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
    let code = &column.info.name;
    match kind {
        FieldType::SingleLineText | FieldType::Number | FieldType::Id => {
            let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
            Some(
                keys.chunks(KEYS_PER_REQUEST)
                    .map(|keys| push::one_of(code, kind, keys.iter().copied()))
                    .collect(),
            )
        }
        FieldType::Date if keys.iter().all(|key| is_canonical_date(key)) => {
            let (first, last) = (keys.first()?, keys.last()?);
            Some(vec![format!(
                "{code} >= {} and {code} <= {}",
                push::quoted(first),
                push::quoted(last)
            )])
        }
        _ => None,
    }
}
