//! Reading one request from a connection, with limits on every part.
use std::io::{self, BufRead, Read, Write};

/// Most bytes of request line and headers; the request line alone is limited to [`MAX_TARGET`].
const MAX_HEAD: usize = 64 * 1024;
/// Longest request target, about what the service takes (KTB-13).
pub const MAX_TARGET: usize = 8 * 1024;
/// Most headers.
const MAX_HEADERS: usize = 100;
/// Most bytes of a body: one upload or one batch of records.
pub const MAX_BODY: u64 = 256 * 1024 * 1024;
/// Longest line of a chunked body's framing.
const MAX_CHUNK_LINE: usize = 1024;

/// One request.
#[derive(Debug)]
pub struct Request {
    /// Method, upper case as sent.
    pub method: String,
    /// Path, percent escapes resolved.
    pub path: String,
    /// Raw query string, without the question mark.
    pub query: String,
    headers: Vec<(String, String)>,
    /// Body.
    pub body: Vec<u8>,
    /// The client wants the connection closed after the answer.
    pub close: bool,
}

impl Request {
    /// A header's value by its lower-case name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Why there is no request.
#[derive(Debug)]
pub enum ReadError {
    /// The client closed the connection between two requests.
    Closed,
    /// The connection broke or timed out.
    Io(io::Error),
    /// The bytes are no acceptable request: status and reason for the answer.
    Bad(u16, &'static str),
}

impl From<io::Error> for ReadError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

const MALFORMED: ReadError = ReadError::Bad(400, "Bad Request");
const TOO_LARGE: ReadError = ReadError::Bad(413, "Content Too Large");

/// Reads the next request. `reply` takes the interim answer that a careful client waits for.
pub fn read(reader: &mut impl BufRead, reply: &mut impl Write) -> Result<Request, ReadError> {
    let head = read_head(reader)?;
    let mut headers = [httparse::EMPTY_HEADER; MAX_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    match parsed.parse(&head) {
        Ok(httparse::Status::Complete(_)) => {}
        _ => return Err(MALFORMED),
    }
    let (Some(method), Some(target), Some(minor)) = (parsed.method, parsed.path, parsed.version) else {
        return Err(MALFORMED);
    };
    if target.len() > MAX_TARGET {
        return Err(ReadError::Bad(414, "URI Too Long"));
    }
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut headers = Vec::with_capacity(parsed.headers.len());
    for header in parsed.headers.iter() {
        let value = std::str::from_utf8(header.value).map_err(|_| MALFORMED)?;
        headers.push((header.name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request = Request {
        method: method.to_owned(),
        path: percent_decode(path, false).ok_or(MALFORMED)?,
        query: query.to_owned(),
        headers,
        body: Vec::new(),
        close: minor == 0,
    };
    if let Some(connection) = request.header("connection") {
        let has = |word: &str| {
            connection
                .split(',')
                .any(|part| part.trim().eq_ignore_ascii_case(word))
        };
        request.close = has("close") || (minor == 0 && !has("keep-alive"));
    }
    if request
        .header("expect")
        .is_some_and(|value| value.eq_ignore_ascii_case("100-continue"))
    {
        reply.write_all(b"HTTP/1.1 100 Continue\r\n\r\n")?;
        reply.flush()?;
    }
    request.body = read_body(&request, reader)?;
    Ok(request)
}

/// Reads up to the empty line after the headers.
fn read_head(reader: &mut impl BufRead) -> Result<Vec<u8>, ReadError> {
    let mut head = Vec::new();
    loop {
        let before = head.len();
        let read = reader
            .by_ref()
            .take((MAX_HEAD - before + 1) as u64)
            .read_until(b'\n', &mut head)?;
        if read == 0 {
            return Err(if head.is_empty() {
                ReadError::Closed
            } else {
                MALFORMED
            });
        }
        if head.len() > MAX_HEAD {
            return Err(ReadError::Bad(431, "Request Header Fields Too Large"));
        }
        let line = &head[before..];
        if line == b"\r\n" || line == b"\n" {
            if before == 0 {
                // Empty lines before a request line are allowed.
                head.clear();
                continue;
            }
            return Ok(head);
        }
    }
}

fn read_body(request: &Request, reader: &mut impl BufRead) -> Result<Vec<u8>, ReadError> {
    if let Some(encoding) = request.header("transfer-encoding") {
        if !encoding.eq_ignore_ascii_case("chunked") || request.header("content-length").is_some() {
            return Err(MALFORMED);
        }
        return read_chunks(reader);
    }
    let Some(length) = request.header("content-length") else {
        return Ok(Vec::new());
    };
    if !length.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(MALFORMED);
    }
    let length: u64 = length.parse().map_err(|_| TOO_LARGE)?;
    if length > MAX_BODY {
        return Err(TOO_LARGE);
    }
    let mut body = Vec::new();
    reader.by_ref().take(length).read_to_end(&mut body)?;
    if (body.len() as u64) < length {
        Err(MALFORMED)
    } else {
        Ok(body)
    }
}

fn read_chunks(reader: &mut impl BufRead) -> Result<Vec<u8>, ReadError> {
    let mut body = Vec::new();
    loop {
        let line = read_line(reader)?;
        let size = line.split(';').next().unwrap_or_default().trim();
        let size = u64::from_str_radix(size, 16).map_err(|_| MALFORMED)?;
        if size == 0 {
            // Trailers up to the empty line are read and dropped.
            while !read_line(reader)?.is_empty() {}
            return Ok(body);
        }
        if body.len() as u64 + size > MAX_BODY {
            return Err(TOO_LARGE);
        }
        let read = reader.by_ref().take(size).read_to_end(&mut body)?;
        if (read as u64) < size || !read_line(reader)?.is_empty() {
            return Err(MALFORMED);
        }
    }
}

fn read_line(reader: &mut impl BufRead) -> Result<String, ReadError> {
    let mut line = Vec::new();
    reader
        .by_ref()
        .take(MAX_CHUNK_LINE as u64)
        .read_until(b'\n', &mut line)?;
    let text = line.strip_suffix(b"\n").ok_or(MALFORMED)?;
    let text = text.strip_suffix(b"\r").unwrap_or(text);
    String::from_utf8(text.to_vec()).map_err(|_| MALFORMED)
}

/// Resolves percent escapes; in a form-encoded query `+` is a space. `None`: a broken escape or no UTF-8.
pub fn percent_decode(text: &str, plus_is_space: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        bytes.push(match byte {
            b'%' => {
                let pair = [rest.next()?, rest.next()?];
                let pair = std::str::from_utf8(&pair).ok()?;
                u8::from_str_radix(pair, 16)
                    .ok()
                    .filter(|_| !pair.starts_with('+'))?
            }
            b'+' if plus_is_space => b' ',
            _ => byte,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parse(bytes: &[u8]) -> Result<Request, ReadError> {
        read(&mut io::Cursor::new(bytes), &mut Vec::new())
    }

    #[test]
    fn reads_bodies_by_length_and_by_chunks() {
        let plain = parse(b"POST /k/v1/a%20b.json?x=1 HTTP/1.1\r\nContent-Length: 4\r\n\r\nbodyNEXT");
        assert!(plain.is_ok_and(|request| request.body == b"body"
            && request.path == "/k/v1/a b.json"
            && request.query == "x=1"
            && !request.close));
        let chunked = parse(b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nA;x=y\r\n0123456789\r\n0\r\nT: 1\r\n\r\n");
        assert!(chunked.is_ok_and(|request| request.body == b"abc0123456789"));
    }

    #[test]
    fn refuses_bad_framing() {
        for bytes in [
            &b"GET /\r\n\r\n"[..],
            b"POST / HTTP/1.1\r\nContent-Length: 10\r\n\r\nshort",
            b"POST / HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
            b"POST / HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
            b"POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n",
            b"GET /%zz HTTP/1.1\r\n\r\n",
        ] {
            assert!(
                matches!(parse(bytes), Err(ReadError::Bad(400, _))),
                "{}",
                String::from_utf8_lossy(bytes)
            );
        }
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(MAX_TARGET));
        assert!(matches!(parse(long.as_bytes()), Err(ReadError::Bad(414, _))));
        assert!(matches!(parse(b""), Err(ReadError::Closed)));
    }

    #[test]
    fn connection_header_decides_about_the_next_request() {
        let close = |head: &str| parse(head.as_bytes()).is_ok_and(|request| request.close);
        assert!(close("GET / HTTP/1.1\r\nConnection: Close\r\n\r\n"));
        assert!(close("GET / HTTP/1.0\r\n\r\n"));
        assert!(!close("GET / HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"));
    }

    #[test]
    fn interim_answer_for_careful_clients() {
        let mut reply = Vec::new();
        let bytes = b"POST / HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 1\r\n\r\nx";
        assert!(read(&mut io::Cursor::new(&bytes[..]), &mut reply).is_ok());
        assert!(reply.starts_with(b"HTTP/1.1 100 "));
    }

    proptest! {
        #[test]
        fn foreign_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = parse(&bytes);
        }

        #[test]
        fn foreign_queries_never_panic(text in "[%+a-z0-9é]{0,40}") {
            let _ = percent_decode(&text, true);
        }
    }
}
