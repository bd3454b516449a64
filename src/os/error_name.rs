//! Names of operating system errors: an unreadable file is reported with the name that administrators know (ENV-04).

use std::io::Error;

use rustix::io::Errno;

/// The names that can come up when files and directories are read and made, and when programs are started.
pub const NAMES: &[(Errno, &str)] = &[
    (Errno::PERM, "EPERM"),
    (Errno::NOENT, "ENOENT"),
    (Errno::IO, "EIO"),
    (Errno::ACCESS, "EACCES"),
    (Errno::BUSY, "EBUSY"),
    (Errno::EXIST, "EEXIST"),
    (Errno::NOTDIR, "ENOTDIR"),
    (Errno::ISDIR, "EISDIR"),
    (Errno::INVAL, "EINVAL"),
    (Errno::NFILE, "ENFILE"),
    (Errno::MFILE, "EMFILE"),
    (Errno::FBIG, "EFBIG"),
    (Errno::NOSPC, "ENOSPC"),
    (Errno::ROFS, "EROFS"),
    (Errno::NAMETOOLONG, "ENAMETOOLONG"),
    (Errno::LOOP, "ELOOP"),
    (Errno::STALE, "ESTALE"),
    (Errno::DQUOT, "EDQUOT"),
];

/// The name of the error, if it came from the operating system and is known.
pub fn name(error: &Error) -> Option<&'static str> {
    let raw = error.raw_os_error()?;
    NAMES
        .iter()
        .find(|(errno, _)| errno.raw_os_error() == raw)
        .map(|(_, name)| *name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_file_is_enoent() {
        let error = std::fs::read("/nonexistent/file").expect_err("no such file");
        assert_eq!(name(&error), Some("ENOENT"));
        assert_eq!(name(&Error::other("x")), None);
    }
}
