//! Walking down a path one component at a time, each opened from its parent without following links.
//!
//! The checks look at a name and then open that name in the same directory, so nobody can exchange a component in
//! between and lead the walk elsewhere.

use std::ffi::OsStr;
use std::fs::File;
use std::path::Path;

use rustix::fd::OwnedFd;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::io::Errno;

/// What a name stands for; links are not followed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Entry {
    Missing,
    Directory,
    File,
    Link,
    Other,
}

/// An open directory.
#[derive(Debug)]
pub(super) struct Directory(OwnedFd);

impl Directory {
    /// What the absolute `path` stands for.
    pub(super) fn entry_at(path: &Path) -> Result<Entry, Errno> {
        look(CWD, path.as_os_str())
    }

    /// Opens the absolute `path`; its last component may not be a link.
    pub(super) fn open_at(path: &Path) -> Result<Self, Errno> {
        open(CWD, path.as_os_str())
    }

    /// What `name` stands for in this directory.
    pub(super) fn entry(&self, name: &str) -> Result<Entry, Errno> {
        look(&self.0, OsStr::new(name))
    }

    /// Opens a directory below.
    pub(super) fn open(&self, name: &str) -> Result<Self, Errno> {
        open(&self.0, OsStr::new(name))
    }

    /// Makes a directory below; one that has appeared meanwhile is as good, the caller looks again.
    pub(super) fn make(&self, name: &str) -> Result<(), Errno> {
        match rustix::fs::mkdirat(&self.0, name, Mode::from_raw_mode(0o777)) {
            Err(Errno::EXIST) => Ok(()),
            other => other,
        }
    }

    /// Opens a file below for reading. A pipe in its place does not block.
    pub(super) fn open_file(&self, name: &str) -> Result<File, Errno> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        rustix::fs::openat(&self.0, name, flags, Mode::empty()).map(File::from)
    }
}

fn look(dir: impl rustix::fd::AsFd, name: &OsStr) -> Result<Entry, Errno> {
    match rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(match FileType::from_raw_mode(stat.st_mode) {
            FileType::Directory => Entry::Directory,
            FileType::RegularFile => Entry::File,
            FileType::Symlink => Entry::Link,
            _ => Entry::Other,
        }),
        Err(Errno::NOENT | Errno::NOTDIR) => Ok(Entry::Missing),
        Err(errno) => Err(errno),
    }
}

fn open(dir: impl rustix::fd::AsFd, name: &OsStr) -> Result<Directory, Errno> {
    // O_PATH: walking needs no permission to read the directory.
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat(dir, name, flags, Mode::empty()).map(Directory)
}
