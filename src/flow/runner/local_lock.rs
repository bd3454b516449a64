//! The first of two locks: a file that keeps two processes of one folder from running one profile (RNR-50).

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

use super::host;
use super::verdict::{Failure, ResultCode};
use crate::flow::calendar::instant_millis;
use crate::flow::sql::message::say;

/// Folder of locks and state, below the working directory.
pub const FOLDER: &str = ".ksql";
/// Largest lock file that is read, in bytes.
const MAX_BYTES: u64 = 1 << 16;

/// Who holds a lock file.
#[derive(Clone, Debug, Serialize, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "camelCase")]
pub struct Owner {
    /// Process id on `host`.
    pub pid: u32,
    /// Real host name.
    pub host: String,
    /// Profile.
    pub profile: String,
    /// Start of the process's run, ISO 8601.
    pub started_at: String,
    /// Session that owns the lock.
    pub batch_id: String,
    /// Start of the process as the kernel counts it; tells a reused process id apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub process_start: Option<u64>,
}

/// A held lock file; released by [`LocalLock::release`], or on drop.
#[derive(Debug)]
pub struct LocalLock {
    path: PathBuf,
    batch_id: String,
}

/// `lock-<profile>.json` or `state-<profile>.json` with a profile name that is safe in file names.
pub fn file_of(kind: &str, profile: &str) -> PathBuf {
    let safe: String = profile
        .chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || "_.-".contains(c) {
                c
            } else {
                '_'
            }
        })
        .collect();
    Path::new(FOLDER).join(format!("{kind}-{safe}.json"))
}

impl LocalLock {
    /// Takes the lock of a profile in the working directory.
    ///
    /// # Errors
    /// [`ResultCode::LockConflict`] naming the owner; [`ResultCode::InternalError`] when the file cannot be written.
    pub fn acquire(
        profile: &str,
        batch_id: &str,
        now: Timestamp,
        stale_after_sec: u64,
    ) -> Result<Self, Failure> {
        let owner = Owner {
            pid: std::process::id(),
            host: host::name(),
            profile: profile.to_owned(),
            started_at: instant_millis(now),
            batch_id: batch_id.to_owned(),
            process_start: host::process_start(std::process::id()),
        };
        let path = file_of("lock", profile);
        fs::create_dir_all(FOLDER).map_err(|error| Failure::local(FOLDER, &error))?;
        Self::acquire_at(path, &owner, now, stale_after_sec)
    }

    fn acquire_at(
        path: PathBuf,
        owner: &Owner,
        now: Timestamp,
        stale_after_sec: u64,
    ) -> Result<Self, Failure> {
        let failed = |error: &io::Error| Failure::local(format!("local lock {}", path.display()), error);
        if place(&path, owner).map_err(|error| failed(&error))? {
            return Ok(Self {
                path,
                batch_id: owner.batch_id.clone(),
            });
        }
        let holder = read(&path);
        if !is_stale(holder.as_ref(), owner, now, stale_after_sec) {
            return Err(conflict(&path, holder.as_ref()));
        }
        remove_if_still(&path, holder.as_ref()).map_err(|error| failed(&error))?;
        if place(&path, owner).map_err(|error| failed(&error))? {
            return Ok(Self {
                path,
                batch_id: owner.batch_id.clone(),
            });
        }
        Err(conflict(&path, read(&path).as_ref()))
    }

    /// Removes the file if it is still ours.
    pub fn release(self) {
        drop(self);
    }

    /// Removes the lock file of a profile, whoever owns it; tells whether there was one (RNR-55).
    ///
    /// # Errors
    /// As the operating system reports.
    pub fn remove_any(profile: &str) -> io::Result<bool> {
        match fs::remove_file(file_of("lock", profile)) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
            Err(error) => Err(error),
        }
    }
}

impl Drop for LocalLock {
    fn drop(&mut self) {
        if read(&self.path).is_some_and(|owner| owner.batch_id == self.batch_id) {
            // A file that cannot be removed is stale for the next process: ours will be gone.
            let _ = fs::remove_file(&self.path);
        }
    }
}

fn conflict(path: &Path, holder: Option<&Owner>) -> Failure {
    let path = path.display();
    let message = match holder {
        Some(owner) => {
            let (pid, host, since) = (owner.pid, &owner.host, &owner.started_at);
            say!(
                "the local lock {path} is held by process {pid} on {host} since {since}; nothing was run. Wait for it, or see `ksql-flow unlock`",
                "ローカルロック {path} は {since} から {host} のプロセス {pid} が保持しています。何も実行していません。終了を待つか、`ksql-flow unlock` を参照してください"
            )
        }
        None => say!(
            "the local lock {path} is held; nothing was run. Wait for it, or see `ksql-flow unlock`",
            "ローカルロック {path} が保持されています。何も実行していません。終了を待つか、`ksql-flow unlock` を参照してください"
        ),
    };
    Failure::new(ResultCode::LockConflict, message)
}

