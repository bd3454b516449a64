//! What the execution result says about files (RNR-117): names, hashes and sizes, never paths.

use serde::{Serialize, Serializer};

use super::Encoding;

/// One used import source. Serialises to the members of `input_files[]`.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize)]
pub struct InputReceipt {
    /// The name the SQL uses.
    pub name: String,
    /// 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Records, once the file was decoded (RNR-131).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rows: Option<u64>,
    /// Encoding, once the file was decoded (RNR-131).
    #[serde(skip_serializing_if = "Option::is_none", serialize_with = "upper")]
    pub encoding: Option<Encoding>,
}

/// One completed export. Serialises to the members of `output_files[]`.
#[derive(Clone, PartialEq, Eq, Debug, Serialize)]
pub struct OutputReceipt {
    /// The name of the sink.
    pub name: String,
    /// 64 lower-case hexadecimal digits.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
    /// Records after the header.
    pub rows: u64,
    /// Encoding of the file.
    #[serde(serialize_with = "lower")]
    pub encoding: Encoding,
}

/// Sorts receipts by name and merges equal ones (RNR-131).
pub fn merge(mut receipts: Vec<InputReceipt>) -> Vec<InputReceipt> {
    receipts.sort();
    receipts.dedup();
    receipts
}

// The signature is serde's.
#[allow(clippy::ref_option, clippy::trivially_copy_pass_by_ref)]
fn upper<S: Serializer>(encoding: &Option<Encoding>, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(encoding.map_or("", Encoding::upper_name))
}

// The signature is serde's.
#[allow(clippy::trivially_copy_pass_by_ref)]
fn lower<S: Serializer>(encoding: &Encoding, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(encoding.lower_name())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receipt(name: &str, rows: Option<u64>) -> InputReceipt {
        InputReceipt {
            name: name.into(),
            sha256: "00".into(),
            bytes: 3,
            rows,
            encoding: rows.map(|_| Encoding::ShiftJis),
        }
    }

    #[test]
    fn members_appear_only_after_decoding() {
        let json = |r: &InputReceipt| serde_json::to_string(r).unwrap();
        assert_eq!(
            json(&receipt("a", None)),
            r#"{"name":"a","sha256":"00","bytes":3}"#
        );
        assert_eq!(
            json(&receipt("a", Some(2))),
            r#"{"name":"a","sha256":"00","bytes":3,"rows":2,"encoding":"SJIS"}"#
        );
        let output = OutputReceipt {
            name: "s".into(),
            sha256: "00".into(),
            bytes: 3,
            rows: 0,
            encoding: Encoding::Utf8,
        };
        assert_eq!(
            serde_json::to_string(&output).unwrap(),
            r#"{"name":"s","sha256":"00","bytes":3,"rows":0,"encoding":"utf8"}"#
        );
    }

    #[test]
    fn equal_receipts_are_merged_in_name_order() {
        let merged = merge(vec![
            receipt("b", None),
            receipt("a", Some(1)),
            receipt("b", None),
        ]);
        let names: Vec<_> = merged.iter().map(|r| r.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
    }
}
