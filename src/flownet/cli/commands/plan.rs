//! plan: which Run would it be, and in which order would its nodes run?

use serde::Serialize;

use super::super::codes::ExitClass;
use super::super::output::Output;
use super::super::report::Failure;
use super::super::walk::Words;
use super::network_file::{self, Finding, NetworkFile};
use crate::flownet::definition::{Network, business_key, report};

#[derive(Serialize)]
struct Plan<'a> {
    network_id: &'a str,
    business_key: &'a str,
    nodes: Vec<PlannedNode<'a>>,
    warnings: Vec<Finding<'a>>,
}

#[derive(Serialize)]
struct PlannedNode<'a> {
    id: &'a str,
    job_id: &'a str,
    idempotent: bool,
    depends_on: &'a [String],
}

/// Runs the command.
pub fn run(words: &Words, output: &mut Output<'_>) -> Result<ExitClass, Failure> {
    let file = NetworkFile::read(words.operand());
    let problems = file.problems();
    let loaded = &file.loaded;
    let Some(network) = &loaded.network else {
        return Err(network_file::failure(&problems));
    };
    let key = business_key::resolve(
        &network.policy,
        &network.network_id,
        words.value("--scheduled-for"),
        words.value("--business-key"),
    );
    let key = match key {
        Ok(key) if problems.is_empty() => key,
        Ok(_) => return Err(network_file::failure(&loaded.problems)),
        Err(of_key) => {
            let all = report::with_key_problems(problems, of_key);
            return Err(network_file::failure(&all));
        }
    };
    network_file::warn(&loaded.warnings, output);
    network_file::warn(business_key::spelling_warning(&key).as_slice(), output);
    if output.choices().json {
        output.json(&Plan {
            network_id: &network.network_id,
            business_key: &key,
            nodes: planned(network),
            warnings: Finding::list(&loaded.warnings),
        });
    }
    // Ids of a valid definition hold no line feed, so these are the lines of the plan.
    for line in report::plan(network, &key).lines() {
        output.result(line);
    }
    Ok(ExitClass::Done)
}

fn planned(network: &Network) -> Vec<PlannedNode<'_>> {
    let node = |i: usize| {
        let node = &network.nodes[i];
        PlannedNode {
            id: &node.id,
            job_id: &node.job_id,
            idempotent: node.idempotent,
            depends_on: &node.depends_on,
        }
    };
    network.order().into_iter().map(node).collect()
}
