//! What the audit keeps of a node's CSV files: names, hashes, sizes - never paths or cells (IO-07, REC-25).
//!
//! The text is stored in the attempt's `error_message` and read back on a resume, also by the original, which refuses
//! every text that is not exactly of one of the four forms.

use std::fmt;

use serde_json::{Map, Value};

use super::result::{InputReceipt, OutputReceipt, is_io_name, is_sha256, safe_count};
use crate::flownet::canonical_json::text_order;
use crate::flownet::key::MAX_SAFE_INTEGER;

/// Longest stored text, in UTF-16 units.
pub const MAX_SUMMARY_UNITS: usize = 10_000;
/// Hex digits of an input's hash in the audit of its use.
const SHORT_HASH: usize = 12;
/// Largest values a receipt may bring: they decide whether a baseline is accepted at all.
const MAX_ROWS: u64 = MAX_SAFE_INTEGER;
const LONGEST_ENCODING: &str = "EEEEEEEEEEEEEEEEEEEEEEEEEEEEEEEE";

const BASELINE: &str = "KSQL_FLOWNET_INPUT_BASELINE";
const INPUT_AUDIT: &str = "KSQL_FLOWNET_INPUT_AUDIT";
const OUTPUT_AUDIT: &str = "KSQL_FLOWNET_OUTPUT_AUDIT";
const IO_AUDIT: &str = "KSQL_FLOWNET_IO_AUDIT";

/// An input as it was before the start.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BaselineEntry {
    /// Source name.
    pub source: String,
    /// Lower-case hexadecimal SHA-256.
    pub sha256: String,
    /// Size in bytes.
    pub bytes: u64,
}

/// Why a summary cannot be written or was not understood.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SummaryError(String);

impl fmt::Display for SummaryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SummaryError {}

fn fault<T>(text: impl Into<String>) -> Result<T, SummaryError> {
    Err(SummaryError(text.into()))
}

/// The text stored before the start. Refused when the audit that may follow would not fit.
pub fn baseline_text(entries: &[BaselineEntry]) -> Result<String, SummaryError> {
    let entries = sorted(entries);
    check_entries(&entries)?;
    let largest: Vec<InputReceipt> = entries
        .iter()
        .map(|e| InputReceipt {
            name: e.source.clone(),
            sha256: e.sha256.clone(),
            bytes: e.bytes,
            rows: Some(MAX_ROWS),
            encoding: Some(LONGEST_ENCODING.into()),
        })
        .collect();
    input_audit(&entries, &largest)?;
    Ok(bare_baseline(&entries))
}

/// The text stored when there is nothing to say about the use of the inputs.
pub fn bare_baseline(entries: &[BaselineEntry]) -> String {
    document(BASELINE, &[("inputs", list(&sorted(entries), baseline_entry))])
}

/// The text stored after the end of a node with inputs. Every receipt has to be complete and named once.
pub fn input_audit(baseline: &[BaselineEntry], inputs: &[InputReceipt]) -> Result<String, SummaryError> {
    within_limit(
        "input",
        document(
            INPUT_AUDIT,
            &[
                ("baseline", list(&sorted(baseline), baseline_entry)),
                ("input_files", input_files(inputs)),
            ],
        ),
    )
}

/// The text stored after the end of a node with outputs.
pub fn output_audit(outputs: &[OutputReceipt]) -> Result<String, SummaryError> {
    within_limit(
        "output",
        document(OUTPUT_AUDIT, &[("output_files", list(outputs, output_file))]),
    )
}

/// The text stored after the end of a node with both.
pub fn io_audit(
    baseline: &[BaselineEntry],
    inputs: &[InputReceipt],
    outputs: &[OutputReceipt],
) -> Result<String, SummaryError> {
    within_limit(
        "input and output",
        document(
            IO_AUDIT,
            &[
                ("baseline", list(&sorted(baseline), baseline_entry)),
                ("input_files", input_files(inputs)),
                ("output_files", list(outputs, output_file)),
            ],
        ),
    )
}

