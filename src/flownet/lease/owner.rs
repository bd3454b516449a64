//! The owner file: what a later start on this machine needs to prove that an owner is dead (D-08).
//!
//! Named by the lease token, written and fsynced before the lock is inserted, gone after the release. It holds no
//! secret that helps anybody: a token is worthless without the revision of the lock record.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::flownet::child::process_table::{ProcessIdentity, ProcessTable};
use crate::flownet::child::workdir::{WorkdirError, failed};

/// Longest owner file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 20;
/// How long a file is kept that no release removed.
const KEPT: Duration = Duration::from_hours(2160);

/// The file of a live owner.
#[derive(Debug)]
pub struct OwnerFile {
    path: PathBuf,
}

/// A file left by an owner.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Owner {
    /// Lease token, which is the file's name.
    pub token: String,
    /// Invocation (or archive) id.
    pub invocation_id: String,
    /// The process that took the lock.
    pub process: ProcessIdentity,
    /// Its jobs: pid and start time.
    pub jobs: Vec<(u32, u64)>,
}

fn path_of(dir: &Path, token: &str) -> PathBuf {
    dir.join(format!("{token}.owner"))
}

impl OwnerFile {
    /// Writes the file for this process.
    pub fn create(dir: &Path, token: &str, invocation_id: &str) -> Result<Self, WorkdirError> {
        let path = path_of(dir, token);
        let process = ProcessIdentity::own(&ProcessTable::default())
            .map_err(|e| failed("name this process in", &path)(io::Error::other(e.to_string())))?;
        let text = format!("{}owner={invocation_id}\n", process.to_text());
        let write = || -> io::Result<()> {
            fs::create_dir_all(dir)?;
            let mut file = OpenOptions::new()
                .write(true)
                .create_new(true)
                .mode(0o600)
                .open(&path)?;
            file.write_all(text.as_bytes())?;
            file.sync_all()?;
            File::open(dir)?.sync_all()
        };
        write().map_err(failed("write the owner file", &path))?;
        Ok(Self { path })
    }

    /// Adds a job of ours, so that nobody takes the lock from a dead owner whose job still writes.
    pub fn note_job(&self, pid: u32, start_time: u64) -> io::Result<()> {
        let mut file = OpenOptions::new().append(true).open(&self.path)?;
        file.write_all(format!("job={pid}:{start_time}\n").as_bytes())?;
        file.sync_all()
    }

    /// Removes the file after the release.
    pub fn remove(&self) {
        // A file that stays names a token which no lock carries any more: harmless.
        let _ = fs::remove_file(&self.path);
    }
}

/// Reads the file of the owner with this lease token; `None` when there is none or it is damaged.
pub fn find(dir: &Path, token: &str) -> Option<Owner> {
    // A token comes from a record: it must not lead out of the folder.
    if token.is_empty() || !token.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-') {
        return None;
    }
    let path = path_of(dir, token);
    let found = fs::symlink_metadata(&path).ok()?;
    if !found.is_file() || found.len() > MAX_BYTES {
        return None;
    }
    parse(token, &fs::read_to_string(path).ok()?)
}

/// The file of the lease that an invocation held; `None` when there is none.
pub fn find_by_invocation(dir: &Path, invocation_id: &str) -> Option<Owner> {
    let names = fs::read_dir(dir)
        .ok()?
        .flatten()
        .filter_map(|e| e.file_name().into_string().ok());
    names
        .filter_map(|name| find(dir, name.strip_suffix(".owner")?))
        .find(|owner| owner.invocation_id == invocation_id)
}

/// Removes what [`find`] found.
pub fn forget(dir: &Path, token: &str) {
    // See `OwnerFile::remove`.
    let _ = fs::remove_file(path_of(dir, token));
}

/// Removes files that are too old to settle anything: their Runs have waited for a person that long.
pub fn prune(dir: &Path, now: SystemTime) {
    let Ok(entries) = fs::read_dir(dir) else { return };
    for entry in entries.flatten() {
        let old = entry
            .metadata()
            .and_then(|m| m.modified())
            .is_ok_and(|t| now.duration_since(t).is_ok_and(|age| age > KEPT));
        if old {
            // See `OwnerFile::remove`.
            let _ = fs::remove_file(entry.path());
        }
    }
}

fn parse(token: &str, text: &str) -> Option<Owner> {
    let mut jobs = Vec::new();
    for line in text.lines().filter_map(|l| l.strip_prefix("job=")) {
        let (pid, start) = line.split_once(':')?;
        jobs.push((pid.parse().ok()?, start.parse().ok()?));
    }
    // A torn last line hides a job: such a file proves nothing.
    text.ends_with('\n').then_some(())?;
    let invocation_id = text.lines().find_map(|l| l.strip_prefix("owner="))?.to_owned();
    Some(Owner {
        token: token.to_owned(),
        invocation_id,
        process: ProcessIdentity::parse(text)?,
        jobs,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_owner_file_reads_back_with_its_jobs() {
        let dir = std::env::temp_dir().join(format!("ksql-owner-{}", std::process::id()));
        let token = "0000-aa";
        let file = OwnerFile::create(&dir, token, "invoke_1").expect("written");
        file.note_job(12, 34).expect("noted");
        let owner = find(&dir, token).expect("found");
        assert_eq!(owner.jobs, [(12, 34)]);
        assert_eq!(
            owner.process,
            ProcessIdentity::own(&ProcessTable::default()).expect("/proc")
        );
        assert_eq!(find_by_invocation(&dir, "invoke_1").as_ref(), Some(&owner));
        assert_eq!(find_by_invocation(&dir, "invoke_2"), None);
        assert_eq!(find(&dir, "../0000-aa"), None);
        // Reading through a link, or from a pipe that nobody writes into, would not end well.
        std::os::unix::fs::symlink(path_of(&dir, token), path_of(&dir, "0000-bb")).expect("link");
        assert_eq!(find(&dir, "0000-bb"), None);
        file.remove();
        assert_eq!(find(&dir, token), None);
        fs::remove_dir_all(dir).expect("cleanup");
    }

    #[test]
    fn a_torn_line_proves_nothing() {
        assert_eq!(
            parse(
                "t",
                "host=h\nboot_id=b\npid_namespace=n\npid=1\nstart_time=2\njob=1"
            ),
            None
        );
        assert_eq!(
            parse(
                "t",
                "host=h\nboot_id=b\npid_namespace=n\npid=1\nstart_time=2\njob=x\n"
            ),
            None
        );
        assert!(
            parse(
                "t",
                "host=h\nboot_id=b\npid_namespace=n\npid=1\nstart_time=2\nowner=i\n"
            )
            .is_some()
        );
    }
}
