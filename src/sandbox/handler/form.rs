//! Form definitions: reading live and preview forms, adding fields to a preview, deploying it (KTB-160 to KTB-164). Enough
//! for tools that create their own log app; views, layouts and rights cannot be set here.
use std::collections::BTreeMap;

use serde_json::{Map, Value as Json, json};

use super::Context;
use super::params::{Params, as_id, revision};
use crate::sandbox::app::file::{self, AppEntry};
use crate::sandbox::app::form::{Form, RESERVED_CODES};
use crate::sandbox::app::lookup::{self, LookupError};
use crate::sandbox::app::{App, Right};
use crate::sandbox::error::{ApiError, BAD_FORMAT, Message, app_not_found};
use crate::sandbox::store::state::State;
use crate::sandbox::store::tx::Tx;

/// Most apps of one deploy request.
const MAX_DEPLOY: usize = 300;

/// GET app/form/fields.json
pub fn fields(state: &State, context: &Context<'_>, params: &Params) -> Result<Json, ApiError> {
    let found = context.app(state, params)?;
    context
        .caller
        .require_any(&found.app, &[Right::View, Right::Add, Right::Admin])?;
    Ok(answer(&found.app))
}

fn answer(app: &App) -> Json {
    json!({ "properties": app.form.properties(), "revision": app.revision.to_string() })
}

/// GET preview/app/form/fields.json
pub fn preview_fields(state: &State, context: &Context<'_>, params: &Params) -> Result<Json, ApiError> {
    let app = preview(state, context, params.id("app")?)?;
    Ok(answer(&app))
}

/// POST preview/app.json: only people with the right to create apps.
pub fn create(tx: &mut Tx<'_>, context: &Context<'_>, params: &Params) -> Result<Json, ApiError> {
    params.require(&["name"])?;
    context.caller.require_administrator()?;
    let id = tx.state().next_app_id();
    tx.set_preview(AppEntry {
        id,
        name: params.text("name")?,
        code: String::new(),
        description: String::new(),
        space: None,
        properties: Map::new(),
        number_precision: None,
        tokens: Vec::new(),
        access: Vec::new(),
        text_equality: None,
        revision: Some(2),
    });
    Ok(json!({ "app": id.to_string(), "revision": "2" }))
}

/// POST preview/app/form/fields.json
pub fn add_fields(tx: &mut Tx<'_>, context: &Context<'_>, params: &Params) -> Result<Json, ApiError> {
    params.require(&["app", "properties"])?;
    let app = preview(tx.state(), context, params.id("app")?)?;
    check_settings_revision(&app, params.sent("revision"))?;
    let new = params.object("properties")?.cloned().unwrap_or_default();
    let mut properties = app.form.properties();
    for (code, definition) in new {
        let path = format!("properties[{code}].code");
        if RESERVED_CODES.contains(&code.as_str()) {
            let message = Message::fixed(
                "予約語のため、使用できません。",
                "The code is reserved and cannot be used.",
            );
            return Err(ApiError::invalid(path, message));
        }
        if properties.insert(code.clone(), definition).is_some() {
            let message = Message::fixed(
                "フィールドコードが重複しています。",
                "The field code is already used.",
            );
            return Err(ApiError::invalid(path, message));
        }
    }
    let form = Form::read(&properties).map_err(|problem| {
        let message = Message::filled(problem.clone(), problem);
        ApiError::invalid("properties", message)
    })?;
    let changed = App { form, ..app };
    check_lookups(tx.state(), &changed, Moment::Adding)?;
    let revision = changed.revision + 1;
    tx.set_preview(AppEntry {
        properties,
        revision: Some(revision),
        ..file::entry(&changed)
    });
    Ok(json!({ "revision": revision.to_string() }))
}

/// The preview of an app: its own, or the live app when nothing was changed.
fn preview(state: &State, context: &Context<'_>, id: u64) -> Result<App, ApiError> {
    let app = match state.previews.get(&id) {
        Some(entry) => file::build(entry.clone()).map_err(|_| app_not_found(id))?,
        None => (*context.reach(state, id)?.app).clone(),
    };
    context.caller.require(&app, Right::Admin)?;
    Ok(app)
}

