//! The only input of this room: the network file and the presence of SQL files (DEF-01, DEF-29).

use std::fs::File;
use std::io::Read as _;
use std::path::{Component, Path, PathBuf};

use super::network::Network;
use super::problem::Problem;

/// Largest network file, in bytes (item 21).
pub const MAX_FILE_BYTES: u64 = 1024 * 1024;

/// Reads the network file once; parse, hash and bundle these bytes (item 12).
pub fn read_file(path: &Path) -> Result<Vec<u8>, Problem> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| unreadable(&os_text(&error)))?;
    check_bytes(&bytes)?;
    Ok(bytes)
}

/// Size and encoding of a file that is to make new Runs.
pub(super) fn check_bytes(bytes: &[u8]) -> Result<&str, Problem> {
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(unreadable(&format!("larger than {MAX_FILE_BYTES} bytes")));
    }
    std::str::from_utf8(bytes)
        .map_err(|error| unreadable(&format!("not valid UTF-8 (byte {})", error.valid_up_to() + 1)))
}

/// The system's words, without the number that Rust adds in parentheses.
fn os_text(error: &std::io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((words, _)) => words.to_owned(),
        None => text,
    }
}

fn unreadable(why: &str) -> Problem {
    Problem::new(
        "NETWORK_FILE_UNREADABLE",
        "$",
        format!("cannot read network file: {why}"),
    )
}

/// Checks that every SQL file is a readable regular file of UTF-8 text; `dir` is the directory of the network file (DEF-29).
pub fn check_sql_files(network: &Network, dir: &Path) -> Vec<Problem> {
    let mut problems = Vec::new();
    for (i, node) in network.nodes.iter().enumerate() {
        let path = sql_path(dir, &node.sql);
        if let Err(why) = check_readable(&path) {
            problems.push(Problem::new(
                "SQL_FILE_UNREADABLE",
                format!("$.nodes/{i}/sql"),
                format!(
                    "SQL file for node '{}' is not readable: {} ({why})",
                    node.id,
                    path.display()
                ),
            ));
        }
    }
    problems
}

/// The absolute path of a node's SQL file. `..` is taken out of the text before links are followed.
pub fn sql_path(dir: &Path, sql: &str) -> PathBuf {
    let joined = dir.join(sql);
    let absolute = std::path::absolute(&joined).unwrap_or(joined);
    let mut path = PathBuf::new();
    for component in absolute.components() {
        match component {
            Component::ParentDir => {
                path.pop();
            }
            other => path.push(other),
        }
    }
    path
}

/// The type is looked at before the file is opened: opening a named pipe would wait for a writer.
fn check_readable(path: &Path) -> Result<(), String> {
    let metadata = std::fs::metadata(path).map_err(|error| format!("Error: {}", os_text(&error)))?;
    if !metadata.is_file() {
        return Err("Error: path is not a file".to_owned());
    }
    let bytes = std::fs::read(path).map_err(|error| format!("Error: {}", os_text(&error)))?;
    std::str::from_utf8(&bytes)
        .map(|_| ())
        .map_err(|error| format!("Error: not valid UTF-8 (byte {})", error.valid_up_to() + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A folder of its own that goes away with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("flownet-{name}-{}", std::process::id()));
            std::fs::create_dir_all(&path).expect("a folder");
            Self(path)
        }

        fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
            let path = self.0.join(name);
            std::fs::write(&path, bytes).expect("a file");
            path
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = std::fs::remove_dir_all(&self.0);
        }
    }

    #[test]
    fn an_sql_file_is_text() {
        let folder = Folder::new("sql");
        assert_eq!(
            check_readable(&folder.file("text", "SELECT 'é';".as_bytes())),
            Ok(())
        );
        let latin1 = folder.file("latin1", b"SELECT '\xe9';");
        assert_eq!(
            check_readable(&latin1),
            Err("Error: not valid UTF-8 (byte 9)".to_owned())
        );
    }

    #[test]
    fn a_network_file_is_read_up_to_its_limit() {
        let folder = Folder::new("limit");
        let limit = MAX_FILE_BYTES as usize;
        let full = folder.file("full", &vec![b'#'; limit]);
        assert_eq!(read_file(&full).map(|b| b.len()), Ok(limit));
        let over = folder.file("over", &vec![b'#'; limit + 1]);
        let problem = read_file(&over).expect_err("too large");
        assert_eq!(problem.code, "NETWORK_FILE_UNREADABLE");
        assert!(problem.message.contains("larger than 1048576 bytes"));
    }

    #[test]
    fn what_cannot_be_read_is_named() {
        let folder = Folder::new("unreadable");
        let bad = folder.file("bad", b"a: \xff");
        assert_eq!(
            read_file(&bad).map_err(|p| p.message),
            Err("cannot read network file: not valid UTF-8 (byte 4)".to_owned())
        );
        let missing = read_file(&folder.0.join("missing")).expect_err("missing");
        assert_eq!(missing.path, "$");
        assert_eq!(
            missing.message,
            "cannot read network file: No such file or directory"
        );
        assert!(read_file(&folder.0).is_err());
    }

    #[test]
    fn the_parent_is_taken_out_of_the_text() {
        let dir = Path::new("/net/dir");
        assert_eq!(sql_path(dir, "../a.sql"), Path::new("/net/a.sql"));
        assert_eq!(sql_path(dir, "x/../../a.sql"), Path::new("/net/a.sql"));
        assert_eq!(sql_path(dir, "/a.sql"), Path::new("/a.sql"));
        assert_eq!(sql_path(dir, "../../../a.sql"), Path::new("/a.sql"));
    }
}
