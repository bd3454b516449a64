//! Parser events to raw nodes (DEF-02, DEF-03, DEF-05, DEF-12): one document, repeated keys, tags, anchors.

use std::collections::{HashMap, HashSet};

use granit_parser::{Event, Marker, Options, Parser, ScalarStyle, Tag, options};

use super::raw::{Document, RawNode, Version};
use super::scalar::{self, Quoting, Scalar, ScalarValue};
use super::stand_in::StandIns;
use super::{MAX_DEPTH, parse_error};
use crate::flownet::definition::problem::Problem;

/// What core tags start with.
const CORE: &str = "tag:yaml.org,2002:";

/// Parses one document. On failure: every repeated key up to the first syntax error, and that error.
pub(super) fn parse(text: &str) -> Result<Document, Vec<Problem>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((text, stand_ins)) = StandIns::exchange(text) else {
        return Err(vec![parse_error("too many different characters", 1, 1)]);
    };
    let mut builder = Builder::new(&stand_ins);
    for next in Parser::new_from_str_with_options(&text, dialect()) {
        let outcome = match next {
            Ok((event, span)) => builder.take(event, span.start),
            Err(error) => Err(problem_at(&stand_ins.restore(&error.info()), *error.marker())),
        };
        if let Err(problem) = outcome {
            builder.problems.push(problem);
            break;
        }
    }
    builder.finish()
}

fn dialect() -> Options {
    options! {
        strict_indentation: true,
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    }
}

fn problem_at(what: &str, at: Marker) -> Problem {
    parse_error(what, at.line(), at.col() + 1)
}

/// A collection whose members are still arriving.
struct Open {
    node: usize,
    /// The key that waits for its value, in a map.
    key: Option<usize>,
    keys: HashSet<KeyIdentity>,
    is_map: bool,
}

/// Equality of keys: the scalar with its type (DEF-05). Collections and aliases never repeat each other.
#[derive(PartialEq, Eq, Hash)]
enum KeyIdentity {
    Null,
    Bool(bool),
    Number(u64),
    Text(String),
}

impl KeyIdentity {
    fn of(scalar: &Scalar) -> Option<Self> {
        match &scalar.value {
            ScalarValue::Null => Some(Self::Null),
            ScalarValue::Bool(b) => Some(Self::Bool(*b)),
            // NaN differs from itself; -0 is 0.
            ScalarValue::Number(n) => (!n.is_nan()).then(|| Self::Number((n + 0.0).to_bits())),
            ScalarValue::Text(text) => Some(Self::Text(text.clone())),
            ScalarValue::Opaque => None,
        }
    }
}

struct Builder<'a> {
    stand_ins: &'a StandIns,
    nodes: Vec<RawNode>,
    /// Parser's anchor number to node.
    anchors: HashMap<usize, usize>,
    names: HashMap<usize, String>,
    open: Vec<Open>,
    root: Option<usize>,
    version: Version,
    documents: usize,
    problems: Vec<Problem>,
}

impl<'a> Builder<'a> {
    fn new(stand_ins: &'a StandIns) -> Self {
        Self {
            stand_ins,
            nodes: Vec::new(),
            anchors: HashMap::new(),
            names: HashMap::new(),
            open: Vec::new(),
            root: None,
            version: Version::V1_2,
            documents: 0,
            problems: Vec::new(),
        }
    }

