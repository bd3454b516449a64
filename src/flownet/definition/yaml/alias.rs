//! The limit on aliases (DEF-08): small documents must not describe huge values.
//!
//! For each anchor, (1 + aliases converted so far) x weight must stay within [`LIMIT`]. The weight of a scalar is 1,
//! of a collection the largest weight of its members, of an alias inside it the current product of its own anchor.
//! Aliases are visited in document order, which is the order in which values are built.

use std::collections::{BTreeSet, HashMap};

use super::raw::{Document, RawNode};
use super::{MAX_ALIASES, value_error};
use crate::flownet::definition::problem::Problem;

/// Largest product per anchor.
const LIMIT: u64 = 100;

/// Visits every alias; the first problem ends it.
pub(super) fn check(document: &Document) -> Result<(), Problem> {
    let mut anchors: HashMap<usize, Anchor> = HashMap::new();
    let mut contents: HashMap<usize, Contents> = HashMap::new();
    let mut seen = 0;
    for node in &document.nodes {
        match &node {
            RawNode::Unresolved(name) => {
                return Err(value_error(&format!(
                    "ReferenceError: Unresolved alias (the anchor must be set before the alias): {name}"
                )));
            }
            RawNode::Alias(target, _) => {
                seen += 1;
                let weight = contents
                    .entry(*target)
                    .or_insert_with(|| Contents::of(document, *target))
                    .weight(&anchors);
                let anchor = anchors.entry(*target).or_insert(Anchor { count: 1, weight: 0 });
                anchor.count += 1;
                if anchor.weight == 0 {
                    anchor.weight = weight;
                }
                if seen > MAX_ALIASES || anchor.product() > LIMIT {
                    return Err(value_error(
                        "ReferenceError: Excessive alias count indicates a resource exhaustion attack",
                    ));
                }
            }
            _ => {}
        }
    }
    Ok(())
}

/// What is known of an anchored node.
struct Anchor {
    /// 1 + aliases converted so far.
    count: u64,
    /// 0 as long as it was not found to be larger.
    weight: u64,
}

impl Anchor {
    fn product(&self) -> u64 {
        self.count.saturating_mul(self.weight)
    }
}

/// What decides the weight of a node.
struct Contents {
    scalar: bool,
    /// Targets of the aliases inside.
    targets: BTreeSet<usize>,
}

impl Contents {
    fn of(document: &Document, id: usize) -> Self {
        let mut contents = Self {
            scalar: false,
            targets: BTreeSet::new(),
        };
        let mut todo = vec![id];
        while let Some(id) = todo.pop() {
            match &document.nodes[id] {
                RawNode::Scalar(_) => contents.scalar = true,
                RawNode::List(items) => todo.extend(items),
                RawNode::Map(entries) => todo.extend(entries.iter().flat_map(|(k, v)| [k, v])),
                RawNode::Alias(target, _) => {
                    contents.targets.insert(*target);
                }
                RawNode::Opaque | RawNode::Unresolved(_) => {}
            }
        }
        contents
    }

    /// The weight at this moment.
    fn weight(&self, anchors: &HashMap<usize, Anchor>) -> u64 {
        self.targets
            .iter()
            .filter_map(|target| anchors.get(target))
            .map(Anchor::product)
            .fold(u64::from(self.scalar), u64::max)
    }
}
