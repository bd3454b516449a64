//! `serve`: the listening socket, a thread per connection, a clean end on SIGTERM and SIGINT.
use std::fmt;
use std::io::{self, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener};
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::app::file;
use super::control::Gate;
use super::http::connection;
use super::service::Service;
use super::store::Store;
use super::store::journal::JournalError;
use super::store::state::State;

/// Open connections; more than requests may run, because idle ones are kept.
const MAX_CONNECTIONS: usize = 512;
/// A connection thread parses JSON of limited depth and sorts; the default stack is more than enough.
const STACK: usize = 2 * 1024 * 1024;

/// How to serve.
#[derive(Debug)]
pub struct Options {
    /// Apps file.
    pub apps: PathBuf,
    /// Data directory.
    pub data: PathBuf,
    /// Address to listen on.
    pub listen: IpAddr,
    /// Port; 0 takes a free one.
    pub port: u16,
    /// Milliseconds that every request waits first.
    pub latency_ms: u64,
    /// Opens the control interface.
    pub control: bool,
}

/// Why the stand-in cannot serve.
#[derive(Debug)]
pub enum ServeError {
    /// The apps file.
    Apps(file::AppsFileError),
    /// The data directory.
    Data(JournalError),
    /// The socket or the signals.
    Io(String, io::Error),
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Apps(error) => write!(f, "apps file: {error}"),
            Self::Data(error) => write!(f, "data directory: {error}"),
            Self::Io(what, error) => write!(f, "{what}: {error}"),
        }
    }
}

/// Serves until SIGTERM or SIGINT.
pub fn serve(options: &Options) -> Result<(), ServeError> {
    let signals = signals().map_err(|error| ServeError::Io("signal handling".to_owned(), error))?;
    let directory = file::read(&options.apps).map_err(ServeError::Apps)?;
    let store = Store::open(&options.data, State::new(directory)).map_err(ServeError::Data)?;
    let service = Arc::new(Service::new(store));
    let address = SocketAddr::new(options.listen, options.port);
    let io = |error| ServeError::Io(format!("listening on {address}"), error);
    let listener = TcpListener::bind(address).map_err(io)?;
    let bound = listener.local_addr().map_err(io)?;
    let gate = Arc::new(Gate::new(
        Arc::clone(&service),
        options.control,
        options.latency_ms,
    ));
    std::thread::Builder::new()
        .name("accept".to_owned())
        .spawn(move || accept(&listener, &gate))
        .map_err(io)?;
    if options.control && !options.listen.is_loopback() {
        eprintln!("kintone-sandbox: warning: --control gives everybody who reaches {bound} every right");
    }
    let mut out = io::stdout();
    // A caller that closed our standard output does not read the address; serving goes on.
    let _ = writeln!(out, "kintone-sandbox: listening on http://{bound}").and_then(|()| out.flush());
    wait(signals).map_err(|error| ServeError::Io("signal handling".to_owned(), error))?;
    // From here no write begins; the process ends with everything answered on disk.
    service.store.close();
    Ok(())
}

/// A stream that becomes readable on SIGTERM or SIGINT.
fn signals() -> io::Result<UnixStream> {
    let (reader, writer) = UnixStream::pair()?;
    signal_hook::low_level::pipe::register(signal_hook::consts::SIGINT, writer.try_clone()?)?;
    signal_hook::low_level::pipe::register(signal_hook::consts::SIGTERM, writer)?;
    Ok(reader)
}

fn wait(mut signals: UnixStream) -> io::Result<()> {
    let mut byte = [0];
    loop {
        match signals.read(&mut byte) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
            Ok(_) => return Ok(()),
        }
    }
}

fn accept(listener: &TcpListener, gate: &Arc<Gate>) {
    let open = Arc::new(AtomicUsize::new(0));
    for stream in listener.incoming() {
        // A failed accept concerns one client only, or passes when connections close.
        let Ok(stream) = stream else {
            std::thread::sleep(std::time::Duration::from_millis(10));
            continue;
        };
        if open.fetch_add(1, Ordering::Relaxed) >= MAX_CONNECTIONS {
            open.fetch_sub(1, Ordering::Relaxed);
            continue;
        }
        let (gate, counter) = (Arc::clone(gate), Arc::clone(&open));
        let spawned = std::thread::Builder::new()
            .name("connection".to_owned())
            .stack_size(STACK)
            .spawn(move || {
                let _open = Open(counter);
                connection::serve(&stream, |request, peer| gate.handle(request, peer));
            });
        if spawned.is_err() {
            open.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// Counts a connection as open until it is dropped, also when its thread panics.
struct Open(Arc<AtomicUsize>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
