//! Reading `/proc`: is a process still the one we knew, and does anything still run for an attempt (D-08).
//!
//! A pid alone proves nothing, it is reused. A pid with its start time, in the same boot and the same pid namespace,
//! names one process for ever. Whatever cannot be read counts as doubt, never as absence.

use std::fmt;
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Longest `cmdline` that is searched, in bytes; a longer one is a doubt.
const MAX_CMDLINE: u64 = 8 << 20;
/// Longest `stat`, `status` or other small file that is read, in bytes.
const MAX_STAT: u64 = 16 << 10;

/// One boot of one kernel (`/proc/sys/kernel/random/boot_id`).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BootId(pub String);

/// The namespace in which a pid has its meaning, e.g. `pid:[4026531836]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PidNamespace(pub String);

/// What the kernel says about one process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ProcessStat {
    /// State letter, `Z` for a process that has ended and was not yet waited for.
    pub state: char,
    /// Process group.
    pub group: u32,
    /// Clock ticks between boot and the start of the process (field 22).
    pub start_time: u64,
}

impl ProcessStat {
    /// Ended, only its exit status is left.
    pub const fn has_ended(&self) -> bool {
        matches!(self.state, 'Z' | 'X' | 'x')
    }
}

/// Why the process table gives no certain answer.
#[derive(Debug)]
pub struct Doubt {
    what: String,
    cause: Option<io::Error>,
}

impl fmt::Display for Doubt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.cause {
            Some(cause) => write!(f, "{}: {cause}", self.what),
            None => f.write_str(&self.what),
        }
    }
}

impl std::error::Error for Doubt {}

impl Doubt {
    fn about(path: &Path, cause: io::Error) -> Self {
        Self {
            what: format!("cannot read {}", path.display()),
            cause: Some(cause),
        }
    }

    fn odd(path: &Path, why: &str) -> Self {
        Self {
            what: format!("{} {why}", path.display()),
            cause: None,
        }
    }
}

/// A mounted process table.
#[derive(Clone, Debug)]
pub struct ProcessTable {
    root: PathBuf,
}

impl Default for ProcessTable {
    fn default() -> Self {
        Self::at("/proc")
    }
}

impl ProcessTable {
    /// The table mounted at `root`.
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The running boot.
    pub fn boot_id(&self) -> Result<BootId, Doubt> {
        self.short_text("sys/kernel/random/boot_id").map(BootId)
    }

    /// The kernel's host name.
    pub fn host_name(&self) -> Result<String, Doubt> {
        self.short_text("sys/kernel/hostname")
    }

    /// Time since this boot began.
    pub fn uptime(&self) -> Result<Duration, Doubt> {
        let text = self.short_text("uptime")?;
        text.split(' ')
            .next()
            .and_then(|seconds| seconds.parse::<f64>().ok())
            .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
            .ok_or_else(|| Doubt::odd(&self.root.join("uptime"), "has an unknown form"))
    }

    /// The pid namespace of this process.
    pub fn pid_namespace(&self) -> Result<PidNamespace, Doubt> {
        let path = self.root.join("self/ns/pid");
        let target = fs::read_link(&path).map_err(|e| Doubt::about(&path, e))?;
        target
            .into_os_string()
            .into_string()
            .map(PidNamespace)
            .map_err(|_| Doubt::odd(&path, "is not text"))
    }

    /// The facts of one process; `None` when no such process exists.
    pub fn stat(&self, pid: u32) -> Result<Option<ProcessStat>, Doubt> {
        let path = self.root.join(pid.to_string()).join("stat");
        let bytes = match read_capped(&path, MAX_STAT) {
            Ok(bytes) => bytes,
            Err(e) if is_gone(&e) => return Ok(None),
            Err(e) => return Err(Doubt::about(&path, e)),
        };
        parse_stat(&bytes)
            .map(Some)
            .ok_or_else(|| Doubt::odd(&path, "has an unknown form"))
    }

    /// Start time of a process that has not ended (clock ticks since boot); `None` when there is none with that pid.
    pub fn process_start_time(&self, pid: u32) -> Result<Option<u64>, Doubt> {
        Ok(self.stat(pid)?.filter(|s| !s.has_ended()).map(|s| s.start_time))
    }

    /// Every pid of the table, unsorted.
    pub fn pids(&self) -> Result<Vec<u32>, Doubt> {
        let entries = fs::read_dir(&self.root).map_err(|e| Doubt::about(&self.root, e))?;
        let mut pids = Vec::new();
        for entry in entries {
            let name = entry.map_err(|e| Doubt::about(&self.root, e))?.file_name();
            pids.extend(name.to_str().and_then(|n| n.parse::<u32>().ok()));
        }
        Ok(pids)
    }

