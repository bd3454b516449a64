//! Texts for people, in English and Japanese, made where the fact is known.

use std::fmt;

/// The language of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Language {
    /// English.
    English,
    /// Japanese.
    Japanese,
}

/// One sentence in both languages. Codes, names and literals inside are the same in both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    english: String,
    japanese: String,
}

impl Message {
    /// Both texts; use [`say!`](crate::flow::sql::message::say) to fill in names.
    pub fn new(english: impl Into<String>, japanese: impl Into<String>) -> Self {
        Self {
            english: english.into(),
            japanese: japanese.into(),
        }
    }

    /// A text that is the same in both languages, such as one written by the script's author.
    pub fn verbatim(text: impl Into<String>) -> Self {
        let text = text.into();
        Self {
            japanese: text.clone(),
            english: text,
        }
    }

    /// This and another sentence in one.
    pub fn joined(&self, separator: &str, other: &Self) -> Self {
        Self {
            english: format!("{}{separator}{}", self.english, other.english),
            japanese: format!("{}{separator}{}", self.japanese, other.japanese),
        }
    }

    /// The text in a language.
    pub fn text(&self, language: Language) -> &str {
        match language {
            Language::English => &self.english,
            Language::Japanese => &self.japanese,
        }
    }
}

impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.english)
    }
}

/// Builds a [`Message`] from an English and a Japanese format string with captured names.
macro_rules! say {
    ($english:literal, $japanese:literal) => {
        $crate::flow::sql::message::Message::new(format!($english), format!($japanese))
    };
}
pub(in crate::flow) use say;
