//! The execution bundle (BND-01 to BND-07): one zip that holds everything a Run executes.

/// Whether a path may name a job's SQL file in the bundle (BND-03).
pub fn is_job_path(path: &str) -> bool {
    path.strip_prefix("jobs/")
        .and_then(|rest| rest.strip_suffix(".sql"))
        .is_some_and(|id| {
            !id.is_empty()
                && id
                    .bytes()
                    .all(|b| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'_' | b'-'))
        })
        && !path.contains("..")
}
