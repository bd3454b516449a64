//! Tunnelling through a proxy.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};
use std::thread;

use ksql_flownet::kintone::{Client, ErrorKind, Fields, Outcome, Proxy, Target};

use crate::server::{Step, app};
use crate::tls::{tls_server, trusting};

/// A CONNECT proxy that answers with `status` and, on 200, passes bytes to the port on the local host.
fn proxy(status: u16) -> (u16, Arc<Mutex<Vec<String>>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let heads = Arc::new(Mutex::new(Vec::new()));
    let log = heads.clone();
    thread::spawn(move || {
        for client in listener.incoming().flatten() {
            let log = log.clone();
            thread::spawn(move || tunnel(&client, status, &log));
        }
    });
    (port, heads)
}

fn tunnel(mut client: &TcpStream, status: u16, log: &Mutex<Vec<String>>) {
    let mut reader = BufReader::new(client.try_clone().unwrap());
    let mut head = String::new();
    while !head.ends_with("\r\n\r\n") {
        if reader.read_line(&mut head).unwrap() == 0 {
            return;
        }
    }
    log.lock().unwrap().push(head.clone());
    client
        .write_all(format!("HTTP/1.1 {status} X\r\n\r\n").as_bytes())
        .unwrap();
    if status != 200 {
        return;
    }
    let port = head.split([':', ' ']).nth(2).unwrap();
    let server = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    let (mut back, mut to_client) = (server.try_clone().unwrap(), client.try_clone().unwrap());
    thread::spawn(move || std::io::copy(&mut back, &mut to_client));
    let _ = std::io::copy(&mut reader, &mut &server);
}

#[test]
fn requests_go_through_the_tunnel_with_the_proxys_credentials() {
    let (port, heads) = proxy(200);
    let server = tls_server(
        "server.pem",
        vec![Step::ok(r#"{"records":[]}"#), Step::ok(r#"{"revision":"2"}"#)],
    );
    let mut config = trusting(Some("ca.pem"), "localhost", &server);
    let address = format!("http://user:p%40ss@127.0.0.1:{port}");
    config.proxy = Proxy::from_env(&config.base_url, |name| {
        (name == "HTTPS_PROXY").then(|| address.clone())
    })
    .unwrap();
    let client = Client::new(config).unwrap();
    client.records(&app(), "", &[], false).unwrap();
    client
        .update(&app(), &Target::Id(1), Some(1), &Fields::new())
        .unwrap();
    assert_eq!(server.received().len(), 2);
    assert_eq!(server.received()[0].header("proxy-authorization"), None);
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 1, "the tunnel is kept");
    assert!(
        heads[0].starts_with(&format!("CONNECT localhost:{} HTTP/1.1\r\n", server.port)),
        "{}",
        heads[0]
    );
    assert!(
        heads[0].contains("Proxy-Authorization: Basic dXNlcjpwQHNz\r\n"),
        "{}",
        heads[0]
    );
    assert!(!heads[0].contains("state-token"));
}

#[test]
fn a_proxy_that_refuses_proves_that_nothing_was_sent() {
    let (port, _) = proxy(407);
    let server = tls_server("server.pem", vec![]);
    let mut config = trusting(Some("ca.pem"), "localhost", &server);
    config.proxy = Some(Proxy::parse(&format!("127.0.0.1:{port}")).unwrap());
    let client = Client::new(config).unwrap();
    let error = client
        .update(&app(), &Target::Id(1), Some(1), &Fields::new())
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Transport, Outcome::NotApplied)
    );
    assert!(error.to_string().contains("the proxy refused"), "{error}");
    assert_eq!(server.connections(), 0);
}

#[test]
fn a_dead_proxy_proves_that_nothing_was_sent() {
    let dead = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let server = tls_server("server.pem", vec![]);
    let mut config = trusting(Some("ca.pem"), "localhost", &server);
    config.proxy = Some(Proxy::parse(&format!("http://127.0.0.1:{dead}")).unwrap());
    let error = Client::new(config)
        .unwrap()
        .add(&app(), &Fields::new())
        .unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Transport, Outcome::NotApplied)
    );
}
