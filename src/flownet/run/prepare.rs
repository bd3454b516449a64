//! What a NEW Run needs, gathered before anything is locked or written: profile, inspected jobs, bundle (RUN-06, D-02).

use std::path::{Path, PathBuf};

use super::context::{Context, Request};
use super::failure::Failure;
use crate::flownet::bundle::{self, Bundle, JobInput};
use crate::flownet::child::inspection::Inspection;
use crate::flownet::child::machine;
use crate::flownet::child::workdir::RunDirectory;
use crate::flownet::definition::{self, Node};
use crate::flownet::profile::{self, Description, Snapshot};

/// Diagnostic that an idempotent node must not have.
const NONDETERMINISTIC: &str = "KSQL1306";

/// Everything for the records of a NEW Run.
pub struct Prepared {
    /// The runner's profile as stored with the Run.
    pub snapshot: Snapshot,
    /// Hash of the whole profile description.
    pub profile_sha256: String,
    /// The jobs and the definition as they will be executed.
    pub bundle: Bundle,
    /// The one dialect of all jobs.
    pub dialect: u64,
    /// The JOB log that we read is the app that the runner writes to.
    pub log_is_runners: bool,
}

/// Describes, inspects, checks and bundles.
pub fn prepare(ctx: &Context, request: &Request) -> Result<Prepared, Failure> {
    refuse_invalid(ctx, request)?;
    let description = describe(ctx)?;
    let snapshot = description.snapshot()?;
    let jobs = read_jobs(request)?;
    let files: Vec<PathBuf> = jobs.iter().map(|(path, _)| path.clone()).collect();
    let mut inspections = Vec::new();
    for answer in machine::inspect_jobs(&ctx.runner, &files, &ctx.stop) {
        inspections.push(answer?);
    }
    let nodes = &request.network.nodes;
    for ((node, inspection), (path, bytes)) in nodes.iter().zip(&inspections).zip(&jobs) {
        check_unchanged(path, bytes)?;
        check_job(node, inspection, path)?;
    }
    check_names(ctx, nodes, &jobs)?;
    let dialect = one_dialect(&inspections)?;
    let inputs: Vec<JobInput> = nodes
        .iter()
        .zip(&inspections)
        .zip(jobs)
        .map(|((node, inspection), (_, sql))| JobInput {
            node_id: node.id.clone(),
            job_id: node.job_id.clone(),
            inspected_job_id: inspection.job_id.clone(),
            sql,
            nondeterministic: is_nondeterministic(inspection),
        })
        .collect();
    let bundle = bundle::build(&request.network_yaml, &inputs)?;
    let log_is_runners = log_is_runners(ctx, &description);
    Ok(Prepared {
        profile_sha256: description.sha256(),
        snapshot,
        bundle,
        dialect,
        log_is_runners,
    })
}

/// A start that may also continue a Run reads its definition by the older rules; a new Run needs all of them.
fn refuse_invalid(ctx: &Context, request: &Request) -> Result<(), Failure> {
    let mut problems = definition::load(&request.network_yaml).problems;
    problems.extend(definition::check_sql_files(&request.network, &request.folder));
    problems.extend(request.network.job_lock_problems(&ctx.profile));
    if problems.is_empty() {
        return Ok(());
    }
    let failure = Failure::new("RUN_NETWORK_FAILED", "network definition is invalid");
    Err(problems.iter().fold(failure, |f, p| f.detail(p.to_string())))
}

/// The runner's profile, which must be ours.
pub fn describe(ctx: &Context) -> Result<Description, Failure> {
    let output = machine::describe_profile(&ctx.runner, &ctx.stop)?;
    let description = profile::parse_description(&output)?;
    description.check_profile(&ctx.profile)?;
    Ok(description)
}

/// Does the runner write to the JOB log that we read? If not, a missing record there proves nothing.
pub fn log_is_runners(ctx: &Context, description: &Description) -> bool {
    let same = description.log_app_id() == Some(ctx.job_log.id);
    if !same {
        (ctx.warn)(format!(
            "the runner's log app is not app {}; lost results cannot be settled by it (KSQL_FLOW_LOG_APP_ID)",
            ctx.job_log.id
        ));
    }
    same
}

