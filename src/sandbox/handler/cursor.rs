//! Cursors (KTB-145 to KTB-147): ids fixed at creation, values read at the moment of each GET. They live in memory only
//! and end with the process.
use std::collections::HashMap;

use serde_json::{Value as Json, json};

use super::Context;
use super::params::{Params, as_text};
use crate::sandbox::app::Right;
use crate::sandbox::error::{ApiError, BAD_FORMAT, Message};
use crate::sandbox::ident;
use crate::sandbox::query::bind::{MAX_LIMIT, Scope, syntax_error};
use crate::sandbox::query::select::all_ids;
use crate::sandbox::record::read::Projection;
use crate::sandbox::store::state::State;

/// Cursors of a domain.
const MAX_CURSORS: usize = 10;
const DEFAULT_SIZE: usize = 100;
/// Life after creation and after each GET.
const LIFE_MS: i64 = 10 * 60 * 1_000;

/// The open cursors.
#[derive(Default)]
pub struct Cursors(HashMap<String, Cursor>);

struct Cursor {
    app: u64,
    fields: Option<Vec<String>>,
    size: usize,
    ids: Vec<u64>,
    at: usize,
    expires_ms: i64,
}

impl Cursors {
    /// POST records/cursor.json
    pub fn create(
        &mut self,
        state: &State,
        context: &Context<'_>,
        params: &Params,
    ) -> Result<Json, ApiError> {
        let found = context.app(state, params)?;
        let fields = params.texts("fields")?.filter(|fields| !fields.is_empty());
        let size = match params.get("size") {
            None => DEFAULT_SIZE,
            Some(size) => as_text(size)
                .and_then(|size| size.parse().ok())
                .filter(|size| (1..=MAX_LIMIT).contains(size))
                .ok_or_else(|| ApiError::invalid("size", BAD_FORMAT))?,
        };
        context.caller.require(&found.app, Right::View)?;
        let scope = Scope {
            state,
            app: &found.app,
            caller: context.caller,
            now: context.now,
        };
        let plan = scope.plan(&params.text("query")?)?;
        if plan.paged {
            return Err(syntax_error());
        }
        let now_ms = context.now.as_millisecond();
        self.0.retain(|_, cursor| cursor.expires_ms > now_ms);
        if self.0.len() >= MAX_CURSORS {
            let message = Message::filled(
                format!("カーソルは{MAX_CURSORS}個まで作成できます。"),
                format!("No more than {MAX_CURSORS} cursors can be created."),
            );
            return Err(ApiError::new(429, "GAIA_TM12", message));
        }
        let ids = all_ids(state, &found.table, &plan);
        let total = ids.len().to_string();
        let id = ident::key();
        let cursor = Cursor {
            app: found.app.id,
            fields,
            size,
            ids,
            at: 0,
            expires_ms: now_ms + LIFE_MS,
        };
        self.0.insert(id.clone(), cursor);
        Ok(json!({ "id": id, "totalCount": total }))
    }

    /// GET records/cursor.json
    pub fn next(
        &mut self,
        state: &State,
        context: &Context<'_>,
        params: &Params,
    ) -> Result<Vec<u8>, ApiError> {
        let (id, cursor) = self.find(context, params)?;
        let found = context.reach(state, cursor.app)?;
        context.caller.require(&found.app, Right::View)?;
        let projection = Projection::new(state, &found.app, cursor.fields.as_deref());
        let end = (cursor.at + cursor.size).min(cursor.ids.len());
        let mut body = b"{\"records\":[".to_vec();
        let mut first = true;
        for record_id in &cursor.ids[cursor.at..end] {
            // Deleted meanwhile: missing, the page is short (KTB-147).
            let Some(record) = found.table.get(*record_id) else {
                continue;
            };
            if !first {
                body.push(b',');
            }
            first = false;
            projection.write(&mut body, *record_id, record);
        }
        cursor.at = end;
        cursor.expires_ms = context.now.as_millisecond() + LIFE_MS;
        let more = end < cursor.ids.len();
        if !more {
            self.0.remove(&id);
        }
        body.extend_from_slice(format!("],\"next\":{more}}}").as_bytes());
        Ok(body)
    }

    /// DELETE records/cursor.json
    pub fn delete(&mut self, context: &Context<'_>, params: &Params) -> Result<Json, ApiError> {
        let (id, _) = self.find(context, params)?;
        self.0.remove(&id);
        Ok(json!({}))
    }

    fn find(&mut self, context: &Context<'_>, params: &Params) -> Result<(String, &mut Cursor), ApiError> {
        params.require(&["id"])?;
        let id = params.text("id")?;
        let now_ms = context.now.as_millisecond();
        self.0.retain(|_, cursor| cursor.expires_ms > now_ms);
        let cursor = self.0.get_mut(&id).ok_or_else(|| {
            let message = Message::fixed(
                "指定したカーソルが見つかりません。",
                "The specified cursor is not found.",
            );
            ApiError::new(404, "GAIA_CN01", message)
        })?;
        Ok((id, cursor))
    }
}
