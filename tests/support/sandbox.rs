//! Harness: a seeded `kintone-sandbox` on a free port, killed when the test ends. Include it from an integration test with
//!
//! ```ignore
//! #[path = "support/sandbox.rs"]
//! mod sandbox;
//! ```
//!
//! [`Sandbox::start`] seeds and serves. [`Sandbox::api`] sends REST requests with any token; the control calls
//! ([`Sandbox::fault`], [`Sandbox::holds`], [`Sandbox::log`], ...) need no rights.
#![allow(dead_code, reason = "every test binary uses another part")]

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value as Json, json};

/// App ids and tokens of the seeded apps.
pub const STATE: (u64, &str) = (1, "sandbox-state");
pub const AUDIT: (u64, &str) = (2, "sandbox-audit");
pub const REQUESTS: (u64, &str) = (3, "sandbox-requests");
pub const JOB_LOG: (u64, &str) = (4, "sandbox-log");
pub const ORDERS: (u64, &str) = (10, "sandbox-orders");
pub const CUSTOMERS: (u64, &str) = (20, "sandbox-customers");

/// Longest wait for anything the sandbox should do at once.
const PATIENCE: Duration = Duration::from_secs(30);

/// A directory of its own, removed at the end.
pub struct TempDir(PathBuf);

impl TempDir {
    /// A new empty directory; `name` makes it recognisable.
    pub fn new(name: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path =
            std::env::temp_dir().join(format!("kintone-sandbox-{name}-{}-{number}", std::process::id()));
        let _ = std::fs::remove_dir_all(&path);
        std::fs::create_dir_all(&path).expect("temporary directory");
        Self(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for TempDir {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// A running sandbox with its directory.
pub struct Sandbox {
    dir: TempDir,
    child: Child,
    base_url: String,
    arguments: Vec<String>,
    agent: ureq::Agent,
}

/// An answer: status and JSON body (null when the body is no JSON).
#[derive(Debug)]
pub struct Answer {
    pub status: u16,
    pub body: Json,
    pub headers: ureq::http::HeaderMap,
}

impl Answer {
    /// The body of a good answer; panics with the answer otherwise.
    pub fn ok(self) -> Json {
        assert_eq!(self.status, 200, "{}", self.body);
        self.body
    }

    /// The error code; inside bulkRequest results, that of the failing request.
    pub fn code(&self) -> &str {
        let inner = self.body["results"].as_array().into_iter().flatten();
        inner
            .chain([&self.body])
            .find_map(|body| body["code"].as_str())
            .unwrap_or("")
    }

    /// `(status, code)`
    pub fn failure(&self) -> (u16, &str) {
        (self.status, self.code())
    }

    /// The paths of a CB_VA01, sorted.
    pub fn paths(&self) -> Vec<String> {
        self.body["errors"]
            .as_object()
            .map(|errors| errors.keys().cloned().collect())
            .unwrap_or_default()
    }
}

impl Sandbox {
    /// Seeds with the standard data (600 orders, 40 customers) and serves with the control interface.
    pub fn start(name: &str) -> Self {
        Self::seeded(name, &[], &[])
    }

    /// Seeds and serves with further arguments.
    pub fn seeded(name: &str, seed: &[&str], serve: &[&str]) -> Self {
        let dir = TempDir::new(name);
        let status = command()
            .arg("seed")
            .arg("--dir")
            .arg(dir.path().join("seed"))
            .args(seed)
            .status()
            .expect("seed runs");
        assert!(status.success(), "seed: {status}");
        let apps = dir.path().join("seed/apps.json");
        let data = dir.path().join("seed/data");
        Self::serve(dir, &apps, &data, serve)
    }

    /// Serves an apps file of the test's own, with an empty data directory.
    pub fn with_apps(name: &str, apps: &Json) -> Self {
        let dir = TempDir::new(name);
        let file = dir.path().join("apps.json");
        std::fs::write(&file, apps.to_string()).expect("apps file");
        let data = dir.path().join("data");
        Self::serve(dir, &file, &data, &[])
    }

    /// Seeds and serves without the control interface.
    pub fn without_control(name: &str) -> Self {
        let mut sandbox = Self::start(name);
        sandbox.arguments.retain(|argument| argument != "--control");
        sandbox.kill_and_restart();
        sandbox
    }

    fn serve(dir: TempDir, apps: &Path, data: &Path, further: &[&str]) -> Self {
        let mut arguments = vec![
            "serve".to_owned(),
            "--apps".to_owned(),
            apps.display().to_string(),
            "--data".to_owned(),
            data.display().to_string(),
            "--control".to_owned(),
        ];
        arguments.extend(further.iter().map(|argument| (*argument).to_owned()));
        let (child, base_url) = spawn(&arguments, "0");
        let agent = ureq::Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(PATIENCE))
            .build()
            .into();
        Self {
            dir,
            child,
            base_url,
            arguments,
            agent,
        }
    }

    /// `http://127.0.0.1:PORT`
    pub fn base_url(&self) -> &str {
        &self.base_url
    }

    /// Port.
    pub fn port(&self) -> u16 {
        self.base_url
            .rsplit(':')
            .next()
            .and_then(|port| port.parse().ok())
            .expect("port")
    }

    /// Directory of this sandbox: `seed/apps.json`, `seed/data`, room for the test's own files.
    pub fn dir(&self) -> &Path {
        self.dir.path()
    }

    /// Variables of `sandbox.env` with this sandbox's address.
    pub fn env(&self) -> Vec<(String, String)> {
        let text = std::fs::read_to_string(self.dir().join("seed/sandbox.env")).expect("sandbox.env");
        text.lines()
            .filter_map(|line| line.strip_prefix("export ")?.split_once('='))
            .map(|(name, value)| {
                let value = if name == "KSQL_FLOWNET_BASE_URL" {
                    self.base_url()
                } else {
                    value
                };
                (name.to_owned(), value.to_owned())
            })
            .collect()
    }

    /// Ends the process at once, as a power cut would (kill -9), and starts it again on the same data and port.
    pub fn kill_and_restart(&mut self) {
        // It may have ended already; then only the restart counts.
        let _ = self.child.kill();
        let _ = self.child.wait();
        let port = self.port().to_string();
        (self.child, self.base_url) = spawn(&self.arguments, &port);
    }

    /// Waits until the process ends by itself.
    pub fn wait(&mut self) -> std::process::ExitStatus {
        self.child.wait().expect("wait")
    }

    /// Process id of the sandbox.
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Sends one REST request. `path` after `/k/v1/`. A GET puts the members of `parameters` into the query string, every
    /// other method sends them as JSON.
    pub fn api(&self, token: &str, method: &str, path: &str, parameters: &Json) -> Answer {
        self.send(
            &[("X-Cybozu-API-Token", token)],
            method,
            &format!("/k/v1/{path}"),
            parameters,
        )
    }

    /// Sends one request with any headers.
    pub fn send(&self, headers: &[(&str, &str)], method: &str, path: &str, parameters: &Json) -> Answer {
        self.try_send(headers, method, path, parameters)
            .expect("an answer")
    }

    /// Like [`Self::send`], for requests that may get no answer.
    pub fn try_send(
        &self,
        headers: &[(&str, &str)],
        method: &str,
        path: &str,
        parameters: &Json,
    ) -> Result<Answer, ureq::Error> {
        let reads = method == "GET";
        let query = if reads {
            query_string(parameters)
        } else {
            String::new()
        };
        let mut request = ureq::http::Request::builder()
            .method(method)
            .uri(format!("{}{path}{query}", self.base_url));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let response = if reads {
            self.agent.run(request.body(()).expect("request"))?
        } else {
            let request = request.header("Content-Type", "application/json");
            self.agent
                .run(request.body(parameters.to_string()).expect("request"))?
        };
        answer(response)
    }

    /// Uploads a file and answers its key.
    pub fn upload(&self, token: &str, name: &str, content: &[u8]) -> String {
        let mut body = format!(
            "--BOUNDARY\r\nContent-Disposition: form-data; name=\"file\"; filename=\"{name}\"\r\nContent-Type: application/octet-stream\r\n\r\n"
        )
        .into_bytes();
        body.extend_from_slice(content);
        body.extend_from_slice(b"\r\n--BOUNDARY--\r\n");
        let response = self
            .agent
            .post(format!("{}/k/v1/file.json", self.base_url))
            .header("X-Cybozu-API-Token", token)
            .header("Content-Type", "multipart/form-data; boundary=BOUNDARY")
            .send(&body[..])
            .expect("upload");
        answer(response).expect("answer").ok()["fileKey"]
            .as_str()
            .expect("fileKey")
            .to_owned()
    }

    /// Downloads a file: status and bytes.
    pub fn download(&self, token: &str, key: &str) -> (u16, Vec<u8>) {
        let mut response = self
            .agent
            .get(format!("{}/k/v1/file.json?fileKey={key}", self.base_url))
            .header("X-Cybozu-API-Token", token)
            .call()
            .expect("download");
        (
            response.status().as_u16(),
            response.body_mut().read_to_vec().expect("bytes"),
        )
    }

    /// Sends one control request; panics unless it succeeds.
    pub fn control(&self, method: &str, name: &str, body: &Json) -> Json {
        self.send(&[], method, &format!("/_control/{name}"), body).ok()
    }

    /// Arms a fault.
    pub fn fault(&self, fault: &Json) {
        self.control("POST", "faults", fault);
    }

    /// Disarms all faults.
    pub fn clear_faults(&self) {
        self.control("DELETE", "faults", &json!({}));
    }

    /// All records of an app.
    pub fn records(&self, app: u64) -> Vec<Json> {
        let answer = self.control("GET", "records", &json!({ "app": app }));
        answer["records"].as_array().cloned().unwrap_or_default()
    }

    /// Inserts records without rights and answers their ids.
    pub fn insert(&self, app: u64, records: &[Json]) -> Vec<u64> {
        let answer = self.control("POST", "records", &json!({ "app": app, "records": records }));
        let ids = answer["ids"].as_array().cloned().unwrap_or_default();
        ids.iter().filter_map(|id| id.as_str()?.parse().ok()).collect()
    }

    /// An edit by a person in the browser.
    pub fn edit(&self, app: u64, id: u64, record: &Json) {
        self.control(
            "PUT",
            "records",
            &json!({ "app": app, "id": id, "record": record }),
        );
    }

    /// The requests so far.
    pub fn log(&self) -> Vec<Json> {
        let answer = self.control("GET", "log", &json!({}));
        answer["requests"].as_array().cloned().unwrap_or_default()
    }

    /// Forgets the requests so far.
    pub fn clear_log(&self) {
        self.control("DELETE", "log", &json!({}));
    }

    /// Counters since the last [`Self::clear_log`].
    pub fn counters(&self) -> Json {
        self.control("GET", "counters", &json!({}))
    }

    /// Waits until a request is held and answers its id.
    pub fn wait_for_hold(&self) -> String {
        let end = Instant::now() + PATIENCE;
        loop {
            let holds = self.control("GET", "holds", &json!({}));
            if let Some(id) = holds["holds"][0]["id"].as_str() {
                return id.to_owned();
            }
            assert!(Instant::now() < end, "no request was held");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Waits until no request is held.
    pub fn wait_for_no_hold(&self) {
        let end = Instant::now() + PATIENCE;
        while self.control("GET", "holds", &json!({}))["holds"] != json!([]) {
            assert!(Instant::now() < end, "a request is still held");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    /// Releases a held request: `proceed` or `drop`.
    pub fn release(&self, id: &str, action: &str) {
        self.control("POST", "release", &json!({ "id": id, "action": action }));
    }

    /// Drops the held request of a client that was killed; the stand-in may have noticed that by itself.
    pub fn drop_held(&self, id: &str) {
        let action = json!({ "id": id, "action": "drop" });
        self.send(&[], "POST", "/_control/release", &action);
        self.wait_for_no_hold();
    }

    /// Shifts the service's clock against the machine's.
    pub fn shift_clock(&self, shift: Duration) {
        self.control("POST", "clock", &json!({ "shift_ms": shift.as_millis() as u64 }));
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The sandbox program.
pub fn command() -> Command {
    Command::new(env!("CARGO_BIN_EXE_kintone-sandbox"))
}

fn spawn(arguments: &[String], port: &str) -> (Child, String) {
    let mut child = command()
        .args(arguments)
        .args(["--port", port])
        .stdout(Stdio::piped())
        .spawn()
        .expect("kintone-sandbox starts");
    let mut line = String::new();
    let stdout = child.stdout.take().expect("stdout");
    BufReader::new(stdout).read_line(&mut line).expect("first line");
    let base_url = line
        .trim_end()
        .strip_prefix("kintone-sandbox: listening on ")
        .map(str::to_owned);
    let Some(base_url) = base_url else {
        let _ = child.kill();
        panic!("unexpected first line {line:?}");
    };
    (child, base_url)
}

fn answer(mut response: ureq::http::Response<ureq::Body>) -> Result<Answer, ureq::Error> {
    let status = response.status().as_u16();
    let headers = response.headers().clone();
    let mut bytes = Vec::new();
    response.body_mut().as_reader().read_to_end(&mut bytes)?;
    Ok(Answer {
        status,
        body: serde_json::from_slice(&bytes).unwrap_or(Json::Null),
        headers,
    })
}

fn query_string(parameters: &Json) -> String {
    let mut pairs = Vec::new();
    for (name, value) in parameters.as_object().into_iter().flatten() {
        match value {
            Json::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    pairs.push(format!("{name}[{index}]={}", escaped(item)));
                }
            }
            _ => pairs.push(format!("{name}={}", escaped(value))),
        }
    }
    if pairs.is_empty() {
        String::new()
    } else {
        format!("?{}", pairs.join("&").replace('[', "%5B").replace(']', "%5D"))
    }
}

fn escaped(value: &Json) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => char::from(byte).to_string(),
            _ => format!("%{byte:02X}"),
        })
        .collect()
}
