//! One request from its bytes to its answer: credentials, parameters, the API, the headers that every answer carries
//! (KTB-09 to KTB-15). [`super::control`] stands before and after this for tests.
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use serde_json::{Map, Value as Json};

use super::auth::Caller;
use super::clock::Clock;
use super::error::{
    ApiError, Language, body_not_json, illegal_request, no_such_api, storage_failed, too_many_requests,
};
use super::handler::cursor::Cursors;
use super::handler::form::{Deployment, Deployments};
use super::handler::params::Params;
use super::handler::{Context, app, bulk, file, form, record, write};
use super::http::request::Request;
use super::http::response::Response;
use super::route::{Endpoint, split_path};
use super::store::Store;
use super::store::state::State;
use super::store::tx::Tx;

/// Requests that may run at the same time (KTB-170).
pub const MAX_RUNNING: u32 = 100;
/// How long a deployment shows as running. The real service takes seconds (KTB-162).
const DEPLOY_TIME: Duration = Duration::from_millis(200);

/// The running stand-in.
pub struct Service {
    /// Records, files, apps.
    pub store: Store,
    /// The service's clock.
    pub clock: Clock,
    cursors: Mutex<Cursors>,
    deployments: Mutex<Deployments>,
    running: AtomicU32,
}

/// A request whose parameters were read.
pub struct Call {
    /// Method after `X-HTTP-Method-Override` (KTB-13).
    pub method: String,
    /// Parameters.
    pub params: Params,
}

