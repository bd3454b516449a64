//! Files of an invocation below the work directory: job files, result files, kept standard error (RUN-15, BTR-43,
//! BTR-48).
//!
//! ```text
//! <workdir>/ksql-flownet-run-XXXXXX/    0700, one per invocation, removed at its end
//!     owner                             which process it belongs to
//!     jobs/<node id>.sql
//! <workdir>/metadata/                   0700
//!     <attempt id>.json                 written by the runner, removed once the attempt is finished
//!     <attempt id>.stderr.txt           kept when the attempt failed
//! ```

use std::fmt;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::process_table::{Presence, ProcessIdentity, ProcessTable};
use crate::os::error_name;

/// Beginning of every run directory's name.
const PREFIX: &str = "ksql-flownet-run-";
/// Letters of the random part.
const LETTERS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Length of the random part, and how many names are tried.
const RANDOM_LEN: usize = 6;
const NAME_TRIES: usize = 16;
/// Name and largest size of the file that says whose directory it is.
const OWNER_FILE: &str = "owner";
const MAX_OWNER_BYTES: u64 = 4096;
/// How long files of attempts are kept when nobody removed them.
pub const METADATA_AGE: Duration = Duration::from_hours(90 * 24);
/// Largest result file that is read: the contract's texts and receipts stay far below.
pub const MAX_RESULT_BYTES: u64 = 16 << 20;

/// A file operation below the work directory that failed.
#[derive(Debug)]
pub struct WorkdirError {
    what: &'static str,
    path: PathBuf,
    cause: io::Error,
}

impl WorkdirError {
    /// The operating system's reason.
    pub fn kind(&self) -> io::ErrorKind {
        self.cause.kind()
    }

    /// The name that administrators know it by (`ENOSPC`).
    pub fn name(&self) -> Option<&'static str> {
        error_name::name(&self.cause)
    }
}

impl fmt::Display for WorkdirError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {} {}: {}", self.what, self.path.display(), self.cause)
    }
}

impl std::error::Error for WorkdirError {}

/// The error of an operation (`what`) on a path below the work directory.
pub fn failed<'a>(what: &'static str, path: &'a Path) -> impl FnOnce(io::Error) -> WorkdirError + 'a {
    move |cause| WorkdirError {
        what,
        path: path.to_owned(),
        cause,
    }
}

/// The private directory of one invocation. Dropping it removes it with its content.
#[derive(Debug)]
pub struct RunDirectory {
    path: PathBuf,
}