    /// Processes, other than this one, that have `text` anywhere in their argv.
    pub fn processes_with_argument(&self, text: &str) -> Result<Vec<u32>, Doubt> {
        if text.is_empty() {
            return Err(Doubt::odd(&self.root, "was searched for an empty text"));
        }
        let own = std::process::id();
        let mut found = Vec::new();
        for pid in self.pids()? {
            if pid == own {
                continue;
            }
            let path = self.root.join(pid.to_string()).join("cmdline");
            let cmdline = match read_capped(&path, MAX_CMDLINE) {
                Ok(cmdline) => cmdline,
                Err(e) if is_gone(&e) => continue,
                Err(e) => return Err(Doubt::about(&path, e)),
            };
            if contains(&cmdline, text.as_bytes()) {
                found.push(pid);
            }
        }
        found.sort_unstable();
        Ok(found)
    }

    /// Two readings, `pause` apart, joined: a process that is just being replaced by `exec` shows in one of them.
    pub fn processes_with_argument_settled(&self, text: &str, pause: Duration) -> Result<Vec<u32>, Doubt> {
        let mut found = self.processes_with_argument(text)?;
        std::thread::sleep(pause);
        found.extend(self.processes_with_argument(text)?);
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// Whether a process of this group still runs. The ended leader does not count.
    pub fn group_is_alive(&self, group: u32) -> Result<bool, Doubt> {
        for pid in self.pids()? {
            if self
                .stat(pid)?
                .is_some_and(|s| s.group == group && !s.has_ended())
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn short_text(&self, name: &str) -> Result<String, Doubt> {
        let path = self.root.join(name);
        let bytes = read_capped(&path, MAX_STAT).map_err(|e| Doubt::about(&path, e))?;
        match std::str::from_utf8(&bytes).map(str::trim) {
            Ok(text) if !text.is_empty() => Ok(text.to_owned()),
            _ => Err(Doubt::odd(&path, "has an unknown form")),
        }
    }
}

/// One process, named so that it can be recognised after a crash, a restart or a reuse of its pid.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProcessIdentity {
    /// Host name; another host's process can never be judged from here.
    pub host: String,
    /// Boot in which the process started.
    pub boot: BootId,
    /// Namespace of `pid`.
    pub namespace: PidNamespace,
    /// Process id.
    pub pid: u32,
    /// Clock ticks since boot.
    pub start_time: u64,
}

/// What can be said of a [`ProcessIdentity`] from here.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Presence {
    /// Same boot and namespace, and exactly that process runs.
    Alive,
    /// Same boot and namespace, and no such process exists.
    Gone,
    /// Same host, another boot: nothing of that boot runs any more, unless the host name is shared.
    OtherBoot,
    /// Another host or another pid namespace.
    OutOfSight,
}

impl ProcessIdentity {
    /// This process.
    pub fn own(table: &ProcessTable) -> Result<Self, Doubt> {
        let pid = std::process::id();
        let start_time = table
            .process_start_time(pid)?
            .ok_or_else(|| Doubt::odd(&table.root, "does not show this process"))?;
        Ok(Self {
            host: table.host_name()?,
            boot: table.boot_id()?,
            namespace: table.pid_namespace()?,
            pid,
            start_time,
        })
    }

    /// Looks the process up.
    pub fn presence(&self, table: &ProcessTable) -> Result<Presence, Doubt> {
        if self.host != table.host_name()? {
            return Ok(Presence::OutOfSight);
        }
        if self.boot != table.boot_id()? {
            return Ok(Presence::OtherBoot);
        }
        if self.namespace != table.pid_namespace()? {
            return Ok(Presence::OutOfSight);
        }
        let same = table.process_start_time(self.pid)? == Some(self.start_time);
        Ok(if same { Presence::Alive } else { Presence::Gone })
    }

    /// The lines of an owner file: `name=value`, one fact each.
    pub fn to_text(&self) -> String {
        format!(
            "host={}\nboot_id={}\npid_namespace={}\npid={}\nstart_time={}\n",
            self.host, self.boot.0, self.namespace.0, self.pid, self.start_time
        )
    }

