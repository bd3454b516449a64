//! Files: upload and download (KTB-150 to KTB-153). Attaching happens with the record that holds the file.
use serde_json::{Value as Json, json};

use super::Context;
use super::params::Params;
use crate::sandbox::app::Right;
use crate::sandbox::error::{ApiError, file_not_found, storage_failed};
use crate::sandbox::http::multipart::{boundary, file_part};
use crate::sandbox::http::request::Request;
use crate::sandbox::http::response::Response;
use crate::sandbox::ident;
use crate::sandbox::store::Store;
use crate::sandbox::store::state::Upload;
use crate::sandbox::value::FileRef;

/// POST file.json: the content is on disk before the key is answered.
pub fn upload(store: &Store, context: &Context<'_>, request: &Request) -> Result<Json, ApiError> {
    let part = request
        .header("content-type")
        .and_then(boundary)
        .and_then(|boundary| file_part(&request.body, boundary))
        .ok_or_else(|| ApiError::missing("file"))?;
    let blob = ident::key();
    store.blobs.put(&blob, part.content).map_err(|error| {
        eprintln!("kintone-sandbox: error: file content: {error}");
        storage_failed()
    })?;
    let key = ident::key();
    let file = FileRef {
        key: key.clone(),
        blob,
        name: part.name,
        content_type: part.content_type,
        size: part.content.len() as u64,
    };
    let now_ms = context.now.as_millisecond();
    store.write(now_ms, |tx| {
        tx.add_upload(Upload {
            file,
            uploaded_ms: now_ms,
        });
        Ok(())
    })?;
    Ok(json!({ "fileKey": key }))
}

/// GET file.json
pub fn download(store: &Store, context: &Context<'_>, params: &Params) -> Result<Response, ApiError> {
    params.require(&["fileKey"])?;
    let key = params.text("fileKey")?;
    let file = {
        let state = store.read();
        let (app, file) = state.attached.get(&key).ok_or_else(|| file_not_found(&key))?;
        let found = context.reach(&state, *app)?;
        context.caller.require(&found.app, Right::View)?;
        file.clone()
    };
    let content = store.blobs.get(&file.blob).map_err(|_| file_not_found(&key))?;
    let mut response = Response::new(200, &file.content_type, content);
    response.set_header("Content-Disposition", "attachment");
    Ok(response)
}
