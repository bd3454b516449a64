//! Standard streams that cannot stop a program.
//!
//! Whoever reads standard error may stop reading: a stuck logger, Ctrl-S on a terminal, a paused pager. A `write` would then
//! wait without end while a lock is kept alive in kintone, deaf to signals. So a thread of its own writes, behind a
//! bounded queue: messages that find it full are dropped and counted, results wait for room, and the end of the program
//! waits for the rest only so long.

use std::collections::VecDeque;
use std::io::{self, Write};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

/// Bytes that wait for the reader; beyond that messages are dropped.
const QUEUE_BYTES: usize = 256 << 10;
/// Time for which a result waits for messages that were sent before it, so that both streams on one terminal keep their
/// order.
const ORDER_PATIENCE: Duration = Duration::from_secs(1);
/// Time that the end of the program waits for the reader of messages.
const END_PATIENCE: Duration = Duration::from_secs(5);
/// Time that a program which listens for signals itself, and is not ended by them, waits for the reader of its results.
const RESULT_PATIENCE: Duration = Duration::from_secs(30);

/// A stream, the thread that writes to it, and what waits between them. Clones are the same stream.
#[derive(Clone)]
pub struct Relay(Arc<Shared>);

struct Shared {
    /// What is written finds no room: dropped (messages) or waited for (results).
    drops: bool,
    state: Mutex<State>,
    /// The state changed: something to write, or something was written.
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Vec<u8>>,
    bytes: usize,
    /// Taken out of the queue and not written yet.
    writing: bool,
    dropped: u64,
    /// The reader did not keep up when somebody waited; nobody waits again until it moves.
    stuck: bool,
    /// How long [`Write::flush`] waits; none = without end.
    patience: Option<Duration>,
    broken: Option<io::Error>,
}

/// Standard error: for messages, which are dropped when nobody reads them.
pub fn stderr() -> &'static Relay {
    static STDERR: OnceLock<Relay> = OnceLock::new();
    STDERR.get_or_init(|| Relay::to(io::stderr(), true, Some(ORDER_PATIENCE)))
}

/// Standard output: for results, which are waited for, without end unless [`Relay::limit`] says otherwise.
pub fn stdout() -> &'static Relay {
    static STDOUT: OnceLock<Relay> = OnceLock::new();
    STDOUT.get_or_init(|| Relay::to(io::stdout(), false, None))
}

/// The end of a program: both streams get their time to be read. Results that were not are the concern of their writer.
pub fn finish() {
    let _ = stdout().flush();
    stderr().settle(Some(END_PATIENCE));
}

impl Relay {
    /// A relay to `target`; a flush waits for `patience`.
    fn to(target: impl Write + Send + 'static, drops: bool, patience: Option<Duration>) -> Self {
        let relay = Self(Arc::new(Shared {
            drops,
            state: Mutex::new(State {
                patience,
                ..State::default()
            }),
            changed: Condvar::new(),
        }));
        let writer = relay.clone();
        let thread = std::thread::Builder::new().name("relay".into());
        if let Err(error) = thread.spawn(move || writer.serve(target)) {
            relay.state().broken = Some(error);
        }
        relay
    }

    /// Takes one message, whatever the reader does: it is dropped and counted when the queue is full.
    pub fn send(&self, message: &[u8]) {
        let mut state = self.state();
        if state.bytes + message.len() > QUEUE_BYTES {
            state.dropped += 1;
        } else {
            state.add(message);
            self.0.changed.notify_all();
        }
    }

    /// From now on a flush gives up after a while: for a program that signals no longer end.
    pub fn limit(&self) {
        self.state().patience = Some(RESULT_PATIENCE);
    }

    /// Gives what was sent so far a moment to be written before the other stream is used: both may be one terminal.
    pub fn keep_order(&self) {
        let stuck = self.state().stuck;
        if !stuck {
            self.settle(Some(ORDER_PATIENCE));
        }
    }

