//! A short string without an allocation: most values of business records (codes, dates, amounts, choices) fit in 22
//! bytes, and a million records then need no heap block for them.
use std::fmt;
use std::hash::{Hash, Hasher};

const INLINE: usize = 22;

/// An immutable string; up to 22 bytes are stored in place.
#[derive(Clone)]
pub struct Text(Repr);

#[derive(Clone)]
enum Repr {
    Inline { len: u8, bytes: [u8; INLINE] },
    Heap(Box<str>),
}

impl Text {
    /// Copies `text`.
    pub fn new(text: &str) -> Self {
        let source = text.as_bytes();
        if source.len() > INLINE {
            return Self(Repr::Heap(text.into()));
        }
        let mut bytes = [0; INLINE];
        bytes[..source.len()].copy_from_slice(source);
        Self(Repr::Inline {
            len: source.len() as u8,
            bytes,
        })
    }

    /// The string.
    pub fn as_str(&self) -> &str {
        match &self.0 {
            // The bytes were copied from a `&str`, so this never falls back.
            Repr::Inline { len, bytes } => {
                std::str::from_utf8(&bytes[..usize::from(*len)]).unwrap_or_default()
            }
            Repr::Heap(text) => text,
        }
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.as_str().fmt(f)
    }
}

impl PartialEq for Text {
    fn eq(&self, other: &Self) -> bool {
        self.as_str() == other.as_str()
    }
}

impl Eq for Text {}

impl Hash for Text {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.as_str().hash(state);
    }
}

impl std::borrow::Borrow<str> for Text {
    fn borrow(&self) -> &str {
        self.as_str()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::value::Value;

    #[test]
    fn keeps_short_and_long_strings() {
        for text in [
            "",
            "a",
            "受注完了",
            "1234567890123456789012",
            "12345678901234567890123",
        ] {
            assert_eq!(Text::new(text).as_str(), text);
        }
    }

    #[test]
    fn values_stay_small() {
        assert_eq!(size_of::<Text>(), 24);
        assert_eq!(size_of::<Value>(), 24);
    }
}
