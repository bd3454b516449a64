//! Request parameters: query string and JSON body as one object, numbers and strings alike (KTB-02, KTB-05, KTB-06, KTB-14).
use serde_json::{Map, Value as Json};

use crate::sandbox::error::{AT_LEAST_ONE, ApiError, BAD_FORMAT, REQUIRED_PARAMETER, Violations};
use crate::sandbox::http::request::percent_decode;

/// Most elements of one list in a query string.
const MAX_INDEX: usize = 1_000;

/// The parameters of one request.
#[derive(Clone, Debug, Default)]
pub struct Params(Map<String, Json>);

impl Params {
    /// Parameters of a JSON object.
    pub fn from_object(object: Map<String, Json>) -> Self {
        Self(object)
    }

    /// Parameters of a query string; `name[0]=a&name[1]=b` is a list. `None`: a broken escape.
    pub fn from_query(query: &str) -> Option<Self> {
        let mut object = Map::new();
        for pair in query.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = percent_decode(name, true)?;
            let value = Json::String(percent_decode(value, true)?);
            match list_element(&name) {
                Some((list, index)) if index < MAX_INDEX => {
                    let entry = object
                        .entry(list.to_owned())
                        .or_insert_with(|| Json::Array(Vec::new()));
                    if let Json::Array(items) = entry {
                        if items.len() <= index {
                            items.resize(index + 1, Json::Null);
                        }
                        items[index] = value;
                    }
                }
                Some(_) => return None,
                None => {
                    object.insert(name, value);
                }
            }
        }
        Some(Self(object))
    }

    /// A raw parameter; null and `""` count as missing.
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.0
            .get(name)
            .filter(|value| !value.is_null() && value.as_str() != Some(""))
    }

    /// A parameter even when it is null or empty.
    pub fn sent(&self, name: &str) -> Option<&Json> {
        self.0.get(name)
    }

    /// Refuses a request in which one of the parameters is missing, naming all of them.
    pub fn require(&self, names: &[&str]) -> Result<(), ApiError> {
        let mut missing = Violations::default();
        for name in names.iter().filter(|name| self.get(name).is_none()) {
            missing.add(*name, REQUIRED_PARAMETER);
        }
        missing.into_result()
    }

    /// A required id of at least 1.
    pub fn id(&self, name: &str) -> Result<u64, ApiError> {
        let value = self.get(name).ok_or_else(|| ApiError::missing(name))?;
        as_id(value).ok_or_else(|| ApiError::invalid(name, AT_LEAST_ONE))
    }

    /// A list of texts or numbers, as texts.
    pub fn texts(&self, name: &str) -> Result<Option<Vec<String>>, ApiError> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        let items = value
            .as_array()
            .ok_or_else(|| ApiError::invalid(name, BAD_FORMAT))?;
        items
            .iter()
            .map(|item| as_text(item).ok_or_else(|| ApiError::invalid(name, BAD_FORMAT)))
            .collect::<Result<Vec<_>, _>>()
            .map(Some)
    }

    /// A text; `""` when missing.
    pub fn text(&self, name: &str) -> Result<String, ApiError> {
        match self.get(name) {
            None => Ok(String::new()),
            Some(value) => as_text(value).ok_or_else(|| ApiError::invalid(name, BAD_FORMAT)),
        }
    }

    /// True for JSON true and the text `true`.
    pub fn flag(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|value| value.as_bool().unwrap_or(value.as_str() == Some("true")))
    }

    /// A JSON object.
    pub fn object(&self, name: &str) -> Result<Option<&Map<String, Json>>, ApiError> {
        match self.get(name) {
            None => Ok(None),
            Some(Json::Object(object)) => Ok(Some(object)),
            Some(_) => Err(ApiError::invalid(name, BAD_FORMAT)),
        }
    }
}

/// `fields[3]` as `("fields", 3)`.
fn list_element(name: &str) -> Option<(&str, usize)> {
    let (list, index) = name.strip_suffix(']')?.split_once('[')?;
    Some((list, index.parse().ok()?))
}

/// A whole number of at least 1, written as a number or a text.
pub fn as_id(value: &Json) -> Option<u64> {
    let id = match value {
        Json::Number(number) => number.as_u64()?,
        Json::String(text) => text.parse().ok()?,
        _ => return None,
    };
    (id >= 1).then_some(id)
}

/// A text, or a number as text.
pub fn as_text(value: &Json) -> Option<String> {
    match value {
        Json::String(text) => Some(text.clone()),
        Json::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

/// A revision to check: absent and -1 mean none (KTB-130).
pub fn revision(value: Option<&Json>, path: &str) -> Result<Option<u64>, ApiError> {
    let Some(value) = value.filter(|value| !value.is_null()) else {
        return Ok(None);
    };
    let text = as_text(value).ok_or_else(|| ApiError::invalid(path, BAD_FORMAT))?;
    match text.as_str() {
        "-1" => Ok(None),
        text => text
            .parse()
            .map(Some)
            .map_err(|_| ApiError::invalid(path, BAD_FORMAT)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn ktb_14_lists_in_a_query_string() {
        let params = Params::from_query("app=1&fields[0]=%24id&fields%5B1%5D=a+b&query=a%20%3D%201");
        let params = params.unwrap_or_default();
        assert_eq!(
            params.texts("fields").ok().flatten(),
            Some(vec!["$id".to_owned(), "a b".to_owned()])
        );
        assert_eq!(params.text("query").ok().as_deref(), Some("a = 1"));
        assert_eq!(params.id("app").ok(), Some(1));
        assert!(Params::from_query("ids[999999999]=1").is_none());
    }

    #[test]
    fn ktb_05_and_06_missing_and_bad_ids() {
        let params = Params::from_query("app=&id=0").unwrap_or_default();
        let paths = |error: Option<ApiError>| {
            error
                .map(|error| error.paths().map(str::to_owned).collect::<Vec<_>>())
                .unwrap_or_default()
        };
        assert_eq!(paths(params.require(&["app", "record"]).err()), ["app", "record"]);
        assert_eq!(paths(params.id("id").err()), ["id"]);
        let negative = Params::from_object(json!({ "app": -1 }).as_object().cloned().unwrap_or_default());
        assert!(negative.id("app").is_err());
    }

    #[test]
    fn ktb_130_revisions() {
        assert_eq!(revision(None, "revision").ok(), Some(None));
        assert_eq!(revision(Some(&json!(-1)), "revision").ok(), Some(None));
        assert_eq!(revision(Some(&json!("3")), "revision").ok(), Some(Some(3)));
        assert!(revision(Some(&json!("x")), "revision").is_err());
    }
}
