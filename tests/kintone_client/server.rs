//! A scripted HTTP server: each request takes the next step of the script, and everything received is kept.

use std::collections::VecDeque;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use ksql_flownet::kintone::{App, BaseUrl, Client, Config, Secret};

/// What the server does with one request (or, for [`Step::Drop`], one connection).
#[derive(Clone, Debug)]
pub enum Step {
    /// Answers and keeps the connection.
    Reply {
        status: u16,
        headers: Vec<(&'static str, String)>,
        body: Vec<u8>,
    },
    /// Answers and closes without having said so.
    ReplyAndClose { status: u16, body: Vec<u8> },
    /// Writes these bytes and closes.
    Raw(Vec<u8>),
    /// Reads the request and closes without an answer.
    Close,
    /// Reads the request and never answers.
    Hang,
    /// Closes the next connection as soon as it was accepted.
    Drop,
}

impl Step {
    pub fn ok(body: &str) -> Self {
        Self::status(200, body)
    }

    pub fn status(status: u16, body: &str) -> Self {
        Self::Reply {
            status,
            headers: Vec::new(),
            body: body.as_bytes().to_vec(),
        }
    }

    pub fn with_header(status: u16, name: &'static str, value: &str, body: &str) -> Self {
        Self::Reply {
            status,
            headers: vec![(name, value.to_owned())],
            body: body.as_bytes().to_vec(),
        }
    }
}

/// A request as it arrived.
#[derive(Clone, Debug)]
pub struct Received {
    /// Number of the connection, from 0.
    pub connection: usize,
    pub method: String,
    pub target: String,
    pub headers: Vec<(String, String)>,
    pub body: Vec<u8>,
}

impl Received {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(n, _)| n == name)
            .map(|(_, value)| value.as_str())
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.target)
    }
}

#[derive(Default)]
struct State {
    script: VecDeque<Step>,
    received: Vec<Received>,
    connections: usize,
}

/// A running server; it ends with the test process.
#[derive(Clone)]
pub struct Server {
    pub port: u16,
    state: Arc<Mutex<State>>,
}

impl Server {
    pub fn start(script: Vec<Step>) -> Self {
        Self::start_with(script, Some)
    }

    /// `wrap` turns an accepted connection into what the requests are read from, for TLS.
    pub fn start_with<S, F>(script: Vec<Step>, wrap: F) -> Self
    where
        S: Read + Write,
        F: Fn(TcpStream) -> Option<S> + Send + Sync + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let state = Arc::new(Mutex::new(State {
            script: script.into(),
            ..State::default()
        }));
        let server = Self { port, state };
        let (shared, wrap) = (server.clone(), Arc::new(wrap));
        thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let (server, wrap) = (shared.clone(), wrap.clone());
                let number = {
                    let mut state = server.state.lock().unwrap();
                    state.connections += 1;
                    if matches!(state.script.front(), Some(Step::Drop)) {
                        state.script.pop_front();
                        continue;
                    }
                    state.connections - 1
                };
                thread::spawn(move || {
                    if let Some(stream) = wrap(stream) {
                        server.serve(number, stream);
                    }
                });
            }
        });
        server
    }

    fn serve(&self, connection: usize, stream: impl Read + Write) {
        let mut stream = BufReader::new(stream);
        while let Some(request) = read_request(connection, &mut stream) {
            let step = {
                let mut state = self.state.lock().unwrap();
                state.received.push(request);
                state
                    .script
                    .pop_front()
                    .unwrap_or_else(|| Step::status(418, "script is over"))
            };
            let (bytes, close) = match step {
                Step::Reply {
                    status,
                    headers,
                    body,
                } => (reply(status, &headers, &body), false),
                Step::ReplyAndClose { status, body } => (reply(status, &[], &body), true),
                Step::Raw(bytes) => (bytes, true),
                Step::Close | Step::Drop => (Vec::new(), true),
                Step::Hang => loop {
                    thread::park();
                },
            };
            let written = stream
                .get_mut()
                .write_all(&bytes)
                .and_then(|()| stream.get_mut().flush());
            if close || written.is_err() {
                return;
            }
        }
    }

    pub fn received(&self) -> Vec<Received> {
        self.state.lock().unwrap().received.clone()
    }

    pub fn connections(&self) -> usize {
        self.state.lock().unwrap().connections
    }

    pub fn config(&self) -> Config {
        config(&format!("http://127.0.0.1:{}", self.port))
    }

    pub fn client(&self) -> Client {
        Client::new(self.config()).unwrap()
    }
}

/// Settings with short waits, so that retries cost no time.
pub fn config(base_url: &str) -> Config {
    let mut config = Config::new(BaseUrl::parse(base_url).unwrap());
    config.retry.first = std::time::Duration::from_millis(2);
    config
}

pub fn app() -> App {
    App::with_token(11, "state app", Secret::new("state-token"))
}

pub fn audit() -> App {
    App::with_token(12, "audit app", Secret::new("audit-token"))
}

fn reply(status: u16, headers: &[(&'static str, String)], body: &[u8]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n", body.len());
    for (name, value) in headers {
        head.extend([name, ": ", value, "\r\n"]);
    }
    let mut bytes = (head + "\r\n").into_bytes();
    bytes.extend_from_slice(body);
    bytes
}

fn read_request(connection: usize, stream: &mut impl BufRead) -> Option<Received> {
    let mut line = String::new();
    if stream.read_line(&mut line).ok()? == 0 {
        return None;
    }
    let mut words = line.split_whitespace();
    let (method, target) = (words.next()?.to_owned(), words.next()?.to_owned());
    let mut headers = Vec::new();
    loop {
        let mut line = String::new();
        stream.read_line(&mut line).ok()?;
        let Some((name, value)) = line.trim_end().split_once(':') else {
            break;
        };
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let length = headers.iter().find(|(name, _)| name == "content-length");
    let mut body = vec![0; length.map_or(0, |(_, value)| value.parse().unwrap())];
    stream.read_exact(&mut body).ok()?;
    Some(Received {
        connection,
        method,
        target,
        headers,
        body,
    })
}
