//! A model of kintone for the language tests: apps in memory, conditions evaluated by [`super::query`], every request
//! noted. Records go out as the JSON of the interface and through the engine's own decoder.

use std::collections::BTreeMap;
use std::sync::Mutex;

use ksql_flownet::flow::apps::{
    AppId, AppSummary, Apps, AppsError, Constraints, Field, FieldType, Form, LinkProtocol, NumberPrecision,
    Page, PageRequest, WriteChunk, WritePermit, WriteRow, WriteTarget, WriteValue, Written, decode,
};
use serde_json::{Map, Value, json};

use super::query;

/// A record: its number and the `value` member of every field.
#[derive(Clone, Debug)]
pub struct Record {
    pub id: u64,
    pub values: BTreeMap<String, Value>,
}

/// An app with its records in the order of their numbers.
#[derive(Clone, Debug)]
pub struct App {
    pub name: String,
    pub form: Form,
    pub records: Vec<Record>,
    /// `"emptyIsLess"`: `<` and `<=` find empty cells too.
    pub empty_is_less: bool,
    /// `"textEquality": "words"`: `=` on a text that is not unique finds its words.
    pub text_equality_by_words: bool,
}

/// A request as the tests look at it.
#[derive(Clone, Debug)]
pub struct Request {
    /// `GET records`, `POST records`, `GET form`, ...
    pub kind: &'static str,
    /// Records sent.
    pub size: usize,
    /// Of a GET of records.
    pub page: Option<PageRequest>,
}

/// One written record.
#[derive(Clone, Debug)]
pub struct Write {
    pub app: AppId,
    pub op: &'static str,
    pub id: u64,
    /// Value of the app's unique field.
    pub key: Option<String>,
    /// Fields as sent, reduced to their values.
    pub record: Map<String, Value>,
}

#[derive(Debug, Default)]
pub struct State {
    pub apps: BTreeMap<AppId, App>,
    pub requests: Vec<Request>,
    pub writes: Vec<Write>,
    /// The write request that is refused, from 1.
    pub refused_write: Option<usize>,
    /// Keyword searches are cut short.
    pub search_aborted: bool,
}

/// The model.
#[derive(Debug, Default)]
pub struct Kintone {
    pub state: Mutex<State>,
}

impl Kintone {
    /// The apps of the fixtures, changed and extended by a vector's own tables.
    pub fn new(fixtures: &Value, tables: &Value) -> Self {
        let mut apps = BTreeMap::new();
        for (name, app) in fixtures
            .as_object()
            .into_iter()
            .chain(tables.as_object())
            .flatten()
        {
            let id = AppId(
                name.trim_start_matches("APP")
                    .parse()
                    .expect("tables are called APP<n>"),
            );
            apps.insert(id, App::new(id, app));
        }
        Self {
            state: Mutex::new(State {
                apps,
                ..State::default()
            }),
        }
    }

    /// What was requested so far.
    pub fn requests(&self) -> Vec<Request> {
        self.state.lock().unwrap().requests.clone()
    }

    /// What was written so far.
    pub fn writes(&self) -> Vec<Write> {
        self.state.lock().unwrap().writes.clone()
    }
}

