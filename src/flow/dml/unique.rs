//! Values that a statement would give to several records although the form prohibits duplicates (KTB-109).

use std::collections::BTreeMap;

use crate::flow::exec::EngineError;
use crate::flow::sql::message::{self, say};

use super::fault::{self, Fault};
use super::inspect::{Findings, Stage};
use super::stage::Staged;

/// A value of a field without duplicates that stands in several rows.
struct Repeated<'s> {
    code: &'s str,
    value: String,
    /// At least two, from 0, in order.
    rows: Vec<usize>,
}

/// Repeated values of all fields but the keys, which have their own test.
fn repeated<'s>(staged: &'s Staged<'_>, keys: &[usize]) -> Vec<Repeated<'s>> {
    let mut found = Vec::new();
    for (place, field) in staged.fields.iter().enumerate() {
        if !field.unique || keys.contains(&place) {
            continue;
        }
        let mut rows_of: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for row in 0..staged.rows {
            for value in staged
                .key(row, &[place])
                .into_iter()
                .filter(|value| !value.is_empty())
            {
                rows_of.entry(value).or_default().push(row);
            }
        }
        let several = rows_of.into_iter().filter(|(_, rows)| rows.len() > 1);
        found.extend(several.map(|(value, rows)| Repeated {
            code: &field.code,
            value,
            rows,
        }));
    }
    found
}

/// Notes every row with such a value.
pub(super) fn find_repeated(staged: &Staged<'_>, keys: &[usize], findings: &mut Findings) {
    for Repeated { code, value, rows } in repeated(staged, keys) {
        let shown = message::value(code, &value);
        let fault = Fault::new(
            fault::KEY_REPEATED,
            say!(
                "{code} prohibits duplicates, but {shown} is in several rows",
                "{code} は値の重複が禁止されていますが、{shown} が複数の行にあります"
            ),
        );
        for row in rows {
            findings.add(row, Stage::Key, code, &fault, &value);
        }
    }
}

/// Refuses the statement for the first such value.
pub(super) fn refuse_repeated(staged: &Staged<'_>, keys: &[usize]) -> Result<(), EngineError> {
    let first = repeated(staged, keys)
        .into_iter()
        .min_by_key(|repeated| repeated.rows.clone());
    let Some(Repeated { code, value, rows }) = first else {
        return Ok(());
    };
    let numbers: Vec<String> = rows.iter().take(2).map(|row| (row + 1).to_string()).collect();
    let shown = message::value(code, &value);
    let (english, japanese) = (numbers.join(" and "), numbers.join(" 行目と "));
    Err(EngineError::argument(say!(
        "{code} prohibits duplicates, but rows {english} would both get {shown}; nothing was written",
        "{code} は値の重複が禁止されていますが、{japanese} 行目の値がどちらも {shown} になります。何も書き込んでいません"
    )))
}
