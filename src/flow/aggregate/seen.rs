//! What DISTINCT has met in one group: texts, or numbers for the statistics.

use std::collections::HashSet;

use crate::flow::value::parse_number;

#[derive(Clone, Debug)]
pub(super) enum Seen {
    Texts(HashSet<Box<str>>),
    Numbers(HashSet<u64>),
}

impl Seen {
    pub fn new(by_number: bool) -> Self {
        if by_number {
            Self::Numbers(HashSet::new())
        } else {
            Self::Texts(HashSet::new())
        }
    }

    /// True the first time a value occurs.
    pub fn insert(&mut self, text: &str) -> bool {
        match self {
            // Only a new text is copied.
            Self::Texts(texts) => !texts.contains(text) && texts.insert(text.into()),
            // Adding 0 makes one zero of both.
            Self::Numbers(numbers) => numbers.insert((parse_number(text) + 0.0).to_bits()),
        }
    }
}
