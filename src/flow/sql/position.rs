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

/// The places of a script. Finding one takes the same time wherever it is, so that a script with thousands of findings
/// is not read thousands of times.
#[derive(Debug)]
pub struct Lines {
    source: Box<str>,
    /// Known places in ascending order: the start, every line, and one now and then in long lines.
    marks: Vec<(usize, Position)>,
}

/// Bytes of a line between two marks.
const MARK_BYTES: usize = 512;

impl Lines {
    /// Reads a script once. A byte order mark at its very start takes no column.
    pub fn of(source: &str) -> Self {
        let mut at = Position { line: 1, column: 1 };
        let mut marks = vec![(0, at)];
        let mut marked = 0;
        for (offset, c) in source.char_indices() {
            if offset - marked >= MARK_BYTES {
                marks.push((offset, at));
                marked = offset;
            }
            at.pass(offset, c);
            if c == '\n' {
                marked = offset + 1;
                marks.push((marked, at));
            }
        }
        Self {
            source: source.into(),
            marks,
        }
    }

    /// The script.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// Where the character at a byte is; behind the end it is the end.
    pub fn position(&self, offset: usize) -> Position {
        let before = self.marks.partition_point(|(mark, _)| *mark <= offset);
        let known = before.checked_sub(1).and_then(|last| self.marks.get(last));
        let (mark, mut at) = known.copied().unwrap_or((0, Position { line: 1, column: 1 }));
        let rest = self.source.get(mark..).unwrap_or("").char_indices();
        for (further, c) in rest.take_while(|(further, c)| mark + further + c.len_utf8() <= offset) {
            at.pass(mark + further, c);
        }
        at
    }
}

impl Position {
    /// Goes over a character.
    fn pass(&mut self, offset: usize, c: char) {
        match c {
            '\n' => {
                self.line += 1;
                self.column = 1;
            }
            '\u{FEFF}' if offset == 0 => {}
            _ => self.column += c.len_utf16(),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn columns_are_utf16_units_from_one() {
        let source = "\u{FEFF}𠮟る\n  x";
        let lines = Lines::of(source);
        let at = |needle: &str| lines.position(source.find(needle).unwrap());
        assert_eq!(at("る"), Position { line: 1, column: 3 });
        assert_eq!(at("x"), Position { line: 2, column: 3 });
        assert_eq!(lines.position(0), Position { line: 1, column: 1 });
        assert_eq!(lines.position(9_999), Position { line: 2, column: 4 });
        assert_eq!(Lines::of("").position(3), Position { line: 1, column: 1 });
    }

    proptest! {
        #[test]
        fn every_place_is_what_counting_from_the_start_says(
            source in prop_oneof!["[a𠮟る\n\u{FEFF}]{0,60}", "[a𠮟]{0,1200}", "(x{0,600}\n){0,6}"]
        ) {
            let lines = Lines::of(&source);
            for (offset, _) in source.char_indices() {
                let before = source[..offset].strip_prefix('\u{FEFF}').unwrap_or(&source[..offset]);
                let line = before.rsplit('\n').next().unwrap_or_default();
                let expected = Position {
                    line: before.matches('\n').count() + 1,
                    column: line.encode_utf16().count() + 1,
                };
                prop_assert_eq!(lines.position(offset), expected);
            }
        }
    }
}
