//! Attachments.

use ksql_flownet::kintone::{Client, ErrorKind, Outcome};

use crate::server::{Server, Step, app};

#[test]
fn an_upload_is_one_multipart_part_and_is_repeated() {
    // Larger than every buffer on the way.
    let bytes: Vec<u8> = (0..200_000u32).map(|n| (n % 251) as u8).collect();
    let server = Server::start(vec![
        Step::status(503, ""),
        Step::ok("{}"),
        Step::ok(r#"{"fileKey":"key-1"}"#),
    ]);
    let client = server.client();
    let key = client
        .upload(&app(), "束.zip", "application/zip", &bytes)
        .unwrap();
    assert_eq!(key, "key-1");
    let received = server.received();
    assert_eq!(received.len(), 3);
    for got in received {
        assert_eq!(got.line(), "POST /k/v1/file.json");
        assert_eq!(got.header("x-cybozu-api-token"), Some("state-token"));
        let kind = got.header("content-type").unwrap();
        let boundary = kind.strip_prefix("multipart/form-data; boundary=").unwrap();
        let head = format!(
            "--{boundary}\r\nContent-Disposition: form-data; name=\"file\"; filename=\"束.zip\"\r\n\
             Content-Type: application/zip\r\n\r\n"
        );
        let expected = [
            head.as_bytes(),
            &bytes,
            format!("\r\n--{boundary}--\r\n").as_bytes(),
        ]
        .concat();
        assert_eq!(got.body, expected);
    }
    let counts = client.requests();
    assert_eq!(
        (counts.total, counts.by_app.len()),
        (3, 0),
        "uploads are not charged to the app"
    );
}

#[test]
fn a_download_gives_the_bytes() {
    let bytes = vec![0, 159, 146, 150, b'{'];
    let reply = Step::Reply {
        status: 200,
        headers: vec![],
        body: bytes.clone(),
    };
    let server = Server::start(vec![Step::status(500, ""), reply]);
    assert_eq!(server.client().download(&app(), "k/1", 5).unwrap(), bytes);
    assert_eq!(server.received()[1].line(), "GET /k/v1/file.json?fileKey=k%2F1");
}

#[test]
fn a_download_is_bounded_and_a_cut_one_is_no_file() {
    let server = Server::start(vec![Step::ok("123456")]);
    let error = server.client().download(&app(), "k", 5).unwrap_err();
    assert_eq!(
        (error.kind(), error.outcome(), error.attempts()),
        (ErrorKind::TooLarge, Outcome::NotApplied, 1)
    );

    let cut = Step::Raw(b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n1234".to_vec());
    let server = Server::start(vec![cut]);
    let mut config = server.config();
    config.retry.attempts = 1;
    let error = Client::new(config)
        .unwrap()
        .download(&app(), "k", 100)
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Transport);
}

#[test]
fn an_upload_key_cannot_be_downloaded() {
    let server = Server::start(vec![Step::status(
        404,
        r#"{"code":"GAIA_BL01","id":"i","message":"m"}"#,
    )]);
    let error = server.client().download(&app(), "k", 100).unwrap_err();
    assert_eq!(
        (error.kind(), error.code()),
        (ErrorKind::NotFound, Some("GAIA_BL01"))
    );
}