impl RunDirectory {
    /// Makes a fresh directory (mode 0700) that names this process as its owner.
    pub fn create(workdir: &Path) -> Result<Self, WorkdirError> {
        let directory = Self {
            path: make_unique(workdir)?,
        };
        let jobs = directory.path.join("jobs");
        private_dir(&jobs)?;
        let owner = directory.path.join(OWNER_FILE);
        // Without certain facts there is no owner file, and then nobody ever takes the directory for abandoned.
        if let Ok(identity) = ProcessIdentity::own(&ProcessTable::default()) {
            write_new(&owner, identity.to_text().as_bytes())?;
        }
        Ok(directory)
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes `jobs/<node id>.sql`, which must not exist yet, and returns its absolute path.
    pub fn write_job(&self, node_id: &str, sql: &[u8]) -> Result<PathBuf, WorkdirError> {
        let name = format!("{node_id}.sql");
        let path = self.path.join("jobs").join(&name);
        if !is_plain_name(&name) {
            return Err(failed("write job file", &path)(io::Error::new(
                io::ErrorKind::InvalidInput,
                "the node id is not a file name",
            )));
        }
        write_new(&path, sql)?;
        Ok(path)
    }

    /// Removes the directory now and says whether that worked.
    pub fn remove(mut self) -> Result<(), WorkdirError> {
        let path = std::mem::take(&mut self.path);
        fs::remove_dir_all(&path).map_err(failed("remove run directory", &path))
    }
}

impl Drop for RunDirectory {
    fn drop(&mut self) {
        if !self.path.as_os_str().is_empty() {
            // On an error path there is nobody left to tell; the next start clears it away.
            let _ = fs::remove_dir_all(&self.path);
        }
    }
}

fn make_unique(workdir: &Path) -> Result<PathBuf, WorkdirError> {
    for _ in 0..NAME_TRIES {
        let mut random = [0u8; RANDOM_LEN];
        getrandom::getrandom(&mut random)
            .map_err(|e| failed("name a run directory in", workdir)(io::Error::other(e.to_string())))?;
        let suffix: String = random
            .iter()
            .map(|b| char::from(LETTERS[usize::from(*b) % LETTERS.len()]))
            .collect();
        let path = workdir.join(format!("{PREFIX}{suffix}"));
        match DirBuilder::new().mode(0o700).create(&path) {
            Ok(()) => return Ok(path),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => {}
            Err(e) => return Err(failed("create run directory", &path)(e)),
        }
    }
    Err(failed("name a run directory in", workdir)(
        io::ErrorKind::AlreadyExists.into(),
    ))
}

/// Where the runner puts the result of an attempt. Characters outside `[A-Za-z0-9._-]` become `_`.
pub fn result_path(workdir: &Path, attempt_id: &str) -> PathBuf {
    metadata_path(workdir, attempt_id, "json")
}

/// Where the standard error of a failed attempt is kept.
pub fn stderr_path(workdir: &Path, attempt_id: &str) -> PathBuf {
    metadata_path(workdir, attempt_id, "stderr.txt")
}

fn metadata_path(workdir: &Path, attempt_id: &str, extension: &str) -> PathBuf {
    let safe: String = attempt_id
        .chars()
        .map(|c| if is_name_char(c) { c } else { '_' })
        .collect();
    workdir.join("metadata").join(format!("{safe}.{extension}"))
}

/// Makes the directory of the result files (mode 0700) when it is missing.
pub fn prepare_metadata(workdir: &Path) -> Result<(), WorkdirError> {
    let path = workdir.join("metadata");
    match private_dir(&path) {
        Err(e) if e.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        other => other,
    }
}

/// The bytes of a result file; `None` when there is none or it cannot be read whole (RUN-21).
pub fn read_result(path: &Path) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(nofollow_flags())
        .open(path)
        .ok()
        .filter(|f| f.metadata().is_ok_and(|m| m.is_file()))?
        .take(MAX_RESULT_BYTES + 1);
    file.read_to_end(&mut bytes).ok()?;
    (bytes.len() as u64 <= MAX_RESULT_BYTES).then_some(bytes)
}

/// Flags that neither follow a link nor wait for the other end of a pipe.
fn nofollow_flags() -> i32 {
    (rustix::fs::OFlags::NOFOLLOW | rustix::fs::OFlags::NONBLOCK).bits() as i32
}

/// Removes the result file of a finished attempt. That there is none is fine.
pub fn remove_result(path: &Path) -> Result<(), WorkdirError> {
    match fs::remove_file(path) {
        Err(e) if e.kind() != io::ErrorKind::NotFound => Err(failed("remove result file", path)(e)),
        _ => Ok(()),
    }
}

/// Keeps the standard error of an attempt beside its result (BTR-43); nothing is written for an empty text.
pub fn keep_stderr(workdir: &Path, attempt_id: &str, text: &str) -> Result<Option<PathBuf>, WorkdirError> {
    if text.is_empty() {
        return Ok(None);
    }
    let path = stderr_path(workdir, attempt_id);
    write_new(&path, text.as_bytes())?;
    Ok(Some(path))
}