    /// Reads [`Self::to_text`]; further lines are ignored. `None` when a fact is missing or malformed.
    pub fn parse(text: &str) -> Option<Self> {
        let fact = |name: &str| {
            text.lines()
                .filter_map(|line| line.split_once('='))
                .find(|(n, v)| *n == name && !v.is_empty())
                .map(|(_, v)| v.to_owned())
        };
        Some(Self {
            host: fact("host")?,
            boot: BootId(fact("boot_id")?),
            namespace: PidNamespace(fact("pid_namespace")?),
            pid: fact("pid")?.parse().ok()?,
            start_time: fact("start_time")?.parse().ok()?,
        })
    }
}

/// A process that ends while it is being read shows as one of these.
fn is_gone(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
        || error.raw_os_error() == Some(rustix::io::Errno::SRCH.raw_os_error())
}

fn read_capped(path: &Path, cap: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    fs::File::open(path)?.take(cap + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > cap {
        return Err(io::Error::other("longer than expected"));
    }
    Ok(bytes)
}

/// `pid (comm) state ppid pgrp ...`: comm may hold anything, so the fields are counted after the last `)`.
fn parse_stat(line: &[u8]) -> Option<ProcessStat> {
    let close = line.iter().rposition(|b| *b == b')')?;
    let rest = std::str::from_utf8(line.get(close + 1..)?).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?.chars().next()?;
    let group = fields.nth(1)?.parse().ok()?; // field 5
    let start_time = fields.nth(16)?.parse().ok()?; // field 22
    Some(ProcessStat {
        state,
        group,
        start_time,
    })
}

fn contains(haystack: &[u8], needle: &[u8]) -> bool {
    haystack.windows(needle.len()).any(|w| w == needle)
}

#[cfg(test)]
mod tests {
    use super::*;

    const STAT: &str = "17 (a) b (c)) S 1 16 15 0 -1 4194304 1 0 0 0 1 2 0 0 20 0 1 0 987654 1 1 1";

    fn fake(name: &str) -> (PathBuf, ProcessTable) {
        let root = std::env::temp_dir().join(format!("ksql-process-table-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&root);
        fs::create_dir_all(root.join("17")).expect("fixture");
        (root.clone(), ProcessTable::at(root))
    }

    #[test]
    fn a_command_name_with_parentheses_does_not_shift_the_fields() {
        assert_eq!(
            parse_stat(STAT.as_bytes()),
            Some(ProcessStat {
                state: 'S',
                group: 16,
                start_time: 987_654
            })
        );
        assert_eq!(parse_stat(b"17 (x) S 1"), None);
        assert_eq!(parse_stat(b""), None);
    }

    #[test]
    fn an_argument_is_found_anywhere_in_argv_and_a_vanished_process_is_skipped() {
        let (root, table) = fake("argv");
        fs::write(root.join("17/cmdline"), b"runner\0--attempt-id\0attempt_7\0").expect("fixture");
        fs::create_dir_all(root.join("18")).expect("fixture"); // no cmdline: it has just ended
        fs::create_dir_all(root.join("sys")).expect("fixture");
        assert_eq!(
            table.processes_with_argument("attempt_7").expect("readable"),
            [17]
        );
        assert!(
            table
                .processes_with_argument("attempt_8")
                .expect("readable")
                .is_empty()
        );
        fs::remove_dir_all(root).expect("cleanup");
    }

    #[test]
    fn an_unreadable_entry_is_a_doubt() {
        let (root, table) = fake("doubt");
        fs::create_dir_all(root.join("17/cmdline")).expect("fixture"); // reading a directory fails
        assert!(table.processes_with_argument("x").is_err());
        fs::create_dir_all(root.join("17/stat")).expect("fixture");
        assert!(table.process_start_time(17).is_err());
        assert_eq!(table.process_start_time(18).expect("absent"), None);
        fs::remove_dir_all(root).expect("cleanup");
    }

    #[test]
    fn an_ended_process_has_no_start_time_and_keeps_no_group_alive() {
        let (root, table) = fake("zombie");
        fs::write(root.join("17/stat"), STAT.replace(" S ", " Z ")).expect("fixture");
        assert_eq!(table.process_start_time(17).expect("readable"), None);
        assert!(!table.group_is_alive(16).expect("readable"));
        fs::write(root.join("17/stat"), STAT).expect("fixture");
        assert!(table.group_is_alive(16).expect("readable"));
        fs::remove_dir_all(root).expect("cleanup");
    }

    #[test]
    fn an_identity_reads_back_and_tells_its_own_presence() {
        let table = ProcessTable::default();
        let own = ProcessIdentity::own(&table).expect("/proc");
        assert_eq!(ProcessIdentity::parse(&own.to_text()).as_ref(), Some(&own));
        assert_eq!(own.presence(&table).expect("/proc"), Presence::Alive);

        let mut other = own.clone();
        other.start_time += 1;
        assert_eq!(
            other.presence(&table).expect("/proc"),
            Presence::Gone,
            "a reused pid"
        );
        other.boot = BootId("another".into());
        assert_eq!(other.presence(&table).expect("/proc"), Presence::OtherBoot);
        other.host = "elsewhere".into();
        assert_eq!(other.presence(&table).expect("/proc"), Presence::OutOfSight);
        assert_eq!(ProcessIdentity::parse("host=a\npid=1\n"), None);
    }
}
