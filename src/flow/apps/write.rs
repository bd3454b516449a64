//! What goes to kintone: one chunk of records per request, typed so that an adapter only has to serialise it.

use serde::ser::{Serialize, SerializeMap, SerializeSeq, Serializer};

use super::{AppId, CHUNK_ROWS};

/// Proof that this run may write. Only the executor of a run that is no dry run can make one, and only after its
/// static checks; an adapter cannot be asked to write without it.
#[derive(Debug)]
pub struct WritePermit(());

impl WritePermit {
    /// Made by the executor only.
    pub(in crate::flow) fn grant() -> Self {
        Self(())
    }
}

/// The value of one field in a write, by the shape kintone wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteValue {
    /// A scalar: `{"value": "x"}`.
    Text(String),
    /// Options: `{"value": ["a", "b"]}`.
    List(Vec<String>),
    /// Users, groups, organisations: `{"value": [{"code": "a"}]}`.
    Codes(Vec<String>),
}

impl WriteValue {
    /// The value as one cell, as it would read back.
    pub fn cell(&self) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::List(elements) | Self::Codes(elements) => elements.join("\n"),
        }
    }
}

impl Serialize for WriteValue {
    /// The whole field object `{"value": …}`.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        struct Code<'a>(&'a str);
        impl Serialize for Code<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut map = serializer.serialize_map(Some(1))?;
                map.serialize_entry("code", self.0)?;
                map.end()
            }
        }
        struct Codes<'a>(&'a [String]);
        impl Serialize for Codes<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let mut list = serializer.serialize_seq(Some(self.0.len()))?;
                for code in self.0 {
                    list.serialize_element(&Code(code))?;
                }
                list.end()
            }
        }
        let mut map = serializer.serialize_map(Some(1))?;
        match self {
            Self::Text(text) => map.serialize_entry("value", text)?,
            Self::List(elements) => map.serialize_entry("value", elements)?,
            Self::Codes(codes) => map.serialize_entry("value", &Codes(codes))?,
        }
        map.end()
    }
}

/// Which record a row of a chunk goes to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WriteTarget {
    /// A new record.
    New,
    /// The record with this number.
    Id(u64),
    /// The record whose unique key field has this value, or a new one (`updateKey` with `upsert`).
    Key(String),
}

/// One record of a chunk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WriteRow {
    /// Where it goes. All rows of a chunk have the same kind of target.
    pub target: WriteTarget,
    /// Values in the order of [`ColumnList`]; empty for a deletion.
    pub values: Vec<WriteValue>,
}

/// The fields that a chunk sets.
pub type ColumnList = Vec<String>;

/// One write request: at most [`CHUNK_ROWS`] records of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteChunk<'a> {
    /// `POST records`: every target is [`WriteTarget::New`].
    Insert {
        /// The app.
        app: AppId,
        /// Field codes of the values.
        fields: &'a [String],
        /// The records.
        rows: &'a [WriteRow],
    },
    /// `PUT records`: every target is [`WriteTarget::Id`].
    Update {
        /// The app.
        app: AppId,
        /// Field codes of the values.
        fields: &'a [String],
        /// The records.
        rows: &'a [WriteRow],
    },
    /// `PUT records` with `upsert: true`: every target is [`WriteTarget::Key`].
    Upsert {
        /// The app.
        app: AppId,
        /// The unique key field; it is not among `fields`.
        key: &'a str,
        /// Field codes of the values.
        fields: &'a [String],
        /// The records.
        rows: &'a [WriteRow],
    },
    /// `DELETE records`: every target is [`WriteTarget::Id`].
    Delete {
        /// The app.
        app: AppId,
        /// The records.
        rows: &'a [WriteRow],
    },
}

impl WriteChunk<'_> {
    /// The app that is written to.
    pub fn app(&self) -> AppId {
        match self {
            Self::Insert { app, .. }
            | Self::Update { app, .. }
            | Self::Upsert { app, .. }
            | Self::Delete { app, .. } => *app,
        }
    }

    /// The records of the chunk, at most [`CHUNK_ROWS`].
    pub fn rows(&self) -> &[WriteRow] {
        let rows = match self {
            Self::Insert { rows, .. }
            | Self::Update { rows, .. }
            | Self::Upsert { rows, .. }
            | Self::Delete { rows, .. } => rows,
        };
        debug_assert!(rows.len() <= CHUNK_ROWS, "the executor cuts chunks");
        rows
    }
}

/// What a write request did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Written {
    /// Records added.
    pub inserted: u64,
    /// Records changed.
    pub updated: u64,
    /// Records removed.
    pub deleted: u64,
}

impl Written {
    /// All records that the request touched.
    pub fn total(self) -> u64 {
        self.inserted + self.updated + self.deleted
    }
}

impl std::ops::AddAssign for Written {
    fn add_assign(&mut self, other: Self) {
        self.inserted += other.inserted;
        self.updated += other.updated;
        self.deleted += other.deleted;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_serialise_to_the_shapes_of_the_interface() {
        let json = |value: &WriteValue| serde_json::to_string(value).unwrap();
        assert_eq!(json(&WriteValue::Text("a\"b".into())), r#"{"value":"a\"b"}"#);
        assert_eq!(
            json(&WriteValue::List(vec!["A".into(), "B".into()])),
            r#"{"value":["A","B"]}"#
        );
        assert_eq!(
            json(&WriteValue::Codes(vec!["u1".into()])),
            r#"{"value":[{"code":"u1"}]}"#
        );
        assert_eq!(json(&WriteValue::Codes(Vec::new())), r#"{"value":[]}"#);
    }
}