/// Whether every receipt can be written so that the original reads it back: with rows and encoding, named once.
pub fn are_complete(receipts: &[InputReceipt]) -> bool {
    receipts.iter().enumerate().all(|(i, r)| {
        r.rows.is_some() && r.encoding.is_some() && receipts[..i].iter().all(|other| other.name != r.name)
    })
}

/// Compares the inputs of now with those of an earlier attempt (IO-10); the text says what differs.
pub fn check_unchanged(earlier: &[BaselineEntry], now: &[BaselineEntry]) -> Result<(), SummaryError> {
    let (earlier, now) = (sorted(earlier), sorted(now));
    let names = |list: &[BaselineEntry]| list.iter().map(|e| e.source.clone()).collect::<Vec<_>>();
    if names(&earlier) != names(&now) {
        return fault("the input names differ from those of the earlier attempt");
    }
    match earlier.iter().zip(&now).find(|(a, b)| a != b) {
        Some((entry, _)) => fault(format!(
            "input '{}' is not the file of the earlier attempt",
            entry.source
        )),
        None => Ok(()),
    }
}

/// What a person reads instead of a stored summary; `None`: it is none.
pub fn in_words(text: &str) -> Option<String> {
    let value: serde_json::Value = serde_json::from_str(text.trim()).ok()?;
    if !value.get("kind")?.as_str()?.starts_with("KSQL_FLOWNET_") {
        return None;
    }
    let files = |list: &str, name: &str, what: &str| -> Vec<String> {
        let entries = value.get(list).and_then(serde_json::Value::as_array);
        entries
            .into_iter()
            .flatten()
            .filter_map(|entry| {
                Some(format!(
                    "{what} {}, {} bytes",
                    entry.get(name)?.as_str()?,
                    entry.get("bytes")?
                ))
            })
            .collect()
    };
    // Before a run, or without use of the inputs, there is a baseline only; afterwards the same files stand in both lists.
    let inputs = ["inputs", "baseline"]
        .into_iter()
        .flat_map(|list| files(list, "source", "input"));
    let all: Vec<String> = inputs.chain(files("output_files", "sink", "output")).collect();
    Some(format!(
        "the record keeps its CSV files ({}) and no text; what the runner said is in the JOB log",
        all.join("; ")
    ))
}

/// Reads a stored text back. `None`: it is no summary with a baseline. An error: it is one, and a damaged one.
pub fn parse_baseline(text: Option<&str>) -> Result<Option<Vec<BaselineEntry>>, SummaryError> {
    let Some(text) = text.filter(|t| t.encode_utf16().count() <= MAX_SUMMARY_UNITS) else {
        return Ok(None);
    };
    let Ok(Value::Object(root)) = serde_json::from_str(text) else {
        return Ok(None);
    };
    let (word, key, others): (_, _, &[&str]) = match root.get("kind").and_then(Value::as_str) {
        Some(BASELINE) => ("baseline", "inputs", &[]),
        Some(INPUT_AUDIT) => ("audit", "baseline", &["input_files"]),
        Some(IO_AUDIT) => ("audit", "baseline", &["input_files", "output_files"]),
        _ => return Ok(None),
    };
    let known = |name: &String| {
        matches!(name.as_str(), "version" | "kind") || name == key || others.contains(&name.as_str())
    };
    if !root.keys().all(known) {
        return fault(format!("input {word} summary has unknown fields"));
    }
    let Some(items) = root.get(key).and_then(Value::as_array) else {
        return fault(format!("input {word} summary has an invalid version or {key}"));
    };
    // What became of the files is not needed here; the original, too, only asks whether it is there.
    let whole = others.iter().all(|name| root.contains_key(*name));
    if root.get("version").and_then(Value::as_f64) != Some(1.0) || !whole {
        return fault(format!("input {word} summary has an invalid version or {key}"));
    }
    let entries: Option<Vec<BaselineEntry>> = items.iter().map(read_entry).collect();
    let Some(entries) = entries else {
        return fault("input baseline accepts only source, SHA-256, and byte count");
    };
    check_entries(&entries)?;
    if !entries
        .windows(2)
        .all(|w| text_order(&w[0].source, &w[1].source).is_lt())
    {
        return fault("input baseline entries are not in canonical source order");
    }
    Ok(Some(entries))
}