impl App {
    fn new(id: AppId, table: &Value) -> Self {
        let columns: Vec<&str> = table["columns"]
            .as_array()
            .unwrap()
            .iter()
            .map(|c| c.as_str().unwrap())
            .collect();
        let definitions = table["fields"].as_object().expect("fields");
        // A sorted map has lost the order of the fields; the columns have it, fields without a column follow.
        let listed = columns
            .iter()
            .copied()
            .filter(|column| definitions.contains_key(*column));
        let others = definitions
            .keys()
            .map(String::as_str)
            .filter(|code| !columns.contains(code));
        let fields = listed
            .chain(others)
            .map(|code| field(code, &definitions[code]))
            .collect();
        let form = Form::new(id, fields);
        let rows: Vec<Vec<Value>> = match table.get("generate") {
            Some(generate) => (1..=generate["rows"].as_u64().unwrap())
                .map(|i| {
                    columns
                        .iter()
                        .map(|column| generated(generate, column, i))
                        .collect()
                })
                .collect(),
            None => table["rows"]
                .as_array()
                .unwrap()
                .iter()
                .map(|row| row.as_array().unwrap().clone())
                .collect(),
        };
        let mut records: Vec<Record> = Vec::new();
        for (number, row) in rows.iter().enumerate() {
            let mut values = BTreeMap::new();
            let mut record_id = number as u64 + 1;
            for (code, value) in columns.iter().zip(row) {
                if *code == "$id" {
                    record_id = value.as_str().unwrap().parse().unwrap();
                } else if let Some(field) = form.field(code) {
                    values.insert((*code).to_owned(), stored(field, value));
                }
            }
            records.push(Record {
                id: record_id,
                values,
            });
        }
        records.sort_by_key(|record| record.id);
        Self {
            name: table["name"].as_str().unwrap_or("").to_owned(),
            empty_is_less: table["emptyIsLess"] == true,
            text_equality_by_words: table["textEquality"] == "words",
            form,
            records,
        }
    }

    fn json(&self, record: &Record, fields: &[String]) -> Value {
        let mut json = Map::new();
        for code in fields {
            let Some(field) = self.form.field(code) else {
                continue;
            };
            let value = match field.kind {
                FieldType::Id => json!(record.id.to_string()),
                FieldType::Revision => json!("1"),
                _ => record
                    .values
                    .get(code)
                    .cloned()
                    .unwrap_or_else(|| empty(field.kind)),
            };
            json.insert(code.clone(), json!({"type": field.kind.name(), "value": value}));
        }
        Value::Object(json)
    }

    /// The one cell of a record that decides a condition.
    pub fn cell(&self, record: &Record, code: &str) -> String {
        let mut cell = String::new();
        match self.form.field(code).map(|field| field.kind) {
            Some(FieldType::Id) => return record.id.to_string(),
            _ => decode::value(record.values.get(code).unwrap_or(&Value::Null), &mut cell),
        }
        cell
    }

    fn unique(&self) -> Option<&str> {
        self.form
            .fields
            .iter()
            .find(|field| field.unique)
            .map(|field| field.code.as_str())
    }

    fn key_of(&self, record: &Record) -> Option<String> {
        self.unique().map(|code| self.cell(record, code))
    }

    fn next_id(&self) -> u64 {
        self.records.last().map_or(1, |record| record.id + 1)
    }

    /// Adds a record and returns its number.
    fn add(&mut self, values: BTreeMap<String, Value>) -> u64 {
        let id = self.next_id();
        self.records.push(Record { id, values });
        id
    }
}

fn generated(generate: &Value, column: &str, i: u64) -> Value {
    json!(
        generate[column]
            .as_str()
            .unwrap_or("")
            .replace("{i}", &i.to_string())
    )
}

fn field(code: &str, definition: &Value) -> Field {
    let kind = definition
        .as_str()
        .or_else(|| definition["type"].as_str())
        .expect("a field type");
    let mut field = Field::plain(code, FieldType::parse(kind));
    if field.kind == FieldType::CalcNumber {
        field.kind = FieldType::calc(definition["format"].as_str().unwrap_or(""));
    }
    field.unique = definition["unique"].as_bool().unwrap_or(false);
    field.lookup_copy = definition["lookupCopy"].as_bool().unwrap_or(false);
    field.options = definition["options"].as_array().map(|options| {
        options
            .iter()
            .map(|option| option.as_str().unwrap().to_owned())
            .collect()
    });
    let text = |key: &str| definition[key].as_str().map(str::to_owned);
    field.constraints = Constraints {
        required: definition["required"].as_bool().unwrap_or(false),
        has_default: definition["hasDefault"].as_bool().unwrap_or(false),
        min_length: text("minLength").and_then(|text| text.parse().ok()),
        max_length: text("maxLength").and_then(|text| text.parse().ok()),
        min_value: text("minValue"),
        max_value: text("maxValue"),
        link: definition["protocol"].as_str().and_then(LinkProtocol::parse),
    };
    if let Some(children) = definition["fields"].as_object() {
        field.children = children
            .iter()
            .map(|(code, child)| self::field(code, child))
            .collect();
    }
    field
}

