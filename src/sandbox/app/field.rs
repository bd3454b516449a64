//! Fields of a form: what the rules need as typed values, and the definition as `form/fields.json` answers it, with left
//! out attributes filled in (KTB-160).
use serde_json::{Map, Value as Json, json};

use crate::sandbox::value::number::Decimal;

/// Field types that carry data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// SINGLE_LINE_TEXT
    SingleLineText,
    /// MULTI_LINE_TEXT
    MultiLineText,
    /// RICH_TEXT
    RichText,
    /// LINK
    Link,
    /// NUMBER
    Number,
    /// DATE
    Date,
    /// TIME
    Time,
    /// DATETIME
    DateTime,
    /// DROP_DOWN
    DropDown,
    /// RADIO_BUTTON
    RadioButton,
    /// CHECK_BOX
    CheckBox,
    /// MULTI_SELECT
    MultiSelect,
    /// USER_SELECT
    UserSelect,
    /// ORGANIZATION_SELECT
    OrganizationSelect,
    /// GROUP_SELECT
    GroupSelect,
    /// FILE
    File,
    /// SUBTABLE
    Subtable,
}

const KINDS: [(Kind, &str); 17] = [
    (Kind::SingleLineText, "SINGLE_LINE_TEXT"),
    (Kind::MultiLineText, "MULTI_LINE_TEXT"),
    (Kind::RichText, "RICH_TEXT"),
    (Kind::Link, "LINK"),
    (Kind::Number, "NUMBER"),
    (Kind::Date, "DATE"),
    (Kind::Time, "TIME"),
    (Kind::DateTime, "DATETIME"),
    (Kind::DropDown, "DROP_DOWN"),
    (Kind::RadioButton, "RADIO_BUTTON"),
    (Kind::CheckBox, "CHECK_BOX"),
    (Kind::MultiSelect, "MULTI_SELECT"),
    (Kind::UserSelect, "USER_SELECT"),
    (Kind::OrganizationSelect, "ORGANIZATION_SELECT"),
    (Kind::GroupSelect, "GROUP_SELECT"),
    (Kind::File, "FILE"),
    (Kind::Subtable, "SUBTABLE"),
];

impl Kind {
    /// The API's name of the type.
    pub fn name(self) -> &'static str {
        KINDS
            .iter()
            .find(|(kind, _)| *kind == self)
            .map_or("", |(_, name)| name)
    }

    /// The type of an API name.
    pub fn from_name(name: &str) -> Option<Self> {
        KINDS
            .iter()
            .find(|(_, known)| *known == name)
            .map(|(kind, _)| *kind)
    }

    /// True for DROP_DOWN, RADIO_BUTTON, CHECK_BOX and MULTI_SELECT.
    pub fn has_options(self) -> bool {
        matches!(
            self,
            Self::DropDown | Self::RadioButton | Self::CheckBox | Self::MultiSelect
        )
    }

    /// True where a value is a list of texts or codes.
    pub fn is_list(self) -> bool {
        matches!(
            self,
            Self::CheckBox
                | Self::MultiSelect
                | Self::UserSelect
                | Self::OrganizationSelect
                | Self::GroupSelect
        )
    }

    /// True where `unique` exists (KTB-108).
    pub fn may_be_unique(self) -> bool {
        matches!(
            self,
            Self::SingleLineText | Self::Number | Self::Link | Self::Date | Self::DateTime
        )
    }
}

/// Protocol of a LINK (KTB-103).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Protocol {
    /// http or https address.
    Web,
    /// Telephone number.
    Call,
    /// Mail address.
    Mail,
}

/// Lookup definition of a field (KTB-120 to KTB-122).
#[derive(Clone, Debug)]
pub struct Lookup {
    /// Source app.
    pub app: u64,
    /// Key field in the source app.
    pub key: String,
    /// (own field, source field) pairs that are copied.
    pub mappings: Vec<(String, String)>,
}

