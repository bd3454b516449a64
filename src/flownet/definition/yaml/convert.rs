//! Raw nodes to values: keys become text, equal names collapse, 1.1 merges are applied, properties get their order.

use std::collections::HashMap;

use super::key_text::key_text;
use super::raw::{Document, RawNode, Version};
use super::scalar::{Quoting, Scalar, ScalarValue};
use super::tree::{Item, NodeId, Tree};
use super::value_error;
use crate::flownet::canonical_json::array_index;
use crate::flownet::definition::problem::Problem;

/// The merge key of YAML 1.1; an ordinary key in 1.2 (DEF-09).
const MERGE: &str = "<<";

/// Most properties that merges may copy in one document: a short chain of merges could otherwise describe a huge one.
const MAX_MERGED: usize = 100_000;

/// Builds the tree. Values keep the numbers of their raw nodes; an alias is replaced by its target.
pub(super) fn to_tree(document: &Document) -> Result<Tree, Problem> {
    let mut items = Vec::with_capacity(document.nodes.len());
    let mut merged = 0;
    for node in &document.nodes {
        items.push(match &node {
            RawNode::Scalar(scalar) => match &scalar.value {
                ScalarValue::Null => Item::Null,
                ScalarValue::Bool(b) => Item::Bool(*b),
                ScalarValue::Number(n) => Item::Number(*n),
                ScalarValue::Text(text) => Item::Text(text.clone()),
                ScalarValue::Opaque => Item::Opaque,
            },
            RawNode::List(members) => Item::List(members.iter().map(|id| follow(document, *id)).collect()),
            RawNode::Map(entries) => {
                let mut properties = Properties::default();
                properties.fill(document, entries, &items)?;
                merged += properties.merged;
                if merged > MAX_MERGED {
                    return Err(value_error(&format!(
                        "merges copy more than {MAX_MERGED} properties"
                    )));
                }
                Item::Map(properties.in_order())
            }
            // Nobody refers to an alias: every reference was followed.
            RawNode::Opaque | RawNode::Alias(..) | RawNode::Unresolved(_) => Item::Opaque,
        });
    }
    Ok(Tree {
        items,
        root: follow(document, document.root),
    })
}

fn target(document: &Document, id: usize) -> usize {
    match document.nodes[id] {
        RawNode::Alias(target, _) => target,
        _ => id,
    }
}

fn follow(document: &Document, id: usize) -> NodeId {
    NodeId(target(document, id))
}

/// The properties of one map while it is built.
#[derive(Default)]
struct Properties {
    entries: Vec<(String, NodeId)>,
    places: HashMap<String, usize>,
    /// Properties looked at by merges.
    merged: usize,
}

impl Properties {
    /// `built` holds the values of all earlier nodes.
    fn fill(
        &mut self,
        document: &Document,
        entries: &[(usize, usize)],
        built: &[Item],
    ) -> Result<(), Problem> {
        for (key, value) in entries {
            if is_merge_key(document, *key) {
                for source in merge_sources(document, *value) {
                    self.merge(document, source, built)?;
                }
            } else {
                self.set(key_text(document, *key), follow(document, *value), true);
            }
        }
        Ok(())
    }

    /// A later value replaces an earlier one of the same name and keeps its place.
    fn set(&mut self, name: String, value: NodeId, replace: bool) {
        if let Some(place) = self.places.get(&name) {
            if replace {
                self.entries[*place].1 = value;
            }
        } else {
            self.places.insert(name.clone(), self.entries.len());
            self.entries.push((name, value));
        }
    }

    /// Takes over what the source has and we have not. A source by alias was built before (or is a map that
    /// would merge itself); only a map written in place is filled here, so the nesting of the text bounds the depth.
    fn merge(&mut self, document: &Document, source: usize, built: &[Item]) -> Result<(), Problem> {
        let inherited = match (&document.nodes[source], built.get(target(document, source))) {
            (_, Some(Item::Map(entries))) => entries.clone(),
            (RawNode::Map(entries), None) => {
                let mut inner = Self::default();
                inner.fill(document, entries, built)?;
                self.merged += inner.merged;
                inner.in_order()
            }
            _ => {
                return Err(value_error("Error: Merge sources must be maps or map aliases"));
            }
        };
        self.merged += inherited.len();
        for (name, value) in inherited {
            self.set(name, value, false);
        }
        Ok(())
    }

    /// Array indices ascending, then the rest as written (DEF-07).
    fn in_order(self) -> Vec<(String, NodeId)> {
        let mut entries = self.entries;
        entries.sort_by_key(|(name, _)| array_index(name).map_or(u64::MAX, u64::from));
        entries
    }
}

fn is_merge_key(document: &Document, id: usize) -> bool {
    matches!(&document.nodes[id], RawNode::Scalar(scalar) if is_merge_scalar(document.version, scalar))
}

/// Whether a scalar, as a key, asks for a merge.
pub(super) fn is_merge_scalar(version: Version, scalar: &Scalar) -> bool {
    version == Version::V1_1 && scalar.quoting == Quoting::Plain && !scalar.tagged && scalar.source == MERGE
}

/// The maps that a merge value names: one, or the members of a list.
fn merge_sources(document: &Document, value: usize) -> Vec<usize> {
    match &document.nodes[target(document, value)] {
        RawNode::List(members) => members.clone(),
        _ => vec![value],
    }
}
