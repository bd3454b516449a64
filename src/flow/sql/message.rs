//! Texts for people, in English and Japanese, made where the fact is known.
//!
//! What a text quotes from a script or from records stays apart from its own words, so that hiding it (RNR-90) never
//! touches our numbers and positions: [`value`], [`unknown`] and [`script`] mark a quotation while the sentence is being
//! put together, and [`Message`] keeps the places.

use std::fmt;
use std::ops::Range;

pub use crate::language::Language;

/// Marks around quotations: noncharacters, which no text of an exchange may hold. They live only inside this file.
const OPEN: char = '\u{fdd0}';
const PART: char = '\u{fdd1}';
const CLOSE: char = '\u{fdd2}';
/// What stands for [`Origin::Script`] and [`Origin::Unknown`] where a field would be named.
const SCRIPT: &str = "\u{fdd3}";
const UNKNOWN: &str = "\u{fdd4}";

/// Where quoted text comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The SQL of the script.
    Script,
    /// A value of this field.
    Field(String),
    /// A value, nobody knows of which field.
    Unknown,
}

/// Text from elsewhere, to be shown inside a message.
#[derive(Clone, Copy, Debug)]
pub struct Quoted<'a> {
    origin: &'a str,
    text: &'a str,
}

/// A value of a field.
pub fn value<'a>(field: &'a str, text: &'a str) -> Quoted<'a> {
    Quoted { origin: field, text }
}

/// A value of which only the text is known.
pub fn unknown(text: &str) -> Quoted<'_> {
    Quoted {
        origin: UNKNOWN,
        text,
    }
}

/// A piece of the script.
pub fn script(text: &str) -> Quoted<'_> {
    Quoted { origin: SCRIPT, text }
}

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.text.replace([OPEN, PART, CLOSE], "");
        write!(f, "{OPEN}{}{PART}{text}{CLOSE}", self.origin)
    }
}

/// One sentence in one language.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Phrase {
    text: String,
    quoted: Vec<(Range<usize>, Origin)>,
}

impl Phrase {
    /// Takes the marks out. A quotation that is not closed ends with the text.
    fn parse(marked: &str) -> Self {
        let mut text = String::with_capacity(marked.len());
        let mut quoted = Vec::new();
        let mut rest = marked;
        while let Some((own, after)) = rest.split_once(OPEN) {
            text.push_str(own);
            let (inner, after) = after.split_once(CLOSE).unwrap_or((after, ""));
            let (origin, quotation) = inner.split_once(PART).unwrap_or((UNKNOWN, inner));
            let start = text.len();
            text.push_str(quotation);
            let origin = match origin {
                SCRIPT => Origin::Script,
                UNKNOWN => Origin::Unknown,
                field => Origin::Field(field.to_owned()),
            };
            quoted.push((start..text.len(), origin));
            rest = after;
        }
        text.push_str(rest);
        Self { text, quoted }
    }

    fn marked(&self) -> String {
        self.replaced(|origin, text| {
            let quoted = match origin {
                Origin::Script => script(text),
                Origin::Unknown => unknown(text),
                Origin::Field(field) => value(field, text),
            };
            quoted.to_string()
        })
    }

    fn replaced(&self, mut with: impl FnMut(&Origin, &str) -> String) -> String {
        let mut out = String::with_capacity(self.text.len());
        let mut end = 0;
        for (range, origin) in &self.quoted {
            out.push_str(&self.text[end..range.start]);
            out.push_str(&with(origin, &self.text[range.clone()]));
            end = range.end;
        }
        out.push_str(&self.text[end..]);
        out
    }
}

/// One sentence in both languages. Codes, names and literals inside are the same in both.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message(Box<Phrases>);

/// Both sentences, behind one pointer: messages travel inside errors.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Phrases {
    english: Phrase,
    japanese: Phrase,
}

