//! kintone for the SQL engine: the engine's [`Apps`] on the REST client.
//!
//! Reads are decoded straight into the engine's pages. PUT, upsert and DELETE are repeated by the client; a plain
//! INSERT whose answer was lost is not, because it could add the records twice (RNR-120).

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::{Value, json};

use super::config::{Authentication, Profile};
use super::verdict::{Failure, ResultCode};
use crate::flow::apps::{
    AppId, AppSummary, Apps, AppsError, Form, NumberPrecision, Page, PageRequest, WriteChunk, WritePermit,
    WriteRow, WriteTarget, WriteValue, Written, decode,
};
use crate::flow::sql::message::{Message, say};
use crate::kintone::{self, App, Client, Fields, Outcome, Request, Target, Update, query};

/// Apps per request of `apps.json`, and in all (LNG-19).
const APPS_PER_PAGE: usize = 100;
const MAX_APPS: usize = 1000;

/// The kintone environment of a profile, as the engine sees it.
pub struct Remote<'a> {
    client: &'a Client,
    profile: &'a Profile,
    forms: &'a FormCache,
}

/// Forms read so far: the jobs of a batch share them.
#[derive(Default)]
pub struct FormCache(Mutex<BTreeMap<AppId, Form>>);

impl FormCache {
    /// A poisoned lock guards a plain map.
    fn locked(&self) -> MutexGuard<'_, BTreeMap<AppId, Form>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Remote<'a> {
    /// Reads nothing yet.
    pub fn new(client: &'a Client, profile: &'a Profile, forms: &'a FormCache) -> Self {
        Self {
            client,
            profile,
            forms,
        }
    }

    fn app(&self, app: AppId) -> Result<App, AppsError> {
        self.profile.address(app.0).map_err(own)
    }

    /// Whether every one of these records is gone: what a DELETE with a lost answer has to be asked (KTB-138).
    fn all_gone(&self, app: &App, ids: &[u64]) -> Result<bool, kintone::Error> {
        let ids: Vec<String> = ids.iter().map(u64::to_string).collect();
        let condition = format!("{} limit 1", query::one_of("$id", &ids));
        Ok(self
            .client
            .records(app, &condition, &["$id"], false)?
            .records
            .is_empty())
    }
}

impl Apps for Remote<'_> {
    fn form(&self, app: AppId) -> Result<Form, AppsError> {
        if let Some(form) = self.forms.locked().get(&app) {
            return Ok(form.clone());
        }
        let body = self.client.form_fields(&self.app(app)?).map_err(refused)?;
        let form = Form::from_value(app, body).map_err(|error| broken(error.message()))?;
        self.forms.locked().insert(app, form.clone());
        Ok(form)
    }

    fn states(&self, app: AppId) -> Result<Vec<String>, AppsError> {
        let address = self.app(app)?;
        let request = Request::get("app/status.json", &address, vec![("app", json!(app.0))]);
        let body = self.client.send_json(&request).map_err(refused)?;
        let Some(states) = body["states"].as_object() else {
            return Ok(Vec::new());
        };
        let index = |state: &Value| match &state["index"] {
            Value::String(text) => text.parse::<u64>().unwrap_or(u64::MAX),
            other => other.as_u64().unwrap_or(u64::MAX),
        };
        let mut names: Vec<(u64, String)> = states
            .iter()
            .map(|(name, state)| (index(state), name.clone()))
            .collect();
        names.sort();
        Ok(names.into_iter().map(|(_, name)| name).collect())
    }

    fn number_precision(&self, app: AppId) -> Result<NumberPrecision, AppsError> {
        let settings = self.client.app_settings(&self.app(app)?).map_err(refused)?;
        let number = |key: &str| match &settings["numberPrecision"][key] {
            Value::String(text) => text.parse().ok(),
            other => other.as_u64().and_then(|n| u32::try_from(n).ok()),
        };
        match (number("digits"), number("decimalPlaces")) {
            (Some(digits), Some(decimal_places)) => Ok(NumberPrecision {
                digits,
                decimal_places,
            }),
            _ => Err(broken(say!(
                "the settings of {app} tell no number precision",
                "{app} の設定に数値の精度がありません"
            ))),
        }
    }

    fn page(&self, request: &PageRequest, into: &mut Page) -> Result<(), AppsError> {
        let address = self.app(request.app)?;
        let fields: Vec<&str> = request.fields.iter().map(String::as_str).collect();
        // The client may decode several answers until one is whole, and hands over a closure that it can call again.
        let page = Mutex::new(into);
        self.client
            .records_with(&address, &request.query, &fields, request.total_count, |answer| {
                let mut page = page.lock().unwrap_or_else(PoisonError::into_inner);
                decode::page(&answer.body, &request.fields, &mut page).ok()?;
                page.search_aborted = answer.warning.is_some();
                Some(())
            })
            .map_err(refused)
    }

