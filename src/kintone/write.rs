//! Writes of records, each one request and so all or nothing (KTB-83). They are sent once; with
//! [`Retry::writes`](super::Retry::writes) those that bear it are repeated (RNR-120).

use serde::de::{Deserialize, DeserializeOwned, Deserializer, Error as _};
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
use crate::language::text;

/// An id or count: a string of digits in answers, sometimes a number (KTB-02).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Decimal(pub u64);

impl<'de> Deserialize<'de> for Decimal {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let number = match Value::deserialize(deserializer)? {
            Value::String(text) => text.parse().ok(),
            Value::Number(number) => number.as_u64(),
            _ => None,
        };
        number
            .map(Decimal)
            .ok_or_else(|| D::Error::custom("not a whole number"))
    }
}

/// A record that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Added {
    /// Record id.
    pub id: u64,
    /// Its first revision.
    pub revision: u64,
}

/// Which record an update means.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// By record id.
    Id(u64),
    /// By the value of a unique field (KTB-133).
    Key {
        /// Field code.
        field: String,
        /// Value, not empty.
        value: String,
    },
}

impl Target {
    /// By the value of a unique field.
    pub fn key(field: impl Into<String>, value: impl Into<String>) -> Self {
        Self::Key {
            field: field.into(),
            value: value.into(),
        }
    }
}

/// One change of a record.
#[derive(Clone, Debug, PartialEq)]
pub struct Update {
    /// Which record.
    pub target: Target,
    /// The revision it must have; `None` sends no check (KTB-130).
    pub revision: Option<u64>,
    /// The fields to set.
    pub fields: Fields,
}

/// One record of an upsert's answer (KTB-136).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Upserted {
    /// Record id.
    pub id: u64,
    /// Its revision now.
    pub revision: u64,
    /// Whether it was made.
    pub inserted: bool,
}

impl Update {
    /// Writes `id` or `updateKey`, `revision` and `record` into an object.
    fn entries<M: SerializeMap>(&self, map: &mut M) -> Result<(), M::Error> {
        #[derive(serde::Serialize)]
        struct Key<'a> {
            field: &'a str,
            value: &'a str,
        }
        match &self.target {
            Target::Id(id) => map.serialize_entry("id", id)?,
            Target::Key { field, value } => map.serialize_entry("updateKey", &Key { field, value })?,
        }
        if let Some(revision) = self.revision {
            map.serialize_entry("revision", &revision)?;
        }
        map.serialize_entry("record", &self.fields)
    }
}

impl Serialize for Update {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        self.entries(&mut map)?;
        map.end()
    }
}

/// The JSON parameters of the write calls, alone and inside a bulkRequest.
pub(super) enum Payload<'a> {
    Add {
        app: u64,
        fields: &'a Fields,
    },
    AddAll {
        app: u64,
        records: &'a [Fields],
    },
    Update {
        app: u64,
        update: &'a Update,
    },
    UpdateAll {
        app: u64,
        updates: &'a [Update],
        upsert: bool,
    },
    Delete {
        app: u64,
        ids: &'a [u64],
        revisions: Option<&'a [u64]>,
    },
}

impl Serialize for Payload<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        match self {
            Self::Add { app, fields } => {
                map.serialize_entry("app", app)?;
                map.serialize_entry("record", fields)?;
            }
            Self::AddAll { app, records } => {
                map.serialize_entry("app", app)?;
                map.serialize_entry("records", records)?;
            }
            Self::Update { app, update } => {
                map.serialize_entry("app", app)?;
                update.entries(&mut map)?;
            }
            Self::UpdateAll { app, updates, upsert } => {
                map.serialize_entry("app", app)?;
                if *upsert {
                    map.serialize_entry("upsert", &true)?;
                }
                map.serialize_entry("records", updates)?;
            }
            Self::Delete { app, ids, revisions } => {
                map.serialize_entry("app", app)?;
                map.serialize_entry("ids", ids)?;
                if let Some(revisions) = revisions {
                    map.serialize_entry("revisions", revisions)?;
                }
            }
        }
        map.end()
    }
}