/// Counts a request as running until it is dropped.
pub struct Running<'a> {
    service: &'a Service,
    /// Running requests, this one included.
    pub count: u32,
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.service.running.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Service {
    /// A service on an open store.
    pub fn new(store: Store) -> Self {
        Self {
            store,
            clock: Clock::default(),
            cursors: Mutex::default(),
            deployments: Mutex::default(),
            running: AtomicU32::new(0),
        }
    }

    /// Counts a request as running.
    pub fn enter(&self) -> Running<'_> {
        let count = self.running.fetch_add(1, Ordering::Relaxed) + 1;
        Running { service: self, count }
    }

    /// Answers a request.
    pub fn answer(
        self: &Arc<Self>,
        request: &Request,
        call: Result<Call, ApiError>,
        running: u32,
    ) -> Response {
        let mut language = accepted_language(request);
        let result = if running > MAX_RUNNING {
            Err(Failure::Plain(too_many_requests()))
        } else {
            call.map_err(Failure::Plain)
                .and_then(|call| self.dispatch(request, &call, &mut language))
        };
        let mut response = match result {
            Ok(response) => response,
            Err(failure) => failure.response(language.unwrap_or(Language::En)),
        };
        response.set_header("Date", self.clock.http_date());
        response.set_header("X-ConcurrencyLimit-Limit", MAX_RUNNING.to_string());
        response.set_header("X-ConcurrencyLimit-Running", running.to_string());
        response
    }

    fn dispatch(
        self: &Arc<Self>,
        request: &Request,
        call: &Call,
        language: &mut Option<Language>,
    ) -> Result<Response, Failure> {
        let caller = Caller::identify(
            &self.store.read(),
            request.header("x-cybozu-authorization"),
            request.header("x-cybozu-api-token"),
        )?;
        // A user's fixed language comes before the request's (KTB-03).
        *language = caller.language.or(*language);
        let (guest_space, path) = split_path(&request.path).ok_or_else(no_such_api)?;
        let endpoint = Endpoint::find(&call.method, path).ok_or_else(no_such_api)?;
        let context = Context {
            caller: &caller,
            guest_space,
            now: self.clock.now(),
        };
        let params = &call.params;
        match endpoint {
            Endpoint::GetRecord => bytes(record::get_one(&self.store.read(), &context, params)),
            Endpoint::GetRecords => bytes(record::get_many(&self.store.read(), &context, params)),
            Endpoint::AddRecord => self.write(&context, |tx| write::add_one(tx, &context, params)),
            Endpoint::AddRecords => self.write(&context, |tx| write::add_many(tx, &context, params)),
            Endpoint::UpdateRecord => self.write(&context, |tx| write::update_one(tx, &context, params)),
            Endpoint::UpdateRecords => self.write(&context, |tx| write::update_many(tx, &context, params)),
            Endpoint::DeleteRecords => self.write(&context, |tx| write::delete_many(tx, &context, params)),
            Endpoint::Bulk => self.bulk(&context, params),
            Endpoint::CreateCursor => json(self.cursors().create(&self.store.read(), &context, params)),
            Endpoint::NextCursor => bytes(self.cursors().next(&self.store.read(), &context, params)),
            Endpoint::DeleteCursor => json(self.cursors().delete(&context, params)),
            Endpoint::Upload => json(file::upload(&self.store, &context, request)),
            Endpoint::Download => Ok(file::download(&self.store, &context, params)?),
            Endpoint::Fields => self.read(|state| form::fields(state, &context, params)),
            Endpoint::PreviewFields => self.read(|state| form::preview_fields(state, &context, params)),
            Endpoint::AddPreviewFields => self.write(&context, |tx| form::add_fields(tx, &context, params)),
            Endpoint::CreateApp => self.write(&context, |tx| form::create(tx, &context, params)),
            Endpoint::Deploy => self.deploy(&context, params),
            Endpoint::DeployStatus => json(self.deployments().status(&self.store.read(), &context, params)),
            Endpoint::App => self.read(|state| app::one(state, &context, params)),
            Endpoint::Apps => self.read(|state| app::list(state, &context, params)),
            Endpoint::Settings => self.read(|state| app::settings(state, &context, params)),
            Endpoint::ProcessStatus => self.read(|state| app::status(state, &context, params)),
            Endpoint::RecordStatus => self.read(|state| app::record_status(state, &context, params)),
        }
    }

    fn read(&self, api: impl FnOnce(&State) -> Result<Json, ApiError>) -> Result<Response, Failure> {
        json(api(&self.store.read()))
    }

    fn write(
        &self,
        context: &Context<'_>,
        api: impl FnOnce(&mut Tx<'_>) -> Result<Json, ApiError>,
    ) -> Result<Response, Failure> {
        json(self.store.write(context.now.as_millisecond(), api))
    }

    fn bulk(&self, context: &Context<'_>, params: &Params) -> Result<Response, Failure> {
        let answer = self
            .store
            .write(context.now.as_millisecond(), |tx| bulk::run(tx, context, params));
        answer.map(|answer| json_response(&answer)).map_err(Failure::Bulk)
    }

    /// The answer comes at once, the apps change a little later (KTB-162).
    fn deploy(self: &Arc<Self>, context: &Context<'_>, params: &Params) -> Result<Response, Failure> {
        let apps = self.deployments().begin(&self.store.read(), context, params)?;
        let service = Arc::clone(self);
        std::thread::Builder::new()
            .name("deploy".to_owned())
            .spawn(move || {
                std::thread::sleep(DEPLOY_TIME);
                for id in apps {
                    let now_ms = service.clock.now().as_millisecond();
                    let outcome = service.store.write(now_ms, |tx| form::deploy(tx, id));
                    service.deployments().end(id, outcome.unwrap_or(Deployment::Fail));
                }
            })
            .map_err(|_| storage_failed())?;
        Ok(json_response(&Json::Object(Map::new())))
    }

    fn cursors(&self) -> MutexGuard<'_, Cursors> {
        self.cursors.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn deployments(&self) -> MutexGuard<'_, Deployments> {
        self.deployments.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Call {
    /// Reads method and parameters (KTB-12 to KTB-14).
    pub fn read(request: &Request) -> Result<Self, ApiError> {
        let method = match request.header("x-http-method-override") {
            Some(method) if request.method == "POST" => method.to_ascii_uppercase(),
            _ => request.method.clone(),
        };
        let content_type = request
            .header("content-type")
            .unwrap_or_default()
            .to_ascii_lowercase();
        let is_json = content_type.starts_with("application/json");
        let body_counts = !content_type.starts_with("multipart/");
        if request.method == "GET" && is_json && request.body.is_empty() {
            return Err(illegal_request());
        }
        let params = if body_counts && !request.body.is_empty() {
            if !is_json {
                return Err(illegal_request());
            }
            match serde_json::from_slice(&request.body) {
                Ok(Json::Object(object)) => Params::from_object(object),
                _ => return Err(body_not_json()),
            }
        } else {
            Params::from_query(&request.query).ok_or_else(illegal_request)?
        };
        Ok(Self { method, params })
    }
}

/// The language of `Accept-Language` with the highest quality that is known; `*` counts as nothing (KTB-03, KTB-15).
fn accepted_language(request: &Request) -> Option<Language> {
    let header = request.header("accept-language")?;
    let mut best: Option<(f32, Language)> = None;
    for part in header.split(',') {
        let (tag, quality) = part.split_once(";q=").unwrap_or((part, "1"));
        let quality: f32 = quality.trim().parse().unwrap_or(0.0);
        let language = match tag
            .trim()
            .split('-')
            .next()
            .unwrap_or_default()
            .to_ascii_lowercase()
            .as_str()
        {
            "ja" => Language::Ja,
            "en" => Language::En,
            _ => continue,
        };
        if quality > 0.0 && best.is_none_or(|(known, _)| quality > known) {
            best = Some((quality, language));
        }
    }
    best.map(|(_, language)| language)
}

/// Why there is no good answer.
enum Failure {
    Plain(ApiError),
    Bulk(bulk::BulkError),
}

impl From<ApiError> for Failure {
    fn from(error: ApiError) -> Self {
        Self::Plain(error)
    }
}

impl Failure {
    fn response(&self, language: Language) -> Response {
        let (error, body) = match self {
            Self::Plain(error) => (error, error.body(language)),
            Self::Bulk(bulk) => (&bulk.error, bulk.body(language)),
        };
        let mut response = Response::json(error.status(), body.to_string().into_bytes());
        response.set_header("X-Cybozu-Error", error.code());
        if error.status() == 429 {
            response.set_header("Cache-Control", "no-cache, no-store, must-revalidate");
        }
        response
    }
}

fn bytes(result: Result<Vec<u8>, ApiError>) -> Result<Response, Failure> {
    Ok(Response::json(200, result?))
}

fn json(result: Result<Json, ApiError>) -> Result<Response, Failure> {
    Ok(json_response(&result?))
}

fn json_response(answer: &Json) -> Response {
    Response::json(200, answer.to_string().into_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn language(header: &str) -> Option<Language> {
        let head = format!("GET / HTTP/1.1\r\nAccept-Language: {header}\r\n\r\n");
        let request = crate::sandbox::http::request::read(&mut std::io::Cursor::new(head), &mut Vec::new());
        request.ok().and_then(|request| accepted_language(&request))
    }

    #[test]
    fn ktb_03_and_15_quality_values_and_the_star() {
        for (header, expected) in [
            ("ja", Some(Language::Ja)),
            ("en-US,en;q=0.9,ja;q=0.8", Some(Language::En)),
            ("en;q=0.1, ja-JP;q=0.9", Some(Language::Ja)),
            ("*", None),
            ("zh, ja;q=0", None),
        ] {
            assert_eq!(language(header), expected, "{header}");
        }
    }
}