/// Removes files of attempts that nobody can be interested in any more: left by killed processes, or kept texts of old
/// failures. Returns how many.
fn remove_old_metadata(workdir: &Path, now: SystemTime) -> Result<usize, WorkdirError> {
    let directory = workdir.join("metadata");
    let entries = match fs::read_dir(&directory) {
        Ok(entries) => entries,
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(0),
        Err(e) => return Err(failed("read", &directory)(e)),
    };
    let mut removed = 0;
    for entry in entries {
        let entry = entry.map_err(failed("read", &directory))?;
        let name = entry.file_name();
        let ours = Path::new(&name).extension().is_some_and(|e| e == "json")
            || name.to_str().is_some_and(|n| n.ends_with(".stderr.txt"));
        let old = entry
            .metadata()
            .ok()
            .filter(|m| ours && m.is_file())
            .and_then(|m| m.modified().ok())
            .and_then(|touched| now.duration_since(touched).ok())
            .is_some_and(|age| age > METADATA_AGE);
        if old {
            let path = entry.path();
            fs::remove_file(&path).map_err(failed("remove", &path))?;
            removed += 1;
        }
    }
    Ok(removed)
}

/// Removes run directories whose owner is gone and which were not touched for `older_than` (the lease time), and
/// returns them. Another host's, another container's and another program's directories are never touched. Files of
/// attempts go after [`METADATA_AGE`].
pub fn remove_abandoned(
    workdir: &Path,
    older_than: Duration,
    now: SystemTime,
    table: &ProcessTable,
) -> Result<Vec<PathBuf>, WorkdirError> {
    let read_failed = || failed("read work directory", workdir);
    let mut removed = Vec::new();
    for entry in fs::read_dir(workdir).map_err(read_failed())? {
        let entry = entry.map_err(read_failed())?;
        let path = entry.path();
        let ours = entry.file_name().to_str().is_some_and(|n| n.starts_with(PREFIX));
        let facts = entry.metadata().ok().filter(|m| ours && m.is_dir());
        let age = facts
            .and_then(|m| m.modified().ok())
            .and_then(|touched| now.duration_since(touched).ok());
        if age.is_some_and(|age| age > older_than && owner_is_gone(&path, age, table)) {
            fs::remove_dir_all(&path).map_err(failed("remove abandoned directory", &path))?;
            removed.push(path);
        }
    }
    removed.sort();
    remove_old_metadata(workdir, now)?;
    Ok(removed)
}

/// Only certainty counts: no owner file, an unreadable one or an owner out of sight means "not gone". A directory of
/// another boot that is younger than this boot belongs to another machine with the same host name.
fn owner_is_gone(directory: &Path, age: Duration, table: &ProcessTable) -> bool {
    let mut text = String::new();
    let read = OpenOptions::new()
        .read(true)
        .custom_flags(nofollow_flags())
        .open(directory.join(OWNER_FILE))
        .and_then(|f| f.take(MAX_OWNER_BYTES).read_to_string(&mut text));
    let presence = read
        .ok()
        .and_then(|_| ProcessIdentity::parse(&text))
        .and_then(|owner| owner.presence(table).ok());
    match presence {
        Some(Presence::Gone) => true,
        Some(Presence::OtherBoot) => table.uptime().is_ok_and(|uptime| age > uptime),
        Some(Presence::Alive | Presence::OutOfSight) | None => false,
    }
}

fn private_dir(path: &Path) -> Result<(), WorkdirError> {
    DirBuilder::new()
        .mode(0o700)
        .create(path)
        .map_err(failed("create directory", path))
}

fn write_new(path: &Path, bytes: &[u8]) -> Result<(), WorkdirError> {
    OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)
        .and_then(|mut file| file.write_all(bytes))
        .map_err(failed("write", path))
}

fn is_name_char(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-')
}