fn read_jobs(request: &Request) -> Result<Vec<(PathBuf, Vec<u8>)>, Failure> {
    let mut jobs = Vec::new();
    for node in &request.network.nodes {
        let path = definition::files::sql_path(&request.folder, &node.sql);
        let bytes = std::fs::read(&path).map_err(|e| {
            Failure::new(
                "SQL_FILE_UNREADABLE",
                format!(
                    "SQL file for node '{}' is not readable: {} ({e})",
                    node.id,
                    path.display()
                ),
            )
        })?;
        jobs.push((path, bytes));
    }
    Ok(jobs)
}

/// The bytes that go into the bundle must be the bytes that were inspected (BND-11).
fn check_unchanged(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    match std::fs::read(path) {
        Ok(again) if again == bytes => Ok(()),
        _ => Err(Failure::new(
            "BUNDLE_INPUT_CHANGED",
            format!("SQL file changed while it was inspected: {}", path.display()),
        )),
    }
}

fn is_nondeterministic(inspection: &Inspection) -> bool {
    inspection
        .nondeterministic
        .iter()
        .any(|code| code == NONDETERMINISTIC)
}

/// One node's job: name, determinism, errors (RUN-07, item 14).
fn check_job(node: &Node, inspection: &Inspection, path: &Path) -> Result<(), Failure> {
    bundle::check_inspection(node, &inspection.job_id, is_nondeterministic(inspection))?;
    let mut errors = inspection.errors().peekable();
    if errors.peek().is_some() {
        let mut failure = Failure::new(
            "JOB_INSPECTION_FAILED",
            format!("the job of node '{}' has errors: {}", node.id, path.display()),
        );
        for e in errors {
            let at = format!("{}:{}:{}", path.display(), e.line, e.column);
            failure = failure.detail(format!("{at}: {} {}", e.code, e.message));
        }
        return Err(failure);
    }
    Ok(())
}

/// A job without a name in its header takes the name of its file, and it is executed as `jobs/<node id>.sql`: such a
/// job must be found under that name too (item 13).
fn check_names(ctx: &Context, nodes: &[Node], jobs: &[(PathBuf, Vec<u8>)]) -> Result<(), Failure> {
    let named_by_file = |path: &Path, node: &Node| {
        path.file_stem().and_then(|s| s.to_str()) == Some(&node.job_id) && node.id != node.job_id
    };
    let doubtful: Vec<(&Node, &Vec<u8>)> = nodes
        .iter()
        .zip(jobs)
        .filter(|(node, (path, _))| named_by_file(path, node))
        .map(|(node, (_, sql))| (node, sql))
        .collect();
    if doubtful.is_empty() {
        return Ok(());
    }
    let directory = RunDirectory::create(&ctx.runner.workdir)?;
    for (node, sql) in doubtful {
        let copy = directory.write_job(&node.id, sql)?;
        let found = machine::inspect_job(&ctx.runner, &copy, &ctx.stop)?.job_id;
        if found != node.job_id {
            return Err(Failure::new(
                "JOB_ID_MISMATCH",
                format!(
                    "node '{}' expects job_id '{}', but without a '-- @ksql name: {}' header its job runs as '{found}'",
                    node.id, node.job_id, node.job_id
                ),
            ));
        }
    }
    Ok(directory.remove()?)
}

fn one_dialect(inspections: &[Inspection]) -> Result<u64, Failure> {
    let mut dialects: Vec<i64> = Vec::new();
    for inspection in inspections {
        if !dialects.contains(&inspection.dialect) {
            dialects.push(inspection.dialect);
        }
    }
    match dialects.as_slice() {
        [one] if *one >= 0 => Ok(one.unsigned_abs()),
        many => {
            let list: Vec<String> = many.iter().map(i64::to_string).collect();
            Err(Failure::new(
                "BUNDLE_DIALECT_MISMATCH",
                format!("inspected jobs do not have one dialect: {}", list.join(", ")),
            ))
        }
    }
}
