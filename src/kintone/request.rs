//! Requests as values: what each carries, and how it looks on the wire (RNR-30, RNR-31, KTB-13, KTB-14).

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;
use serde_json::Value;
use ureq::http::{HeaderValue, Method};

use super::config::{App, Auth, Config};
use super::error::{Error, ErrorKind};
use super::limit;
use super::retry::Repeat;
use super::wording::{Phrase, request_label};
use crate::language::{Text, text};

/// What a request carries.
pub(super) enum Body<'a> {
    /// Parameters of a read: in the URL, or in the body when they are long (KTB-13).
    Parameters(Vec<(&'static str, Value)>),
    Json(Vec<u8>),
    Multipart {
        content_type: String,
        pieces: Vec<&'a [u8]>,
    },
}

/// A request to kintone's REST API, ready to be sent any number of times.
pub struct Request<'a> {
    pub(super) label: Phrase,
    method: Method,
    path: String,
    body: Body<'a>,
    apps: Vec<&'a App>,
    pub(super) charged: Vec<u64>,
    pub(super) repeat: Repeat,
    pub(super) transfer: bool,
    pub(super) json: bool,
    pub(super) max_bytes: u64,
}

impl<'a> Request<'a> {
    fn new(method: Method, path: &str, apps: &[&'a App], body: Body<'a>, repeat: Repeat) -> Self {
        let label = request_label(method.as_str(), path, apps);
        let charged = apps.iter().map(|app| app.id).collect();
        Self {
            label,
            method,
            path: path.to_owned(),
            body,
            apps: apps.to_vec(),
            charged,
            repeat,
            transfer: false,
            json: true,
            max_bytes: limit::ANSWER_BYTES,
        }
    }

    /// A read of `path`, which follows `/k/v1/`. Parameters may be texts, numbers, booleans or arrays of them; long ones
    /// travel in a POST with `X-HTTP-Method-Override: GET` (KTB-13), which is still a read.
    pub fn get(path: &str, app: &'a App, parameters: Vec<(&'static str, Value)>) -> Self {
        Self::new(
            Method::GET,
            path,
            &[app],
            Body::Parameters(parameters),
            Repeat::Read,
        )
    }

