//! What a failed write proves: "not applied" only when it is certain, "unknown" otherwise; and that no write is ever
//! sent twice behind our back.

use std::net::TcpListener;
use std::time::Duration;

use ksql_flownet::kintone::{Client, Error, ErrorKind, Fields, Outcome, Target};
use proptest::prelude::*;

use crate::server::{Server, Step, app, config};

const CREATED: &str = r#"{"id":"1","revision":"1"}"#;
const EMPTY_PAGE: &str = r#"{"records":[],"totalCount":null}"#;

fn write(client: &Client) -> Error {
    client
        .update(&app(), &Target::Id(1), Some(1), &Fields::new().text("a", "x"))
        .unwrap_err()
}

/// A port that nobody listens on.
fn dead_port() -> u16 {
    TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port()
}

#[test]
fn never_sent_is_not_applied() {
    let client = Client::new(config(&format!("http://127.0.0.1:{}", dead_port()))).unwrap();
    let error = write(&client);
    assert_eq!(
        (error.kind(), error.outcome(), error.attempts()),
        (ErrorKind::Transport, Outcome::NotApplied, 1)
    );
    let text = error.to_string();
    assert!(
        text.starts_with("PUT record of the state app (app 11) failed: no connection: "),
        "{text}"
    );

    let mut unresolved = config("https://no-such-host.invalid");
    unresolved.timeouts.connect = Duration::from_secs(2);
    let error = write(&Client::new(unresolved).unwrap());
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Transport, Outcome::NotApplied)
    );
}

