//! The control requests themselves: `/_control/...`, JSON in and out.
use std::sync::Arc;
use std::sync::atomic::Ordering;

use serde_json::{Map, Value as Json, json};

use super::Gate;
use super::hold::Release;
use crate::sandbox::app::App;
use crate::sandbox::auth::Caller;
use crate::sandbox::error::{ApiError, BAD_FORMAT, Language, app_not_found};
use crate::sandbox::handler::params::{Params, as_id};
use crate::sandbox::handler::{Context, write};
use crate::sandbox::http::request::Request;
use crate::sandbox::http::response::Response;
use crate::sandbox::record::read::Projection;
use crate::sandbox::store::tx::Tx;

/// Most records of one control insert; bigger test data is seeded.
const MAX_RECORDS: usize = 10_000;

/// Why a control request is refused.
enum Refusal {
    Text(u16, String),
    Api(ApiError),
}

impl From<String> for Refusal {
    fn from(text: String) -> Self {
        Self::Text(400, text)
    }
}

impl From<ApiError> for Refusal {
    fn from(error: ApiError) -> Self {
        Self::Api(error)
    }
}

impl Gate {
    /// Answers a control request; `name` is the path after `/_control/`.
    pub(super) fn control(&self, name: &str, request: &Request) -> Response {
        let answer = self.control_answer(name, request);
        match answer {
            Ok(body) => Response::json(200, body.to_string().into_bytes()),
            Err(Refusal::Text(status, text)) => {
                Response::json(status, json!({ "error": text }).to_string().into_bytes())
            }
            Err(Refusal::Api(error)) => {
                Response::json(error.status(), error.body(Language::En).to_string().into_bytes())
            }
        }
    }

    fn control_answer(&self, name: &str, request: &Request) -> Result<Json, Refusal> {
        let body = || -> Result<Json, Refusal> {
            serde_json::from_slice(&request.body).map_err(|error| Refusal::Text(400, error.to_string()))
        };
        match (request.method.as_str(), name) {
            ("POST", "faults") => {
                let order = serde_json::from_slice(&request.body).map_err(|error| error.to_string())?;
                Ok(json!({ "id": self.faults.arm(order)? }))
            }
            ("DELETE", "faults") => {
                self.faults.clear();
                Ok(json!({}))
            }
            ("GET", "holds") => Ok(self.holds.list()),
            ("POST", "release") => self.release(&body()?),
            ("GET", "log") => Ok(self.trail.list()),
            ("DELETE", "log") => {
                self.trail.clear();
                Ok(json!({}))
            }
            ("GET", "counters") => Ok(self.trail.counters()),
            ("POST", "clock") => {
                self.service.clock.set_shift(number(&body()?, "shift_ms")?);
                Ok(json!({}))
            }
            ("POST", "latency") => {
                let ms =
                    u64::try_from(number(&body()?, "ms")?).map_err(|_| "\"ms\" is negative".to_owned())?;
                self.latency_ms.store(ms, Ordering::Relaxed);
                Ok(json!({}))
            }
            ("POST", "text_equality") => self.set_text_equality(&body()?),
            ("GET", "records") => self.records(request),
            ("POST", "records") => self.insert(&body()?),
            ("PUT", "records") => self.edit(&body()?),
            _ => Err(Refusal::Text(
                404,
                format!("no control request {} {name}", request.method),
            )),
        }
    }

    fn release(&self, body: &Json) -> Result<Json, Refusal> {
        let id = body
            .get("id")
            .and_then(Json::as_str)
            .ok_or_else(|| "\"id\" is missing".to_owned())?;
        let release = match body.get("action").and_then(Json::as_str) {
            Some("proceed") => Release::Proceed,
            Some("drop") => Release::Drop,
            _ => return Err("\"action\" is proceed or drop".to_owned().into()),
        };
        if self.holds.release(id, release) {
            Ok(json!({}))
        } else {
            Err(Refusal::Text(404, format!("no held request {id:?}")))
        }
    }

