//! A form: the fields that carry data (each has a slot in a record's value list), the system fields, and the parts that
//! carry none. Answers "what is this field code?" for reads, writes and queries alike.
use std::collections::HashMap;

use serde_json::{Map, Value as Json, json};

use super::field::{Field, Kind, mark_copied};

/// Most fields of one form.
pub const MAX_FIELDS: usize = 500;

/// Codes nobody may give to a field of his own (KTB-91).
pub const RESERVED_CODES: [&str; 8] = [
    "ステータス",
    "カテゴリー",
    "作業者",
    "Status",
    "Categories",
    "Assignee",
    "$id",
    "$revision",
];

/// Fields every app has (KTB-161).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum System {
    /// RECORD_NUMBER
    RecordNumber,
    /// CREATOR
    Creator,
    /// CREATED_TIME
    CreatedTime,
    /// MODIFIER
    Modifier,
    /// UPDATED_TIME
    UpdatedTime,
    /// STATUS; process management is always off here (KTB-42)
    Status,
    /// STATUS_ASSIGNEE
    StatusAssignee,
    /// CATEGORY
    Category,
}

/// All system fields with the API's type name and the Japanese default code.
pub const SYSTEM_FIELDS: [(System, &str, &str); 8] = [
    (System::RecordNumber, "RECORD_NUMBER", "レコード番号"),
    (System::Creator, "CREATOR", "作成者"),
    (System::CreatedTime, "CREATED_TIME", "作成日時"),
    (System::Modifier, "MODIFIER", "更新者"),
    (System::UpdatedTime, "UPDATED_TIME", "更新日時"),
    (System::Status, "STATUS", "ステータス"),
    (System::StatusAssignee, "STATUS_ASSIGNEE", "作業者"),
    (System::Category, "CATEGORY", "カテゴリー"),
];

impl System {
    /// The API's name of the type.
    pub fn name(self) -> &'static str {
        SYSTEM_FIELDS
            .iter()
            .find(|(system, ..)| *system == self)
            .map_or("", |(_, name, _)| name)
    }

    /// True for the fields that exist in records; the three others are switched off here.
    pub fn has_value(self) -> bool {
        !matches!(self, Self::Status | Self::StatusAssignee | Self::Category)
    }
}

/// What a field code stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A top-level field: its slot.
    Slot(usize),
    /// A field inside a SUBTABLE: slot of the table, index in the row.
    Cell(usize, usize),
    /// A system field.
    System(System),
    /// GROUP, REFERENCE_TABLE: part of the form without data.
    NoData,
}

/// A form.
#[derive(Clone, Debug)]
pub struct Form {
    /// Fields with data; the position is the slot.
    pub fields: Vec<Field>,
    system: Vec<(System, String, Json)>,
    no_data: Map<String, Json>,
    places: HashMap<String, Place>,
}

impl Form {
    /// Reads a `properties` object. System fields may be renamed by naming them with their type; missing ones get their
    /// default code. The error text names the field.
    pub fn read(properties: &Map<String, Json>) -> Result<Self, String> {
        let mut fields = Vec::new();
        let mut no_data = Map::new();
        let mut renamed: Vec<(System, String, Json)> = Vec::new();
        for (code, source) in properties {
            if code.is_empty() || code.contains(char::is_whitespace) || code.starts_with('$') {
                return Err(format!("{code:?} cannot be a field code"));
            }
            let type_name = source.get("type").and_then(Json::as_str).unwrap_or_default();
            if let Some((system, ..)) = SYSTEM_FIELDS.iter().find(|(_, name, _)| *name == type_name) {
                if !system.has_value() && source.get("enabled").and_then(Json::as_bool) == Some(true) {
                    return Err(format!(
                        "field {code:?}: process management and categories are not supported; set \"enabled\" to false"
                    ));
                }
                renamed.push((*system, code.clone(), source.clone()));
            } else if matches!(type_name, "GROUP" | "REFERENCE_TABLE") {
                no_data.insert(code.clone(), with_code(code, source));
            } else {
                let field = Field::read(code, source, false)
                    .map_err(|problem| format!("field {code:?}: {problem}"))?;
                fields.push(field);
            }
        }
        mark_copied(&mut fields);
        let mut system = Vec::new();
        for (kind, _, default_code) in SYSTEM_FIELDS {
            let (code, source) = renamed
                .iter()
                .find(|(known, ..)| *known == kind)
                .map_or((default_code, &Json::Null), |(_, code, source)| {
                    (code.as_str(), source)
                });
            system.push((kind, code.to_owned(), system_definition(kind, code, source)));
        }
        let mut form = Self {
            fields,
            system,
            no_data,
            places: HashMap::new(),
        };
        form.index()?;
        Ok(form)
    }