fn is_plain_name(name: &str) -> bool {
    name.chars().all(is_name_char) && !name.contains("..")
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Fixture(PathBuf);

    impl Fixture {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("ksql-workdir-{name}-{}", std::process::id()));
            let _ = fs::remove_dir_all(&path);
            fs::create_dir_all(&path).expect("fixture");
            Self(path)
        }
    }

    impl Drop for Fixture {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn mode(path: &Path) -> u32 {
        use std::os::unix::fs::PermissionsExt as _;
        fs::metadata(path).expect("exists").permissions().mode() & 0o777
    }

    #[test]
    fn a_run_directory_is_private_and_goes_away_with_its_owner() {
        let work = Fixture::new("private");
        let directory = RunDirectory::create(&work.0).expect("created");
        let job = directory.write_job("a.1", b"SELECT 1").expect("written");
        assert_eq!((mode(directory.path()), mode(&job)), (0o700, 0o600));
        assert!(job.ends_with("jobs/a.1.sql"));
        assert_eq!(
            directory.write_job("a.1", b"x").expect_err("exclusive").kind(),
            io::ErrorKind::AlreadyExists
        );
        let path = directory.path().to_owned();
        drop(directory);
        assert!(!path.exists());
    }

    #[test]
    fn a_node_id_never_leaves_the_directory() {
        let work = Fixture::new("escape");
        let directory = RunDirectory::create(&work.0).expect("created");
        for id in ["../a", "a/b", "a.", "売上", "a\0b"] {
            assert!(directory.write_job(id, b"").is_err(), "{id:?}");
        }
        directory.remove().expect("removed");
    }

    #[test]
    fn result_files_are_named_after_the_attempt() {
        assert_eq!(
            result_path(Path::new("/w"), "a:b/../é"),
            Path::new("/w/metadata/a_b_..__.json")
        );
    }

    #[test]
    fn a_link_in_the_place_of_a_result_is_not_read() {
        let work = Fixture::new("link");
        prepare_metadata(&work.0).expect("made");
        prepare_metadata(&work.0).expect("is there");
        let (file, link) = (result_path(&work.0, "a"), result_path(&work.0, "b"));
        fs::write(&file, b"{}").expect("fixture");
        std::os::unix::fs::symlink(&file, &link).expect("fixture");
        assert_eq!(read_result(&file).as_deref(), Some(&b"{}"[..]));
        assert_eq!(read_result(&link), None);
        assert_eq!(read_result(&work.0), None);
        remove_result(&file).expect("removed");
        remove_result(&file).expect("already gone");
    }

    #[test]
    fn files_of_attempts_are_removed_when_nobody_can_want_them_any_more() {
        let work = Fixture::new("metadata");
        prepare_metadata(&work.0).expect("made");
        let other = work.0.join("metadata/notes.txt");
        fs::write(&other, "mine").expect("fixture");
        fs::write(result_path(&work.0, "a"), "{}").expect("fixture");
        let text = keep_stderr(&work.0, "a", "why\n").expect("kept").expect("path");
        assert_eq!(fs::read_to_string(&text).expect("text"), "why\n");
        assert_eq!(keep_stderr(&work.0, "b", "").expect("nothing to keep"), None);
        let now = SystemTime::now();
        assert_eq!(remove_old_metadata(&work.0, now).expect("readable"), 0);
        let later = now + METADATA_AGE + Duration::from_mins(1);
        assert_eq!(remove_old_metadata(&work.0, later).expect("readable"), 2);
        assert!(other.exists() && !text.exists());
    }

    #[test]
    fn only_old_directories_of_a_process_that_is_gone_are_removed() {
        let work = Fixture::new("abandoned");
        let table = ProcessTable::default();
        let own = ProcessIdentity::own(&table).expect("/proc");
        let make = |name: &str, owner: Option<String>| {
            let path = work.0.join(format!("{PREFIX}{name}"));
            fs::create_dir_all(path.join("jobs")).expect("fixture");
            if let Some(text) = owner {
                fs::write(path.join(OWNER_FILE), text).expect("fixture");
            }
            path
        };
        let mut gone = own.clone();
        gone.start_time += 1;
        let mut elsewhere = gone.clone();
        elsewhere.host = "elsewhere".into();
        let dead = make("dead01", Some(gone.to_text()));
        let kept = [
            make("live01", Some(own.to_text())),
            make("other1", Some(elsewhere.to_text())),
            make("peer01", None),
        ];
        let lease = Duration::from_mins(5);
        let now = SystemTime::now();
        let early = remove_abandoned(&work.0, lease, now, &table).expect("readable");
        assert_eq!(early, Vec::<PathBuf>::new(), "younger than the lease");
        let late = now + lease + Duration::from_mins(1);
        assert_eq!(
            remove_abandoned(&work.0, lease, late, &table).expect("readable"),
            [dead]
        );
        assert!(kept.iter().all(|p| p.is_dir()));
    }
}