/// One field that carries data.
#[derive(Clone, Debug)]
pub struct Field {
    /// Field code.
    pub code: String,
    /// Type.
    pub kind: Kind,
    /// Value required (KTB-100, KTB-101).
    pub required: bool,
    /// No duplicates (KTB-108).
    pub unique: bool,
    /// Fewest characters (KTB-102).
    pub min_length: Option<u64>,
    /// Most characters.
    pub max_length: Option<u64>,
    /// Smallest number, plain notation (KTB-106).
    pub min_value: Option<String>,
    /// Largest number, plain notation.
    pub max_value: Option<String>,
    /// Options in the form's order.
    pub options: Vec<String>,
    /// Default value as in the definition (KTB-110).
    pub default: Json,
    /// Default is the present date or time.
    pub default_now: bool,
    /// Protocol of a LINK.
    pub protocol: Protocol,
    /// Lookup definition, if the field is one.
    pub lookup: Option<Lookup>,
    /// Filled by a lookup: values sent for it are ignored (KTB-121).
    pub copied: bool,
    /// Fields of a SUBTABLE.
    pub cells: Vec<Field>,
    /// The completed definition.
    pub definition: Map<String, Json>,
}

impl Field {
    /// Reads one field definition. `in_table`: the field lies inside a SUBTABLE.
    ///
    /// The error text says what is wrong, without the field's code.
    pub fn read(code: &str, source: &Json, in_table: bool) -> Result<Self, String> {
        let source = source.as_object().ok_or("the definition must be an object")?;
        let name = source
            .get("type")
            .and_then(Json::as_str)
            .ok_or("\"type\" is missing")?;
        let kind = Kind::from_name(name).ok_or_else(|| format!("type {name:?} is not supported"))?;
        if in_table && kind == Kind::Subtable {
            return Err("a SUBTABLE cannot lie inside a SUBTABLE".to_owned());
        }
        if source
            .get("expression")
            .and_then(Json::as_str)
            .is_some_and(|expression| !expression.is_empty())
        {
            return Err("calculated values (\"expression\") are not supported".to_owned());
        }
        let mut definition = source.clone();
        let lookup = source.get("lookup").map(read_lookup).transpose()?;
        complete(&mut definition, code, kind, lookup.is_some());
        let allowed_unique = kind.may_be_unique() && !in_table;
        if definition.contains_key("unique") && !allowed_unique {
            if kind.may_be_unique() {
                definition.insert("unique".to_owned(), json!(false));
            } else {
                definition.remove("unique");
            }
        }
        let flag = |key: &str| definition.get(key).is_some_and(is_true);
        let options = if kind.has_options() {
            read_options(&definition)?
        } else {
            Vec::new()
        };
        let cells = if kind == Kind::Subtable {
            read_cells(&definition)?
        } else {
            Vec::new()
        };
        let mut field = Self {
            code: code.to_owned(),
            kind,
            required: flag("required") && kind != Kind::Subtable,
            unique: flag("unique"),
            min_length: read_count(&definition, "minLength")?,
            max_length: read_count(&definition, "maxLength")?,
            min_value: read_number(&definition, "minValue")?,
            max_value: read_number(&definition, "maxValue")?,
            options,
            default: definition.get("defaultValue").cloned().unwrap_or(Json::Null),
            default_now: flag("defaultNowValue"),
            protocol: read_protocol(&definition)?,
            lookup,
            copied: false,
            cells,
            definition: Map::new(),
        };
        if kind.has_options() {
            definition.insert("options".to_owned(), options_json(&field.options));
        }
        if !matches!(kind, Kind::SingleLineText | Kind::Link) {
            // Only these two types have lengths (KTB-96, KTB-102).
            field.min_length = None;
            field.max_length = None;
        }
        if kind == Kind::Subtable {
            mark_copied(&mut field.cells);
            let cells: Map<String, Json> = field
                .cells
                .iter()
                .map(|cell| (cell.code.clone(), Json::Object(cell.definition.clone())))
                .collect();
            definition.insert("fields".to_owned(), Json::Object(cells));
        }
        field.definition = definition;
        Ok(field)
    }
}

/// Marks the fields that a lookup among `fields` fills.
pub fn mark_copied(fields: &mut [Field]) {
    let targets: Vec<String> = fields
        .iter()
        .filter_map(|field| field.lookup.as_ref())
        .flat_map(|lookup| lookup.mappings.iter().map(|(own, _)| own.clone()))
        .collect();
    for field in fields {
        field.copied = targets.contains(&field.code);
    }
}

