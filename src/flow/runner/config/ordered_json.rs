//! JSON with the order of its keys kept and repeated keys refused.
//!
//! Order matters in a configuration (of two names with one app id the later one's tokens count, RNR-30), and a
//! repeated key silently dropped would be a setting that has no effect.

use std::fmt;

use serde::de::{self, Deserialize, Deserializer, MapAccess, SeqAccess, Visitor};

/// A JSON value whose objects remember the order of their keys.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A number
    Number(serde_json::Number),
    /// A string
    Text(String),
    /// An array
    List(Vec<Node>),
    /// An object
    Object(Vec<(String, Node)>),
}

impl Node {
    /// The member of an object; `None` when it is missing or this is no object.
    pub fn get(&self, key: &str) -> Option<&Self> {
        match self {
            Self::Object(members) => members
                .iter()
                .find(|(name, _)| name == key)
                .map(|(_, value)| value),
            _ => None,
        }
    }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NodeVisitor)
    }
}

struct NodeVisitor;

impl<'de> Visitor<'de> for NodeVisitor {
    type Value = Node;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Node, E> {
        Ok(Node::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Node, E> {
        Ok(Node::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Node, E> {
        Ok(Node::Number(value.into()))
    }

    fn visit_f64<E: de::Error>(self, value: f64) -> Result<Node, E> {
        serde_json::Number::from_f64(value)
            .map(Node::Number)
            .ok_or_else(|| E::custom("a number is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Node, E> {
        Ok(Node::Text(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Node, A::Error> {
        let mut items = Vec::new();
        while let Some(item) = list.next_element()? {
            items.push(item);
        }
        Ok(Node::List(items))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Node, A::Error> {
        let mut members: Vec<(String, Node)> = Vec::new();
        while let Some((key, value)) = map.next_entry::<String, Node>()? {
            if members.iter().any(|(name, _)| *name == key) {
                return Err(de::Error::custom(format!(
                    "the key {key:?} stands twice in one object"
                )));
            }
            members.push((key, value));
        }
        Ok(Node::Object(members))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_is_kept_and_repeated_keys_are_refused() {
        let node: Node = serde_json::from_str(r#"{"b":1,"a":[null,true,"x",1.5]}"#).expect("parses");
        let Node::Object(members) = &node else {
            panic!("{node:?}")
        };
        assert_eq!(
            members.iter().map(|(key, _)| key.as_str()).collect::<Vec<_>>(),
            ["b", "a"]
        );
        assert_eq!(node.get("b"), Some(&Node::Number(1.into())));
        let error = serde_json::from_str::<Node>(r#"{"a":1,"a":2}"#).expect_err("refused");
        assert!(
            error.to_string().starts_with("the key \"a\" stands twice"),
            "{error}"
        );
    }
}
