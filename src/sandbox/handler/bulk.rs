//! `bulkRequest.json`: up to 20 writes in one transaction (KTB-140 to KTB-143, KTB-34).
use serde_json::{Value as Json, json};

use super::params::Params;
use super::{Context, write};
use crate::sandbox::error::{
    ApiError, BAD_FORMAT, Language, Message, NOT_IN_ENUM, illegal_request, no_such_api, user_forbidden,
};
use crate::sandbox::route::{Endpoint, split_path};
use crate::sandbox::store::tx::Tx;

/// Most inner requests.
const MAX_REQUESTS: usize = 20;

/// A failed bulkRequest.
pub struct BulkError {
    /// What the failing inner request was refused with.
    pub error: ApiError,
    /// Its position and the number of requests; `None` when the envelope itself is wrong.
    position: Option<(usize, usize)>,
}

impl BulkError {
    /// The answer's body: every other position is empty (KTB-141).
    pub fn body(&self, language: Language) -> Json {
        let body = self.error.body(language);
        match self.position {
            None => body,
            Some((index, count)) => {
                let mut results = vec![json!({}); count];
                results[index] = body;
                json!({ "results": results })
            }
        }
    }
}

impl From<ApiError> for BulkError {
    fn from(error: ApiError) -> Self {
        Self {
            error,
            position: None,
        }
    }
}

/// Runs the inner requests in order; later ones see the effects of earlier ones (KTB-142). The caller rolls back on error.
pub fn run(tx: &mut Tx<'_>, context: &Context<'_>, params: &Params) -> Result<Json, BulkError> {
    params.require(&["requests"])?;
    let requests = params
        .get("requests")
        .and_then(Json::as_array)
        .filter(|requests| (1..=MAX_REQUESTS).contains(&requests.len()))
        .ok_or_else(|| {
            let message = Message::filled(
                format!("1件から{MAX_REQUESTS}件までのリクエストを指定できます。"),
                format!("Between 1 and {MAX_REQUESTS} requests can be specified."),
            );
            ApiError::invalid("requests", message)
        })?;
    let mut results = Vec::new();
    for (index, request) in requests.iter().enumerate() {
        let result = inner(tx, context, request, index).map_err(|error| BulkError {
            error,
            position: Some((index, requests.len())),
        })?;
        results.push(result);
    }
    Ok(json!({ "results": results }))
}

fn inner(tx: &mut Tx<'_>, context: &Context<'_>, request: &Json, index: usize) -> Result<Json, ApiError> {
    let member = |name: &str| {
        let path = format!("requests[{index}].{name}");
        request
            .get(name)
            .and_then(Json::as_str)
            .ok_or_else(|| ApiError::invalid(path, BAD_FORMAT))
    };
    let (method, api) = (member("method")?, member("api")?);
    let (guest_space, rest) = split_path(api).ok_or_else(illegal_request)?;
    if guest_space != context.guest_space {
        // All inner requests lie in one guest space, or all outside (KTB-34).
        return Err(user_forbidden());
    }
    let endpoint = Endpoint::find(method, rest).ok_or_else(no_such_api)?;
    let payload = match request.get("payload") {
        Some(Json::Object(payload)) => Params::from_object(payload.clone()),
        _ => {
            return Err(ApiError::invalid(
                format!("requests[{index}].payload"),
                BAD_FORMAT,
            ));
        }
    };
    match endpoint {
        Endpoint::AddRecord => write::add_one(tx, context, &payload),
        Endpoint::AddRecords => write::add_many(tx, context, &payload),
        Endpoint::UpdateRecord => write::update_one(tx, context, &payload),
        Endpoint::UpdateRecords => write::update_many(tx, context, &payload),
        Endpoint::DeleteRecords => write::delete_many(tx, context, &payload),
        Endpoint::RecordStatus => super::app::record_status(tx.state(), context, &payload),
        _ => Err(ApiError::invalid(format!("requests[{index}].api"), NOT_IN_ENUM)),
    }
}