/// Fills in the attributes that the service adds (KTB-160).
fn complete(definition: &mut Map<String, Json>, code: &str, kind: Kind, is_lookup: bool) {
    let mut fill = |key: &str, value: Json| {
        definition.entry(key.to_owned()).or_insert(value);
    };
    fill("code", json!(code));
    fill("label", json!(code));
    fill("noLabel", json!(false));
    if kind == Kind::Subtable {
        return;
    }
    fill("required", json!(false));
    if is_lookup {
        return;
    }
    match kind {
        Kind::SingleLineText => {
            for key in ["minLength", "maxLength", "expression", "defaultValue"] {
                fill(key, json!(""));
            }
            fill("hideExpression", json!(false));
            fill("unique", json!(false));
        }
        Kind::Link => {
            for key in ["minLength", "maxLength", "defaultValue"] {
                fill(key, json!(""));
            }
            fill("unique", json!(false));
            fill("protocol", json!("WEB"));
        }
        Kind::Number => {
            for key in ["minValue", "maxValue", "displayScale", "unit", "defaultValue"] {
                fill(key, json!(""));
            }
            fill("digit", json!(false));
            fill("unitPosition", json!("BEFORE"));
            fill("unique", json!(false));
        }
        Kind::Date | Kind::DateTime => {
            fill("unique", json!(false));
            fill("defaultValue", json!(""));
            fill("defaultNowValue", json!(false));
        }
        Kind::Time => {
            fill("defaultValue", json!(""));
            fill("defaultNowValue", json!(false));
        }
        Kind::RadioButton => {
            fill("defaultValue", json!(""));
            fill("align", json!("HORIZONTAL"));
        }
        Kind::CheckBox => {
            fill("defaultValue", json!([]));
            fill("align", json!("HORIZONTAL"));
        }
        Kind::MultiSelect => fill("defaultValue", json!([])),
        Kind::UserSelect | Kind::OrganizationSelect | Kind::GroupSelect => {
            fill("entities", json!([]));
            fill("defaultValue", json!([]));
        }
        Kind::File => fill("thumbnailSize", json!("150")),
        Kind::MultiLineText | Kind::RichText | Kind::DropDown => fill("defaultValue", json!("")),
        Kind::Subtable => {}
    }
}

/// JSON true, or the text `"true"`.
fn is_true(value: &Json) -> bool {
    value.as_bool().unwrap_or_else(|| value.as_str() == Some("true"))
}

/// Text or number as text.
fn scalar(value: Option<&Json>) -> String {
    match value {
        Some(Json::String(text)) => text.clone(),
        Some(Json::Number(number)) => number.to_string(),
        _ => String::new(),
    }
}

fn read_count(definition: &Map<String, Json>, key: &str) -> Result<Option<u64>, String> {
    let text = scalar(definition.get(key));
    if text.is_empty() {
        return Ok(None);
    }
    text.parse()
        .map(Some)
        .map_err(|_| format!("{key:?} must be a whole number, not {text:?}"))
}

fn read_number(definition: &Map<String, Json>, key: &str) -> Result<Option<String>, String> {
    let text = scalar(definition.get(key));
    if text.is_empty() {
        return Ok(None);
    }
    let number = Decimal::parse(&text).ok_or_else(|| format!("{key:?} must be a number, not {text:?}"))?;
    Ok(Some(number.plain()))
}

fn read_protocol(definition: &Map<String, Json>) -> Result<Protocol, String> {
    match definition.get("protocol").and_then(Json::as_str) {
        None | Some("WEB") => Ok(Protocol::Web),
        Some("CALL") => Ok(Protocol::Call),
        Some("MAIL") => Ok(Protocol::Mail),
        Some(other) => Err(format!("\"protocol\" must be WEB, CALL or MAIL, not {other:?}")),
    }
}

/// Options in the order of their `index`.
fn read_options(definition: &Map<String, Json>) -> Result<Vec<String>, String> {
    let options = definition
        .get("options")
        .and_then(Json::as_object)
        .ok_or("\"options\" is missing")?;
    let mut ordered: Vec<(u64, String)> = Vec::new();
    for (name, option) in options {
        let index = scalar(option.get("index"));
        let index = index
            .parse()
            .map_err(|_| format!("option {name:?} needs a whole \"index\""))?;
        let label = option.get("label").and_then(Json::as_str).unwrap_or(name);
        ordered.push((index, label.to_owned()));
    }
    ordered.sort();
    Ok(ordered.into_iter().map(|(_, label)| label).collect())
}

/// Options as answered: label and index as texts.
fn options_json(options: &[String]) -> Json {
    let entries: Map<String, Json> = options
        .iter()
        .enumerate()
        .map(|(index, label)| {
            (
                label.clone(),
                json!({ "label": label, "index": index.to_string() }),
            )
        })
        .collect();
    Json::Object(entries)
}

