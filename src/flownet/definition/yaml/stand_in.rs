//! Characters that our dialect accepts and the parser does not (DEF-03, DEF-14).
//!
//! A lone CR is text, not a line break, and raw control characters may stand in scalars. Both are exchanged for
//! private-use characters that the document does not contain, and changed back in every text that comes out.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};

/// Private-use characters, in the order they are taken.
const CANDIDATES: [std::ops::RangeInclusive<u32>; 2] = [0xE000..=0xF8FF, 0xF_0000..=0xF_FFFD];

/// The exchange made for one document.
pub(super) struct StandIns {
    back: BTreeMap<char, char>,
}

impl StandIns {
    /// Exchanges what the parser would refuse or misread. `None` when no unused character is left.
    pub fn exchange(text: &str) -> Option<(Cow<'_, str>, Self)> {
        let mut back = BTreeMap::new();
        if !text.chars().any(needs_one) {
            return Some((Cow::Borrowed(text), Self { back }));
        }
        let mut forth: BTreeMap<char, char> = BTreeMap::new();
        let used: HashSet<char> = text.chars().collect();
        let mut unused = CANDIDATES
            .into_iter()
            .flatten()
            .filter_map(char::from_u32)
            .filter(|c| !used.contains(c));
        let mut out = String::with_capacity(text.len());
        let mut chars = text.chars().peekable();
        while let Some(c) = chars.next() {
            let is_break = c == '\r' && chars.peek() == Some(&'\n');
            if is_break || !needs_one(c) {
                out.push(c);
                continue;
            }
            let other = if let Some(other) = forth.get(&c) {
                *other
            } else {
                let other = unused.next()?;
                forth.insert(c, other);
                back.insert(other, c);
                other
            };
            out.push(other);
        }
        Some((Cow::Owned(out), Self { back }))
    }

    /// The original text of something the parser returned.
    pub fn restore(&self, text: &str) -> String {
        if self.back.is_empty() {
            return text.to_owned();
        }
        text.chars()
            .map(|c| self.back.get(&c).copied().unwrap_or(c))
            .collect()
    }
}

/// Characters outside YAML's printable set, and CR (which is exchanged unless a line feed follows).
fn needs_one(c: char) -> bool {
    match c {
        '\t' | '\n' | '\u{85}' => false,
        '\u{feff}' | '\u{fffe}' | '\u{ffff}' => true,
        c => c.is_control(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lone_carriage_return_is_exchanged_and_restored() {
        let (text, stand_ins) = StandIns::exchange("a\rb\r\nc\u{1}\u{e000}").expect("room");
        assert_eq!(text, "a\u{e001}b\r\nc\u{e002}\u{e000}");
        assert_eq!(stand_ins.restore(&text), "a\rb\r\nc\u{1}\u{e000}");
    }

    #[test]
    fn ordinary_text_is_not_copied() {
        let (text, _) = StandIns::exchange("a: b\n").expect("room");
        assert!(matches!(text, Cow::Borrowed(_)));
    }
}
