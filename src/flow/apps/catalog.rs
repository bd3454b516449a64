//! Logical app names: how `LAPP_<name>` finds an app number (LNG-04).

use std::collections::BTreeMap;

use unicode_normalization::UnicodeNormalization;

use super::AppId;

/// The longest logical name, in UTF-16 units.
const MAX_NAME_UNITS: usize = 64;

/// True for a name that may stand unquoted after `LAPP_`: an ASCII letter or a Japanese character first, then also
/// digits and `_`; at most 64 UTF-16 units.
pub fn is_plain_logical_name(name: &str) -> bool {
    let mut chars = name.chars();
    chars
        .next()
        .is_some_and(|first| first.is_ascii_alphabetic() || is_japanese(first))
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_' || is_japanese(c))
        && name.encode_utf16().count() <= MAX_NAME_UNITS
}

/// True for a name that may be written as `LAPP_"..."`: not blank, without control characters.
pub fn is_quoted_logical_name(name: &str) -> bool {
    !name.trim().is_empty()
        && !name.chars().any(char::is_control)
        && name.encode_utf16().count() <= MAX_NAME_UNITS
}

/// Characters of a logical name outside ASCII.
fn is_japanese(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF01}'..='\u{FF60}')
}

/// The form in which logical names are compared: NFC, then upper case for ASCII and full-width letters only.
pub fn logical_key(name: &str) -> String {
    name.nfc()
        .map(|c| match c {
            'a'..='z' => c.to_ascii_uppercase(),
            '\u{FF41}'..='\u{FF5A}' => char::from_u32(u32::from(c) - 0x20).unwrap_or(c),
            _ => c,
        })
        .collect()
}

/// The profile's `apps`: logical name to app number.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AppMap {
    by_key: BTreeMap<String, (String, AppId)>,
}

impl AppMap {
    /// An empty map.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a name. Returns the earlier spelling when a name with the same key was there already (it stays).
    pub fn insert(&mut self, name: &str, app: AppId) -> Result<(), String> {
        match self.by_key.entry(logical_key(name)) {
            std::collections::btree_map::Entry::Occupied(taken) => Err(taken.get().0.clone()),
            std::collections::btree_map::Entry::Vacant(free) => {
                free.insert((name.to_owned(), app));
                Ok(())
            }
        }
    }

    /// Finds an app by logical name.
    pub fn get(&self, name: &str) -> Option<AppId> {
        self.by_key.get(&logical_key(name)).map(|(_, app)| *app)
    }

    /// The names as configured, in key order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.by_key.values().map(|(name, _)| name.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_compare_without_ascii_and_full_width_case() {
        let mut apps = AppMap::new();
        apps.insert("受注Ａb", AppId(7)).unwrap();
        assert_eq!(apps.get("受注ａB"), Some(AppId(7)));
        assert_eq!(apps.get("受注"), None);
        assert_eq!(
            apps.insert("受注ａＢ", AppId(8)),
            Ok(()),
            "full-width B is another character than ASCII B"
        );
        assert_eq!(apps.insert("受注ａb", AppId(9)), Err("受注Ａb".to_owned()));
    }

    #[test]
    fn composed_and_decomposed_kana_are_one_name() {
        let mut apps = AppMap::new();
        apps.insert("が", AppId(1)).unwrap();
        assert_eq!(apps.get("か\u{3099}"), Some(AppId(1)));
    }

    #[test]
    fn plain_names_start_with_a_letter() {
        assert!(is_plain_logical_name("受注_1"));
        assert!(!is_plain_logical_name("1受注"));
        assert!(!is_plain_logical_name("_a"));
        assert!(!is_plain_logical_name(""));
        assert!(!is_plain_logical_name(&"a".repeat(65)));
        assert!(is_quoted_logical_name("顧客 マスタ(2026)"));
        assert!(!is_quoted_logical_name(" "));
    }
}