fn read_cells(definition: &Map<String, Json>) -> Result<Vec<Field>, String> {
    let fields = definition
        .get("fields")
        .and_then(Json::as_object)
        .ok_or("\"fields\" of the SUBTABLE is missing")?;
    fields
        .iter()
        .map(|(code, cell)| {
            Field::read(code, cell, true).map_err(|problem| format!("field {code:?}: {problem}"))
        })
        .collect()
}

fn read_lookup(source: &Json) -> Result<Lookup, String> {
    let app = scalar(source.pointer("/relatedApp/app"));
    let app = app
        .parse()
        .map_err(|_| "\"lookup.relatedApp.app\" must be an app id")?;
    if source
        .get("filterCond")
        .and_then(Json::as_str)
        .is_some_and(|condition| !condition.is_empty())
    {
        return Err("\"lookup.filterCond\" is not supported".to_owned());
    }
    let key = source
        .get("relatedKeyField")
        .and_then(Json::as_str)
        .ok_or("\"lookup.relatedKeyField\" is missing")?
        .to_owned();
    let mut mappings = Vec::new();
    for mapping in source
        .get("fieldMappings")
        .and_then(Json::as_array)
        .into_iter()
        .flatten()
    {
        let own = mapping.get("field").and_then(Json::as_str);
        let related = mapping.get("relatedField").and_then(Json::as_str);
        let (Some(own), Some(related)) = (own, related) else {
            return Err("\"lookup.fieldMappings\" needs \"field\" and \"relatedField\"".to_owned());
        };
        mappings.push((own.to_owned(), related.to_owned()));
    }
    Ok(Lookup { app, key, mappings })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ktb_160_fills_in_left_out_attributes() {
        let field = Field::read("名前", &json!({ "type": "SINGLE_LINE_TEXT" }), false);
        let definition = field
            .map(|field| Json::Object(field.definition))
            .unwrap_or_default();
        for (key, value) in [
            ("code", json!("名前")),
            ("label", json!("名前")),
            ("minLength", json!("")),
            ("maxLength", json!("")),
            ("expression", json!("")),
            ("hideExpression", json!(false)),
            ("unique", json!(false)),
            ("defaultValue", json!("")),
            ("noLabel", json!(false)),
            ("required", json!(false)),
        ] {
            assert_eq!(definition[key], value, "{key}");
        }
    }

    #[test]
    fn ktb_108_unique_is_dropped_where_it_does_not_exist() {
        let read = |source: Json, in_table| Field::read("f", &source, in_table);
        let check_box = read(
            json!({ "type": "CHECK_BOX", "unique": true, "options": { "a": { "index": 0 } } }),
            false,
        );
        assert!(check_box.is_ok_and(|field| !field.unique && !field.definition.contains_key("unique")));
        let cell = read(json!({ "type": "NUMBER", "unique": true }), true);
        assert!(cell.is_ok_and(|field| !field.unique && field.definition["unique"] == json!(false)));
    }

    #[test]
    fn options_keep_their_index_order() {
        let source = json!({ "type": "DROP_DOWN", "options": {
            "b": { "label": "b", "index": "0" }, "a": { "label": "a", "index": "1" } } });
        let field = Field::read("f", &source, false);
        assert!(field.is_ok_and(|field| field.options == ["b", "a"]));
    }

    #[test]
    fn unusable_definitions_say_what_is_wrong() {
        for (source, word) in [
            (json!({}), "type"),
            (json!({ "type": "CALC" }), "CALC"),
            (
                json!({ "type": "SINGLE_LINE_TEXT", "expression": "a & b" }),
                "expression",
            ),
            (
                json!({ "type": "NUMBER", "lookup": { "relatedApp": { "app": 1 }, "filterCond": "a = 1" } }),
                "filterCond",
            ),
            (json!({ "type": "DROP_DOWN" }), "options"),
            (json!({ "type": "NUMBER", "minValue": "x" }), "minValue"),
            (json!({ "type": "SUBTABLE" }), "fields"),
            (
                json!({ "type": "SUBTABLE", "fields": { "t": { "type": "SUBTABLE", "fields": {} } } }),
                "inside",
            ),
        ] {
            let problem = Field::read("f", &source, false).err().unwrap_or_default();
            assert!(problem.contains(word), "{source}: {problem}");
        }
    }
}
