//! Reading single variables (ENV-01). Pure over a lookup function, so that tests need no process environment.

use std::ffi::OsString;
use std::fmt;

use super::number;

/// A variable that is missing or wrong. The text names the variable and never its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SettingsError(String);

impl SettingsError {
    /// An error text; must not contain a value.
    pub fn new(text: impl Into<String>) -> SettingsError {
        SettingsError(text.into())
    }
}

impl fmt::Display for SettingsError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for SettingsError {}

/// The process environment, or a stand-in for it.
pub struct Environment<'a> {
    lookup: &'a dyn Fn(&str) -> Option<OsString>,
}

impl<'a> Environment<'a> {
    /// Reads variables with this function.
    pub fn new(lookup: &'a dyn Fn(&str) -> Option<OsString>) -> Environment<'a> {
        Environment { lookup }
    }

    /// The value as it is, if the variable is set.
    pub fn raw(&self, name: &str) -> Result<Option<String>, SettingsError> {
        (self.lookup)(name)
            .map(OsString::into_string)
            .transpose()
            .map_err(|_| SettingsError(format!("{name} is not valid UTF-8")))
    }

    /// The value, unless it is missing or consists of white space only.
    pub fn optional(&self, name: &str) -> Result<Option<String>, SettingsError> {
        Ok(self.raw(name)?.filter(|value| !is_blank(value)))
    }

    /// The value; `<NAME> is required` when missing or blank.
    pub fn required(&self, name: &str) -> Result<String, SettingsError> {
        self.optional(name)?
            .ok_or_else(|| SettingsError(format!("{name} is required")))
    }

    /// A required app number.
    pub fn required_positive(&self, name: &str) -> Result<u64, SettingsError> {
        positive(name, &self.required(name)?)
    }

    /// A positive integer with a default for missing and blank.
    pub fn positive_or(&self, name: &str, default: u64) -> Result<u64, SettingsError> {
        self.optional(name)?
            .map_or(Ok(default), |text| positive(name, &text))
    }

    /// A non-negative integer with a default for missing and blank.
    pub fn non_negative_or(&self, name: &str, default: u64) -> Result<u64, SettingsError> {
        self.optional(name)?.map_or(Ok(default), |text| {
            number::non_negative(&text)
                .ok_or_else(|| SettingsError(format!("{name} must be a non-negative integer")))
        })
    }

    /// One of a few words, the first one being the default.
    pub fn choice<T: Copy>(&self, name: &str, choices: &[(&str, T)], default: T) -> Result<T, SettingsError> {
        let Some(text) = self.optional(name)? else {
            return Ok(default);
        };
        choices
            .iter()
            .find(|(word, _)| *word == text.trim())
            .map(|(_, choice)| *choice)
            .ok_or_else(|| {
                let words: Vec<_> = choices.iter().map(|(word, _)| format!("'{word}'")).collect();
                SettingsError(format!("{name} must be {}", words.join(" or ")))
            })
    }
}

fn positive(name: &str, text: &str) -> Result<u64, SettingsError> {
    number::positive(text).ok_or_else(|| SettingsError(format!("{name} must be a positive integer")))
}

/// White space only, by the rule of ECMAScript's `trim`.
fn is_blank(text: &str) -> bool {
    text.chars().all(number::is_js_space)
}
