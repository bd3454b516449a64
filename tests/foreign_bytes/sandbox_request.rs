//! What a client sends to the stand-in: a request, its parts and a query are read or refused, never more than was sent.

use ksql_flownet::sandbox::http::{multipart, request};
use ksql_flownet::sandbox::query::parse;

pub fn check(bytes: &[u8]) {
    let mut reply = Vec::new();
    if let Ok(request) = request::read(&mut &*bytes, &mut reply) {
        assert!(request.body.len() <= bytes.len());
        let boundary = request.header("content-type").and_then(multipart::boundary);
        if let Some(part) = boundary.and_then(|boundary| multipart::file_part(&request.body, boundary)) {
            assert!(part.content.len() <= request.body.len());
        }
    }
    if let Some(part) = multipart::file_part(bytes, "b") {
        assert!(part.content.len() <= bytes.len());
    }
    if let Ok(text) = std::str::from_utf8(bytes) {
        let _ = parse::parse(text);
        let _ = request::percent_decode(text, true);
    }
}
