//! What this program asks of the machine it runs on: clock, ids, names, process table, files.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::Path;

use jiff::Timestamp;

use super::verdict::Failure;
use crate::flow::sql::message::{Language, say};

/// Environment variable that replaces the host name in the log app (RNR-25).
const HOST_LABEL: &str = "KSQL_HOST_LABEL";
/// Longest host label, in characters.
const MAX_LABEL_CHARS: usize = 64;
/// The user database of this machine, and the most that is read of it.
const USERS: &str = "/etc/passwd";
const MAX_USERS_BYTES: u64 = 1024 * 1024;
/// Most folders that are searched upwards for a git repository.
const MAX_GIT_PARENTS: usize = 64;

/// The time now.
pub fn now() -> Timestamp {
    Timestamp::now()
}

/// A random UUID (version 4).
///
/// # Errors
/// The operating system gives no random bytes.
pub fn uuid() -> Result<String, Failure> {
    let mut bytes = [0_u8; 16];
    getrandom::getrandom(&mut bytes).map_err(|error| {
        Failure::new(
            super::verdict::ResultCode::InternalError,
            say!("no random bytes: {error}", "乱数を取得できません: {error}"),
        )
    })?;
    bytes[6] = (bytes[6] & 0x0f) | 0x40;
    bytes[8] = (bytes[8] & 0x3f) | 0x80;
    let hex = format!("{:032x}", u128::from_be_bytes(bytes));
    Ok(format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    ))
}

/// The host's name.
pub fn name() -> String {
    std::fs::read_to_string("/proc/sys/kernel/hostname")
        .ok()
        .or_else(|| std::env::var("HOSTNAME").ok())
        .map(|name| name.trim().to_owned())
        .filter(|name| !name.is_empty())
        .unwrap_or_else(|| "localhost".to_owned())
}

/// The host as recorded in the log app: `KSQL_HOST_LABEL`, else the host name (RNR-25).
///
/// # Errors
/// A label outside 1 to 64 of `[A-Za-z0-9._:-]`.
pub fn label() -> Result<String, Failure> {
    match std::env::var(HOST_LABEL) {
        Err(std::env::VarError::NotPresent) => Ok(name()),
        Ok(label) if is_label(&label) => Ok(label),
        _ => Err(Failure::invalid(say!(
            "{HOST_LABEL} must be 1 to {MAX_LABEL_CHARS} of A-Z a-z 0-9 . _ : -",
            "{HOST_LABEL} は A-Z a-z 0-9 . _ : - からなる 1 から {MAX_LABEL_CHARS} 文字にしてください"
        ))),
    }
}

fn is_label(text: &str) -> bool {
    (1..=MAX_LABEL_CHARS).contains(&text.len())
        && text
            .bytes()
            .all(|b| b.is_ascii_alphanumeric() || b"._:-".contains(&b))
}

/// The operating system user (RNR-60): as the user database of this machine names it, else as the environment does.
pub fn user() -> String {
    let uid = rustix::process::getuid().as_raw();
    let environment = || {
        ["USER", "LOGNAME", "USERNAME"]
            .into_iter()
            .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    };
    local_user(uid)
        .or_else(environment)
        .unwrap_or_else(|| format!("uid {uid}"))
}

fn local_user(uid: u32) -> Option<String> {
    let mut users = String::new();
    File::open(USERS)
        .ok()?
        .take(MAX_USERS_BYTES)
        .read_to_string(&mut users)
        .ok()?;
    user_named(&users, uid)
}

/// The name of a user id in lines of `name:password:uid:...`.
fn user_named(users: &str, uid: u32) -> Option<String> {
    users.lines().find_map(|line| {
        let mut parts = line.split(':');
        let name = parts.next().filter(|name| !name.is_empty())?;
        let number = parts.nth(1)?.parse::<u32>().ok()?;
        (number == uid).then(|| name.to_owned())
    })
}

/// The language of texts for people, from `LC_ALL`, `LC_MESSAGES` or `LANG`.
pub fn language() -> Language {
    Language::from_locale(|name| std::env::var(name).ok())
}

/// Whether a process of this host exists; one that belongs to somebody else exists too.
pub fn process_alive(pid: u32) -> bool {
    let Some(pid) = i32::try_from(pid).ok().and_then(rustix::process::Pid::from_raw) else {
        return false;
    };
    !matches!(
        rustix::process::test_kill_process(pid),
        Err(rustix::io::Errno::SRCH)
    )
}

