//! TLS with an own root: what is trusted, and that a failed handshake proves that nothing was sent.

use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ksql_flownet::kintone::{Client, ErrorKind, Fields, Outcome, Target};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

use crate::server::{Server, Step, app, config};

const EMPTY_PAGE: &str = r#"{"records":[]}"#;

pub fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/data/tls")
        .join(name)
}

/// A server that speaks TLS with the named certificate.
pub fn tls_server(certificate: &str, script: Vec<Step>) -> Server {
    let chain = vec![CertificateDer::from_pem_file(data(certificate)).unwrap()];
    let key = PrivateKeyDer::from_pem_file(data("server.key")).unwrap();
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap();
    let config = Arc::new(config);
    Server::start_with(script, move |socket: TcpStream| {
        let mut stream = StreamOwned::new(ServerConnection::new(config.clone()).unwrap(), socket);
        while stream.conn.is_handshaking() {
            stream.conn.complete_io(&mut stream.sock).ok()?;
        }
        Some(stream)
    })
}

pub fn trusting(ca: Option<&str>, host: &str, server: &Server) -> ksql_flownet::kintone::Config {
    let mut config = config(&format!("https://{host}:{}", server.port));
    config.ca_file = ca.map(data);
    config
}

#[test]
fn an_own_root_is_trusted_by_name_and_address() {
    for host in ["localhost", "127.0.0.1"] {
        let server = tls_server(
            "server.pem",
            vec![Step::ok(EMPTY_PAGE), Step::ok(r#"{"revision":"2"}"#)],
        );
        let client = Client::new(trusting(Some("ca.pem"), host, &server)).unwrap();
        client.records(&app(), "", &[], false).unwrap();
        assert_eq!(
            client
                .update(&app(), &Target::Id(1), Some(1), &Fields::new())
                .unwrap(),
            2
        );
        assert_eq!(
            (server.received().len(), server.connections()),
            (2, 1),
            "one connection for both"
        );
    }
}

#[test]
fn other_certificates_are_refused_before_anything_is_sent() {
    for (certificate, ca) in [
        ("server.pem", None),
        ("server.pem", Some("other-ca.pem")),
        ("elsewhere.pem", Some("ca.pem")),
    ] {
        let server = tls_server(certificate, vec![Step::ok("{}")]);
        let client = Client::new(trusting(ca, "localhost", &server)).unwrap();
        let write = client
            .update(&app(), &Target::Id(1), Some(1), &Fields::new())
            .unwrap_err();
        assert_eq!(
            (write.kind(), write.outcome()),
            (ErrorKind::Transport, Outcome::NotApplied),
            "{write}"
        );
        assert!(
            write.to_string().contains("server certificate not accepted"),
            "{write}"
        );
        // Waiting does not mend a certificate.
        let read = client.records(&app(), "", &[], false).unwrap_err();
        assert_eq!(read.attempts(), 1);
        assert_eq!(server.received().len(), 0);
    }
}

#[test]
fn a_broken_handshake_is_not_applied_and_a_read_tries_again() {
    // Not TLS at all: the server reads the handshake as a request line and hangs up.
    let plain = Server::start(vec![]);
    let client = Client::new(trusting(Some("ca.pem"), "localhost", &plain)).unwrap();
    let error = client
        .update(&app(), &Target::Id(1), Some(1), &Fields::new())
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Transport, Outcome::NotApplied),
        "{error}"
    );

    let server = tls_server("server.pem", vec![Step::Drop, Step::Drop, Step::ok(EMPTY_PAGE)]);
    let client = Client::new(trusting(Some("ca.pem"), "127.0.0.1", &server)).unwrap();
    let error = client
        .update(&app(), &Target::Id(1), Some(1), &Fields::new())
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Transport, Outcome::NotApplied),
        "{error}"
    );
    assert!(error.to_string().contains("TLS handshake failed"), "{error}");
    client.records(&app(), "", &[], false).unwrap();
}

#[test]
fn after_the_handshake_a_lost_answer_is_unknown() {
    let server = tls_server("server.pem", vec![Step::Close]);
    let client = Client::new(trusting(Some("ca.pem"), "localhost", &server)).unwrap();
    let error = client
        .update(&app(), &Target::Id(1), Some(1), &Fields::new())
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Transport, Outcome::Unknown)
    );
    assert_eq!(server.received().len(), 1);
}

#[test]
fn a_ca_file_that_is_none_is_named() {
    let server = Server::start(vec![]);
    for (file, why) in [
        ("missing.pem", "cannot be read"),
        ("server.key", "holds no certificate"),
        ("README.md", "holds no certificate"),
    ] {
        let error = Client::new(trusting(Some(file), "localhost", &server))
            .err()
            .unwrap()
            .to_string();
        assert!(error.contains(file) && error.contains(why), "{error}");
    }
}
