//! Records that somebody else saved under our hands (D-09): harmless while our fields hold.

use serde_json::Value;

use super::Shared;
use super::change::{Apps, Change};
use super::error::CommitError;
use crate::flownet::time::{MINUTE_MS, Timestamp};
use crate::kintone::{Fields, Record, query};

impl Shared {
    /// Reads the records behind `positions` again and takes their revisions over, if nothing of ours changed.
    pub(super) fn take_over_foreign_edits(
        &self,
        changes: &mut [Change],
        positions: &[usize],
    ) -> Result<(), CommitError> {
        let mut keys = Vec::new();
        for &i in positions {
            if let Change::Update { record_key, .. } = &changes[i] {
                keys.push(record_key.clone());
            }
        }
        let Some(role) = positions.first().map(|&i| match &changes[i] {
            Change::Update { role, .. } | Change::Insert { role, .. } => *role,
        }) else {
            return Ok(());
        };
        let app = Apps {
            state: &self.state,
            audit: &self.audit,
        }
        .of(role);
        let found = self
            .store
            .records(app, &format!("{} limit 500", query::one_of("record_key", &keys)))
            .map_err(CommitError::Undecided)?;
        for &i in positions {
            if let Change::Update {
                record_key,
                revision,
                known,
                ..
            } = &mut changes[i]
            {
                let Some(record) = found.iter().find(|r| r.text("record_key") == record_key) else {
                    return Err(CommitError::Vanished {
                        record_key: record_key.clone(),
                        role,
                    });
                };
                let place = format!(
                    "{} record {} of the {role} app",
                    record.text("record_type"),
                    record.id()
                );
                if record.revision() == *revision {
                    continue;
                }
                if let Some((field, stored, expected)) = difference(known, record) {
                    let record_key = record_key.clone();
                    return Err(CommitError::Foreign {
                        record_key,
                        place,
                        field,
                        stored,
                        expected,
                    });
                }
                (self.warn)(format!(
                    "{place} was saved by somebody else; its values are unchanged, going on"
                ));
                *revision = record.revision();
            }
        }
        Ok(())
    }
}

/// The first of our fields whose stored value is another one.
pub fn difference(known: &Fields, record: &Record) -> Option<(String, String, String)> {
    known.iter().find_map(|(code, value)| {
        let expected = match value {
            Value::String(text) => text.clone(),
            Value::Null => String::new(),
            other => other.to_string(),
        };
        let stored = record.text(code);
        (!same_value(stored, &expected)).then(|| (code.to_owned(), stored.to_owned(), expected))
    })
}

/// Equal as kintone stores them: numbers by value, times by their minute (REC-06).
fn same_value(stored: &str, expected: &str) -> bool {
    if stored == expected {
        return true;
    }
    if let (Some(a), Some(b)) = (Timestamp::parse(stored), Timestamp::parse(expected)) {
        return a.0.div_euclid(MINUTE_MS) == b.0.div_euclid(MINUTE_MS);
    }
    match (stored.parse::<f64>(), expected.parse::<f64>()) {
        (Ok(a), Ok(b)) => a.total_cmp(&b).is_eq(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::same_value;

    #[test]
    fn stored_forms_are_equal_to_what_was_sent() {
        assert!(same_value("2026-08-29T10:00:00Z", "2026-08-29T10:00:59.999Z"));
        assert!(!same_value("2026-08-29T10:01:00Z", "2026-08-29T10:00:59.999Z"));
        assert!(same_value("1.50", "1.5"));
        assert!(same_value("", ""));
        assert!(!same_value("", "RUNNING"));
        assert!(!same_value("SUCCESS", "RUNNING"));
    }
}
