//! Which jobs of a folder run, in which order, and when one is left out (RNR-41, 42, 110, 113, 114). Pure.

use std::collections::BTreeMap;
use std::fmt;

use super::verdict::{Failure, JobStatus};
use crate::flow::sql::message::say;

/// A job as the order knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Node {
    /// Logical name.
    pub name: String,
    /// File name.
    pub file_name: String,
    /// Names it depends on.
    pub depends_on: Vec<String>,
}

/// Order of job files: by UTF-16 code units of the file name (RNR-41).
pub fn file_order(a: &str, b: &str) -> std::cmp::Ordering {
    a.encode_utf16().cmp(b.encode_utf16())
}

/// Checks names and dependencies of jobs in file order; a dependency must come earlier, which also rules out circles.
///
/// # Errors
/// The first job that breaks a rule.
pub fn check(nodes: &[Node]) -> Result<(), Failure> {
    let mut earlier: BTreeMap<&str, &str> = BTreeMap::new();
    for node in nodes {
        for dependency in &node.depends_on {
            if !earlier.contains_key(dependency.as_str()) {
                let exists = nodes.iter().any(|other| other.name == *dependency);
                let problem = if exists {
                    say!(
                        "does not come earlier in file order",
                        "はファイル順で先にありません"
                    )
                } else {
                    say!("is not in the folder", "はフォルダーにありません")
                };
                let file = &node.file_name;
                return Err(Failure::invalid(problem.put(|_, problem| {
                    format!("{file}: depends_on {dependency:?} {problem}")
                })));
            }
        }
        if let Some(other) = earlier.insert(&node.name, &node.file_name) {
            let (file, name) = (&node.file_name, &node.name);
            return Err(Failure::invalid(say!(
                "{other} and {file} have the same job name {name:?}",
                "{other} と {file} のジョブ名が同じです ({name:?})"
            )));
        }
    }
    Ok(())
}

/// Which jobs were asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Selection {
    /// All.
    All,
    /// This one (file name or job name) and everything after it.
    From(String),
    /// This one only.
    Only(String),
    /// These, by job name.
    Resume(Vec<String>),
}

impl Selection {
    /// For each job whether it is selected.
    ///
    /// # Errors
    /// The named job is not there.
    pub fn apply(&self, nodes: &[Node]) -> Result<Vec<bool>, Failure> {
        let find = |wanted: &str| {
            nodes
                .iter()
                .position(|node| node.name == wanted || node.file_name == wanted)
                .ok_or_else(|| {
                    Failure::invalid(say!(
                        "there is no job {wanted:?} in the folder",
                        "フォルダーにジョブ {wanted:?} がありません"
                    ))
                })
        };
        let selected: Vec<bool> = match self {
            Self::All => vec![true; nodes.len()],
            Self::From(wanted) => {
                let first = find(wanted)?;
                (0..nodes.len()).map(|index| index >= first).collect()
            }
            Self::Only(wanted) => {
                let only = find(wanted)?;
                (0..nodes.len()).map(|index| index == only).collect()
            }
            Self::Resume(names) => nodes.iter().map(|node| names.contains(&node.name)).collect(),
        };
        Ok(selected)
    }
}

/// Why a job is not run; the text is stored and read back (RNR-63).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SkipReason {
    /// Not selected.
    Filtered,
    /// Another execution holds its lock.
    Locked,
    /// A dependency did not succeed.
    Dependency(String),
    /// An earlier job failed and `--stop-on-error` was given, or the API limit was reached.
    StopOnError,
    /// The batch's time was over.
    BatchTimeout,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Filtered => f.write_str("filtered"),
            Self::Locked => f.write_str("LOCKED"),
            Self::Dependency(name) => write!(f, "dependency: {name}"),
            Self::StopOnError => f.write_str("stop-on-error"),
            Self::BatchTimeout => f.write_str("batch-timeout"),
        }
    }
}

/// Start of `log_detail` of a skipped job.
pub fn skip_detail(reason: &SkipReason) -> String {
    format!("SKIPPED ({reason})")
}

/// Whether a stored `log_detail` says that the job was not selected.
pub fn is_filtered(log_detail: &str) -> bool {
    log_detail.starts_with(&skip_detail(&SkipReason::Filtered))
}

/// What a batch knows before the next job.
pub struct Progress<'a> {
    /// Statuses of the jobs that took part in this run so far, by name; jobs outside the selection are not in it.
    pub statuses: &'a BTreeMap<String, JobStatus>,
    /// Stop was asked for and an earlier job failed, or the API limit is reached.
    pub stopped: bool,
    /// The batch's deadline has passed.
    pub late: bool,
}

impl Progress<'_> {
    /// Why the next job is left out; `None` = it runs. A dependency outside the selection counts as satisfied.
    pub fn obstacle(&self, node: &Node) -> Option<SkipReason> {
        if self.stopped {
            return Some(SkipReason::StopOnError);
        }
        if self.late {
            return Some(SkipReason::BatchTimeout);
        }
        let failed = |name: &&String| {
            self.statuses
                .get(*name)
                .is_some_and(|status| !status.is_success())
        };
        node.depends_on
            .iter()
            .find(failed)
            .map(|name| SkipReason::Dependency(name.clone()))
    }
}

