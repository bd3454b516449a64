//! The language of texts for people: English, or Japanese when the locale says so (D-06).
//! Codes, details and JSON are never translated; only what [`Text`] holds is.

pub use crate::language::{Language, Text, text};
