//! The table of outcomes that differ from the vectors on purpose.

use std::collections::BTreeSet;

use serde_json::Value;

/// The rules that apply to one vector file. Asking for a rule that the table does not have fails the test, and so
/// does a rule of the table that was never asked for.
pub struct Rules {
    file: &'static str,
    unasked: BTreeSet<String>,
    known: BTreeSet<String>,
}

impl Rules {
    /// Reads the table; every entry must say which decision it follows and what happens instead.
    pub fn of(file: &'static str) -> Self {
        let path = concat!(
            env!("CARGO_MANIFEST_DIR"),
            "/tests/vectors/contract-decisions.json"
        );
        let text = std::fs::read_to_string(path).unwrap_or_else(|e| panic!("{path}: {e}"));
        let table: Value = serde_json::from_str(&text).unwrap_or_else(|e| panic!("{path}: {e}"));
        let mut known = BTreeSet::new();
        for entry in table["rules"].as_array().expect("rules") {
            let field = |name: &str| {
                entry[name]
                    .as_str()
                    .filter(|text| !text.trim().is_empty())
                    .unwrap_or_else(|| panic!("{path}: an entry has no {name}"))
            };
            let (rule, _, _) = (field("rule"), field("decision"), field("outcome"));
            if field("file") == file {
                assert!(
                    known.insert(rule.to_owned()),
                    "{path}: rule {rule} of {file} stands twice"
                );
            }
        }
        Self {
            file,
            unasked: known.clone(),
            known,
        }
    }

    /// Whether the table has this rule for the file.
    pub fn apply(&mut self, rule: &str) -> bool {
        self.unasked.remove(rule);
        self.known.contains(rule)
    }

    /// Every rule of the table must have been asked for.
    pub fn finish(self) {
        assert!(
            self.unasked.is_empty(),
            "{}: no test knows the rules {:?}",
            self.file,
            self.unasked
        );
    }
}
