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
