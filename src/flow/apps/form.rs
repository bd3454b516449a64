//! The form definition of an app, reduced to what decides names, types, push-down and writes.

use std::fmt;

use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};

use super::{AppId, FieldType};
use crate::flow::sql::message::{Message, say};

/// A field of a form or of a table in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Field code.
    pub code: String,
    /// Label on the form.
    pub label: String,
    /// Type.
    pub kind: FieldType,
    /// Options in their order; `None` where the form does not list them (STATUS).
    pub options: Option<Vec<String>>,
    /// Duplicates are prohibited.
    pub unique: bool,
    /// Is a lookup: writing it makes kintone copy other fields.
    pub lookup: bool,
    /// The lookup copies from other records of the same app.
    pub lookup_within: bool,
    /// Filled by a lookup: cannot be written.
    pub lookup_copy: bool,
    /// Formula of a CALC or text field.
    pub expression: String,
    /// What kintone demands of its values.
    pub constraints: Constraints,
    /// Fields of a SUBTABLE.
    pub children: Vec<Field>,
}

impl Field {
    /// A plain field of a type, for pseudo-fields and models.
    pub fn plain(code: &str, kind: FieldType) -> Self {
        Self {
            code: code.to_owned(),
            label: code.to_owned(),
            kind,
            options: None,
            unique: false,
            lookup: false,
            lookup_within: false,
            lookup_copy: false,
            expression: String::new(),
            constraints: Constraints::default(),
            children: Vec::new(),
        }
    }
}

/// What kintone demands of a field's values; it tests every field of a record that is written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constraints {
    /// Must not be empty.
    pub required: bool,
    /// New records get a value when none is written.
    pub has_default: bool,
    /// The fewest UTF-16 units of a text, demanded of an empty one too.
    pub min_length: Option<usize>,
    /// The most UTF-16 units of a text.
    pub max_length: Option<usize>,
    /// The smallest number, as decimal text.
    pub min_value: Option<String>,
    /// The largest number, as decimal text.
    pub max_value: Option<String>,
    /// What a LINK leads to.
    pub link: Option<LinkProtocol>,
}

/// What a LINK field leads to (KTB-103).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkProtocol {
    /// A page.
    Web,
    /// A telephone number.
    Call,
    /// A mail address.
    Mail,
}

impl LinkProtocol {
    /// Reads `protocol` of a LINK.
    pub fn parse(name: &str) -> Option<Self> {
        match name {
            "WEB" => Some(Self::Web),
            "CALL" => Some(Self::Call),
            "MAIL" => Some(Self::Mail),
            _ => None,
        }
    }

    /// Whether kintone takes a text that is not empty for such a link.
    pub fn accepts(self, text: &str) -> bool {
        let blank = text.contains(char::is_whitespace);
        match self {
            Self::Web => ["http://", "https://", "ftp://"].iter().any(|scheme| {
                let (start, rest) = text.split_at_checked(scheme.len()).unwrap_or_default();
                start.eq_ignore_ascii_case(scheme) && !rest.is_empty() && !blank
            }),
            Self::Call => text.chars().all(|c| c.is_ascii_digit() || "+-*#(). ".contains(c)),
            Self::Mail => text
                .split_once('@')
                .is_some_and(|(name, host)| !name.is_empty() && !host.is_empty() && !blank),
        }
    }
}

/// The fields of an app in the order of the interface's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Form {
    /// The app.
    pub app: AppId,
    /// Top-level fields, `$id` and `$revision` included.
    pub fields: Vec<Field>,
}

impl Form {
    /// Builds a form from its top-level fields; `$id` comes first and `$revision` second, if they are not given.
    pub fn new(app: AppId, fields: Vec<Field>) -> Self {
        let mut all = Vec::with_capacity(fields.len() + 2);
        for (code, kind) in [("$id", FieldType::Id), ("$revision", FieldType::Revision)] {
            if !fields.iter().any(|field| field.code == code) {
                all.push(Field::plain(code, kind));
            }
        }
        all.extend(fields);
        Self { app, fields: all }
    }

    /// Reads the body of `GET app/form/fields.json`.
    pub fn from_slice(app: AppId, body: &[u8]) -> Result<Self, FormError> {
        serde_json::from_slice(body)
            .map(|body: FormBody| body.into_form(app))
            .map_err(|error| FormError(app, error))
    }

    /// Reads the parsed body of `GET app/form/fields.json`.
    pub fn from_value(app: AppId, body: serde_json::Value) -> Result<Self, FormError> {
        serde_json::from_value(body)
            .map(|body: FormBody| body.into_form(app))
            .map_err(|error| FormError(app, error))
    }

