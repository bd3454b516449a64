//! TLS for the transport: rustls with the built-in roots and, if wanted, a company's own (D-04).
//!
//! ureq's own connector can trust either the built-in roots or given certificates, not both; this one can. It is built
//! on the first https connection, so that plain loopback runs never pay for it, and it finishes the handshake before
//! it returns: a certificate fault is then provably a request that was never sent.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::{fmt, io};

use rustls::client::Resumption;
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use ureq::unversioned::transport::time::{Duration as TimeLimit, Instant as Moment};
use ureq::unversioned::transport::{
    Buffers, ConnectionDetails, Connector, Either, LazyBuffers, NextTimeout, Transport, TransportAdapter,
};

use super::config::ConfigError;
use super::limit;
use super::wording::Phrase;

/// Certificate authorities to trust besides the built-in ones.
#[derive(Clone, Default)]
pub(super) struct ExtraRoots(Vec<CertificateDer<'static>>);

impl ExtraRoots {
    /// Reads a PEM file; every certificate in it must be usable as a root.
    pub fn load(path: &Path) -> Result<Self, ConfigError> {
        let fault = |what: &str, japanese: &str| {
            let path = path.display();
            ConfigError::new(Phrase::new(
                format!("CA file {path} {what}"),
                format!("CA ファイル {path} {japanese}"),
            ))
        };
        let mut pem = Vec::new();
        File::open(path)
            .and_then(|file| file.take(limit::CA_FILE_BYTES + 1).read_to_end(&mut pem))
            .map_err(|e| fault(&format!("cannot be read: {e}"), &format!("を読み取れません: {e}")))?;
        if pem.len() as u64 > limit::CA_FILE_BYTES {
            return Err(fault("is larger than 1 MiB", "が 1 MiB を超えています"));
        }
        let certificates: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&pem).collect();
        let certificates =
            certificates.map_err(|_| fault("is not valid PEM", "は正しい PEM ではありません"))?;
        if certificates.is_empty() {
            return Err(fault(
                "holds no certificate in PEM form",
                "に PEM 形式の証明書がありません",
            ));
        }
        let mut store = RootCertStore::empty();
        for certificate in &certificates {
            store.add(certificate.clone()).map_err(|e| {
                fault(
                    &format!("holds an unusable certificate: {e}"),
                    &format!("に使えない証明書があります: {e}"),
                )
            })?;
        }
        Ok(Self(certificates))
    }
}

/// Wraps https connections in TLS and leaves all others as they are.
pub(super) struct TlsConnector {
    extra: ExtraRoots,
    config: OnceLock<Arc<ClientConfig>>,
}

impl TlsConnector {
    pub fn new(extra: ExtraRoots) -> Self {
        Self {
            extra,
            config: OnceLock::new(),
        }
    }

    fn config(&self) -> Result<Arc<ClientConfig>, rustls::Error> {
        if let Some(config) = self.config.get() {
            return Ok(config.clone());
        }
        let mut roots = RootCertStore {
            roots: webpki_roots::TLS_SERVER_ROOTS.to_vec(),
        };
        for certificate in &self.extra.0 {
            roots.add(certificate.clone())?;
        }
        let mut config = ClientConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()?
            .with_root_certificates(roots)
            .with_no_client_auth();
        config.resumption = Resumption::in_memory_sessions(limit::TLS_SESSIONS);
        Ok(self.config.get_or_init(|| Arc::new(config)).clone())
    }
}

impl fmt::Debug for TlsConnector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsConnector")
    }
}

impl<In: Transport> Connector<In> for TlsConnector {
    type Out = Either<In, TlsTransport>;

    fn connect(
        &self,
        details: &ConnectionDetails,
        chained: Option<In>,
    ) -> Result<Option<Self::Out>, ureq::Error> {
        let Some(transport) = chained else { return Ok(None) };
        if !details.needs_tls() || transport.is_tls() {
            return Ok(Some(Either::A(transport)));
        }
        let host = details.uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let name = ServerName::try_from(host.to_owned()).map_err(io::Error::other)?;
        let config = self.config().map_err(io::Error::other)?;
        let mut tls = ClientConnection::new(config, name).map_err(io::Error::other)?;
        let mut socket = TransportAdapter::new(transport.boxed(), details.current_time.clone());
        socket.set_timeout(what_is_left(details));
        tls.complete_io(&mut socket).map_err(handshake_fault)?;
        let buffers = LazyBuffers::new(
            details.config.input_buffer_size(),
            details.config.output_buffer_size(),
        );
        Ok(Some(Either::B(TlsTransport {
            buffers,
            stream: StreamOwned::new(tls, socket),
        })))
    }
}

/// The time that resolving and connecting left for the handshake: one limit covers them all.
fn what_is_left(details: &ConnectionDetails) -> NextTimeout {
    let mut timeout = details.timeout;
    if let (TimeLimit::Exact(limit), Moment::Exact(begun)) = (timeout.after, details.now) {
        timeout.after = TimeLimit::Exact(limit.saturating_sub(begun.elapsed()));
    }
    timeout
}

/// Why a TLS connection did not come about; travels inside an [`io::Error`].
#[derive(Debug)]
pub(super) enum TlsFault {
    /// The server's certificate was not accepted: waiting does not help.
    Certificate(String),
    /// Anything else.
    Handshake(String),
}

impl fmt::Display for TlsFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Certificate(text) | Self::Handshake(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for TlsFault {}

fn handshake_fault(error: io::Error) -> io::Error {
    let inner = error.get_ref();
    if inner.is_some_and(<dyn std::error::Error + Send + Sync>::is::<ureq::Error>) {
        // A time-out; ureq takes it out again.
        return error;
    }
    let certificate = inner
        .and_then(|e| e.downcast_ref::<rustls::Error>())
        .is_some_and(|e| {
            matches!(
                e,
                rustls::Error::InvalidCertificate(_) | rustls::Error::NoCertificatesPresented
            )
        });
    let text = error.to_string();
    io::Error::other(if certificate {
        TlsFault::Certificate(text)
    } else {
        TlsFault::Handshake(text)
    })
}

/// An established TLS connection.
pub(super) struct TlsTransport {
    buffers: LazyBuffers,
    stream: StreamOwned<ClientConnection, TransportAdapter>,
}

impl fmt::Debug for TlsTransport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("TlsTransport")
    }
}

impl Transport for TlsTransport {
    fn buffers(&mut self) -> &mut dyn Buffers {
        &mut self.buffers
    }

    fn transmit_output(&mut self, amount: usize, timeout: NextTimeout) -> Result<(), ureq::Error> {
        self.stream.sock.set_timeout(timeout);
        let output = &self.buffers.output()[..amount];
        io::Write::write_all(&mut self.stream, output)?;
        Ok(())
    }

    fn await_input(&mut self, timeout: NextTimeout) -> Result<bool, ureq::Error> {
        self.stream.sock.set_timeout(timeout);
        let input = self.buffers.input_append_buf();
        let amount = self.stream.read(input)?;
        self.buffers.input_appended(amount);
        Ok(amount > 0)
    }

    fn is_open(&mut self) -> bool {
        self.stream.sock.get_mut().is_open()
    }

    fn is_tls(&self) -> bool {
        true
    }
}