    fn take(&mut self, event: Event<'_>, at: Marker) -> Result<(), Problem> {
        match event {
            Event::DocumentStart(_, version) => {
                self.documents += 1;
                if self.documents > 1 {
                    return Err(problem_at("only one document is allowed", at));
                }
                if version.is_some_and(|v| (v.major, v.minor) == (1, 1)) {
                    self.version = Version::V1_1;
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let scalar = self.scalar(&text, style, tag.as_deref());
                let identity = KeyIdentity::of(&scalar);
                let node = self.add(RawNode::Scalar(scalar), anchor);
                self.place(node, identity, at);
            }
            Event::SequenceStart(_, anchor, tag) => {
                let kind = if is_opaque(tag.as_deref()) {
                    RawNode::Opaque
                } else {
                    RawNode::List(Vec::new())
                };
                self.begin(kind, anchor, false, at);
            }
            Event::MappingStart(_, anchor, tag) => {
                let kind = if is_opaque(tag.as_deref()) {
                    RawNode::Opaque
                } else {
                    RawNode::Map(Vec::new())
                };
                self.begin(kind, anchor, true, at);
            }
            Event::SequenceEnd | Event::MappingEnd => {
                self.open.pop();
            }
            Event::Anchor(id, name) => {
                self.names.insert(id, self.stand_ins.restore(&name));
            }
            Event::Alias(id) => {
                let kind = match (self.anchors.get(&id), self.names.get(&id)) {
                    (Some(target), Some(name)) => RawNode::Alias(*target, name.clone()),
                    _ => RawNode::Unresolved(String::new()),
                };
                let node = self.add(kind, 0);
                self.place(node, None, at);
            }
            Event::UnresolvedAlias(name) => {
                let node = self.add(RawNode::Unresolved(self.stand_ins.restore(&name)), 0);
                self.place(node, None, at);
            }
            _ => {}
        }
        Ok(())
    }

    fn add(&mut self, kind: RawNode, anchor: usize) -> usize {
        let node = self.nodes.len();
        self.nodes.push(kind);
        if anchor != 0 {
            self.anchors.insert(anchor, node);
        }
        node
    }

    fn begin(&mut self, kind: RawNode, anchor: usize, is_map: bool, at: Marker) {
        let node = self.add(kind, anchor);
        self.place(node, None, at);
        self.open.push(Open {
            node,
            key: None,
            keys: HashSet::new(),
            is_map,
        });
    }

    /// Puts a node into the collection that is open, as element, key or value.
    fn place(&mut self, node: usize, identity: Option<KeyIdentity>, at: Marker) {
        let Some(open) = self.open.last_mut() else {
            self.root.get_or_insert(node);
            return;
        };
        if !open.is_map {
            if let RawNode::List(items) = &mut self.nodes[open.node] {
                items.push(node);
            }
        } else if let Some(key) = open.key.take() {
            if let RawNode::Map(entries) = &mut self.nodes[open.node] {
                entries.push((key, node));
            }
        } else {
            if identity.is_some_and(|identity| !open.keys.insert(identity)) {
                self.problems
                    .push(problem_at("a key must not be repeated in one mapping", at));
            }
            open.key = Some(node);
        }
    }

    fn scalar(&self, text: &str, style: ScalarStyle, tag: Option<&Tag>) -> Scalar {
        let quoting = match style {
            ScalarStyle::Plain => Quoting::Plain,
            ScalarStyle::SingleQuoted => Quoting::Single,
            _ => Quoting::Double,
        };
        // The parser shows an absent value as a plain `~`; both are null, and as keys both are the empty text.
        let source = self.stand_ins.restore(text);
        let value = match (tag, quoting) {
            (None, Quoting::Plain) => scalar::plain(&source, self.version),
            (None, _) => ScalarValue::Text(source.clone()),
            (Some(tag), _) => match core_kind(tag) {
                Some(kind) => scalar::tagged(&kind, &source, self.version),
                None => ScalarValue::Text(source.clone()),
            },
        };
        Scalar {
            value,
            source,
            quoting,
            tagged: tag.is_some(),
        }
    }

    fn finish(self) -> Result<Document, Vec<Problem>> {
        if !self.problems.is_empty() {
            return Err(self.problems);
        }
        let mut nodes = self.nodes;
        // A stream without any document is null (DEF-04).
        let root = self.root.unwrap_or_else(|| {
            nodes.push(RawNode::Scalar(Scalar {
                value: ScalarValue::Null,
                source: String::new(),
                quoting: Quoting::Plain,
                tagged: false,
            }));
            nodes.len() - 1
        });
        Ok(Document {
            nodes,
            root,
            version: self.version,
        })
    }
}

/// What follows the core prefix in a tag.
fn core_kind(tag: &Tag) -> Option<String> {
    format!("{}{}", tag.handle(), tag.suffix())
        .strip_prefix(CORE)
        .map(str::to_owned)
}

/// Whether a tag turns a collection into a value without a JSON form (DEF-12).
fn is_opaque(tag: Option<&Tag>) -> bool {
    tag.and_then(core_kind)
        .is_some_and(|kind| matches!(kind.as_str(), "set" | "omap" | "pairs"))
}