/// When a process started, in clock ticks since the boot of this machine; tells two users of one process id apart.
/// `None` where the process table is not readable as files.
pub fn process_start(pid: u32) -> Option<u64> {
    const FIELDS_AFTER_NAME: usize = 19;
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name in parentheses may contain anything, blanks and parentheses included.
    let (_, after_name) = stat.rsplit_once(')')?;
    after_name.split_whitespace().nth(FIELDS_AFTER_NAME)?.parse().ok()
}

/// Commit that `HEAD` of the repository around `folder` names; empty when there is none.
pub fn git_ref(folder: &Path) -> String {
    let Ok(start) = folder.canonicalize() else {
        return String::new();
    };
    start
        .ancestors()
        .take(MAX_GIT_PARENTS)
        .find_map(|folder| git_head(&folder.join(".git")))
        .unwrap_or_default()
}

fn git_head(dot_git: &Path) -> Option<String> {
    let git_dir = if dot_git.is_file() {
        // A worktree: the file names the real folder.
        let text = small_text(dot_git)?;
        dot_git.parent()?.join(text.strip_prefix("gitdir:")?.trim())
    } else {
        dot_git.to_path_buf()
    };
    let head = small_text(&git_dir.join("HEAD"))?;
    let Some(reference) = head.trim().strip_prefix("ref:").map(str::trim) else {
        return Some(head.trim().to_owned()).filter(|text| is_commit(text));
    };
    let common = match small_text(&git_dir.join("commondir")) {
        Some(text) => git_dir.join(text.trim()),
        None => git_dir.clone(),
    };
    [&git_dir, &common]
        .into_iter()
        .find_map(|folder| small_text(&folder.join(reference)))
        .map(|text| text.trim().to_owned())
        .or_else(|| {
            let packed = small_text(&common.join("packed-refs"))?;
            packed.lines().find_map(|line| {
                let (commit, name) = line.split_once(' ')?;
                (name == reference).then(|| commit.to_owned())
            })
        })
        .filter(|text| is_commit(text))
}

fn is_commit(text: &str) -> bool {
    text.len() >= 40 && text.bytes().all(|b| b.is_ascii_hexdigit())
}

fn small_text(path: &Path) -> Option<String> {
    const MAX_BYTES: u64 = 1 << 20;
    String::from_utf8(read_limited(path, MAX_BYTES).ok()?).ok()
}

/// Reads a whole file that must not be larger than `max` bytes.
///
/// # Errors
/// As the operating system reports, or the size.
pub fn read_limited(path: &Path, max: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(max + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max {
        return Err(io::Error::new(
            io::ErrorKind::FileTooLarge,
            format!("larger than {max} bytes"),
        ));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn uuids_are_version_4_and_differ() {
        let (one, two) = (uuid().expect("random"), uuid().expect("random"));
        assert_ne!(one, two);
        assert_eq!((one.len(), &one[14..15]), (36, "4"));
    }

    #[test]
    fn users_are_found_by_their_number() {
        let users = "root:x:0:0:root:/root:/bin/sh\n# local\n:x:7:7::/:\nbatch:x:1002:100:Batch:/srv:/bin/false\nlate:x:1002:1::/:\n";
        assert_eq!(user_named(users, 0).as_deref(), Some("root"));
        assert_eq!(user_named(users, 1002).as_deref(), Some("batch"));
        assert_eq!(user_named(users, 7), None);
        assert_eq!(user_named(users, 5), None);
    }

    #[test]
    fn own_process_lives_and_impossible_ones_do_not() {
        assert!(process_alive(std::process::id()));
        assert!(!process_alive(u32::MAX));
        assert!(!process_alive(0));
    }

    #[test]
    fn labels_have_a_narrow_alphabet() {
        assert!(is_label("batch-01.example:a_B"));
        for bad in ["", "a b", "日本", &"x".repeat(65)] {
            assert!(!is_label(bad), "{bad}");
        }
    }

    #[test]
    fn large_files_are_refused() {
        let manifest = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"));
        assert!(read_limited(manifest, 1 << 20).is_ok());
        assert!(read_limited(manifest, 4).is_err());
    }
}
