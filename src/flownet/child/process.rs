//! One child process in a process group of its own: start it, read its pipes, end it in time (RUN-17).
//!
//! The leader is observed without being reaped until the very end. As long as it is unreaped its pid, and with it the
//! number of the group, cannot be reused, so the group can be signalled without ever hitting a stranger.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitId, WaitIdOptions};

use super::process_table::ProcessTable;
use super::{Runner, StopSignal, env};

/// Bytes of standard error that are kept: the last ones, where programs say why they failed.
pub(super) const STDERR_TAIL_BYTES: usize = 64 << 10;
/// Shortest and longest pause between two looks at the child.
const POLL: [Duration; 2] = [Duration::from_millis(5), Duration::from_millis(50)];

/// Looks at a killed child before it is given up.
const DROP_LOOKS: usize = 40;

/// What is kept of the child's standard output.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Stdout {
    /// Read and dropped.
    Dropped,
    /// Kept up to this many bytes; more ends the child.
    Kept(usize),
}

/// When a child has to end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Limits {
    /// Time from the start to the polite signal.
    pub time: Option<Duration>,
    /// Time from the polite signal to the hard one, and once more for the end to be seen.
    pub grace: Duration,
}

/// How a child ended.
#[derive(Clone, Debug)]
pub(super) struct Ended {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub forced: bool,
    pub timed_out: bool,
    pub stopped: bool,
    pub leftovers: bool,
    pub overflow: bool,
    pub stdout: Vec<u8>,
    pub stderr_tail: String,
}

/// A started child and its readers.
#[derive(Debug)]
pub(super) struct Process {
    child: Child,
    pid: Pid,
    started: Instant,
    table: ProcessTable,
    stdout: Stream,
    stderr: Stream,
    reaped: bool,
}

