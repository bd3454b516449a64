//! Positions counted in UTF-16 code units (LNG-73..77) on UTF-8 text; a position inside a surrogate pair
//! is moved so that the piece shrinks.

/// Length in UTF-16 code units.
pub(super) fn length(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().map(char::len_utf16).sum()
    }
}

/// The text from unit `start` (0-based) to unit `end`.
pub(super) fn slice(text: &str, start: usize, end: usize) -> &str {
    if text.is_ascii() {
        return text.get(start..end.min(text.len())).unwrap_or("");
    }
    let (mut unit, mut from, mut to) = (0, text.len(), text.len());
    for (byte, c) in text.char_indices() {
        if from == text.len() && unit >= start {
            from = byte;
        }
        unit += c.len_utf16();
        if unit > end {
            to = byte;
            break;
        }
    }
    text.get(from..to).unwrap_or("")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The piece by UTF-16, without the halves of pairs at its ends.
    fn reference(text: &str, start: usize, end: usize) -> String {
        let units: Vec<u16> = text.encode_utf16().collect();
        let end = end.min(units.len());
        let mut piece = units.get(start..end).unwrap_or(&[]);
        if let [0xDC00..=0xDFFF, rest @ ..] = piece {
            piece = rest;
        }
        if let [rest @ .., 0xD800..=0xDBFF] = piece {
            piece = rest;
        }
        String::from_utf16(piece).unwrap()
    }

    proptest! {
        #[test]
        fn pieces_agree_with_utf16(text in "[a日😀𠮟]{0,6}", start in 0..14usize, length in 0..14usize) {
            let end = start + length;
            prop_assert_eq!(slice(&text, start, end), reference(&text, start, end));
            prop_assert_eq!(super::length(&text), text.encode_utf16().count());
        }
    }
}
