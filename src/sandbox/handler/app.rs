//! App information and general settings (KTB-126, KTB-165, KTB-173), and the status API of apps without process management.
use serde_json::{Value as Json, json};

use super::Context;
use super::params::{Params, as_text};
use crate::sandbox::app::{App, Right};
use crate::sandbox::error::{ApiError, BAD_FORMAT, Message};
use crate::sandbox::store::state::State;
use crate::sandbox::value::number::Rounding;

const MAX_APPS: usize = 100;
/// When every app of the apps file claims to have been made; the file says nothing about it.
const CREATED_AT: &str = "2026-01-01T00:00:00.000Z";

/// GET app.json
pub fn one(state: &State, context: &Context<'_>, params: &Params) -> Result<Json, ApiError> {
    let id = params.id("id")?;
    let found = context.reach(state, id)?;
    context
        .caller
        .require_any(&found.app, &[Right::View, Right::Add, Right::Admin])?;
    Ok(description(state, &found.app))
}

/// GET apps.json: apps of guest spaces are listed too (KTB-33).
pub fn list(state: &State, context: &Context<'_>, params: &Params) -> Result<Json, ApiError> {
    let ids = params.texts("ids")?;
    let codes = params.texts("codes")?;
    let spaces = params.texts("spaceIds")?;
    let name = params.text("name")?.to_lowercase();
    let limit = number(params, "limit", MAX_APPS)?;
    if !(1..=MAX_APPS).contains(&limit) {
        return Err(ApiError::invalid("limit", BAD_FORMAT));
    }
    let offset = number(params, "offset", 0)?;
    let among = |wanted: &Option<Vec<String>>, value: &str| {
        wanted
            .as_ref()
            .is_none_or(|wanted| wanted.iter().any(|known| known == value))
    };
    let apps: Vec<Json> = state
        .apps
        .values()
        .map(|found| &*found.app)
        .filter(|app| {
            context
                .caller
                .require_any(app, &[Right::View, Right::Add, Right::Admin])
                .is_ok()
        })
        .filter(|app| among(&ids, &app.id.to_string()) && among(&codes, &app.code))
        .filter(|app| {
            spaces.is_none()
                || app
                    .space
                    .is_some_and(|space| among(&spaces, &space.id.to_string()))
        })
        .filter(|app| app.name.to_lowercase().contains(&name))
        .skip(offset)
        .take(limit)
        .map(|app| description(state, app))
        .collect();
    Ok(json!({ "apps": apps }))
}

fn number(params: &Params, name: &str, default: usize) -> Result<usize, ApiError> {
    match params.get(name) {
        None => Ok(default),
        Some(value) => as_text(value)
            .and_then(|text| text.parse().ok())
            .ok_or_else(|| ApiError::invalid(name, BAD_FORMAT)),
    }
}

fn description(state: &State, app: &App) -> Json {
    let administrator = state.user(0);
    let user = json!({ "code": administrator.code, "name": administrator.name });
    let space = app.space.map(|space| space.id.to_string());
    json!({
        "appId": app.id.to_string(),
        "code": app.code,
        "name": app.name,
        "description": app.description,
        "spaceId": space,
        "threadId": space,
        "createdAt": CREATED_AT,
        "creator": user,
        "modifiedAt": CREATED_AT,
        "modifier": user,
    })
}

/// GET app/settings.json
pub fn settings(state: &State, context: &Context<'_>, params: &Params) -> Result<Json, ApiError> {
    let found = context.app(state, params)?;
    context
        .caller
        .require_any(&found.app, &[Right::View, Right::Add, Right::Admin])?;
    let app = &found.app;
    let rounding = match app.precision.rounding {
        Rounding::HalfEven => "HALF_EVEN",
        Rounding::Up => "UP",
        Rounding::Down => "DOWN",
    };
    Ok(json!({
        "name": app.name,
        "description": app.description,
        "icon": { "type": "PRESET", "key": "APP72" },
        "theme": "WHITE",
        "titleField": { "selectionMode": "AUTO" },
        "enableThumbnails": true,
        "enableBulkDeletion": false,
        "enableComments": true,
        "enableDuplicateRecord": true,
        "enableInlineRecordEditing": true,
        "numberPrecision": {
            "digits": app.precision.digits.to_string(),
            "decimalPlaces": app.precision.decimals.to_string(),
            "roundingMode": rounding,
        },
        "firstMonthOfFiscalYear": "4",
        "revision": app.revision.to_string(),
    }))
}

/// GET app/status.json: process management is always off (KTB-126).
pub fn status(state: &State, context: &Context<'_>, params: &Params) -> Result<Json, ApiError> {
    let found = context.app(state, params)?;
    context
        .caller
        .require_any(&found.app, &[Right::View, Right::Add, Right::Admin])?;
    Ok(
        json!({ "enable": false, "states": null, "actions": null, "revision": found.app.revision.to_string() }),
    )
}

/// PUT record/status.json and its relatives: refused, because process management is off (KTB-125).
pub fn record_status(state: &State, context: &Context<'_>, params: &Params) -> Result<Json, ApiError> {
    context.app(state, params)?;
    let message = Message::fixed(
        "プロセス管理機能が無効のため、操作できません。",
        "The operation is not possible, because process management is disabled.",
    );
    Err(ApiError::new(400, "GAIA_ST02", message))
}