impl Process {
    /// Starts the runner with `args`. An error means that no program was started.
    pub(super) fn start<I, S>(runner: &Runner, args: I, keep: Stdout) -> io::Result<Self>
    where
        I: IntoIterator<Item = S>,
        S: AsRef<std::ffi::OsStr>,
    {
        let mut command = Command::new(&runner.program);
        command
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0);
        runner.env.apply(&mut command);
        let mut child = command.spawn()?;
        let pid = Pid::from_child(&child);
        let stdout = Stream::read(
            child.stdout.take(),
            match keep {
                Stdout::Dropped => Keep::Nothing,
                Stdout::Kept(bytes) => Keep::First(bytes),
            },
        );
        let stderr = Stream::read(child.stderr.take(), Keep::Last(STDERR_TAIL_BYTES));
        Ok(Self {
            child,
            pid,
            started: Instant::now(),
            table: ProcessTable::default(),
            stdout,
            stderr,
            reaped: false,
        })
    }

    pub(super) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Clock ticks between boot and the start; readable until the child is reaped, even after its end.
    pub(super) fn start_time(&self) -> Option<u64> {
        self.table.stat(self.pid()).ok().flatten().map(|s| s.start_time)
    }

    /// Waits for the end and brings it about when the limit is over or a stop is requested.
    ///
    /// The polite signal goes to the leader. Should the leader end and leave its group behind (a shell that does not
    /// pass signals on), the rest of the group gets it too: a runner that saw it twice would give up without a result
    /// (RUN-18), and wrappers that pass signals on are common. The hard signal always goes to the whole group.
    pub(super) fn supervise(&mut self, limits: Limits, stop: &StopSignal) -> Ended {
        let deadline = limits.time.and_then(|t| self.started.checked_add(t));
        let mut phase = Phase::Running { strays_until: None };
        let (mut forced, mut timed_out, mut stopped) = (false, false, false);
        let mut rest_was_signalled = false;
        let mut pause = POLL[0];
        loop {
            let now = Instant::now();
            let exited = self.leader_has_exited();
            let ended = exited && self.stdout.is_closed() && self.stderr.is_closed();
            match phase {
                Phase::Running { strays_until } => {
                    if ended {
                        break;
                    }
                    stopped = stop.is_requested();
                    timed_out = !stopped && deadline.is_some_and(|d| now >= d);
                    if self.stdout.overflowed() {
                        self.signal_group(Signal::KILL);
                        phase = Phase::Killed {
                            until: later(now, limits.grace),
                        };
                    } else if stopped || timed_out {
                        self.signal_leader(Signal::TERM);
                        phase = Phase::Ending {
                            until: later(now, limits.grace),
                        };
                    } else if exited && !self.rest_is_alive(false) {
                        // Only a process outside the group can hold the pipes now. It is not waited for without end.
                        let until = strays_until.unwrap_or_else(|| later(now, limits.grace));
                        if now >= until {
                            break;
                        }
                        phase = Phase::Running {
                            strays_until: Some(until),
                        };
                    }
                }
                Phase::Ending { until } => {
                    let rest = exited && self.rest_is_alive(true);
                    if ended && !rest {
                        break;
                    }
                    if rest && !rest_was_signalled {
                        self.signal_group(Signal::TERM);
                        rest_was_signalled = true;
                    }
                    if now >= until || stop.is_urgent() {
                        // A leader that ended with closed pipes has said all it had to say; only strays are killed.
                        forced = !ended;
                        self.signal_group(Signal::KILL);
                        phase = Phase::Killed {
                            until: later(now, limits.grace),
                        };
                    }
                }
                Phase::Killed { until } => {
                    if ended || now >= until || (exited && stop.is_urgent()) {
                        break;
                    }
                }
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(POLL[1]);
        }
        let closed = self.stdout.is_closed() && self.stderr.is_closed();
        let leftovers = !closed || self.rest_is_alive(false);
        let status = self.reap();
        Ended {
            code: status.and_then(|s| s.code()),
            signal: status.and_then(|s| s.signal()),
            forced,
            timed_out,
            stopped,
            leftovers,
            overflow: self.stdout.overflowed(),
            stdout: self.stdout.take(),
            stderr_tail: env::mask_own_secrets(self.stderr.take_text()),
        }
    }

    fn leader_has_exited(&self) -> bool {
        let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        // An error means that there is no such child any more: somebody reaped it for us.
        self.reaped || !matches!(rustix::process::waitid(WaitId::Pid(self.pid), options), Ok(None))
    }

    /// Whether the group has a living member besides the ended leader.
    fn rest_is_alive(&self, in_doubt: bool) -> bool {
        self.table.group_is_alive(self.pid()).unwrap_or(in_doubt)
    }

    fn signal_leader(&self, signal: Signal) {
        // Failing means that it has ended, which the next look shows.
        let _ = rustix::process::kill_process(self.pid, signal);
    }

    fn signal_group(&self, signal: Signal) {
        let _ = rustix::process::kill_process_group(self.pid, signal);
    }

    /// Takes the exit status; never blocks, even if the kernel cannot end the process.
    fn reap(&mut self) -> Option<ExitStatus> {
        let status = self.child.try_wait();
        self.reaped = !matches!(status, Ok(None));
        status.ok().flatten()
    }
}

impl Drop for Process {
    /// A child that nobody waits for any more must not outlive its owner unnoticed. One that cannot be killed, another
    /// user's or one stuck in the kernel, is not waited for without end.
    fn drop(&mut self) {
        for _ in 0..DROP_LOOKS {
            if self.reaped {
                return;
            }
            self.signal_group(Signal::KILL);
            std::thread::sleep(POLL[1]);
            self.reap();
        }
    }
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Running { strays_until: Option<Instant> },
    Ending { until: Instant },
    Killed { until: Instant },
}