fn read_entry(value: &Value) -> Option<BaselineEntry> {
    let object: &Map<String, Value> = value.as_object().filter(|o| o.len() == 3)?;
    Some(BaselineEntry {
        source: object.get("source")?.as_str()?.to_owned(),
        sha256: object.get("sha256")?.as_str()?.to_owned(),
        bytes: safe_count(object.get("bytes")?)?,
    })
}

fn sorted(entries: &[BaselineEntry]) -> Vec<BaselineEntry> {
    let mut entries = entries.to_vec();
    entries.sort_by(|a, b| text_order(&a.source, &b.source));
    entries
}

fn check_entries(entries: &[BaselineEntry]) -> Result<(), SummaryError> {
    if !entries
        .iter()
        .all(|e| is_io_name(&e.source) && is_sha256(&e.sha256))
    {
        return fault("input baseline accepts only source, SHA-256, and byte count");
    }
    let distinct = |(i, e): (usize, &BaselineEntry)| entries[..i].iter().all(|o| o.source != e.source);
    if !entries.iter().enumerate().all(distinct) {
        return fault("input baseline source names must be unique");
    }
    Ok(())
}

fn within_limit(word: &str, text: String) -> Result<String, SummaryError> {
    if text.encode_utf16().count() > MAX_SUMMARY_UNITS {
        return fault(format!(
            "{word} audit summary exceeds {MAX_SUMMARY_UNITS} characters"
        ));
    }
    Ok(text)
}

fn document(kind: &str, members: &[(&str, String)]) -> String {
    let mut text = format!("{{\"version\":1,\"kind\":\"{kind}\"");
    for (key, value) in members {
        text.extend([",\"", key, "\":", value]);
    }
    text.push('}');
    text
}

/// A JSON string with the minimal escapes.
fn json_string(text: &str) -> String {
    Value::from(text).to_string()
}

fn list<T>(items: &[T], write: impl Fn(&T) -> String) -> String {
    format!("[{}]", items.iter().map(write).collect::<Vec<_>>().join(","))
}

fn baseline_entry(entry: &BaselineEntry) -> String {
    format!(
        "{{\"source\":{},\"sha256\":\"{}\",\"bytes\":{}}}",
        json_string(&entry.source),
        entry.sha256,
        entry.bytes
    )
}

fn input_files(receipts: &[InputReceipt]) -> String {
    let mut sorted = receipts.to_vec();
    sorted.sort_by(|a, b| text_order(&a.name, &b.name));
    list(&sorted, |r| {
        format!(
            "{{\"source\":{},\"type\":\"IMPORT\",\"sha256\":\"{}\",\"bytes\":{},\"rows\":{},\"encoding\":\"{}\"}}",
            json_string(&r.name),
            r.sha256.get(..SHORT_HASH).unwrap_or(&r.sha256),
            r.bytes,
            r.rows.unwrap_or(0),
            r.encoding.as_deref().unwrap_or("")
        )
    })
}