    /// Fills the code index and refuses codes used twice.
    fn index(&mut self) -> Result<(), String> {
        let mut entries: Vec<(String, Place)> = Vec::new();
        for (slot, field) in self.fields.iter().enumerate() {
            entries.push((field.code.clone(), Place::Slot(slot)));
            for (cell, inner) in field.cells.iter().enumerate() {
                entries.push((inner.code.clone(), Place::Cell(slot, cell)));
            }
        }
        entries.extend(
            self.system
                .iter()
                .map(|(system, code, _)| (code.clone(), Place::System(*system))),
        );
        entries.extend(self.no_data.keys().map(|code| (code.clone(), Place::NoData)));
        if entries.len() > MAX_FIELDS + SYSTEM_FIELDS.len() {
            return Err(format!("a form has at most {MAX_FIELDS} fields"));
        }
        for (code, place) in entries {
            if self.places.insert(code.clone(), place).is_some() {
                return Err(format!(
                    "field code {code:?} is used twice (system fields can be renamed by type)"
                ));
            }
        }
        Ok(())
    }

    /// What a field code stands for; `$id` is not a code.
    pub fn place(&self, code: &str) -> Option<Place> {
        self.places.get(code).copied()
    }

    /// The code of a system field.
    pub fn system_code(&self, system: System) -> &str {
        self.system
            .iter()
            .find(|(known, ..)| *known == system)
            .map_or("", |(_, code, _)| code)
    }

    /// `properties` of `form/fields.json`.
    pub fn properties(&self) -> Map<String, Json> {
        let mut properties = self.no_data.clone();
        for (_, code, definition) in &self.system {
            properties.insert(code.clone(), definition.clone());
        }
        for field in &self.fields {
            properties.insert(field.code.clone(), Json::Object(field.definition.clone()));
        }
        properties
    }

    /// The field and slot of a code that names a unique SINGLE_LINE_TEXT or NUMBER (KTB-133).
    pub fn update_key(&self, code: &str) -> Option<(usize, &Field)> {
        match self.place(code)? {
            Place::Slot(slot) => {
                let field = &self.fields[slot];
                let usable = field.unique && matches!(field.kind, Kind::SingleLineText | Kind::Number);
                usable.then_some((slot, field))
            }
            _ => None,
        }
    }
}

fn with_code(code: &str, source: &Json) -> Json {
    let mut definition = source.clone();
    if let Some(object) = definition.as_object_mut() {
        object.entry("code").or_insert_with(|| json!(code));
        object.entry("label").or_insert_with(|| json!(code));
    }
    definition
}

fn system_definition(system: System, code: &str, source: &Json) -> Json {
    let label = source.get("label").and_then(Json::as_str).unwrap_or(code);
    let mut definition = json!({ "type": system.name(), "code": code, "label": label });
    if system.has_value() {
        definition["noLabel"] = json!(false);
    } else {
        definition["enabled"] = json!(false);
    }
    definition
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(properties: &Json) -> Result<Form, String> {
        Form::read(properties.as_object().unwrap_or(&Map::new()))
    }

    #[test]
    fn ktb_161_system_fields_are_always_there() {
        let properties = form(&json!({})).map(|form| form.properties()).unwrap_or_default();
        assert_eq!(properties.len(), 8);
        assert_eq!(properties["ステータス"]["enabled"], json!(false));
        assert_eq!(properties["レコード番号"]["type"], "RECORD_NUMBER");
    }

    #[test]
    fn system_fields_can_be_renamed_and_codes_are_unique() {
        let renamed = form(&json!({ "No": { "type": "RECORD_NUMBER" } }));
        assert!(renamed.is_ok_and(|form| form.system_code(System::RecordNumber) == "No"));
        let clash = form(&json!({ "ステータス": { "type": "NUMBER" } }));
        assert!(clash.is_err_and(|problem| problem.contains("ステータス")));
        let enabled = form(&json!({ "状態": { "type": "STATUS", "enabled": true } }));
        assert!(enabled.is_err_and(|problem| problem.contains("not supported")));
        let free = form(&json!({ "ステータス": { "type": "NUMBER" }, "状態": { "type": "STATUS" } }));
        assert!(free.is_ok());
    }

    #[test]
    fn finds_cells_and_update_keys() {
        let form = form(&json!({
            "key": { "type": "SINGLE_LINE_TEXT", "unique": true },
            "table": { "type": "SUBTABLE", "fields": { "cell": { "type": "NUMBER" } } },
            "text": { "type": "SINGLE_LINE_TEXT" },
        }));
        assert!(form.is_ok_and(|form| {
            matches!(form.place("cell"), Some(Place::Cell(1, 0)))
                && form.update_key("key").is_some()
                && form.update_key("text").is_none()
                && form.place("$id").is_none()
        }));
    }
}