    /// All records of an app, without rights.
    fn records(&self, request: &Request) -> Result<Json, Refusal> {
        let params = Params::from_query(&request.query).unwrap_or_default();
        let id = params.id("app")?;
        let state = self.service.store.read();
        let found = state.apps.get(&id).ok_or_else(|| app_not_found(id))?;
        let projection = Projection::new(&state, &found.app, None);
        let mut body = b"{\"records\":[".to_vec();
        for (index, (record_id, record)) in found.table.range(0..=u64::MAX).enumerate() {
            if index > 0 {
                body.push(b',');
            }
            projection.write(&mut body, record_id, record);
        }
        body.extend_from_slice(b"]}");
        serde_json::from_slice(&body).map_err(|error| Refusal::Text(500, error.to_string()))
    }

    /// Inserts records as the administrator, checked like any other.
    fn insert(&self, body: &Json) -> Result<Json, Refusal> {
        let app = body
            .get("app")
            .and_then(as_id)
            .ok_or_else(|| ApiError::missing("app"))?;
        let records = body.get("records").and_then(Json::as_array);
        let records = records.ok_or_else(|| ApiError::missing("records"))?;
        if records.len() > MAX_RECORDS {
            return Err(format!("at most {MAX_RECORDS} records at a time").into());
        }
        self.as_administrator(app, |tx, context, app| {
            let mut ids = Vec::new();
            for record in records {
                let payload = json!({ "app": app.id, "record": record });
                let answer = write::add_one(tx, context, &params(payload))?;
                ids.push(answer["id"].clone());
            }
            Ok(json!({ "ids": ids }))
        })
    }

    /// An edit by a person in the browser.
    fn edit(&self, body: &Json) -> Result<Json, Refusal> {
        let app = body
            .get("app")
            .and_then(as_id)
            .ok_or_else(|| ApiError::missing("app"))?;
        let id = body
            .get("id")
            .and_then(as_id)
            .ok_or_else(|| ApiError::missing("id"))?;
        // A save without a changed field moves the revision on, too: send an empty record.
        let record = body.get("record").cloned().unwrap_or_else(|| json!({}));
        self.as_administrator(app, |tx, context, app| {
            write::update_one(
                tx,
                context,
                &params(json!({ "app": app.id, "id": id, "record": record })),
            )
        })
    }

    fn as_administrator(
        &self,
        app: u64,
        write: impl FnOnce(&mut Tx<'_>, &Context<'_>, &App) -> Result<Json, ApiError>,
    ) -> Result<Json, Refusal> {
        let now = self.service.clock.now();
        let answer = self.service.store.write(now.as_millisecond(), |tx| {
            let caller = Caller::administrator(tx.state());
            let app = Arc::clone(&tx.state().apps.get(&app).ok_or_else(|| app_not_found(app))?.app);
            let context = Context {
                caller: &caller,
                guest_space: app.guest_space(),
                now,
            };
            write(tx, &context, &app)
        });
        answer.map_err(Refusal::Api)
    }

    fn set_text_equality(&self, body: &Json) -> Result<Json, Refusal> {
        let app = body
            .get("app")
            .and_then(as_id)
            .ok_or_else(|| ApiError::missing("app"))?;
        let words = match body.get("mode").and_then(Json::as_str) {
            Some("exact") => false,
            Some("words") => true,
            _ => return Err(ApiError::invalid("mode", BAD_FORMAT).into()),
        };
        self.service
            .store
            .change_app(app, |app| app.word_equality = words)?;
        Ok(json!({}))
    }
}

fn params(payload: Json) -> Params {
    match payload {
        Json::Object(object) => Params::from_object(object),
        _ => Params::from_object(Map::new()),
    }
}

fn number(body: &Json, name: &str) -> Result<i64, Refusal> {
    body.get(name)
        .and_then(Json::as_i64)
        .ok_or_else(|| Refusal::Text(400, format!("{name:?} must be a whole number")))
}
