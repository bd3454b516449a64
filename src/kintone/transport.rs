//! One attempt on the wire: ureq with every convenience that could blur the outcome switched off (D-04).
//!
//! No redirects, no status as error, no decompression. The body of a request is a reader that can be read once and that
//! remembers whether it was touched. ureq connects and finishes TLS before it reads the body, and kintone cannot carry
//! out a write whose body it never got, so "untouched" proves that a failed write did not happen; and because it cannot
//! be rewound, nothing below us can send a write twice.

use std::io::{self, Read};
use std::time::Duration;

use ureq::http::{HeaderMap, HeaderValue, Method, header, request};
use ureq::unversioned::resolver::DefaultResolver;
use ureq::unversioned::transport::{ConnectProxyConnector, Connector, TcpConnector};
use ureq::{Agent, AsSendBody, SendBody, Timeout};

use super::config::{Config, ConfigError};
use super::error::shown;
use super::limit;
use super::proxy::Proxy;
use super::tls::{ExtraRoots, TlsConnector, TlsFault};
use super::wording::Phrase;
use crate::language::text;

/// How far an attempt got before it failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Phase {
    /// The request could not be put together.
    Request,
    /// Name resolution.
    Resolve,
    /// TCP connection.
    Connect,
    /// The proxy refused the tunnel.
    Proxy,
    /// TLS handshake, other than the certificate.
    Handshake,
    /// The server's certificate was not accepted: waiting does not help.
    Certificate,
    /// Sending the request or waiting for the answer.
    Answer,
    /// The answer was larger than allowed.
    TooLarge,
}

/// Why no complete answer came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Cause {
    pub phase: Phase,
    /// What the system, the peer or the library says.
    pub detail: Phrase,
}

impl Cause {
    pub fn new(phase: Phase, detail: impl Into<Phrase>) -> Self {
        Self {
            phase,
            detail: detail.into().map(shown),
        }
    }
}

/// A failed attempt.
pub(super) struct Failure {
    pub cause: Cause,
    /// Whether the body may have left us.
    pub begun: bool,
}

/// A complete answer, whatever its status.
pub(super) struct Reply {
    pub status: u16,
    pub headers: HeaderMap,
    pub body: Vec<u8>,
}

/// One attempt to make.
pub(super) struct Attempt<'a> {
    pub method: Method,
    pub url: &'a str,
    pub headers: &'a [(&'static str, HeaderValue)],
    /// Pieces of the body, sent one after the other; none for a request without body.
    pub body: &'a [&'a [u8]],
    /// Largest body of a 2xx answer.
    pub max_bytes: u64,
    pub timeout: Duration,
    pub idle: Duration,
}

/// The connections of one client.
pub(super) struct Wire {
    agent: Agent,
}

impl Wire {
    /// Prepares connections; opens none and sets up no TLS yet.
    pub fn new(config: &Config) -> Result<Self, ConfigError> {
        let extra = config
            .ca_file
            .as_deref()
            .map(ExtraRoots::load)
            .transpose()?
            .unwrap_or_default();
        let proxy = config
            .proxy
            .as_ref()
            .map(Proxy::url)
            .map(ureq::Proxy::new)
            .transpose();
        let proxy = proxy.map_err(|_| {
            ConfigError::new(text(
                "HTTPS_PROXY is not a usable proxy address",
                "HTTPS_PROXY をプロキシのアドレスとして使えません",
            ))
        })?;
        let connect = config.timeouts.connect.min(limit::ANY_WAIT);
        let settings = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(proxy)
            .user_agent(&config.user_agent)
            .accept_encoding("identity")
            .timeout_resolve(Some(connect))
            .timeout_connect(Some(connect))
            .max_response_header_size(limit::HEAD_BYTES)
            .input_buffer_size(limit::HEAD_BYTES)
            .output_buffer_size(limit::HEAD_BYTES)
            .max_idle_connections(config.idle_connections)
            .max_idle_connections_per_host(config.idle_connections)
            .max_idle_age(limit::IDLE_FOR_READS)
            .build();
        let connector =
            ().chain(ConnectProxyConnector::default())
                .chain(TcpConnector::default())
                .chain(TlsConnector::new(extra));
        Ok(Self {
            agent: Agent::with_parts(settings, connector, DefaultResolver::default()),
        })
    }

    /// Sends one request and reads the whole answer.
    pub fn attempt(&self, attempt: &Attempt) -> Result<Reply, Failure> {
        let mut body = OnceBody::new(attempt.body);
        let reply = self.exchange(attempt, &mut body);
        // Without a body nothing can be proved.
        let begun = body.begun || attempt.body.is_empty();
        reply.map_err(|cause| Failure { cause, begun })
    }

