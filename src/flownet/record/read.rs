//! Checked reading of stored records: a damaged field names itself instead of becoming a default (REC-05).

use std::fmt;

use crate::kintone::Record;

/// The app of a record type, by its role (contract 30, 3 and 4).
pub fn app_of(record_type: &str) -> &'static str {
    match record_type {
        super::run::RECORD_TYPE
        | super::node_state::RECORD_TYPE
        | super::lock::RECORD_TYPE
        | super::hold::RECORD_TYPE => "state",
        _ => "audit",
    }
}

/// A stored record that cannot be understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct DecodeError {
    /// Record type, e.g. `NODE_STATE`.
    pub record_type: &'static str,
    /// kintone's record number.
    pub record_id: u64,
    /// Field code.
    pub field: &'static str,
    /// What is wrong with the value (the value itself is not repeated).
    pub problem: &'static str,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} record {} of the {} app is damaged: field {} {}",
            self.record_type,
            self.record_id,
            app_of(self.record_type),
            self.field,
            self.problem
        )
    }
}

impl std::error::Error for DecodeError {}

/// One stored record seen as a given record type.
pub struct Reader<'a> {
    record: &'a Record,
    record_type: &'static str,
}

impl<'a> Reader<'a> {
    /// Looks at `record` as a `record_type`.
    pub fn new(record: &'a Record, record_type: &'static str) -> Self {
        Self { record, record_type }
    }

    /// The error for `field`.
    pub fn broken(&self, field: &'static str, problem: &'static str) -> DecodeError {
        DecodeError {
            record_type: self.record_type,
            record_id: self.record.id(),
            field,
            problem,
        }
    }

    /// Text; missing and null read as empty.
    pub fn text(&self, field: &'static str) -> String {
        self.record.text(field).to_owned()
    }

    /// Text that a record of this type always has.
    pub fn required(&self, field: &'static str) -> Result<String, DecodeError> {
        match self.record.text(field) {
            "" => Err(self.broken(field, "is empty")),
            text => Ok(text.to_owned()),
        }
    }

    /// A whole number of at least 0 that a record of this type always has.
    pub fn count(&self, field: &'static str) -> Result<u64, DecodeError> {
        whole(self.record.text(field)).ok_or_else(|| self.broken(field, "is not a whole number"))
    }

    /// A whole number, or nothing.
    pub fn opt_count(&self, field: &'static str) -> Result<Option<u64>, DecodeError> {
        match self.record.text(field) {
            "" => Ok(None),
            text => whole(text)
                .map(Some)
                .ok_or_else(|| self.broken(field, "is not a whole number")),
        }
    }

    /// A drop-down value.
    pub fn option<T>(&self, field: &'static str, parse: fn(&str) -> Option<T>) -> Result<T, DecodeError> {
        parse(self.record.text(field)).ok_or_else(|| self.broken(field, "has an unknown value"))
    }

    /// A JSON list of texts; empty text is the empty list.
    pub fn list(&self, field: &'static str) -> Result<Vec<String>, DecodeError> {
        match self.record.text(field) {
            "" => Ok(Vec::new()),
            text => serde_json::from_str(text).map_err(|_| self.broken(field, "is not a JSON list of texts")),
        }
    }

    /// `true` only for the exact text `true`.
    pub fn flag(&self, field: &'static str) -> bool {
        self.record.text(field) == "true"
    }
}

/// Reads a stored NUMBER as a whole number; kintone may write `3` as `3` or `3.0`.
fn whole(text: &str) -> Option<u64> {
    let digits = match text.split_once('.') {
        Some((whole, zeros)) if zeros.bytes().all(|b| b == b'0') => whole,
        Some(_) => return None,
        None => text,
    };
    digits.parse().ok()
}

/// A compact JSON list, as node ids are stored (REC-04).
pub fn list_text(ids: &[String]) -> String {
    serde_json::Value::from(ids.to_vec()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stored_numbers_are_whole() {
        assert_eq!(whole("12"), Some(12));
        assert_eq!(whole("12.0"), Some(12));
        assert_eq!(whole("12.5"), None);
        assert_eq!(whole("-1"), None);
        assert_eq!(whole(""), None);
    }

    #[test]
    fn lists_are_compact() {
        assert_eq!(list_text(&["a".into(), "b\"".into()]), r#"["a","b\""]"#);
        assert_eq!(list_text(&[]), "[]");
    }
}
