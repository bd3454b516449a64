//! Keys that are not text become text (DEF-06): `5` is `5`, nothing is the empty text, `[a]` is `[ a ]`.

use super::raw::{Document, RawNode};
use super::scalar::{Quoting, Scalar, ScalarValue};
use crate::flownet::canonical_json::number_text;

/// The property name that a key node stands for.
pub(super) fn key_text(document: &Document, id: usize) -> String {
    match &document.nodes[id] {
        RawNode::Scalar(scalar) => scalar_key(scalar),
        RawNode::Alias(target, _) => match &document.nodes[*target] {
            RawNode::Scalar(scalar) => scalar_key(scalar),
            _ => flow(document, id),
        },
        _ => flow(document, id),
    }
}

fn scalar_key(scalar: &Scalar) -> String {
    match &scalar.value {
        ScalarValue::Null => String::new(),
        ScalarValue::Bool(b) => b.to_string(),
        ScalarValue::Number(n) if n.is_nan() => "NaN".to_owned(),
        ScalarValue::Number(n) if n.is_infinite() => {
            if *n > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
        }
        ScalarValue::Number(n) => number_text(*n),
        ScalarValue::Text(text) => text.clone(),
        ScalarValue::Opaque => scalar.source.clone(),
    }
}

/// The flow form of a node. Depth is bounded by the parser, and aliases are not followed.
fn flow(document: &Document, id: usize) -> String {
    let node = &document.nodes[id];
    match &node {
        RawNode::Scalar(scalar) => match scalar.quoting {
            Quoting::Plain => scalar.source.clone(),
            Quoting::Single => format!("'{}'", scalar.source.replace('\'', "''")),
            Quoting::Double => format!("\"{}\"", scalar.source.replace('\\', "\\\\").replace('"', "\\\"")),
        },
        RawNode::List(items) if items.is_empty() => "[]".to_owned(),
        RawNode::List(items) => {
            let items: Vec<String> = items.iter().map(|id| flow(document, *id)).collect();
            format!("[ {} ]", items.join(", "))
        }
        RawNode::Map(entries) if entries.is_empty() => "{}".to_owned(),
        RawNode::Map(entries) => {
            let entries: Vec<String> = entries
                .iter()
                .map(|(k, v)| {
                    let (key, value) = (flow(document, *k), flow(document, *v));
                    if value.is_empty() {
                        key
                    } else {
                        format!("{key}: {value}")
                    }
                })
                .collect();
            format!("{{ {} }}", entries.join(", "))
        }
        RawNode::Alias(_, name) | RawNode::Unresolved(name) => format!("*{name}"),
        RawNode::Opaque => String::new(),
    }
}
