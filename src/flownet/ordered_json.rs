//! JSON values whose keys keep the order in which they were added: the order is part of the contract (STA-07, REC-27).

use serde::ser::{Serialize, SerializeMap, Serializer};

/// An ordered JSON value.
#[derive(Clone, PartialEq, Debug)]
pub enum Json {
    /// `null`
    Null,
    /// `true` or `false`
    Bool(bool),
    /// A whole number.
    Number(u64),
    /// Text.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// An object.
    Object(Object),
}

/// An object under construction.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Object(Vec<(&'static str, Json)>);

impl Object {
    /// An empty object.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a key at the end.
    pub fn with(mut self, key: &'static str, value: impl Into<Json>) -> Self {
        self.0.push((key, value.into()));
        self
    }

    /// Adds a key at the end, if there is a value.
    pub fn with_some(self, key: &'static str, value: Option<impl Into<Json>>) -> Self {
        match value {
            Some(value) => self.with(key, value),
            None => self,
        }
    }

    /// Keys and values in order.
    pub fn iter(&self) -> impl Iterator<Item = (&'static str, &Json)> {
        self.0.iter().map(|(key, value)| (*key, value))
    }

    /// The value of a key.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.0.iter().find(|(k, _)| *k == key).map(|(_, value)| value)
    }
}

impl Json {
    /// Without white space.
    pub fn compact(&self) -> String {
        // Writing plain values into memory cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Indented by two spaces.
    pub fn pretty(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Text, or null when it is empty.
    pub fn or_null(text: &str) -> Self {
        if text.is_empty() {
            Self::Null
        } else {
            Self::Text(text.to_owned())
        }
    }
}

impl Serialize for Json {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Null => serializer.serialize_unit(),
            Self::Bool(value) => serializer.serialize_bool(*value),
            Self::Number(value) => serializer.serialize_u64(*value),
            Self::Text(value) => serializer.serialize_str(value),
            Self::List(items) => items.serialize(serializer),
            Self::Object(object) => object.serialize(serializer),
        }
    }
}

impl Serialize for Object {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key, value)?;
        }
        map.end()
    }
}

impl From<&str> for Json {
    fn from(value: &str) -> Self {
        Self::Text(value.to_owned())
    }
}

impl From<String> for Json {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<bool> for Json {
    fn from(value: bool) -> Self {
        Self::Bool(value)
    }
}

impl From<u64> for Json {
    fn from(value: u64) -> Self {
        Self::Number(value)
    }
}

impl From<Object> for Json {
    fn from(value: Object) -> Self {
        Self::Object(value)
    }
}

impl<T: Into<Json>> From<Vec<T>> for Json {
    fn from(values: Vec<T>) -> Self {
        Self::List(values.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Json>> From<Option<T>> for Json {
    fn from(value: Option<T>) -> Self {
        value.map_or(Self::Null, Into::into)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_keep_their_order() {
        let object = Object::new()
            .with("z", 1)
            .with("a", Json::Null)
            .with_some("m", None::<&str>)
            .with("l", vec!["x"]);
        let json = Json::from(object);
        assert_eq!(json.compact(), r#"{"z":1,"a":null,"l":["x"]}"#);
        assert_eq!(
            json.pretty(),
            "{\n  \"z\": 1,\n  \"a\": null,\n  \"l\": [\n    \"x\"\n  ]\n}"
        );
    }

    impl From<i32> for Json {
        fn from(value: i32) -> Self {
            Self::Number(value.unsigned_abs().into())
        }
    }
}
