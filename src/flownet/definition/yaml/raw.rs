//! The document as written: nodes in document order, aliases not yet followed.

use super::scalar::Scalar;

/// YAML rules that a document asked for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Version {
    /// `%YAML 1.1`.
    V1_1,
    /// Everything else.
    V1_2,
}

/// One node.
#[derive(Debug)]
pub(super) enum RawNode {
    Scalar(Scalar),
    /// A collection whose tag makes it a value without a JSON form; its members are still converted.
    Opaque,
    List(Vec<usize>),
    Map(Vec<(usize, usize)>),
    /// An alias, its target and its name.
    Alias(usize, String),
    /// An alias without an earlier anchor.
    Unresolved(String),
}

/// A parsed document. Node numbers grow in document order: a collection comes before its members.
#[derive(Debug)]
pub(super) struct Document {
    pub nodes: Vec<RawNode>,
    pub root: usize,
    pub version: Version,
}
