//! bulkRequest: up to 20 writes to several apps, all or nothing: the only transaction kintone has (D-01, KTB-140).

use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use super::client::{Client, decode};
use super::config::App;
use super::error::{Error, ErrorKind};
use super::field::Fields;
use super::limit;
use super::request::Request;
use super::retry::Repeat;
use super::wording::Phrase;
use super::write::{Payload, Update};
use crate::language::text;

/// One inner request.
#[derive(Clone, Debug)]
pub enum BulkItem<'a> {
    /// Inserts a record.
    Add {
        /// Into this app.
        app: &'a App,
        /// Its fields.
        fields: Fields,
    },
    /// Inserts up to 100 records.
    AddAll {
        /// Into this app.
        app: &'a App,
        /// Their fields.
        records: Vec<Fields>,
    },
    /// Updates a record.
    Update {
        /// In this app.
        app: &'a App,
        /// Which one, and how.
        update: Update,
    },
    /// Updates up to 100 records.
    UpdateAll {
        /// In this app.
        app: &'a App,
        /// Which ones, and how.
        updates: Vec<Update>,
    },
    /// Deletes up to 100 records.
    Delete {
        /// From this app.
        app: &'a App,
        /// Their ids.
        ids: Vec<u64>,
    },
}

impl<'a> BulkItem<'a> {
    /// The app that the inner request goes to.
    pub fn app(&self) -> &'a App {
        match self {
            Self::Add { app, .. }
            | Self::AddAll { app, .. }
            | Self::Update { app, .. }
            | Self::UpdateAll { app, .. }
            | Self::Delete { app, .. } => app,
        }
    }

    fn payload(&self) -> Payload<'_> {
        let app = self.app().id;
        match self {
            Self::Add { fields, .. } => Payload::Add { app, fields },
            Self::AddAll { records, .. } => Payload::AddAll { app, records },
            Self::Update { update, .. } => Payload::Update { app, update },
            Self::UpdateAll { updates, .. } => Payload::UpdateAll {
                app,
                updates,
                upsert: false,
            },
            Self::Delete { ids, .. } => Payload::Delete {
                app,
                ids,
                revisions: None,
            },
        }
    }
}

/// The envelope: `{"requests":[{"method","api","payload"}, ...]}`.
struct Envelope<'a> {
    prefix: &'a str,
    items: &'a [BulkItem<'a>],
}

impl Serialize for Envelope<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(serde::Serialize)]
        struct Inner<'a> {
            method: &'static str,
            api: String,
            payload: Payload<'a>,
        }
        let inner = |item| {
            let payload = BulkItem::payload(item);
            let (method, path) = payload.call();
            Inner {
                method,
                api: format!("{}{path}", self.prefix),
                payload,
            }
        };
        let requests: Vec<Inner> = self.items.iter().map(inner).collect();
        let mut map = serializer.serialize_map(Some(1))?;
        map.serialize_entry("requests", &requests)?;
        map.end()
    }
}

#[derive(serde::Deserialize)]
struct BulkAnswer {
    results: Vec<Value>,
}

impl Client {
    /// Carries out all inner requests or none, in order, and gives their answers in order. On failure
    /// [`Error::bulk_index`] names the inner request that was refused. Not repeated, except after a proved refusal when
    /// [`Retry::writes`](super::Retry::writes) is set.
    pub fn bulk(&self, items: &[BulkItem]) -> Result<Vec<Value>, Error> {
        let mut apps: Vec<&App> = Vec::new();
        for item in items {
            if !apps.contains(&item.app()) {
                apps.push(item.app());
            }
        }
        let prefix = self.config().api_prefix();
        let envelope = Envelope {
            prefix: &prefix,
            items,
        };
        let request = Request::post("bulkRequest.json", &apps, &envelope)
            .charge(items.iter().map(|item| item.app().id).collect())
            .repeat(if self.config().retry.writes {
                Repeat::WhenRefused
            } else {
                Repeat::Never
            });
        let refuse = |note: Phrase| Err(Error::local(&request.label, ErrorKind::Request, note));
        if items.is_empty() || items.len() > limit::BULK_REQUESTS {
            let (count, most) = (items.len(), limit::BULK_REQUESTS);
            return refuse(Phrase::new(
                format!("{count} inner requests, kintone takes 1 to {most}"),
                format!("内側のリクエストが {count} 個です。kintone が受け付けるのは 1 から {most} 個です"),
            ));
        }
        let wrong = |item: &BulkItem| !(1..=limit::WRITE_RECORDS).contains(&item.payload().len());
        if let Some(index) = items.iter().position(wrong) {
            let most = limit::WRITE_RECORDS;
            return refuse(Phrase::new(
                format!("inner request {index} must carry 1 to {most} records"),
                format!("内側のリクエスト {index} のレコードは 1 から {most} 件でなければなりません"),
            ));
        }
        self.exchange(&request, |answer| {
            let BulkAnswer { results } = decode(&answer.body)?;
            let complete = results.len() == items.len() && results.iter().all(Value::is_object);
            complete.then_some(results).ok_or(text(
                "the body lacks answers of inner requests",
                "本文に内側のリクエストの応答がありません",
            ))
        })
    }
}
