//! The language of texts for people: English, or Japanese when the locale says so (D-06).
//! Codes, details and JSON are never translated; only what this module's [`Text`] holds is.

pub use crate::language::Language;

/// One text in every language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Text {
    /// English.
    pub en: &'static str,
    /// Japanese.
    pub ja: &'static str,
}

impl Text {
    /// The text in `language`.
    pub fn get(&self, language: Language) -> &'static str {
        match language {
            Language::English => self.en,
            Language::Japanese => self.ja,
        }
    }
}

/// Short form for tables.
pub const fn text(en: &'static str, ja: &'static str) -> Text {
    Text { en, ja }
}
