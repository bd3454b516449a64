//! One connection: requests one after the other until the client closes, asks for it, or a fault does.
use std::io::{self, BufReader};
use std::net::{Shutdown, TcpStream};
use std::time::Duration;

use super::request::{self, ReadError, Request};
use super::response::Response;

/// Idle time after which a connection is closed.
const IDLE: Duration = Duration::from_mins(5);
/// Longest wait for a client that does not take its answer.
const WRITE_TIMEOUT: Duration = Duration::from_mins(1);
/// How long a look for a closed connection may block.
const PEEK: Duration = Duration::from_millis(5);

/// What becomes of a request.
pub enum Outcome {
    /// Answer it.
    Answer(Response),
    /// Answer half of it and close.
    Cut(Response),
    /// Close without an answer.
    Drop,
}

/// The client's side of a connection, for a request that waits.
pub struct Peer<'a> {
    stream: &'a TcpStream,
}

impl Peer<'_> {
    /// True when the client has closed its connection.
    pub fn is_gone(&self) -> bool {
        let mut byte = [0];
        if self.stream.set_read_timeout(Some(PEEK)).is_err() {
            return true;
        }
        let gone = match self.stream.peek(&mut byte) {
            Ok(read) => read == 0,
            Err(error) => !matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut),
        };
        gone || self.stream.set_read_timeout(Some(IDLE)).is_err()
    }
}

/// Serves a connection until its end.
pub fn serve(stream: &TcpStream, handle: impl Fn(&Request, &Peer<'_>) -> Outcome) {
    // Failures here and below end the connection; there is nobody to tell but the client, who sees it.
    let _ = run(stream, handle);
    let _ = stream.shutdown(Shutdown::Both);
}

fn run(stream: &TcpStream, handle: impl Fn(&Request, &Peer<'_>) -> Outcome) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_read_timeout(Some(IDLE))?;
    stream.set_write_timeout(Some(WRITE_TIMEOUT))?;
    let mut reader = BufReader::with_capacity(64 * 1024, stream);
    let mut writer = stream;
    loop {
        let request = match request::read(&mut reader, &mut writer) {
            Ok(request) => request,
            Err(ReadError::Closed) => return Ok(()),
            Err(ReadError::Io(error)) => return Err(error),
            Err(ReadError::Bad(status, reason)) => {
                let body = reason.as_bytes().to_vec();
                return Response::new(status, "text/plain", body).write(&mut writer, true);
            }
        };
        match handle(&request, &Peer { stream }) {
            Outcome::Answer(response) => response.write(&mut writer, request.close)?,
            Outcome::Cut(response) => return response.write_cut(&mut writer),
            Outcome::Drop => return Ok(()),
        }
        if request.close {
            return Ok(());
        }
    }
}
