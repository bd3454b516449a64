//! Writing answers, whole or - as a fault - cut in the middle.
use std::io::{self, Write};

/// One answer.
#[derive(Debug)]
pub struct Response {
    /// Status.
    pub status: u16,
    /// Headers besides length and connection.
    pub headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
}

impl Response {
    /// An answer with a content type.
    pub fn new(status: u16, content_type: &str, body: Vec<u8>) -> Self {
        Self {
            status,
            headers: vec![("Content-Type".to_owned(), content_type.to_owned())],
            body,
        }
    }

    /// A JSON answer.
    pub fn json(status: u16, body: Vec<u8>) -> Self {
        Self::new(status, "application/json;charset=UTF-8", body)
    }

    /// Adds or replaces a header.
    pub fn set_header(&mut self, name: &str, value: impl Into<String>) {
        self.headers
            .retain(|(known, _)| !known.eq_ignore_ascii_case(name));
        self.headers.push((name.to_owned(), value.into()));
    }

    fn head(&self, close: bool) -> Vec<u8> {
        let mut head = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        for (name, value) in &self.headers {
            // A line break in a value (a test's own header) must not become a header of its own.
            let value: String = value.chars().filter(|letter| !letter.is_control()).collect();
            head.push_str(name);
            head.push_str(": ");
            head.push_str(&value);
            head.push_str("\r\n");
        }
        head.push_str("Content-Length: ");
        head.push_str(&self.body.len().to_string());
        head.push_str("\r\n");
        head.push_str(if close {
            "Connection: close\r\n\r\n"
        } else {
            "Connection: keep-alive\r\n\r\n"
        });
        head.into_bytes()
    }

    /// Writes the whole answer in one piece.
    pub fn write(&self, out: &mut impl Write, close: bool) -> io::Result<()> {
        let mut bytes = self.head(close);
        bytes.extend_from_slice(&self.body);
        out.write_all(&bytes)?;
        out.flush()
    }

    /// Writes the head with the true length and only the first half of the body.
    pub fn write_cut(&self, out: &mut impl Write) -> io::Result<()> {
        let mut bytes = self.head(false);
        bytes.extend_from_slice(&self.body[..self.body.len() / 2]);
        out.write_all(&bytes)?;
        out.flush()
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        409 => "Conflict",
        413 => "Content Too Large",
        414 => "URI Too Long",
        429 => "Too Many Requests",
        431 => "Request Header Fields Too Large",
        500 => "Internal Server Error",
        502 => "Bad Gateway",
        503 => "Service Unavailable",
        504 => "Gateway Timeout",
        _ => "Unknown",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_answer_promises_more_than_it_holds() {
        let answer = Response::json(200, b"{\"a\":\"0123456789\"}".to_vec());
        let mut out = Vec::new();
        assert!(answer.write_cut(&mut out).is_ok());
        let text = String::from_utf8_lossy(&out).into_owned();
        assert!(
            text.contains("Content-Length: 18\r\n") && text.ends_with("\r\n\r\n{\"a\":\"012"),
            "{text}"
        );
    }

    #[test]
    fn header_values_cannot_break_out() {
        let mut answer = Response::json(200, Vec::new());
        answer.set_header("X-Test", "a\r\nSet-Cookie: x");
        let mut out = Vec::new();
        assert!(answer.write(&mut out, true).is_ok());
        assert!(!String::from_utf8_lossy(&out).contains("\nSet-Cookie"));
    }
}
