//! Records of the log app: what is sent, to which fields, and what is read back (RNR-60..63).

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use super::log_fields::{LOG_FIELDS, Presence};
use crate::kintone::{self, App, Client, Fields, Record, Target, query};

/// UTF-16 units of `log_detail` that are stored whole (RNR-62).
const DETAIL_UNITS: usize = 55_100;
/// Units kept from the start and from the end of a longer one.
const DETAIL_HEAD: usize = 40_000;
const DETAIL_TAIL: usize = 15_000;

/// Field values by code; all are sent as text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LogRecord(BTreeMap<String, String>);

impl LogRecord {
    /// No values yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets a value.
    pub fn set(&mut self, code: &str, value: impl Into<String>) -> &mut Self {
        self.0.insert(code.to_owned(), value.into());
        self
    }

    /// Sets a value to a number, written as text.
    pub fn set_number(&mut self, code: &str, value: u64) -> &mut Self {
        self.set(code, value.to_string())
    }

    /// The value of a field.
    pub fn get(&self, code: &str) -> Option<&str> {
        self.0.get(code).map(String::as_str)
    }
}

/// The log app of a profile.
pub struct LogApp {
    client: Client,
    app: App,
    codes: BTreeSet<String>,
    cancelled_is_an_option: bool,
}

/// Who holds a lock, as its record says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Holder {
    /// Record id.
    pub record_id: u64,
    /// Revision.
    pub revision: u64,
    /// Value of `job_key`.
    pub job_key: String,
    /// Value of `status`.
    pub status: String,
    /// Session id.
    pub batch_id: String,
    /// Start as stored.
    pub started_at: String,
    /// Host label.
    pub host: String,
    /// Job file, or folder of a batch.
    pub script_name: String,
    /// Value of `log_detail`.
    pub log_detail: String,
}

impl Holder {
    const FIELDS: [&'static str; 9] = [
        "$id",
        "$revision",
        "job_key",
        "status",
        "batch_id",
        "started_at",
        "host",
        "script_name",
        "log_detail",
    ];

    fn of(record: &Record) -> Self {
        Self {
            record_id: record.id(),
            revision: record.revision(),
            job_key: record.text("job_key").to_owned(),
            status: record.text("status").to_owned(),
            batch_id: record.text("batch_id").to_owned(),
            started_at: record.text("started_at").to_owned(),
            host: record.text("host").to_owned(),
            script_name: record.text("script_name").to_owned(),
            log_detail: record.text("log_detail").to_owned(),
        }
    }
}

impl LogApp {
    /// The log app with its field list, which is read once (RNR-61). When the list cannot be read, the classic fields
    /// are assumed: the error is handed back for the caller to judge.
    pub fn open(client: Client, app: App) -> (Self, Option<kintone::Error>) {
        match client.form_fields(&app) {
            Ok(form) => {
                let properties = form.get("properties").and_then(serde_json::Value::as_object);
                let codes = properties
                    .map(|map| map.keys().cloned().collect())
                    .unwrap_or_default();
                let cancelled_is_an_option = form.pointer("/properties/status/options/CANCELLED").is_some();
                (
                    Self {
                        client,
                        app,
                        codes,
                        cancelled_is_an_option,
                    },
                    None,
                )
            }
            Err(error) => {
                let classic = LOG_FIELDS
                    .iter()
                    .filter(|field| field.presence == Presence::Required);
                let codes = classic.map(|field| field.code.to_owned()).collect();
                (
                    Self {
                        client,
                        app,
                        codes,
                        cancelled_is_an_option: false,
                    },
                    Some(error),
                )
            }
        }
    }

