//! The values of a document after types, aliases and merges are settled.
//!
//! An arena of values that refer to each other by number: an alias costs one number, however large its target is,
//! and a value that contains itself needs no special care.

/// The number of a value in its [`Tree`].
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct NodeId(pub(super) usize);

/// One value.
#[derive(Clone, PartialEq, Debug)]
pub enum Item {
    /// `null`, `~` or nothing.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// Any number: an IEEE double (DEF-11).
    Number(f64),
    /// Text.
    Text(String),
    /// A value of a tag that has no JSON form (`!!set`, `!!omap`, `!!binary`, `!!timestamp`): never text, number,
    /// list or map (DEF-12).
    Opaque,
    /// A sequence.
    List(Vec<NodeId>),
    /// A mapping in property order (DEF-07), keys as text (DEF-06).
    Map(Vec<(String, NodeId)>),
}

/// A whole document.
#[derive(Clone, Debug)]
pub struct Tree {
    pub(super) items: Vec<Item>,
    pub(super) root: NodeId,
}

impl Tree {
    /// The top value.
    pub fn root(&self) -> NodeId {
        self.root
    }

    /// The value with this number.
    pub fn get(&self, id: NodeId) -> &Item {
        &self.items[id.0]
    }

    /// The value of a property of a map; `None` for anything else.
    pub fn property(&self, id: NodeId, name: &str) -> Option<NodeId> {
        match self.get(id) {
            Item::Map(entries) => entries.iter().find(|(key, _)| key == name).map(|e| e.1),
            _ => None,
        }
    }
}