/// What the last batch recorded about one job, by logical name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Recorded {
    /// Status.
    pub status: JobStatus,
    /// The job was skipped because it was not selected.
    pub filtered: bool,
}

/// Jobs that a resume runs again: failed, unfinished, skipped for a reason, or without record (RNR-111).
pub fn to_resume(nodes: &[Node], recorded: &BTreeMap<String, Recorded>) -> Vec<String> {
    let again = |node: &&Node| match recorded.get(&node.name) {
        None => true,
        Some(record) => match record.status {
            JobStatus::Success | JobStatus::NoData => false,
            JobStatus::Skipped => !record.filtered,
            JobStatus::Failed
            | JobStatus::Aborted
            | JobStatus::Timeout
            | JobStatus::Running
            | JobStatus::Cancelled => true,
        },
    };
    nodes.iter().filter(again).map(|node| node.name.clone()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(file: &str, depends_on: &[&str]) -> Node {
        Node {
            name: file.trim_end_matches(".sql").to_owned(),
            file_name: file.to_owned(),
            depends_on: depends_on.iter().map(|&name| name.to_owned()).collect(),
        }
    }

    #[test]
    fn files_are_ordered_by_utf16_units() {
        let mut names = ["b", "\u{ff5e}", "😀", "a", "B"];
        names.sort_by(|a, b| file_order(a, b));
        assert_eq!(names, ["B", "a", "b", "😀", "\u{ff5e}"]);
    }

    #[test]
    fn dependencies_exist_and_come_earlier() {
        assert!(check(&[node("a.sql", &[]), node("b.sql", &["a"])]).is_ok());
        for (nodes, message) in [
            (
                vec![node("a.sql", &["x"])],
                "a.sql: depends_on \"x\" is not in the folder",
            ),
            (
                vec![node("a.sql", &["b"]), node("b.sql", &[])],
                "a.sql: depends_on \"b\" does not come earlier in file order",
            ),
            (
                vec![node("a.sql", &["a"])],
                "a.sql: depends_on \"a\" does not come earlier in file order",
            ),
            (
                vec![node("a.sql", &[]), node("a", &[])],
                "a.sql and a have the same job name \"a\"",
            ),
        ] {
            assert_eq!(check(&nodes).expect_err(message).to_string(), message);
        }
    }

    #[test]
    fn selections_take_file_names_or_job_names() {
        let nodes = [node("a.sql", &[]), node("b.sql", &[]), node("c.sql", &[])];
        for (selection, expected) in [
            (Selection::All, [true, true, true]),
            (Selection::From("b".to_owned()), [false, true, true]),
            (Selection::Only("b.sql".to_owned()), [false, true, false]),
            (
                Selection::Resume(vec!["c".to_owned(), "gone".to_owned()]),
                [false, false, true],
            ),
        ] {
            assert_eq!(selection.apply(&nodes).expect("found"), expected, "{selection:?}");
        }
        assert!(Selection::Only("x".to_owned()).apply(&nodes).is_err());
    }

    #[test]
    fn obstacles_come_from_stops_time_and_dependencies() {
        let statuses = BTreeMap::from([
            ("ok".to_owned(), JobStatus::NoData),
            ("bad".to_owned(), JobStatus::Aborted),
            ("left".to_owned(), JobStatus::Skipped),
        ]);
        let progress = |stopped, late| Progress {
            statuses: &statuses,
            stopped,
            late,
        };
        for (depends_on, expected) in [
            (vec!["ok", "outside"], None),
            (vec!["ok", "bad"], Some("dependency: bad")),
            (vec!["left"], Some("dependency: left")),
        ] {
            let reason = progress(false, false).obstacle(&node("x.sql", &depends_on));
            assert_eq!(reason.map(|reason| reason.to_string()).as_deref(), expected);
        }
        assert_eq!(
            progress(true, true).obstacle(&node("x.sql", &[])),
            Some(SkipReason::StopOnError)
        );
        assert_eq!(
            progress(false, true).obstacle(&node("x.sql", &[])),
            Some(SkipReason::BatchTimeout)
        );
    }

    #[test]
    fn resume_repeats_what_did_not_succeed() {
        let nodes: Vec<Node> = ["a", "b", "c", "d", "e", "f"]
            .iter()
            .map(|name| node(name, &[]))
            .collect();
        let record = |status, filtered| Recorded { status, filtered };
        let recorded = BTreeMap::from([
            ("a".to_owned(), record(JobStatus::Success, false)),
            ("b".to_owned(), record(JobStatus::Failed, false)),
            ("c".to_owned(), record(JobStatus::Skipped, true)),
            ("d".to_owned(), record(JobStatus::Skipped, false)),
            ("e".to_owned(), record(JobStatus::Running, false)),
        ]);
        assert_eq!(to_resume(&nodes, &recorded), ["b", "d", "e", "f"]);
        assert!(is_filtered("SKIPPED (filtered)\nmore") && !is_filtered("SKIPPED (LOCKED)"));
    }
}