/// A fixture value in the form of the interface.
fn stored(field: &Field, value: &Value) -> Value {
    match field.kind {
        kind if kind.is_code_list() => value
            .as_array()
            .into_iter()
            .flatten()
            .map(|code| json!({"code": code, "name": code}))
            .collect(),
        FieldType::Creator | FieldType::Modifier => json!({"code": value, "name": value}),
        FieldType::Subtable => value
            .as_array()
            .into_iter()
            .flatten()
            .map(|row| {
                let cells: Map<String, Value> = field
                    .children
                    .iter()
                    .map(|child| {
                        let cell = row.get(&child.code).cloned().unwrap_or_else(|| empty(child.kind));
                        (
                            child.code.clone(),
                            json!({"type": child.kind.name(), "value": cell}),
                        )
                    })
                    .collect();
                json!({"id": row["id"], "value": cells})
            })
            .collect(),
        FieldType::DropDown | FieldType::RadioButton | FieldType::Date if value == "" => Value::Null,
        _ => value.clone(),
    }
}

fn empty(kind: FieldType) -> Value {
    if kind.is_multi_value() || kind == FieldType::Subtable {
        json!([])
    } else if kind == FieldType::DropDown {
        Value::Null
    } else {
        json!("")
    }
}

fn refused(text: impl Into<String>) -> AppsError {
    AppsError::new(text.into())
}

impl Apps for Kintone {
    fn form(&self, app: AppId) -> Result<Form, AppsError> {
        let mut state = self.state.lock().unwrap();
        state.requests.push(Request {
            kind: "GET form",
            size: 0,
            page: None,
        });
        state
            .apps
            .get(&app)
            .map(|app| app.form.clone())
            .ok_or_else(|| refused(format!("GAIA_AP01: no {app}")))
    }

    fn states(&self, app: AppId) -> Result<Vec<String>, AppsError> {
        let mut state = self.state.lock().unwrap();
        state.requests.push(Request {
            kind: "GET states",
            size: 0,
            page: None,
        });
        let app = state.apps.get(&app).ok_or_else(|| refused("GAIA_AP01"))?;
        let status = app
            .form
            .fields
            .iter()
            .find(|field| field.kind == FieldType::Status);
        Ok(status.and_then(|field| field.options.clone()).unwrap_or_default())
    }

    fn number_precision(&self, _: AppId) -> Result<NumberPrecision, AppsError> {
        let mut state = self.state.lock().unwrap();
        state.requests.push(Request {
            kind: "GET settings",
            size: 0,
            page: None,
        });
        Ok(NumberPrecision {
            digits: 16,
            decimal_places: 4,
        })
    }

    fn page(&self, request: &PageRequest, into: &mut Page) -> Result<(), AppsError> {
        let mut state = self.state.lock().unwrap();
        state.requests.push(Request {
            kind: "GET records",
            size: 0,
            page: Some(request.clone()),
        });
        let app = state.apps.get(&request.app).ok_or_else(|| refused("GAIA_AP01"))?;
        let asked =
            query::parse(&request.query).map_err(|why| refused(format!("{why} in {}", request.query)))?;
        let mut found: Vec<&Record> = Vec::new();
        for record in &app.records {
            if asked
                .matches(app, record)
                .map_err(|why| refused(format!("{why} in {}", request.query)))?
            {
                found.push(record);
            }
        }
        asked.sort(app, &mut found);
        let total = found.len();
        let records: Vec<Value> = found
            .into_iter()
            .skip(asked.offset)
            .take(asked.limit)
            .map(|record| app.json(record, &request.fields))
            .collect();
        let total = request.total_count.then(|| total.to_string());
        let body = serde_json::to_vec(&json!({"records": records, "totalCount": total})).unwrap();
        decode::page(&body, &request.fields, into).map_err(AppsError::new)?;
        into.search_aborted = state.search_aborted && request.query.contains(" like ");
        Ok(())
    }