fn check_settings_revision(app: &App, sent: Option<&Json>) -> Result<(), ApiError> {
    match revision(sent, "revision")? {
        Some(expected) if expected != app.revision => {
            let message = Message::fixed(
                "指定したrevisionは最新ではありません。",
                "The revision of the settings is not the latest.",
            );
            Err(ApiError::new(409, "GAIA_CO03", message))
        }
        _ => Ok(()),
    }
}

/// When a form is checked: a wrong key is found at the deployment only (KTB-122).
#[derive(Clone, Copy, PartialEq, Eq)]
enum Moment {
    Adding,
    Deploying,
}

fn check_lookups(state: &State, app: &App, moment: Moment) -> Result<(), ApiError> {
    let live = |id| state.apps.get(&id).map(|found| &*found.app);
    let Err(problem) = lookup::check(app, live) else {
        return Ok(());
    };
    let code = match problem {
        LookupError::NoApp { app, .. } => return Err(app_not_found(app)),
        LookupError::NoField { .. } => "GAIA_FC01",
        LookupError::Key { .. } if moment == Moment::Deploying => "GAIA_LO03",
        LookupError::Key { .. } => return Ok(()),
    };
    let text = problem.to_string();
    Err(ApiError::new(400, code, Message::filled(text.clone(), text)))
}

/// How a deployment stands (KTB-162).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deployment {
    /// Running in the background.
    Processing,
    /// Done.
    Success,
    /// Refused, for example because existing records violate a new unique field.
    Fail,
}

/// Deployments by app.
#[derive(Default)]
pub struct Deployments(BTreeMap<u64, Deployment>);

impl Deployments {
    /// POST preview/app/deploy.json: checks the request and answers the apps to deploy in the background.
    pub fn begin(
        &mut self,
        state: &State,
        context: &Context<'_>,
        params: &Params,
    ) -> Result<Vec<u64>, ApiError> {
        let apps = params
            .get("apps")
            .ok_or_else(|| ApiError::missing("apps"))?
            .as_array()
            .filter(|apps| (1..=MAX_DEPLOY).contains(&apps.len()))
            .ok_or_else(|| ApiError::invalid("apps", BAD_FORMAT))?;
        let mut ids = Vec::new();
        for (index, sent) in apps.iter().enumerate() {
            let path = format!("apps[{index}].app");
            let id = sent
                .get("app")
                .and_then(as_id)
                .ok_or_else(|| ApiError::invalid(path, BAD_FORMAT))?;
            let app = preview(state, context, id)?;
            check_settings_revision(&app, sent.get("revision"))?;
            check_lookups(state, &app, Moment::Deploying)?;
            ids.push(id);
        }
        for id in &ids {
            self.0.insert(*id, Deployment::Processing);
        }
        Ok(ids)
    }

    /// Notes how a deployment ended.
    pub fn end(&mut self, id: u64, outcome: Deployment) {
        self.0.insert(id, outcome);
    }

    /// GET preview/app/deploy.json
    pub fn status(&self, state: &State, context: &Context<'_>, params: &Params) -> Result<Json, ApiError> {
        let ids = params.texts("apps")?.ok_or_else(|| ApiError::missing("apps"))?;
        let mut apps = Vec::new();
        for id in ids {
            let number = id.parse().map_err(|_| ApiError::invalid("apps", BAD_FORMAT))?;
            preview(state, context, number)?;
            let status = match self.0.get(&number) {
                Some(Deployment::Processing) => "PROCESSING",
                Some(Deployment::Fail) => "FAIL",
                Some(Deployment::Success) | None => "SUCCESS",
            };
            apps.push(json!({ "app": id, "status": status }));
        }
        Ok(json!({ "apps": apps }))
    }
}

/// Makes a preview the live app; the background part of a deployment.
pub fn deploy(tx: &mut Tx<'_>, id: u64) -> Result<Deployment, ApiError> {
    let Some(entry) = tx.state().previews.get(&id).cloned() else {
        return Ok(Deployment::Success);
    };
    let app = file::build(entry).map_err(|_| app_not_found(id))?;
    match tx.set_app(app) {
        Ok(()) => {
            tx.drop_preview(id);
            Ok(Deployment::Success)
        }
        Err(_) => Ok(Deployment::Fail),
    }
}
