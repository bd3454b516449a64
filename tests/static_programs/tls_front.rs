//! An https server before the plain stand-in: its certificate is for `elsewhere.example` and signed by `tests/data/tls/ca.pem`.

use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, StreamOwned};

/// How long one direction is listened to before it is the other's turn.
const TURN: Duration = Duration::from_millis(2);

/// Listens on a free port of 127.0.0.1 and passes every connection on to another port there; the threads end with the test
/// program.
pub fn start(plain_port: u16) -> u16 {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let config = Arc::new(server_config());
    thread::spawn(move || {
        for socket in listener.incoming().flatten() {
            let config = config.clone();
            thread::spawn(move || pass(socket, config, plain_port));
        }
    });
    port
}

fn server_config() -> ServerConfig {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/tls");
    let chain = vec![CertificateDer::from_pem_file(data.join("elsewhere.pem")).unwrap()];
    let key = PrivateKeyDer::from_pem_file(data.join("server.key")).unwrap();
    ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .unwrap()
}

/// Carries bytes both ways until one side is done; `None` is that end.
fn pass(socket: TcpStream, config: Arc<ServerConfig>, plain_port: u16) -> Option<()> {
    let mut plain = TcpStream::connect((Ipv4Addr::LOCALHOST, plain_port)).ok()?;
    plain.set_read_timeout(Some(TURN)).ok()?;
    let mut secure = StreamOwned::new(ServerConnection::new(config).ok()?, socket);
    while secure.conn.is_handshaking() {
        secure.conn.complete_io(&mut secure.sock).ok()?;
    }
    secure.sock.set_read_timeout(Some(TURN)).ok()?;
    loop {
        carry(&mut secure, &mut plain)?;
        carry(&mut plain, &mut secure)?;
    }
}

/// Passes on what is there now.
fn carry(from: &mut impl Read, to: &mut impl Write) -> Option<()> {
    let mut buffer = [0; 16384];
    match from.read(&mut buffer) {
        Ok(0) => None,
        Ok(length) => {
            to.write_all(&buffer[..length]).ok()?;
            to.flush().ok()
        }
        Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => Some(()),
        Err(_) => None,
    }
}
