//! Parser events to raw nodes (DEF-02, DEF-03, DEF-05, DEF-12): one document, repeated keys, tags, anchors.

use std::collections::{HashMap, HashSet};

use granit_parser::{
    ErrorKind, Event, Marker, Options, Parser, ScalarStyle, Span, StructureStyle, Tag, options,
};

use super::layout::Layout;
use super::raw::{Document, RawNode, Version};
use super::scalar::{self, Quoting, Scalar, ScalarValue};
use super::stand_in::StandIns;
use super::{MAX_DEPTH, convert, parse_error};
use crate::flownet::definition::problem::Problem;

/// Most repeated keys that are listed.
const MAX_REPEATED_KEYS: usize = 100;

/// What core tags start with.
const CORE: &str = "tag:yaml.org,2002:";

/// Most places where a space is put between `:` and a bracket; each costs one more reading of the text.
const MAX_ADJACENT_VALUES: usize = 200;

/// Parses one document. On failure: every repeated key up to the first syntax error, and that error.
pub(super) fn parse(text: &str) -> Result<Document, Vec<Problem>> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let Some((text, stand_ins)) = StandIns::exchange(text) else {
        return Err(vec![parse_error("too many different characters", 1, 1)]);
    };
    // `{a:[b]}` is valid YAML that the parser refuses; it takes `{a: [b]}`.
    let mut text = text.into_owned();
    for _ in 0..MAX_ADJACENT_VALUES {
        match attempt(&text, &stand_ins) {
            Attempt::Done(outcome) => return outcome,
            Attempt::AdjacentValue(at) => text.insert(at, ' '),
        }
    }
    Err(vec![parse_error(
        "too many ':' without a space before '[' or '{'",
        1,
        1,
    )])
}

enum Attempt {
    Done(Result<Document, Vec<Problem>>),
    /// Byte offset of a bracket that follows `:` immediately.
    AdjacentValue(usize),
}

fn attempt(text: &str, stand_ins: &StandIns) -> Attempt {
    let mut builder = Builder::new(stand_ins, Layout::of(text));
    for next in Parser::new_from_str_with_options(text, dialect()) {
        let outcome = match next {
            Ok((event, span)) => builder.take(event, span),
            Err(error) => {
                if *error.kind() == ErrorKind::FlowMappingValueAdjacentCollection
                    && let Some(colon) = error.marker().byte_offset()
                    && text.is_char_boundary(colon + 1)
                {
                    return Attempt::AdjacentValue(colon + 1);
                }
                Err(problem_at(&stand_ins.restore(&error.info()), *error.marker()))
            }
        };
        if let Err(problem) = outcome {
            builder.problems.push(problem);
            break;
        }
        if builder.problems.len() >= MAX_REPEATED_KEYS {
            break;
        }
    }
    Attempt::Done(builder.finish())
}

fn dialect() -> Options {
    options! {
        emit_unresolved_aliases: true,
        emit_anchor_events: true,
        emit_comments: false,
        flow_nesting_limit: MAX_DEPTH,
        block_nesting_limit: MAX_DEPTH,
    }
}

fn under_indented(what: &str, (line, column): (usize, usize)) -> Problem {
    parse_error(
        &format!("{what} in a block collection must be indented more than the collection"),
        line,
        column,
    )
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
    style: StructureStyle,
    start: Marker,
    /// Column that the lines inside must exceed, for a block collection.
    indent: usize,
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
    layout: Layout<'a>,
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
    fn new(stand_ins: &'a StandIns, layout: Layout<'a>) -> Self {
        Self {
            stand_ins,
            layout,
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

    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Problem> {
        let at = span.start;
        match event {
            Event::DocumentStart(_, version) => {
                self.documents += 1;
                if self.documents > 1 || self.layout.starts_with_end_marker() {
                    return Err(problem_at("only one document is allowed", at));
                }
                if version.is_some_and(|v| (v.major, v.minor) == (1, 1)) {
                    self.version = Version::V1_1;
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                if matches!(style, ScalarStyle::SingleQuoted | ScalarStyle::DoubleQuoted)
                    && let Some(parent) = self.block_indent()
                    && let Some(fault) = self.layout.quoted_fault(at, span.end, parent)
                {
                    return Err(under_indented("a quoted text", fault));
                }
                // An absent value has no place in the text; the parser shows it as `~`.
                let absent = style == ScalarStyle::Plain && span.is_empty();
                let text = if absent { "" } else { text.as_ref() };
                let scalar = self.scalar(text, style, tag.as_deref());
                // 1.1 allows several merges in one map.
                let identity =
                    KeyIdentity::of(&scalar).filter(|_| !convert::is_merge_scalar(self.version, &scalar));
                let node = self.add(RawNode::Scalar(scalar), anchor);
                self.place(node, identity, at);
            }
            Event::SequenceStart(style, anchor, tag) => {
                let kind = if has_core_tag(tag.as_deref(), &["omap", "pairs"]) {
                    RawNode::Opaque
                } else {
                    RawNode::List(Vec::new())
                };
                self.begin(kind, anchor, false, style, at)?;
            }
            Event::MappingStart(style, anchor, tag) => {
                let kind = if has_core_tag(tag.as_deref(), &["set"]) {
                    RawNode::Opaque
                } else {
                    RawNode::Map(Vec::new())
                };
                self.begin(kind, anchor, true, style, at)?;
            }
            Event::SequenceEnd | Event::MappingEnd => self.end(at)?,
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

    fn begin(
        &mut self,
        kind: RawNode,
        anchor: usize,
        is_map: bool,
        style: StructureStyle,
        at: Marker,
    ) -> Result<(), Problem> {
        if style == StructureStyle::Block && self.layout.is_tab_indented(at) {
            return Err(problem_at("tabs must not be used as indentation", at));
        }
        let indent = self.open.last().map_or(at.col(), |parent| {
            let is_block_sequence = style == StructureStyle::Block && !is_map;
            if is_block_sequence && self.layout.is_indentless(at, parent.indent) {
                parent.indent
            } else {
                at.col()
            }
        });
        let node = self.add(kind, anchor);
        self.place(node, None, at);
        self.open.push(Open {
            node,
            key: None,
            keys: HashSet::new(),
            is_map,
            style,
            start: at,
            indent,
        });
        Ok(())
    }

    fn end(&mut self, at: Marker) -> Result<(), Problem> {
        let Some(closed) = self.open.pop() else {
            return Ok(());
        };
        let is_outermost_flow = closed.style == StructureStyle::Flow
            && self
                .open
                .last()
                .is_some_and(|open| open.style == StructureStyle::Block);
        if is_outermost_flow
            && let Some(parent) = self.block_indent()
            && let Some(fault) = self.layout.flow_fault(closed.start, at, parent)
        {
            return Err(under_indented("a flow collection", fault));
        }
        Ok(())
    }

    /// Column of the innermost open block collection.
    fn block_indent(&self) -> Option<usize> {
        self.open
            .iter()
            .rev()
            .find(|open| open.style == StructureStyle::Block)
            .map(|open| open.indent)
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

/// Whether a tag is one of these core tags, which turn a collection into a value without a JSON form (DEF-12).
fn has_core_tag(tag: Option<&Tag>, kinds: &[&str]) -> bool {
    tag.and_then(core_kind)
        .is_some_and(|kind| kinds.contains(&kind.as_str()))
}
