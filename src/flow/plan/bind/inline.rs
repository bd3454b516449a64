//! A plain common table expression over one app that is read once is no table of its own: its columns and its condition
//! become part of the SELECT that reads it, and so of the request (LNG-133).

use std::convert::Infallible;

use crate::flow::plan::filter::Filter;
use crate::flow::plan::query::{BoundSelect, CteBody, Output};
use crate::flow::plan::scalar::{ColumnId, Scalar};
use crate::flow::plan::scope::Origin;

/// The SELECT of an expression that can be taken in.
fn plain(body: &CteBody) -> Option<(&BoundSelect, Vec<ColumnId>)> {
    let CteBody::Query(query) = body else { return None };
    let select = &query.first;
    let one_app = matches!(select.sources.as_slice(), [source] if matches!(source.origin, Origin::App(_)));
    let only_rows = query.ctes.is_empty()
        && query.parameters.is_empty()
        && query.unions.is_empty()
        && select.grouping.is_none()
        && select.windows.is_empty()
        && !select.distinct
        && select.order.is_empty()
        && select.kintone_order.is_none()
        && select.limit.is_none()
        && select.offset == 0;
    let columns: Option<Vec<ColumnId>> = select
        .outputs
        .iter()
        .map(|output| match output {
            Output::Value(Scalar::Column(id)) => Some(*id),
            _ => None,
        })
        .collect();
    columns
        .filter(|_| one_app && only_rows)
        .map(|columns| (select, columns))
}

/// Lets `select`, which reads only the expression, read the expression's app instead. False if that would say something
/// else.
pub(super) fn take_in(select: &mut BoundSelect, body: &CteBody) -> bool {
    let Some((inner, columns)) = plain(body) else {
        return false;
    };
    let mut replace = |part: &Scalar| Ok(replaced(part, &columns));
    let Ok(filter) = select.filter.map::<Infallible>(&mut replace);
    let moved = |value: &Scalar| {
        let Ok(value) = value.map::<Infallible>(&mut |part| Ok(replaced(part, &columns)));
        value
    };
    select.filter = Filter::All(vec![inner.filter.clone(), filter]);
    if let Some(grouping) = &mut select.grouping {
        for key in &mut grouping.keys {
            *key = moved(key);
        }
        for argument in grouping
            .aggregates
            .iter_mut()
            .filter_map(|aggregate| aggregate.argument.as_mut())
        {
            *argument = moved(argument);
        }
    } else {
        for output in &mut select.outputs {
            if let Output::Value(value) = output {
                *value = moved(value);
            }
        }
        for value in &mut select.hidden {
            *value = moved(value);
        }
    }
    select.sources.clone_from(&inner.sources);
    true
}

fn replaced(part: &Scalar, columns: &[ColumnId]) -> Option<Scalar> {
    match part {
        Scalar::Column(id) => columns.get(id.column).copied().map(Scalar::Column),
        _ => None,
    }
}