impl Payload<'_> {
    /// Method and path of the call.
    pub fn call(&self) -> (&'static str, &'static str) {
        match self {
            Self::Add { .. } => ("POST", "record.json"),
            Self::AddAll { .. } => ("POST", "records.json"),
            Self::Update { .. } => ("PUT", "record.json"),
            Self::UpdateAll { .. } => ("PUT", "records.json"),
            Self::Delete { .. } => ("DELETE", "records.json"),
        }
    }

    /// Records carried.
    pub fn len(&self) -> usize {
        match self {
            Self::Add { .. } | Self::Update { .. } => 1,
            Self::AddAll { records, .. } => records.len(),
            Self::UpdateAll { updates, .. } => updates.len(),
            Self::Delete { ids, .. } => ids.len(),
        }
    }

    /// A revision check makes a repeated update ambiguous; a plain insert makes a second record.
    fn repeat(&self) -> Repeat {
        let checked = match self {
            Self::Add { .. } | Self::AddAll { .. } => true,
            Self::Update { update, .. } => update.revision.is_some(),
            Self::UpdateAll { updates, .. } => updates.iter().any(|update| update.revision.is_some()),
            Self::Delete { revisions, .. } => revisions.is_some(),
        };
        if checked {
            Repeat::WhenRefused
        } else {
            Repeat::Idempotent
        }
    }
}

#[derive(serde::Deserialize)]
struct AddAnswer {
    id: Decimal,
    revision: Decimal,
}

#[derive(serde::Deserialize)]
struct AddAllAnswer {
    ids: Vec<Decimal>,
    revisions: Vec<Decimal>,
}

#[derive(serde::Deserialize)]
struct UpdateAnswer {
    revision: Decimal,
}

#[derive(serde::Deserialize)]
struct UpdateAllAnswer {
    records: Vec<UpdateAllEntry>,
}

#[derive(serde::Deserialize)]
struct UpdateAllEntry {
    id: Decimal,
    revision: Decimal,
    operation: Option<String>,
}

#[derive(serde::Deserialize)]
struct DeleteAnswer {}

impl Client {
    /// Inserts one record.
    pub fn add(&self, app: &App, fields: &Fields) -> Result<Added, Error> {
        let answer: AddAnswer = self.write(app, &Payload::Add { app: app.id, fields }, |_| true)?;
        Ok(Added {
            id: answer.id.0,
            revision: answer.revision.0,
        })
    }

    /// Inserts up to 100 records, all or none; ids in the same order.
    pub fn add_all(&self, app: &App, records: &[Fields]) -> Result<Vec<Added>, Error> {
        if records.is_empty() {
            return Ok(Vec::new());
        }
        let complete = |a: &AddAllAnswer| a.ids.len() == records.len() && a.revisions.len() == records.len();
        let answer = self.write(app, &Payload::AddAll { app: app.id, records }, complete)?;
        let pairs = answer.ids.iter().zip(&answer.revisions);
        Ok(pairs
            .map(|(id, revision)| Added {
                id: id.0,
                revision: revision.0,
            })
            .collect())
    }

    /// Updates one record and gives its new revision.
    pub fn update(
        &self,
        app: &App,
        target: &Target,
        revision: Option<u64>,
        fields: &Fields,
    ) -> Result<u64, Error> {
        let update = Update {
            target: target.clone(),
            revision,
            fields: fields.clone(),
        };
        let payload = Payload::Update {
            app: app.id,
            update: &update,
        };
        let answer: UpdateAnswer = self.write(app, &payload, |_| true)?;
        Ok(answer.revision.0)
    }

    /// Updates up to 100 records, all or none; new revisions in the same order.
    pub fn update_all(&self, app: &App, updates: &[Update]) -> Result<Vec<u64>, Error> {
        let entries = self.update_records(app, updates, false)?;
        Ok(entries.into_iter().map(|entry| entry.revision).collect())
    }

    /// Updates or inserts up to 100 records by unique key, all or none (KTB-136).
    pub fn upsert_all(&self, app: &App, updates: &[Update]) -> Result<Vec<Upserted>, Error> {
        self.update_records(app, updates, true)
    }

    fn update_records(&self, app: &App, updates: &[Update], upsert: bool) -> Result<Vec<Upserted>, Error> {
        if updates.is_empty() {
            return Ok(Vec::new());
        }
        let complete = |answer: &UpdateAllAnswer| answer.records.len() == updates.len();
        let payload = Payload::UpdateAll {
            app: app.id,
            updates,
            upsert,
        };
        let answer = self.write(app, &payload, complete)?;
        let entry = |entry: UpdateAllEntry| Upserted {
            id: entry.id.0,
            revision: entry.revision.0,
            inserted: entry.operation.as_deref() == Some("INSERT"),
        };
        Ok(answer.records.into_iter().map(entry).collect())
    }