    /// Waits until everything is written, for `patience` at most (none = without end); whether it is.
    fn settle(&self, patience: Option<Duration>) -> bool {
        let until = patience.and_then(|time| Instant::now().checked_add(time));
        let mut state = self.state();
        while state.broken.is_none() && state.writing_or_waiting() {
            state = match until.map(|until| until.saturating_duration_since(Instant::now())) {
                None => self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner),
                Some(left) if left.is_zero() => {
                    state.stuck = true;
                    return false;
                }
                Some(left) => {
                    let woken = self.0.changed.wait_timeout(state, left);
                    woken.unwrap_or_else(PoisonError::into_inner).0
                }
            };
        }
        true
    }

    /// The thread: writes what comes, for the life of the process.
    fn serve(&self, mut target: impl Write) {
        let mut state = self.state();
        loop {
            let Some(next) = state.take() else {
                state = self.0.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
                continue;
            };
            drop(state);
            let written = target.write_all(&next).and_then(|()| target.flush());
            state = self.state();
            state.writing = false;
            state.stuck = false;
            if let Err(error) = written {
                state.waiting.clear();
                state.bytes = 0;
                state.broken = Some(error);
            }
            self.0.changed.notify_all();
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn add(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len();
        self.waiting.push_back(bytes.to_vec());
    }

    /// What is written next; after a gap, how many messages it swallowed.
    fn take(&mut self) -> Option<Vec<u8>> {
        let next = match self.waiting.pop_front() {
            Some(next) => {
                self.bytes -= next.len();
                next
            }
            None if self.dropped > 0 => {
                let lost = std::mem::take(&mut self.dropped);
                format!("warning: {lost} messages were dropped here because nobody read them\n").into_bytes()
            }
            None => return None,
        };
        self.writing = true;
        Some(next)
    }

    fn writing_or_waiting(&self) -> bool {
        self.writing || self.dropped > 0 || !self.waiting.is_empty()
    }
}

/// Results wait for room in the queue, as long as a flush would; messages never do.
impl Write for &Relay {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.0.drops {
            self.send(bytes);
            return Ok(bytes.len());
        }
        let full = self.state().bytes > QUEUE_BYTES;
        if full {
            self.flush()?;
        }
        let mut state = self.state();
        if let Some(error) = state.broken.take() {
            return Err(error);
        }
        state.add(bytes);
        self.0.changed.notify_all();
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let (patience, stuck) = {
            let state = self.state();
            (state.patience, state.stuck)
        };
        if stuck || !self.settle(patience) {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "nobody reads it"));
        }
        self.state().broken.take().map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::{Receiver, Sender, channel};

    use super::*;

    /// A reader that takes one write for each permit and keeps what it took.
    struct Reader(Receiver<()>, Sender<Vec<u8>>);

    impl Write for Reader {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.recv().map_err(|_| io::ErrorKind::BrokenPipe)?;
            self.1
                .send(bytes.to_vec())
                .map_err(|_| io::ErrorKind::BrokenPipe)?;
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn pair(drops: bool) -> (Relay, Sender<()>, Receiver<Vec<u8>>) {
        let (permit, permits) = channel();
        let (took, taken) = channel();
        (
            Relay::to(Reader(permits, took), drops, Some(Duration::ZERO)),
            permit,
            taken,
        )
    }

    #[test]
    fn a_stuck_reader_stops_nobody_and_is_told_what_it_missed() {
        let (relay, permit, taken) = pair(true);
        let line = vec![b'x'; QUEUE_BYTES / 2];
        for _ in 0..9 {
            relay.send(&line);
        }
        assert!(!relay.settle(Some(Duration::ZERO)));
        for _ in 0..9 {
            permit.send(()).expect("reader");
        }
        assert!(relay.settle(None));
        let told: Vec<String> = taken
            .try_iter()
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
            .filter(|text| text.starts_with("warning"))
            .collect();
        assert_eq!(told.len(), 1, "{told:?}");
        assert!(told[0].contains("messages were dropped"), "{told:?}");
    }

    #[test]
    fn a_result_that_nobody_reads_is_an_error_after_its_time() {
        let (relay, permit, taken) = pair(false);
        (&relay).write_all(b"result\n").expect("queued");
        let error = (&relay).flush().expect_err("nobody reads");
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        permit.send(()).expect("reader");
        assert_eq!(taken.recv().expect("written"), b"result\n");
    }

    #[test]
    fn an_error_of_the_stream_is_reported_once() {
        let (relay, permit, _taken) = pair(false);
        drop(permit);
        (&relay).write_all(b"x").expect("queued");
        relay.settle(None);
        assert_eq!(
            (&relay).flush().expect_err("broken").kind(),
            io::ErrorKind::BrokenPipe
        );
        (&relay).flush().expect("reported before");
    }
}