fn output_file(receipt: &OutputReceipt) -> String {
    format!(
        "{{\"sink\":{},\"type\":\"EXPORT\",\"sha256\":\"{}\",\"bytes\":{},\"rows\":{},\"encoding\":\"{}\"}}",
        json_string(&receipt.name),
        receipt.sha256,
        receipt.bytes,
        receipt.rows,
        receipt.encoding
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn entry(source: &str) -> BaselineEntry {
        BaselineEntry {
            source: source.into(),
            sha256: "a".repeat(64),
            bytes: 1,
        }
    }

    fn many(count: usize) -> Vec<BaselineEntry> {
        (0..count).map(|i| entry(&format!("s{i:03}"))).collect()
    }

    #[test]
    fn the_largest_possible_audit_decides_whether_a_baseline_is_taken() {
        assert_eq!(baseline_text(&many(41)).map(|t| t.len()), Ok(4325));
        assert_eq!(
            baseline_text(&many(42)).expect_err("too many").to_string(),
            "input audit summary exceeds 10000 characters"
        );
    }

    #[test]
    fn a_person_reads_words_instead_of_a_summary() {
        let baseline = bare_baseline(&[entry("a")]);
        let words = in_words(&baseline).expect("a summary");
        assert!(
            words.contains("input a, 1 bytes") && !words.contains('{'),
            "{words}"
        );
        for text in ["", "SQL_ERROR", "{\"kind\":\"X\"}", "{\"a\":1}"] {
            assert_eq!(in_words(text), None);
        }
    }

    #[test]
    fn damaged_summaries_are_told_from_other_texts() {
        let parse = |text: &str| parse_baseline(Some(text)).map_err(|e| e.to_string());
        let good = bare_baseline(&[entry("a")]);
        assert_eq!(parse(&good), Ok(Some(vec![entry("a")])));
        assert_eq!(parse("m SQL_ERROR"), Ok(None));
        assert_eq!(parse("{\"kind\":\"X\"}"), Ok(None));
        assert_eq!(parse(&output_audit(&[]).expect("short")), Ok(None));
        for (text, error) in [
            (
                good.replace("}]}", "}],\"x\":1}"),
                "input baseline summary has unknown fields",
            ),
            (
                good.replace("\"version\":1", "\"version\":2"),
                "input baseline summary has an invalid version or inputs",
            ),
            (
                good.replace("\"bytes\":1", "\"bytes\":-1"),
                "input baseline accepts only source, SHA-256, and byte count",
            ),
            (
                document(
                    BASELINE,
                    &[("inputs", list(&[entry("b"), entry("a")], baseline_entry))],
                ),
                "input baseline entries are not in canonical source order",
            ),
            (
                document(
                    BASELINE,
                    &[("inputs", list(&[entry("a"), entry("a")], baseline_entry))],
                ),
                "input baseline source names must be unique",
            ),
        ] {
            assert_eq!(parse(&text), Err(error.to_owned()), "{text}");
        }
    }

    #[test]
    fn a_changed_input_is_named() {
        let mut changed = vec![entry("b"), entry("a")];
        assert_eq!(check_unchanged(&[entry("a"), entry("b")], &changed), Ok(()));
        changed[0].bytes = 2;
        let error = check_unchanged(&[entry("a"), entry("b")], &changed).expect_err("changed");
        assert!(error.to_string().contains("'b'"));
        assert!(check_unchanged(&[entry("a")], &changed).is_err());
    }

    proptest! {
        #[test]
        fn what_is_written_reads_back(names in proptest::collection::btree_set("[^:=\\p{Cc}]{1,8}", 0..20)) {
            let names: Vec<_> = names.into_iter().filter(|n| n != "__net__").collect();
            let entries: Vec<_> = names.iter().rev().map(|n| entry(n)).collect();
            if let Ok(text) = baseline_text(&entries) {
                let read = parse_baseline(Some(&text)).expect("whole").expect("baseline");
                prop_assert_eq!(&read, &sorted(&entries));
                let audit = input_audit(&entries, &[]).expect("shorter");
                prop_assert_eq!(parse_baseline(Some(&audit)).expect("whole"), Some(read));
            }
        }

        #[test]
        fn any_text_gives_an_answer(text in "\\PC{0,80}") {
            let _ = parse_baseline(Some(&text));
        }
    }
}