/// A grace period that is too long for the clock is as good as a very long one.
fn later(now: Instant, by: Duration) -> Instant {
    const LONGEST: Duration = Duration::from_hours(366 * 24);
    now + by.min(LONGEST)
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Keep {
    Nothing,
    First(usize),
    Last(usize),
}

/// One pipe, read by a thread that nobody has to join: a stray process may hold the other end for ever.
#[derive(Debug)]
struct Stream {
    kept: Arc<Mutex<Kept>>,
    closed: Arc<AtomicBool>,
}

#[derive(Default, Debug)]
struct Kept {
    bytes: VecDeque<u8>,
    dropped: bool,
}

impl Stream {
    fn read(pipe: Option<impl Read + Send + 'static>, keep: Keep) -> Self {
        let kept = Arc::new(Mutex::new(Kept::default()));
        let closed = Arc::new(AtomicBool::new(pipe.is_none()));
        if let Some(mut pipe) = pipe {
            let (kept, closed) = (Arc::clone(&kept), Arc::clone(&closed));
            std::thread::spawn(move || {
                let mut chunk = vec![0u8; 64 << 10];
                loop {
                    match pipe.read(&mut chunk) {
                        Ok(0) => break,
                        Ok(n) => lock(&kept).add(&chunk[..n], keep),
                        Err(e) if e.kind() == io::ErrorKind::Interrupted => {}
                        Err(_) => break,
                    }
                }
                closed.store(true, Ordering::SeqCst);
            });
        }
        Self { kept, closed }
    }

    fn is_closed(&self) -> bool {
        self.closed.load(Ordering::SeqCst)
    }

    fn overflowed(&self) -> bool {
        lock(&self.kept).dropped
    }

    fn take(&self) -> Vec<u8> {
        std::mem::take(&mut lock(&self.kept).bytes).into()
    }

    /// The kept tail as text. A first line whose beginning is lost is left out: it may hold half a secret.
    fn take_text(&self) -> String {
        let cut = self.overflowed();
        let bytes = self.take();
        let from = match bytes.iter().position(|b| *b == b'\n') {
            Some(line_end) if cut => line_end + 1,
            _ => 0,
        };
        String::from_utf8_lossy(&bytes[from..]).into_owned()
    }
}

impl Kept {
    fn add(&mut self, chunk: &[u8], keep: Keep) {
        match keep {
            Keep::Nothing => {}
            Keep::First(max) => {
                let room = max.saturating_sub(self.bytes.len());
                self.bytes.extend(chunk.iter().take(room));
                self.dropped |= chunk.len() > room;
            }
            Keep::Last(max) => {
                self.bytes.extend(chunk);
                let excess = self.bytes.len().saturating_sub(max);
                self.bytes.drain(..excess);
                self.dropped |= excess > 0;
            }
        }
    }
}

/// A reader that panicked leaves plain bytes behind; they are still good.
fn lock(kept: &Mutex<Kept>) -> std::sync::MutexGuard<'_, Kept> {
    kept.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(keep: Keep, chunks: &[&[u8]]) -> (Vec<u8>, bool) {
        let mut kept = Kept::default();
        for chunk in chunks {
            kept.add(chunk, keep);
        }
        (kept.bytes.into(), kept.dropped)
    }

    #[test]
    fn the_head_stops_and_the_tail_slides() {
        assert_eq!(kept(Keep::First(3), &[b"ab", b"cd"]), (b"abc".to_vec(), true));
        assert_eq!(kept(Keep::First(4), &[b"ab", b"cd"]), (b"abcd".to_vec(), false));
        assert_eq!(kept(Keep::Last(3), &[b"ab", b"cd"]), (b"bcd".to_vec(), true));
        assert_eq!(kept(Keep::Nothing, &[b"ab"]), (Vec::new(), false));
    }

    #[test]
    fn a_line_without_its_beginning_is_left_out() {
        let stream = Stream {
            kept: Arc::default(),
            closed: Arc::default(),
        };
        lock(&stream.kept).add(b"token=secret\nsecond\n", Keep::Last(12));
        assert_eq!(stream.take_text(), "second\n");
    }

    #[test]
    fn a_huge_grace_period_does_not_overflow_the_clock() {
        assert!(later(Instant::now(), Duration::MAX) > Instant::now());
    }
}