    /// A top-level field by code.
    pub fn field(&self, code: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.code == code)
    }

    /// The table that has a child field of this code.
    pub fn table_of_child(&self, code: &str) -> Option<&Field> {
        self.fields
            .iter()
            .find(|field| field.children.iter().any(|child| child.code == code))
    }
}

/// The answer with a form definition could not be read.
#[derive(Debug)]
pub struct FormError(AppId, serde_json::Error);

impl FormError {
    /// Which form, and what is wrong with it.
    pub fn message(&self) -> Message {
        let Self(app, reason) = self;
        say!(
            "the form definition of {app} cannot be read: {reason}",
            "{app} のフォームの定義を読み取れません: {reason}"
        )
    }
}

impl fmt::Display for FormError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.message().fmt(f)
    }
}

impl std::error::Error for FormError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.1)
    }
}

#[derive(Deserialize)]
struct FormBody {
    properties: Properties,
}

impl FormBody {
    fn into_form(self, app: AppId) -> Form {
        let copies: Vec<String> = self
            .properties
            .0
            .iter()
            .flat_map(Property::copy_targets)
            .collect();
        let fields = self
            .properties
            .0
            .into_iter()
            .filter_map(|property| property.into_field(app, &copies))
            .collect();
        Form::new(app, fields)
    }
}

/// Properties in document order, which a sorted map would lose.
struct Properties(Vec<Property>);