    fn exchange(&self, attempt: &Attempt, body: &mut OnceBody) -> Result<Reply, Cause> {
        let mut request = request::Builder::new().method(&attempt.method).uri(attempt.url);
        for (name, value) in attempt.headers {
            request = request.header(*name, value);
        }
        let mut response = if attempt.body.is_empty() {
            self.run(request, attempt, ())?
        } else {
            let length: usize = attempt.body.iter().map(|piece| piece.len()).sum();
            self.run(
                request.header(header::CONTENT_LENGTH, length),
                attempt,
                SendBody::from_reader(body),
            )?
        };
        let status = response.status().as_u16();
        let max = if (200..300).contains(&status) {
            attempt.max_bytes
        } else {
            limit::ERROR_BYTES
        };
        let content = response.body_mut().with_config().limit(max).read_to_vec();
        let content = match content {
            Ok(content) => content,
            // The status of a refusal says more than the rest of its text.
            Err(_) if !(200..300).contains(&status) => Vec::new(),
            Err(error) => return Err(cause_of(error)),
        };
        Ok(Reply {
            status,
            headers: std::mem::take(response.headers_mut()),
            body: content,
        })
    }

    fn run(
        &self,
        request: request::Builder,
        attempt: &Attempt,
        body: impl AsSendBody,
    ) -> Result<ureq::http::Response<ureq::Body>, Cause> {
        let request = request
            .body(body)
            .map_err(|e| Cause::new(Phase::Request, e.to_string()))?;
        let request = self.agent.configure_request(request);
        let request = request
            .timeout_global(Some(attempt.timeout))
            .max_idle_age(attempt.idle)
            .build();
        self.agent.run(request).map_err(cause_of)
    }
}

/// A request body that can be read once and knows whether it was.
struct OnceBody<'a> {
    current: &'a [u8],
    rest: std::slice::Iter<'a, &'a [u8]>,
    begun: bool,
}

impl<'a> OnceBody<'a> {
    fn new(pieces: &'a [&'a [u8]]) -> Self {
        Self {
            current: &[],
            rest: pieces.iter(),
            begun: false,
        }
    }
}

impl Read for OnceBody<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.begun = true;
        while self.current.is_empty() {
            match self.rest.next() {
                Some(piece) => self.current = piece,
                None => return Ok(0),
            }
        }
        self.current.read(buffer)
    }
}

fn cause_of(error: ureq::Error) -> Cause {
    match error {
        ureq::Error::HostNotFound => Cause::new(Phase::Resolve, text("no address", "アドレスがありません")),
        ureq::Error::Timeout(Timeout::Resolve) => {
            Cause::new(Phase::Resolve, text("timed out", "時間切れです"))
        }
        ureq::Error::Timeout(Timeout::Connect) => {
            Cause::new(Phase::Connect, text("timed out", "時間切れです"))
        }
        ureq::Error::Timeout(_) => Cause::new(Phase::Answer, text("timed out", "時間切れです")),
        ureq::Error::ConnectProxyFailed(reason) => Cause::new(Phase::Proxy, reason),
        ureq::Error::BodyExceedsLimit(limit) => {
            let detail = Phrase::new(
                format!("more than {limit} bytes"),
                format!("{limit} バイトを超えています"),
            );
            Cause::new(Phase::TooLarge, detail)
        }
        ureq::Error::LargeResponseHeader(..) => {
            Cause::new(Phase::Answer, text("head too large", "ヘッダーが大きすぎます"))
        }
        ureq::Error::Protocol(error) => Cause::new(
            Phase::Answer,
            Phrase::new(
                format!("not HTTP/1.1: {error}"),
                format!("HTTP/1.1 ではありません: {error}"),
            ),
        ),
        ureq::Error::Io(error) => cause_of_io(&error),
        ureq::Error::ConnectionFailed => Cause::new(Phase::Connect, text("failed", "失敗しました")),
        ureq::Error::Http(_) | ureq::Error::BadUri(_) => {
            Cause::new(Phase::Request, text("malformed", "形式が正しくありません"))
        }
        other => Cause::new(Phase::Answer, other.to_string()),
    }
}

fn cause_of_io(error: &io::Error) -> Cause {
    if let Some(fault) = error.get_ref().and_then(|e| e.downcast_ref::<TlsFault>()) {
        return match fault {
            TlsFault::Certificate(detail) => Cause::new(Phase::Certificate, detail.as_str()),
            TlsFault::Handshake(detail) => Cause::new(Phase::Handshake, detail.as_str()),
        };
    }
    let phase = match error.kind() {
        io::ErrorKind::ConnectionRefused
        | io::ErrorKind::HostUnreachable
        | io::ErrorKind::NetworkUnreachable
        | io::ErrorKind::NetworkDown
        | io::ErrorKind::AddrNotAvailable => Phase::Connect,
        // getaddrinfo's failures have no kind of their own.
        _ if error.raw_os_error().is_none() && error.to_string().starts_with("failed to lookup address") => {
            Phase::Resolve
        }
        _ => Phase::Answer,
    };
    Cause::new(phase, error.to_string())
}
