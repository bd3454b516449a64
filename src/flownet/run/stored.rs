//! The files that a Run was made with, which it keeps to, and what has become of them since.

use std::path::Path;

use super::context::Request;
use super::failure::Failure;
use super::resume::{edited_run, required};
use super::schedule;
use crate::flownet::bundle::Contents;
use crate::flownet::canonical_json::sha256_hex;
use crate::flownet::definition::files::sql_path;
use crate::flownet::definition::{Network, load_stored};
use crate::flownet::record::{NodeState, Run};
use crate::flownet::rule::{edited, reconcile};
use crate::kintone::{App, Client};

/// Changed files that a remark names.
const MOST_NAMED: usize = 3;

/// The definition that the Run was made with, and with which it goes on (BND-09).
pub fn definition(run: &Run, contents: &Contents) -> Result<Network, Failure> {
    let mismatch = |why: &str| {
        Failure::new(
            "RUN_SNAPSHOT_MISMATCH",
            format!("the bundle of Run {}: {why}", run.run_id),
        )
    };
    // The bundle is the one of the Run's own hash, so that its definition is too.
    let edit = |field, stored: &dyn std::fmt::Display, expected: &dyn std::fmt::Display| {
        edited_run(run, &edited::of_run(run, field, stored, edited::value(expected)))
    };
    let sha256 = sha256_hex(&contents.network_yaml);
    if sha256 != run.definition_sha256 {
        return Err(edit("definition_sha256", &run.definition_sha256, &sha256));
    }
    let network = load_stored(&contents.network_yaml)
        .network
        .ok_or_else(|| mismatch("its definition is not valid"))?;
    if network.schema_version != run.definition_schema_version {
        let (stored, expected) = (&run.definition_schema_version, &network.schema_version);
        return Err(edit("definition_schema_version", stored, expected));
    }
    if network.network_id != run.network_id {
        return Err(mismatch("its definition belongs to another network"));
    }
    Ok(network)
}

/// The definition in the bundle of a Run, for those who look without working on it.
pub fn read_definition(client: &Client, state: &App, run: &Run) -> Result<Network, Failure> {
    definition(run, &schedule::download(client, state, run, &run.bundle_sha256)?)
}

/// Refuses a Node State whose fixed fields are not those of the Run's definition (D-09). One that nobody saved needs no look.
///
/// # Errors
/// The edit; a bundle that cannot be read.
pub fn refuse_edited_state(client: &Client, app: &App, run: &Run, state: &NodeState) -> Result<(), Failure> {
    if state.revision == state.business_revision {
        return Ok(());
    }
    if let Some(edit) = edited::bundle(run) {
        return Err(edited_run(run, &edit));
    }
    let network = read_definition(client, app, run)?;
    match reconcile::against_definition(std::slice::from_ref(state), &network) {
        edits if edits.is_empty() => Ok(()),
        edits => Err(required(&run.run_id, &edits)),
    }
}

/// What to tell somebody who changed the network file or an SQL file after the Run was made, and may expect a resume to
/// execute the change: it never does (BND-09). A file that is gone is no change, because nothing needs it any more.
pub fn changed_since(request: &Request, run: &Run, stored: &Network, contents: &Contents) -> Option<String> {
    let mut changed = Vec::new();
    if request.network_yaml != contents.network_yaml {
        changed.push("the network file".to_owned());
    }
    for node in &stored.nodes {
        let path = sql_path(&request.folder, &node.sql);
        if contents
            .jobs
            .get(&node.id)
            .is_some_and(|then| differs(&path, then))
        {
            changed.push(node.sql.clone());
        }
    }
    let more = changed.len().saturating_sub(MOST_NAMED);
    changed.truncate(MOST_NAMED);
    let rest = if more > 0 {
        format!(" and {more} more")
    } else {
        String::new()
    };
    (!changed.is_empty()).then(|| {
        format!(
            "changed since Run {} was made ({}): {}{rest}; it goes on with its files of that time, and what was changed \
             runs under another business key",
            run.run_id,
            run.created_at,
            changed.join(", ")
        )
    })
}

fn differs(path: &Path, then: &[u8]) -> bool {
    // Anything but a file of the same length needs no look inside, and a pipe would never end.
    match path.metadata() {
        Ok(file) if file.is_file() => {
            file.len() != then.len() as u64 || std::fs::read(path).is_ok_and(|now| now != then)
        }
        _ => false,
    }
}
