//! The texts of `validate` and `plan` (DEF-32 to DEF-35), as bytes for stdout and stderr.

use std::fmt::Write as _;

use super::network::Network;
use super::problem::Problem;

/// stdout of a successful `validate`; `path` as given (DEF-32).
pub fn valid(path: &str) -> String {
    format!("Valid network definition: {path}\n")
}

/// stderr of a failed `validate` or `plan` (DEF-33).
pub fn failure(problems: &[Problem]) -> String {
    let mut out = failure_header(problems.len());
    for problem in problems {
        // Writing to a String cannot fail.
        let _ = writeln!(out, "- {problem}");
    }
    out
}

/// The first line of [`failure`].
pub fn failure_header(count: usize) -> String {
    format!("Network validation failed with {count} error(s):\n")
}

/// stdout of a successful `plan` (DEF-34).
pub fn plan(network: &Network, business_key: &str) -> String {
    let mut out = format!("Business key: {business_key}\nExecution plan:\n");
    for (n, i) in network.order().into_iter().enumerate() {
        let node = &network.nodes[i];
        let depends_on = if node.depends_on.is_empty() {
            "-".to_owned()
        } else {
            node.depends_on.join(", ")
        };
        // Writing to a String cannot fail.
        let _ = writeln!(
            out,
            "{}. {} | job_id={} | idempotent={} | depends_on={depends_on}",
            n + 1,
            node.id,
            node.job_id,
            node.idempotent
        );
    }
    out
}

/// The error list of `plan`: those of `validate`, then those of the key that are not there yet (DEF-35).
pub fn with_key_problems(mut problems: Vec<Problem>, key_problems: Vec<Problem>) -> Vec<Problem> {
    for problem in key_problems {
        if !problems.contains(&problem) {
            problems.push(problem);
        }
    }
    problems
}
