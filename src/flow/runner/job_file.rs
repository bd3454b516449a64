//! Job files: reading one, finding those of a folder (RNR-40, RNR-41, RNR-44).

use std::path::{Path, PathBuf};

use super::config::Profile;
use super::graph::{self, Node};
use super::host;
use super::job_lock;
use super::verdict::{Failure, ResultCode};
use crate::flow::script::{self, ParseOptions, Script};
use crate::flow::sql::diagnostic::{Diagnostic, Severity};
use crate::flow::sql::message::{Message, say};

/// Largest job file, in bytes.
const MAX_BYTES: u64 = 4 << 20;
/// Extension of job files; its case does not matter.
const EXTENSION: &str = "sql";

/// A job file that was read and parsed.
pub struct JobFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its name without folders.
    pub file_name: String,
    /// Logical name: the header's, else the file name without `.sql`.
    pub name: String,
    /// The parsed script, with its diagnostics.
    pub script: Script,
}

impl JobFile {
    /// Reads and parses a file. Errors in its SQL are diagnostics of the program.
    ///
    /// # Errors
    /// The file cannot be read, or is no UTF-8 text.
    pub fn read(path: &Path, profile: &Profile, strict: bool) -> Result<Self, Failure> {
        let shown = path.display();
        let bytes = host::read_limited(path, MAX_BYTES).map_err(|error| {
            Failure::invalid(say!(
                "job file {shown}: {error}",
                "ジョブファイル {shown}: {error}"
            ))
        })?;
        let text = String::from_utf8(bytes).map_err(|error| {
            let at = error.utf8_error().valid_up_to();
            Failure::invalid(say!(
                "job file {shown}: not valid UTF-8 at byte {at}; save it as UTF-8",
                "ジョブファイル {shown}: {at} バイト目が UTF-8 ではありません。UTF-8 で保存してください"
            ))
        })?;
        let file_name = path
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default()
            .to_owned();
        let options = ParseOptions {
            apps: Some(&profile.app_map),
            strict,
        };
        let script = script::parse(&text, &options);
        let name = script
            .header
            .name
            .clone()
            .unwrap_or_else(|| without_extension(&file_name).to_owned());
        Ok(Self {
            path: path.to_path_buf(),
            file_name,
            name,
            script,
        })
    }

    /// The lock key of the job in a profile (RNR-44).
    ///
    /// # Errors
    /// The names make no key.
    pub fn lock_key(&self, profile: &Profile) -> Result<String, Failure> {
        job_lock::job_key(&profile.name, &self.name).map_err(|failure| {
            let shown = self.path.display();
            let file = say!("job file {shown}", "ジョブファイル {shown}");
            Failure::invalid(file.joined(": ", &failure.message))
        })
    }

    /// Why the job cannot be run: its first error.
    pub fn refusal(&self) -> Option<Failure> {
        self.refusal_by(&self.script.diagnostics)
    }

    /// The first error among findings about this job.
    pub fn refusal_by(&self, findings: &[Diagnostic]) -> Option<Failure> {
        let error = findings
            .iter()
            .find(|finding| finding.severity == Severity::Error)?;
        let line = self.finding_line(error);
        Some(Failure::detailed(ResultCode::ValidationError, error.code, line))
    }

    /// `file:line:col severity code message` (RNR-45).
    pub fn finding_line(&self, finding: &Diagnostic) -> Message {
        let severity = match finding.severity {
            Severity::Error => "error",
            Severity::Warning => "warning",
        };
        let (line, column) = (finding.line, finding.column);
        let place = format!("{}:{line}:{column} {severity} {}", self.file_name, finding.code);
        finding.message.put(|language, message| {
            let hint = finding
                .hint
                .as_ref()
                .map_or_else(String::new, |hint| format!(" ({})", hint.marked(language)));
            format!("{place} {message}{hint}")
        })
    }

    /// The job as the order of a folder knows it.
    pub fn node(&self) -> Node {
        Node {
            name: self.name.clone(),
            file_name: self.file_name.clone(),
            depends_on: self.script.header.depends_on.clone(),
        }
    }
}

/// Job files directly in a folder, in the order of their names.
///
/// # Errors
/// The folder cannot be read, or holds no job file.
pub fn discover(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let shown = folder.display();
    let unreadable = |error: std::io::Error| {
        Failure::invalid(say!(
            "jobs folder {shown}: {error}",
            "ジョブフォルダー {shown}: {error}"
        ))
    };
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let is_sql = path
            .extension()
            .is_some_and(|extension| extension.eq_ignore_ascii_case(EXTENSION));
        if !is_sql || !path.is_file() {
            continue;
        }
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            let shown = path.display();
            return Err(Failure::invalid(say!(
                "job file {shown}: its name is not UTF-8",
                "ジョブファイル {shown}: ファイル名が UTF-8 ではありません"
            )));
        };
        files.push((name.to_owned(), path.clone()));
    }
    if files.is_empty() {
        return Err(Failure::invalid(say!(
            "jobs folder {shown}: there is no .{EXTENSION} file in it",
            "ジョブフォルダー {shown}: .{EXTENSION} ファイルがありません"
        )));
    }
    files.sort_by(|a, b| graph::file_order(&a.0, &b.0));
    Ok(files.into_iter().map(|(_, path)| path).collect())
}

/// Reads all job files of a folder and checks names and dependencies.
///
/// # Errors
/// As [`discover`], [`JobFile::read`] and [`graph::check`].
pub fn read_folder(folder: &Path, profile: &Profile, strict: bool) -> Result<Vec<JobFile>, Failure> {
    let jobs = discover(folder)?
        .iter()
        .map(|path| JobFile::read(path, profile, strict))
        .collect::<Result<Vec<_>, _>>()?;
    let nodes: Vec<Node> = jobs.iter().map(JobFile::node).collect();
    graph::check(&nodes)?;
    Ok(jobs)
}

fn without_extension(file_name: &str) -> &str {
    match file_name.rsplit_once('.') {
        Some((stem, extension)) if extension.eq_ignore_ascii_case(EXTENSION) => stem,
        _ => file_name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_lose_their_extension() {
        for (file, name) in [
            ("01_a.sql", "01_a"),
            ("b.SQL", "b"),
            ("c.sql.bak", "c.sql.bak"),
            ("月次", "月次"),
        ] {
            assert_eq!(without_extension(file), name);
        }
    }

    #[test]
    fn folders_are_read_in_name_order() {
        let folder = std::env::temp_dir().join(format!("ksql-flow-jobs-{}", host::uuid().expect("random")));
        std::fs::create_dir(&folder).expect("folder");
        assert!(
            discover(&folder).is_err_and(|failure| failure.to_string().contains("there is no .sql file"))
        );
        for name in ["02.sql", "01.SQL", "readme.md"] {
            std::fs::write(folder.join(name), "").expect("file");
        }
        std::fs::create_dir(folder.join("sub.sql")).expect("folder");
        let files = discover(&folder).expect("files");
        assert_eq!(files, [folder.join("01.SQL"), folder.join("02.sql")]);
        std::fs::remove_dir_all(&folder).expect("removed");
        assert!(discover(&folder).is_err());
    }
}
