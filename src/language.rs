//! The language of texts for people: English, or Japanese when the locale says so (D-06). One rule for every program, and
//! for the `Accept-Language` that they send. It reads no environment itself: it takes a look-up.

/// A language that the programs speak.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Language {
    /// English: the default.
    #[default]
    English,
    /// Japanese: any locale whose language is `ja`.
    Japanese,
}

impl Language {
    /// The language of the first non-empty variable of `LC_ALL`, `LC_MESSAGES`, `LANG` (the order of POSIX).
    pub fn from_locale(lookup: impl Fn(&str) -> Option<String>) -> Self {
        let locale = ["LC_ALL", "LC_MESSAGES", "LANG"]
            .iter()
            .filter_map(|name| lookup(name))
            .find(|value| !value.is_empty())
            .unwrap_or_default();
        let language = locale.split(['_', '.', '@']).next().unwrap_or_default();
        if language.eq_ignore_ascii_case("ja") {
            Self::Japanese
        } else {
            Self::English
        }
    }

    /// The language tag of HTTP.
    pub const fn tag(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Japanese => "ja",
        }
    }
}

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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(pairs: &[(&str, &str)]) -> Language {
        Language::from_locale(|name| {
            pairs
                .iter()
                .find(|(n, _)| *n == name)
                .map(|(_, v)| (*v).to_owned())
        })
    }

    #[test]
    fn the_first_non_empty_locale_variable_decides() {
        assert_eq!(of(&[("LANG", "ja_JP.UTF-8")]), Language::Japanese);
        assert_eq!(of(&[("LC_ALL", "C"), ("LANG", "ja_JP.UTF-8")]), Language::English);
        assert_eq!(
            of(&[("LC_ALL", ""), ("LC_MESSAGES", "ja"), ("LANG", "en_US")]),
            Language::Japanese
        );
        assert_eq!(of(&[("LC_MESSAGES", "jam_XX")]), Language::English);
        assert_eq!(of(&[]), Language::English);
    }
}