impl<'de> Deserialize<'de> for Properties {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Properties;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of field definitions")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut properties = Vec::new();
                while let Some((key, mut property)) = map.next_entry::<String, Property>()? {
                    if property.code.is_empty() {
                        property.code = key;
                    }
                    properties.push(property);
                }
                Ok(Properties(properties))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Property {
    #[serde(default)]
    code: String,
    #[serde(default)]
    label: String,
    #[serde(rename = "type")]
    kind: String,
    #[serde(default)]
    enabled: Option<bool>,
    #[serde(default)]
    unique: Option<bool>,
    #[serde(default)]
    format: Option<String>,
    #[serde(default)]
    expression: Option<String>,
    #[serde(default)]
    options: Option<std::collections::BTreeMap<String, OptionBody>>,
    #[serde(default)]
    lookup: Option<LookupBody>,
    #[serde(default)]
    fields: Option<Properties>,
    // Limits come as strings, empty where there is none.
    #[serde(default)]
    required: Option<bool>,
    #[serde(default)]
    min_length: Option<String>,
    #[serde(default)]
    max_length: Option<String>,
    #[serde(default)]
    min_value: Option<String>,
    #[serde(default)]
    max_value: Option<String>,
    #[serde(default)]
    protocol: Option<String>,
    #[serde(default)]
    default_value: serde_json::Value,
    #[serde(default)]
    default_now_value: Option<bool>,
}

#[derive(Deserialize)]
struct OptionBody {
    label: String,
    #[serde(default)]
    index: serde_json::Value,
}

impl OptionBody {
    /// The position; the interface sends it as a string.
    fn position(&self) -> u64 {
        match &self.index {
            serde_json::Value::String(text) => text.parse().unwrap_or(u64::MAX),
            other => other.as_u64().unwrap_or(u64::MAX),
        }
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LookupBody {
    #[serde(default)]
    related_app: serde_json::Value,
    #[serde(default)]
    field_mappings: Vec<MappingBody>,
}

impl LookupBody {
    /// The app that is copied from; the interface sends its number as a string.
    fn source(&self) -> Option<AppId> {
        match &self.related_app["app"] {
            serde_json::Value::String(text) => text.parse().ok(),
            other => other.as_u64(),
        }
        .map(AppId)
    }
}

#[derive(Deserialize)]
struct MappingBody {
    field: String,
}

impl Property {
    /// Codes of fields that a lookup, here or in a table, fills.
    fn copy_targets(&self) -> Vec<String> {
        let own = self
            .lookup
            .iter()
            .flat_map(|lookup| lookup.field_mappings.iter().map(|m| m.field.clone()));
        let nested = self
            .fields
            .iter()
            .flat_map(|fields| fields.0.iter().flat_map(Self::copy_targets));
        own.chain(nested).collect()
    }

    /// The field; none when process management or categories are switched off.
    fn into_field(self, app: AppId, copies: &[String]) -> Option<Field> {
        let kind = match FieldType::parse(&self.kind) {
            FieldType::CalcNumber => FieldType::calc(self.format.as_deref().unwrap_or("")),
            other => other,
        };
        if self.enabled == Some(false) || kind == FieldType::Other {
            return None;
        }
        let options = self.options.filter(|_| kind.has_options()).map(|options| {
            let mut ordered: Vec<OptionBody> = options.into_values().collect();
            ordered.sort_by_key(OptionBody::position);
            ordered.into_iter().map(|option| option.label).collect()
        });
        let children = self.fields.map_or_else(Vec::new, |fields| {
            fields
                .0
                .into_iter()
                .filter_map(|child| child.into_field(app, copies))
                .collect()
        });
        let constraints = Constraints {
            required: self.required == Some(true),
            has_default: self.default_now_value == Some(true)
                || match &self.default_value {
                    serde_json::Value::String(text) => !text.is_empty(),
                    serde_json::Value::Array(elements) => !elements.is_empty(),
                    _ => false,
                },
            min_length: self.min_length.and_then(|text| text.parse().ok()),
            max_length: self.max_length.and_then(|text| text.parse().ok()),
            min_value: self.min_value.filter(|text| !text.is_empty()),
            max_value: self.max_value.filter(|text| !text.is_empty()),
            link: self.protocol.as_deref().and_then(LinkProtocol::parse),
        };
        Some(Field {
            lookup_copy: copies.contains(&self.code),
            code: self.code,
            label: self.label,
            kind,
            options,
            unique: self.unique.unwrap_or(false),
            lookup: self.lookup.is_some(),
            lookup_within: self.lookup.is_some_and(|lookup| lookup.source() == Some(app)),
            expression: self.expression.unwrap_or_default(),
            constraints,
            children,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_answer_is_reduced_to_what_matters() {
        let body = r#"{"revision":"3","properties":{
            "顧客":{"type":"SINGLE_LINE_TEXT","code":"顧客","label":"顧客","unique":true,
                "lookup":{"relatedApp":{"app":"2","code":""},
                    "fieldMappings":[{"field":"住所","relatedField":"住所"}]}},
            "親":{"type":"NUMBER","code":"親","label":"親","lookup":{"relatedApp":{"app":"1"},"fieldMappings":[]}},
            "住所":{"type":"SINGLE_LINE_TEXT","code":"住所","label":"住所"},
            "期間":{"type":"CALC","code":"期間","label":"期間","format":"DATE","expression":"a"},
            "合計":{"type":"CALC","code":"合計","label":"合計","format":"NUMBER_DIGIT"},
            "確度":{"type":"DROP_DOWN","code":"確度","label":"確度","options":{
                "低":{"label":"低","index":"1"},"高":{"label":"高","index":"0"}}},
            "状態":{"type":"STATUS","code":"状態","label":"状態","enabled":false},
            "表":{"type":"SUBTABLE","code":"表","label":"表","fields":{
                "品":{"type":"SINGLE_LINE_TEXT","code":"品","label":"品"}}},
            "線":{"type":"HR","code":"線"}}}"#;
        let form = Form::from_slice(AppId(1), body.as_bytes()).unwrap();
        let codes: Vec<&str> = form.fields.iter().map(|field| field.code.as_str()).collect();
        assert_eq!(
            codes,
            [
                "$id",
                "$revision",
                "顧客",
                "親",
                "住所",
                "期間",
                "合計",
                "確度",
                "表"
            ]
        );
        assert!(form.field("顧客").unwrap().lookup && form.field("顧客").unwrap().unique);
        assert!(form.field("住所").unwrap().lookup_copy);
        let within = |code: &str| form.field(code).unwrap().lookup_within;
        assert_eq!(
            (within("顧客"), within("親"), within("住所")),
            (false, true, false)
        );
        assert_eq!(form.field("期間").unwrap().kind, FieldType::CalcText);
        assert_eq!(form.field("合計").unwrap().kind, FieldType::CalcNumber);
        assert_eq!(
            form.field("確度").unwrap().options,
            Some(vec!["高".to_owned(), "低".to_owned()])
        );
        assert_eq!(form.table_of_child("品").unwrap().code, "表");
        assert_eq!(
            form,
            Form::from_value(AppId(1), serde_json::from_str(body).unwrap())
                .map(sorted(&form))
                .unwrap()
        );
    }

    /// A parsed body has lost the order; the fields are the same.
    fn sorted(like: &Form) -> impl Fn(Form) -> Form {
        let order: Vec<String> = like.fields.iter().map(|field| field.code.clone()).collect();
        move |mut form| {
            form.fields
                .sort_by_key(|field| order.iter().position(|code| *code == field.code));
            form
        }
    }

    #[test]
    fn a_broken_answer_names_the_app() {
        let error = Form::from_slice(AppId(12), b"{}").unwrap_err();
        assert!(error.to_string().contains("APP12"), "{error}");
    }
}