    fn write(&self, _permit: &WritePermit, chunk: &WriteChunk<'_>) -> Result<Written, AppsError> {
        let address = self.app(chunk.app())?;
        let client = self.client;
        let written = match chunk {
            WriteChunk::Insert { fields, rows, .. } => {
                let records: Vec<Fields> = rows.iter().map(|row| record(fields, row)).collect();
                let added = client.add_all(&address, &records).map_err(refused)?;
                Written {
                    inserted: added.len() as u64,
                    ..Written::default()
                }
            }
            WriteChunk::Update { fields, rows, .. } => {
                let updates = updates(rows, fields, "");
                let changed = client.update_all(&address, &updates).map_err(refused)?;
                Written {
                    updated: changed.len() as u64,
                    ..Written::default()
                }
            }
            WriteChunk::Upsert {
                key, fields, rows, ..
            } => {
                let updates = updates(rows, fields, key);
                let records = client.upsert_all(&address, &updates).map_err(refused)?;
                let inserted = records.iter().filter(|record| record.inserted).count() as u64;
                Written {
                    inserted,
                    updated: records.len() as u64 - inserted,
                    deleted: 0,
                }
            }
            WriteChunk::Delete { rows, .. } => {
                let ids: Vec<u64> = rows
                    .iter()
                    .filter_map(|row| match row.target {
                        WriteTarget::Id(id) => Some(id),
                        WriteTarget::New | WriteTarget::Key(_) => None,
                    })
                    .collect();
                if let Err(error) = client.delete(&address, &ids, None) {
                    let decided = error.outcome() == Outcome::Unknown
                        && self.all_gone(&address, &ids).map_err(refused)?;
                    if !decided {
                        return Err(refused(error));
                    }
                }
                Written {
                    deleted: ids.len() as u64,
                    ..Written::default()
                }
            }
        };
        Ok(written)
    }

    fn list(&self) -> Result<Vec<AppSummary>, AppsError> {
        let Authentication::Password { user, password } = &self.profile.auth else {
            return Err(own(Failure::invalid(list_needs_password())));
        };
        let address = App {
            id: 0,
            role: "app list".to_owned(),
            auth: kintone::Auth::Password {
                user: user.clone(),
                password: password.clone(),
            },
        };
        let mut apps = Vec::new();
        while apps.len() < MAX_APPS {
            let parameters = vec![("limit", json!(APPS_PER_PAGE)), ("offset", json!(apps.len()))];
            let body = self
                .client
                .send_json(&Request::get("apps.json", &address, parameters))
                .map_err(refused)?;
            let page = body["apps"].as_array().map(Vec::as_slice).unwrap_or_default();
            for entry in page {
                let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
                let id = text("appId")
                    .parse()
                    .map_err(|_| broken(say!("an app without appId", "appId のないアプリがあります")))?;
                apps.push(AppSummary {
                    id: AppId(id),
                    name: text("name"),
                    description: text("description"),
                });
            }
            if page.len() < APPS_PER_PAGE {
                break;
            }
        }
        apps.truncate(MAX_APPS);
        Ok(apps)
    }

    fn list_refusal(&self) -> Option<Message> {
        match self.profile.auth {
            Authentication::Password { .. } => None,
            Authentication::ApiToken => Some(list_needs_password()),
        }
    }
}

fn list_needs_password() -> Message {
    say!(
        "SHOW APPS needs auth.type password: an API token sees its own app only",
        "SHOW APPS には auth.type password が必要です。API トークンで見えるのはそのアプリだけです"
    )
}

/// A record body with the values of one row.
fn record(fields: &[String], row: &WriteRow) -> Fields {
    fields
        .iter()
        .zip(&row.values)
        .fold(Fields::new(), |record, (code, value)| {
            record.value(code, json_value(value))
        })
}

fn updates(rows: &[WriteRow], fields: &[String], key: &str) -> Vec<Update> {
    rows.iter()
        .map(|row| Update {
            target: match &row.target {
                WriteTarget::Id(id) => Target::Id(*id),
                WriteTarget::Key(value) => Target::key(key, value),
                // The executor pairs kinds of chunks and targets; a record 0 does not exist and is refused by kintone.
                WriteTarget::New => Target::Id(0),
            },
            revision: None,
            fields: record(fields, row),
        })
        .collect()
}

fn json_value(value: &WriteValue) -> Value {
    match value {
        WriteValue::Text(text) => json!(text),
        WriteValue::List(elements) => json!(elements),
        WriteValue::Codes(codes) => codes.iter().map(|code| json!({"code": code})).collect(),
    }
}

/// A request that failed.
fn refused(error: kintone::Error) -> AppsError {
    let message = Message::from(&error);
    AppsError::told(error, message)
}

/// What this program refuses itself.
fn own(failure: Failure) -> AppsError {
    let message = failure.message.clone();
    AppsError::told(failure, message)
}

/// An answer of kintone that is JSON but not what was asked for.
fn broken(message: Message) -> AppsError {
    own(Failure::new(ResultCode::ApiError, message))
}
