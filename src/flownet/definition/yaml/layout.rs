//! Indentation that the parser does not insist on (DEF-10).
//!
//! Inside a block collection, the further lines of a quoted text or of a flow collection must be indented more than
//! the collection; only the bracket that closes the outermost flow collection may stand exactly below it. Block
//! collections themselves are indented with spaces alone.

use granit_parser::Marker;

/// The lines of a document.
pub(super) struct Layout<'t> {
    lines: Vec<&'t str>,
}

impl<'t> Layout<'t> {
    pub fn of(text: &'t str) -> Self {
        Self {
            lines: text.split('\n').collect(),
        }
    }

    /// A line by its number from 1.
    fn line(&self, number: usize) -> &'t str {
        self.lines
            .get(number.wrapping_sub(1))
            .copied()
            .unwrap_or_default()
    }

    /// The first line after `start` that is not indented more than `parent`, as line and column from 1.
    pub fn quoted_fault(&self, start: Marker, end: Marker, parent: usize) -> Option<(usize, usize)> {
        (start.line() + 1..=end.line())
            .find(|n| matches!(self.indent(*n), Some((indent, _)) if indent <= parent))
            .map(|n| (n, 1))
    }

    /// Like [`Self::quoted_fault`]; comments may stand anywhere, and `end` is where the closing bracket stands.
    pub fn flow_fault(&self, start: Marker, end: Marker, parent: usize) -> Option<(usize, usize)> {
        (start.line() + 1..=end.line())
            .find(|n| match self.indent(*n) {
                None | Some((_, '#')) => false,
                Some((indent, _)) => {
                    let is_end = *n == end.line() && self.starts_with_white_space(end);
                    indent < parent || (indent == parent && !is_end)
                }
            })
            .map(|n| (n, 1))
    }

    /// Whether a block collection that starts here is indented with a tab.
    pub fn is_tab_indented(&self, start: Marker) -> bool {
        let before: String = self.line(start.line()).chars().take(start.col()).collect();
        before.contains('\t') && before.trim_matches([' ', '\t']).is_empty()
    }

    /// Whether a block sequence stands exactly below the key of its map. The parser then reports the place of its
    /// first item, which may itself begin with a dash.
    pub fn is_indentless(&self, start: Marker, parent: usize) -> bool {
        let line = self.line(start.line());
        let mut rest = line.chars().skip(start.col());
        let at_dash = rest.next() == Some('-') && rest.next().is_none_or(char::is_whitespace);
        !at_dash
            || (start.col() > parent
                && matches!(self.indent(start.line()), Some((indent, '-')) if indent == parent))
    }

    /// Whether the document begins with the end of one: content after it would be a second document (DEF-03).
    pub fn starts_with_end_marker(&self) -> bool {
        self.lines
            .iter()
            .map(|line| line.trim_end())
            .find(|line| !line.is_empty() && !line.starts_with('#'))
            .is_some_and(|line| line == "..." || line.starts_with("... "))
    }

    /// Whether only white space stands before a place in its line.
    fn starts_with_white_space(&self, at: Marker) -> bool {
        self.line(at.line())
            .chars()
            .take(at.col())
            .all(|c| matches!(c, ' ' | '\t'))
    }

    /// Leading spaces and the first other character; `None` for a blank line.
    fn indent(&self, number: usize) -> Option<(usize, char)> {
        let line = self.line(number);
        let first = line.trim().chars().next()?;
        Some((line.len() - line.trim_start_matches(' ').len(), first))
    }
}
