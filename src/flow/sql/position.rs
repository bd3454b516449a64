//! Places in a script: byte spans inside, line and UTF-16 column outside (LNG-170).

/// A range of bytes of the script.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// First byte.
    pub start: usize,
    /// One past the last byte.
    pub end: usize,
}

impl Span {
    /// From the start of one span to the end of another.
    pub fn to(self, other: Self) -> Self {
        Self {
            start: self.start,
            end: other.end.max(self.start),
        }
    }

    /// The text of the span; empty if it is not in `source`.
    pub fn slice(self, source: &str) -> &str {
        source.get(self.start..self.end).unwrap_or("")
    }
}

/// A place as people count it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// Line, from 1.
    pub line: usize,
    /// Column in UTF-16 units, from 1.
    pub column: usize,
}

impl Position {
    /// Where byte `offset` of `source` is. A byte order mark at the very start takes no column.
    pub fn of(source: &str, offset: usize) -> Self {
        let before = source.get(..offset).unwrap_or(source);
        let before = before.strip_prefix('\u{FEFF}').unwrap_or(before);
        let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
        Self {
            line: before.matches('\n').count() + 1,
            column: before.get(line_start..).unwrap_or("").encode_utf16().count() + 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_utf16_units_from_one() {
        let source = "\u{FEFF}𠮟る\n  x";
        let at = |needle: &str| Position::of(source, source.find(needle).unwrap());
        assert_eq!(at("る"), Position { line: 1, column: 3 });
        assert_eq!(at("x"), Position { line: 2, column: 3 });
        assert_eq!(Position::of(source, 0), Position { line: 1, column: 1 });
        assert_eq!(Position::of(source, 9_999), Position { line: 2, column: 4 });
    }
}