    fn write(&self, _: &WritePermit, chunk: &WriteChunk<'_>) -> Result<Written, AppsError> {
        let mut state = self.state.lock().unwrap();
        let kind = match chunk {
            WriteChunk::Insert { .. } => "POST records",
            WriteChunk::Update { .. } | WriteChunk::Upsert { .. } => "PUT records",
            WriteChunk::Delete { .. } => "DELETE records",
        };
        let rows = chunk.rows();
        if rows.is_empty() || rows.len() > 100 {
            return Err(refused(format!("{} records in one request", rows.len())));
        }
        state.requests.push(Request {
            kind,
            size: rows.len(),
            page: None,
        });
        let sent = state.requests.iter().filter(|request| request.size > 0).count();
        if state.refused_write == Some(sent) {
            return Err(refused("GAIA_DA02"));
        }
        let mut written = Written::default();
        for row in rows {
            let write = state.apply(chunk, row)?;
            match write.op {
                "insert" => written.inserted += 1,
                "update" => written.updated += 1,
                _ => written.deleted += 1,
            }
            state.writes.push(write);
        }
        Ok(written)
    }

    fn list(&self) -> Result<Vec<AppSummary>, AppsError> {
        let mut state = self.state.lock().unwrap();
        state.requests.push(Request {
            kind: "GET apps",
            size: 0,
            page: None,
        });
        Ok(state
            .apps
            .iter()
            .map(|(id, app)| AppSummary {
                id: *id,
                name: app.name.clone(),
                description: String::new(),
            })
            .collect())
    }
}

impl State {
    fn apply(&mut self, chunk: &WriteChunk<'_>, row: &WriteRow) -> Result<Write, AppsError> {
        let id = chunk.app();
        let app = self.apps.get_mut(&id).ok_or_else(|| refused("GAIA_AP01"))?;
        let (fields, key_field): (&[String], _) = match chunk {
            WriteChunk::Insert { fields, .. } | WriteChunk::Update { fields, .. } => (fields, None),
            WriteChunk::Upsert { fields, key, .. } => (fields, Some(*key)),
            WriteChunk::Delete { .. } => (&[], None),
        };
        let mut record: Map<String, Value> = Map::new();
        for (code, value) in fields.iter().zip(&row.values) {
            let field = app
                .form
                .field(code)
                .ok_or_else(|| refused(format!("no field {code}")))?;
            if !field.kind.is_writable() {
                return Err(refused(format!("{code} cannot be written")));
            }
            record.insert(code.clone(), sent(value));
        }
        let place = match &row.target {
            WriteTarget::New => None,
            WriteTarget::Id(record) => {
                let found = app.records.iter().position(|stored| stored.id == *record);
                Some(found.ok_or_else(|| refused(format!("GAIA_RE01: {record}")))?)
            }
            WriteTarget::Key(key) => {
                let field = key_field.ok_or_else(|| refused("a key without a key field"))?;
                if key.is_empty() || record.contains_key(field) {
                    return Err(refused("the key is empty or given twice"));
                }
                app.records
                    .iter()
                    .position(|stored| app.cell(stored, field) == *key)
            }
        };
        if matches!(chunk, WriteChunk::Delete { .. }) {
            let removed = app.records.remove(place.unwrap());
            return Ok(Write {
                app: id,
                op: "delete",
                id: removed.id,
                key: app.key_of(&removed),
                record,
            });
        }
        if let Some(place) = place {
            let stored = &mut app.records[place];
            stored.values.extend(record.clone());
            let stored = app.records[place].clone();
            return Ok(Write {
                app: id,
                op: "update",
                id: stored.id,
                key: app.key_of(&stored),
                record,
            });
        }
        if let (WriteTarget::Key(key), Some(field)) = (&row.target, key_field) {
            record.insert(field.to_owned(), json!(key));
        }
        let number = app.add(record.clone().into_iter().collect());
        let key = app.records.last().and_then(|stored| app.key_of(stored));
        Ok(Write {
            app: id,
            op: "insert",
            id: number,
            key,
            record,
        })
    }
}

/// The `value` member that a write sends.
fn sent(value: &WriteValue) -> Value {
    serde_json::to_value(value).unwrap()["value"].clone()
}
