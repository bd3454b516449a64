//! CSV files of nodes around a start: retention, baselines of earlier attempts, resolution before a spawn (IO-08..10).

use super::context::{Context, Io};
use super::failure::Failure;
use super::ledger::{Entry, Ledger};
use crate::flownet::definition::{Network, Node};
use crate::flownet::io::{
    InputFile, IoCode, OutputFile, PathRefused, Values, resolve_inputs, resolve_outputs,
};
use crate::flownet::record::{Attempt, Run};
use crate::flownet::rule::io_summary::{self, BaselineEntry};
use crate::flownet::time::{MINUTE_MS, Timestamp};

/// One day in milliseconds.
const DAY_MS: i64 = 86_400_000;

/// Files of one node, as they are now.
pub struct Files {
    /// Inputs, empty when the node has none.
    pub inputs: Vec<InputFile>,
    /// Outputs, empty when the node has none.
    pub outputs: Vec<OutputFile>,
}

impl Files {
    /// What is stored of the inputs before the job runs.
    pub fn baseline(&self) -> Vec<BaselineEntry> {
        self.inputs.iter().map(InputFile::to_baseline).collect()
    }
}

/// A Run whose definition has files needs their directory, whatever the given definition has (item 15); and an old Run's
/// files may have been cleaned up: it is not continued (IO-09).
pub fn refuse_without_files(ctx: &Context, run: &Run, network: &Network) -> Result<(), Failure> {
    let Some(io) = ctx.io.as_ref() else {
        if network.has_inputs() || network.has_outputs() {
            let why = format!(
                "KSQL_FLOWNET_IO_DIR is required: the definition that Run {} was made with has inputs or outputs",
                run.run_id
            );
            return Err(Failure::new("RUN_NETWORK_FAILED", why).fact("run_id", &run.run_id));
        }
        return Ok(());
    };
    if !network.has_inputs() {
        return Ok(());
    }
    match expired(run, io.retention_days, ctx.clock.now()) {
        Some(why) => Err(Failure::new("INPUT_RETENTION_EXPIRED", why).fact("run_id", &run.run_id)),
        None => Ok(()),
    }
}

/// Why the input files of a Run may be gone, when it is older than they are kept.
pub fn expired(run: &Run, retention_days: u64, now: Timestamp) -> Option<String> {
    let days = i64::try_from(retention_days).unwrap_or(i64::MAX);
    // The stored minute hides up to 59.999 s.
    let age = days.saturating_mul(DAY_MS).saturating_add(MINUTE_MS - 1);
    Timestamp::parse(&run.created_at)
        .filter(|made| now > made.plus_ms(age))
        .map(|_| {
            format!(
                "Run {} is older than {retention_days} days; its input files may be gone",
                run.run_id
            )
        })
}

/// Nodes that run again must find the files of their earlier attempt (IO-10).
///
/// A file that cannot be resolved is left to the node, which fails with its own code.
pub fn refuse_mutated(
    ctx: &Context,
    network: &Network,
    ledger: &Ledger,
    retried: &[String],
) -> Result<(), Failure> {
    for node in network
        .nodes
        .iter()
        .filter(|n| retried.contains(&n.id) && !n.inputs.is_empty())
    {
        let mutated = |why: String| {
            Failure::new(
                IoCode::InputFileMutated.as_str(),
                format!("node '{}': {why}", node.id),
            )
        };
        let Some(earlier) = earlier_baseline(ledger, &node.id).map_err(mutated)? else {
            continue;
        };
        let Ok(now) = inputs_now(ctx, node, ledger.run.get()) else {
            continue;
        };
        let now: Vec<BaselineEntry> = now.iter().map(InputFile::to_baseline).collect();
        io_summary::check_unchanged(&earlier, &now).map_err(|e| mutated(e.to_string()))?;
    }
    Ok(())
}

/// The baseline of the newest attempt that stored one.
fn earlier_baseline(ledger: &Ledger, node_id: &str) -> Result<Option<Vec<BaselineEntry>>, String> {
    let mut own: Vec<&Attempt> = ledger
        .attempts
        .iter()
        .map(Entry::get)
        .filter(|a| a.node_id == node_id)
        .collect();
    own.sort_by_key(|a| std::cmp::Reverse(a.attempt_no));
    for attempt in own {
        let found = io_summary::parse_baseline(Some(&attempt.error_message)).map_err(|e| e.to_string())?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

fn values<'a>(run: &'a Run, profile: &'a str, node: &'a Node) -> Values<'a> {
    Values {
        business_key: &run.business_key,
        profile,
        run_id: &run.run_id,
        node_id: &node.id,
    }
}

fn root<'a>(ctx: &'a Context, code: IoCode, what: &str) -> Result<&'a Io, PathRefused> {
    ctx.io
        .as_ref()
        .ok_or_else(|| PathRefused::new(code, format!("IO root is not configured for a node with {what}")))
}

fn inputs_now(ctx: &Context, node: &Node, run: &Run) -> Result<Vec<InputFile>, PathRefused> {
    if node.inputs.is_empty() {
        return Ok(Vec::new());
    }
    let io = root(ctx, IoCode::InputPathRejected, "inputs")?;
    resolve_inputs(&io.root, &node.inputs, &values(run, &ctx.profile, node))
}

/// Resolves the files of a node right before its job is started; they must be those of its earlier attempts (IO-10).
///
/// The contract compares after a failed attempt only. Here no attempt is left out, since only a rerun that was cut short
/// lets a node wait after another end.
pub fn resolve(ctx: &Context, node: &Node, ledger: &Ledger) -> Result<Files, PathRefused> {
    let run = ledger.run.get();
    let inputs = inputs_now(ctx, node, run)?;
    if !inputs.is_empty() {
        let mutated = |message: String| PathRefused::new(IoCode::InputFileMutated, message);
        if let Some(earlier) = earlier_baseline(ledger, &node.id).map_err(mutated)? {
            let now: Vec<BaselineEntry> = inputs.iter().map(InputFile::to_baseline).collect();
            io_summary::check_unchanged(&earlier, &now).map_err(|e| mutated(e.to_string()))?;
        }
    }
    let outputs = if node.outputs.is_empty() {
        Vec::new()
    } else {
        let io = root(ctx, IoCode::OutputPathRejected, "outputs")?;
        resolve_outputs(&io.root, &node.outputs, &values(run, &ctx.profile, node))?
    };
    Ok(Files { inputs, outputs })
}
