//! Reading records: `record.json` and `records.json` (KTB-40 to KTB-48).
use super::Context;
use super::params::Params;
use crate::sandbox::app::Right;
use crate::sandbox::error::{ApiError, record_not_found};
use crate::sandbox::query::bind::Scope;
use crate::sandbox::query::select::page;
use crate::sandbox::record::read::Projection;
use crate::sandbox::store::state::State;

/// GET record.json
pub fn get_one(state: &State, context: &Context<'_>, params: &Params) -> Result<Vec<u8>, ApiError> {
    params.require(&["app", "id"])?;
    let found = context.app(state, params)?;
    let id = params.id("id")?;
    context.caller.require(&found.app, Right::View)?;
    let record = found.table.get(id).ok_or_else(|| record_not_found(id))?;
    let mut body = b"{\"record\":".to_vec();
    Projection::new(state, &found.app, None).write(&mut body, id, record);
    body.push(b'}');
    Ok(body)
}

/// GET records.json
pub fn get_many(state: &State, context: &Context<'_>, params: &Params) -> Result<Vec<u8>, ApiError> {
    let found = context.app(state, params)?;
    let fields = params.texts("fields")?;
    context.caller.require(&found.app, Right::View)?;
    let scope = Scope {
        state,
        app: &found.app,
        caller: context.caller,
        now: context.now,
    };
    let plan = scope.plan(&params.text("query")?)?;
    let page = page(state, &found.table, &plan, params.flag("totalCount"));
    let projection = Projection::new(
        state,
        &found.app,
        fields.as_deref().filter(|fields| !fields.is_empty()),
    );
    let mut body = b"{\"records\":[".to_vec();
    for (index, (id, record)) in page.records.iter().enumerate() {
        if index > 0 {
            body.push(b',');
        }
        projection.write(&mut body, *id, record);
    }
    match page.total {
        // The total is a string, or null when it was not asked for (KTB-44).
        Some(total) => body.extend_from_slice(format!("],\"totalCount\":\"{total}\"}}").as_bytes()),
        None => body.extend_from_slice(b"],\"totalCount\":null}"),
    }
    Ok(body)
}