/// Creates the lock with its content in one step; `false` when there is one already.
fn place(path: &Path, owner: &Owner) -> io::Result<bool> {
    let temporary = path.with_extension(format!("{}.tmp", owner.batch_id));
    let text = serde_json::to_string(owner).map_err(io::Error::other)?;
    fs::write(&temporary, text)?;
    let linked = fs::hard_link(&temporary, path);
    let removed = fs::remove_file(&temporary);
    match linked {
        Ok(()) => removed.map(|()| true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(error) => Err(error),
    }
}

/// The owner, or `None` for a missing or damaged file.
fn read(path: &Path) -> Option<Owner> {
    serde_json::from_slice(&host::read_limited(path, MAX_BYTES).ok()?).ok()
}

fn is_stale(holder: Option<&Owner>, us: &Owner, now: Timestamp, stale_after_sec: u64) -> bool {
    let Some(holder) = holder else { return true };
    if holder.host == us.host {
        let reused =
            holder.process_start.is_some() && host::process_start(holder.pid) != holder.process_start;
        return !host::process_alive(holder.pid) || reused;
    }
    let limit = SignedDuration::from_secs(i64::try_from(stale_after_sec).unwrap_or(i64::MAX));
    holder
        .started_at
        .parse::<Timestamp>()
        .is_ok_and(|started| now.duration_since(started) > limit)
}

/// Removes the stale lock, but not one that somebody else has taken in the meantime.
fn remove_if_still(path: &Path, stale: Option<&Owner>) -> io::Result<()> {
    let aside = path.with_extension(format!("{}.stale", std::process::id()));
    match fs::rename(path, &aside) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        result => result?,
    }
    if read(&aside).as_ref() != stale {
        match fs::hard_link(&aside, path) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            _ => {}
        }
    }
    fs::remove_file(&aside)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owner(pid: u32, host: &str, started_at: &str, batch_id: &str) -> Owner {
        Owner {
            pid,
            host: host.to_owned(),
            profile: "p".to_owned(),
            started_at: started_at.to_owned(),
            batch_id: batch_id.to_owned(),
            process_start: None,
        }
    }

    fn at(text: &str) -> Timestamp {
        text.parse().expect("instant")
    }

    const NOW: &str = "2026-08-01T12:00:00Z";

    #[test]
    fn profile_names_become_safe_file_names() {
        assert_eq!(
            file_of("lock", "本番 a/b.c-d_e"),
            Path::new(".ksql/lock-___a_b.c-d_e.json")
        );
    }

    #[test]
    fn staleness_is_life_here_and_age_elsewhere() {
        let us = owner(std::process::id(), "here", NOW, "us");
        let dead = u32::MAX;
        for (holder, stale) in [
            (
                Some(owner(std::process::id(), "here", "2000-01-01T00:00:00Z", "x")),
                false,
            ),
            (Some(owner(dead, "here", NOW, "x")), true),
            (Some(owner(dead, "there", "2026-08-01T11:00:00Z", "x")), false),
            (Some(owner(dead, "there", "2026-08-01T10:59:59Z", "x")), true),
            (Some(owner(dead, "there", "garbage", "x")), false),
            (None, true),
        ] {
            assert_eq!(is_stale(holder.as_ref(), &us, at(NOW), 3600), stale, "{holder:?}");
        }
        let mut reused = owner(std::process::id(), "here", NOW, "x");
        reused.process_start = Some(1);
        assert!(
            is_stale(Some(&reused), &us, at(NOW), 3600),
            "the process id belongs to another process now"
        );
    }

    #[test]
    fn the_lock_is_exclusive_recovered_and_released() {
        let folder = std::env::temp_dir().join(format!("ksql-flow-lock-{}", host::uuid().expect("random")));
        fs::create_dir(&folder).expect("folder");
        let path = folder.join("lock-p.json");
        let us = owner(std::process::id(), &host::name(), NOW, "one");
        let take = |batch: &str| {
            let owner = Owner {
                batch_id: batch.to_owned(),
                ..us.clone()
            };
            LocalLock::acquire_at(path.clone(), &owner, at(NOW), 3600)
        };
        let held = take("one").expect("free");
        let failure = take("two").expect_err("held");
        assert_eq!(failure.code, ResultCode::LockConflict);
        assert!(failure.to_string().contains("is held by process"), "{failure}");
        held.release();
        assert!(!path.exists());

        fs::write(&path, "{broken").expect("damaged lock");
        let held = take("three").expect("damaged locks are stale");
        fs::write(
            &path,
            serde_json::to_string(&owner(1, "other", NOW, "theirs")).expect("JSON"),
        )
        .expect("stolen");
        held.release();
        assert!(path.exists(), "a lock of somebody else stays");
        assert_eq!(fs::read_dir(&folder).expect("list").count(), 1);
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[test]
    fn a_fresh_lock_is_not_removed_as_stale() {
        let folder = std::env::temp_dir().join(format!("ksql-flow-lock-{}", host::uuid().expect("random")));
        fs::create_dir(&folder).expect("folder");
        let path = folder.join("lock-p.json");
        let judged = owner(u32::MAX, "here", NOW, "old");
        let fresh = owner(1, "here", NOW, "new");
        assert!(place(&path, &fresh).expect("placed"));
        remove_if_still(&path, Some(&judged)).expect("kept");
        assert_eq!(read(&path), Some(fresh));
        fs::remove_dir_all(&folder).expect("removed");
    }
}
