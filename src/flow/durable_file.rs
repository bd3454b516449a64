//! Files that readers see whole or not at all: a temporary file beside the target, written, synced, then renamed over it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

/// Tries to find a free temporary name.
const MAX_NAMES: u32 = 100;

/// What to do with a file that is already at the target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Existing {
    /// Refuse it.
    Refuse,
    /// Replace it in one step.
    Replace,
}

/// Who may read a new file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Its owner only (mode 0600).
    Owner,
    /// As the process's mask says.
    Usual,
}

/// Writes a file; when it returns, content and name survive a power cut.
///
/// # Errors
/// As the operating system reports; an existing target under [`Existing::Refuse`]. The target is unchanged then.
pub fn write(target: &Path, bytes: &[u8], existing: Existing, access: Access) -> io::Result<()> {
    let (temporary, mut file) = create_beside(target, access)?;
    let written = file
        .write_all(bytes)
        .and_then(|()| file.sync_all())
        .and_then(|()| {
            drop(file);
            if existing == Existing::Refuse && target.symlink_metadata().is_ok() {
                return Err(io::Error::new(
                    io::ErrorKind::AlreadyExists,
                    "the file exists already",
                ));
            }
            fs::rename(&temporary, target)
        });
    if written.is_err() {
        // The failure that is reported matters more than this one.
        let _ = fs::remove_file(&temporary);
        return written;
    }
    // The new name is only durable with its folder.
    File::open(folder_of(target))?.sync_all()
}

fn create_beside(target: &Path, access: Access) -> io::Result<(PathBuf, File)> {
    let name = target
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    if access == Access::Owner {
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    }
    let mut taken = None;
    for number in 0..MAX_NAMES {
        let mut temporary = std::ffi::OsString::from(".");
        temporary.push(name);
        temporary.push(format!(".{}-{number}.tmp", std::process::id()));
        let temporary = folder_of(target).join(temporary);
        match options.open(&temporary) {
            Ok(file) => return Ok((temporary, file)),
            Err(e) if e.kind() == io::ErrorKind::AlreadyExists => taken = Some(e),
            Err(e) => return Err(e),
        }
    }
    Err(taken.unwrap_or_else(|| io::ErrorKind::AlreadyExists.into()))
}

fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        _ => Path::new("."),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_written_whole_and_not_over_others() {
        let folder = std::env::temp_dir().join(format!("ksql-durable-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let target = folder.join("result.json");
        write(&target, b"one", Existing::Refuse, Access::Owner).unwrap();
        let error = write(&target, b"two", Existing::Refuse, Access::Owner).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&target).unwrap(), b"one");
        write(&target, b"three", Existing::Replace, Access::Owner).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"three");
        assert_eq!(
            fs::read_dir(&folder).unwrap().count(),
            1,
            "no temporary file stays"
        );
        fs::remove_dir_all(&folder).unwrap();
    }
}