#[test]
fn refused_is_not_applied() {
    for (status, body) in [
        (400, r#"{"code":"CB_VA01","id":"i","message":"m"}"#),
        (403, "<html>no</html>"),
        (404, r#"{"code":"GAIA_RE01"}"#),
        (409, r#"{"code":"GAIA_CO02"}"#),
        (429, ""),
    ] {
        let server = Server::start(vec![Step::status(status, body)]);
        let error = write(&server.client());
        assert_eq!(
            (error.status(), error.outcome()),
            (Some(status), Outcome::NotApplied)
        );
        assert_eq!(server.received().len(), 1, "{status}: sent once");
    }
}

#[test]
fn lost_or_broken_answers_are_unknown_and_never_resent() {
    let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{\"revision\":\"2\"";
    let cut_chunk = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\n{\"rev";
    for (step, kind) in [
        (Step::Close, ErrorKind::Transport),
        (Step::Raw(b"HTTP/1.1 200".to_vec()), ErrorKind::Transport),
        (Step::Raw(b"ICY 200 OK\r\n\r\n".to_vec()), ErrorKind::Transport),
        (Step::Raw(cut.to_vec()), ErrorKind::Transport),
        (Step::Raw(cut_chunk.to_vec()), ErrorKind::Transport),
        (
            Step::Raw(b"HTTP/1.1 200 OK\r\n\r\n{\"revi".to_vec()),
            ErrorKind::BodyInvalid,
        ),
        (Step::ok("<html>login</html>"), ErrorKind::BodyInvalid),
        (Step::ok(""), ErrorKind::BodyInvalid),
        (Step::ok("null"), ErrorKind::BodyInvalid),
        (Step::ok("{}"), ErrorKind::BodyInvalid),
        (Step::ok(r#"{"revision":"x"}"#), ErrorKind::BodyInvalid),
        (Step::status(204, ""), ErrorKind::BodyInvalid),
        (Step::status(500, ""), ErrorKind::Unavailable),
        (
            Step::status(503, "<html>maintenance</html>"),
            ErrorKind::Unavailable,
        ),
        (
            Step::status(520, r#"{"code":"GAIA_RE18"}"#),
            ErrorKind::DatabaseLock,
        ),
        (Step::status(408, ""), ErrorKind::Refused),
        (
            Step::with_header(302, "Location", "/login", ""),
            ErrorKind::Unexpected,
        ),
        (
            Step::with_header(307, "Location", "/k/v1/record.json", ""),
            ErrorKind::Unexpected,
        ),
    ] {
        let server = Server::start(vec![step.clone()]);
        let error = write(&server.client());
        assert_eq!(
            (error.kind(), error.outcome()),
            (kind, Outcome::Unknown),
            "{step:?}: {error}"
        );
        assert!(
            error.to_string().ends_with("; whether it took effect is unknown"),
            "{error}"
        );
        assert_eq!(server.received().len(), 1, "{step:?}: sent once");
    }
}

#[test]
fn no_answer_in_time_is_unknown() {
    let server = Server::start(vec![Step::Hang]);
    let mut config = server.config();
    config.timeouts.request = Duration::from_millis(200);
    let error = write(&Client::new(config).unwrap());
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Transport, Outcome::Unknown)
    );
    assert_eq!(server.received().len(), 1);
}

#[test]
fn a_reused_connection_that_dies_does_not_resend_a_write() {
    // The server keeps the connection after the first answer, takes the second request and closes: the classic race
    // that makes libraries send again.
    let server = Server::start(vec![Step::ok(CREATED), Step::Close, Step::ok(CREATED)]);
    let client = server.client();
    let fields = Fields::new().text("a", "x");
    client.add(&app(), &fields).unwrap();
    let error = client.add(&app(), &fields).unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome()),
        (ErrorKind::Transport, Outcome::Unknown)
    );
    let received = server.received();
    assert_eq!(received.len(), 2);
    assert_eq!(
        received[0].connection, received[1].connection,
        "the connection was reused"
    );
}

#[test]
fn an_idle_connection_that_the_server_closed_is_not_used() {
    let closing = Step::ReplyAndClose {
        status: 200,
        body: CREATED.into(),
    };
    let server = Server::start(vec![closing.clone(), closing.clone(), closing]);
    let client = server.client();
    for _ in 0..3 {
        client.add(&app(), &Fields::new()).unwrap();
        // The close reaches us when the server's thread gets to it.
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!(server.connections(), 3);
}

#[test]
fn reads_change_nothing_whatever_happens() {
    for step in [Step::Close, Step::status(500, ""), Step::ok("<html>")] {
        let server = Server::start(vec![step]);
        let mut config = server.config();
        config.retry.attempts = 1;
        let error = Client::new(config)
            .unwrap()
            .records(&app(), "", &[], false)
            .unwrap_err();
        assert_eq!(error.outcome(), Outcome::NotApplied);
    }
}

#[test]
fn a_broken_read_is_repeated() {
    let server = Server::start(vec![
        Step::ok("<html>"),
        Step::ok(r#"{"records":{}}"#),
        Step::ok(r#"{"records":[],"totalCount":"#),
        Step::ok(EMPTY_PAGE),
    ]);
    let page = server.client().records(&app(), "", &[], false).unwrap();
    assert_eq!((page.records.len(), server.received().len()), (0, 4));
}

#[test]
fn secrets_and_bodies_stay_out_of_messages() {
    let body = r#"{"code":"CB_VA01","id":"i","message":"field-value","errors":{"record.a.value":{"messages":["field-value"]}}}"#;
    let server = Server::start(vec![Step::status(400, body)]);
    let error = write(&server.client());
    for shown in [error.to_string(), format!("{:?}", app())] {
        assert!(
            !shown.contains("state-token") && !shown.contains("field-value"),
            "{shown}"
        );
    }
    assert_eq!(error.message(), Some("field-value"));
    assert_eq!(
        error.paths().collect::<Vec<_>>(),
        [("record.a.value", "field-value")]
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_bytes_for_an_answer_give_a_class(
        head in "HTTP/1\\.[01] [0-9]{3} [a-z]{0,3}\r\n|[ -~]{0,20}",
        lines in proptest::collection::vec(
            "(Content-Length|Transfer-Encoding|Location|Retry-After|Date): ?(chunked|[0-9]{1,4}|[ -~]{0,9})\r\n", 0..4),
        body in proptest::collection::vec(any::<u8>(), 0..60),
    ) {
        let mut bytes = format!("{head}{}\r\n", lines.concat()).into_bytes();
        bytes.extend(body);
        let server = Server::start(vec![Step::Raw(bytes)]);
        let client = server.client();
        if let Err(error) = client.update(&app(), &Target::Id(1), None, &Fields::new()) {
            prop_assert!(!error.to_string().chars().any(char::is_control));
            let refused = error.status().is_some_and(|status| (400..499).contains(&status) && status != 408);
            prop_assert_eq!(error.outcome() == Outcome::NotApplied, refused);
        }
        prop_assert_eq!(server.received().len(), 1);
    }
}