    /// A POST of a JSON body, not repeated unless [`Request::repeat`] says so.
    pub fn post(path: &str, apps: &[&'a App], body: &impl Serialize) -> Self {
        Self::new(
            Method::POST,
            path,
            apps,
            Body::Json(json_bytes(body)),
            Repeat::Never,
        )
    }

    /// A PUT of a JSON body, not repeated unless [`Request::repeat`] says so.
    pub fn put(path: &str, apps: &[&'a App], body: &impl Serialize) -> Self {
        Self::new(
            Method::PUT,
            path,
            apps,
            Body::Json(json_bytes(body)),
            Repeat::Never,
        )
    }

    /// A DELETE with its parameters in a JSON body (KTB-14), not repeated unless [`Request::repeat`] says so.
    pub fn delete(path: &str, apps: &[&'a App], body: &impl Serialize) -> Self {
        Self::new(
            Method::DELETE,
            path,
            apps,
            Body::Json(json_bytes(body)),
            Repeat::Never,
        )
    }

    pub(super) fn upload(app: &'a App, content_type: String, pieces: Vec<&'a [u8]>) -> Self {
        let body = Body::Multipart { content_type, pieces };
        let mut request = Self::new(Method::POST, "file.json", &[app], body, Repeat::Never);
        request.transfer = true;
        request.charged.clear();
        request
    }

    pub(super) fn download(app: &'a App, file_key: &str, max_bytes: u64) -> Self {
        let parameters = Body::Parameters(vec![("fileKey", Value::from(file_key))]);
        let mut request = Self::new(Method::GET, "file.json", &[app], parameters, Repeat::Read);
        request.transfer = true;
        request.json = false;
        request.max_bytes = max_bytes;
        request.charged.clear();
        request
    }

    /// Says when a write may be sent again. Reads stay reads.
    pub fn repeat(mut self, repeat: Repeat) -> Self {
        if !self.reads() {
            self.repeat = repeat;
        }
        self
    }

    /// Says which apps are charged, once per mention: the inner requests of a bulkRequest.
    pub(super) fn charge(mut self, apps: Vec<u64>) -> Self {
        self.charged = apps;
        self
    }

    /// Whether it changes nothing, however it travels.
    pub(super) fn reads(&self) -> bool {
        self.method == Method::GET
    }
}

/// JSON text of a request body.
fn json_bytes(value: &impl Serialize) -> Vec<u8> {
    // Refused are only a failing Serialize and keys that are no texts; then the request is not sent.
    serde_json::to_vec(value).unwrap_or_default()
}

/// A request as it goes onto the wire, the same in every attempt.
pub(super) struct WireForm {
    pub method: Method,
    pub url: String,
    pub headers: Vec<(&'static str, HeaderValue)>,
    /// Parameters that were too long for the URL.
    json: Vec<u8>,
}

impl WireForm {
    pub fn new(config: &Config, request: &Request) -> Result<Self, Error> {
        let fault = |note: Text| Error::local(&request.label, ErrorKind::Request, note);
        let language = HeaderValue::from_str(&config.accept_language)
            .map_err(|_| fault(text("bad language", "言語の指定が正しくありません")))?;
        let mut headers = vec![("accept-language", language)];
        headers.push(credentials(&request.apps).map_err(fault)?);
        if let Some(user_and_password) = &config.basic_auth {
            let value = format!("Basic {}", BASE64.encode(user_and_password.expose()));
            headers.push(("authorization", secret_header(&value).map_err(fault)?));
        }
        let mut url = format!("{}{}{}", config.base_url, config.api_prefix(), request.path);
        let mut method = request.method.clone();
        let mut json = Vec::new();
        match &request.body {
            Body::Parameters(parameters) => {
                let query = query_string(parameters);
                if url.len() + 1 + query.len() <= limit::TARGET_BYTES {
                    url.push('?');
                    url.push_str(&query);
                } else {
                    method = Method::POST;
                    headers.push(("x-http-method-override", HeaderValue::from_static("GET")));
                    headers.push(("content-type", HeaderValue::from_static("application/json")));
                    let object: serde_json::Map<String, Value> = parameters
                        .iter()
                        .map(|(name, value)| ((*name).to_owned(), value.clone()))
                        .collect();
                    json = Value::Object(object).to_string().into_bytes();
                }
            }
            Body::Json(bytes) if bytes.is_empty() => {
                return Err(fault(text(
                    "the body cannot be written as JSON",
                    "本文を JSON にできません",
                )));
            }
            Body::Json(_) => {
                headers.push(("content-type", HeaderValue::from_static("application/json")));
            }
            Body::Multipart { content_type, .. } => {
                let value = HeaderValue::from_str(content_type)
                    .map_err(|_| fault(text("bad content type", "コンテンツタイプが正しくありません")))?;
                headers.push(("content-type", value));
            }
        }
        Ok(Self {
            method,
            url,
            headers,
            json,
        })
    }

    /// The body, piece by piece.
    pub fn pieces<'b>(&'b self, request: &'b Request) -> Vec<&'b [u8]> {
        match &request.body {
            Body::Multipart { pieces, .. } => pieces.clone(),
            Body::Json(bytes) => vec![bytes],
            Body::Parameters(_) if self.json.is_empty() => Vec::new(),
            Body::Parameters(_) => vec![&self.json],
        }
    }
}

/// The one header that lets all apps of a request in (KTB-22, KTB-23, KTB-143).
fn credentials(apps: &[&App]) -> Result<(&'static str, HeaderValue), Text> {
    let mut tokens: Vec<&str> = Vec::new();
    let mut password = None;
    for app in apps {
        match &app.auth {
            Auth::Tokens(list) if list.is_empty() => {
                return Err(text(
                    "the app has no API token",
                    "アプリに API トークンがありません",
                ));
            }
            Auth::Tokens(list) => {
                for token in list.iter().map(super::Secret::expose) {
                    if !tokens.contains(&token) {
                        tokens.push(token);
                    }
                }
            }
            Auth::Password {
                user,
                password: secret,
            } => {
                let pair = (user.as_str(), secret.expose());
                if password.replace(pair).is_some_and(|other| other != pair) {
                    return Err(text(
                        "the apps of one request need one user",
                        "1 つのリクエストのアプリには同じユーザーが必要です",
                    ));
                }
            }
        }
    }
    match (password, tokens.len()) {
        (Some((user, secret)), 0) => {
            let value = BASE64.encode(format!("{user}:{secret}"));
            Ok(("x-cybozu-authorization", secret_header(&value)?))
        }
        (None, 1..=limit::TOKENS) => Ok(("x-cybozu-api-token", secret_header(&tokens.join(","))?)),
        (None, 0) => Err(text(
            "the request names no app",
            "リクエストにアプリの指定がありません",
        )),
        (None, _) => Err(text(
            "more than 9 API tokens in one request",
            "1 つのリクエストの API トークンが 9 個を超えています",
        )),
        (Some(_), _) => Err(text(
            "API tokens and a password cannot be mixed in one request",
            "API トークンとパスワードを 1 つのリクエストで混在させることはできません",
        )),
    }
}

fn secret_header(value: &str) -> Result<HeaderValue, Text> {
    let mut header = HeaderValue::from_str(value).map_err(|_| {
        text(
            "the credentials hold a line break or another character that no header can carry",
            "認証情報に、ヘッダーで送れない改行などの文字が含まれています",
        )
    })?;
    header.set_sensitive(true);
    Ok(header)
}

/// Parameters as a query string: arrays as `name[0]=...` (KTB-14).
fn query_string(parameters: &[(&'static str, Value)]) -> String {
    let mut out = String::new();
    let mut pair = |name: &str, value: &Value| {
        if !out.is_empty() {
            out.push('&');
        }
        percent_encode(&mut out, name);
        out.push('=');
        match value {
            Value::String(text) => percent_encode(&mut out, text),
            other => percent_encode(&mut out, &other.to_string()),
        }
    };
    for (name, value) in parameters {
        match value {
            Value::Array(items) => {
                items
                    .iter()
                    .enumerate()
                    .for_each(|(i, item)| pair(&format!("{name}[{i}]"), item));
            }
            one => pair(name, one),
        }
    }
    out
}

fn percent_encode(out: &mut String, text: &str) {
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~".contains(&byte) {
            out.push(char::from(byte));
        } else {
            // Writing to a String cannot fail.
            let _ = write!(out, "%{byte:02X}");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kintone::Secret;
    use crate::language::Language;
    use proptest::prelude::*;

    fn app(id: u64, tokens: &[&str]) -> App {
        let tokens = tokens.iter().map(|t| Secret::new(*t)).collect();
        App {
            id,
            role: "state app".into(),
            auth: Auth::Tokens(tokens),
        }
    }

    #[test]
    fn tokens_of_all_apps_in_one_header() {
        let (a, b) = (app(1, &["one", "two"]), app(2, &["two", "three"]));
        let (name, value) = credentials(&[&a, &b]).unwrap();
        assert_eq!(
            (name, value.to_str().unwrap(), value.is_sensitive()),
            ("x-cybozu-api-token", "one,two,three", true)
        );
        let user = |user: &str| App {
            auth: Auth::Password {
                user: user.into(),
                password: Secret::new("pw"),
            },
            ..app(3, &[])
        };
        let (name, value) = credentials(&[&user("u"), &user("u")]).unwrap();
        assert_eq!(
            (name, value.to_str().unwrap()),
            ("x-cybozu-authorization", "dTpwdw==")
        );
        assert!(credentials(&[&user("u"), &user("v")]).is_err());
        assert!(credentials(&[&user("u"), &a]).is_err());
        assert!(credentials(&[&app(1, &[])]).is_err());
        assert!(credentials(&[]).is_err());
        assert!(credentials(&[&app(1, &["a\nb"])]).is_err());
        let many: Vec<String> = (0..10).map(|n| format!("t{n}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        assert!(credentials(&[&app(1, &many[..9])]).is_ok());
        assert!(credentials(&[&app(1, &many)]).is_err());
    }

    #[test]
    fn parameters_as_kintone_reads_them() {
        let parameters = vec![
            ("app", Value::from(7)),
            ("query", Value::from("f in (\"a b\")")),
            ("fields", serde_json::json!(["$id", "文字"])),
            ("totalCount", Value::from(true)),
        ];
        assert_eq!(
            query_string(&parameters),
            "app=7&query=f%20in%20%28%22a%20b%22%29&fields%5B0%5D=%24id&fields%5B1%5D=%E6%96%87%E5%AD%97&totalCount=true"
        );
    }

    #[test]
    fn names_of_requests() {
        let (a, new) = (
            app(11, &["t"]),
            App {
                role: "log app".into(),
                ..app(0, &["t"])
            },
        );
        assert_eq!(
            Request::get("records.json", &a, vec![])
                .label
                .get(Language::English),
            "GET records of the state app (app 11)"
        );
        assert_eq!(
            Request::post("bulkRequest.json", &[&a, &new], &Value::Null)
                .label
                .get(Language::English),
            "POST bulkRequest of the state app (app 11) and the log app"
        );
    }

    proptest! {
        #[test]
        fn percent_encoding_is_plain_and_reversible(text in any::<String>()) {
            let mut out = String::new();
            percent_encode(&mut out, &text);
            prop_assert!(out.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~%".contains(&b)));
            let mut back = Vec::new();
            let mut bytes = out.bytes();
            while let Some(b) = bytes.next() {
                if b == b'%' {
                    let hex = [bytes.next().unwrap(), bytes.next().unwrap()];
                    back.push(u8::from_str_radix(std::str::from_utf8(&hex).unwrap(), 16).unwrap());
                } else {
                    back.push(b);
                }
            }
            prop_assert_eq!(back, text.into_bytes());
        }

    }
}