    /// Codes that an orchestrated run needs and this app lacks.
    pub fn missing_for_orchestration(&self) -> Vec<&'static str> {
        LOG_FIELDS
            .iter()
            .filter(|field| field.presence != Presence::Optional && !self.codes.contains(field.code))
            .map(|field| field.code)
            .collect()
    }

    /// Adds a record.
    ///
    /// # Errors
    /// As the client reports; the POST is not repeated when it may have been applied.
    pub fn insert(&self, record: &LogRecord) -> Result<kintone::Added, kintone::Error> {
        self.client.add(&self.app, &self.fields(record))
    }

    /// Changes a record, only at the given revision if there is one.
    ///
    /// # Errors
    /// As the client reports.
    pub fn update(&self, id: u64, revision: Option<u64>, record: &LogRecord) -> Result<u64, kintone::Error> {
        self.client
            .update(&self.app, &Target::Id(id), revision, &self.fields(record))
    }

    /// The record that holds a lock.
    ///
    /// # Errors
    /// As the client reports.
    pub fn holder(&self, job_key: &str) -> Result<Option<Holder>, kintone::Error> {
        let condition = format!("{} limit 1", query::equals("job_key", job_key));
        self.first(&condition)
    }

    /// A record by its id, as a lock holder.
    ///
    /// # Errors
    /// As the client reports.
    pub fn holder_by_id(&self, id: u64) -> Result<Option<Holder>, kintone::Error> {
        self.first(&format!("$id = {id} limit 1"))
    }

    fn first(&self, condition: &str) -> Result<Option<Holder>, kintone::Error> {
        Ok(self.holders(condition)?.into_iter().next())
    }

    /// Records for a condition, as lock holders.
    ///
    /// # Errors
    /// As the client reports.
    pub fn holders(&self, condition: &str) -> Result<Vec<Holder>, kintone::Error> {
        Ok(self
            .find(condition, &Holder::FIELDS)?
            .iter()
            .map(Holder::of)
            .collect())
    }

    /// Revision and start mark of a record (RNR-76).
    ///
    /// # Errors
    /// As the client reports.
    pub fn start_mark(&self, id: u64) -> Result<(u64, Option<String>), kintone::Error> {
        const FIELD: &str = "runner_execution_started_at";
        let records = self.find(&format!("$id = {id} limit 1"), &["$id", "$revision", FIELD])?;
        Ok(records.first().map_or((0, None), |record| {
            (record.revision(), record.opt_text(FIELD).map(str::to_owned))
        }))
    }

    /// Records for a condition, with the fields asked for.
    ///
    /// # Errors
    /// As the client reports.
    pub fn find(&self, condition: &str, fields: &[&str]) -> Result<Vec<Record>, kintone::Error> {
        self.client
            .records(&self.app, condition, fields, false)
            .map(|page| page.records)
    }

    /// Only what the app has is sent; values that it could not take are turned into what it can.
    fn fields(&self, record: &LogRecord) -> Fields {
        let mut fields = Fields::new();
        for (code, value) in record.0.iter().filter(|(code, _)| self.codes.contains(*code)) {
            let cancelled = code == "status" && value == "CANCELLED" && !self.cancelled_is_an_option;
            fields = fields.text(code, if cancelled { "FAILED" } else { value });
        }
        fields
    }
}

/// `log_detail` as it is stored: whole, or its start and end with a line between that tells what is missing (RNR-62).
pub fn abridge(detail: &str) -> String {
    let units = detail.encode_utf16().count();
    if units <= DETAIL_UNITS {
        return detail.to_owned();
    }
    let head = prefix(detail, DETAIL_HEAD);
    let tail = suffix(detail, DETAIL_TAIL);
    let left_out = units - head.encode_utf16().count() - tail.encode_utf16().count();
    format!("{head}\n... {left_out} characters left out; the JSONL file has them ...\n{tail}")
}

/// The longest start of at most `units` UTF-16 units that splits no character.
fn prefix(text: &str, units: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices() {
        used += c.len_utf16();
        if used > units {
            return &text[..at];
        }
    }
    text
}

/// The longest end of at most `units` UTF-16 units that splits no character.
fn suffix(text: &str, units: usize) -> &str {
    let mut used = 0;
    for (at, c) in text.char_indices().rev() {
        used += c.len_utf16();
        if used > units {
            return &text[at + c.len_utf8()..];
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn long_details_keep_both_ends() {
        let text = format!("START{}END", "😀".repeat(40_000));
        let stored = abridge(&text);
        assert!(stored.starts_with("START") && stored.ends_with("END"));
        assert!(stored.encode_utf16().count() <= DETAIL_UNITS);
        assert!(stored.contains("characters left out"));
        assert_eq!(abridge("short"), "short");
    }

    proptest! {
        #[test]
        fn cuts_never_split_a_character(text in "[a😀あ]{0,30}", units in 0_usize..40) {
            let (head, tail) = (prefix(&text, units), suffix(&text, units));
            prop_assert!(head.encode_utf16().count() <= units && tail.encode_utf16().count() <= units);
            prop_assert!(text.starts_with(head) && text.ends_with(tail));
        }
    }
}