    /// Deletes up to 100 records, all or none; `revisions`, if given, are checked one by one (KTB-138).
    pub fn delete(&self, app: &App, ids: &[u64], revisions: Option<&[u64]>) -> Result<(), Error> {
        if ids.is_empty() {
            return Ok(());
        }
        let payload = Payload::Delete {
            app: app.id,
            ids,
            revisions,
        };
        self.write(app, &payload, |_: &DeleteAnswer| true).map(|_| ())
    }

    fn write<T: DeserializeOwned>(
        &self,
        app: &App,
        payload: &Payload,
        complete: impl Fn(&T) -> bool,
    ) -> Result<T, Error> {
        let (method, path) = payload.call();
        let apps = [app];
        let request = match method {
            "POST" => Request::post(path, &apps, payload),
            "PUT" => Request::put(path, &apps, payload),
            _ => Request::delete(path, &apps, payload),
        };
        if payload.len() > limit::WRITE_RECORDS {
            let most = limit::WRITE_RECORDS;
            let note = Phrase::new(
                format!("more than {most} records in one request"),
                format!("1 つのリクエストのレコードが {most} 件を超えています"),
            );
            return Err(Error::local(&request.label, ErrorKind::Request, note));
        }
        let repeat = if self.config().retry.writes {
            payload.repeat()
        } else {
            Repeat::Never
        };
        self.exchange(&request.repeat(repeat), |answer| {
            let value: T = decode(&answer.body)?;
            complete(&value).then_some(value).ok_or(text(
                "the body names another number of records",
                "応答のレコード数が一致しません",
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn json(payload: &Payload) -> String {
        serde_json::to_string(payload).unwrap()
    }

    #[test]
    fn payloads_as_documented() {
        let fields = Fields::new().text("a", "x");
        let update = Update {
            target: Target::Id(3),
            revision: Some(2),
            fields: fields.clone(),
        };
        let keyed = Update {
            target: Target::key("k", "v"),
            revision: None,
            fields: fields.clone(),
        };
        assert_eq!(
            json(&Payload::Add {
                app: 1,
                fields: &fields
            }),
            r#"{"app":1,"record":{"a":{"value":"x"}}}"#
        );
        assert_eq!(
            json(&Payload::AddAll {
                app: 1,
                records: std::slice::from_ref(&fields)
            }),
            r#"{"app":1,"records":[{"a":{"value":"x"}}]}"#
        );
        assert_eq!(
            json(&Payload::Update {
                app: 1,
                update: &update
            }),
            r#"{"app":1,"id":3,"revision":2,"record":{"a":{"value":"x"}}}"#
        );
        assert_eq!(
            json(&Payload::UpdateAll {
                app: 1,
                updates: &[keyed],
                upsert: true
            }),
            r#"{"app":1,"upsert":true,"records":[{"updateKey":{"field":"k","value":"v"},"record":{"a":{"value":"x"}}}]}"#
        );
        assert_eq!(
            json(&Payload::Delete {
                app: 1,
                ids: &[5, 6],
                revisions: Some(&[1, 2])
            }),
            r#"{"app":1,"ids":[5,6],"revisions":[1,2]}"#
        );
    }

    #[test]
    fn only_what_bears_it_is_repeated() {
        let fields = Fields::new();
        let update = |revision| Update {
            target: Target::Id(1),
            revision,
            fields: Fields::new(),
        };
        for (payload, repeat) in [
            (
                Payload::Add {
                    app: 1,
                    fields: &fields,
                },
                Repeat::WhenRefused,
            ),
            (Payload::AddAll { app: 1, records: &[] }, Repeat::WhenRefused),
            (
                Payload::Update {
                    app: 1,
                    update: &update(Some(1)),
                },
                Repeat::WhenRefused,
            ),
            (
                Payload::Update {
                    app: 1,
                    update: &update(None),
                },
                Repeat::Idempotent,
            ),
            (
                Payload::UpdateAll {
                    app: 1,
                    updates: &[update(None)],
                    upsert: true,
                },
                Repeat::Idempotent,
            ),
            (
                Payload::Delete {
                    app: 1,
                    ids: &[1],
                    revisions: None,
                },
                Repeat::Idempotent,
            ),
        ] {
            assert_eq!(payload.repeat(), repeat, "{:?}", payload.call());
        }
    }
}
