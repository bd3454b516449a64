//! Reads of records: one page, or all by keyset on `$id` (QRY-16), which needs no cursor and can be repeated safely.

use serde::Deserialize;
use serde_json::Value;

use super::client::{Answer, Client, decode};
use super::config::App;
use super::error::{Error, ErrorKind};
use super::field::Record;
use super::limit;
use super::query;
use super::request::Request;
use super::wording::Phrase;
use super::write::Decimal;
use crate::language;

/// One answer of `records.json`.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
pub struct Page {
    /// The records in the order of the query.
    pub records: Vec<Record>,
    /// All records that match, when asked for (KTB-44).
    #[serde(rename = "totalCount", default, deserialize_with = "total")]
    pub total: Option<u64>,
}

fn total<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Option::<Decimal>::deserialize(deserializer)?.map(|count| count.0))
}

impl Client {
    /// Reads records. `fields` empty means all fields; `total` asks for the number of matches.
    pub fn records(&self, app: &App, query: &str, fields: &[&str], total: bool) -> Result<Page, Error> {
        self.records_with(app, query, fields, total, |answer| decode(&answer.body).ok())
    }

    /// Like [`Client::records`], decoding the answer with the caller's own function in place of building a [`Page`].
    /// `None` means that the body is broken: the read is repeated.
    pub fn records_with<T>(
        &self,
        app: &App,
        query: &str,
        fields: &[&str],
        total: bool,
        decode: impl Fn(&Answer) -> Option<T>,
    ) -> Result<T, Error> {
        let request = records_request(app, query, fields, total);
        self.exchange(&request, |answer| {
            decode(&answer).ok_or(language::text(
                "the body lacks what was promised",
                "本文に必要な項目がありません",
            ))
        })
    }

    /// Like [`Client::records`], giving back the raw body; it is valid JSON.
    pub fn records_body(
        &self,
        app: &App,
        query: &str,
        fields: &[&str],
        total: bool,
    ) -> Result<Vec<u8>, Error> {
        self.send(&records_request(app, query, fields, total))
            .map(|answer| answer.body)
    }

    /// Reads every record that meets the condition, in the order of `$id`.
    pub fn all_by_id(&self, app: &App, condition: &str, fields: &[&str]) -> Result<Vec<Record>, Error> {
        let mut all = Vec::new();
        self.each_page(app, condition, fields, |mut page| {
            all.append(&mut page);
            all.len() <= limit::KEYSET_RECORDS
        })?;
        if all.len() > limit::KEYSET_RECORDS {
            let label = records_request(app, "", &[], false).label;
            let most = limit::KEYSET_RECORDS;
            let note = Phrase::new(
                format!("more than {most} records meet the condition"),
                format!("条件に合うレコードが {most} 件を超えています"),
            );
            return Err(Error::local(&label, ErrorKind::TooLarge, note));
        }
        Ok(all)
    }

    /// Hands over every page of records that meet the condition, in the order of `$id`, until `each` says false.
    pub fn each_page(
        &self,
        app: &App,
        condition: &str,
        fields: &[&str],
        mut each: impl FnMut(Vec<Record>) -> bool,
    ) -> Result<(), Error> {
        let mut fields = fields.to_vec();
        if !fields.is_empty() && !fields.contains(&"$id") {
            fields.push("$id");
        }
        let condition = query::or(&[condition]);
        let mut last = 0;
        loop {
            let text = query::and(&[condition.as_str(), &query::id_above(last)]);
            let text = format!("{text} order by $id asc limit {}", limit::READ_RECORDS);
            let request = records_request(app, &text, &fields, false);
            // Ids that do not rise would make this loop endless or the result wrong: such an answer is broken (QRY-16).
            let page = self.exchange(&request, |answer| {
                let page: Page = decode(&answer.body)?;
                let rising = page
                    .records
                    .iter()
                    .try_fold(last, |before, record| Some(record.id()).filter(|id| *id > before));
                rising.map(|id| (page.records, id)).ok_or(language::text(
                    "the record ids do not rise",
                    "レコード番号が昇順ではありません",
                ))
            });
            let (records, highest) = page?;
            let full = records.len() >= limit::READ_RECORDS;
            last = highest;
            if (!records.is_empty() && !each(records)) || !full {
                return Ok(());
            }
        }
    }

    /// The form of an app: `app/form/fields.json` (KTB-160).
    pub fn form_fields(&self, app: &App) -> Result<Value, Error> {
        self.send_json(&Request::get(
            "app/form/fields.json",
            app,
            vec![("app", Value::from(app.id))],
        ))
    }

    /// The general settings of an app: `app/settings.json`.
    pub fn app_settings(&self, app: &App) -> Result<Value, Error> {
        self.send_json(&Request::get(
            "app/settings.json",
            app,
            vec![("app", Value::from(app.id))],
        ))
    }
}

fn records_request<'a>(app: &'a App, query: &str, fields: &[&str], total: bool) -> Request<'a> {
    let mut parameters = vec![("app", Value::from(app.id)), ("query", Value::from(query))];
    if !fields.is_empty() {
        parameters.push(("fields", fields.iter().copied().collect()));
    }
    if total {
        parameters.push(("totalCount", Value::from(true)));
    }
    Request::get("records.json", app, parameters)
}
