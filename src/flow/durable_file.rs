//! Files that readers see whole or not at all: a temporary file beside the target, written, synced, then renamed over it.
//! They may hold data of a job: a new one is for its owner only (mode 0600), a replaced one keeps the mode that it had.

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

/// Writes a file; when it returns, content and name survive a power cut.
///
/// # Errors
/// As the operating system reports; an existing target under [`Existing::Refuse`]. The target is unchanged then.
pub fn write(target: &Path, bytes: &[u8], existing: Existing) -> io::Result<()> {
    let (temporary, mut file) = create_beside(target)?;
    let kept = match target.symlink_metadata() {
        Ok(old) if existing == Existing::Replace && old.is_file() => file.set_permissions(old.permissions()),
        _ => Ok(()),
    };
    let written = kept
        .and_then(|()| file.write_all(bytes))
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

/// Tells before the work begins whether [`write`] could put a file at the target, by making the temporary one.
///
/// # Errors
/// As the operating system reports; a target that is there but is no regular file, such as a link: replacing it would
/// not change what it points to.
pub fn probe(target: &Path) -> io::Result<()> {
    match target.symlink_metadata() {
        Ok(there) if !there.is_file() => {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is there already, but is not a regular file",
            ));
        }
        _ => {}
    }
    let (temporary, _) = create_beside(target)?;
    fs::remove_file(&temporary)
}

fn create_beside(target: &Path) -> io::Result<(PathBuf, File)> {
    let name = target
        .file_name()
        .ok_or_else(|| io::Error::new(io::ErrorKind::InvalidInput, "the path names no file"))?;
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
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
        write(&target, b"one", Existing::Refuse).unwrap();
        let error = write(&target, b"two", Existing::Refuse).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(fs::read(&target).unwrap(), b"one");
        write(&target, b"three", Existing::Replace).unwrap();
        assert_eq!(fs::read(&target).unwrap(), b"three");
        assert_eq!(
            fs::read_dir(&folder).unwrap().count(),
            1,
            "no temporary file stays"
        );
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn modes_are_private_or_kept_and_a_probe_leaves_nothing() {
        use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, symlink};
        let folder = std::env::temp_dir().join(format!("ksql-durable-mode-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let (target, link) = (folder.join("a.csv"), folder.join("link.csv"));
        let mode = || fs::metadata(&target).unwrap().mode() & 0o777;
        probe(&target).unwrap();
        assert_eq!(fs::read_dir(&folder).unwrap().count(), 0);
        write(&target, b"one", Existing::Replace).unwrap();
        assert_eq!(mode(), 0o600);
        fs::set_permissions(&target, fs::Permissions::from_mode(0o640)).unwrap();
        write(&target, b"two", Existing::Replace).unwrap();
        assert_eq!(mode(), 0o640);
        symlink(&target, &link).unwrap();
        for refused in [link.as_path(), folder.as_path(), &folder.join("none/a.csv")] {
            assert!(probe(refused).is_err(), "{refused:?}");
        }
        assert_eq!(fs::read(&target).unwrap(), b"two");
        fs::remove_dir_all(&folder).unwrap();
    }
}