impl Message {
    /// Both texts; use [`say!`](crate::flow::sql::message::say) to fill in names.
    pub fn new(english: impl AsRef<str>, japanese: impl AsRef<str>) -> Self {
        Self::of(Phrase::parse(english.as_ref()), Phrase::parse(japanese.as_ref()))
    }

    /// A text that is the same in both languages, such as one written by the script's author.
    pub fn verbatim(text: impl AsRef<str>) -> Self {
        let phrase = Phrase::parse(text.as_ref());
        Self::of(phrase.clone(), phrase)
    }

    fn of(english: Phrase, japanese: Phrase) -> Self {
        Self(Box::new(Phrases { english, japanese }))
    }

    /// The text in a language, quotations included.
    pub fn text(&self, language: Language) -> &str {
        &self.phrase(language).text
    }

    /// The text for use inside another message: its quotations stay known.
    pub fn marked(&self, language: Language) -> String {
        self.phrase(language).marked()
    }

    /// This and another sentence in one.
    pub fn joined(&self, separator: &str, other: &Self) -> Self {
        self.put(|language, text| format!("{text}{separator}{}", other.marked(language)))
    }

    /// This sentence inside a larger one.
    pub fn put(&self, around: impl Fn(Language, &str) -> String) -> Self {
        let made = |language| around(language, &self.marked(language));
        Self::new(made(Language::English), made(Language::Japanese))
    }

    /// The message with every quotation replaced; nothing of what it was is left.
    pub fn with_quotations(&self, replaced: impl Fn(&Origin, &str) -> String) -> Self {
        Self::of(
            Phrase::parse(&self.0.english.replaced(&replaced)),
            Phrase::parse(&self.0.japanese.replaced(&replaced)),
        )
    }

    fn phrase(&self, language: Language) -> &Phrase {
        match language {
            Language::English => &self.0.english,
            Language::Japanese => &self.0.japanese,
        }
    }
}

/// English: the language of records and logs.
impl fmt::Display for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.english.text)
    }
}

impl From<&str> for Message {
    fn from(text: &str) -> Self {
        Self::verbatim(text)
    }
}

impl From<String> for Message {
    fn from(text: String) -> Self {
        Self::verbatim(text)
    }
}

impl From<fmt::Arguments<'_>> for Message {
    fn from(text: fmt::Arguments<'_>) -> Self {
        Self::verbatim(text.to_string())
    }
}

impl From<&Self> for Message {
    fn from(message: &Self) -> Self {
        message.clone()
    }
}

/// Builds a [`Message`] from an English and a Japanese format string with captured names.
macro_rules! say {
    ($english:literal, $japanese:literal) => {
        $crate::flow::sql::message::Message::new(format!($english), format!($japanese))
    };
}
pub(in crate::flow) use say;

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn quotations_are_known_and_own_words_stay() {
        let (key, row) = (value("k", "TANAKA"), 12);
        let message = say!("row {row}: {key} is twice", "{row} 行目: {key} が重複");
        assert_eq!(message.to_string(), "row 12: TANAKA is twice");
        let outer = message.put(|_, text| format!("3:1: {text} {}", script("q = 'x'")));
        let hidden = outer.with_quotations(|origin, text| match origin {
            Origin::Field(field) => format!("[{field}]"),
            Origin::Script => text.replace("'x'", "?"),
            Origin::Unknown => "?".to_owned(),
        });
        assert_eq!(hidden.to_string(), "3:1: row 12: [k] is twice q = ?");
        assert_eq!(hidden.text(Language::Japanese), "3:1: 12 行目: [k] が重複 q = ?");
    }

    proptest! {
        #[test]
        fn any_value_stays_inside_its_quotation(text in "[a-z\u{fdd0}-\u{fdd4}あ]{0,12}", after in "[a-z\u{fdd0}-\u{fdd2}]{0,6}") {
            let message = Message::verbatim(format!("own {} {after}", unknown(&text)));
            let shown = message.with_quotations(|_, _| "*".to_owned()).to_string();
            prop_assert!(shown.starts_with("own * "), "{shown}");
        }
    }
}
